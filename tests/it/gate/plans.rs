//! What is shown of a call of another agent, and why it has its risk.

use std::path::PathBuf;

use leverframe::agents::{GateEvent, parse, tool};
use leverframe::client::approval_lines::{arguments_left, sentence};
use leverframe::protocol::approval::Preview;
use leverframe::protocol::enums::{Access, Effect, ExternalAgent, Risk};
use leverframe::tools::risk::highest;
use leverframe::tools::tool::{EffectDisposition, Plan, PrepareError};
use serde_json::{Value, json};

use crate::gate::shapes::fixtures;
use crate::tools::harness::Bench;

use ExternalAgent::{Claude, Codex, Gemini};

/// What a call would do, of an agent that works in the bench's workspace.
fn try_plan(
    bench: &Bench,
    agent: ExternalAgent,
    name: &str,
    args: &Value,
) -> Result<Plan, PrepareError> {
    let tool = tool(&agent.tool_name(name)).unwrap();
    tool.prepare(&bench.context(), args)
}

fn plan(bench: &Bench, agent: ExternalAgent, name: &str, args: Value) -> Plan {
    try_plan(bench, agent, name, &args).unwrap()
}

fn diff(plan: &Plan) -> &str {
    match &plan.preview {
        Preview::Diff { unified, .. } => unified,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_question_of_the_fixtures_has_a_plan_where_its_directory_is_missing() {
    for (name, agent, body) in fixtures() {
        let GateEvent::Ask(call) = parse(agent, &body).unwrap() else {
            continue;
        };
        let bench = Bench::new();
        let mut context = bench.context();
        context.workspace = PathBuf::from("/nowhere/of/this/machine");
        let tool = tool(&agent.tool_name(&call.tool)).unwrap();
        let spec = tool.spec();
        assert_eq!(spec.name, format!("{agent}__{}", call.tool));
        let plan = tool.prepare(&context, &Value::from(call.input)).unwrap();
        assert_eq!(plan.access, spec.access, "{name}");
        assert!(!plan.risk_reasons.is_empty(), "{name}");
        let told = plan.facts.sandbox.unwrap();
        assert!(
            told.contains(agent.product()) && !told.starts_with("bubblewrap"),
            "{told}"
        );
        assert_eq!(plan.facts.cwd.as_deref(), Some("/nowhere/of/this/machine"));
        let effect = match spec.access {
            Access::ReadLocal | Access::ReadOpen => Effect::ReadOnly,
            _ => Effect::Idempotent,
        };
        assert_eq!(spec.effect, effect, "{name}");
    }
}

#[test]
fn a_shell_command_is_shown_whole_and_judged_as_ours_are() {
    let bench = Bench::new();
    for (agent, name) in [
        (Claude, "Bash"),
        (Codex, "Bash"),
        (Gemini, "run_shell_command"),
    ] {
        for (command, risk, why) in [
            ("ls -la && cat notes.txt", Risk::Medium, "only read"),
            ("cargo test", Risk::High, "can change files"),
            (
                "cd src && rm -r build\n\n\necho done",
                Risk::High,
                "shell script",
            ),
        ] {
            let plan = plan(
                &bench,
                agent,
                name,
                json!({"command": command, "description": "x"}),
            );
            assert_eq!(
                plan.preview,
                Preview::Text {
                    text: command.to_owned()
                }
            );
            assert_eq!(plan.access, Access::Exec);
            assert_eq!(highest(&plan.risk_reasons), risk, "{command}");
            assert!(
                plan.reasons().concat().contains(why),
                "{:?}",
                plan.reasons()
            );
            assert_eq!(plan.always_asks, None);
        }
        assert!(try_plan(&bench, agent, name, &json!({"cmd": "ls"})).is_err());
    }
    // What is typed into a program of Codex passes no hook.
    for (command, asks) in [
        ("bash", true),
        ("/usr/bin/python3 -i", true),
        ("ssh host uptime", true),
        ("python3 run.py", false),
    ] {
        let codex = plan(&bench, Codex, "Bash", json!({ "command": command }));
        assert_eq!(codex.always_asks.is_some(), asks, "{command}");
        let claude = plan(&bench, Claude, "Bash", json!({ "command": command }));
        assert_eq!(claude.always_asks, None, "{command}");
    }
}

#[test]
fn a_change_is_a_diff_with_what_is_around_it_where_the_file_lies_here() {
    let bench = Bench::new();
    let file = bench.put("a.txt", "zero\none\nfour\n");
    let path = file.to_str().unwrap();
    let edits = json!({"file_path": path, "edits": [
        {"old_string": "one", "new_string": "two"},
        {"old_string": "two", "new_string": "three"},
    ]});
    let there = plan(&bench, Claude, "MultiEdit", edits.clone());
    assert_eq!(
        diff(&there),
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n zero\n-one\n+three\n four\n"
    );
    assert_eq!(there.facts.paths, ["a.txt"]);
    assert!(
        there
            .reasons()
            .iter()
            .any(|why| why == "changes parts of 14 bytes")
    );

    std::fs::write(&file, "other\n").unwrap();
    let changed = plan(&bench, Claude, "MultiEdit", edits.clone());
    assert!(
        diff(&changed).starts_with("the file as it is now does not hold these parts\n--- a/a.txt")
    );
    std::fs::remove_file(&file).unwrap();
    let gone = plan(&bench, Claude, "MultiEdit", edits);
    assert!(
        diff(&gone).contains("-one\n") && diff(&gone).contains("+three\n"),
        "{}",
        diff(&gone)
    );

    let write = |name: &str| json!({"file_path": name, "content": "new\n"});
    assert!(
        diff(&plan(&bench, Gemini, "write_file", write("b.txt"))).starts_with("--- /dev/null\n")
    );
    bench.put("b.txt", "old\n");
    let over = plan(&bench, Gemini, "write_file", write("b.txt"));
    assert!(diff(&over).contains("-old\n+new\n"));
    assert!(over.reasons().iter().any(|why| why == "overwrites 4 bytes"));
    bench.put("big.txt", "x".repeat(300 * 1024));
    let big = plan(&bench, Gemini, "write_file", write("big.txt"));
    assert!(diff(&big).starts_with("replaces all of the file; what it holds now is not shown\n"));
    assert_eq!(highest(&big.risk_reasons), Risk::High);
}

#[test]
fn a_patch_is_shown_file_by_file() {
    let bench = Bench::new();
    bench.put("a.txt", "zero\none\ntwo\n");
    bench.put("old.txt", "gone\n");
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+three\n*** Delete File: old.txt\n\
                 *** Add File: new.txt\n+hello\n*** End Patch\n";
    let args = json!({ "command": patch });
    let there = plan(&bench, Codex, "apply_patch", args.clone());
    assert_eq!(there.facts.paths, ["a.txt", "old.txt", "new.txt"]);
    for part in [
        "@@ -1,3 +1,3 @@\n zero\n one\n-two\n+three\n",
        "-gone\n",
        "--- /dev/null\n+++ b/new.txt\n",
    ] {
        assert!(diff(&there).contains(part), "{part}: {}", diff(&there));
    }
    std::fs::remove_file(bench.workspace.join("a.txt")).unwrap();
    let unseen = plan(&bench, Codex, "apply_patch", args);
    assert!(
        diff(&unseen).contains("@@ -1,2 +1,2 @@\n one\n-two\n+three\n"),
        "{}",
        diff(&unseen)
    );
    let junk = plan(
        &bench,
        Codex,
        "apply_patch",
        json!({"command": "rm everything"}),
    );
    assert_eq!(
        junk.preview,
        Preview::Text {
            text: "rm everything".to_owned()
        }
    );
    assert_eq!(highest(&junk.risk_reasons), Risk::High);
}

#[test]
fn places_outside_credentials_and_what_runs_programs_are_told() {
    let bench = Bench::new();
    std::os::unix::fs::symlink("/etc", bench.workspace.join("link")).unwrap();
    let read = |path: &str| plan(&bench, Claude, "Read", json!({ "file_path": path }));
    let outside = |plan: &Plan| plan.reasons().iter().any(|why| why.starts_with("outside"));
    for (path, is_outside) in [
        ("src/main.rs", false),
        ("/etc/hosts", true),
        ("../other/a", true),
        ("src/../../a", true),
        ("~/notes", true),
        ("link/hosts", true),
        ("/proc/self/status", true),
    ] {
        let plan = read(path);
        assert_eq!(outside(&plan), is_outside, "{path}: {:?}", plan.reasons());
        assert_eq!(plan.always_asks, None, "{path}");
    }
    for (agent, name, pattern, is_outside) in [
        (Claude, "Glob", "/etc/**", true),
        (Gemini, "glob", "src/../../x", true),
        (Gemini, "glob", "src/**", false),
        // What is searched for is no path.
        (Claude, "Grep", "/api/v1", false),
    ] {
        let plan = plan(&bench, agent, name, json!({ "pattern": pattern }));
        assert_eq!(outside(&plan), is_outside, "{pattern}");
    }
    for path in ["/home/a/.ssh/id_rsa", ".env"] {
        let plan = read(path);
        assert_eq!(highest(&plan.risk_reasons), Risk::Critical, "{path}");
        assert!(plan.always_asks.is_some(), "{path}");
    }
    for path in [
        ".claude/settings.json",
        ".git/hooks/pre-commit",
        "/home/a/.codex/hooks.json",
    ] {
        let plan = plan(
            &bench,
            Claude,
            "Write",
            json!({"file_path": path, "content": ""}),
        );
        assert!(plan.always_asks.unwrap().contains("run programs"), "{path}");
    }
    // What is ours is out of reach, under every name.
    std::os::unix::fs::symlink(&bench.hidden, bench.root.join("alias")).unwrap();
    for path in [
        bench.hidden.join("token"),
        bench.root.join("alias/token"),
        bench.hidden.clone(),
    ] {
        for (name, args) in [
            ("Read", json!({ "file_path": path })),
            ("Write", json!({"file_path": path, "content": ""})),
            ("Grep", json!({"pattern": "x", "path": path})),
        ] {
            let refused = try_plan(&bench, Claude, name, &args).unwrap_err();
            assert!(
                matches!(refused, PrepareError::Guarded(_)),
                "{name} {path:?}"
            );
        }
    }
}

#[test]
fn a_link_a_pattern_or_a_directory_above_hides_no_credentials() {
    let bench = Bench::new();
    let home = bench.root.join("home");
    for name in [".ssh/id_rsa", ".claude/settings.json"] {
        let path = home.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "x").unwrap();
    }
    let link = |to: &str, name: &str| {
        std::os::unix::fs::symlink(home.join(to), bench.workspace.join(name)).unwrap();
    };
    link(".ssh/id_rsa", "notes.txt");
    link(".ssh", "docs");
    std::fs::create_dir(home.join(".ssh/old")).unwrap();
    link(".ssh/old", "keys");
    link(".claude/settings.json", "todo.txt");
    // Nothing is there yet.
    link(".ssh/id_new/id_ed25519", "later.txt");
    link(".claude/settings.local.json", "first");
    std::os::unix::fs::symlink("first", bench.workspace.join("new.txt")).unwrap();
    for (name, args) in [
        ("Read", json!({"file_path": "notes.txt"})),
        ("Read", json!({"file_path": "docs/config"})),
        ("Read", json!({"file_path": "keys/../config"})),
        (
            "Grep",
            json!({"pattern": ".", "glob": "../home/.ssh/id_rsa"}),
        ),
        ("Read", json!({"file_path": "/proc/1/environ"})),
        ("Grep", json!({"pattern": "x", "path": "docs"})),
        ("Grep", json!({"pattern": ".", "glob": ".env"})),
        ("Grep", json!({"pattern": ".", "glob": "{a,.env*}"})),
        (
            "Grep",
            json!({"pattern": ".", "path": home, "glob": ".ssh/id_rsa"}),
        ),
        ("Grep", json!({"pattern": ".", "path": bench.root})),
        ("LS", json!({ "path": bench.root })),
        ("Write", json!({"file_path": "todo.txt", "content": ""})),
        ("Write", json!({"file_path": "new.txt", "content": ""})),
        ("Read", json!({"file_path": "later.txt"})),
    ] {
        let plan = plan(&bench, Claude, name, args.clone());
        assert!(plan.always_asks.is_some(), "{name} {args}");
    }
    for (name, args) in [
        ("Read", json!({"file_path": "src/main.rs"})),
        ("Grep", json!({"pattern": "x", "glob": "*.rs"})),
        ("Grep", json!({"pattern": "x", "path": "src"})),
        ("Write", json!({"file_path": "src/a.rs", "content": ""})),
    ] {
        let plan = plan(&bench, Claude, name, args.clone());
        assert_eq!(plan.always_asks, None, "{name} {args}");
    }
}

#[test]
fn a_choice_is_shown_with_its_labels_and_what_nobody_knows_is_high_risk() {
    let bench = Bench::new();
    let questions = json!({"questions": [{"question": "Which?", "multiSelect": true,
        "options": [{"label": "A", "description": "first"}, "B"]}]});
    let asked = plan(&bench, Claude, "AskUserQuestion", questions);
    let text = "Which? (several answers)\n  1. A: first\n  2. B\n".to_owned();
    assert_eq!(asked.preview, Preview::Text { text });
    let shown = plan(&bench, Claude, "ExitPlanMode", json!({"plan": "do it"}));
    assert_eq!(
        shown.preview,
        Preview::Text {
            text: "do it".to_owned()
        }
    );
    assert_eq!(highest(&shown.risk_reasons), Risk::High);
    for (agent, name) in [
        (Claude, "mcp__files__read"),
        (Claude, "Skill"),
        (Gemini, "Bash"),
        (Codex, "Read"),
    ] {
        let plan = plan(&bench, agent, name, json!({"a": 1}));
        assert_eq!(
            (plan.access, highest(&plan.risk_reasons)),
            (Access::Unknown, Risk::High),
            "{name}"
        );
        assert_eq!(plan.preview, Preview::None);
    }
    let web = plan(
        &bench,
        Claude,
        "WebFetch",
        json!({"url": "https://Example.org/x", "prompt": "?"}),
    );
    assert_eq!(
        (web.access, web.facts.host.as_deref()),
        (Access::ReadOpen, Some("example.org"))
    );
    for bad in ["", "a b", "ä", "a*", "a\u{202e}", &"a".repeat(121)] {
        assert!(tool(&Claude.tool_name(bad)).is_none(), "{bad:?}");
    }
}

#[tokio::test]
async fn to_carry_a_call_out_is_to_let_the_agent_go_on() {
    let bench = Bench::new();
    let tool = tool("claude__Bash").unwrap();
    let told = tool
        .execute(&bench.context(), &json!({"command": "ls"}))
        .await;
    assert_eq!(told.content, "Claude Code was told to go on");
    assert_eq!(
        (told.is_error, told.disposition),
        (false, EffectDisposition::Done)
    );
}

#[test]
fn the_card_says_which_agent_asks_and_shows_each_argument_once() {
    let bench = Bench::new();
    bench.put("a.txt", "one\n");
    let approval = |agent: ExternalAgent, name: &str, args: Value| {
        let mut approval = crate::console_frames::fixture::approval(1, Risk::High);
        approval.tool = agent.tool_name(name);
        approval.preview = plan(&bench, agent, name, args.clone()).preview;
        approval.args = args;
        (sentence(&approval), arguments_left(&approval))
    };
    let edit = json!({"file_path": "a.txt", "old_string": "one", "new_string": "two", "replace_all": true});
    assert_eq!(
        approval(Claude, "Edit", edit),
        (
            "Claude Code asks for Edit. Changes a.txt: 1 line added, 1 removed.".to_owned(),
            Some(json!({"replace_all": true}))
        )
    );
    let run = json!({"command": "cd a\nmake", "description": "Build", "run_in_background": true});
    assert_eq!(
        approval(Claude, "Bash", run),
        (
            "Claude Code asks to run 2 lines with Bash.".to_owned(),
            Some(json!({"description": "Build", "run_in_background": true}))
        )
    );
    let unknown = json!({"id": 7});
    assert_eq!(
        approval(Gemini, "mcp_x_y", unknown.clone()),
        ("Gemini CLI asks to use mcp_x_y.".to_owned(), Some(unknown))
    );
}
