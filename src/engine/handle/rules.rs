//! Rules: making, changing and removing them, and what they match. Only people come here: no tool of the model leads
//! to a rule.

use std::collections::BTreeMap;

use crate::config::error::nearest;
use crate::engine::call_shape::{self, CallShape, Location};
use crate::engine::caller::Caller;
use crate::engine::core::Engine;
use crate::engine::handle::rule_reach::{RuleTarget, reach};
use crate::engine::handle::{rule_address, unused_rules};
use crate::engine::policy::{PolicyInput, covers};
use crate::engine::programs::Fit;
use crate::engine::rules;
use crate::engine::turn::evaluate::{CallSite, evaluate_at};
use crate::protocol::approval::MAX_LIFE_SECONDS;
use crate::protocol::enums::{
    Access, ApprovalKind, DecisionKind, Risk, RuleMatcher, RuleScope, VerdictKind,
};
use crate::protocol::ids::{ApprovalId, RuleId, SessionId, ToolCallId};
use crate::protocol::mcp::server_of;
use crate::protocol::policy::{ALWAYS_ASK_LIST, Verdict};
use crate::protocol::problem::Problem;
use crate::protocol::rule::{
    COMMAND, COMMANDS, FETCH, Grant, HOST, Rule, RuleMatches, RulePatch, RuleTest, covers_commands,
};
use crate::protocol::snapshot::Page;
use crate::store::commands::put_rule::{PutRule, RemoveGrant, RemoveRule, RuleFields};
use crate::store::queries::rules::TriedCall;
use crate::tools::canonical::canonical_json;
use crate::tools::execute_command::system_program;
use crate::tools::preview::one_line;

/// Longest value, in bytes.
const MAX_VALUE: usize = 4096;
/// Longest note, in bytes.
const MAX_NOTE: usize = 500;
/// How far back a rule is tried: seven days.
const TRIED_SECONDS: i64 = 7 * 24 * 3600;
/// Calls that a rule is tried on at most.
const MAX_TRIED: u32 = 20_000;
/// Calls told at most.
const MAX_TOLD: usize = 50;

/// Makes one; tool, matcher and value are needed.
pub async fn add(engine: &Engine, caller: &Caller, rule: RulePatch) -> Result<Rule, Problem> {
    let fields = fields(engine, None, rule)?;
    unused_rules::check(engine, &fields).await?;
    let put = PutRule {
        id: RuleId::generate(),
        version: 0,
        fields,
        approval_id: None,
        by: caller.reference(),
    };
    engine.write(put).await
}

/// Changes one; what is absent stays.
pub async fn change(
    engine: &Engine,
    caller: &Caller,
    id: RuleId,
    patch: RulePatch,
) -> Result<Rule, Problem> {
    let before = find(engine, id).await?;
    if patch
        .if_version
        .is_some_and(|version| version != before.version)
    {
        return Err(Problem::conflict(
            "the rule changed",
            format!(
                "{id} is at version {} now, by {}",
                before.version, before.by
            ),
        )
        .hint("look at it and try again"));
    }
    let fields = fields(engine, Some(&before), patch)?;
    // Whoever turns it off or names it otherwise need not mend it first.
    let (was, is) = (
        (&before.tool, &before.channel, before.session_id),
        (&fields.tool, &fields.channel, fields.session_id),
    );
    if was != is || before.verdict != fields.verdict || !before.enabled && fields.enabled {
        unused_rules::check(engine, &fields).await?;
    }
    let put = PutRule {
        id,
        version: before.version,
        fields,
        approval_id: None,
        by: caller.reference(),
    };
    engine.write(put).await
}

pub async fn remove(engine: &Engine, caller: &Caller, id: RuleId) -> Result<RuleId, Problem> {
    let by = caller.reference();
    let remove = RemoveRule { id, by };
    engine.write(remove).await?;
    Ok(id)
}

/// Takes a session grant back.
pub async fn remove_grant(
    engine: &Engine,
    caller: &Caller,
    id: ApprovalId,
) -> Result<ApprovalId, Problem> {
    let by = caller.reference();
    let remove = RemoveGrant { id, by };
    engine.write(remove).await?;
    Ok(id)
}

async fn find(engine: &Engine, id: RuleId) -> Result<Rule, Problem> {
    engine.read_here(move |reader| reader.rule(id)).await
}

