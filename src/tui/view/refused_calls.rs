//! Calls of a session that nobody was asked about: one line for the Queue, and the card.

use crate::protocol::session::{RefusedCalls, Session};
use crate::tui::theme::roles::Role;
use crate::tui::view::card_body::Body;

/// In one line.
pub fn summary(refused: &RefusedCalls) -> String {
    format!(
        "{}: too many wait in this session",
        RefusedCalls::text(refused.count as usize)
    )
}

/// The card's lines.
pub fn body(body: &mut Body<'_>, session: &Session) {
    body.field(
        "channel",
        Role::Text,
        &format!("{} · {}", session.channel, session.conversation),
    );
    body.field("session", Role::Text, &session.id.to_string());
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
