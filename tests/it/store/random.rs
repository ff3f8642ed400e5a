//! Random commands on whatever the store holds, for suites that need a store with a past. The walk that judges the
//! store itself is `store_model`.

use leverframe::protocol::channel::SendIdempotency;
use leverframe::protocol::enums::{
    ApprovalKind, ApprovalState, ContinuationState, DecisionKind, Effect, ToolCallState,
};
use leverframe::protocol::ids::{
    CompactionId, ContinuationId, ModelAttemptId, SessionId, ToolCallId,
};
use leverframe::protocol::snapshot::PageRequest;
use leverframe::store::commands::begin_send::BeginSend;
use leverframe::store::commands::cancel::Cancel;
use leverframe::store::commands::claim::Claim;
use leverframe::store::commands::end_send::{EndSend, SendOutcome};
use leverframe::store::commands::expire_due::ExpireDue;
use leverframe::store::commands::fail_compaction::FailCompaction;
use leverframe::store::commands::finish_tool::FinishTool;
use leverframe::store::commands::park::Park;
use leverframe::store::commands::release_turn::{Yield, YieldTo};
use leverframe::store::commands::resume::Resume;
use leverframe::store::commands::retry_compaction::RetryCompaction;
use leverframe::store::commands::start_tool::StartTool;
use leverframe::store::input::NewCallOutcome;
use leverframe::store::queries::approvals::ApprovalFilter;
use leverframe::store::queries::compactions::Reach;
use leverframe::store::queries::continuations::ContinuationFilter;
use leverframe::store::queries::outbox::NextOutbox;
use proptest::prelude::*;

use crate::support::world::{
    Compacting, World, approval, by, call, compaction_call, gated, turn, usage,
};

#[derive(Debug, Clone, Copy)]
pub(crate) enum Op {
    Ingest(u8),
    Claim,
    Propose(u8),
    Start,
    Finish(u8),
    Park,
    Decide(u8),
    Complete,
    Cancel,
    Resume,
    Yield(bool),
    Send(u8),
    Compact(u8),
    Later,
    Crash,
    Restart,
}

pub(crate) fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        3 => (0..3_u8).prop_map(Op::Ingest),
        5 => Just(Op::Claim),
        5 => any::<u8>().prop_map(Op::Propose),
        6 => Just(Op::Start),
        6 => any::<u8>().prop_map(Op::Finish),
        4 => Just(Op::Park),
        6 => any::<u8>().prop_map(Op::Decide),
        3 => Just(Op::Complete),
        1 => Just(Op::Cancel),
        3 => Just(Op::Resume),
        1 => any::<bool>().prop_map(Op::Yield),
        4 => any::<u8>().prop_map(Op::Send),
        2 => any::<u8>().prop_map(Op::Compact),
        1 => Just(Op::Later),
        2 => Just(Op::Crash),
        1 => Just(Op::Restart),
    ]
}

/// What the random walk acts on, read back from the store before every step.
struct View {
    sessions: Vec<SessionId>,
    running: Option<ContinuationId>,
    interrupted: Option<ContinuationId>,
    ready: Option<(ToolCallId, String)>,
    started: Option<(ToolCallId, u32)>,
    blocked: bool,
}

async fn view(world: &World) -> View {
    world
        .store
        .read(|reader| {
            let all = reader
                .continuations(&ContinuationFilter::default(), &PageRequest::default())?
                .items;
            let of = |state| all.iter().find(|row| row.state == state).map(|row| row.id);
            let running = of(ContinuationState::Running);
            let mut view = View {
                sessions: reader.sessions_with_pending()?,
                running,
                interrupted: of(ContinuationState::Interrupted),
                ready: None,
                started: None,
                blocked: false,
            };
            if let Some(id) = running {
                for row in reader.turn(id)?.calls {
                    match row.call.state {
                        ToolCallState::Ready | ToolCallState::Approved => {
                            view.ready = Some((row.call.id, row.digest));
                        }
                        ToolCallState::Started => {
                            view.started = Some((row.call.id, row.call.attempts));
                        }
                        _ => {}
                    }
                    view.blocked |= row.call.result.is_none();
                }
            }
            Ok(view)
        })
        .await
        .unwrap()
}

