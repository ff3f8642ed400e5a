//! Files that people send to a bot: fetched once, however the process ends, and never a turn before its files.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use leverframe::engine::turn::finish::SCRIPTED_LABEL;
use serde_json::{Value, json};

use crate::stories::bot::{self, anna, ben, shown};
use crate::support::daemon::{Daemon, Home, client};
use crate::support::fake_http::{FakeHttp, Reply};
use crate::support::fake_telegram::FakeTelegram;
use crate::support::fake_telegram::state::Fault;

const BEN: i64 = 100;
const PICTURE: &[u8] = b"\xff\xd8\xff\xe0 a picture";

fn home(telegram: &FakeTelegram, channel: &str, rest: &str) -> Home {
    let people = format!("[people.anna]\nids = [\"telegram:200\"]\nrole = \"owner\"\n{rest}");
    let channel = format!("allowed_users = [\"100\"]\n{channel}");
    bot::home(telegram, &channel, &people)
}

fn start(home: &Home, telegram: &FakeTelegram) -> Daemon {
    bot::start(home, telegram, &[200], &[])
}

/// The turn whose message contains this, once it is in that state.
async fn turn(daemon: &Daemon, text: &str, state: &str) -> Value {
    let is_it = |turn: &Value| {
        let said = turn["request"]["text"].as_str().unwrap_or_default();
        said.contains(text) && turn["state"] == state
    };
    let turns = |page: &Value| page["items"].as_array().cloned().unwrap_or_default();
    let what = format!("{text} is {state}");
    let page = daemon.wait("/v1/continuations", &what, |page| {
        turns(page).iter().any(is_it)
    });
    let found = turns(&page.await).into_iter().find(is_it);
    found.expect("it was there")
}

#[tokio::test]
async fn a_picture_with_a_text_lies_in_the_workspace_when_the_turn_starts() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram, "", "");
    let daemon = start(&home, &telegram);
    let caption = json!({ "caption": "TOOL:write_file{\"path\":\"a.txt\",\"content\":\"a\"}\nSAY:what a photo" });
    telegram.user_sends_file(BEN, &ben(), ("photo", "big", PICTURE), caption);
    // What follows from a file of somebody asks, and the card says why (A7).
    let approval = daemon.wait_approval().await;
    let taint = json!(["a file that came with a message"]);
    assert_eq!(approval["taint"], taint);
    assert_eq!(daemon.decide(&approval, "approve").await.0, 200);
    shown(&telegram, BEN, "what a photo").await;
    let turn = turn(&daemon, "what a photo", "completed").await;
    let id = turn["id"].as_str().unwrap();
    let path = format!("attachments/{id}/photo.jpg");
    let line = format!(
        "[attached file: {path} (image/jpeg, {} bytes)]",
        PICTURE.len()
    );
    let text = turn["request"]["text"].as_str().unwrap();
    assert!(text.ends_with(&line), "{text}");
    assert_eq!(turn["attachments"][0]["path"], path.as_str());
    let file = home.workspace("team").join(path);
    assert_eq!(std::fs::read(file).unwrap(), PICTURE);
    assert_eq!(telegram.state().violations, Vec::<String>::new());
}

#[tokio::test]
async fn a_turn_says_how_many_files_keep_it_from_its_start() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram, "", "");
    let forever = std::time::Duration::from_secs(300);
    telegram.fault("getFile", Fault::Slow(forever));
    let daemon = start(&home, &telegram);
    let caption = json!({ "caption": "SAY:later" });
    telegram.user_sends_file(BEN, &ben(), ("photo", "big", PICTURE), caption);
    let turn = turn(&daemon, "SAY:later", "pending").await;
    assert_eq!(turn["waiting_files"], 1, "{turn}");
    let session = format!("/v1/sessions/{}", turn["session_id"].as_str().unwrap());
    let session = daemon
        .wait(&session, "its session", |one| {
            one["open_continuation"] != Value::Null
        })
        .await;
    assert_eq!(
        session["open_continuation"]["waiting_files"], 1,
        "{session}"
    );
    let mut command = home.command();
    command.args(["continuations", "show", turn["id"].as_str().unwrap()]);
    let output = tokio::task::spawn_blocking(move || command.output()).await;
    let output = output.unwrap().expect("the binary runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("pending, waiting for 1 file"), "{text}");
}

