//! One of everything that routines have, over the wire and on the command line.

use clap::Parser as _;
use leverframe::cli::arguments::Arguments;
use leverframe::cli::execute::execute;
use leverframe::cli::terminal::{Attendance, Format, Terminal};
use leverframe::client::console_client::ConsoleClient as _;
use leverframe::client::remote::connection::{Limits, RemoteClient};
use leverframe::protocol::command::BudgetRequest;
use leverframe::protocol::enums::{
    Autonomy, ContinuationState, MissedRuns, RoutineRunState, Scope,
};
use leverframe::protocol::event::EventBody;
use leverframe::protocol::ids::{RoutineId, RoutineRunId};
use leverframe::protocol::request::{
    AddRoutine, Answer, ChangeRoutine, Command, GetRoutine, ListRoutineRuns, ListRoutines,
    ListUpcomingRuns, Outcome, Query, RemoveRoutine, RunRoutine,
};
use leverframe::protocol::routine::{Routine, RoutinePatch, RoutineRun};
use leverframe::protocol::snapshot::{Page, PageRequest};

use crate::api_http::fake::FakeClient;
use crate::api_http::samples::{self, NASTY};
use crate::api_http::samples_traffic;
use crate::api_http::server::{ADMIN, Server};

fn id() -> RoutineId {
    RoutineId::from_bytes([1; 16])
}

fn run() -> RoutineRun {
    RoutineRun {
        id: RoutineRunId::from_bytes([2; 16]),
        routine_id: id(),
        state: RoutineRunState::Started,
        detail: Some(NASTY.to_owned()),
        continuation_id: Some(samples::accepted().continuation_id),
        continuation_state: Some(ContinuationState::Completed),
        due_at: Some(samples::at()),
        at: samples::at(),
    }
}

fn routine() -> Routine {
    Routine {
        id: id(),
        name: "morning".to_owned(),
        schedule: "0 9 * * *".to_owned(),
        time_zone: Some("Europe/Berlin".to_owned()),
        prompt: NASTY.to_owned(),
        channel: "team".to_owned(),
        conversation: NASTY.to_owned(),
        model: None,
        budgets: BudgetRequest {
            max_steps: Some(3),
            ..BudgetRequest::default()
        },
        autonomy_ceiling: Autonomy::SemiAuto,
        park: true,
        missed: MissedRuns::RunOnce,
        jitter_seconds: 30,
        enabled: true,
        by: NASTY.to_owned(),
        version: 2,
        due_at: Some(samples::at()),
        begin_at: Some(samples::at().plus_seconds(7)),
        last_run: Some(run()),
        created_at: samples::at(),
        updated_at: samples::at(),
    }
}

fn patch() -> RoutinePatch {
    RoutinePatch {
        name: Some("morning".to_owned()),
        schedule: Some("every 90m".to_owned()),
        prompt: Some("hello".to_owned()),
        ..RoutinePatch::default()
    }
}

fn queries() -> Vec<(Query, Answer, String)> {
    let named = || "morning".to_owned();
    vec![
        (
            Query::ListRoutines(ListRoutines {}),
            Answer::ListRoutines(Page {
                items: vec![routine()],
                next_cursor: None,
            }),
            "/v1/routines".to_owned(),
        ),
        (
            Query::GetRoutine(GetRoutine { routine: named() }),
            Answer::GetRoutine(routine()),
            "/v1/routines/morning".to_owned(),
        ),
        (
            Query::ListRoutineRuns(ListRoutineRuns {
                routine: named(),
                page: PageRequest {
                    limit: Some(7),
                    cursor: Some("9".to_owned()),
                },
            }),
            Answer::ListRoutineRuns(Page {
                items: vec![run()],
                next_cursor: Some("4".to_owned()),
            }),
            "/v1/routines/morning/runs?limit=7&cursor=9".to_owned(),
        ),
        (
            Query::ListUpcomingRuns(ListUpcomingRuns {
                schedule: "every 90m".to_owned(),
                time_zone: Some("UTC".to_owned()),
                limit: Some(2),
            }),
            Answer::ListUpcomingRuns(vec![samples::at()].into()),
            "/v1/routines/upcoming?schedule=every%2090m&time_zone=UTC&limit=2".to_owned(),
        ),
    ]
}

/// Request line, body, the command it becomes, its outcome, and the status of that.
fn commands() -> Vec<(&'static str, String, Command, Outcome, u16)> {
    let named = || "morning".to_owned();
    let body = serde_json::to_string(&patch()).unwrap();
    vec![
        (
            "POST /v1/routines",
            body.clone(),
            Command::AddRoutine(AddRoutine { routine: patch() }),
            Outcome::AddRoutine(routine()),
            201,
        ),
        (
            "PATCH /v1/routines/morning",
            body,
            Command::ChangeRoutine(ChangeRoutine {
                routine: named(),
                patch: patch(),
            }),
            Outcome::ChangeRoutine(routine()),
            200,
        ),
        (
            "DELETE /v1/routines/morning",
            String::new(),
            Command::RemoveRoutine(RemoveRoutine { routine: named() }),
            Outcome::RemoveRoutine(id()),
            200,
        ),
        (
            "POST /v1/routines/morning/run",
            String::new(),
            Command::RunRoutine(RunRoutine { routine: named() }),
            Outcome::RunRoutine(run()),
            200,
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
        let asked = fake.queries.lock().unwrap().last().unwrap().clone();
        assert_eq!(asked, query);
        let answered = serde_json::to_value(&answer).unwrap()["value"].clone();
        assert_eq!(reply.json(), answered, "{path}");
    }
    for (line, body, command, outcome, status) in commands() {
        fake.will(Ok(outcome));
        let reply = server.call(line, &body).await;
        assert_eq!(reply.status, status, "{line}: {}", reply.body);
        assert_eq!(fake.last_envelope().command, command, "{line}");
    }
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
    for (_, _, command, outcome, _) in commands() {
        fake.will(Ok(outcome.clone()));
        let envelope = leverframe::cli::find::envelope(command.clone(), None);
        assert_eq!(client.submit(envelope).await.unwrap(), outcome);
        assert_eq!(fake.last_envelope().command, command);
    }
    let body = EventBody::RoutineChanged {
        change: "ran".to_owned(),
        routine: Box::new(routine()),
    };
    let wire = serde_json::to_value(samples_traffic::event(None, body.clone())).unwrap();
    assert_eq!(wire["kind"], "routine.changed");
    let read: leverframe::protocol::event::Event = serde_json::from_value(wire).unwrap();
    assert_eq!(read.body, body);
}

#[test]
fn only_running_one_needs_less_than_admin() {
    for (_, _, command, _, _) in commands() {
        let scope = match &command {
            Command::RunRoutine(_) => Scope::Operate,
            Command::AddRoutine(_) | Command::ChangeRoutine(_) | Command::RemoveRoutine(_) => {
                Scope::Admin
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(command.scope(), scope);
    }
}

#[tokio::test]
async fn the_commands_never_write_raw_text() {
    let fake = FakeClient::new();
    for (words, answer) in [
        ("routine list", queries()[0].1.clone()),
        ("routine show morning", queries()[1].1.clone()),
        ("routine history morning", queries()[2].1.clone()),
    ] {
        for json in [false, true] {
            fake.knows(Ok(answer.clone()));
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
                assert!(!out.contains('\u{202e}'), "{out}");
            }
        }
    }
}
