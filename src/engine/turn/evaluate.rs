//! From what the model proposed to calls with verdicts: schema, guards, plan, policy, approval.
//!
//! Nothing here has an effect: tools are only asked to prepare.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::engine::approvals::{self, Ask, Origin};
use crate::engine::call_shape::CallShape;
use crate::engine::core::Engine;
use crate::engine::leftovers;
use crate::engine::mcp;
use crate::engine::policy::{self, CallFacts, PolicyInput};
use crate::engine::rules;
use crate::engine::turn::after::MALFORMED_RULE;
use crate::engine::turn::plan_risk;
use crate::engine::turn::policy_context::PolicyContext;
use crate::engine::turn::proposal::{MAX_TOOL_NAME, ProposedCall, skip_reason};
use crate::protocol::agent_job::{RUN_AGENT, is_job};
use crate::protocol::approval::choices;
use crate::protocol::enums::{
    Access, ApprovalKind, Effect, ExternalAgent, Risk, ToolCallState, Unattended, VerdictKind,
};
use crate::protocol::gate::ExternalCaller;
use crate::protocol::ids::{SessionId, ToolCallId};
use crate::protocol::policy::Verdict;
use crate::protocol::rule::Rule;
use crate::protocol::session::TOO_MANY_WAIT;
use crate::store::input::{Basis, Fallback, NewApproval, NewCall, NewCallFacts, NewCallOutcome};
use crate::store::queries::approvals::{PendingApprovals, Question};
use crate::store::queries::turn::TurnRows;
use crate::tools::ask_operator::{ASK_OPERATOR, question};
use crate::tools::canonical;
use crate::tools::memory::REMEMBER;
use crate::tools::preview::one_line;
use crate::tools::risk::{self, RiskReason};
use crate::tools::tool::{NoJournal, Plan, PrepareError, Tool, ToolContext, ToolHost, ToolSpec};

/// Why a call of an external agent asks each time whose arguments hold what looks like a secret.
const HAS_SECRET: &str =
    "Leverframe hides a part of it as a secret, and the agent runs that part too";

/// A host that shows nothing: for preparing.
pub struct NoHost;

