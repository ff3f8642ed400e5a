//! The Memory screen's keys: what they ask and send, what is asked before, and that nothing moves under the cursor.

use std::sync::Arc;

use leverframe::console::access::Access;
use leverframe::console::message::DaemonMessage;
use leverframe::protocol::enums::*;
use leverframe::protocol::event::{Event, EventBody};
use leverframe::protocol::hygiene::HygieneExcess;
use leverframe::protocol::memory::MemoryTarget;
use leverframe::protocol::problem::{Problem, ProblemKind};
use leverframe::protocol::request::{
    AcceptMemory, AddMemory, ChangeRoutine, Command, DeleteMemory, EditMemory, Outcome, PinMemory,
    RunHygiene, RunRoutine, SupersedeMemories, UndoHygiene,
};
use leverframe::tui::message::{Effect, Message};
use leverframe::tui::state::modal::Modal;
use leverframe::tui::state::screen::Screen;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;
use crate::console_frames::memory::{Kept, at, id, kept, memory, run, run_id};

fn sent(driver: &Driver) -> Vec<Command> {
    let submitted = driver.effects.iter().filter_map(|effect| match effect {
        Effect::Submit(command) => Some(command.clone()),
        _ => None,
    });
    submitted.collect()
}

/// The last command about memory.
fn last(driver: &Driver) -> Option<Command> {
    sent(driver).pop()
}

fn changed(driver: &mut Driver) {
    let event = Event {
        seq: Some(9_000 + driver.steady),
        at: driver.now().wall,
        session_id: None,
        continuation_id: None,
        body: EventBody::MemoryChanged {
            change: "edited".into(),
            channel: None,
            count: 1,
            compaction: None,
            by: "ana".into(),
        },
    };
    driver.hear(DaemonMessage::Event(Arc::new(event)));
    driver.wait(600);
}

fn ended(driver: &mut Driver, command: Command, result: Result<Outcome, Problem>) {
    driver.hear(DaemonMessage::Submitted {
        command: Box::new(command),
        result: result.map(Box::new).map_err(Box::new),
    });
}

#[test]
fn what_is_selected_stays_where_it_is_while_others_change() {
    let mut kept = kept();
    let mut driver = at(120, 40, &kept, "j j");
    assert_eq!(
        driver.state.screens.memory.lists.facts.selected,
        Some(id(2))
    );
    let row = |driver: &mut Driver| {
        let text = driver.text();
        text.lines()
            .position(|line| line.contains("> ") && line.contains("Friday"))
    };
    let before = row(&mut driver);
    assert!(before.is_some());
    // A new one and a changed one are the newest now.
    kept.facts.insert(0, memory(9, "Something new."));
    let last = kept.facts.pop().unwrap();
    kept.facts.insert(0, last);
    changed(&mut driver);
    kept.settle(&mut driver);
    assert_eq!(
        driver.state.screens.memory.lists.facts.selected,
        Some(id(2))
    );
    assert_eq!(row(&mut driver), before);
    assert!(driver.text().contains("Something new."));
    // With nothing selected the order is that of the engine.
    driver.press("esc");
    changed(&mut driver);
    kept.settle(&mut driver);
    let rows = driver.state.screens.memory.rows.clone().unwrap();
    assert_eq!(rows[0].memory.id, id(4));
    // What is forgotten is no longer selected.
    driver.press("j");
    kept.settle(&mut driver);
    kept.facts.retain(|one| one.id != id(4));
    changed(&mut driver);
    kept.settle(&mut driver);
    assert_eq!(driver.state.screens.memory.lists.facts.selected, None);
    // Nothing is selected when the screen opens again.
    driver.press("j 2 8");
    assert_eq!(driver.state.screens.memory.lists.facts.selected, None);
}

#[test]
fn an_idle_screen_asks_nothing_and_others_ask_nothing_for_it() {
    let kept = kept();
    let mut driver = at(120, 40, &kept, "");
    driver.wait(60_000);
    assert!(kept.settle(&mut driver).is_empty());
    changed(&mut driver);
    assert!(!kept.settle(&mut driver).is_empty());
    driver.press("2");
    changed(&mut driver);
    assert!(kept.settle(&mut driver).is_empty());
}

