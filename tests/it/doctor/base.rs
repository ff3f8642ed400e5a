//! A database in which every kind of row exists and every rule holds.

use std::path::{Path, PathBuf};

use leverframe::protocol::channel::SendIdempotency;
use leverframe::protocol::command::BudgetRequest;
use leverframe::protocol::enums::{
    ApprovalKind, Autonomy, DecisionKind, DecisionScope, Effect, MissedRuns, Surface, Unattended,
};
use leverframe::protocol::ids::{ContinuationId, RoutineId, TakeOverId};
use leverframe::protocol::mcp::{McpClaims, McpIdentity, McpToolDefinition};
use leverframe::store::commands::assign::{Assign, SetOnCall};
use leverframe::store::commands::begin_routine::{BeginRoutine, Begun, Occasion, RunAction};
use leverframe::store::commands::begin_send::BeginSend;
use leverframe::store::commands::decide::Decide;
use leverframe::store::commands::end_send::{EndSend, SendOutcome};
use leverframe::store::commands::park::Park;
use leverframe::store::commands::put_routine::{NextDue, PutRoutine, RoutineFields};
use leverframe::store::commands::record_server_offer::{OfferedTool, RecordServerOffer};
use leverframe::store::commands::take_over::Take;
use leverframe::store::commands::trust_server::TrustServer;
use leverframe::store::input::{ActorRef, NewCallOutcome, TurnBounds};
use leverframe::store::queries::outbox::NextOutbox;
use leverframe::store::queries::tool_servers::{PinnedDefinition, ServerOffer};

use crate::memory_data::world as memories;
use crate::pairings::world as pairings;
use crate::rules::world as rules;
use crate::support::world::{START, World, approval, by, call, gated, turn};

/// An offer of the server `notes`, whose digests are made of this letter.
fn server_offer(letter: &str) -> RecordServerOffer {
    let sha256 = letter.repeat(64);
    RecordServerOffer {
        name: "notes".to_owned(),
        offer: ServerOffer {
            identity: McpIdentity {
                name: "notes".to_owned(),
                version: "1".to_owned(),
                place: "/usr/bin/notes".to_owned(),
            },
            sha256: sha256.clone(),
            instructions: None,
            warnings: Vec::new(),
            has_resources: false,
        },
        tools: vec![OfferedTool {
            name: "note".to_owned(),
            pinned: Some(PinnedDefinition {
                definition: McpToolDefinition {
                    name: "note".to_owned(),
                    title: None,
                    description: letter.to_owned(),
                    input_schema: serde_json::json!({"type": "object"}),
                    output_schema: None,
                    claims: McpClaims::default(),
                },
                sha256: sha256.clone(),
            }),
            problem: None,
            usable: true,
        }],
        question: Some((
            "desk".to_owned(),
            approval(ApprovalKind::ServerPin, &sha256),
        )),
    }
}

/// Sends everything that waits; answers of `unknown` end unknown and are asked about.
async fn send_all(world: &World, unknown: Option<ContinuationId>) {
    loop {
        let now = world.clock.now();
        let next = world
            .store
            .read(move |reader| reader.next_outbox("team", now))
            .await
            .unwrap();
        let NextOutbox::Row(row) = next else {
            return;
        };
        let (outbox_id, epoch) = (row.id, world.epoch());
        world
            .ok(BeginSend {
                outbox_id,
                epoch,
                idempotency: SendIdempotency::None,
            })
            .await;
        let lost = unknown.is_some() && row.continuation_id == unknown;
        let outcome = if lost {
            SendOutcome::Unknown {
                detail: "the connection was reset".to_owned(),
            }
        } else {
            SendOutcome::Sent {
                refs: vec![format!("m{outbox_id}")],
            }
        };
        let resend = lost.then(|| {
            let mut question = approval(ApprovalKind::Resend, "resend");
            question.cards.clear();
            question
        });
        world
            .ok(EndSend {
                outbox_id,
                epoch,
                outcome,
                resend,
            })
            .await;
    }
}

