//! Rules that people make: what they match, what they say, and what they would have said.
//!
//! Outside text is only in what was matched (previews, arguments) and must be revealed before it is shown.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::enums::{
    Access, DecisionKind, ExternalAgent, Risk, RuleMatcher, RuleScope, ToolCallState, VerdictKind,
};
use crate::protocol::ids::{ApprovalId, ContinuationId, RuleId, SessionId, ToolCallId};
use crate::protocol::policy::Verdict;

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rule {
    /// Id.
    pub id: RuleId,
    /// Tool name, or `prefix*`.
    pub tool: String,
    /// The argument whose value is compared; none = all arguments as canonical JSON.
    pub field: Option<String>,
    /// How it is compared.
    pub matcher: RuleMatcher,
    /// With what: text, or the words of a list as a shell would be given them.
    pub value: String,
    /// Where the commands run that it allows, as seen from the workspace; none = in the workspace itself.
    #[serde(default)]
    pub cwd: Option<String>,
    /// The program that they start, links resolved; none = what their first word names.
    #[serde(default)]
    pub executable: Option<String>,
    /// How far it reaches.
    pub scope: RuleScope,
    /// Its channel, when it reaches that far.
    pub channel: Option<String>,
    /// Its session, when it reaches that far or only to a turn.
    pub session_id: Option<SessionId>,
    /// Its turn, when it reaches no further; it is removed when the turn ends.
    #[serde(default)]
    pub continuation_id: Option<ContinuationId>,
    /// What it says.
    pub verdict: VerdictKind,
    /// Whether it is looked at.
    pub enabled: bool,
    /// When it ends; none = never.
    pub expires_at: Option<Timestamp>,
    /// Calls it may allow; none = any number.
    pub max_uses: Option<u64>,
    /// Calls it decided.
    pub uses: u64,
    /// When it decided one last.
    pub last_used_at: Option<Timestamp>,
    /// Why it was made.
    pub note: Option<String>,
    /// The question it was made on.
    pub approval_id: Option<ApprovalId>,
    /// Who changed it last.
    pub by: String,
    /// Grows with each change.
    pub version: u64,
    /// When it was made.
    pub created_at: Timestamp,
    /// Last change.
    pub updated_at: Timestamp,
    /// Why it allows nothing, although it is in force: ``write_file is on always_ask of channel team``. Told in answers,
    /// from the policies of that moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub never_used: Option<String>,
}

impl Rule {
    /// What it says, in one line: ``allow execute_command argv prefix `git status` ``.
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

    /// What a rule that allows commands covers beside their words, and what it does not bind; none = it allows none.
    pub fn coverage(&self) -> Option<String> {
        covers_commands(self.verdict, &self.tool)
            .then(|| coverage(self.cwd.as_deref(), self.executable.as_deref()))
    }

    /// That it allows calls, is in force, and let none run for long; none = it did, or it is not one of these. A rule
    /// that forbids guards without a use.
    pub fn unused(&self, now: Timestamp) -> Option<String> {
        let since = self.last_used_at.unwrap_or(self.updated_at);
        let days = now.millis_since(since.max(self.updated_at)) / 86_400_000;
        let stale =
            self.verdict == VerdictKind::Allow && days >= UNUSED_DAYS && self.idle(now).is_none();
        stale.then(|| format!("unused for {days} days"))
    }

    /// Whether calls of this place are in its reach.
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

    /// Whether it has not ended at `now`, seen from a turn; none = from no turn.
    pub fn holds(&self, now: Timestamp, turn: Option<ContinuationId>) -> bool {
        self.expires_at.is_none_or(|at| at > now)
            && self.continuation_id.is_none_or(|id| turn == Some(id))
    }

    /// Why it decides nothing now; none = it is in force.
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

/// Days without a use after which a rule that allows is told as unused.
pub const UNUSED_DAYS: u64 = 14;

/// The tool whose calls are commands.
pub const COMMANDS: &str = "execute_command";

/// The tool whose calls go to a host.
pub const FETCH: &str = "http_fetch";
/// The tool that keeps a shell for each session.
pub const BASH: &str = "bash";
/// The tool that runs Python. It exists where the configuration has its table, as [`FETCH`] does.
pub const PYTHON: &str = "python";
/// What rules compare of an address beside the whole: the host. No argument of [`FETCH`] has this name.
pub const HOST: &str = "host";
/// The argument of tools that give a shell a text.
pub const COMMAND: &str = "command";
/// The argument of [`FETCH`] that is an address.
pub const URL: &str = "url";

/// Whether a tool gives a shell its argument [`COMMAND`]: ours, or one of another agent.
pub fn runs_shell(tool: &str) -> bool {
    let of_agent = ExternalAgent::of_tool(tool);
    tool == BASH || of_agent.is_some_and(|(agent, name)| agent.shells().contains(&name))
}

/// Whether a rule allows commands: those run in a directory, with a program.
pub fn covers_commands(verdict: VerdictKind, tool: &str) -> bool {
    let named = match tool.strip_suffix('*') {
        Some(start) => COMMANDS.starts_with(start),
        None => tool == COMMANDS,
    };
    named && verdict == VerdictKind::Allow
}

/// Where and with what commands run that a rule allows, and that it says nothing of what files say.
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

/// What a person sets of a rule. Absent fields stay, or take their default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RulePatch {
    /// Tool name, or `prefix*`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The argument whose value is compared; empty = all arguments. Default `argv` of `execute_command`, `command` of a
    /// shell, else all.
    /// `host` of `http_fetch` is the host of its `url`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// How it is compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matcher: Option<RuleMatcher>,
    /// With what.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Where the commands run that it allows; empty = in the workspace itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The program that they start; empty = what the first word names now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executable: Option<String>,
    /// How far it reaches; default global, or as far as the channel, session or turn given. With a decision, `turn`,
    /// `session` and `channel` mean those of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<RuleScope>,
    /// Its channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// Its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Its turn, with which it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continuation_id: Option<ContinuationId>,
    /// What it says; default allow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<VerdictKind>,
    /// Whether it is looked at; default yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Seconds until it ends; 0 = never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_seconds: Option<u64>,
    /// Calls it may allow in all; 0 = any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_uses: Option<u64>,
    /// Why; empty = none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Only if it still has this version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_version: Option<u64>,
}

