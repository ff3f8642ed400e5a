//! What a console tries again by itself, and what only when a person asks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use leverframe::client::console_client::{ConsoleClient, EventStream};
use leverframe::client::remote::trust;
use leverframe::console::connection::{Out, follow};
use leverframe::console::ids::HostId;
use leverframe::console::message::DaemonMessage;
use leverframe::protocol::command::Actor;
use leverframe::protocol::event::EventFilter;
use leverframe::protocol::problem::{Problem, ProblemKind};
use leverframe::protocol::request::{Answer, Envelope, Outcome, Query};
use tokio::sync::{Notify, mpsc, watch};

use crate::support::daemon::DEADLINE;

/// A daemon that is never reached, for this reason.
struct Unreached {
    problem: Problem,
    tries: AtomicU32,
}

#[async_trait]
impl ConsoleClient for Unreached {
    async fn submit(&self, _: Envelope) -> Result<Outcome, Problem> {
        Err(self.problem.clone())
    }

    async fn query(&self, _: Query) -> Result<Answer, Problem> {
        Err(self.problem.clone())
    }

    async fn events(&self, _: EventFilter) -> Result<EventStream, Problem> {
        self.tries.fetch_add(1, Ordering::Relaxed);
        Err(self.problem.clone())
    }

    fn description(&self) -> String {
        "attached to nobody".to_owned()
    }
}

/// A console on it, without a screen.
struct Console {
    client: Arc<Unreached>,
    heard: mpsc::Receiver<(HostId, DaemonMessage)>,
    now: Arc<Notify>,
    _deltas: watch::Sender<Vec<leverframe::protocol::ids::SessionId>>,
}

impl Console {
    fn on(kind: ProblemKind, title: &str) -> Self {
        let client = Arc::new(Unreached {
            problem: Problem::new(kind, title, "for a reason"),
            tries: AtomicU32::new(0),
        });
        let (sender, heard) = mpsc::channel(1000);
        let (deltas, wanted) = watch::channel(Vec::new());
        let now = Arc::new(Notify::new());
        let host = HostId::default();
        tokio::spawn(follow(
            client.clone(),
            wanted,
            now.clone(),
            Actor::Engine,
            Out { sender, host },
        ));
        Self {
            client,
            heard,
            now,
            _deltas: deltas,
        }
    }

    fn tries(&self) -> u32 {
        self.client.tries.load(Ordering::Relaxed)
    }

    async fn wait_tries(&self, count: u32) {
        let deadline = Instant::now() + DEADLINE;
        while self.tries() < count {
            assert!(Instant::now() < deadline, "{} tries", self.tries());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Whether the next thing it hears is a refusal.
    async fn is_refused(&mut self) -> bool {
        let heard = self.heard.recv().await.expect("it hears something");
        matches!(heard.1, DaemonMessage::Refused { .. })
    }
}

#[tokio::test]
async fn a_refused_certificate_is_looked_at_again_only_when_a_person_asks() {
    let refused = [trust::CHANGED, trust::NOT_TRUSTED];
    let mut refused = refused.map(|title| Console::on(ProblemKind::Forbidden, title));
    let mut others = [
        Console::on(ProblemKind::Unavailable, "daemon not reachable"),
        Console::on(ProblemKind::Forbidden, "not allowed"),
    ];
    for other in &mut others {
        assert!(!other.is_refused().await);
        // Later and later: the refused ones had their first try before all of these.
        other.wait_tries(4).await;
    }
    for console in &mut refused {
        assert!(console.is_refused().await);
        assert_eq!(console.tries(), 1);
        console.now.notify_one();
        console.wait_tries(2).await;
        assert!(console.is_refused().await);
    }
}
