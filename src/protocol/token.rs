//! Bearer tokens: 256 random bits each, stored only as a SHA-256 hash.
//!
//! Nothing here stores or logs a token's value. The value is random and not a password, so a plain
//! hash is enough: nobody can guess it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

use crate::clock::Timestamp;
use crate::protocol::enums::Scope;
use crate::protocol::hex::hex;

/// Prefix of every token, so that scanners for leaked secrets find it.
pub const PREFIX: &str = "lf_";
/// The operator's token, a file in the data directory.
pub const ADMIN: &str = "admin";
/// Longest name of a token, in characters.
pub const MAX_NAME_CHARS: usize = 64;

/// A named token, without its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Token {
    /// Name of the token.
    pub name: String,
    /// Scopes of the token, at most those of its owner's role.
    pub scopes: Vec<Scope>,
    /// Owner, a name under `[people]`; none = a program uses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
    /// When it was created.
    pub created_at: Timestamp,
    /// Label of who created it.
    pub created_by: String,
    /// When it ends; none = never.
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
    /// When it was revoked; none = it is not revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
    /// When it was last used, to the minute; none = never.
    #[serde(default)]
    pub last_used_at: Option<Timestamp>,
}

/// A new token with its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NewToken {
    /// The token.
    #[serde(flatten)]
    pub token: Token,
    /// The value. Only this answer contains it.
    pub value: String,
}

/// Error: the operating system gave no random numbers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the operating system gave no random numbers: {0}")]
pub struct NoRandomness(String);

/// Generates a value: `lf_` and 64 hex digits.
pub fn generate() -> Result<String, NoRandomness> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| NoRandomness(error.to_string()))?;
    Ok(format!("{PREFIX}{}", hex(&bytes)))
}

/// The stored hash of a value.
pub fn hash_token(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// Whether a token can have this name.
pub fn is_token_name(name: &str) -> bool {
    (1..=MAX_NAME_CHARS).contains(&name.len())
        && name != ADMIN
        && !name.starts_with('.')
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
}

/// A known token in the form for comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRecord {
    /// Public name.
    pub name: String,
    /// [`hash_token`] of its value.
    pub hash: [u8; 32],
    /// Scopes of the token.
    pub scopes: Vec<Scope>,
    /// Owner, a name under `[people]`; none = a program uses it.
    pub person: Option<String>,
    /// When it ends; none = never.
    pub expires_at: Option<Timestamp>,
}

/// Finds the record of a presented value. It compares with every record in full, so the time
/// reveals nothing.
pub fn matching<'r>(records: &'r [TokenRecord], presented: &str) -> Option<&'r TokenRecord> {
    let hash = hash_token(presented);
    let mut found = Choice::from(0);
    let mut index = 0_u64;
    for (at, record) in (0_u64..).zip(records) {
        let equal = record.hash.ct_eq(&hash);
        index = u64::conditional_select(&index, &at, equal);
        found |= equal;
    }
    if !bool::from(found) {
        return None;
    }
    records.get(usize::try_from(index).ok()?)
}
