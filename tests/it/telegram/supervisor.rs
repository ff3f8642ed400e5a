//! Each account on its own: restarts with backoff, stops on what only a person can mend.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use leverframe::channels::build;
use leverframe::channels::channel::{Bridge, ChannelError};
use leverframe::channels::supervisor::{Backoff, spawn};
use leverframe::client::channel_port::ChannelPort;
use leverframe::client::webhooks::Webhooks;
use leverframe::clock::Clock;
use leverframe::config::platform::PlatformSettings;
use leverframe::config::settings::{ChannelSettings, ReplyStyle, Secret, SessionScope};
use leverframe::protocol::budget::Limit;
use leverframe::protocol::channel::{ChannelCapabilities, LengthUnit, SendIdempotency};
use leverframe::protocol::enums::{Autonomy, CacheScope, ChannelKind, ChannelState, Risk};
use leverframe::testing;
use tokio_util::sync::CancellationToken;

use crate::support::fake_telegram::{DEADLINE, FakeTelegram, Fault, TOKEN};
use crate::telegram::port::{TestPort, ada, bridge_at, options};

fn backoff() -> Backoff {
    Backoff {
        floor: Duration::from_millis(20),
        ceiling: Duration::from_millis(100),
        stable_after: Duration::from_mins(1),
        stop_grace: Duration::from_secs(2),
    }
}

/// A bridge that does one thing.
struct Scripted {
    runs: Arc<AtomicU32>,
    act: Act,
}

#[derive(Clone, Copy)]
enum Act {
    Panic,
    End,
    Transient,
    HangEvenWhenStopped,
}

#[async_trait]
impl Bridge for Scripted {
    fn kind(&self) -> ChannelKind {
        ChannelKind::Telegram
    }

    fn capabilities(&self) -> ChannelCapabilities {
        ChannelCapabilities {
            max_length: 10,
            unit: LengthUnit::Bytes,
            edits: false,
            buttons: false,
            typing: false,
            idempotency: SendIdempotency::None,
        }
    }

    async fn run(
        &self,
        _port: Arc<dyn ChannelPort>,
        _shutdown: CancellationToken,
    ) -> Result<(), ChannelError> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        match self.act {
            Act::Panic => panic!("a defect"),
            Act::End => Ok(()),
            Act::Transient => Err(ChannelError::Transient {
                detail: "no luck".to_owned(),
                retry_after: None,
            }),
            Act::HangEvenWhenStopped => std::future::pending().await,
        }
    }
}

