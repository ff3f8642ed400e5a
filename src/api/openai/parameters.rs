//! What becomes of each parameter of OpenAI's two interfaces. The book has the same table.
//!
//! A parameter that changes what an answer means is honoured or refused. Only what does not may have no effect, and the
//! answer's headers name it then.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::api::error::Refusal;
use crate::api::openai::content::wrong;
use crate::api::request::Call;
use crate::protocol::problem::Problem;

/// What becomes of a parameter.
#[derive(Debug, Clone, Copy)]
pub enum Use {
    /// It does what it says.
    Honoured,
    /// It has no effect.
    Ignored,
    /// Only values that change nothing are taken; what is said of others.
    Refused {
        /// Whether a value changes nothing.
        is_plain: fn(&Value, &Map<String, Value>) -> bool,
        /// Why, and what to do.
        why: &'static str,
    },
}

/// A parameter.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What becomes of it.
    pub usage: Use,
}

const fn honoured(name: &'static str) -> Parameter {
    Parameter {
        name,
        usage: Use::Honoured,
    }
}

const fn ignored(name: &'static str) -> Parameter {
    Parameter {
        name,
        usage: Use::Ignored,
    }
}

const fn refused(
    name: &'static str,
    is_plain: fn(&Value, &Map<String, Value>) -> bool,
    why: &'static str,
) -> Parameter {
    Parameter {
        name,
        usage: Use::Refused { is_plain, why },
    }
}

const TOOLS: &str = "the tools of a client are not called: the agent has those of its channel, which run under the operator's \
policy. Leave `tools` out, or send `tool_choice: \"none\"`";
const FORMAT: &str = "answers are text: leave it out, and ask for JSON in the message";
const LOGPROBS: &str = "probabilities of tokens are not known here: leave it out";
const FILE_SEARCH: &str = "the agent has the tools of its channel and no others: leave it out";

/// Nothing, or nothing in it.
fn is_empty(value: &Value, _: &Map<String, Value>) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Bool(is_set) => !is_set,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Null => true,
    }
}

fn is_one(value: &Value, _: &Map<String, Value>) -> bool {
    value.as_u64() == Some(1)
}

fn no_tools(value: &Value, all: &Map<String, Value>) -> bool {
    is_empty(value, all)
        || ["tool_choice", "function_call"]
            .iter()
            .any(|name| all.get(*name).is_some_and(|choice| choice == "none"))
}

fn is_free_choice(value: &Value, _: &Map<String, Value>) -> bool {
    value == "auto" || value == "none"
}

fn is_text(value: &Value, _: &Map<String, Value>) -> bool {
    value.get("type").is_some_and(|kind| kind == "text")
}

fn has_text_format(value: &Value, all: &Map<String, Value>) -> bool {
    value
        .get("format")
        .is_none_or(|format| format.is_null() || is_text(format, all))
}

fn is_text_only(value: &Value, _: &Map<String, Value>) -> bool {
    let words = value.as_array();
    words.is_some_and(|words| words.iter().all(|word| word == "text"))
}

/// Parameters of chat completions.
pub const CHAT: &[Parameter] = &[
    honoured("messages"),
    honoured("model"),
    honoured("stream"),
    honoured("stream_options"),
    honoured("temperature"),
    honoured("top_p"),
    honoured("user"),
    honoured("safety_identifier"),
    honoured("prompt_cache_key"),
    ignored("frequency_penalty"),
    ignored("max_completion_tokens"),
    ignored("max_tokens"),
    ignored("metadata"),
    ignored("parallel_tool_calls"),
    ignored("prediction"),
    ignored("presence_penalty"),
    ignored("prompt_cache_retention"),
    ignored("reasoning_effort"),
    ignored("seed"),
    ignored("service_tier"),
    ignored("store"),
    ignored("verbosity"),
    refused("audio", is_empty, "answers are text: leave it out"),
    refused("function_call", is_free_choice, TOOLS),
    refused("functions", no_tools, TOOLS),
    refused("logit_bias", is_empty, LOGPROBS),
    refused("logprobs", is_empty, LOGPROBS),
    refused("modalities", is_text_only, "answers are text: leave it out"),
    refused("n", is_one, "there is one answer: send 1, or ask again"),
    refused("response_format", is_text, FORMAT),
    refused(
        "stop",
        is_empty,
        "answers are not cut at a word: leave it out",
    ),
    refused("tool_choice", is_free_choice, TOOLS),
    refused("tools", no_tools, TOOLS),
    refused("top_logprobs", is_empty, LOGPROBS),
    refused("web_search_options", is_empty, FILE_SEARCH),
];

/// Parameters of responses.
pub const RESPONSES: &[Parameter] = &[
    honoured("background"),
    honoured("conversation"),
    honoured("input"),
    honoured("instructions"),
    honoured("max_tool_calls"),
    honoured("metadata"),
    honoured("model"),
    honoured("previous_response_id"),
    honoured("prompt_cache_key"),
    honoured("safety_identifier"),
    honoured("stream"),
    honoured("temperature"),
    honoured("top_p"),
    honoured("user"),
    ignored("context_management"),
    ignored("include"),
    ignored("max_output_tokens"),
    ignored("parallel_tool_calls"),
    ignored("prompt_cache_retention"),
    ignored("reasoning"),
    ignored("service_tier"),
    ignored("store"),
    ignored("stream_options"),
    ignored("truncation"),
    refused(
        "prompt",
        is_empty,
        "stored prompts are OpenAI's: send the text itself",
    ),
    refused("text", has_text_format, FORMAT),
    refused("tool_choice", is_free_choice, TOOLS),
    refused("tools", no_tools, TOOLS),
    refused("top_logprobs", is_empty, LOGPROBS),
];

/// Reads a body whose parameters are in a table, and names those that have no effect.
///
/// # Errors
/// When a parameter is refused or not as it must be.
pub fn read<T: DeserializeOwned>(
    call: &Call,
    table: &[Parameter],
) -> Result<(T, Vec<String>), Refusal> {
    let mut body: Map<String, Value> = call.json()?;
    // OpenAI's clients send null where they mean nothing.
    body.retain(|_, value| !value.is_null());
    let mut ignored = Vec::new();
    let names: Vec<String> = body.keys().cloned().collect();
    for name in names {
        let known = table.iter().find(|one| one.name == name);
        match known.map(|one| one.usage) {
            Some(Use::Honoured) => {}
            Some(Use::Refused { is_plain, why }) => {
                let value = body.get(&name).unwrap_or(&Value::Null);
                if !is_plain(value, &body) {
                    return Err(wrong(&name, why).code("unsupported_parameter"));
                }
            }
            Some(Use::Ignored) => ignored.push(name),
            // A word of the client, for a header: what is no plain name is not repeated.
            None => {
                let is_plain = name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
                ignored.push(if is_plain { name } else { "?".to_owned() });
            }
        }
    }
    ignored.truncate(MOST_NAMES);
    body.retain(|name, _| {
        table
            .iter()
            .any(|one| one.name == name && matches!(one.usage, Use::Honoured))
    });
    let read = serde_path_to_error::deserialize(Value::Object(body)).map_err(|error| {
        let place = error.path().to_string();
        match place.as_str() {
            "." => Refusal::from(Problem::invalid(error.inner().to_string())),
            _ => wrong(&place, &error.inner().to_string()),
        }
    })?;
    Ok((read, ignored))
}

/// Most parameters without effect that an answer names.
const MOST_NAMES: usize = 32;
