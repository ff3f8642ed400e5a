//! A service with a ledger, a home, and a daemon that posts to the one from the other.

use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Home};
use crate::support::fake_service::FakeService;

/// Everything runs that is not blocked, and what was interrupted goes on by itself.
const CONFIG: &str = "[channels.api]\nautonomy = \"full\"\npermanent_full = true\n";

/// What outlives daemons.
pub struct World {
    pub service: FakeService,
    pub home: Home,
    key_ms: Option<String>,
}

impl World {
    pub fn new() -> Self {
        Self {
            service: FakeService::start(),
            home: Home::new(CONFIG),
            key_ms: None,
        }
    }

    /// The service remembers keys for so many milliseconds, says the tool.
    pub fn with_key_life(mut self, ms: u64) -> Self {
        self.key_ms = Some(ms.to_string());
        self
    }

    /// A daemon, with a crash point armed or not.
    pub fn daemon(&self, crash: Option<&str>) -> Daemon {
        let mut environment = vec![("LEVERFRAME_TEST_SERVICE", self.service.url())];
        if let Some(ms) = &self.key_ms {
            environment.push(("LEVERFRAME_TEST_KEY_MS", ms));
        }
        if let Some(crash) = crash {
            environment.push(("LEVERFRAME_CRASH", crash));
        }
        self.home.daemon_with(&environment)
    }

    /// A daemon that died at a point while `tool` posted `hello`; the continuation.
    pub async fn died_at(&self, point: &str, tool: &str) -> String {
        let mut daemon = self.daemon(Some(&format!("{point}:1")));
        let continuation = post_hello(&daemon, tool).await;
        daemon.wait_exit().expect("it dies at the point");
        continuation
    }

    pub fn entries(&self) -> usize {
        self.service.ledger().len()
    }
}

/// Asks for one post with a tool; the continuation.
pub async fn post_hello(daemon: &Daemon, tool: &str) -> String {
    let session = daemon.session().await;
    let text = format!("TOOL:{tool}{{\"text\":\"hello\"}}\nSAY:done");
    daemon.send(&session, &text).await
}

/// Answers a question; must be taken.
pub async fn answer(daemon: &Daemon, question: &Value, decision: &str) {
    let (status, body) = daemon.decide(question, decision).await;
    assert_eq!(status, 200, "{body:#}");
}

/// The only call of a continuation.
pub fn call(continuation: &Value) -> &Value {
    &continuation["tool_calls"][0]
}

/// Changes the policy of the channel `api`.
pub async fn block(daemon: &Daemon, tool: &str) {
    let (status, body) = daemon
        .request(
            "PATCH",
            "/v1/channels/api/policy",
            Some(json!({ "block": [tool] })),
        )
        .await;
    assert_eq!(status, 200, "{body:#}");
}
