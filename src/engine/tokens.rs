//! Whose token was presented, and when it was used. No request reads the database for it.

use crate::clock::Timestamp;
use crate::engine::caller::Caller;
use crate::engine::core::Engine;
use crate::engine::people;
use crate::protocol::command::Actor;
use crate::protocol::enums::{Scope, Surface};
use crate::protocol::problem::Problem;
use crate::protocol::token::{hash_token, matching};
use crate::store::commands::put_token::RecordTokenUse;

/// Characters of the id of a client certificate that name it: `cert:` and 16 digits.
const CERTIFICATE_NAME: usize = 21;

/// Reads the tokens from the database.
pub async fn load(engine: &Engine) -> Result<(), Problem> {
    let _only = engine.tokens.refresh.lock().await;
    let records = engine.read_here(|reader| reader.token_records()).await?;
    engine.tokens.set(records);
    Ok(())
}

impl Engine {
    /// Whose token this is; none = nobody's, it has ended, or its person is not in the configuration any more.
    /// A person's token gives at most what their role gives.
    pub fn token_actor(&self, presented: &str) -> Option<Actor> {
        let now = self.clock.now();
        let records = self.tokens.records();
        let record = matching(&records, presented)?;
        if record.expires_at.is_some_and(|at| at <= now) {
            return None;
        }
        let scopes = match &record.person {
            None => record.scopes.clone(),
            Some(name) => {
                let role = self.settings.people.get(name)?.role;
                let scopes = record.scopes.iter().copied();
                scopes.filter(|scope| people::gives(role, *scope)).collect()
            }
        };
        let actor = Actor::Token {
            name: record.name.clone(),
            scopes,
            person: record.person.clone(),
        };
        self.token_used(record.hash, &actor, now);
        Some(actor)
    }

    /// Whose client certificate this is, by its id `cert:…`; none = nobody's under `[people]`. It gives what the role of
    /// its person gives.
    pub fn certificate_actor(&self, id: &str) -> Option<Actor> {
        let person = people::person(&self.settings, id)?;
        let role = person.settings.role;
        let scopes = Scope::ALL.iter().copied();
        let actor = Actor::Token {
            // No token has a colon in its name.
            name: id.get(..CERTIFICATE_NAME).unwrap_or(id).to_owned(),
            scopes: scopes.filter(|scope| people::gives(role, *scope)).collect(),
            person: Some(person.name.to_owned()),
        };
        self.token_used(hash_token(id), &actor, self.clock.now());
        Some(actor)
    }

    /// Writes down that the token of the operator was used, which is none of the table.
    pub fn operators_token_used(&self, presented: &str, actor: &Actor) {
        self.token_used(hash_token(presented), actor, self.clock.now());
    }

    fn token_used(&self, hash: [u8; 32], actor: &Actor, now: Timestamp) {
        let Some(first) = self.tokens.is_due(hash, now) else {
            return;
        };
        let login = first.then(|| {
            Caller {
                actor: actor.clone(),
                surface: Surface::Http,
                key: None,
                trace: None,
            }
            .reference()
        });
        let engine = self.clone();
        self.spawn(async move {
            let written = RecordTokenUse {
                hash,
                at: now,
                login,
            };
            if let Err(error) = engine.store.write(written).await {
                tracing::warn!(%error, "cannot record the use of a token");
            }
        });
    }
}

/// Whether somebody holds every one of these scopes, so that they may give them on.
pub fn first_missing(actor: &Actor, scopes: &[Scope]) -> Option<Scope> {
    let mut scopes = scopes.iter().copied();
    scopes.find(|scope| !people::has_scope(actor, *scope))
}
