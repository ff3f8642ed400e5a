//! Each step as the store's command.

use leverframe::clock::Timestamp;
use leverframe::protocol::budget::{Limit, TurnLimits};
use leverframe::protocol::channel::SendIdempotency;
use leverframe::protocol::enums::{
    ApprovalKind, DecisionScope, Effect, HookPoint, OutboxClass, ToolCallState,
};
use leverframe::protocol::hook::{HookNote, HookVerdict};
use leverframe::store::commands::ask_budget::AskBudget;
use leverframe::store::commands::begin_send::{BeginSend, BeginSendOutcome};
use leverframe::store::commands::cancel::Cancel;
use leverframe::store::commands::claim::Claim;
use leverframe::store::commands::decide::{Decide, DecideOutcome, DecideReport};
use leverframe::store::commands::end_send::{EndSend, SendOutcome};
use leverframe::store::commands::end_session::EndSession;
use leverframe::store::commands::fail_turn::FailTurn;
use leverframe::store::commands::finish_tool::FinishTool;
use leverframe::store::commands::finish_turn::FinishTurn;
use leverframe::store::commands::idempotent_ingest::IdempotentIngest;
use leverframe::store::commands::ingest_record::IngestRecord;
use leverframe::store::commands::ingest_turn::{IngestOutcome, IngestTurn, TurnFiles};
use leverframe::store::commands::llm_result::LlmResult;
use leverframe::store::commands::park::{Park, ParkOutcome};
use leverframe::store::commands::record_audit::RecordAudit;
use leverframe::store::commands::record_hooks::RecordHooks;
use leverframe::store::commands::recover::Recovery;
use leverframe::store::commands::refuse_call::RefuseCall;
use leverframe::store::commands::release_turn::{Yield, YieldTo};
use leverframe::store::commands::reopen_approval::ReopenApproval;
use leverframe::store::commands::reserve_model::ReserveModel;
use leverframe::store::commands::revise_approval::ReviseApproval;
use leverframe::store::commands::settle_model::SettleModel;
use leverframe::store::commands::start_session::StartSession;
use leverframe::store::commands::start_tool::{StartTool, StartToolOutcome};
use leverframe::store::commands::update_session::UpdateSession;
use leverframe::store::input::{ActorRef, SessionChoice, SharedLimits, TurnBounds, TurnCache};
use serde_json::json;

use crate::store_model::model::{CHANNELS, Model, Outcome, Recovered};
use crate::store_model::rules_delivery::message_ref;
use crate::store_model::rules_turn::{
    ACTIVE, BUDGET, LIMITS, OFFERED, PATIENCE, RESEND, SHARED, UNKNOWN,
};
use crate::store_model::step::{Ended, Item, Offer, Sent, Shown, Step, Target};
use crate::store_model::system::{NONSENSE, System, digest_of, origin, person, usage};

/// A refusal is an answer too.
fn answer(result: Result<Outcome, Outcome>) -> Outcome {
    result.unwrap_or_else(|refused| refused)
}

impl System {
    /// Carries a step out and gives its answer in the model's words. `model` is the state after the step: what a
    /// refused step would have been about is still in it.
    pub(crate) fn carry_out(&mut self, model: &Model, step: &Step) -> Outcome {
        let epoch = self.world().epoch();
        match step {
            Step::Stale(step) => self.with_epoch(model, step, epoch - 1),
            step if step.carries_epoch() => self.with_epoch(model, step, epoch),
            Step::Crash => {
                self.start_again(|world| world.crash());
                self.recovered()
            }
            Step::Restart => {
                self.start_again(|world| world.restart());
                self.recovered()
            }
            Step::Restore => {
                self.start_again(|world| world.restart_without_sidecar());
                self.recovered()
            }
            Step::Clock(seconds) => {
                if *seconds < 0 {
                    let paused = model.channels[0].paused;
                    let seen = Step::PauseChannel { channel: 0, paused };
                    answer(self.by_people(model, &seen));
                }
                self.world().clock.advance_millis(seconds * 1000);
                Outcome::Done
            }
            step => answer(self.by_people(model, step)),
        }
    }

