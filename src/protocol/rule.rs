//! Rules of people: what they match, their verdict, and what they would have decided.
//!
//! Previews and arguments of matched calls are untrusted text, which screens must reveal.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::enums::{
    Access, DecisionKind, ExternalAgent, Risk, RuleMatcher, RuleScope, ToolCallState, VerdictKind,
};
use crate::protocol::ids::{ApprovalId, ContinuationId, RuleId, SessionId, ToolCallId};
use crate::protocol::policy::Verdict;

/// A rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rule {
    /// Id.
    pub id: RuleId,
    /// Tool name, or `prefix*`.
    pub tool: String,
    /// Argument that the rule compares; none = all arguments as canonical JSON.
    pub field: Option<String>,
    /// How the rule compares.
    pub matcher: RuleMatcher,
    /// Value to compare with: text, or the words of a list in shell notation.
    pub value: String,
    /// Directory of the commands that it allows, as seen from the workspace; none = the workspace
    /// itself.
    #[serde(default)]
    pub cwd: Option<String>,
    /// Program that the commands start, after following links; none = the program that their first
    /// word names.
    #[serde(default)]
    pub executable: Option<String>,
    /// Where the rule applies.
    pub scope: RuleScope,
    /// Its channel, for the scope `channel`.
    pub channel: Option<String>,
    /// Its session, for the scopes `session` and `turn`.
    pub session_id: Option<SessionId>,
    /// Its turn, for the scope `turn`. The engine removes the rule when the turn ends.
    #[serde(default)]
    pub continuation_id: Option<ContinuationId>,
    /// Its verdict about matching calls.
    pub verdict: VerdictKind,
    /// Whether the policy uses it.
    pub enabled: bool,
    /// When it expires; none = never.
    pub expires_at: Option<Timestamp>,
    /// Most calls that it may allow; none = any number.
    pub max_uses: Option<u64>,
    /// Number of calls that it decided.
    pub uses: u64,
    /// When it last decided a call.
    pub last_used_at: Option<Timestamp>,
    /// Why it was created.
    pub note: Option<String>,
    /// The approval that it was created with; none = it was created alone.
    pub approval_id: Option<ApprovalId>,
    /// Label of who changed it last.
    pub by: String,
    /// Rises with each change.
    pub version: u64,
    /// When it was created.
    pub created_at: Timestamp,
    /// Last change.
    pub updated_at: Timestamp,
    /// Why it allows nothing although it is in force: ``write_file is on always_ask of channel
    /// team``. Answers compute it from the current policies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub never_used: Option<String>,
}

impl Rule {
    /// The rule in one line: ``allow execute_command argv prefix `git status` ``.
    pub fn in_words(&self) -> String {
        let field = self.field.as_deref().unwrap_or("arguments");
        let cwd = self.cwd.as_ref().map(|cwd| format!(" in `{cwd}`"));
        let executable = self.executable.as_ref();
        format!(
            "{} {} {field} {} `{}`{}{}",
            self.verdict,
            self.tool,
            self.matcher,
            self.value,
            cwd.unwrap_or_default(),
            executable.map_or_else(String::new, |program| format!(" with `{program}`"))
        )
    }

    /// What a rule that allows commands covers beside their words, and what it does not bind;
    /// none = it allows no commands.
    pub fn coverage(&self) -> Option<String> {
        covers_commands(self.verdict, &self.tool)
            .then(|| coverage(self.cwd.as_deref(), self.executable.as_deref()))
    }

    /// Notes an allowing rule in force without recent use; none = it was used, or is no such rule.
    /// A denying rule protects without being used.
    pub fn unused(&self, now: Timestamp) -> Option<String> {
        let since = self.last_used_at.unwrap_or(self.updated_at);
        let days = now.millis_since(since.max(self.updated_at)) / 86_400_000;
        let stale =
            self.verdict == VerdictKind::Allow && days >= UNUSED_DAYS && self.idle(now).is_none();
        stale.then(|| format!("unused for {days} days"))
    }

    /// Whether the rule applies at this place.
    pub fn reaches(
        &self,
        channel: &str,
        session: Option<SessionId>,
        turn: Option<ContinuationId>,
    ) -> bool {
        match self.scope {
            RuleScope::Global => true,
            RuleScope::Channel => self.channel.as_deref() == Some(channel),
            RuleScope::Session => session.is_some() && self.session_id == session,
            RuleScope::Turn => turn.is_some() && self.continuation_id == turn,
        }
    }

    /// Whether it has not expired at `now`, seen from a turn; none = from no turn.
    pub fn holds(&self, now: Timestamp, turn: Option<ContinuationId>) -> bool {
        self.expires_at.is_none_or(|at| at > now)
            && self.continuation_id.is_none_or(|id| turn == Some(id))
    }

