//! Bearer tokens: made from 256 random bits, and kept as a SHA-256 hash only.
//!
//! Nothing here stores or logs a token's value. A plain hash is enough because the value is random, not a
//! password: there is nothing to guess from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

use crate::clock::Timestamp;
use crate::protocol::enums::Scope;
use crate::protocol::hex::hex;

/// Every token starts with this, so that scanners for leaked secrets can find it.
pub const PREFIX: &str = "lf_";
/// The token of the operator, which is a file of the data directory.
pub const ADMIN: &str = "admin";
/// Longest name of a token, in characters.
pub const MAX_NAME_CHARS: usize = 64;

/// A named token, without its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Token {
    /// Its name.
    pub name: String,
    /// What it may do, at most what the role of its person gives.
    pub scopes: Vec<Scope>,
    /// Whose it is, a name under `[people]`; none = it stands for a program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Label of who made it.
    pub created_by: String,
    /// When it ends; none = never.
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
    /// When it was revoked; none = it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
    /// When it was used last, to the minute; none = never.
    #[serde(default)]
    pub last_used_at: Option<Timestamp>,
}

/// A token that was made just now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NewToken {
    /// The token.
    #[serde(flatten)]
    pub token: Token,
    /// Its value. Nobody can ask for it again.
    pub value: String,
}

/// Why no token could be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the operating system gave no random numbers: {0}")]
pub struct NoRandomness(String);

/// A fresh value: `lf_` and 64 hex digits.
pub fn generate() -> Result<String, NoRandomness> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| NoRandomness(error.to_string()))?;
    Ok(format!("{PREFIX}{}", hex(&bytes)))
}

/// What is kept of a value.
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

/// One known token, as it is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRecord {
    /// Public name.
    pub name: String,
    /// [`hash_token`] of its value.
    pub hash: [u8; 32],
    /// What it may do.
    pub scopes: Vec<Scope>,
    /// Whose it is, a name under `[people]`.
    pub person: Option<String>,
    /// When it ends; none = never.
    pub expires_at: Option<Timestamp>,
}

/// The record of the presented value. Every record is compared whole: the time says nothing about which one came close.
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
