//! The header `traceparent` of W3C Trace Context: trace and span of a caller.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::protocol::hex::{from_hex, hex};

/// Length in bytes of the fields that all versions have.
const LENGTH: usize = 55;
/// The flag of a recorded trace.
const SAMPLED: u8 = 1;

/// Trace and span of a caller. As text it is the header in version 00.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct TraceParent {
    trace_id: [u8; 16],
    span_id: [u8; 8],
    flags: u8,
}

/// Error: the text names no trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is no `traceparent` of W3C Trace Context")]
pub struct NoTraceParent;

impl TraceParent {
    /// Name of the header.
    pub const HEADER: &str = "traceparent";

    /// Reads the headers of a request. An invalid header, or two of them, count as none. Without
    /// the cargo feature `otel` nothing uses it, so this returns none.
    pub fn of_headers<'h>(mut sent: impl Iterator<Item = &'h [u8]>) -> Option<Self> {
        let (only, None) = (sent.next()?, sent.next()) else {
            return None;
        };
        let text = std::str::from_utf8(only).ok()?;
        text.parse().ok().filter(|_| cfg!(feature = "otel"))
    }

    /// Trace id.
    pub fn trace_id(&self) -> Vec<u8> {
        self.trace_id.to_vec()
    }

    /// Id of the caller's span.
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
