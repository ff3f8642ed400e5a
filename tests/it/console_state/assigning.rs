//! Assigning a question: a name and a note in one line, bound to the card, deciding nothing; and who is told.

use std::sync::Arc;

use leverframe::console::item::ItemKey;
use leverframe::console::message::DaemonMessage;
use leverframe::protocol::approval::Approval;
use leverframe::protocol::enums::{ApprovalState, Risk, Scope};
use leverframe::protocol::event::{Event, EventBody};
use leverframe::protocol::on_call::{
    AssignRequest, Assignment, OnCall, OnCallRequest, OnCallStatus,
};
use leverframe::protocol::request::{
    Answer, AssignApproval, Command, GetOnCall, Outcome, Query, SetOnCall,
};
use leverframe::protocol::snapshot::Snapshot;
use leverframe::tui::message::{Effect, Message};
use leverframe::tui::state::app::Dirty;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;
use crate::console_state::hosts;

pub fn on_call_status() -> OnCallStatus {
    OnCallStatus {
        on_call: None,
        ended: None,
        names: ["anna", "ben", "token ci"].map(str::to_owned).to_vec(),
        you: vec!["ben".to_owned()],
    }
}

pub fn on_call(name: &str, seconds: Option<i64>) -> OnCall {
    OnCall {
        name: name.to_owned(),
        by: "ben".to_owned(),
        since: fixture::ago(3600),
        until: seconds.map(|seconds| fixture::NOW.plus_seconds(seconds)),
        note: None,
    }
}

pub fn waits(n: u8, to: &str, by: &str) -> Approval {
    Approval {
        assignment: Some(Box::new(Assignment {
            to: to.to_owned(),
            by: by.to_owned(),
            at: fixture::ago(60),
            note: Some("it is her file".to_owned()),
        })),
        ..fixture::approval(n, Risk::Medium)
    }
}

fn world(approvals: Vec<Approval>) -> Snapshot {
    Snapshot {
        on_call_status: on_call_status(),
        approvals,
        ..fixture::busy()
    }
}

fn sent(driver: &Driver) -> Vec<Command> {
    let submitted = driver.effects.iter().filter_map(|effect| match effect {
        Effect::Submit(command) => Some(command.clone()),
        _ => None,
    });
    submitted.collect()
}

fn requests(driver: &Driver) -> Vec<AssignRequest> {
    let commands = sent(driver).into_iter().map(|command| match command {
        Command::AssignApproval(AssignApproval { request, .. }) => request,
        other => panic!("{other:?}"),
    });
    commands.collect()
}

fn happens(driver: &mut Driver, seq: u64, body: EventBody) -> Vec<Effect> {
    let event = Event {
        seq: Some(1_000_000 + seq),
        at: driver.now().wall,
        session_id: Some(fixture::session_id(1)),
        continuation_id: Some(fixture::continuation_id(1)),
        body,
    };
    driver.hear(DaemonMessage::Event(Arc::new(event)))
}

fn handed(approval: Approval) -> EventBody {
    EventBody::ApprovalAssigned {
        approval: Box::new(approval),
    }
}

fn toast(driver: &Driver) -> String {
    let toast = driver.state.toast.as_ref();
    toast.map_or_else(String::new, |toast| toast.text.clone())
}

#[test]
fn a_name_and_a_note_in_one_line_and_nothing_is_decided() {
    let mut driver = Driver::with(100, 30, world(vec![fixture::approval(1, Risk::Medium)]));
    driver.press("j");
    // No arming: nothing is decided.
    driver.press(">");
    assert!(
        driver.text().contains("Assign write_file"),
        "{}",
        driver.text()
    );
    driver.type_text("an");
    driver.press("tab");
    driver.type_text("it is her file");
    assert!(sent(&driver).is_empty());
    driver.press("enter");
    assert!(driver.state.modals.is_empty(), "{}", driver.text());
    assert_eq!(
        requests(&driver),
        [AssignRequest {
            to: "anna".to_owned(),
            note: Some("it is her file".to_owned()),
            digest: "01".repeat(32),
            revision: Some(1),
        }]
    );
    driver.hear(DaemonMessage::Submitted {
        command: Box::new(sent(&driver)[0].clone()),
        result: Ok(Box::new(Outcome::AssignApproval(waits(1, "anna", "ben")))),
    });
    assert_eq!(toast(&driver), "write_file waits for anna");
}