/// Begins a compaction of some session, or ends the one that is under way there, well, badly or with another try.
async fn compact(world: &World, n: u8) {
    let conversation = format!("c{}", n % 3);
    let reach = Reach {
        counted: 100,
        oldest: 100,
        newest: 0,
    };
    let epoch = world.epoch();
    let found = world
        .store
        .read(move |reader| {
            let Some(session) = reader.active_session("team", &conversation)? else {
                return Ok(None);
            };
            Ok(Some((session, reader.compactable(session, epoch, reach)?)))
        })
        .await
        .unwrap();
    let Some((session, found)) = found else {
        return;
    };
    let turns: Vec<ContinuationId> = found
        .oldest
        .iter()
        .map(|turn| turn.exchange.continuation_id)
        .take(usize::from(n / 3 % 4) + 1)
        .collect();
    if !found.running {
        if let Some(newest) = turns.last() {
            world.compacting(session, *newest).await;
        }
        return;
    }
    let (id, attempt_id) = world
        .store
        .with_writer(move |conn| {
            conn.query_row(
                "SELECT k.id, m.id FROM compactions k JOIN model_attempts m ON m.purpose = 'compaction'
                    AND m.settled_at IS NULL
                 JOIN continuations c ON c.id = m.continuation_id AND c.session_id = k.session_id
                 WHERE k.session_id = ?1 AND k.state = 'running'",
                [session.to_bytes()],
                |row| {
                    let id = CompactionId::from_bytes(row.get(0)?);
                    Ok((id, ModelAttemptId::from_bytes(row.get(1)?)))
                },
            )
            .unwrap()
        })
        .await
        .unwrap();
    let begun = Compacting {
        id,
        attempt_id,
        version: found.summary.map_or(0, |summary| summary.version),
    };
    match (n % 4, turns.last()) {
        (0, _) | (_, None) => {
            world
                .ok(FailCompaction {
                    id,
                    epoch,
                    call: Some((attempt_id, usage())),
                    error: "no".to_owned(),
                })
                .await;
        }
        (1, Some(newest)) => {
            world
                .ok(RetryCompaction {
                    id,
                    epoch,
                    attempt_id,
                    usage: usage(),
                    error: "not JSON".to_owned(),
                    call: compaction_call(*newest),
                })
                .await;
        }
        (_, Some(_)) => world.compact(begun, &turns).await,
    }
}

