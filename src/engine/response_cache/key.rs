//! The key of a cached response: a hash over everything the answer depends on, and over nothing else. Pure.
//!
//! Every field carries a tag and its length, and an absent field differs from an empty one, so no two different
//! requests share the hashed bytes. The request is taken apart without `..`: a new field does not compile until
//! somebody has said whether answers depend on it.

use icu_normalizer::ComposingNormalizerBorrowed;
use sha2::{Digest, Sha256};

use crate::model::profiles::Profile;
use crate::model::request::{ModelMessage, ModelRequest, ToolDefinition};
use crate::protocol::enums::CacheScope;
use crate::protocol::options::ModelParameters;
use crate::protocol::policy::Policy;
use crate::store::response_cache::Key;
use crate::tools::canonical::canonical_json;

/// Layout of the hashed bytes; a changed layout gets a new word.
const LAYOUT: &[u8] = b"rc1";

/// Everything a key is made of.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// Whom the answer may be given to; never `off`.
    pub scope: CacheScope,
    pub channel: &'a str,
    /// Stable id of who asked; part of the key in scope `user` only.
    pub requester: &'a str,
    /// Name of the provider's profile.
    pub provider: &'a str,
    /// Scheme, host, port and path that requests go to; empty for the built-in model.
    pub base_url: &'a str,
    /// What is sent.
    pub request: &'a ModelRequest,
    /// Policies in force.
    pub policies: &'a [&'a Policy],
    /// Digest of what was recalled from memory; none = nothing was.
    pub memory: Option<&'a str>,
    /// How replies on the channel look.
    pub reply_format: &'a str,
}

/// Hashed bytes in which no field can be taken for another.
pub(in crate::engine) struct Fields(Sha256);

impl Fields {
    fn new() -> Self {
        Self::of_layout(LAYOUT)
    }

    /// Begins with the word of a layout.
    pub(in crate::engine) fn of_layout(layout: &[u8]) -> Self {
        let mut hash = Sha256::new();
        hash.update(layout);
        Self(hash)
    }

    pub(in crate::engine) fn bytes(&mut self, tag: u8, bytes: &[u8]) {
        self.0.update([tag, 1]);
        self.0.update((bytes.len() as u64).to_be_bytes());
        self.0.update(bytes);
    }

    fn absent(&mut self, tag: u8) {
        self.0.update([tag, 0]);
    }

    pub(in crate::engine) fn text(&mut self, tag: u8, text: &str) {
        self.bytes(tag, text.as_bytes());
    }

    pub(in crate::engine) fn optional(&mut self, tag: u8, text: Option<&str>) {
        match text {
            Some(text) => self.text(tag, text),
            None => self.absent(tag),
        }
    }

    pub(in crate::engine) fn number(&mut self, tag: u8, number: u64) {
        self.bytes(tag, &number.to_be_bytes());
    }

    fn flag(&mut self, tag: u8, flag: Option<bool>) {
        match flag {
            Some(flag) => self.bytes(tag, &[u8::from(flag)]),
            None => self.absent(tag),
        }
    }

    fn list(&mut self, tag: u8, items: &[String]) {
        // The order of a list of rules says nothing.
        let mut items: Vec<&str> = items.iter().map(String::as_str).collect();
        items.sort_unstable();
        self.number(tag, items.len() as u64);
        for item in items {
            self.text(tag, item);
        }
    }

    pub(in crate::engine) fn finish(self) -> Key {
        self.0.finalize().into()
    }
}

/// A question as it is compared: composed (NFC), without white space around it. Its case counts.
pub fn question(text: &str) -> String {
    ComposingNormalizerBorrowed::new_nfc()
        .normalize(text.trim())
        .into_owned()
}

fn scope(fields: &mut Fields, facts: &Facts<'_>) {
    fields.text(1, facts.scope.as_str());
    fields.text(2, facts.channel);
    fields.optional(
        3,
        match facts.scope {
            CacheScope::User => Some(facts.requester),
            CacheScope::Channel | CacheScope::Off => None,
        },
    );
}

/// The question that is asked, and what was said before it.
fn last_question(request: &ModelRequest) -> (&[ModelMessage], Option<&str>) {
    match request.messages.split_last() {
        Some((ModelMessage::User { text, .. }, before)) => (before, Some(text)),
        Some((ModelMessage::Assistant { .. } | ModelMessage::ToolResults { .. }, _)) | None => {
            (&request.messages, None)
        }
    }
}

