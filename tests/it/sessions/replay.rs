//! A replay shows at each moment what was known then, keeps time, and lets nothing be decided or sent.

use leverframe::clock::Timestamp;
use leverframe::console::hosts::HostAddress;
use leverframe::console::message::DaemonMessage;
use leverframe::protocol::enums::*;
use leverframe::protocol::file_change::{CallDiff, DiffSource};
use leverframe::protocol::ids::ApprovalId;
use leverframe::protocol::problem::Problem;
use leverframe::protocol::request::{Answer, CancelContinuation, Command, GetCallDiff, Query};
use leverframe::protocol::session::{
    Continuation, Step, StepBody, TextBody, ToolCall, TranscriptBody,
};
use leverframe::protocol::snapshot::Page;
use leverframe::tui::keymap::key::parse_sequence;
use leverframe::tui::message::{Effect, Message};
use leverframe::tui::state::hosts::open;
use leverframe::tui::state::modal::{Confirm, Modal};
use leverframe::tui::state::screen::Screen;
use proptest::prelude::*;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;
use crate::console_frames::screens::check;
use crate::sessions::long::LongSession;
use crate::sessions::{plain_home, run, said};
use crate::support::pty::Pty;

const BEGAN: Timestamp = Timestamp(1_795_200_000_000);

fn at(millis: i64) -> Timestamp {
    Timestamp(BEGAN.0 + millis)
}

fn step(n: u32, millis: i64, kind: StepKind, body: StepBody) -> Step {
    Step {
        continuation_id: fixture::continuation_id(2),
        n,
        kind,
        body,
        at: at(millis),
    }
}

/// A message at 0, a model step at 2 s whose call asked, started at 60 s and was done at 61 s, an answer at 64 s.
fn past() -> (Continuation, Vec<Step>) {
    past_of(fixture::tool_call(
        9,
        ToolCallState::Succeeded,
        Some("relay restarted"),
    ))
}

fn past_of(mut call: ToolCall) -> (Continuation, Vec<Step>) {
    call.approval_id = Some(ApprovalId::from_bytes([7; 16]));
    call.created_at = at(2_000);
    call.started_at = Some(at(60_000));
    let TranscriptBody::Step { step: model, .. } =
        fixture::model(2, "I will look.", vec![call.clone()]).body
    else {
        unreachable!()
    };
    let steps = vec![
        step(1, 2_000, StepKind::Model, model.body),
        step(
            2,
            61_000,
            StepKind::ToolResult,
            StepBody::ToolResult {
                call_id: call.id,
                provider_call_id: "x".into(),
                name: call.name.clone(),
                state: ToolCallState::Succeeded,
                content: "relay restarted".into(),
                is_error: false,
                duration_ms: Some(84),
                artifact: None,
                cached: None,
            },
        ),
        step(
            3,
            64_000,
            StepKind::Final,
            StepBody::Final {
                text: "It was the relay.".into(),
                stop: "end".into(),
                citations: leverframe::protocol::citation::Citations::default(),
            },
        ),
    ];
    let turn = Continuation {
        waiting_files: 0,
        attachments: Vec::new(),
        request: TextBody {
            text: "Which one was it?".into(),
        },
        tool_calls: vec![call],
        error: None,
        created_at: at(0),
        ..fixture::continuation(2, ContinuationState::Completed)
    };
    (turn, steps)
}

fn answer_all(driver: &mut Driver, effects: &[Effect]) {
    answer_with(driver, effects, past());
}

fn answer_with(driver: &mut Driver, effects: &[Effect], (turn, steps): (Continuation, Vec<Step>)) {
    for effect in effects {
        match effect {
            Effect::Query(query @ Query::GetContinuation(_)) => {
                driver.answer(query.clone(), Answer::GetContinuation(turn.clone()));
            }
            Effect::Query(query @ Query::ListSteps(_)) => driver.answer(
                query.clone(),
                Answer::ListSteps(Page {
                    items: steps.clone(),
                    next_cursor: None,
                }),
            ),
            _ => {}
        }
    }
}

