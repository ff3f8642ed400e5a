//! `leverframe approvals list|show|rehearse|approve|deny|edit|answer|snooze|revoke|allow-later`.
//!
//! A decision is always about a digest: the one the person at the terminal was just shown, or the one the
//! script names. There is no way to approve what nobody looked at.

use std::time::Instant;

use crate::cli::approval_card;
use crate::cli::approval_card::RuleOfCard;
use crate::cli::exit::{Failure, usage};
use crate::cli::find::{self, submit};
use crate::cli::list::{self, ListArguments};
use crate::cli::rules;
use crate::cli::terminal::{Attendance, Cli, Terminal, cell};
use crate::client::listing::{TableRow, known};
use crate::client::rehearsal_lines;
use crate::clock::Clock;
use crate::console::lifetime::Lifetime;
use crate::protocol::approval::Approval;
use crate::protocol::command::DecisionRequest;
use crate::protocol::enums::{
    ApprovalState, DecisionKind, DecisionScope, Risk, RuleMatcher, RuleScope, VerdictKind,
};
use crate::protocol::request::ListApprovals;
use crate::protocol::request::{AllowLater, Decide, GetRuleMatches, RehearseCall};
use crate::protocol::rule::{COMMAND, RulePatch, covers_commands, runs_shell};
use crate::text::quote::quote;

/// A decision from the command line.
#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    /// Approve, deny, or deny and stop.
    pub decision: DecisionKind,
    /// How far an approve reaches.
    pub scope: Option<DecisionScope>,
    /// Seconds that a permission for the shape holds; 0 = as long as its turn or session.
    pub expires_in_seconds: Option<u64>,
    /// The digest that was looked at elsewhere.
    pub digest: Option<String>,
    /// The short code, for critical calls.
    pub confirm_code: Option<String>,
    /// How much is added to a budget; none = what the question offers.
    pub extra: Option<f64>,
    /// Read by the model.
    pub reason: Option<String>,
    /// A rule that is made with it; an empty one = of exactly this call.
    pub rule: Option<Box<RulePatch>>,
    /// New arguments, for an edit.
    pub args: Option<serde_json::Value>,
    /// The answer in place of the tool's.
    pub answer: Option<String>,
    /// How long it is snoozed.
    pub minutes: Option<u32>,
}

impl Order {
    /// A decision without any extras.
    pub fn new(decision: DecisionKind, digest: Option<String>, reason: Option<String>) -> Self {
        Self {
            decision,
            scope: None,
            expires_in_seconds: None,
            digest,
            confirm_code: None,
            extra: None,
            reason,
            rule: None,
            args: None,
            answer: None,
            minutes: None,
        }
    }
}

/// An order that also allows further calls as a command line says: by a rule, or by a permission for the shape.
pub fn lasting(
    asked: RuleOfCard,
    scope: Option<DecisionScope>,
    order: Order,
) -> Result<Order, Failure> {
    let mut patch = asked.fields.patch()?;
    if asked.rule {
        patch.scope = match scope {
            None => None,
            Some(DecisionScope::Turn) => Some(RuleScope::Turn),
            Some(DecisionScope::Session) => Some(RuleScope::Session),
            Some(DecisionScope::Once) => {
                return Err(Failure::usage(
                    "--rule makes a rule, --scope once allows one call: name one of them",
                ));
            }
        };
        let rule = Some(Box::new(patch));
        return Ok(Order { rule, ..order });
    }
    let mut expires_in_seconds = None;
    if matches!(scope, Some(DecisionScope::Turn | DecisionScope::Session)) {
        expires_in_seconds = patch.expires_in_seconds.take();
    }
    if patch != RulePatch::default() {
        return Err(Failure::usage(
            "these options describe a rule: add --rule to make one",
        ));
    }
    Ok(Order {
        scope,
        expires_in_seconds,
        ..order
    })
}

/// The rule on this call: of exactly this call, where nothing else is said.
fn rule_on(approval: &Approval, decision: DecisionKind, mut rule: RulePatch) -> RulePatch {
    rule.tool = Some(approval.tool.clone());
    let says = if decision == DecisionKind::Approve {
        VerdictKind::Allow
    } else {
        VerdictKind::Deny
    };
    rule.verdict = rule.verdict.or(Some(says));
    if covers_commands(says, &approval.tool) {
        rule.cwd = rule.cwd.or_else(|| approval.plan.cwd.clone());
        rule.executable = rule.executable.or_else(|| approval.plan.executable.clone());
    }
    if rule.value.is_none() {
        let named = rule
            .field
            .clone()
            .or_else(|| approval.args.get("argv").map(|_| "argv".to_owned()))
            .or_else(|| runs_shell(&approval.tool).then(|| COMMAND.to_owned()))
            .filter(|field| !field.is_empty());
        rule.matcher = Some(RuleMatcher::Exact);
        rule.value = Some(
            match named.as_ref().and_then(|field| approval.args.get(field)) {
                Some(serde_json::Value::String(text)) => text.clone(),
                Some(serde_json::Value::Array(words)) => words
                    .iter()
                    .map(|word| quote(word.as_str().unwrap_or_default()))
                    .collect::<Vec<_>>()
                    .join(" "),
                Some(other) => other.to_string(),
                None => approval.args.to_string(),
            },
        );
        rule.field = Some(named.unwrap_or_default());
    }
    rule
}

/// Lists approvals.
pub async fn list(
    cli: &mut Cli<'_>,
    state: Option<ApprovalState>,
    list: ListArguments,
) -> Result<(), Failure> {
    let query = ListApprovals {
        state,
        page: list.page(),
    };
    list::run(cli, query, list.watch).await
}

