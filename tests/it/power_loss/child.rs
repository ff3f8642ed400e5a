//! The processes whose calls are recorded: they drive a real store through whole turns and end, or die.
//!
//! Entry points, not tests: the suite starts them under the tracer.

use std::path::PathBuf;
use std::sync::Arc;

use leverframe::clock::{Clock, Timestamp};
use leverframe::protocol::channel::SendIdempotency;
use leverframe::protocol::enums::{
    ApprovalKind, Autonomy, ChannelKind, DecisionKind, Effect, OutboxClass, ToolCallState,
};
use leverframe::protocol::ids::{ContinuationId, SessionId, ToolCallId};
use leverframe::store::artifacts::StoredArtifact;
use leverframe::store::commands::begin_send::BeginSend;
use leverframe::store::commands::end_send::{EndSend, SendOutcome};
use leverframe::store::commands::end_session::EndSession;
use leverframe::store::commands::ensure_channel::EnsureChannel;
use leverframe::store::commands::expire_due::ExpireDue;
use leverframe::store::commands::finish_tool::FinishTool;
use leverframe::store::commands::park::Park;
use leverframe::store::commands::queue_notice::QueueNotice;
use leverframe::store::commands::set_channel_paused::SetChannelPaused;
use leverframe::store::commands::set_emergency_stop::SetEmergencyStop;
use leverframe::store::commands::set_policy::SetPolicy;
use leverframe::store::commands::start_session::StartSession;
use leverframe::store::commands::update_session::UpdateSession;
use leverframe::store::input::{NewCallOutcome, NewNotice};
use leverframe::store::queries::outbox::NextOutbox;
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::power_loss::journal::Journal;
use crate::store::random::{Op, op, step};
use crate::support::world::{START, World, approval, baseline, by, call, gated, turn};

/// Names of the environment of a child.
pub const DIRECTORY: &str = "LEVERFRAME_POWER_DIRECTORY";
pub const JOURNAL: &str = "LEVERFRAME_POWER_JOURNAL";
/// How many commits earlier processes told of.
pub const BEFORE: &str = "LEVERFRAME_POWER_BEFORE";
/// Random commands in a child.
pub const STEPS: &str = "LEVERFRAME_POWER_STEPS";
/// The rule that is switched off.
pub const MUTANT: &str = "LEVERFRAME_MUTANT";

fn setting(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: the suite starts this"))
}

async fn watched(at: Timestamp) -> World {
    if let Ok(rule) = std::env::var(MUTANT) {
        leverframe::crash::switch_off(&rule);
    }
    let journal = Journal::open(
        &PathBuf::from(setting(JOURNAL)),
        setting(BEFORE).parse().unwrap(),
    );
    World::watched(
        PathBuf::from(setting(DIRECTORY)),
        Clock::manual(at),
        Arc::new(journal),
    )
    .await
}

/// Sends what a channel has to send now, at most `limit` parts.
async fn deliver(world: &World, limit: usize) {
    for _ in 0..limit {
        let now = world.clock.now();
        let next = world
            .store
            .read(move |reader| reader.next_outbox("team", now))
            .await
            .unwrap();
        let NextOutbox::Row(row) = next else { return };
        let epoch = world.epoch();
        world
            .ok(BeginSend {
                outbox_id: row.id,
                epoch,
                idempotency: SendIdempotency::None,
            })
            .await;
        let outcome = SendOutcome::Sent {
            refs: vec![row.id.to_string()],
        };
        world
            .ok(EndSend {
                outbox_id: row.id,
                epoch,
                outcome,
                resend: None,
            })
            .await;
    }
}