#[test]
fn further_pages_come_when_the_end_is_near() {
    let mut kept = kept();
    kept.facts = (0..30)
        .map(|n| memory(n, &format!("fact number {n}.")))
        .collect();
    kept.page = 10;
    let mut driver = at(80, 24, &kept, "");
    assert_eq!(driver.state.screens.memory.rows.as_ref().unwrap().len(), 10);
    assert!(
        driver.text().contains("all scopes  10+"),
        "{}",
        driver.text()
    );
    for _ in 0..40 {
        driver.press("j");
        kept.settle(&mut driver);
    }
    let rows = driver.state.screens.memory.rows.clone().unwrap();
    let ids: Vec<_> = rows.iter().map(|row| row.memory.id).collect();
    assert_eq!(ids, (0..30).map(id).collect::<Vec<_>>());
    assert_eq!(
        driver.state.screens.memory.lists.facts.selected,
        Some(id(29))
    );
    // What is loaded again does not take the later pages away, but what is gone from the first one goes.
    kept.facts.remove(3);
    changed(&mut driver);
    kept.settle(&mut driver);
    let rows = driver.state.screens.memory.rows.clone().unwrap();
    assert_eq!(rows.len(), 29);
    assert!(rows.iter().all(|row| row.memory.id != id(3)));
    assert_eq!(
        driver.state.screens.memory.lists.facts.selected,
        Some(id(29))
    );
}

#[test]
fn scopes_filter_and_a_search_says_that_it_is_one() {
    let kept = kept();
    let mut driver = at(120, 40, &kept, "tab j");
    let text = driver.text();
    assert!(
        text.contains("Friday") && !text.contains("Portuguese"),
        "{text}"
    );
    driver.press("tab f");
    driver.type_text("report");
    driver.press("enter");
    kept.settle(&mut driver);
    let text = driver.text();
    assert!(
        text.contains("Results for “report” in sessions: 1, best first"),
        "{text}"
    );
    driver.press("esc");
    kept.settle(&mut driver);
    assert!(!driver.text().contains("Results for"));
    // An answer to what was asked for another scope is not shown as this one's.
    driver.press("tab j");
    let late = std::mem::take(&mut driver.effects);
    driver.press("j j j");
    driver.effects.extend(late);
    kept.settle(&mut driver);
    let place = driver.state.screens.memory.filter();
    for row in driver.state.screens.memory.rows.clone().unwrap() {
        assert_eq!(Some(row.memory.scope), place.scope);
    }
}

#[test]
fn every_list_of_the_screen_filters_as_it_is_typed_and_sorts() {
    let kept = kept();
    for (keys, typed, head, first) in [
        (
            "",
            "portu",
            "all scopes  2 of 4  filter: portu",
            "Ana wants",
        ),
        (
            "H",
            "would like",
            "Hygiene preview  1 of 2  filter: would like",
            "would like",
        ),
        ("H tab", "undone", "Runs  1 of 2  filter: undone", "undone"),
        ("R", "watch", "Routines  1 of 2  filter: watch", "watch"),
        ("tab", "glob", "Memory  filter: glob", "global"),
    ] {
        let mut driver = at(120, 40, &kept, keys);
        driver.press("/");
        driver.type_text(typed);
        let text = driver.text();
        assert!(text.contains(head), "{keys}: {text}");
        assert!(text.contains(first), "{keys}: {text}");
        // esc in the line shows all.
        driver.press("esc");
        assert!(!driver.text().contains("filter:"), "{keys}");
    }
    let mut driver = at(120, 40, &kept, "");
    driver.press(":");
    driver.type_text("sort what");
    driver.press("enter");
    let order = &driver.state.screens.memory.lists.facts.order;
    assert_eq!(order, &[id(1), id(4), id(2), id(3)]);
    assert!(driver.text().contains("sort: what"));
    // The selection, the filter, the search and the view close one after the other.
    let mut driver = at(120, 40, &kept, "f");
    driver.type_text("report");
    driver.press("enter");
    kept.settle(&mut driver);
    driver.press("/ F r i d a y enter j");
    assert!(driver.text().contains("filter: Friday"));
    driver.press("esc esc");
    assert!(!driver.text().contains("filter:"));
    assert!(driver.text().contains("Results for"));
    driver.press("esc");
    assert!(!driver.text().contains("Results for"));
}

