//! What only shows when a rule is gone that keeps a forgetting from doing harm, or from leaving something behind.

use leverframe::engine::core::Engine;
use leverframe::engine::turn::memory::remember;
use leverframe::protocol::approval::Requester;
use leverframe::protocol::channel::SendIdempotency;
use leverframe::protocol::command::Actor;
use leverframe::protocol::enums::{
    ApprovalKind, ContinuationState, DecisionKind, Effect, MemoryScope, MemoryState, OutboxClass,
    Role, Surface,
};
use leverframe::protocol::ids::{ContinuationId, OutboxId, SessionId};
use leverframe::protocol::memory::{Erasure, MemoryTarget};
use leverframe::protocol::problem::{Problem, ProblemKind};
use leverframe::protocol::request::{AddMemory, Command, Envelope, EraseUser, Outcome, Request};
use leverframe::store::commands::begin_send::BeginSend;
use leverframe::store::commands::end_send::{EndSend, SendOutcome};
use leverframe::store::commands::erase_user::EndedTurns;
use leverframe::store::commands::fail_compaction::FailCompaction;
use leverframe::store::commands::queue_notice::QueueNotice;
use leverframe::store::commands::remove::Remove;
use leverframe::store::input::NewNotice;

use crate::memory_data::world::{add, global};
use crate::retention::pieces::settle;
use crate::support::world::{World, approval, gated, turn, usage};

const ANNA: &str = "telegram:1";

async fn said<C>(engine: &Engine, actor: Actor, command: C) -> Result<C::Reply, Problem>
where
    C: Request<Wire = Command, Answer = Outcome>,
{
    let envelope = Envelope {
        command: command.into(),
        actor,
        surface: Surface::Cli,
        idempotency_key: None,
        trace: None,
    };
    C::reply(engine.handle(envelope).await?)
}

fn operator() -> Actor {
    Actor::Operator {
        uid: 0,
        name: "bert".to_owned(),
        person: None,
    }
}

async fn forget(engine: &Engine) -> Result<Erasure, Problem> {
    let person = ANNA.to_owned();
    said(engine, operator(), EraseUser { person }).await
}

/// A turn of Anna that has ended.
async fn ended(world: &World) -> ContinuationId {
    let (_, turn) = world.running("chat").await;
    world.finish(turn, 1).await;
    turn
}

/// A part on its way to the chat with Anna alone.
async fn sending(world: &World) -> OutboxId {
    let notice = NewNotice {
        channel: "team".to_owned(),
        conversation: "1".to_owned(),
        class: OutboxClass::Notice,
        text: "Hello Anna".to_owned(),
        reply_to: None,
        continuation_id: None,
    };
    let outbox_id = world.ok(QueueNotice { notice }).await.unwrap();
    world
        .ok(BeginSend {
            outbox_id,
            epoch: world.epoch(),
            idempotency: SendIdempotency::None,
        })
        .await;
    outbox_id
}

#[tokio::test]
async fn nobody_is_forgotten_while_something_is_on_its_way_to_them() {
    let world = World::new().await;
    ended(&world).await;
    settle(&world).await;
    let outbox_id = sending(&world).await;
    let engine = world.engine("");
    let refused = forget(&engine).await.unwrap_err();
    assert_eq!(refused.kind, ProblemKind::Conflict, "{refused:?}");
    assert!(refused.detail.contains("on its way"), "{refused:?}");
    assert_eq!(world.count("SELECT count(*) FROM continuations").await, 1);
    let refs = vec!["m1".to_owned()];
    world
        .ok(EndSend {
            outbox_id,
            epoch: world.epoch(),
            outcome: SendOutcome::Sent { refs },
            resend: None,
        })
        .await;
    assert_eq!(forget(&engine).await.unwrap().continuations, 1);
    assert_eq!(world.count("SELECT count(*) FROM continuations").await, 0);
    assert_eq!(world.count("SELECT count(*) FROM outbox").await, 0);
}

