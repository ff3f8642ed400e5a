//! The bridge at the pipes of a program that the test plays: every bad word of a program, and what is known after its end.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use leverframe::channels::channel::{Bridge, ChannelError};
use leverframe::channels::process::bridge::ProcessBridge;
use leverframe::channels::process::times::ProcessTimes;
use leverframe::channels::process::wire::MAX_LINE;
use leverframe::client::channel_port::ChannelPort;
use leverframe::client::program::{
    LogLine, ProgramError, ProgramPipes, ProgramStarter, RunningProgram,
};
use leverframe::clock::Clock;
use leverframe::protocol::bridge::{InboundBody, SendOutcome};
use leverframe::protocol::channel::{LengthUnit, SendIdempotency};
use leverframe::protocol::doctor::Standing;
use leverframe::protocol::enums::ChannelState;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf, split,
};
use tokio_util::sync::CancellationToken;

use crate::support::fake_telegram::DEADLINE;
use crate::telegram::port::{Running, TestPort, approval, buttons, key_of};

/// Bytes that a pipe holds.
const PIPE: usize = 16 * 1024;

/// The test's end of the pipes.
struct Played {
    said: WriteHalf<DuplexStream>,
    heard: BufReader<ReadHalf<DuplexStream>>,
}

/// Starts nothing: the test plays the program.
struct Starter {
    pipes: Mutex<Option<DuplexStream>>,
}

struct Program;

#[async_trait]
impl ProgramStarter for Starter {
    async fn look(&self) -> Result<String, ProgramError> {
        Ok("bubblewrap".to_owned())
    }

    async fn start(
        &self,
        log: LogLine,
    ) -> Result<(Box<dyn RunningProgram>, ProgramPipes), ProgramError> {
        log("a line for people");
        let Some(pipes) = self.pipes.lock().unwrap().take() else {
            return Err(ProgramError::Settings(
                "there is no program `none`".to_owned(),
            ));
        };
        let (output, input) = split(pipes);
        let pipes = ProgramPipes {
            input: Box::new(input),
            output: Box::new(output),
        };
        Ok((Box::new(Program), pipes))
    }
}

#[async_trait]
impl RunningProgram for Program {
    async fn wait(&mut self) -> String {
        "exit status: 7".to_owned()
    }

    async fn end(self: Box<Self>) {}
}

fn started(times: ProcessTimes) -> (Arc<TestPort>, Running, Played) {
    let (ours, theirs) = tokio::io::duplex(PIPE);
    let starter = Starter {
        pipes: Mutex::new(Some(theirs)),
    };
    let bridge = ProcessBridge::new("test", Arc::new(starter), Clock::System, times);
    let (port, stop) = (TestPort::new(), CancellationToken::new());
    let (used, token) = (Arc::clone(&port) as Arc<dyn ChannelPort>, stop.clone());
    let task = tokio::spawn(async move { bridge.run(used, token).await });
    let (heard, said) = split(ours);
    let played = Played {
        said,
        heard: BufReader::new(heard),
    };
    (port, Running { stop, task }, played)
}

impl Played {
    async fn say(&mut self, message: Value) {
        self.write(&(message.to_string() + "\n")).await;
    }

    async fn write(&mut self, text: &str) {
        let writing = self.said.write_all(text.as_bytes());
        tokio::time::timeout(DEADLINE, writing)
            .await
            .unwrap()
            .unwrap();
    }

    /// The next message that is no ping, which is answered.
    async fn hear(&mut self) -> Value {
        loop {
            let mut line = String::new();
            let reading = self.heard.read_line(&mut line);
            let count = tokio::time::timeout(DEADLINE, reading)
                .await
                .expect("in time")
                .unwrap();
            assert!(count > 0, "the bridge went away");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["type"] == "ping" {
                let pong = json!({"type": "pong", "id": message["id"]}).to_string() + "\n";
                // Nobody may be listening any more.
                let _ = self.said.write_all(pong.as_bytes()).await;
                continue;
            }
            return message;
        }
    }

    /// Everything up to the welcome, which is given back.
    async fn greet(&mut self, capabilities: Value) -> Value {
        assert_eq!(self.hear().await["type"], "start");
        self.say(hello(capabilities)).await;
        self.hear().await
    }
}

fn hello(capabilities: Value) -> Value {
    json!({"type": "hello", "protocol": 1, "name": "played", "account": {"id": "bot", "display": "Bot"},
        "capabilities": capabilities})
}

