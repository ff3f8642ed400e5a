//! The card of an approval: what would happen, why it is risky, what led to it, and everything a person must read
//! before it can happen. Nothing that a decision depends on is folded.

use ratatui::text::Line;

use crate::client::approval_lines::{arguments_left, external_facts, sentence};
use crate::console::decision::{approvers as approvers_of, two_people};
use crate::console::format;
use crate::console::item::{self, ItemKey};
use crate::console::preview::quoted;
use crate::console::world::World;
use crate::protocol::approval::{Approval, Preview};
use crate::protocol::decision::effect_text;
use crate::protocol::enums::{Access, ApprovalKind, ApprovalState};
use crate::protocol::rule::PYTHON;
use crate::tui::action::Action;
use crate::tui::code_colors::CodeColors;
use crate::tui::links::{self, Link, LinkScope};
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::card_body::Body;
use crate::tui::view::console::{Console, decided_by, result_words};
use crate::tui::view::diff::DiffLayout;
use crate::tui::view::{paint, rehearsal, unknown};

/// How a card is laid out, and how much it shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CardLayout {
    /// Columns.
    pub width: usize,
    pub detail: CardDetail,
    /// How it shows a change of a file.
    pub diff: DiffLayout,
}

/// How much a card shows beside what would happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CardDetail {
    /// Everything that somebody must have read before it can happen.
    Folded,
    /// All that is known.
    Whole,
    /// The same, and the arguments as the model wrote them.
    Raw,
}

/// Most lines of a message that led to a call.
const MESSAGE_LINES: usize = 2;
/// Lines of a running call's output that its card shows: the last ones.
const OUTPUT_LINES: usize = 8;

/// What is said of a card that is not whole, and how; none = it is.
pub fn loading(console: Console<'_>, key: &ItemKey) -> Option<(Role, String)> {
    let ItemKey::Approval(id) = key else {
        return None;
    };
    let approval = console.model.world().approvals.get(id)?;
    if !approval.shortened {
        return None;
    }
    Some(match console.model.world().opened.problem(*id) {
        None => (
            Role::NoticeWarning,
            "loading… arguments and diff are shown from their beginning".to_owned(),
        ),
        Some(problem) => {
            let key = console.key_of(Action::Refresh);
            let again = key.unwrap_or_else(|| ":refresh".to_owned());
            let text = format!("not loaded: {problem}; {again} tries again");
            (Role::NoticeError, text)
        }
    })
}

/// Who is asked outside the console, and how often the bot reminded them.
pub fn who_else(approval: &Approval) -> String {
    match (approval.notified, approval.reminders) {
        (false, _) => "nobody was notified outside the console".to_owned(),
        (true, 0) => "also asked in the chat; the first answer counts".to_owned(),
        (true, count) => {
            let times = if count == 1 {
                "once".to_owned()
            } else {
                format!("{count} times")
            };
            format!("also asked in the chat, reminded {times}; the first answer counts")
        }
    }
}

/// The last lines that a running call has written.
pub fn output<'w>(world: &'w World, approval: &Approval) -> Option<&'w str> {
    let text = world.tool_output.get(&approval.tool_call_id?)?;
    let text = text.trim_end();
    let start = text.rmatch_indices('\n').nth(OUTPUT_LINES - 1);
    start.map_or(Some(text), |(at, _)| text.get(at + 1..))
}

/// Who decided, where and when, and what has come of the call.
fn what_came(console: Console<'_>, approval: &Approval, body: &mut Body<'_>) {
    let Some(decision) = &approval.decision else {
        return;
    };
    let world = console.model.world();
    body.field("decision", Role::TextStrong, &decided_by(decision));
    if let Some(reason) = &decision.reason {
        body.field("reason", Role::Outside, reason);
    }
    if let Some(result) = world.result(approval) {
        let (role, words) = result_words(result);
        body.field("result", role, &words);
        let preview = result.preview.trim_end();
        if !preview.is_empty() {
            body.field("", Role::Outside, preview);
        }
    }
    if let Some(output) = output(world, approval) {
        body.field("output", Role::Outside, output);
    }
    body.blank();
}

