//! `R` on a card: it asks for a rehearsal, shows it as one, and decides nothing.

use leverframe::console::message::DaemonMessage;
use leverframe::protocol::approval::Approval;
use leverframe::protocol::enums::Risk;
use leverframe::protocol::file_change::FileFate;
use leverframe::protocol::problem::{Problem, ProblemKind};
use leverframe::protocol::rehearsal::{Rehearsal, RehearsalEnd, RehearsedFile};
use leverframe::protocol::request::{Command, Outcome, RehearseCall};
use leverframe::protocol::snapshot::Snapshot;
use leverframe::tui::message::Effect;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;

fn waiting(sandbox: &str) -> Approval {
    let mut approval = fixture::command_approval(1, Risk::High);
    approval.plan.sandbox = Some(sandbox.to_owned());
    approval
}

fn ready(approval: Approval) -> Driver {
    let snapshot = Snapshot {
        approvals: vec![approval],
        ..fixture::busy()
    };
    let mut driver = Driver::with(120, 50, snapshot);
    driver.press("j");
    driver.wait(800);
    driver.draw();
    driver
}

fn asked(driver: &Driver) -> usize {
    driver
        .effects
        .iter()
        .filter(|effect| matches!(effect, Effect::Submit(Command::RehearseCall(_))))
        .count()
}

fn shown(approval: &Approval) -> Rehearsal {
    Rehearsal {
        approval_id: approval.id,
        revision: approval.revision,
        digest: approval.digest.clone(),
        by: "anna".into(),
        at: fixture::ago(1),
        ended: RehearsalEnd::Exited,
        outcome: "exit status 1 after 0.2 s".into(),
        exit_status: Some(1),
        duration_ms: 200,
        output: "first\n\u{1b}[31msecond\n3\n4\n5\n6\nseventh\n".into(),
        files: vec![RehearsedFile {
            path: "notes/\u{202e}a.txt".into(),
            fate: FileFate::Changed,
            bytes: Some(4),
            note: None,
            diff: Some("--- a/a\n+++ b/a\n@@ -1 +1,2 @@\n one\n+two\n".into()),
        }],
        more_files: 0,
        incomplete: None,
        sandbox: "bubblewrap: a copy of the workspace, no network".into(),
    }
}

fn answer(driver: &mut Driver, approval: &Approval, result: Result<Outcome, Problem>) {
    driver.hear(DaemonMessage::Submitted {
        command: Box::new(Command::RehearseCall(RehearseCall {
            approval_id: approval.id,
        })),
        result: result.map(Box::new).map_err(Box::new),
    });
    driver.draw();
}

#[test]
fn the_card_shows_a_rehearsal_and_unfolds_it() {
    let approval = waiting("bubblewrap: workspace only, no network");
    let mut driver = ready(approval.clone());
    assert!(driver.text().contains("R rehearse"), "{}", driver.text());
    driver.press("R");
    assert_eq!(asked(&driver), 1);
    driver.press("R");
    assert_eq!(asked(&driver), 1, "one at a time");
    driver.draw();
    driver.press("enter");
    driver.draw();
    assert!(
        driver.text().contains("running in a throw-away copy"),
        "{}",
        driver.text()
    );
    answer(
        &mut driver,
        &approval,
        Ok(Outcome::RehearseCall(shown(&approval))),
    );
    let text = driver.text();
    for words in [
        "REHEARSAL, not a run of the call",
        "exit status 1 after 0.2 s",
        "files: 1 changed",
        "first",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(
        !text.contains("seventh") && !text.contains("+two"),
        "folded: {text}"
    );
    assert!(
        !text.contains('\u{1b}') && !text.contains('\u{202e}'),
        "{text}"
    );
    driver.press("v");
    for _ in 0..8 {
        driver.press("ctrl-d");
    }
    driver.draw();
    let mut seen = driver.text();
    for _ in 0..8 {
        driver.press("ctrl-u");
        driver.draw();
        seen.push_str(&driver.text());
    }
    assert!(seen.contains("seventh") && seen.contains("two"), "{seen}");

    // Of a card that changed it says nothing any more.
    let known = driver
        .state
        .model
        .world_mut()
        .approvals
        .get_mut(&approval.id)
        .unwrap();
    known.digest = "02".repeat(32);
    driver.draw();
    assert!(!driver.text().contains("REHEARSAL"), "{}", driver.text());
}

#[test]
fn why_there_is_no_rehearsal_is_said() {
    let mut driver = ready(waiting("unsandboxed"));
    assert!(
        driver.text().contains("no sandbox is proved"),
        "{}",
        driver.text()
    );
    driver.press("R");
    assert_eq!(asked(&driver), 0);
    let approval = waiting("bubblewrap: workspace only, no network");
    let mut driver = ready(approval.clone());
    driver.press("R");
    let problem = Problem::new(
        ProblemKind::NotOffered,
        "not rehearsed",
        "the workspace has more than 256 MiB",
    );
    answer(&mut driver, &approval, Err(problem));
    driver.press("enter");
    driver.draw();
    assert!(
        driver.text().contains("more than 256 MiB"),
        "{}",
        driver.text()
    );
}