#[tokio::test]
async fn errors_panics_and_silent_ends_are_contained_and_never_run_faster_than_the_floor() {
    for act in [Act::Panic, Act::End, Act::Transient] {
        let runs = Arc::new(AtomicU32::new(0));
        let port = TestPort::new();
        let stop = CancellationToken::new();
        let bridge = Box::new(Scripted {
            runs: Arc::clone(&runs),
            act,
        });
        let began = Instant::now();
        let task = spawn(
            bridge,
            Arc::clone(&port) as Arc<dyn ChannelPort>,
            backoff(),
            stop.clone(),
        );
        port.wait_until("some reconnects", |ledger| {
            ledger
                .last_health()
                .is_some_and(|health| health.reconnects >= 4)
        })
        .await;
        let runs = runs.load(Ordering::SeqCst);
        let most = began.elapsed().as_millis() / 20 + 1;
        assert!(u128::from(runs) <= most, "{runs} runs, at most {most}");
        let health = port.ledger().last_health().cloned().unwrap();
        assert_eq!(health.state, ChannelState::Degraded);
        assert!(health.detail.unwrap().contains("trying again in"));
        assert_eq!(health.last_exchange_at, None, "nothing was ever exchanged");
        assert!(port.ledger().capabilities.is_some());
        stop.cancel();
        tokio::time::timeout(DEADLINE, task).await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_bridge_that_will_not_stop_is_ended_after_its_grace() {
    let port = TestPort::new();
    let stop = CancellationToken::new();
    let runs = Arc::new(AtomicU32::new(0));
    let bridge = Box::new(Scripted {
        runs: Arc::clone(&runs),
        act: Act::HangEvenWhenStopped,
    });
    let mut grace = backoff();
    grace.stop_grace = Duration::from_millis(50);
    let task = spawn(
        bridge,
        Arc::clone(&port) as Arc<dyn ChannelPort>,
        grace,
        stop.clone(),
    );
    port.wait_until("started", |_| runs.load(Ordering::SeqCst) == 1)
        .await;
    stop.cancel();
    tokio::time::timeout(DEADLINE, task).await.unwrap().unwrap();
}

#[test]
fn a_connection_that_breaks_once_a_minute_is_soon_back() {
    let backoff = Backoff::default();
    for lives in [1, 10, 30, 59] {
        let lives = Duration::from_secs(lives);
        let (mut failures, mut wait, mut waited) = (0, Duration::ZERO, Duration::ZERO);
        let runs = 1_000;
        for _ in 0..runs {
            failures = backoff.failures_before(failures, true, wait + lives);
            wait = backoff.delay(failures, 0.5, None);
            failures += 1;
            waited += wait;
        }
        let mean = waited / runs;
        assert!(mean < Duration::from_secs(15), "{mean:?} after {lives:?}");
    }
    // A connection that never comes up waits as long as it may.
    let failures = backoff.failures_before(9, false, Duration::from_hours(1));
    assert_eq!(failures, 9);
}

#[test]
fn the_wait_doubles_within_floor_and_ceiling_and_obeys_the_platform() {
    let backoff = Backoff::default();
    for jitter in [0.0, 0.25, 0.5, 0.999] {
        let mut last = Duration::ZERO;
        for failures in 0..40 {
            let delay = backoff.delay(failures, jitter, None);
            assert!(delay >= Duration::from_secs(1) && delay <= Duration::from_mins(1));
            assert!(delay >= last);
            last = delay;
        }
        assert!(last >= Duration::from_secs(30));
    }
    assert_eq!(
        backoff.delay(0, 0.0, Some(Duration::from_mins(5))),
        Duration::from_mins(5)
    );
}

#[tokio::test]
async fn telegram_comes_back_by_itself_and_keeps_its_history() {
    let fake = FakeTelegram::start();
    let port = TestPort::new();
    let stop = CancellationToken::new();
    let bridge = Box::new(bridge_at(fake.url(), TOKEN, options()));
    let task = spawn(
        bridge,
        Arc::clone(&port) as Arc<dyn ChannelPort>,
        backoff(),
        stop.clone(),
    );
    fake.user_says(4242, &ada(), "one");
    port.wait_until("one", |ledger| ledger.texts() == ["one"])
        .await;
    let inbound_at = port.ledger().last_health().unwrap().last_inbound_at;
    assert!(inbound_at.is_some());
    for fault in [Fault::Server(502), Fault::ResetBefore] {
        fake.fault("getUpdates", fault);
    }
    // Another poll makes the waiting one end with a conflict, after which the faults come.
    fake.change(|state| state.poll += 1);
    port.wait_until("back", |ledger| {
        ledger
            .last_health()
            .is_some_and(|health| health.reconnects >= 2 && health.state == ChannelState::Connected)
    })
    .await;
    assert_eq!(
        port.ledger().last_health().unwrap().last_inbound_at,
        inbound_at,
        "a reconnect does not forget or touch the last inbound"
    );
    assert_eq!(
        fake.calls("setMyCommands").len(),
        1,
        "the menu is set once per process"
    );
    fake.user_says(4242, &ada(), "two");
    port.wait_until("two", |ledger| ledger.texts() == ["one", "two"])
        .await;
    stop.cancel();
    tokio::time::timeout(DEADLINE, task).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_bad_token_stops_until_resumed_and_a_pause_stops_polling() {
    let fake = FakeTelegram::start();
    let port = TestPort::new();
    let stop = CancellationToken::new();
    fake.change(|state| state.token = "123456789:AAsomeOtherToken".to_owned());
    let bridge = Box::new(bridge_at(fake.url(), TOKEN, options()));
    let task = spawn(
        bridge,
        Arc::clone(&port) as Arc<dyn ChannelPort>,
        backoff(),
        stop.clone(),
    );
    port.wait_until("failed with the fix", |ledger| {
        ledger.last_health().is_some_and(|health| {
            health.state == ChannelState::Failed
                && health
                    .detail
                    .as_deref()
                    .is_some_and(|detail| detail.contains("check the token from @BotFather"))
        })
    })
    .await;
    fake.change(|state| state.token = TOKEN.to_owned());
    port.pause(true);
    port.wait_until("paused", |ledger| {
        ledger
            .last_health()
            .is_some_and(|health| health.state == ChannelState::Paused)
    })
    .await;
    assert!(fake.ledger().is_empty(), "failed and paused: no calls");
    port.pause(false);
    fake.wait_until("a poll", |state| state.poll > 0).await;
    port.pause(true);
    port.wait_until("paused again", |ledger| {
        ledger
            .last_health()
            .is_some_and(|health| health.state == ChannelState::Paused)
    })
    .await;
    let polls = fake.state().poll;
    fake.user_says(4242, &ada(), "while paused");
    let part = port.say("4242", "held");
    port.pause(false);
    port.wait_until("both", |ledger| {
        ledger.texts() == ["while paused"] && ledger.outcome(part).is_some()
    })
    .await;
    assert!(fake.state().poll > polls);
    stop.cancel();
    tokio::time::timeout(DEADLINE, task).await.unwrap().unwrap();
    assert!(!format!("{:?}", port.ledger().health).contains("MustNeverShow"));
}

#[tokio::test]
async fn messages_are_sent_while_no_poll_works() {
    let fake = FakeTelegram::start();
    let port = TestPort::new();
    let stop = CancellationToken::new();
    let mut late = backoff();
    (late.floor, late.ceiling) = (Duration::from_hours(1), Duration::from_hours(1));
    fake.change(|state| state.know_chat(4242));
    fake.fault("getUpdates", Fault::Server(502));
    let bridge = Box::new(bridge_at(fake.url(), TOKEN, options()));
    let task = spawn(
        bridge,
        Arc::clone(&port) as Arc<dyn ChannelPort>,
        late,
        stop.clone(),
    );
    port.wait_until("away", |ledger| {
        let health = ledger.last_health();
        let detail = health.and_then(|health| health.detail.clone());
        detail.is_some_and(|detail| detail.contains("trying again in"))
    })
    .await;
    let part = port.say("4242", "without a poll");
    port.outcome(part).await;
    assert_eq!(fake.messages(4242).len(), 1);
    assert_eq!(fake.calls("getUpdates").len(), 1);
    let state = port.ledger().last_health().unwrap().state;
    assert_eq!(state, ChannelState::Degraded);
    stop.cancel();
    tokio::time::timeout(DEADLINE, task).await.unwrap().unwrap();
}

#[tokio::test]
async fn an_account_paused_before_the_start_is_not_connected() {
    let fake = FakeTelegram::start();
    let port = TestPort::new();
    port.change(|ledger| ledger.paused = true);
    let stop = CancellationToken::new();
    let bridge = Box::new(bridge_at(fake.url(), TOKEN, options()));
    let task = spawn(
        bridge,
        Arc::clone(&port) as Arc<dyn ChannelPort>,
        backoff(),
        stop.clone(),
    );
    port.wait_until("paused", |ledger| {
        ledger
            .last_health()
            .is_some_and(|health| health.state == ChannelState::Paused)
    })
    .await;
    stop.cancel();
    tokio::time::timeout(DEADLINE, task).await.unwrap().unwrap();
    assert!(fake.ledger().is_empty());
}

fn settings(kind: ChannelKind, token: Option<&str>) -> ChannelSettings {
    ChannelSettings {
        kind,
        id_prefix: kind.to_string(),
        platform: PlatformSettings {
            token: token.map(Secret::new),
            app_token: None,
            secret: None,
            api_base: "http://127.0.0.1:9".to_owned(),
            callback_url: None,
            webhook_url: None,
            program: None,
        },
        autonomy: Autonomy::Supervised,
        permanent_full: false,
        auto_approve: Vec::new(),
        block: Vec::new(),
        always_ask: Vec::new(),
        allowed_users: Vec::new(),
        allowed_chats: Vec::new(),
        approval_to: Vec::new(),
        approvers: Vec::new(),
        escalation: None,
        two_people: Vec::new(),
        taint_guard_in_full: true,
        chat_max_risk: Risk::Medium,
        max_wait_seconds: 600,
        workspace: "/nowhere".into(),
        model: None,
        fallback: None,
        fixed_model: false,
        note: None,
        skills: None,
        mcp: None,
        parameters: leverframe::protocol::options::ModelParameters::default(),
        require_mention: true,
        session_scope: SessionScope::Chat,
        reply_style: ReplyStyle::Final,
        citations: false,
        max_queue: 10,
        response_cache: CacheScope::Off,
        tool_cache: false,
        pairing: true,
        floods: leverframe::protocol::budget::FloodLimits::default(),
        quiet_hours: None,
        budget: Limit::default(),
    }
}

#[tokio::test]
async fn only_platforms_have_bridges_and_one_without_token_says_so() {
    for kind in ChannelKind::ALL {
        let settings = settings(*kind, Some(TOKEN));
        let bridge = build::build("x", &settings, &Clock::System, &Webhooks::default());
        // A program is started by whoever knows the sandbox.
        let is_platform = kind.is_platform() && *kind != ChannelKind::Process;
        assert_eq!(bridge.is_some(), is_platform, "{kind}");
        // Scripted ones with an address only in builds for tests, as this is one.
        let bridge = testing::bridge::build(&settings, &Clock::System);
        assert_eq!(bridge.is_some(), *kind == ChannelKind::Scripted, "{kind}");
    }
    let bridge = build::build(
        "tg",
        &settings(ChannelKind::Telegram, None),
        &Clock::System,
        &Webhooks::default(),
    )
    .unwrap();
    let port = TestPort::new();
    let error = bridge
        .run(port, CancellationToken::new())
        .await
        .unwrap_err();
    assert!(
        matches!(&error, ChannelError::Fatal { detail, fix } if detail.contains("`tg`") && fix.contains("@BotFather"))
    );
}
