//! The position of an account in its syncs: the channel's cursor.
//!
//! It belongs to the user, not to the device: a new token in place of a revoked one loses no message. A position of
//! another user counts for nothing.

/// The cursor after a batch that this user got.
pub fn cursor(user: &str, token: &str) -> String {
    format!("{user} {token}")
}

/// The token from which this user goes on; none = nothing is known of this user.
pub fn since(stored: Option<&str>, user: &str) -> Option<String> {
    let (owner, token) = stored?.split_once(' ')?;
    (owner == user && !token.is_empty()).then(|| token.to_owned())
}