#[test]
fn names_can_have_blanks_and_the_longest_one_counts() {
    let mut driver = Driver::with(100, 30, world(vec![fixture::approval(1, Risk::Medium)]));
    driver.press("j >");
    driver.type_text("token ci look at it");
    driver.press("enter");
    let sent = requests(&driver);
    assert_eq!(
        (sent[0].to.as_str(), sent[0].note.as_deref()),
        ("token ci", Some("look at it"))
    );
}

#[test]
fn who_is_not_known_is_not_sent_and_the_line_stays() {
    let mut driver = Driver::with(100, 30, world(vec![fixture::approval(1, Risk::Medium)]));
    driver.press("j");
    for (text, why) in [
        ("ana please", "did you mean `anna`?"),
        ("zzzzzz", "known: anna, ben, token ci, -"),
        ("", "NAME note"),
    ] {
        driver.press(">");
        driver.type_text(text);
        driver.press("enter");
        assert!(driver.text().contains(why), "{text}: {}", driver.text());
        driver.press("esc");
    }
    driver.press(">");
    driver.type_text(&format!("anna {}", "x".repeat(501)));
    driver.press("enter");
    assert!(
        driver.text().contains("501 characters"),
        "{}",
        driver.text()
    );
    assert!(sent(&driver).is_empty());
}

#[test]
fn the_field_begins_with_who_is_on_call_or_offers_to_take_it_back() {
    let mut snapshot = world(vec![fixture::approval(1, Risk::Medium)]);
    snapshot.on_call_status.on_call = Some(on_call("anna", Some(3600)));
    let mut driver = Driver::with(100, 30, snapshot);
    driver.press("j > enter");
    assert_eq!(requests(&driver)[0].to, "anna");
    happens(&mut driver, 1, handed(waits(1, "anna", "ben")));
    driver.effects.clear();
    driver.press("> enter");
    assert_eq!(requests(&driver)[0].to, "-");
}

#[test]
fn what_changed_or_was_decided_meanwhile_is_not_handed_over() {
    let mut driver = Driver::with(100, 30, world(vec![fixture::approval(1, Risk::Medium)]));
    driver.press("j >");
    driver.type_text("anna");
    let edited = Approval {
        revision: 2,
        ..fixture::approval(1, Risk::Medium)
    };
    happens(
        &mut driver,
        1,
        EventBody::ApprovalRequested {
            approval: Box::new(edited.clone()),
        },
    );
    driver.press("enter");
    assert!(driver.text().contains("it changed"), "{}", driver.text());
    driver.press("esc >");
    driver.type_text("anna");
    happens(
        &mut driver,
        2,
        EventBody::ApprovalDecided {
            approval: Box::new(Approval {
                state: ApprovalState::Denied,
                ..edited
            }),
        },
    );
    driver.press("enter");
    assert!(
        driver.text().contains("settled meanwhile"),
        "{}",
        driver.text()
    );
    driver.press("esc");
    driver.press(">");
    assert!(
        toast(&driver).contains("already settled"),
        "{}",
        toast(&driver)
    );
    assert!(driver.state.modals.is_empty() && sent(&driver).is_empty());
}

#[test]
fn a_console_that_may_not_act_opens_nothing() {
    let mut driver = Driver::with(100, 30, world(vec![fixture::approval(1, Risk::Medium)]));
    driver.press("j L >");
    assert!(driver.state.modals.is_empty());
    assert!(toast(&driver).contains("locked"), "{}", toast(&driver));
    driver.press("L");
    driver.hear(DaemonMessage::Scopes(Some(vec![
        Scope::Read,
        Scope::Operate,
    ])));
    driver.press(">");
    driver.type_text("anna");
    driver.press("enter");
    assert!(
        toast(&driver).contains("lacks the scope `approve`"),
        "{}",
        toast(&driver)
    );
    assert!(sent(&driver).is_empty());
}