#[tokio::test]
async fn a_restored_copy_forgets_nobody_before_it_is_released() {
    let world = World::new().await;
    ended(&world).await;
    settle(&world).await;
    let set = |batch: &'static str| {
        world
            .store
            .with_writer(move |conn| conn.execute_batch(batch).unwrap())
    };
    set("INSERT INTO meta VALUES ('quarantine', '1')")
        .await
        .unwrap();
    let engine = world.engine("");
    let refused = forget(&engine).await.unwrap_err();
    assert_eq!(refused.kind, ProblemKind::NotOffered, "{refused:?}");
    assert_eq!(world.count("SELECT count(*) FROM continuations").await, 1);
    set("DELETE FROM meta WHERE key = 'quarantine'")
        .await
        .unwrap();
    assert_eq!(forget(&engine).await.unwrap().continuations, 1);
}

#[tokio::test]
async fn questions_about_messages_to_them_and_artifacts_that_nobody_names_go() {
    let world = World::new().await;
    ended(&world).await;
    settle(&world).await;
    let outbox_id = sending(&world).await;
    let mut question = approval(ApprovalKind::Resend, "resend");
    question.cards.clear();
    world
        .ok(EndSend {
            outbox_id,
            epoch: world.epoch(),
            outcome: SendOutcome::Unknown {
                detail: "the connection was reset".to_owned(),
            },
            resend: Some(question),
        })
        .await;
    // What a forgetting leaves that died between the turns and their artifacts.
    world
        .store
        .with_writer(|conn| {
            conn.execute_batch("INSERT INTO artifacts VALUES (randomblob(32), 5, 'text/plain', 1)")
                .unwrap();
        })
        .await
        .unwrap();
    assert_eq!(world.count("SELECT count(*) FROM approvals").await, 1);
    let done = forget(&world.engine("")).await.unwrap();
    assert_eq!(done.left, 0);
    for table in [
        "SELECT count(*) FROM approvals",
        "SELECT count(*) FROM outbox",
        "SELECT count(*) FROM artifacts",
    ] {
        assert_eq!(world.count(table).await, 0, "{table}");
    }
    world.sound().await;
}

/// Found as ended, and resumed by somebody before it goes.
#[tokio::test]
async fn a_turn_that_goes_on_meanwhile_stays() {
    let world = World::new().await;
    let done = ended(&world).await;
    let (_, open) = world.running("chat").await;
    let mut turns = world.store.traces(ANNA).await.unwrap().turns;
    turns.retain(|turn| turn.id == open.to_bytes());
    assert_eq!(turns.len(), 1);
    let command = Remove {
        what: EndedTurns,
        keys: turns,
    };
    let swept = world.ok(command).await;
    assert_eq!((swept.taken, swept.removed), (1, 0));
    let of = |id| world.store.read(move |reader| reader.continuation(id));
    assert_eq!(of(open).await.unwrap().state, ContinuationState::Running);
    of(done).await.unwrap();
    world.sound().await;
}

/// A turn of somebody in the group, ended.
async fn in_group(world: &World, who: &str) -> (SessionId, ContinuationId) {
    let mut said = turn("-100", None);
    said.origin.requester = Requester {
        id: who.to_owned(),
        display: "somebody".to_owned(),
        person: None,
    };
    let session = world.ok(said).await.session_id.unwrap();
    let turn = world.claim(session).await.unwrap();
    world.finish(turn, 0).await;
    (session, turn)
}

