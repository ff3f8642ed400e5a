//! Tokens that are wrong or end, and a homeserver that fails: what is said of it, and how often it is asked.

use std::sync::Arc;
use std::time::Duration;

use leverframe::channels::channel::{Bridge as _, ChannelError};
use leverframe::channels::supervisor::{Backoff, spawn};
use leverframe::client::channel_port::ChannelPort;
use leverframe::protocol::doctor::Standing;
use leverframe::protocol::enums::ChannelState;
use reqwest::Method;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::matrix::bridging::{bridge, connected, options, run};
use crate::matrix::synapse::synapse;
use crate::support::daemon::DEADLINE;
use crate::support::fault_proxy::{Fault, Proxy};
use crate::support::log_capture::LogCapture;
use crate::telegram::port::TestPort;

const UNCHECKED: &str = "the line to Matrix";
const SECRET: &str = "syt_nobody_knows_this_token";

fn fatal(error: ChannelError) -> String {
    match error {
        ChannelError::Fatal { detail, fix } => format!("{detail}: {fix}"),
        ChannelError::Transient { detail, .. } => panic!("it would try for ever: {detail}"),
    }
}

#[tokio::test]
async fn a_wrong_token_stops_the_channel_with_what_to_do() {
    let Some(server) = synapse(UNCHECKED) else {
        return;
    };
    let proxy = Proxy::start(server.url());
    let said = fatal(run(proxy.url(), SECRET, &TestPort::new()).error().await);
    assert!(said.contains("does not take this access token"), "{said}");
    assert!(said.contains("/_matrix/client/v3/login"), "{said}");
    assert!(!said.contains(SECRET));
    // Nothing was synced before it was known who we are.
    assert_eq!(proxy.requests("/sync"), Vec::<String>::new());
    for empty in ["", "two words"] {
        fatal(run(proxy.url(), empty, &TestPort::new()).error().await);
    }
    assert_eq!(proxy.requests("").len(), 1, "{:?}", proxy.requests(""));
}

#[tokio::test]
async fn a_token_that_ends_while_it_runs_stops_the_channel() {
    let Some(server) = synapse(UNCHECKED) else {
        return;
    };
    let bot = server.user("bot").await;
    let port = TestPort::new();
    let running = connected(server.url(), &bot, &port).await;
    bot.call(Method::POST, "logout", &json!({})).await;
    let said = fatal(running.error().await);
    assert!(said.contains("does not take this access token"), "{said}");
}

#[tokio::test]
async fn what_is_no_homeserver_is_said_so() {
    let Some(server) = synapse(UNCHECKED) else {
        return;
    };
    let base = format!("{}/elsewhere", server.url());
    let said = fatal(run(&base, SECRET, &TestPort::new()).error().await);
    assert!(said.contains(".well-known/matrix/client"), "{said}");
}

#[tokio::test]
async fn a_failing_homeserver_is_left_to_the_supervisor_and_nothing_is_lost() {
    let Some(server) = synapse(UNCHECKED) else {
        return;
    };
    let (bot, anna) = (server.user("bot").await, server.user("anna").await);
    let proxy = Proxy::start(server.url());
    let port = TestPort::new();
    let room = anna.direct_room(&bot).await;
    let running = connected(proxy.url(), &bot, &port).await;
    anna.sees_come(&room, &bot).await;
    running.stop().await;
    let mut expected = Vec::new();
    for (word, fault) in [
        ("since=", Fault::Status(500, "{}")),
        ("since=", Fault::Status(502, "<html>")),
        ("since=", Fault::Status(200, "[]")),
        ("since=", Fault::Status(200, "{}")),
        ("since=", Fault::ResetBefore),
        ("since=", Fault::CutBody),
        ("whoami", Fault::Status(503, "")),
        ("whoami", Fault::CutBody),
    ] {
        proxy.fault(word, fault.clone());
        let running = run(proxy.url(), &bot.token, &port);
        let before = proxy.requests("since=").len();
        let said = format!("after {word} {fault:?}");
        anna.say(&room, &said).await;
        expected.push(said);
        match running.error().await {
            ChannelError::Transient { detail, .. } => assert!(!detail.contains(&bot.token)),
            ChannelError::Fatal { detail, .. } => panic!("{word} {fault:?}: {detail}"),
        }
        assert!(proxy.is_over());
        let asked = proxy.requests("since=").len() - before;
        assert!(asked <= 1, "{word} {fault:?}: asked {asked} times");
    }
    // A limit is waited for, and a slow answer.
    proxy.fault(
        "since=",
        Fault::Status(
            429,
            "{\"errcode\":\"M_LIMIT_EXCEEDED\",\"retry_after_ms\":20}",
        ),
    );
    proxy.fault("since=", Fault::Slow(Duration::from_millis(300)));
    let running = run(proxy.url(), &bot.token, &port);
    port.wait_until("all of them, in order", |ledger| ledger.texts() == expected)
        .await;
    assert_eq!(port.ledger().repeated, 0);
    running.stop().await;
}