#[test]
fn whom_it_is_for_stands_in_the_row_and_on_the_card_and_is_found() {
    let mut driver = Driver::with(
        120,
        40,
        world(vec![waits(1, "anna", "token ci"), waits(2, "ben", "anna")]),
    );
    let text = driver.text();
    assert!(text.contains("for anna: write_file"), "{text}");
    assert!(text.contains("for you: write_file"), "{text}");
    driver.press("/");
    driver.type_text("for:me");
    driver.press("enter");
    assert_eq!(driver.state.model.queue.order.len(), 1, "{}", driver.text());
    assert_eq!(
        driver.state.model.queue.order[0],
        fixture::key(ItemKey::Approval(fixture::approval_id(2)))
    );
    driver.press("j enter");
    let text = driver.text();
    assert!(
        text.contains("ben (you), assigned by anna") && text.contains("it is her file"),
        "{text}"
    );
    driver.press("esc /");
    driver.press("ctrl-u");
    driver.type_text("for:anna");
    driver.press("enter");
    assert_eq!(
        driver.state.model.queue.order.first(),
        Some(&fixture::key(ItemKey::Approval(fixture::approval_id(1))))
    );
}

#[test]
fn only_whoever_it_is_for_is_told_and_rung_for() {
    let rung = |effects: &[Effect]| effects.contains(&Effect::Bell);
    for (to, by, told) in [
        ("ben", "anna", true),
        ("anna", "token ci", false),
        // One's own console, or another one of the same person, needs no telling.
        ("ben", "ben", false),
    ] {
        let mut driver = Driver::with(100, 30, world(vec![fixture::approval(1, Risk::Medium)]));
        driver.send(Message::FocusLost);
        let effects = happens(&mut driver, 1, handed(waits(1, to, by)));
        assert_eq!(rung(&effects), told, "{to} by {by}: {effects:?}");
        assert_eq!(
            toast(&driver).contains("is assigned to you by anna: it is her file"),
            told
        );
        // Whoever looks is told without a bell.
        driver.send(Message::FocusGained);
        driver.wait(20_000);
        let effects = happens(&mut driver, 2, handed(waits(1, to, by)));
        assert!(!rung(&effects));
        assert_eq!(toast(&driver).contains("is assigned to you"), told);
    }
}

#[test]
fn the_header_says_who_is_on_call_until_their_time_is_over() {
    let mut snapshot = world(Vec::new());
    let mut driver = Driver::with(120, 30, snapshot.clone());
    assert!(!driver.text().contains("on call"), "{}", driver.text());
    happens(
        &mut driver,
        1,
        EventBody::OnCallChanged {
            on_call: Some(Box::new(on_call("anna", Some(90)))),
        },
    );
    assert!(
        driver.text().contains("on call: anna 1m"),
        "{}",
        driver.text()
    );
    driver.wait(31_000);
    assert!(
        driver.text().contains("on call: anna <1m"),
        "{}",
        driver.text()
    );
    let due = driver.state.next_deadline().unwrap();
    assert!(due <= driver.now().steady.plus(59_000), "{due:?}");
    driver.wait(59_000);
    assert!(
        driver.text().contains("on call: anna ended"),
        "{}",
        driver.text()
    );
    happens(&mut driver, 2, EventBody::OnCallChanged { on_call: None });
    assert!(!driver.text().contains("on call"), "{}", driver.text());
    // Where there is no room it gives way to where the engine is.
    snapshot.on_call_status.on_call = Some(on_call("anna", None));
    let mut narrow = Driver::with(60, 20, snapshot);
    let text = narrow.text();
    assert!(
        !text.contains("on call") && text.contains("local"),
        "{text}"
    );
}