/// A console that plays the turn, paused at its first moment.
fn playing(width: u16, height: u16) -> Driver {
    let mut driver = Driver::with(width, height, fixture::busy());
    driver.press("2 j j enter");
    driver.answer_transcript(fixture::transcript());
    driver.press("k");
    let effects = driver.press("R");
    assert!(driver.state.replay.is_some(), "{effects:?}");
    answer_all(&mut driver, &effects);
    driver.press("space");
    driver
}

fn replay(driver: &Driver) -> &leverframe::tui::state::replay::Replay {
    driver.state.replay.as_deref().expect("a replay")
}

#[test]
fn each_moment_shows_what_was_known_then() {
    let mut driver = playing(120, 40);
    let text = driver.text();
    assert!(text.contains(" REPLAY "), "{text}");
    assert!(text.contains("Which one was it?"), "{text}");
    assert!(!text.contains("I will look."), "{text}");
    let moments: [(&[&str], &[&str]); 4] = [
        (
            &["I will look.", "awaiting"],
            &["relay restarted", "search_files  started", "84ms"],
        ),
        (&["search_files  started"], &["awaiting", "relay restarted"]),
        (
            &["search_files  succeeded", "relay restarted", "84ms"],
            &["It was the relay."],
        ),
        (&["It was the relay.", "at the end"], &["awaiting"]),
    ];
    for (there, not_there) in moments {
        driver.press("right");
        let text = driver.text();
        for words in there {
            assert!(text.contains(words), "{words} is missing in {text}");
        }
        for words in not_there {
            assert!(!text.contains(words), "{words} is too early in {text}");
        }
    }
    // At its end it is what the store has.
    let (turn, steps) = past();
    let held: Vec<_> = driver.state.screens.session.entries.values().collect();
    assert_eq!(held.len(), steps.len() + 1);
    for (held, step) in held[1..].iter().zip(&steps) {
        let TranscriptBody::Step {
            step: shown,
            tool_calls,
        } = &held.entry.body
        else {
            panic!("{held:?}");
        };
        assert_eq!(shown, step);
        if step.kind == StepKind::Model {
            assert_eq!(tool_calls, &turn.tool_calls);
        }
    }
    // And back.
    driver.press("left left left");
    assert!(driver.text().contains("awaiting"));
    driver.press("left left left left");
    assert!(!driver.text().contains("I will look."));
}

/// A console that plays a turn which writes a file, paused at its first moment.
fn playing_a_write(width: u16, height: u16) -> (Driver, ToolCall) {
    let mut call = fixture::tool_call(9, ToolCallState::Succeeded, Some("created `notes.md`"));
    call.name = "write_file".into();
    call.access = Access::WriteAdditive;
    call.plan.path = Some("notes.md".into());
    let mut driver = Driver::with(width, height, fixture::busy());
    driver.press("2 j j enter");
    driver.answer_transcript(fixture::transcript());
    driver.press("k");
    let effects = driver.press("R");
    answer_with(&mut driver, &effects, past_of(call.clone()));
    driver.press("space");
    (driver, call)
}

fn asked_diffs(effects: &[Effect]) -> Vec<Query> {
    let diff = |effect: &Effect| match effect {
        Effect::Query(query @ Query::GetCallDiff(_)) => Some(query.clone()),
        _ => None,
    };
    effects.iter().filter_map(diff).collect()
}

