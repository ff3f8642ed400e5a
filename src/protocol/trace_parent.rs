//! The header `traceparent` of W3C Trace Context: the trace of a caller, and its span that calls.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::protocol::hex::{from_hex, hex};

/// Bytes of the fields that every version has.
const LENGTH: usize = 55;
/// The flag of a trace that its caller records.
const SAMPLED: u8 = 1;

/// The trace of a caller, and its span that calls. As text it is the header, in version 00.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct TraceParent {
    trace_id: [u8; 16],
    span_id: [u8; 8],
    flags: u8,
}

/// A text that names no trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is no `traceparent` of W3C Trace Context")]
pub struct NoTraceParent;

impl TraceParent {
    /// Name of the header.
    pub const HEADER: &str = "traceparent";

    /// What the headers of a request say. An invalid one says nothing, and neither do two of them. Without the cargo
    /// feature `otel` nobody would ask, so nothing is kept.
    pub fn of_headers<'h>(mut sent: impl Iterator<Item = &'h [u8]>) -> Option<Self> {
        let (only, None) = (sent.next()?, sent.next()) else {
            return None;
        };
        let text = std::str::from_utf8(only).ok()?;
        text.parse().ok().filter(|_| cfg!(feature = "otel"))
    }

    /// The trace.
    pub fn trace_id(&self) -> Vec<u8> {
        self.trace_id.to_vec()
    }

    /// The span that calls.
    pub fn span_id(&self) -> Vec<u8> {
        self.span_id.to_vec()
    }

    /// Whether the caller records the trace.
    pub fn is_sampled(&self) -> bool {
        self.flags & SAMPLED != 0
    }
}

impl FromStr for TraceParent {
    type Err = NoTraceParent;

    fn from_str(text: &str) -> Result<Self, NoTraceParent> {
        let is_plain = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b'-');
        let (fields, more) = text.split_at_checked(LENGTH).ok_or(NoTraceParent)?;
        let mut parts = fields.split('-');
        let mut part = || parts.next().ok_or(NoTraceParent);
        let [version, trace, span, flags] = [part()?, part()?, part()?, part()?];
        let [version]: [u8; 1] = from_hex(version).ok_or(NoTraceParent)?;
        let trace_id = from_hex(trace).ok_or(NoTraceParent)?;
        let span_id = from_hex(span).ok_or(NoTraceParent)?;
        let [flags]: [u8; 1] = from_hex(flags).ok_or(NoTraceParent)?;
        // A later version may have more fields. Those of version 00 mean the same in it.
        let ends = more.is_empty() || (version > 0 && more.starts_with('-'));
        let valid = ends
            && fields.bytes().all(is_plain)
            && version != u8::MAX
            && trace_id != [0; 16]
            && span_id != [0; 8];
        valid
            .then_some(Self {
                trace_id,
                span_id,
                flags,
            })
            .ok_or(NoTraceParent)
    }
}

impl Display for TraceParent {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (trace, span) = (hex(&self.trace_id), hex(&self.span_id));
        write!(f, "00-{trace}-{span}-{:02x}", self.flags)
    }
}

impl TryFrom<String> for TraceParent {
    type Error = NoTraceParent;

    fn try_from(text: String) -> Result<Self, NoTraceParent> {
        text.parse()
    }
}

impl From<TraceParent> for String {
    fn from(parent: TraceParent) -> Self {
        parent.to_string()
    }
}
