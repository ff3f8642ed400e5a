//! A command in a shell that is there, beside a new `bash -c` for the same: what keeping the shell costs. And a program
//! in the sandbox beside the same without: what confining it costs.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs, dead_code)] // a bench is a test, and uses a part of the stopwatch

mod harness;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use leverframe::config::settings::BashSettings;
use leverframe::config::supervisor;
use leverframe::protocol::ids::{SessionId, ToolCallId};
use leverframe::tools::bash::Bash;
use leverframe::tools::sandbox::{Places, Program, Sandbox};
use leverframe::tools::tool::{NoJournal, Tool as _, ToolContext, ToolHost};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// Most that a program in the sandbox may take longer than without.
const CONFINED: Duration = Duration::from_millis(15);
/// Most that a command in the shell may take longer than a new bash does.
const GOAL: Duration = Duration::from_millis(3);
const RUNS: usize = 200;

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
    println!("goal {GOAL:?} over bash -c: {}", met(kept <= fresh + GOAL));
    confined(&workspace);
}

fn met(is_met: bool) -> &'static str {
    if is_met { "met" } else { "missed" }
}

fn confined(workspace: &Path) {
    let sandbox = Sandbox::find(&Places {
        helper: env!("CARGO_BIN_EXE_leverframe").into(),
        ..Places::of_machine()
    });
    println!("sandbox: {}", sandbox.level_word());
    let mut command = sandbox.command(&Program {
        workspace,
        files: workspace,
        hidden: &[],
        readable: &[],
        writable: &[],
        protected: &[],
        cwd: workspace,
        executable: Path::new("/bin/true"),
        arguments: &[],
        environment: &[],
        max_file: 1 << 30,
        service: None,
    });
    let (mut plain, mut inside) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let began = Instant::now();
        assert!(Command::new("/bin/true").status().unwrap().success());
        plain.push(began.elapsed());
        let began = Instant::now();
        assert!(command.status().unwrap().success());
        inside.push(began.elapsed());
    }
    let plain = harness::report("true", plain);
    let inside = harness::report("true in the sandbox", inside);
    let is_met = inside <= plain + CONFINED;
    println!("goal {CONFINED:?} over plain: {}", met(is_met));
}
