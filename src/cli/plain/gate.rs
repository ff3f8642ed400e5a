//! The one way of this console to the engine: who sits here acts, and what the console may not do is
//! refused before it is sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;

use crate::client::console_client::{ConsoleClient, EventStream};
use crate::console::access::Access;
use crate::protocol::command::Actor;
use crate::protocol::enums::{Scope, Surface};
use crate::protocol::event::EventFilter;
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::request::{Answer, Command, Envelope, Outcome, Query};

/// The engine, as far as this console may use it.
pub struct Gate {
    inner: Arc<dyn ConsoleClient>,
    actor: Actor,
    access: Access,
    locked: AtomicBool,
}

impl Gate {
    /// For who sits here.
    pub fn new(inner: Arc<dyn ConsoleClient>, actor: Actor, access: Access) -> Self {
        Self {
            inner,
            actor,
            access,
            locked: AtomicBool::new(false),
        }
    }

    /// Locks or unlocks.
    pub fn lock(&self, locked: bool) {
        self.locked.store(locked, Ordering::SeqCst);
    }

    fn refusal(&self, command: &Command) -> Option<&'static str> {
        if self.access == Access::ReadOnly {
            return Some("read-only console (--read-only)");
        }
        // As in the full console: the lock is against accidents, and stopping is never one.
        let stops = matches!(command, Command::EmergencyStop(_));
        (self.locked.load(Ordering::SeqCst) && !stops).then_some("locked (`unlock` unlocks)")
    }
}

#[async_trait]
impl ConsoleClient for Gate {
    async fn submit(&self, envelope: Envelope) -> Result<Outcome, Problem> {
        if let Some(why) = self.refusal(&envelope.command) {
            return Err(Problem::new(ProblemKind::Forbidden, "not sent", why));
        }
        let envelope = Envelope {
            actor: self.actor.clone(),
            surface: Surface::Console,
            ..envelope
        };
        self.inner.submit(envelope).await
    }

    async fn query(&self, query: Query) -> Result<Answer, Problem> {
        self.inner.query(query).await
    }

    async fn events(&self, filter: EventFilter) -> Result<EventStream, Problem> {
        self.inner.events(filter).await
    }

    fn scopes(&self) -> Option<Vec<Scope>> {
        self.inner.scopes()
    }

    fn description(&self) -> String {
        self.inner.description()
    }
}