    /// Why it decides nothing at the moment; none = it is in force.
    pub fn idle(&self, now: Timestamp) -> Option<String> {
        let why = if !self.enabled {
            "disabled"
        } else if self.expires_at.is_some_and(|at| at <= now) {
            "expired"
        } else if self.max_uses.is_some_and(|max| self.uses >= max) {
            "used up"
        } else {
            let why = self.never_used.as_ref()?;
            return Some(format!("never used: {why}"));
        };
        Some(why.to_owned())
    }
}

/// Days without use after which an allowing rule is reported as unused.
pub const UNUSED_DAYS: u64 = 14;

/// The tool that runs commands.
pub const COMMANDS: &str = "execute_command";

/// The tool that calls hosts.
pub const FETCH: &str = "http_fetch";
/// The tool that keeps a shell for each session.
pub const BASH: &str = "bash";
/// The tool that runs Python. It exists when the configuration has its table, as with [`FETCH`].
pub const PYTHON: &str = "python";
/// The part of an address that rules compare beside the whole: its host. No argument of [`FETCH`]
/// has this name.
pub const HOST: &str = "host";
/// The argument that shell tools run.
pub const COMMAND: &str = "command";
/// The argument of [`FETCH`] with the address.
pub const URL: &str = "url";

/// Whether a tool runs its argument [`COMMAND`] in a shell: a built-in tool, or a tool of an
/// external agent.
pub fn runs_shell(tool: &str) -> bool {
    let of_agent = ExternalAgent::of_tool(tool);
    tool == BASH || of_agent.is_some_and(|(agent, name)| agent.shells().contains(&name))
}

/// Whether a rule allows commands, which run in a directory and with a program.
pub fn covers_commands(verdict: VerdictKind, tool: &str) -> bool {
    let named = match tool.strip_suffix('*') {
        Some(start) => COMMANDS.starts_with(start),
        None => tool == COMMANDS,
    };
    named && verdict == VerdictKind::Allow
}

/// Directory and program of the commands that a rule allows, and the reminder that it does not bind
/// the content of files.
pub fn coverage(cwd: Option<&str>, executable: Option<&str>) -> String {
    let place = cwd.map_or_else(
        || "the workspace itself".to_owned(),
        |cwd| format!("`{cwd}`"),
    );
    let program = executable.map_or_else(
        || "the program that the first word names".to_owned(),
        |program| format!("program `{program}`"),
    );
    format!(
        "in {place}, {program}; the content of files it runs is not bound: a changed Makefile or script runs too"
    )
}

/// Settings of a rule. Absent fields stay, or take their default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RulePatch {
    /// Tool name, or `prefix*`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Argument that the rule compares; empty = all arguments. Default: `argv` for
    /// `execute_command`, `command` for a shell, else all. `host` for `http_fetch` is the host of
    /// its `url`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// How the rule compares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matcher: Option<RuleMatcher>,
    /// Value to compare with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Directory of the commands that it allows; empty = the workspace itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Program that the commands start; empty = the program that the first word names now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executable: Option<String>,
    /// Where the rule applies; default global, or as far as the given channel, session or turn.
    /// With a decision, `turn`, `session` and `channel` mean those of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<RuleScope>,
    /// Its channel, for the scope `channel`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// Its session, for the scope `session`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Its turn, for the scope `turn`; the rule ends with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continuation_id: Option<ContinuationId>,
    /// Its verdict; default `allow`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<VerdictKind>,
    /// Whether the policy uses it; default yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Seconds until it expires; 0 = never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_seconds: Option<u64>,
    /// Most calls that it may allow; 0 = any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_uses: Option<u64>,
    /// Why it was created; empty = no note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Only change the rule if it still has this version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_version: Option<u64>,
}

/// A session or turn grant: an approval for the same tool with the same arguments in one session or
/// turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Grant {
    /// Id of the approval that created it.
    pub id: ApprovalId,
    /// Session of the grant.
    pub session_id: SessionId,
    /// Channel of the session.
    pub channel: String,
    /// Conversation of the session: untrusted text.
    pub conversation: String,
    /// Tool name.
    pub tool: String,
    /// One line of the arguments: untrusted text.
    pub preview: String,
    /// The exact arguments, while the call is stored: untrusted text.
    pub args: Option<serde_json::Value>,
    /// Stable id of the requester that it applies to.
    pub requester_id: String,
    /// Label of who gave it.
    pub by: String,
    /// Number of calls that ran with it.
    pub uses: u64,
    /// When a call last ran with it.
    pub last_used_at: Option<Timestamp>,
    /// When it was created.
    pub created_at: Timestamp,
    /// The turn that it ends with; none = it ends with its session.
    #[serde(default)]
    pub continuation_id: Option<ContinuationId>,
    /// When it expires. It ends with its turn or session at the latest.
    pub expires_at: Option<Timestamp>,
}

