//! Exchanges out of thin air, and the rules that every request keeps.

use std::collections::HashMap;

use leverframe::clock::Timestamp;
use leverframe::engine::context::build::{Context, Material, MemoryContext, Target, build};
use leverframe::engine::context::exchange::{Exchange, ReplayCall};
use leverframe::engine::context::prefix::Prefix;
use leverframe::model::request::{ModelMessage, ToolDefinition};
use leverframe::protocol::enums::{StepKind, ToolCallState};
use leverframe::protocol::ids::{ContinuationId, ToolCallId};
use leverframe::protocol::session::{NativeBlocks, Step, StepBody, Usage};
use proptest::prelude::*;
use serde_json::json;

pub(crate) const MODEL: &str = "one/first";
pub(crate) const OTHER: &str = "two/second";

/// One answer of a model: how many characters, the sizes of its calls' results, and whether it has opaque blocks.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub model: &'static str,
    pub chars: usize,
    pub results: Vec<usize>,
    pub native: bool,
}

pub(crate) fn said(model: &'static str, chars: usize) -> Answer {
    Answer {
        model,
        chars,
        results: Vec::new(),
        native: false,
    }
}

pub(crate) fn exchange(text: &str, answers: &[Answer]) -> Exchange {
    let mut steps = Vec::new();
    let mut calls = HashMap::new();
    let continuation_id = ContinuationId::generate();
    let mut push = |kind, body| {
        let n = steps.len() as u32 + 1;
        steps.push(Step {
            continuation_id,
            n,
            kind,
            body,
            at: Timestamp(1_800_000_000_000),
        });
    };
    for answer in answers {
        let ids: Vec<ToolCallId> = answer
            .results
            .iter()
            .map(|_| ToolCallId::generate())
            .collect();
        push(
            StepKind::Model,
            StepBody::Model {
                model: answer.model.to_owned(),
                text: "a".repeat(answer.chars),
                tool_calls: ids.clone(),
                stop: "end_turn".to_owned(),
                usage: Usage::default(),
                latency_ms: 1,
                attempts: 1,
                native: answer.native.then(|| NativeBlocks {
                    family: "anthropic".to_owned(),
                    content: json!([{"type": "thinking", "by": answer.model}]),
                }),
                dropped: Vec::new(),
                notes: Vec::new(),
                cached: None,
            },
        );
        for (id, size) in ids.iter().zip(&answer.results) {
            calls.insert(
                *id,
                ReplayCall {
                    provider_call_id: format!("p-{id}"),
                    name: "read_file".to_owned(),
                    args: json!({"path": "x"}),
                },
            );
            push(
                StepKind::ToolResult,
                StepBody::ToolResult {
                    call_id: *id,
                    provider_call_id: format!("p-{id}"),
                    name: "read_file".to_owned(),
                    state: ToolCallState::Succeeded,
                    content: "r".repeat(*size),
                    is_error: false,
                    duration_ms: Some(1),
                    artifact: None,
                    cached: None,
                },
            );
        }
    }
    Exchange {
        asked_by: "Anna".to_owned(),
        speaker: None,
        text: text.to_owned(),
        attachments: Vec::new(),
        steps,
        calls,
    }
}

pub(crate) fn prefix() -> Prefix {
    let tool = ToolDefinition {
        name: "read_file".to_owned(),
        description: "Reads a file.".to_owned(),
        input_schema: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
    };
    Prefix::new("team", None, false, &[tool])
}

pub(crate) fn target(window: u64) -> Target<'static> {
    Target {
        model: MODEL,
        window,
        max_output: 500,
        tools: true,
        exchanges: 1000,
        history: 0,
        compact: false,
    }
}

pub(crate) fn fit(history: &[Exchange], current: &Exchange, target: &Target<'_>) -> Context {
    fit_with(&MemoryContext::default(), history, current, 1.0, target)
}

