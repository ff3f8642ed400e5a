//! The shape dialog and the rule editor: what they print, what they ask, and when their last press counts.

use leverframe::console::message::DaemonMessage;
use leverframe::protocol::command::DecisionRequest;
use leverframe::protocol::enums::*;
use leverframe::protocol::problem::{Problem, ProblemKind};
use leverframe::protocol::request::{Answer, Command, Decide, GetRuleMatches, Outcome, Query};
use leverframe::protocol::rule::{RuleMatches, RulePatch, coverage};
use leverframe::protocol::snapshot::Snapshot;
use leverframe::tui::message::{Effect, Message};
use leverframe::tui::state::modal::Modal;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;

fn decided(driver: &Driver) -> Vec<DecisionRequest> {
    driver
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Submit(Command::Decide(Decide { decision, .. })) => Some(decision.clone()),
            _ => None,
        })
        .collect()
}

fn toast(driver: &Driver) -> String {
    driver
        .state
        .toast
        .as_ref()
        .map_or_else(String::new, |toast| toast.text.clone())
}

/// A call that runs `git push origin main`, untainted, of medium risk.
fn command() -> Snapshot {
    let mut approval = fixture::command_approval(1, Risk::Medium);
    approval.taint.clear();
    approval.args = serde_json::json!({"argv": ["git", "push", "origin", "it's main"]});
    Snapshot {
        approvals: vec![approval, fixture::approval(2, Risk::High)],
        ..fixture::busy()
    }
}

/// The card is selected and has been read.
fn ready(width: u16, height: u16) -> Driver {
    let mut driver = Driver::with(width, height, command());
    driver.press("j");
    for _ in 0..12 {
        driver.press("ctrl-d");
    }
    driver.wait(800);
    driver.draw();
    driver
}

#[test]
fn a_shape_is_printed_and_allowed_by_the_same_key_not_before_700_ms() {
    let mut driver = ready(160, 60);
    driver.press("s");
    let text = driver.text();
    for shown in [
        "Allow this shape",
        "execute_command",
        "\"it's main\"",
        "telegram:481516",
        "20:00",
    ] {
        assert!(text.contains(shown), "{shown}: {text}");
    }
    driver.wait(699);
    driver.press("s");
    assert!(decided(&driver).is_empty(), "too soon");
    assert!(toast(&driver).contains("not armed"), "{}", toast(&driver));
    // Enter asks for another time and takes nothing, and a held key is no second press.
    driver.wait(1_000);
    driver.press("enter");
    driver.press("esc");
    // Under the field it was not being looked at.
    driver.wait(700);
    let held = crossterm::event::KeyEvent {
        kind: crossterm::event::KeyEventKind::Repeat,
        ..crossterm::event::KeyEvent::new(
            crossterm::event::KeyCode::Char('s'),
            crossterm::event::KeyModifiers::NONE,
        )
    };
    driver.send(Message::Key(held));
    driver.send(Message::Paste("s".into()));
    assert!(decided(&driver).is_empty());
    // Nor is one just after the terminal regained focus.
    driver.send(Message::FocusGained);
    driver.wait(299);
    driver.press("s");
    assert!(decided(&driver).is_empty());
    driver.wait(2);
    driver.press("s");
    let sent = decided(&driver);
    let [request] = sent.as_slice() else {
        panic!("{sent:?}")
    };
    assert_eq!(
        (request.decision, request.scope, request.revision),
        (DecisionKind::Approve, Some(DecisionScope::Session), Some(1))
    );
    assert_eq!(request.digest, "01".repeat(32));
}

