//! The store under test: carries a step out, gives its answer in the model's words, and reads the tables back.

use leverframe::clock::Timestamp;
use leverframe::protocol::approval::{PlanFacts, Preview, Requester};
use leverframe::protocol::enums::{
    Access, ApprovalKind, Autonomy, ChannelKind, DecisionKind, Effect, Risk, Surface,
    ToolCallState, VerdictKind,
};
use leverframe::protocol::ids::{
    ApprovalId, ContinuationId, ModelAttemptId, OutboxId, SessionId, ToolCallId,
};
use leverframe::protocol::policy::Verdict;
use leverframe::protocol::session::Usage;
use leverframe::store::check::check;
use leverframe::store::command::WriteCommand;
use leverframe::store::commands::ensure_channel::{Baseline, EnsureChannel};
use leverframe::store::error::StoreError;
use leverframe::store::input::{
    ActorRef, AnswerSource, ModelStep, NewApproval, NewCall, NewCallFacts, NewCallOutcome, NewCard,
    NewNotice, NewPart, Origin,
};
use leverframe::store::queries::outbox::NextOutbox;
use rusqlite::Connection;
use tokio::runtime::Runtime;

use crate::store_model::model::{CHANNELS, Model, No, Outcome};
use crate::store_model::picture::{self, Ids};
use crate::store_model::rules_delivery::Next;
use crate::store_model::rules_gate::{ENGINE, arguments};
use crate::store_model::rules_turn::{ACTIVE, RUN};
use crate::store_model::step::{Item, Judged, Plan, Question, Step};
use crate::support::world::{START, World};

/// The store, and what is remembered of it between two steps.
pub(crate) struct System {
    pub(crate) runtime: Runtime,
    /// None only inside a start.
    world: Option<World>,
    pub(crate) ids: Ids,
    now: Timestamp,
    /// Number of the last event read.
    seq: u64,
    /// States that the events of each turn tell, in order.
    paths: Vec<Vec<String>>,
    /// Actions of the audit in order.
    audit: Vec<String>,
    /// Digest of every question, by its place.
    pub(crate) digests: Vec<(String, u32)>,
    /// For texts that must not repeat.
    pub(crate) counter: u64,
}

/// What the model calls the policy of a channel in the configuration.
pub(crate) fn baseline(autonomy: Autonomy) -> Baseline {
    Baseline {
        autonomy,
        auto_approve: Vec::new(),
        block: Vec::new(),
        always_ask: Vec::new(),
    }
}

pub(crate) fn ensure(channel: usize, autonomy: Autonomy) -> EnsureChannel {
    EnsureChannel {
        name: CHANNELS[channel].to_owned(),
        kind: [ChannelKind::Telegram, ChannelKind::Scripted][channel],
        baseline: baseline(autonomy),
    }
}

pub(crate) fn person(number: u8) -> ActorRef {
    if number == ENGINE {
        return ActorRef::engine();
    }
    ActorRef {
        label: format!("person {number}"),
        id: format!("operator:{number}"),
        surface: Surface::Console,
    }
}

pub(crate) fn usage(tokens: u32) -> Usage {
    Usage {
        input_tokens: u64::from(tokens),
        ..Usage::default()
    }
}

