//! Typed identifiers: ULIDs with a prefix in text, 16 raw bytes in the database.
//!
//! An id of one kind cannot be passed where another kind is expected. Text without the right prefix
//! does not parse.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use ulid::Ulid;

use crate::protocol::schema;

/// Why a piece of text is not an id of the expected kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a valid id: expected `{prefix}` followed by 26 letters and digits")]
pub struct IdError {
    /// The prefix that was expected, for example `con_`.
    pub prefix: &'static str,
    /// The text that was given, shortened to 64 characters.
    pub text: String,
}

macro_rules! id {
    ($(#[doc = $doc:literal])* $name:ident, $prefix:literal) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Ulid);

        impl $name {
            /// The text prefix of this kind of id.
            pub const PREFIX: &'static str = $prefix;

            /// Generates an id. Ids of one process sort roughly by creation time.
            pub fn generate() -> Self {
                Self(Ulid::generate())
            }

            /// The 16 bytes that the database stores.
            pub fn to_bytes(self) -> [u8; 16] {
                self.0.to_bytes()
            }

            /// The id with these 16 bytes.
            pub fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(Ulid::from_bytes(bytes))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}{}", $prefix, self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                text.strip_prefix($prefix)
                    .and_then(|rest| Ulid::from_string(rest).ok())
                    .map(Self)
                    .ok_or_else(|| IdError { prefix: $prefix, text: text.chars().take(64).collect() })
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                schema::text(concat!($($doc),*), concat!("^", $prefix, "[0-9A-Za-z]{26}$"))
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

id!(/// Session: the long-lived agent state of one conversation.
    SessionId, "ses_");
id!(/// Continuation, called a turn in texts: one user message and everything up to its final answer.
    ContinuationId, "con_");
id!(/// Tool call that the model proposed.
    ToolCallId, "call_");
id!(/// Approval: a durable question that gates something.
    ApprovalId, "apr_");
id!(/// Inbound message, click or command that the engine accepted.
    InboxId, "inb_");
id!(/// Delivery: one part of one outbound message.
    OutboxId, "out_");
id!(/// One attempt of a model call.
    ModelAttemptId, "mat_");
id!(/// One start of a tool call.
    ToolAttemptId, "tat_");
id!(/// Bearer token: its public name, never its value.
    TokenId, "tok_");
id!(/// Memory.
    MemoryId, "mem_");
id!(/// Compaction of a session.
    CompactionId, "cmp_");
id!(/// Memory hygiene run.
    HygieneRunId, "hyg_");
id!(/// Routine: a message that the bot sends itself on a schedule.
    RoutineId, "rtn_");
id!(/// Run of a routine.
    RoutineRunId, "run_");
id!(/// Rule that a person created.
    RuleId, "rul_");
id!(/// Dataset: a table that somebody sent.
    DatasetId, "dst_");
id!(/// File upload that becomes a dataset.
    DatasetUploadId, "dup_");
id!(/// One take-over of a conversation by a person.
    TakeOverId, "tko_");

impl SessionId {
    /// The last six characters of the id, which people type in a chat to name one of their
    /// sessions.
    pub fn code(self) -> String {
        self.0.to_string().chars().skip(20).collect()
    }
}
