//! Taking the expected variant out of an outcome or answer. A different one is a fault of ours, never shown
//! as something it is not.

use crate::api::error::Refusal;
use crate::client::console_client::ConsoleClient;
use crate::protocol::approval::Approval;
use crate::protocol::backup::BackupReport;
use crate::protocol::cache::{CacheEntry, CachePurged};
use crate::protocol::channel::Channel;
use crate::protocol::command::{Accepted, Envelope, Outcome};
use crate::protocol::duty::Duty;
use crate::protocol::hook::HookOutcome;
use crate::protocol::hygiene::{HygieneAnswer, HygieneRun};
use crate::protocol::ids::ContinuationId;
use crate::protocol::leftovers::Leftovers;
use crate::protocol::memory::{MemoryAnswer, MemoryOutcome};
use crate::protocol::models::{Discovery, ModelTest};
use crate::protocol::pairing::Pairing;
use crate::protocol::problem::Problem;
use crate::protocol::routine::{RoutineAnswer, RoutineOutcome};
use crate::protocol::rule::{RuleAnswer, RuleOutcome};
use crate::protocol::session::{Continuation, OutboxItem, Session};
use crate::protocol::snapshot::{Answer, EngineStatus, Page, Query, SweepReport};

macro_rules! expect_outcome {
    ($name:ident, $variant:ident, $type:ty, $what:literal) => {
        #[doc = concat!("Submits a command whose outcome is ", $what, ".")]
        pub async fn $name(
            client: &dyn ConsoleClient,
            envelope: Envelope,
        ) -> Result<$type, Refusal> {
            let outcome = client.submit(envelope).await?;
            if let Outcome::$variant(value) = outcome {
                return Ok(value);
            }
            Err(unexpected($what, outcome_name(&outcome)))
        }
    };
}

expect_outcome!(accepted, Accepted, Accepted, "an acceptance");
expect_outcome!(session, Session, Session, "a session");
expect_outcome!(approval, Approval, Approval, "an approval");
expect_outcome!(channel, Channel, Channel, "a channel");
expect_outcome!(delivery, Delivery, OutboxItem, "a delivery");
expect_outcome!(engine, Engine, EngineStatus, "the engine");
expect_outcome!(backup, Backup, BackupReport, "a backup");
expect_outcome!(swept, Swept, SweepReport, "what was swept");
expect_outcome!(model_test, ModelTest, ModelTest, "a test of a model");
expect_outcome!(cache_entry, CacheEntry, CacheEntry, "a kept answer");
expect_outcome!(cache_purged, CachePurged, CachePurged, "what was forgotten");
expect_outcome!(
    memory,
    Memory,
    MemoryOutcome,
    "what came of a command to memory"
);
expect_outcome!(hygiene, Hygiene, HygieneRun, "a run of hygiene");
expect_outcome!(hook, Hook, HookOutcome, "what came of a command to a hook");
expect_outcome!(
    routine,
    Routine,
    RoutineOutcome,
    "what came of a command to a routine"
);
expect_outcome!(rule, Rule, RuleOutcome, "what came of a command to a rule");
expect_outcome!(pairing, Pairing, Pairing, "a pairing");
expect_outcome!(duty, Duty, Box<Duty>, "who is on call");
expect_outcome!(leftovers, Leftovers, Box<Leftovers>, "what a run left");
expect_outcome!(discovery, Discovery, Discovery, "a look for model servers");