#[test]
fn each_step_shows_what_it_did_to_files() {
    for (width, height) in [(80, 24), (120, 40), (160, 40)] {
        let (mut driver, call) = playing_a_write(width, height);
        let text = driver.text();
        assert!(text.contains("Files at this step"), "{text}");
        assert!(text.contains("This step changes no file."), "{text}");
        // The step of the model, then the start of its call.
        assert!(asked_diffs(&driver.press("]")).is_empty());
        let asked = asked_diffs(&driver.press("]"));
        let query = Query::GetCallDiff(GetCallDiff {
            tool_call_id: call.id,
        });
        assert_eq!(asked, std::slice::from_ref(&query));
        assert!(driver.text().contains("loading"), "{}", driver.text());
        let diff = CallDiff {
            tool_call_id: call.id,
            tool: call.name.clone(),
            state: call.state,
            source: Some(DiffSource::Arguments),
            unified: "--- /dev/null\n+++ b/notes.md\n@@ -0,0 +1 @@\n+the relay\n".into(),
            missing: vec!["notes.md: what it held before is not in the record".into()],
            undone: false,
        };
        driver.answer(query, Answer::GetCallDiff(diff));
        let text = driver.text();
        assert!(text.contains("notes.md: what it held before"), "{text}");
        assert!(text.contains("from the arguments of the call"), "{text}");
        driver.press(". . .");
        if height > 24 {
            assert!(text.contains("+the relay"), "{text}");
        } else {
            assert!(driver.text().contains("+the relay"), "{}", driver.text());
        }
        // Its end is the same step of files: it is not asked again.
        assert!(asked_diffs(&driver.press("]")).is_empty());
        driver.press("]");
        let text = driver.text();
        assert!(text.contains("This step changes no file."), "{text}");
        assert!(text.contains("Changed so far"), "{text}");
        driver.press("[ [ [ [");
        assert!(!driver.text().contains("Changed so far"));
    }
}

#[test]
fn a_record_without_the_files_of_a_step_says_so() {
    let (mut driver, call) = playing_a_write(120, 40);
    driver.press("] ]");
    driver.hear(DaemonMessage::Answered {
        query: Box::new(Query::GetCallDiff(GetCallDiff {
            tool_call_id: call.id,
        })),
        result: Err(Box::new(Problem::not_found("call", call.id))),
    });
    let text = driver.text();
    assert!(text.contains(&call.id.to_string()), "{text}");
    assert!(driver.state.replay.is_some());
}

#[test]
fn it_keeps_time_at_every_speed_and_pauses() {
    let mut driver = playing(120, 40);
    driver.press("space");
    assert!(replay(&driver).playing);
    driver.wait(1_999);
    assert_eq!(replay(&driver).moment(), (1, 5));
    driver.wait(1);
    assert_eq!(replay(&driver).moment(), (2, 5));
    driver.press("> >");
    assert_eq!(replay(&driver).speed(), 16);
    driver.press(">");
    assert_eq!(replay(&driver).speed(), 16, "there is nothing faster");
    let due = driver.state.next_deadline().unwrap().0 - driver.steady;
    assert!(due <= 1_000, "{due}");
    driver.wait(3_624);
    assert_eq!(
        replay(&driver).moment(),
        (2, 5),
        "{:?}",
        replay(&driver).time()
    );
    driver.wait(1);
    assert_eq!(replay(&driver).moment(), (3, 5));
    driver.press("< <");
    driver.press("space");
    let before = replay(&driver).time();
    driver.wait(60_000);
    assert_eq!(replay(&driver).time(), before, "it is paused");
    let due = driver.state.next_deadline().unwrap().0 - driver.steady;
    assert!(due > 1_000, "a paused replay wakes nobody, but {due}");
    // Seeking.
    driver.press("( ( ( ( ( ( ( ( ( ( (");
    assert_eq!(
        (replay(&driver).time().0, replay(&driver).moment().0),
        (0, 1)
    );
    driver.press(") ) ) ) ) ) ) ) ) ) )");
    assert_eq!(replay(&driver).moment(), (5, 5));
    driver.press("space");
    assert_eq!(replay(&driver).moment().0, 1, "it begins again");
}

#[test]
fn it_ends_where_it_began() {
    let mut driver = playing(120, 40);
    let behind = replay(&driver).behind.clone();
    driver.press("2");
    assert_eq!(driver.state.screen, Screen::Session, "it is left first");
    assert!(
        driver
            .state
            .toast
            .as_ref()
            .unwrap()
            .text
            .contains("esc ends it")
    );
    // What arrives meanwhile goes to the transcript behind it.
    driver.answer_transcript(fixture::transcript());
    assert!(!driver.text().contains("last night"));
    driver.press("esc");
    assert!(driver.state.replay.is_none());
    assert_eq!(driver.state.screens.session.selected, behind.selected);
    assert!(driver.text().contains("last night"));
    assert!(!driver.text().contains("REPLAY"));
    driver.press("2");
    assert_eq!(driver.state.screen, Screen::Live);
}