#[tokio::test]
async fn an_album_is_one_turn_with_all_its_pictures() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram, "", "");
    // The first download takes until all parts are there.
    telegram.fault(
        "getFile",
        Fault::Slow(std::time::Duration::from_millis(300)),
    );
    telegram.change(|state| state.know_chat(BEN));
    for part in 0..3 {
        let mut extra = json!({ "media_group_id": "77" });
        if part == 0 {
            extra["caption"] = json!("SAY:three");
        }
        let id = format!("part{part}");
        telegram.user_sends_file(BEN, &ben(), ("photo", &id, PICTURE), extra);
    }
    telegram.user_says(BEN, &ben(), "SAY:and then");
    let mut daemon = start(&home, &telegram);
    shown(&telegram, BEN, "and then").await;
    let turn = turn(&daemon, "SAY:three", "completed").await;
    let paths: Vec<_> = turn["attachments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["path"].as_str().unwrap().rsplit('/').next().unwrap())
        .collect();
    assert_eq!(paths, ["photo.jpg", "2-photo.jpg", "3-photo.jpg"]);
    // Two turns, and the later one came after.
    let said: Vec<_> = telegram
        .messages(BEN)
        .into_iter()
        .map(|message| message.text)
        .collect();
    assert_eq!(
        said,
        [
            format!("{SCRIPTED_LABEL}\n\nthree"),
            format!("{SCRIPTED_LABEL}\n\nand then")
        ]
    );
    assert!(daemon.terminate().success());
    let is_quarantined = crate::backup::tools::sound(&home).await;
    assert!(!is_quarantined);
}

#[tokio::test]
async fn a_file_arrives_once_however_often_the_process_is_killed() {
    for crash in ["fetch_file.done", "receive_file.post"] {
        let telegram = FakeTelegram::start();
        let home = home(&telegram, "", "");
        let mut daemon = bot::start(
            &home,
            &telegram,
            &[200],
            &[("LEVERFRAME_CRASH", &format!("{crash}:1"))],
        );
        let extra = json!({ "caption": "SAY:read", "file": { "file_name": "../a b.txt" } });
        let file = ("document", "doc", &b"hello"[..]);
        telegram.user_sends_file(BEN, &ben(), file, extra);
        assert!(daemon.wait_exit().is_some(), "{crash} was not reached");
        assert!(telegram.messages(BEN).is_empty(), "{}", telegram.story());

        let daemon = start(&home, &telegram);
        shown(&telegram, BEN, "read").await;
        let turn = turn(&daemon, "SAY:read", "completed").await;
        assert_eq!(turn["attachments"].as_array().unwrap().len(), 1, "{crash}");
        let path = turn["attachments"][0]["path"].as_str().unwrap();
        assert!(path.ends_with("/a_b.txt"), "{path}");
        let content = std::fs::read(home.workspace("team").join(path)).unwrap();
        assert_eq!(content, b"hello");
        assert_eq!(telegram.messages(BEN).len(), 1, "{}", telegram.story());

        // Whoever asks again asks with the same file.
        telegram.user_says(BEN, &ben(), "/retry");
        telegram
            .wait_until("a second answer", |state| {
                state.messages.iter().filter(|m| m.chat == BEN).count() == 2
            })
            .await;
        let page = daemon.get("/v1/continuations").await;
        let again = page["items"].as_array().unwrap().iter();
        let again: Vec<_> = again
            .filter(|turn| !turn["retry_of"].is_null())
            .map(|turn| turn["attachments"][0]["path"].clone())
            .collect();
        assert_eq!(again, [json!(path)]);
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_had_is_named_to_its_sender_and_holds_up_nothing() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram, "", "[attachments]\nmax_mib = 1\n");
    let daemon = start(&home, &telegram);
    let large = vec![b'x'; 1024 * 1024 + 1];
    let with_text = json!({ "caption": "SAY:without it", "file": { "file_name": "large.bin" } });
    telegram.user_sends_file(BEN, &ben(), ("document", "large", &large), with_text);
    shown(&telegram, BEN, "without it").await;
    shown(
        &telegram,
        BEN,
        "The file large.bin cannot be used: the platform refused (413): it has more than 1 MiB.",
    )
    .await;
    let there = turn(&daemon, "SAY:without it", "completed").await;
    let text = there["request"]["text"].as_str().unwrap();
    assert!(text.contains("[a file is missing: large.bin ("), "{text}");

    // Nothing is left of this one.
    telegram.fault(
        "getFile",
        Fault::Refuse(400, "Bad Request: gone".to_owned()),
    );
    telegram.user_sends_file(BEN, &ben(), ("video", "gone", b"mp4"), json!({}));
    shown(&telegram, BEN, "The file video.mp4 cannot be used").await;
    turn(&daemon, "[a file is missing: video.mp4", "cancelled").await;

    // A platform that fails for a while is asked again.
    telegram.fault("getFile", Fault::Server(502));
    let caption = json!({ "caption": "SAY:after a while" });
    telegram.user_sends_file(BEN, &ben(), ("photo", "later", PICTURE), caption);
    shown(&telegram, BEN, "after a while").await;
}

