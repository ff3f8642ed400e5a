//! Hooks in settings as text: they come and go, and nothing else does.

use std::fmt::Write as _;

use leverframe::cli::gate_settings::{install, installed, uninstall};
use leverframe::config::agent_hooks::{Hook, hook_events};
use leverframe::protocol::enums::ExternalAgent;
use proptest::prelude::*;

fn hooks(agent: ExternalAgent, program: &str) -> Vec<Hook> {
    let hooks = hook_events(agent).iter().map(|event| Hook {
        event: event.name.to_owned(),
        command: format!("timeout 590 {program} gate {agent} || exit 2"),
        timeout: 600,
    });
    hooks.collect()
}

/// Writes JSON with comments as people and programs do, out of a tape of random bytes.
struct Writer<'a> {
    tape: std::slice::Iter<'a, u8>,
    line: &'static str,
    out: String,
    /// Texts that must stay.
    marks: Vec<String>,
}

impl Writer<'_> {
    fn next(&mut self, below: u8) -> u8 {
        self.tape.next().map_or(0, |byte| byte % below)
    }

    fn gap(&mut self) {
        for _ in 0..self.next(3) {
            match self.next(8) {
                0 => self.out.push(' '),
                1 => self.out.push('\t'),
                2 | 3 => self.out.push_str(self.line),
                4 => {
                    let mark = format!("/* {{,]\" {} */", self.marks.len());
                    self.out.push_str(&mark);
                    self.marks.push(mark);
                }
                5 => {
                    let mark = format!("// }}, \" {}.", self.marks.len());
                    let _ = write!(self.out, "{mark}{}", self.line);
                    self.marks.push(mark);
                }
                _ => {
                    let _ = write!(self.out, "{}    ", self.line);
                }
            }
        }
    }

    fn items(&mut self, open: char, close: char, count: u8, mut item: impl FnMut(&mut Self, u8)) {
        self.out.push(open);
        self.gap();
        for index in 0..count {
            item(self, index);
            self.gap();
            if index + 1 < count || self.next(4) == 0 {
                self.out.push(',');
                self.gap();
            }
        }
        self.out.push(close);
    }

    fn key(&mut self, key: &str) {
        let _ = write!(self.out, "\"{key}\"");
        self.gap();
        self.out.push(':');
        self.gap();
    }

    fn value(&mut self, depth: u8) {
        match self.next(if depth > 3 { 4 } else { 6 }) {
            0 => self.out.push_str("true"),
            1 => self.out.push_str("-1.50e3"),
            2 => self.out.push_str("\"a, // \\\" [\""),
            3 => self.out.push_str("null"),
            4 => {
                let count = self.next(3);
                self.items('[', ']', count, |writer, _| writer.value(depth + 1));
            }
            _ => {
                let count = self.next(3);
                self.items('{', '}', count, |writer, index| {
                    writer.key(&format!("k{index}"));
                    writer.value(depth + 1);
                });
            }
        }
    }

    fn group(&mut self) {
        let count = self.next(3);
        self.items('{', '}', 2, |writer, index| {
            if index == 0 {
                writer.key("matcher");
                writer.out.push_str("\"Bash\"");
                return;
            }
            writer.key("hooks");
            writer.items('[', ']', count, |writer, _| {
                writer.items('{', '}', 1, |writer, _| {
                    writer.key("command");
                    let mark = format!("\"timeout 3 mine gate keeper {}\"", writer.marks.len());
                    writer.out.push_str(&mark);
                    writer.marks.push(mark);
                });
            });
        });
    }

    fn settings(&mut self, agent: ExternalAgent) {
        let count = self.next(4);
        let hooks = self.next(5);
        self.gap();
        self.items('{', '}', count, |writer, index| {
            if index != hooks {
                writer.key(&format!("s{index}"));
                return writer.value(0);
            }
            writer.key("hooks");
            let events = hook_events(agent);
            let first = usize::from(writer.next(6));
            let some = writer.next(4).min(2);
            writer.items('{', '}', some, |writer, index| {
                writer.key(events[(first + usize::from(index)) % events.len()].name);
                let groups = writer.next(3);
                writer.items('[', ']', groups, |writer, _| writer.group());
            });
        });
        self.gap();
    }
}

