//! Finding things by a unique prefix of their id, or an approval by its short code. Several matches are an
//! error that names them, never the first one.

use std::fmt::Display;
use std::str::FromStr;

use crate::cli::exit::Failure;
use crate::client::console_client::ConsoleClient;
use crate::protocol::approval::Approval;
use crate::protocol::command::Actor;
use crate::protocol::enums::{MemoryState, Surface};
use crate::protocol::ids::{
    ApprovalId, ContinuationId, HygieneRunId, MemoryId, OutboxId, SessionId,
};
use crate::protocol::memory::MemoryFilter;
use crate::protocol::request::{
    Command, Envelope, GetApproval, ListApprovals, ListContinuations, ListDeliveries,
    ListHygieneRuns, ListMemories, ListSessions, Outcome, Request,
};
use crate::protocol::rule::Rule;
use crate::protocol::snapshot::PageRequest;
use crate::text::untrusted::limit_line;

/// How many entries are looked through for a prefix.
const LOOKED_AT: u32 = 500;

/// A command of the person at this command line.
pub fn envelope<C>(command: C, idempotency_key: Option<String>) -> Envelope<C> {
    let uid = rustix::process::getuid().as_raw();
    Envelope {
        command,
        actor: Actor::Operator {
            uid,
            name: uid.to_string(),
            person: None,
        },
        surface: Surface::Cli,
        idempotency_key,
        trace: None,
    }
}

/// Submits a command of the person at this command line.
pub async fn submit<C>(client: &dyn ConsoleClient, command: C) -> Result<C::Reply, Failure>
where
    C: Request<Wire = Command, Answer = Outcome>,
{
    Ok(client.execute(envelope(command, None)).await?)
}

fn page() -> PageRequest {
    PageRequest {
        limit: Some(LOOKED_AT),
        cursor: None,
    }
}

/// An approval by id, unique prefix of it, or short code.
pub async fn approval(client: &dyn ConsoleClient, text: &str) -> Result<Approval, Failure> {
    if let Ok(id) = text.parse::<ApprovalId>() {
        let approval = client.call(GetApproval { id }).await?;
        return Ok(approval);
    }
    let query = ListApprovals {
        state: None,
        page: page(),
    };
    let found = client.call(query).await?;
    let matching = found
        .items
        .into_iter()
        .filter(|approval| {
            approval.short_code.eq_ignore_ascii_case(text) || starts(approval.id, text)
        })
        .collect();
    let found = one("approval", text, matching, |approval: &Approval| {
        approval.id
    })?;
    if !found.shortened {
        return Ok(found);
    }
    let id = found.id;
    Ok(client.call(GetApproval { id }).await?)
}

/// A continuation's id by unique prefix.
pub async fn continuation(
    client: &dyn ConsoleClient,
    text: &str,
) -> Result<ContinuationId, Failure> {
    if let Ok(id) = ContinuationId::from_str(text) {
        return Ok(id);
    }
    let query = ListContinuations {
        state: None,
        session_id: None,
        page: page(),
    };
    let found = client.call(query).await?;
    let matching: Vec<ContinuationId> = found
        .items
        .into_iter()
        .map(|continuation| continuation.id)
        .filter(|id| starts(id, text))
        .collect();
    one("continuation", text, matching, |id| *id)
}

/// A session's id by unique prefix.
pub async fn session(client: &dyn ConsoleClient, text: &str) -> Result<SessionId, Failure> {
    if let Ok(id) = SessionId::from_str(text) {
        return Ok(id);
    }
    let query = ListSessions {
        state: None,
        channel: None,
        prefix: None,
        page: page(),
    };
    let found = client.call(query).await?;
    let matching: Vec<SessionId> = found
        .items
        .into_iter()
        .map(|session| session.id)
        .filter(|id| starts(id, text))
        .collect();
    one("session", text, matching, |id| *id)
}

