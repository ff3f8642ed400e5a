//! One of everything about hygiene, over the wire and on the command line.

use std::collections::BTreeMap;

use clap::Parser as _;
use leverframe::cli::arguments::Arguments;
use leverframe::cli::execute::execute;
use leverframe::cli::terminal::{Attendance, Format, Terminal};
use leverframe::client::console_client::ConsoleClient as _;
use leverframe::client::remote::connection::{Limits, RemoteClient};
use leverframe::clock::Day;
use leverframe::protocol::enums::{HygieneReason, HygieneState, MemoryScope};
use leverframe::protocol::event::EventBody;
use leverframe::protocol::hygiene::{
    Growth, HygieneExcess, HygieneGroup, HygieneReport, HygieneRun, HygieneStatus,
};
use leverframe::protocol::ids::{HygieneRunId, MemoryId};
use leverframe::protocol::request::{
    Answer, Command, GetHygiene, ListHygieneRuns, Outcome, PreviewHygiene, Query, RunHygiene,
    UndoHygiene,
};
use leverframe::protocol::snapshot::{Page, PageRequest};

use crate::api_http::fake::FakeClient;
use crate::api_http::samples::{self, NASTY};
use crate::api_http::samples_traffic;
use crate::api_http::server::{ADMIN, Server};

fn report() -> HygieneReport {
    HygieneReport {
        groups: vec![
            HygieneGroup {
                scope: Some(MemoryScope::Channel),
                channel: Some(NASTY.to_owned()),
                what: "memories".to_owned(),
                reason: HygieneReason::Retention,
                count: 7,
                bytes: 90,
            },
            HygieneGroup {
                scope: None,
                channel: None,
                what: "vectors".to_owned(),
                reason: HygieneReason::Orphan,
                count: 2,
                bytes: 16,
            },
        ],
        memories: vec![MemoryId::from_bytes([4; 16])],
        archived: 7,
        removed: 1,
        bytes: 90,
        too_much: vec![HygieneExcess {
            scope: MemoryScope::Channel,
            count: 7,
            of: 9,
        }],
        note: Some(NASTY.to_owned()),
    }
}

fn run(state: HygieneState) -> HygieneRun {
    HygieneRun {
        id: HygieneRunId::from_bytes([5; 16]),
        state,
        by: NASTY.to_owned(),
        report: report(),
        restored: 3,
        freed_bytes: 4096,
        duration_ms: Some(12),
        at: samples::at(),
        undo_until: samples::at(),
    }
}

fn growth(day: i64, memories: u64) -> Growth {
    Growth {
        day: Day(day),
        memories,
        database_bytes: 1 << 20,
        ..Growth::default()
    }
}

fn queries() -> Vec<(Query, Answer, &'static str)> {
    let page = PageRequest {
        limit: Some(7),
        cursor: Some("9".to_owned()),
    };
    let status = HygieneStatus {
        retention_days: BTreeMap::from([(MemoryScope::Session, 0), (MemoryScope::Channel, 1)]),
        max_memories: 10_000,
        undo_days: 7,
        running: false,
        problem: Some(NASTY.to_owned()),
        last: Some(run(HygieneState::Done)),
        next_at: Some(samples::at()),
        sizes: growth(3, 7),
        growth: vec![growth(1, 0), growth(2, 8), growth(3, 4)],
    };
    let runs = Page {
        items: vec![run(HygieneState::Stopped)],
        next_cursor: Some("4".to_owned()),
    };
    vec![
        (
            Query::GetHygiene(GetHygiene {}),
            Answer::GetHygiene(status),
            "/v1/memory/hygiene",
        ),
        (
            Query::PreviewHygiene(PreviewHygiene {}),
            Answer::PreviewHygiene(report()),
            "/v1/memory/hygiene/preview",
        ),
        (
            Query::ListHygieneRuns(ListHygieneRuns { page }),
            Answer::ListHygieneRuns(runs),
            "/v1/memory/hygiene/runs?limit=7&cursor=9",
        ),
    ]
}

fn outcome(command: &Command, state: HygieneState) -> Outcome {
    match command {
        Command::RunHygiene(_) => Outcome::RunHygiene(run(state)),
        _ => Outcome::UndoHygiene(run(state)),
    }
}

fn commands() -> Vec<(String, &'static str, Command)> {
    let id = run(HygieneState::Done).id;
    let hygiene = "POST /v1/memory/hygiene";
    vec![
        (
            hygiene.to_owned(),
            "",
            Command::RunHygiene(RunHygiene { yes: false }),
        ),
        (
            hygiene.to_owned(),
            r#"{"yes":true}"#,
            Command::RunHygiene(RunHygiene { yes: true }),
        ),
        (
            format!("{hygiene}/{id}/undo"),
            "",
            Command::UndoHygiene(UndoHygiene { id }),
        ),
    ]
}

