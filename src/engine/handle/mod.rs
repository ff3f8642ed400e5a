//! The one gate: every command of every surface passes here, and only here scopes and policy are checked.
//!
//! Commands return once their change is durable; the work they start goes on by itself.

use futures_util::FutureExt as _;

use crate::engine::caller::Caller;
use crate::engine::compaction;
use crate::engine::core::Engine;
use crate::engine::erase;
use crate::engine::people;
use crate::engine::skills;
use crate::engine::sweeper;
use crate::protocol::enums::PairingState;
use crate::protocol::problem::Problem;
use crate::protocol::request::{Command, Envelope, Outcome, dispatch};
use crate::store::commands::change_memory::{DeleteMemory, MemoryChange};
use crate::store::commands::dismiss_leftovers::DismissLeftovers;
use crate::store::commands::dismiss_refused_calls::DismissRefusedCalls;

pub mod agent_jobs;
pub mod attachments;
pub mod backup;
pub mod cache;
pub mod channels;
pub mod configuration;
pub mod continuations;
pub mod converse;
pub mod datasets;
pub mod decide;
pub mod decision;
pub mod deliveries;
pub mod direct_calls;
pub mod edit;
pub mod emergency;
pub mod escalation;
pub mod file_changes;
pub mod gate;
pub mod hooks;
pub mod hygiene;
pub mod mcp;
pub mod memory;
pub mod messages;
pub mod models;
pub mod on_call;
pub mod pairings;
pub mod policy;
pub mod rehearsals;
pub mod routines;
pub mod rule_address;
pub mod rule_reach;
pub mod rule_suggestions;
pub mod rules;
pub mod sessions;
pub mod shell;
pub mod take_over;
pub mod tokens;
pub mod tools;
pub mod unused_rules;

