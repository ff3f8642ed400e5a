//! The Queue screen: list and card.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::clock::Timestamp;
use crate::console::format;
use crate::console::hosts::Host;
use crate::console::item;
use crate::console::item::QueueKey;
use crate::console::item::{Grouping, ItemKey};
use crate::console::model::Model;
use crate::console::preview;
use crate::console::world::World;
use crate::protocol::approval::{Approval, Requester};
use crate::protocol::enums::{ApprovalKind, ApprovalState, OutboxState};
use crate::protocol::session::Flood;
use crate::tui::message::{FrameReport, HitRegion};
use crate::tui::sanitize;
use crate::tui::state::app::{State, WIDE_COLUMNS};
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::cache::ViewCache;
use crate::tui::view::card;
use crate::tui::view::card_items;
use crate::tui::view::console::{Console, HOST_COLUMNS, held, outcome_and_result};
use crate::tui::view::detail;
use crate::tui::view::paint::{self, span};
use crate::tui::view::table::more_below;

/// Cells of the risk of a row. Its colour stays when the row is selected.
const RISK_CELLS: u16 = 9;
/// How an item ended that has no word for it.
const SETTLED: &str = "settled";
/// Columns of who hears of an item next.
const NEXT_CELLS: usize = 12;

pub fn draw(
    state: &State,
    theme: &Theme,
    cache: &mut ViewCache,
    area: Rect,
    buf: &mut Buffer,
    report: &mut FrameReport,
) {
    let selected = state.model.queue.selected.is_some();
    let dim_card = |area: Rect, buf: &mut Buffer| {
        if state.model.hosts.several() && !state.is_live() {
            buf.set_style(area, theme.style(Role::Dimmed));
        }
    };
    if selected && state.model.queue.zoomed {
        report.region(area, || HitRegion::Card);
        card::draw(state, theme, cache, area, buf, report, true);
        dim_card(area, buf);
        return;
    }
    if !selected || state.one_pane() {
        list(state, theme, area, buf, report);
        return;
    }
    let (list_area, card_area) = if state.size.0 >= WIDE_COLUMNS {
        paint::split_left(area, (area.width * 2 / 5).max(56))
    } else {
        let rows = paint::cells(lines(state).len()).saturating_add(3);
        paint::split_top(area, rows.clamp(4, (area.height / 3).max(4)))
    };
    list(state, theme, list_area, buf, report);
    report.region(card_area, || HitRegion::Card);
    card::draw(state, theme, cache, card_area, buf, report, false);
    dim_card(card_area, buf);
}

struct Row {
    left: String,
    risk: (Role, String),
    what: String,
    place: String,
    who: String,
    age: String,
    outcome: Option<(Role, String)>,
}

fn row_of(console: Console<'_>, key: &QueueKey) -> Option<Row> {
    let host = console.model.hosts.get(key.host)?;
    let put_off = console.model.queue.snoozed_until(key);
    row_in(console, host, put_off, &key.item)
}

