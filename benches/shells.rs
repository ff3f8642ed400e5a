//! A command in a shell that is there, beside a new `bash -c` for the same: what keeping the shell costs.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs, dead_code)] // a bench is a test, and uses a part of the stopwatch

mod harness;

use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use leverframe::config::settings::BashSettings;
use leverframe::protocol::ids::{SessionId, ToolCallId};
use leverframe::tools::bash::Bash;
use leverframe::tools::sandbox::Sandbox;
use leverframe::tools::tool::{NoJournal, Tool as _, ToolContext, ToolHost};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// Most that a command in the shell may take longer than a new bash does.
const GOAL: Duration = Duration::from_millis(3);
const RUNS: usize = 200;

struct NoHost;

impl ToolHost for NoHost {
    fn progress(&self, _text: &str) {}
}

fn main() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().canonicalize().unwrap();
    let workspace = path.join("workspace");
    std::fs::create_dir(&workspace).unwrap();
    let settings = BashSettings {
        idle_minutes: 10,
        max_shells: 1,
    };
    let tool = Bash::new(Sandbox::none("bench"), settings, path.join("shells"));
    let context = ToolContext {
        workspace: workspace.clone(),
        hidden: Vec::new(),
        changes: path.join("file_changes"),
        operands: Vec::new(),
        session_id: SessionId::generate(),
        call_id: ToolCallId::generate(),
        idempotency_key: String::new(),
        cancel: CancellationToken::new(),
        host: &NoHost,
        journal: Arc::new(NoJournal),
    };
    let args = json!({"command": "echo $((6 * 7))"});
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let (mut fresh, mut kept) = (Vec::new(), Vec::new());
    // The first one starts the shell.
    runtime.block_on(tool.execute(&context, &args));
    for _ in 0..RUNS {
        let began = Instant::now();
        let words = ["-c", "echo $((6 * 7))"];
        Command::new("bash").args(words).output().unwrap();
        fresh.push(began.elapsed());
        let began = Instant::now();
        let outcome = runtime.block_on(tool.execute(&context, &args));
        kept.push(began.elapsed());
        assert!(outcome.content.contains("42"), "{}", outcome.content);
    }
    let fresh = harness::report("bash -c", fresh);
    let kept = harness::report("a command in a shell", kept);
    println!(
        "goal {GOAL:?} over bash -c: {}",
        if kept <= fresh + GOAL {
            "met"
        } else {
            "missed"
        }
    );
}
