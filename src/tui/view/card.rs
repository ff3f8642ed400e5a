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
use crate::console::queue;
use crate::protocol::enums::{ApprovalKind, ApprovalState, Risk};
use crate::tui::action::Action;
use crate::tui::message::FrameReport;
use crate::tui::sanitize;
use crate::tui::state::app::{State, WIDE_COLUMNS};
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::approval_card::{self, CardDetail, CardLayout};
use crate::tui::view::cache::{Lines, ViewCache};
use crate::tui::view::card_items;
use crate::tui::view::console::{Console, HOST_COLUMNS, held, outcome_and_result};
use crate::tui::view::diff::DiffLayout;
use crate::tui::view::paint::{self, span};
use crate::tui::view::unknown;

/// Columns of a card from which on old and new of a change stand side by side, on a wide screen.
const SIDE_BY_SIDE_COLUMNS: usize = 90;

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
    paint::put(buf, inner, 1, theme, Role::TextMuted, &id_line);

    let confirm = state.high.as_ref().filter(|high| high.subject == subject);
    // Reserved from the start: the first press must not change what has been read.
    let confirm_rows = u16::from(asks_twice(console, key));
    let body_area = Rect {
        y: inner.y + 2.min(inner.height),
        height: inner.height.saturating_sub(2 + confirm_rows),
        ..inner
    };
    let detail = if console.model.queue.card_raw {
        CardDetail::Raw
    } else {
        CardDetail::Folded
    };
    let diff = if state.size.0 >= WIDE_COLUMNS && width >= SIDE_BY_SIDE_COLUMNS {
        DiffLayout::SideBySide
    } else {
        DiffLayout::Unified
    };
    let layout = CardLayout {
        width,
        detail,
        diff,
    };
    let lines = lines(console, theme, cache, key, &subject.digest, layout);
    let height = usize::from(body_area.height);
    let max_scroll = lines.len().saturating_sub(height);
    let from = console.model.queue.card_scroll.min(max_scroll);
    for (row, line) in (0..body_area.height).zip(lines.iter().skip(from)) {
        paint::line(buf, body_area, row, line);
        let at = (body_area.x, body_area.y.saturating_add(row));
        cache.drawn(&lines, from + usize::from(row), at);
    }
    let end = (from + height).min(lines.len());
    let is_folded = matches!(key, ItemKey::Approval(_)) && detail == CardDetail::Folded;
    let unfolds = console.key_of(Action::Raw).filter(|_| is_folded);
    if end < lines.len() {
        let note = format!("{} more lines below, pgdn", lines.len() - end);
        paint::panel_note(buf, area, theme, Role::NoticeWarning, &note);
    } else if let Some(unfolds) = unfolds {
        // Nothing of the rest changes what would happen.
        let note = format!("{unfolds} shows more");
        paint::panel_note(buf, area, theme, Role::TextMuted, &note);
    } else if lines.len() > height {
        paint::panel_note(buf, area, theme, Role::TextMuted, "end");
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
        paint::text(buf, inner, at, theme, Role::RiskHigh, &text);
    }
    report.card_max_scroll = max_scroll;
    report.card = Some(CardReport {
        subject,
        width: body_area.width,
        lines: lines.len(),
        first: from,
        end,
        identity: identity_fits && (height > 0 || lines.is_empty()),
        whole: approval_card::loading(console, key).is_none(),
    });
}

/// The lines of a card's body: everything that is shown of an item below its id, its risk and its deadline.
pub fn lines(
    console: Console<'_>,
    theme: &Theme,
    cache: &mut ViewCache,
    key: &ItemKey,
    digest: &str,
    layout: CardLayout,
) -> Lines {
    let Some(id) = key.approval() else {
        return Lines::new(card_items::body(console, theme, key, layout.width).into());
    };
    let world = console.model.world();
    let Some(approval) = world.approvals.get(&id) else {
        return Lines::default();
    };
    let cost = approval_card::cost(console, approval);
    let cache_key = format!(
        "{id} {} {digest} {} {layout:?} {cost} {} {} {} {} {} {} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
        approval.revision,
        approval.state,
        approval.similar.len(),
        approval.messages.len(),
        approval_card::who_else(approval),
        item::stack(world, approval).len(),
        approval.question.as_ref().map_or(0, String::len),
        unknown::version(console, approval),
        approval.assignment,
        world.on_call_status.you,
        decision::approvers(world, approval),
        decision::two_people(world, approval),
        approval_card::loading(console, key).map(|(_, text)| text),
        world.result(approval),
        approval_card::output(world, approval),
        console.model.host().rehearsals.of(approval)
    );
    let scope = cache.scope();
    cache.card(
        cache_key,
        || approval_card::links(console, scope, approval),
        |code| approval_card::body(console, theme, code, approval, layout),
    )
}

/// Title, id line and risk of an item.
pub fn identity(console: Console<'_>, key: &ItemKey) -> (String, String, (Role, String)) {
    match key {
        ItemKey::Approval(id) => console.model.world().approvals.get(id).map_or_else(
            || (String::new(), String::new(), (Role::Text, String::new())),
            |approval| {
                let title = if approval.kind == crate::protocol::enums::ApprovalKind::Execute {
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
    let world = console.model.world();
    let Some(id) = key.approval() else {
        if !item::is_open(world, key) {
            return (Role::TextMuted, "settled".to_owned());
        }
        let since = item::since(world, key);
        let since = since.map_or_else(String::new, |at| format!("for {}", format::age(now, at)));
        return (Role::Text, since);
    };
    match world.approvals.get(&id) {
        None => (Role::TextMuted, String::new()),
        Some(approval) if approval.state != ApprovalState::Pending => {
            match console.model.starts_in(approval) {
                Some(left) => (Role::NoticeWarning, held(console, left)),
                None => outcome_and_result(world, approval),
            }
        }
        Some(_) if console.model.host().deciding.contains(&id) => {
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
                match &approval.plan.external {
                    Some(external) if !external.deferred => format!(
                        "{} stops waiting in {}; then it is denied",
                        external.agent.product(),
                        format::left(now, at)
                    ),
                    Some(_) | None => format!(
                        "{} left, then {}",
                        format::left(now, at),
                        if approval.kind == ApprovalKind::Pairing {
                            "the code is over"
                        } else {
                            "it expires and the turn ends"
                        }
                    ),
                },
            ),
            (None, None) => (Role::Text, "no deadline".to_owned()),
        },
    }
}

/// Whether letting it happen takes two presses.
fn asks_twice(console: Console<'_>, key: &ItemKey) -> bool {
    let approvals = &console.model.world().approvals;
    let approval = key.approval().and_then(|id| approvals.get(&id));
    approval.is_some_and(|one| one.risk == Risk::High && one.state == ApprovalState::Pending)
}