/// A permission for one exact shape in one session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Grant {
    /// The approval it was given with: its id.
    pub id: ApprovalId,
    /// Its session.
    pub session_id: SessionId,
    /// Channel of the session.
    pub channel: String,
    /// Conversation of the session: outside text.
    pub conversation: String,
    /// Tool name.
    pub tool: String,
    /// One line of the arguments: outside text.
    pub preview: String,
    /// The exact arguments, while the call is kept: outside text.
    pub args: Option<serde_json::Value>,
    /// For whom.
    pub requester_id: String,
    /// Who gave it.
    pub by: String,
    /// Calls it let run.
    pub uses: u64,
    /// When it let one run last.
    pub last_used_at: Option<Timestamp>,
    /// When it was given.
    pub created_at: Timestamp,
    /// The turn that it ends with; none = it ends with its session.
    #[serde(default)]
    pub continuation_id: Option<ContinuationId>,
    /// When it ends; it ends with its turn or session too.
    pub expires_at: Option<Timestamp>,
}

impl Grant {
    /// What it ends with at the latest, in words.
    pub fn ends_with(&self) -> &'static str {
        match self.continuation_id {
            Some(_) => "with its turn",
            None => "with the session",
        }
    }
}

/// One call of the past that a rule matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleMatch {
    /// The call.
    pub call_id: ToolCallId,
    /// Its channel.
    pub channel: String,
    /// Tool name.
    pub tool: String,
    /// One line of its arguments: outside text.
    pub preview: String,
    /// Its risk.
    pub risk: Risk,
    /// What the policy said then.
    pub was: VerdictKind,
    /// What a person said then, if asked.
    pub decision: Option<DecisionKind>,
    /// Who.
    pub by: Option<String>,
    /// Where it ended.
    pub state: ToolCallState,
    /// Why an allowing rule would not have let it run all the same.
    pub kept_by: Option<String>,
    /// When it was proposed.
    pub at: Timestamp,
}

/// What a rule would have matched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleMatches {
    /// The rule in one line, as it was understood.
    pub rule: String,
    /// What it covers beside the words of a command, and what it does not bind.
    #[serde(default)]
    pub coverage: Option<String>,
    /// From when on.
    pub since: Timestamp,
    /// Calls of its tools in its reach that were looked at.
    pub considered: u64,
    /// Whether there were more than are looked at.
    pub more: bool,
    /// How many it matches.
    pub matched: u64,
    /// How many it makes ask, because nothing proves that they stay clear of what it forbids.
    #[serde(default)]
    pub doubtful: u64,
    /// Of those, how many ran without a person being asked.
    pub ran_unasked: u64,
    /// Of those, how many a person approved.
    pub approved: u64,
    /// Of those, how many a person denied or answered otherwise.
    pub denied: u64,
    /// Of those, how many were refused by the policy.
    pub refused: u64,
    /// The newest of those, newest first; at most 50.
    pub calls: Vec<RuleMatch>,
}

/// A rule that would have answered what people allowed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleSuggestion {
    /// The rule, as `POST /v1/rules` takes it.
    pub rule: RulePatch,
    /// The rule in one line: outside text.
    pub text: String,
    /// What it covers beside the words of a command, and what it does not bind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<String>,
    /// Approvals that it would have answered, and no rule before it in the list.
    pub answered: u64,
    /// Calls that it would have let through although nobody allowed them.
    pub also_count: u64,
    /// Some of these, one line each: outside text; at most 5.
    pub also: Vec<String>,
}

/// Rules that would have answered most of what people allowed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleSuggestions {
    /// From when on.
    pub since: Timestamp,
    /// Whether there were more calls than are looked at.
    pub more: bool,
    /// Approvals that people gave.
    pub approved: u64,
    /// Of those, how many the rules would have answered together.
    pub answered: u64,
    /// The rules, the one that answers the most first; at most 5.
    pub rules: Vec<RuleSuggestion>,
}

impl RuleMatches {
    /// What speaks against the rule as far as the past tells: it allows, and matched one call or none. None = nothing.
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
    /// How much they would have answered together: "3 rules would have answered 31 of 40 approvals".
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
    /// What it would have let through beside, in words: outside text.
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

/// What would happen to a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleTest {
    /// Tool name.
    pub tool: String,
    /// One line of the arguments.
    pub preview: String,
    /// What it would touch.
    pub access: Access,
    /// Its risk; none = it could not be carried out at all.
    pub risk: Option<Risk>,
    /// What the policy says.
    pub verdict: Verdict,
    /// Every rule in force that matches it, in the order they are asked, then those that may.
    pub matching: Vec<Rule>,
}
