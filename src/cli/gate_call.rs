//! `leverframe gate claude|codex|gemini`: carries one call of an agent of another maker from its hook to the daemon, and
//! the verdict back. Reads no configuration file and opens no database.
//!
//! Nothing ends as an allow that the daemon did not send as one. Every other end is a deny with status 2: a refusal, an
//! answer that is not understood, a daemon that is away, a deadline, a signal, a panic. What only reports never stops
//! the program: it ends with status 0.

use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, sleep_until};

use crate::cli::gate_dial::{Answer, dial_until_answered};
use crate::cli::terminal::cell;
use crate::config::agent_hooks::{is_question, refusal};
use crate::protocol::enums::{ExternalAgent, GateVerdict};
use crate::protocol::gate::MAX_HOOK_BYTES;

/// Longest standard input that is looked at, in bytes: a report tells what a call brought.
const MAX_INPUT: usize = 16 * 1024 * 1024;
/// What stays of a long text in a report that is too long, in bytes.
const MAX_TEXT: usize = 16 * 1024;
/// How long a question waits, in seconds, where nothing else is said. The hook's line ends it at 590, the program at 600.
const WAIT: u64 = 580;
/// How long a report may hold the program up.
const REPORT: Duration = Duration::from_secs(3);
/// How long a question tries to reach a daemon that is not there: long enough for one that starts again.
const REACH: Duration = Duration::from_secs(10);

/// How a hook asks.
#[derive(Debug, Clone, Args)]
pub struct CallArguments {
    /// Seconds after which the call is denied
    #[arg(long, value_name = "SECONDS", default_value_t = WAIT, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub wait: u64,
}

/// How it ended.
struct End {
    /// For standard output.
    body: Option<String>,
    /// For standard error.
    message: Option<String>,
    status: u8,
}

/// Asks with the words behind `gate AGENT`. None where clap has to look at them: somebody wants help.
pub fn from_words(agent: ExternalAgent, words: &[String]) -> Option<u8> {
    if words.iter().any(|word| word == "--help" || word == "-h") {
        return None;
    }
    Some(finish(agent, move || {
        let (wait, data_dir) = options(words)?;
        Ok((wait, data_dir.map(PathBuf::from)))
    }))
}

/// Asks with arguments that clap has read.
pub fn from_arguments(
    agent: ExternalAgent,
    arguments: &CallArguments,
    data_dir: Option<&Path>,
) -> u8 {
    let given = (arguments.wait, data_dir.map(Path::to_owned));
    finish(agent, move || Ok(given))
}

fn finish(
    agent: ExternalAgent,
    options: impl FnOnce() -> Result<(u64, Option<PathBuf>), String> + std::panic::UnwindSafe,
) -> u8 {
    let end = std::panic::catch_unwind(|| run(agent, options())).unwrap_or_else(|_| {
        deny(
            agent,
            None,
            "the gate broke: report this as a fault of Leverframe",
        )
    });
    let written = end.body.map_or(Ok(()), |body| {
        let mut out = std::io::stdout();
        writeln!(out, "{body}").and_then(|()| out.flush())
    });
    // An allow that could not be written whole is none.
    let (message, status) = match written {
        Ok(()) => (end.message, end.status),
        Err(error) => (
            Some(format!("Leverframe's answer cannot be written: {error}")),
            2,
        ),
    };
    if let Some(message) = message {
        let _ = writeln!(std::io::stderr(), "{}", cell(&message));
    }
    status
}

fn options(words: &[String]) -> Result<(u64, Option<String>), String> {
    let (mut wait, mut data_dir) = (WAIT, None);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word.as_str(), words.next().cloned()),
        };
        match (name, value) {
            ("--wait", Some(value)) => {
                wait = value
                    .parse()
                    .ok()
                    .filter(|seconds| (1..=86_400).contains(seconds))
                    .ok_or_else(|| format!("--wait {value}: expected 1 to 86400 seconds"))?;
            }
            ("--data-dir", Some(value)) => data_dir = Some(value),
            _ => {
                return Err(format!(
                    "`{word}` is no argument of `gate`: see `leverframe gate --help`"
                ));
            }
        }
    }
    Ok((wait, data_dir))
}

fn run(agent: ExternalAgent, options: Result<(u64, Option<PathBuf>), String>) -> End {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    match runtime {
        Ok(runtime) => runtime.block_on(ask(agent, options)),
        Err(error) => deny(agent, None, &format!("no runtime: {error}")),
    }
}

async fn ask(agent: ExternalAgent, options: Result<(u64, Option<PathBuf>), String>) -> End {
    let (wait, data_dir) = match &options {
        Ok((wait, data_dir)) => (*wait, data_dir.as_deref()),
        Err(_) => (WAIT, None),
    };
    let deadline = Instant::now() + Duration::from_secs(wait);
    // Read to its end whatever comes: a program that cannot write all of it lets the call go on.
    let call = match within(deadline, read()).await {
        Ok(Ok(call)) => call,
        Ok(Err(problem)) | Err(problem) => return deny(agent, None, &problem),
    };
    let event = match event_of(&call) {
        Ok(event) => event,
        Err(problem) => return deny(agent, None, &problem),
    };
    let question = is_question(agent, &event);
    let call = if call.len() <= MAX_HOOK_BYTES {
        Ok(call)
    } else if question {
        Err("it is longer than 256 KiB, too much for a person to review".to_owned())
    } else {
        shortened(&call)
    };
    let (deadline, reach) = if question {
        (deadline, Instant::now() + REACH)
    } else {
        (deadline.min(Instant::now() + REPORT), Instant::now())
    };
    let answer = match (&options, call) {
        (Err(problem), _) => Err(problem.clone()),
        (_, Err(problem)) => Err(problem),
        (Ok(_), Ok(call)) => {
            let asked = dial_until_answered(agent, &call, data_dir, deadline, reach);
            within(deadline, asked).await.and_then(|answer| answer)
        }
    };
    if question {
        return verdict(agent, &event, answer);
    }
    match answer {
        Ok(answer) => End {
            body: Some(answer.body),
            message: None,
            status: 0,
        },
        Err(problem) => End {
            body: None,
            message: Some(format!("cannot report {event} to Leverframe: {problem}")),
            status: 0,
        },
    }
}

