//! A store in a temporary directory whose clock stands still until it is moved, engines over it, and short names for
//! what tests do with them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use leverframe::clock::{Clock, Timestamp};
use leverframe::config::environment::Environment;
use leverframe::config::flags::Flags;
use leverframe::config::layers::load;
use leverframe::engine::core::{Engine, Parts};
use leverframe::engine::log_lines::LogLines;
use leverframe::model::registry::Models;
use leverframe::protocol::approval::{PlanFacts, Preview, Requester};
use leverframe::protocol::budget::TurnLimits;
use leverframe::protocol::command::Actor;
use leverframe::protocol::enums::{
    Access, ApprovalKind, Autonomy, ChannelKind, DecisionKind, Effect, MemoryKind, Risk, Surface,
    ToolCallState, VerdictKind,
};
use leverframe::protocol::ids::{
    ApprovalId, CompactionId, ContinuationId, ModelAttemptId, SessionId, ToolCallId,
};
use leverframe::protocol::policy::Verdict;
use leverframe::protocol::problem::Problem;
use leverframe::protocol::request::{Command, Envelope, Outcome};
use leverframe::protocol::session::Usage;
use leverframe::store::check::check;
use leverframe::store::command::{Durability, WriteCommand};
use leverframe::store::commands::begin_compaction::BeginCompaction;
use leverframe::store::commands::claim::Claim;
use leverframe::store::commands::commit_compaction::{CommitCompaction, FoundFact};
use leverframe::store::commands::decide::Decide;
use leverframe::store::commands::ensure_channel::{Baseline, EnsureChannel};
use leverframe::store::commands::finish_tool::FinishTool;
use leverframe::store::commands::finish_turn::FinishTurn;
use leverframe::store::commands::ingest_turn::{IngestOutcome, IngestTurn, TurnFiles};
use leverframe::store::commands::llm_result::LlmResult;
use leverframe::store::commands::recover::Recovery;
use leverframe::store::commands::reserve_model::{Reservation, ReserveModel};
use leverframe::store::commands::start_tool::{StartTool, StartToolOutcome};
use leverframe::store::error::StoreError;
use leverframe::store::input::{
    ActorRef, AnswerSource, CompactionCall, ModelStep, NewApproval, NewCall, NewCallOutcome,
    NewCard, NewPart, Origin, SessionChoice, SharedLimits, TurnBounds, TurnCache,
};
use leverframe::store::{OpenOptions, Store};
use leverframe::text::redact::Redactor;
use leverframe::tools::registry::Registry;
use leverframe::tools::sandbox::Sandbox;
use tempfile::TempDir;

pub(crate) const START: Timestamp = Timestamp(1_800_000_000_000);

/// Somebody who is told of every commit, in order.
pub(crate) trait Watcher: Send + Sync {
    /// A command was answered; its number.
    fn answered(&self, what: &str, durable: bool) -> u64;
    /// What the database holds after that command.
    fn state(&self, n: u64, epoch: u64, conn: &rusqlite::Connection);
    /// What follows is answered in any order.
    fn together(&self);
}

pub(crate) struct World {
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) recovery: Recovery,
    pub(crate) dir: PathBuf,
    /// Where every answered command is told, when this process is watched.
    pub(crate) journal: Option<Arc<dyn Watcher>>,
    /// Directories that must outlive the store: crashes leave earlier ones behind.
    keep: Vec<TempDir>,
}

pub(crate) fn options(dir: &Path, clock: &Clock) -> OpenOptions {
    OpenOptions {
        dir: dir.to_owned(),
        clock: clock.clone(),
        readers: 2,
        instance: "test".to_owned(),
    }
}

pub(crate) fn by(name: &str) -> ActorRef {
    ActorRef {
        label: name.to_owned(),
        id: format!("operator:{name}"),
        surface: Surface::Console,
    }
}

pub(crate) fn origin(conversation: &str, key: Option<&str>) -> Origin {
    Origin {
        channel: "team".to_owned(),
        principal: "bot".to_owned(),
        key: key.map(str::to_owned),
        body_digest: [7; 32],
        cursor: None,
        conversation: conversation.to_owned(),
        conversation_title: None,
        requester: Requester {
            id: "telegram:1".to_owned(),
            display: "Anna".to_owned(),
            person: None,
        },
        surface: Surface::Chat,
        message_ref: None,
        trace: None,
    }
}