#[test]
fn a_shape_ends_with_its_turn_or_at_a_time_that_is_written() {
    let mut driver = ready(160, 60);
    driver.press("s");
    let text = driver.text();
    assert!(
        text.contains("until 20:00 (in 8h), while this session lasts"),
        "{text}"
    );
    driver.wait(800);
    driver.press("- - -");
    assert!(driver.text().contains("until this turn ends"));
    driver.press("s");
    assert!(decided(&driver).is_empty(), "what it says has just changed");
    driver.wait(800);
    driver.press("s");
    let sent = decided(&driver);
    assert_eq!(
        (sent[0].scope, sent[0].expires_in_seconds),
        (Some(DecisionScope::Turn), None)
    );

    let mut driver = ready(160, 60);
    driver.press("s enter");
    driver.type_text("2020-01-01");
    driver.press("enter");
    assert!(driver.text().contains("not over yet"), "{}", driver.text());
    for _ in 0..10 {
        driver.press("backspace");
    }
    driver.type_text("45m");
    driver.press("enter");
    assert!(driver.text().contains("(in 45m)"), "{}", driver.text());
    driver.wait(800);
    driver.press("s");
    let sent = decided(&driver);
    assert_eq!(
        (sent[0].scope, sent[0].expires_in_seconds),
        (Some(DecisionScope::Session), Some(45 * 60))
    );

    // The longest lasts as long as the session.
    let mut driver = ready(160, 60);
    driver.press("s + + + + +");
    assert!(
        driver
            .text()
            .contains("lasts        while this session lasts")
    );
    driver.wait(800);
    driver.press("s");
    assert_eq!(decided(&driver)[0].expires_in_seconds, Some(0));
}

#[test]
fn a_rule_of_a_card_can_end_with_its_turn_or_at_a_time_that_is_written() {
    let mut driver = ready(160, 60);
    driver.press("r j j j enter enter");
    let text = driver.text();
    assert!(text.contains("this turn, until it ends"), "{text}");
    let rule = asked(&driver).pop().unwrap();
    assert_eq!(rule.scope, Some(RuleScope::Turn));
    assert!(rule.continuation_id.is_some());
    answer(&mut driver, &rule, 2);
    // Down to its end: the last choice is the one that is written.
    driver.press("j j enter enter enter enter");
    assert!(driver.text().contains("with the turn"), "{}", driver.text());
    driver.press("enter");
    driver.type_text("2h");
    driver.press("enter");
    let text = driver.text();
    assert!(text.contains("(in 2h), or with the turn"), "{text}");
    driver.press("j j j");
    driver.wait(800);
    driver.press("enter");
    let sent = decided(&driver);
    let rule = sent[0].rule.clone().unwrap();
    assert_eq!(
        (rule.scope, rule.expires_in_seconds),
        (Some(RuleScope::Turn), Some(2 * 3600))
    );
}

#[test]
fn a_long_shape_counts_only_when_it_was_read_to_its_end() {
    let mut snapshot = command();
    let words: Vec<String> = (0..80).map(|n| format!("word-{n}")).collect();
    snapshot.approvals[0].args = serde_json::json!({ "argv": words });
    let mut driver = Driver::with(80, 24, snapshot);
    driver.press("j");
    for _ in 0..60 {
        driver.press("ctrl-d");
    }
    driver.wait(800);
    driver.press("s");
    assert!(
        matches!(driver.state.modals.last(), Some(Modal::Deciding(_))),
        "{}",
        toast(&driver)
    );
    driver.wait(800);
    driver.press("s");
    assert!(
        toast(&driver).contains("scroll through it"),
        "{}",
        toast(&driver)
    );
    assert!(decided(&driver).is_empty());
    for _ in 0..60 {
        driver.press("ctrl-d");
    }
    driver.press("s");
    assert_eq!(decided(&driver).len(), 1, "{}", toast(&driver));
}

#[test]
fn no_shape_for_high_risk_or_with_untrusted_content() {
    let mut tainted = fixture::approval(1, Risk::Low);
    tainted.taint = vec!["a web page".into()];
    let mut driver = Driver::with(
        160,
        60,
        Snapshot {
            approvals: vec![tainted, fixture::approval(2, Risk::High)],
            ..fixture::busy()
        },
    );
    for said in ["untrusted content", "never for high risk"] {
        driver.press("j");
        driver.wait(800);
        driver.press("s");
        assert!(driver.state.modals.is_empty());
        assert!(toast(&driver).contains(said), "{}", toast(&driver));
    }
}

