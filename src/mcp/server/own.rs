//! What a principal owns: every lookup by an id goes through here.
//!
//! Nothing is given that belongs to another principal, and nothing tells that it exists.

use std::sync::Arc;

use crate::client::console_client::ConsoleClient;
use crate::mcp::server::principal::Principal;
use crate::protocol::enums::{SessionState, Surface};
use crate::protocol::ids::{ContinuationId, SessionId};
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::request::{
    Command, Envelope, GetContinuation, GetSession, ListSessions, Outcome, Request,
};
use crate::protocol::session::{Continuation, Session};
use crate::protocol::snapshot::{Page, PageRequest};
use crate::protocol::trace_parent::TraceParent;

/// The channel of every session of this surface.
pub const CHANNEL: &str = "mcp";

/// The engine as one principal sees it.
#[derive(Clone)]
pub struct Own {
    /// The engine.
    pub client: Arc<dyn ConsoleClient>,
    /// Who calls.
    pub principal: Principal,
    /// The trace of the caller that its turns are a part of.
    pub trace: Option<TraceParent>,
}

impl Own {
    /// Carries out a command of the principal.
    pub async fn execute<C>(&self, command: C, key: Option<String>) -> Result<C::Reply, Problem>
    where
        C: Request<Wire = Command, Answer = Outcome>,
    {
        let envelope = Envelope {
            command,
            actor: self.principal.actor.clone(),
            surface: Surface::Mcp,
            idempotency_key: key,
            trace: self.trace,
        };
        self.client.execute(envelope).await
    }

    fn owns(&self, channel: &str, conversation: &str) -> bool {
        channel == CHANNEL && conversation.starts_with(&self.principal.prefix())
    }

    /// One of its sessions.
    pub async fn session(&self, id: SessionId) -> Result<Session, Problem> {
        let found = self.client.call(GetSession { id }).await;
        let owns = |found: &Session| self.owns(&found.channel, &found.conversation);
        only(found, owns, || Problem::not_found("session", id))
    }

    /// One of its turns.
    pub async fn turn(&self, id: ContinuationId) -> Result<Continuation, Problem> {
        let found = self.client.call(GetContinuation { id }).await;
        let owns = |found: &Continuation| self.owns(&found.channel, &found.conversation);
        only(found, owns, || Problem::not_found("continuation", id))
    }

    /// Its sessions, those alone whose key goes on like this after its prefix.
    pub async fn sessions(
        &self,
        state: Option<SessionState>,
        key: &str,
        page: PageRequest,
    ) -> Result<Page<Session>, Problem> {
        let query = ListSessions {
            state,
            channel: Some(CHANNEL.to_owned()),
            prefix: Some(self.conversation(key)),
            page,
        };
        self.client.call(query).await
    }

    /// A conversation key of the principal.
    pub fn conversation(&self, key: &str) -> String {
        format!("{}{key}", self.principal.prefix())
    }
}

/// What was found, if the principal owns it. What somebody else owns is as one that is not there.
fn only<T>(
    found: Result<T, Problem>,
    owns: impl FnOnce(&T) -> bool,
    missing: impl FnOnce() -> Problem,
) -> Result<T, Problem> {
    match found {
        Ok(found) if owns(&found) => Ok(found),
        Ok(_) => Err(missing()),
        Err(problem) if problem.kind == ProblemKind::NotFound => Err(missing()),
        Err(problem) => Err(problem),
    }
}