    fn recovered(&self) -> Outcome {
        let found: &Recovery = &self.world().recovery;
        let ids =
            self.hook(|conn| crate::store_model::picture::Ids::read(conn, Vec::new()).unwrap());
        let places = |list: Vec<[u8; 16]>| list.iter().map(|id| ids.place(id)).collect();
        Outcome::Recovered(Recovered {
            interrupted: places(found.interrupted.iter().map(|id| id.to_bytes()).collect()),
            resolve: places(found.resolve.iter().map(|id| id.to_bytes()).collect()),
            ready_again: found.ready_again,
            unknown: places(found.unknown_sends.iter().map(|id| id.to_bytes()).collect()),
            old: places(found.old_answers.iter().map(|id| id.to_bytes()).collect()),
            quarantine: found.quarantine,
            held: found.held.is_some(),
            clean: found.clean,
        })
    }

    fn ingested(&self, outcome: &IngestOutcome) -> Outcome {
        let ids =
            self.hook(|conn| crate::store_model::picture::Ids::read(conn, Vec::new()).unwrap());
        Outcome::Ingested {
            disposition: outcome.disposition,
            turn: outcome.continuation_id.map(|id| ids.place(&id.to_bytes())),
            repeated: outcome.repeated,
        }
    }

    fn record(
        item: &Item,
        disposition: leverframe::protocol::enums::Disposition,
        notice: bool,
    ) -> IngestRecord {
        IngestRecord {
            origin: origin(item),
            disposition,
            detail: "a detail".to_owned(),
            notices: if notice {
                vec![Self::notice(
                    item.channel,
                    item.chat,
                    OutboxClass::Notice,
                    None,
                )]
            } else {
                Vec::new()
            },
        }
    }

    fn decided(report: DecideReport) -> Outcome {
        Self::told(report.outcome)
    }

    pub(super) fn told(outcome: DecideOutcome) -> Outcome {
        match outcome {
            DecideOutcome::Decided(_) => Outcome::Decided,
            DecideOutcome::Same(_) => Outcome::Same,
            DecideOutcome::Lost { winner, .. } => Outcome::Lost(winner.decision),
            DecideOutcome::Stale { .. } => Outcome::Stale,
            DecideOutcome::Expired => Outcome::TooLate,
            DecideOutcome::NotPending(state) => Outcome::NotPending(state),
        }
    }

    /// Digest and revision of a question as somebody was shown them.
    pub(super) fn shown(&self, gate: usize, shown: Shown) -> (String, Option<u32>) {
        let (digest, revision) = self.digests[gate].clone();
        match shown {
            Shown::Right => (digest, Some(revision)),
            Shown::RightDigestOnly => (digest, None),
            Shown::WrongDigest => ("shown before".to_owned(), None),
            Shown::WrongRevision => (digest, Some(revision + 1)),
        }
    }

    /// Where a turn's words go.
    fn place(model: &Model, turn: usize) -> (usize, u8) {
        let session = &model.sessions[model.turns[turn].session];
        (session.channel, session.chat)
    }

    fn turn_notice(
        &self,
        model: &Model,
        turn: usize,
        wanted: bool,
    ) -> Vec<leverframe::store::input::NewNotice> {
        if !wanted {
            return Vec::new();
        }
        let (channel, chat) = Self::place(model, turn);
        vec![Self::notice(
            channel,
            chat,
            OutboxClass::Notice,
            Some(self.turn(turn)),
        )]
    }

