//! Continuations and Audit: what they ask, what their keys do, and that nothing moves under the cursor.

use std::sync::Arc;

use leverframe::console::item::ItemKey;
use leverframe::console::message::DaemonMessage;
use leverframe::protocol::enums::*;
use leverframe::protocol::event::{Event, EventBody};
use leverframe::protocol::ids::ContinuationId;
use leverframe::protocol::problem::{Problem, ProblemKind};
use leverframe::protocol::request::{
    CancelContinuation, Command, ExplainCall, ListAudit, ListContinuations, Query,
    ResumeContinuation, RetryContinuation, VerifyAudit,
};
use leverframe::protocol::session::*;
use leverframe::tui::message::Effect;
use leverframe::tui::state::audit::Chain;
use leverframe::tui::state::continuations::Group;
use leverframe::tui::state::modal::Modal;
use leverframe::tui::state::screen::Screen;
use proptest::prelude::*;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;
use crate::console_frames::fleet::{Engine, fleet, opened, report, row, turn};

fn happens(driver: &mut Driver, seq: u64) {
    let event = Event {
        seq: Some(seq),
        at: driver.now().wall,
        session_id: Some(fixture::session_id(1)),
        continuation_id: Some(fixture::continuation_id(1)),
        body: EventBody::ContinuationQueued { ahead: 0 },
    };
    driver.hear(DaemonMessage::Event(Arc::new(event)));
    driver.wait(600);
}

fn ids(driver: &Driver) -> Vec<ContinuationId> {
    let order = &driver.state.screens.continuations.list.order;
    order.clone()
}

fn submitted(effects: &[Effect]) -> Vec<Command> {
    let commands = effects.iter().filter_map(|effect| match effect {
        Effect::Submit(command) => Some(command.clone()),
        _ => None,
    });
    commands.collect()
}

#[test]
fn turns_are_grouped_and_nothing_is_selected() {
    let driver = opened(120, 40, "5", &fleet());
    let panel = &driver.state.screens.continuations;
    assert_eq!(panel.list.selected, None);
    let groups: Vec<(Group, u8)> = panel
        .rows()
        .iter()
        .map(|(group, id)| (group.unwrap(), *id.to_bytes().last().unwrap()))
        .collect();
    assert_eq!(
        groups,
        [
            (Group::Running, 2),
            (Group::Parked, 1),
            (Group::Parked, 4),
            (Group::Interrupted, 3),
            (Group::Recent, 5),
            (Group::Recent, 7),
        ]
    );
}

const STATES: [ContinuationState; 6] = [
    ContinuationState::Running,
    ContinuationState::Pending,
    ContinuationState::AwaitingApproval,
    ContinuationState::Interrupted,
    ContinuationState::Completed,
    ContinuationState::Failed,
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_row_moves_while_one_is_selected(changes in prop::collection::vec((1u8..20, 0usize..7), 1..25), down in 1usize..6) {
        let mut engine = fleet();
        let mut driver = opened(120, 40, "5", &engine);
        for _ in 0..down {
            driver.press("j");
        }
        engine.serve(&mut driver);
        let selected = driver.state.screens.continuations.list.selected;
        prop_assert!(selected.is_some());
        let mut seq = 100;
        for (n, state) in changes {
            let before = ids(&driver);
            let id = fixture::continuation_id(n);
            if state == 6 {
                if Some(id) == selected {
                    continue;
                }
                engine.turns.retain(|turn| turn.id != id);
            } else if let Some(known) = engine.turns.iter_mut().find(|turn| turn.id == id) {
                known.state = STATES[state];
            } else {
                engine.turns.push(turn(n, STATES[state], 1, "new"));
            }
            seq += 1;
            happens(&mut driver, seq);
            engine.serve(&mut driver);
            driver.wait(600);
            engine.serve(&mut driver);
            prop_assert_eq!(driver.state.screens.continuations.list.selected, selected);
            let after = ids(&driver);
            let kept: Vec<ContinuationId> = before.iter().copied().filter(|id| after.contains(id)).collect();
            prop_assert_eq!(&after[..kept.len()], &kept[..], "a row moved");
            // What is shown of each is what the engine says now.
            for turn in &engine.turns {
                let shown = driver.state.screens.continuations.known.get(&turn.id).map(|turn| turn.state);
                prop_assert_eq!(shown, Some(turn.state));
            }
        }
        driver.press("esc");
        let panel = &driver.state.screens.continuations;
        prop_assert!(panel.rows().iter().all(|(group, id)| *group == Some(Group::of(panel.known[id].state))), "esc sorts");
    }
}