/// The lines of the card of an approval, below its id, its risk and its deadline.
pub fn body(
    console: Console<'_>,
    theme: &Theme,
    code: &CodeColors,
    approval: &Approval,
    layout: CardLayout,
) -> Vec<Line<'static>> {
    let mut body = Body::new(theme, layout.width);
    if let Some((role, text)) = loading(console, &ItemKey::Approval(approval.id)) {
        body.text(role, &text);
        body.blank();
    }
    what_came(console, approval, &mut body);
    // Nothing would run.
    let about_a_person = approval.kind == ApprovalKind::Pairing;
    let sentence = sentence(approval);
    body.text(Role::TextStrong, &sentence);
    let reasons = if about_a_person {
        approval.verdict.rule.clone()
    } else if approval.risk_reasons.is_empty() {
        approval.risk.as_str().to_owned()
    } else {
        body.on_one_line(&approval.risk_reasons)
    };
    body.field("risk because", paint::risk_role(approval.risk), &reasons);
    let alike = item::stack(console.model.world(), approval).len();
    if alike > 1 {
        body.field(
            "alike calls",
            Role::NoticeWarning,
            &format!("{alike} wait in this session; a decision lists all of them first"),
        );
    }
    approvers(console, approval, &mut body);
    if let Some(text) = two_people(console.model.world(), approval) {
        body.field("two people", Role::TextStrong, &text);
    }
    assignment(console, approval, &mut body);
    escalation(console, approval, &mut body);
    if let Some(question) = &approval.question {
        body.field("question", Role::TextStrong, question);
    }
    if !approval.messages.is_empty() {
        body.rule("What led here");
        for message in &approval.messages {
            let sender = message.sender.as_deref().unwrap_or("the bot");
            body.excerpt(sender, Role::Outside, &message.text, MESSAGE_LINES);
        }
    }
    match &approval.preview {
        Preview::None => {}
        Preview::Diff { path, unified } => {
            body.rule("Diff");
            // The sentence of such a call names it.
            if approval.kind != ApprovalKind::Execute {
                body.text(Role::TextStrong, path);
            }
            body.diff(code, path, hunks(path, unified), layout.diff);
        }
        Preview::Exec { argv } => {
            body.rule("Command");
            for (index, argument) in argv.iter().enumerate() {
                body.field(&format!("[{index}]"), Role::TextStrong, &quoted(argument));
            }
        }
        // Shown whole, with everything else that is known of it.
        Preview::Text { .. } if approval.unknown.is_some() => {}
        Preview::Text { text } if approval.tool == PYTHON => {
            body.rule("Python");
            body.code(code, "python", text);
        }
        Preview::Text { text } => {
            body.rule(if approval.access == Access::Exec {
                "Text that would run"
            } else {
                "Text that would be sent"
            });
            body.text(Role::Outside, text);
        }
    }
    let diffs = (layout.detail != CardDetail::Folded).then_some((code, layout.diff));
    rehearsal::draw(console, approval, diffs, &mut body);
    unknown::draw(console, approval, &mut body);
    if let Some(args) = arguments_left(approval) {
        let heading = match approval.preview {
            Preview::None => "Arguments",
            Preview::Diff { .. } | Preview::Exec { .. } | Preview::Text { .. } => "Other arguments",
        };
        body.rule(heading);
        pretty(&args, &mut body);
    }
    where_and_why(approval, &sentence, &mut body);
    match layout.detail {
        CardDetail::Folded => {}
        CardDetail::Whole => folded(console, approval, &mut body),
        CardDetail::Raw => {
            folded(console, approval, &mut body);
            if !approval.args.is_null() {
                body.rule("Arguments as the model wrote them");
                pretty(&approval.args, &mut body);
            }
        }
    }
    body.lines
}

/// What the card of an approval may link to.
pub fn links(console: Console<'_>, scope: LinkScope, approval: &Approval) -> Vec<Link> {
    let json = serde_json::to_string(approval).unwrap_or_default();
    let mut links = links::web_links(&json);
    let workspace = console.workspace(scope, &approval.channel);
    if let Some(workspace) = workspace {
        let paths = approval.plan.path.iter().chain(&approval.plan.paths);
        links.extend(paths.filter_map(|path| links::file_link(workspace, path)));
    }
    links
}

/// A diff without the lines that only name its file.
fn hunks<'d>(path: &str, unified: &'d str) -> &'d str {
    let named = |from: &str| unified.strip_prefix(&format!("--- {from}\n+++ b/{path}\n"));
    let hunks = named(&format!("a/{path}")).or_else(|| named("/dev/null"));
    hunks.unwrap_or(unified)
}

fn pretty(args: &serde_json::Value, body: &mut Body<'_>) {
    let text = serde_json::to_string_pretty(args).unwrap_or_else(|_| args.to_string());
    body.text(Role::Outside, &text);
}

/// Who alone decides it.
fn approvers(console: Console<'_>, approval: &Approval, body: &mut Body<'_>) {
    let Some((named, me)) = approvers_of(console.model.world(), approval) else {
        return;
    };
    let (role, rest) = if me {
        (Role::Text, "")
    } else {
        (Role::NoticeWarning, "; you can read it")
    };
    let text = format!("decided by {} and nobody else{rest}", named.join(" or "));
    body.field("approvers", role, &text);
}

/// Whom it waits for in particular.
fn assignment(console: Console<'_>, approval: &Approval, body: &mut Body<'_>) {
    let Some(one) = &approval.assignment else {
        return;
    };
    let me = if console.model.world().on_call_status.is_me(&one.to) {
        " (you)"
    } else {
        ""
    };
    body.field(
        "waiting for",
        Role::NoticeWarning,
        &format!(
            "{}{me}, assigned by {} at {}",
            one.to,
            one.by,
            format::clock(one.at)
        ),
    );
    if let Some(note) = &one.note {
        body.field("note", Role::Outside, note);
    }
}

