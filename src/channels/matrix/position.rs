//! Where an account is in what came to it: the channel's cursor.
//!
//! It belongs to the user, not to the device: who replaces a revoked token loses nothing that was written meanwhile.
//! A position of another user counts for nothing.

/// The cursor after a batch that this user got.
pub fn cursor(user: &str, token: &str) -> String {
    format!("{user} {token}")
}

/// The token from which this user goes on; none = nothing is known of this user.
pub fn since(stored: Option<&str>, user: &str) -> Option<String> {
    let (owner, token) = stored?.split_once(' ')?;
    (owner == user && !token.is_empty()).then(|| token.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_counts_for_its_own_user_only() {
        let own = cursor("@bot:example.org", "s12_3");
        assert_eq!(
            since(Some(&own), "@bot:example.org").as_deref(),
            Some("s12_3")
        );
        assert_eq!(since(Some(&own), "@bot:other.example"), None);
        assert_eq!(since(None, "@bot:example.org"), None);
        assert_eq!(since(Some("@bot:example.org "), "@bot:example.org"), None);
        assert_eq!(since(Some("42:7"), "@bot:example.org"), None);
    }
}
