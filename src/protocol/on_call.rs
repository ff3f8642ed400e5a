//! Assignments and on-call. Neither changes who may decide what, or until when.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::enums::{Role, Scope, Surface};

/// Stands for nobody in place of a name.
pub const NOBODY: &str = "-";
/// Longest note, in characters.
pub const MAX_NOTE_CHARS: usize = 500;
/// Longest on-call time, in seconds: 31 days.
pub const MAX_ON_CALL_SECONDS: u32 = 31 * 24 * 3600;

/// To whom an approval is assigned. Everybody who may decide it still can.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Assignment {
    /// The assignee: a name under `[people]`, or an operator as the audit names them.
    pub to: String,
    /// Label of who assigned it.
    pub by: String,
    /// When it was assigned.
    pub at: Timestamp,
    /// Note for the assignee.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Who is on call, for all channels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OnCall {
    /// A name under `[people]`, or an operator as the audit names them.
    pub name: String,
    /// Label of who set it.
    pub by: String,
    /// Start of the on-call time.
    pub since: Timestamp,
    /// End of the on-call time; none = until somebody else is on call.
    #[serde(default)]
    pub until: Option<Timestamp>,
    /// Note from who set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A person in the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Person {
    /// Name under `[people]`.
    pub name: String,
    /// Role of the person.
    pub role: Role,
    /// Scopes of the role.
    pub scopes: Vec<Scope>,
    /// Ids on platforms, for example `telegram:123456`, and as users of this machine, `unix:1000`.
    pub ids: Vec<String>,
    /// Names of their tokens that have not ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<String>,
    /// Channels on which the bot can send them a direct message.
    pub channels: Vec<String>,
    /// Whether they are on call.
    pub on_call: bool,
    /// End of their current quiet hours; none = they are not in quiet hours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet_until: Option<Timestamp>,
    /// Their last action in the newest rows of the audit; none = there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_action: Option<LastAction>,
}

/// The newest audit row of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LastAction {
    /// When the action happened.
    pub at: Timestamp,
    /// The action, for example `approval.decided`.
    pub action: String,
    /// Where the action came from.
    pub surface: Surface,
}

/// Who is on call, and who can be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OnCallStatus {
    /// Who is on call now; none = nobody.
    pub on_call: Option<OnCall>,
    /// Who was on call last, if their time is over and nobody followed; none otherwise.
    pub ended: Option<OnCall>,
    /// Names that can be on call or be assigned an approval, in order.
    pub names: Vec<String>,
    /// Names of the caller; empty = not known.
    pub you: Vec<String>,
}

impl OnCallStatus {
    /// Sets who is on call.
    pub fn set(&mut self, on_call: Option<OnCall>) {
        self.on_call = on_call;
        self.ended = None;
    }

    /// Ends an on-call time that is over. True = something changed.
    pub fn settle(&mut self, now: Timestamp) -> bool {
        let over = self
            .on_call
            .take_if(|one| one.until.is_some_and(|until| until <= now));
        if over.is_some() {
            self.ended = over;
            return true;
        }
        false
    }

    /// Whether this is a name of the caller.
    pub fn is_me(&self, name: &str) -> bool {
        self.you.iter().any(|own| own == name)
    }

    /// Splits a name from the text behind it. The longest known name counts, because names can
    /// contain spaces; without a known name, the first word counts.
    pub fn split<'t>(&self, text: &'t str) -> (&'t str, &'t str) {
        let text = text.trim();
        let behind = |name: &str| {
            text.strip_prefix(name)
                .filter(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
        };
        let known = self.names.iter().chain(&self.you);
        let rest = known
            .filter_map(|name| behind(name))
            .min_by_key(|rest| rest.len());
        let rest =
            rest.unwrap_or_else(|| text.find(char::is_whitespace).map_or("", |at| &text[at..]));
        let name = text.strip_suffix(rest).unwrap_or(text);
        (name, rest.trim())
    }
}

/// A request to assign an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AssignRequest {
    /// Name of the assignee; `-` removes the assignment.
    pub to: String,
    /// Note for the assignee, at most 500 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Digest of what the caller saw.
    pub digest: String,
    /// Revision that the caller saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
}

/// A request to set who is on call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnCallRequest {
    /// Name of the person; `-` = nobody.
    pub name: String,
    /// Seconds of on-call time; none = until somebody else is on call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u32>,
    /// A note, at most 500 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}