#[test]
fn what_cannot_be_had_ends_it_with_a_word() {
    let mut driver = Driver::with(120, 40, fixture::busy());
    driver.press("2 j j enter");
    driver.answer_transcript(fixture::transcript());
    driver.press("k");
    let effects = driver.press("R");
    let Some(Effect::Query(query)) = effects.first().cloned() else {
        panic!("{effects:?}");
    };
    driver.hear(DaemonMessage::Answered {
        query: Box::new(query),
        result: Err(Box::new(Problem::not_found("continuation", "con_x"))),
    });
    assert!(driver.state.replay.is_none());
    assert!(
        driver
            .state
            .toast
            .as_ref()
            .unwrap()
            .text
            .starts_with("replay: ")
    );
}

#[test]
fn a_whole_session_is_played_from_its_pages_and_says_where_it_was_cut() {
    for (count, shown) in [(1_203u64, 1_203usize), (5_600, 5_000)] {
        let entries = (0..count).map(|n| {
            let mut entry = fixture::user(n, &format!("message {n}."));
            entry.at = at(i64::try_from(n).unwrap() * 1_000);
            entry
        });
        let long = LongSession::new(entries.collect());
        let mut driver = Driver::with(120, 40, fixture::busy());
        driver.press("2 j j enter");
        let mut effects = driver.press("R");
        while let Some(Effect::Query(query)) = effects.pop() {
            let answer = long.answer(&query).unwrap();
            effects = driver.hear(DaemonMessage::Answered {
                query: Box::new(query),
                result: Ok(Box::new(answer)),
            });
        }
        assert_eq!(replay(&driver).moment(), (1, shown));
        let text = driver.text();
        assert!(text.contains("message 0.") && !text.contains("message 1."));
        assert_eq!(
            text.contains("only the first 5000 entries"),
            count > 5_000,
            "{text}"
        );
        driver.press(") ) ) ) ) ) ) ) ) ) )");
        assert!(driver.text().contains(&format!("message {}.", shown - 1)));
    }
}

#[test]
fn frames() {
    check("replay", |w, h| {
        let mut driver = playing(w, h);
        driver.press("right right");
        driver
    });
}

