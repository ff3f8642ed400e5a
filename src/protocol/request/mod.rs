//! Requests of surfaces to the engine, and their replies.
//!
//! A table defines each request once: its name, required scope, reply and fields. The macro turns an entry into a
//! struct, a variant of the requests on the wire, and a variant of the answers.

mod commands;
mod envelope;
mod queries;
mod table;

pub use commands::*;
pub use envelope::Envelope;
pub use queries::*;
pub use table::Request;
pub(crate) use table::dispatch;
