//! `gate test` against programs that behave like Claude Code, and against some that do not: each fault is found, and
//! `doctor` says it.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::daemon::Home;
use leverframe::runtime::gate_model::{Proposal, reply};

/// A program named `claude` in a folder of its own.
struct Fake {
    home: Home,
}

impl Fake {
    fn new(behaviour: &str) -> Self {
        let fake = Self {
            home: Home::new(""),
        };
        fake.write(behaviour, "9.8.7");
        fake
    }

    fn write(&self, behaviour: &str, version: &str) {
        let source =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/gate/fake_claude.py");
        let text = std::fs::read_to_string(source)
            .unwrap()
            .replace(
                "BEHAVIOUR = \"obeys\"",
                &format!("BEHAVIOUR = \"{behaviour}\""),
            )
            .replace("9.8.7", version);
        let file = self.home.path().join("bin/claude");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
    }

    /// The exit status and what was written to standard output and standard error.
    fn run(&self, words: &[&str]) -> (i32, String, String) {
        let path = format!(
            "{}/bin:/usr/local/bin:/usr/bin:/bin",
            self.home.path().display()
        );
        let mut command = self.home.command();
        let ran = command.env("PATH", path).args(words).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (
            ran.status.code().unwrap(),
            text(ran.stdout),
            text(ran.stderr),
        )
    }

    /// The result as `--json` gives it, and the status.
    fn test(&self) -> (i32, Value) {
        let (status, out, errors) = self.run(&["gate", "test", "claude", "--json"]);
        let proof = serde_json::from_str(out.trim()).unwrap_or_else(|_| panic!("{out}{errors}"));
        (status, proof)
    }

    /// What `doctor` says of the gate: verdict and detail.
    fn finding(&self) -> Option<(String, String)> {
        let (_, out, errors) = self.run(&["doctor", "--json"]);
        let doctor: Value =
            serde_json::from_str(out.trim()).unwrap_or_else(|_| panic!("{out}{errors}"));
        let findings = doctor["findings"].as_array().unwrap();
        let found = findings.iter().find(|one| one["about"] == "gate claude")?;
        let word = |name: &str| found[name].as_str().unwrap().to_owned();
        Some((word("verdict"), word("detail")))
    }
}

/// The names of the cases that did not pass.
fn failed(proof: &Value) -> Vec<&str> {
    let cases = proof["cases"].as_array().unwrap();
    let failed = cases.iter().filter(|case| case["passed"] == false);
    failed.map(|case| case["case"].as_str().unwrap()).collect()
}

#[test]
fn a_program_that_obeys_its_hooks_passes_and_doctor_knows_which_version() {
    let fake = Fake::new("obeys");
    assert_eq!(fake.finding(), None, "no hooks are installed");
    let (status, _, errors) = fake.run(&["gate", "install", "claude", "--yes"]);
    assert_eq!(status, 0, "{errors}");
    let (verdict, detail) = fake.finding().unwrap();
    assert_eq!(verdict, "warn", "{detail}");
    assert!(detail.contains("nobody tested"), "{detail}");

    let (status, proof) = fake.test();
    assert_eq!((status, failed(&proof)), (0, Vec::new()), "{proof}");
    assert_eq!(proof["version"], "9.8.7");
    assert_eq!(
        proof["effective"],
        "asks: a command that writes, a command that reads, a new file"
    );
    let (verdict, detail) = fake.finding().unwrap();
    assert_eq!(verdict, "ok", "{detail}");
    // Whoever asks the daemon gets the same.
    let _daemon = fake.home.daemon();
    let (status, listed, errors) = fake.run(&["get", "gate-tests", "--json"]);
    assert_eq!(status, 0, "{errors}");
    let listed: Value = serde_json::from_str(listed.trim()).unwrap();
    assert_eq!(listed, proof);
    let (_, table, _) = fake.run(&["get", "gate-tests"]);
    assert!(
        table.contains("9.8.7") && table.contains("8 of 8"),
        "{table}"
    );

    fake.write("obeys", "9.9.0");
    let (verdict, detail) = fake.finding().unwrap();
    assert_eq!(verdict, "warn", "{detail}");
    assert!(
        detail.contains("9.8.7") && detail.contains("9.9.0"),
        "{detail}"
    );
}