#[test]
fn what_is_written_goes_where_the_heading_says() {
    let kept = kept();
    for (keys, heading, place) in [
        (
            "",
            "Remember in every session of every channel",
            MemoryTarget::Global,
        ),
        (
            "tab j j tab",
            "Remember in every session of desk",
            MemoryTarget::Channel {
                channel: "desk".into(),
            },
        ),
        (
            "tab j tab j",
            "Remember in session ses_",
            MemoryTarget::Session {
                session_id: fixture::session_id(2),
            },
        ),
    ] {
        let mut driver = at(120, 40, &kept, keys);
        driver.press("n");
        let text = driver.text();
        assert!(text.contains(heading), "{text}");
        driver.type_text("x");
        driver.press("alt-enter");
        let Some(Command::AddMemory(AddMemory {
            place: sent, text, ..
        })) = last(&driver)
        else {
            panic!("{:?}", sent(&driver));
        };
        assert_eq!((sent, text.as_str()), (place, "x"));
        assert!(driver.state.modals.is_empty());
    }
    // A session that nobody named is not guessed.
    let mut none = kept.clone();
    none.facts.clear();
    let mut driver = at(120, 40, &none, "tab j tab n");
    assert!(driver.state.modals.is_empty());
    assert!(driver.text().contains("open the session"));
    // Nothing, and too much, is not sent.
    let mut driver = at(120, 40, &kept, "n");
    driver.press("alt-enter");
    assert!(driver.text().contains("nothing written"));
    driver.send(Message::Paste("y".repeat(4097)));
    driver.press("alt-enter");
    assert!(driver.text().contains("at most 4096 bytes"));
    assert!(sent(&driver).is_empty());
}

#[test]
fn an_edit_of_what_changed_meanwhile_is_not_sent() {
    let mut kept = kept();
    let mut driver = at(120, 40, &kept, "j e");
    assert!(driver.text().contains("Ana wants answers in Portuguese."));
    driver.type_text("!");
    driver.press("alt-enter");
    assert!(
        matches!(last(&driver), Some(Command::EditMemory(EditMemory { id: one, text: Some(text), .. }))
            if one == id(1) && text == "Ana wants answers in Portuguese.!")
    );
    let mut driver = at(120, 40, &kept, "j e");
    kept.facts[0].updated_at = fixture::NOW;
    changed(&mut driver);
    kept.settle(&mut driver);
    driver.press("alt-enter");
    assert!(sent(&driver).is_empty());
    assert!(driver.text().contains("it changed meanwhile"));
}

#[test]
fn what_cannot_be_taken_back_is_asked_first() {
    let kept = kept();
    let mut driver = at(120, 40, &kept, "j p");
    assert_eq!(
        last(&driver),
        Some(Command::PinMemory(PinMemory {
            id: id(1),
            pinned: false
        }))
    );
    for (keys, title, command) in [
        (
            "j x",
            "Delete it for good?",
            Command::DeleteMemory(DeleteMemory { id: id(1) }),
        ),
        (
            "j j j x",
            "Refuse what is proposed?",
            Command::DeleteMemory(DeleteMemory { id: id(3) }),
        ),
        (
            "j j j a",
            "Accept it?",
            Command::AcceptMemory(AcceptMemory { id: id(3) }),
        ),
        (
            "j space j j j S",
            "Replace 1 by this one?",
            Command::SupersedeMemories(SupersedeMemories {
                id: id(4),
                others: vec![id(1)],
            }),
        ),
        // In the list to look through, those of the same group.
        (
            "tab k tab j j S",
            "Replace 1 by this one?",
            Command::SupersedeMemories(SupersedeMemories {
                id: id(1),
                others: vec![id(4)],
            }),
        ),
    ] {
        let mut driver = at(120, 40, &kept, keys);
        assert!(driver.text().contains(title), "{keys}: {}", driver.text());
        assert!(sent(&driver).is_empty());
        // Cancel is focused.
        driver.press("enter");
        assert!(sent(&driver).is_empty() && driver.state.modals.is_empty());
        let mut driver = at(120, 40, &kept, keys);
        driver.press("tab enter");
        assert_eq!(last(&driver), Some(command), "{keys}");
    }
    driver = at(120, 40, &kept, "j a");
    assert!(driver.state.modals.is_empty());
    assert!(
        driver
            .text()
            .contains("only a proposed memory can be accepted")
    );
    for keys in ["a", "e", "p", "x", "S", "space", "s", "j S", "r"] {
        let mut driver = at(120, 40, &kept, keys);
        assert!(
            driver.state.modals.is_empty() && sent(&driver).is_empty(),
            "{keys}"
        );
        assert!(driver.state.toast.is_some(), "{keys}");
        driver.draw();
    }
}