#[tokio::test]
async fn a_sync_that_is_never_answered_is_given_up_and_asked_again_from_the_same_place() {
    let Some(server) = synapse(UNCHECKED) else {
        return;
    };
    let (bot, anna) = (server.user("bot").await, server.user("anna").await);
    let proxy = Proxy::start(server.url());
    let port = TestPort::new();
    let room = anna.direct_room(&bot).await;
    let running = connected(proxy.url(), &bot, &port).await;
    anna.sees_come(&room, &bot).await;
    anna.say(&room, "before").await;
    port.wait_until("before", |ledger| ledger.texts() == ["before"])
        .await;
    running.stop().await;

    // The connection stands, and nothing comes over it any more.
    let mut options = options();
    options.hold = Duration::from_secs(1);
    options.margin = Duration::from_millis(500);
    let backoff = Backoff {
        floor: Duration::from_millis(500),
        ceiling: Duration::from_millis(500),
        stable_after: Duration::from_mins(1),
        stop_grace: Duration::from_secs(2),
    };
    let first = proxy.requests("since=").len();
    proxy.fault("since=", Fault::Silence);
    let stop = CancellationToken::new();
    let task = spawn(
        Box::new(bridge(proxy.url(), &bot.token, options)),
        Arc::clone(&port) as Arc<dyn ChannelPort>,
        backoff,
        stop.clone(),
    );
    port.wait_until("the word on it", |ledger| {
        ledger.last_health().is_some_and(|health| {
            let detail = health.detail.as_deref().unwrap_or_default();
            health.state == ChannelState::Degraded
                && detail.contains("no answer from the platform")
                && detail.contains("trying again in")
        })
    })
    .await;
    anna.say(&room, "meanwhile").await;
    port.wait_until("meanwhile", |ledger| {
        ledger.texts() == ["before", "meanwhile"]
    })
    .await;
    anna.say(&room, "after").await;
    port.wait_until("after", |ledger| {
        ledger.texts() == ["before", "meanwhile", "after"]
    })
    .await;
    stop.cancel();
    tokio::time::timeout(DEADLINE, task).await.unwrap().unwrap();
    let since = |line: &String| {
        let (_, rest) = line.split_once("since=").unwrap();
        rest.split(['&', ' ']).next().unwrap().to_owned()
    };
    let asked: Vec<String> = proxy.requests("since=")[first..]
        .iter()
        .map(since)
        .collect();
    assert_eq!(asked[0], asked[1], "from the same place: {asked:?}");
    assert_eq!(port.ledger().repeated, 0);
}

