//! The hooks of agents of other makers: what they are called, which of them ask, the lines that stand in settings, and how
//! a refusal looks to each program.
//!
//! A name that is not in the table asks: no event passes because nobody knew it.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::config::environment::Environment;
use crate::protocol::enums::ExternalAgent;

/// A moment at which a program calls its hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookEvent {
    /// What the program calls it.
    pub name: &'static str,
    /// Whether the program waits for a verdict. The others only report.
    pub asks: bool,
}

const fn asks(name: &'static str) -> HookEvent {
    HookEvent { name, asks: true }
}

const fn reports(name: &'static str) -> HookEvent {
    HookEvent { name, asks: false }
}

const CLAUDE: &[HookEvent] = &[
    asks("PreToolUse"),
    reports("PostToolUse"),
    reports("PostToolUseFailure"),
    reports("UserPromptSubmit"),
    reports("Stop"),
    reports("SubagentStop"),
    reports("SessionStart"),
    reports("SessionEnd"),
];

const CODEX: &[HookEvent] = &[
    asks("PreToolUse"),
    asks("PermissionRequest"),
    reports("PostToolUse"),
    reports("UserPromptSubmit"),
    reports("Stop"),
    reports("SubagentStop"),
    reports("SessionStart"),
    reports("SessionEnd"),
];

const GEMINI: &[HookEvent] = &[
    asks("BeforeTool"),
    reports("AfterTool"),
    reports("BeforeAgent"),
    reports("AfterAgent"),
    reports("SessionStart"),
    reports("SessionEnd"),
];

/// A hook as it stands in the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    /// The event it is called at.
    pub event: String,
    /// What the program's shell runs.
    pub command: String,
    /// After how long the program goes on without it, in the program's unit.
    pub timeout: u64,
}

/// Seconds a question may take before the shell ends it, and before the program goes on without an answer.
pub const QUESTION: (u64, u64) = (590, 600);
/// The same for a report.
const REPORT: (u64, u64) = (8, 10);
/// What the shell does where the caller let nothing through: Codex and Gemini CLI take status 2 for a *no* only where
/// standard error says something, and Codex only where all that it writes is read.
const CLOSED: &str = "sh -c 'cat >/dev/null; echo Leverframe did not allow this call >&2; exit 2'";

/// Reports whose hooks are not installed: they say nothing that is kept. A person may have installed them.
const OTHER_REPORTS: &[&str] = &[
    "Notification",
    "PostCompact",
    "PreCompact",
    "PreCompress",
    "StopFailure",
    "SubagentStart",
];

/// The events whose hooks are installed, the one that asks first.
pub fn hook_events(agent: ExternalAgent) -> &'static [HookEvent] {
    match agent {
        ExternalAgent::Claude => CLAUDE,
        ExternalAgent::Codex => CODEX,
        ExternalAgent::Gemini => GEMINI,
    }
}

/// Whether the program waits for a verdict at this event.
pub fn is_question(agent: ExternalAgent, event: &str) -> bool {
    let mut known = hook_events(agent).iter();
    !OTHER_REPORTS.contains(&event) && !known.any(|known| known.name == event && !known.asks)
}

/// A refusal in the program's own words. `event` is what the program called the moment, where it could be read.
pub fn refusal(agent: ExternalAgent, event: Option<&str>, reason: &str) -> Value {
    match agent {
        ExternalAgent::Gemini => json!({ "decision": "deny", "reason": reason }),
        ExternalAgent::Claude | ExternalAgent::Codex => match event {
            Some("PermissionRequest") => json!({ "hookSpecificOutput": {
                "hookEventName": "PermissionRequest",
                "decision": { "behavior": "deny", "message": reason },
            } }),
            Some(_) | None => json!({ "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "deny",
                "permissionDecisionReason": reason,
            } }),
        },
    }
}

/// The hooks as they stand in the settings. `question` are the seconds that a question may take before the shell ends it, and
/// before the program goes on.
///
/// # Errors
/// Where nothing ends a caller that hangs, and where a path cannot stand in a line.
pub fn hooks(
    agent: ExternalAgent,
    program: &Path,
    data_dir: Option<&Path>,
    environment: &Environment,
    question: (u64, u64),
) -> Result<Vec<Hook>, String> {
    let guard = guard(environment)?;
    let mut call = format!("{} gate {agent}", quoted(program)?);
    if let Some(dir) = data_dir {
        let _ = write!(call, " --data-dir {}", quoted(dir)?);
    }
    let unit = match agent {
        ExternalAgent::Claude | ExternalAgent::Codex => 1,
        ExternalAgent::Gemini => 1000,
    };
    let hooks = hook_events(agent).iter().map(|event| {
        let (limit, timeout) = if event.asks { question } else { REPORT };
        let otherwise = if event.asks { CLOSED } else { "true" };
        Hook {
            event: event.name.to_owned(),
            command: format!(
                "{} {call} || {otherwise}",
                guard.replace("SECONDS", &limit.to_string())
            ),
            timeout: timeout * unit,
        }
    });
    Ok(hooks.collect())
}

/// What ends a caller that hangs: `timeout`, which macOS lacks, or Perl, which it has.
fn guard(environment: &Environment) -> Result<&'static str, String> {
    let path = environment.path("PATH").unwrap_or_default();
    let there = |name: &str| std::env::split_paths(&path).any(|dir| dir.join(name).is_file());
    if there("timeout") {
        Ok("timeout -k 5 SECONDS")
    } else if there("perl") {
        Ok("perl -e 'alarm shift; exec @ARGV; exit 127' SECONDS")
    } else {
        Err(
            "neither `timeout` nor `perl` is on the PATH: without one, a hook that hangs lets calls through".to_owned(),
        )
    }
}

/// A path as one word of every shell.
fn quoted(path: &Path) -> Result<String, String> {
    let fault = |problem: &str| format!("{}: {problem}", path.display());
    let text = path
        .to_str()
        .ok_or_else(|| fault("the path is not UTF-8"))?;
    if text.contains(['\'', '\n', '\r']) {
        return Err(fault(
            "a hook cannot use a path with a quote or a line break: move it",
        ));
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    Ok(if text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{text}'")
    })
}

/// The fields of a hook. Claude Code has a word of its own for a hook that must not fail open.
pub fn fields(agent: ExternalAgent, hook: &Hook) -> Value {
    let mut fields = Map::new();
    if agent == ExternalAgent::Gemini {
        fields.insert("name".to_owned(), json!("leverframe"));
    }
    fields.insert("type".to_owned(), json!("command"));
    fields.insert("command".to_owned(), json!(hook.command));
    fields.insert("timeout".to_owned(), json!(hook.timeout));
    let asks = hook_events(agent)
        .iter()
        .any(|one| one.asks && one.name == hook.event);
    if agent == ExternalAgent::Claude && asks {
        fields.insert("onFailure".to_owned(), json!("block"));
    }
    Value::Object(fields)
}

/// Settings of Claude Code that hold its hooks and nothing else, for one run. They win over those of files, except over
/// those of an administrator.
///
/// # Errors
/// As [`hooks`].
pub fn settings_of_run(
    program: &Path,
    data_dir: &Path,
    environment: &Environment,
) -> Result<Value, String> {
    let agent = ExternalAgent::Claude;
    let mut events = Map::new();
    for hook in hooks(agent, program, Some(data_dir), environment, QUESTION)? {
        let group = json!([{ "hooks": [fields(agent, &hook)] }]);
        events.insert(hook.event, group);
    }
    Ok(json!({ "disableAllHooks": false, "hooks": events }))
}
