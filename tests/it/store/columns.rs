//! What values become in a column, and what is said of one that does not fit.

use leverframe::protocol::enums::Surface;
use leverframe::store::commands::set_channel_paused::SetChannelPaused;
use leverframe::store::error::StoreError;
use leverframe::store::input::ActorRef;

use crate::support::world::{World, turn};

#[tokio::test]
async fn text_with_a_nul_is_stored_without_it() {
    let world = World::new().await;
    let mut said = turn("chat\0a", None);
    said.text = "one\0two\0".to_owned();
    let id = world.ok(said.clone()).await.continuation_id.unwrap();
    let found = world
        .store
        .read(move |reader| reader.turn(id))
        .await
        .unwrap();
    assert_eq!(found.text, "one\u{fffd}two\u{fffd}");
    assert_eq!(found.conversation, "chat\u{fffd}a");
    // What is looked for is replaced too: the next message finds its session.
    let next = world.ok(said).await.continuation_id.unwrap();
    let next = world
        .store
        .read(move |reader| reader.turn(next))
        .await
        .unwrap();
    assert_eq!(next.session_id, found.session_id);
}

#[tokio::test]
async fn a_value_that_does_not_fit_is_told_by_the_name_of_its_column() {
    let world = World::new().await;
    let id = world.ingest("chat").await.continuation_id.unwrap();
    world
        .store
        .with_writer(|conn| {
            conn.execute("UPDATE continuations SET error = '{'", [])
                .map(drop)
        })
        .await
        .unwrap()
        .unwrap();
    let found = world
        .store
        .read(move |reader| reader.continuation(id))
        .await;
    let Err(StoreError::Corrupt(why)) = found else {
        panic!("it was read: {found:?}");
    };
    assert!(why.starts_with("column `error`: "), "{why}");
}

#[tokio::test]
async fn the_audit_hashes_what_it_stores() {
    let world = World::new().await;
    world
        .ok(SetChannelPaused {
            channel: "team".to_owned(),
            paused: true,
            by: ActorRef {
                label: "An\0na".to_owned(),
                id: "telegram:\0".to_owned(),
                surface: Surface::Chat,
            },
        })
        .await;
    let verdict = world.store.read(|reader| reader.verify_audit()).await;
    assert!(matches!(verdict, Ok(Ok(_))), "{verdict:?}");
}
