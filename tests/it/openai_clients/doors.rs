//! Who gets in where, and what a refusal looks like.

use std::sync::Arc;

use leverframe::api::serve::Timing;
use leverframe::api::token::{StaticTokens, TokenVerifier};
use leverframe::protocol::command::BudgetRequest;
use leverframe::protocol::enums::{ContinuationState, Scope, Surface};
use leverframe::protocol::options::TurnOptions;
use leverframe::protocol::problem::ProblemKind;
use leverframe::protocol::request::{
    Answer, Command, Converse, EndSession, Envelope, Outcome, SendMessage, StartSession,
};
use leverframe::protocol::session::ErrorBody;
use leverframe::protocol::token::{TokenRecord, hash_token};
use serde_json::{Value, json};

use crate::api_http::fake::FakeClient;
use crate::api_http::samples;
use crate::api_http::server::Server;
use crate::openai_clients::caller::{Events, home, post, request, text_of, user};
use crate::support::daemon::{Home, client};
use crate::support::world::World;

const CHAT: &str = "/v1/chat/completions";

fn tokens() -> StaticTokens {
    let record = |name: &str, scopes: &[Scope]| TokenRecord {
        name: name.to_owned(),
        hash: hash_token(&format!("lf_{name}")),
        scopes: scopes.to_vec(),
        person: None,
        expires_at: None,
    };
    StaticTokens::new(vec![
        record("webui", &[Scope::Chat]),
        record("both", &[Scope::Chat, Scope::Mcp]),
        record("reader", &[Scope::Read]),
        record("one", &[Scope::Chat]),
        record("two", &[Scope::Chat]),
    ])
}

#[tokio::test]
async fn a_token_for_chat_opens_these_paths_and_no_other() {
    let fake = FakeClient::new();
    let server = Server::start_with(fake.clone(), Arc::new(tokens()), Timing::default()).await;
    let webui = ["Host: 127.0.0.1", "Authorization: Bearer lf_webui"];
    for line in [
        "GET /v1/sessions",
        "GET /v1/approvals",
        "GET /v1/snapshot",
        "GET /v1/events",
        "GET /v1/models/x",
        "GET /v1/chat",
        "GET /v1/chat/completions/x",
        "GET /metrics",
    ] {
        let reply = server.raw(line, &webui, "").await;
        assert_eq!(reply.status, 403, "{line}: {}", reply.body);
    }
    let json_body = [&webui[..], &["Content-Type: application/json"]].concat();
    for line in [
        "POST /v1/sessions",
        "POST /v1/submit",
        "POST /v1/query",
        "POST /v1/ask",
        "POST /v1/models/test",
        "POST /v1/models/discover",
        "POST /mcp",
    ] {
        let reply = server.raw(line, &json_body, "{}").await;
        assert_eq!(reply.status, 403, "{line}: {}", reply.body);
    }
    assert!(fake.queries.lock().unwrap().is_empty());
    assert!(fake.envelopes.lock().unwrap().is_empty());
    // What it may see of models: the channels it may talk to, and no provider.
    let mut channel = samples::channel();
    channel.kind = leverframe::protocol::enums::ChannelKind::Api;
    channel.name = "api".to_owned();
    let page = leverframe::protocol::snapshot::Page {
        items: vec![samples::channel(), channel],
        next_cursor: None,
    };
    fake.knows(Ok(Answer::ListChannels(page)));
    let reply = server.raw("GET /v1/models", &webui, "").await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let list = reply.json();
    assert_eq!(list["object"], "list");
    assert_eq!(list["items"], json!([]));
    assert_eq!(
        list["data"],
        json!([{ "id": "api", "object": "model", "created": 0, "owned_by": "leverframe" }])
    );
    // Two such scopes open the paths of both.
    let both = ["Host: 127.0.0.1", "Authorization: Bearer lf_both"];
    assert_eq!(server.raw("GET /v1/sessions", &both, "").await.status, 403);
    assert_eq!(server.raw("GET /mcp", &both, "").await.status, 405);
    // Who only reads talks to nobody.
    let reader = [
        "Host: 127.0.0.1",
        "Authorization: Bearer lf_reader",
        "Content-Type: application/json",
    ];
    fake.knows(Ok(Answer::GetChannel(samples::channel())));
    let empty = leverframe::protocol::snapshot::Page {
        items: Vec::new(),
        next_cursor: None,
    };
    fake.knows(Ok(Answer::ListChannels(empty)));
    let body = json!({ "messages": [user("hi")] }).to_string();
    let reply = server.raw(&format!("POST {CHAT}"), &reader, &body).await;
    assert_eq!(reply.status, 403, "{}", reply.body);
    assert_eq!(reply.json()["error"]["type"], "permission_error");
}

