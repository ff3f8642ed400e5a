//! The demo's visitors.

use std::sync::Arc;
use std::time::Duration;

use leverframe::channels::channel::Bridge;
use leverframe::channels::scripted::{Schedule, ScriptedBridge};
use leverframe::client::channel_port::ChannelPort;
use leverframe::clock::Clock;
use leverframe::protocol::bridge::{InboundBody, OutboundBody, SendOutcome};
use leverframe::protocol::enums::{ChannelKind, ChannelState, OutboxClass};
use tokio_util::sync::CancellationToken;

use crate::telegram::port::{TestPort, approval};

fn bridge(seed: u64, patience: Duration) -> ScriptedBridge {
    let script = [
        ("Mara Ko", "hello"),
        ("Mara Ko", "list files"),
        ("Jo", "what is new?"),
    ];
    ScriptedBridge::new(
        script
            .map(|(who, what)| (who.to_owned(), what.to_owned()))
            .to_vec(),
        Schedule {
            min_interval: Duration::from_millis(2),
            max_interval: Duration::from_millis(6),
            longest_silence: patience,
            seed,
        },
        Clock::System,
    )
}

struct Demo {
    port: Arc<TestPort>,
    stop: CancellationToken,
    task: tokio::task::JoinHandle<()>,
}

impl Demo {
    fn start(seed: u64, patience: Duration) -> Self {
        let port = TestPort::new();
        let stop = CancellationToken::new();
        let (to, token) = (Arc::clone(&port) as Arc<dyn ChannelPort>, stop.clone());
        let bridge = bridge(seed, patience);
        let task = tokio::spawn(async move { bridge.run(to, token).await.unwrap() });
        Self { port, stop, task }
    }

    async fn both_spoke(&self) {
        self.port
            .wait_until("both spoke", |ledger| ledger.inbox.len() == 2)
            .await;
    }

    fn count(&self, conversation: &str) -> usize {
        self.port
            .ledger()
            .inbox
            .iter()
            .filter(|inbound| inbound.conversation == conversation)
            .count()
    }

    /// Answers one conversation until it spoke so many more times.
    async fn talk_with(&self, conversation: &str, times: usize) {
        for _ in 0..times {
            let before = self.port.ledger().inbox.len();
            let id = self.port.say(conversation, "I see");
            assert!(
                matches!(self.port.outcome(id).await, SendOutcome::Sent { external_refs } if !external_refs.is_empty())
            );
            self.port
                .wait_until("the next phrase", |ledger| ledger.inbox.len() > before)
                .await;
        }
    }

    async fn stop(self) {
        self.stop.cancel();
        self.task.await.unwrap();
    }
}

const FOREVER: Duration = Duration::from_hours(1);

#[tokio::test]
async fn visitors_wait_for_their_reply_before_they_go_on() {
    let demo = Demo::start(7, FOREVER);
    demo.both_spoke().await;
    demo.talk_with("jo", 10).await;
    assert_eq!(
        demo.count("mara-ko"),
        1,
        "nobody speaks while a reply is owed"
    );
    assert_eq!(demo.count("jo"), 11);
    demo.stop().await;
}

#[tokio::test]
async fn without_a_reply_the_silence_ends_by_itself() {
    let demo = Demo::start(7, Duration::from_millis(50));
    demo.port
        .wait_until("spoke again", |ledger| ledger.inbox.len() >= 4)
        .await;
    demo.stop().await;
}

#[tokio::test]
async fn a_visitor_whose_call_waits_for_a_decision_keeps_quiet() {
    let demo = Demo::start(7, Duration::from_millis(50));
    demo.port
        .wait_until("jo spoke", |ledger| {
            ledger
                .inbox
                .iter()
                .any(|inbound| inbound.conversation == "jo")
        })
        .await;
    let card = demo.port.send(
        "jo",
        OutboxClass::ApprovalCard,
        OutboundBody::Card {
            approval: Box::new(approval()),
            buttons: Vec::new(),
        },
    );
    demo.port.outcome(card).await;
    let spoken = demo.count("jo");
    let others = demo.count("mara-ko");
    demo.port
        .wait_until("the other spoke several times meanwhile", |ledger| {
            ledger.inbox.len() >= spoken + others + 4
        })
        .await;
    assert_eq!(demo.count("jo"), spoken, "longer than its patience");
    let done = demo.port.say("jo", "decided and done");
    demo.port.outcome(done).await;
    demo.port
        .wait_until("jo goes on", |ledger| {
            ledger
                .inbox
                .iter()
                .filter(|inbound| inbound.conversation == "jo")
                .count()
                > spoken
        })
        .await;
    demo.stop().await;
}

#[tokio::test]
async fn visitors_speak_to_the_agent_have_stable_ids_and_the_same_seed_says_the_same() {
    let mut said = Vec::new();
    for _ in 0..2 {
        let demo = Demo::start(42, FOREVER);
        demo.both_spoke().await;
        said.push(check(&demo.port));
        demo.stop().await;
    }
    assert_eq!(said[0], said[1]);
    assert_eq!(bridge(1, FOREVER).kind(), ChannelKind::Scripted);
}

/// Checks who speaks and how, and returns what was said.
fn check(port: &TestPort) -> Vec<String> {
    let ledger = port.ledger();
    for inbound in &ledger.inbox {
        assert!(matches!(
            &inbound.body,
            InboundBody::Text {
                direct: false,
                addressed: true,
                indirect: false,
                ..
            }
        ));
    }
    let ids: Vec<String> = ledger
        .inbox
        .iter()
        .map(|inbound| inbound.sender.as_ref().unwrap().id.clone())
        .collect();
    assert!(ids.contains(&"mara-ko".to_owned()) && ids.contains(&"jo".to_owned()));
    assert_eq!(ledger.last_health().unwrap().state, ChannelState::Connected);
    assert_eq!(
        ledger.capabilities.as_ref().map(|can| can.buttons),
        Some(false)
    );
    ledger.texts()
}
