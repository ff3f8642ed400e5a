//! One of everything that hooks have, over the wire and on the command line.

use clap::Parser as _;
use leverframe::cli::arguments::Arguments;
use leverframe::cli::execute::execute;
use leverframe::cli::terminal::{Attendance, Format, Terminal};
use leverframe::client::console_client::ConsoleClient as _;
use leverframe::client::remote::connection::{Limits, RemoteClient};
use leverframe::protocol::enums::HookPoint;
use leverframe::protocol::event::EventBody;
use leverframe::protocol::hook::{Hook, HookCounts, HookNote, HookTrial, HookVerdict};
use leverframe::protocol::request::{
    Answer, Command, ListHooks, Outcome, Query, ResetHook, TryHook,
};
use leverframe::protocol::snapshot::Page;
use serde_json::json;

use crate::api_http::fake::FakeClient;
use crate::api_http::samples::{self, NASTY};
use crate::api_http::samples_traffic;
use crate::api_http::server::{ADMIN, Server};

fn hook() -> Hook {
    Hook {
        name: "check".to_owned(),
        point: HookPoint::BeforeToolCall,
        priority: -5,
        built_in: false,
        dry_run: true,
        channels: vec!["team".to_owned()],
        tools: vec!["write_file".to_owned()],
        timeout_ms: 2000,
        counts: HookCounts {
            runs: 9,
            changes: 1,
            cancels: 2,
            failures: 3,
            skipped: 4,
            dropped: 5,
            p95_us: 640,
        },
        broken_until: Some(samples::at()),
        refused: Some(NASTY.to_owned()),
        last_error: Some(NASTY.to_owned()),
    }
}

fn hooks() -> Answer {
    Answer::ListHooks(Page {
        items: vec![hook()],
        next_cursor: None,
    })
}

fn trial() -> HookTrial {
    HookTrial {
        verdict: HookVerdict::Change {
            field: "args".to_owned(),
            value: json!({ "path": NASTY }),
        },
        duration_us: 70,
    }
}

fn commands() -> Vec<(&'static str, String, Command, Outcome)> {
    vec![
        (
            "POST /v1/hooks/check/try",
            json!({"point": "before_tool_call", "input": {"args": {}}}).to_string(),
            Command::TryHook(TryHook {
                name: "check".to_owned(),
                point: Some(HookPoint::BeforeToolCall),
                input: Some(json!({"args": {}})),
            }),
            Outcome::TryHook(trial()),
        ),
        (
            "POST /v1/hooks/check/try",
            String::new(),
            Command::TryHook(TryHook {
                name: "check".to_owned(),
                point: None,
                input: None,
            }),
            Outcome::TryHook(trial()),
        ),
        (
            "POST /v1/hooks/check/reset",
            String::new(),
            Command::ResetHook(ResetHook {
                name: "check".to_owned(),
            }),
            Outcome::ResetHook(vec![hook()].into()),
        ),
    ]
}