#[test]
fn the_command_line_says_who_is_on_call() {
    let mut driver = Driver::with(100, 30, world(Vec::new()));
    let run = |driver: &mut Driver, line: &str| {
        driver.effects.clear();
        driver.press(":");
        driver.type_text(line);
        driver.press("enter");
        sent(driver)
    };
    let set = |name: &str, seconds: Option<u32>, note: Option<&str>| {
        vec![Command::SetOnCall(SetOnCall {
            request: OnCallRequest {
                name: name.to_owned(),
                seconds,
                note: note.map(str::to_owned),
            },
        })]
    };
    assert_eq!(
        run(&mut driver, "oncall anna 8h"),
        set("anna", Some(28_800), None)
    );
    assert_eq!(
        run(&mut driver, "oncall token ci 30m call twice"),
        set("token ci", Some(1800), Some("call twice"))
    );
    assert_eq!(
        run(&mut driver, "oncall anna call twice"),
        set("anna", None, Some("call twice"))
    );
    assert_eq!(run(&mut driver, "oncall -"), set("-", None, None));
    assert!(run(&mut driver, "oncall").is_empty());
    assert!(
        toast(&driver).contains("nobody is on call"),
        "{}",
        toast(&driver)
    );
    // Who is not known here may be known to the engine, which says who is.
    assert_eq!(
        run(&mut driver, "oncall cleo 8h"),
        set("cleo", Some(28_800), None)
    );
}

#[test]
fn names_are_asked_for_when_the_field_opens() {
    let mut driver = Driver::with(100, 30, world(vec![fixture::approval(1, Risk::Medium)]));
    driver.press("j >");
    let query = Query::GetOnCall(GetOnCall { actor: None });
    assert!(driver.effects.contains(&Effect::Query(query.clone())));
    driver.type_text("cl");
    // An engine in this process does not know who asks; what this console is called stays.
    let fresh = OnCallStatus {
        names: vec!["anna".to_owned(), "cleo".to_owned()],
        ..OnCallStatus::default()
    };
    driver.answer(query, Answer::GetOnCall(fresh));
    driver.press("tab enter");
    assert_eq!(requests(&driver)[0].to, "cleo");
    assert_eq!(
        driver.state.model.world().on_call_status.names,
        ["anna", "ben", "cleo"]
    );
    assert!(driver.state.model.world().on_call_status.is_me("ben"));
}

#[test]
fn an_assignment_on_a_host_without_the_focus_is_told_with_its_name() {
    let mut driver = hosts::on(120, 40, &["", ""]);
    hosts::snapshot(&mut driver, hosts::ATLAS, hosts::asks("atlas", Vec::new()));
    let mut there = hosts::asks("lab", vec![fixture::approval(1, Risk::Medium)]);
    there.on_call_status = on_call_status();
    hosts::snapshot(&mut driver, hosts::LAB, there);
    driver.send(Message::FocusLost);
    let event = |seq: u64, to: &str| {
        DaemonMessage::Event(Arc::new(Event {
            seq: Some(1_000_000 + seq),
            at: fixture::NOW,
            session_id: None,
            continuation_id: None,
            body: handed(waits(1, to, "token ci")),
        }))
    };
    let effects = hosts::says(&mut driver, hosts::LAB, event(1, "anna"));
    assert!(!effects.contains(&Effect::Bell), "{effects:?}");
    let effects = hosts::says(&mut driver, hosts::LAB, event(2, "ben"));
    assert!(effects.contains(&Effect::Bell), "{effects:?}");
    assert_eq!(
        toast(&driver),
        "lab: write_file is assigned to you by token ci: it is her file"
    );
    assert!(
        driver.text().contains("for you: write_file"),
        "{}",
        driver.text()
    );
}

#[test]
fn what_needs_a_person_waits_for_no_frame_that_something_else_was_drawn_for() {
    let mut driver = Driver::with(100, 30, world(Vec::new()));
    driver.state.dirty = Dirty::No;
    happens(
        &mut driver,
        1,
        EventBody::SessionEnded {
            reason: "idle".to_owned(),
        },
    );
    assert_ne!(driver.state.dirty, Dirty::Now);
    driver.state.dirty = Dirty::No;
    happens(
        &mut driver,
        2,
        EventBody::ApprovalRequested {
            approval: Box::new(fixture::approval(1, Risk::Medium)),
        },
    );
    assert_eq!(driver.state.dirty, Dirty::Now);
}