#[test]
fn resume_retry_and_cancel_ask_first_and_only_where_they_fit() {
    for (down, key, wanted) in [
        (4, "c", true),
        (1, "c", false),
        (5, "t", true),
        (1, "t", false),
        (1, "X", true),
        (5, "X", false),
    ] {
        let mut driver = opened(120, 40, "5", &fleet());
        for _ in 0..down {
            driver.press("j");
        }
        let id = driver.state.screens.continuations.list.selected.unwrap();
        driver.press(key);
        let asks = matches!(driver.state.modals.last(), Some(Modal::Confirm(_)));
        assert_eq!(asks, wanted, "{key} on row {down}");
        if !asks {
            continue;
        }
        let effects = driver.press("enter");
        assert_eq!(submitted(&effects), [], "Cancel is focused");
        driver.press(key);
        let effects = driver.press("tab enter");
        let command = match key {
            "c" => Command::ResumeContinuation(ResumeContinuation {
                continuation_id: id,
            }),
            "t" => Command::RetryContinuation(RetryContinuation {
                continuation_id: id,
            }),
            _ => Command::CancelContinuation(CancelContinuation {
                continuation_id: id,
                reason: None,
            }),
        };
        assert_eq!(submitted(&effects), [command]);
    }
}

#[test]
fn the_filter_takes_words_of_state_channel_person_and_text() {
    let engine = fleet();
    for (text, wanted) in [
        ("desk", 1),
        ("ana", 5),
        ("INBOX", 1),
        ("waiting list", 1),
        ("interrupted", 1),
        ("nothing-like-it", 0),
        ("", 6),
    ] {
        let mut driver = opened(120, 40, "5 /", &engine);
        driver.type_text(text);
        driver.press("enter");
        let asked = engine.serve(&mut driver);
        let shown = driver.state.screens.continuations.list.order.len();
        assert_eq!(shown, wanted, "{text}: {}", driver.text());
        let by_state = asked.iter().any(|query| {
            matches!(query, Query::ListContinuations(ListContinuations { state: Some(ContinuationState::Interrupted), page, .. }) if page.limit == Some(50))
        });
        assert_eq!(by_state, text == "interrupted", "{asked:?}");
        driver.press("esc");
        engine.serve(&mut driver);
        assert_eq!(ids(&driver).len(), 6, "esc shows all after {text}");
    }
}

#[test]
fn older_turns_are_asked_for_near_the_end() {
    let mut engine = fleet();
    for n in 30..200 {
        let age = 20_000 + i64::from(n);
        engine
            .turns
            .push(turn(n, ContinuationState::Completed, age, "old"));
    }
    let mut driver = opened(120, 40, "5", &engine);
    let first = driver.state.screens.continuations.list.order.len();
    assert!(first < 60, "{first}");
    assert!(driver.text().contains(&format!("Continuations  {first}+")));
    let mut pages = 0;
    while driver.state.screens.continuations.next.is_some() {
        let selected = driver.state.screens.continuations.list.selected;
        driver.press("G");
        let asked = engine.serve(&mut driver);
        pages += asked
            .iter()
            .filter(
                |query| matches!(query, Query::ListContinuations(ListContinuations { page, .. }) if page.cursor.is_some()),
            )
            .count();
        assert_ne!(driver.state.screens.continuations.list.selected, selected);
        assert!(pages < 10);
    }
    assert_eq!(ids(&driver).len(), engine.turns.len());
    // Asked again from the start, the older ones stay.
    happens(&mut driver, 101);
    engine.serve(&mut driver);
    assert_eq!(ids(&driver).len(), engine.turns.len());
}

#[test]
fn an_old_turn_that_is_open_no_more_is_looked_up() {
    let mut engine = fleet();
    for n in 30..120 {
        let age = 20_000 + i64::from(n);
        engine
            .turns
            .push(turn(n, ContinuationState::Completed, age, "old"));
    }
    engine.turns.extend([
        turn(200, ContinuationState::Running, 90_000, "very old"),
        turn(201, ContinuationState::Pending, 90_001, "older still"),
    ]);
    let mut driver = opened(120, 40, "5", &engine);
    let shown = |driver: &Driver, n: u8| {
        let known = &driver.state.screens.continuations.known;
        known
            .get(&fixture::continuation_id(n))
            .map(|turn| turn.state)
    };
    assert_eq!(shown(&driver, 200), Some(ContinuationState::Running));
    assert_eq!(shown(&driver, 201), Some(ContinuationState::Pending));
    engine.turns.pop();
    engine.turns.last_mut().unwrap().state = ContinuationState::Failed;
    happens(&mut driver, 101);
    engine.serve(&mut driver);
    driver.wait(600);
    engine.serve(&mut driver);
    assert_eq!(shown(&driver, 200), Some(ContinuationState::Failed));
    assert_eq!(shown(&driver, 201), None, "swept");
}