#[tokio::test]
async fn a_homeserver_that_lost_the_position_is_told_and_goes_on() {
    let Some(server) = synapse(UNCHECKED) else {
        return;
    };
    let (bot, anna) = (server.user("bot").await, server.user("anna").await);
    let port = TestPort::new();
    let running = connected(server.url(), &bot, &port).await;
    let room = anna.direct_room(&bot).await;
    anna.sees_come(&room, &bot).await;
    running.stop().await;
    port.change(|ledger| ledger.cursor = Some(format!("{} nonsense", bot.user)));
    let running = run(server.url(), &bot.token, &port);
    port.wait_until("the word on it", |ledger| {
        ledger.last_health().is_some_and(|health| {
            let detail = health.detail.as_deref().unwrap_or_default();
            detail.contains("does not know the position any more")
        })
    })
    .await;
    anna.say(&room, "hello").await;
    port.wait_until("hello", |ledger| ledger.texts() == ["hello"])
        .await;
    running.stop().await;
}

#[tokio::test]
async fn a_check_says_whose_token_it_is_and_which_rooms_cannot_be_read() {
    let Some(server) = synapse(UNCHECKED) else {
        return;
    };
    let (bot, anna) = (server.user("bot").await, server.user("anna").await);
    let room = anna.direct_room(&bot).await;
    bot.join(&room).await;
    let findings = bridge(server.url(), &bot.token, options()).check().await;
    let told: Vec<&str> = findings.iter().map(|one| one.detail.as_str()).collect();
    let all = told.join("\n");
    assert!(
        findings.iter().all(|one| one.verdict == Standing::Ok),
        "{findings:#?}"
    );
    assert!(all.contains(&format!("belongs to {}", bot.user)), "{all}");
    assert!(all.contains("rooms it is in: 1, invites: 0"), "{all}");
    assert!(all.contains("50 MiB"), "{all}");

    let algorithm = json!({ "algorithm": "m.megolm.v1.aes-sha2" });
    anna.set_state(&room, "m.room.encryption", &algorithm).await;
    let findings = bridge(server.url(), &bot.token, options()).check().await;
    let warned = findings.iter().find(|one| one.verdict == Standing::Warn);
    let warned = warned.expect("the encrypted room");
    assert!(warned.detail.contains("the bot cannot read them: 1"));
    assert!(warned.fix.is_some());

    for (base, token) in [
        (server.url().to_owned(), SECRET),
        ("http://127.0.0.1:1".to_owned(), SECRET),
    ] {
        let findings = bridge(&base, token, options()).check().await;
        let last = findings.last().unwrap();
        assert_eq!(last.verdict, Standing::Fail);
        assert!(last.fix.is_some());
        assert!(!format!("{findings:?}").contains(SECRET));
    }
}

#[tokio::test]
async fn no_log_line_error_or_finding_holds_the_token() {
    let Some(server) = synapse(UNCHECKED) else {
        return;
    };
    let logs = LogCapture::start();
    // A server that quotes the request back.
    const QUOTE: &str = "{\"errcode\":\"M_X\",\"error\":\"no such syt_nobody_knows_this_token\",\"soft_logout\":true}";
    let mut seen = String::new();
    for fault in [
        Fault::Status(400, QUOTE),
        Fault::Status(401, QUOTE),
        Fault::Status(429, QUOTE),
        Fault::Status(502, QUOTE),
        Fault::Status(200, QUOTE),
        Fault::ResetBefore,
        Fault::CutBody,
        Fault::Slow(Duration::ZERO),
    ] {
        let proxy = Proxy::start(server.url());
        proxy.fault("whoami", fault.clone());
        let port = TestPort::new();
        let error = run(proxy.url(), SECRET, &port).error().await;
        proxy.fault("whoami", fault);
        let findings = bridge(proxy.url(), SECRET, options()).check().await;
        let health = format!("{:?}", port.ledger().health);
        seen.push_str(&format!("{error:?} {error} {findings:?} {health}\n"));
    }
    let log = logs.text();
    assert!(seen.contains("would take a new one"), "{seen}");
    for text in [log, seen] {
        let at = text.find(SECRET);
        assert!(
            at.is_none(),
            "{:?}",
            at.map(|at| &text[at.saturating_sub(200)..at])
        );
    }
}
