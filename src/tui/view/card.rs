//! The card of a queue item: everything a person needs to decide, every byte of it reachable.
//!
//! Id, tool and risk stand in fixed rows above what scrolls; the report says whether they fitted.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::protocol::approval::{Approval, Preview};
use crate::protocol::words::{ApprovalKind, ApprovalState, Risk};
use crate::tui::action::Action;
use crate::tui::format;
use crate::tui::keymap::context::Context;
use crate::tui::message::FrameReport;
use crate::tui::shown;
use crate::tui::state::app::State;
use crate::tui::state::arming::CardReport;
use crate::tui::state::decide;
use crate::tui::state::preview::quoted;
use crate::tui::state::queue::{self, ItemKey};
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::cache::ViewCache;
use crate::tui::view::card_body::Body;
use crate::tui::view::leftovers;
use crate::tui::view::paint::{self, span};
use crate::tui::view::queue::{HOST_COLUMNS, held, outcome};
use crate::tui::view::unknown;

/// What is said of a card that is not whole, and how; none = it is.
fn loading(state: &State, key: &ItemKey) -> Option<(Role, String)> {
    let ItemKey::Approval(id) = key else {
        return None;
    };
    let approval = state.world.approvals.get(id)?;
    if !approval.shortened {
        return None;
    }
    Some(match state.world.opened.problem(*id) {
        None => (
            Role::NoticeWarning,
            "loading… arguments and diff are shown from their beginning".to_owned(),
        ),
        Some(problem) => {
            let key = state.keymap.key_of(Context::Queue, Action::Refresh);
            let again = key.unwrap_or_else(|| ":refresh".to_owned());
            let text = format!("not loaded: {problem}; {again} tries again");
            (Role::NoticeError, text)
        }
    })
}