#[test]
fn enter_opens_the_session_at_that_turn() {
    let mut engine = fleet();
    let wanted = fixture::continuation_id(3);
    engine.transcript = (1..=700)
        .map(|position| TranscriptEntry {
            continuation_id: if position == 41 {
                wanted
            } else {
                fixture::continuation_id(9)
            },
            ..fixture::user(position, "a line")
        })
        .collect();
    let mut driver = opened(120, 40, "5 j j j j", &engine);
    driver.press("enter");
    assert_eq!(driver.state.screen, Screen::Session);
    engine.serve(&mut driver);
    assert_eq!(driver.state.screens.session.selected, Some(41));
    assert_eq!(driver.state.screens.session.wanted, None);
    // A turn that left no entry is not looked for without end.
    engine
        .transcript
        .retain(|entry| entry.continuation_id != wanted);
    let mut driver = opened(120, 40, "5 j j j j enter", &engine);
    assert_eq!(driver.state.screens.session.background_search, None);
    let said = driver.state.toast.clone().map(|toast| toast.text);
    assert!(said.is_some_and(|said| said.contains("no further entry of this turn above")));
    assert_eq!(driver.state.screens.session.wanted, None);
    assert_eq!(driver.state.screens.session.selected, None);
    driver.draw();
}

#[test]
fn a_question_is_gone_to_and_decided_only_on_its_card() {
    let mut driver = opened(120, 40, "5 j j", &fleet());
    let effects = driver.press("a");
    assert_eq!(submitted(&effects), [], "no decision on this screen");
    driver.press("o");
    assert_eq!(driver.state.screen, Screen::Queue);
    let key = driver.state.model.selected();
    assert!(matches!(key, Some(ItemKey::Approval(_))), "{key:?}");
    let effects = driver.press("a");
    assert_eq!(submitted(&effects), [], "not armed yet");
    driver.press("5 j o");
    assert_eq!(
        driver.state.screen,
        Screen::Continuations,
        "it asks nothing"
    );
}

#[test]
fn why_tells_of_the_calls_of_what_is_selected() {
    let engine = fleet();
    let asked = |driver: &mut Driver| {
        let queries = engine.serve(driver);
        let why = queries.into_iter().filter_map(|query| match query {
            Query::ExplainCall(ExplainCall { tool_call_id }) => Some(tool_call_id),
            _ => None,
        });
        why.collect::<Vec<_>>()
    };
    let calls: Vec<_> = engine.turns[3]
        .tool_calls
        .iter()
        .map(|call| call.id)
        .collect();
    let mut driver = opened(120, 40, "5 j j j j", &engine);
    driver.press("W");
    assert_eq!(asked(&mut driver), calls);
    let text = driver.text();
    assert!(
        text.contains("Why  2 calls") && text.contains("version 3 of channel telegram"),
        "{text}"
    );
    driver.press("esc");
    assert!(driver.state.modals.is_empty());

    let mut snapshot = fixture::busy();
    snapshot.approvals[0].tool_call_id = Some(calls[0]);
    let mut driver = Driver::with(120, 40, snapshot);
    driver.press("j W");
    assert_eq!(asked(&mut driver), calls[..1], "from the Queue");

    let mut driver = Driver::with(120, 40, fixture::busy());
    driver.press("2 j j enter");
    driver.answer_transcript(fixture::transcript());
    driver.press("g g j W");
    assert!(!asked(&mut driver).is_empty(), "from the Session");

    let mut driver = opened(120, 40, "5 W", &engine);
    assert!(driver.state.modals.is_empty(), "nothing is selected");
    driver.effects.clear();
    driver.press("j j j j W");
    let problem = Problem::new(ProblemKind::NotFound, "no such call", "it was swept");
    for call in &calls {
        driver.hear(DaemonMessage::Answered {
            query: Box::new(Query::ExplainCall(ExplainCall {
                tool_call_id: *call,
            })),
            result: Err(Box::new(problem.clone())),
        });
    }
    assert!(driver.text().contains("it was swept"), "{}", driver.text());
}

#[test]
fn new_rows_of_the_audit_do_not_move_what_is_read() {
    let mut engine = fleet();
    let mut driver = opened(120, 40, "9", &engine);
    assert_eq!(driver.state.screens.audit.list.selected, None);
    let listed = |driver: &Driver| driver.state.screens.audit.list.order.clone();
    engine.rows.push(row(10));
    happens(&mut driver, 101);
    engine.serve(&mut driver);
    assert_eq!(
        listed(&driver)[0],
        10,
        "at the top where nothing is selected"
    );
    driver.press("j j");
    let before = driver.text();
    engine.rows.extend([row(11), row(12)]);
    happens(&mut driver, 102);
    engine.serve(&mut driver);
    assert_eq!(driver.state.screens.audit.list.selected, Some(9));
    assert_eq!(listed(&driver)[0], 10);
    let after = driver.text();
    assert!(after.contains("2 newer above"), "{after}");
    let at = |text: &str| text.lines().position(|line| line.contains("│ > ")).unwrap();
    assert_eq!(at(&before), at(&after), "it moved:\n{after}");
    driver.press("g g");
    assert_eq!(driver.state.screens.audit.list.selected, Some(12));
}

