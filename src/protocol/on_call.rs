//! Who answers: whom a question waits for, and who is on call. Neither changes who may decide what, or until when.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::enums::{Role, Scope, Surface};

/// Stands for nobody where a name is expected.
pub const NOBODY: &str = "-";
/// Longest note, in characters.
pub const MAX_NOTE_CHARS: usize = 500;
/// Longest time somebody can be on call, in seconds: 31 days.
pub const MAX_ON_CALL_SECONDS: u32 = 31 * 24 * 3600;

/// Whom a question waits for. Everybody who may decide it still can.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Assignment {
    /// Who: a name under `[people]`, or an operator as the audit names them.
    pub to: String,
    /// Label of who assigned it.
    pub by: String,
    /// When.
    pub at: Timestamp,
    /// What they wrote to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Who is on call, for the whole engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OnCall {
    /// Who: a name under `[people]`, or an operator as the audit names them.
    pub name: String,
    /// Label of who said so.
    pub by: String,
    /// Since when.
    pub since: Timestamp,
    /// Until when; none = until somebody else is.
    #[serde(default)]
    pub until: Option<Timestamp>,
    /// What was written to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A person of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Person {
    /// Name under `[people]`.
    pub name: String,
    /// What they may do.
    pub role: Role,
    /// What that gives them.
    pub scopes: Vec<Scope>,
    /// Their ids on platforms, for example `telegram:123456`, and as users of this machine, `unix:1000`.
    pub ids: Vec<String>,
    /// Names of their tokens, without those that have ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<String>,
    /// Channels on which the bot can write to them directly.
    pub channels: Vec<String>,
    /// Whether they are on call.
    pub on_call: bool,
    /// Their quiet hours end then; none = they are not in quiet hours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet_until: Option<Timestamp>,
    /// What they did last, as far as the newest rows of the audit tell; none = nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_action: Option<LastAction>,
}

/// The newest row of the audit that somebody left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LastAction {
    /// When.
    pub at: Timestamp,
    /// What, for example `approval.decided`.
    pub action: String,
    /// Where.
    pub surface: Surface,
}

/// Who is on call, and who can be named.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OnCallStatus {
    /// Who is on call now; none = nobody.
    pub on_call: Option<OnCall>,
    /// Who was on call last, where nobody is because their time is over.
    pub ended: Option<OnCall>,
    /// Who can be on call or be handed a question, in order.
    pub names: Vec<String>,
    /// What whoever asks is called; empty = not known.
    pub you: Vec<String>,
}

impl OnCallStatus {
    /// What was said last is now this.
    pub fn set(&mut self, on_call: Option<OnCall>) {
        self.on_call = on_call;
        self.ended = None;
    }

    /// Whoever's time is over is on call no longer. Whether that changed something.
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

    /// Whether this is a name of whoever asked.
    pub fn is_me(&self, name: &str) -> bool {
        self.you.iter().any(|own| own == name)
    }

    /// A name and what is written behind it. The longest name that is known counts, because names can have blanks;
    /// where none is, the first word.
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

/// Assigns a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AssignRequest {
    /// To whom; `-` takes it back.
    pub to: String,
    /// A note for them, at most 500 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Digest of what was shown.
    pub digest: String,
    /// Revision that was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
}

/// Says who is on call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnCallRequest {
    /// Who; `-` = nobody.
    pub name: String,
    /// For how long; none = until somebody else is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u32>,
    /// A note, at most 500 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}