/// Submits a command after which a continuation is shown: the one it names, or the new one it started.
pub async fn continuation(
    client: &dyn ConsoleClient,
    envelope: Envelope,
) -> Result<Continuation, Refusal> {
    match client.submit(envelope).await? {
        Outcome::Continuation(value) => Ok(value),
        Outcome::Accepted(accepted) => read_continuation(client, accepted.continuation_id).await,
        other @ (Outcome::Session(_)
        | Outcome::Approval(_)
        | Outcome::Channel(_)
        | Outcome::Delivery(_)
        | Outcome::Engine(_)
        | Outcome::Backup(_)
        | Outcome::Swept(_)
        | Outcome::ModelTest(_)
        | Outcome::CacheEntry(_)
        | Outcome::CachePurged(_)
        | Outcome::Memory(_)
        | Outcome::Hygiene(_)
        | Outcome::Hook(_)
        | Outcome::Routine(_)
        | Outcome::Discovery(_)
        | Outcome::Rule(_)
        | Outcome::Pairing(_)
        | Outcome::Duty(_)
        | Outcome::Leftovers(_)) => Err(unexpected("a continuation", outcome_name(&other))),
    }
}

/// Reads one continuation.
pub async fn read_continuation(
    client: &dyn ConsoleClient,
    id: ContinuationId,
) -> Result<Continuation, Refusal> {
    match client.query(Query::Continuation { id }).await? {
        Answer::Continuation(continuation) => Ok(*continuation),
        other => Err(unexpected("a continuation", answer_name(&other))),
    }
}

/// A refusal for an answer of the wrong variant.
pub fn unexpected(expected: &str, got: &str) -> Refusal {
    Problem::internal(format!("expected {expected} from the engine, got {got}")).into()
}

fn outcome_name(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Accepted(_) => "an acceptance",
        Outcome::Session(_) => "a session",
        Outcome::Continuation(_) => "a continuation",
        Outcome::Approval(_) => "an approval",
        Outcome::Channel(_) => "a channel",
        Outcome::Delivery(_) => "a delivery",
        Outcome::Engine(_) => "the engine",
        Outcome::Backup(_) => "a backup",
        Outcome::Swept(_) => "what was swept",
        Outcome::ModelTest(_) => "a test of a model",
        Outcome::CacheEntry(_) => "a kept answer",
        Outcome::CachePurged(_) => "what was forgotten",
        Outcome::Memory(_) => "what came of a command to memory",
        Outcome::Hygiene(_) => "a run of hygiene",
        Outcome::Hook(_) => "what came of a command to a hook",
        Outcome::Routine(_) => "what came of a command to a routine",
        Outcome::Discovery(_) => "a look for model servers",
        Outcome::Rule(_) => "what came of a command to a rule",
        Outcome::Pairing(_) => "a pairing",
        Outcome::Duty(_) => "who is on call",
        Outcome::Leftovers(_) => "what a run left",
    }
}

/// The variant of an answer, in words.
pub fn answer_name(answer: &Answer) -> &'static str {
    match answer {
        Answer::Snapshot(_) => "a snapshot",
        Answer::Engine(_) => "the engine",
        Answer::Sessions(_) => "sessions",
        Answer::Session(_) => "a session",
        Answer::Transcript(_) => "a transcript",
        Answer::Continuations(_) => "continuations",
        Answer::Continuation(_) => "a continuation",
        Answer::Steps(_) => "steps",
        Answer::Approvals(_) => "approvals",
        Answer::Approval(_) => "an approval",
        Answer::Channels(_) => "channels",
        Answer::Channel(_) => "a channel",
        Answer::WhatIf(_) => "a what-if",
        Answer::Outbox(_) => "deliveries",
        Answer::Delivery(_) => "a delivery",
        Answer::Why(_) => "an explanation",
        Answer::Uncertain(_) => "what is uncertain",
        Answer::Artifact(_) => "an artifact",
        Answer::Doctor(_) => "a diagnosis",
        Answer::Audit(_) => "rows of the audit",
        Answer::AuditVerify(_) => "a walk of the audit",
        Answer::Models(_) => "models",
        Answer::Cache(_) => "the response cache",
        Answer::CacheEntries(_) => "kept answers",
        Answer::CacheEntry(_) => "a kept answer",
        Answer::Costs(_) => "costs",
        Answer::Memory(_) => "memory",
        Answer::Hygiene(_) => "hygiene",
        Answer::Hooks(_) => "hooks",
        Answer::Routines(_) => "routines",
        Answer::Rules(_) => "rules",
        Answer::Summary(_) => "a summary",
        Answer::Pairings(_) => "pairings",
        Answer::Duty(_) => "who is on call",
        Answer::Leftovers(_) => "what runs left",
    }
}

