//! The rule editor of a card: what the rule says, what it would have matched in the last seven days, and the decision
//! that is made with it. The rule and the decision are one command.

use serde_json::Value;

use crate::clock::Timestamp;
use crate::console::decision::Bound;
use crate::protocol::approval::Approval;
use crate::protocol::enums::{ApprovalKind, DecisionKind, RuleMatcher, RuleScope, VerdictKind};
use crate::protocol::rule::{COMMAND, FETCH, HOST, RuleMatches, RulePatch, covers_commands};
use crate::text::quote::quote;

/// How long a rule can hold, in seconds; 0 = until it is removed.
pub const LIVES: &[u64] = &[
    3_600,
    8 * 3_600,
    24 * 3_600,
    7 * 24 * 3_600,
    30 * 24 * 3_600,
    0,
];

/// How many calls a rule may allow; 0 = any number.
pub const USES: &[u64] = &[0, 1, 5, 20, 100];
/// Arguments that are offered to be compared.
const FIELDS: usize = 6;
/// The words of a command.
const ARGV: &str = "argv";

/// A line of the editor that can be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// How it is compared.
    Matcher,
    /// Which argument.
    Field,
    /// With what.
    Value,
    /// How far it reaches.
    Scope,
    /// What it says.
    Verdict,
    /// When it ends.
    Life,
    /// How often it may allow.
    Uses,
    /// Nothing is made.
    Cancel,
    /// It is made, and the card decided.
    Make,
}

impl Place {
    /// All, from top to bottom.
    pub const ALL: &'static [Place] = &[
        Place::Matcher,
        Place::Field,
        Place::Value,
        Place::Scope,
        Place::Verdict,
        Place::Life,
        Place::Uses,
        Place::Cancel,
        Place::Make,
    ];
}

#[derive(Debug, Clone, PartialEq)]
pub struct RuleEditor {
    pub bound: Bound,
    /// The call as it was shown.
    pub approval: Box<Approval>,
    /// The chosen line.
    pub place: Place,
    /// How it is compared.
    pub matcher: RuleMatcher,
    /// Which argument; none = all of them.
    pub field: Option<String>,
    /// With what.
    pub value: String,
    /// How far it reaches.
    pub scope: RuleScope,
    /// Allow, with an approval; deny, with a refusal.
    pub verdict: VerdictKind,
    /// Index into [`LIVES`].
    pub life: usize,
    /// The end that was written instead.
    pub until: Option<Timestamp>,
    /// Index into [`USES`].
    pub uses: usize,
    /// What it would have matched; none = not answered yet.
    pub found: Option<Result<Box<RuleMatches>, String>>,
    /// Why it was not made.
    pub refused: Option<String>,
    pub(super) asked: Option<Box<RulePatch>>,
}

/// Why no rule can be made here; none = one can.
pub fn unavailable(approval: &Approval) -> Option<&'static str> {
    (approval.kind != ApprovalKind::Execute).then_some("rules are about calls")
}

/// Arguments that can be compared, the telling ones first; the last is all of them.
pub fn fields(args: &Value) -> Vec<Option<String>> {
    let mut names: Vec<&String> = args
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, value)| match value {
            Value::String(_) => true,
            Value::Array(_) => *name == ARGV,
            _ => false,
        })
        .map(|(name, _)| name)
        .collect();
    names.sort_by_key(|name| match name.as_str() {
        ARGV | COMMAND => 0,
        "path" | HOST => 1,
        _ => 2,
    });
    let named = names.into_iter().take(FIELDS).cloned().map(Some);
    named.chain([None]).collect()
}

/// What of a call can be compared: its arguments, and the host that its address leads to.
pub fn compared(approval: &Approval) -> Value {
    let mut args = approval.args.clone();
    if approval.tool == FETCH
        && let (Some(map), Some(host)) = (args.as_object_mut(), &approval.plan.host)
    {
        map.insert(HOST.to_owned(), Value::from(host.as_str()));
    }
    args
}

