//! Ordinary requests that the scripted model knows, so that a demo can be talked to in plain words.

use serde_json::{Value, json};

use crate::model::scripted::script::{
    FailureKind, Script, ScriptedArgs, ScriptedCall, ScriptedFailure, Step,
};

fn call(name: &str, args: Value) -> ScriptedCall {
    ScriptedCall {
        name: name.to_owned(),
        args: ScriptedArgs::Given(args),
    }
}

fn step(say: &str, calls: Vec<ScriptedCall>) -> Step {
    Step {
        say: say.to_owned(),
        calls,
    }
}

fn read(say: &str, path: &str) -> Step {
    step(say, vec![call("read_file", json!({"path": path}))])
}

/// Reads a file and writes it back with `lines` behind the line that begins with `after`.
fn edit(path: &str, after: &str, lines: String, ending: &str) -> Script {
    Script {
        steps: vec![
            read("I look at the file as it is before I change it.", path),
            step(
                &format!("I add it to {path}; everything else stays as it is."),
                vec![ScriptedCall {
                    name: "write_file".to_owned(),
                    args: ScriptedArgs::Insert {
                        path: path.to_owned(),
                        after: after.to_owned(),
                        lines,
                    },
                }],
            ),
        ],
        ending: Some(ending.to_owned()),
        claims_success: true,
        ..Script::default()
    }
}

fn says(text: &str) -> Script {
    Script {
        ending: Some(text.to_owned()),
        ..Script::default()
    }
}

fn only(step: Step) -> Script {
    Script {
        steps: vec![step],
        ..Script::default()
    }
}

/// What is asked for behind `word`, without quotes and closing punctuation.
fn behind<'a>(text: &'a str, lower: &str, word: &str) -> Option<&'a str> {
    // Lower-casing ASCII only keeps byte positions, so they fit the original.
    let at = lower.find(word)? + word.len();
    let rest = text.get(at..)?.trim();
    let rest = rest.trim_matches(['"', '\'', '“', '”', '.', '?', '!', ':', ' ']);
    (!rest.is_empty()).then_some(rest)
}

/// The script for a request in plain words, or none when it is not one of those known.
pub fn scenario(text: &str) -> Option<Script> {
    let lower = text.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().all(|word| lower.contains(word));
    let line = |text: &str| text.lines().next().unwrap_or_default().to_owned();

    if let Some(what) = behind(text, &lower, "release note for") {
        return Some(edit(
            "CHANGELOG.md",
            "## Unreleased",
            format!("- {}", line(what)),
            "The release note is in CHANGELOG.md, under Unreleased.",
        ));
    }
    if let Some(what) = behind(text, &lower, "faq entry") {
        let what = line(what.strip_prefix("about ").unwrap_or(what));
        return Some(edit(
            "docs/faq.md",
            "# ",
            format!("\n## {what}\n\nAsk in the support channel; a person answers within a day."),
            "The entry is in docs/faq.md.",
        ));
    }
    if has(&["what changed"]) || has(&["changelog"]) {
        return Some(only(read(
            "The changelog knows; I read it.",
            "CHANGELOG.md",
        )));
    }
    if has(&["run", "test"]) {
        return Some(only(step(
            "I run the test script of this project.",
            vec![call(
                "execute_command",
                json!({"argv": ["sh", "scripts/test.sh"]}),
            )],
        )));
    }
    if has(&["list", "files"]) {
        return Some(only(step(
            "I list the files of the workspace.",
            vec![call("list_files", json!({"path": "."}))],
        )));
    }
    if has(&["reset", "password"]) {
        return Some(only(read(
            "The FAQ answers that; I read it.",
            "docs/faq.md",
        )));
    }
    if lower.contains("search") && lower.contains("docs") {
        let what = behind(text, &lower, " for ").unwrap_or("backups");
        return Some(only(step(
            "I search the documentation and read the page on backups beside it.",
            vec![
                call(
                    "search_files",
                    json!({"pattern": format!("(?i){}", regex::escape(&line(what))), "path": "docs"}),
                ),
                call("read_file", json!({"path": "docs/backups.md"})),
            ],
        )));
    }
    if has(&["disk"]) {
        return Some(only(step(
            "I ask the system how full the disks are.",
            vec![call("execute_command", json!({"argv": ["df", "-h", "."]}))],
        )));
    }
    if has(&["mail account"]) {
        return Some(only(step(
            "The settings of the service are in .env; I look there.",
            vec![call("execute_command", json!({"argv": ["cat", ".env"]}))],
        )));
    }
    if has(&["rotate", "log"]) {
        return Some(Script {
            steps: vec![
                read("The runbook says how; I read it first.", "runbook.md"),
                step(
                    "I move the log aside, as the runbook says.",
                    vec![call(
                        "execute_command",
                        json!({"argv": ["mv", "logs/app.log", "logs/app.log.1"]}),
                    )],
                ),
            ],
            ending: Some("The log is rotated: logs/app.log is now logs/app.log.1.".to_owned()),
            ..Script::default()
        });
    }
    if has(&["runbook"]) {
        let what = ["restart", "log", "disk"]
            .into_iter()
            .find(|word| lower.contains(word))
            .unwrap_or("^#");
        return Some(only(step(
            "I look that up in the runbook.",
            vec![call(
                "search_files",
                json!({"pattern": format!("(?i){what}"), "path": "runbook.md"}),
            )],
        )));
    }
    if has(&["opening hours"]) {
        return Some(Script {
            numbered: true,
            ..says("The harbour office is open from 8 to 18, the slip until dusk.")
        });
    }
    if has(&["high tide"]) {
        return Some(Script {
            failure: Some(ScriptedFailure {
                kind: FailureKind::RateLimit,
                times: Some(1),
                again: true,
                wait_ms: 1_500,
            }),
            ..says(
                "At 06:31 and 18:54. (I was refused once for asking too often, and asked again.)",
            )
        });
    }
    if has(&["summarise", "week"]) {
        return Some(Script {
            failure: Some(ScriptedFailure {
                kind: FailureKind::Cut,
                times: Some(1),
                again: true,
                wait_ms: 0,
            }),
            ..says("A quiet week: berths can be reserved ahead, and nothing is broken.")
        });
    }
    if has(&["readme"]) {
        return Some(only(read("I read the README.", "README.md")));
    }
    None
}
