//! Requests: what a surface asks of the engine, and what it gets back for it.
//!
//! A table says everything of a request once: its name, the scope it needs, its reply and its fields. The macro makes
//! from an entry a struct, its place among the requests on the wire, and the place of its reply among the answers.

mod commands;
mod envelope;
mod queries;
mod table;

pub use commands::*;
pub use envelope::Envelope;
pub use queries::*;
pub use table::Request;
pub(crate) use table::dispatch;