/// The row of an item in the world of its host.
fn row_in(
    console: Console<'_>,
    host: &Host,
    put_off: Option<Timestamp>,
    key: &ItemKey,
) -> Option<Row> {
    let world = &host.world;
    let now = console.model.now.wall;
    let is_open = item::is_open(world, key);
    let row = |(role, word): (Role, &str), what: String, (place, who): (&str, &str), end: &str| {
        let left = item::deadline(world, key);
        let age = item::since(world, key);
        Row {
            left: left.map_or_else(|| "-".to_owned(), |at| format::left(now, at)),
            risk: (role, word.to_owned()),
            what,
            place: place.to_owned(),
            who: who.to_owned(),
            age: age.map_or_else(String::new, |at| format::age(now, at)),
            outcome: (!is_open).then(|| (Role::TextMuted, end.to_owned())),
        }
    };
    Some(match key {
        ItemKey::Approval(id) => {
            let approval = world.approvals.get(id)?;
            let risk = (paint::risk_role(approval.risk), approval.risk.as_str());
            let what = stacked(world, approval) + &waits_for(world, approval) + &asked(approval);
            let from = (approval.channel.as_str(), who(&approval.requester));
            let outcome = if approval.state == ApprovalState::Pending {
                if host.deciding.contains(id) {
                    Some((Role::NoticeInfo, "sending".to_owned()))
                } else {
                    put_off.map(|until| {
                        let text = format!("put off until {}", format::clock(until));
                        (Role::TextMuted, text)
                    })
                }
            } else if let Some(left) = item::starts_in(now, approval) {
                Some((Role::NoticeWarning, held(console, left)))
            } else {
                Some(outcome_and_result(world, approval))
            };
            let mut row = row(risk, what, from, "");
            if approval.state != ApprovalState::Pending {
                row.left.clear();
            }
            Row { outcome, ..row }
        }
        ItemKey::Continuation(id) => {
            let turn = world.continuations.get(id)?;
            let what = format!("interrupted: {}", turn.request.text);
            let from = (turn.channel.as_str(), who(&turn.requester));
            let risk = (Role::StateWaiting, "resume?");
            row(risk, what, from, turn.state.as_str())
        }
        ItemKey::Delivery(id) => {
            let one = world.deliveries.get(id)?;
            let word = if one.state == OutboxState::Unknown {
                "unknown"
            } else {
                "failed"
            };
            let what = format!("delivery: {}", one.preview);
            let from = (one.channel.as_str(), one.conversation.as_str());
            row((Role::StateBad, word), what, from, one.state.as_str())
        }
        ItemKey::Leftovers(id) => {
            let one = world.leftovers.get(id)?;
            let from = (one.channel.as_str(), one.conversation.as_str());
            let what = card_items::leftovers_in_words(one);
            row((Role::StateBad, "look"), what, from, SETTLED)
        }
        ItemKey::RefusedCalls(id) => {
            let session = world.sessions.get(id)?;
            let refused = session.refused_calls.as_ref();
            let what = refused.map_or_else(
                || "refused calls".to_owned(),
                card_items::refused_calls_in_words,
            );
            let from = (session.channel.as_str(), session.conversation.as_str());
            row((Role::StateBad, "refused"), what, from, SETTLED)
        }
        ItemKey::Flood(id) => {
            let session = world.sessions.get(id)?;
            let flood = session.flood;
            let what = flood.map_or_else(|| "paused conversation".to_owned(), Flood::text);
            let from = (session.channel.as_str(), session.conversation.as_str());
            row((Role::StateWaiting, "paused"), what, from, SETTLED)
        }
        ItemKey::Channel(name) => {
            let health = &world.channels.get(name)?.health;
            let detail = health.detail.as_deref().unwrap_or("cannot work");
            let what = format!("channel: {detail}");
            row(
                (Role::StateBad, "dead"),
                what,
                (name, ""),
                health.state.as_str(),
            )
        }
        ItemKey::Problem(text) => {
            let risk = (Role::StateBad, "problem");
            row(risk, text.clone(), ("", "engine"), SETTLED)
        }
    })
}

/// The person that asks, else what a platform calls them.
fn who(requester: &Requester) -> &str {
    requester.person.as_deref().unwrap_or(&requester.display)
}

/// What an approval asks about.
fn asked(approval: &Approval) -> String {
    let (kind, tool) = (approval.kind, &approval.tool);
    match (&approval.question, approval.tool.is_empty()) {
        (Some(question), true) => format!("{kind}: {question}"),
        (None, true) => kind.as_str().to_owned(),
        (_, false) if kind == ApprovalKind::Execute => {
            format!("{tool} {}", preview::one_line(approval))
        }
        (_, false) if kind == ApprovalKind::Question => {
            format!("{kind}: {}", preview::one_line(approval))
        }
        (_, false) => format!("{kind}: {tool} {}", preview::one_line(approval)),
    }
}

