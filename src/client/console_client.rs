//! What console, HTTP, MCP, command line and scheduler talk to: submit, query, follow.

use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::BoxStream;

use crate::protocol::enums::Scope;
use crate::protocol::event::{EventFilter, StreamItem};
use crate::protocol::problem::Problem;
use crate::protocol::request::Command;
use crate::protocol::request::{Answer, Envelope, Outcome, Query, Request};

/// Events in order. Ends with an error when the connection is lost (remote) or the engine stops
/// (in process); resubscribe with `after` = the last `seq` seen.
pub type EventStream = BoxStream<'static, Result<StreamItem, Problem>>;

/// The engine as every surface sees it, in process or remote.
#[async_trait]
pub trait ConsoleClient: Send + Sync {
    /// Carries out a command. Returns once the change is durable, not once its work is done.
    ///
    /// A remote client ignores `envelope.actor`: the daemon takes the actor from the credential.
    async fn submit(&self, envelope: Envelope) -> Result<Outcome, Problem>;

    /// Answers a question. Callers use `call`, which knows the type of the reply.
    async fn query(&self, query: Query) -> Result<Answer, Problem>;

    /// Follows events. The subscription exists when this returns, so a snapshot taken afterwards
    /// misses nothing.
    async fn events(&self, filter: EventFilter) -> Result<EventStream, Problem>;

    /// What the credential may do, as the daemon said last; none = everything, or not known.
    fn scopes(&self) -> Option<Vec<Scope>> {
        None
    }

    /// Longest wait between two tries to reach it again.
    fn retry_after(&self) -> Duration {
        Duration::from_secs(1)
    }

    /// In words, for the header: `local`, `attached to unix:…`, `attached to http://…`.
    fn description(&self) -> String;
}

impl dyn ConsoleClient + '_ {
    /// Asks, and gives the reply of that question.
    ///
    /// # Errors
    /// What the engine answers, and an answer to another question: a fault of ours, never taken for the reply.
    pub async fn call<R>(&self, request: R) -> Result<R::Reply, Problem>
    where
        R: Request<Wire = Query, Answer = Answer>,
    {
        R::reply(self.query(request.into()).await?)
    }

    /// Carries out a command, and gives what it returns.
    ///
    /// # Errors
    /// What the engine answers, and an answer to another command.
    pub async fn execute<C>(&self, envelope: Envelope<C>) -> Result<C::Reply, Problem>
    where
        C: Request<Wire = Command, Answer = Outcome>,
    {
        C::reply(self.submit(envelope.wire()).await?)
    }
}
