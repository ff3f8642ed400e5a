//! The cards of queue items that are no approvals. Nothing here can be decided by a word of the policy.

use ratatui::text::Line;

use crate::clock::Timestamp;
use crate::console::format;
use crate::console::item::ItemKey;
use crate::protocol::channel::Channel;
use crate::protocol::leftovers::Leftovers;
use crate::protocol::session::{Continuation, OutboxItem, RefusedCalls, Session};
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::card_body::Body;
use crate::tui::view::console::Console;

/// The lines of the card of an item; none of an approval.
pub fn body(
    console: Console<'_>,
    theme: &Theme,
    key: &ItemKey,
    width: usize,
) -> Vec<Line<'static>> {
    // What is not known any more has no lines.
    let body = filled(console, Body::new(theme, width), key);
    body.map_or_else(Vec::new, |body| body.lines)
}

fn filled<'t>(console: Console<'_>, mut lines: Body<'t>, key: &ItemKey) -> Option<Body<'t>> {
    let (world, now) = (console.model.world(), console.model.now.wall);
    let body = &mut lines;
    match key {
        ItemKey::Approval(_) => {}
        ItemKey::Continuation(id) => interrupted(body, world.continuations.get(id)?),
        ItemKey::Delivery(id) => delivery(body, world.deliveries.get(id)?),
        ItemKey::Leftovers(id) => leftovers(body, world.leftovers.get(id)?),
        ItemKey::RefusedCalls(id) => refused_calls(body, world.sessions.get(id)?),
        ItemKey::Flood(id) => flood(body, world.sessions.get(id)?),
        ItemKey::Channel(name) => channel(body, world.channels.get(name)?, now),
        ItemKey::Problem(text) => {
            body.text(Role::NoticeError, text);
            body.blank();
            let text = "It clears when its cause is gone; the log file has the details.";
            body.text(Role::TextMuted, text);
        }
    }
    Some(lines)
}

fn interrupted(body: &mut Body<'_>, turn: &Continuation) {
    let place = format!("{} · {}", turn.channel, turn.conversation);
    body.field("channel", Role::Text, &place);
    let by = format!("{} · {}", turn.requester.display, turn.requester.id);
    body.field("asked by", Role::Text, &by);
    body.field("message", Role::Outside, &turn.request.text);
    if let Some(error) = &turn.error {
        body.field("why", Role::NoticeWarning, &error.message);
    }
    let done = format!(
        "{} steps, {} tool calls, started {} times",
        turn.steps,
        turn.tool_calls.len(),
        turn.attempt
    );
    body.field("done so far", Role::Text, &done);
    for call in &turn.tool_calls {
        let call = format!("{} · {}", call.name, call.state);
        body.field("tool", Role::Text, &call);
    }
    body.blank();
    let text = "Resume goes on from the last durable step. Kill ends the turn without an answer.";
    body.text(Role::TextMuted, text);
}

fn delivery(body: &mut Body<'_>, one: &OutboxItem) {
    let place = format!("{} · {}", one.channel, one.conversation);
    body.field("channel", Role::Text, &place);
    let part = format!("{} of {} · {}", one.part, one.parts, one.class);
    body.field("part", Role::Text, &part);
    body.field("tried", Role::Text, &format!("{} times", one.attempts));
    if let Some(error) = &one.last_error {
        body.field("last error", Role::NoticeWarning, error);
    }
    body.heading("Text");
    body.text(Role::Outside, &one.preview);
}

fn channel(body: &mut Body<'_>, one: &Channel, now: Timestamp) {
    body.field("kind", Role::Text, one.kind.as_str());
    let wrong = one.health.detail.as_deref().unwrap_or("no detail");
    body.field("what is wrong", Role::NoticeError, wrong);
    let seen = one.health.last_exchange_at;
    let seen = seen.map_or_else(
        || "never".to_owned(),
        |at| format!("{} ago", format::age(now, at)),
    );
    body.field("last exchange", Role::Text, &seen);
    body.field(
        "waiting",
        Role::Text,
        &format!("{} parts to send", one.backlog),
    );
}

