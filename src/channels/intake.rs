//! One inbound item, durable before anybody acknowledges it.
//!
//! No item that cannot be stored blocks those behind it: it is recorded as skipped and shown.

use crate::channels::health::HealthLog;
use crate::client::channel_port::ChannelPort;
use crate::protocol::bridge::{Inbound, InboundBody, Ingestion};
use crate::protocol::problem::{Problem, ProblemKind};

/// The key of an item of this account. Keys belong to the account on the platform, not to the channel: when a channel
/// gets another bot, numbers start again.
pub fn key(account: &str, item: &str) -> String {
    format!("{account}:{item}")
}

/// An item that is only recorded, so that the position moves: what happened, in a few words.
pub fn event(
    dedupe_key: String,
    conversation: impl Into<String>,
    what: impl Into<String>,
) -> Inbound {
    Inbound {
        dedupe_key,
        cursor: None,
        conversation: conversation.into(),
        conversation_title: None,
        sender: None,
        body: other(what),
        message_ref: None,
    }
}

/// What nobody handles, in a few words.
pub fn other(what: impl Into<String>) -> InboundBody {
    InboundBody::Other { what: what.into() }
}

/// Takes in an item under a key of the account; the caller's key names only the item. `Some` = it is durable. `None` = it
/// can never be taken in; the log and the channel's health say so, and it may be acknowledged.
///
/// # Errors
/// The store cannot take it now: it is not stored, may come again, and must not be acknowledged.
pub async fn take_in(
    port: &dyn ChannelPort,
    health: &HealthLog,
    account: &str,
    inbound: Inbound,
) -> Result<Option<Ingestion>, Problem> {
    let item = inbound.dedupe_key.clone();
    let named = Inbound {
        dedupe_key: key(account, &item),
        ..inbound
    };
    let problem = match ingest(port, &named).await {
        Ok(ingested) => return Ok(Some(ingested)),
        Err(problem) if is_transient(problem.kind) => return Err(problem),
        Err(problem) => problem,
    };
    tracing::error!(key = %named.dedupe_key, %problem, "cannot store an inbound item; skipping it");
    health.skipped(format!("{item}: {problem}"));
    let skipped = Inbound {
        dedupe_key: key(account, &format!("skipped:{item}")),
        body: other(format!("could not be stored: {}", problem.title)),
        ..named
    };
    match port.ingest(skipped).await {
        Ok(ingested) => Ok(Some(ingested)),
        // The store fails, and not this item.
        Err(problem) if is_transient(problem.kind) || problem.kind == ProblemKind::Internal => {
            Err(problem)
        }
        // Not even the record is taken, and never will be: the log and the health have it.
        Err(_) => Ok(None),
    }
}

/// Ingests an item; once more where the fault is ours, because it may be over.
async fn ingest(port: &dyn ChannelPort, inbound: &Inbound) -> Result<Ingestion, Problem> {
    match port.ingest(inbound.clone()).await {
        Err(problem) if problem.kind == ProblemKind::Internal => port.ingest(inbound.clone()).await,
        result => result,
    }
}

/// Whether the same item may be taken in later.
pub fn is_transient(kind: ProblemKind) -> bool {
    match kind {
        ProblemKind::Unavailable | ProblemKind::TooMany => true,
        ProblemKind::Invalid
        | ProblemKind::Unauthenticated
        | ProblemKind::Forbidden
        | ProblemKind::NotFound
        | ProblemKind::Conflict
        | ProblemKind::Gone
        | ProblemKind::NotOffered
        | ProblemKind::Internal => false,
    }
}