fn asked(driver: &Driver) -> Vec<RulePatch> {
    driver
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Query(Query::GetRuleMatches(GetRuleMatches { id: None, rule })) => {
                Some((**rule).clone())
            }
            _ => None,
        })
        .collect()
}

fn matches(matched: u64) -> RuleMatches {
    RuleMatches {
        rule: "allow execute_command argv prefix `git push`".into(),
        coverage: Some(coverage(Some("sub"), Some("/usr/bin/git"))),
        since: fixture::ago(7 * 24 * 3600),
        considered: 40,
        more: false,
        matched,
        doubtful: 0,
        ran_unasked: 0,
        approved: 9,
        denied: 2,
        refused: 0,
        calls: Vec::new(),
    }
}

fn answer(driver: &mut Driver, rule: &RulePatch, matched: u64) {
    let query = Query::GetRuleMatches(GetRuleMatches {
        id: None,
        rule: Box::new(rule.clone()),
    });
    let found = Answer::GetRuleMatches(matches(matched));
    driver.answer(query, found);
    driver.draw();
}

#[test]
fn the_rule_editor_previews_and_makes_the_rule_with_the_decision() {
    let mut driver = ready(80, 24);
    driver.press("r");
    let first = asked(&driver);
    assert_eq!(first.len(), 1);
    assert_eq!(
        (
            first[0].matcher,
            first[0].field.as_deref(),
            first[0].value.as_deref()
        ),
        (
            Some(RuleMatcher::Exact),
            Some("argv"),
            Some(r"git push origin 'it'\''s main'")
        )
    );
    // The matcher changes: another value is suggested and asked about.
    driver.press("enter");
    let prefix = asked(&driver).pop().unwrap();
    assert_eq!(
        (
            prefix.matcher,
            prefix.value.as_deref(),
            prefix.channel.as_deref()
        ),
        (
            Some(RuleMatcher::Prefix),
            Some("git push"),
            Some("telegram")
        )
    );
    // An answer to what is not asked any more says nothing.
    answer(&mut driver, &first[0], 1);
    assert!(driver.text().contains("Looking for"), "{}", driver.text());
    answer(&mut driver, &prefix, 12);
    let text = driver.text();
    assert!(text.contains("matches 12 of 40 calls"), "{text}");
    assert!(text.contains("9 approved, 2 denied"), "{text}");
    // Where and with what, and that what files say is not bound.
    assert!(
        text.contains("in `sub`, program `/usr/bin/git`") && text.contains("is not bound"),
        "{text}"
    );

    // Its end and uses change nothing of what it matches: nothing is asked again.
    let questions = asked(&driver).len();
    driver.press("j j j j j enter j enter");
    assert_eq!(asked(&driver).len(), questions);
    let text = driver.text();
    assert!(
        text.contains("(in 24h)") && text.contains("at most 1 calls"),
        "{text}"
    );

    // Cancel stands before the button that decides; that counts after 700 ms only.
    driver.press("j j");
    driver.press("enter");
    assert!(decided(&driver).is_empty());
    assert!(toast(&driver).contains("not armed"), "{}", toast(&driver));
    driver.wait(700);
    driver.press("enter");
    let sent = decided(&driver);
    let [request] = sent.as_slice() else {
        panic!("{sent:?} {}", toast(&driver))
    };
    let rule = request.rule.clone().unwrap();
    assert_eq!(request.decision, DecisionKind::Approve);
    assert_eq!(
        (
            rule.value.as_deref(),
            rule.verdict,
            rule.expires_in_seconds,
            rule.max_uses
        ),
        (
            Some("git push"),
            Some(VerdictKind::Allow),
            Some(24 * 3600),
            Some(1)
        )
    );
    assert_eq!(rule.channel.as_deref(), Some("telegram"));

    // A refusal is read in the editor, which stays.
    let command = Command::Decide(Decide {
        approval_id: fixture::approval_id(1),
        decision: request.clone(),
    });
    let problem = Problem::new(ProblemKind::Invalid, "invalid", "the rule does not match");
    driver.hear(DaemonMessage::Submitted {
        command: Box::new(command.clone()),
        result: Err(Box::new(problem)),
    });
    assert!(driver.text().contains("does not match"));
    let mut done = fixture::approval(1, Risk::Medium);
    done.state = ApprovalState::Approved;
    driver.hear(DaemonMessage::Submitted {
        command: Box::new(command),
        result: Ok(Box::new(Outcome::Decide(done))),
    });
    assert!(driver.state.modals.is_empty());
    assert!(toast(&driver).contains("a rule made"), "{}", toast(&driver));
}

