//! kill -9 of the daemon with a call of a server under way, for each class of effect, judged by the server's ledger.

use serde_json::{Value, json};

use crate::mcp_peers::world::{Server, begin, home, trust};
use crate::support::daemon::{Daemon, Home};

/// Died before the effect, died after it.
const POINTS: &[(&str, usize)] = &[("tool.started", 0), ("tool.effect_done", 1)];

const CLASSES: &str = "trusted = true\n\
    [mcp.ledger.tools.read_ledger]\naccess = \"read_local\"\neffect = \"read_only\"\n\
    [mcp.ledger.tools.enter_once]\naccess = \"write\"\neffect = \"non_idempotent\"\n\
    [mcp.ledger.tools.enter_keyed]\naccess = \"write\"\neffect = \"keyed\"\nkey_argument = \"key\"\n\
    [mcp.ledger.tools.enter_checked]\naccess = \"write\"\neffect = \"reconcilable\"\nprobe = \"is_entered\"\n";

struct World {
    home: Home,
}

impl World {
    async fn new() -> Option<Self> {
        let server = Server::ledger()?;
        let home = home(&[server.table("ledger", CLASSES)]);
        let mut daemon = home.daemon();
        trust(&daemon, "ledger").await;
        daemon.terminate();
        Some(Self { home })
    }

    /// A daemon that died at a point of a call; the continuation.
    async fn died_at(&self, point: &str, tool: &str, arguments: Value) -> String {
        let point = format!("{point}:1");
        let mut daemon = self.home.daemon_with(&[("LEVERFRAME_CRASH", &point)]);
        let continuation = begin(&daemon, &format!("ledger__{tool}"), arguments).await;
        daemon.wait_exit().expect("it dies at the point");
        continuation
    }

    fn entries(&self) -> usize {
        let ledger = std::fs::read_to_string(self.home.path().join("share/ledger"));
        ledger.map_or(0, |text| text.lines().count())
    }
}

async fn completed(daemon: &Daemon, continuation: &str) -> Value {
    daemon.wait_state(continuation, "completed").await["tool_calls"][0].clone()
}

#[tokio::test]
async fn a_keyed_call_runs_again_by_itself_and_counts_once() {
    for (point, before) in POINTS {
        let Some(world) = World::new().await else {
            return;
        };
        let died = world.died_at(point, "enter_keyed", json!({"text": "hello"}));
        let continuation = died.await;
        assert_eq!(world.entries(), *before, "{point}");
        let daemon = world.home.daemon();
        let call = completed(&daemon, &continuation).await;
        assert_eq!(call["state"], "succeeded", "{call:#}");
        assert_eq!(call["attempts"], 2, "{call:#}");
        assert_eq!(world.entries(), 1, "{point}");
        assert_eq!(
            daemon.approvals_of("resolve_unknown").await,
            Vec::<Value>::new()
        );
    }
}

#[tokio::test]
async fn a_reconcilable_call_is_looked_up_and_counts_once() {
    for (point, before) in POINTS {
        let Some(world) = World::new().await else {
            return;
        };
        let died = world.died_at(point, "enter_checked", json!({"text": "hello"}));
        let continuation = died.await;
        assert_eq!(world.entries(), *before, "{point}");
        let daemon = world.home.daemon();
        let call = completed(&daemon, &continuation).await;
        assert_eq!(world.entries(), 1, "{point}");
        let asked = daemon.approvals_of("resolve_unknown").await;
        assert_eq!(asked.len(), 1, "{asked:#?}");
        assert_eq!(asked[0]["decision"]["by"], "engine", "{asked:#?}");
        let (word, state) = if *before == 0 {
            ("run_again", "succeeded")
        } else {
            ("happened", "succeeded_by_note")
        };
        assert_eq!(asked[0]["decision"]["decision"], word, "{asked:#?}");
        assert_eq!(call["state"], state, "{call:#}");
    }
}

#[tokio::test]
async fn a_call_that_only_reads_runs_again() {
    let Some(world) = World::new().await else {
        return;
    };
    let continuation = world
        .died_at("tool.started", "read_ledger", json!({}))
        .await;
    let daemon = world.home.daemon();
    let call = completed(&daemon, &continuation).await;
    assert_eq!(call["state"], "succeeded", "{call:#}");
    assert_eq!(
        daemon.approvals_of("resolve_unknown").await,
        Vec::<Value>::new()
    );
}

#[tokio::test]
async fn a_call_that_cannot_repeat_waits_for_a_person() {
    for (point, before) in POINTS {
        let Some(world) = World::new().await else {
            return;
        };
        let died = world.died_at(point, "enter_once", json!({"text": "hello"}));
        let continuation = died.await;
        let daemon = world.home.daemon();
        let question = daemon
            .wait_question("resolve_unknown", "did it happen")
            .await;
        daemon.wait_state(&continuation, "awaiting_approval").await;
        assert_eq!(world.entries(), *before, "{point}");
        let word = if *before == 0 {
            "run_again"
        } else {
            "happened"
        };
        let (status, body) = daemon.decide(&question, word).await;
        assert_eq!(status, 200, "{body:#}");
        daemon.wait_state(&continuation, "completed").await;
        assert_eq!(world.entries(), 1, "{point}");
    }
}
