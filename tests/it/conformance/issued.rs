//! The signed blocks that a peer has issued, put together from its own bytes: an oracle for what may come back.

use std::collections::BTreeMap;

use leverframe::model::request::ModelMessage;
use serde_json::{Value, json};

/// Whether a block may come back only as it was issued.
pub fn is_sealed(block: &Value) -> bool {
    matches!(
        block["type"].as_str(),
        Some("thinking" | "redacted_thinking")
    )
}

/// The sealed blocks of earlier answers.
pub fn in_history(messages: &[ModelMessage]) -> Vec<Value> {
    let natives = messages.iter().filter_map(|message| match message {
        ModelMessage::Assistant { native, .. } => native.as_ref(),
        ModelMessage::User { .. } | ModelMessage::ToolResults { .. } => None,
    });
    natives
        .filter(|native| native.family == "anthropic")
        .filter_map(|native| native.content.as_array())
        .flatten()
        .filter(|block| is_sealed(block))
        .cloned()
        .collect()
}

/// The sealed blocks in the bytes of an answer of the Messages API.
pub fn in_answer(body: &[u8]) -> Vec<Value> {
    // Read only where there are any: some bodies are megabytes.
    let text = String::from_utf8_lossy(body);
    if !text.contains("thinking") {
        return Vec::new();
    }
    let mut blocks: BTreeMap<u64, Value> = BTreeMap::new();
    for line in text.split(['\n', '\r']) {
        let Some(data) = line.strip_prefix("data:") else {
            continue;
        };
        let Ok(event) = serde_json::from_str::<Value>(data) else {
            continue;
        };
        let index = event["index"].as_u64().unwrap_or(0);
        if event["type"] == "content_block_start" && is_sealed(&event["content_block"]) {
            blocks.insert(index, event["content_block"].clone());
        }
        let Some(block) = blocks.get_mut(&index) else {
            continue;
        };
        for part in ["thinking", "signature"] {
            if let Some(more) = event["delta"][part].as_str() {
                let before = block[part].as_str().unwrap_or("");
                block[part] = json!(format!("{before}{more}"));
            }
        }
    }
    blocks.into_values().collect()
}