#[test]
fn rows_that_were_missed_are_not_papered_over() {
    let mut engine = fleet();
    let mut driver = opened(120, 40, "9", &engine);
    engine.rows.extend((10..=150).map(row));
    driver.press("1 9");
    engine.serve(&mut driver);
    let listed: Vec<u64> = driver.state.screens.audit.list.order.clone();
    assert_eq!(listed, (51..=150).rev().collect::<Vec<u64>>());
    driver.press("G");
    engine.serve(&mut driver);
    let listed: Vec<u64> = driver.state.screens.audit.list.order.clone();
    assert_eq!(listed, (1..=150).rev().collect::<Vec<u64>>());
}

#[test]
fn the_filter_of_the_audit_has_the_words_of_the_command() {
    let engine = fleet();
    let mut driver = opened(120, 40, "9 /", &engine);
    driver.type_text("colour blue");
    driver.press("enter");
    let text = driver.text();
    assert!(
        text.contains("`colour`: expected since 2h, channel NAME"),
        "{text}"
    );
    for _ in 0.."colour blue".len() {
        driver.press("backspace");
    }
    driver.type_text("--action policy.changed channel=telegram since 2h actor ana");
    driver.press("enter");
    assert!(driver.state.modals.is_empty());
    let asked = engine.serve(&mut driver);
    let Some(Query::ListAudit(ListAudit { filter, .. })) = asked.last() else {
        panic!("{asked:?}");
    };
    assert_eq!(filter.action.as_deref(), Some("policy.changed"));
    assert_eq!(filter.channel.as_deref(), Some("telegram"));
    assert_eq!(filter.actor.as_deref(), Some("ana"));
    assert_eq!(filter.since, Some(driver.now().wall.plus_seconds(-7200)));
    let listed: Vec<u64> = driver.state.screens.audit.list.order.clone();
    assert_eq!(listed, [6]);
    driver.press("esc");
    engine.serve(&mut driver);
    assert_eq!(driver.state.screens.audit.list.order.len(), 9);
}

#[test]
fn the_chain_is_walked_once_at_a_time_and_its_result_is_said() {
    let silent = Engine {
        report: None,
        ..fleet()
    };
    let mut driver = opened(120, 40, "9", &silent);
    assert!(
        driver
            .text()
            .contains("not verified since this console started; v verifies it")
    );
    driver.press("v v");
    let asked = silent.serve(&mut driver);
    let walks = asked
        .iter()
        .filter(|query| matches!(query, Query::VerifyAudit(_)));
    assert_eq!(walks.count(), 1);
    assert!(driver.text().contains("verifying every row and hash"));
    // Rows still come while it walks.
    let mut more = silent.clone();
    more.rows.push(row(10));
    happens(&mut driver, 101);
    more.serve(&mut driver);
    assert_eq!(
        driver.state.screens.audit.list.order.first().copied(),
        Some(10)
    );
    driver.hear(DaemonMessage::Answered {
        query: Box::new(Query::VerifyAudit(VerifyAudit { anchor: None })),
        result: Ok(Box::new(
            leverframe::protocol::request::Answer::VerifyAudit(report()),
        )),
    });
    let text = driver.text();
    assert!(
        text.contains("whole: 9 rows, 1 to 9, all 4 places noted"),
        "{text}"
    );
    driver.press("V");
    driver.hear(DaemonMessage::Answered {
        query: Box::new(Query::VerifyAudit(VerifyAudit { anchor: None })),
        result: Err(Box::new(Problem::new(
            ProblemKind::Unavailable,
            "busy",
            "later",
        ))),
    });
    assert!(matches!(driver.state.screens.audit.chain, Chain::Failed(_)));
}

#[test]
fn nothing_is_asked_for_screens_that_are_not_shown() {
    let mut driver = opened(120, 40, "5 2", &fleet());
    driver.effects.clear();
    happens(&mut driver, 101);
    driver.wait(2_000);
    let asked = driver.effects.iter().any(|effect| {
        matches!(
            effect,
            Effect::Query(Query::ListContinuations(_) | Query::ListAudit(_) | Query::ListSteps(_))
        )
    });
    assert!(!asked, "{:?}", driver.effects);
}
