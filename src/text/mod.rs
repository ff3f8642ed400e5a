//! Outside text: revealing, measuring, wrapping, splitting, redacting. Nothing here does I/O.

pub mod ascii;
pub mod bars;
pub mod chunk;
pub mod csv;
pub mod definitions;
pub mod discord;
pub mod fold;
pub mod framing;
pub mod markdown;
pub mod markup;
pub mod mrkdwn;
pub mod program_log;
pub mod quote;
pub mod redact;
pub mod scripts;
pub mod strict_json;
pub mod untrusted;
pub mod verbatim;
pub mod width;
pub mod wrap;
