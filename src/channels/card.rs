//! Approvals as messages: the question with its buttons, and later its outcome.
//!
//! A card that could not show everything offers no way to approve: nobody allows from the chat what
//! they were not shown there.

use serde_json::Value;

use crate::client::approval_lines::{arguments_left, external_facts, sentence};
use crate::clock::Timestamp;
use crate::protocol::approval::{Approval, Preview};
use crate::protocol::bridge::CardButton;
use crate::protocol::channel::LengthUnit;
use crate::protocol::decision::capitalised;
use crate::protocol::enums::{ApprovalKind, ApprovalState, DecisionKind};
use crate::protocol::mcp::server_of;
use crate::text::chunk::length;
use crate::text::untrusted::{reveal, reveal_line};

/// Most characters of the message that led to a call.
const MAX_MESSAGE: usize = 200;
/// Longest single line of a shortened card's frame.
const MAX_FRAME_LINE: usize = 200;
/// Most lines of a shortened card's frame.
const MAX_FRAME_LINES: usize = 12;

/// How a line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// As it is.
    Plain,
    /// Bold.
    Bold,
    /// In a block of fixed width, together with its neighbours of the same style.
    Code,
}

/// A line of a card; its text is already revealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Text without line ends.
    pub text: String,
    /// Look.
    pub style: Style,
}

/// Lines as text without markup.
pub fn plain_text(lines: &[Line]) -> String {
    let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    texts.join("\n")
}

/// How long a card may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CardLimit {
    /// Longest text.
    pub max: usize,
    /// How it is counted.
    pub unit: LengthUnit,
}

impl CardLimit {
    fn length(self, text: &str) -> usize {
        length(text, self.unit)
    }

    fn of(self, lines: &[Line]) -> usize {
        lines.iter().map(|line| self.length(&line.text) + 1).sum()
    }

    /// Text of at most `max`, with a mark when something is missing.
    fn cut(self, text: &str, max: usize) -> String {
        if self.length(text) <= max {
            return text.to_owned();
        }
        let mut left = max.saturating_sub(self.length("…"));
        let mut start = String::new();
        for c in text.chars() {
            let cost = self.length(c.encode_utf8(&mut [0; 4]));
            if cost > left {
                break;
            }
            left -= cost;
            start.push(c);
        }
        start.push('…');
        start
    }
}

/// How long the parts of a card are whose length we choose: by what people see.
const PARTS: CardLimit = CardLimit {
    max: usize::MAX,
    unit: LengthUnit::Utf16,
};

/// A card, ready to be rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    /// Its text.
    pub lines: Vec<Line>,
    /// The buttons it may carry.
    pub buttons: Vec<CardButton>,
    /// Whether it shows everything.
    pub whole: bool,
}

/// The question, for somebody who may decide. Without buttons it is decided elsewhere: its risk is above what
/// this channel lets people decide from the chat.
pub fn question(approval: &Approval, buttons: &[CardButton], limit: CardLimit) -> Card {
    let head = head(approval);
    let body = body(approval);
    let whole: Vec<Line> = head
        .iter()
        .chain(&body)
        .cloned()
        .chain(if buttons.is_empty() {
            elsewhere(approval)
        } else {
            tail(approval)
        })
        .collect();
    if limit.of(&whole) <= limit.max {
        return Card {
            lines: whole,
            buttons: buttons.to_vec(),
            whole: true,
        };
    }
    shortened(approval, &head, &body, buttons, limit)
}

/// The end of a card that cannot be decided here.
fn elsewhere(approval: &Approval) -> Vec<Line> {
    let mut lines = waiting_for(approval);
    lines.extend([
        plain(deadline(approval)),
        bold(
            "Its risk or this chat does not allow a decision here: decide it in the console"
                .to_owned(),
        ),
        plain(format!("Code: {}", reveal_line(&approval.short_code))),
    ]);
    lines
}

/// Whom it waits for in particular, in the words of whoever assigned it.
fn waiting_for(approval: &Approval) -> Vec<Line> {
    let mut lines = Vec::new();
    if let Some(first) = &approval.allowed_by {
        lines.push(bold(reveal_line(&first.in_words()).into_owned()));
    }
    let escalation = approval.escalation.as_ref();
    if let Some(why) = escalation.and_then(|one| one.why_in_words(approval.requested_at)) {
        lines.push(bold(reveal_line(&why).into_owned()));
    }
    let Some(one) = &approval.assignment else {
        return lines;
    };
    lines.push(bold(format!(
        "Waiting for {}, assigned by {}",
        reveal_line(&one.to),
        reveal_line(&one.by)
    )));
    if let Some(note) = &one.note {
        lines.push(plain(format!("Note: {}", cut(&reveal_line(note), 600))));
    }
    lines
}

