//! The stories against aimock, on each of its wire formats that we speak.
//!
//! Checks nothing, loudly, where aimock is not installed.

use serde_json::Value;

use crate::end_to_end_models::stories;
use crate::support::aimock::Aimock;
use crate::support::daemon::{Daemon, Home};

/// A wire format as aimock serves it.
struct Format {
    /// `kind` of the provider.
    kind: &'static str,
    /// What comes behind aimock's address.
    base: &'static str,
    /// Where requests arrive.
    path: &'static str,
    /// The header that carries the key.
    key_header: &'static str,
    /// Whether aimock reports the usage of its fixtures there.
    reports_usage: bool,
    /// Whether its fixtures can tell results apart: of Responses it reads those that are plain strings, and ours are
    /// lists as long as breakpoints of the prompt cache are sent.
    reads_results: bool,
}

async fn everything(format: Format) {
    let Some(peer) = Aimock::start().await else {
        return;
    };
    let home = stories::home(format.kind, &format!("{}{}", peer.base, format.base));
    let daemon = stories::start(&home);

    stories::plain(&daemon, format.reports_usage).await;
    stories::gated(&daemon, &home, format.reads_results).await;
    stories::mixed(&daemon, &home, format.reads_results).await;
    stories::three(&daemon, &home, format.reads_results).await;
    stories::too_fast(&daemon).await;
    stories::overloaded(&daemon).await;
    one_shot(&daemon, &peer).await;
    cut(&daemon).await;
    keys(&peer, &format, &home).await;
}

async fn one_shot(daemon: &Daemon, peer: &Aimock) {
    peer.fail_once(503, "just once").await;
    let done = stories::answered(daemon, "story one shot").await;
    assert_eq!(done["response"]["text"], "After one failure.", "{done:#}");
    assert_eq!(stories::attempts(daemon, &done).await, 2);
}

/// The socket is cut after some text was shown: no second beginning is shown by itself, and what a person lets go
/// on is answered once.
async fn cut(daemon: &Daemon) {
    let continuation = stories::ask(daemon, "story cut").await;
    let path = format!("/v1/continuations/{continuation}");
    let ended = daemon
        .wait(&path, "it stops", |body| {
            body["state"] != "running" && body["state"] != "streaming" && body["state"] != "pending"
        })
        .await;
    assert_eq!(ended["state"], "interrupted", "{ended:#}");
    daemon
        .post(&format!("{path}/resume"), serde_json::json!({}))
        .await;
    let done = daemon.wait_state(&continuation, "completed").await;
    assert_eq!(done["response"]["text"], "This text is whole.");
}

/// The key went to the server in its header, with every request, and nowhere else.
async fn keys(peer: &Aimock, format: &Format, home: &Home) {
    let journal = peer.journal(format.path).await;
    assert!(journal.len() >= 14, "{} requests", journal.len());
    for entry in &journal {
        assert_eq!(
            entry["headers"][format.key_header], "[REDACTED]",
            "the key of {entry:#}"
        );
        check_pairs(entry);
    }
    let text = Value::Array(journal).to_string();
    for told in stories::TOLD {
        assert!(text.contains(told), "{told:?} reached the model");
    }
    assert!(!text.contains(stories::KEY), "in a body or path");
    assert!(!home.log().contains(stories::KEY), "in the log");
    let mut places = vec![home.data()];
    while let Some(place) = places.pop() {
        for entry in std::fs::read_dir(place).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                places.push(path);
            } else if let Ok(bytes) = std::fs::read(&path) {
                let found = bytes
                    .windows(stories::KEY.len())
                    .any(|window| window == stories::KEY.as_bytes());
                assert!(!found, "{}", path.display());
            }
        }
    }
}

/// As far as aimock keeps requests in the form of chat messages: each call has exactly one result, right behind.
fn check_pairs(entry: &Value) {
    let mut open: Vec<&str> = Vec::new();
    for message in entry["body"]["messages"].as_array().into_iter().flatten() {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            // Ollama's own format has no ids: what comes first is answered first.
            let next = open.first().copied();
            assert!(
                next == Some(id) || (id.is_empty() && next.is_some()),
                "in order, once: {entry:#}"
            );
            open.remove(0);
            continue;
        }
        let calls = message["tool_calls"].as_array();
        // From the Responses API each call is a message of its own.
        assert!(
            open.is_empty() || calls.is_some_and(|calls| !calls.is_empty()),
            "calls without result: {entry:#}"
        );
        for call in calls.into_iter().flatten() {
            open.push(call["id"].as_str().unwrap_or_default());
        }
    }
    assert!(open.is_empty(), "calls without result: {entry:#}");
}

#[tokio::test]
async fn anthropic_messages() {
    everything(Format {
        kind: "anthropic",
        base: "",
        path: "/v1/messages",
        key_header: "x-api-key",
        reports_usage: true,
        reads_results: true,
    })
    .await;
}

#[tokio::test]
async fn chat_completions() {
    everything(Format {
        kind: "openai-chat",
        base: "/v1",
        path: "/v1/chat/completions",
        key_header: "authorization",
        reports_usage: true,
        reads_results: true,
    })
    .await;
}

#[tokio::test]
async fn responses() {
    everything(Format {
        kind: "openai-responses",
        base: "/v1",
        path: "/v1/responses",
        key_header: "authorization",
        reports_usage: true,
        reads_results: false,
    })
    .await;
}

#[tokio::test]
async fn gemini() {
    everything(Format {
        kind: "gemini",
        base: "",
        path: "/v1beta/models/test-model",
        key_header: "x-goog-api-key",
        reports_usage: true,
        reads_results: true,
    })
    .await;
}

/// Newline-delimited JSON; aimock's counts are always 0 there, so ours are estimates.
#[tokio::test]
async fn ollama() {
    everything(Format {
        kind: "ollama",
        base: "",
        path: "/api/chat",
        key_header: "authorization",
        reports_usage: false,
        reads_results: true,
    })
    .await;
}

/// OpenRouter's own paths: chat completions with its extras.
#[tokio::test]
async fn open_router() {
    everything(Format {
        kind: "openai-chat",
        base: "/api/v1",
        path: "/api/v1/chat/completions",
        key_header: "authorization",
        reports_usage: true,
        reads_results: true,
    })
    .await;
}
