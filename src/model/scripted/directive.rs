//! The directive language of the scripted model.
//!
//! | line | meaning |
//! |---|---|
//! | `TOOL:name{json}` | a call of the first answer; several lines are parallel calls |
//! | `THEN TOOL:name{json}` | a call of a further answer; `TOOL:` lines below it belong to the same one |
//! | `BADARGS:name` | a call of the same answer whose arguments break off |
//! | `SAY:text` | the final text |
//! | `SLOW:n` | n extra pieces, 25 ms apart, before the end of each answer |
//! | `FAIL:auth\|rate_limit\|overloaded\|cut\|timeout` | fails that way; `*n` behind it = only the first n tries |
//!
//! A line may begin with a sender, as group chats put it there (`alice: TOOL:…`). Lines that are no
//! directive are ignored where at least one is.

use serde_json::{Map, Value};

use crate::model::scripted::script::{
    FailureKind, RATE_LIMIT_WAIT_MS, Script, ScriptedArgs, ScriptedCall, ScriptedFailure, Step,
};

const WORDS: &[&str] = &["THEN TOOL:", "TOOL:", "BADARGS:", "SAY:", "SLOW:", "FAIL:"];

/// The script in `text`, or none when it holds no directive.
pub fn script(text: &str) -> Option<Script> {
    let mut script = Script::default();
    let mut found = false;
    for line in text.lines() {
        let Some((word, rest)) = directive(line) else {
            continue;
        };
        found = true;
        match word {
            "THEN TOOL:" => {
                script.steps.push(Step::default());
                add(&mut script, call(rest));
            }
            "TOOL:" => add(&mut script, call(rest)),
            "BADARGS:" => add(
                &mut script,
                ScriptedCall {
                    name: rest.to_owned(),
                    args: ScriptedArgs::Malformed("{\"path\": \"READ".to_owned()),
                },
            ),
            "SAY:" => {
                let ending = script.ending.get_or_insert_default();
                if !ending.is_empty() {
                    ending.push('\n');
                }
                ending.push_str(rest);
            }
            "SLOW:" => script.slow = rest.parse().unwrap_or(0).min(10_000),
            _ => script.failure = failure(rest),
        }
    }
    found.then_some(script)
}

fn directive(line: &str) -> Option<(&'static str, &str)> {
    let line = line.trim();
    let at_start = |line| {
        WORDS
            .iter()
            .find_map(|word| Some((*word, str::strip_prefix(line, *word)?.trim())))
    };
    at_start(line).or_else(|| at_start(line.split_once(": ")?.1.trim()))
}

fn add(script: &mut Script, call: ScriptedCall) {
    match script.steps.last_mut() {
        Some(step) => step.calls.push(call),
        None => script.steps.push(Step {
            say: String::new(),
            calls: vec![call],
        }),
    }
}

fn call(rest: &str) -> ScriptedCall {
    let (name, json) = rest
        .find('{')
        .map_or((rest, ""), |at| (&rest[..at], &rest[at..]));
    let args = if json.is_empty() {
        ScriptedArgs::Given(Value::Object(Map::new()))
    } else {
        serde_json::from_str(json).map_or_else(
            |_| ScriptedArgs::Malformed(json.to_owned()),
            ScriptedArgs::Given,
        )
    };
    ScriptedCall {
        name: name.trim().to_owned(),
        args,
    }
}

fn failure(rest: &str) -> Option<ScriptedFailure> {
    let (word, times) = rest.split_once('*').map_or((rest, None), |(word, times)| {
        (word, times.trim().parse().ok())
    });
    let kind = match word.trim() {
        "auth" => FailureKind::Auth,
        "rate_limit" => FailureKind::RateLimit,
        "overloaded" => FailureKind::Overloaded,
        "cut" => FailureKind::Cut,
        "timeout" => FailureKind::Timeout,
        _ => return None,
    };
    Some(ScriptedFailure {
        kind,
        times,
        again: false,
        wait_ms: RATE_LIMIT_WAIT_MS,
    })
}