fn message(key: &str, text: &str) -> Value {
    json!({"type": "message", "key": key, "cursor": format!("c-{key}"), "conversation": "#room", "text": text,
        "sender": {"id": "ada"}})
}

fn detail(error: ChannelError) -> String {
    match error {
        ChannelError::Transient { detail, .. } => detail,
        fatal @ ChannelError::Fatal { .. } => panic!("{fatal}"),
    }
}

async fn greeted(capabilities: Value) -> (Arc<TestPort>, Running, Played) {
    let (port, running, mut played) = started(ProcessTimes::default());
    let welcome = played.greet(capabilities).await;
    assert_eq!(welcome["type"], "welcome", "{welcome}");
    (port, running, played)
}

#[tokio::test]
async fn a_silent_program_is_told_with_what_it_wrote_and_what_to_do() {
    let times = ProcessTimes {
        hello: Duration::from_millis(200),
        ..ProcessTimes::default()
    };
    let (_, running, mut played) = started(times);
    played.write("Connecting to the chat\u{1b}[31m…\n").await;
    let said = detail(running.error().await);
    assert!(said.contains("no `hello` within"), "{said}");
    assert!(said.contains("Connecting to the chat"), "{said}");
    assert!(!said.contains('\u{1b}'), "{said}");
    assert!(said.contains("channels conform"), "{said}");
    assert!(said.contains("a line for people"), "{said}");
}

#[tokio::test]
async fn another_version_is_refused_with_both() {
    let (_, running, mut played) = started(ProcessTimes::default());
    played.hear().await;
    let mut hello = hello(json!({}));
    hello["protocol"] = json!(2);
    played.say(hello).await;
    let error = running.error().await;
    assert!(matches!(error, ChannelError::Fatal { .. }), "{error}");
    let said = error.to_string();
    assert!(
        said.contains("version 2") && said.contains("version 1"),
        "{said}"
    );
}

#[tokio::test]
async fn a_program_that_ends_before_its_hello_says_how() {
    let (_, running, played) = started(ProcessTimes::default());
    drop(played);
    let said = detail(running.error().await);
    assert!(
        said.contains("before its hello") && said.contains("exit status: 7"),
        "{said}"
    );
}

#[tokio::test]
async fn a_program_that_cannot_go_on_says_what_a_person_has_to_do() {
    let (port, running, mut played) = greeted(json!({})).await;
    let words = json!({"type": "health", "state": "failed", "detail": "the password is wrong", "fix": "set IRC_PASSWORD"});
    played.say(words).await;
    let error = running.error().await;
    assert_eq!(error.to_string(), "the password is wrong: set IRC_PASSWORD");
    assert!(matches!(error, ChannelError::Fatal { .. }));
    drop(port);
}

#[tokio::test]
async fn a_line_without_end_ends_the_run() {
    let (_, running, mut played) = greeted(json!({})).await;
    let piece = "x".repeat(1 << 20);
    for _ in 0..=MAX_LINE >> 20 {
        if played.said.write_all(piece.as_bytes()).await.is_err() {
            break;
        }
    }
    let said = detail(running.error().await);
    assert!(said.contains("has more than"), "{said}");
}

#[tokio::test]
async fn capabilities_account_and_cursor_are_taken() {
    let (port, running, mut played) = started(ProcessTimes::default());
    port.change(|ledger| ledger.cursor = Some("[\"bot\",\"c-9\"]".to_owned()));
    let welcome = played
        .greet(json!({"max_length": 400, "unit": "bytes", "edits": true, "idempotency": "native_key", "key_window_ms": 60000}))
        .await;
    assert_eq!(welcome, json!({"type": "welcome", "cursor": "c-9"}));
    port.wait_until("the capabilities", |ledger| {
        ledger
            .capabilities
            .as_ref()
            .is_some_and(|said| said.max_length == 400)
    })
    .await;
    let said = port.ledger().capabilities.clone().unwrap();
    assert_eq!(said.unit, LengthUnit::Bytes);
    assert!(said.edits && !said.buttons);
    let window_ms = Some(60_000);
    assert_eq!(said.idempotency, SendIdempotency::NativeKey { window_ms });
    let well = json!({"type": "health", "state": "connected"});
    assert!(
        port.ledger().health.is_empty(),
        "a hello is no exchange with a platform"
    );
    played.say(well).await;
    port.wait_until("the account", |ledger| {
        ledger
            .health
            .iter()
            .any(|(_, account)| account.as_deref() == Some("Bot"))
    })
    .await;
    running.stop().await;
}