/// What became of it. The message it replaces keeps no buttons.
pub fn outcome(approval: &Approval) -> Vec<Line> {
    let mut lines = vec![bold(outcome_title(approval))];
    if !approval.tool.is_empty() {
        lines.push(plain(format!("Tool: {}", reveal_line(&approval.tool))));
    }
    if let Some(question) = &approval.question {
        lines.push(plain(cut(&reveal_line(question), 500)));
    }
    lines.extend(
        argument_lines(&approval.args)
            .into_iter()
            .take(8)
            .map(|line| code(cut(&line, 300))),
    );
    if let Some(decision) = &approval.decision {
        lines.push(plain(format!(
            "{} by {} ({}) at {}",
            capitalised(decision.decision.text().done),
            reveal_line(&decision.by),
            decision.surface,
            when(decision.at)
        )));
        if let Some(reason) = &decision.reason {
            lines.push(plain(format!("Reason: {}", cut(&reveal_line(reason), 800))));
        }
    }
    // The code of what waits now belongs to the card that shows it.
    if approval.state != ApprovalState::Pending {
        let code = reveal_line(&approval.short_code);
        lines.push(plain(format!("Code: {code}")));
    }
    lines
}

fn shortened(
    approval: &Approval,
    head: &[Line],
    body: &[Line],
    buttons: &[CardButton],
    limit: CardLimit,
) -> Card {
    let mut lines: Vec<Line> = head
        .iter()
        .take(MAX_FRAME_LINES)
        .map(|line| Line {
            text: cut(&line.text, MAX_FRAME_LINE),
            style: line.style,
        })
        .collect();
    let foot = vec![
        bold("✂ shortened here: full text in the console".to_owned()),
        plain(
            "Too long to be allowed from the chat: open the console to decide, or deny it here."
                .to_owned(),
        ),
        plain(deadline(approval)),
        plain(format!(
            "Code: {0}. /deny {0} reason",
            reveal_line(&approval.short_code)
        )),
    ];
    let mut left = limit
        .max
        .saturating_sub(limit.of(&lines) + limit.of(&foot) + 2);
    for line in body {
        let cost = limit.length(&line.text) + 1;
        if cost <= left {
            left -= cost;
            lines.push(line.clone());
            continue;
        }
        if left > 20 {
            lines.push(Line {
                text: limit.cut(&line.text, left - 1),
                style: line.style,
            });
        }
        break;
    }
    lines.extend(foot);
    Card {
        lines,
        buttons: buttons
            .iter()
            .filter(|button| is_refusal(&button.label))
            .cloned()
            .collect(),
        whole: false,
    }
}

/// Whether a button refuses. What is not recognised as a refusal counts as permission.
fn is_refusal(label: &str) -> bool {
    let words = label
        .trim_start_matches(|c: char| !c.is_alphanumeric())
        .to_lowercase();
    words.starts_with("deny")
}

fn head(approval: &Approval) -> Vec<Line> {
    let mut lines = vec![
        bold(title(approval)),
        plain(reveal_line(&sentence(approval)).into_owned()),
        bold(format!("Risk: {}", approval.risk)),
    ];
    for reason in &approval.risk_reasons {
        lines.push(plain(format!("• {}", reveal_line(reason))));
    }
    for source in &approval.taint {
        lines.push(plain(format!(
            "⚠ untrusted content in context: {}",
            reveal_line(source)
        )));
    }
    // Only the message itself: what others said before stays in its conversation.
    let asked = approval.messages.iter().rfind(|one| one.sender.is_some());
    if let Some(message) = asked {
        let sender = message.sender.as_deref().unwrap_or_default();
        let text = cut(&reveal_line(&message.text), MAX_MESSAGE);
        lines.push(plain(format!("{} wrote: {text}", reveal_line(sender))));
    }
    lines.push(plain(format!(
        "Asked by {} [{}] on {}, conversation {}",
        reveal_line(&approval.requester.display),
        reveal_line(&approval.requester.id),
        reveal_line(&approval.channel),
        reveal_line(&approval.conversation)
    )));
    lines.push(plain(format!(
        "Why it asks: {}",
        reveal_line(&approval.verdict.rule)
    )));
    if let Some(reason) = &approval.model_reason {
        lines.push(plain(format!("The model says: {}", reveal_line(reason))));
    }
    lines
}

fn body(approval: &Approval) -> Vec<Line> {
    let mut lines = Vec::new();
    if let Some(question) = &approval.question {
        lines.extend(reveal(question).lines().map(|line| plain(line.to_owned())));
    }
    if let Some(args) = arguments_left(approval) {
        lines.extend(argument_lines(&args).into_iter().map(code));
    }
    if let Some(cwd) = &approval.plan.cwd {
        lines.push(plain(format!("In: {}", reveal_line(cwd))));
    }
    if let Some(executable) = &approval.plan.executable {
        lines.push(plain(format!("Program file: {}", reveal_line(executable))));
    }
    for (label, value) in external_facts(approval) {
        lines.push(plain(format!("{label}: {}", reveal_line(&value))));
    }
    if let Some(binding) = approval.plan.binding() {
        lines.push(plain(format!("Bound files: {}", reveal_line(&binding))));
    }
    for (name, value) in &approval.plan.env {
        lines.push(plain(format!(
            "With {}={}",
            reveal_line(name),
            reveal_line(value)
        )));
    }
    if let Some(sandbox) = &approval.plan.sandbox {
        lines.push(plain(format!("Confined by: {}", reveal_line(sandbox))));
    }
    match &approval.preview {
        Preview::None => {}
        Preview::Exec { argv } => {
            let quoted = quoted_list(argv.iter().map(String::as_str));
            // Said already when it is what the arguments say.
            if !lines.iter().any(|line| line.text.ends_with(&quoted)) {
                lines.push(code(format!("program: {quoted}")));
            }
        }
        Preview::Diff { path, unified } => {
            lines.push(plain(format!("Change of {}:", reveal_line(path))));
            lines.extend(reveal(unified).lines().map(|line| code(line.to_owned())));
        }
        Preview::Text { text } => {
            lines.push(plain("Text:".to_owned()));
            lines.extend(reveal(text).lines().map(|line| code(line.to_owned())));
        }
    }
    lines
}