/// Asks and answers with the value inside, whichever it is: the query decides.
pub async fn answer_json(
    client: &dyn ConsoleClient,
    query: Query,
) -> Result<axum::response::Response, Refusal> {
    use crate::api::error::json;
    let ok = axum::http::StatusCode::OK;
    match client.query(query).await? {
        Answer::Snapshot(value) => json(ok, &value),
        Answer::Engine(value) => json(ok, &value),
        Answer::Sessions(value) => json(ok, &value),
        Answer::Session(value) => json(ok, &value),
        Answer::Transcript(value) => json(ok, &value),
        Answer::Continuations(value) => json(ok, &value),
        Answer::Continuation(value) => json(ok, &value),
        Answer::Steps(value) => json(ok, &value),
        Answer::Approvals(value) => json(ok, &value),
        Answer::Approval(value) => json(ok, &value),
        Answer::Channels(value) => json(ok, &value),
        Answer::Channel(value) => json(ok, &value),
        Answer::WhatIf(value) => json(ok, &value),
        Answer::Outbox(value) => json(ok, &value),
        Answer::Delivery(value) => json(ok, &value),
        Answer::Why(value) => json(ok, &value),
        Answer::Uncertain(value) => json(ok, &value),
        Answer::Artifact(value) => json(ok, &value),
        Answer::Doctor(value) => json(ok, &value),
        Answer::Audit(value) => json(ok, &value),
        Answer::AuditVerify(value) => json(ok, &value),
        Answer::Models(value) => json(ok, &value),
        Answer::Cache(value) => json(ok, &value),
        Answer::CacheEntries(value) => json(ok, &value),
        Answer::CacheEntry(value) => json(ok, &value),
        Answer::Costs(value) => json(ok, &value),
        Answer::Summary(value) => json(ok, &value),
        Answer::Pairings(value) => json(ok, &value),
        Answer::Duty(value) => json(ok, &value),
        Answer::Leftovers(value) => json(ok, &value),
        Answer::Memory(answer) => match answer {
            MemoryAnswer::Stats(value) => json(ok, &value),
            MemoryAnswer::List(value) => json(ok, &value),
            MemoryAnswer::Search(value) => json(ok, &value),
            MemoryAnswer::One(value) => json(ok, &value),
            MemoryAnswer::Review(value) => json(ok, &value),
            MemoryAnswer::Summary(value) => json(ok, &value),
            MemoryAnswer::Compactions(value) => json(ok, &value),
            MemoryAnswer::ForgetPreview(value) => json(ok, &value),
        },
        Answer::Hygiene(answer) => match answer {
            HygieneAnswer::Status(value) => json(ok, &value),
            HygieneAnswer::Preview(value) => json(ok, &value),
            HygieneAnswer::Runs(value) => json(ok, &value),
        },
        Answer::Hooks(value) => json(ok, &value),
        Answer::Routines(answer) => match answer {
            RoutineAnswer::List(value) => json(ok, &value),
            RoutineAnswer::One(value) => json(ok, &value),
            RoutineAnswer::Runs(value) => json(ok, &value),
            RoutineAnswer::Upcoming(items) => json(ok, &whole(items)),
        },
        Answer::Rules(answer) => match answer {
            RuleAnswer::List(value) => json(ok, &value),
            RuleAnswer::One(value) => json(ok, &value),
            RuleAnswer::Grants(value) => json(ok, &value),
            RuleAnswer::Matches(value) => json(ok, &value),
            RuleAnswer::Test(value) => json(ok, &value),
        },
    }
}

/// A list that has no further page.
fn whole<T>(items: Vec<T>) -> Page<T> {
    Page {
        items,
        next_cursor: None,
    }
}
