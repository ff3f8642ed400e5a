//! Assignments and on-call: frames of the card, the field, the header and the summary, and clean with any name.

use leverframe::protocol::enums::{ApprovalKind, Risk};
use leverframe::protocol::escalation::{
    Escalation, EscalationStep, NextEscalationStep, StepOutcome,
};
use leverframe::protocol::on_call::{Assignment, OnCallStatus};
use leverframe::protocol::request::{Answer, Query};
use leverframe::protocol::snapshot::Snapshot;
use leverframe::protocol::summary::{ShiftSummary, SummaryAssignment, SummaryQuestion};
use leverframe::tui::message::Effect;

use crate::console_frames::any_size::{HOSTILE, assert_clean};
use crate::console_frames::driver::Driver;
use crate::console_frames::fixture::{self, ago};
use crate::console_frames::screens::check;
use crate::console_state::assigning::{on_call, on_call_status, waits};

fn world() -> Snapshot {
    Snapshot {
        on_call_status: OnCallStatus {
            on_call: Some(on_call("anna", Some(3 * 3600))),
            ..on_call_status()
        },
        approvals: vec![
            waits(1, "ben", "anna"),
            fixture::command_approval(2, Risk::High),
        ],
        ..fixture::busy()
    }
}

fn summary() -> ShiftSummary {
    ShiftSummary {
        since: ago(8 * 3600),
        until: fixture::NOW,
        pending: vec![SummaryQuestion {
            id: fixture::approval_id(1),
            short_code: "K7Q2M1".to_owned(),
            kind: ApprovalKind::Execute,
            tool: Some("write_file".to_owned()),
            channel: "telegram".to_owned(),
            requester: "Ana".to_owned(),
            requested_at: ago(240),
            expires_at: None,
            snoozed: Vec::new(),
            assignment: waits(1, "ben", "anna").assignment.map(|one| *one),
        }],
        more_pending: 0,
        taken_over: Vec::new(),
        channels: Vec::new(),
        refused_calls: Vec::new(),
        grants: Vec::new(),
        rules: Vec::new(),
        held: None,
        deeds: Vec::new(),
        spent: Vec::new(),
        on_call: Some(on_call("anna", Some(3 * 3600))),
        on_call_ended: None,
        assignments: vec![SummaryAssignment {
            at: ago(60),
            by: "anna".to_owned(),
            short_code: Some("K7Q2M1".to_owned()),
            to: Some("ben".to_owned()),
            from: None,
            until: None,
            note: Some("it is her file".to_owned()),
        }],
    }
}

#[test]
fn card() {
    check("assigned", |width, height| {
        let mut driver = Driver::with(width, height, world());
        driver.press("j enter");
        driver
    });
}

fn escalating() -> Snapshot {
    let mut asked = fixture::approval(1, Risk::Medium);
    asked.escalation = Some(Box::new(Escalation {
        policy: "night".to_owned(),
        steps: vec![EscalationStep {
            step: 1,
            to: "on-call".to_owned(),
            person: None,
            at: ago(60),
            outcome: StepOutcome::Skipped,
            detail: Some("nobody is on call".to_owned()),
            settled_at: Some(ago(60)),
            deliveries: Vec::new(),
        }],
        next: Some(NextEscalationStep {
            step: 2,
            to: "person:ben".to_owned(),
            person: Some("ben".to_owned()),
            at: ago(-270),
        }),
    }));
    Snapshot {
        approvals: vec![asked, fixture::command_approval(2, Risk::High)],
        ..world()
    }
}

#[test]
fn a_row_says_who_hears_of_it_next_where_there_is_room() {
    let heads = |width, world| {
        let text = Driver::with(width, 40, world).press_text("j");
        let head = text.lines().find(|line| line.contains("left  risk"));
        (head.expect("names of columns").contains("escalates"), text)
    };
    let (has_column, text) = heads(200, escalating());
    assert!(has_column && text.contains("4m ben"), "{text}");
    // No column where nothing escalates, and none where columns are few.
    for (width, world) in [(200, world()), (160, escalating())] {
        let (has_column, text) = heads(width, world);
        assert!(!has_column, "{width}:\n{text}");
    }
}

#[test]
fn the_card_says_who_is_next_and_who_was_not_reached() {
    let text = Driver::with(120, 40, escalating()).press_text("j enter");
    for wanted in [
        "escalates to ben in 4 minutes",
        "step 1, the person on call: skipped",
    ] {
        assert!(text.contains(wanted), "wanted {wanted}:\n{text}");
    }
}

#[test]
fn field() {
    check("assign_field", |width, height| {
        let mut driver = Driver::with(width, height, world());
        driver.press("j >");
        driver
    });
}

fn summary_at(width: u16, height: u16, summary: ShiftSummary) -> Driver {
    let mut driver = Driver::with(width, height, world());
    driver.press("ctrl-t");
    let asked = driver.effects.iter().find_map(|effect| match effect {
        Effect::Query(query @ Query::GetShiftSummary(_)) => Some(query.clone()),
        _ => None,
    });
    driver.answer(asked.expect("it asks"), Answer::GetShiftSummary(summary));
    driver
}

#[test]
fn shift_summary() {
    check("assign_summary", |width, height| {
        summary_at(width, height, summary())
    });
}

#[test]
fn a_summary_is_read_to_its_end_in_a_narrow_terminal() {
    let mut long = summary();
    let one = long.pending[0].clone();
    long.pending = vec![one; 20];
    let mut driver = summary_at(48, 14, long);
    let last = "Spent";
    assert!(!driver.text().contains(last), "{}", driver.text());
    for _ in 0..60 {
        driver.press("ctrl-d");
    }
    assert!(driver.text().contains(last), "{}", driver.text());
    // It does not go on counting below its end: one step up is seen.
    let end = driver.text();
    driver.press("k");
    assert_ne!(driver.text(), end);
}

#[test]
fn no_name_and_no_note_reaches_the_screen_as_it_is() {
    for text in HOSTILE {
        let mut snapshot = world();
        snapshot.approvals[0].assignment = Some(Box::new(Assignment {
            to: (*text).to_owned(),
            by: (*text).to_owned(),
            at: ago(60),
            note: Some((*text).to_owned()),
        }));
        snapshot.on_call_status.names = vec![(*text).to_owned()];
        snapshot.on_call_status.on_call = Some(on_call(text, None));
        for (width, height) in [(120, 40), (80, 24), (20, 6)] {
            let mut driver = Driver::with(width, height, snapshot.clone());
            assert_clean(&mut driver, text);
            driver.press("j enter");
            assert_clean(&mut driver, text);
            driver.press("esc >");
            assert_clean(&mut driver, text);
        }
    }
}
