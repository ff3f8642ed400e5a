//! Routes, bodies, problems and the document that describes them.

use std::collections::BTreeSet;

use leverframe::api::events::KINDS;
use leverframe::api::openapi;
use leverframe::api::router::table;
use leverframe::protocol::enums::ApprovalState;
use leverframe::protocol::ids::RuleId;
use leverframe::protocol::problem::{Problem, ProblemKind};
use leverframe::protocol::request::{
    Answer, Command, Decide, GetOnCall, ListAgentJobs, ListContinuations, ListDeliveries,
    ListSessions, Outcome, Query,
};

use crate::api_http::fake::FakeClient;
use crate::api_http::samples;
use crate::api_http::samples_datasets;
use crate::api_http::samples_memory;
use crate::api_http::samples_traffic;
use crate::api_http::server::Server;

/// A path with an id of the right kind in it.
fn filled(path: &str) -> String {
    let id = if path.starts_with("/v1/rules/") {
        RuleId::from_bytes([1; 16]).to_string()
    } else {
        samples::session_id().to_string()
    };
    path.replace("{id}", &id)
}

#[tokio::test]
async fn every_route_of_the_document_exists_and_takes_exactly_its_fields() {
    let server = Server::start(FakeClient::new()).await;
    let document = server.call("GET /openapi.json", "").await.json();
    let mut described = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            described.insert((method.to_uppercase(), path.clone()));
            let Some(body) = operation.get("requestBody") else {
                continue;
            };
            let schema = &body["content"]["application/json"]["schema"];
            // A file as it is.
            if schema.is_null() {
                continue;
            }
            // The serialised query: which fields there are depends on its name.
            if schema["oneOf"].is_array() {
                continue;
            }
            // Requests of clients of OpenAI have more than we know.
            if schema["additionalProperties"] == true {
                continue;
            }
            let line = format!("{} {}", method.to_uppercase(), filled(path));
            let detail = server.call(&line, r#"{"zzz":1}"#).await.json()["detail"].to_string();
            assert!(detail.contains("zzz"), "{line}: {detail}");
            let named: BTreeSet<&str> = detail
                .split('`')
                .skip(1)
                .step_by(2)
                .filter(|name| *name != "zzz")
                .collect();
            let listed: BTreeSet<&str> = schema["properties"]
                .as_object()
                .into_iter()
                .flat_map(|fields| fields.keys().map(String::as_str))
                .collect();
            assert_eq!(named, listed, "{line}: {detail}");
        }
    }
    let routed: BTreeSet<(String, String)> = table()
        .iter()
        .map(|route| (route.method.as_str().to_owned(), route.path.to_owned()))
        .collect();
    assert_eq!(described, routed);
}

#[tokio::test]
async fn required_fields_of_the_table_are_required_by_the_routes() {
    let server = Server::start(FakeClient::new()).await;
    let document = openapi::document(table());
    for route in table() {
        let method = route.method.as_str().to_ascii_lowercase();
        let body = &document["paths"][route.path][&method]["requestBody"];
        let schema = &body["content"]["application/json"]["schema"];
        if !schema["properties"].is_object() {
            continue;
        }
        let path = filled(route.path);
        let reply = server
            .call(&format!("{} {path}", route.method.as_str()), "{}")
            .await;
        let missing = reply.body.contains("missing field");
        assert_eq!(missing, body["required"] == true, "{path}: {}", reply.body);
    }
}

#[tokio::test]
async fn decisions_answer_with_their_status_and_the_winner() {
    let fake = FakeClient::new();
    let server = Server::start(fake.clone()).await;
    let line = format!("POST /v1/approvals/{}/decision", samples::approval_id());
    let body = r#"{"decision":"approve","scope":"once","digest":"ab"}"#;
    fake.will(Ok(Outcome::Decide(samples::approval(
        ApprovalState::Approved,
    ))));
    let reply = server.call(&line, body).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.json()["state"], "approved");
    match fake.last_envelope().command {
        Command::Decide(Decide {
            approval_id,
            decision,
        }) => {
            assert_eq!(approval_id, samples::approval_id());
            assert_eq!(decision.digest, "ab");
        }
        other => panic!("{other:?}"),
    }
    for (kind, status) in [
        (ProblemKind::Conflict, 409),
        (ProblemKind::Gone, 410),
        (ProblemKind::Forbidden, 403),
        (ProblemKind::NotOffered, 422),
        (ProblemKind::NotFound, 404),
    ] {
        fake.will(Err(Problem {
            winner: (kind == ProblemKind::Conflict).then(|| Box::new(samples::decision())),
            ..Problem::new(kind, "title", "detail").hint("do this")
        }));
        let reply = server.call(&line, body).await;
        assert_eq!(reply.status, status);
        let problem = reply.json();
        assert_eq!(problem["hint"], "do this");
        assert!(
            problem["type"]
                .as_str()
                .unwrap()
                .starts_with("urn:leverframe:problem:")
        );
        assert_eq!(
            problem["winner"]["by"] == "anna",
            kind == ProblemKind::Conflict
        );
    }
}