/// A claimed continuation with a call that runs at once and one that waits for a person, up to where it waits.
async fn to_the_gate(world: &World, chat: &str) -> (SessionId, ContinuationId) {
    let key = format!("key-{}-{}", world.epoch(), world.store.last_seq());
    let session = world.ok(turn(chat, Some(&key))).await.session_id.unwrap();
    let Some(id) = world.claim(session).await else {
        panic!("`{chat}` has nothing to claim");
    };
    let open = call(Effect::ReadOnly, NewCallOutcome::Ready);
    let (open_id, open_digest) = (open.id, open.digest.clone());
    let (mut asks, gate) = gated(Effect::NonIdempotent);
    if let NewCallOutcome::Ask(question) = &mut asks.outcome {
        question.expires_at = Some(world.clock.now().plus_seconds(3600));
    }
    let (asks_id, asks_digest) = (asks.id, asks.digest.clone());
    world.propose(id, vec![open, asks]).await;
    world.start(open_id, &open_digest).await;
    world.succeed(open_id, 1).await;
    let epoch = world.epoch();
    world
        .ok(Park {
            continuation_id: id,
            epoch,
            active_ms: 3,
            notices: Vec::new(),
        })
        .await;
    deliver(world, 2).await;
    let decide = world
        .decide_command(gate, DecisionKind::Approve, "anna")
        .await;
    world.ok(decide).await;
    world.claim(session).await.unwrap();
    world.start(asks_id, &asks_digest).await;
    succeed_at_length(world, asks_id).await;
    (session, id)
}

/// A result that is kept in a file of its own.
async fn succeed_at_length(world: &World, call_id: ToolCallId) {
    let content = format!("the whole output of {call_id}\n").repeat(200);
    let stored = put(world, &content).await;
    let artifact = Some(stored.artifact.clone());
    world
        .ok(FinishTool {
            call_id,
            epoch: world.epoch(),
            attempt: 1,
            state: ToolCallState::Succeeded,
            content: "the start of it".to_owned(),
            is_error: false,
            duration_ms: 3,
            resolve: None,
            artifact,
            cached: None,
        })
        .await;
}

async fn put(world: &World, content: &str) -> StoredArtifact {
    let content = content.as_bytes().to_owned();
    world
        .store
        .put_artifact(content, "text/plain", world.clock.now())
        .await
        .unwrap()
}

async fn whole_turn(world: &World, chat: &str) {
    let (session_id, id) = to_the_gate(world, chat).await;
    world.finish(id, 2).await;
    deliver(world, 4).await;
    world
        .ok(UpdateSession {
            session_id,
            title: Some(format!("about {chat}")),
            model: None,
            paused: None,
            preferences: None,
            by: by("anna"),
        })
        .await;
    world
        .ok(EndSession {
            session_id,
            reason: "done".to_owned(),
            by: by("anna"),
        })
        .await;
}

/// What operators do besides.
async fn administration(world: &World, autonomy: Autonomy) {
    world
        .ok(SetPolicy {
            channel: "team".to_owned(),
            autonomy: Some(autonomy),
            expires_at: Some(world.clock.now().plus_seconds(60)),
            auto_approve: Some(vec!["list_files".to_owned()]),
            block: None,
            always_ask: None,
            if_version: None,
            by: by("anna"),
        })
        .await;
    for paused in [true, false] {
        world
            .ok(SetChannelPaused {
                channel: "team".to_owned(),
                paused,
                by: by("anna"),
            })
            .await;
    }
    for held in [Some("a drill".to_owned()), None] {
        world
            .ok(SetEmergencyStop {
                held,
                by: by("anna"),
                drop_full: false,
            })
            .await;
    }
    // Two commands in one commit.
    world
        .ok((
            StartSession {
                channel: "team".to_owned(),
                conversation: format!("side-{}", world.store.last_seq()),
                title: None,
                model: None,
            },
            notice("short"),
        ))
        .await;
    world.clock.advance_millis(120_000);
    let now = world.clock.now();
    world
        .ok(ExpireDue {
            now,
            notice: "late".to_owned(),
        })
        .await;
}

fn notice(text: &str) -> QueueNotice {
    QueueNotice {
        notice: NewNotice {
            channel: "team".to_owned(),
            conversation: "filler".to_owned(),
            class: OutboxClass::Notice,
            text: text.to_owned(),
            reply_to: None,
            continuation_id: None,
        },
    }
}

/// Enough pages for the log to be copied into the database, and begun anew.
async fn fill_the_log(world: &World) {
    for _ in 0..12 {
        world.ok(notice(&"filler ".repeat(30_000))).await;
    }
}