#[tokio::test]
async fn each_route_asks_its_question_and_carries_out_its_command() {
    let fake = FakeClient::new();
    let server = Server::start(fake.clone()).await;
    fake.knows(Ok(hooks()));
    let reply = server.call("GET /v1/hooks", "").await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_eq!(
        *fake.queries.lock().unwrap().last().unwrap(),
        Query::ListHooks(ListHooks {})
    );
    assert_eq!(reply.json()["items"][0], json!(hook()));
    for (line, body, command, outcome) in commands() {
        fake.will(Ok(outcome.clone()));
        let reply = server.call(line, &body).await;
        assert_eq!(reply.status, 200, "{line}: {}", reply.body);
        assert_eq!(fake.last_envelope().command, command, "{line}");
        match outcome {
            Outcome::TryHook(trial) => assert_eq!(reply.json(), json!(trial)),
            Outcome::ResetHook(hooks) => assert_eq!(reply.json(), json!(hooks)),
            other => panic!("{other:?}"),
        }
    }
    let reply = server
        .call("POST /v1/hooks/check/try", r#"{"point":"sometimes"}"#)
        .await;
    assert_eq!(reply.status, 400, "{}", reply.body);
    assert!(reply.body.contains("before_tool_call"), "{}", reply.body);
}

#[tokio::test]
async fn everything_survives_the_wire() {
    let fake = FakeClient::new();
    let server = Server::start(fake.clone()).await;
    let client = RemoteClient::new(server.target(ADMIN), Limits::default()).unwrap();
    fake.knows(Ok(hooks()));
    assert_eq!(
        client.query(Query::ListHooks(ListHooks {})).await.unwrap(),
        hooks()
    );
    for (_, _, command, outcome) in commands() {
        fake.will(Ok(outcome.clone()));
        let envelope = leverframe::cli::find::envelope(command.clone(), None);
        assert_eq!(client.submit(envelope).await.unwrap(), outcome);
        assert_eq!(fake.last_envelope().command, command);
    }
    let note = HookNote {
        hook: "check".to_owned(),
        point: HookPoint::BeforeToolCall,
        at_start: true,
        dry_run: false,
        verdict: HookVerdict::Change {
            field: "args".to_owned(),
            value: json!({"a": 1}),
        },
        before: Some(json!({"a": 0})),
        at: samples::at(),
    };
    let wire = serde_json::to_value(&note).unwrap();
    assert_eq!(
        (&wire["verdict"], &wire["value"]["a"]),
        (&json!("change"), &json!(1))
    );
    assert_eq!(serde_json::from_value::<HookNote>(wire).unwrap(), note);
    let body = EventBody::HookRan {
        hook: "check".to_owned(),
        point: HookPoint::BeforeLlmCall,
        verdict: HookVerdict::Failed {
            error: NASTY.to_owned(),
        },
        dry_run: false,
    };
    let event = samples_traffic::event(None, body.clone());
    let wire = serde_json::to_value(&event).unwrap();
    assert_eq!(wire["kind"], "hook.ran");
    let read: leverframe::protocol::event::Event = serde_json::from_value(wire).unwrap();
    assert_eq!(read.body, body);
}

#[tokio::test]
async fn the_commands_show_counters_and_never_write_raw_text() {
    let fake = FakeClient::new();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("input.json");
    std::fs::write(&file, r#"{"args":{}}"#).unwrap();
    let attempt = format!(
        "hooks try check --point before_tool_call --input {}",
        file.display()
    );
    for (words, expected) in [
        (
            "hooks list",
            "before_tool_call  check  -5        9     1        2          3       9         640 µs  dry run; not run: ",
        ),
        (attempt.as_str(), "change args to"),
        ("hooks reset check", "leverframe hooks reset check"),
    ] {
        for json in [false, true] {
            fake.knows(Ok(hooks()));
            if words.contains("try") {
                fake.will(Ok(Outcome::TryHook(trial())));
            } else if words.contains("reset") {
                fake.will(Ok(Outcome::ResetHook(vec![hook()].into())));
            }
            let flag = if json { " --json" } else { "" };
            let line = format!("leverframe {words}{flag}");
            let arguments = Arguments::try_parse_from(line.split(' ')).unwrap();
            let (mut out, mut err) = (Vec::new(), Vec::new());
            let mut input = "".as_bytes();
            let mut terminal = Terminal {
                out: &mut out,
                err: &mut err,
                input: &mut input,
                attended: Attendance::Script,
                format: if json { Format::Json } else { Format::Human },
            };
            let command = arguments.command.unwrap();
            execute(command, &mut terminal.with(&*fake), None)
                .await
                .unwrap();
            let out = String::from_utf8(out).unwrap();
            assert!(!out.contains('\u{1b}'), "{out}");
            if json {
                serde_json::from_str::<serde_json::Value>(&out).unwrap();
            } else {
                assert!(out.contains(expected), "no `{expected}` in\n{out}");
                assert!(!out.contains('\u{202e}'), "{out}");
            }
        }
    }
}
