//! What is done for every call, character and event: policy, `text::untrusted`, the event-stream reader, the decoders.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)] // a bench is a test

mod harness;

use std::fmt::Write as _;
use std::time::Duration;

use futures_util::StreamExt as _;
use leverframe::clock::Timestamp;
use leverframe::engine::policy::{CallFacts, PolicyInput, verdict};
use leverframe::model::decode::Decode;
use leverframe::model::exchange::LIMITS;
use leverframe::model::{anthropic, gemini, ollama, openai_chat, openai_responses};
use leverframe::protocol::enums::{Access, Autonomy, Effect, Risk};
use leverframe::protocol::ids::ApprovalId;
use leverframe::protocol::policy::Policy;
use leverframe::store::queries::approvals::Grant;
use leverframe::text::framing::events;
use leverframe::text::redact::Redactor;
use leverframe::text::untrusted::{reveal, reveal_line};
use leverframe::tools::script::simple_commands;

fn main() {
    policy();
    scripts();
    untrusted();
    event_stream();
    hostile_event();
    decoders();
}

/// The longest way through: nothing listed matches, the level decides.
fn policy() {
    let facts = CallFacts {
        tool: "search_files".to_owned(),
        access: Access::ReadLocal,
        effect: Effect::ReadOnly,
        risk: Risk::Low,
        args_digest: "d".repeat(64),
        always_asks: None,
        taint: Vec::new(),
    };
    let list = |prefix: &str| (0..20).map(|n| format!("{prefix}_{n}")).collect();
    let circumstances = PolicyInput {
        policy: Policy {
            version: 7,
            autonomy: Autonomy::SemiAuto,
            expires_at: None,
            reverts_to: None,
            auto_approve: list("allowed"),
            block: list("blocked"),
            always_ask: list("asked"),
        },
        also: None,
        held: false,
        grants: (0..20)
            .map(|n| Grant {
                tool: "write_file".to_owned(),
                args_digest: format!("{n:064}"),
                requester_id: "telegram:1".to_owned(),
                by: "anna".to_owned(),
                approval_id: ApprovalId::from_bytes([7; 16]),
                continuation_id: None,
                expires_at: None,
            })
            .collect(),
        rules: Vec::new(),
        now: Timestamp(0),
        continuation_id: None,
        requester_id: "telegram:1".to_owned(),
        taint_guard_in_full: true,
        ceiling: None,
    };
    harness::measure("policy: verdict, 60 list entries, 20 grants", || {
        verdict(&facts, &circumstances)
    });
}

/// The limit is 50 µs for what agents usually write.
fn scripts() {
    let usual = "cargo test --locked 2>&1 | tail -n 20 && git status --short; wc -l src/main.rs";
    harness::measure("scripts: four commands taken apart", || {
        simple_commands(usual).map_or(0, |commands| commands.len())
    });
    let hostile = "(".repeat(8000);
    harness::measure("scripts: 8 KB of brackets refused", || {
        simple_commands(&hostile).is_none()
    });
}

fn untrusted() {
    let plain = "The tide table for tomorrow is loaded; berth 7 is free from noon.\n".repeat(1000);
    let hostile =
        "tide \u{202e}elbat\u{202c} \u{1b}[2Jfor\u{200b} tomorrow \u{e0041}\n".repeat(1000);
    for (name, text) in [("plain", &plain), ("hostile", &hostile)] {
        let label = format!("untrusted: reveal {} KB, {name}", text.len() / 1000);
        let time = harness::measure(&label, || reveal(text).len());
        harness::throughput("", text.len(), time);
    }
    harness::measure("untrusted: reveal_line of 64 characters", || {
        reveal_line("The tide table for tomorrow is loaded; berth 7 is free from noon.").len()
    });
    let redactor = Redactor::default();
    for n in 0..10 {
        redactor.register(&format!("secret-number-{n}-of-the-bench"));
    }
    let time = harness::measure("redact: 66 KB, 10 secrets known", || {
        redactor.redact(&plain).len()
    });
    harness::throughput("", plain.len(), time);
}

