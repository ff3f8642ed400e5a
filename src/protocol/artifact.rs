//! Content that lives in a file of its own, named by its hash.
//!
//! An artifact never changes: its name is the SHA-256 of its content.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::clock::Timestamp;
use crate::protocol::hex::{from_hex, hex};
use crate::protocol::schema;

/// Prefix of a hash where a text or a path names an artifact.
pub const ARTIFACT_PREFIX: &str = "artifact:";

/// SHA-256 of an artifact's content. Written as 64 lower-case hex digits; read with or without the
/// prefix `artifact:`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArtifactHash([u8; 32]);

/// Why a text names no artifact.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` names no artifact: expected 64 hex digits, with or without `artifact:` before them"
)]
pub struct ArtifactHashError {
    /// The text that was given, shortened to 80 characters.
    pub text: String,
}

impl ArtifactHash {
    /// The 32 bytes of the hash.
    pub fn to_bytes(self) -> [u8; 32] {
        self.0
    }

    /// The hash with these 32 bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// How a text refers to the artifact: `artifact:` and the digits.
    pub fn reference(self) -> String {
        format!("{ARTIFACT_PREFIX}{self}")
    }
}

impl fmt::Display for ArtifactHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for ArtifactHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for ArtifactHash {
    type Err = ArtifactHashError;

    fn from_str(text: &str) -> Result<Self, ArtifactHashError> {
        let digits = text.strip_prefix(ARTIFACT_PREFIX).unwrap_or(text);
        from_hex(digits).map(Self).ok_or_else(|| ArtifactHashError {
            text: text.chars().take(80).collect(),
        })
    }
}

impl JsonSchema for ArtifactHash {
    fn schema_name() -> Cow<'static, str> {
        "ArtifactHash".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schema::text(
            "SHA-256 of the content, 64 hexadecimal digits.",
            "^[0-9a-f]{64}$",
        )
    }
}

impl Serialize for ArtifactHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ArtifactHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Where the whole of cut content is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArtifactRef {
    /// Hash of the content.
    pub hash: ArtifactHash,
    /// Size in bytes.
    pub size: u64,
    /// Media type, for example `text/plain; charset=utf-8`.
    pub media_type: String,
}

/// An artifact with its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Artifact {
    /// Hash of the content.
    pub hash: ArtifactHash,
    /// Size in bytes.
    pub size: u64,
    /// Media type, for example `text/plain; charset=utf-8`.
    pub media_type: String,
    /// When the engine first stored it.
    pub created_at: Timestamp,
    /// The content as text: untrusted, redacted before storage. Empty when the content is not text.
    pub text: String,
    /// The content in base64, when it is not text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
}

/// Largest allowed value of `[attachments] max_mib`, in MiB. No chat platform gives a bot larger
/// files.
pub const MAX_ATTACHED_MIB: u64 = 20;
/// Largest allowed value of `[attachments] max_files`.
pub const MAX_ATTACHMENTS: usize = 50;

/// A file from the sender of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewAttachment {
    /// Name, for example `report.pdf`. The engine drops directories in it.
    pub name: String,
    /// Media type, for example `application/pdf`; default `application/octet-stream`.
    #[serde(default)]
    pub media_type: Option<String>,
    /// The content in base64. All files of one message together have at most `[attachments]
    /// max_mib`.
    pub data: String,
}

/// A file that came with a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Attachment {
    /// Path in the workspace of the channel, where tools find it.
    pub path: String,
    /// The content.
    #[serde(flatten)]
    pub artifact: ArtifactRef,
}

/// A file that the agent sends to the conversation with an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SentFile {
    /// File name without directories.
    pub name: String,
    /// The content.
    #[serde(flatten)]
    pub artifact: ArtifactRef,
}

impl SentFile {
    /// Name, media type, size and artifact in one line. The name is untrusted text.
    pub fn line(&self) -> String {
        let ArtifactRef {
            hash,
            size,
            media_type,
        } = &self.artifact;
        format!(
            "{} ({media_type}, {size} bytes), {}",
            self.name,
            hash.reference()
        )
    }
}

/// The media type for the ending of a file name, for the types that models and people use most.
pub fn media_type_of(name: &str) -> Option<&'static str> {
    let (_, end) = name.rsplit_once('.')?;
    Some(match end.to_ascii_lowercase().as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "pdf" => "application/pdf",
        "json" => "application/json",
        "zip" => "application/zip",
        "csv" => "text/csv",
        "md" => "text/markdown",
        "html" => "text/html",
        "txt" | "log" => "text/plain",
        "ogg" | "oga" | "opus" => "audio/ogg",
        "mp3" => "audio/mpeg",
        "m4a" => "audio/mp4",
        "wav" => "audio/wav",
        "mp4" => "video/mp4",
        _ => return None,
    })
}
