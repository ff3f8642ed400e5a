//! After five equal approvals one line says what a rule would have answered, and nothing happens by itself.

use std::sync::Arc;

use leverframe::console::message::DaemonMessage;
use leverframe::protocol::approval::{Approval, Decision};
use leverframe::protocol::enums::*;
use leverframe::protocol::event::{Event, EventBody};
use leverframe::protocol::request::{Answer, Query, SuggestRules};
use leverframe::protocol::rule::{RulePatch, RuleSuggestion, RuleSuggestions};
use leverframe::tui::message::Effect;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;

fn approve(driver: &mut Driver, n: u8, risk: Risk) {
    let approval = Approval {
        state: ApprovalState::Approved,
        decision: Some(Decision {
            until: None,
            answer: None,
            starts_at: None,
            decision: DecisionKind::Approve,
            scope: Some(DecisionScope::Once),
            by: "jo".into(),
            surface: Surface::Chat,
            at: driver.now().wall,
            reason: None,
        }),
        ..fixture::approval(n, risk)
    };
    let event = Event {
        seq: Some(200 + u64::from(n)),
        at: driver.now().wall,
        session_id: Some(fixture::session_id(1)),
        continuation_id: Some(fixture::continuation_id(1)),
        body: EventBody::ApprovalDecided {
            approval: Box::new(approval),
        },
    };
    driver.hear(DaemonMessage::Event(Arc::new(event)));
}

fn asked(driver: &Driver) -> Vec<SuggestRules> {
    driver
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Query(Query::SuggestRules(query)) => Some(query.clone()),
            _ => None,
        })
        .collect()
}

fn found() -> RuleSuggestions {
    RuleSuggestions {
        since: fixture::NOW,
        more: false,
        approved: 9,
        answered: 7,
        rules: vec![RuleSuggestion {
            rule: RulePatch {
                tool: Some("write_file".to_owned()),
                ..RulePatch::default()
            },
            text: "allow write_file path prefix `notes/`".to_owned(),
            coverage: None,
            answered: 7,
            also_count: 1,
            also: vec!["notes/secret.md".to_owned()],
        }],
    }
}

fn coached(count: u8, risk: Risk) -> Driver {
    let mut driver = Driver::with(200, 40, fixture::busy());
    for n in 1..=count {
        approve(&mut driver, n, risk);
    }
    driver
}

#[test]
fn five_equal_approvals_bring_one_line_and_no_rule() {
    let mut driver = coached(4, Risk::Medium);
    assert!(asked(&driver).is_empty(), "four are not enough");
    approve(&mut driver, 5, Risk::Medium);
    let query = asked(&driver).remove(0);
    assert_eq!(query.channel.as_deref(), Some("telegram"));
    driver.hear(DaemonMessage::Answered {
        query: Box::new(Query::SuggestRules(query)),
        result: Ok(Box::new(Answer::SuggestRules(found()))),
    });
    let text = driver.text();
    assert!(
        text.contains("a rule would have answered 7 here: allow write_file path prefix `notes/`; it would also have let through notes/secret.md"),
        "{text}"
    );
    assert!(driver.state.modals.is_empty());
    assert!(
        !driver
            .effects
            .iter()
            .any(|effect| matches!(effect, Effect::Submit(_))),
        "it makes nothing"
    );
    // It speaks once of them.
    approve(&mut driver, 6, Risk::Medium);
    assert_eq!(asked(&driver).len(), 1);
}

#[test]
fn no_rule_could_answer_critical_calls() {
    assert!(asked(&coached(9, Risk::Critical)).is_empty());
}