impl ToolHost for NoHost {
    fn progress(&self, _text: &str) {}
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

/// Everything known about a call that could be carried out.
pub struct Evaluation {
    /// The tool that was judged: it runs, whatever takes its name meanwhile.
    pub tool: Arc<dyn Tool>,
    pub plan: Plan,
    /// What the policy looked at.
    pub facts: CallFacts,
    /// Digest of the full plan.
    pub digest: String,
    pub verdict: Verdict,
    /// The rule or grant that it is based on.
    pub basis: Option<Basis>,
    /// The verdict without any rule or grant that allows, where it is based on one.
    pub fallback: Option<Verdict>,
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

impl Refusal {
    /// That of a call of a tool; none = nobody knows the tool.
    fn new(
        state: ToolCallState,
        content: impl Into<String>,
        rule: impl Into<String>,
        tool: Option<&ToolSpec>,
    ) -> Self {
        Self {
            state,
            content: content.into(),
            rule: rule.into(),
            access: tool.map_or(Access::Unknown, |tool| tool.access),
            effect: tool.map_or(Effect::NonIdempotent, |tool| tool.effect),
        }
    }
}

/// Where a call is evaluated.
#[derive(Debug, Clone)]
pub struct CallSite<'a> {
    pub channel: &'a str,
    pub session_id: SessionId,
    pub call_id: ToolCallId,
    /// Untrusted content in context.
    pub taint: &'a [String],
    /// Rules in force there, used up or not.
    pub rules: &'a [Rule],
    /// The external agent that makes it; none = it runs here.
    pub external: Option<&'a ExternalCaller>,
}

/// Evaluates one call: schema, guards, plan, policy. `digest_version` is the policy version the digest is bound to:
/// the current one for a new call, the recorded one when a call is evaluated again before it starts.
pub fn evaluate(
    engine: &Engine,
    policy_context: &PolicyContext,
    rows: &TurnRows,
    call_id: ToolCallId,
    name: &str,
    args: &Value,
    digest_version: u64,
) -> Result<Evaluation, Refusal> {
    if let Some(refusal) = not_offered(engine, rows, name) {
        return Err(refusal);
    }
    let place = CallSite {
        channel: &rows.channel,
        session_id: rows.session_id,
        call_id,
        taint: &policy_context.taint,
        rules: &policy_context.rules,
        external: rows.options.external(),
    };
    let policy_input = policy_context.policy_input(engine, rows);
    evaluate_at(engine, &place, policy_input, name, args, digest_version)
}

/// Why a call cannot be carried out because its turn was given other tools. A name that nobody knows is told as such.
fn not_offered(engine: &Engine, rows: &TurnRows, name: &str) -> Option<Refusal> {
    let tool = engine.tools().lookup(name).ok()?;
    let blocked = |content: String, rule: &str| {
        Some(Refusal::new(
            ToolCallState::Blocked,
            content,
            rule,
            Some(tool.spec()),
        ))
    };
    // A model that answers in the conversation of a job is no job.
    let given = rows.options.call.as_ref();
    let is_run = given.is_some_and(|call| call.tool == RUN_AGENT);
    if name == RUN_AGENT && !(is_run && is_job(&rows.channel, &rows.conversation)) {
        let content = "only a job starts an external agent: `leverframe agents run` makes one";
        return blocked(content.to_owned(), "no job");
    }
    if let Some((agent, _)) = ExternalAgent::of_tool(name)
        && rows.options.external().is_none()
        && tool.source() == agent.product()
    {
        let agent = agent.product();
        let content = format!("`{name}` is a tool of {agent}, which calls it itself");
        return blocked(content, "tool of an external agent");
    }
    let allowed = rows.options.allow_tools.as_ref()?;
    if rows.options.allows(name) {
        return None;
    }
    let offered = match allowed.as_slice() {
        [] => "none".to_owned(),
        names => names.join(", "),
    };
    let content = format!(
        "`{name}` is not offered in this turn. Its message allows these tools: {offered}. Go on without it"
    );
    blocked(content, "allow_tools of the message")
}

/// The same for a call of no turn.
pub fn evaluate_at(
    engine: &Engine,
    place: &CallSite<'_>,
    mut policy_input: PolicyInput,
    name: &str,
    args: &Value,
    digest_version: u64,
) -> Result<Evaluation, Refusal> {
    if let Some(why) = mcp::not_here(engine, place.channel, name) {
        return Err(Refusal::new(
            ToolCallState::Blocked,
            why,
            "tool server",
            None,
        ));
    }
    let tool = engine.tools().lookup(name).map_err(|unknown| {
        let content = unknown.to_string();
        Refusal::new(ToolCallState::Failed, content, "unknown tool", None)
    })?;
    let refuse = |state, content: String, rule: &str| {
        Err(Refusal::new(state, content, rule, Some(tool.spec())))
    };
    if let Err(violation) = engine.tools().validate(name, args) {
        let content = violation.to_string();
        let rule = format!("schema: {}", first_line(&content));
        return refuse(ToolCallState::Failed, content, &rule);
    }
    let Some(settings) = engine.settings.channels.get(place.channel) else {
        let content = format!("channel `{}` is no longer configured", place.channel);
        return refuse(ToolCallState::Failed, content, "no such channel");
    };
    let workspace = match place.external {
        Some(external) => PathBuf::from(&external.directory),
        None => settings.workspace.clone(),
    };
    let context = ToolContext {
        journal: Arc::new(NoJournal),
        ..run_context(
            engine,
            workspace.clone(),
            place.session_id,
            place.call_id,
            String::new(),
            CancellationToken::new(),
            &NoHost,
        )
    };
    let external = place.external.cloned();
    let prepared = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        tool.prepare(&context, args)
    }))
    .unwrap_or_else(|_| {
        Err(PrepareError::Invalid(
            "a fault in Leverframe stopped the tool (a panic; see the log). Nothing ran".to_owned(),
        ))
    });
    let mut plan = match prepared {
        Ok(plan) => plan_risk::with_reasons(
            plan,
            args,
            &workspace,
            place.taint,
            engine.settings.tool_risk.get(name).copied(),
        ),
        Err(PrepareError::Invalid(message)) => {
            let why = first_line(&message);
            let rule = format!("the arguments cannot be carried out: {why}");
            return refuse(ToolCallState::Failed, message, &rule);
        }
        Err(PrepareError::Guarded(message)) => {
            return refuse(ToolCallState::Blocked, message, "path guard");
        }
    };
    if let Some(why) = external.as_ref().and_then(|one| one.own_question.clone()) {
        risk::add(&mut plan.risk_reasons, RiskReason::BeyondAgentLimits(why));
    }
    if external.as_ref().is_some_and(|one| one.redacted) {
        // What is judged here is not what the agent runs.
        plan.always_asks = Some(HAS_SECRET.to_owned());
        risk::add(
            &mut plan.risk_reasons,
            RiskReason::HiddenCode("a part that is hidden as a secret".to_owned()),
        );
    }
    plan.facts.external = external;
    let mut facts = CallFacts {
        tool: name.to_owned(),
        access: plan.access,
        effect: tool.effect(args),
        risk: risk::highest(&plan.risk_reasons),
        args_digest: canonical::shape_digest(args, &plan),
        always_asks: plan.always_asks.clone(),
        taint: place.taint.to_vec(),
    };
    let workspace = workspace.to_string_lossy();
    let shape = CallShape {
        tool: name,
        args,
        workspace: &workspace,
        plan: &plan.facts,
    };
    policy_input.rules = rules::asked(place.rules, &shape);
    // Nobody could have said what it names.
    if plan.facts.unbound.is_some() {
        policy_input.grants.clear();
    }
    facts.always_asks = rules::doubt(place.rules, &shape).or(facts.always_asks);
    let (verdict, basis) = policy::evaluate(&facts, &policy_input);
    let mut matching = policy_input.rules.clone();
    matching.extend(rules::doubtful(place.rules, &shape));
    let once_only = match verdict.decision {
        VerdictKind::Ask | VerdictKind::Deny => policy::once_only(&facts, &policy_input),
        VerdictKind::Allow => None,
    };
    let fallback = (basis.is_some() && verdict.decision == VerdictKind::Allow).then(|| {
        policy_input.grants.clear();
        policy_input
            .rules
            .retain(|rule| rule.verdict != VerdictKind::Allow);
        policy::verdict(&facts, &policy_input)
    });
    let definition = engine.tools().definition_digest(name).unwrap_or_default();
    let digest = canonical::plan_digest(name, args, &plan, &definition, digest_version);
    Ok(Evaluation {
        tool: Arc::clone(&tool),
        plan,
        facts,
        digest,
        verdict,
        basis,
        fallback,
        matching,
        once_only,
    })
}