/// Who hears of it next because nobody decides, and who heard of it.
fn escalation(console: Console<'_>, approval: &Approval, body: &mut Body<'_>) {
    let waits = approval.state == ApprovalState::Pending;
    let Some(escalation) = approval.escalation.as_ref().filter(|_| waits) else {
        return;
    };
    if let Some(next) = escalation.next_in_words(console.model.now.wall) {
        body.field("next", Role::Text, &next);
    }
    for step in &escalation.steps {
        let role = if step.outcome.reached_nobody() {
            Role::NoticeWarning
        } else {
            Role::Text
        };
        let text = format!("{} at {}", step.in_words(), format::clock(step.at));
        body.field("escalated", role, &text);
    }
}

/// Who asks, why, and where it would run: all that somebody must have read before it can run.
fn where_and_why(approval: &Approval, sentence: &str, body: &mut Body<'_>) {
    body.rule("Where and why");
    if let Some(reason) = &approval.model_reason {
        body.field("model says", Role::Outside, reason);
    }
    let requester = &approval.requester;
    let trust = requester.person.as_ref().map_or_else(
        || "not linked to a person".to_owned(),
        |p| format!("known as {p}"),
    );
    body.field(
        "asked by",
        Role::Text,
        &format!(
            "{} · {} · {trust}, on {} · {}",
            requester.display, requester.id, approval.channel, approval.conversation
        ),
    );
    let plan = &approval.plan;
    let is_said = |cwd: &&String| sentence.ends_with(&format!(" in {cwd}."));
    for (label, value) in [
        ("directory", plan.cwd.as_ref().filter(|cwd| !is_said(cwd))),
        ("program", plan.executable.as_ref()),
        ("sandbox", plan.sandbox.as_ref()),
    ] {
        if let Some(value) = value {
            body.field(label, Role::Text, value);
        }
    }
    for (label, value) in external_facts(approval) {
        body.field(label, Role::Text, &value);
    }
    if let Some(binding) = plan.binding() {
        body.field("bound files", Role::Text, &binding);
    }
    for (name, value) in &plan.env {
        body.field(
            "environment",
            Role::Text,
            &format!("{name}={}", quoted(value)),
        );
    }
    if approval.kind != ApprovalKind::Pairing {
        if !approval.taint.is_empty() {
            body.field("untrusted", Role::NoticeWarning, &approval.taint.join("\n"));
        }
        body.field(
            "asks because",
            Role::Text,
            &format!(
                "{} (policy version {})",
                approval.verdict.rule, approval.verdict.policy_version
            ),
        );
    }
}

/// What is known beside: nothing of it changes what would happen.
fn folded(console: Console<'_>, approval: &Approval, body: &mut Body<'_>) {
    if !matches!(
        approval.kind,
        ApprovalKind::Pairing | ApprovalKind::Question
    ) {
        let effect = effect_text(approval.access, approval.effect);
        body.field("effect", Role::Text, &effect);
        if approval.taint.is_empty() {
            body.field("in context", Role::Text, "nothing untrusted");
        }
    }
    if approval.similar.is_empty() && !approval.tool.is_empty() {
        body.field(
            "before",
            Role::TextMuted,
            "first call of this tool on this channel",
        );
    }
    for (index, call) in approval.similar.iter().enumerate() {
        let what = match (&call.decision, &call.by) {
            (Some(decision), Some(by)) => format!("{decision} by {by}"),
            (Some(decision), None) => decision.to_string(),
            (None, _) => call.verdict.to_string(),
        };
        body.field(
            if index == 0 { "before" } else { "" },
            Role::Text,
            &format!("{what} · {} · {}", format::clock(call.at), call.preview),
        );
    }
    if approval.kind != ApprovalKind::Pairing {
        body.field("cost", Role::Text, &cost(console, approval));
    }
    body.field("who else", Role::Text, &who_else(approval));
    body.field("digest", Role::TextMuted, &approval.digest);
}

/// What its session cost so far, and what is left of the budget.
pub fn cost(console: Console<'_>, approval: &Approval) -> String {
    let session = approval
        .session_id
        .and_then(|id| console.model.world().sessions.get(&id));
    let so_far = session.map_or_else(
        || "session unknown".to_owned(),
        |s| {
            format!(
                "{} this session, {} tokens",
                format::money(s.usage.cost_usd),
                format::count(s.usage.input_tokens + s.usage.output_tokens)
            )
        },
    );
    let engine = console.model.world().engine.as_ref();
    match engine.and_then(|e| e.budget_today_usd.zip(e.usage_today.cost_usd)) {
        Some((budget, spent)) => format!(
            "{so_far}; {} of today's budget left",
            format::money(Some((budget - spent).max(0.0)))
        ),
        None => format!("{so_far}; no daily budget"),
    }
}
