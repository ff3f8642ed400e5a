//! The one gate: every command of every surface passes here, and only here scopes and policy are checked.
//!
//! Commands return once their change is durable; the work they start goes on by itself.

use crate::engine::core::Engine;
use crate::engine::people;
use crate::engine::sweeper;
use crate::protocol::command::{Actor, Command, Envelope, Outcome};
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::words::Surface;
use crate::store::input::ActorRef;

pub mod backup;
pub mod cache;
pub mod channels;
pub mod continuations;
pub mod decide;
pub mod deliveries;
pub mod duty;
pub mod edit;
pub mod emergency;
pub mod hooks;
pub mod hygiene;
pub mod leftovers;
pub mod memory;
pub mod messages;
pub mod models;
pub mod pairings;
pub mod policy;
pub mod routines;
pub mod rules;
pub mod sessions;
pub mod take_over;
pub mod unused_rules;

/// Who acts and from where, as commands need it.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Who.
    pub actor: Actor,
    /// Where.
    pub surface: Surface,
    /// Idempotency key, scoped to the actor.
    pub key: Option<String>,
}

impl Caller {
    /// As stored with what they do.
    pub fn reference(&self) -> ActorRef {
        ActorRef {
            label: self.actor.label(),
            id: people::actor_id(&self.actor),
            surface: self.surface,
        }
    }
}

impl Engine {
    /// Carries out a command.
    pub async fn handle(&self, envelope: Envelope) -> Result<Outcome, Problem> {
        let scope = envelope.command.required_scope();
        if !people::has_scope(&envelope.actor, scope) {
            return Err(Problem::new(
                ProblemKind::Forbidden,
                "not allowed",
                format!(
                    "{} lacks the scope `{scope}` that this needs",
                    envelope.actor.label()
                ),
            )
            .hint("use a credential with that scope"));
        }
        let caller = Caller {
            actor: envelope.actor,
            surface: envelope.surface,
            key: envelope.idempotency_key,
        };
        match envelope.command {
            Command::StartSession {
                channel,
                conversation,
                title,
                model,
            } => sessions::start(self, channel, conversation, title, model).await,
            Command::UpdateSession {
                session_id,
                title,
                model,
                paused,
            } => sessions::update(self, &caller, session_id, title, model, paused).await,
            Command::EndSession { session_id } => sessions::end(self, &caller, session_id).await,
            Command::ResumeSession { session_id } => {
                sessions::resume(self, &caller, session_id).await
            }
            Command::SendMessage {
                session_id,
                text,
                model,
                budgets,
                fresh,
            } => messages::send(self, &caller, session_id, text, model, budgets, fresh).await,
            Command::Ask {
                channel,
                text,
                model,
                budgets,
                fresh,
            } => messages::ask(self, &caller, channel, text, model, budgets, fresh).await,
            Command::CancelContinuation {
                continuation_id,
                reason,
            } => continuations::cancel(self, &caller, continuation_id, reason).await,
            Command::ResumeContinuation { continuation_id } => {
                continuations::resume(self, &caller, continuation_id).await
            }
            Command::RetryContinuation { continuation_id } => {
                continuations::retry(self, &caller, continuation_id).await
            }
            Command::Decide {
                approval_id,
                decision,
            } => decide::decide(self, &caller, approval_id, decision).await,
            Command::SetPolicy { channel, patch } => {
                policy::set(self, &caller, channel, patch).await
            }
            Command::PauseChannel { channel } => {
                channels::set_paused(self, &caller, channel, true).await
            }
            Command::ResumeChannel { channel } => {
                channels::set_paused(self, &caller, channel, false).await
            }
            Command::ResolveDelivery {
                outbox_id,
                resolution,
                reason,
            } => deliveries::resolve(self, &caller, outbox_id, resolution, reason).await,
            Command::EmergencyStop { reason } => emergency::stop(self, &caller, reason).await,
            Command::ReleaseEmergencyStop {
                waiting,
                conversations,
            } => emergency::release(self, &caller, waiting, conversations).await,
            Command::Backup { path } => backup::write(self, &caller, path).await,
            Command::Sweep { preview } => sweeper::on_demand(self, &caller, preview).await,
            Command::TestModel { model } => models::test(self, &caller, model).await,
            Command::PinCacheEntry { id, pinned } => cache::pin(self, &caller, id, pinned).await,
            Command::PurgeCache { what } => cache::purge(self, &caller, what).await,
            Command::Memory(command) => memory::carry_out(self, &caller, command)
                .await
                .map(Outcome::Memory),
            Command::Hygiene(command) => hygiene::carry_out(self, &caller, command)
                .await
                .map(Outcome::Hygiene),
            Command::Hook(command) => hooks::carry_out(self, &caller, command)
                .await
                .map(Outcome::Hook),
            Command::Routine(command) => routines::carry_out(self, &caller, command)
                .await
                .map(Outcome::Routine),
            Command::DiscoverModels => models::discover(self, &caller).await,
            Command::Rule(command) => rules::carry_out(self, &caller, command)
                .await
                .map(Outcome::Rule),
            Command::TakeOver(command) => take_over::carry_out(self, &caller, command).await,
            Command::DrainChannel { channel, drain } => {
                channels::set_draining(self, &caller, channel, drain).await
            }
            Command::TestChannel {
                channel,
                conversation,
            } => channels::test(self, &caller, channel, conversation).await,
            Command::Pairing(command) => pairings::carry_out(self, &caller, command)
                .await
                .map(Outcome::Pairing),
            Command::HandOver {
                approval_id,
                request,
            } => duty::hand_over(self, &caller, approval_id, request).await,
            Command::SetOnCall(request) => duty::set_on_call(self, &caller, request).await,
            Command::DismissLeftovers { tool_call_id } => {
                leftovers::dismiss(self, &caller, tool_call_id)
                    .await
                    .map(|found| Outcome::Leftovers(Box::new(found)))
            }
        }
    }
}
