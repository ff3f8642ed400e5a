//! Where a bot is in its updates: the channel's cursor, and the keys of its messages.
//!
//! Both belong to the account on the platform, not to the channel. When a channel gets another bot, update and
//! message numbers start again; no number of one bot means anything for another.

/// Where polling begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Position {
    /// The update to ask for; none = whatever the platform still holds.
    pub offset: Option<i64>,
    /// Updates below this number may have been stored under keys that named no account.
    pub unnamed_below: Option<i64>,
}

/// The cursor after an update of this bot.
pub fn cursor(bot: i64, next: i64) -> String {
    format!("{bot}:{next}")
}

/// Where this bot goes on. A cursor of another bot says nothing. One that names no bot (versions before 2026-11-23
/// wrote those) may be another bot's: polling with it could confirm what nobody has read, so it only tells which
/// updates may be known already.
pub fn position(stored: Option<&str>, bot: i64) -> Position {
    match stored.map(|stored| stored.split_once(':').unwrap_or(("", stored))) {
        Some(("", next)) => Position {
            offset: None,
            unnamed_below: next.parse().ok(),
        },
        Some((account, next)) if account.parse() == Ok(bot) => Position {
            offset: next.parse().ok(),
            unnamed_below: None,
        },
        Some(_) | None => Position::default(),
    }
}
