//! From what the model proposed to calls with verdicts: schema, guards, plan, policy, approval.
//!
//! Nothing here has an effect: tools are only asked to prepare.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::config::paths::hidden_from_tools;
use crate::engine::approvals::{self, Ask};
use crate::engine::core::Engine;
use crate::engine::hooks::turn::{MAX_TOOL_NAME, Proposed};
use crate::engine::leftovers;
use crate::engine::policy::{self, CallFacts, Circumstances, SessionGrant};
use crate::engine::rules::{self, CallShape};
use crate::engine::turn::after::MALFORMED_RULE;
use crate::protocol::approval::Preview;
use crate::protocol::ids::{SessionId, ToolCallId};
use crate::protocol::policy::{Policy, Verdict};
use crate::protocol::rule::Rule;
use crate::protocol::words::{
    Access, ApprovalKind, Effect, Risk, RuleScope, Surface, ToolCallState, Unattended, VerdictWord,
};
use crate::store::input::{LeansOn, NewApproval, NewCall, NewCallFacts, NewCallOutcome, Otherwise};
use crate::store::queries::turn::{CallRow, TurnRows};
use crate::text::scripts;
use crate::tools::canonical;
use crate::tools::preview::one_line;
use crate::tools::tool::{NoJournal, Plan, PrepareError, ToolContext, ToolHost};

/// A host that shows nothing: for preparing.
struct NoHost;

impl ToolHost for NoHost {
    fn progress(&self, _text: &str) {}
}

/// What a tool must never see: our data, configuration and sockets, as far as they are not its workspace.
pub fn hidden_directories(engine: &Engine, workspace: &Path) -> Vec<PathBuf> {
    hidden_from_tools(&engine.settings.paths, workspace)
        .into_iter()
        .map(|path| path.canonicalize().unwrap_or(path))
        .collect()
}

/// The first line of a refusal, for rules that people read.
fn first_line(text: &str) -> String {
    text.lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(200)
        .collect()
}