#[test]
fn a_locked_console_sends_nothing_and_keeps_what_was_written() {
    let kept = kept();
    for keys in [
        "j p",
        "j x tab enter",
        "H r tab enter",
        "R j t",
        "R j r tab enter",
        "H u tab enter",
    ] {
        let mut driver = Driver::with(120, 40, fixture::busy());
        driver.state.model.access = Access::ReadOnly;
        driver.effects.clear();
        for key in std::iter::once("8").chain(keys.split_whitespace()) {
            driver.press(key);
            kept.settle(&mut driver);
        }
        assert!(sent(&driver).is_empty(), "{keys}");
    }
    let mut driver = at(120, 40, &kept, "n");
    driver.state.locked = true;
    driver.type_text("keep me");
    driver.press("alt-enter");
    assert!(sent(&driver).is_empty());
    assert!(
        matches!(driver.state.modals.last(), Some(Modal::Text(entry)) if entry.field.text() == "keep me")
    );
}

#[test]
fn hygiene_runs_after_a_question_and_too_much_after_another() {
    let mut kept = kept();
    let mut driver = at(120, 40, &kept, "H");
    let text = driver.text();
    assert!(
        text.contains("2 would be archived, 1 removed for good"),
        "{text}"
    );
    // The ids with their texts.
    assert!(
        text.contains(&id(4).to_string()) && text.contains("would like answers"),
        "{text}"
    );
    driver.press("r");
    assert!(sent(&driver).is_empty());
    driver.press("tab enter");
    let order = Command::RunHygiene(RunHygiene { yes: false });
    assert_eq!(sent(&driver), std::slice::from_ref(&order));
    kept.report.too_much = vec![HygieneExcess {
        scope: MemoryScope::Channel,
        count: 90,
        of: 100,
    }];
    let refusal = Problem::new(
        ProblemKind::Conflict,
        "too much would go",
        "90 of the 100 memories",
    );
    ended(&mut driver, order.clone(), Err(refusal));
    changed(&mut driver);
    kept.settle(&mut driver);
    let text = driver.text();
    assert!(
        text.contains("not run: too much would go: 90 of the 100 memories"),
        "{text}"
    );
    assert!(
        text.contains("TOO MUCH: 90 of 100 of scope channel"),
        "{text}"
    );
    driver.press("r");
    assert!(driver.text().contains("although it archives too much"));
    driver.press("enter");
    assert_eq!(sent(&driver).len(), 1);
    driver.press("r tab enter");
    assert_eq!(
        sent(&driver).pop(),
        Some(Command::RunHygiene(RunHygiene { yes: true }))
    );
    ended(
        &mut driver,
        order.clone(),
        Ok(Outcome::RunHygiene(run(1, HygieneState::Done))),
    );
    let text = driver.text();
    assert!(
        text.contains("ran: 12 archived, 3 removed for good"),
        "{text}"
    );
    assert!(text.contains("undo: 2d left"), "{text}");
    // Another refusal is no reason for the second question, nor is one that was left.
    let busy = Problem::new(ProblemKind::Conflict, "hygiene is under way", "two at once");
    ended(&mut driver, order.clone(), Err(busy));
    driver.press("r");
    assert!(!driver.text().contains("although it archives too much"));
    driver.press("esc");
    let refusal = Problem::new(
        ProblemKind::Conflict,
        "too much would go",
        "90 of the 100 memories",
    );
    ended(&mut driver, order, Err(refusal));
    driver.press("H H");
    kept.settle(&mut driver);
    driver.press("r");
    assert!(!driver.text().contains("although it archives too much"));
    // Where nothing goes there is nothing to run.
    kept.report = leverframe::protocol::hygiene::HygieneReport::default();
    let mut driver = at(120, 40, &kept, "H r");
    assert!(driver.state.modals.is_empty());
    assert!(driver.text().contains("nothing to archive or remove"));
}

