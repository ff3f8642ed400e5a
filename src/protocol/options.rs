//! Options of a message: what its turn may use, and the parameters of its model calls.
//!
//! Options restrict or tune a turn. No option widens what a policy allows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::protocol::gate::ExternalCaller;
use crate::protocol::trace_parent::TraceParent;

/// Most hints of one message.
pub const MAX_HINTS: usize = 16;
/// Longest hint, in bytes.
pub const MAX_HINT_BYTES: usize = 1024;
/// Most tools in `allow_tools`.
pub const MAX_ALLOWED_TOOLS: usize = 256;

/// Whether a model must call a tool, and which one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "String", into = "String")]
#[schemars(with = "String")]
pub enum ToolChoice {
    /// The model decides: `auto`.
    Auto,
    /// No tool: `none`.
    None,
    /// Some tool: `required`. Applies until the turn has made a call.
    Required,
    /// This tool, by its name. Applies until the turn has made a call.
    Tool(String),
}

impl From<String> for ToolChoice {
    fn from(word: String) -> Self {
        match word.as_str() {
            "auto" => Self::Auto,
            "none" => Self::None,
            "required" => Self::Required,
            _ => Self::Tool(word),
        }
    }
}

impl From<ToolChoice> for String {
    fn from(choice: ToolChoice) -> Self {
        match choice {
            ToolChoice::Auto => "auto".to_owned(),
            ToolChoice::None => "none".to_owned(),
            ToolChoice::Required => "required".to_owned(),
            ToolChoice::Tool(name) => name,
        }
    }
}

/// Parameters of model calls. The engine does not send absent ones.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ModelParameters {
    /// Sampling temperature, 0 to 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Nucleus sampling: share of the probability mass, more than 0 and at most 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Whether the model must call a tool, and which one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
}

/// A parameter that the engine cannot send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterProblem {
    /// Name of the parameter.
    pub field: &'static str,
    /// What is wrong.
    pub problem: String,
    /// Accepted values.
    pub expected: &'static str,
}

impl ModelParameters {
    /// These parameters, with `wider` for the absent ones.
    #[must_use]
    pub fn or(self, wider: &Self) -> Self {
        Self {
            temperature: self.temperature.or(wider.temperature),
            top_p: self.top_p.or(wider.top_p),
            tool_choice: self.tool_choice.or_else(|| wider.tool_choice.clone()),
        }
    }

    /// The first invalid parameter.
    pub fn problem(&self) -> Option<ParameterProblem> {
        let problem = |field, problem, expected| ParameterProblem {
            field,
            problem,
            expected,
        };
        let number = |value: f64| format!("{value} is out of range");
        if let Some(value) = self
            .temperature
            .filter(|value| !(0.0..=2.0).contains(value))
        {
            return Some(problem(
                "temperature",
                number(value),
                "a number from 0 to 2",
            ));
        }
        if let Some(value) = self.top_p.filter(|value| !(*value > 0.0 && *value <= 1.0)) {
            return Some(problem(
                "top_p",
                number(value),
                "a number above 0 and at most 1",
            ));
        }
        match &self.tool_choice {
            Some(ToolChoice::Tool(name)) if name.trim().is_empty() || name.len() > 128 => {
                Some(problem(
                    "tool_choice",
                    "is not the name of a tool".to_owned(),
                    "auto, none, required or the name of a tool",
                ))
            }
            Some(
                ToolChoice::Auto | ToolChoice::None | ToolChoice::Required | ToolChoice::Tool(_),
            )
            | None => None,
        }
    }
}

/// A tool call that a person or program requests without a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DirectCall {
    /// Tool name.
    pub tool: String,
    /// The arguments, redacted: untrusted text.
    pub arguments: Value,
    /// The external agent that makes the call itself after an approval; none = the engine makes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external: Option<ExternalCaller>,
}

/// Options of a message beside its text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TurnOptions {
    /// The only tools that the turn offers and runs; an empty list = no tools. Default: the tools
    /// of the channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_tools: Option<Vec<String>>,
    /// Extra instructions for the model in this turn only: at most 16 of 1 KiB each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
    /// Parameters of the model calls.
    pub parameters: ModelParameters,
    /// The one call of the turn, without a model; its result is the answer. Only `CallTool` sets
    /// it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<Box<DirectCall>>,
    /// The trace that the turn belongs to. Only the header `traceparent` of a request sets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceParent>,
}

impl TurnOptions {
    /// The external agent that makes the one call of the turn.
    pub fn external(&self) -> Option<&ExternalCaller> {
        self.call.as_ref()?.external.as_ref()
    }

    /// The options, one line for each: untrusted text.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(tools) = &self.allow_tools {
            let names = if tools.is_empty() {
                "none".to_owned()
            } else {
                tools.join(", ")
            };
            lines.push(format!("allow_tools {names}"));
        }
        lines.extend(
            self.call
                .as_ref()
                .map(|call| format!("call {} {}", call.tool, call.arguments)),
        );
        lines.extend(self.hints.iter().map(|hint| format!("hint {hint}")));
        let ModelParameters {
            temperature,
            top_p,
            tool_choice,
        } = &self.parameters;
        lines.extend(temperature.map(|value| format!("temperature {value}")));
        lines.extend(top_p.map(|value| format!("top_p {value}")));
        let choice = tool_choice.clone().map(String::from);
        lines.extend(choice.map(|choice| format!("tool_choice {choice}")));
        lines
    }

    /// Whether the turn may use a tool, as far as its options tell.
    pub fn allows(&self, tool: &str) -> bool {
        self.allow_tools
            .as_ref()
            .is_none_or(|allowed| allowed.iter().any(|name| name == tool))
    }
}