#[tokio::test]
async fn nobody_who_may_not_talk_makes_the_bot_fetch_a_file() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram, "", "");
    let _daemon = start(&home, &telegram);
    let stranger = crate::support::fake_telegram::state::User::new(666, "Eve");
    let file = ("document", "evil", &b"x"[..]);
    telegram.user_sends_file(666, &stranger, file, json!({}));
    telegram.user_says(200, &anna(), "SAY:later");
    shown(&telegram, 200, "later").await;
    assert!(telegram.calls("getFile").is_empty(), "{}", telegram.story());
}

/// A turn that writes three files and sends them.
const SENDS: &str = "TOOL:write_file{\"path\":\"out/r.txt\",\"content\":\"the report\"}\n\
                     TOOL:write_file{\"path\":\"p.png\",\"content\":\"a plot\"}\n\
                     TOOL:write_file{\"path\":\"v.ogg\",\"content\":\"a voice\"}\n\
                     THEN TOOL:send_file{\"path\":\"out/r.txt\"}\n\
                     TOOL:send_file{\"path\":\"p.png\"}\n\
                     TOOL:send_file{\"path\":\"v.ogg\"}\nSAY:here you are";

#[tokio::test]
async fn files_of_the_workspace_go_with_the_answer_and_not_before() {
    let telegram = FakeTelegram::start();
    let lists = "auto_approve = [\"write_file\", \"send_file\"]\n";
    let home = home(&telegram, lists, "");
    // Nothing is sent twice after a kill in the middle of the turn.
    let environment = [("LEVERFRAME_CRASH", "final.pre_commit:1")];
    let mut daemon = bot::start(&home, &telegram, &[200], &environment);
    telegram.user_says(BEN, &ben(), SENDS);
    assert!(daemon.wait_exit().is_some(), "it was not killed");
    assert!(telegram.messages(BEN).is_empty(), "{}", telegram.story());
    // Telegram takes this picture only as a file.
    telegram.fault(
        "sendPhoto",
        Fault::Refuse(400, "Bad Request: PHOTO_INVALID_DIMENSIONS".to_owned()),
    );
    let daemon = start(&home, &telegram);
    let turn = turn(&daemon, "send_file", "interrupted").await;
    let id = turn["id"].as_str().unwrap();
    daemon
        .post(&format!("/v1/continuations/{id}/resume"), json!({}))
        .await;
    shown(&telegram, BEN, "<voice v.ogg").await;
    let said: Vec<_> = telegram
        .messages(BEN)
        .into_iter()
        .map(|message| message.text)
        .filter(|text| !text.contains("interrupted"))
        .collect();
    assert_eq!(
        said,
        [
            format!("{SCRIPTED_LABEL}\n\nhere you are"),
            "<document r.txt: the report>".to_owned(),
            "<document p.png: a plot>".to_owned(),
            "<voice v.ogg: a voice>".to_owned(),
        ],
        "{}",
        telegram.story()
    );
    let done = daemon.wait_state(id, "completed").await;
    let files = done["files"].as_array().unwrap();
    assert_eq!(files[0]["name"], "r.txt");
    assert_eq!(files[1]["media_type"], "image/png");
    let hash = files[0]["hash"].as_str().unwrap();
    let whole = client()
        .get(format!("{}/v1/artifacts/{hash}", daemon.base))
        .bearer_auth(&daemon.token);
    let whole = whole.send().await.unwrap().text().await.unwrap();
    assert_eq!(whole, "the report");
    assert_eq!(telegram.state().violations, Vec::<String>::new());
}