pub(crate) fn origin(item: &Item) -> Origin {
    Origin {
        channel: CHANNELS[item.channel].to_owned(),
        principal: item.principal.to_owned(),
        key: item.key.map(|key| format!("key-{key}")),
        body_digest: [item.body; 32],
        cursor: item.cursor.then(|| item.body.to_string()),
        conversation: format!("chat-{}", item.chat),
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

pub(crate) fn digest_of(call: usize, plan: u32) -> String {
    format!("plan-{call}.{plan}")
}

impl System {
    /// A fresh store with the model's two channels.
    pub(crate) fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let world = runtime.block_on(async {
            let world = World::new().await;
            world.ok(ensure(1, Autonomy::Supervised)).await;
            world
        });
        let mut system = Self {
            runtime,
            world: Some(world),
            ids: Ids::default(),
            now: START,
            seq: 0,
            paths: Vec::new(),
            audit: Vec::new(),
            digests: Vec::new(),
            counter: 0,
        };
        system.read_back();
        system
    }

    pub(crate) fn world(&self) -> &World {
        self.world.as_ref().unwrap()
    }

    /// Exchanges the world for the one that a start makes of it.
    pub(crate) fn start_again<F: Future<Output = World>>(
        &mut self,
        start: impl FnOnce(World) -> F,
    ) {
        let world = self.world.take().unwrap();
        self.world = Some(self.runtime.block_on(start(world)));
    }

    /// Time as it counts.
    pub(crate) fn now(&self) -> Timestamp {
        self.now
    }

    pub(crate) fn turn(&self, turn: usize) -> ContinuationId {
        ContinuationId::from_bytes(self.ids.turns[turn])
    }

    pub(crate) fn session(&self, session: usize) -> SessionId {
        SessionId::from_bytes(self.ids.sessions[session])
    }

    pub(crate) fn call(&self, call: usize) -> ToolCallId {
        ToolCallId::from_bytes(self.ids.calls[call])
    }

    pub(crate) fn gate(&self, gate: usize) -> ApprovalId {
        ApprovalId::from_bytes(self.ids.gates[gate])
    }

    pub(crate) fn part(&self, part: usize) -> OutboxId {
        OutboxId::from_bytes(self.ids.parts[part])
    }

    pub(crate) fn attempt(&self, attempt: usize) -> ModelAttemptId {
        ModelAttemptId::from_bytes(self.ids.tries[attempt])
    }

    pub(crate) fn hook<T: Send + 'static>(
        &self,
        hook: impl FnOnce(&Connection) -> T + Send + 'static,
    ) -> T {
        self.runtime
            .block_on(self.world().store.with_writer(hook))
            .unwrap()
    }

    /// Writes a command; a refusal in the model's words.
    pub(crate) fn write<C: WriteCommand>(&self, command: C) -> Result<C::Output, Outcome> {
        self.runtime
            .block_on(self.world().store.write(command))
            .map_err(|error| match error {
                StoreError::Fenced { .. }
                | StoreError::Conflict { .. }
                | StoreError::Rejected { .. }
                | StoreError::Bug { .. } => Outcome::Refused(No::Illegal),
                StoreError::KeyConflict => Outcome::Refused(No::KeyConflict),
                StoreError::VersionConflict { .. } => Outcome::Refused(No::Version),
                other => panic!("{}: {other}", std::any::type_name::<C>()),
            })
    }

    pub(crate) fn question(
        &mut self,
        kind: ApprovalKind,
        offered: &[DecisionKind],
        digest: String,
        channel: usize,
        question: Question,
    ) -> NewApproval {
        NewApproval {
            id: ApprovalId::generate(),
            short_code: "ABC234".to_owned(),
            kind,
            digest,
            taint: Vec::new(),
            preview: Preview::None,
            model_reason: None,
            offered: offered.to_vec(),
            expires_at: question
                .lives
                .map(|seconds| self.now().plus_seconds(seconds)),
            question: None,
            once_only: None,
            cards: self.cards(channel, question.cards),
        }
    }

    pub(crate) fn cards(&mut self, channel: usize, count: u8) -> Vec<NewCard> {
        (0..count)
            .map(|_| {
                self.counter += 1;
                NewCard {
                    person: "anna".to_owned(),
                    channel: CHANNELS[channel].to_owned(),
                    conversation: "owner".to_owned(),
                    buttons: [DecisionKind::Approve, DecisionKind::Deny]
                        .map(|word| (word, word.to_string(), format!("{}-{word}", self.counter)))
                        .to_vec(),
                    reply_to: None,
                }
            })
            .collect()
    }

    pub(crate) fn model_step(&self, attempt: usize, tokens: u32) -> ModelStep {
        ModelStep {
            source: AnswerSource::Attempt(self.attempt(attempt)),
            model: "scripted/demo".to_owned(),
            text: "text".to_owned(),
            stop: "end".to_owned(),
            answered_by: None,
            usage: usage(tokens),
            latency_ms: 1,
            attempts: 1,
            native: None,
            dropped: Vec::new(),
            notes: Vec::new(),
            active_ms: ACTIVE,
        }
    }

    /// The calls of a model's answer, as they come after `first` older ones.
    pub(crate) fn new_calls(
        &mut self,
        plans: &[Plan],
        channel: usize,
        version: u64,
    ) -> Vec<NewCall> {
        let first = self.ids.calls.len();
        plans
            .iter()
            .enumerate()
            .map(|(n, plan)| {
                let number = first + n;
                let digest = digest_of(number, 1);
                let (decision, outcome) = match plan.verdict {
                    Judged::Ready => (VerdictKind::Allow, NewCallOutcome::Ready),
                    Judged::Ask(question) => (
                        VerdictKind::Ask,
                        NewCallOutcome::Ask(self.question(
                            ApprovalKind::Execute,
                            RUN,
                            digest.clone(),
                            channel,
                            question,
                        )),
                    ),
                    Judged::Refused(state) => (
                        VerdictKind::Deny,
                        NewCallOutcome::Refused {
                            state,
                            content: "no".to_owned(),
                        },
                    ),
                };
                NewCall {
                    id: ToolCallId::generate(),
                    provider_call_id: format!("p{number}"),
                    name: "write_file".to_owned(),
                    args: serde_json::json!({"call": number}),
                    preview: "a.txt".to_owned(),
                    access: Access::Write,
                    effect: plan.effect,
                    risk: Risk::Medium,
                    risk_reasons: Vec::new(),
                    plan: PlanFacts::default(),
                    digest,
                    args_digest: arguments(number, 1),
                    idempotency_key: ToolCallId::generate().to_string(),
                    verdict: Verdict {
                        decision,
                        rule: "a rule".to_owned(),
                        policy_version: version,
                    },
                    basis: None,
                    fallback: None,
                    outcome,
                }
            })
            .collect()
    }

    /// The facts of a call under its next plan.
    pub(crate) fn new_facts(call: usize, plan: u32, effect: Effect, version: u64) -> NewCallFacts {
        NewCallFacts {
            args: serde_json::json!({"call": call, "plan": plan}),
            preview: "b.txt".to_owned(),
            access: Access::Write,
            effect,
            risk: Risk::High,
            risk_reasons: Vec::new(),
            plan: PlanFacts::default(),
            digest: digest_of(call, plan),
            args_digest: arguments(call, plan),
            verdict: Verdict {
                decision: VerdictKind::Ask,
                rule: "another rule".to_owned(),
                policy_version: version,
            },
        }
    }

    pub(crate) fn parts(channel: usize, chat: u8, count: u8) -> Vec<NewPart> {
        (0..count)
            .map(|n| NewPart {
                channel: CHANNELS[channel].to_owned(),
                conversation: format!("chat-{chat}"),
                text: format!("part {n}"),
                reply_to: None,
                file: None,
            })
            .collect()
    }

    pub(crate) fn notice(
        channel: usize,
        chat: u8,
        class: leverframe::protocol::enums::OutboxClass,
        turn: Option<ContinuationId>,
    ) -> NewNotice {
        NewNotice {
            channel: CHANNELS[channel].to_owned(),
            conversation: format!("chat-{chat}"),
            class,
            text: "a word".to_owned(),
            reply_to: None,
            continuation_id: turn,
        }
    }

    /// Reads what the last step wrote, and checks what only rises.
    fn read_back(&mut self) {
        let (seq, audited) = (self.seq, self.audit.len());
        let tries = self.ids.tries.clone();
        let (ids, events, audit, digests) = self.hook(move |conn| {
            let ids = Ids::read(conn, tries).unwrap();
            let events: Vec<(u64, Option<[u8; 16]>, String)> = conn
                .prepare_cached(
                    "SELECT seq, continuation_id, json_extract(body, '$.kind') FROM events WHERE seq > ?1 ORDER BY seq",
                )
                .unwrap()
                .query_map([seq], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
                .unwrap()
                .collect::<rusqlite::Result<_>>()
                .unwrap();
            let audit: Vec<String> = conn
                .prepare_cached("SELECT action FROM audit WHERE seq > ?1 ORDER BY seq")
                .unwrap()
                .query_map([audited], |row| row.get(0))
                .unwrap()
                .collect::<rusqlite::Result<_>>()
                .unwrap();
            let digests: Vec<(String, u32)> = conn
                .prepare_cached("SELECT digest, revision FROM approvals ORDER BY position")
                .unwrap()
                .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
                .unwrap()
                .collect::<rusqlite::Result<_>>()
                .unwrap();
            (ids, events, audit, digests)
        });
        self.ids = ids;
        self.digests = digests;
        self.audit.extend(audit);
        self.paths.resize(self.ids.turns.len(), Vec::new());
        for (seq, turn, kind) in events {
            assert!(
                seq > self.seq && seq >> 32 == self.world().epoch(),
                "event {seq} follows {} in epoch {}",
                self.seq,
                self.world().epoch()
            );
            self.seq = seq;
            let state = match kind.as_str() {
                "message.received" | "continuation.resumed" => "pending",
                "continuation.started" => "running",
                "continuation.queued" => continue,
                other => match other.strip_prefix("continuation.") {
                    Some(state) => state,
                    None => continue,
                },
            };
            let turn = self.ids.place(&turn.unwrap());
            self.paths[turn].push(state.to_owned());
        }
    }

    /// Carries a step out; its answer must be the model's, and a refusal must change nothing.
    pub(crate) fn apply(&mut self, model: &Model, step: &Step) {
        self.now = Timestamp(model.now);
        let refused = matches!(model.last, Outcome::Refused(_));
        let before = refused.then(|| self.hook(|conn| picture::digest(conn).unwrap()));
        let answer = self.carry_out(model, step);
        assert_eq!(answer, model.last, "the answer to {step:?}");
        if let Some(before) = before {
            let after = self.hook(|conn| picture::digest(conn).unwrap());
            assert_eq!(before, after, "{step:?} was refused and changed something");
        }
        self.read_back();
    }

    /// Compares every table with the model, and lets the store's own check look at it.
    pub(crate) fn compare(&self, model: &Model) {
        let ids = self.ids.clone();
        let mut found = self.hook(move |conn| picture::tables(conn, &ids).unwrap());
        found.push(("audit", self.audit.clone()));
        found.push((
            "paths",
            self.paths.iter().map(|path| path.join(" ")).collect(),
        ));
        for ((name, expected), (other, found)) in model.picture().iter().zip(&found) {
            assert_eq!(name, other);
            for n in 0..expected.len().max(found.len()) {
                assert_eq!(
                    found.get(n),
                    expected.get(n),
                    "{name}, row {n}: the store (left), the model (right)"
                );
            }
        }
        self.compare_offers(model);
        let violations = self
            .runtime
            .block_on(self.world().store.read(check))
            .unwrap();
        assert!(violations.is_empty(), "{violations:#?}");
    }

    /// Who may start, and what a channel is given to send.
    fn compare_offers(&self, model: &Model) {
        let now = self.now();
        let (mut waiting, offers) = self
            .runtime
            .block_on(self.world().store.read(move |reader| {
                Ok((
                    reader.sessions_with_pending()?,
                    [
                        reader.next_outbox(CHANNELS[0], now)?,
                        reader.next_outbox(CHANNELS[1], now)?,
                    ],
                ))
            }))
            .unwrap();
        waiting.sort_unstable();
        let mut expected: Vec<SessionId> = model
            .turns
            .iter()
            .filter(|turn| turn.state == leverframe::protocol::enums::ContinuationState::Pending)
            .map(|turn| self.session(turn.session))
            .collect();
        expected.sort_unstable();
        expected.dedup();
        assert_eq!(waiting, expected, "sessions with something to start");
        for (channel, offer) in offers.into_iter().enumerate() {
            let offer = match offer {
                NextOutbox::Row(row) => Next::Part(self.ids.place(&row.id.to_bytes())),
                NextOutbox::Wait(at) => Next::Wait(at.as_millis()),
                NextOutbox::Empty => Next::Nothing,
            };
            assert_eq!(
                offer,
                model.next_part(channel),
                "what {} is to send next",
                CHANNELS[channel]
            );
        }
    }
}

/// A state that only a broken caller would report.
pub(crate) const NONSENSE: ToolCallState = ToolCallState::Approved;