#[tokio::test]
async fn refusals_have_the_shape_of_their_path() {
    let fake = FakeClient::new();
    let server = Server::start_with(fake, Arc::new(tokens()), Timing::default()).await;
    let local = "Host: 127.0.0.1";
    let webui = "Authorization: Bearer lf_webui";
    let kind = "Content-Type: application/json";
    let post = format!("POST {CHAT}");
    let get = format!("GET {CHAT}");
    let cases: &[(&str, &[&str], &str, u16, &str)] = &[
        (&post, &[local, kind], "{}", 401, "authentication_error"),
        (
            &post,
            &[local, kind, "Authorization: Bearer lf_no"],
            "{}",
            401,
            "authentication_error",
        ),
        (
            &post,
            &["Host: evil.example", webui, kind],
            "{}",
            403,
            "permission_error",
        ),
        (
            &post,
            &[local, webui, kind, "Origin: http://evil.example"],
            "{}",
            403,
            "permission_error",
        ),
        (
            &post,
            &[local, webui, kind, "Origin: http://127.0.0.1"],
            "{}",
            403,
            "permission_error",
        ),
        (
            &post,
            &[local, webui, "Content-Type: text/plain"],
            "{}",
            415,
            "invalid_request_error",
        ),
        (
            &post,
            &[local, webui, kind],
            "{\"messages\"",
            400,
            "invalid_request_error",
        ),
        (
            &post,
            &[local, webui, kind],
            "[]",
            400,
            "invalid_request_error",
        ),
        (&get, &[local, webui], "", 405, "invalid_request_error"),
        (
            "POST /v1/responses",
            &[local, webui, kind],
            "{}",
            400,
            "invalid_request_error",
        ),
        (
            "GET /v1/responses/x",
            &[local, webui],
            "",
            404,
            "invalid_request_error",
        ),
    ];
    for (line, headers, body, status, class) in cases {
        let reply = server.raw(line, headers, body).await;
        assert_eq!(reply.status, *status, "{line} {headers:?}: {}", reply.body);
        assert!(
            reply.head.contains("content-type: application/json"),
            "{}",
            reply.head
        );
        let answer = reply.json();
        assert_eq!(answer["error"]["type"], *class, "{answer}");
        assert!(answer["error"]["message"].is_string());
        assert_eq!(answer.as_object().unwrap().len(), 1, "{answer}");
    }
    // Programs of ours read problems there, and OpenAI's read errors.
    let reply = server.raw("GET /v1/models", &[local], "").await;
    assert_eq!(reply.status, 401);
    assert!(reply.head.contains("application/problem+json"));
    assert_eq!(reply.json()["kind"], "unauthenticated");
    assert_eq!(reply.json()["error"]["code"], "invalid_api_key");
    let reply = server.raw("GET /v1/sessions", &[local], "").await;
    assert!(reply.json()["error"].is_null());
}

fn converse(
    channel: &str,
    conversation: &str,
    session: Option<leverframe::protocol::ids::SessionId>,
) -> Converse {
    Converse {
        channel: channel.to_owned(),
        session_id: session,
        conversation: conversation.to_owned(),
        text: "hi".to_owned(),
        earlier: Vec::new(),
        once: false,
        budgets: BudgetRequest::default(),
        attachments: Vec::new(),
        options: TurnOptions::default(),
    }
}

