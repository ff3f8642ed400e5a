//! What a person asks through a model server, whatever wire format is between: each story is one turn.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Home};

/// The key that the server is given; it must show up nowhere else.
pub const KEY: &str = "sk-peer-0123456789abcdef";

/// A home whose default model is `test-model` of a provider of this kind.
pub fn home(kind: &str, base_url: &str) -> Home {
    home_with_model(kind, base_url, "test-model")
}

/// The same with another model.
pub fn home_with_model(kind: &str, base_url: &str, model: &str) -> Home {
    Home::new(&format!(
        "[model]\ndefault = \"peer/{model}\"\n\n\
         [providers.peer]\nkind = \"{kind}\"\nbase_url = \"{base_url}\"\napi_key_env = \"PEER_KEY\"\n"
    ))
}

/// Its daemon, with the key.
pub fn start(home: &Home) -> Daemon {
    home.daemon_with(&[("PEER_KEY", KEY)])
}

/// Sends a message in a new session; the continuation's id.
pub async fn ask(daemon: &Daemon, text: &str) -> String {
    let session = daemon.session().await;
    daemon.send(&session, text).await
}

/// A turn that needs nobody: its continuation, completed.
pub async fn answered(daemon: &Daemon, text: &str) -> Value {
    let continuation = ask(daemon, text).await;
    daemon.wait_state(&continuation, "completed").await
}

/// The model steps of a continuation, in order.
pub async fn model_steps(daemon: &Daemon, continuation: &Value) -> Vec<Value> {
    let id = continuation["id"].as_str().unwrap();
    let steps = daemon.get(&format!("/v1/continuations/{id}/steps")).await;
    let items = steps["items"]
        .as_array()
        .unwrap_or_else(|| panic!("{steps:#}"));
    items
        .iter()
        .filter(|step| step["kind"] == "model")
        .map(|step| step["body"].clone())
        .collect()
}

/// How many tries the last model step took.
pub async fn attempts(daemon: &Daemon, continuation: &Value) -> u64 {
    let steps = model_steps(daemon, continuation).await;
    steps.last().unwrap()["attempts"].as_u64().unwrap()
}

/// The pending approvals of a continuation by the file they would write, once there are `count`.
pub async fn approvals(daemon: &Daemon, continuation: &str, count: usize) -> Vec<Value> {
    let of_turn = |body: &Value| {
        let mut found: Vec<Value> = body["items"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|approval| approval["continuation_id"] == continuation)
            .cloned()
            .collect();
        found.sort_by_key(|approval| approval["args"]["path"].as_str().map(str::to_owned));
        found
    };
    let body = daemon
        .wait("/v1/approvals?state=pending", "pending approvals", |body| {
            of_turn(body).len() == count
        })
        .await;
    of_turn(&body)
}

/// Decides with a reason or an answer.
pub async fn decide(daemon: &Daemon, approval: &Value, decision: &str, more: Value) {
    let mut body = json!({ "decision": decision, "digest": approval["digest"] });
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    let id = approval["id"].as_str().unwrap();
    daemon
        .post(&format!("/v1/approvals/{id}/decision"), body)
        .await;
}

fn written(home: &Home, name: &str) -> Option<String> {
    std::fs::read_to_string(home.workspace("api").join(name)).ok()
}

/// Text arrives whole; where the server reports usage, it is what is counted.
pub async fn plain(daemon: &Daemon, reports_usage: bool) {
    let done = answered(daemon, "story plain").await;
    assert_eq!(done["response"]["text"], "Hello from the peer: grüße 👋.");
    if reports_usage {
        assert_eq!(done["usage"]["input_tokens"], 11, "{done:#}");
        assert_eq!(done["usage"]["output_tokens"], 7);
    }
}

/// What people said, as the model must read it.
pub const TOLD: [&str; 3] = [
    "not on a Friday",
    "not the second",
    "a person did that already",
];

