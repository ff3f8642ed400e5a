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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_counts_for_its_own_bot_only() {
        let own = cursor(7, 42);
        assert_eq!(position(Some(&own), 7).offset, Some(42));
        assert_eq!(position(Some(&own), 8), Position::default());
        assert_eq!(position(None, 7), Position::default());
        assert_eq!(position(Some("7:nonsense"), 7), Position::default());
    }

    #[test]
    fn a_cursor_without_a_bot_confirms_nothing() {
        let old = position(Some("700000001"), 7);
        assert_eq!(old.offset, None);
        assert_eq!(old.unnamed_below, Some(700_000_001));
    }
}