/// The plan, with a reason for each path or argument that holds a word of mixed scripts.
fn marked(mut plan: Plan, args: &Value) -> Plan {
    let argv: &[String] = match &plan.preview {
        Preview::Exec { argv } => argv,
        Preview::None | Preview::Diff { .. } | Preview::Text { .. } => &[],
    };
    let named = ["path", "cwd"]
        .iter()
        .filter_map(|name| args.get(name)?.as_str());
    let texts = argv
        .iter()
        .map(String::as_str)
        .chain(named)
        .chain(plan.facts.cwd.as_deref())
        .chain(plan.facts.executable.as_deref())
        .chain(plan.operands.iter().map(|(path, _)| path.as_str()));
    let mut reasons: Vec<String> = Vec::new();
    for reason in texts.filter_map(scripts::warning) {
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    plan.risk_reasons.extend(reasons);
    plan
}

/// Everything known about a call that could be carried out.
pub struct Judged {
    /// Its plan.
    pub plan: Plan,
    /// What the policy looked at.
    pub facts: CallFacts,
    /// Digest of the full plan.
    pub digest: String,
    /// The verdict.
    pub verdict: Verdict,
    /// What it leans on.
    pub leans_on: Option<LeansOn>,
    /// The verdict without any rule or grant that allows, where it leans on one.
    pub otherwise: Option<Verdict>,
    /// Rules that match it, in the order they are asked, then those that may.
    pub matching: Vec<Rule>,
    /// Why a permission for the session would never be used for it.
    pub once_only: Option<String>,
}

/// Why a call cannot be carried out at all.
pub struct Refusal {
    /// Where the call ends.
    pub state: ToolCallState,
    /// What the model reads.
    pub content: String,
    /// The rule, for people.
    pub rule: String,
    /// What the call would have touched, as far as known.
    pub access: Access,
    /// Its recovery class, as far as known.
    pub effect: Effect,
}

/// Policies, grants, rules and taint of one turn at one moment.
#[derive(Debug, Clone)]
pub struct Bench {
    /// Policy of the turn's channel.
    pub policy: Policy,
    /// Policy of the surface it came through, when that is another one.
    pub also: Option<Policy>,
    /// Live grants.
    pub grants: Vec<SessionGrant>,
    /// Rules in force here, used up or not.
    pub rules: Vec<Rule>,
    /// Untrusted content in context.
    pub taint: Vec<String>,
    /// Approvals that wait in this session and on this channel.
    pub pending: (u32, u32),
}

impl Bench {
    /// Reads the bench for a turn.
    pub async fn read(
        engine: &Engine,
        rows: &TurnRows,
    ) -> Result<Self, crate::store::error::StoreError> {
        let channel = rows.channel.clone();
        let session = rows.session_id;
        let now = engine.clock.now();
        // A platform session driven over HTTP runs under the stricter of its policy and `api`'s, one that a routine
        // speaks in under the stricter of its policy and `routine`'s.
        let second = match rows.surface {
            Surface::Http if engine.has_bridge(&rows.channel) => Some("api"),
            Surface::Engine => Some("routine"),
            Surface::Http | Surface::Console | Surface::Cli | Surface::Chat | Surface::Scripted => {
                None
            }
        };
        let second = second.filter(|second| rows.channel != *second);
        let (policy, also, grants, mut rules, (taint_requesters, let_in), summary, read, pending) =
            engine
                .store
                .read_here(move |reader| {
                    let policy = reader.policy(&channel)?;
                    let also = second.map(|name| reader.policy(name)).transpose()?;
                    let grants = reader.grants(session, now)?;
                    let rules = reader.rules_in_force(&channel, Some(session), now)?;
                    let requesters = reader.session_requesters(session)?;
                    let let_in = reader.paired(&channel, &requesters)?;
                    let requesters = (requesters, let_in);
                    let summary = reader.summary(session)?;
                    let pending = reader.pending_counts(session, &channel)?;
                    let read = reader.session_taint(session)?;
                    Ok((
                        policy, also, grants, rules, requesters, summary, read, pending,
                    ))
                })
                .await?;
        let mut taint: Vec<String> = match engine.settings.channels.get(&rows.channel) {
            Some(settings) => taint_requesters
                .iter()
                .filter(|requester| {
                    crate::engine::people::is_untrusted(
                        &engine.settings,
                        settings,
                        &let_in,
                        requester,
                    )
                })
                .map(crate::engine::people::taint_of)
                .collect(),
            None => Vec::new(),
        };
        // What a summary was made from is in context as long as the summary is.
        let of_summary = summary.into_iter().flat_map(|summary| summary.taint);
        for entry in of_summary.chain(read) {
            if !taint.contains(&entry) {
                taint.push(entry);
            }
        }
        // What a rule allows on one channel it does not allow on the other whose policy applies too.
        if also.is_some() {
            rules.retain(|rule| {
                rule.verdict != VerdictWord::Allow || rule.scope != RuleScope::Channel
            });
        }
        let grants = grants
            .into_iter()
            .map(|grant| SessionGrant {
                tool: grant.tool,
                args_digest: grant.args_digest,
                requester_id: grant.requester_id,
                by: grant.by,
                approval_id: grant.approval_id,
            })
            .collect();
        Ok(Self {
            policy,
            also,
            grants,
            rules,
            taint,
            pending,
        })
    }

    /// Counts a use, so that the calls of one answer do not share the last one.
    fn count(&mut self, leans_on: Option<LeansOn>, by: i8) {
        if let Some(LeansOn::Rule(id)) = leans_on
            && let Some(rule) = self.rules.iter_mut().find(|rule| rule.id == id)
        {
            rule.uses = rule.uses.saturating_add_signed(by.into());
        }
    }

    /// Leaves out the use that a call has been counted with.
    pub fn without_use_of(&mut self, row: &CallRow) {
        self.count(row.rule_id.map(LeansOn::Rule), -1);
    }

    fn circumstances(&self, engine: &Engine, rows: &TurnRows) -> Circumstances {
        Circumstances {
            rules: Vec::new(),
            policy: self.policy.clone(),
            also: self.also.clone(),
            held: engine.is_held(),
            grants: self.grants.clone(),
            requester_id: rows.requester.id.clone(),
            ceiling: rows.bounds.autonomy_ceiling,
        }
    }
}

/// Where a call is judged.
#[derive(Debug, Clone)]
pub struct Place<'a> {
    /// Channel name.
    pub channel: &'a str,
    /// Its session.
    pub session_id: SessionId,
    /// Its call.
    pub call_id: ToolCallId,
    /// Untrusted content in context.
    pub taint: &'a [String],
    /// Rules in force there, used up or not.
    pub rules: &'a [Rule],
}

/// Judges one call: schema, guards, plan, policy. `digest_version` is the policy version the digest is bound to:
/// the current one for a new call, the recorded one when a call is judged again before it starts.
pub fn judge(
    engine: &Engine,
    bench: &Bench,
    rows: &TurnRows,
    call_id: ToolCallId,
    name: &str,
    args: &Value,
    digest_version: u64,
) -> Result<Judged, Refusal> {
    let place = Place {
        channel: &rows.channel,
        session_id: rows.session_id,
        call_id,
        taint: &bench.taint,
        rules: &bench.rules,
    };
    let circumstances = bench.circumstances(engine, rows);
    judge_at(engine, &place, circumstances, name, args, digest_version)
}

