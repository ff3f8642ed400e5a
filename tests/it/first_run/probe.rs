//! Which answers make a server, and how long anything may take.

use std::time::{Duration, Instant};

use leverframe::config::environment::Environment;
use leverframe::model::discovery::candidate::{Candidate, LIMIT, ServerKind, Verdict};
use leverframe::model::discovery::{ollama_root, probe, usual};
use leverframe::protocol::models::FoundServer;
use serde_json::{Value, json};

use crate::support::fake_http::{FakeHttp, Reply};

const ALL: [ServerKind; 4] = [
    ServerKind::Ollama,
    ServerKind::LmStudio,
    ServerKind::LlamaCpp,
    ServerKind::Vllm,
];

/// A server that answers each path with this, and every other one with a 404.
fn serving(paths: Vec<(&'static str, Value)>) -> FakeHttp {
    FakeHttp::start(move |request| {
        let found = paths.iter().find(|(path, _)| *path == request.path);
        match found {
            Some((_, value)) => Reply::Json(200, value.clone()),
            None => Reply::Json(404, json!({"error": "nothing here"})),
        }
    })
}

fn candidate(kind: ServerKind, server: &FakeHttp) -> Candidate {
    Candidate {
        kind,
        root: server.url().to_owned(),
    }
}

async fn verdict(kind: ServerKind, server: &FakeHttp) -> Verdict {
    probe(&[candidate(kind, server)]).await.remove(0)
}

async fn found(kind: ServerKind, server: &FakeHttp) -> FoundServer {
    match verdict(kind, server).await {
        Verdict::Found(server) => server,
        other => panic!("{kind:?}: {other:?}"),
    }
}

#[tokio::test]
async fn each_server_is_known_by_its_own_shape() {
    let ollama = serving(vec![(
        "/api/tags",
        json!({"models": [
            {"name": "qwen3:8b", "model": "qwen3:8b", "capabilities": ["completion", "tools"]},
            {"name": "gemma3:4b", "capabilities": ["completion", "vision"]},
            {"name": "gpt-oss:120b-cloud", "remote_host": "https://ollama.com:443"},
        ]}),
    )]);
    let server = found(ServerKind::Ollama, &ollama).await;
    assert_eq!((server.name.as_str(), server.models.len()), ("ollama", 3));
    assert_eq!(server.models[0].tools, Some(true));
    assert_eq!(server.models[1].tools, Some(false));
    assert_eq!(
        (server.models[2].tools, server.models[2].elsewhere),
        (None, true)
    );
    assert!(!server.models[0].elsewhere);

    let listed = json!({"models": [
        {"type": "llm", "key": "qwen/qwen3.5-9b", "max_context_length": 262_144,
         "loaded_instances": [{"id": "x", "config": {"context_length": 4096}}],
         "capabilities": {"vision": true, "trained_for_tool_use": true}},
        {"type": "embedding", "key": "nomic", "max_context_length": 2048},
        {"type": "llm", "key": "google/gemma-3-4b", "loaded_instances": [],
         "capabilities": {"trained_for_tool_use": false}},
    ]});
    let studio = serving(vec![("/api/v1/models", listed)]);
    let server = found(ServerKind::LmStudio, &studio).await;
    let ids: Vec<&str> = server
        .models
        .iter()
        .map(|model| model.id.as_str())
        .collect();
    assert_eq!(ids, ["qwen/qwen3.5-9b", "google/gemma-3-4b"]);
    assert_eq!(
        server.models[0].context_window,
        Some(4096),
        "what is loaded, not what is possible"
    );
    assert_eq!(
        (server.models[0].tools, server.models[1].tools),
        (Some(true), None)
    );
    assert_eq!(server.base_url, format!("{}/v1", studio.url()));
    let older = serving(vec![(
        "/api/v0/models",
        json!({"object": "list", "data": [{"id": "m", "type": "vlm", "state": "loaded", "loaded_context_length": 8192}]}),
    )]);
    let server = found(ServerKind::LmStudio, &older).await;
    assert_eq!(server.models[0].context_window, Some(8192));

    let llama = serving(vec![(
        "/props",
        json!({"default_generation_settings": {"n_ctx": 65_536}, "model_path": "/models/Qwen3-8B-Q4_K_M.gguf",
            "chat_template_caps": {"supports_tools": true}}),
    )]);
    let server = found(ServerKind::LlamaCpp, &llama).await;
    assert_eq!(server.models[0].id, "Qwen3-8B-Q4_K_M.gguf");
    assert_eq!(
        (server.models[0].context_window, server.models[0].tools),
        (Some(65_536), Some(true))
    );

    let vllm = serving(vec![(
        "/v1/models",
        json!({"object": "list", "data": [{"id": "org/m", "object": "model", "owned_by": "vllm", "max_model_len": 32_768}]}),
    )]);
    let server = found(ServerKind::Vllm, &vllm).await;
    assert_eq!(
        (
            server.models[0].id.as_str(),
            server.models[0].context_window
        ),
        ("org/m", Some(32_768))
    );
}

#[tokio::test]
async fn a_look_alike_is_not_the_server() {
    // LM Studio answers any path with 200 and an error.
    let studio = FakeHttp::start(|request| {
        let words = format!(
            "Unexpected endpoint or method. ({} {})",
            request.method, request.path
        );
        Reply::Json(200, json!({"error": words}))
    });
    let page = FakeHttp::start(|_| {
        Reply::Raw(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n<html>my homepage</html>".to_vec(),
        )
    });
    let redirect = FakeHttp::start(|_| {
        Reply::Raw(
            b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n"
                .to_vec(),
        )
    });
    let broken = FakeHttp::start(|_| Reply::Reset);
    let other_list =
        json!({"object": "list", "data": [{"id": "m", "object": "model", "owned_by": "library"}]});
    let wrong_shapes = serving(vec![
        ("/api/tags", json!({"models": "none"})),
        (
            "/api/v1/models",
            json!({"models": [{"name": "not LM Studio's"}]}),
        ),
        ("/api/v0/models", other_list.clone()),
        ("/props", json!({"default_generation_settings": 3})),
        ("/v1/models", other_list),
    ]);
    let empty = serving(vec![
        ("/api/tags", json!([])),
        ("/props", json!(null)),
        ("/v1/models", json!({"object": "list", "data": []})),
    ]);
    for (what, server) in [
        ("LM Studio's refusal", &studio),
        ("a page", &page),
        ("a redirect", &redirect),
        ("a reset", &broken),
        ("other shapes", &wrong_shapes),
        ("nothing in it", &empty),
    ] {
        for kind in ALL {
            assert_eq!(
                verdict(kind, server).await,
                Verdict::Other,
                "{what} as {kind:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_closed_port_is_closed_and_a_slow_server_costs_no_more_than_the_limit() {
    assert!(LIMIT <= Duration::from_millis(300));
    let gone = FakeHttp::start(|_| Reply::Hang);
    gone.refuse(true);
    for kind in ALL {
        let began = Instant::now();
        assert_eq!(verdict(kind, &gone).await, Verdict::Closed, "{kind:?}");
        assert!(began.elapsed() < Duration::from_secs(1));
    }
    let hanging = FakeHttp::start(|_| Reply::Hang);
    let late = FakeHttp::start(|_| Reply::Late(Duration::from_secs(5), 200, json!({"models": []})));
    // Ten of them at once take as long as one, not as long as ten.
    let mut candidates: Vec<Candidate> = ALL.map(|kind| candidate(kind, &hanging)).to_vec();
    candidates.extend(ALL.map(|kind| candidate(kind, &late)));
    candidates.extend([ServerKind::Ollama, ServerKind::Vllm].map(|kind| candidate(kind, &late)));
    let began = Instant::now();
    let verdicts = probe(&candidates).await;
    let took = began.elapsed();
    assert!(
        verdicts.iter().all(|verdict| *verdict == Verdict::Slow),
        "{verdicts:?}"
    );
    assert!(took >= LIMIT && took < Duration::from_secs(2), "{took:?}");
}

#[tokio::test]
async fn nobody_outside_this_machine_is_asked() {
    let root = "http://192.0.2.7:11434".to_owned();
    let began = Instant::now();
    let verdicts = probe(&[Candidate {
        kind: ServerKind::Ollama,
        root,
    }])
    .await;
    assert_eq!(verdicts, [Verdict::Elsewhere]);
    assert!(began.elapsed() < LIMIT, "it was asked");
}

#[test]
fn ollama_host_in_every_form() {
    for (given, expected) in [
        ("127.0.0.1:11500", "http://127.0.0.1:11500"),
        ("127.0.0.1", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:8080", "http://127.0.0.1:8080"),
        (":8081", "http://127.0.0.1:8081"),
        ("localhost", "http://localhost:11434"),
        ("http://localhost:11434/", "http://localhost:11434"),
        ("http://127.0.0.1:80", "http://127.0.0.1"),
        ("https://gpu.example:443/x", "https://gpu.example"),
        ("gpu.example", "http://gpu.example:11434"),
        ("[::]:11434", "http://127.0.0.1:11434"),
        ("::1", "http://[::1]:11434"),
        ("[::1]:9000", "http://[::1]:9000"),
        ("\"127.0.0.1:9\"", "http://127.0.0.1:9"),
    ] {
        assert_eq!(ollama_root(given).as_deref(), Some(expected), "{given}");
    }
    for wrong in ["ftp://x", "http://[", "a b", "unix:///x"] {
        assert_eq!(ollama_root(wrong), None, "{wrong}");
    }
    let environment: Environment = [("OLLAMA_HOST", "0.0.0.0:7000")].into_iter().collect();
    let roots: Vec<String> = usual(&environment).into_iter().map(|c| c.root).collect();
    assert_eq!(
        roots,
        [
            "http://127.0.0.1:7000",
            "http://127.0.0.1:1234",
            "http://127.0.0.1:8080",
            "http://127.0.0.1:8000"
        ]
    );
}
