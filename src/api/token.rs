//! Bearer tokens: made from 256 random bits, kept only as a SHA-256 hash.
//!
//! Nothing here stores or logs a token's value. A plain hash is enough because the value is random, not a
//! password: there is nothing to guess from.

use sha2::{Digest, Sha256};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

use crate::protocol::command::Actor;
use crate::protocol::enums::Scope;
use crate::protocol::hex::hex;

/// Every token starts with this, so that scanners for leaked secrets can find it.
pub const PREFIX: &str = "lf_";

/// Answers whose token was presented.
pub trait TokenVerifier: Send + Sync {
    /// The actor of the presented token, or none when no token has that value. Must compare values (hashes)
    /// in constant time. Called again while a stream is open, so a revoked token ends its streams.
    fn verify(&self, presented: &str) -> Option<Actor>;
}

/// Why no token could be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the operating system gave no random numbers: {0}")]
pub struct NoRandomness(String);

/// A fresh token: `lf_` and 64 hex digits.
pub fn generate() -> Result<String, NoRandomness> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| NoRandomness(error.to_string()))?;
    Ok(format!("{PREFIX}{}", hex(&bytes)))
}

/// What is kept of a token.
pub fn hash_token(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// One known token.
#[derive(Debug, Clone)]
pub struct TokenRecord {
    /// Public name.
    pub name: String,
    /// [`hash_token`] of its value.
    pub hash: [u8; 32],
    /// What it may do.
    pub scopes: Vec<Scope>,
}

/// A fixed list of tokens.
#[derive(Debug, Clone, Default)]
pub struct StaticTokens {
    records: Vec<TokenRecord>,
}

impl StaticTokens {
    /// A verifier over these records.
    pub fn new(records: Vec<TokenRecord>) -> Self {
        Self { records }
    }
}

impl TokenVerifier for StaticTokens {
    fn verify(&self, presented: &str) -> Option<Actor> {
        let hash = hash_token(presented);
        // Every record is compared whole: the time says nothing about which one came close.
        let mut found = Choice::from(0);
        let mut index = 0_u64;
        for (at, record) in (0_u64..).zip(&self.records) {
            let equal = record.hash.ct_eq(&hash);
            index = u64::conditional_select(&index, &at, equal);
            found |= equal;
        }
        if !bool::from(found) {
            return None;
        }
        let record = self.records.get(usize::try_from(index).ok()?)?;
        Some(Actor::Token {
            name: record.name.clone(),
            scopes: record.scopes.clone(),
        })
    }
}