#[tokio::test]
async fn the_cursor_of_another_account_is_not_handed_over() {
    let (port, running, mut played) = started(ProcessTimes::default());
    port.change(|ledger| ledger.cursor = Some("[\"other\",\"c-9\"]".to_owned()));
    let welcome = played.greet(json!({})).await;
    assert_eq!(welcome, json!({"type": "welcome", "cursor": null}));
    running.stop().await;
}

#[tokio::test]
async fn an_item_is_acknowledged_once_it_is_durable_and_under_the_account() {
    let (port, running, mut played) = greeted(json!({})).await;
    port.change(|ledger| ledger.feedback = Some("thanks".to_owned()));
    played.say(message("1", "hi")).await;
    let ack = played.hear().await;
    assert_eq!(ack["type"], "ack");
    assert_eq!(
        (&ack["key"], &ack["repeated"]),
        (&json!("1"), &json!(false))
    );
    assert_eq!(
        (&ack["disposition"], &ack["feedback"]),
        (&json!("turn"), &json!("thanks"))
    );
    {
        let ledger = port.ledger();
        assert_eq!(ledger.inbox[0].dedupe_key, "bot:1");
        assert_eq!(ledger.inbox[0].conversation, "%23room");
        assert_eq!(ledger.inbox[0].conversation_title.as_deref(), Some("#room"));
        assert_eq!(ledger.cursor.as_deref(), Some("[\"bot\",\"c-1\"]"));
    }
    played.say(message("1", "hi")).await;
    assert_eq!(played.hear().await["repeated"], true);
    assert_eq!(port.ledger().inbox.len(), 1);
    running.stop().await;
}

#[tokio::test]
async fn an_item_that_cannot_be_stored_holds_those_behind_it_and_no_cursor_passes_it() {
    let (port, running, mut played) = greeted(json!({})).await;
    port.change(|ledger| ledger.ingest_script = "fail fail".to_owned());
    for key in ["1", "2", "3"] {
        played.say(message(key, key)).await;
    }
    port.wait_until("it shows", |ledger| {
        ledger.last_health().is_some_and(|health| {
            let detail = health.detail.as_deref().unwrap_or_default();
            health.state == ChannelState::Degraded && detail.contains("the disk is full")
        })
    })
    .await;
    assert_eq!(port.ledger().cursor, None);
    for key in ["1", "2", "3"] {
        assert_eq!(played.hear().await["key"], key);
    }
    assert_eq!(port.ledger().texts(), ["1", "2", "3"]);
    running.stop().await;
}

#[tokio::test]
async fn what_does_not_fit_is_passed_over_shown_and_moves_the_cursor_where_it_can() {
    let (port, running, mut played) = greeted(json!({})).await;
    played
        .write("Traceback (most recent call last):\n\n[]\n")
        .await;
    played
        .say(json!({"type": "from_the_future", "id": 1}))
        .await;
    played
        .say(json!({"type": "sent", "id": 999, "refs": []}))
        .await;
    played
        .say(json!({"type": "message", "key": "7", "cursor": "c-7", "text": ["no text"]}))
        .await;
    let ack = played.hear().await;
    assert_eq!(ack["key"], "7");
    played.say(message("8", "after")).await;
    assert_eq!(played.hear().await["key"], "8");
    {
        let ledger = port.ledger();
        assert!(
            matches!(ledger.inbox[0].body, InboundBody::Other { .. }),
            "{:?}",
            ledger.inbox
        );
        assert_eq!(ledger.texts(), ["after"]);
        let shown = ledger
            .health
            .iter()
            .filter_map(|(health, _)| health.detail.clone());
        let shown: Vec<String> = shown.collect();
        assert!(
            shown.iter().any(|text| text.contains("Traceback")),
            "{shown:?}"
        );
    }
    running.stop().await;
}

#[tokio::test]
async fn too_many_items_wait_in_the_pipe_and_none_is_lost() {
    let (port, running, played) = greeted(json!({})).await;
    port.change(|ledger| ledger.ingest_script = "fail".to_owned());
    let Played {
        mut said,
        mut heard,
    } = played;
    let saying = async move {
        for key in 0..1_000 {
            let line = message(&key.to_string(), &"x".repeat(200)).to_string() + "\n";
            said.write_all(line.as_bytes()).await.unwrap();
        }
        said
    };
    let hearing = async move {
        let mut keys = 0;
        while keys < 1_000 {
            let mut line = String::new();
            heard.read_line(&mut line).await.unwrap();
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["type"] == "ack" {
                assert_eq!(message["key"], keys.to_string());
                keys += 1;
            }
        }
        heard
    };
    let both = async { tokio::join!(saying, hearing) };
    let ends = tokio::time::timeout(DEADLINE, both).await.unwrap();
    assert_eq!(port.ledger().inbox.len(), 1_000);
    drop(ends);
    let _ = running.error().await;
}