/// The same for a call of no turn.
pub fn judge_at(
    engine: &Engine,
    place: &Place<'_>,
    mut circumstances: Circumstances,
    name: &str,
    args: &Value,
    digest_version: u64,
) -> Result<Judged, Refusal> {
    let refuse = |state, content: String, rule: &str, access, effect| Refusal {
        state,
        content,
        rule: rule.to_owned(),
        access,
        effect,
    };
    let tool = match engine.tools.lookup(name) {
        Ok(tool) => tool,
        Err(unknown) => {
            let content = unknown.to_string();
            return Err(refuse(
                ToolCallState::Failed,
                content,
                "unknown tool",
                Access::Unknown,
                Effect::NonIdempotent,
            ));
        }
    };
    let spec = tool.spec();
    if let Err(violation) = engine.tools.validate(name, args) {
        return Err(refuse(
            ToolCallState::Failed,
            violation.to_string(),
            &format!("schema: {}", first_line(&violation.to_string())),
            spec.access,
            spec.effect,
        ));
    }
    let Some(settings) = engine.settings.channels.get(place.channel) else {
        let content = format!("channel `{}` is not configured any more", place.channel);
        return Err(refuse(
            ToolCallState::Failed,
            content,
            "no such channel",
            spec.access,
            spec.effect,
        ));
    };
    let context = ToolContext {
        workspace: settings.workspace.clone(),
        hidden: hidden_directories(engine, &settings.workspace),
        session_id: place.session_id,
        call_id: place.call_id,
        idempotency_key: String::new(),
        cancel: CancellationToken::new(),
        host: &NoHost,
        journal: Arc::new(NoJournal),
    };
    let prepared = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        tool.prepare(&context, args)
    }))
    .unwrap_or_else(|_| {
        Err(PrepareError::Invalid(
            "the tool stopped on a defect of ours (a panic; see the log). Nothing ran".to_owned(),
        ))
    });
    let plan = match prepared {
        Ok(plan) => marked(plan, args),
        Err(PrepareError::Invalid(message)) => {
            return Err(refuse(
                ToolCallState::Failed,
                message.clone(),
                &format!(
                    "the arguments cannot be carried out: {}",
                    first_line(&message)
                ),
                spec.access,
                spec.effect,
            ));
        }
        Err(PrepareError::Guarded(message)) => {
            return Err(refuse(
                ToolCallState::Blocked,
                message,
                "path guard",
                spec.access,
                spec.effect,
            ));
        }
    };
    let risk = engine
        .settings
        .tool_risk
        .get(name)
        .copied()
        .map_or(plan.risk, |floor| floor.max(plan.risk));
    let mut facts = CallFacts {
        tool: name.to_owned(),
        access: plan.access,
        effect: spec.effect,
        risk,
        args_digest: canonical::shape_digest(args, &plan),
        always_asks: plan.always_asks.clone(),
        taint: place.taint.to_vec(),
    };
    let workspace = settings.workspace.to_string_lossy();
    let shape = CallShape {
        tool: name,
        args,
        workspace: &workspace,
        plan: &plan.facts,
    };
    circumstances.rules = rules::asked(place.rules, &shape);
    // Nobody could have said what it names.
    if plan.facts.unbound.is_some() {
        circumstances.grants.clear();
    }
    facts.always_asks = rules::doubt(place.rules, &shape).or(facts.always_asks);
    let (verdict, leans_on) = policy::judged(&facts, &circumstances);
    let mut matching = circumstances.rules.clone();
    matching.extend(rules::doubtful(place.rules, &shape));
    let once_only = match verdict.decision {
        VerdictWord::Ask | VerdictWord::Deny => policy::once_only(&facts, &circumstances),
        VerdictWord::Allow => None,
    };
    let otherwise = (leans_on.is_some() && verdict.decision == VerdictWord::Allow).then(|| {
        circumstances.grants.clear();
        circumstances
            .rules
            .retain(|rule| rule.verdict != VerdictWord::Allow);
        policy::verdict(&facts, &circumstances)
    });
    let definition = engine.tools.definition_digest(name).unwrap_or_default();
    let digest = canonical::plan_digest(name, args, &plan, definition, digest_version);
    Ok(Judged {
        plan,
        facts,
        digest,
        verdict,
        leans_on,
        otherwise,
        matching,
        once_only,
    })
}

