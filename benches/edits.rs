//! One edit in a file of 1 MB: what it would do, with the difference for the card, and doing it.
//!
//! `TMPDIR` says on which disk.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs, dead_code)] // a bench is a test, and uses a part of the stopwatch

mod harness;

use std::sync::Arc;
use std::time::{Duration, Instant};

use leverframe::protocol::ids::{SessionId, ToolCallId};
use leverframe::tools::registry::Registry;
use leverframe::tools::sandbox::Sandbox;
use leverframe::tools::tool::{NoJournal, ToolContext, ToolHost};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// Most that preparing and running one edit may take.
const GOAL: Duration = Duration::from_millis(5);
const RUNS: usize = 100;

struct NoHost;

impl ToolHost for NoHost {
    fn progress(&self, _text: &str) {}
}

fn main() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().canonicalize().unwrap();
    let workspace = path.join("workspace");
    std::fs::create_dir(&workspace).unwrap();
    let lines = (0..20_000)
        .map(|line| format!("line {line:06} of a file that an agent works on, and more\n"));
    let text: String = lines.collect();
    println!("a file of {} bytes", text.len());
    std::fs::write(workspace.join("large.txt"), &text).unwrap();
    let registry = Registry::builtin(&Sandbox::none("bench")).unwrap();
    let tool = registry.lookup("edit_file").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let (mut prepared, mut both) = (Vec::new(), Vec::new());
    for run in 0..RUNS {
        let (old, new) = if run % 2 == 0 {
            ("of", "in")
        } else {
            ("in", "of")
        };
        let args = json!({"path": "large.txt", "edits": [{
            "old": format!("line 010000 {old} a file"), "new": format!("line 010000 {new} a file"),
        }]});
        let mut context = ToolContext {
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
        let began = Instant::now();
        let plan = tool.prepare(&context, &args).unwrap();
        prepared.push(began.elapsed());
        context.operands = plan.operands;
        let outcome = runtime.block_on(tool.execute(&context, &args));
        both.push(began.elapsed());
        assert!(!outcome.is_error, "{}", outcome.content);
    }
    harness::report("edit: find what it would do", prepared);
    let median = harness::report("edit: find it and do it", both);
    println!(
        "goal {GOAL:?}: {}",
        if median <= GOAL { "met" } else { "missed" }
    );
}