/// The value that stands there until another is written: as much of this call as fits the matcher.
fn suggestion(args: &Value, field: Option<&str>, matcher: RuleMatcher) -> String {
    let Some(field) = field else {
        return args.to_string();
    };
    match args.get(field) {
        Some(Value::Array(items)) => {
            let words: Vec<String> = items
                .iter()
                .map(|word| quote(word.as_str().unwrap_or_default()))
                .collect();
            let head = words.get(..2).unwrap_or(&words);
            match matcher {
                RuleMatcher::Exact => words.join(" "),
                RuleMatcher::Prefix => head.join(" "),
                RuleMatcher::Pattern => format!("{} **", head.join(" ")),
            }
        }
        Some(Value::String(host)) if field == HOST => match matcher {
            RuleMatcher::Exact | RuleMatcher::Prefix => host.clone(),
            RuleMatcher::Pattern => format!("*.{host}"),
        },
        // Of the text of a shell the first words are compared, each whole.
        Some(Value::String(text)) if field == COMMAND && matcher != RuleMatcher::Exact => {
            let plain = |word: &&str| !word.contains(['\'', '"', '\\']);
            let words: Vec<&str> = text.split_whitespace().take(2).take_while(plain).collect();
            let head = words.join(" ");
            match matcher {
                RuleMatcher::Exact | RuleMatcher::Prefix => head,
                RuleMatcher::Pattern => format!("{head} **"),
            }
        }
        Some(Value::String(text)) => {
            let folder = text.rsplit_once('/').map(|(folder, _)| folder);
            match (matcher, folder) {
                (RuleMatcher::Exact, _) | (RuleMatcher::Prefix, None) => text.clone(),
                (RuleMatcher::Prefix, Some(folder)) => format!("{folder}/"),
                (RuleMatcher::Pattern, folder) => {
                    let folder = folder.map_or_else(String::new, |folder| format!("{folder}/"));
                    let end = text.rsplit_once('.').map(|(_, end)| end);
                    match end.filter(|end| !end.contains('/')) {
                        Some(end) => format!("{folder}*.{end}"),
                        None => format!("{folder}*"),
                    }
                }
            }
        }
        Some(other) => other.to_string(),
        None => String::new(),
    }
}

/// The entry after this one, the first after the last.
fn next<T: PartialEq + Clone>(all: &[T], now: &T) -> Option<T> {
    let at = all.iter().position(|one| one == now)?;
    all.get((at + 1) % all.len()).cloned()
}

impl RuleEditor {
    pub(super) fn suggest(&mut self) {
        if self.field.is_none() {
            self.matcher = RuleMatcher::Exact;
        }
        // All arguments are only those that the call has.
        let args = match self.field {
            Some(_) => compared(&self.approval),
            None => self.approval.args.clone(),
        };
        self.value = suggestion(&args, self.field.as_deref(), self.matcher);
    }

    pub fn turn(&mut self, forward: bool) {
        let at = Place::ALL.iter().position(|place| *place == self.place);
        let at = at.unwrap_or(0);
        let to = if forward {
            at + 1
        } else {
            at.saturating_sub(1)
        };
        if let Some(place) = Place::ALL.get(to) {
            self.place = *place;
        }
    }

    /// How far it can reach.
    fn scopes(&self) -> Vec<RuleScope> {
        let turn = self.approval.continuation_id.map(|_| RuleScope::Turn);
        let session = self.approval.session_id.map(|_| RuleScope::Session);
        turn.into_iter()
            .chain(session)
            .chain([RuleScope::Channel, RuleScope::Global])
            .collect()
    }

