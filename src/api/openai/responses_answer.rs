//! Responses as they are answered: one object, or the events that build it.

use axum::body::Bytes;
use axum::response::Response as HttpResponse;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::api::error::Refused;
use crate::api::openai::answer::Settled;
use crate::api::openai::chat_answer::{events, outer_id, seconds};
use crate::api::openai::error::ErrorDetails;
use crate::api::openai::follow::{Follower, Piece};
use crate::protocol::enums::ContinuationState;
use crate::protocol::session::{Continuation, Usage};

/// Fields of the request that the response repeats.
#[derive(Debug, Clone, Default)]
pub struct Frame {
    /// The channel whose agent answers.
    pub model: String,
    /// Instructions of the client.
    pub instructions: Option<String>,
    /// Id of the previous response.
    pub previous_response_id: Option<String>,
    /// Metadata of the client.
    pub metadata: Map<String, Value>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Nucleus sampling: share of the probability mass.
    pub top_p: Option<f64>,
    /// Whether the client asked for an answer at once.
    pub background: bool,
}

/// A response.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "OpenAiResponse")]
pub struct ResponseObject {
    /// `resp_` and the id of the turn.
    id: String,
    /// Always `response`.
    object: &'static str,
    /// When the message came, in Unix seconds.
    created_at: i64,
    /// `queued`, `in_progress`, `completed`, `incomplete` or `failed`.
    status: &'static str,
    /// Whether the client asked for an answer at once.
    background: bool,
    /// The error, if there is no answer.
    error: Option<ResponseFailure>,
    /// Why the answer is incomplete.
    incomplete_details: Option<IncompleteDetails>,
    /// Instructions of the client.
    instructions: Option<String>,
    /// Always null.
    max_output_tokens: Option<u64>,
    /// Metadata of the client.
    metadata: Map<String, Value>,
    /// The channel whose agent answers.
    model: String,
    /// The answer: one message, or nothing yet.
    output: Vec<OutputMessage>,
    /// Always false: the agent makes its own calls.
    parallel_tool_calls: bool,
    /// Id of the previous response.
    previous_response_id: Option<String>,
    /// Always true: the engine stores every turn.
    store: bool,
    /// Sampling temperature.
    temperature: Option<f64>,
    /// Format of the text.
    text: TextSettings,
    /// Always `none`.
    tool_choice: &'static str,
    /// Always empty.
    tools: Vec<Value>,
    /// Nucleus sampling: share of the probability mass.
    top_p: Option<f64>,
    /// Always `auto`: the engine leaves out what does not fit the context window.
    truncation: &'static str,
    /// Tokens of all model calls, after the turn has ended.
    usage: Option<ResponseUsage>,
}

/// Why there is no answer.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ResponseFailure {
    /// Code in OpenAI's words: `server_error` or `rate_limit_exceeded`.
    code: String,
    /// What happened.
    message: String,
}

/// Why an answer is incomplete.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct IncompleteDetails {
    /// Always `max_output_tokens`.
    reason: &'static str,
}

/// Text settings.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TextSettings {
    /// Format of the text.
    format: TextFormat,
}

/// A text format.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TextFormat {
    /// Always `text`.
    r#type: &'static str,
}

/// A message of the agent.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OutputMessage {
    /// Always `message`.
    r#type: &'static str,
    /// `msg_` and the id of the turn.
    id: String,
    /// `in_progress`, `completed` or `incomplete`.
    status: &'static str,
    /// Always `assistant`.
    role: &'static str,
    /// Text of the message.
    content: Vec<OutputText>,
}

/// A text of the agent.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OutputText {
    /// Always `output_text`.
    r#type: &'static str,
    /// The text.
    text: String,
    /// Always empty.
    annotations: Vec<Value>,
    /// Always empty.
    logprobs: Vec<Value>,
}

/// Token usage.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ResponseUsage {
    /// Input tokens.
    input_tokens: u64,
    /// Input tokens by kind.
    input_tokens_details: ResponseInputDetails,
    /// Output tokens, reasoning included.
    output_tokens: u64,
    /// Output tokens by kind.
    output_tokens_details: ResponseOutputDetails,
    /// Input plus output tokens.
    total_tokens: u64,
}

/// Input tokens by kind.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ResponseInputDetails {
    /// Input tokens read from the provider's prompt cache.
    cached_tokens: u64,
}

/// Output tokens by kind.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ResponseOutputDetails {
    /// Always 0: the engine does not count reasoning tokens apart.
    reasoning_tokens: u64,
}

impl From<Usage> for ResponseUsage {
    fn from(usage: Usage) -> Self {
        Self {
            input_tokens: usage.input_tokens,
            input_tokens_details: ResponseInputDetails {
                cached_tokens: usage.cached_input_tokens,
            },
            output_tokens: usage.output_tokens,
            output_tokens_details: ResponseOutputDetails {
                reasoning_tokens: 0,
            },
            total_tokens: usage.input_tokens + usage.output_tokens,
        }
    }
}

impl OutputText {
    fn of(text: &str) -> Self {
        Self {
            r#type: "output_text",
            text: text.to_owned(),
            annotations: Vec::new(),
            logprobs: Vec::new(),
        }
    }
}

impl OutputMessage {
    fn of(turn: &Continuation, status: &'static str, content: Vec<OutputText>) -> Self {
        Self {
            r#type: "message",
            id: outer_id("msg_", turn.id),
            status,
            role: "assistant",
            content,
        }
    }
}