/// The end of a question. Only a clear word lets the call go on.
fn verdict(agent: ExternalAgent, event: &str, answer: Result<Answer, String>) -> End {
    let answer = match answer {
        Ok(answer) => answer,
        Err(problem) => return deny(agent, Some(event), &problem),
    };
    match answer.verdict {
        GateVerdict::Allow => End {
            body: Some(answer.body),
            message: None,
            status: 0,
        },
        GateVerdict::Deny => End {
            body: Some(answer.body),
            message: Some(
                answer
                    .reason
                    .unwrap_or_else(|| "Leverframe denied this call".to_owned()),
            ),
            status: 2,
        },
        // The program ends and asks again later. No other hook knows the word.
        GateVerdict::Defer if agent == ExternalAgent::Claude && event == "PreToolUse" => End {
            body: Some(answer.body),
            message: None,
            status: 0,
        },
        GateVerdict::Defer => deny(
            agent,
            Some(event),
            "a person decides later, and this hook cannot wait for that",
        ),
        GateVerdict::Noted => deny(
            agent,
            Some(event),
            &format!("Leverframe took {event} for a report, not for a question: update both"),
        ),
    }
}

fn deny(agent: ExternalAgent, event: Option<&str>, problem: &str) -> End {
    let reason = format!("Leverframe denies this call: {problem}");
    End {
        body: Some(refusal(agent, event, &reason).to_string()),
        message: Some(reason),
        status: 2,
    }
}

/// What comes of it before the deadline, unless this process is told to stop.
async fn within<T>(deadline: Instant, work: impl Future<Output = T>) -> Result<T, String> {
    let stopped = || Err("the program ended the wait".to_owned());
    tokio::select! {
        done = work => Ok(done),
        () = sleep_until(deadline) => Err("nobody decided before the deadline; ask for the call again".to_owned()),
        () = told_by(SignalKind::terminate()) => stopped(),
        () = told_by(SignalKind::interrupt()) => stopped(),
        () = told_by(SignalKind::hangup()) => stopped(),
    }
}

async fn told_by(kind: SignalKind) {
    match signal(kind) {
        Ok(mut signal) => {
            signal.recv().await;
        }
        Err(_) => std::future::pending().await,
    }
}

/// Standard input, read in a thread of its own: a deadline and a signal count while nothing comes.
async fn read() -> Result<Vec<u8>, String> {
    let (read, got) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let _ = read.send(read_all(&mut std::io::stdin().lock()));
    });
    match got.await {
        Ok(Ok(Some(call))) => Ok(call),
        Ok(Ok(None)) => Err("it is longer than 16 MiB".to_owned()),
        Ok(Err(error)) => Err(format!("standard input cannot be read: {error}")),
        Err(_) => Err("standard input cannot be read".to_owned()),
    }
}

/// All of it, or none where it is too long. Even then it is read to its end.
fn read_all(input: &mut impl Read) -> std::io::Result<Option<Vec<u8>>> {
    let mut call = Vec::new();
    input
        .by_ref()
        .take(MAX_INPUT as u64 + 1)
        .read_to_end(&mut call)?;
    if call.len() <= MAX_INPUT {
        return Ok(Some(call));
    }
    std::io::copy(input, &mut std::io::sink())?;
    Ok(None)
}

fn event_of(call: &[u8]) -> Result<String, String> {
    #[derive(Deserialize)]
    struct Call {
        hook_event_name: String,
    }
    serde_json::from_slice::<Call>(call)
        .map(|call| call.hook_event_name)
        .map_err(|error| format!("standard input is no call of a hook ({error})"))
}

/// A report that fits: long texts lose their end, except in the call itself.
fn shortened(report: &[u8]) -> Result<Vec<u8>, String> {
    let problem = |error: serde_json::Error| error.to_string();
    let mut report: Map<String, Value> = serde_json::from_slice(report).map_err(problem)?;
    for (_, value) in report.iter_mut().filter(|(key, _)| *key != "tool_input") {
        cut(value);
    }
    let mut text = serde_json::to_vec(&report).map_err(problem)?;
    if text.len() > MAX_HOOK_BYTES {
        report.shift_remove("tool_response");
        text = serde_json::to_vec(&report).map_err(problem)?;
    }
    if text.len() > MAX_HOOK_BYTES {
        return Err("it is longer than 256 KiB".to_owned());
    }
    Ok(text)
}

fn cut(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > MAX_TEXT => {
            text.truncate(text.floor_char_boundary(MAX_TEXT));
            text.push('…');
        }
        Value::Array(list) => list.iter_mut().for_each(cut),
        Value::Object(object) => object.values_mut().for_each(cut),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
