//! execute_command by behaviour: planning, output, time, cancellation. Runs without the sandbox, so that
//! it means the same on every machine; what the sandbox adds is in `confinement`.

use std::time::{Duration, Instant};

use leverframe::protocol::approval::Preview;
use leverframe::protocol::enums::{Access, Effect, Risk};
use leverframe::tools::output::BoundedOutput;
use leverframe::tools::risk::highest;
use leverframe::tools::tool::{EffectDisposition, ToolOutcome};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::tools::harness::{Bench, confined, eventually, text};

async fn run(bench: &Bench, args: Value) -> ToolOutcome {
    bench.call("execute_command", args).await
}

/// What came after the line that says how it ended.
fn written(outcome: &ToolOutcome) -> &str {
    outcome.content.split_once('\n').unwrap().1
}

/// Whether a process with these words among its arguments is alive.
fn alive(tag: &str) -> bool {
    if cfg!(not(target_os = "linux")) {
        return std::process::Command::new("pgrep")
            .args(["-f", tag])
            .output()
            .unwrap()
            .status
            .success();
    }
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        std::fs::read(entry.path().join("cmdline")).is_ok_and(|line| {
            line.split(|byte| *byte == 0)
                .any(|word| word == tag.as_bytes())
        })
    })
}

/// A script of which a background process, in a session of its own if asked for, carries a tag.
fn with_grandchild(tag: &str, own_session: bool) -> String {
    let prefix = if own_session { "setsid " } else { "" };
    format!(
        "{prefix}sh -c 'while :; do sleep 0.05; done' {tag} & echo started; touch up; while :; do sleep 0.05; done"
    )
}

#[tokio::test]
async fn exit_status_output_and_input() {
    let bench = Bench::new();
    let ok = run(
        &bench,
        json!({"argv": ["printf", "%s|", "a b", "$HOME", "*"]}),
    )
    .await;
    assert_eq!(written(&ok), "a b|$HOME|*|");
    assert!(ok.content.starts_with("exit status 0 after ") && !ok.is_error);
    assert_eq!(ok.disposition, EffectDisposition::Done);
    let failed = run(&bench, json!({"script": "echo out; echo err >&2; exit 3"})).await;
    assert!(failed.content.starts_with("exit status 3 ") && failed.is_error);
    assert_eq!(
        failed.disposition,
        EffectDisposition::Done,
        "it ran: nobody may assume it did nothing"
    );
    assert_eq!(
        written(&failed),
        "out\nerr\n",
        "in the order in which it was written"
    );
    let signalled = run(&bench, json!({"script": "kill -9 $$"})).await;
    assert!(
        signalled.content.starts_with("killed by signal 9"),
        "{}",
        signalled.content
    );
    let stdin = run(&bench, json!({"argv": ["cat"], "stdin": "from\nthe model"})).await;
    assert_eq!(written(&stdin), "from\nthe model");
    let none = run(&bench, json!({"argv": ["cat"]})).await;
    assert_eq!(written(&none), "[no output]");
    // A program that does not read its input.
    let unread = run(
        &bench,
        json!({"argv": ["true"], "stdin": "x".repeat(1 << 20)}),
    )
    .await;
    assert!(!unread.is_error, "{}", unread.content);
    std::fs::create_dir(bench.workspace.join("sub")).unwrap();
    let cwd = run(&bench, json!({"argv": ["pwd"], "cwd": "sub"})).await;
    assert_eq!(
        written(&cwd).trim(),
        bench.workspace.join("sub").to_str().unwrap()
    );
}

#[tokio::test]
async fn the_environment_is_an_allow_list() {
    let bench = Bench::new();
    let shown = run(&bench, json!({"argv": ["env"]})).await;
    let mut names: Vec<&str> = written(&shown)
        .lines()
        .filter_map(|line| line.split('=').next())
        .collect();
    names.retain(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(name));
    names.sort_unstable();
    assert_eq!(names, ["HOME", "LANG", "PATH", "TERM"], "{}", shown.content);
    assert!(
        shown
            .content
            .contains(&format!("HOME={}\n", bench.workspace.display()))
    );
}

