//! Traces and logs for a collector: OTLP over HTTP, with the semantic conventions for generative AI. The cargo feature
//! `otel` compiles it.
//!
//! It follows the events of the engine and asks for lines of the log, as a console does. So it slows no turn down: what
//! it has no room for it drops and counts. No span holds what people, models or tools wrote.

#![warn(missing_docs)]

pub mod attributes;
pub mod exporter;
pub mod logs;
pub mod observer;
pub mod parents;
pub mod payload;
pub mod report;
pub mod sender;
pub mod span_ids;
pub mod spans;