impl ResponseObject {
    /// A response without an answer.
    fn empty(turn: &Continuation, frame: &Frame, status: &'static str) -> Self {
        Self {
            id: outer_id("resp_", turn.id),
            object: "response",
            created_at: seconds(turn),
            status,
            background: frame.background,
            error: None,
            incomplete_details: None,
            instructions: frame.instructions.clone(),
            max_output_tokens: None,
            metadata: frame.metadata.clone(),
            model: frame.model.clone(),
            output: Vec::new(),
            parallel_tool_calls: false,
            previous_response_id: frame.previous_response_id.clone(),
            store: true,
            temperature: frame.temperature,
            text: TextSettings {
                format: TextFormat { r#type: "text" },
            },
            tool_choice: "none",
            tools: Vec::new(),
            top_p: frame.top_p,
            truncation: "auto",
            usage: None,
        }
    }

    /// The response of a turn.
    pub fn of(settled: &Settled, frame: &Frame) -> Self {
        let turn = &settled.turn;
        let (status, of_message) = match turn.state {
            ContinuationState::Pending => ("queued", "in_progress"),
            _ if !turn.state.is_terminal() => ("in_progress", "in_progress"),
            _ if settled.is_cut => ("incomplete", "incomplete"),
            _ => ("completed", "completed"),
        };
        let content = vec![OutputText::of(&settled.text)];
        Self {
            incomplete_details: settled.is_cut.then_some(IncompleteDetails {
                reason: "max_output_tokens",
            }),
            output: vec![OutputMessage::of(turn, of_message, content)],
            usage: turn.state.is_terminal().then(|| turn.usage.into()),
            ..Self::empty(turn, frame, status)
        }
    }

    /// A response whose turn ended without an answer.
    pub fn failed(turn: &Continuation, frame: &Frame, refused: &Refused) -> Self {
        let details = ErrorDetails::of(refused);
        let code = match details.r#type {
            "rate_limit_error" => "rate_limit_exceeded",
            _ => "server_error",
        };
        Self {
            error: Some(ResponseFailure {
                code: code.to_owned(),
                message: details.message,
            }),
            usage: Some(turn.usage.into()),
            ..Self::empty(turn, frame, "failed")
        }
    }
}

/// Writes the events of a response.
struct Writer {
    turn: Continuation,
    frame: Frame,
    number: u64,
    text: String,
}

impl Writer {
    fn event(&mut self, kind: &str, fields: Value) -> Bytes {
        let mut event = json!({ "type": kind, "sequence_number": self.number });
        self.number += 1;
        if let (Value::Object(event), Value::Object(fields)) = (&mut event, fields) {
            event.extend(fields);
        }
        Bytes::from(format!("event: {kind}\ndata: {event}\n\n"))
    }

    fn message(&self, status: &'static str) -> OutputMessage {
        let content = match status {
            "in_progress" => Vec::new(),
            _ => vec![OutputText::of(&self.text)],
        };
        OutputMessage::of(&self.turn, status, content)
    }

    /// What every stream begins with.
    fn begin(&mut self) -> Vec<Bytes> {
        let response = ResponseObject::empty(&self.turn, &self.frame, "in_progress");
        let item = self.message("in_progress");
        vec![
            self.event("response.created", json!({ "response": response })),
            self.event("response.in_progress", json!({ "response": response })),
            self.event(
                "response.output_item.added",
                json!({ "output_index": 0, "item": item }),
            ),
            self.event(
                "response.content_part.added",
                self.of_part(json!({ "part": OutputText::of("") })),
            ),
        ]
    }

    /// Fields of an event about the text.
    fn of_part(&self, mut fields: Value) -> Value {
        fields["item_id"] = json!(outer_id("msg_", self.turn.id));
        fields["output_index"] = json!(0);
        fields["content_index"] = json!(0);
        fields
    }

    /// The bytes of a piece.
    fn write(&mut self, piece: Piece) -> Vec<Bytes> {
        match piece {
            Piece::Silence => vec![Bytes::from_static(b": waiting\n\n")],
            Piece::Text(text) => {
                self.text.push_str(&text);
                let fields = self.of_part(json!({ "delta": text, "logprobs": [] }));
                vec![self.event("response.output_text.delta", fields)]
            }
            Piece::End(ended) => match *ended {
                Ok(ended) => {
                    let settled = Settled {
                        text: self.text.clone(),
                        ..Settled::from(ended)
                    };
                    self.end(&settled)
                }
                Err(refusal) => {
                    let refused = refusal.refused();
                    let response = ResponseObject::failed(&self.turn, &self.frame, refused);
                    vec![self.event("response.failed", json!({ "response": response }))]
                }
            },
        }
    }

    fn end(&mut self, settled: &Settled) -> Vec<Bytes> {
        let response = ResponseObject::of(settled, &self.frame);
        let status = if settled.is_cut {
            "incomplete"
        } else {
            "completed"
        };
        let (text, item) = (self.text.clone(), self.message(status));
        let done = self.of_part(json!({ "text": text, "logprobs": [] }));
        let part = self.of_part(json!({ "part": OutputText::of(&text) }));
        vec![
            self.event("response.output_text.done", done),
            self.event("response.content_part.done", part),
            self.event(
                "response.output_item.done",
                json!({ "output_index": 0, "item": item }),
            ),
            self.event(
                &format!("response.{status}"),
                json!({ "response": response }),
            ),
        ]
    }
}

/// The response of a turn in events.
pub fn stream(follower: Follower, turn: &Continuation, frame: Frame) -> HttpResponse {
    let mut writer = Writer {
        turn: turn.clone(),
        frame,
        number: 0,
        text: String::new(),
    };
    let first = writer.begin();
    events(follower, first, writer, Writer::write)
}