/// What is stored of a judged call's facts.
pub fn call_facts(engine: &Engine, name: &str, args: Value, judged: &Judged) -> NewCallFacts {
    NewCallFacts {
        preview: engine.redactor.redact(&one_line(name, &args)).into_owned(),
        args,
        access: judged.plan.access,
        risk: judged.facts.risk,
        risk_reasons: judged.plan.risk_reasons.clone(),
        plan: judged.plan.facts.clone(),
        digest: judged.digest.clone(),
        args_digest: judged.facts.args_digest.clone(),
        verdict: judged.verdict.clone(),
    }
}

/// Why a call of an answer is not carried out whatever it is: (what the model reads, the rule).
pub fn left_out(
    engine: &Engine,
    rows: &TurnRows,
    index: usize,
) -> Option<(&'static str, &'static str)> {
    let left = rows
        .limits
        .max_tool_calls
        .saturating_sub(rows.used.tool_calls) as usize;
    if engine.settings.engine.one_tool_per_step && index > 0 {
        Some((
            "only the first call of an answer is executed here; call again if it is still needed",
            "one_tool_per_step",
        ))
    } else if index >= left {
        Some((
            "the turn's tool-call budget is used up; this call did not run",
            "max_tool_calls",
        ))
    } else {
        None
    }
}

/// Judges everything an answer proposed, in order, as its hooks left it.
pub fn judge_all(
    engine: &Engine,
    bench: &Bench,
    rows: &TurnRows,
    step: u32,
    model_text: &str,
    proposed: Vec<Proposed>,
) -> Vec<NewCall> {
    let mut waiting = bench.pending;
    let mut bench = bench.clone();
    let mut calls = Vec::with_capacity(proposed.len());
    for (index, Proposed { id, call, stopped }) in proposed.into_iter().enumerate() {
        let name: String = call.name.chars().take(MAX_TOOL_NAME).collect();
        let (mut args, malformed) = match call.args {
            Ok(args) => (args, None),
            Err(malformed) => (Value::String(malformed.raw), Some(malformed.error)),
        };
        engine.redactor.redact_json(&mut args);
        let refusal = |state, content: String, rule: &str| Refusal {
            state,
            content,
            rule: rule.to_owned(),
            access: Access::Unknown,
            effect: Effect::NonIdempotent,
        };
        let judged = if let Some(error) = malformed {
            let content = format!(
                "the arguments are not a complete JSON object: {error}. Nothing ran; send the whole call again"
            );
            Err(refusal(ToolCallState::Failed, content, MALFORMED_RULE))
        } else if let Some((content, rule)) = left_out(engine, rows, index) {
            Err(refusal(ToolCallState::Denied, content.to_owned(), rule))
        } else if let Some((content, rule)) = stopped {
            let spec = engine.tools.get(&name).map(|tool| tool.spec());
            Err(Refusal {
                access: spec.map_or(Access::Unknown, |spec| spec.access),
                effect: spec.map_or(Effect::NonIdempotent, |spec| spec.effect),
                ..refusal(ToolCallState::Denied, content, &rule)
            })
        } else {
            judge(engine, &bench, rows, id, &name, &args, bench.policy.version)
        };
        bench.count(judged.as_ref().ok().and_then(|judged| judged.leans_on), 1);
        calls.push(new_call(
            engine,
            rows,
            step,
            index,
            id,
            call.provider_call_id,
            name,
            args,
            model_text,
            judged,
            &mut waiting,
            &bench,
        ));
    }
    calls
}

