//! Typed identifiers: ULIDs with a prefix in text, 16 raw bytes in the database.
//!
//! An id of one kind can never be passed where another kind is expected, and text without the right
//! prefix does not parse.

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

            /// A fresh id. Ids made by one process sort roughly by creation time.
            pub fn generate() -> Self {
                Self(Ulid::generate())
            }

            /// The 16 bytes stored in the database.
            pub fn to_bytes(self) -> [u8; 16] {
                self.0.to_bytes()
            }

            /// The id stored as these 16 bytes.
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

id!(/// The long-lived agent state behind one conversation.
    SessionId, "ses_");
id!(/// One turn: one user message and everything up to its final answer.
    ContinuationId, "con_");
id!(/// One tool call proposed by the model.
    ToolCallId, "call_");
id!(/// A durable question that gates something.
    ApprovalId, "apr_");
id!(/// One accepted inbound message, click or command.
    InboxId, "inb_");
id!(/// One part of one outbound message.
    OutboxId, "out_");
id!(/// One model call, retries counted apart.
    ModelAttemptId, "mat_");
id!(/// One start of a tool call.
    ToolAttemptId, "tat_");
id!(/// A bearer token (its public name, never its value).
    TokenId, "tok_");
id!(/// One remembered thing.
    MemoryId, "mem_");
id!(/// One compaction of a session.
    CompactionId, "cmp_");
id!(/// One run of the memory's hygiene.
    HygieneRunId, "hyg_");
id!(/// A message that the bot sends itself on a schedule.
    RoutineId, "rtn_");
id!(/// One run of a routine.
    RoutineRunId, "run_");
id!(/// A rule that a person made.
    RuleId, "rul_");
id!(/// A table that somebody sent.
    DatasetId, "dst_");
id!(/// A file on its way to become a dataset.
    DatasetUploadId, "dup_");
id!(/// One time that a person took a conversation over.
    TakeOverId, "tko_");

impl SessionId {
    /// The last six characters of the id: what people type in a chat to name one of their sessions.
    pub fn code(self) -> String {
        self.0.to_string().chars().skip(20).collect()
    }
}
