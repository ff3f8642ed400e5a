//! What the three built-in hooks add to a tool call and to a model call, without any program of an operator. The limit
//! is 50 µs a call.
//!
//! Run it alone on a quiet machine: `cargo bench --bench hooks`.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)] // a bench is a test

mod harness;

use std::collections::BTreeMap;
use std::time::Duration;

use leverframe::clock::Clock;
use leverframe::config::settings::{HookSettings, RateLimits};
use leverframe::engine::hooks::Hooks;
use leverframe::engine::hooks::document::About;
use leverframe::protocol::approval::Requester;
use leverframe::protocol::enums::HookPoint;
use leverframe::protocol::ids::{ContinuationId, SessionId, ToolCallId};
use leverframe::text::redact::Redactor;
use serde_json::json;

/// The most that hooks may add to a call.
const LIMIT: Duration = Duration::from_micros(50);

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let redactor = Redactor::default();
    for n in 0..10 {
        redactor.register(&format!("secret-number-{n}-of-the-bench"));
    }
    // Limits that count every call and refuse none of a minute's.
    let most = Some(u32::MAX);
    let settings = HookSettings {
        commands: BTreeMap::new(),
        rate_limit: RateLimits {
            messages: most,
            channel_messages: most,
            tool_calls: most,
            channel_tool_calls: most,
            per_tool: BTreeMap::from([("write_file".to_owned(), u32::MAX)]),
        },
    };
    let hooks = Hooks::new(&settings, Vec::new(), Clock::System, redactor);
    let requester = Requester {
        id: "telegram:123456".to_owned(),
        display: "Anna".to_owned(),
        person: Some("anna".to_owned()),
    };
    let about = About {
        channel: "team",
        conversation: "1234",
        requester: &requester,
        session_id: Some(SessionId::generate()),
        continuation_id: Some(ContinuationId::generate()),
        call: Some((ToolCallId::generate(), "write_file")),
        model: None,
    };
    let args =
        json!({"path": "notes/today.md", "content": "The tide table for tomorrow.\n".repeat(10)});
    let call = harness::measure("hooks: a tool call, three built in", || {
        let asked = hooks.ask(HookPoint::BeforeToolCall, false, &about, args.clone());
        let asked = runtime.block_on(asked);
        assert!(asked.stop.is_none());
        let result = hooks.clean_result("wrote notes/today.md (290 bytes)");
        (asked, result)
    });
    let mut secret = args.clone();
    secret["path"] = "notes/secret-number-7-of-the-bench.md".into();
    let found = harness::measure("hooks: the same, a secret taken out and audited", || {
        let asked = hooks.ask(HookPoint::BeforeToolCall, false, &about, secret.clone());
        let asked = runtime.block_on(asked);
        assert_eq!(asked.audited.len(), 1);
        asked
    });
    let about = About {
        call: None,
        model: Some("local/m"),
        ..about
    };
    let text = json!("When does the ferry from berth 7 leave tomorrow, and is there a later one?");
    let ask = harness::measure("hooks: a model call, two built in", || {
        let asked = hooks.ask(HookPoint::BeforeLlmCall, false, &about, text.clone());
        runtime.block_on(asked)
    });
    let load = std::fs::read_to_string("/proc/loadavg").unwrap();
    let most = call.max(found).max(ask);
    println!(
        "limit {LIMIT:?}: {}; load {}",
        if most <= LIMIT { "held" } else { "MISSED" },
        load.split_whitespace().next().unwrap_or_default()
    );
    assert!(most <= LIMIT);
}