pub(crate) fn turn(conversation: &str, key: Option<&str>) -> IngestTurn {
    IngestTurn {
        origin: origin(conversation, key),
        session: SessionChoice::Conversation,
        text: "please do the thing".to_owned(),
        role: "user".to_owned(),
        said_at: "Mon 2026-11-23 09:30 +01:00".to_owned(),
        model: None,
        limits: TurnLimits {
            max_steps: 8,
            max_tool_calls: 16,
            max_active_ms: 120_000,
            max_tokens: 100_000,
            max_cost_usd: None,
        },
        max_queue: 10,
        unlimited_queue: false,
        retry_of: None,
        queue_full_notice: None,
        title: None,
        cache: TurnCache::default(),
        options: leverframe::protocol::options::TurnOptions::default(),
        bounds: TurnBounds::default(),
        files: TurnFiles::default(),
    }
}

pub(crate) fn usage() -> Usage {
    Usage {
        input_tokens: 100,
        output_tokens: 10,
        cached_input_tokens: 0,
        cache_write_tokens: 0,
        cost_usd: Some(0.01),
    }
}

pub(crate) fn approval(kind: ApprovalKind, digest: &str) -> NewApproval {
    let id = ApprovalId::generate();
    NewApproval {
        id,
        short_code: "ABC234".to_owned(),
        kind,
        digest: digest.to_owned(),
        taint: Vec::new(),
        preview: Preview::None,
        model_reason: None,
        offered: match kind {
            ApprovalKind::ResolveUnknown => vec![
                DecisionKind::Happened,
                DecisionKind::RunAgain,
                DecisionKind::GiveUp,
            ],
            ApprovalKind::Resend => vec![
                DecisionKind::Sent,
                DecisionKind::SendAgain,
                DecisionKind::Drop,
            ],
            _ => vec![
                DecisionKind::Approve,
                DecisionKind::Deny,
                DecisionKind::DenyAndStop,
                DecisionKind::Answer,
                DecisionKind::Snooze,
            ],
        },
        // Somebody must be asked about a delivery for as long as nobody knows of it.
        expires_at: (kind != ApprovalKind::Resend).then_some(START.plus_seconds(3600)),
        once_only: None,
        question: None,
        cards: vec![NewCard {
            person: "anna".to_owned(),
            channel: "team".to_owned(),
            conversation: "chat".to_owned(),
            buttons: vec![(
                DecisionKind::Approve,
                "Approve".to_owned(),
                format!("t{id}"),
            )],
            reply_to: None,
        }],
    }
}

pub(crate) fn call(effect: Effect, outcome: NewCallOutcome) -> NewCall {
    let id = ToolCallId::generate();
    let digest = match &outcome {
        NewCallOutcome::Ask(approval) => approval.digest.clone(),
        NewCallOutcome::Ready
        | NewCallOutcome::Refused { .. }
        | NewCallOutcome::TooManyWait { .. } => format!("digest-{id}"),
    };
    NewCall {
        id,
        provider_call_id: format!("p-{id}"),
        name: "write_file".to_owned(),
        args: serde_json::json!({"path": "a.txt"}),
        preview: "a.txt".to_owned(),
        access: Access::Write,
        effect,
        risk: Risk::Medium,
        risk_reasons: vec!["writes".to_owned()],
        plan: PlanFacts::default(),
        digest,
        args_digest: "args".to_owned(),
        idempotency_key: id.to_string(),
        verdict: Verdict {
            decision: match &outcome {
                NewCallOutcome::Ready => VerdictKind::Allow,
                NewCallOutcome::Ask(_) => VerdictKind::Ask,
                NewCallOutcome::Refused { .. } | NewCallOutcome::TooManyWait { .. } => {
                    VerdictKind::Deny
                }
            },
            rule: "a rule".to_owned(),
            policy_version: 1,
        },
        basis: None,
        fallback: None,
        outcome,
    }
}

/// A call that asks, with its approval's id.
pub(crate) fn gated(effect: Effect) -> (NewCall, ApprovalId) {
    let approval = approval(
        ApprovalKind::Execute,
        &format!("digest-{}", ToolCallId::generate()),
    );
    let id = approval.id;
    (call(effect, NewCallOutcome::Ask(approval)), id)
}

pub(crate) fn baseline() -> Baseline {
    Baseline {
        autonomy: Autonomy::Supervised,
        auto_approve: Vec::new(),
        block: Vec::new(),
        always_ask: Vec::new(),
    }
}

/// Whoever runs the command line.
pub(crate) fn operator(name: &str) -> Actor {
    Actor::Operator {
        uid: 0,
        name: name.to_owned(),
        person: None,
    }
}

