//! What comes through a socket: its own messages, and envelopes. No shape of either can fail.
//!
//! Source: <https://docs.slack.dev/apis/events-api/using-socket-mode>.

use serde_json::{Value, json};

/// A message of a socket.
#[derive(Debug, Clone, PartialEq)]
pub enum Frame {
    /// The socket is ready.
    Hello {
        /// Sockets that hold the same app token now, this one included.
        connections: u32,
        /// The app that the token belongs to.
        app: Option<String>,
    },
    /// The socket will be closed.
    Disconnect {
        /// Why, in a word of Slack's.
        reason: String,
    },
    /// Something happened.
    Envelope(Envelope),
    /// Nothing that we know.
    Unknown {
        /// Its type.
        kind: String,
    },
}

/// What has to be acknowledged.
#[derive(Debug, Clone, PartialEq)]
pub struct Envelope {
    /// What it is acknowledged by.
    pub id: String,
    /// `events_api`, `interactive`, `slash_commands`.
    pub kind: String,
    /// What happened.
    pub payload: Value,
    /// How often it was delivered before.
    pub retries: u64,
    /// Whether the acknowledgement may say something.
    pub answerable: bool,
}

/// Reads one message of a socket.
pub fn frame(text: &str) -> Frame {
    let Ok(mut value) = serde_json::from_str::<Value>(text) else {
        return Frame::Unknown {
            kind: "no JSON".to_owned(),
        };
    };
    let word = |pointer: &str| {
        value
            .pointer(pointer)
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let kind = word("/type").unwrap_or_default();
    if let Some(id) = word("/envelope_id") {
        let retries = value["retry_attempt"].as_u64().unwrap_or(0);
        let answerable = value["accepts_response_payload"].as_bool().unwrap_or(false);
        let payload = value
            .get_mut("payload")
            .map(Value::take)
            .unwrap_or_default();
        return Frame::Envelope(Envelope {
            id,
            kind,
            payload,
            retries,
            answerable,
        });
    }
    match kind.as_str() {
        "hello" => Frame::Hello {
            connections: value["num_connections"]
                .as_u64()
                .and_then(|count| u32::try_from(count).ok())
                .unwrap_or(1),
            app: word("/connection_info/app_id"),
        },
        "disconnect" => Frame::Disconnect {
            reason: word("/reason").unwrap_or_default(),
        },
        _ => Frame::Unknown { kind },
    }
}

/// The acknowledgement of an envelope; `says` is shown to whoever sent it.
pub fn acknowledgement(envelope: &Envelope, says: Option<&str>) -> String {
    match says.filter(|_| envelope.answerable) {
        Some(text) => json!({
            "envelope_id": envelope.id,
            "payload": { "response_type": "ephemeral", "text": text },
        }),
        None => json!({ "envelope_id": envelope.id }),
    }
    .to_string()
}