impl TableRow for Approval {
    const HEADS: &'static [&'static str] = &[
        "ID", "CODE", "STATE", "RISK", "CHANNEL", "ASKED", "FOR", "TOOL", "WHAT",
    ];
    const NOTHING: &'static str = "no approvals";

    fn cells(&self) -> Vec<String> {
        let what = match &self.question {
            Some(question) => question.clone(),
            None => self.args.to_string(),
        };
        vec![
            self.id.to_string(),
            self.short_code.clone(),
            self.state.to_string(),
            self.risk.to_string(),
            cell(&self.channel),
            self.requested_at.to_string(),
            known(self.assignment.as_ref().map(|one| cell(&one.to))),
            cell(&self.tool),
            crate::text::untrusted::limit_line(&what, 60),
        ]
    }
}

/// Shows one approval in full.
pub async fn show(cli: &mut Cli<'_>, id: &str) -> Result<(), Failure> {
    let approval = find::approval(cli.client, id).await?;
    print(&mut cli.terminal, &approval)
}

/// Rehearses the command of an approval, and prints what it would do.
pub async fn rehearse(cli: &mut Cli<'_>, id: &str) -> Result<(), Failure> {
    let approval_id = find::approval(cli.client, id).await?.id;
    cli.submit(RehearseCall { approval_id }, |terminal, rehearsal| {
        terminal.lines(&rehearsal_lines::lines(rehearsal))
    })
    .await
}

/// Allows a call once that nobody decided in time.
pub async fn allow_later(cli: &mut Cli<'_>, id: &str) -> Result<(), Failure> {
    let approval_id = id
        .parse()
        .map_err(|error| usage!("`{id}` is not the id of an approval: {error}"))?;
    let rule = submit(cli.client, AllowLater { approval_id }).await?;
    cli.terminal.show_line(&rule, || {
        format!("{}, once within 15 minutes", rule.in_words())
    })
}

/// Decides one approval.
pub async fn decide(cli: &mut Cli<'_>, id: &str, order: Order) -> Result<(), Failure> {
    let approval = find::approval(cli.client, id).await?;
    let decided = decide_found(cli, approval, order).await?;
    cli.terminal.show(&decided, |terminal, _| {
        let so_far = decided
            .allowed_by
            .as_ref()
            .filter(|_| decided.state == ApprovalState::Pending)
            .map_or_else(String::new, |first| {
                format!("; {}", cell(&first.in_words()))
            });
        terminal.line(&format!("{}  {}{so_far}", decided.id, decided.state))
    })
}

/// Decides an approval that was found; the approval as it stands then. A person is shown its card and asked, a
/// script names the digest.
pub async fn decide_found(
    cli: &mut Cli<'_>,
    approval: Approval,
    order: Order,
) -> Result<Approval, Failure> {
    let rule = order
        .rule
        .map(|rule| Box::new(rule_on(&approval, order.decision, *rule)));
    let mut seen_ms = None;
    let mut confirm_code = order.confirm_code;
    let digest = match (order.digest, cli.terminal.attended) {
        (Some(digest), Attendance::Person | Attendance::Script) => digest,
        (None, Attendance::Script) => {
            return Err(usage!(
                "not a terminal: name what you looked at with --digest {}\n`leverframe approvals show {}` shows it",
                "DIGEST",
                approval.id
            ));
        }
        (None, Attendance::Person) => {
            approval_card::show(&mut cli.terminal, &approval)?;
            if let Some(rule) = &rule {
                let found = cli
                    .client
                    .call(GetRuleMatches {
                        id: None,
                        rule: rule.clone(),
                    })
                    .await?;
                rules::told_matches(&mut cli.terminal, &found)?;
            }
            let now = Clock::System.now();
            if let Some(life) = Lifetime::of(order.scope, order.expires_in_seconds, now) {
                cli.terminal.line(&format!(
                    "shape     exactly these arguments run without asking {}",
                    life.in_words(now)
                ))?;
            }
            let shown = Instant::now();
            if !confirm(
                &mut cli.terminal,
                &approval,
                order.decision,
                &mut confirm_code,
            )? {
                return Err(Failure::ended("nothing was decided"));
            }
            seen_ms = u64::try_from(shown.elapsed().as_millis()).ok();
            approval.digest.clone()
        }
    };
    let decision = DecisionRequest {
        scope: order.scope,
        expires_in_seconds: order.expires_in_seconds,
        revision: (digest == approval.digest).then_some(approval.revision),
        confirm_code,
        reason: order.reason,
        extra: order.extra,
        seen_ms,
        rule,
        args: order.args,
        answer: order.answer,
        minutes: order.minutes,
        ..DecisionRequest::new(order.decision, digest)
    };
    let command = Decide {
        approval_id: approval.id,
        decision,
    };
    let decided = submit(cli.client, command).await?;
    Ok(decided)
}

fn confirm(
    terminal: &mut Terminal<'_>,
    approval: &Approval,
    decision: DecisionKind,
    code: &mut Option<String>,
) -> Result<bool, Failure> {
    if decision == DecisionKind::Approve && approval.risk == Risk::Critical {
        let typed = terminal.ask("critical: type the code to approve, anything else to leave:")?;
        let right = typed.eq_ignore_ascii_case(&approval.short_code);
        *code = Some(approval.short_code.clone()).filter(|_| right);
        return Ok(right);
    }
    let answer = terminal.ask(&format!("{decision}? [y/N]"))?;
    Ok(matches!(answer.as_str(), "y" | "Y" | "yes"))
}

fn print(terminal: &mut Terminal<'_>, approval: &Approval) -> Result<(), Failure> {
    terminal.show(approval, approval_card::show)
}
