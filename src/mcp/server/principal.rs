//! Whoever calls, and what is counted of each.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Semaphore;

use crate::protocol::command::Actor;
use crate::protocol::ids::SessionId;

/// Calls that one principal has under way at most.
pub const MAX_CALLS: usize = 16;
/// Sessions that one principal has open at most.
pub const MAX_SESSIONS: usize = 32;
/// Longest name of a client, in characters.
const MAX_CLIENT: usize = 64;

/// Who a caller is, from its credential alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The actor of its commands.
    pub actor: Actor,
    /// Which program of this user calls; none = the user did not say.
    client: Option<String>,
}

impl Principal {
    /// The holder of a credential. `client` tells programs of one user apart.
    ///
    /// # Errors
    /// When the name of the client is no name.
    pub fn new(actor: Actor, client: Option<String>) -> Result<Self, String> {
        let is_name = |name: &str| {
            (1..=MAX_CLIENT).contains(&name.len())
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
        };
        match client {
            Some(name) if !is_name(&name) => Err(format!(
                "the name of a client has 1 to {MAX_CLIENT} letters, digits, `.`, `_` or `-`"
            )),
            client => Ok(Self { actor, client }),
        }
    }

    /// How the conversation keys of its sessions begin. No principal's key begins like one of another.
    pub fn prefix(&self) -> String {
        let mut key = match &self.actor {
            Actor::Operator { uid, .. } => format!("operator:{uid}"),
            Actor::Token { name, .. } => format!("token:{}", escaped(name)),
            Actor::Person { platform_id, .. } => format!("person:{}", escaped(platform_id)),
            Actor::Engine => "engine".to_owned(),
        };
        if let Some(client) = &self.client {
            key.push('/');
            key.push_str(client);
        }
        key.push('#');
        key
    }
}

/// A name without the characters that a key is taken apart by.
fn escaped(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"_-.:".contains(&byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02x}");
        }
    }
    text
}

/// What is counted of one principal.
#[derive(Debug)]
pub struct Account {
    /// Calls that it may begin now.
    pub calls: Arc<Semaphore>,
    /// Held while a session is opened, so that the count of them is right.
    pub opening: tokio::sync::Mutex<()>,
    /// The session of its direct calls, as far as this process knows.
    pub direct_calls: Mutex<Option<SessionId>>,
}

/// The accounts of all principals that have called.
#[derive(Debug, Clone, Default)]
pub struct Accounts(Arc<Mutex<HashMap<String, Arc<Account>>>>);

impl Accounts {
    /// The account of one.
    pub fn of(&self, principal: &Principal) -> Arc<Account> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let account = known.entry(principal.prefix()).or_insert_with(|| {
            Arc::new(Account {
                calls: Arc::new(Semaphore::new(MAX_CALLS)),
                opening: tokio::sync::Mutex::new(()),
                direct_calls: Mutex::new(None),
            })
        });
        Arc::clone(account)
    }
}
