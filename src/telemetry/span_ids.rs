//! Ids of traces and spans. They follow from what the database keeps: a turn that goes on after a crash goes on in its
//! trace.

use sha2::{Digest as _, Sha256};

use crate::clock::Timestamp;
use crate::protocol::ids::ContinuationId;
use crate::protocol::trace_parent::TraceParent;

/// The trace of a turn: the one that a caller named, else one of its own.
pub fn trace(turn: ContinuationId, parent: Option<TraceParent>) -> Vec<u8> {
    match parent {
        Some(parent) => parent.trace_id(),
        None => turn.to_bytes().to_vec(),
    }
}

/// The span of the whole turn.
pub fn root(turn: ContinuationId) -> Vec<u8> {
    shortened(&[&turn.to_bytes()])
}

/// A span within the turn: the one that the event with this number ends.
pub fn child(turn: ContinuationId, event: u64) -> Vec<u8> {
    shortened(&[&turn.to_bytes(), &event.to_be_bytes()])
}

fn shortened(parts: &[&[u8]]) -> Vec<u8> {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    hash.finalize().iter().copied().take(8).collect()
}

/// When the id of a turn was made: its first 48 bits.
pub fn made_at(turn: ContinuationId) -> Timestamp {
    Timestamp((u128::from_be_bytes(turn.to_bytes()) >> 80) as i64)
}

/// Whether the trace of a turn is recorded: as its caller says, else where it is among this share of all. A turn is or is
/// not, whoever asks and when.
pub fn is_sampled(turn: ContinuationId, parent: Option<TraceParent>, share: f64) -> bool {
    if let Some(parent) = parent {
        return parent.is_sampled();
    }
    // 53 bits of what is random in the id, which a float holds exactly.
    let place = u128::from_be_bytes(turn.to_bytes()) as u64 >> 11;
    (place as f64) < share * (1_u64 << 53) as f64
}

/// Nanoseconds since 1970, as OTLP writes times.
pub fn nanos(at: Timestamp) -> u64 {
    u64::try_from(at.as_millis())
        .unwrap_or(0)
        .saturating_mul(1_000_000)
}