/// Refusals are fine (the walk tries much that is not allowed); broken invariants are not.
pub(crate) async fn step(world: World, op: Op) -> World {
    let view = view(&world).await;
    let epoch = world.epoch();
    match op {
        Op::Ingest(n) => {
            world.ok(turn(&format!("c{n}"), None)).await;
        }
        Op::Claim => {
            for session_id in view.sessions {
                world
                    .ok(Claim {
                        session_id,
                        epoch,
                        floods: leverframe::store::input::ChannelFloods::default(),
                        except: Vec::new(),
                    })
                    .await;
            }
        }
        Op::Propose(n) => {
            if let (Some(id), false) = (view.running, view.blocked) {
                let effect = Effect::ALL[usize::from(n) % Effect::ALL.len()];
                let mut calls = vec![call(effect, NewCallOutcome::Ready)];
                if n & 64 != 0 {
                    calls.push(gated(effect).0);
                }
                if n & 128 != 0 {
                    calls.push(call(
                        effect,
                        NewCallOutcome::Refused {
                            state: ToolCallState::Blocked,
                            content: "no".to_owned(),
                        },
                    ));
                }
                world.propose(id, calls).await;
            }
        }
        Op::Start => {
            if let Some((call_id, digest)) = view.ready {
                world
                    .ok(StartTool {
                        call_id,
                        epoch,
                        digest,
                        max_decision_age_ms: 60_000,
                        key_lifetime_ms: None,
                        basis: None,
                    })
                    .await;
            }
        }
        Op::Finish(n) => {
            if let Some((call_id, attempt)) = view.started {
                let state = [
                    ToolCallState::Succeeded,
                    ToolCallState::Failed,
                    ToolCallState::Indeterminate,
                ][usize::from(n) % 3];
                let resolve = (state == ToolCallState::Indeterminate)
                    .then(|| approval(ApprovalKind::ResolveUnknown, "unknown"));
                world
                    .ok(FinishTool {
                        call_id,
                        epoch,
                        attempt,
                        state,
                        content: "result".to_owned(),
                        is_error: false,
                        duration_ms: 1,
                        artifact: None,
                        cached: None,
                        resolve,
                    })
                    .await;
            }
        }
        Op::Park => {
            if let (Some(continuation_id), None) = (view.running, view.started) {
                world
                    .ok(Park {
                        continuation_id,
                        epoch,
                        active_ms: 1,
                        notices: Vec::new(),
                    })
                    .await;
            }
        }
        Op::Decide(n) => {
            let filter = ApprovalFilter {
                state: Some(ApprovalState::Pending),
            };
            let waiting = world
                .store
                .read(move |reader| reader.approvals(&filter, &PageRequest::default()))
                .await
                .unwrap()
                .items;
            if let Some(row) = waiting.get(usize::from(n) % waiting.len().max(1)) {
                let word = row.offered[usize::from(n) % row.offered.len()];
                if word != DecisionKind::Snooze {
                    let command = world.decide_command(row.id, word, "anna").await;
                    world.ok(command).await;
                }
            }
        }
        Op::Complete => {
            if let (Some(id), false) = (view.running, view.blocked) {
                world.finish(id, 2).await;
            }
        }
        Op::Cancel => {
            if let Some(continuation_id) = view.running.or(view.interrupted) {
                world
                    .ok(Cancel {
                        continuation_id,
                        by: by("anna"),
                        reason: None,
                        notices: Vec::new(),
                        under_way: None,
                    })
                    .await;
            }
        }
        Op::Resume => {
            if let Some(continuation_id) = view.interrupted {
                // Refused while a call is started (an emergency stop put the turn down around it).
                let _ = world
                    .write(Resume {
                        continuation_id,
                        by: by("anna"),
                    })
                    .await;
            }
        }
        Op::Yield(pending) => {
            if let Some(continuation_id) = view.running {
                let to = if pending {
                    YieldTo::Pending
                } else {
                    YieldTo::Interrupted
                };
                let _ = world
                    .write(Yield {
                        continuation_id,
                        epoch,
                        to,
                        reason: "stop".to_owned(),
                        active_ms: 0,
                        partial: None,
                    })
                    .await;
            }
        }
        Op::Send(n) => {
            let now = world.clock.now();
            let next = world
                .store
                .read(move |reader| reader.next_outbox("team", now))
                .await
                .unwrap();
            if let NextOutbox::Row(row) = next {
                world
                    .ok(BeginSend {
                        outbox_id: row.id,
                        epoch,
                        idempotency: SendIdempotency::None,
                    })
                    .await;
                let outcome = match n % 5 {
                    0 => None,
                    1 => Some(SendOutcome::Retry {
                        not_before: now,
                        error: "429".to_owned(),
                    }),
                    2 => Some(SendOutcome::Failed {
                        error: "403".to_owned(),
                    }),
                    3 => Some(SendOutcome::Unknown {
                        detail: "cut".to_owned(),
                    }),
                    _ => Some(SendOutcome::Sent {
                        refs: vec![row.id.to_string()],
                    }),
                };
                if let Some(outcome) = outcome {
                    let resend = matches!(outcome, SendOutcome::Unknown { .. })
                        .then(|| approval(ApprovalKind::Resend, "resend"));
                    world
                        .ok(EndSend {
                            outbox_id: row.id,
                            epoch,
                            outcome,
                            resend,
                        })
                        .await;
                }
            }
        }
        Op::Compact(n) => compact(&world, n).await,
        Op::Later => {
            world.clock.advance_millis(3_000_000);
            let now = world.clock.now();
            world
                .ok(ExpireDue {
                    now,
                    notice: "late".to_owned(),
                })
                .await;
        }
        Op::Crash => return world.crash().await,
        Op::Restart => return world.restart().await,
    }
    world
}