/// All rules, newest first.
pub async fn list(engine: &Engine) -> Result<Page<Rule>, Problem> {
    let items = engine.read_here(|reader| reader.rules()).await?;
    let items = unused_rules::tell(engine, items).await?;
    Ok(items.into())
}

pub async fn one(engine: &Engine, id: RuleId) -> Result<Rule, Problem> {
    let found = vec![find(engine, id).await?];
    let mut told = unused_rules::tell(engine, found).await?;
    told.pop().ok_or_else(|| Problem::not_found("rule", id))
}

/// Permissions for shapes in sessions that hold.
pub async fn grants(engine: &Engine) -> Result<Page<Grant>, Problem> {
    let now = engine.clock.now();
    let items = engine.store.read(move |reader| reader.all_grants(now));
    items.await.map(Page::from).map_err(Problem::from)
}

/// What a rule matches of the last seven days.
pub async fn matches(
    engine: &Engine,
    id: Option<RuleId>,
    rule: RulePatch,
) -> Result<RuleMatches, Problem> {
    let before = match id {
        Some(id) => Some(find(engine, id).await?),
        None => None,
    };
    tried(engine, fields(engine, before.as_ref(), rule)?).await
}

/// Text that a person set; empty takes back what was there.
fn text(new: Option<String>, before: Option<&String>) -> Option<String> {
    match new {
        Some(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        None => before.cloned(),
    }
}

/// What a patch makes of a rule, checked.
pub fn fields(
    engine: &Engine,
    before: Option<&Rule>,
    patch: RulePatch,
) -> Result<RuleFields, Problem> {
    let missing = |field: &str| {
        Problem::invalid(format!(
            "`{field}` is missing; a rule needs a tool, a matcher and a value"
        ))
    };
    let tool = patch
        .tool
        .or_else(|| before.map(|rule| rule.tool.clone()))
        .ok_or_else(|| missing("tool"))?;
    let schema = known_tool(engine, &tool)?;
    let field = match (&patch.field, before) {
        (None, None) => rules::default_field(&tool).map(str::to_owned),
        (field, before) => text(field.clone(), before.and_then(|rule| rule.field.as_ref())),
    };
    if let (Some(field), Some(schema)) = (&field, schema) {
        known_field(&tool, field, &schema)?;
    }
    let matcher = patch
        .matcher
        .or(before.map(|rule| rule.matcher))
        .ok_or_else(|| missing("matcher"))?;
    let value = patch
        .value
        .or_else(|| before.map(|rule| rule.value.clone()))
        .ok_or_else(|| missing("value"))?;
    let value = checked_value(field.as_deref(), matcher, &engine.redactor.redact(&value))?;
    let value = rule_address::checked(&tool, field.as_deref(), matcher, value)?;
    let verdict = patch
        .verdict
        .or(before.map(|rule| rule.verdict))
        .unwrap_or(VerdictKind::Allow);
    let max_uses = match patch.max_uses {
        Some(max) => Some(max).filter(|max| *max > 0),
        None => before.and_then(|rule| rule.max_uses),
    };
    if max_uses.is_some() && verdict != VerdictKind::Allow {
        return Err(Problem::invalid(format!(
            "`max_uses` bounds what a rule allows; this one says `{verdict}`"
        ))
        .hint("leave it out, or let the rule end with `expires_in_seconds`"));
    }
    if max_uses.is_some_and(|max| max > i64::MAX as u64) {
        return Err(Problem::invalid("`max_uses` is larger than can be counted"));
    }
    let expires_at = match patch.expires_in_seconds {
        None => before.and_then(|rule| rule.expires_at),
        Some(0) => None,
        Some(seconds) if seconds <= MAX_LIFE_SECONDS => {
            Some(engine.clock.now().plus_seconds(seconds as i64))
        }
        Some(_) => {
            return Err(Problem::invalid(format!(
                "`expires_in_seconds` must be 0 (never) to {MAX_LIFE_SECONDS}"
            )));
        }
    };
    let note = text(patch.note, before.and_then(|rule| rule.note.as_ref()))
        .map(|note| engine.redactor.redact(&note).into_owned());
    if note.as_ref().is_some_and(|note| note.len() > MAX_NOTE) {
        return Err(Problem::invalid(format!(
            "`note` has more than {MAX_NOTE} bytes"
        )));
    }
    let place = RuleTarget {
        channel: patch.channel,
        session_id: patch.session_id,
        continuation_id: patch.continuation_id,
    };
    let (scope, place) = reach(engine, before, patch.scope, place)?;
    let bounds = Bounds {
        verdict,
        tool: &tool,
        field: field.as_deref(),
        matcher,
        value: &value,
        channel: place.channel.as_deref(),
    };
    let (cwd, executable) = bounds.of(engine, before, patch.cwd, patch.executable)?;
    Ok(RuleFields {
        tool,
        field,
        matcher,
        value,
        cwd,
        executable,
        scope,
        channel: place.channel,
        session_id: place.session_id,
        continuation_id: place.continuation_id,
        verdict,
        enabled: patch
            .enabled
            .or(before.map(|rule| rule.enabled))
            .unwrap_or(true),
        expires_at,
        max_uses,
        note,
    })
}

/// What decides in which directory, and with which program, the commands of a rule run.
struct Bounds<'a> {
    verdict: VerdictKind,
    tool: &'a str,
    field: Option<&'a str>,
    matcher: RuleMatcher,
    value: &'a str,
    channel: Option<&'a str>,
}

