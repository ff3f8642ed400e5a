//! Rehearsals with the real binary: a waiting command runs in a throw-away copy of its workspace, and nothing else
//! changes. `copies` looks at the copies alone.

mod card;
mod copies;
mod daemon;