/// A write waits for a person: allowed, it happens once; denied, it does not and the model reads why.
pub async fn gated(daemon: &Daemon, home: &Home, reads_results: bool) {
    for allow in [false, true] {
        let continuation = ask(daemon, "story gated").await;
        let asked = approvals(daemon, &continuation, 1).await;
        assert_eq!(written(home, "peer.txt"), None, "before anybody decided");
        assert_eq!(asked[0]["tool"], "write_file");
        if allow {
            decide(daemon, &asked[0], "approve", json!({})).await;
        } else {
            decide(
                daemon,
                &asked[0],
                "deny",
                json!({"reason": "not on a Friday"}),
            )
            .await;
        }
        let done = daemon.wait_state(&continuation, "completed").await;
        let call = &done["tool_calls"][0];
        if allow {
            assert_eq!(call["state"], "succeeded", "{done:#}");
            assert_eq!(done["response"]["text"], "It is written.");
            assert_eq!(
                written(home, "peer.txt").as_deref(),
                Some("from the peer\n")
            );
        } else {
            assert_eq!(call["state"], "denied", "{done:#}");
            if reads_results {
                assert_eq!(done["response"]["text"], "It was denied.");
            }
            assert_eq!(written(home, "peer.txt"), None);
        }
    }
}

/// Two parallel calls: one allowed, one denied; both results go back together.
pub async fn mixed(daemon: &Daemon, home: &Home, reads_results: bool) {
    let continuation = ask(daemon, "story mixed").await;
    let asked = approvals(daemon, &continuation, 2).await;
    decide(
        daemon,
        &asked[1],
        "deny",
        json!({"reason": "not the second"}),
    )
    .await;
    decide(daemon, &asked[0], "approve", json!({})).await;
    let done = daemon.wait_state(&continuation, "completed").await;
    if reads_results {
        assert_eq!(
            done["response"]["text"], "The second was denied.",
            "{done:#}"
        );
    }
    let states: Vec<&Value> = done["tool_calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| &call["state"])
        .collect();
    assert_eq!(states, ["succeeded", "denied"]);
    assert_eq!(written(home, "one.txt").as_deref(), Some("1\n"));
    assert_eq!(written(home, "two.txt"), None);
    assert_eq!(model_steps(daemon, &done).await.len(), 2, "one follow-up");
}

/// Three parallel calls: allowed, denied, answered by a person. All three are answered in one follow-up.
pub async fn three(daemon: &Daemon, home: &Home, reads_results: bool) {
    let continuation = ask(daemon, "story three").await;
    let asked = approvals(daemon, &continuation, 3).await;
    decide(daemon, &asked[0], "approve", json!({})).await;
    decide(daemon, &asked[1], "deny", json!({})).await;
    let answer = json!({"answer": "a person did that already"});
    decide(daemon, &asked[2], "answer", answer).await;
    let done = daemon.wait_state(&continuation, "completed").await;
    if reads_results {
        assert_eq!(
            done["response"]["text"], "The third was answered.",
            "{done:#}"
        );
    }
    let found = ["x.txt", "y.txt", "z.txt"].map(|name| written(home, name).is_some());
    assert_eq!(found, [true, false, false]);
    assert_eq!(model_steps(daemon, &done).await.len(), 2, "one follow-up");
}

/// Too many requests with `retry-after: 1`: waited for, then answered.
pub async fn too_fast(daemon: &Daemon) {
    let began = Instant::now();
    let done = answered(daemon, "story too fast").await;
    assert_eq!(done["response"]["text"], "Slow enough.", "{done:#}");
    assert!(
        began.elapsed() >= Duration::from_secs(1),
        "not before the server allowed it"
    );
    assert_eq!(attempts(daemon, &done).await, 2);
}

/// 529 twice, then an answer: three tries.
pub async fn overloaded(daemon: &Daemon) {
    let done = answered(daemon, "story overloaded").await;
    assert_eq!(
        done["response"]["text"], "Not overloaded any more.",
        "{done:#}"
    );
    assert_eq!(attempts(daemon, &done).await, 3);
}
