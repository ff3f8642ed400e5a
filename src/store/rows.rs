//! Columns and keys that several statements share.

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::protocol::approval::Requester;
use crate::protocol::hex::hex;
use crate::protocol::ids::OutboxId;
use crate::protocol::session::Usage;
use crate::store::error::StoreError;
use crate::store::sql::{Row, columns};
use crate::text::fold;

/// JSON text for a column.
pub(crate) fn to_json(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(StoreError::from)
}

/// The usage of a row with the columns that continuations have for it.
pub(crate) fn usage(row: &Row<'_>) -> Result<Usage, StoreError> {
    Ok(columns!(row => Usage {
        input_tokens, output_tokens, cached_input_tokens = "cached_tokens", cache_write_tokens,
        cost_usd,
    }))
}

/// Who asked, of a row with the columns that continuations and approvals have for it.
pub(crate) fn requester(row: &Row<'_>) -> Result<Requester, StoreError> {
    Ok(columns!(row => Requester {
        id = "requester_id", display = "requester_display", person = "requester_person",
    }))
}

/// The first 200 characters, for previews in events and lists.
pub(crate) fn preview(text: &str) -> String {
    text.chars().take(200).collect()
}

/// The platform's send key of a part: stable across attempts, 24 hex characters.
pub(crate) fn send_key(id: OutboxId) -> String {
    let mut hasher = Sha256::new();
    hasher.update(b"v1|send");
    hasher.update(id.to_bytes());
    hex(&hasher.finalize()[..12])
}

/// SHA-256 of the folded text of a memory: the same text in the same place is remembered once.
pub(crate) fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(fold::fold(text)).into()
}