/// A server that says what is said in recordings, and the requests it got.
fn transcriber(replies: Vec<(u16, Value)>) -> (FakeHttp, Arc<Mutex<usize>>) {
    let asked = Arc::new(Mutex::new(0));
    let count = Arc::clone(&asked);
    let replies = Mutex::new(VecDeque::from(replies));
    let http = FakeHttp::start(move |request| {
        assert_eq!(request.path, "/v1/audio/transcriptions");
        *count.lock().unwrap() += 1;
        let next = replies.lock().unwrap().pop_front();
        let (status, body) = next.unwrap_or((200, json!({ "text": "SAY:heard" })));
        Reply::Json(status, body)
    });
    (http, asked)
}

fn hears(http: &FakeHttp) -> String {
    format!(
        "[providers.ears]\nkind = \"openai-chat\"\nbase_url = \"{}/v1\"\n\n\
         [transcription]\nprovider = \"ears\"\nmodel = \"whisper-1\"\n",
        http.url()
    )
}

#[tokio::test]
async fn a_voice_message_is_a_text_for_the_model_and_a_failure_is_told() {
    let telegram = FakeTelegram::start();
    let wrong = json!({ "error": { "message": "no such format" } });
    let overloaded = json!({ "error": { "message": "overloaded" } });
    let first = (200, json!({ "text": "SAY:heard" }));
    let (ears, asked) = transcriber(vec![(503, overloaded), first, (400, wrong)]);
    let home = home(&telegram, "", &hears(&ears));
    let daemon = start(&home, &telegram);
    telegram.user_sends_file(BEN, &ben(), ("voice", "v1", b"OggS one"), json!({}));
    shown(&telegram, BEN, "heard]").await;
    let heard = turn(&daemon, "[what is said in it: SAY:heard]", "completed").await;
    let text = heard["request"]["text"].as_str().unwrap();
    assert!(text.contains("voice.ogg (audio/ogg, 8 bytes)"), "{text}");
    assert_eq!(*asked.lock().unwrap(), 2);

    let caption = json!({ "caption": "SAY:without ears" });
    telegram.user_sends_file(BEN, &ben(), ("audio", "a1", b"ID3"), caption);
    shown(&telegram, BEN, "without ears").await;
    shown(&telegram, BEN, "audio.mp3 could not be transcribed").await;
    turn(&daemon, "[it could not be transcribed:", "completed").await;

    // Over HTTP too.
    let session = daemon.session().await;
    let body = json!({ "text": "listen", "attachments": [
        { "name": "memo.ogg", "media_type": "audio/ogg", "data": "T2dnUw==" } ] });
    let path = format!("/v1/sessions/{session}/messages");
    let sent = daemon.post(&path, body).await;
    let id = sent["continuation_id"].as_str().unwrap();
    let done = daemon.wait_state(id, "completed").await;
    let text = done["request"]["text"].as_str().unwrap();
    assert!(text.ends_with("[what is said in it: SAY:heard]"), "{text}");
}

#[tokio::test]
async fn a_voice_message_that_nobody_can_hear_is_no_turn() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram, "", "");
    let daemon = start(&home, &telegram);
    telegram.user_sends_file(BEN, &ben(), ("voice", "v1", b"OggS"), json!({}));
    shown(&telegram, BEN, "I cannot listen to recordings here").await;
    let page = daemon.get("/v1/continuations").await;
    assert_eq!(page["items"], json!([]));
    assert!(telegram.calls("getFile").is_empty(), "{}", telegram.story());
}