#[tokio::test]
async fn what_is_wrong_here_is_told_to_those_who_may_read_it() {
    for (token, reads) in [("lf_webui", false), ("lf_admin", true)] {
        let fake = FakeClient::new();
        let tokens: Arc<dyn TokenVerifier> = if reads {
            Arc::new(crate::api_http::server::tokens())
        } else {
            Arc::new(tokens())
        };
        let server = Server::start_with(fake.clone(), tokens, Timing::default()).await;
        let mut channel = samples::channel();
        channel.kind = leverframe::protocol::enums::ChannelKind::Api;
        fake.knows(Ok(Answer::GetChannel(channel)));
        let empty = leverframe::protocol::snapshot::Page {
            items: Vec::new(),
            next_cursor: None,
        };
        fake.knows(Ok(Answer::ListSessions(empty)));
        fake.will(Ok(Outcome::Converse(samples::accepted())));
        let mut turn = samples::continuation(ContinuationState::Failed);
        turn.error = Some(ErrorBody {
            code: "model_unavailable".to_owned(),
            message: "the key of provider X is wrong".to_owned(),
        });
        for _ in 0..2 {
            fake.knows(Ok(Answer::GetContinuation(turn.clone())));
        }
        let token = format!("Authorization: Bearer {token}");
        let headers = ["Host: 127.0.0.1", &token, "Content-Type: application/json"];
        let body = json!({ "messages": [user("hi")] }).to_string();
        let reply = server.raw(&format!("POST {CHAT}"), &headers, &body).await;
        assert_eq!(reply.status, 503, "{}", reply.body);
        assert_eq!(reply.body.contains("provider X"), reads, "{}", reply.body);
        assert_eq!(
            reply.body.contains("the operator can see why"),
            !reads,
            "{}",
            reply.body
        );
    }
}

#[tokio::test]
async fn a_response_of_somebody_else_does_not_exist() {
    let fake = FakeClient::new();
    let server = Server::start_with(fake.clone(), Arc::new(tokens()), Timing::default()).await;
    let headers = ["Host: 127.0.0.1", "Authorization: Bearer lf_webui"];
    let mut turn = samples::continuation(ContinuationState::Completed);
    let id = turn.id.to_string().replace("con_", "resp_");
    for (conversation, status) in [
        ("42", 404),
        ("token:webui", 404),
        ("token:webui2#chat.h.1", 404),
        ("token:both#chat.h.1", 404),
        ("token:webui#chat.h.1", 200),
    ] {
        conversation.clone_into(&mut turn.conversation);
        fake.knows(Ok(Answer::GetContinuation(turn.clone())));
        if status == 200 {
            let steps = leverframe::protocol::snapshot::Page {
                items: Vec::new(),
                next_cursor: None,
            };
            fake.knows(Ok(Answer::ListSteps(steps)));
        }
        let reply = server
            .raw(&format!("GET /v1/responses/{id}"), &headers, "")
            .await;
        assert_eq!(reply.status, status, "{conversation}: {}", reply.body);
    }
}