pub(crate) fn fit_with(
    memory: &MemoryContext,
    history: &[Exchange],
    current: &Exchange,
    ratio: f64,
    target: &Target<'_>,
) -> Context {
    let material = Material {
        hints: &[],
        prefix: &prefix(),
        memory,
        history,
        unread: 0,
        current,
        ratio,
    };
    build(&material, target).expect("every call has its result")
}

/// The texts of the users, without what is put before them.
pub(crate) fn users(context: &Context) -> Vec<&str> {
    context
        .messages
        .iter()
        .filter_map(|message| match message {
            ModelMessage::User { text, .. } => text.rsplit('\n').next(),
            ModelMessage::Assistant { .. } | ModelMessage::ToolResults { .. } => None,
        })
        .collect()
}

/// Every call has its result right behind it, in order; nothing else is a result.
pub(crate) fn pairs(messages: &[ModelMessage]) {
    let mut open: Vec<String> = Vec::new();
    for message in messages {
        match message {
            ModelMessage::ToolResults { results } => {
                let ids: Vec<String> = results
                    .iter()
                    .map(|result| result.provider_call_id.clone())
                    .collect();
                assert_eq!(ids, open, "results of the calls before them, in order");
                open.clear();
            }
            ModelMessage::Assistant { tool_calls, .. } => {
                assert!(open.is_empty(), "calls without results: {open:?}");
                open = tool_calls
                    .iter()
                    .map(|call| call.provider_call_id.clone())
                    .collect();
            }
            ModelMessage::User { .. } => {
                assert!(open.is_empty(), "calls without results: {open:?}");
            }
        }
    }
    assert!(open.is_empty(), "calls without results: {open:?}");
}

fn answer() -> impl Strategy<Value = Answer> {
    (
        prop_oneof![3 => Just(MODEL), 1 => Just(OTHER)],
        0_usize..3000,
        proptest::collection::vec(0_usize..9000, 0..4),
        any::<bool>(),
    )
        .prop_map(|(model, chars, results, native)| Answer {
            model,
            chars,
            results,
            native,
        })
}