/// Small deltas as providers send them, and one event of a megabyte (quadratic without the guard).
fn event_stream() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let mut deltas = String::new();
    for n in 0..2000 {
        let _ = write!(
            deltas,
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"word {n} \"}}}}]}}\n\n"
        );
    }
    let large = format!("data: {}\n\n", "x".repeat(1_000_000));
    for (name, body) in [("2000 deltas", &deltas), ("one event of 1 MB", &large)] {
        let label = format!("event stream: {name}");
        let time = harness::measure(&label, || {
            runtime.block_on(async {
                let pieces = body.as_bytes().chunks(1400).map(Ok::<_, std::io::Error>);
                let pieces = futures_util::stream::iter(pieces);
                let events = events(pieces, Duration::from_secs(60), LIMITS);
                let mut events = std::pin::pin!(events);
                let mut seen = 0;
                while let Some(event) = events.next().await {
                    seen += event.unwrap().data.len();
                }
                seen
            })
        });
        harness::throughput("", body.len(), time);
    }
}

/// One event of 16 MiB, as a hostile server sends it: it is given up at the cap.
fn hostile_event() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let body = format!("data: {}\n\n", "x".repeat(16 * 1024 * 1024));
    harness::measure("event stream: one event of 16 MiB, refused", || {
        runtime.block_on(async {
            let pieces = body.as_bytes().chunks(8192).map(Ok::<_, std::io::Error>);
            let events = events(
                futures_util::stream::iter(pieces),
                Duration::from_secs(60),
                LIMITS,
            );
            let mut events = std::pin::pin!(events);
            let first = events.next().await;
            assert!(matches!(first, Some(Err(_))), "the cap");
        });
    });
}

/// 2000 deltas of text through each decoder, framing not counted.
fn decoders() {
    let texts = |make: fn(usize) -> String| (0..2000).map(make).collect::<Vec<String>>();
    let chat = texts(|n| {
        format!(
            "{{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"word {n} \"}},\"finish_reason\":null}}]}}"
        )
    });
    decoder("chat completions", &chat, || {
        openai_chat::decoder::Decoder::new(0)
    });
    let mut messages = texts(|n| {
        format!(
            "{{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"word {n} \"}}}}"
        )
    });
    let start = "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}";
    messages.insert(0, start.to_owned());
    decoder("messages", &messages, || {
        anthropic::decoder::Decoder::new(0)
    });
    let responses = texts(|n| {
        format!(
            "{{\"type\":\"response.output_text.delta\",\"sequence_number\":{n},\"item_id\":\"msg_1\",\"output_index\":0,\"content_index\":0,\"delta\":\"word {n} \"}}"
        )
    });
    decoder("responses", &responses, || {
        openai_responses::decoder::Decoder::new(0)
    });
    let generated = texts(|n| {
        format!(
            "{{\"candidates\":[{{\"content\":{{\"parts\":[{{\"text\":\"word {n} \"}}],\"role\":\"model\"}},\"index\":0}}],\"usageMetadata\":{{\"promptTokenCount\":20,\"candidatesTokenCount\":{n},\"totalTokenCount\":{n}}},\"modelVersion\":\"gemini\"}}"
        )
    });
    decoder("generateContent", &generated, || {
        gemini::decoder::Decoder::new(0)
    });
    let lines = texts(|n| {
        format!(
            "{{\"model\":\"m\",\"created_at\":\"2026-11-22T00:00:00.000000Z\",\"message\":{{\"role\":\"assistant\",\"content\":\"word {n} \"}},\"done\":false}}"
        )
    });
    decoder("ollama lines", &lines, || ollama::decoder::Decoder::new(0));
}

fn decoder<D: Decode>(name: &str, events: &[String], make: impl Fn() -> D) {
    let bytes: usize = events.iter().map(String::len).sum();
    let label = format!("decoder: {name}, {} deltas", events.len());
    let time = harness::measure(&label, || {
        let mut decoder = make();
        let told = events
            .iter()
            .map(|event| decoder.data(event).unwrap().len());
        told.sum::<usize>()
    });
    harness::throughput("", bytes, time);
}