impl Bounds<'_> {
    /// Directory and program, as a person set them, as they were, or as they are found now.
    fn of(
        &self,
        engine: &Engine,
        before: Option<&Rule>,
        cwd: Option<String>,
        executable: Option<String>,
    ) -> Result<(Option<String>, Option<String>), Problem> {
        if !covers_commands(self.verdict, self.tool) {
            for (name, set) in [("cwd", &cwd), ("executable", &executable)] {
                if set.as_ref().is_some_and(|set| !set.trim().is_empty()) {
                    return Err(Problem::invalid(format!(
                        "`{name}` bounds what a rule of `{COMMANDS}` allows; this one says `{}` of `{}`",
                        self.verdict, self.tool
                    ))
                    .hint(format!("leave `{name}` out")));
                }
            }
            return Ok((None, None));
        }
        let cwd = text(cwd, before.and_then(|before| before.cwd.as_ref()))
            .or_else(|| self.cwd_of_value())
            .map(|cwd| self.place(engine, &cwd))
            .filter(|cwd| cwd.to_string() != ".");
        if let Some(outside) = cwd.as_ref().filter(|cwd| !cwd.is_inside()) {
            return Err(Problem::invalid(format!(
                "`cwd`: `{outside}` is outside the workspace: commands run in it only"
            ))
            .hint("give it as seen from the workspace; empty is the workspace itself"));
        }
        let cwd = cwd.map(|cwd| cwd.to_string());
        // Another directory or other words: the program is looked for again.
        let same = before.filter(|before| {
            before.cwd == cwd
                && before.tool == self.tool
                && before.field.as_deref() == self.field
                && before.matcher == self.matcher
                && before.value == self.value
                && before.verdict == self.verdict
        });
        let executable = match executable.map(|text| text.trim().to_owned()) {
            Some(set) if !set.is_empty() => Some(self.place(engine, &set).to_string()),
            None if same.is_some() => before.and_then(|before| before.executable.clone()),
            Some(_) | None => self.found(engine, cwd.as_deref()),
        };
        // A first word that stands for several names several programs.
        let named = rules::first_word(self.field, self.matcher, self.value).is_some();
        Ok((cwd, executable.filter(|_| named)))
    }

    /// The directory that arguments compared as a whole name.
    fn cwd_of_value(&self) -> Option<String> {
        if self.field.is_some() || self.matcher != RuleMatcher::Exact {
            return None;
        }
        let args: serde_json::Value = serde_json::from_str(self.value).ok()?;
        args.get("cwd")?.as_str().map(str::to_owned)
    }

    /// A place as seen from the workspace it lies in.
    fn place(&self, engine: &Engine, text: &str) -> Location {
        let own = |name: &str| Some(name) != self.channel;
        let mut channels: Vec<_> = engine.settings.channels.iter().collect();
        channels.sort_by_key(|(name, _)| own(name));
        channels
            .into_iter()
            .map(|(_, channel)| Location::of(text, &channel.workspace.to_string_lossy()))
            .find(Location::is_inside)
            .unwrap_or_else(|| Location::of(text, ""))
    }

    /// The program that the first word names now; none = it is not to be found, or lies in a workspace not known yet.
    fn found(&self, engine: &Engine, cwd: Option<&str>) -> Option<String> {
        let word = rules::first_word(self.field, self.matcher, self.value)?;
        let path = if word.starts_with('/') {
            std::path::PathBuf::from(&word)
        } else if word.contains('/') {
            let workspace = &engine.settings.channels.get(self.channel?)?.workspace;
            workspace.join(cwd.unwrap_or(".")).join(&word)
        } else {
            system_program(&word)?
        };
        let real = path.canonicalize().ok()?;
        Some(self.place(engine, &real.to_string_lossy()).to_string())
    }
}