#[tokio::test]
async fn the_copy_in_the_workspace_goes_with_the_turn() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram, "", "");
    let daemon = start(&home, &telegram);
    let caption = json!({ "caption": "SAY:keep it" });
    telegram.user_sends_file(BEN, &ben(), ("photo", "p", PICTURE), caption);
    shown(&telegram, BEN, "keep it").await;
    let done = turn(&daemon, "SAY:keep it", "completed").await;
    let path = done["attachments"][0]["path"].as_str().unwrap();
    let copy = home.workspace("team").join(path);
    let other = home.workspace("team").join("attachments/mine.txt");
    std::fs::write(&other, "of nobody's message").unwrap();
    assert!(copy.exists());
    let (erased, told) = bot::cli(&home, &["memory", "erase-user", "telegram:100", "--yes"]).await;
    assert!(erased, "{told}");
    assert!(!copy.exists(), "{}", copy.display());
    assert!(other.exists());
}

#[tokio::test]
async fn a_file_with_credentials_is_sent_only_by_a_decision_in_the_console() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram, "", "");
    let daemon = start(&home, &telegram);
    std::fs::create_dir_all(home.workspace("team")).unwrap();
    std::fs::write(home.workspace("team").join(".env"), "KEY=1").unwrap();
    telegram.user_says(BEN, &ben(), "TOOL:send_file{\"path\":\".env\"}\nSAY:sent");
    let approval = daemon.wait_approval().await;
    assert_eq!(approval["risk"], "critical", "{approval:#}");
    let reasons = approval["risk_reasons"].to_string();
    assert!(reasons.contains("sends 5 bytes"), "{reasons}");
    assert!(reasons.contains("credentials: .env"), "{reasons}");
    assert!(
        telegram
            .messages(BEN)
            .iter()
            .all(|m| !m.text.contains("KEY"))
    );
}

#[tokio::test]
async fn a_transcription_stays_within_the_budget_of_the_day_and_counts_in_it() {
    let telegram = FakeTelegram::start();
    let (ears, asked) = transcriber(Vec::new());
    let budget = format!("{}\n[budgets.day]\nmax_tokens = 4000\n", hears(&ears));
    let home = home(&telegram, "", &budget);
    let daemon = start(&home, &telegram);
    // Larger than what the day allows: nobody is asked.
    let long = vec![0_u8; 4000 * 400];
    telegram.user_sends_file(BEN, &ben(), ("voice", "long", &long), json!({}));
    shown(&telegram, BEN, "voice.ogg could not be transcribed").await;
    assert_eq!(*asked.lock().unwrap(), 0);
    telegram.user_sends_file(BEN, &ben(), ("voice", "short", b"OggS"), json!({}));
    daemon
        .wait("/v1/costs", "a call that counts", |costs| {
            // It counts from its reservation on, before it is sent.
            let is_sent = *asked.lock().unwrap() == 1;
            is_sent && costs["total"]["calls"] == 1 && costs["budgets"][0]["used"] == 1.0
        })
        .await;
    assert_eq!(*asked.lock().unwrap(), 1);
}

#[tokio::test]
async fn a_turn_that_was_cancelled_before_its_file_came_is_asked_again_with_it() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram, "", "");
    let daemon = start(&home, &telegram);
    telegram.fault("getFile", Fault::TooMany(3));
    let caption = json!({ "caption": "SAY:with it" });
    telegram.user_sends_file(BEN, &ben(), ("photo", "p", PICTURE), caption);
    let waits = turn(&daemon, "SAY:with it", "pending").await;
    let path = format!("/v1/continuations/{}", waits["id"].as_str().unwrap());
    daemon.post(&format!("{path}/cancel"), json!({})).await;
    // What is fetched for the cancelled turn is of no use to anybody.
    let fetched = "the file was fetched";
    telegram
        .wait_until(fetched, |state| {
            state.ledger.iter().any(|call| call.method == "file")
        })
        .await;
    let again = daemon.post(&format!("{path}/retry"), json!({})).await;
    let done = daemon
        .wait_state(again["id"].as_str().unwrap(), "completed")
        .await;
    assert_eq!(done["attachments"].as_array().unwrap().len(), 1, "{done:#}");
}
