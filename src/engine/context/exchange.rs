//! One user message with what followed, as a model reads it. Pure.
//!
//! A call and its result are sent together or not at all; opaque blocks go back only to the model that wrote them,
//! and only as long as no other model has answered since.

use std::collections::HashMap;

use crate::engine::context::speaker;
use crate::model::request::{AssistantToolCall, ModelMessage, Picture, ToolResultMessage};
use crate::protocol::approval::Speaker;
use crate::protocol::artifact::Attachment;
use crate::protocol::ids::ToolCallId;
use crate::protocol::session::{BY_HAND, Step, StepBody};

/// A call as the model wrote it, for replay.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayCall {
    /// The provider's id.
    pub provider_call_id: String,
    pub name: String,
    pub args: serde_json::Value,
}

/// One user message with the steps that followed.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    /// Who said it: outside text.
    pub asked_by: String,
    /// What else is said of them before the message; none = nothing is.
    pub speaker: Option<Speaker>,
    /// What the user said.
    pub text: String,
    /// Files that came with it.
    pub attachments: Vec<Attachment>,
    pub steps: Vec<Step>,
    pub calls: HashMap<ToolCallId, ReplayCall>,
}

impl Exchange {
    /// The models that answered in it, oldest first, with repetitions.
    pub fn models(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.steps.iter().filter_map(|step| match &step.body {
            StepBody::Model { model, .. } => Some(model.as_str()),
            StepBody::ToolResult { .. }
            | StepBody::OperatorNote { .. }
            | StepBody::Final { .. }
            | StepBody::Error { .. } => None,
        })
    }
}

/// Whose opaque blocks are still good. Exchanges are asked newest first.
#[derive(Debug, Clone)]
pub struct Replay<'a> {
    /// `<provider>/<model>` that is asked now.
    model: &'a str,
    /// Another model has answered since.
    broken: bool,
    /// Answers whose blocks were left out.
    pub stripped: usize,
}

impl<'a> Replay<'a> {
    /// Blocks of `model` are good until another one is met.
    pub fn of(model: &'a str) -> Self {
        Self {
            model,
            broken: false,
            stripped: 0,
        }
    }

    /// Whether the blocks of an answer of `model` go back.
    fn keeps(&mut self, model: &str, has_blocks: bool) -> bool {
        if model != self.model {
            self.broken = true;
        }
        if self.broken && has_blocks {
            self.stripped += 1;
        }
        !self.broken
    }
}

/// The messages of one exchange. None when a call lacks its result: providers refuse such a request.
pub fn messages(exchange: &Exchange, replay: &mut Replay<'_>) -> Option<Vec<ModelMessage>> {
    let mut results: HashMap<ToolCallId, ToolResultMessage> = HashMap::new();
    for step in &exchange.steps {
        if let StepBody::ToolResult {
            call_id,
            provider_call_id,
            name,
            content,
            is_error,
            ..
        } = &step.body
        {
            results.insert(
                *call_id,
                ToolResultMessage {
                    provider_call_id: provider_call_id.clone(),
                    name: name.clone(),
                    content: content.clone(),
                    is_error: *is_error,
                },
            );
        }
    }
    // Newest first, because a block is good only as long as no other model answered after it.
    let mut reversed = Vec::with_capacity(exchange.steps.len() + 1);
    for step in exchange.steps.iter().rev() {
        // What a person said in place of the model is what the conversation read.
        if let StepBody::Final { text, stop, .. } = &step.body
            && stop == BY_HAND
            && !text.is_empty()
        {
            reversed.push(ModelMessage::Assistant {
                text: text.clone(),
                tool_calls: Vec::new(),
                native: None,
            });
        }
        let StepBody::Model {
            model,
            text,
            tool_calls,
            native,
            ..
        } = &step.body
        else {
            continue;
        };
        let native = native
            .as_ref()
            .filter(|_| replay.keeps(model, true))
            .cloned();
        if native.is_none() {
            replay.keeps(model, false);
        }
        if text.is_empty() && tool_calls.is_empty() && native.is_none() {
            continue;
        }
        let mut calls = Vec::with_capacity(tool_calls.len());
        let mut answers = Vec::with_capacity(tool_calls.len());
        for id in tool_calls {
            let call = exchange.calls.get(id)?;
            calls.push(AssistantToolCall {
                provider_call_id: call.provider_call_id.clone(),
                name: call.name.clone(),
                args: call.args.clone(),
            });
            answers.push(results.remove(id)?);
        }
        if !answers.is_empty() {
            reversed.push(ModelMessage::ToolResults { results: answers });
        }
        reversed.push(ModelMessage::Assistant {
            text: text.clone(),
            tool_calls: calls,
            native,
        });
    }
    reversed.push(ModelMessage::User {
        text: speaker::message(
            &exchange.asked_by,
            exchange.speaker.as_ref(),
            &exchange.text,
        ),
        pictures: exchange
            .attachments
            .iter()
            .filter_map(|attachment| Picture::of(&attachment.artifact))
            .collect(),
    });
    reversed.reverse();
    Some(reversed)
}

/// The same for a model that has no tools: calls and results become text.
pub fn without_tools(messages: Vec<ModelMessage>) -> Vec<ModelMessage> {
    messages
        .into_iter()
        .map(|message| match message {
            message @ ModelMessage::User { .. } => message,
            ModelMessage::Assistant {
                mut text,
                tool_calls,
                native,
            } => {
                for call in &tool_calls {
                    text.push_str(&format!("\n[called {} with {}]", call.name, call.args));
                }
                ModelMessage::Assistant {
                    text,
                    native: native.filter(|_| tool_calls.is_empty()),
                    tool_calls: Vec::new(),
                }
            }
            ModelMessage::ToolResults { results } => {
                let results: Vec<String> = results
                    .iter()
                    .map(|result| format!("[result of {}]\n{}", result.name, result.content))
                    .collect();
                // Among the words of people nothing may look as if a person had said it.
                ModelMessage::user(speaker::without_headers(&results.join("\n")))
            }
        })
        .collect()
}