/// How many alike calls the row stands for.
fn stacked(world: &World, approval: &Approval) -> String {
    match item::stack(world, approval).len() {
        0 | 1 => String::new(),
        count => format!("×{count} "),
    }
}

/// Whom a question waits for, in front of what it is.
fn waits_for(world: &World, approval: &Approval) -> String {
    let waits = approval.assignment.as_ref();
    waits.map_or_else(String::new, |one| {
        if world.on_call_status.is_me(&one.to) {
            "for you: ".to_owned()
        } else {
            format!("for {}: ", sanitize::line(&one.to, 16))
        }
    })
}

#[derive(Debug, PartialEq)]
enum ListLine<'a> {
    /// The name of the group that begins.
    Group(String),
    Item(&'a QueueKey),
}

/// The items in their order, with the name of each group before its first.
fn lines(state: &State) -> Vec<ListLine<'_>> {
    let queue = &state.model.queue;
    let mut lines = Vec::with_capacity(queue.order.len());
    let mut named: Option<String> = None;
    for key in &queue.order {
        let group = if queue.snoozed_until(key).is_some() && queue.selected.as_ref() != Some(key) {
            "put off".to_owned()
        } else {
            let world = state.model.hosts.world(key.host);
            world.map_or_else(String::new, |world| {
                item::group(world, queue.grouping, &key.item).1
            })
        };
        if queue.grouping != Grouping::None && named.as_ref() != Some(&group) {
            lines.push(ListLine::Group(group.clone()));
            named = Some(group);
        }
        lines.push(ListLine::Item(key));
    }
    lines
}

/// How many there are, and in words what is hidden and how it is ordered.
fn title(state: &State) -> String {
    let queue = &state.model.queue;
    let mut parts = Vec::new();
    if !queue.order.is_empty() {
        parts.push(queue.order.len().to_string());
    }
    if !queue.filter.is_empty() {
        parts.push(format!(
            "{} hidden by `{}`",
            queue.hidden.len(),
            queue.filter
        ));
    }
    if queue.grouping != Grouping::None {
        parts.push(queue.grouping.as_str().to_owned());
    }
    if !queue.snoozed.is_empty() {
        parts.push(format!("{} put off", queue.snoozed.len()));
    }
    if !queue.marks.is_empty() {
        parts.push(format!("{} marked", queue.marks.len()));
    }
    if parts.is_empty() {
        return "Queue".to_owned();
    }
    format!("Queue  {}", parts.join(", "))
}