/// The schema of the one tool that an entry names; none = it names several.
fn known_tool(engine: &Engine, entry: &str) -> Result<Option<serde_json::Value>, Problem> {
    if let Some(tool) = engine.tools().get(entry) {
        return Ok(Some(tool.spec().input_schema.clone()));
    }
    // It may not have been connected yet.
    if server_of(entry).is_some_and(|server| engine.settings.mcp.contains_key(server)) {
        return Ok(None);
    }
    if entry.ends_with('*') && engine.tools().names().any(|name| covers(entry, name)) {
        return Ok(None);
    }
    let shown: String = entry.chars().take(64).collect();
    let tools = engine.tools();
    let names: Vec<&str> = tools.names().collect();
    let hint = match nearest(entry, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("tools: {}; or a prefix and `*`", names.join(", ")),
    };
    Err(Problem::invalid(format!("`tool`: there is no tool `{shown}`")).hint(hint))
}

fn known_field(tool: &str, field: &str, schema: &serde_json::Value) -> Result<(), Problem> {
    let Some(properties) = schema.get("properties").and_then(|found| found.as_object()) else {
        return Ok(());
    };
    if properties.contains_key(field) || (tool == FETCH && field == HOST) {
        return Ok(());
    }
    let shown: String = field.chars().take(64).collect();
    let names: Vec<&str> = properties.keys().map(String::as_str).collect();
    Err(
        Problem::invalid(format!("`field`: `{tool}` has no argument `{shown}`")).hint(format!(
            "arguments: {}; empty compares all of them",
            names.join(", ")
        )),
    )
}

fn checked_value(
    field: Option<&str>,
    matcher: RuleMatcher,
    value: &str,
) -> Result<String, Problem> {
    if value.trim().is_empty() {
        return Err(Problem::invalid("`value` is empty")
            .hint("a `pattern` of `*` matches everything, where that is meant"));
    }
    if value.len() > MAX_VALUE {
        return Err(Problem::invalid(format!(
            "`value` has {} bytes; at most {MAX_VALUE} are taken",
            value.len()
        )));
    }
    let is_text = field == Some(COMMAND) && matcher != RuleMatcher::Exact;
    if field == Some(call_shape::ARGV) || is_text {
        return match call_shape::words(value) {
            Some(_) if is_text => Ok(value.to_owned()),
            Some(words) => Ok(call_shape::unwords(&words)),
            None => Err(Problem::invalid(
                "`value` is no list of words: a quote is not closed, or a `\\` ends it",
            )),
        };
    }
    if field.is_none() && matcher == RuleMatcher::Exact {
        return match serde_json::from_str::<serde_json::Value>(value) {
            Ok(args @ serde_json::Value::Object(_)) => Ok(canonical_json(&args)),
            Ok(_) | Err(_) => Err(Problem::invalid(
                "`value` is no JSON object: without a field, `exact` compares all arguments",
            )
            .hint("for one argument, name it in `field`")),
        };
    }
    Ok(value.to_owned())
}

/// A rule that does not exist, as it would be compared.
pub fn would_be(fields: RuleFields, now: crate::clock::Timestamp) -> Rule {
    Rule {
        id: RuleId::from_bytes([0; 16]),
        tool: fields.tool,
        field: fields.field,
        matcher: fields.matcher,
        value: fields.value,
        cwd: fields.cwd,
        executable: fields.executable,
        scope: fields.scope,
        channel: fields.channel,
        session_id: fields.session_id,
        continuation_id: fields.continuation_id,
        verdict: fields.verdict,
        enabled: true,
        expires_at: None,
        max_uses: None,
        uses: 0,
        last_used_at: None,
        note: None,
        approval_id: None,
        by: String::new(),
        version: 0,
        created_at: now,
        updated_at: now,
        never_used: None,
    }
}