impl Grant {
    /// When it ends at the latest, in words.
    pub fn ends_with(&self) -> &'static str {
        match self.continuation_id {
            Some(_) => "with its turn",
            None => "with the session",
        }
    }
}

/// A past call that a rule matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleMatch {
    /// Id of the call.
    pub call_id: ToolCallId,
    /// Channel of the call.
    pub channel: String,
    /// Tool name.
    pub tool: String,
    /// The arguments in one line: untrusted text.
    pub preview: String,
    /// How much harm the call can do.
    pub risk: Risk,
    /// The verdict of the policy then.
    pub was: VerdictKind,
    /// The decision of a person; none = nobody was asked.
    pub decision: Option<DecisionKind>,
    /// Label of who decided.
    pub by: Option<String>,
    /// State of the call.
    pub state: ToolCallState,
    /// Why an allowing rule would not have let it run; none = it would have.
    pub kept_by: Option<String>,
    /// When it was proposed.
    pub at: Timestamp,
}

/// Past calls that a rule would have matched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleMatches {
    /// The rule in one line, as the engine understood it.
    pub rule: String,
    /// What it covers beside the words of a command, and what it does not bind.
    #[serde(default)]
    pub coverage: Option<String>,
    /// Start of the examined time.
    pub since: Timestamp,
    /// Number of examined calls of its tools in its scope.
    pub considered: u64,
    /// Whether there were more calls than the engine examines.
    pub more: bool,
    /// Number of calls that it matches.
    pub matched: u64,
    /// Number of calls that it makes ask, because nothing proves that they avoid what it forbids.
    #[serde(default)]
    pub doubtful: u64,
    /// Matched calls that ran without a person's decision.
    pub ran_unasked: u64,
    /// Matched calls that a person approved.
    pub approved: u64,
    /// Matched calls that a person denied or answered in another way.
    pub denied: u64,
    /// Matched calls that the policy refused.
    pub refused: u64,
    /// The newest matched calls, newest first; at most 50.
    pub calls: Vec<RuleMatch>,
}

/// A suggested rule that would have answered approvals.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleSuggestion {
    /// The rule, in the form that `POST /v1/rules` takes.
    pub rule: RulePatch,
    /// The rule in one line: untrusted text.
    pub text: String,
    /// What it covers beside the words of a command, and what it does not bind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<String>,
    /// Number of approvals that it would have answered and no earlier rule of the list.
    pub answered: u64,
    /// Number of calls that it would have let run although nobody allowed them.
    pub also_count: u64,
    /// Some of these calls, one line each: untrusted text; at most 5.
    pub also: Vec<String>,
}

/// Suggested rules that would have answered most of what people allowed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleSuggestions {
    /// Start of the examined time.
    pub since: Timestamp,
    /// Whether there were more calls than the engine examines.
    pub more: bool,
    /// Number of approvals that people gave.
    pub approved: u64,
    /// Number of these that the rules together would have answered.
    pub answered: u64,
    /// The rules, the most useful first; at most 5.
    pub rules: Vec<RuleSuggestion>,
}

impl RuleMatches {
    /// What past calls say against the rule: it allows, and matched one call or none. None =
    /// nothing.
    pub fn warning(&self) -> Option<&'static str> {
        let allows = self.rule.starts_with(VerdictKind::Allow.as_str());
        match self.matched {
            0 if allows => Some("it matched no call: nothing shows yet that anybody needs it"),
            1 if allows => {
                Some("it matched one call only: allow that call once, or widen the rule")
            }
            _ => None,
        }
    }
}

impl RuleSuggestions {
    /// The effect of all rules: "3 rules would have answered 31 of 40 approvals".
    pub fn in_words(&self) -> String {
        let rules = match self.rules.len() {
            0 => "no rule".to_owned(),
            1 => "1 rule".to_owned(),
            count => format!("{count} rules"),
        };
        format!(
            "{rules} would have answered {} of {} approvals",
            self.answered, self.approved
        )
    }
}

impl RuleSuggestion {
    /// Other calls that it would have let run, in words: untrusted text.
    pub fn beside(&self) -> String {
        if self.also_count == 0 {
            return "nothing else".to_owned();
        }
        let more = self.also_count.saturating_sub(self.also.len() as u64);
        let more = if more > 0 {
            format!("; {more} more")
        } else {
            String::new()
        };
        format!("{}{more}", self.also.join("; "))
    }
}

/// The verdict about a call that might come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleTest {
    /// Tool name.
    pub tool: String,
    /// The arguments in one line.
    pub preview: String,
    /// The most that the call could touch.
    pub access: Access,
    /// How much harm the call could do; none = it cannot be carried out at all.
    pub risk: Option<Risk>,
    /// The verdict of the policy.
    pub verdict: Verdict,
    /// Rules in force that match it, in the order of evaluation, then rules that may match.
    pub matching: Vec<Rule>,
}