fn exchanges() -> impl Strategy<Value = Vec<Vec<Answer>>> {
    let one = (proptest::collection::vec(answer(), 0..3), 1_usize..200).prop_map(
        |(mut answers, chars)| {
            // A completed exchange ends with an answer without calls.
            answers.push(said(MODEL, chars));
            answers
        },
    );
    proptest::collection::vec(one, 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn every_request_keeps_the_rules(
        past in exchanges(),
        now in proptest::collection::vec(answer(), 0..3),
        window in 600_u64..40_000,
        ratio in 0.3_f64..4.0,
        most in 0_usize..12,
        compact: bool,
        tools: bool,
    ) {
        let history: Vec<Exchange> = past
            .iter()
            .enumerate()
            .map(|(n, answers)| exchange(&format!("question {n}"), answers))
            .collect();
        // Under way: whatever it proposed has its result.
        let mut now = now;
        for answer in &mut now {
            if answer.results.is_empty() {
                answer.results.push(10);
            }
        }
        let current = exchange("question now", &now);
        let target = Target { compact, tools, exchanges: most, ..target(window) };
        let memory = MemoryContext::default();
        let context = fit_with(&memory, &history, &current, ratio, &target);

        pairs(&context.messages);
        let begins = matches!(context.messages.first(), Some(ModelMessage::User { .. }));
        prop_assert!(begins);
        let ends = matches!(context.messages.last(), Some(ModelMessage::Assistant { .. }));
        prop_assert!(!ends);
        prop_assert_eq!(&context, &fit_with(&memory, &history, &current, ratio, &target), "equal inputs, equal bytes");

        // The newest exchanges, without a gap, and the current turn always.
        let asked: Vec<&str> = users(&context).into_iter().filter(|text| text.starts_with("question ")).collect();
        let mut expected: Vec<String> = (0..history.len()).map(|n| format!("question {n}")).collect();
        expected.push("question now".to_owned());
        let kept = asked.len();
        prop_assert_eq!(&asked[..], &expected[expected.len() - kept..]);
        prop_assert!(kept - 1 <= most);
        let said_so = context.dropped.iter().any(|line| line.contains("exchange(s) before"));
        prop_assert_eq!(said_so, kept - 1 < history.len(), "{:?}", context.dropped);

        // It fits, as far as the current turn alone does.
        let alone = fit_with(&memory, &[], &current, ratio, &target);
        let whole = window.saturating_sub(500);
        let budget = if compact { whole / 2 } else { whole };
        if alone.tokens <= budget {
            prop_assert!(context.tokens <= budget, "{} of {budget}", context.tokens);
        } else {
            prop_assert_eq!(kept, 1);
        }
        if !tools {
            for message in &context.messages {
                let plain = match message {
                    ModelMessage::User { .. } => true,
                    ModelMessage::Assistant { tool_calls, .. } => tool_calls.is_empty(),
                    ModelMessage::ToolResults { .. } => false,
                };
                prop_assert!(plain, "{message:?}");
            }
        }
    }

    #[test]
    fn opaque_blocks_go_only_to_who_wrote_them_and_only_while_nobody_else_answered(
        past in exchanges(),
        now in proptest::collection::vec(answer(), 0..3),
    ) {
        let history: Vec<Exchange> = past.iter().map(|answers| exchange("earlier", answers)).collect();
        let current = exchange("now", &now);
        let context = fit(&history, &current, &target(10_000_000));
        // What is expected, from the raw list of answers, newest first.
        let answers: Vec<&Answer> = past.iter().flatten().chain(&now).collect();
        let own = answers.iter().rev().take_while(|answer| answer.model == MODEL);
        let expected = own.filter(|answer| answer.native).count();
        let sent: Vec<&NativeBlocks> = context
            .messages
            .iter()
            .filter_map(|message| match message {
                ModelMessage::Assistant { native, .. } => native.as_ref(),
                ModelMessage::User { .. } | ModelMessage::ToolResults { .. } => None,
            })
            .collect();
        prop_assert_eq!(sent.len(), expected);
        prop_assert!(sent.iter().all(|native| native.content[0]["by"] == MODEL));
        let stripped = answers.iter().filter(|answer| answer.native).count() - expected;
        let note = format!("opaque blocks of {stripped} earlier answer(s)");
        prop_assert_eq!(context.notes.iter().any(|line| line.starts_with(&note)), stripped > 0, "{:?}", context.notes);
    }
}

/// The same exchange with the result of its last call gone.
fn without_last_result(mut exchange: Exchange) -> Exchange {
    let last = exchange
        .steps
        .iter()
        .rposition(|step| matches!(step.body, StepBody::ToolResult { .. }))
        .unwrap();
    exchange.steps.remove(last);
    exchange
}

#[test]
fn a_call_without_its_result_is_never_sent() {
    let called = |text: &str| {
        let answer = Answer {
            results: vec![10, 10],
            ..said(MODEL, 5)
        };
        without_last_result(exchange(text, &[answer, said(MODEL, 3)]))
    };
    let plain = |text: &str| exchange(text, &[said(MODEL, 3)]);
    // In the history: neither it nor anything older, so that no gap is in what is sent.
    let history = [plain("oldest"), called("broken"), plain("newest")];
    let context = fit(&history, &exchange("now", &[]), &target(100_000));
    pairs(&context.messages);
    assert_eq!(users(&context), ["newest", "now"]);
    assert!(
        context
            .dropped
            .iter()
            .any(|why| why.contains("has no result")),
        "{:?}",
        context.dropped
    );
    // In the turn under way: nothing is sent at all.
    let material = Material {
        hints: &[],
        prefix: &prefix(),
        memory: &MemoryContext::default(),
        history: &[],
        unread: 0,
        current: &called("now"),
        ratio: 1.0,
    };
    assert!(build(&material, &target(100_000)).is_none());
}
