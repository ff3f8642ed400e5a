//! What a key depends on, and what it does not.

#![allow(clippy::assigning_clones)] // a list of changes reads best as assignments

use std::collections::BTreeMap;

use leverframe::config::model_tables::PromptCache;
use leverframe::engine::response_cache::eligibility::{is_fresh, may_keep, scope};
use leverframe::engine::response_cache::key::{Facts, asked, of, question};
use leverframe::model::profiles::Profile;
use leverframe::model::request::{
    AssistantToolCall, ModelAnswer, ModelMessage, ModelRequest, ModelToolCall, StopReason,
    ToolDefinition, ToolResultMessage,
};
use leverframe::protocol::enums::{Autonomy, CacheScope, CacheSkipReason};
use leverframe::protocol::policy::Policy;
use leverframe::protocol::session::{NativeBlocks, Usage};
use leverframe::store::response_cache::Key;
use proptest::prelude::*;
use serde_json::json;

/// Everything of [`Facts`], owned.
#[derive(Debug, Clone)]
struct Owned {
    scope: CacheScope,
    channel: String,
    requester: String,
    provider: String,
    base_url: String,
    request: ModelRequest,
    policies: Vec<Policy>,
    memory: Option<String>,
    reply_format: String,
}

impl Owned {
    fn with<T>(&self, look: impl FnOnce(&Facts<'_>) -> T) -> T {
        let policies: Vec<&Policy> = self.policies.iter().collect();
        look(&Facts {
            scope: self.scope,
            channel: &self.channel,
            requester: &self.requester,
            provider: &self.provider,
            base_url: &self.base_url,
            request: &self.request,
            policies: &policies,
            memory: self.memory.as_deref(),
            reply_format: &self.reply_format,
        })
    }

    fn key(&self) -> Key {
        self.with(of)
    }
}

fn user(text: &str) -> ModelMessage {
    ModelMessage::user(text.to_owned())
}

fn tool(name: &str) -> ToolDefinition {
    ToolDefinition {
        name: name.to_owned(),
        description: "reads".to_owned(),
        input_schema: json!({"type": "object", "properties": {"path": {"type": "string"}, "limit": {}}}),
    }
}

fn policy() -> Policy {
    Policy {
        version: 3,
        autonomy: Autonomy::SemiAuto,
        expires_at: None,
        reverts_to: None,
        auto_approve: vec!["read_file".to_owned(), "list_files".to_owned()],
        block: vec!["execute_command".to_owned()],
        always_ask: vec!["write_file".to_owned()],
    }
}

fn base() -> Owned {
    Owned {
        scope: CacheScope::User,
        channel: "team".to_owned(),
        requester: "telegram:1".to_owned(),
        provider: "local".to_owned(),
        base_url: "http://127.0.0.1:8080/v1".to_owned(),
        request: ModelRequest {
            model: "m".to_owned(),
            system: "Be kind.".to_owned(),
            messages: vec![user("What time is lunch?")],
            tools: vec![tool("read_file"), tool("list_files")],
            max_output_tokens: 4096,
            one_tool_per_step: false,
            profile: Profile::default(),
            parameters: leverframe::protocol::options::ModelParameters::default(),
            prompt_cache_key: Some("abc".to_owned()),
        },
        policies: vec![policy()],
        memory: None,
        reply_format: "telegram progress".to_owned(),
    }
}

type Change = (&'static str, Box<dyn Fn(&mut Owned)>);

fn change(name: &'static str, how: impl Fn(&mut Owned) + 'static) -> Change {
    (name, Box::new(how))
}

/// Each changes one thing that answers depend on.
fn changes() -> Vec<Change> {
    vec![
        change("scope", |o| o.scope = CacheScope::Channel),
        change("channel", |o| o.channel = "ops".to_owned()),
        change("requester", |o| o.requester = "telegram:2".to_owned()),
        change("provider", |o| o.provider = "other".to_owned()),
        change("address", |o| {
            o.base_url = "http://127.0.0.1:8081/v1".to_owned();
        }),
        change("model", |o| o.request.model = "m2".to_owned()),
        change("system", |o| o.request.system.push('!')),
        change("system empty", |o| o.request.system.clear()),
        change("output limit", |o| o.request.max_output_tokens = 4097),
        change("one tool", |o| o.request.one_tool_per_step = true),
        change("temperature", |o| {
            o.request.parameters.temperature = Some(0.5);
        }),
        change("top_p", |o| o.request.parameters.top_p = Some(0.5)),
        change("tool choice", |o| {
            o.request.parameters.tool_choice =
                Some(leverframe::protocol::options::ToolChoice::None);
        }),
        change("tools known", |o| o.request.profile.tools = Some(true)),
        change("tools unknown to it", |o| {
            o.request.profile.tools = Some(false);
        }),
        change("parallel", |o| {
            o.request.profile.parallel_tool_calls = Some(false);
        }),
        change("reasoning", |o| o.request.profile.reasoning = true),
        change("effort", |o| {
            o.request.profile.effort = Some("high".to_owned());
        }),
        change("effort empty", |o| {
            o.request.profile.effort = Some(String::new());
        }),
        change("a tool less", |o| {
            o.request.tools.pop();
        }),
        change("tool name", |o| o.request.tools[0].name.push('2')),
        change("tool description", |o| {
            o.request.tools[0].description.push('2');
        }),
        change("tool schema", |o| {
            o.request.tools[0].input_schema["required"] = json!(["path"]);
        }),
        change("autonomy", |o| o.policies[0].autonomy = Autonomy::Full),
        change("auto_approve", |o| {
            o.policies[0].auto_approve.pop();
        }),
        change("block", |o| o.policies[0].block.clear()),
        change("always_ask", |o| {
            o.policies[0].always_ask.push("x".to_owned());
        }),
        change("a list to another", |o| {
            let name = o.policies[0].block.remove(0);
            o.policies[0].always_ask.push(name);
        }),
        change("a second policy", |o| o.policies.push(policy())),
        change("memory", |o| o.memory = Some("facts".to_owned())),
        change("memory empty", |o| o.memory = Some(String::new())),
        change("reply format", |o| {
            o.reply_format = "telegram final".to_owned();
        }),
        change("question", |o| {
            o.request.messages = vec![user("What time is dinner?")];
        }),
        change("case of the question", |o| {
            o.request.messages = vec![user("what time is lunch?")];
        }),
        change("history", |o| o.request.messages.insert(0, user("hello"))),
        change("an answer before", |o| {
            o.request
                .messages
                .splice(0..0, [user("hello"), said("hi", None)]);
        }),
        change("another answer before", |o| {
            o.request
                .messages
                .splice(0..0, [user("hello"), said("ho", None)]);
        }),
        change("blocks before", |o| {
            let native = NativeBlocks {
                family: "anthropic".to_owned(),
                content: json!([1]),
            };
            o.request
                .messages
                .splice(0..0, [user("hello"), said("hi", Some(native))]);
        }),
        change("a result before", |o| {
            o.request
                .messages
                .splice(0..0, [user("hello"), result("a")]);
        }),
        change("another result before", |o| {
            o.request
                .messages
                .splice(0..0, [user("hello"), result("b")]);
        }),
    ]
}

fn said(text: &str, native: Option<NativeBlocks>) -> ModelMessage {
    ModelMessage::Assistant {
        text: text.to_owned(),
        tool_calls: vec![AssistantToolCall {
            provider_call_id: "c".to_owned(),
            name: "read_file".to_owned(),
            args: json!({}),
        }],
        native,
    }
}

fn result(content: &str) -> ModelMessage {
    ModelMessage::ToolResults {
        results: vec![ToolResultMessage {
            provider_call_id: "c".to_owned(),
            name: "read_file".to_owned(),
            content: content.to_owned(),
            is_error: false,
        }],
    }
}

/// Each changes one thing that no answer depends on.
fn no_changes() -> Vec<Change> {
    vec![
        change("session", |o| {
            o.request.prompt_cache_key = Some("other".to_owned());
        }),
        change("no session", |o| o.request.prompt_cache_key = None),
        change("window", |o| o.request.profile.context_window = 1),
        change("bound of the profile", |o| {
            o.request.profile.max_output_tokens = 1;
        }),
        change("prompt cache", |o| {
            o.request.profile.prompt_cache = PromptCache::Breakpoints;
        }),
        change("policy version", |o| o.policies[0].version = 99),
        change("order of tools", |o| o.request.tools.reverse()),
        change("order of a list", |o| o.policies[0].auto_approve.reverse()),
        change("order of a schema", |o| {
            o.request.tools[0].input_schema =
                json!({"properties": {"limit": {}, "path": {"type": "string"}}, "type": "object"});
        }),
        change("space around", |o| {
            o.request.messages = vec![user("  What time is lunch?\n")];
        }),
    ]
}

#[test]
fn each_field_alone_changes_the_key_and_no_two_changes_agree() {
    let mut seen: BTreeMap<Key, &str> = BTreeMap::from([(base().key(), "nothing")]);
    for (name, how) in changes() {
        let mut changed = base();
        how(&mut changed);
        if let Some(other) = seen.insert(changed.key(), name) {
            panic!("`{name}` has the key of `{other}`");
        }
    }
}

#[test]
fn what_no_answer_depends_on_changes_nothing() {
    for (name, how) in no_changes() {
        let mut changed = base();
        how(&mut changed);
        assert_eq!(changed.key(), base().key(), "{name}");
    }
}

#[test]
fn in_scope_channel_it_does_not_matter_who_asks_and_in_scope_user_it_does() {
    for (scope, same) in [(CacheScope::Channel, true), (CacheScope::User, false)] {
        let one = Owned { scope, ..base() };
        let other = Owned {
            requester: "telegram:2".to_owned(),
            ..one.clone()
        };
        assert_eq!(one.key() == other.key(), same, "{scope}");
        assert_eq!(one.with(asked) == other.with(asked), same, "{scope}");
    }
}

#[test]
fn a_question_is_the_same_however_its_letters_are_composed() {
    let composed = "caf\u{e9} \u{1e69}?";
    let decomposed = "cafe\u{301} s\u{307}\u{323}?";
    assert_ne!(composed, decomposed);
    assert_eq!(question(composed), question(decomposed));
    assert_eq!(question(" \n a b \t"), "a b");
    assert_ne!(question("A"), question("a"));
}

#[test]
fn the_question_alone_is_known_whatever_changed_around_it() {
    let now = base().with(asked);
    let mut other_model = base();
    other_model.request.model = "m2".to_owned();
    other_model.request.messages.insert(0, user("hello"));
    assert_eq!(other_model.with(asked), now);
    let mut other_question = base();
    other_question.request.messages = vec![user("And tomorrow?")];
    assert_ne!(other_question.with(asked), now);
}

#[test]
fn a_question_of_another_channel_is_not_known() {
    let other = Owned {
        channel: "ops".to_owned(),
        ..base()
    };
    assert_ne!(other.with(asked), base().with(asked));
}

#[test]
fn text_that_looks_like_the_beginning_of_a_field_is_none() {
    let of_two = |provider: &str, base_url: &str| Owned {
        provider: provider.to_owned(),
        base_url: base_url.to_owned(),
        ..base()
    };
    let mark = "\u{b}\u{1}";
    assert_ne!(
        of_two("x", &format!("y{mark}z")).key(),
        of_two(&format!("x{mark}y"), "z").key()
    );
}

/// Nothing with a history is looked up today; the key would tell it apart all the same.
#[test]
fn each_part_of_what_was_said_before_alone_changes_the_key() {
    type Before = (&'static str, Vec<ModelMessage>);
    let call = |id: &str, name: &str, args: serde_json::Value| ModelMessage::Assistant {
        text: "hi".to_owned(),
        tool_calls: vec![AssistantToolCall {
            provider_call_id: id.to_owned(),
            name: name.to_owned(),
            args,
        }],
        native: None,
    };
    let blocks = |family: &str, content: serde_json::Value| {
        let native = NativeBlocks {
            family: family.to_owned(),
            content,
        };
        said("hi", Some(native))
    };
    let gave = |id: &str, is_error: bool| ModelMessage::ToolResults {
        results: vec![ToolResultMessage {
            provider_call_id: id.to_owned(),
            name: "read_file".to_owned(),
            content: "x".to_owned(),
            is_error,
        }],
    };
    let befores: Vec<Before> = vec![
        ("a question", vec![user("hello")]),
        ("another question", vec![user("hallo")]),
        ("a call", vec![call("c", "read_file", json!({}))]),
        ("its id", vec![call("d", "read_file", json!({}))]),
        ("its name", vec![call("c", "list_files", json!({}))]),
        (
            "its arguments",
            vec![call("c", "read_file", json!({"a": 1}))],
        ),
        ("blocks", vec![blocks("anthropic", json!([1]))]),
        ("their family", vec![blocks("gemini", json!([1]))]),
        ("their content", vec![blocks("anthropic", json!([2]))]),
        ("a result", vec![gave("c", false)]),
        ("of another call", vec![gave("d", false)]),
        ("an error", vec![gave("c", true)]),
    ];
    let mut seen = BTreeMap::new();
    for (name, mut before) in befores {
        let mut owned = base();
        before.append(&mut owned.request.messages);
        owned.request.messages = before;
        if let Some(other) = seen.insert(owned.key(), name) {
            panic!("`{name}` has the key of `{other}`");
        }
    }
}

proptest! {
    /// Moving text between neighbouring fields, or out of one, never gives the same bytes.
    #[test]
    fn boundaries_between_fields_cannot_move(a in "[ab|]{0,6}", b in "[ab|]{0,6}", cut in 0_usize..7) {
        let of_two = |provider: &str, base_url: &str| Owned {
            provider: provider.to_owned(),
            base_url: base_url.to_owned(),
            ..base()
        };
        let whole = format!("{a}{b}");
        let cut = cut.min(whole.len());
        let (left, right) = whole.split_at(cut);
        let same = left == a;
        prop_assert_eq!(of_two(&a, &b).key() == of_two(left, right).key(), same);
    }

    /// Two different questions have two keys.
    #[test]
    fn different_questions_have_different_keys(a in "\\PC{1,30}", b in "\\PC{1,30}") {
        let ask = |text: &str| {
            let mut owned = base();
            owned.request.messages = vec![user(text)];
            owned.key()
        };
        prop_assert_eq!(ask(&a) == ask(&b), question(&a) == question(&b));
    }
}

fn answer(text: &str, stop: StopReason) -> ModelAnswer {
    ModelAnswer {
        text: text.to_owned(),
        tool_calls: Vec::new(),
        stop,
        model: None,
        usage: Usage::default(),
        native: None,
        notes: Vec::new(),
    }
}

#[test]
fn only_whole_natural_answers_without_tools_are_kept() {
    let good = answer("noon", StopReason::EndTurn);
    assert_eq!(may_keep(&good, true, false), Ok(()));
    assert_eq!(may_keep(&good, false, false), Err(CacheSkipReason::StandIn));
    assert_eq!(may_keep(&good, true, true), Err(CacheSkipReason::Unnatural));
    for (bad, why) in [
        (answer("no", StopReason::MaxTokens), CacheSkipReason::Cut),
        (answer("no", StopReason::Refusal), CacheSkipReason::Refused),
        (
            answer("no", StopReason::ToolUse),
            CacheSkipReason::ToolsUsed,
        ),
        (
            answer("no", StopReason::Other("pause_turn".to_owned())),
            CacheSkipReason::Unnatural,
        ),
        (answer(" \n", StopReason::EndTurn), CacheSkipReason::Empty),
        (
            answer(&"x".repeat(300 * 1024), StopReason::EndTurn),
            CacheSkipReason::TooLarge,
        ),
        (
            ModelAnswer {
                tool_calls: vec![ModelToolCall {
                    provider_call_id: "c".to_owned(),
                    name: "read_file".to_owned(),
                    args: Ok(json!({})),
                }],
                ..good.clone()
            },
            CacheSkipReason::ToolsUsed,
        ),
    ] {
        assert_eq!(may_keep(&bad, true, false), Err(why), "{bad:?}");
    }
}

#[test]
fn only_a_question_alone_is_looked_up_and_a_chat_of_two_shares_with_nobody() {
    let mut request = base().request;
    assert!(is_fresh(&request, &[]));
    assert!(!is_fresh(&request, &["2 earlier exchanges".to_owned()]));
    request.messages.insert(0, user("hello"));
    assert!(!is_fresh(&request, &[]));
    for (channel, private, expected) in [
        (CacheScope::Off, true, CacheScope::Off),
        (CacheScope::User, false, CacheScope::User),
        (CacheScope::User, true, CacheScope::User),
        (CacheScope::Channel, false, CacheScope::Channel),
        (CacheScope::Channel, true, CacheScope::User),
    ] {
        assert_eq!(scope(channel, private), expected, "{channel} {private}");
    }
}
