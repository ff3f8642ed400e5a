//! The card of a conversation that the engine paused.

use crate::protocol::session::Session;
use crate::tui::theme::roles::Role;
use crate::tui::view::card_body::Body;

/// The card's lines.
pub fn body(body: &mut Body<'_>, session: &Session) {
    body.field(
        "channel",
        Role::Text,
        &format!("{} · {}", session.channel, session.conversation),
    );
    body.field("session", Role::Text, &session.id.to_string());
    let Some(flood) = session.flood else {
        body.field("state", Role::TextMuted, "goes on");
        return;
    };
    body.field("paused", Role::NoticeWarning, &flood.text());
    body.field("waiting", Role::Text, &waiting(session.queued));
    body.blank();
    body.text(
        Role::TextMuted,
        "The engine paused this conversation and told the chat. No new turn begins; new messages wait. Resume \
         continues it and resets the count. `enter` shows the session, where you can also end it or take it over.",
    );
}

fn waiting(messages: u32) -> String {
    match messages {
        0 => "no message".to_owned(),
        1 => "1 message".to_owned(),
        count => format!("{count} messages"),
    }
}
