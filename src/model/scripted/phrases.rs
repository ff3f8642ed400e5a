//! The phrases that show what the program does: each one thing, said exactly (case and closing punctuation aside).
//!
//! What a phrase may say depends only on the request and on how often it was asked: nothing is claimed that did
//! not happen.

use serde_json::json;

use crate::model::request::{ModelMessage, StopReason, ToolDefinition};
use crate::model::scripted::script::{
    FailureKind, Script, ScriptedArgs, ScriptedCall, ScriptedFailure, Step,
};

/// File that the gated phrases write.
const NOTE: &str = "scripted-note.txt";
/// What a question for facts begins with.
const ABOUT: &str = "what do you remember about ";
/// Most calls of `loop`: more than any usual budget allows.
const LOOPS: usize = 100;
/// Extra pieces of `long`: about ten seconds.
const LONG_PIECES: u32 = 400;
/// Characters of a line that was found.
const FOUND_CHARS: usize = 160;
/// How long the refusal of `fail` asks to wait, in milliseconds.
const FAIL_WAIT_MS: u64 = 2_000;

/// Phrase and what it shows, in the order of `help`.
pub const PHRASES: &[(&str, &str)] = &[
    ("help", "this list"),
    (
        "safe tool",
        "a call that only reads: runs by itself from `semi_auto` on",
    ),
    (
        "gated tool",
        "a call that writes: waits for you below `full`",
    ),
    ("two things", "both at once, in one answer"),
    ("long", "a slow answer: interrupt it, resume it, cancel it"),
    (
        "repeat",
        "asked twice, the second answer comes from the response cache where the channel has it on",
    ),
    (
        "remember that X",
        "keeps a fact of this conversation: waits for you below `full`",
    ),
    (
        "what do you remember about X",
        "looks for facts that say it: runs by itself from `semi_auto` on",
    ),
    ("what do you know", "looks for the newest facts"),
    (
        "earlier X",
        "where X was said before, in the turns or the summary that were sent",
    ),
    (
        "fail",
        "too many requests (429) once, then an answer: two attempts",
    ),
    (
        "break",
        "the stream breaks after some text; resume it, and it answers once",
    ),
    (
        "bad arguments",
        "a call whose arguments break off: never run",
    ),
    ("unknown tool", "a call of a tool that does not exist"),
    ("loop", "calls until the budget of the turn is used up"),
    ("empty", "an answer without text"),
    ("refuse", "an answer that declines"),
    ("cut short", "an answer that ends at the output limit"),
];

fn call(name: &str, args: serde_json::Value) -> ScriptedCall {
    ScriptedCall {
        name: name.to_owned(),
        args: ScriptedArgs::Given(args),
    }
}

fn read() -> ScriptedCall {
    call("list_files", json!({"path": "."}))
}

fn write() -> ScriptedCall {
    call(
        "write_file",
        json!({"path": NOTE, "content": "A line of the built-in script.\n", "mode": "append"}),
    )
}

fn calls(say: &str, calls: Vec<ScriptedCall>) -> Script {
    Script {
        steps: vec![Step {
            say: say.to_owned(),
            calls,
        }],
        ..Script::default()
    }
}

fn says(text: impl Into<String>) -> Script {
    Script {
        ending: Some(text.into()),
        ..Script::default()
    }
}

fn help() -> String {
    let mut text =
        String::from("I am the built-in script, no AI model. Say one of these, alone:\n\n");
    for (phrase, what) in PHRASES {
        text.push_str(&format!("- `{phrase}`: {what}\n"));
    }
    text.push_str(
        "\nLines such as `TOOL:read_file{\"path\":\"README.md\"}` call any tool, `SAY:…` says something.",
    );
    text
}

/// A failure at the first attempt of every question, and the answer of the second.
fn fails_once(kind: FailureKind, wait_ms: u64, text: &str) -> Script {
    Script {
        failure: Some(ScriptedFailure {
            kind,
            times: Some(1),
            again: true,
            wait_ms,
        }),
        ..says(text)
    }
}

/// A call of a tool for memory, or what is said where there is none.
fn memory(tools: &[ToolDefinition], wanted: &str, say: &str, args: serde_json::Value) -> Script {
    if tools.iter().any(|tool| tool.name == wanted) {
        return calls(say, vec![call(wanted, args)]);
    }
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    says(format!(
        "I have no tool `{wanted}`, so nothing was kept and nothing is known beyond this conversation. \
         What I have: {}.",
        if names.is_empty() {
            "no tool at all".to_owned()
        } else {
            names.join(", ")
        }
    ))
}