#[tokio::test]
async fn a_send_ends_as_the_program_says() {
    let (port, running, mut played) = greeted(json!({"edits": true, "buttons": true})).await;
    let id = port.say("%23room", "**Hello** [there](https://example.org)");
    let send = played.hear().await;
    assert_eq!(send["type"], "send");
    assert_eq!(send["conversation"], "#room");
    assert_eq!(send["format"], "plain");
    assert!(!send["text"].as_str().unwrap().contains("**"), "{send}");
    assert_eq!(send["key"], key_of(id).as_str());
    played
        .say(json!({"type": "sent", "id": send["id"], "refs": ["m1"]}))
        .await;
    let external_refs = vec!["m1".to_owned()];
    assert_eq!(port.outcome(id).await, SendOutcome::Sent { external_refs });

    let id = port.say("a", "refused");
    let send = played.hear().await;
    played
        .say(json!({"type": "failed", "id": send["id"], "error": "no such room\u{7}"}))
        .await;
    let SendOutcome::Failed { error } = port.outcome(id).await else {
        panic!("{:?}", port.outcome(id).await);
    };
    assert!(
        error.contains("no such room") && !error.contains('\u{7}'),
        "{error}"
    );

    let id = port.say("b", "busy");
    let send = played.hear().await;
    played
        .say(json!({"type": "retry", "id": send["id"], "after_ms": 20}))
        .await;
    let again = played.hear().await;
    assert_eq!(again["text"], send["text"]);
    assert_eq!(again["key"], send["key"]);
    assert!(matches!(port.outcome(id).await, SendOutcome::Retry { .. }));
    played
        .say(json!({"type": "unknown", "id": again["id"], "detail": "no answer"}))
        .await;
    port.wait_until("the end", |ledger| {
        ledger.outcome(id)
            == Some(SendOutcome::Unknown {
                detail: "no answer".to_owned(),
            })
    })
    .await;
    running.stop().await;
}

#[tokio::test]
async fn a_part_that_was_handed_over_is_unknown_once_the_program_is_gone() {
    let (port, running, mut played) = greeted(json!({})).await;
    let id = port.say("a", "hello");
    assert_eq!(played.hear().await["type"], "send");
    drop(played);
    let said = detail(running.error().await);
    assert!(said.contains("exit status: 7"), "{said}");
    let SendOutcome::Unknown { detail } = port.outcome(id).await else {
        panic!("{:?}", port.outcome(id).await);
    };
    assert!(detail.contains("ended before the answer"), "{detail}");
}

#[tokio::test]
async fn a_question_shows_its_buttons_only_where_there_are_some() {
    use leverframe::protocol::bridge::OutboundBody;
    use leverframe::protocol::enums::OutboxClass;
    for (has_buttons, count) in [(true, buttons().len()), (false, 0)] {
        let (port, running, mut played) = greeted(json!({"buttons": has_buttons})).await;
        let approval = Box::new(approval());
        let body = OutboundBody::Card {
            approval: approval.clone(),
            buttons: buttons(),
        };
        let id = port.send("a", OutboxClass::ApprovalCard, body);
        let card = played.hear().await;
        assert_eq!(card["type"], "card");
        assert_eq!(card["buttons"].as_array().unwrap().len(), count, "{card}");
        let text = card["text"].as_str().unwrap();
        assert!(text.contains("/approve K7Q2MX"), "{text}");
        played
            .say(json!({"type": "sent", "id": card["id"], "refs": ["q1"]}))
            .await;
        assert!(matches!(port.outcome(id).await, SendOutcome::Sent { .. }));
        // What became of it: where nothing can be changed, a message says so.
        let body = OutboundBody::CardUpdate {
            approval,
            external_ref: "q1".to_owned(),
        };
        port.send("a", OutboxClass::CardUpdate, body);
        let update = played.hear().await;
        assert_eq!(update["type"], "send", "{update}");
        running.stop().await;
    }
}