/// What a run left, in one line: the first place, and how many more there are.
pub fn leftovers_in_words(one: &Leftovers) -> String {
    let new = &one.new;
    let in_place = new
        .in_place
        .iter()
        .map(|place| format!("STILL IN PLACE: {}", place.path));
    let set_aside = new
        .set_aside
        .iter()
        .map(|place| format!("set aside: {} is now {}", place.path, place.name));
    let count = (new.in_place.len() + new.set_aside.len()) as u64 + new.more;
    match in_place.chain(set_aside).next() {
        Some(first) if count > 1 => format!("{first}, and {} more", count - 1),
        Some(first) => first,
        None => "a run may have left something: not every place was checked".to_owned(),
    }
}

fn leftovers(body: &mut Body<'_>, one: &Leftovers) {
    body.field(
        "channel",
        Role::Text,
        &format!("{} · {}", one.channel, one.conversation),
    );
    body.field("session", Role::Text, &one.session_id.to_string());
    body.field("call", Role::Text, &one.tool);
    body.field("", Role::Outside, &one.preview);
    body.field("workspace", Role::Text, &one.workspace);
    if one.new.interrupted {
        body.field(
            "found",
            Role::NoticeWarning,
            "at the start after the process died during the run; it may include files that others put there since",
        );
    }
    if let Some(problem) = &one.new.incomplete {
        body.field(
            "DANGER",
            Role::NoticeError,
            &format!("not every place was checked: {problem}"),
        );
    }
    if !one.new.in_place.is_empty() {
        body.heading("Still in place: programs may run from here");
        for place in &one.new.in_place {
            body.text(Role::Outside, &place.path);
            body.text(
                Role::NoticeError,
                &format!("  not renamed: {}", place.problem),
            );
        }
    }
    if !one.new.set_aside.is_empty() {
        body.heading("Set aside");
        for place in &one.new.set_aside {
            body.text(Role::Outside, &place.path);
            body.text(Role::Outside, &format!("  is now named {}", place.name));
        }
        if one.new.more > 0 {
            body.text(Role::TextMuted, &format!("and {} more", one.new.more));
        }
    }
    body.blank();
    body.text(
        Role::TextMuted,
        "Git, editors, shells and agents run programs from these places. Look at each; rename it back, or remove it. \
         Dismiss takes this item off the Queue and changes no file.",
    );
}

/// Calls that nobody was asked about, in one line.
pub fn refused_calls_in_words(refused: &RefusedCalls) -> String {
    format!(
        "{}: too many wait in this session",
        RefusedCalls::text(refused.count as usize)
    )
}

fn refused_calls(body: &mut Body<'_>, session: &Session) {
    whose(body, session);
    let Some(refused) = &session.refused_calls else {
        body.field("state", Role::TextMuted, "dismissed");
        return;
    };
    let count = RefusedCalls::text(refused.count as usize);
    body.field("refused", Role::NoticeWarning, &count);
    if let Some(newest) = refused.newest.first() {
        body.field("rule", Role::Text, &newest.rule);
        body.heading("Newest refused calls");
        for call in &refused.newest {
            body.text(Role::Outside, &call.preview);
        }
        let more = refused.count.saturating_sub(refused.newest.len() as u32);
        if more > 0 {
            body.text(Role::TextMuted, &format!("and {more} before them"));
        }
    }
    body.blank();
    body.text(
        Role::TextMuted,
        "The model proposed these calls while too many approvals waited. Nobody was asked, and none of them ran. \
         The model was told so. Decide what waits, then ask the agent again. Dismiss takes this item off the Queue.",
    );
}

fn flood(body: &mut Body<'_>, session: &Session) {
    whose(body, session);
    let Some(flood) = session.flood else {
        body.field("state", Role::TextMuted, "goes on");
        return;
    };
    body.field("paused", Role::NoticeWarning, &flood.text());
    let waiting = match session.queued {
        0 => "no message".to_owned(),
        1 => "1 message".to_owned(),
        count => format!("{count} messages"),
    };
    body.field("waiting", Role::Text, &waiting);
    body.blank();
    body.text(
        Role::TextMuted,
        "The engine paused this conversation and told the chat. No new turn begins; new messages wait. Resume \
         continues it and resets the count. `enter` shows the session, where you can also end it or take it over.",
    );
}

/// Whose conversation it is about.
fn whose(body: &mut Body<'_>, session: &Session) {
    let place = format!("{} · {}", session.channel, session.conversation);
    body.field("channel", Role::Text, &place);
    body.field("session", Role::Text, &session.id.to_string());
}
