//! Leverframe as a server of the Model Context Protocol: the real binary, raw JSON-RPC over HTTP in both eras, and stdio.

mod conformance;
mod direct;
mod doors;
mod host;
mod peers;
mod sessions;
mod stdio;
mod tasks;