#[test]
fn a_value_is_written_and_asked_about_and_a_deny_rule_denies() {
    let mut driver = ready(120, 40);
    driver.press("r j j enter");
    for _ in 0..30 {
        driver.press("backspace");
    }
    driver.press("enter");
    assert!(driver.text().contains("the value to compare with is empty"));
    driver.type_text("git *");
    driver.press("enter");
    assert_eq!(
        asked(&driver).pop().unwrap().value.as_deref(),
        Some("git *")
    );
    // To `says`, and over to deny.
    driver.press("j j enter");
    let deny = asked(&driver).pop().unwrap();
    assert_eq!(deny.verdict, Some(VerdictKind::Deny));
    answer(&mut driver, &deny, 3);
    driver.press("j j j j");
    driver.wait(800);
    driver.press("enter");
    let sent = decided(&driver);
    assert_eq!(sent.len(), 1, "{}", toast(&driver));
    let rule = sent[0].rule.clone().unwrap();
    assert_eq!(
        (sent[0].decision, rule.verdict, rule.max_uses),
        (DecisionKind::Deny, Some(VerdictKind::Deny), None)
    );
}

#[test]
fn a_tool_that_always_asks_is_offered_only_a_rule_that_denies() {
    let mut approval = fixture::approval(1, Risk::Medium);
    approval.verdict.rule = "always_ask list: `write_*`".into();
    let mut driver = Driver::with(
        160,
        60,
        Snapshot {
            approvals: vec![approval],
            ..fixture::busy()
        },
    );
    driver.press("j");
    driver.wait(800);
    driver.draw();
    driver.press("r");
    let text = driver.text();
    assert!(
        text.contains("none can allow it: write_file is on always_ask"),
        "{text}"
    );
    // The line of the verdict is the fifth.
    driver.press("j j j j enter");
    let text = driver.text();
    assert!(text.contains("no rule lets it run"), "{text}");
    driver.press("j j j j j j j j");
    driver.wait(900);
    driver.press("enter");
    let words = |driver: &Driver| {
        decided(driver)
            .iter()
            .map(|one| one.decision)
            .collect::<Vec<_>>()
    };
    assert_eq!(words(&driver), [DecisionKind::Deny]);
}

#[test]
fn an_editor_that_does_not_fit_or_whose_card_changed_decides_nothing() {
    let mut driver = ready(160, 60);
    driver.press("r");
    let query = asked(&driver).pop().unwrap();
    answer(&mut driver, &query, 3);
    driver.press("j j j j j j j j");
    driver.size = (40, 8);
    driver.send(Message::Resize(40, 8));
    driver.draw();
    driver.wait(900);
    driver.press("enter");
    assert!(decided(&driver).is_empty());
    driver.size = (160, 60);
    driver.send(Message::Resize(160, 60));
    driver.draw();
    driver.wait(900);
    // Another revision came meanwhile.
    let approval = driver
        .state
        .model
        .world_mut()
        .approvals
        .get_mut(&fixture::approval_id(1))
        .unwrap();
    approval.revision = 2;
    driver.press("enter");
    assert!(decided(&driver).is_empty());
    assert!(toast(&driver).contains("changed"), "{}", toast(&driver));
}