fn tail(approval: &Approval) -> Vec<Line> {
    let code = reveal_line(&approval.short_code);
    let commands = if approval.offered.contains(&DecisionKind::Approve) {
        format!("Code: {code}. /approve {code} or /deny {code} reason")
    } else if approval.kind == ApprovalKind::Question {
        format!("Code: {code}. /answer {code} your text or /deny {code} reason")
    } else {
        format!("Code: {code}")
    };
    let mut lines = waiting_for(approval);
    lines.extend([plain(deadline(approval)), plain(commands)]);
    lines
}

fn deadline(approval: &Approval) -> String {
    match approval.expires_at {
        Some(at) => format!("Answer until {}", when(at)),
        None => "No deadline".to_owned(),
    }
}

/// One argument a line, values as JSON, lists of text as quoted words.
fn argument_lines(args: &Value) -> Vec<String> {
    match args {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| format!("{}: {}", reveal_line(name), argument(value)))
            .collect(),
        Value::Null => Vec::new(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            vec![argument(args)]
        }
    }
}

fn argument(value: &Value) -> String {
    if let Value::Array(items) = value
        && !items.is_empty()
        && items.iter().all(Value::is_string)
    {
        return quoted_list(items.iter().filter_map(Value::as_str));
    }
    reveal_line(&value.to_string()).into_owned()
}

/// `"a" "b c"`: every element quoted, so that no element can look like two.
fn quoted_list<'a>(items: impl Iterator<Item = &'a str>) -> String {
    items
        .map(|item| reveal_line(&Value::from(item).to_string()).into_owned())
        .collect::<Vec<_>>()
        .join(" ")
}

fn title(approval: &Approval) -> String {
    let tool = reveal_line(&approval.tool);
    match approval.kind {
        ApprovalKind::Execute => format!("🔐 May `{tool}` run?"),
        ApprovalKind::ResolveUnknown => format!("❓ Did `{tool}` happen? It was cut off"),
        ApprovalKind::Resend => "❓ Was this reply delivered? It was cut off".to_owned(),
        ApprovalKind::Budget => "💰 A budget is used up: continue?".to_owned(),
        ApprovalKind::Question => match server_of(&approval.tool) {
            Some(server) => format!("💬 The tool server `{}` asks", reveal_line(server)),
            None => "💬 The agent asks".to_owned(),
        },
        ApprovalKind::Pairing => "👤 Somebody asks for access".to_owned(),
        ApprovalKind::Memory => "🧠 The agent wants to remember something".to_owned(),
        ApprovalKind::ServerPin => "🔌 May agents use what this tool server offers?".to_owned(),
        ApprovalKind::PolicyRaise => "⬆ The configuration raises a channel's autonomy".to_owned(),
    }
}

fn outcome_title(approval: &Approval) -> String {
    match approval.state {
        ApprovalState::Pending => match &approval.allowed_by {
            Some(first) => format!("☑ {}. It needs one more", reveal_line(&first.in_words())),
            None => "✎ Changed: a newer card replaces this one".to_owned(),
        },
        ApprovalState::Approved | ApprovalState::Consumed => format!(
            "✅ {}",
            approval.decision.as_ref().map_or_else(
                || "Allowed".to_owned(),
                |decision| capitalised(decision.decision.text().done)
            )
        ),
        ApprovalState::Denied => "⛔ Denied".to_owned(),
        ApprovalState::Expired => "⌛ Expired: nothing was run".to_owned(),
        ApprovalState::Revoked => "🚫 No longer needed".to_owned(),
    }
}

/// A time for people: `2026-11-21 22:31:05 UTC`.
fn when(at: Timestamp) -> String {
    let text = at.to_string();
    match text.split_once('T') {
        Some((date, time)) => format!(
            "{date} {} UTC",
            time.split(['.', 'Z']).next().unwrap_or(time)
        ),
        None => text,
    }
}

/// A part of at most `max` UTF-16 units, with a mark when something is missing.
fn cut(text: &str, max: usize) -> String {
    PARTS.cut(text, max)
}

fn plain(text: String) -> Line {
    Line {
        text,
        style: Style::Plain,
    }
}

fn bold(text: String) -> Line {
    Line {
        text,
        style: Style::Bold,
    }
}

fn code(text: String) -> Line {
    Line {
        text,
        style: Style::Code,
    }
}