/// What holds of a token wherever its commands come in.
#[tokio::test(flavor = "multi_thread")]
async fn the_engine_gives_a_token_for_chat_its_own_conversations_and_nothing_else() {
    let world = World::new().await;
    let engine = world.engine("[channels.api]\n");
    let give = async |name: &str, key: Option<&str>, command: Command| {
        let envelope = Envelope {
            command,
            actor: tokens().verify(&format!("lf_{name}")).unwrap(),
            surface: Surface::Http,
            idempotency_key: key.map(str::to_owned),
            trace: None,
        };
        engine.handle(envelope).await
    };
    let accepted = async |name: &str, key: Option<&str>, command: Converse| match give(
        name,
        key,
        command.into(),
    )
    .await
    {
        Ok(Outcome::Converse(accepted)) => accepted,
        other => panic!("{other:?}"),
    };
    let own = accepted("one", None, converse("api", "k", None)).await;
    let other = accepted("two", None, converse("api", "k", None)).await;
    assert_ne!(own.session_id, other.session_id);
    let again = accepted("one", None, converse("api", "k", Some(own.session_id))).await;
    assert_eq!(again.session_id, own.session_id);
    let kind = async |command: Command| give("one", None, command).await.unwrap_err().kind;
    let foreign = converse("api", "k", Some(other.session_id));
    assert_eq!(kind(foreign.into()).await, ProblemKind::NotFound);
    for channel in ["desk", "cli", "mcp", "routine", "gate"] {
        assert_eq!(
            kind(converse(channel, "k", None).into()).await,
            ProblemKind::Forbidden,
            "{channel}"
        );
    }
    let start = StartSession {
        channel: None,
        conversation: None,
        title: None,
        model: None,
    };
    assert_eq!(kind(start.into()).await, ProblemKind::Forbidden);
    let end = EndSession {
        session_id: own.session_id,
    };
    assert_eq!(kind(end.into()).await, ProblemKind::Forbidden);
    let send = SendMessage {
        session_id: own.session_id,
        text: "hi".to_owned(),
        model: None,
        budgets: BudgetRequest::default(),
        fresh: false,
        attachments: Vec::new(),
        options: TurnOptions::default(),
    };
    assert_eq!(kind(send.into()).await, ProblemKind::Forbidden);
    // A key is one turn, whichever session a repetition names.
    let first = accepted("one", Some("x"), converse("api", "a", None)).await;
    let repeated = accepted("one", Some("x"), converse("api", "b", None)).await;
    assert!(repeated.repeated);
    assert_eq!(first.continuation_id, repeated.continuation_id);
    let theirs = accepted("two", Some("x"), converse("api", "a", None)).await;
    assert_ne!(first.continuation_id, theirs.continuation_id);
}

