//! A cell in a Python of a session: one that is there, and one that is started for it.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs, dead_code)] // a bench is a test, and uses a part of the stopwatch

mod harness;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use leverframe::config::settings::PythonSettings;
use leverframe::config::supervisor;
use leverframe::protocol::ids::{SessionId, ToolCallId};
use leverframe::tools::python::executable;
use leverframe::tools::python::tool::Python;
use leverframe::tools::sandbox::{Places, Sandbox};
use leverframe::tools::tool::{NoJournal, Tool, ToolContext, ToolHost};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// Most that a cell may take in a Python that is there, and most with its start.
const WARM: Duration = Duration::from_millis(3);
const START: Duration = Duration::from_millis(150);
const RUNS: usize = 200;
const STARTS: usize = 20;

struct NoHost;

impl ToolHost for NoHost {
    fn progress(&self, _text: &str) {}
}

fn main() {
    // This program is the supervisor of what it starts, too.
    if let Some(status) = supervisor::from_arguments(std::env::args_os()) {
        std::process::exit(i32::from(status));
    }
    let root = tempfile::tempdir().unwrap();
    let path = root.path().canonicalize().unwrap();
    let workspace = path.join("workspace");
    std::fs::create_dir(&workspace).unwrap();
    let sandbox = Sandbox::find(&Places {
        helper: env!("CARGO_BIN_EXE_leverframe").into(),
        ..Places::of_machine()
    });
    println!("sandbox: {}", sandbox.level_word());
    let settings = PythonSettings {
        executable: None,
        idle_minutes: 10,
        max_interpreters: 2,
    };
    let program = executable::find(&settings).unwrap();
    let python = Python::new(sandbox, program, &settings, BTreeMap::new());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let cell = |session_id| {
        let context = ToolContext {
            workspace: workspace.clone(),
            hidden: Vec::new(),
            changes: path.join("file_changes"),
            operands: Vec::new(),
            session_id,
            call_id: ToolCallId::generate(),
            idempotency_key: String::new(),
            cancel: CancellationToken::new(),
            host: &NoHost,
            journal: Arc::new(NoJournal),
        };
        let began = Instant::now();
        let outcome = runtime.block_on(python.execute(&context, &json!({"code": "1 + 1"})));
        assert!(outcome.content.ends_with("\n2"), "{}", outcome.content);
        began.elapsed()
    };
    let started = (0..STARTS).map(|_| cell(SessionId::generate())).collect();
    let session = SessionId::generate();
    cell(session);
    let warm = (0..RUNS).map(|_| cell(session)).collect();
    for (name, samples, goal) in [
        ("python: start, and 1 + 1", started, START),
        ("python: 1 + 1", warm, WARM),
    ] {
        let median = harness::report(name, samples);
        let word = if median <= goal { "met" } else { "missed" };
        println!("goal {goal:?}: {word}");
    }
}
