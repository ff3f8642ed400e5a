//! Bodies of hooks become events. Pure.
//!
//! What a decision depends on must be there and of its type. What else a body holds is not looked at, so that a new
//! version of an agent may say more.

use serde_json::{Map, Value};

use crate::agents::event::{
    AgentCall, AgentReport, AgentTurn, AskEvent, GateEvent, GateProblem, TurnChange,
};
use crate::protocol::enums::ExternalAgent;
use crate::text::strict_json::{MAX_DEPTH, is_shallow};
use crate::tools::output::{MAX_RESULT, first};

/// Longest id, in bytes.
const MAX_ID: usize = 256;
/// Longest name of a tool, in bytes: with the agent in front it is a name of ours.
const MAX_TOOL: usize = 120;
/// Longest directory, in bytes (`PATH_MAX` of Linux, with its NUL).
const MAX_DIRECTORY: usize = 4095;
/// Longest reason that is kept of an agent's own question, in bytes.
const MAX_OWN_QUESTION: usize = 500;
/// Characters of names beside letters and digits.
const IN_NAMES: &str = "_-.:/";

/// What a hook is about.
enum Hook {
    Ask(AskEvent),
    Report { is_error: bool },
    Turn(TurnChange),
}

/// What a hook of this name is about; none = this agent has none of that name, or nobody here knows it.
fn hook(agent: ExternalAgent, event: &str) -> Option<Hook> {
    use ExternalAgent::{Claude, Codex, Gemini};
    Some(match (agent, event) {
        (Claude | Codex, "PreToolUse") => Hook::Ask(AskEvent::PreToolUse),
        (Claude | Codex, "PermissionRequest") => Hook::Ask(AskEvent::PermissionRequest),
        (Gemini, "BeforeTool") => Hook::Ask(AskEvent::BeforeTool),
        (Claude | Codex, "PostToolUse") | (Gemini, "AfterTool") => Hook::Report { is_error: false },
        (Claude, "PostToolUseFailure") => Hook::Report { is_error: true },
        (_, "SessionStart") => Hook::Turn(TurnChange::SessionStart),
        (_, "SessionEnd") => Hook::Turn(TurnChange::SessionEnd),
        (Claude | Codex, "UserPromptSubmit") | (Gemini, "BeforeAgent") => {
            Hook::Turn(TurnChange::Prompt)
        }
        (Claude | Codex, "Stop" | "StopFailure") | (Gemini, "AfterAgent") => {
            Hook::Turn(TurnChange::Stop)
        }
        (Claude | Codex, "SubagentStop") => Hook::Turn(TurnChange::SubagentStop),
        (Claude | Codex, "SubagentStart" | "PreCompact" | "PostCompact")
        | (Claude | Gemini, "Notification")
        | (Gemini, "PreCompress") => Hook::Turn(TurnChange::Notice),
        (Claude | Codex | Gemini, _) => return None,
    })
}

/// What a body says. The error names the field and what was expected there.
pub fn parse(agent: ExternalAgent, body: &Value) -> Result<GateEvent, GateProblem> {
    let Some(map) = body.as_object() else {
        return Err(problem("body", "a JSON object is expected"));
    };
    let body = Body { agent, map };
    let event = body.text("hook_event_name", MAX_ID)?;
    let Some(hook) = hook(agent, &event) else {
        return Err(problem(
            "hook_event_name",
            format!(
                "{:?} is no hook of {} that is known here",
                first(&event, 64),
                agent.product()
            ),
        ));
    };
    let session = body.text("session_id", MAX_ID)?;
    let directory = body.directory()?;
    let agent = body.subagent()?;
    match hook {
        Hook::Ask(event) => {
            body.is_of_agent()?;
            let mut input = body.input()?;
            let own_question = match event {
                AskEvent::PermissionRequest => Some(own_question(body.agent, &mut input)),
                AskEvent::PreToolUse | AskEvent::BeforeTool => None,
            };
            Ok(GateEvent::Ask(AgentCall {
                session,
                directory,
                tool: body.tool()?,
                own_question,
                input,
                call: body.id("tool_use_id")?,
                prompt: body.prompt()?,
                mode: body.id("permission_mode")?,
                agent,
                event,
            }))
        }
        Hook::Report { is_error } => Ok(GateEvent::Report(AgentReport {
            session,
            directory,
            tool: body.tool()?,
            input: body.input()?,
            call: body.id("tool_use_id")?,
            prompt: body.prompt()?,
            agent,
            result: result(map),
            is_error: is_error || has_error(map),
        })),
        Hook::Turn(change) => Ok(GateEvent::Turn(AgentTurn {
            session,
            directory,
            prompt: body.prompt()?,
            agent,
            change,
        })),
    }
}

fn problem(field: &'static str, problem: impl Into<String>) -> GateProblem {
    GateProblem {
        field,
        problem: problem.into(),
    }
}

struct Body<'a> {
    agent: ExternalAgent,
    map: &'a Map<String, Value>,
}

