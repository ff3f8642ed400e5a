//! Suite: attacks. Callers that are slow, endless, too large or too many, on every door and every class of path of the
//! real daemon. Its memory stays bounded, the owner's socket answers, the attacker is answered or cut, and afterwards
//! everything works. Half-sent requests in great numbers are in `process_faults`, odd framing is in `api_http`.

// Helpers of a suite fail the test by panicking.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bodies;
mod heads;
mod limits;
mod site;
mod slow;
mod streams;