    /// Commands of the engine, which name the epoch they belong to.
    #[allow(clippy::too_many_lines)]
    fn with_epoch(&mut self, model: &Model, step: &Step, epoch: u64) -> Outcome {
        answer(match step {
            Step::Claim { session } => self
                .write(Claim {
                    session_id: self.session(*session),
                    epoch,
                    floods: leverframe::store::input::ChannelFloods::default(),
                    except: Vec::new(),
                })
                .map(|found| Outcome::Claimed(found.map(|id| self.ids.place(&id.to_bytes())))),
            Step::Reserve { turn, tokens } => self
                .write(ReserveModel {
                    continuation_id: self.turn(*turn),
                    epoch,
                    step: 1,
                    attempt: 1,
                    model: "scripted/demo".to_owned(),
                    estimated_tokens: u64::from(*tokens),
                    estimated_cost_usd: None,
                    limits: shared_limits(),
                    estimated_input_tokens: None,
                })
                .map(|reservation| self.reserved(reservation)),
            Step::BeginCompaction { .. }
            | Step::CommitCompaction { .. }
            | Step::FailCompaction { .. }
            | Step::RetryCompaction { .. } => self.with_memory(model, step, epoch),
            Step::Propose {
                turn,
                attempt,
                tokens,
                plans,
            } => {
                let (channel, _) = Self::place(model, *turn);
                let version = model.channels[channel].version;
                let calls = self.new_calls(plans, channel, version);
                self.write(LlmResult {
                    continuation_id: self.turn(*turn),
                    epoch,
                    step: self.model_step(*attempt, *tokens),
                    calls,
                })
                .map(|_| Outcome::Done)
            }
            Step::AskBudget {
                turn,
                budget,
                question,
            } => {
                let (channel, _) = Self::place(model, *turn);
                let approval = self.question(
                    ApprovalKind::Budget,
                    BUDGET,
                    "budget".to_owned(),
                    channel,
                    *question,
                );
                self.write(AskBudget {
                    continuation_id: self.turn(*turn),
                    epoch,
                    budget: *budget,
                    extra: budget.is_shared().then_some(f64::from(OFFERED)),
                    day: budget.is_of_a_day().then_some(0),
                    limit: 8.0,
                    used: 8.0,
                    approval,
                    active_ms: ACTIVE,
                })
                .map(|()| Outcome::Done)
            }
            Step::Park { turn, notice } => self
                .write(Park {
                    continuation_id: self.turn(*turn),
                    epoch,
                    active_ms: ACTIVE,
                    notices: self.turn_notice(model, *turn, *notice),
                })
                .map(|parked| Outcome::Waits(parked == ParkOutcome::Waiting)),
            Step::ReopenApproval { call, question } => {
                let (channel, _) = Self::place(model, model.calls[*call].turn);
                // A refused step leaves the plan as it was.
                let plan = model.calls[*call].plan;
                let digest = digest_of(*call, plan);
                let approval = self.question(
                    ApprovalKind::Execute,
                    super::rules_turn::RUN,
                    digest,
                    channel,
                    *question,
                );
                self.write(ReopenApproval {
                    call_id: self.call(*call),
                    epoch,
                    approval,
                    reason: "stricter".to_owned(),
                    call: Self::new_facts(
                        *call,
                        plan,
                        model.calls[*call].effect,
                        model.channels[channel].version,
                    ),
                })
                .map(|()| Outcome::Done)
            }
            Step::StartTool {
                call,
                right_plan,
                key_lives,
            } => {
                let plan = model.calls[*call].plan + u32::from(!right_plan);
                self.write(StartTool {
                    call_id: self.call(*call),
                    epoch,
                    digest: digest_of(*call, plan),
                    max_decision_age_ms: PATIENCE,
                    key_lifetime_ms: key_lives
                        .and_then(|seconds| u64::try_from(seconds * 1000).ok()),
                    basis: None,
                })
                .map(|outcome| match outcome {
                    StartToolOutcome::Started { attempt } => Outcome::Started(attempt),
                    StartToolOutcome::DigestMismatch => Outcome::OtherPlan,
                    StartToolOutcome::DecisionTooOld => Outcome::TooOld,
                    StartToolOutcome::KeyRanOut => Outcome::KeyRanOut,
                    StartToolOutcome::NoLongerAllowed => Outcome::NoLongerAllowed,
                    StartToolOutcome::NotStartable(state) => Outcome::NotStartable(state),
                })
            }
            Step::RefuseCall { call } => self
                .write(RefuseCall {
                    call_id: self.call(*call),
                    epoch,
                    content: "refused".to_owned(),
                })
                .map(|()| Outcome::Done),
            Step::FinishTool {
                call,
                last_attempt,
                ended,
            } => {
                let row = &model.calls[*call];
                let (channel, _) = Self::place(model, row.turn);
                let (state, resolve) = match ended {
                    Ended::Well => (ToolCallState::Succeeded, None),
                    Ended::Badly => (ToolCallState::Failed, None),
                    Ended::UnknownUnasked => (ToolCallState::Indeterminate, None),
                    Ended::Nonsense => (NONSENSE, None),
                    Ended::Unknown(question) => {
                        let digest = digest_of(*call, row.plan);
                        let question = self.question(
                            ApprovalKind::ResolveUnknown,
                            UNKNOWN,
                            digest,
                            channel,
                            *question,
                        );
                        (ToolCallState::Indeterminate, Some(question))
                    }
                };
                self.write(FinishTool {
                    call_id: self.call(*call),
                    epoch,
                    attempt: row.attempts + u32::from(!last_attempt),
                    state,
                    content: "result".to_owned(),
                    is_error: state == ToolCallState::Failed,
                    duration_ms: 1,
                    artifact: None,
                    cached: None,
                    resolve,
                })
                .map(|()| Outcome::Done)
            }
            Step::FinishTurn {
                turn,
                attempt,
                tokens,
                parts,
            } => {
                let (channel, chat) = Self::place(model, *turn);
                self.write(FinishTurn {
                    continuation_id: self.turn(*turn),
                    epoch,
                    model: attempt.map(|attempt| self.model_step(attempt, *tokens)),
                    text: "answer".to_owned(),
                    stop: "end".to_owned(),
                    citations: leverframe::protocol::citation::Citations::default(),
                    parts: Self::parts(channel, chat, *parts),
                    session_last_line: "answer".to_owned(),
                })
                .map(|()| Outcome::Done)
            }
            Step::FailTurn {
                turn,
                attempt,
                notice,
            } => self
                .write(FailTurn {
                    continuation_id: self.turn(*turn),
                    epoch,
                    error: leverframe::protocol::session::ErrorBody {
                        code: "model".to_owned(),
                        message: "broken".to_owned(),
                    },
                    model: attempt.map(|attempt| (self.attempt(attempt), usage(7))),
                    notices: self.turn_notice(model, *turn, *notice),
                })
                .map(|()| Outcome::Done),
            Step::Yield { turn, interrupted } => self
                .write(Yield {
                    continuation_id: self.turn(*turn),
                    epoch,
                    to: if *interrupted {
                        YieldTo::Interrupted
                    } else {
                        YieldTo::Pending
                    },
                    reason: "put down".to_owned(),
                    active_ms: ACTIVE,
                    partial: None,
                })
                .map(|()| Outcome::Done),
            Step::BeginSend { part, offer } => self
                .write(BeginSend {
                    outbox_id: self.part(*part),
                    epoch,
                    idempotency: match offer {
                        Offer::Nothing => SendIdempotency::None,
                        Offer::LookUp => SendIdempotency::Reconcile,
                        Offer::Key(lives) => SendIdempotency::NativeKey {
                            window_ms: lives.and_then(|seconds| u64::try_from(seconds * 1000).ok()),
                        },
                    },
                })
                .map(|outcome| match outcome {
                    BeginSendOutcome::Begun => Outcome::Done,
                    BeginSendOutcome::KeyRanOut => Outcome::KeyRanOut,
                }),
            Step::EndSend { part, sent } => {
                let row = &model.parts[*part];
                let (outcome, resend) = match sent {
                    Sent::Yes(count) => (
                        SendOutcome::Sent {
                            refs: (0..*count)
                                .map(|n| message_ref(*part, row.attempts, n))
                                .collect(),
                        },
                        None,
                    ),
                    Sent::Later(seconds) => (
                        SendOutcome::Retry {
                            not_before: self.now().plus_seconds(*seconds),
                            error: "429".to_owned(),
                        },
                        None,
                    ),
                    Sent::Never => (
                        SendOutcome::Failed {
                            error: "403".to_owned(),
                        },
                        None,
                    ),
                    Sent::Unknown(question) => {
                        let channel = row.channel;
                        let resend = question.map(|question| {
                            self.question(
                                ApprovalKind::Resend,
                                RESEND,
                                "resend".to_owned(),
                                channel,
                                question,
                            )
                        });
                        (
                            SendOutcome::Unknown {
                                detail: "cut".to_owned(),
                            },
                            resend,
                        )
                    }
                };
                self.write(EndSend {
                    outbox_id: self.part(*part),
                    epoch,
                    outcome,
                    resend,
                })
                .map(|()| Outcome::Done)
            }
            other => unreachable!("{other:?} carries no epoch"),
        })
    }

