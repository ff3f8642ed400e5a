//! An approval in full, as text. Nothing of what would run is shortened, and all of it is revealed.

use clap::Args;

use crate::cli::exit::Failure;
use crate::cli::terminal::{Terminal, cell};
use crate::client::approval_lines::{arguments_left, external_facts, sentence};
use crate::clock::Clock;
use crate::protocol::approval::{Approval, Preview, UnknownOutcome};
use crate::protocol::decision::DecisionText;
use crate::protocol::decision::effect_text;
use crate::protocol::enums::{ApprovalKind, ApprovalState};
use crate::text::untrusted::{reveal, reveal_line};

/// A rule that is made with a decision.
#[derive(Debug, Args)]
pub struct RuleOfCard {
    /// Also make a rule: for exactly this call, or as the options for rules say
    #[arg(long)]
    pub rule: bool,
    /// What the rule says
    #[command(flatten)]
    pub fields: crate::cli::rules::RuleFlags,
}

/// What a decision is about.
#[derive(Debug, Args)]
pub struct DecisionTarget {
    /// Digest of the card that you saw; needed without a terminal
    #[arg(long)]
    pub digest: Option<String>,
    /// Reason, stored with the decision
    #[arg(long)]
    pub reason: Option<String>,
}

/// Writes the card.
pub fn show(terminal: &mut Terminal<'_>, approval: &Approval) -> Result<(), Failure> {
    terminal.line(&format!(
        "{}  {}  {}  code {}  revision {}",
        approval.id, approval.kind, approval.state, approval.short_code, approval.revision
    ))?;
    terminal.line(&cell(&sentence(approval)))?;
    if !approval.tool.is_empty() {
        terminal.line(&format!(
            "tool      {}  ({} risk)",
            cell(&approval.tool),
            approval.risk
        ))?;
    }
    for reason in &approval.risk_reasons {
        terminal.line(&format!("risk      {}", cell(reason)))?;
    }
    if let Some(question) = &approval.question {
        terminal.line(&reveal(question))?;
    }
    for message in &approval.messages {
        let sender = message.sender.as_deref().unwrap_or("the bot");
        let text = reveal_line(&message.text);
        terminal.line(&format!("before    {}: {text}", cell(sender)))?;
    }
    match &approval.preview {
        Preview::None => {}
        Preview::Diff { path, unified } => {
            terminal.line(&format!("file      {}", cell(path)))?;
            terminal.line(&reveal(unified))?;
        }
        Preview::Exec { argv } => {
            for (at, argument) in argv.iter().enumerate() {
                terminal.line(&format!("argv[{at}]   {}", cell(argument)))?;
            }
        }
        // Shown whole below.
        Preview::Text { .. } if approval.unknown.is_some() => {}
        Preview::Text { text } => terminal.line(&reveal(text))?,
    }
    if let Some(args) = arguments_left(approval) {
        let args = serde_json::to_string_pretty(&args).map_err(anyhow::Error::from)?;
        terminal.line(&format!("arguments {}", reveal(&args)))?;
    }
    if !approval.tool.is_empty() && approval.kind != ApprovalKind::Question {
        let effect = effect_text(approval.access, approval.effect);
        terminal.line(&format!("effect    {effect}"))?;
    }
    if let Some(unknown) = &approval.unknown {
        show_unknown(terminal, approval, unknown)?;
    }
    let plan = &approval.plan;
    for (name, value) in [
        ("directory", &plan.cwd),
        ("program  ", &plan.executable),
        ("sandbox  ", &plan.sandbox),
    ] {
        if let Some(value) = value {
            terminal.line(&format!("{name} {}", cell(value)))?;
        }
    }
    for (label, value) in external_facts(approval) {
        terminal.line(&format!("{label:<9} {}", cell(&value)))?;
    }
    if let Some(binding) = plan.binding() {
        terminal.line(&format!("bound     {}", cell(&binding)))?;
    }
    for (name, value) in &plan.env {
        terminal.line(&format!("variable  {}={}", cell(name), cell(value)))?;
    }
    for taint in &approval.taint {
        terminal.line(&format!("untrusted {}", cell(taint)))?;
    }
    terminal.line(&format!(
        "asked by  {} ({}) on {} in {}",
        cell(&approval.requester.display),
        cell(&approval.requester.id),
        cell(&approval.channel),
        cell(&approval.conversation)
    ))?;
    if let Some(reason) = &approval.model_reason {
        terminal.line(&format!("it says   {}", cell(reason)))?;
    }
    terminal.line(&format!("because   {}", cell(&approval.verdict.rule)))?;
    if let Some(expires) = approval.expires_at {
        terminal.line(&format!("expires   {expires}"))?;
    }
    if let Some(first) = &approval.allowed_by {
        terminal.line(&format!(
            "so far    {} ({}, {})",
            cell(&first.in_words()),
            first.surface,
            first.at
        ))?;
    }
    if let Some(waiting) = &approval.assignment {
        let note = waiting.note.as_deref();
        terminal.line(&format!(
            "waits for {}, assigned by {} at {}{}",
            cell(&waiting.to),
            cell(&waiting.by),
            waiting.at,
            note.map_or_else(String::new, |note| format!(": {}", cell(note)))
        ))?;
    }
    if let Some(escalation) = approval
        .escalation
        .as_ref()
        .filter(|_| approval.state == ApprovalState::Pending)
    {
        for step in &escalation.steps {
            terminal.line(&format!(
                "escalated {} at {}",
                cell(&step.in_words()),
                step.at
            ))?;
        }
        if let Some(next) = escalation.next_in_words(Clock::System.now()) {
            terminal.line(&format!("next      {}", cell(&next)))?;
        }
    }
    terminal.line(&format!("digest    {}", approval.digest))?;
    if let Some(decision) = &approval.decision {
        terminal.line(&format!(
            "decided   {} by {} on {} at {}",
            decision.decision,
            cell(&decision.by),
            decision.surface,
            decision.at
        ))?;
    }
    Ok(())
}

/// What is known of an outcome that nobody knows, and what each answer leads to.
fn show_unknown(
    terminal: &mut Terminal<'_>,
    approval: &Approval,
    unknown: &UnknownOutcome,
) -> Result<(), Failure> {
    let started = unknown
        .started_at
        .map_or_else(|| "not recorded".to_owned(), |at| at.to_string());
    terminal.line(&format!("started   {started}"))?;
    terminal.line(&format!(
        "attempt   {} of {}, by the process of epoch {}",
        unknown.attempt, unknown.attempts, unknown.epoch
    ))?;
    terminal.line(&format!("key       {}", cell(&unknown.key)))?;
    let known = unknown.known.as_deref().unwrap_or("nothing");
    terminal.line(&format!("known     {}", reveal(known)))?;
    if let Some(delivery) = &unknown.delivery {
        terminal.line(&format!(
            "delivery  {}  part {} of {}, {}",
            delivery.id, delivery.part, delivery.parts, delivery.class
        ))?;
        if !delivery.text.is_empty() {
            terminal.line("text that was being sent:")?;
            terminal.line(&reveal(&delivery.text))?;
        }
    }
    if approval.state == ApprovalState::Pending {
        for word in &approval.offered {
            if word.settles_unknown() {
                let DecisionText { label, meaning, .. } = word.text();
                let word = word.as_str().replace('_', "-");
                terminal.line(&format!("answer    {word}: {label} — {meaning}"))?;
            }
        }
        if let Some(id) = approval
            .continuation_id
            .filter(|_| unknown.delivery.is_none())
        {
            terminal.line(&format!("then      {id} goes on"))?;
        }
    }
    Ok(())
}