fn approval_body(
    state: &State,
    theme: &Theme,
    approval: &Approval,
    width: usize,
) -> Vec<Line<'static>> {
    let mut body = Body::new(theme, width);
    if let Some((role, text)) = loading(state, &ItemKey::Approval(approval.id)) {
        body.text(role, &text);
        body.blank();
    }
    if let Some(one) = &approval.assignment {
        let me = if state.world.duty.is_me(&one.to) {
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
    let risk_role = paint::risk_role(approval.risk);
    let effect = format!(
        "{} · {}",
        approval.access.as_str().replace('_', " "),
        approval.effect.as_str().replace('_', " ")
    );
    // Nothing would run.
    let about_a_person = approval.kind == ApprovalKind::Pairing;
    if !about_a_person {
        body.field("effect", Role::Text, &effect);
    }
    let reasons = if about_a_person {
        approval.verdict.rule.clone()
    } else if approval.risk_reasons.is_empty() {
        approval.risk.as_str().to_owned()
    } else {
        approval.risk_reasons.join("\n")
    };
    body.field("risk because", risk_role, &reasons);
    if let Some(question) = &approval.question {
        body.field("question", Role::TextStrong, question);
    }
    body.field(
        "channel",
        Role::Text,
        &format!("{} · {}", approval.channel, approval.conversation),
    );
    let requester = &approval.requester;
    let trust = requester.person.as_ref().map_or_else(
        || "not linked to a person".to_owned(),
        |p| format!("known as {p}"),
    );
    body.field(
        "asked by",
        Role::Text,
        &format!("{} · {} · {trust}", requester.display, requester.id),
    );
    if let Some(reason) = &approval.model_reason {
        body.field("model says", Role::Outside, reason);
        body.field(
            "",
            Role::TextMuted,
            "(the model's own words; nothing vouches for them)",
        );
    }
    match &approval.preview {
        Preview::None => {}
        Preview::Diff { path, unified } => {
            body.heading("Diff");
            body.text(Role::TextStrong, path);
            body.diff(unified);
        }
        Preview::Exec { argv } => {
            body.heading("Command");
            for (index, argument) in argv.iter().enumerate() {
                body.field(&format!("[{index}]"), Role::TextStrong, &quoted(argument));
            }
        }
        // Shown whole, with everything else that is known of it.
        Preview::Text { .. } if approval.unknown.is_some() => {}
        Preview::Text { text } => {
            body.heading("Text that would be sent");
            body.text(Role::Outside, text);
        }
    }
    unknown::draw(state, approval, &mut body);
    if let Some((heading, args)) = arguments_left(approval) {
        body.heading(heading);
        let pretty = serde_json::to_string_pretty(&args).unwrap_or_else(|_| args.to_string());
        body.text(Role::Outside, &pretty);
    }
    body.heading("Where and why");
    let plan = &approval.plan;
    for (label, value) in [
        ("directory", &plan.cwd),
        ("program", &plan.executable),
        ("sandbox", &plan.sandbox),
    ] {
        if let Some(value) = value {
            body.field(label, Role::Text, value);
        }
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
    if !about_a_person {
        let (role, context) = if approval.taint.is_empty() {
            (Role::Text, "nothing untrusted".to_owned())
        } else {
            (Role::NoticeWarning, approval.taint.join("\n"))
        };
        body.field("in context", role, &context);
        body.field(
            "asks because",
            Role::Text,
            &format!(
                "{} (policy version {})",
                approval.verdict.rule, approval.verdict.policy_version
            ),
        );
    }
    if approval.similar.is_empty() {
        if !approval.tool.is_empty() {
            body.field(
                "before",
                Role::TextMuted,
                "first call of this tool on this channel",
            );
        }
    } else {
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
    }
    if !about_a_person {
        body.field("cost", Role::Text, &cost(state, approval));
    }
    body.field(
        "who else",
        Role::Text,
        if approval.notified {
            "also asked in the chat; the first answer counts"
        } else {
            "nobody was told outside the console"
        },
    );
    body.field("digest", Role::TextMuted, &approval.digest);
    if let Some(decision) = &approval.decision {
        body.heading("Decision");
        body.text(
            Role::TextStrong,
            &format!(
                "{} by {} ({}) at {}",
                decision.decision,
                decision.by,
                decision.surface,
                format::clock(decision.at)
            ),
        );
        if let Some(reason) = &decision.reason {
            body.field("reason", Role::Outside, reason);
        }
    }
    body.lines
}

/// The arguments that the preview has not shown already, element by element, and their heading.
fn arguments_left(approval: &Approval) -> Option<(&'static str, serde_json::Value)> {
    let mut args = approval.args.clone();
    let mut heading = "Arguments";
    if let (Preview::Exec { argv }, Some(map)) = (&approval.preview, args.as_object_mut()) {
        let shown = map
            .get("argv")
            .and_then(serde_json::Value::as_array)
            .is_some_and(|given| given.iter().eq(argv.iter()));
        if shown {
            map.remove("argv");
            if map.is_empty() {
                return None;
            }
            heading = "Other arguments";
        }
    }
    (!args.is_null()).then_some((heading, args))
}

fn cost(state: &State, approval: &Approval) -> String {
    let session = approval
        .session_id
        .and_then(|id| state.world.sessions.get(&id));
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
    let engine = state.world.engine.as_ref();
    match engine.and_then(|e| e.budget_today_usd.zip(e.usage_today.cost_usd)) {
        Some((budget, spent)) => format!(
            "{so_far}; {} of today's budget left",
            format::money(Some((budget - spent).max(0.0)))
        ),
        None => format!("{so_far}; no daily budget"),
    }
}

fn other_body(state: &State, theme: &Theme, key: &ItemKey, width: usize) -> Vec<Line<'static>> {
    let mut body = Body::new(theme, width);
    match key {
        ItemKey::Approval(_) | ItemKey::Elsewhere(..) => {}
        ItemKey::Continuation(id) => {
            if let Some(continuation) = state.world.continuations.get(id) {
                body.field(
                    "channel",
                    Role::Text,
                    &format!("{} · {}", continuation.channel, continuation.conversation),
                );
                body.field(
                    "asked by",
                    Role::Text,
                    &format!(
                        "{} · {}",
                        continuation.requester.display, continuation.requester.id
                    ),
                );
                body.field("message", Role::Outside, &continuation.request.text);
                if let Some(error) = &continuation.error {
                    body.field("why", Role::NoticeWarning, &error.message);
                }
                body.field(
                    "done so far",
                    Role::Text,
                    &format!(
                        "{} steps, {} tool calls, taken up {} times",
                        continuation.steps,
                        continuation.tool_calls.len(),
                        continuation.attempt
                    ),
                );
                for call in &continuation.tool_calls {
                    body.field(
                        "tool",
                        Role::Text,
                        &format!("{} · {}", call.name, call.state),
                    );
                }
                body.blank();
                body.text(Role::TextMuted, "Resume goes on from the last durable step. Kill ends the turn without an answer.");
            }
        }
        ItemKey::Delivery(id) => {
            if let Some(delivery) = state.world.deliveries.get(id) {
                body.field(
                    "channel",
                    Role::Text,
                    &format!("{} · {}", delivery.channel, delivery.conversation),
                );
                body.field(
                    "part",
                    Role::Text,
                    &format!(
                        "{} of {} · {}",
                        delivery.part, delivery.parts, delivery.class
                    ),
                );
                body.field("tried", Role::Text, &format!("{} times", delivery.attempts));
                if let Some(error) = &delivery.last_error {
                    body.field("last error", Role::NoticeWarning, error);
                }
                body.heading("Text");
                body.text(Role::Outside, &delivery.preview);
            }
        }
        ItemKey::Leftovers(id) => {
            if let Some(one) = state.world.leftovers.get(id) {
                leftovers::body(&mut body, one);
            }
        }
        ItemKey::Channel(name) => {
            if let Some(channel) = state.world.channels.get(name) {
                body.field("kind", Role::Text, channel.kind.as_str());
                body.field(
                    "what is wrong",
                    Role::NoticeError,
                    channel.health.detail.as_deref().unwrap_or("no detail"),
                );
                let seen = |at: Option<crate::clock::Timestamp>| {
                    at.map_or_else(
                        || "never".to_owned(),
                        |at| format!("{} ago", format::age(state.now.wall, at)),
                    )
                };
                body.field(
                    "last exchange",
                    Role::Text,
                    &seen(channel.health.last_exchange_at),
                );
                body.field(
                    "waiting",
                    Role::Text,
                    &format!("{} parts to send", channel.backlog),
                );
            }
        }
        ItemKey::Problem(text) => {
            body.text(Role::NoticeError, text);
            body.blank();
            body.text(
                Role::TextMuted,
                "It goes away when its cause does; the log file has the details.",
            );
        }
    }
    body.lines
}

/// Draws the card of the selected item and reports what of it was visible.
pub fn draw(
    state: &State,
    theme: &Theme,
    cache: &mut ViewCache,
    area: Rect,
    buf: &mut Buffer,
    report: &mut FrameReport,
    focused: bool,
) {
    let Some(key) = &state.queue.selected else {
        return;
    };
    let Some(subject) = queue::subject(&state.world, key) else {
        return;
    };
    let (mut title, id, risk) = identity(state, key);
    if state.hosts.several() {
        // Part of what must be visible before anything can be decided.
        let host = state.hosts.name(state.hosts.focused());
        title = format!("{title} on {}", shown::line(host, HOST_COLUMNS));
    }
    let inner = paint::padded(paint::panel(buf, area, theme, &title, focused));
    if inner.is_empty() {
        return;
    }
    let width = usize::from(inner.width);
    let mut identity_fits = shown::width(&title) + 4 <= usize::from(area.width);
    // Row 1: risk word and time left. Row 2: id, code, revision.
    let mut first = vec![
        span(theme, risk.0, format!(" {} ", risk.1.to_uppercase())),
        Span::raw("  "),
    ];
    let status = status(state, key);
    let room = width.saturating_sub(shown::width(&risk.1) + 4);
    first.push(span(theme, status.0, shown::line(&status.1, room)));
    paint::line(buf, inner, 0, &Line::from(first));
    identity_fits &= shown::width(&risk.1) + 2 <= width;
    let id_line = shown::line(&id, width);
    identity_fits &= id
        .split(' ')
        .next()
        .is_some_and(|id| shown::width(id) <= width)
        && inner.height >= 4;
    paint::line(
        buf,
        inner,
        1,
        &Line::from(span(theme, Role::TextMuted, id_line)),
    );

    let confirm = state.high.as_ref().filter(|high| high.subject == subject);
    // Reserved from the start: the first press must not change what has been read.
    let confirm_rows = u16::from(asks_twice(state, key));
    let body_area = Rect {
        y: inner.y + 2.min(inner.height),
        height: inner.height.saturating_sub(3 + confirm_rows),
        ..inner
    };
    let body_area = Rect {
        y: body_area.y + u16::from(body_area.height > 0),
        ..body_area
    };
    let lines = lines(state, theme, cache, key, width, &subject.digest);
    let height = usize::from(body_area.height);
    let max_scroll = lines.len().saturating_sub(height);
    let from = state.queue.card_scroll.min(max_scroll);
    for (offset, line) in lines.iter().skip(from).take(height).enumerate() {
        paint::line(
            buf,
            body_area,
            u16::try_from(offset).unwrap_or(u16::MAX),
            line,
        );
    }
    let end = (from + height).min(lines.len());
    if lines.len() > height {
        let note = if end < lines.len() {
            format!("{} more lines below, pgdn", lines.len() - end)
        } else {
            "end".to_owned()
        };
        let role = if end < lines.len() {
            Role::NoticeWarning
        } else {
            Role::TextMuted
        };
        paint::panel_note(buf, area, theme, role, &note);
    }
    if let Some(high) = confirm {
        let ready = state.now.steady.since(high.since) >= crate::tui::state::arming::CONFIRM_MS;
        let at = inner.height.saturating_sub(1);
        let verb = crate::tui::state::submit::decision_done(high.decision);
        let text = if ready {
            format!("HIGH RISK: press the same key once more and it is {verb}; esc cancels")
        } else {
            "HIGH RISK: read once more …".to_owned()
        };
        paint::line(
            buf,
            inner,
            at,
            &Line::from(span(theme, Role::RiskHigh, shown::line(&text, width))),
        );
    }
    report.card_max_scroll = max_scroll;
    report.card = Some(CardReport {
        subject,
        width: body_area.width,
        lines: lines.len(),
        first: from,
        end,
        identity: identity_fits && (height > 0 || lines.is_empty()),
        whole: loading(state, key).is_none(),
    });
}

/// The lines of a card's body: everything that is shown of an item below its id, its risk and its deadline.
pub fn lines(
    state: &State,
    theme: &Theme,
    cache: &mut ViewCache,
    key: &ItemKey,
    width: usize,
    digest: &str,
) -> crate::tui::view::cache::Lines {
    match key {
        ItemKey::Approval(id) => {
            let Some(approval) = state.world.approvals.get(id) else {
                return std::sync::Arc::new(Vec::new());
            };
            let cost = cost(state, approval);
            let cache_key = format!(
                "{id} {} {digest} {} {width} {cost} {} {} {} {} {:?} {:?} {:?}",
                approval.revision,
                approval.state,
                approval.similar.len(),
                approval.notified,
                approval.question.as_ref().map_or(0, String::len),
                unknown::version(state, approval),
                approval.assignment,
                state.world.duty.you,
                loading(state, key).map(|(_, text)| text)
            );
            cache.card(cache_key, || approval_body(state, theme, approval, width))
        }
        ItemKey::Continuation(_)
        | ItemKey::Delivery(_)
        | ItemKey::Leftovers(_)
        | ItemKey::Channel(_)
        | ItemKey::Problem(_)
        | ItemKey::Elsewhere(..) => std::sync::Arc::new(other_body(state, theme, key, width)),
    }
}

/// Title, id line and risk of an item.
pub fn identity(state: &State, key: &ItemKey) -> (String, String, (Role, String)) {
    match key {
        ItemKey::Approval(id) => state.world.approvals.get(id).map_or_else(
            || (String::new(), String::new(), (Role::Text, String::new())),
            |approval| {
                let title = if approval.kind == crate::protocol::words::ApprovalKind::Execute {
                    decide::title(approval)
                } else {
                    format!("{} {}", approval.kind, approval.tool)
                        .trim()
                        .to_owned()
                };
                (
                    title,
                    // The code is what `/approve` in a chat takes, and what a critical decision asks for.
                    format!(
                        "{id} · code {} · revision {}",
                        approval.short_code, approval.revision
                    ),
                    (
                        paint::risk_role(approval.risk),
                        approval.risk.as_str().to_owned(),
                    ),
                )
            },
        ),
        ItemKey::Continuation(id) => (
            "interrupted turn".to_owned(),
            id.to_string(),
            (Role::StateWaiting, "interrupted".to_owned()),
        ),
        ItemKey::Delivery(id) => {
            let word = state
                .world
                .deliveries
                .get(id)
                .map_or("settled", |d| d.state.as_str());
            (
                format!("{word} delivery"),
                id.to_string(),
                (Role::StateBad, word.to_owned()),
            )
        }
        ItemKey::Leftovers(id) => (
            "left by a run".to_owned(),
            id.to_string(),
            (Role::StateBad, "look at it".to_owned()),
        ),
        ItemKey::Channel(name) => (
            format!("channel {name}"),
            name.clone(),
            (Role::StateBad, "failed".to_owned()),
        ),
        ItemKey::Problem(_) => (
            "engine problem".to_owned(),
            "engine".to_owned(),
            (Role::StateBad, "problem".to_owned()),
        ),
        ItemKey::Elsewhere(..) => (String::new(), String::new(), (Role::Text, String::new())),
    }
}

/// Time left and what happens then, or how it ended.
pub fn status(state: &State, key: &ItemKey) -> (Role, String) {
    let now = state.now.wall;
    match key {
        ItemKey::Approval(id) => match state.world.approvals.get(id) {
            None => (Role::TextMuted, String::new()),
            Some(approval) if approval.state != ApprovalState::Pending => {
                match state.starts_in(approval) {
                    Some(left) => (Role::NoticeWarning, held(state, left)),
                    None => outcome(approval),
                }
            }
            Some(_) if state.deciding.contains(id) => {
                (Role::NoticeInfo, "sending the decision".to_owned())
            }
            Some(approval) => match (approval.expires_at, state.queue.snoozed_until(key)) {
                (Some(at), Some(until)) => (
                    Role::TextMuted,
                    format!(
                        "put off until {}; {} left",
                        format::clock(until),
                        format::left(now, at)
                    ),
                ),
                (None, Some(until)) => (
                    Role::TextMuted,
                    format!("put off until {}", format::clock(until)),
                ),
                (Some(at), None) => (
                    Role::Text,
                    format!(
                        "{} left, then {}",
                        format::left(now, at),
                        if approval.kind == ApprovalKind::Pairing {
                            "the code is over"
                        } else {
                            "it expires and the turn ends"
                        }
                    ),
                ),
                (None, None) => (Role::Text, "no deadline".to_owned()),
            },
        },
        ItemKey::Continuation(_)
        | ItemKey::Delivery(_)
        | ItemKey::Leftovers(_)
        | ItemKey::Channel(_)
        | ItemKey::Problem(_)
        | ItemKey::Elsewhere(..) => {
            let since = queue::since(&state.world, key)
                .map_or_else(String::new, |at| format!("for {}", format::age(now, at)));
            if queue::is_open(&state.world, key) {
                (Role::Text, since)
            } else {
                (Role::TextMuted, "settled".to_owned())
            }
        }
    }
}

/// Whether letting it happen takes two presses.
fn asks_twice(state: &State, key: &ItemKey) -> bool {
    match key {
        ItemKey::Approval(id) => state
            .world
            .approvals
            .get(id)
            .is_some_and(|a| a.risk == Risk::High && a.state == ApprovalState::Pending),
        ItemKey::Continuation(_)
        | ItemKey::Delivery(_)
        | ItemKey::Leftovers(_)
        | ItemKey::Channel(_)
        | ItemKey::Problem(_)
        | ItemKey::Elsewhere(..) => false,
    }
}