fn settings(tape: &[u8], agent: ExternalAgent) -> (String, Vec<String>) {
    let mut writer = Writer {
        tape: tape.iter(),
        line: if tape.first().is_some_and(|byte| byte % 5 == 0) {
            "\r\n"
        } else {
            "\n"
        },
        out: String::new(),
        marks: Vec::new(),
    };
    if tape.last().is_some_and(|byte| byte % 9 == 0) {
        writer.out.push('\u{feff}');
    }
    writer.settings(agent);
    (writer.out, writer.marks)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, ..ProptestConfig::default() })]

    #[test]
    fn what_was_put_in_comes_out_to_the_byte(tape in proptest::collection::vec(any::<u8>(), 0..400), which in 0..3_usize) {
        let agent = ExternalAgent::ALL[which];
        let (before, marks) = settings(&tape, agent);
        let wanted = hooks(agent, "/opt/leverframe");
        let with = install(Some(&before), agent, &wanted).unwrap();
        prop_assert_eq!(&installed(&with, agent).unwrap(), &wanted, "{}", with);
        for mark in &marks {
            prop_assert_eq!(with.matches(mark.as_str()).count(), 1, "{} in\n{}", mark, with);
        }
        // A second time changes nothing.
        prop_assert_eq!(&install(Some(&with), agent, &wanted).unwrap(), &with);
        // Another path takes the place of the first.
        let moved = hooks(agent, "/usr/bin/leverframe");
        let other = install(Some(&with), agent, &moved).unwrap();
        prop_assert_eq!(&installed(&other, agent).unwrap(), &moved, "{}", other);
        for text in [&with, &other] {
            let after = uninstall(text, agent).unwrap();
            prop_assert_eq!(after.as_ref(), Some(&before), "{}", text);
        }
        // Nothing of ours, nothing to take.
        prop_assert_eq!(uninstall(&before, agent).unwrap(), Some(before));
    }

    #[test]
    fn any_text_is_taken_or_refused(text in ".{0,80}", tape in proptest::collection::vec(any::<u8>(), 0..200), cut in 0..400_usize) {
        let agent = ExternalAgent::Claude;
        let wanted = hooks(agent, "/opt/leverframe");
        let _ = install(Some(&text), agent, &wanted);
        let (whole, _) = settings(&tape, agent);
        let part: String = whole.chars().take(cut).collect();
        if let Ok(with) = install(Some(&part), agent, &wanted) {
            prop_assert_eq!(uninstall(&with, agent).unwrap(), Some(part));
        }
    }
}

#[test]
fn a_file_that_was_not_there_goes_again() {
    for agent in ExternalAgent::ALL {
        let text = install(None, *agent, &hooks(*agent, "/opt/leverframe")).unwrap();
        assert!(text.ends_with("}\n"));
        serde_json::from_str::<serde_json::Value>(&text).unwrap();
        assert_eq!(uninstall(&text, *agent).unwrap(), None);
    }
    // One that was there and empty stays.
    let agent = ExternalAgent::Codex;
    for empty in ["{}\n", "{}", "{\n}\n", "{ }"] {
        let with = install(Some(empty), agent, &hooks(agent, "/x/leverframe")).unwrap();
        assert_eq!(uninstall(&with, agent).unwrap().as_deref(), Some(empty));
    }
}