/// Why an allowing rule would not have let a call of the past run all the same.
pub fn kept_by(call: &TriedCall) -> Option<String> {
    const ABOVE: [&str; 5] = [
        "emergency stop",
        "block list",
        ALWAYS_ASK_LIST,
        "always asks",
        "taint",
    ];
    if call.told.risk == Risk::Critical {
        return Some("critical risk always asks".to_owned());
    }
    ABOVE
        .iter()
        .any(|above| call.rule.starts_with(above))
        .then(|| call.rule.clone())
        .or_else(|| {
            call.tainted
                .then(|| "untrusted content in context".to_owned())
        })
}

/// The workspaces by channel.
pub fn workspaces(engine: &Engine) -> BTreeMap<String, String> {
    let channels = engine.settings.channels.iter();
    channels
        .map(|(name, channel)| {
            let workspace = channel.workspace.to_string_lossy().into_owned();
            (name.clone(), workspace)
        })
        .collect()
}

async fn tried(engine: &Engine, fields: RuleFields) -> Result<RuleMatches, Problem> {
    let now = engine.clock.now();
    let since = now.plus_seconds(-TRIED_SECONDS);
    let rule = would_be(fields, now);
    let workspaces = workspaces(engine);
    engine
        .read(move |reader| {
            let mut found = RuleMatches {
                rule: rule.in_words(),
                coverage: rule.coverage(),
                since,
                considered: 0,
                more: false,
                matched: 0,
                doubtful: 0,
                ran_unasked: 0,
                approved: 0,
                denied: 0,
                refused: 0,
                calls: Vec::new(),
            };
            found.more = reader.each_call_since(since, MAX_TRIED, |mut call| {
                let here = rule.reaches(
                    &call.told.channel,
                    Some(call.session_id),
                    Some(call.continuation_id),
                );
                if !here || !covers(&rule.tool, &call.told.tool) {
                    return;
                }
                found.considered += 1;
                let workspace = workspaces
                    .get(&call.told.channel)
                    .map_or("", String::as_str);
                let workspace = call.plan.workspace(workspace);
                let shape = CallShape {
                    tool: &call.told.tool,
                    args: &call.args,
                    workspace,
                    plan: &call.plan,
                };
                match rules::fit(&rule, &shape) {
                    Fit::Sure => {}
                    Fit::Perhaps => {
                        found.doubtful += 1;
                        return;
                    }
                    Fit::Never => return,
                }
                found.matched += 1;
                match (call.told.was, call.told.decision) {
                    (VerdictKind::Allow, _) => found.ran_unasked += 1,
                    (VerdictKind::Deny, _) => found.refused += 1,
                    (VerdictKind::Ask, Some(DecisionKind::Approve)) => found.approved += 1,
                    (VerdictKind::Ask, Some(_)) => found.denied += 1,
                    (VerdictKind::Ask, None) => {}
                }
                if found.calls.len() < MAX_TOLD {
                    if rule.verdict == VerdictKind::Allow {
                        call.told.kept_by = kept_by(&call);
                    }
                    found.calls.push(call.told);
                }
            })?;
            Ok(found)
        })
        .await
}

/// What would happen to a call.
pub async fn test(
    engine: &Engine,
    tool: String,
    mut args: serde_json::Value,
    channel: String,
    session_id: Option<SessionId>,
) -> Result<RuleTest, Problem> {
    engine.channel(&channel)?;
    engine.redactor.redact_json(&mut args);
    let now = engine.clock.now();
    let name = channel.clone();
    let (policy, in_force, taint) = engine
        .read(move |reader| {
            let mut taint = Vec::new();
            if let Some(session) = session_id {
                taint = reader.session_taint(session)?;
                let of_summary = reader.summary(session)?.map(|summary| summary.taint);
                taint.extend(of_summary.into_iter().flatten());
            }
            let rules = reader.rules_in_force(&name, session_id, None, now)?;
            Ok((reader.policy(&name)?, rules, taint))
        })
        .await?;
    let version = policy.version;
    let place = CallSite {
        channel: &channel,
        session_id: session_id.unwrap_or_else(SessionId::generate),
        call_id: ToolCallId::generate(),
        taint: &taint,
        rules: &in_force,
        external: None,
    };
    let policy_input = PolicyInput {
        policy,
        also: None,
        held: engine.is_held(),
        grants: Vec::new(),
        rules: Vec::new(),
        now,
        continuation_id: None,
        requester_id: String::new(),
        taint_guard_in_full: engine.has_taint_guard(&channel),
        ceiling: None,
    };
    let preview = one_line(&tool, &args);
    let evaluation = evaluate_at(engine, &place, policy_input, &tool, &args, version);
    Ok(match evaluation {
        Ok(evaluation) => RuleTest {
            tool,
            preview,
            access: evaluation.facts.access,
            risk: Some(evaluation.facts.risk),
            verdict: evaluation.verdict,
            matching: evaluation.matching,
        },
        Err(refusal) => RuleTest {
            tool,
            preview,
            access: refusal.access,
            risk: None,
            verdict: Verdict {
                decision: VerdictKind::Deny,
                rule: format!("{}: {}", refusal.rule, refusal.content),
                policy_version: version,
            },
            matching: Vec::new(),
        },
    })
}