#[tokio::test(flavor = "multi_thread")]
async fn models_are_channels_for_clients_and_stay_what_they_are_for_programs() {
    let home = home();
    let daemon = home.daemon();
    let list = daemon.get("/v1/models").await;
    let names: Vec<&str> = list["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["id"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["api", "cli", "desk"]);
    assert_eq!(list["object"], "list");
    assert!(
        list["items"]
            .as_array()
            .is_some_and(|items| !items.is_empty()),
        "{list}"
    );
    for model in ["nobody", "mcp", "gate"] {
        let body = json!({ "model": model, "messages": [user("SAY:hello")] });
        let reply = post(&daemon, CHAT, &[], body).await;
        assert_eq!(reply.status, 404);
        let error = &reply.body["error"];
        assert_eq!(
            (&error["code"], &error["param"]),
            (&json!("model_not_found"), &json!("model"))
        );
        assert!(
            error["message"]
                .as_str()
                .unwrap()
                .contains("api, cli, desk"),
            "{error}"
        );
    }
    let body = json!({ "model": "desk", "messages": [user("SAY:hello")] });
    assert_eq!(post(&daemon, CHAT, &[], body).await.text(), "hello");
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_are_too_long_and_queues_that_are_full_are_refused_in_words() {
    let home = home();
    let daemon = home.daemon();
    let long = json!({ "messages": [user(&"x".repeat(28 * 1024 * 1024))] });
    let sent = request(&daemon, CHAT, &long).send().await;
    // Who refuses early may close before everything was written.
    if let Ok(response) = sent {
        assert_eq!(response.status(), 413);
        let body: Value = response.json().await.unwrap();
        assert_eq!(body["error"]["type"], "invalid_request_error");
    }
    let long = json!({ "messages": [user(&"x".repeat(300 * 1024))] });
    let reply = post(&daemon, CHAT, &[], long).await;
    assert_eq!(reply.status, 400, "{reply:?}");
    let named = [("Leverframe-Conversation", "q"), ("Prefer", "wait=0")];
    let mut last = None;
    for number in 0..12 {
        let text = format!("SLOW:400\nSAY:{number}");
        let reply = post(&daemon, CHAT, &named, json!({ "messages": [user(&text)] })).await;
        last = Some(reply);
    }
    let full = last.unwrap();
    assert_eq!(full.status, 429, "{full:?}");
    assert_eq!(full.body["error"]["type"], "rate_limit_error");
    assert!(!full.header("retry-after").is_empty());
    let stranger = client()
        .post(format!("{}{CHAT}", daemon.base))
        .bearer_auth("lf_wrong")
        .json(&json!({}))
        .send()
        .await
        .unwrap();
    assert_eq!(stranger.status(), 401);
}

/// The agent of a platform answers in the answer, under the stricter of two policies; the platform hears nothing of it.
#[tokio::test(flavor = "multi_thread")]
async fn the_agent_of_a_platform_answers_the_client_and_not_the_platform() {
    let home = Home::new(
        "[model]\nallow_scripted_on_channels = true\n\n[channels.shop]\nkind = \"webhook\"\nsecret_env = \"SHOP_SECRET\"\n\
         callback_url = \"http://127.0.0.1:1/replies\"\nautonomy = \"full\"\n",
    );
    let daemon = home.daemon_with(&[("SHOP_SECRET", "a secret of forty-two characters, at least")]);
    let body = json!({
        "model": "shop",
        "messages": [user("TOOL:write_file{\"path\":\"a.txt\",\"content\":\"x\"}\nSAY:written")],
        "stream": true,
    });
    let mut events = Events::open(&daemon, CHAT, &[], &body).await;
    // `shop` would run it by itself; `api` asks.
    events.until("code ").await;
    let approval = daemon.wait_approval().await;
    assert_eq!(approval["channel"], "shop");
    assert_eq!(daemon.decide(&approval, "approve").await.0, 200);
    assert!(text_of(&events.all().await).ends_with("written"));
    assert!(home.workspace("shop").join("a.txt").exists());
    let failed = json!({ "model": "shop", "messages": [user("FAIL:auth")] });
    assert!(post(&daemon, CHAT, &[], failed).await.status >= 500);
    let outbox = daemon.get("/v1/outbox").await;
    assert_eq!(outbox["items"], json!([]));
}

#[tokio::test]
async fn a_token_for_chat_is_handed_out_and_its_revocation_ends_a_stream() {
    let home = home();
    let mut daemon = home.daemon();
    let admin = daemon.token.clone();
    let token = |words: &[&str]| {
        let made = home.command().arg("token").args(words).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        String::from_utf8(made.stdout).unwrap().trim().to_owned()
    };
    daemon.token = token(&["create", "webui", "--scope", "chat"]);
    let body = json!({ "messages": [user("SAY:hello")] });
    let reply = post(&daemon, CHAT, &[], body).await;
    assert_eq!((reply.status, reply.text()), (200, "hello"), "{reply:?}");
    let call = "TOOL:write_file{\"path\":\"a.txt\",\"content\":\"a\"}\nSAY:done";
    let mut waiting = crate::openai_clients::caller::stream(&daemon, &[user(call)]).await;
    waiting.until("waits for a person").await;
    token(&["revoke", "webui"]);
    let rest = waiting.all().await;
    assert!(!text_of(&rest).contains("done"), "{rest:?}");
    let body = json!({ "messages": [user("SAY:again")] });
    let refused = post(&daemon, CHAT, &[], body).await;
    assert_eq!(refused.status, 401, "{refused:?}");
    // Its turn goes on without it.
    daemon.token = admin;
    let asked = daemon.wait_approval().await;
    assert_eq!(daemon.decide(&asked, "approve").await.0, 200);
    let turn = asked["continuation_id"].as_str().unwrap();
    daemon.wait_state(turn, "completed").await;
}