#[tokio::test]
async fn a_program_that_hangs_is_ended() {
    let times = ProcessTimes {
        ping: Duration::from_millis(20),
        silence: Duration::from_millis(120),
        ..ProcessTimes::default()
    };
    let (_, running, mut played) = started(times);
    played.greet(json!({})).await;
    let said = detail(running.error().await);
    assert!(said.contains("answered no ping"), "{said}");
}

#[tokio::test]
async fn a_degraded_platform_shows_until_the_program_takes_it_back() {
    let (port, running, mut played) = greeted(json!({})).await;
    let shows = |state: ChannelState| {
        let port = Arc::clone(&port);
        async move {
            port.wait_until(state.as_str(), |ledger| {
                ledger
                    .last_health()
                    .is_some_and(|health| health.state == state)
            })
            .await;
        }
    };
    played
        .say(json!({"type": "health", "state": "connected"}))
        .await;
    shows(ChannelState::Connected).await;
    let degraded = json!({"type": "health", "state": "degraded", "detail": "the server is away"});
    played.say(degraded).await;
    shows(ChannelState::Degraded).await;
    played.say(json!({"type": "pong", "id": 99})).await;
    played.say(message("1", "still degraded?")).await;
    played
        .say(json!({"type": "health", "state": "connected"}))
        .await;
    shows(ChannelState::Connected).await;
    running.stop().await;
}

#[tokio::test]
async fn the_program_is_told_to_end_after_its_answers() {
    let (port, running, mut played) = greeted(json!({})).await;
    let id = port.say("a", "last words");
    let send = played.hear().await;
    running.stop.cancel();
    played
        .say(json!({"type": "sent", "id": send["id"], "refs": ["m"]}))
        .await;
    assert_eq!(played.hear().await["type"], "shutdown");
    drop(played);
    running.stop().await;
    assert!(matches!(port.outcome(id).await, SendOutcome::Sent { .. }));
}

#[tokio::test]
async fn a_program_that_cannot_run_is_no_reason_to_try_again() {
    let starter = Starter {
        pipes: Mutex::new(None),
    };
    let times = ProcessTimes::default();
    let bridge = ProcessBridge::new("test", Arc::new(starter), Clock::System, times);
    let port = TestPort::new();
    let error = bridge
        .run(port, CancellationToken::new())
        .await
        .unwrap_err();
    assert!(matches!(error, ChannelError::Fatal { .. }));
    assert!(
        error.to_string().contains("there is no program `none`"),
        "{error}"
    );
}

/// What a check says while the test plays the program.
async fn checked(pipes: Option<DuplexStream>) -> Vec<(Standing, String)> {
    let starter = Starter {
        pipes: Mutex::new(pipes),
    };
    let times = ProcessTimes {
        hello: Duration::from_secs(5),
        ..ProcessTimes::default()
    };
    let bridge = ProcessBridge::new("test", Arc::new(starter), Clock::System, times);
    let found = bridge.check().await.into_iter();
    let words = found.map(|one| {
        assert_eq!(one.about, "channel test");
        let fix = one.fix.map_or_else(String::new, |fix| format!(": {fix}"));
        (one.verdict, format!("{}{fix}", one.detail))
    });
    words.collect()
}

#[tokio::test]
async fn a_check_starts_the_program_for_a_moment_and_says_how_it_is() {
    for (state, verdict, says) in [
        ("connected", Standing::Ok, "its platform answers"),
        ("degraded", Standing::Warn, "the server is away"),
        ("failed", Standing::Fail, "log in again"),
    ] {
        let (ours, theirs) = tokio::io::duplex(PIPE);
        let (heard, said) = split(ours);
        let mut played = Played {
            said,
            heard: BufReader::new(heard),
        };
        let playing = async {
            played.hear().await;
            played.say(hello(json!({}))).await;
            let words = json!({"type": "health", "state": state, "detail": "the server is away", "fix": "log in again"});
            played.say(words).await;
            // No welcome: nothing is taken from the platform.
            while played.hear().await["type"] != "shutdown" {}
        };
        let (found, ()) = tokio::join!(checked(Some(theirs)), playing);
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(found[0].0, Standing::Ok);
        assert!(
            found[1].1.contains("played") && found[1].1.contains("Bot"),
            "{found:?}"
        );
        assert_eq!(found[2].0, verdict);
        assert!(found[2].1.contains(says), "{found:?}");
    }
    let found = checked(None).await;
    let last = found.last().unwrap();
    assert_eq!(last.0, Standing::Fail);
    assert!(last.1.contains("there is no program `none`"), "{found:?}");
}
