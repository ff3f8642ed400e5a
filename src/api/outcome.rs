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
use crate::protocol::hygiene::HygieneRun;
use crate::protocol::leftovers::Leftovers;
use crate::protocol::memory::MemoryOutcome;
use crate::protocol::models::{Discovery, ModelTest};
use crate::protocol::pairing::Pairing;
use crate::protocol::problem::Problem;
use crate::protocol::request::GetContinuation;
use crate::protocol::routine::RoutineOutcome;
use crate::protocol::rule::RuleOutcome;
use crate::protocol::session::{Continuation, OutboxItem, Session};
use crate::protocol::snapshot::{EngineStatus, SweepReport};

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
        Outcome::Accepted(accepted) => {
            let id = accepted.continuation_id;
            Ok(client.call(GetContinuation { id }).await?)
        }
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
