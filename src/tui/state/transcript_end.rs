//! What the peek of Live knows of a transcript.

use crate::protocol::ids::SessionId;
use crate::protocol::session::TranscriptEntry;

/// The end of the transcript of a session, oldest entry first, or why it is not known.
pub type TranscriptEnd = (SessionId, Result<Vec<TranscriptEntry>, String>);