/// A delivery's id by unique prefix.
pub async fn delivery(client: &dyn ConsoleClient, text: &str) -> Result<OutboxId, Failure> {
    if let Ok(id) = OutboxId::from_str(text) {
        return Ok(id);
    }
    let query = ListDeliveries {
        state: None,
        page: page(),
    };
    let found = client.call(query).await?;
    let matching: Vec<OutboxId> = found
        .items
        .into_iter()
        .map(|item| item.id)
        .filter(|id| starts(id, text))
        .collect();
    if matching.is_empty() {
        return Err(Failure::Usage(format!(
            "no delivery starts with `{}`; `leverframe outbox list` shows them",
            limit_line(text, 64)
        )));
    }
    one("delivery", text, matching, |id| *id)
}

/// A run of hygiene by unique prefix.
pub async fn hygiene_run(client: &dyn ConsoleClient, text: &str) -> Result<HygieneRunId, Failure> {
    if let Ok(id) = HygieneRunId::from_str(text) {
        return Ok(id);
    }
    let query = ListHygieneRuns { page: page() };
    let found = client.call(query).await?;
    let ids = found.items.into_iter().map(|run| run.id);
    let matching: Vec<HygieneRunId> = ids.filter(|id| starts(id, text)).collect();
    if matching.is_empty() {
        return Err(Failure::Usage(format!(
            "no run starts with `{}`; `leverframe memory hygiene --runs` shows them",
            limit_line(text, 64)
        )));
    }
    one("run", text, matching, |id| *id)
}

/// A memory's id by unique prefix.
pub async fn memory(client: &dyn ConsoleClient, text: &str) -> Result<MemoryId, Failure> {
    if let Ok(id) = MemoryId::from_str(text) {
        return Ok(id);
    }
    let mut matching: Vec<MemoryId> = Vec::new();
    for state in MemoryState::ALL {
        let query = ListMemories {
            filter: MemoryFilter {
                state: Some(*state),
                ..MemoryFilter::default()
            },
            page: page(),
        };
        let found = client.call(query).await?;
        let ids = found.items.into_iter().map(|memory| memory.id);
        matching.extend(ids.filter(|id| starts(id, text)));
    }
    if matching.is_empty() {
        return Err(Failure::Usage(format!(
            "no memory starts with `{}`; `leverframe memory list` shows them",
            limit_line(text, 64)
        )));
    }
    one("memory", text, matching, |id| *id)
}

/// A rule by a beginning of its id.
pub fn rule(text: &str, rules: Vec<Rule>) -> Result<Rule, Failure> {
    let matching = rules
        .into_iter()
        .filter(|rule| starts(rule.id, text))
        .collect();
    one("rule", text, matching, |rule| rule.id)
}

/// Whether an id starts with what was typed, with or without its kind's prefix.
fn starts(id: impl Display, text: &str) -> bool {
    let id = id.to_string().to_ascii_lowercase();
    let text = text.to_ascii_lowercase();
    let bare = id.split_once('_').map_or("", |(_, bare)| bare);
    // `con_` alone is a prefix of everything and names nothing.
    !text.is_empty() && !text.ends_with('_') && (id.starts_with(&text) || bare.starts_with(&text))
}

fn one<T, I: Display>(
    what: &str,
    text: &str,
    mut matching: Vec<T>,
    id: impl Fn(&T) -> I,
) -> Result<T, Failure> {
    let shown = limit_line(text, 64);
    if matching.len() > 1 {
        let ids: Vec<String> = matching
            .iter()
            .take(5)
            .map(|item| id(item).to_string())
            .collect();
        return Err(Failure::Usage(format!(
            "`{shown}` fits more than one {what}: {}",
            ids.join(", ")
        )));
    }
    matching.pop().ok_or_else(|| {
        Failure::Usage(format!(
            "no {what} starts with `{shown}`; `leverframe {what}s list` shows them"
        ))
    })
}