#[tokio::test]
async fn a_long_output_keeps_its_ends_in_bounded_memory() {
    let bench = Bench::new();
    let long = run(
        &bench,
        json!({"script": "echo begin; head -c 10000000 /dev/zero | tr '\\0' x; echo; echo end"}),
    )
    .await;
    assert!(
        !long.is_error && long.content.len() <= 1024 * 1024,
        "{}",
        long.content.len()
    );
    assert!(written(&long).starts_with("begin\n") && written(&long).trim_end().ends_with("end"));
    assert!(
        long.content.contains("of 10000011 bytes left out"),
        "the note counts what was dropped"
    );
    let pieces: usize = bench
        .watcher
        .pieces
        .lock()
        .unwrap()
        .iter()
        .map(String::len)
        .sum();
    assert!(
        pieces > 0 && pieces < 1_000_000,
        "people watching get a sample: {pieces}"
    );

    let binary = run(&bench, json!({"argv": ["head", "-c", "3000", "/dev/zero"]})).await;
    assert!(
        binary.content.contains("binary output, 3000 bytes"),
        "{}",
        binary.content
    );
    let invalid = run(&bench, json!({"argv": ["printf", "caf\\351!"]})).await;
    assert!(
        written(&invalid).starts_with("caf\u{fffd}!") && invalid.content.contains("not UTF-8"),
        "{}",
        invalid.content
    );
    let wide = run(
        &bench,
        json!({"script": "i=0; while [ $i -lt 400000 ]; do printf '\\351'; i=$((i+1)); done"}),
    )
    .await;
    assert!(wide.content.len() <= 1024 * 1024, "{}", wide.content.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_is_kept_does_not_depend_on_how_it_came(length in 0_usize..2_000_000, cuts in prop::collection::vec(1_usize..700_000, 1..6)) {
        let all: Vec<u8> = (0..length).map(|at| b'a' + (at * 7 % 26) as u8).collect();
        let mut whole = BoundedOutput::default();
        whole.push(&all);
        let mut parts = BoundedOutput::default();
        let mut rest = all.as_slice();
        let mut sizes = cuts.iter().cycle();
        while !rest.is_empty() {
            let (now, later) = rest.split_at((*sizes.next().unwrap()).min(rest.len()));
            parts.push(now);
            rest = later;
        }
        let text = parts.text();
        prop_assert_eq!(&whole.text(), &text);
        prop_assert_eq!(parts.total(), length as u64);
        prop_assert!(text.len() <= 1024 * 1024);
        if length <= 1_040_000 {
            prop_assert_eq!(text.as_bytes(), &all[..]);
        } else {
            prop_assert!(text.as_bytes().starts_with(&all[..500_000]) && text.as_bytes().ends_with(&all[length - 500_000..]));
        }
    }
}

#[tokio::test]
async fn a_timeout_kills_what_ignores_it() {
    let bench = Bench::new();
    let began = Instant::now();
    let tag = format!("tag-{}", std::process::id());
    let script = format!("trap '' TERM; {}", with_grandchild(&tag, false));
    let outcome = run(&bench, json!({"script": script, "timeout_seconds": 1})).await;
    assert!(
        began.elapsed() < Duration::from_secs(4),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(outcome.disposition, EffectDisposition::Unknown);
    assert!(
        outcome.is_error && outcome.content.starts_with("killed after 1 s"),
        "{}",
        outcome.content
    );
    assert!(
        outcome.content.contains("started"),
        "what it wrote until then is kept"
    );
    eventually("the grandchild is dead", || !alive(&tag)).await;
}

async fn cancelled_in_time(bench: &Bench, own_session: bool) {
    let tag = format!("tag-{}-{own_session}", bench.root.display());
    let args = json!({"script": format!("trap '' TERM; {}", with_grandchild(&tag, own_session))});
    let up = bench.workspace.join("up");
    let (outcome, took) = tokio::join!(run(bench, args), async {
        eventually("it runs", || up.exists() && alive(&tag)).await;
        bench.cancel.cancel();
        Instant::now()
    });
    assert!(
        took.elapsed() < Duration::from_secs(2),
        "{:?}",
        took.elapsed()
    );
    assert_eq!(outcome.disposition, EffectDisposition::Unknown);
    assert!(
        outcome.content.starts_with("cancelled after"),
        "{}",
        outcome.content
    );
    eventually("the grandchild is dead", || !alive(&tag)).await;
}

#[tokio::test]
async fn cancelling_kills_everything_within_two_seconds() {
    cancelled_in_time(&Bench::new(), false).await;
    let bench = Bench::new();
    bench.cancel.cancel();
    let early = run(&bench, json!({"script": "touch done"})).await;
    assert_eq!(early.disposition, EffectDisposition::ConfirmedNoEffect);
    assert!(!bench.workspace.join("done").exists());
}

#[tokio::test]
async fn cancelling_kills_even_a_session_of_its_own_in_the_sandbox() {
    let Some(bench) = confined() else { return };
    cancelled_in_time(&bench, true).await;
}

#[tokio::test]
async fn nothing_outlives_a_command_in_the_sandbox() {
    let Some(bench) = confined() else { return };
    let tag = format!("tag-{}", bench.root.display());
    // Timed out.
    let args = json!({"script": with_grandchild(&tag, true), "timeout_seconds": 1});
    let outcome = run(&bench, args).await;
    assert_eq!(outcome.disposition, EffectDisposition::Unknown);
    assert!(
        bench.workspace.join("up").exists(),
        "it did run: {}",
        outcome.content
    );
    eventually("the orphan is dead", || !alive(&tag)).await;
    // Ended by itself, leaving somebody behind who holds the output open.
    let args =
        json!({"script": format!("setsid sh -c 'while :; do sleep 0.05; done' {tag} & echo done")});
    let began = Instant::now();
    let outcome = run(&bench, args).await;
    assert!(
        outcome.content.starts_with("exit status 0") && began.elapsed() < Duration::from_secs(5)
    );
    eventually("the orphan is dead", || !alive(&tag)).await;
}

#[tokio::test]
async fn a_dropped_call_leaves_nothing_behind() {
    let bench = Bench::new();
    let tag = format!("tag-{}", bench.root.display());
    let args = json!({"script": with_grandchild(&tag, false)});
    let up = bench.workspace.join("up");
    tokio::select! {
        outcome = run(&bench, args) => panic!("{outcome:?}"),
        () = eventually("it runs", || up.exists() && alive(&tag)) => {}
    }
    eventually("everything is dead", || !alive(&tag)).await;
}

#[tokio::test]
async fn an_orphan_that_holds_the_output_does_not_hold_the_call() {
    let bench = Bench::new();
    let tag = format!("tag-{}", bench.root.display());
    let began = Instant::now();
    let outcome = run(
        &bench,
        json!({"script": format!("sh -c 'while :; do sleep 0.05; done' {tag} & echo done")}),
    )
    .await;
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "{:?}",
        began.elapsed()
    );
    assert!(outcome.content.starts_with("exit status 0") && written(&outcome).contains("done"));
    eventually("the orphan is dead", || !alive(&tag)).await;
}

#[test]
fn arguments_that_make_no_sense_are_refused() {
    let bench = Bench::new();
    bench.put("data.txt", "x");
    std::fs::write(bench.hidden.join("tool"), "#!/bin/sh\n").unwrap();
    let hidden = bench.hidden.join("tool").display().to_string();
    for (args, words) in [
        (json!({}), "exactly one"),
        (json!({"argv": ["ls"], "script": "ls"}), "exactly one"),
        (json!({"argv": [""]}), "empty"),
        (json!({"argv": ["no-such-program"]}), "no program"),
        (json!({"argv": ["./data.txt"]}), "not an executable"),
        (json!({"argv": ["./missing"]}), "no program"),
        (json!({"argv": ["../data/tool"]}), "outside"),
        (json!({"argv": [hidden]}), "not available"),
        (json!({"argv": ["/usr/../etc/x"]}), "without `..`"),
        (json!({"argv": ["ls", "a\u{0}b"]}), "NUL"),
        (json!({"argv": ["ls"], "cwd": ".."}), "outside"),
        (json!({"argv": ["ls"], "cwd": "data.txt"}), "is a file"),
        (json!({"argv": ["ls", "x".repeat(200_000)]}), "too long"),
    ] {
        let error = bench
            .prepare("execute_command", args.clone())
            .unwrap_err()
            .to_string();
        assert!(error.contains(words), "{args:.200}: {error}");
    }
}

#[test]
fn without_a_sandbox_everything_is_critical_and_asks() {
    let bench = Bench::new();
    for args in [json!({"argv": ["ls"]}), json!({"script": "true"})] {
        let plan = bench.prepare("execute_command", args).unwrap();
        assert_eq!(highest(&plan.risk_reasons), Risk::Critical);
        assert_eq!(plan.always_asks.as_deref(), Some("no sandbox: test"));
        assert_eq!(plan.facts.sandbox.as_deref(), Some("unsandboxed"));
    }
    assert_eq!(
        bench.tool("execute_command").spec().effect,
        Effect::NonIdempotent
    );
}

#[test]
fn in_the_sandbox_only_provable_readers_are_medium() {
    let Some(bench) = confined() else { return };
    let own = bench.put("ls", "#!/bin/sh\nrm -rf .\n");
    std::fs::set_permissions(&own, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let risk = |args: Value| {
        let plan = bench.prepare("execute_command", args).unwrap();
        assert_eq!((plan.access, plan.always_asks), (Access::Exec, None));
        highest(&plan.risk_reasons)
    };
    for argv in [
        json!(["ls", "-la"]),
        json!(["/bin/ls"]),
        json!(["cat", "a", "b"]),
        json!(["find", ".", "-name", "*.rs"]),
        json!(["date", "+%s", "-u"]),
        json!(["date"]),
        json!(["grep", "-r", "x", "."]),
    ] {
        assert_eq!(risk(json!({"argv": argv})), Risk::Medium, "{argv}");
    }
    for argv in [
        json!(["find", ".", "-delete"]),
        json!(["find", ".", "-exec", "rm", "{}", ";"]),
        json!(["find", ".", "-execdir", "x", ";"]),
        json!(["find", ".", "-okdir", "x", ";"]),
        json!(["find", ".", "-fprintf", "x", "y"]),
        json!(["find", ".", "-fls", "x"]),
        json!(["date", "-s", "tomorrow"]),
        json!(["date", "-us", "tomorrow"]),
        json!(["date", "--se=tomorrow"]),
        json!(["date", "01010101"]),
        json!(["rm", "x"]),
        json!(["env", "ls"]),
        json!(["busybox", "ls"]),
        json!(["./ls"]),
        json!(["echo", "\u{1b}[2J"]),
        json!(["sh", "-c", "ls"]),
    ] {
        let installed = bench
            .prepare("execute_command", json!({"argv": argv}))
            .is_ok();
        assert!(
            !installed || risk(json!({"argv": argv})) == Risk::High,
            "{argv}"
        );
    }
    assert_eq!(
        risk(json!({"script": "ls | wc -l && du -s ."})),
        Risk::Medium
    );
    assert_eq!(risk(json!({"script": "ls *"})), Risk::High);
    assert_eq!(risk(json!({"script": "ls\nrm x"})), Risk::High);
    for place in ["/root/x", "/home/x/y", "/proc/self/exe", "/tmp/x"] {
        let refused = bench
            .prepare("execute_command", json!({"argv": [place]}))
            .unwrap_err()
            .to_string();
        assert!(
            refused.contains("outside the workspace and the system"),
            "{place}: {refused}"
        );
    }
}

#[test]
fn a_changed_script_is_another_plan() {
    let bench = Bench::new();
    bench.put("build.sh", "echo one\n");
    bench.put("lib/tool.py", "print(1)\n");
    bench.put("unrelated", "x");
    let own = bench.put("run", "#!/bin/sh\n");
    std::fs::set_permissions(&own, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("build.sh", bench.workspace.join("alias.sh")).unwrap();
    for (args, operand) in [
        (json!({"argv": ["sh", "build.sh"]}), "build.sh"),
        (
            json!({"argv": ["sh", "-eu", "./build.sh", "x"]}),
            "build.sh",
        ),
        (json!({"argv": ["sh", "alias.sh"]}), "build.sh"),
        (
            json!({"argv": ["sh", "../build.sh"], "cwd": "lib"}),
            "build.sh",
        ),
        (
            json!({"argv": ["env", "X=1", "sh", "build.sh"]}),
            "build.sh",
        ),
        (
            json!({"argv": ["timeout", "5", "sh", "build.sh"]}),
            "build.sh",
        ),
        (
            json!({"argv": ["sh", "-c", "exec ./build.sh now"]}),
            "build.sh",
        ),
        (json!({"argv": ["awk", "--file=build.sh"]}), "build.sh"),
        (json!({"argv": ["./run"]}), "run"),
        (json!({"argv": ["../run"], "cwd": "lib"}), "run"),
        (
            json!({"script": "set -e; sh build.sh>log && echo"}),
            "build.sh",
        ),
        (
            json!({"script": "PY=lib/tool.py; python3 \"$PY\""}),
            "lib/tool.py",
        ),
    ] {
        let plan = bench.prepare("execute_command", args.clone()).unwrap();
        assert_eq!(plan.facts.bound, [operand], "{args}");
        let before = text(&bench.workspace.join(operand));
        bench.put(operand, "rm -rf /\n");
        let changed = bench.prepare("execute_command", args.clone()).unwrap();
        assert_ne!(plan.operands, changed.operands, "{args}");
        bench.put(operand, before);
        let back = bench.prepare("execute_command", args.clone()).unwrap();
        assert_eq!(plan, back, "{args}: the same files, the same plan");
    }
    if std::path::Path::new("/usr/bin/make").exists() {
        bench.put("Makefile", "all:\n");
        let plan = bench
            .prepare("execute_command", json!({"argv": ["make", "all"]}))
            .unwrap();
        assert_eq!(
            plan.operands[0].0, "Makefile",
            "what make reads without being told"
        );
    }
    let plain = bench
        .prepare("execute_command", json!({"argv": ["cat", "unrelated"]}))
        .unwrap();
    assert_eq!(plain.facts.bound, ["unrelated"]);
    assert_eq!(
        plain.preview,
        Preview::Exec {
            argv: vec!["cat".to_owned(), "unrelated".to_owned()]
        }
    );
    assert_eq!(plain.facts.cwd.as_deref(), bench.workspace.to_str());
    assert!(plain.facts.executable.unwrap().ends_with("/cat"));
}