#[test]
fn a_program_that_calls_no_hook_fails_and_doctor_says_so() {
    let fake = Fake::new("deaf");
    fake.run(&["gate", "install", "claude", "--yes"]);
    let (status, proof) = fake.test();
    assert_eq!(status, 1, "{proof}");
    // Without the first it would not have been seen that calls run.
    assert!(!failed(&proof).contains(&"no hook"), "{proof}");
    for case in [
        "deny",
        "allow",
        "daemon killed",
        "no daemon",
        "hook killed",
        "hook hangs",
        "hook missing",
    ] {
        assert!(failed(&proof).contains(&case), "{case}: {proof}");
    }
    let unasked = "runs unasked: a command that writes, a command that reads, a new file";
    assert_eq!(proof["effective"], unasked);
    let (verdict, detail) = fake.finding().unwrap();
    assert_eq!(verdict, "fail", "{detail}");
    assert!(detail.contains("hook killed"), "{detail}");
}

#[test]
fn a_program_that_goes_on_without_an_answer_fails_where_nobody_answers() {
    let (status, proof) = Fake::new("careless").test();
    assert_eq!(status, 1, "{proof}");
    assert_eq!(
        failed(&proof),
        ["hook killed", "hook hangs", "hook missing"],
        "{proof}"
    );
}

#[test]
fn a_program_that_makes_no_call_proves_nothing() {
    let (status, proof) = Fake::new("lazy").test();
    assert_eq!(status, 1, "{proof}");
    assert!(failed(&proof).contains(&"no hook"), "{proof}");
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let home = Home::new("");
    let ran = home
        .command()
        .args(["gate", "test", "codex"])
        .output()
        .unwrap();
    let errors = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(2), "{errors}");
    assert!(errors.contains("`codex` is not on the PATH"), "{errors}");
}

#[test]
fn the_model_proposes_one_call_on_each_wire_and_none_after_its_result() {
    let run = Proposal::Run("true".to_owned());
    let claude = |content: Value| {
        let message =
            json!([{"role": "user", "content": content}, {"role": "system", "content": "x"}]);
        json!({"stream": true, "messages": message, "tools": [{"name": "Bash"}]})
    };
    let codex = |item: Value| {
        let tools = json!({"type": "additional_tools", "role": "developer"});
        json!({"stream": true, "input": [tools, {"role": "user"}, item]})
    };
    let gemini = |part: Value| {
        let tools = json!([{"functionDeclarations": [{"name": "run_shell_command"}]}]);
        json!({"contents": [{"parts": [part]}], "tools": tools})
    };
    let asked = [
        (
            "/v1/messages",
            claude(json!([{"type": "text"}])),
            "tool_use",
        ),
        (
            "/v1/responses",
            codex(json!({"type": "reasoning"})),
            "tools.exec_command",
        ),
        (
            "/m:streamGenerateContent",
            gemini(json!({"text": "x"})),
            "functionCall",
        ),
    ];
    for (path, request, call) in asked {
        let body = reply(path, &request, &run).body;
        assert!(body.contains(call), "{path}: {body}");
    }
    let ended = [
        ("/v1/messages", claude(json!([{"type": "tool_result"}]))),
        (
            "/v1/responses",
            codex(json!({"type": "custom_tool_call_output"})),
        ),
        (
            "/m:streamGenerateContent",
            gemini(json!({"functionResponse": {}})),
        ),
        // Side requests, which offer no tools.
        ("/v1/messages", json!({"stream": true, "messages": []})),
        ("/m:streamGenerateContent", json!({})),
    ];
    for (path, request) in ended {
        let body = reply(path, &request, &run).body;
        assert!(body.contains("Done."), "{path}: {body}");
    }
}