fn list(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer, report: &mut FrameReport) {
    let count = state.model.queue.order.len();
    let title = title(state);
    let inner = paint::padded(paint::panel(buf, area, theme, &title, true));
    if count == 0 && !state.model.queue.hidden.is_empty() {
        let text = format!(
            "Nothing here has the words `{}`; {} items without them are hidden.",
            state.model.queue.filter,
            state.model.queue.hidden.len()
        );
        detail::texts(buf, inner, theme, &[(Role::Text, text)]);
        return;
    }
    if count == 0 {
        empty(state, theme, inner, buf);
        return;
    }
    let lines = lines(state);
    let width = usize::from(inner.width);
    // Columns give way from the right as the screen narrows.
    let host_width = host_width(state, width);
    let place_width = if width >= 70 {
        16
    } else if width >= 50 && host_width == 0 {
        10
    } else {
        0
    };
    let who_width = if width >= 90 { 14 } else { 0 };
    let age_width = if width >= 60 { 5 } else { 0 };
    // Only where somebody hears of an item next.
    let mut steps = state
        .model
        .queue
        .order
        .iter()
        .map(|key| next_step(state, key));
    let next_width = if width >= 70 && steps.any(|step| !step.is_empty()) {
        NEXT_CELLS
    } else {
        0
    };
    // A short list has room for the names of its columns beside all of its rows.
    let head_and_rows = inner.height >= 4 || usize::from(inner.height) > lines.len();
    let mut top = 0;
    let gap = |n: usize| if n == 0 { 0 } else { n + 1 };
    let what_width = width.saturating_sub(
        2 + 6
            + 10
            + gap(host_width)
            + gap(place_width)
            + gap(who_width)
            + gap(age_width)
            + gap(next_width),
    );
    let compose = |cells: [&str; 7], host: &str| {
        let [left, risk, what, place, who, age, next] = cells;
        let mut parts = vec![
            sanitize::column(left, 5),
            sanitize::column(risk, usize::from(RISK_CELLS)),
            sanitize::column(what, what_width),
        ];
        if host_width > 0 {
            parts.push(sanitize::column(host, host_width));
        }
        for (text, width) in [
            (place, place_width),
            (who, who_width),
            (age, age_width),
            (next, next_width),
        ] {
            if width > 0 {
                parts.push(sanitize::column(text, width));
            }
        }
        parts
    };
    if head_and_rows {
        let head = compose(
            ["left", "risk", "what", "channel", "who", "age", "escalates"],
            "host",
        )
        .join(" ");
        paint::line(
            buf,
            inner,
            0,
            &Line::from(vec![Span::raw("  "), span(theme, Role::TableHead, head)]),
        );
        top = 1;
    }
    let height = usize::from(inner.height.saturating_sub(top));
    let selected = state.model.queue.selected.as_ref();
    let chosen = selected.and_then(|s| lines.iter().position(|line| *line == ListLine::Item(s)));
    let first = paint::first_row(chosen, lines.len(), height);
    for (at, line) in (top..).zip(lines.iter().skip(first).take(height)) {
        let key = match line {
            ListLine::Item(key) => *key,
            ListLine::Group(name) => {
                paint::text(buf, inner, at, theme, Role::Title, name);
                continue;
            }
        };
        let Some(row) = row_of(Console::of(state), key) else {
            continue;
        };
        let is_selected = selected == Some(key);
        let (what, dim) = match &row.outcome {
            Some((_, outcome)) => (format!("{outcome}: {}", row.what), true),
            None => (row.what.clone(), false),
        };
        let host = key.host;
        let cells = [
            &row.left,
            &row.risk.1,
            &what,
            &row.place,
            &row.who,
            &row.age,
            &next_step(state, key),
        ];
        let cells = compose(cells.map(String::as_str), state.model.hosts.name(host));
        report.region(paint::row(inner, at), || HitRegion::Item(key.clone()));
        let marked = state.model.queue.marks.contains(key);
        let mark = match (is_selected, marked) {
            (true, true) => ">*",
            (true, false) => "> ",
            (false, true) => " *",
            (false, false) => "  ",
        };
        let mut spans = vec![Span::raw(mark)];
        for (index, cell) in cells.into_iter().enumerate() {
            let role = match index {
                _ if dim => row
                    .outcome
                    .as_ref()
                    .map_or(Role::TextMuted, |(role, _)| *role),
                1 => row.risk.0,
                2 => Role::Text,
                0 => Role::TextStrong,
                _ => Role::TextMuted,
            };
            if index > 0 {
                spans.push(Span::raw(" "));
            }
            spans.push(span(theme, role, cell));
        }
        paint::line(buf, inner, at, &Line::from(spans));
        if state.model.hosts.several() && !state.model.hosts.get(host).is_some_and(Host::is_live) {
            buf.set_style(paint::row(inner, at), theme.style(Role::Dimmed));
        }
        if is_selected {
            let area = paint::row(inner, at);
            paint::select(buf, area, theme, Role::Selection);
            if !dim {
                // Behind the sign and the time left.
                let (x, width) = (area.x.saturating_add(8), RISK_CELLS);
                let risk = Rect { x, width, ..area }.intersection(area);
                buf.set_style(risk, theme.style(row.risk.0));
            }
        }
    }
    let below = lines.iter().skip(first + height);
    let hidden = below
        .filter(|line| matches!(line, ListLine::Item(_)))
        .count();
    more_below(buf, area, theme, hidden);
}

