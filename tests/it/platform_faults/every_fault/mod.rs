//! Every platform behind one and the same proxy: each fault once at each kind of call, and then quiet. Each message comes
//! in once and is answered once.
//!
//! The sockets of Discord and Slack go past the proxy; their faults are those of the fakes.

mod platforms;
mod reordered;
mod webhook;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use leverframe::channels::channel::Bridge;
use leverframe::channels::supervisor::{Backoff, spawn};
use leverframe::client::channel_port::ChannelPort;
use leverframe::protocol::bridge::{Inbound, InboundBody, SendOutcome};
use leverframe::protocol::enums::ChannelState;
use leverframe::protocol::ids::OutboxId;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::support::daemon::DEADLINE;
use crate::support::fault_proxy::{Fault, Proxy};
use crate::support::record;
use crate::telegram::port::TestPort;

/// Messages that may pass until a fault has happened.
const MOST_MESSAGES: usize = 4;

/// A platform and its people.
#[async_trait(?Send)]
trait Adapter {
    /// Where it is, `http://127.0.0.1:PORT`.
    fn address(&self) -> String;

    /// Its bridge, at this address.
    fn bridge(&self, address: &str) -> Box<dyn Bridge>;

    /// What it says to who calls too often.
    fn limit(&self) -> &'static str;

    /// Words of the first lines of calls that only read, and whether such a call may be left without an answer here:
    /// a long poll is waited for longer than a test lasts.
    fn reads(&self) -> Vec<(&'static str, bool)>;

    /// The same of the call that sends, and whether it may come twice.
    fn sends(&self) -> (&'static str, bool);

    /// Breaks the connection off, so that the next is made with all calls of a beginning.
    fn break_off(&self, proxy: &Proxy, word: &str);

    /// Two conversations; people write in the first one.
    fn places(&self) -> [String; 2];

    /// A person writes.
    async fn say(&self, text: &str);

    /// What the bot said in a conversation.
    async fn said_in(&self, place: &str) -> Vec<String>;

    /// What the bot said where people write.
    async fn said(&self) -> Vec<String> {
        self.said_in(&self.places()[0]).await
    }
}

/// The faults of one call.
fn faults(limit: &'static str, silent: bool, twice: bool) -> Vec<Fault> {
    let mut faults = vec![
        Fault::Limited(limit),
        Fault::Status(502, "<html>"),
        Fault::ResetBefore,
        Fault::ResetAfter,
        Fault::CutBody,
        Fault::Slow(Duration::from_millis(200)),
    ];
    if silent {
        faults.push(Fault::Silence);
    }
    if twice {
        faults.push(Fault::Twice);
    }
    faults
}

/// One message and its answer. Where nobody knows whether the answer arrived, a person looks, and has it sent again if
/// it did not.
async fn exchange(adapter: &dyn Adapter, port: &TestPort, number: usize) {
    let text = format!("message{number}.");
    adapter.say(&text).await;
    port.wait_until(&text, |ledger| ledger.texts().contains(&text))
        .await;
    let is_it = |inbound: &&Inbound| matches!(&inbound.body, InboundBody::Text { text: said, .. } if *said == text);
    let conversation = {
        let ledger = port.ledger();
        ledger
            .inbox
            .iter()
            .find(is_it)
            .unwrap()
            .conversation
            .clone()
    };
    let answer = format!("answer{number}.");
    let part = port.say(&conversation, &answer);
    let mut ends = 0;
    loop {
        let outcome = end_after(port, part, ends).await;
        ends = port
            .ledger()
            .ended
            .iter()
            .filter(|(id, _)| *id == part)
            .count();
        match outcome {
            SendOutcome::Sent { .. } | SendOutcome::Shortened { .. } => return,
            SendOutcome::Unknown { .. } => {
                if adapter
                    .said()
                    .await
                    .iter()
                    .any(|said| said.contains(&answer))
                {
                    return;
                }
                port.again(part);
            }
            SendOutcome::Retry { .. } => {}
            SendOutcome::Failed { error } => panic!("{answer} failed: {error}"),
        }
    }
}

/// How a part ended after so many ends of before.
async fn end_after(port: &TestPort, part: OutboxId, before: usize) -> SendOutcome {
    port.wait_until("the end of a send", |ledger| {
        ledger.ended.iter().filter(|(id, _)| *id == part).count() > before
    })
    .await;
    port.ledger().outcome(part).unwrap()
}

/// A bridge behind a proxy, once it is well.
async fn start(adapter: &dyn Adapter) -> (Proxy, Arc<TestPort>, CancellationToken, JoinHandle<()>) {
    let proxy = Proxy::start(&adapter.address());
    let port = TestPort::new();
    let stop = CancellationToken::new();
    let backoff = Backoff {
        floor: Duration::from_millis(20),
        ceiling: Duration::from_millis(100),
        stable_after: Duration::from_mins(1),
        stop_grace: Duration::from_secs(2),
    };
    let task = spawn(
        adapter.bridge(proxy.url()),
        Arc::clone(&port) as Arc<dyn ChannelPort>,
        backoff,
        stop.clone(),
    );
    well(&port).await;
    (proxy, port, stop, task)
}

async fn well(port: &TestPort) {
    port.wait_until("well", |ledger| {
        let state = ledger.last_health().map(|health| health.state);
        state == Some(ChannelState::Connected)
    })
    .await;
}

async fn story(adapter: &dyn Adapter) {
    let (proxy, port, stop, task) = start(adapter).await;
    let (send, twice) = adapter.sends();
    let mut plan: Vec<(&str, Fault)> = Vec::new();
    for (word, silent) in adapter.reads() {
        plan.extend(
            faults(adapter.limit(), silent, true)
                .into_iter()
                .map(|fault| (word, fault)),
        );
    }
    plan.extend(
        faults(adapter.limit(), true, twice)
            .into_iter()
            .map(|fault| (send, fault)),
    );
    let mut number = 0;
    for (word, fault) in plan {
        proxy.fault(word, fault.clone());
        if word != send {
            adapter.break_off(&proxy, word);
        }
        let mut tried = 0;
        while tried == 0 || !proxy.is_over() {
            assert!(tried < MOST_MESSAGES, "{word} {fault:?}: nothing called it");
            exchange(adapter, &port, number).await;
            number += 1;
            tried += 1;
        }
    }
    // Quiet again.
    exchange(adapter, &port, number).await;
    well(&port).await;
    stop.cancel();
    tokio::time::timeout(DEADLINE, task).await.unwrap().unwrap();
    let texts: Vec<String> = port
        .ledger()
        .texts()
        .into_iter()
        .filter(|text| text.starts_with("message"))
        .collect();
    let expected: Vec<String> = (0..=number).map(|n| format!("message{n}.")).collect();
    assert_eq!(texts, expected, "each came in once, in order");
    let said = adapter.said().await;
    for n in 0..=number {
        let answer = format!("answer{n}.");
        let count = said.iter().filter(|text| text.contains(&answer)).count();
        assert_eq!(count, 1, "{answer} in {said:?}");
    }
}

fn recorded(platform: &str) {
    record::fault(
        &format!("every-fault-{platform}"),
        "429, 502, reset before and after, cut, slow, silent and doubled, once at every kind of call",
        "the engine received each message once, in order, and answered it once",
    );
}