/// What is stored of a evaluated call's facts.
pub fn call_facts(
    engine: &Engine,
    name: &str,
    args: Value,
    evaluation: &Evaluation,
) -> NewCallFacts {
    NewCallFacts {
        preview: engine.redactor.redact(&one_line(name, &args)).into_owned(),
        args,
        access: evaluation.plan.access,
        effect: evaluation.facts.effect,
        risk: evaluation.facts.risk,
        risk_reasons: evaluation.plan.reasons(),
        plan: evaluation.plan.facts.clone(),
        digest: evaluation.digest.clone(),
        args_digest: evaluation.facts.args_digest.clone(),
        verdict: evaluation.verdict.clone(),
    }
}

/// Evaluates everything an answer proposed, in order, as its hooks left it.
pub fn evaluate_all(
    engine: &Engine,
    policy_context: &PolicyContext,
    rows: &TurnRows,
    step: u32,
    model_text: &str,
    proposed: Vec<ProposedCall>,
) -> Vec<NewCall> {
    let mut waiting = policy_context.pending.clone();
    let mut policy_context = policy_context.clone();
    let mut calls = Vec::with_capacity(proposed.len());
    for (index, ProposedCall { id, call, stopped }) in proposed.into_iter().enumerate() {
        let name: String = call.name.chars().take(MAX_TOOL_NAME).collect();
        let (mut args, malformed) = match call.args {
            Ok(args) => (args, None),
            Err(malformed) => (Value::String(malformed.raw), Some(malformed.error)),
        };
        engine.redactor.redact_json(&mut args);
        let evaluation = if let Some(error) = malformed {
            let content = format!(
                "the arguments are not a complete JSON object: {error}. Nothing ran; send the whole call again"
            );
            Err(Refusal::new(
                ToolCallState::Failed,
                content,
                MALFORMED_RULE,
                None,
            ))
        } else if let Some((content, rule)) = skip_reason(engine, rows, index) {
            Err(Refusal::new(ToolCallState::Denied, content, rule, None))
        } else if let Some((content, rule)) = stopped {
            let tool = engine.tools().get(&name);
            let spec = tool.as_ref().map(|tool| tool.spec());
            Err(Refusal::new(ToolCallState::Denied, content, rule, spec))
        } else {
            evaluate(
                engine,
                &policy_context,
                rows,
                id,
                &name,
                &args,
                policy_context.policy.version,
            )
        };
        let basis = evaluation.as_ref().ok().and_then(|found| found.basis);
        policy_context.count(basis, 1);
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
            evaluation,
            &mut waiting,
            &policy_context,
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
    evaluation: Result<Evaluation, Refusal>,
    waiting: &mut PendingApprovals,
    policy_context: &PolicyContext,
) -> NewCall {
    let args_digest = canonical::args_digest(&args);
    let idempotency_key =
        canonical::idempotency_key(1, rows.id, step, index as u32, &name, &args_digest);
    match evaluation {
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
                decision: VerdictKind::Deny,
                rule: refusal.rule,
                policy_version: policy_context.policy.version,
            },
            basis: None,
            fallback: None,
            outcome: NewCallOutcome::Refused {
                state: refusal.state,
                content: refusal.content,
            },
        },
        Ok(evaluation) => {
            let outcome = |verdict, waiting: &mut PendingApprovals| {
                outcome(
                    engine,
                    rows,
                    model_text,
                    &args,
                    &evaluation,
                    verdict,
                    waiting,
                )
            };
            let fallback = evaluation.fallback.clone().map(|verdict| {
                // Nobody waits for it yet: it is counted when it is stored.
                let (verdict, outcome) = outcome(verdict, &mut waiting.clone());
                Box::new(Fallback { verdict, outcome })
            });
            let (verdict, outcome) = outcome(evaluation.verdict.clone(), waiting);
            let facts = call_facts(engine, &name, args, &evaluation);
            NewCall {
                id,
                provider_call_id,
                preview: facts.preview,
                name,
                args: facts.args,
                access: facts.access,
                effect: facts.effect,
                risk: facts.risk,
                risk_reasons: facts.risk_reasons,
                plan: facts.plan,
                digest: facts.digest,
                args_digest: facts.args_digest,
                idempotency_key,
                verdict,
                basis: evaluation.basis,
                fallback,
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

/// What follows from a verdict. It is another verdict where nobody is asked because too many approvals wait.
fn outcome(
    engine: &Engine,
    rows: &TurnRows,
    model_text: &str,
    args: &Value,
    evaluation: &Evaluation,
    verdict: Verdict,
    waiting: &mut PendingApprovals,
) -> (Verdict, NewCallOutcome) {
    match verdict.decision {
        VerdictKind::Allow => (verdict, NewCallOutcome::Ready),
        VerdictKind::Deny => {
            let refused = NewCallOutcome::Refused {
                state: ToolCallState::Blocked,
                content: "denied by policy: this call is not allowed here. Do not repeat it."
                    .to_owned(),
            };
            (verdict, refused)
        }
        VerdictKind::Ask if nobody_is_there(rows) => {
            let refused = NewCallOutcome::Refused {
                state: ToolCallState::Denied,
                content: UNATTENDED.to_owned(),
            };
            (verdict, refused)
        }
        VerdictKind::Ask => match refusal_of_limit(engine, evaluation, waiting) {
            Some(rule) => {
                let content = format!(
                    "denied: {rule}, and nobody was asked. Go on without this call, or wait for the others first"
                );
                let verdict = Verdict {
                    decision: VerdictKind::Deny,
                    rule,
                    ..verdict
                };
                (verdict, NewCallOutcome::TooManyWait { content })
            }
            None => {
                let asked =
                    NewCallOutcome::Ask(approval(engine, rows, model_text, args, evaluation));
                (verdict, asked)
            }
        },
    }
}

/// Counts one more call that waits, unless too many do already: then the rule that says so. Equal calls of a session
/// share one place.
fn refusal_of_limit(
    engine: &Engine,
    evaluation: &Evaluation,
    waiting: &mut PendingApprovals,
) -> Option<String> {
    let limits = &engine.settings.approvals;
    let question = Question::Call {
        tool: evaluation.facts.tool.clone(),
        args_digest: evaluation.facts.args_digest.clone(),
    };
    let of_session = waiting.questions.len() >= limits.max_pending_per_session as usize
        && !waiting.questions.contains(&question);
    if of_session {
        let limit = limits.max_pending_per_session;
        return Some(format!(
            "{TOO_MANY_WAIT} in this session (approvals.max_pending_per_session = {limit})"
        ));
    }
    if waiting.on_channel >= limits.max_pending_per_channel {
        let limit = limits.max_pending_per_channel;
        return Some(format!(
            "{TOO_MANY_WAIT} on this channel (approvals.max_pending_per_channel = {limit})"
        ));
    }
    waiting.questions.insert(question);
    waiting.on_channel += 1;
    None
}

/// What the approval of a call asks.
fn approval_kind(facts: &CallFacts) -> ApprovalKind {
    match facts.tool.as_str() {
        ASK_OPERATOR => ApprovalKind::Question,
        REMEMBER if !facts.taint.is_empty() => ApprovalKind::Memory,
        _ => ApprovalKind::Execute,
    }
}

/// The approval of an evaluated call that asks.
pub fn approval(
    engine: &Engine,
    rows: &TurnRows,
    model_text: &str,
    args: &Value,
    evaluation: &Evaluation,
) -> NewApproval {
    let kind = approval_kind(&evaluation.facts);
    let is_question = kind == ApprovalKind::Question;
    let ask = Ask {
        kind,
        digest: evaluation.digest.clone(),
        risk: evaluation.facts.risk,
        taint: evaluation.facts.taint.clone(),
        preview: evaluation.plan.preview.clone(),
        model_reason: Some(
            engine
                .redactor
                .redact(model_text)
                .chars()
                .take(2000)
                .collect(),
        ),
        question: is_question.then(|| engine.redactor.redact(&question(args)).into_owned()),
        choices: choices(kind, args).into_iter().map(str::to_owned).collect(),
    };
    let mut approval = NewApproval {
        once_only: evaluation.once_only.clone(),
        ..approvals::build(engine, Origin::of(rows), ask)
    };
    if let Some(external) = rows.options.external() {
        // Nobody hears an answer that comes later.
        let until = external.waits_until;
        // Where the agent has ended meanwhile, it waits as long as it says.
        let lives = approval.expires_at.filter(|_| !external.deferred);
        approval.expires_at = Some(lives.map_or(until, |at| at.min(until)));
    }
    approval
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
        hidden: engine.hidden_directories(&workspace),
        workspace,
        changes: engine.file_changes(),
        operands: Vec::new(),
        session_id,
        call_id,
        idempotency_key,
        cancel,
        host,
        journal: leftovers::journal(engine),
    }
}
