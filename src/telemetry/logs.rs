//! Lines of the log as log records. The lines are those that consoles read, with secrets taken out. The lines about what
//! happens leave out how texts begin, which they have at the level `debug`.

use opentelemetry_proto::tonic::logs::v1::{LogRecord, SeverityNumber};

use crate::protocol::enums::LogLevel;
use crate::protocol::ids::ContinuationId;
use crate::protocol::log::LogLine;
use crate::protocol::trace_parent::TraceParent;
use crate::telemetry::attributes::{any_text, text};
use crate::telemetry::span_ids;

/// The target of lines about what happens, and their field with the beginning of a text. It is their last one.
const ACTIVITY: &str = "leverframe::activity";
const TEXT: &str = " text=";
/// The field that names the turn of a line.
const TURN: &str = " continuation=";
/// Bytes of the id behind it.
const TURN_LENGTH: usize = ContinuationId::PREFIX.len() + 26;

/// The record of a line. It names the trace where the line names its turn: the one of `parent`, else one of its own, which
/// `share` of the turns have.
pub fn record(line: &LogLine, parent: Option<TraceParent>, share: f64) -> LogRecord {
    let (number, word) = match line.level {
        LogLevel::Error => (SeverityNumber::Error, "ERROR"),
        LogLevel::Warn => (SeverityNumber::Warn, "WARN"),
        LogLevel::Info => (SeverityNumber::Info, "INFO"),
        LogLevel::Debug => (SeverityNumber::Debug, "DEBUG"),
        LogLevel::Trace => (SeverityNumber::Trace, "TRACE"),
    };
    let at = span_ids::nanos(line.at);
    let turn = turn_of(line);
    let is_sampled = |turn| span_ids::is_sampled(turn, parent, share);
    LogRecord {
        time_unix_nano: at,
        observed_time_unix_nano: at,
        severity_number: number.into(),
        severity_text: word.to_owned(),
        body: Some(any_text(without_content(line))),
        attributes: vec![text("code.namespace", line.target.clone())],
        flags: turn.map_or(0, |turn| u32::from(is_sampled(turn))),
        trace_id: turn
            .map(|turn| span_ids::trace(turn, parent))
            .unwrap_or_default(),
        span_id: turn.map(span_ids::root).unwrap_or_default(),
        ..LogRecord::default()
    }
}

fn without_content(line: &LogLine) -> &str {
    match line.text.split_once(TEXT) {
        Some((kept, _)) if line.target == ACTIVITY => kept,
        Some(_) | None => &line.text,
    }
}

/// The turn that a line names.
pub fn turn_of(line: &LogLine) -> Option<ContinuationId> {
    let (_, rest) = line.text.split_once(TURN)?;
    rest.get(..TURN_LENGTH)?.parse().ok()
}
