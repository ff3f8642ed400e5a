//! Chat completions as they are answered: one object, or chunks of it.

use std::collections::VecDeque;
use std::convert::Infallible;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use futures_util::stream::unfold;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::api::openai::answer::Settled;
use crate::api::openai::error::ErrorDetails;
use crate::api::openai::follow::{Follower, Piece};
use crate::protocol::ids::ContinuationId;
use crate::protocol::session::{Continuation, Usage};

/// A chat completion.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ChatCompletion {
    /// `chatcmpl-` and the id of the turn.
    id: String,
    /// Always `chat.completion`.
    object: &'static str,
    /// When the message came, in Unix seconds.
    created: i64,
    /// The channel whose agent answers.
    model: String,
    /// The answer as the only choice.
    choices: Vec<Choice>,
    /// Tokens of all model calls of the turn.
    usage: ChatUsage,
}

/// The answer.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ChatChoice")]
struct Choice {
    /// Always 0.
    index: u32,
    /// The agent's message.
    message: Message,
    /// Always null.
    logprobs: Option<Value>,
    /// `stop`, or `length` if the output limit cut the answer.
    finish_reason: &'static str,
}

/// A message of the agent.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ChatMessage")]
struct Message {
    /// Always `assistant`.
    role: &'static str,
    /// The text.
    content: String,
    /// Always null.
    refusal: Option<String>,
}

/// Token usage.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ChatUsage {
    /// Input tokens.
    prompt_tokens: u64,
    /// Output tokens.
    completion_tokens: u64,
    /// Input plus output tokens.
    total_tokens: u64,
    /// Input tokens by kind.
    prompt_tokens_details: ChatInputDetails,
}

/// Input tokens by kind.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ChatInputDetails {
    /// Input tokens read from the provider's prompt cache.
    cached_tokens: u64,
}

impl From<Usage> for ChatUsage {
    fn from(usage: Usage) -> Self {
        Self {
            prompt_tokens: usage.input_tokens,
            completion_tokens: usage.output_tokens,
            total_tokens: usage.input_tokens + usage.output_tokens,
            prompt_tokens_details: ChatInputDetails {
                cached_tokens: usage.cached_input_tokens,
            },
        }
    }
}

/// An id in OpenAI's words: a prefix and the part of ours that counts.
pub fn outer_id(prefix: &str, id: ContinuationId) -> String {
    let id = id.to_string();
    format!("{prefix}{}", id.strip_prefix("con_").unwrap_or(&id))
}

/// Seconds of Unix time.
pub fn seconds(turn: &Continuation) -> i64 {
    turn.created_at.as_millis().div_euclid(1000)
}

fn finish(is_cut: bool) -> &'static str {
    if is_cut { "length" } else { "stop" }
}

impl ChatCompletion {
    /// The answer of a turn.
    pub fn of(settled: Settled, model: String) -> Self {
        Self {
            id: outer_id("chatcmpl-", settled.turn.id),
            object: "chat.completion",
            created: seconds(&settled.turn),
            model,
            choices: vec![Choice {
                index: 0,
                message: Message {
                    role: "assistant",
                    content: settled.text,
                    refusal: None,
                },
                logprobs: None,
                finish_reason: finish(settled.is_cut),
            }],
            usage: settled.turn.usage.into(),
        }
    }
}

/// What does not change from chunk to chunk.
struct Writer {
    id: String,
    created: i64,
    model: String,
    include_usage: bool,
}

/// One event whose data is this.
pub fn data(value: &Value) -> Bytes {
    Bytes::from(format!("data: {value}\n\n"))
}

impl Writer {
    fn chunk(&self, choices: Value, usage: Option<Usage>) -> Bytes {
        let mut chunk = json!({
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "choices": choices,
        });
        if self.include_usage {
            chunk["usage"] = json!(usage.map(ChatUsage::from));
        }
        data(&chunk)
    }

    fn delta(&self, delta: Value, finish_reason: Option<&str>) -> Bytes {
        let choice = json!([{
            "index": 0,
            "delta": delta,
            "logprobs": null,
            "finish_reason": finish_reason,
        }]);
        self.chunk(choice, None)
    }

    /// The bytes of a piece.
    fn write(&self, piece: Piece) -> Vec<Bytes> {
        match piece {
            Piece::Text(text) => vec![self.delta(json!({ "content": text }), None)],
            Piece::Silence => vec![Bytes::from_static(b": waiting\n\n")],
            Piece::End(ended) => match *ended {
                Ok(ended) => {
                    let mut chunks = vec![self.delta(json!({}), Some(finish(ended.is_cut)))];
                    if self.include_usage {
                        chunks.push(self.chunk(json!([]), Some(ended.turn.usage)));
                    }
                    chunks.push(Bytes::from_static(b"data: [DONE]\n\n"));
                    chunks
                }
                Err(refusal) => {
                    let error = ErrorDetails::of(refusal.refused());
                    vec![data(&json!({ "error": error }))]
                }
            },
        }
    }
}

/// An answer in events: what is there at once, and what each piece becomes.
pub fn events<W>(
    follower: Follower,
    first: Vec<Bytes>,
    writer: W,
    write: fn(&mut W, Piece) -> Vec<Bytes>,
) -> Response
where
    W: Send + 'static,
{
    let state = (follower, VecDeque::from(first), writer);
    let body = unfold(
        state,
        move |(mut follower, mut ready, mut writer)| async move {
            while ready.is_empty() {
                ready.extend(write(&mut writer, follower.next().await?));
            }
            let bytes = ready.pop_front()?;
            Some((Ok::<_, Infallible>(bytes), (follower, ready, writer)))
        },
    );
    let mut response = Response::new(Body::from_stream(body));
    let kind = HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    // Proxies that collect what passes would hold an answer back until it is whole.
    let name = header::HeaderName::from_static("x-accel-buffering");
    response
        .headers_mut()
        .insert(name, HeaderValue::from_static("no"));
    response
}

/// The answer of a turn in chunks.
pub fn stream(
    follower: Follower,
    turn: &Continuation,
    model: String,
    include_usage: bool,
) -> Response {
    let writer = Writer {
        id: outer_id("chatcmpl-", turn.id),
        created: seconds(turn),
        model,
        include_usage,
    };
    let role = json!({ "role": "assistant", "content": "", "refusal": null });
    let first = vec![writer.delta(role, None)];
    events(follower, first, writer, |writer, piece| writer.write(piece))
}