    /// Commands of surfaces and people.
    fn by_people(&mut self, model: &Model, step: &Step) -> Result<Outcome, Outcome> {
        let by = person(1);
        match step {
            Step::Ingest {
                item,
                target,
                queue,
                unlimited,
                notice,
                retry,
            } => {
                let command = IngestTurn {
                    files: TurnFiles::default(),
                    origin: origin(item),
                    session: match target {
                        Target::Chat => SessionChoice::Conversation,
                        Target::Session(session) => SessionChoice::Id(self.session(*session)),
                        Target::Temporary => SessionChoice::Temporary,
                    },
                    text: "please".to_owned(),
                    role: "user".to_owned(),
                    said_at: "Mon 2026-11-23 09:30 +01:00".to_owned(),
                    model: None,
                    limits: TurnLimits {
                        max_steps: u32::try_from(LIMITS[0]).unwrap(),
                        max_tool_calls: u32::try_from(LIMITS[1]).unwrap(),
                        max_active_ms: LIMITS[2],
                        max_tokens: LIMITS[3],
                        max_cost_usd: None,
                    },
                    max_queue: *queue,
                    unlimited_queue: *unlimited,
                    retry_of: retry.map(|turn| self.turn(turn)),
                    queue_full_notice: notice
                        .then(|| Self::notice(item.channel, item.chat, OutboxClass::Notice, None)),
                    title: None,
                    cache: TurnCache::default(),
                    options: leverframe::protocol::options::TurnOptions::default(),
                    bounds: TurnBounds::default(),
                };
                let outcome = self.write(command)?;
                Ok(self.ingested(&outcome))
            }
            Step::Record {
                item,
                disposition,
                notice,
            } => {
                let outcome = self.write(Self::record(item, *disposition, *notice))?;
                Ok(self.ingested(&outcome))
            }
            Step::OnceCancel { item, turn } => {
                let (_, done) = self.write(IdempotentIngest {
                    record: Self::record(
                        item,
                        leverframe::protocol::enums::Disposition::Command,
                        false,
                    ),
                    then: Cancel {
                        continuation_id: self.turn(*turn),
                        by,
                        reason: None,
                        notices: Vec::new(),
                        under_way: None,
                    },
                })?;
                Ok(done.map_or(Outcome::Before, |done| self.cancelled(&done.started_calls)))
            }
            Step::Cancel { turn, notice } => {
                let done = self.write(Cancel {
                    continuation_id: self.turn(*turn),
                    by,
                    reason: None,
                    notices: self.turn_notice(model, *turn, *notice),
                    under_way: None,
                })?;
                Ok(self.cancelled(&done.started_calls))
            }
            Step::StartSession { channel, chat } => self
                .write(StartSession {
                    channel: CHANNELS[*channel].to_owned(),
                    conversation: format!("chat-{chat}"),
                    title: None,
                    model: None,
                })
                .map(|_| Outcome::Done),
            Step::UpdateSession { session, paused } => self
                .write(UpdateSession {
                    session_id: self.session(*session),
                    title: Some("title".to_owned()),
                    model: None,
                    paused: *paused,
                    preferences: None,
                    by,
                })
                .map(|()| Outcome::Done),
            Step::EndSession { session } => {
                let ended = self.write(EndSession {
                    session_id: self.session(*session),
                    reason: "new".to_owned(),
                    by,
                })?;
                Ok(Outcome::Turns(
                    ended
                        .iter()
                        .map(|id| self.ids.place(&id.to_bytes()))
                        .collect(),
                ))
            }
            Step::Settle { attempt, tokens } => self
                .write(SettleModel {
                    attempt_id: self.attempt(*attempt),
                    usage: usage(*tokens),
                    error: Some("529".to_owned()),
                    active_ms: ACTIVE,
                })
                .map(|()| Outcome::Done),
            Step::Decide {
                gate,
                word,
                shown,
                for_session,
                extra,
                person: who,
            } => {
                let (digest, revision) = self.shown(*gate, *shown);
                let report = self.write(Decide {
                    approval_id: self.gate(*gate),
                    digest,
                    revision,
                    decision: *word,
                    scope: for_session.then_some(DecisionScope::Session),
                    by: person(*who),
                    reason: None,
                    answer: None,
                    extra: extra.map(f64::from),
                    minutes: None,
                    seen_ms: None,
                    result_content: "what the model reads".to_owned(),
                    refusal_notice: None,
                    grant_expires_at: None,
                    card_update: true,
                    rule: None,
                    grace_seconds: 0,
                })?;
                Ok(Self::decided(report))
            }
            Step::Revise { gate, shown, cards } => {
                let (digest, _) = self.shown(*gate, *shown);
                let row = &model.gates[*gate];
                let (call, channel) = (row.call.unwrap_or_default(), row.channel);
                let (plan, effect) = (model.calls.get(call))
                    .map_or((1, Effect::ReadOnly), |call| (call.plan, call.effect));
                let cards = self.cards(channel, *cards);
                let report = self.write(ReviseApproval {
                    approval_id: self.gate(*gate),
                    digest,
                    by,
                    call: Self::new_facts(call, plan, effect, model.channels[channel].version),
                    preview: leverframe::protocol::approval::Preview::None,
                    taint: Vec::new(),
                    once_only: None,
                    cards,
                });
                Ok(Self::decided(report?))
            }
            Step::RecordHooks { call, sent } => {
                let epoch = self.world().epoch();
                let id = self.call(*call);
                let note = HookNote {
                    hook: "check".to_owned(),
                    point: HookPoint::BeforeToolCall,
                    at_start: false,
                    dry_run: false,
                    verdict: HookVerdict::Change {
                        field: "args".to_owned(),
                        value: json!({}),
                    },
                    before: None,
                    at: Timestamp(1),
                };
                let turn = self.turn(model.calls[*call].turn);
                self.write(RecordHooks {
                    notes: vec![(id, vec![note])],
                    sent_text: sent.then(|| (turn, epoch, "changed".to_owned())),
                    rows: vec![RecordAudit {
                        action: "hook.changed",
                        by: ActorRef::engine(),
                        channel: None,
                        subject: id.to_string(),
                        detail: json!({}),
                    }],
                })
                .map(|()| Outcome::Done)
            }
            other => self.by_operators(model, other),
        }
    }

    fn cancelled(&self, started: &[leverframe::protocol::ids::ToolCallId]) -> Outcome {
        let mut calls: Vec<usize> = started
            .iter()
            .map(|id| self.ids.place(&id.to_bytes()))
            .collect();
        calls.sort_unstable();
        Outcome::Cancelled(calls)
    }
}

/// What every call of a walk must stay within.
pub(crate) fn shared_limits() -> SharedLimits {
    let tokens = |most| Limit {
        max_tokens: Some(most),
        max_cost_usd: None,
    };
    SharedLimits {
        day: 0,
        session: tokens(SHARED[0]),
        channel: tokens(SHARED[1]),
        all: tokens(SHARED[2]),
    }
}
