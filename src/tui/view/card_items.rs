//! The cards of queue items that are no approvals. Nothing here can be decided by a word of the policy.

use ratatui::text::Line;

use crate::console::format;
use crate::console::item::ItemKey;
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::card_body::Body;
use crate::tui::view::console::Console;
use crate::tui::view::flood;
use crate::tui::view::leftovers;
use crate::tui::view::refused_calls;

/// The lines of the card of an item; none of an approval.
pub fn body(
    console: Console<'_>,
    theme: &Theme,
    key: &ItemKey,
    width: usize,
) -> Vec<Line<'static>> {
    let mut body = Body::new(theme, width);
    match key {
        ItemKey::Approval(_) => {}
        ItemKey::Continuation(id) => {
            if let Some(continuation) = console.model.world().continuations.get(id) {
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
                        "{} steps, {} tool calls, started {} times",
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
            if let Some(delivery) = console.model.world().deliveries.get(id) {
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
            if let Some(one) = console.model.world().leftovers.get(id) {
                leftovers::body(&mut body, one);
            }
        }
        ItemKey::RefusedCalls(id) => {
            if let Some(session) = console.model.world().sessions.get(id) {
                refused_calls::body(&mut body, session);
            }
        }
        ItemKey::Flood(id) => {
            if let Some(session) = console.model.world().sessions.get(id) {
                flood::body(&mut body, session);
            }
        }
        ItemKey::Channel(name) => {
            if let Some(channel) = console.model.world().channels.get(name) {
                body.field("kind", Role::Text, channel.kind.as_str());
                body.field(
                    "what is wrong",
                    Role::NoticeError,
                    channel.health.detail.as_deref().unwrap_or("no detail"),
                );
                let seen = |at: Option<crate::clock::Timestamp>| {
                    at.map_or_else(
                        || "never".to_owned(),
                        |at| format!("{} ago", format::age(console.model.now.wall, at)),
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
                "It clears when its cause is gone; the log file has the details.",
            );
        }
    }
    body.lines
}
