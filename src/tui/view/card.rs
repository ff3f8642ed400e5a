//! The card of a queue item: everything a person needs to decide, every byte of it reachable.
//!
//! Id, tool and risk stand in fixed rows above what scrolls; the report says whether they fitted.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::console::arming::CardReport;
use crate::console::decision;
use crate::console::format;
use crate::console::item;
use crate::console::item::ItemKey;
use crate::console::preview::quoted;
use crate::console::queue;
use crate::console::world::World;
use crate::protocol::approval::{Approval, Preview};
use crate::protocol::decision::effect_text;
use crate::protocol::words::{ApprovalKind, ApprovalState, Risk};
use crate::tui::action::Action;
use crate::tui::message::FrameReport;
use crate::tui::sanitize;
use crate::tui::state::app::State;
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::cache::ViewCache;
use crate::tui::view::card_body::Body;
use crate::tui::view::card_items;
use crate::tui::view::console::{
    Console, HOST_COLUMNS, decided_by, held, outcome_and_result, result_words,
};
use crate::tui::view::paint::{self, span};
use crate::tui::view::unknown;

/// Lines of a running call's output that its card shows: the last ones.
const OUTPUT_LINES: usize = 8;

/// What is said of a card that is not whole, and how; none = it is.
fn loading(console: Console<'_>, key: &ItemKey) -> Option<(Role, String)> {
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
fn who_else(approval: &Approval) -> String {
    match (approval.notified, approval.reminders) {
        (false, _) => "nobody was told outside the console".to_owned(),
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
fn output<'w>(world: &'w World, approval: &Approval) -> Option<&'w str> {
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

fn approval_body(
    console: Console<'_>,
    theme: &Theme,
    approval: &Approval,
    width: usize,
) -> Vec<Line<'static>> {
    let mut body = Body::new(theme, width);
    if let Some((role, text)) = loading(console, &ItemKey::Approval(approval.id)) {
        body.text(role, &text);
        body.blank();
    }
    what_came(console, approval, &mut body);
    if let Some(one) = &approval.assignment {
        let me = if console.model.world().duty.is_me(&one.to) {
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
    let equal = item::stack(console.model.world(), approval).len();
    if equal > 1 {
        body.field(
            "equal calls",
            Role::NoticeWarning,
            &format!("{equal} wait in this session; a decision is about all of them"),
        );
    }
    let risk_role = paint::risk_role(approval.risk);
    let effect = effect_text(approval.access, approval.effect);
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
    unknown::draw(console, approval, &mut body);
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
        body.field("cost", Role::Text, &cost(console, approval));
    }
    body.field("who else", Role::Text, &who_else(approval));
    body.field("digest", Role::TextMuted, &approval.digest);
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

fn cost(console: Console<'_>, approval: &Approval) -> String {
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
    let console = Console::of(state);
    let Some(key) = console.model.selected() else {
        return;
    };
    let subject = queue::subject(&console.model.hosts, &console.model.key(key.clone()));
    let Some(subject) = subject else {
        return;
    };
    let (mut title, id, risk) = identity(console, key);
    if console.model.hosts.several() {
        // Part of what must be visible before anything can be decided.
        let host = console.model.hosts.name(console.model.hosts.focused());
        title = format!("{title} on {}", sanitize::line(host, HOST_COLUMNS));
    }
    let inner = paint::padded(paint::panel(buf, area, theme, &title, focused));
    if inner.is_empty() {
        return;
    }
    let width = usize::from(inner.width);
    let mut identity_fits = sanitize::width(&title) + 4 <= usize::from(area.width);
    // Row 1: risk word and time left. Row 2: id, code, revision.
    let mut first = vec![
        span(theme, risk.0, format!(" {} ", risk.1.to_uppercase())),
        Span::raw("  "),
    ];
    let status = status(console, key);
    let room = width.saturating_sub(sanitize::width(&risk.1) + 4);
    first.push(span(theme, status.0, sanitize::line(&status.1, room)));
    paint::line(buf, inner, 0, &Line::from(first));
    identity_fits &= sanitize::width(&risk.1) + 2 <= width;
    let id_line = sanitize::line(&id, width);
    identity_fits &= id
        .split(' ')
        .next()
        .is_some_and(|id| sanitize::width(id) <= width)
        && inner.height >= 4;
    paint::line(
        buf,
        inner,
        1,
        &Line::from(span(theme, Role::TextMuted, id_line)),
    );

    let confirm = state.high.as_ref().filter(|high| high.subject == subject);
    // Reserved from the start: the first press must not change what has been read.
    let confirm_rows = u16::from(asks_twice(console, key));
    let body_area = Rect {
        y: inner.y + 2.min(inner.height),
        height: inner.height.saturating_sub(3 + confirm_rows),
        ..inner
    };
    let body_area = Rect {
        y: body_area.y + u16::from(body_area.height > 0),
        ..body_area
    };
    let lines = lines(console, theme, cache, key, width, &subject.digest);
    let height = usize::from(body_area.height);
    let max_scroll = lines.len().saturating_sub(height);
    let from = console.model.queue.card_scroll.min(max_scroll);
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
        let ready =
            console.model.now.steady.since(high.since) >= crate::console::arming::CONFIRM_MS;
        let at = inner.height.saturating_sub(1);
        let verb = high.decision.text().done;
        let text = if ready {
            format!("HIGH RISK: press the same key once more and it is {verb}; esc cancels")
        } else {
            "HIGH RISK: read once more …".to_owned()
        };
        paint::line(
            buf,
            inner,
            at,
            &Line::from(span(theme, Role::RiskHigh, sanitize::line(&text, width))),
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
        whole: loading(console, key).is_none(),
    });
}

/// The lines of a card's body: everything that is shown of an item below its id, its risk and its deadline.
pub fn lines(
    console: Console<'_>,
    theme: &Theme,
    cache: &mut ViewCache,
    key: &ItemKey,
    width: usize,
    digest: &str,
) -> crate::tui::view::cache::Lines {
    match key {
        ItemKey::Approval(id) => {
            let Some(approval) = console.model.world().approvals.get(id) else {
                return std::sync::Arc::new(Vec::new());
            };
            let cost = cost(console, approval);
            let world = console.model.world();
            let cache_key = format!(
                "{id} {} {digest} {} {width} {cost} {} {} {} {} {} {:?} {:?} {:?} {:?} {:?}",
                approval.revision,
                approval.state,
                approval.similar.len(),
                who_else(approval),
                item::stack(console.model.world(), approval).len(),
                approval.question.as_ref().map_or(0, String::len),
                unknown::version(console, approval),
                approval.assignment,
                console.model.world().duty.you,
                loading(console, key).map(|(_, text)| text),
                world.result(approval),
                output(world, approval)
            );
            cache.card(cache_key, || approval_body(console, theme, approval, width))
        }
        ItemKey::Continuation(_)
        | ItemKey::Delivery(_)
        | ItemKey::Leftovers(_)
        | ItemKey::RefusedCalls(_)
        | ItemKey::Flood(_)
        | ItemKey::Channel(_)
        | ItemKey::Problem(_) => std::sync::Arc::new(card_items::body(console, theme, key, width)),
    }
}

/// Title, id line and risk of an item.
pub fn identity(console: Console<'_>, key: &ItemKey) -> (String, String, (Role, String)) {
    match key {
        ItemKey::Approval(id) => console.model.world().approvals.get(id).map_or_else(
            || (String::new(), String::new(), (Role::Text, String::new())),
            |approval| {
                let title = if approval.kind == crate::protocol::words::ApprovalKind::Execute {
                    decision::title(approval)
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
            let word = console
                .model
                .world()
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
        ItemKey::RefusedCalls(id) => (
            "refused calls".to_owned(),
            id.to_string(),
            (Role::StateBad, "refused".to_owned()),
        ),
        ItemKey::Flood(id) => (
            "paused conversation".to_owned(),
            id.to_string(),
            (Role::StateWaiting, "paused".to_owned()),
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
    }
}

/// Time left and what happens then, or how it ended.
pub fn status(console: Console<'_>, key: &ItemKey) -> (Role, String) {
    let now = console.model.now.wall;
    match key {
        ItemKey::Approval(id) => match console.model.world().approvals.get(id) {
            None => (Role::TextMuted, String::new()),
            Some(approval) if approval.state != ApprovalState::Pending => {
                match console.model.starts_in(approval) {
                    Some(left) => (Role::NoticeWarning, held(console, left)),
                    None => outcome_and_result(console.model.world(), approval),
                }
            }
            Some(_) if console.model.host().deciding.contains(id) => {
                (Role::NoticeInfo, "sending the decision".to_owned())
            }
            Some(approval) => match (
                approval.expires_at,
                console
                    .model
                    .queue
                    .snoozed_until(&console.model.key(key.clone())),
            ) {
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
        | ItemKey::RefusedCalls(_)
        | ItemKey::Flood(_)
        | ItemKey::Channel(_)
        | ItemKey::Problem(_) => {
            let since = item::since(console.model.world(), key)
                .map_or_else(String::new, |at| format!("for {}", format::age(now, at)));
            if item::is_open(console.model.world(), key) {
                (Role::Text, since)
            } else {
                (Role::TextMuted, "settled".to_owned())
            }
        }
    }
}

/// Whether letting it happen takes two presses.
fn asks_twice(console: Console<'_>, key: &ItemKey) -> bool {
    match key {
        ItemKey::Approval(id) => console
            .model
            .world()
            .approvals
            .get(id)
            .is_some_and(|a| a.risk == Risk::High && a.state == ApprovalState::Pending),
        ItemKey::Continuation(_)
        | ItemKey::Delivery(_)
        | ItemKey::Leftovers(_)
        | ItemKey::RefusedCalls(_)
        | ItemKey::Flood(_)
        | ItemKey::Channel(_)
        | ItemKey::Problem(_) => false,
    }
}