impl Body<'_> {
    /// A text that must be there; 1 to `most` bytes, without controls.
    fn text(&self, field: &'static str, most: usize) -> Result<String, GateProblem> {
        let text = self.map.get(field).and_then(Value::as_str);
        let fits =
            |text: &&str| (1..=most).contains(&text.len()) && !text.contains(char::is_control);
        text.filter(fits).map(str::to_owned).ok_or_else(|| {
            problem(
                field,
                format!("a text of 1 to {most} bytes without control characters is expected"),
            )
        })
    }

    /// A text that may be missing.
    fn id(&self, field: &'static str) -> Result<Option<String>, GateProblem> {
        match self.map.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(_) => self.text(field, MAX_ID).map(Some),
        }
    }

    fn directory(&self) -> Result<String, GateProblem> {
        let directory = self.text("cwd", MAX_DIRECTORY)?;
        if directory.starts_with('/') {
            return Ok(directory);
        }
        Err(problem("cwd", "an absolute path is expected"))
    }

    fn tool(&self) -> Result<String, GateProblem> {
        let name = self.text("tool_name", MAX_TOOL)?;
        if is_name(&name) {
            return Ok(name);
        }
        Err(problem(
            "tool_name",
            format!("only ASCII letters, digits and {IN_NAMES} are expected"),
        ))
    }

    fn input(&self) -> Result<Map<String, Value>, GateProblem> {
        let input = self.map.get("tool_input");
        let Some(Value::Object(map)) = input else {
            return Err(problem("tool_input", "a JSON object is expected"));
        };
        if !input.is_some_and(is_shallow) {
            return Err(problem(
                "tool_input",
                format!("at most {MAX_DEPTH} arrays and objects inside each other are expected"),
            ));
        }
        Ok(map.clone())
    }

    /// The agent's own id of its turn.
    fn prompt(&self) -> Result<Option<String>, GateProblem> {
        match self.agent {
            ExternalAgent::Claude => self.id("prompt_id"),
            ExternalAgent::Codex => self.id("turn_id"),
            ExternalAgent::Gemini => Ok(None),
        }
    }

    /// Who in the agent does it: type and id of the subagent, as far as the body has them.
    fn subagent(&self) -> Result<Option<String>, GateProblem> {
        let (kind, id) = (self.id("agent_type")?, self.id("agent_id")?);
        Ok(match (kind, id) {
            (Some(kind), Some(id)) => Some(format!("{kind} {id}")),
            (kind, id) => kind.or(id),
        })
    }

    /// A question must be of this agent: each answer is in the words of one, and another reads it as none.
    fn is_of_agent(&self) -> Result<(), GateProblem> {
        let has = |field| self.map.contains_key(field);
        match self.agent {
            ExternalAgent::Claude if has("turn_id") => Err(problem(
                "turn_id",
                "Claude Code sends none: is this a hook of Codex?",
            )),
            ExternalAgent::Codex => self.text("turn_id", MAX_ID).map(|_| ()),
            ExternalAgent::Gemini => self.text("timestamp", MAX_ID).map(|_| ()),
            ExternalAgent::Claude => Ok(()),
        }
    }
}

/// Why an agent asks its own person. Codex lays the reason between the arguments, where the call itself has none: without
/// it the arguments are those of the call.
fn own_question(agent: ExternalAgent, input: &mut Map<String, Value>) -> String {
    let reason = match agent {
        ExternalAgent::Codex => input.shift_remove("description"),
        ExternalAgent::Claude | ExternalAgent::Gemini => None,
    };
    let reason = reason.as_ref().and_then(Value::as_str).unwrap_or_default();
    first(reason, MAX_OWN_QUESTION).to_owned()
}

/// Whether a text can be the name of a tool of an agent.
pub fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || IN_NAMES.contains(c);
    (1..=MAX_TOOL).contains(&name.len()) && name.chars().all(fits)
}

/// What came of a call: the text of the answer, or the whole of it.
fn result(body: &Map<String, Value>) -> String {
    let answer = body.get("error").or_else(|| body.get("tool_response"));
    let text = answer.map_or_else(String::new, result_text);
    let kept = first(&text, MAX_RESULT - 4);
    if kept.len() < text.len() {
        format!("{kept}\n…")
    } else {
        text
    }
}

fn result_text(answer: &Value) -> String {
    if let Some(text) = answer.as_str() {
        return text.to_owned();
    }
    let of = |field| answer.get(field).and_then(Value::as_str);
    match (of("stdout"), of("stderr"), of("llmContent")) {
        (Some(out), Some(""), _) => out.to_owned(),
        (Some(out), Some(errors), _) => format!("{out}\n{errors}"),
        (_, _, Some(text)) => text.to_owned(),
        _ => serde_json::to_string_pretty(answer).unwrap_or_default(),
    }
}

/// Whether the answer of a tool says that it failed.
fn has_error(body: &Map<String, Value>) -> bool {
    let of = |field| body.get("tool_response")?.get(field);
    of("error").is_some_and(|error| !error.is_null())
        || ["isError", "is_error"]
            .into_iter()
            .any(|field| of(field).and_then(Value::as_bool) == Some(true))
}