#[test]
fn a_run_is_taken_back_while_that_is_possible() {
    let undo = |n| Command::UndoHygiene(UndoHygiene { id: run_id(n) });
    let mut kept = kept();
    // Without a selection it is the newest that can be.
    kept.runs.reverse();
    let mut driver = at(120, 40, &kept, "H u");
    assert!(driver.text().contains(&run_id(1).to_string()));
    driver.press("tab enter");
    assert_eq!(sent(&driver), [undo(1)]);
    // A selected one that is taken back already is not replaced by another.
    let mut driver = at(120, 40, &kept, "H tab j u");
    assert!(driver.state.modals.is_empty());
    assert!(driver.text().contains("no run can be undone"));
    let late: Kept = {
        let mut late = kept.clone();
        for run in &mut late.runs {
            run.undo_until = fixture::NOW;
        }
        late
    };
    let driver = at(120, 40, &late, "H u");
    assert!(driver.state.modals.is_empty());
}

#[test]
fn routines_run_switch_and_lead_to_their_session() {
    let kept = kept();
    let mut driver = at(120, 40, &kept, "R j");
    let text = driver.text();
    assert!(
        text.contains("MON-FRI at 09:00") && text.contains("completed"),
        "{text}"
    );
    let named = driver
        .state
        .screens
        .memory
        .routine()
        .unwrap()
        .id
        .to_string();
    driver.press("r");
    assert!(driver.text().contains("Run morning now?"));
    driver.press("tab enter");
    assert_eq!(
        sent(&driver).pop(),
        Some(Command::RunRoutine(RunRoutine {
            routine: named.clone()
        }))
    );
    // Off at once; on after a question.
    driver.press("t");
    let switched = |driver: &Driver| match sent(driver).pop() {
        Some(Command::ChangeRoutine(ChangeRoutine { routine, patch })) => {
            Some((routine, patch.enabled))
        }
        _ => None,
    };
    assert_eq!(switched(&driver), Some((named, Some(false))));
    driver.press("j t");
    assert!(driver.text().contains("Let watch run by itself?"));
    driver.press("tab enter");
    assert_eq!(switched(&driver).unwrap().1, Some(true));
    driver.press("k enter");
    assert_eq!(driver.state.screen, Screen::Session);
    assert_eq!(
        driver.state.screens.session.session_id,
        Some(fixture::session_id(2))
    );
}

#[test]
fn the_summary_of_a_session_is_read() {
    let kept = kept();
    let mut driver = at(80, 24, &kept, "j j s");
    assert!(
        driver.text().contains("This session has no summary"),
        "{}",
        driver.text()
    );
    driver.press("esc");
    assert!(!driver.state.screens.memory.lists.facts.zoomed);
    assert_eq!(
        driver.state.screens.memory.lists.facts.selected,
        Some(id(2))
    );
    // A long one is scrolled to its end and no further.
    let mut long = kept.clone();
    let lines: Vec<String> = (0..200).map(|n| format!("line {n}.")).collect();
    long.summary = Some(leverframe::protocol::memory::Summary {
        session_id: fixture::session_id(2),
        version: 1,
        text: lines.join("\n"),
        turns: 5,
        model: "one/m".into(),
        taint: vec![],
        at: fixture::ago(60),
    });
    let mut driver = at(80, 24, &long, "j j s G");
    assert!(driver.text().contains("line 199."), "{}", driver.text());
    driver.press("k");
    let text = driver.text();
    assert!(
        !text.contains("line 199.") && text.contains("line 198."),
        "{text}"
    );
}