/// A command of anna's on the command line, carried out by an engine.
pub(crate) async fn submit(engine: &Engine, command: Command) -> Result<Outcome, Problem> {
    let envelope = Envelope {
        command,
        actor: operator("anna"),
        surface: Surface::Cli,
        idempotency_key: None,
        trace: None,
    };
    engine.handle(envelope).await
}

impl World {
    pub(crate) async fn new() -> World {
        // The suite of mutants runs a test of ours with a rule off, in a process of its own.
        if let Ok(rule) = std::env::var("LEVERFRAME_MUTANT") {
            leverframe::crash::switch_off(&rule);
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().to_owned();
        let world = World::open(path, Clock::manual(START), vec![dir]);
        world
            .ok(EnsureChannel {
                name: "team".to_owned(),
                kind: ChannelKind::Telegram,
                baseline: baseline(),
            })
            .await;
        world
    }

    fn open(dir: PathBuf, clock: Clock, keep: Vec<TempDir>) -> World {
        let opened = Store::open(options(&dir, &clock)).unwrap();
        World {
            store: opened.store,
            clock,
            recovery: opened.recovery,
            dir,
            journal: None,
            keep,
        }
    }

    /// A directory that outlives this process, which is watched.
    pub(crate) async fn watched(dir: PathBuf, clock: Clock, journal: Arc<dyn Watcher>) -> World {
        let mut world = World::open(dir, clock, Vec::new());
        world.journal = Some(journal);
        world.tell("open", Durability::Durable).await;
        world
    }

    /// Tells the journal of a commit; nothing may happen between the answer and this.
    async fn tell(&self, what: &str, durability: Durability) {
        let Some(journal) = &self.journal else {
            return;
        };
        let n = journal.answered(what, durability == Durability::Durable);
        let (journal, epoch) = (Arc::clone(journal), self.epoch());
        self.store
            .with_writer(move |conn| journal.state(n, epoch, conn))
            .await
            .unwrap();
    }

    /// What a killed process leaves: the files as they are now, opened by a new process.
    pub(crate) async fn crash(mut self) -> World {
        // The writer stands still while the files are copied, as it would after SIGKILL.
        let from = self.dir.clone();
        let to = tempfile::tempdir().unwrap();
        let target = to.path().to_owned();
        self.store
            .with_writer(move |_| copy_dir(&from, &target))
            .await
            .unwrap();
        let path = to.path().to_owned();
        let mut keep = std::mem::take(&mut self.keep);
        keep.push(to);
        World::open(path, self.clock.clone(), keep)
    }

    /// The same world around a store that was opened by hand.
    pub(crate) fn restore_handle(self, opened: leverframe::store::OpenedStore) -> World {
        World {
            store: opened.store,
            recovery: opened.recovery,
            ..self
        }
    }

    /// A clean end and a new start on the same directory.
    pub(crate) async fn restart(mut self) -> World {
        let keep = std::mem::take(&mut self.keep);
        self.store.close().await;
        if let Some(journal) = self.journal {
            return World::watched(self.dir, self.clock, journal).await;
        }
        World::open(self.dir, self.clock, keep)
    }

    /// A clean end, and a start on the files without what lies beside them, as on a copy.
    pub(crate) async fn restart_without_sidecar(mut self) -> World {
        let keep = std::mem::take(&mut self.keep);
        self.store.close().await;
        std::fs::remove_file(self.dir.join("epoch")).unwrap();
        World::open(self.dir, self.clock, keep)
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.store.epoch()
    }

    pub(crate) async fn write<C: WriteCommand>(&self, command: C) -> Result<C::Output, StoreError> {
        let answer = self.store.write(command).await;
        if answer.is_ok() {
            self.tell(std::any::type_name::<C>(), C::DURABILITY).await;
        }
        answer
    }

    pub(crate) async fn ok<C: WriteCommand>(&self, command: C) -> C::Output {
        match self.write(command).await {
            Ok(output) => output,
            Err(error) => panic!("{}: {error}", std::any::type_name::<C>()),
        }
    }

    /// The text of the refusal.
    pub(crate) async fn illegal<C: WriteCommand>(&self, command: C) -> String {
        match self.store.write(command).await {
            Ok(_) => panic!("{} was not refused", std::any::type_name::<C>()),
            Err(
                StoreError::Fenced { what }
                | StoreError::Conflict { what }
                | StoreError::Rejected { what }
                | StoreError::Bug { what },
            ) => what,
            Err(error) => panic!("{}: {error}", std::any::type_name::<C>()),
        }
    }

    pub(crate) async fn sound(&self) {
        let violations = self.store.read(check).await.unwrap();
        assert!(violations.is_empty(), "{violations:#?}");
    }

    /// An engine over this store, with this configuration, that does nothing but what it is told.
    pub(crate) fn engine(&self, config: &str) -> Engine {
        let file = self.dir.join("config.toml");
        std::fs::write(&file, config).unwrap();
        let flags = Flags {
            config: Some(file),
            data_dir: Some(self.dir.clone()),
            ..Flags::default()
        };
        let home = ("HOME", self.dir.as_os_str());
        let environment: Environment = [home].into_iter().collect();
        let settings = load(&flags, &environment, &[]).unwrap();
        let sandbox = Sandbox::none("test");
        Engine::new(
            Parts {
                store: self.store.clone(),
                models: Models::new(&settings).unwrap(),
                settings,
                tools: Registry::builtin(&sandbox).unwrap(),
                sandbox,
                clock: self.clock.clone(),
                redactor: Redactor::new(),
                log: LogLines::default(),
            },
            None,
        )
    }

    /// Counts in one query.
    pub(crate) async fn count(&self, query: &'static str) -> u64 {
        let counted = self
            .store
            .with_writer(move |conn| conn.query_row(query, [], |row| row.get(0)).unwrap());
        counted.await.unwrap()
    }

    /// Does something to the database behind everybody's back.
    pub(crate) async fn sql(&self, batch: &'static str) {
        let done = self
            .store
            .with_writer(move |conn| conn.execute_batch(batch).unwrap());
        done.await.unwrap();
    }

    pub(crate) async fn ingest(&self, conversation: &str) -> IngestOutcome {
        self.ok(turn(conversation, None)).await
    }

    /// A claimed continuation.
    pub(crate) async fn running(&self, conversation: &str) -> (SessionId, ContinuationId) {
        let outcome = self.ingest(conversation).await;
        let session = outcome.session_id.unwrap();
        let claimed = self.claim(session).await.unwrap();
        (session, claimed)
    }

    pub(crate) async fn claim(&self, session_id: SessionId) -> Option<ContinuationId> {
        self.ok(Claim {
            session_id,
            epoch: self.epoch(),
            floods: leverframe::store::input::ChannelFloods::default(),
            except: Vec::new(),
        })
        .await
    }

    /// Reserves a model call that no budget forbids.
    pub(crate) async fn reserve(&self, reserve: ReserveModel) -> ModelAttemptId {
        match self.ok(reserve).await {
            Reservation::Granted(id) => id,
            Reservation::Exhausted(stop) => panic!("no budget left: {stop:?}"),
        }
    }

    pub(crate) async fn model_step(&self, continuation_id: ContinuationId) -> ModelStep {
        let attempt_id = self
            .reserve(ReserveModel {
                continuation_id,
                epoch: self.epoch(),
                step: 1,
                attempt: 1,
                model: "scripted/demo".to_owned(),
                estimated_tokens: 500,
                estimated_cost_usd: Some(0.05),
                limits: SharedLimits::default(),
                estimated_input_tokens: None,
            })
            .await;
        ModelStep {
            source: AnswerSource::Attempt(attempt_id),
            model: "scripted/demo".to_owned(),
            text: "twenty chars of text".to_owned(),
            stop: "end".to_owned(),
            answered_by: None,
            usage: usage(),
            latency_ms: 5,
            attempts: 1,
            native: None,
            dropped: Vec::new(),
            notes: Vec::new(),
            active_ms: 5,
        }
    }

    pub(crate) async fn propose(
        &self,
        continuation_id: ContinuationId,
        calls: Vec<NewCall>,
    ) -> u32 {
        let step = self.model_step(continuation_id).await;
        self.ok(LlmResult {
            continuation_id,
            epoch: self.epoch(),
            step,
            calls,
        })
        .await
    }

    pub(crate) async fn start(&self, call_id: ToolCallId, digest: &str) -> StartToolOutcome {
        self.ok(StartTool {
            call_id,
            epoch: self.epoch(),
            digest: digest.to_owned(),
            max_decision_age_ms: 60_000,
            key_lifetime_ms: None,
            basis: None,
        })
        .await
    }

    pub(crate) async fn succeed(&self, call_id: ToolCallId, attempt: u32) {
        self.ok(FinishTool {
            call_id,
            epoch: self.epoch(),
            attempt,
            state: ToolCallState::Succeeded,
            content: "done".to_owned(),
            is_error: false,
            duration_ms: 3,
            artifact: None,
            cached: None,
            resolve: None,
        })
        .await;
    }

    pub(crate) async fn finish(&self, continuation_id: ContinuationId, parts: usize) {
        let model = self.model_step(continuation_id).await;
        self.ok(FinishTurn {
            continuation_id,
            epoch: self.epoch(),
            model: Some(model),
            text: "twenty chars of text".to_owned(),
            stop: "end".to_owned(),
            citations: leverframe::protocol::citation::Citations::default(),
            parts: (0..parts)
                .map(|n| NewPart {
                    channel: "team".to_owned(),
                    conversation: "chat".to_owned(),
                    text: format!("part {n}"),
                    reply_to: None,
                    file: None,
                })
                .collect(),
            session_last_line: "twenty chars of text".to_owned(),
        })
        .await;
    }

    /// Begins a compaction of a session that is to cover turns up to this one.
    pub(crate) async fn compacting(
        &self,
        session: SessionId,
        newest: ContinuationId,
    ) -> Compacting {
        self.try_compacting(session, newest).await.unwrap()
    }

    /// The same, where it may be refused.
    pub(crate) async fn try_compacting(
        &self,
        session_id: SessionId,
        newest: ContinuationId,
    ) -> Result<Compacting, StoreError> {
        let version = self
            .store
            .read(move |reader| reader.summary(session_id))
            .await?
            .map_or(0, |summary| summary.version);
        let id = CompactionId::generate();
        let begun = self
            .write(BeginCompaction {
                id,
                session_id,
                epoch: self.epoch(),
                version,
                turns: 1,
                tokens_before: 1000,
                call: compaction_call(newest),
            })
            .await?;
        let Reservation::Granted(attempt_id) = begun else {
            panic!("{begun:?}")
        };
        Ok(Compacting {
            id,
            attempt_id,
            version,
        })
    }

    /// Commits a compaction of these turns, with a fact of the first.
    pub(crate) async fn compact(&self, begun: Compacting, turns: &[ContinuationId]) {
        let command = self.commit_of(begun, turns);
        self.ok(command).await;
    }

    pub(crate) fn commit_of(
        &self,
        begun: Compacting,
        turns: &[ContinuationId],
    ) -> CommitCompaction {
        CommitCompaction {
            id: begun.id,
            epoch: self.epoch(),
            attempt_id: begun.attempt_id,
            usage: usage(),
            version: begun.version,
            summary: format!("{} turns", turns.len()),
            turns: turns.to_vec(),
            taint: Vec::new(),
            facts: turns
                .first()
                .map(|turn| FoundFact {
                    text: format!("Anna asked {turn}"),
                    kind: MemoryKind::Fact,
                    confidence: 0.5,
                    source: *turn,
                })
                .into_iter()
                .collect(),
            tokens_after: 100,
        }
    }

    pub(crate) async fn decide_command(
        &self,
        approval_id: ApprovalId,
        decision: DecisionKind,
        who: &str,
    ) -> Decide {
        let digest = self
            .store
            .read(move |reader| reader.approval(approval_id))
            .await
            .unwrap()
            .digest;
        Decide {
            approval_id,
            digest,
            revision: None,
            decision,
            scope: None,
            by: by(who),
            reason: None,
            answer: None,
            extra: Some(10.0),
            minutes: None,
            seen_ms: Some(1000),
            result_content: "what the model reads".to_owned(),
            refusal_notice: None,
            grant_expires_at: None,
            card_update: true,
            rule: None,
            grace_seconds: 0,
        }
    }
}

/// A compaction under way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Compacting {
    pub(crate) id: CompactionId,
    pub(crate) attempt_id: ModelAttemptId,
    pub(crate) version: u64,
}

pub(crate) fn compaction_call(newest: ContinuationId) -> CompactionCall {
    CompactionCall {
        model: "scripted/demo".to_owned(),
        newest,
        estimated_tokens: 500,
        estimated_cost_usd: Some(0.05),
        limits: SharedLimits::default(),
    }
}

fn copy_dir(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        // The shared memory index is rebuilt from the log, as after a power loss.
        if entry.file_name().to_string_lossy().ends_with("-shm") {
            continue;
        }
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            std::fs::create_dir(&target).unwrap();
            copy_dir(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