#[expect(
    clippy::too_many_arguments,
    reason = "one row is assembled from everything known about a call"
)]
fn new_call(
    engine: &Engine,
    rows: &TurnRows,
    step: u32,
    index: usize,
    id: ToolCallId,
    provider_call_id: String,
    name: String,
    args: Value,
    model_text: &str,
    judged: Result<Judged, Refusal>,
    waiting: &mut (u32, u32),
    bench: &Bench,
) -> NewCall {
    let args_digest = canonical::args_digest(&args);
    let idempotency_key =
        canonical::idempotency_key(1, rows.id, step, index as u32, &name, &args_digest);
    match judged {
        Err(refusal) => NewCall {
            id,
            provider_call_id,
            preview: engine.redactor.redact(&one_line(&name, &args)).into_owned(),
            name,
            args,
            access: refusal.access,
            effect: refusal.effect,
            risk: Risk::Low,
            risk_reasons: Vec::new(),
            plan: crate::protocol::approval::PlanFacts::default(),
            digest: String::new(),
            args_digest,
            idempotency_key,
            verdict: Verdict {
                decision: VerdictWord::Deny,
                rule: refusal.rule,
                policy_version: bench.policy.version,
            },
            leans_on: None,
            otherwise: None,
            outcome: NewCallOutcome::Refused {
                state: refusal.state,
                content: refusal.content,
            },
        },
        Ok(judged) => {
            let otherwise = judged.otherwise.clone().map(|verdict| {
                // Nobody waits for it yet: it is counted when it is stored.
                let mut waiting = *waiting;
                let outcome = outcome(engine, rows, model_text, &judged, &verdict, &mut waiting);
                Box::new(Otherwise { verdict, outcome })
            });
            let outcome = outcome(engine, rows, model_text, &judged, &judged.verdict, waiting);
            let facts = call_facts(engine, &name, args, &judged);
            NewCall {
                id,
                provider_call_id,
                preview: facts.preview,
                name,
                args: facts.args,
                access: facts.access,
                effect: judged.facts.effect,
                risk: facts.risk,
                risk_reasons: facts.risk_reasons,
                plan: facts.plan,
                digest: facts.digest,
                args_digest: facts.args_digest,
                idempotency_key,
                verdict: facts.verdict,
                leans_on: judged.leans_on,
                otherwise,
                outcome,
            }
        }
    }
}

/// What the model reads where a call would have to be allowed and nobody is there to do it.
pub const UNATTENDED: &str = "denied: this is an unattended run and nobody is there to allow this call. \
                              Do not repeat it; go on without it and say in your answer what was left undone.";

/// Whether nobody is there to be asked.
pub fn nobody_is_there(rows: &TurnRows) -> bool {
    match rows.bounds.unattended {
        Some(Unattended::Deny) => true,
        Some(Unattended::Park) | None => false,
    }
}

fn outcome(
    engine: &Engine,
    rows: &TurnRows,
    model_text: &str,
    judged: &Judged,
    verdict: &Verdict,
    waiting: &mut (u32, u32),
) -> NewCallOutcome {
    match verdict.decision {
        VerdictWord::Allow => NewCallOutcome::Ready,
        VerdictWord::Deny => NewCallOutcome::Refused {
            state: ToolCallState::Blocked,
            content: "denied by policy: this call is not allowed here. Do not repeat it."
                .to_owned(),
        },
        VerdictWord::Ask if nobody_is_there(rows) => NewCallOutcome::Refused {
            state: ToolCallState::Denied,
            content: UNATTENDED.to_owned(),
        },
        VerdictWord::Ask => {
            let limits = &engine.settings.approvals;
            if waiting.0 >= limits.max_pending_per_session
                || waiting.1 >= limits.max_pending_per_channel
            {
                return NewCallOutcome::Refused {
                    state: ToolCallState::Denied,
                    content: "denied: too many approvals wait already; go on without this call or finish first".to_owned(),
                };
            }
            waiting.0 += 1;
            waiting.1 += 1;
            NewCallOutcome::Ask(approval(engine, rows, model_text, judged))
        }
    }
}

/// The approval of a judged call that asks.
pub fn approval(
    engine: &Engine,
    rows: &TurnRows,
    model_text: &str,
    judged: &Judged,
) -> NewApproval {
    let origin = origin(rows);
    let ask = Ask {
        kind: ApprovalKind::Execute,
        digest: judged.digest.clone(),
        risk: judged.facts.risk,
        taint: judged.facts.taint.clone(),
        preview: judged.plan.preview.clone(),
        model_reason: Some(
            engine
                .redactor
                .redact(model_text)
                .chars()
                .take(2000)
                .collect(),
        ),
        question: None,
    };
    NewApproval {
        once_only: judged.once_only.clone(),
        ..approvals::build(engine, &origin, ask, engine.clock.now())
    }
}

/// Where a turn came from.
pub fn origin(rows: &TurnRows) -> approvals::Origin {
    approvals::Origin {
        channel: rows.channel.clone(),
        conversation: rows.conversation.clone(),
        requester: rows.requester.clone(),
        message_ref: rows.message_ref.clone(),
    }
}

/// The context of a call that runs.
pub fn run_context<'a>(
    engine: &Engine,
    workspace: PathBuf,
    session_id: SessionId,
    call_id: ToolCallId,
    idempotency_key: String,
    cancel: CancellationToken,
    host: &'a dyn ToolHost,
) -> ToolContext<'a> {
    ToolContext {
        hidden: hidden_directories(engine, &workspace),
        workspace,
        session_id,
        call_id,
        idempotency_key,
        cancel,
        host,
        journal: leftovers::journal(engine),
    }
}
