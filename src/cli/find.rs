//! Finding things by a unique prefix of their id, or an approval by its short code. Several matches are an
//! error that names them, never the first one.

use std::fmt::Display;
use std::str::FromStr;

use crate::cli::exit::{Failure, usage};
use crate::client::console_client::ConsoleClient;
use crate::protocol::approval::Approval;
use crate::protocol::command::Actor;
use crate::protocol::enums::{MemoryState, Surface};
use crate::protocol::ids::{
    ApprovalId, ContinuationId, HygieneRunId, MemoryId, OutboxId, SessionId,
};
use crate::protocol::memory::MemoryFilter;
use crate::protocol::request::{
    Answer, Command, Envelope, GetApproval, ListApprovals, ListContinuations, ListDeliveries,
    ListHygieneRuns, ListMemories, ListSessions, Outcome, Query, Request,
};
use crate::protocol::rule::Rule;
use crate::protocol::snapshot::{Page, PageRequest};
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
    PageRequest::first(Some(LOOKED_AT))
}

/// An id that is written in full, or the only one in the list of `query` that starts so. The command `list` shows it.
async fn by_prefix<T, I, R>(
    client: &dyn ConsoleClient,
    (what, list): (&str, &str),
    text: &str,
    query: R,
    id: fn(&T) -> I,
) -> Result<I, Failure>
where
    I: FromStr + Display + Copy,
    R: Request<Wire = Query, Answer = Answer, Reply = Page<T>>,
{
    if let Ok(id) = text.parse() {
        return Ok(id);
    }
    let found = client.call(query).await?;
    let ids = found.items.iter().map(id);
    let matching = ids.filter(|id| starts(id, text)).collect();
    one((what, list), text, matching, |id| *id)
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
    let kind = ("approval", "approvals list");
    let found = one(kind, text, matching, |approval: &Approval| approval.id)?;
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
    let query = ListContinuations {
        state: None,
        session_id: None,
        page: page(),
    };
    let kind = ("continuation", "continuations list");
    by_prefix(client, kind, text, query, |turn| turn.id).await
}

/// A session's id by unique prefix.
pub async fn session(client: &dyn ConsoleClient, text: &str) -> Result<SessionId, Failure> {
    let query = ListSessions {
        state: None,
        channel: None,
        prefix: None,
        page: page(),
    };
    let kind = ("session", "sessions list");
    by_prefix(client, kind, text, query, |session| session.id).await
}

/// A delivery's id by unique prefix.
pub async fn delivery(client: &dyn ConsoleClient, text: &str) -> Result<OutboxId, Failure> {
    let query = ListDeliveries {
        state: None,
        page: page(),
    };
    let kind = ("delivery", "outbox list");
    by_prefix(client, kind, text, query, |item| item.id).await
}

/// A run of hygiene by unique prefix.
pub async fn hygiene_run(client: &dyn ConsoleClient, text: &str) -> Result<HygieneRunId, Failure> {
    let query = ListHygieneRuns { page: page() };
    let kind = ("run", "memory hygiene --runs");
    by_prefix(client, kind, text, query, |run| run.id).await
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
    one(("memory", "memory list"), text, matching, |id| *id)
}

/// A rule by a beginning of its id.
pub fn rule(text: &str, rules: Vec<Rule>) -> Result<Rule, Failure> {
    let matching = rules
        .into_iter()
        .filter(|rule| starts(rule.id, text))
        .collect();
    one(("rule", "rules list"), text, matching, |rule| rule.id)
}

/// Whether an id starts with what was typed, with or without its kind's prefix.
pub fn starts(id: impl Display, text: &str) -> bool {
    let id = id.to_string().to_ascii_lowercase();
    let text = text.to_ascii_lowercase();
    let bare = id.split_once('_').map_or("", |(_, bare)| bare);
    // `con_` alone is a prefix of everything and names nothing.
    !text.is_empty() && !text.ends_with('_') && (id.starts_with(&text) || bare.starts_with(&text))
}

fn one<T, I: Display>(
    (what, list): (&str, &str),
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
        return Err(usage!(
            "`{shown}` fits more than one {what}: {}",
            ids.join(", ")
        ));
    }
    matching
        .pop()
        .ok_or_else(|| usage!("no {what} starts with `{shown}`; `leverframe {list}` shows them"))
}