/// Random commands, the same in every run of this process.
async fn wander(mut world: World, salt: u8) -> World {
    let steps: usize = setting(STEPS).parse().unwrap();
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[salt; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    for _ in 0..steps {
        let op = op().new_tree(&mut runner).unwrap().current();
        // A crash inside the process is not one that the tracer sees.
        if !matches!(op, Op::Crash | Op::Restart) {
            world = step(world, op).await;
        }
    }
    world
}

/// Commands of many producers, grouped as they come.
async fn together(world: &World) {
    if let Some(journal) = &world.journal {
        journal.together();
    }
    let turns = (0..8).map(|n| world.store.write(turn(&format!("crowd{n}"), None)));
    for answer in futures_util::future::join_all(turns).await {
        answer.unwrap();
    }
    // Tells of all of them.
    world.ok(notice("after the crowd")).await;
}

async fn channels(world: &World) {
    for (name, kind) in [("team", ChannelKind::Telegram), ("desk", ChannelKind::Desk)] {
        world
            .ok(EnsureChannel {
                name: name.to_owned(),
                kind,
                baseline: baseline(),
            })
            .await;
    }
}

#[tokio::test]
#[ignore = "started by the suite under the tracer"]
async fn lives_and_dies() {
    let world = watched(START).await;
    channels(&world).await;
    // As a process leaves it that made the folder and died before it made the name durable.
    std::fs::create_dir(world.dir.join("artifacts")).unwrap();
    whole_turn(&world, "first").await;
    administration(&world, Autonomy::Full).await;
    let world = wander(world, 1).await;
    fill_the_log(&world).await;
    let world = world.restart().await;
    together(&world).await;
    let world = wander(world, 2).await;
    fill_the_log(&world).await;
    whole_turn(&world, "second").await;
    // Everything that can be under way at once: a model call, a tool, a send.
    let (_, id) = to_the_gate(&world, "third").await;
    world.finish(id, 2).await;
    let session = world.ok(turn("fourth", None)).await.session_id.unwrap();
    let id = world.claim(session).await.unwrap();
    let runs = call(Effect::NonIdempotent, NewCallOutcome::Ready);
    let (call_id, digest) = (runs.id, runs.digest.clone());
    world.propose(id, vec![runs]).await;
    world.start(call_id, &digest).await;
    let session = world.ok(turn("fifth", None)).await.session_id.unwrap();
    let id = world.claim(session).await.unwrap();
    world.model_step(id).await;
    let now = world.clock.now();
    let next = world
        .store
        .read(move |reader| reader.next_outbox("team", now))
        .await
        .unwrap();
    if let NextOutbox::Row(row) = next {
        let epoch = world.epoch();
        world
            .ok(BeginSend {
                outbox_id: row.id,
                epoch,
                idempotency: SendIdempotency::None,
            })
            .await;
    }
    std::process::abort();
}

#[tokio::test]
#[ignore = "started by the suite under the tracer"]
async fn recovers_and_ends() {
    let world = watched(START.plus_seconds(600)).await;
    administration(&world, Autonomy::Supervised).await;
    let world = wander(world, 3).await;
    // A file that no row ever names, and that is swept two days later.
    drop(put(&world, "nobody's").await);
    let later = world.clock.now().plus_seconds(2 * 24 * 3600);
    let swept = world
        .store
        .sweep_artifact_files(later, false)
        .await
        .unwrap();
    assert_eq!(swept.files, 1);
    // What nobody knows is asked for.
    let unknown = approval(ApprovalKind::Resend, "unknown");
    let now = world.clock.now();
    let next = world
        .store
        .read(move |reader| reader.next_outbox("team", now))
        .await
        .unwrap();
    if let NextOutbox::Row(row) = next {
        let epoch = world.epoch();
        world
            .ok(BeginSend {
                outbox_id: row.id,
                epoch,
                idempotency: SendIdempotency::None,
            })
            .await;
        world
            .ok(EndSend {
                outbox_id: row.id,
                epoch,
                outcome: SendOutcome::Unknown {
                    detail: "cut".to_owned(),
                },
                resend: Some(unknown),
            })
            .await;
    }
    let world = world.restart().await;
    whole_turn(&world, "sixth").await;
    world.store.close().await;
}

#[tokio::test]
#[ignore = "started by the suite under the tracer"]
async fn lives_shortly() {
    let world = watched(START).await;
    channels(&world).await;
    whole_turn(&world, "first").await;
    fill_the_log(&world).await;
    whole_turn(&world, "second").await;
    world.store.close().await;
}
