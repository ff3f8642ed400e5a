//! `channels conform`: the examples pass, and a program with a fault is told what is expected.

use std::path::Path;
use std::process::Output;

use crate::process_bridges::{example, program};
use crate::support::daemon::Home;

fn conform(words: &[&str]) -> Output {
    conform_case(None, words)
}

fn conform_case(case: Option<&str>, words: &[&str]) -> Output {
    let home = Home::new("");
    let mut command = home.command();
    command.args(["channels", "conform"]);
    command.args(case.map(|case| format!("--case={case}")));
    command.arg("--").args(words);
    command.output().unwrap()
}

/// Every case passes, and these are left out because the program does not claim them.
#[track_caller]
fn passes(words: &[&str], skipped: &[&str]) {
    let output = conform(words);
    let said = String::from_utf8_lossy(&output.stdout);
    let notes = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{notes}");
    let left: Vec<&str> = said
        .lines()
        .filter_map(|line| line.strip_prefix("skip  "))
        .map(|line| line.split("  ").next().unwrap())
        .collect();
    assert_eq!(left, skipped, "{said}");
    assert_eq!(
        said.lines().filter(|line| line.starts_with("pass")).count(),
        20 - skipped.len(),
        "{said}"
    );
}

#[test]
fn the_example_in_python_passes() {
    let Some(python) = program("python3", "the example bridge in Python") else {
        return;
    };
    let script = example("python/folder.py");
    let words = [python.to_str().unwrap(), script.to_str().unwrap()];
    passes(&words, &["look-up", "edits"]);
}

#[test]
fn the_example_in_node_passes() {
    let Some(node) = program("node", "the example bridge in Node") else {
        return;
    };
    let script = example("node/lines.js");
    let words = [node.to_str().unwrap(), script.to_str().unwrap()];
    let skipped = [
        "redelivery",
        "native key",
        "look-up",
        "edits",
        "buttons",
        "files",
    ];
    passes(&words, &skipped);
}

#[test]
fn the_bridge_to_irc_passes() {
    let Some(python) = program("python3", "the bridge to IRC") else {
        return;
    };
    let script = example("irc.py");
    let words = [python.to_str().unwrap(), script.to_str().unwrap()];
    let skipped = [
        "redelivery",
        "native key",
        "look-up",
        "edits",
        "buttons",
        "files",
    ];
    passes(&words, &skipped);
}

#[test]
fn the_examples_are_short_and_need_nothing_else() {
    for name in ["python/folder.py", "node/lines.js"] {
        let text = std::fs::read_to_string(example(name)).unwrap();
        assert!(text.lines().count() < 150, "{name}");
        let imports = text.lines().filter_map(|line| line.strip_prefix("import "));
        for module in imports {
            let standard = ["base64", "json", "os", "sys", "threading", "time"];
            assert!(standard.contains(&module), "{name} imports {module}");
        }
        assert!(
            !text.contains("require(") || text.matches("require('node:").count() == 2,
            "{name}"
        );
    }
}

/// The case that finds a fault, what is replaced in the example, and what the case says.
type Fault<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str);

/// The example with parts of it replaced by a fault.
fn broken(directory: &Path, changes: &[(&str, &str)]) -> String {
    let mut text = std::fs::read_to_string(example("python/folder.py")).unwrap();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    let file = directory.join("broken.py");
    std::fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

#[test]
fn a_fault_is_found_by_its_case() {
    let Some(python) = program("python3", "what faults `channels conform` finds") else {
        return;
    };
    let python = python.to_str().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let version = [
        ("if message[\"protocol\"] != 1:", "if False:"),
        (
            "say(\"hello\", protocol=1,",
            "say(\"hello\", protocol=message[\"protocol\"],",
        ),
    ];
    let faults: [Fault<'_>; 8] = [
        (
            "hello",
            &[(
                "sys.stdout.write(json.dumps({\"type\": kind, **fields}) + \"\\n\")",
                "print(\"Hello, I am a bridge\")",
            )],
            "is no JSON",
        ),
        ("version", &version, "a hello of version 9999"),
        (
            "garbage",
            &[("except (ValueError, AttributeError):", "except KeyError:")],
            "ended",
        ),
        (
            "redelivery",
            &[(
                "position = int(message[\"cursor\"] or 0)",
                "position = os.path.getsize(chat.inbox) if os.path.exists(chat.inbox) else 0",
            )],
            "no item after the cursor",
        ),
        (
            "redelivery",
            &[(
                "\"key\": f\"inbox:{position}\"",
                "\"key\": f\"{time.time_ns()}\"",
            )],
            "became",
        ),
        (
            "native key",
            &[("is_new = key not in self.keys", "is_new = True")],
            "a second message",
        ),
        (
            "characters",
            &[(
                "\"text\": text}",
                "\"text\": text.encode(\"ascii\", \"replace\").decode()}",
            )],
            "no message with the text",
        ),
        (
            "shutdown",
            &[(
                "elif kind == \"shutdown\":\n            return",
                "elif kind == \"shutdown\":\n            pass",
            )],
            "runs on",
        ),
    ];
    for (case, changes, says) in faults {
        let script = broken(directory.path(), changes);
        let output = conform_case(Some(case), &[python, &script]);
        assert_eq!(output.status.code(), Some(1), "{case}");
        let said = String::from_utf8_lossy(&output.stdout);
        let mut lines = said.lines();
        let failed = format!("fail  {case}");
        let found = lines.by_ref().find(|line| line.starts_with(&failed));
        assert!(found.is_some(), "{case}:\n{said}");
        let got = lines.next().unwrap();
        assert!(got.contains(says), "{case}: {got}");
    }
}

#[test]
fn a_program_that_is_not_there_fails_with_its_name() {
    let output = conform(&["/no/such/program"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        said.contains("there is no program /no/such/program"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 2, "nothing else is tried: {said}");
}

#[test]
fn a_program_can_be_given_by_a_path_from_here_and_the_result_as_json() {
    let Some(_) = program("python3", "the conformance command") else {
        return;
    };
    let home = Home::new("");
    let script = home.path().join("bridge.py");
    std::fs::copy(example("python/folder.py"), &script).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).unwrap();
    let mut command = home.command();
    command.current_dir(home.path());
    command.args(["--json", "channels", "conform", "--", "./bridge.py"]);
    let temporary = home.path().join("temporary");
    std::fs::create_dir(&temporary).unwrap();
    command.env("TMPDIR", &temporary);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let cases: Vec<serde_json::Value> = said
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(output.status.success(), "{said}");
    assert_eq!(cases.len(), 20);
    assert_eq!(cases[0]["case"], "hello");
    assert_eq!(cases[0]["result"], "pass");
    assert!(cases[0]["expected"].as_str().unwrap().contains("`start`"));
    let left: Vec<_> = std::fs::read_dir(&temporary).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_case_that_is_none_is_refused_with_those_there_are() {
    let output = conform_case(Some("dance"), &["/no/such/program"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("`dance`") && said.contains("redelivery"),
        "{said}"
    );
}
