//! Files in and out, at the level of calls; `stories` has them from end to end.

use leverframe::channels::http::{CallError, HttpTimes};
use leverframe::channels::slack::api::Api;
use leverframe::channels::slack::files;
use leverframe::config::secret::Secret;
use leverframe::protocol::artifact::{ArtifactHash, ArtifactRef, SentFile};
use leverframe::protocol::bridge::FileRequest;
use serde_json::json;

use crate::support::fake_slack::{ADA, APP_TOKEN, BOT_TOKEN, FakeSlack, Fault, TEAM};

fn api(fake: &FakeSlack) -> Api {
    let (bot, app) = (Secret::new(BOT_TOKEN), Secret::new(APP_TOKEN));
    Api::new(&fake.api_base(), bot, app, HttpTimes::default()).unwrap()
}

fn request(reference: &str) -> FileRequest {
    FileRequest {
        id: 1,
        reference: reference.to_owned(),
        max_bytes: 1_000,
    }
}

fn refused(result: Result<Vec<u8>, CallError>) -> String {
    match result {
        Err(CallError::Refused { detail, .. }) => detail,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_file_of_a_person_is_fetched_whole_or_not_at_all() {
    let fake = FakeSlack::start();
    let api = api(&fake);
    let file = fake.change(|state| state.person_has_file("a.bin", "application/x", b"\x00\xffabc"));
    let id = file["id"].as_str().unwrap();
    assert_eq!(
        files::fetch(&api, &request(id)).await.unwrap(),
        b"\x00\xffabc"
    );
    let mut small = request(id);
    small.max_bytes = 2;
    assert!(refused(files::fetch(&api, &small).await).contains("more than"));
    assert!(matches!(
        files::fetch(&api, &request("F999")).await,
        Err(CallError::Refused { name, .. }) if name == "file_not_found"
    ));
    // Slack lies about nothing here, but a page in place of a file is no file.
    let text = fake.change(|state| {
        state.scopes.retain(|scope| scope != "files:read");
        state.person_has_file("b.txt", "text/plain", b"abc")
    });
    let why = files::fetch(&api, &request(text["id"].as_str().unwrap())).await;
    assert!(refused(why).contains("files:read"));
}

#[tokio::test]
async fn the_token_goes_to_no_foreign_host() {
    let fake = FakeSlack::start();
    let elsewhere = FakeSlack::start();
    let api = api(&fake);
    for address in [
        elsewhere.api_base().replace("/api", "/files/F1"),
        "https://drive.example/document".to_owned(),
        "http://files.slack.com/f".to_owned(),
    ] {
        let why = match api.download(&address, 10).await {
            Err(CallError::Refused { detail, .. }) => detail,
            other => panic!("{other:?}"),
        };
        assert!(why.contains("not at Slack"), "{why}");
        assert!(api.upload(&address, vec![1]).await.is_err());
    }
    assert!(elsewhere.ledger().is_empty());
}

#[tokio::test]
async fn a_file_is_sent_in_three_steps_and_shows_only_after_the_last() {
    let fake = FakeSlack::start();
    let api = api(&fake);
    let root = fake.says(TEAM, ADA, "a topic");
    let file = SentFile {
        artifact: ArtifactRef {
            hash: ArtifactHash::from_bytes([7; 32]),
            size: 5,
            media_type: "text/plain".to_owned(),
        },
        name: "a <b> & c.txt".to_owned(),
    };
    let send = async || {
        let place = (TEAM, Some(root.as_str()));
        files::send(&api, place, &file, b"hello".to_vec(), "key").await
    };
    // An unanswered first step shows nothing: it is certain that nothing was sent.
    fake.fault("files.getUploadURLExternal", Fault::ResetAfter);
    assert!(matches!(send().await, Err(CallError::NotSent { .. })));
    let id = send().await.unwrap();
    let shown = fake.messages(TEAM).remove(0);
    assert_eq!(shown.files[0]["name"], "a <b> & c.txt");
    assert_eq!(shown.blocks[0]["block_id"], "leverframe:key");
    assert_eq!(shown.blocks[0]["text"]["text"], "a &lt;b&gt; &amp; c.txt");
    assert_eq!(shown.thread.as_deref(), Some(root.as_str()));
    assert_eq!(fake.state().files[&id].content, b"hello");
    // Where blocks are refused, the file goes without.
    fake.fault(
        "files.completeUploadExternal",
        Fault::Word("invalid_blocks".to_owned()),
    );
    send().await.unwrap();
    assert_eq!(
        fake.messages(TEAM)[1].blocks,
        Vec::<serde_json::Value>::new()
    );
    // Only an unanswered last step leaves it open whether the file is there.
    fake.fault("files.completeUploadExternal", Fault::ResetAfter);
    assert!(matches!(send().await, Err(CallError::Lost { .. })));
    assert_eq!(fake.messages(TEAM).len(), 3);
    let violations = fake.state().violations.clone();
    assert_eq!(json!(violations), json!([]), "{}", fake.story());
}
