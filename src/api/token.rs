//! Whose token was presented.

use crate::protocol::command::Actor;
use crate::protocol::token::{TokenRecord, matching};

/// Answers whose token was presented.
pub trait TokenVerifier: Send + Sync {
    /// The actor of the presented token, or none when no token has that value. Must compare values (hashes)
    /// in constant time. Called again while a stream is open, so a revoked token ends its streams.
    fn verify(&self, presented: &str) -> Option<Actor>;

    /// The actor whose client certificate has this id (`cert:…`), or none when it is nobody's. Called again while a
    /// stream is open, too.
    fn certificate(&self, id: &str) -> Option<Actor>;
}

/// A fixed list of tokens, none of which ends.
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
        let record = matching(&self.records, presented)?;
        Some(Actor::Token {
            name: record.name.clone(),
            scopes: record.scopes.clone(),
            person: record.person.clone(),
        })
    }

    fn certificate(&self, _id: &str) -> Option<Actor> {
        None
    }
}