/// Who hears of an item next unless somebody decides, and in how long; empty = nobody does.
fn next_step(state: &State, key: &QueueKey) -> String {
    let (ItemKey::Approval(id), Some(world)) = (&key.item, state.model.hosts.world(key.host))
    else {
        return String::new();
    };
    let waiting = world
        .approvals
        .get(id)
        .filter(|approval| approval.state == ApprovalState::Pending);
    let escalation = waiting.and_then(|approval| approval.escalation.as_ref());
    let Some(next) = escalation.and_then(|escalation| escalation.next.as_ref()) else {
        return String::new();
    };
    // In minutes: an idle console draws no more often.
    let now = state.model.now.wall;
    let left = if next.at <= now {
        "now".to_owned()
    } else if next.at.millis_since(now) < 60_000 {
        "<1m".to_owned()
    } else {
        format::left(now, next.at)
    };
    format!("{left} {}", next.in_brief())
}

/// Columns for the name of each item's host; none where there is one host.
fn host_width(state: &State, width: usize) -> usize {
    if !state.model.hosts.several() {
        return 0;
    }
    let most = if width >= 70 { HOST_COLUMNS } else { 8 };
    let longest = state
        .model
        .hosts
        .ids()
        .map(|id| sanitize::width(state.model.hosts.name(id)));
    longest.max().unwrap_or(0).clamp(4, most)
}

fn empty(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer) {
    if !state.is_live() && state.model.world().engine.is_none() {
        let text = "Waiting for the engine.";
        paint::put(buf, area, 0, theme, Role::TextMuted, text);
        return;
    }
    let first_run = state
        .model
        .world()
        .engine
        .as_ref()
        .is_some_and(|engine| engine.scripted && !engine.demo);
    let texts = [
        (Role::TextStrong, "Nothing needs you."),
        (
            Role::TextMuted,
            if first_run {
                "No LLM yet: `leverframe init` finds models."
            } else {
                ""
            },
        ),
        (
            Role::TextMuted,
            "What stops at a person appears here, oldest deadline first:",
        ),
        (Role::Text, ""),
        (
            Role::Text,
            "  approvals       a tool call that may not run by itself",
        ),
        (
            Role::Text,
            "  unknown         a call or reply that was in flight when the process died",
        ),
        (
            Role::Text,
            "  interrupted     a turn that can go on from its last durable step",
        ),
        (
            Role::Text,
            "  budgets         a turn that used up what it was given",
        ),
        (
            Role::Text,
            "  pairing         somebody new who writes to a channel",
        ),
        (
            Role::Text,
            "  dead channels   a platform that refuses us, with what to do",
        ),
        (Role::Text, ""),
        (
            Role::TextMuted,
            "2 shows what every session is doing; 4 sets how much each channel may do alone.",
        ),
    ];
    let mut at = 0;
    for (role, text) in texts {
        let lines = if text.starts_with("  ") {
            vec![text.to_owned()]
        } else {
            sanitize::block(text, usize::from(area.width))
        };
        for line in lines {
            paint::put(buf, area, at, theme, role, &line);
            at += 1;
        }
    }
}

/// A row as one line of text, for where there are no columns.
pub fn in_words(model: &Model, key: &QueueKey) -> Option<String> {
    let row = row_of(
        Console {
            model,
            keymap: None,
        },
        key,
    )?;
    let mut text = format!("{}  {}", row.risk.1, sanitize::line(&row.what, 100));
    let deadline = (row.left != "-" && !row.left.is_empty()).then(|| format!("{} left", row.left));
    let facts: Vec<String> = [
        Some(row.place).filter(|place| !place.is_empty()),
        Some(row.who).filter(|who| !who.is_empty()),
        deadline,
    ]
    .into_iter()
    .flatten()
    .map(|fact| sanitize::line(&fact, 40))
    .collect();
    if !facts.is_empty() {
        text = format!("{text}  ({})", facts.join(", "));
    }
    Some(match row.outcome {
        Some((_, outcome)) => format!("{}: {text}", sanitize::line(&outcome, 60)),
        None => text,
    })
}