/// Makes the database and closes it; the file and the directories that hold it.
pub(crate) async fn sound_database() -> (PathBuf, World) {
    let world = World::new().await;
    // A call in flight when the process died: its outcome is unknown. The epoch after it is 2.
    let (_, lost) = world.running("lost").await;
    let started = call(Effect::NonIdempotent, NewCallOutcome::Ready);
    let (call_id, digest) = (started.id, started.digest.clone());
    world.propose(lost, vec![started]).await;
    world.start(call_id, &digest).await;
    let world = world.crash().await;

    // A gated call and an ungated one, both done, and an answer in two parts.
    let (session, done) = world.running("done").await;
    let (asking, gate) = gated(Effect::Idempotent);
    let free = call(Effect::ReadOnly, NewCallOutcome::Ready);
    let calls = [
        (free.id, free.digest.clone()),
        (asking.id, asking.digest.clone()),
    ];
    world.propose(done, vec![free, asking]).await;
    world.start(calls[0].0, &calls[0].1).await;
    world.succeed(calls[0].0, 1).await;
    park(&world, done).await;
    send_all(&world, None).await;
    let approve = world
        .decide_command(gate, DecisionKind::Approve, "anna")
        .await;
    let approve = Decide {
        scope: Some(DecisionScope::Session),
        ..approve
    };
    world.ok(approve).await;
    assert_eq!(world.claim(session).await, Some(done));
    world.start(calls[1].0, &calls[1].1).await;
    world.succeed(calls[1].0, 1).await;
    world.finish(done, 2).await;
    send_all(&world, None).await;

    // A rule of that session that decided a call.
    let rule = world.ok(rules::put(rules::fields(session))).await;
    let (_, ruled) = world.running("ruled").await;
    world.propose(ruled, vec![rules::leaning(rule.id)]).await;
    world
        .ok(Take {
            session_id: session,
            id: TakeOverId::generate(),
            force: false,
            by: by("anna"),
        })
        .await;

    // Somebody who asks for access, and somebody who was.
    for stranger in ["7", "8"] {
        world.ok(pairings::ask(&world, stranger, None)).await;
    }
    pairings::decide(&world, "8", DecisionKind::Approve).await;

    // A tool server that was trusted and offers something else now.
    for (offered, trusted) in [("a", true), ("b", false)] {
        let offer = server_offer(offered);
        let sha256 = offer.offer.sha256.clone();
        assert!(world.ok(offer).await, "it is asked about");
        if trusted {
            let trust = TrustServer {
                name: "notes".to_owned(),
                sha256,
                tools: None,
                by: by("anna"),
            };
            world.ok(trust).await;
        }
    }

    // An answer nobody knows the delivery of.
    let (doubtful_session, doubtful) = world.running("doubtful").await;
    world.finish(doubtful, 1).await;
    send_all(&world, Some(doubtful)).await;

    // One whose summary stands for its turn, and one that is being compacted.
    let done_attempt = world.compacting(session, done).await;
    world.compact(done_attempt, &[done]).await;
    world.compacting(doubtful_session, doubtful).await;

    // One that waits for a person, and two that run.
    let (_, waiting) = world.running("waiting").await;
    let (asking, gate) = gated(Effect::Idempotent);
    world.propose(waiting, vec![asking]).await;
    // Somebody in particular, who is on call.
    let shown = world
        .store
        .read(move |reader| reader.approval(gate))
        .await
        .unwrap();
    world
        .ok(Assign {
            approval_id: gate,
            digest: shown.digest,
            revision: Some(shown.revision),
            to: Some("ben".to_owned()),
            note: None,
            cards: Vec::new(),
            by: by("anna"),
        })
        .await;
    world
        .ok(SetOnCall {
            name: Some("ben".to_owned()),
            until: None,
            note: None,
            by: by("anna"),
        })
        .await;
    // Somebody allowed it, as the first of two, and it escalates.
    let asked = "UPDATE approvals SET allowed_by =
        '{\"person\":\"anna\",\"surface\":\"chat\",\"at\":\"2026-01-01T00:00:00Z\",\"revision\":1}',
        escalation = '{\"policy\":\"night\",\"steps\":[],\"next\":null}' WHERE waiting_for IS NOT NULL";
    world
        .store
        .with_writer(move |conn| conn.execute(asked, []).unwrap())
        .await
        .unwrap();
    park(&world, waiting).await;
    world.running("busy").await;
    world.running("busier").await;
    routine(&world).await;
    // Two memories, one of which hygiene archived.
    crate::hygiene::world::insert(&world, 2, |n| 60 * n).await;
    let engine = crate::hygiene::world::engine(&world, "");
    let run = crate::hygiene::world::tidy(&engine).await.unwrap();
    assert_eq!(run.report.archived, 1);
    drop(engine);
    // Two memories, with their embeddings.
    memories::add(&world, memories::in_session(session, "of a session")).await;
    memories::add(&world, memories::global("of all")).await;
    let embed =
        "INSERT INTO memory_vectors SELECT id, 'local/e', 1, digest, x'0000803f', 1 FROM memories";
    world
        .store
        .with_writer(move |conn| conn.execute(embed, []).unwrap())
        .await
        .unwrap();
    world.sound().await;
    let path = world.dir.join("leverframe.db");
    world.store.clone().close().await;
    (path, world)
}

async fn park(world: &World, continuation_id: ContinuationId) {
    world
        .ok(Park {
            continuation_id,
            epoch: world.epoch(),
            active_ms: 0,
            notices: Vec::new(),
        })
        .await;
}

/// Changes a copy of a database as nobody may: without references, constraints and triggers.
pub(crate) fn corrupt(path: &Path, sql: &str) {
    let conn = rusqlite::Connection::open(path).unwrap();
    conn.execute_batch(
        "PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON;
         DROP TRIGGER audit_is_append_only_update; DROP TRIGGER audit_is_append_only_delete;",
    )
    .unwrap();
    conn.execute_batch(sql)
        .unwrap_or_else(|error| panic!("{sql}: {error}"));
}

/// A routine whose first run waits for its turn.
async fn routine(world: &World) {
    let (id, due) = (RoutineId::generate(), START.plus_seconds(60));
    let put = PutRoutine {
        id,
        version: 0,
        fields: RoutineFields {
            name: "daily".to_owned(),
            schedule: "every 1d".to_owned(),
            time_zone: None,
            prompt: "hello".to_owned(),
            channel: "team".to_owned(),
            conversation: "daily".to_owned(),
            model: None,
            budgets: BudgetRequest::default(),
            autonomy_ceiling: Autonomy::Supervised,
            park: false,
            missed: MissedRuns::Skip,
            jitter_seconds: 0,
            enabled: true,
        },
        due: NextDue::At(Some((due, due))),
        by: ActorRef::engine(),
    };
    world.ok(put).await;
    let mut turn = turn("daily", None);
    turn.origin.surface = Surface::Engine;
    turn.bounds = TurnBounds {
        unattended: Some(Unattended::Deny),
        autonomy_ceiling: Some(Autonomy::Supervised),
        alone: false,
    };
    let next = due.plus_seconds(24 * 3600);
    let begin = BeginRoutine {
        id,
        occasion: Occasion::Due {
            due_at: due,
            next: Some((next, next)),
        },
        deed: RunAction::Turn(Box::new(turn)),
        note: None,
    };
    assert!(matches!(world.ok(begin).await, Begun::Run(..)));
}