    /// Takes the next choice of the chosen line.
    pub(super) fn next_choice(&mut self) {
        match self.place {
            Place::Matcher if self.field.is_none() => {
                self.refused = Some("all arguments together are compared exactly".to_owned());
            }
            Place::Matcher => {
                self.matcher = next(RuleMatcher::ALL, &self.matcher).unwrap_or(self.matcher);
                self.suggest();
            }
            Place::Field => {
                let fields = fields(&compared(&self.approval));
                self.field = next(&fields, &self.field).flatten();
                self.suggest();
            }
            Place::Scope => self.scope = next(&self.scopes(), &self.scope).unwrap_or(self.scope),
            Place::Verdict => match (self.verdict, self.approval.rules_only_deny()) {
                (VerdictKind::Deny | VerdictKind::Ask, Some(why)) => {
                    self.refused = Some(format!("no rule lets it run: {why}"));
                }
                (VerdictKind::Allow, _) => self.verdict = VerdictKind::Deny,
                (VerdictKind::Deny | VerdictKind::Ask, None) => self.verdict = VerdictKind::Allow,
            },
            Place::Life => self.step_life(true),
            Place::Uses if self.verdict != VerdictKind::Allow => {
                self.refused = Some("only what a rule allows is counted".to_owned());
            }
            Place::Uses => self.uses = (self.uses + 1) % USES.len(),
            Place::Value | Place::Cancel | Place::Make => {}
        }
    }

    /// Whether the life after this one is the one that is written.
    pub fn life_is_last(&self) -> bool {
        self.until.is_none() && self.life + 1 == LIVES.len()
    }

    /// Takes the next longer life, the shortest after the longest, or the one before.
    pub(super) fn step_life(&mut self, longer: bool) {
        let by = if longer { 1 } else { LIVES.len() - 1 };
        self.life = match self.until.take() {
            Some(_) => 0,
            None => (self.life + by) % LIVES.len(),
        };
    }

    /// When it ends, seen from `now`; none = when it is removed.
    pub fn ends(&self, now: Timestamp) -> Option<Timestamp> {
        self.until.or_else(|| {
            let seconds = LIVES.get(self.life).copied().unwrap_or(0);
            let seconds = i64::try_from(seconds).ok().filter(|seconds| *seconds > 0)?;
            Some(now.plus_seconds(seconds))
        })
    }

    /// What is compared: all that the preview depends on.
    pub(super) fn compared(&self) -> RulePatch {
        let plan = &self.approval.plan;
        let commands = covers_commands(self.verdict, &self.approval.tool);
        RulePatch {
            cwd: plan.cwd.clone().filter(|_| commands),
            executable: plan.executable.clone().filter(|_| commands),
            tool: Some(self.approval.tool.clone()),
            field: Some(self.field.clone().unwrap_or_default()),
            matcher: Some(self.matcher),
            value: Some(self.value.clone()),
            scope: Some(self.scope),
            channel: (self.scope == RuleScope::Channel).then(|| self.approval.channel.clone()),
            session_id: self
                .approval
                .session_id
                .filter(|_| matches!(self.scope, RuleScope::Turn | RuleScope::Session)),
            continuation_id: self
                .approval
                .continuation_id
                .filter(|_| self.scope == RuleScope::Turn),
            verdict: Some(self.verdict),
            ..RulePatch::default()
        }
    }

    /// The rule as it is sent at `now`.
    pub fn rule(&self, now: Timestamp) -> RulePatch {
        let allows = self.verdict == VerdictKind::Allow;
        let ends = self.ends(now);
        RulePatch {
            expires_in_seconds: Some(
                ends.map_or(0, |at| at.millis_since(now).div_ceil(1000).max(1)),
            ),
            max_uses: USES.get(self.uses).copied().filter(|_| allows),
            ..self.compared()
        }
    }

    /// The decision that goes with it.
    pub fn decision(&self) -> DecisionKind {
        match self.verdict {
            VerdictKind::Allow => DecisionKind::Approve,
            VerdictKind::Deny | VerdictKind::Ask => DecisionKind::Deny,
        }
    }
}