impl Engine {
    /// Carries out a command.
    pub async fn handle(&self, envelope: Envelope) -> Result<Outcome, Problem> {
        let scope = envelope.command.scope();
        let actor = people::named(&self.settings, envelope.actor);
        if !people::may(&actor, envelope.surface, scope) {
            return Err(Problem::forbidden(
                "not allowed",
                format!(
                    "{} lacks the scope `{scope}` that this needs",
                    actor.label()
                ),
            )
            .hint("use a credential with that scope"));
        }
        let caller = Caller {
            actor,
            surface: envelope.surface,
            key: envelope.idempotency_key,
            trace: envelope.trace,
        };
        let by = &caller;
        dispatch!(envelope.command, Command => Outcome {
            StartSession(c) => sessions::start(self, c.channel, c.conversation, c.title, c.model),
            UpdateSession(c) => sessions::update(self, by, c),
            EndSession(c) => sessions::end(self, by, c.session_id),
            ResumeSession(c) => sessions::resume(self, by, c.session_id),
            SendMessage(c) => messages::send(self, by, c),
            Ask(c) => messages::ask(self, by, c),
            Converse(c) => converse::converse(self, by, c),
            TakeOverSession(c) => take_over::take(self, by, c.session_id, c.force),
            SendAsBot(c) => take_over::say(self, by, c.session_id, c.take_over_id, c.text),
            GiveBackSession(c) => take_over::give_back(self, by, c.session_id, c.force),
            CallTool(c) => direct_calls::call(self, by, c),
            AskGate(c) => gate::ask(self, by, c),
            RunAgent(c) => agent_jobs::start(self, by, c),
            CancelAgentJob(c) => agent_jobs::cancel(self, by, c.id),
            CancelContinuation(c) => continuations::cancel(self, by, c.continuation_id, c.reason),
            ResumeContinuation(c) => continuations::resume(self, by, c.continuation_id),
            RetryContinuation(c) => continuations::retry(self, by, c.continuation_id),
            Decide(c) => decide::decide(self, by, c.approval_id, c.decision),
            RunInShell(c) => shell::run(self, by, c.session_id, c.request),
            EndInterpreter(c) => shell::end(self, by, c.session_id, c.kind),
            RehearseCall(c) => rehearsals::run(self, by, c.approval_id),
            AssignApproval(c) => on_call::assign(self, by, c.approval_id, c.request),
            SetOnCall(c) => on_call::set_on_call(self, by, c.request),
            DrillEscalation(c) => escalation::drill(self, by, c.request),
            DismissLeftovers(c) => self.write(DismissLeftovers { call_id: c.tool_call_id, by: by.reference() }),
            UndoFileChange(c) => file_changes::undo(self, by, c.tool_call_id),
            DismissRefusedCalls(c) => {
                self.write(DismissRefusedCalls { session_id: c.session_id, by: by.reference() })
            },
            SetPolicy(c) => policy::set(self, by, c.channel, c.patch),
            PauseChannel(c) => channels::set_paused(self, by, c.channel, true),
            ResumeChannel(c) => channels::set_paused(self, by, c.channel, false),
            DrainChannel(c) => channels::set_draining(self, by, c.channel, c.drain),
            CheckChannel(c) => channels::check(self, c.channel),
            TestChannel(c) => channels::test(self, by, c.channel, c.conversation),
            ResolveDelivery(c) => deliveries::resolve(self, by, c.outbox_id, c.resolution, c.reason),
            AcceptPairing(c) => pairings::settle(self, by, &c.pairing, PairingState::Accepted),
            RefusePairing(c) => pairings::settle(self, by, &c.pairing, PairingState::Refused),
            RevokePairing(c) => pairings::settle(self, by, &c.pairing, PairingState::Revoked),
            EmergencyStop(c) => emergency::stop(self, by, c.reason),
            ReleaseEmergencyStop(c) => emergency::release(self, by, c.waiting, c.conversations),
            CreateBackup(c) => backup::on_demand(self, by, c.path),
            ReloadConfiguration(c) => configuration::reload(self, by, c.preview),
            Sweep(c) => sweeper::sweep(self, by.reference(), c.preview),
            BeginDatasetUpload(c) => datasets::begin(self, by, c),
            AppendDatasetUpload(c) => datasets::append(self, by, c),
            FinishDatasetUpload(c) => datasets::finish(self, by, c.upload_id),
            ExportDataset(c) => datasets::export(self, by, c),
            DeleteDataset(c) => datasets::delete(self, by, c.dataset),
            TestModel(c) => models::test(self, by, c.model),
            DiscoverModels(_) => models::discover(self, by).map(Ok),
            PinCacheEntry(c) => cache::pin(self, by, c.id, c.pinned),
            PurgeCache(c) => cache::purge(self, by, c.what),
            AddMemory(c) => memory::add(self, by, c),
            EditMemory(c) => memory::edit(self, by, c),
            PinMemory(c) => memory::change(self, by, c.id, MemoryChange::Pin(c.pinned)),
            AcceptMemory(c) => memory::change(self, by, c.id, MemoryChange::Accept),
            SupersedeMemories(c) => memory::supersede(self, by, c.id, c.others),
            DeleteMemory(c) => self.write(DeleteMemory { id: c.id, by: by.reference() }),
            EraseUser(c) => erase::user(self, by, c.person),
            ImportMemories(c) => memory::import(self, by, c.items),
            CompactSession(c) => compaction::on_demand(self, c.session_id),
            RunHygiene(c) => hygiene::run(self, by, c.yes),
            UndoHygiene(c) => hygiene::undo(self, by, c.id),
            TryHook(c) => hooks::try_out(self, c),
            ResetHook(c) => hooks::reset(self, by, c.name),
            AddRoutine(c) => routines::add(self, by, c.routine),
            ChangeRoutine(c) => routines::change(self, by, &c.routine, c.patch),
            RemoveRoutine(c) => routines::remove(self, by, &c.routine),
            RunRoutine(c) => routines::run(self, by, &c.routine),
            TrustMcpServer(c) => mcp::trust(self, by, c),
            DistrustMcpServer(c) => mcp::distrust(self, by, c.name),
            StopMcpServer(c) => mcp::stop(self, by, c.name),
            StartMcpServer(c) => mcp::start(self, by, c.name),
            TestMcpServer(c) => mcp::test(self, c.name),
            ListMcpResources(c) => mcp::resources(self, c.name),
            ReadMcpResource(c) => mcp::read_resource(self, c.name, c.uri),
            ListMcpPrompts(c) => mcp::prompts(self, c.name),
            GetMcpPrompt(c) => mcp::prompt(self, c),
            CreateToken(c) => tokens::create(self, by, c),
            RevokeToken(c) => tokens::revoke(self, by, c.name),
            TrustSkill(c) => skills::trust(self, by, c.name, c.sha256),
            DistrustSkill(c) => skills::distrust(self, by, c.name),
            AllowLater(c) => gate::allow_later(self, by, c.approval_id),
            AddRule(c) => rules::add(self, by, *c.rule),
            ChangeRule(c) => rules::change(self, by, c.id, *c.patch),
            RemoveRule(c) => rules::remove(self, by, c.id),
            RemoveGrant(c) => rules::remove_grant(self, by, c.id),
        })
    }
}