/// The rule that is made with a decision, checked against what is decided.
pub fn with_decision(
    engine: &Engine,
    approval: &crate::protocol::approval::Approval,
    word: DecisionKind,
    patch: RulePatch,
) -> Result<(RuleId, RuleFields), Problem> {
    let expected = match word {
        DecisionKind::Approve => VerdictKind::Allow,
        DecisionKind::Deny | DecisionKind::DenyAndStop => VerdictKind::Deny,
        _ => {
            return Err(Problem::invalid(format!(
                "a rule is made with `approve` or `deny`, not with `{word}`"
            )));
        }
    };
    if approval.kind != ApprovalKind::Execute {
        return Err(Problem::invalid(format!(
            "a rule is about calls; {} is a question of kind {}",
            approval.id, approval.kind
        )));
    }
    let patch = RulePatch {
        tool: Some(patch.tool.unwrap_or_else(|| approval.tool.clone())),
        verdict: Some(patch.verdict.unwrap_or(expected)),
        ..patch
    };
    // The place that is meant and not named is that of the call.
    let patch = match patch.scope {
        None | Some(RuleScope::Global) => patch,
        Some(RuleScope::Channel) => RulePatch {
            channel: patch.channel.or_else(|| Some(approval.channel.clone())),
            ..patch
        },
        Some(RuleScope::Session) => RulePatch {
            session_id: patch.session_id.or(approval.session_id),
            ..patch
        },
        Some(RuleScope::Turn) => RulePatch {
            continuation_id: patch.continuation_id.or(approval.continuation_id),
            ..patch
        },
    };
    // What was seen is what is covered.
    let patch = if expected == VerdictKind::Allow && approval.tool == COMMANDS {
        RulePatch {
            cwd: patch.cwd.or_else(|| approval.plan.cwd.clone()),
            executable: patch
                .executable
                .or_else(|| approval.plan.executable.clone()),
            ..patch
        }
    } else {
        patch
    };
    let fields = fields(engine, None, patch)?;
    if fields.verdict != expected {
        return Err(Problem::invalid(format!(
            "the decision is `{word}` and the rule says `{}`",
            fields.verdict
        ))
        .hint("decide once, and make that rule apart"));
    }
    let workspace = engine
        .channel(&approval.channel)?
        .workspace
        .to_string_lossy();
    let workspace = approval.plan.workspace(&workspace);
    let rule = would_be(fields.clone(), engine.clock.now());
    let here = rule.reaches(
        &approval.channel,
        approval.session_id,
        approval.continuation_id,
    );
    let shape = CallShape {
        tool: &approval.tool,
        args: &approval.args,
        workspace,
        plan: &approval.plan,
    };
    if !here || !rules::matches(&rule, &shape) {
        return Err(Problem::invalid(format!(
            "the rule does not match the call it would be made on: {}",
            rule.in_words()
        ))
        .hint("nothing was decided; change the rule, or make it apart with `rules add`"));
    }
    let critical = approval.risk == Risk::Critical;
    let never = matches!(approval.access, Access::Exec) && !engine.sandbox.is_confined();
    if fields.verdict == VerdictKind::Allow && (critical || never) {
        return Err(Problem::not_offered("not offered",
            "no rule lets a call of this kind run without a person: it is critical, or not sandboxed",
        )
        .hint("approve it once"));
    }
    Ok((RuleId::generate(), fields))
}
