//! Options of a message: what its turn may use, and how models are asked in it.
//!
//! Options narrow or tune a turn. None of them widens what a policy allows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::protocol::gate::ExternalCaller;
use crate::protocol::trace_parent::TraceParent;

/// Most hints of one message.
pub const MAX_HINTS: usize = 16;
/// Longest hint, in bytes.
pub const MAX_HINT_BYTES: usize = 1024;
/// Most tools that one message can name.
pub const MAX_ALLOWED_TOOLS: usize = 256;

/// Whether and which tool a model is to call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "String", into = "String")]
#[schemars(with = "String")]
pub enum ToolChoice {
    /// The model decides: `auto`.
    Auto,
    /// No tool: `none`.
    None,
    /// A tool, whichever: `required`. Holds until the turn has made a call.
    Required,
    /// This tool, by its name. Holds until the turn has made a call.
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

/// How a model is asked, beside what it is asked. What is left out is not sent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ModelParameters {
    /// Sampling temperature, 0 to 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Share of the probability that tokens are taken from, more than 0 and at most 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Which tool the model calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
}

/// A parameter that cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterProblem {
    /// Its name.
    pub field: &'static str,
    /// What is wrong.
    pub problem: String,
    /// What is right.
    pub expected: &'static str,
}

impl ModelParameters {
    /// These, and `wider` where these say nothing.
    #[must_use]
    pub fn or(self, wider: &Self) -> Self {
        Self {
            temperature: self.temperature.or(wider.temperature),
            top_p: self.top_p.or(wider.top_p),
            tool_choice: self.tool_choice.or_else(|| wider.tool_choice.clone()),
        }
    }

    /// The first parameter that cannot be sent.
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

/// A tool call that a person or a program asks for, and no model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DirectCall {
    /// Tool name.
    pub tool: String,
    /// Its arguments, redacted: outside text.
    pub arguments: Value,
    /// The external agent that makes the call itself once it is allowed; none = the engine makes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external: Option<ExternalCaller>,
}

/// What a message asks for beside its text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TurnOptions {
    /// The only tools that are offered and can run in the turn; an empty list: none. Left out: those of the channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_tools: Option<Vec<String>>,
    /// What the model is told for this turn alone, each at most 1 KiB, at most 16.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
    /// How models are asked.
    pub parameters: ModelParameters,
    /// The one call that the turn makes; its result is the answer. No model is asked. Only `CallTool` sets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<Box<DirectCall>>,
    /// The trace that the turn is a part of. Only the header `traceparent` of a request sets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceParent>,
}

impl TurnOptions {
    /// The external agent that the one call of the turn is of.
    pub fn external(&self) -> Option<&ExternalCaller> {
        self.call.as_ref()?.external.as_ref()
    }

    /// What they say, one line for each: outside text.
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

    /// Whether a tool may be used in the turn, as far as its message says.
    pub fn allows(&self, tool: &str) -> bool {
        self.allow_tools
            .as_ref()
            .is_none_or(|allowed| allowed.iter().any(|name| name == tool))
    }
}