/// Digest of scope and question alone, to tell that a question is known under other circumstances.
pub fn asked(facts: &Facts<'_>) -> [u8; 16] {
    let mut fields = Fields::new();
    fields.text(0, "question");
    scope(&mut fields, facts);
    let (_, text) = last_question(facts.request);
    fields.optional(4, text.map(question).as_deref());
    let whole = fields.finish();
    let mut first = [0; 16];
    first.copy_from_slice(&whole[..16]);
    first
}

pub fn of(facts: &Facts<'_>) -> Key {
    let Facts {
        scope: _,
        channel: _,
        requester: _,
        provider,
        base_url,
        request,
        policies,
        memory,
        reply_format,
    } = *facts;
    let ModelRequest {
        model,
        system,
        messages: _,
        tools,
        max_output_tokens,
        one_tool_per_step,
        profile,
        parameters,
        // Says whose requests share a prompt cache: the session, which answers do not depend on.
        prompt_cache_key: _,
    } = request;
    let Profile {
        // Says what was left out, and what was sent is hashed as it is.
        context_window: _,
        // The bound that is sent is the request's own.
        max_output_tokens: _,
        tools: knows_tools,
        parallel_tool_calls,
        // A request with pictures is of a message that names its files, which no other message does.
        pictures: _,
        reasoning,
        effort,
        // Says where the provider keeps a prefix, not what it answers.
        prompt_cache: _,
        // Those that are sent are the request's own.
        parameters: _,
    } = profile;
    let mut fields = Fields::new();
    scope(&mut fields, facts);
    fields.text(10, provider);
    fields.text(11, base_url);
    fields.text(12, model);
    fields.text(13, system);
    fields.number(14, u64::from(*max_output_tokens));
    fields.flag(15, Some(*one_tool_per_step));
    fields.flag(16, *knows_tools);
    fields.flag(17, *parallel_tool_calls);
    fields.flag(18, Some(*reasoning));
    fields.optional(19, effort.as_deref());
    fields.bytes(20, &tool_set(tools));
    for policy in policies {
        fields.bytes(21, &policy_digest(policy));
    }
    fields.optional(22, memory);
    fields.text(23, reply_format);
    // What nobody set takes no part: answers kept by earlier versions are found again.
    if *parameters != ModelParameters::default() {
        let ModelParameters {
            temperature,
            top_p,
            tool_choice,
        } = parameters;
        let number = |value: &Option<f64>| value.map(|value| value.to_string());
        fields.optional(26, number(temperature).as_deref());
        fields.optional(27, number(top_p).as_deref());
        fields.optional(28, tool_choice.clone().map(String::from).as_deref());
    }
    let (before, text) = last_question(request);
    fields.optional(24, text.map(question).as_deref());
    match history(before) {
        Some(digest) => fields.bytes(25, &digest),
        None => fields.text(25, "fresh"),
    }
    fields.finish()
}

/// The tools as models see them, whatever their order.
fn tool_set(tools: &[ToolDefinition]) -> Key {
    let mut sorted: Vec<&ToolDefinition> = tools.iter().collect();
    sorted.sort_unstable_by(|left, right| left.name.cmp(&right.name));
    let mut fields = Fields::new();
    for tool in sorted {
        let ToolDefinition {
            name,
            description,
            input_schema,
        } = tool;
        fields.text(1, name);
        fields.text(2, description);
        fields.text(3, &canonical_json(input_schema));
    }
    fields.finish()
}

/// What a policy allows. Neither its version nor when it was set: the same rules give the same answers.
fn policy_digest(policy: &Policy) -> Key {
    let mut fields = Fields::new();
    fields.text(1, policy.autonomy.as_str());
    fields.list(2, &policy.auto_approve);
    fields.list(3, &policy.block);
    fields.list(4, &policy.always_ask);
    fields.finish()
}

/// What was said before the question; none = nothing.
fn history(before: &[ModelMessage]) -> Option<Key> {
    if before.is_empty() {
        return None;
    }
    let mut fields = Fields::new();
    for message in before {
        match message {
            ModelMessage::User { text, .. } => fields.text(1, text),
            ModelMessage::Assistant {
                text,
                tool_calls,
                native,
            } => {
                fields.text(2, text);
                for call in tool_calls {
                    fields.text(3, &call.name);
                    fields.text(4, &call.provider_call_id);
                    fields.text(5, &canonical_json(&call.args));
                }
                if let Some(native) = native {
                    fields.text(6, &native.family);
                    fields.text(7, &canonical_json(&native.content));
                }
            }
            ModelMessage::ToolResults { results } => {
                for result in results {
                    fields.text(8, &result.provider_call_id);
                    fields.text(9, &result.content);
                    fields.flag(10, Some(result.is_error));
                }
            }
        }
    }
    Some(fields.finish())
}