/// The phrase that a message is: its only line, without a sender, quotes and closing punctuation.
fn phrase(text: &str) -> Option<&str> {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let line = lines.next()?.trim();
    if lines.next().is_some() {
        return None;
    }
    let said = line.split_once(": ").map_or(line, |(_, said)| said);
    Some(said.trim_matches(['"', '\'', '`', '.', '?', '!', ' ']))
}

/// The script of `earlier X`: a line with X in it, of what was sent before the message that asks.
pub fn earlier(text: &str, messages: &[ModelMessage]) -> Option<Script> {
    let said = phrase(text)?;
    let lower = said.to_lowercase();
    let wanted = lower.strip_prefix("earlier ")?.trim();
    let (_, before) = messages.split_last()?;
    let lines = before.iter().flat_map(|message| match message {
        ModelMessage::User { text, .. } | ModelMessage::Assistant { text, .. } => text.lines(),
        ModelMessage::ToolResults { .. } => "".lines(),
    });
    // A block is one line of JSON an item, in which a line break is written out.
    let mut pieces = lines.flat_map(|line| line.split("\\n"));
    let found = pieces.find(|piece| {
        let piece = piece.to_lowercase();
        piece.contains(wanted) && !piece.contains("earlier ")
    });
    Some(says(match found {
        Some(line) => {
            let line: String = line.chars().take(FOUND_CHARS).collect();
            format!("Before, this was said: {line}")
        }
        None => format!("Nothing that I was sent says anything about {wanted}."),
    }))
}

/// The script of a phrase, or none where the message is not one.
pub fn script(text: &str, tools: &[ToolDefinition]) -> Option<Script> {
    let said = phrase(text)?;
    let lower = said.to_ascii_lowercase();
    // Lower-casing ASCII keeps byte positions.
    if let Some(fact) = lower
        .strip_prefix("remember ")
        .and_then(|_| said.get("remember ".len()..))
    {
        let fact = fact.trim();
        let that = fact.get(.."that ".len());
        let that = that.filter(|word| word.eq_ignore_ascii_case("that "));
        let fact = fact.get(that.map_or(0, str::len)..).unwrap_or_default();
        let args = json!({ "text": fact.trim() });
        return Some(memory(tools, "remember", "I keep that.", args));
    }
    if let Some(about) = lower
        .strip_prefix(ABOUT)
        .and_then(|_| said.get(ABOUT.len()..))
    {
        let args = json!({ "query": about.trim() });
        return Some(memory(tools, "recall", "I look.", args));
    }
    Some(match lower.as_str() {
        "help" => says(help()),
        "safe tool" => calls("I list the files; that changes nothing.", vec![read()]),
        "gated tool" => Script {
            ending: Some(format!("A line was added to {NOTE}.")),
            claims_success: true,
            ..calls("I add a line to a file, if I may.", vec![write()])
        },
        "two things" => calls(
            "I list the files and add a line to one, both at once.",
            vec![read(), write()],
        ),
        "long" => Script {
            slow: LONG_PIECES,
            ..says("and that is the end of a long answer.")
        },
        "repeat" => Script {
            numbered: true,
            ..says(
                "Ask `repeat` in a new conversation: where the response cache of this channel is on, you read \
                 these very words again and I am not asked.",
            )
        },
        "what do you know" => memory(tools, "recall", "I look.", json!({"query": ""})),
        "fail" => fails_once(
            FailureKind::RateLimit,
            FAIL_WAIT_MS,
            "It worked at the second attempt: the first was refused (429) and asked to wait two seconds.",
        ),
        "break" => fails_once(
            FailureKind::Cut,
            0,
            "This is the whole answer, once: the stream of the first attempt broke.",
        ),
        "bad arguments" => calls(
            "I call a tool and stop in the middle of its arguments.",
            vec![ScriptedCall {
                name: "write_file".to_owned(),
                args: ScriptedArgs::Malformed(format!("{{\"path\": \"{NOTE}\", \"cont")),
            }],
        ),
        "unknown tool" => calls(
            "I call a tool that nobody gave me.",
            vec![call("open_the_pod_bay_doors", json!({}))],
        ),
        "loop" => Script {
            steps: vec![
                Step {
                    say: "Once more.".to_owned(),
                    calls: vec![read()],
                };
                LOOPS
            ],
            ending: Some("Nobody stopped me.".to_owned()),
            ..Script::default()
        },
        "empty" => says(""),
        "refuse" => Script {
            stop: Some(StopReason::Refusal),
            ..says("I will not do that.")
        },
        "cut short" => Script {
            stop: Some(StopReason::MaxTokens),
            ..says("This answer is longer than the output limit allows, so it ends in the mid")
        },
        _ => return None,
    })
}