#[test]
fn claude_settings_of_a_person() {
    let before = r#"{
    // My own.
    "model": "opus", /* not yet */
    "hooks": {
        "PreToolUse": [
            {
                "matcher": "Bash",
                "hooks": [{ "type": "command", "command": "~/bin/check" }] // keep
            }, // the only one
        ]
    },
    "permissions": { "allow": ["Bash(ls:*)"] }
}
"#;
    let agent = ExternalAgent::Claude;
    let wanted = hooks(agent, "/opt/leverframe");
    let with = install(Some(before), agent, &wanted[..2]).unwrap();
    let expected = r#"{
    // My own.
    "model": "opus", /* not yet */
    "hooks": {
        "PreToolUse": [
            {
                "matcher": "Bash",
                "hooks": [{ "type": "command", "command": "~/bin/check" }] // keep
            }, // the only one
            {
                "hooks": [
                    {
                        "type": "command",
                        "command": "timeout 590 /opt/leverframe gate claude || exit 2",
                        "timeout": 600,
                        "onFailure": "block"
                    }
                ]
            },
        ],
        "PostToolUse": [
            {
                "hooks": [
                    {
                        "type": "command",
                        "command": "timeout 590 /opt/leverframe gate claude || exit 2",
                        "timeout": 600
                    }
                ]
            }
        ]
    },
    "permissions": { "allow": ["Bash(ls:*)"] }
}
"#;
    assert_eq!(with, expected);
    assert_eq!(uninstall(&with, agent).unwrap().as_deref(), Some(before));
}

#[test]
fn gemini_settings_in_one_line() {
    let before = r#"{"theme":"GitHub","hooks":{"AfterTool":[{"hooks":[{"command":"mine"}]}]}}"#;
    let agent = ExternalAgent::Gemini;
    let with = install(Some(before), agent, &hooks(agent, "/x/leverframe")[..2]).unwrap();
    let ours = r#"{ "hooks": [ { "name": "leverframe", "type": "command", "command": "timeout 590 /x/leverframe gate gemini || exit 2", "timeout": 600 } ] }"#;
    let expected = format!(
        r#"{{"theme":"GitHub","hooks":{{"AfterTool":[{{"hooks":[{{"command":"mine"}}]}}, {ours}], "BeforeTool": [ {ours} ]}}}}"#
    );
    assert_eq!(with, expected);
    assert_eq!(uninstall(&with, agent).unwrap().as_deref(), Some(before));
}

#[test]
fn what_others_put_beside_ours_stays() {
    let agent = ExternalAgent::Codex;
    let with = install(None, agent, &hooks(agent, "/opt/leverframe")).unwrap();
    // Somebody adds a hook to our group, a group behind it, and a key.
    let mine = r#"{ "type": "command", "command": "mine" }"#;
    let more = with
        .replacen(
            "          }\n        ]",
            &format!("          }},\n          {mine}\n        ]"),
            1,
        )
        .replacen("{\n", "{\n  \"description\": \"ours\",\n", 1);
    let after = uninstall(&more, agent).unwrap().unwrap();
    let parsed: serde_json::Value =
        serde_json::from_str(&after).unwrap_or_else(|e| panic!("{e}: {after}"));
    let expected = serde_json::json!({
        "description": "ours",
        "hooks": { "PreToolUse": [{ "hooks": [{ "type": "command", "command": "mine" }] }] },
    });
    assert_eq!(parsed, expected);
}

#[test]
fn what_cannot_be_edited_is_refused_with_its_line() {
    let agent = ExternalAgent::Claude;
    let wanted = hooks(agent, "/opt/leverframe");
    let cases = [
        ("", 1, "expected an object"),
        ("[]", 1, "expected an object"),
        ("{\n \"a\": 1\n \"b\": 2\n}", 2, "is no JSON"),
        ("{\n'a': 1}", 2, "is no JSON"),
        (
            "{\n\n \"hooks\": [] }",
            3,
            "expected an object behind `hooks`",
        ),
        (
            "{ \"hooks\": {\n\"PreToolUse\": {} } }",
            2,
            "expected a list behind `PreToolUse`",
        ),
        ("{ \"hooks\": {},\n\"hooks\": {} }", 2, "a second time"),
        (
            "{ \"hooks\": {\"Stop\": [],\n\n\"Stop\": []} }",
            3,
            "a second time",
        ),
    ];
    for (text, line, problem) in cases {
        let error = install(Some(text), agent, &wanted).unwrap_err();
        assert_eq!(error.line, line, "{text}: {error}");
        assert!(error.problem.contains(problem), "{text}: {error}");
    }
}