/// What others said in a session with them is sent along again, and nothing stands for it that may quote them.
#[tokio::test]
async fn the_summary_of_a_group_goes_and_one_that_is_being_written_is_not_taken() {
    let world = World::new().await;
    let (session, hers) = in_group(&world, ANNA).await;
    let (_, his) = in_group(&world, "telegram:2").await;
    let (_, newer) = in_group(&world, "telegram:2").await;
    let begun = world.compacting(session, his).await;
    world.compact(begun, &[hers, his]).await;
    let begun = world.compacting(session, newer).await;
    let archived = "SELECT count(*) FROM continuations WHERE archived_at IS NOT NULL";
    assert_eq!(world.count(archived).await, 2);
    let said = "SELECT count(*) FROM sessions WHERE last_line IS NOT NULL";
    assert_eq!(world.count(said).await, 1);

    let done = forget(&world.engine("")).await.unwrap();
    assert_eq!((done.summaries, done.left), (1, 0));
    assert_eq!(world.count("SELECT count(*) FROM summaries").await, 0);
    assert_eq!(world.count("SELECT count(*) FROM continuations").await, 2);
    assert_eq!(world.count(archived).await, 0, "his is sent along again");
    assert_eq!(world.count(said).await, 0);
    let why = world.illegal(world.commit_of(begun, &[newer])).await;
    assert!(why.contains("is failed, not running"), "{why}");
    let failed = world
        .ok(FailCompaction {
            id: begun.id,
            epoch: world.epoch(),
            call: Some((begun.attempt_id, usage())),
            error: why,
        })
        .await;
    let error = failed.error.as_deref();
    assert_eq!(error, Some("a user was erased meanwhile"));
    world.sound().await;
}

#[tokio::test]
async fn however_many_they_are_all_go_with_what_they_are_found_by() {
    let world = World::new().await;
    let mut about = global("about her 0");
    about.person_id = Some(ANNA.to_owned());
    add(&world, about).await;
    world
        .store
        .with_writer(|conn| {
            // More than three passes of one command would remove.
            conn.execute_batch(
                "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 1700)
                 INSERT INTO memories (id, scope, kind, text, digest, author, author_id, person_id, confidence, pinned,
                    state, uses, created_at, updated_at)
                 SELECT randomblob(16), m.scope, m.kind, 'about her ' || n.n, randomblob(32), m.author, m.author_id,
                    m.person_id, 1.0, 0, 'active', 0, m.created_at, m.updated_at FROM memories m, n;
                 INSERT INTO memory_vectors SELECT id, 'local/e', 1, digest, x'0000803f', 1 FROM memories;",
            )
            .unwrap();
        })
        .await
        .unwrap();
    let other = add(&world, global("about nobody")).await;
    let done = forget(&world.engine("")).await.unwrap();
    assert_eq!((done.memories, done.left), (1701, 0));
    assert_eq!(world.count("SELECT count(*) FROM memories").await, 1);
    assert_eq!(world.count("SELECT count(*) FROM memory_vectors").await, 0);
    world
        .store
        .read(move |reader| reader.memory(other.id))
        .await
        .unwrap();
    world.sound().await;
}

#[tokio::test]
async fn a_forgetting_waits_for_a_sweep() {
    let world = World::new().await;
    ended(&world).await;
    let engine = world.engine("");
    let sweeping = engine.maintenance.try_sweep().unwrap();
    let refused = forget(&engine).await.unwrap_err();
    assert_eq!(refused.kind, ProblemKind::Conflict, "{refused:?}");
    assert!(refused.title.contains("being swept"), "{refused:?}");
    drop(sweeping);
    assert_eq!(forget(&engine).await.unwrap().continuations, 1);
}

