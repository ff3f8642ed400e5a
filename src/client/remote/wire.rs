//! What both ends of the remote connection agree on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::protocol::enums::Surface;
use crate::protocol::request::Command;

/// Header of every answer; its value is [`PROTOCOL_VERSION`].
pub const PROTOCOL_HEADER: &str = "leverframe-protocol";

/// Header of every answer to a token: its scopes, separated by spaces. Without it, the caller may do everything.
pub const SCOPES_HEADER: &str = "leverframe-scopes";

/// Rises when an older client can no longer work with the daemon.
pub const PROTOCOL_VERSION: u16 = 2;

/// Body of `POST /v1/submit`: an envelope without the actor, which the daemon takes from the credential.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Submission {
    /// The command.
    pub command: Command,
    /// Surface of the caller.
    pub surface: Surface,
    /// Key that makes a repeated request return the result of the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}