#[tokio::test]
async fn bad_requests_name_line_field_and_allowed_words() {
    let server = Server::start(FakeClient::new()).await;
    let decision = format!("POST /v1/approvals/{}/decision", samples::approval_id());
    let cases: &[(&str, &str, &[&str])] = &[
        (
            &decision,
            "{\n \"decision\": \"maybe\",\n \"digest\": \"\"}",
            &["line 2", "`decision`", "approve"],
        ),
        (&decision, "{\"decision\":", &["line 1", "column 12"]),
        (&decision, r#"{"decision":"deny"}"#, &["`digest`"]),
        (
            &decision,
            r#"{"decision":"deny","digest":"","minutes":-1}"#,
            &["`minutes`"],
        ),
        (
            &decision,
            r#"{"decision":"deny","digest":""} x"#,
            &["trailing"],
        ),
        (
            "POST /v1/ask",
            r#"{"text":"x","budgets":{"max_steps":"x"}}"#,
            &["budgets.max_steps"],
        ),
        (
            "GET /v1/continuations?state=done",
            "",
            &["`state`", "awaiting_approval"],
        ),
        ("GET /v1/approvals?limit=0", "", &["`limit`", "1 to 500"]),
        (
            "GET /v1/approvals?limit=5&limit=6",
            "",
            &["`limit`", "twice"],
        ),
        ("GET /v1/approvals?stat=pending", "", &["`stat`", "state"]),
        ("GET /v1/approvals/ses_1", "", &["`apr_`"]),
        (
            "GET /v1/channels/team/what-if?autonomy=some",
            "",
            &["`autonomy`", "semi_auto"],
        ),
        ("DELETE /v1/sessions/x", "{}", &["no request body"]),
    ];
    for (line, body, words) in cases {
        let reply = server.call(line, body).await;
        assert_eq!(reply.status, 400, "{line}: {}", reply.body);
        let detail = reply.json()["detail"].as_str().unwrap().to_owned();
        for word in *words {
            assert!(detail.contains(word), "{line}: {word} not in {detail}");
        }
    }
    assert_eq!(server.call("GET /nope", "").await.status, 404);
    assert_eq!(server.call("DELETE /v1/channels", "").await.status, 405);
    let long = format!(r#"{{"text":"{}"}}"#, "x".repeat(28 * 1024 * 1024));
    assert_eq!(server.call("POST /v1/ask", &long).await.status, 413);
}

#[tokio::test]
async fn an_attachment_without_content_is_refused() {
    let fake = FakeClient::new();
    let server = Server::start(fake.clone()).await;
    let reply = server
        .call("POST /v1/ask", r#"{"text":"x","attachments":[{}]}"#)
        .await;
    assert_eq!(reply.status, 400);
    assert!(fake.envelopes.lock().unwrap().is_empty());
}

#[tokio::test]
async fn reading_routes_become_the_query_they_name() {
    let fake = FakeClient::new();
    let server = Server::start(fake.clone()).await;
    let filter = format!(
        "scope=session&session={}&channel=team&state=proposed&person=telegram%3A1&pinned=false",
        samples::session_id()
    );
    let paths = [
        "snapshot".to_owned(),
        String::new(),
        "sessions?state=ended&channel=team&prefix=token%3Aci%23&limit=7&cursor=c".to_owned(),
        format!("sessions/{}", samples::session_id()),
        format!(
            "sessions/{}/transcript?before=9&limit=10",
            samples::session_id()
        ),
        format!(
            "continuations?state=running&session={}&limit=7&cursor=c",
            samples::session_id()
        ),
        format!("continuations/{}", samples::continuation_id()),
        format!("continuations/{}/steps", samples::continuation_id()),
        "approvals?state=pending".to_owned(),
        format!("approvals/{}", samples::approval_id()),
        "channels".to_owned(),
        "channels/team".to_owned(),
        "channels/team/what-if?autonomy=full&limit=20".to_owned(),
        "outbox?state=unknown&limit=7&cursor=c".to_owned(),
        format!("outbox/{}", samples::outbox_id()),
        format!("tool-calls/{}/why", samples::call_id()),
        format!("summary?since={}", samples::at()),
        "pairings?state=accepted".to_owned(),
        "leftovers?all=true".to_owned(),
        format!(
            "stats?since={}&until={}&step=hour&by=channel",
            samples::at(),
            samples::at().plus_seconds(7200)
        ),
        "file-changes".to_owned(),
        format!("tool-calls/{}/diff", samples::call_id()),
        "doctor?check=true".to_owned(),
        format!(
            "audit?since={}&action=approval.decided&oldest_first=true&limit=7",
            samples::at()
        ),
        format!("audit/verify?anchor=3:{}", "ab".repeat(32)),
        "emergency-stop".to_owned(),
        format!("artifacts/{}", "ab".repeat(32)),
        "models".to_owned(),
        "on-call".to_owned(),
        "people".to_owned(),
        "gate/tests".to_owned(),
        "escalations".to_owned(),
        "tokens".to_owned(),
        "tools".to_owned(),
        "channels/team/tools".to_owned(),
        "interpreters".to_owned(),
        "fleet".to_owned(),
        "datasets?channel=team".to_owned(),
        "datasets/sales".to_owned(),
        "metrics".to_owned(),
        "log?level=warn&after=7&limit=9".to_owned(),
        "memory/stats".to_owned(),
        format!("memory?{filter}&limit=7&cursor=c"),
        format!("memory/search?q=what%27s+%22up%22%3F&{filter}&limit=3"),
        format!("memory/{}", samples_memory::id()),
        "memory/review".to_owned(),
        "memory/people/telegram:1".to_owned(),
        format!(
            "sessions/{}/transcript?from=9&limit=10",
            samples::session_id()
        ),
        "skills".to_owned(),
        "skills/deploy".to_owned(),
        "mcp/servers".to_owned(),
        "mcp/servers/files".to_owned(),
        "agent-jobs?limit=7&cursor=c".to_owned(),
        format!("agent-jobs/{}", samples::session_id()),
    ];
    assert_eq!(paths.len(), samples_traffic::queries().len());
    for ((query, answer), path) in samples_traffic::queries().into_iter().zip(paths) {
        let line = if path.is_empty() {
            "GET /readyz".to_owned()
        } else if path == "metrics" {
            "GET /metrics".to_owned()
        } else {
            format!("GET /v1/{path}")
        };
        fake.knows(Ok(answer.clone()));
        if path == "models" {
            let page = samples::page(samples::channel());
            fake.knows(Ok(Answer::ListChannels(page)));
        }
        let reply = server.call(&line, "").await;
        assert_eq!(reply.status, 200, "{line}: {}", reply.body);
        if path == "models" {
            // Behind its own query it asks for channels.
            fake.queries.lock().unwrap().pop();
        }
        let asked = fake.queries.lock().unwrap().last().unwrap().clone();
        let (mut asked, mut query) = (asked, query);
        for query in [&mut asked, &mut query] {
            if let Query::ListSessions(ListSessions { page, .. })
            | Query::ListAgentJobs(ListAgentJobs { page })
            | Query::ListContinuations(ListContinuations { page, .. })
            | Query::ListDeliveries(ListDeliveries { page, .. }) = query
            {
                page.cursor = Some("c".to_owned());
            }
            if let Query::GetOnCall(GetOnCall { actor }) = query {
                // Who asks is for the credential to say.
                *actor = None;
            }
        }
        assert_eq!(asked, query, "{line}");
        if path.is_empty() {
            assert_eq!(reply.json()["held"], true);
            assert_eq!(reply.json()["quarantine"], false);
        } else if let Answer::GetArtifact(artifact) = &answer {
            // Content, not an object.
            assert_eq!(reply.body, artifact.text, "{line}");
        } else if let Answer::GetMetrics(metrics) = &answer {
            assert_eq!(reply.body, metrics.text, "{line}");
        } else {
            let value = serde_json::to_value(&answer).unwrap()["value"].take();
            let mut body = reply.json();
            if path == "models" {
                let fields = body.as_object_mut().unwrap();
                assert_eq!(fields.remove("object"), Some("list".into()));
                assert!(fields.remove("data").is_some());
            }
            assert_eq!(body, value, "{line}");
        }
    }
}

#[test]
fn every_kind_an_event_can_have_can_be_asked_for() {
    for event in samples_traffic::events() {
        assert!(KINDS.contains(&event.body.kind()), "{}", event.body.kind());
    }
}

#[tokio::test]
async fn a_question_of_a_dataset_is_a_body_and_only_reads() {
    let fake = FakeClient::new();
    let server = Server::start(fake.clone()).await;
    let (query, answer) = samples_datasets::question();
    fake.knows(Ok(answer));
    let Query::QueryDataset(asked) = &query else {
        panic!("another question");
    };
    let body = serde_json::to_string(&asked.query).unwrap();
    let reply = server.call("POST /v1/datasets/sales/query", &body).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_eq!(reply.json()["total"], 2);
    assert_eq!(fake.queries.lock().unwrap().last(), Some(&query));
}