#[tokio::test]
async fn each_route_asks_its_question_and_carries_out_its_command() {
    let fake = FakeClient::new();
    let server = Server::start(fake.clone()).await;
    for (query, answer, path) in queries() {
        fake.knows(Ok(answer.clone()));
        let reply = server.call(&format!("GET {path}"), "").await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.body);
        assert_eq!(fake.queries.lock().unwrap().last().unwrap(), &query);
        let answered = serde_json::to_value(&answer).unwrap()["value"].clone();
        assert_eq!(reply.json(), answered, "{path}");
    }
    for (line, body, command) in commands() {
        fake.will(Ok(outcome(&command, HygieneState::Done)));
        let reply = server.call(&line, body).await;
        assert_eq!(reply.status, 200, "{line}: {}", reply.body);
        assert_eq!(fake.last_envelope().command, command, "{line}");
        assert_eq!(command.scope(), leverframe::protocol::enums::Scope::Admin);
    }
    let reply = server.call("POST /v1/memory/hygiene/mem_1/undo", "").await;
    assert_eq!(reply.status, 400, "{}", reply.body);
}

#[tokio::test]
async fn everything_survives_the_wire() {
    let fake = FakeClient::new();
    let server = Server::start(fake.clone()).await;
    let client = RemoteClient::new(server.target(ADMIN), Limits::default()).unwrap();
    for (query, answer, _) in queries() {
        fake.knows(Ok(answer.clone()));
        assert_eq!(client.query(query.clone()).await.unwrap(), answer);
        assert_eq!(fake.queries.lock().unwrap().last().unwrap(), &query);
    }
    for (_, _, command) in commands() {
        let expected = outcome(&command, HygieneState::Undone);
        fake.will(Ok(expected.clone()));
        let envelope = leverframe::cli::find::envelope(command.clone(), None);
        assert_eq!(client.submit(envelope).await.unwrap(), expected);
        assert_eq!(fake.last_envelope().command, command);
    }
    let body = EventBody::HygieneFinished {
        run: Box::new(run(HygieneState::Stopped)),
    };
    let event = samples_traffic::event(Some(4), body.clone());
    let wire = serde_json::to_value(&event).unwrap();
    assert_eq!(wire["kind"], "hygiene.finished");
    let read: leverframe::protocol::event::Event = serde_json::from_value(wire).unwrap();
    assert_eq!(read.body, body);
}

#[tokio::test]
async fn the_commands_print_what_was_asked_and_never_raw_text() {
    let fake = FakeClient::new();
    let told = |at: usize| queries().remove(at).1;
    for (words, answer, outcome, expected) in [
        (
            "",
            Some(told(0)),
            None,
            &[
                "session for ever",
                "channel 1 day",
                "▁█▄",
                "can be undone until",
            ][..],
        ),
        (
            "--preview",
            Some(told(1)),
            None,
            &[
                "retention",
                "orphan",
                "7 of 9 memories",
                "and 7 more",
                "nothing was changed",
            ],
        ),
        ("--runs --limit 7", Some(told(2)), None, &["stopped"]),
        (
            "--run --yes",
            None,
            Some(HygieneState::Done),
            &["7 memories archived, 1 removed", "--undo hyg_"],
        ),
        (
            "--undo hyg_050M2G",
            Some(told(2)),
            Some(HygieneState::Undone),
            &["3 memories restored"],
        ),
    ] {
        for json in [false, true] {
            if let Some(answer) = &answer {
                fake.knows(Ok(answer.clone()));
            }
            if let Some(state) = outcome {
                fake.will(Ok(if words.contains("undo") {
                    Outcome::UndoHygiene(run(state))
                } else {
                    Outcome::RunHygiene(run(state))
                }));
            }
            let flag = if json { " --json" } else { "" };
            let line = format!("leverframe memory hygiene {words}{flag}");
            let arguments = Arguments::try_parse_from(line.split_whitespace()).unwrap();
            let (mut out, mut err) = (Vec::new(), Vec::new());
            let mut input = "".as_bytes();
            let mut terminal = Terminal {
                out: &mut out,
                err: &mut err,
                input: &mut input,
                attended: Attendance::Script,
                format: if json { Format::Json } else { Format::Human },
            };
            let done = execute(arguments.command.unwrap(), &mut terminal.with(&*fake), None).await;
            done.unwrap_or_else(|error| panic!("{line}: {error}"));
            let out = String::from_utf8(out).unwrap();
            assert!(!out.contains('\u{1b}'), "{out}");
            if json {
                serde_json::from_str::<serde_json::Value>(&out).unwrap();
            } else {
                for text in expected {
                    assert!(out.contains(text), "{line}: {text}: {out}");
                }
                assert!(!out.contains('\u{202e}'), "{out}");
            }
        }
    }
    for wrong in [
        "--run --preview",
        "--yes",
        "--undo hyg_1 --run",
        "--limit 3",
        "--runs --limit 0",
    ] {
        let line = format!("leverframe memory hygiene {wrong}");
        assert!(
            Arguments::try_parse_from(line.split_whitespace()).is_err(),
            "{wrong}"
        );
    }
}