/// The note that somebody is being forgotten names them, so it stays until everything else is off the disk, and then
/// goes off the disk too, without waiting for the end of the process.
#[tokio::test]
async fn the_note_of_a_forgetting_stays_until_the_disk_is_clean_and_leaves_no_name() {
    const WHO: &str = "telegram:4815162342";
    let world = World::new().await;
    in_group(&world, WHO).await;
    let engine = world.engine("");
    let again = || async {
        let person = WHO.to_owned();
        said(&engine, operator(), EraseUser { person }).await
    };
    let note = || world.store.read(|reader| reader.open_erasure());
    let file = world.dir.join("leverframe.db");
    // Somebody reads the database from before, so that its log cannot be emptied.
    let reader = rusqlite::Connection::open(&file).unwrap();
    reader
        .execute_batch("BEGIN; SELECT count(*) FROM meta;")
        .unwrap();
    let half = again().await.unwrap_err();
    assert!(half.detail.contains("cannot be emptied"), "{half:?}");
    assert!(note().await.unwrap().is_some_and(|note| note.contains(WHO)));
    reader.execute_batch("COMMIT").unwrap();
    drop(reader);
    again().await.unwrap();
    assert_eq!(note().await.unwrap(), None);
    for entry in std::fs::read_dir(&world.dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            let named = bytes.windows(WHO.len()).any(|part| part == WHO.as_bytes());
            assert!(!named, "{}", path.display());
        }
    }
}

#[tokio::test]
async fn what_a_person_writes_into_memory_is_theirs() {
    let world = World::new().await;
    let engine = world.engine("");
    let person = |id: &str| Actor::Person {
        platform_id: id.to_owned(),
        name: Some("anna".to_owned()),
        role: Role::Owner,
    };
    let add = |text: &str| AddMemory {
        place: MemoryTarget::Global,
        text: text.to_owned(),
        kind: None,
        pinned: false,
        expires_at: None,
    };
    for (actor, text, whose) in [
        (person(ANNA), "tea at five", Some(ANNA)),
        (person("telegram:2"), "tea at six", Some("telegram:2")),
        (operator(), "tea at seven", None),
    ] {
        let memory = said(&engine, actor, add(text)).await.unwrap();
        assert_eq!(memory.person_id.as_deref(), whose);
    }
    assert_eq!(forget(&engine).await.unwrap().memories, 1);
    let left = "SELECT count(*) FROM memories WHERE text LIKE 'tea at s%'";
    assert_eq!(world.count(left).await, 2);
    assert_eq!(world.count("SELECT count(*) FROM memories").await, 2);
}

/// The call is judged again right before its start; what taints the session after that is seen here.
#[tokio::test]
async fn what_a_tainted_session_writes_waits_unless_a_person_allowed_it_and_names_nobody() {
    let world = World::new().await;
    let (session, turn) = world.running("chat").await;
    let (call, question) = gated(Effect::Idempotent);
    world.propose(turn, vec![call]).await;
    let id = session.to_bytes();
    world
        .store
        .with_writer(move |conn| {
            let taint = r#"["message of telegram:666, who is not listed", "a web page"]"#;
            let said = "UPDATE sessions SET taint = ?2 WHERE id = ?1";
            assert_eq!(conn.execute(said, (id, taint)).unwrap(), 1);
        })
        .await
        .unwrap();
    let engine = world.engine("");
    let write = async |text: &str| {
        let rows = world.store.read(move |reader| reader.turn(turn)).await;
        let rows = rows.unwrap();
        let row = rows.calls[0].clone();
        let told = remember(&engine, &rows, &row, text, MemoryScope::Session).await;
        let id = leverframe::protocol::ids::MemoryId::from_bytes(row.call.id.to_bytes());
        let memory = world.store.read(move |reader| reader.memory(id)).await;
        (told.unwrap(), memory.unwrap())
    };
    let (told, memory) = write("tea at five").await;
    assert_eq!(memory.state, MemoryState::Proposed);
    assert!(told.contains("once a person has accepted it"), "{told}");
    assert_eq!(
        memory.taint,
        ["a message of somebody who is not listed", "a web page"]
    );
    world
        .store
        .with_writer(|conn| conn.execute("DELETE FROM memories", []).unwrap())
        .await
        .unwrap();
    let decide = world
        .decide_command(question, DecisionKind::Approve, "anna")
        .await;
    world.ok(decide).await;
    let (told, memory) = write("tea at five").await;
    assert_eq!(memory.state, MemoryState::Active);
    assert!(!told.contains("accepted"), "{told}");
}