#[derive(Debug, Clone)]
enum Happening {
    Key(&'static str),
    Type(&'static str),
    Paste(&'static str),
    Wait(u64),
    Draw,
    /// A question to which the safe answer is not the one that is chosen.
    Question,
}

const KEYS: &[&str] = &[
    "j",
    "k",
    "G",
    "enter",
    "enter",
    "esc",
    "a",
    "d",
    "x",
    "D",
    "e",
    "o",
    "w",
    "i",
    "p",
    "P",
    "A",
    "M",
    "c",
    "t",
    "X",
    "W",
    "R",
    "n",
    "1",
    "2",
    "4",
    "5",
    "6",
    "8",
    "-",
    ":",
    "ctrl-k",
    "?",
    "tab",
    "right",
    "left",
    "space",
    ">",
    ")",
    "alt-enter",
    "y",
    "L",
    "/",
    "u",
    "h",
    "r",
    "s",
    "S",
    "E",
    "ctrl-r",
    "ctrl-d",
];

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        12 => prop::sample::select(KEYS).prop_map(Happening::Key),
        2 => prop::sample::select(vec!["new-session", "pause-session", "kill", "approve", "live", "queue", "session", "release", "compose", "send this"])
            .prop_map(Happening::Type),
        1 => prop::sample::select(vec!["a", "aaa\na"]).prop_map(Happening::Paste),
        3 => prop::sample::select(vec![40u64, 300, 800, 2_000]).prop_map(Happening::Wait),
        1 => Just(Happening::Draw),
        1 => Just(Happening::Question),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, max_shrink_iters: 500, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_decided_or_sent_while_it_runs(stream in prop::collection::vec(happening(), 1..30)) {
        thread_local! {
            static FIRST: leverframe::tui::state::app::State = playing(80, 24).state;
        }
        let mut driver = Driver::new(80, 24);
        driver.state = FIRST.with(Clone::clone);
        for happening in stream {
            // As long as it is shown, whatever is open above it.
            let shown = driver.state.replay.is_some();
            let effects = match &happening {
                Happening::Key(key) => driver.key(parse_sequence(key).unwrap()[0]),
                Happening::Type(text) => {
                    driver.effects.clear();
                    driver.key(parse_sequence(":").unwrap()[0]);
                    for c in text.chars() {
                        let key = if c == ' ' { "space".to_owned() } else { c.to_string() };
                        driver.key(parse_sequence(&key).unwrap()[0]);
                    }
                    driver.key(parse_sequence("enter").unwrap()[0]);
                    driver.effects.clone()
                }
                Happening::Paste(text) => driver.send(Message::Paste((*text).to_owned())),
                Happening::Wait(millis) => {
                    driver.steady += millis;
                    driver.send(Message::Tick)
                }
                Happening::Draw => {
                    driver.effects.clear();
                    driver.draw();
                    driver.effects.clone()
                }
                Happening::Question => {
                    if shown {
                        driver.state.modals.push(Modal::Confirm(Confirm {
                            title: "Kill this turn?".into(),
                            lines: vec![],
                            label: "Kill",
                            command: Command::CancelContinuation(CancelContinuation {
                                continuation_id: fixture::continuation_id(2),
                                reason: None,
                            }),
                            bound: None,
                            chosen: 1,
                        }));
                    }
                    Vec::new()
                }
            };
            let sent: Vec<&Effect> = effects
                .iter()
                // The one thing that works whatever is shown.
                .filter(|effect| {
                    matches!(effect, Effect::Submit(command) if !matches!(command, Command::EmergencyStop(_)))
                })
                .collect();
            prop_assert!(!shown || sent.is_empty(), "{happening:?} sent {sent:?}");
            if driver.state.replay.is_none() {
                break;
            }
        }
    }
}

#[tokio::test]
async fn the_command_plays_from_a_daemon_and_from_the_files() {
    let home = plain_home();
    let mut daemon = home.daemon();
    let session = daemon.session().await;
    let id = daemon.send(&session, "SAY:played again").await;
    daemon.wait_state(&id, "completed").await;
    let play = |id: &str| {
        let mut command = home.command();
        command.args(["replay", id]);
        Pty::start(&command, 100, 30)
    };
    let files = || -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(home.data())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| !name.contains("log"))
            .collect();
        names.sort();
        names
    };
    let see_all = |mut pty: Pty| {
        pty.see(" REPLAY ");
        pty.press_until(")", "at the end");
        let screen = pty.see("played again");
        // The screens of a console are not to be had here.
        pty.press_until("1", "a replay is shown");
        pty.send("q");
        assert_eq!(pty.wait_exit(), Some(0), "{screen}");
        screen
    };
    let attached = see_all(play(&id));
    assert!(attached.contains("READ-ONLY"), "{attached}");
    see_all(play(&session));
    daemon.terminate();
    let before = files();
    let alone = see_all(play(id.get(..20).unwrap()));
    assert!(alone.contains("nothing runs"), "{alone}");
    see_all(play(&session));
    assert_eq!(files(), before, "a replay leaves nothing behind");

    let output = run(&home, &["replay", &id]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("needs a terminal"));
    let mut pty = play("con_zzz");
    assert_eq!(pty.wait_exit(), Some(2), "{}", pty.screen());
}

#[test]
fn another_host_is_not_shown_under_what_is_played() {
    let mut driver = playing(120, 40);
    let hosts = ["atlas", "lab"].map(|name| HostAddress {
        name: Some(name.to_owned()),
        address: format!("http://{name}"),
    });
    open(&mut driver.state, hosts.into());
    let focused = driver.state.model.hosts.focused();
    driver.press("ctrl-n");
    assert_eq!(driver.state.model.hosts.focused(), focused);
    assert!(driver.state.replay.is_some());
    driver.press("esc ctrl-n");
    assert_ne!(driver.state.model.hosts.focused(), focused);
}
