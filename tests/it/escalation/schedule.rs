//! When the next step is due, as a function of the steps, the question and those that were taken.

use jiff::tz::TimeZone;
use leverframe::clock::Timestamp;
use leverframe::clock::quiet_hours::QuietHours;
use leverframe::config::escalation::{EscalationStep as StepSettings, Target};
use leverframe::engine::escalation::schedule::Schedule;
use leverframe::protocol::escalation::{EscalationStep, StepOutcome};
use proptest::prelude::*;

const START: Timestamp = Timestamp(1_790_000_000_000);

fn steps(gaps: &[i64]) -> Vec<StepSettings> {
    let mut after_seconds = 0;
    let step = |gap: &i64| {
        after_seconds += gap;
        StepSettings {
            after_seconds,
            target: Target::OnCall,
        }
    };
    gaps.iter().map(step).collect()
}

fn taken(at: Timestamp, outcome: StepOutcome) -> EscalationStep {
    EscalationStep {
        step: 1,
        to: "on-call".to_owned(),
        person: None,
        at,
        outcome,
        detail: None,
        settled_at: outcome.reached_nobody().then_some(at),
        deliveries: Vec::new(),
    }
}

fn hours(text: &str) -> QuietHours {
    QuietHours::new(text, TimeZone::UTC).unwrap()
}

/// 2026-09-21 21:30 in UTC.
fn evening() -> Timestamp {
    let at: jiff::Timestamp = "2026-09-21T21:30:00Z".parse().unwrap();
    Timestamp(at.as_millisecond())
}

#[test]
fn steps_follow_each_other_at_their_times() {
    let steps = steps(&[300, 300]);
    let schedule = Schedule {
        asked_at: START,
        ..Schedule::default()
    };
    let first = START.plus_seconds(300);
    assert_eq!(schedule.next(&steps, &[]), Some((0, first)));
    let one = [taken(first, StepOutcome::Sent)];
    assert_eq!(
        schedule.next(&steps, &one),
        Some((1, START.plus_seconds(600)))
    );
    let both = [
        one[0].clone(),
        taken(START.plus_seconds(600), StepOutcome::Queued),
    ];
    assert_eq!(schedule.next(&steps, &both), None);
    // One that was late by an hour: the next one keeps its distance.
    let late = [taken(START.plus_seconds(3900), StepOutcome::Sent)];
    assert_eq!(
        schedule.next(&steps, &late),
        Some((1, START.plus_seconds(4200)))
    );
    // One that reached nobody: the next one does not wait.
    for outcome in [StepOutcome::Skipped, StepOutcome::Failed] {
        assert_eq!(
            schedule.next(&steps, &[taken(first, outcome)]),
            Some((1, first))
        );
    }
}

#[test]
fn steps_stand_still_in_quiet_hours_of_the_channel_and_while_somebody_has_the_question() {
    let steps = steps(&[3600]);
    let night = hours("22:00-07:00");
    let quiet = Schedule {
        asked_at: evening(),
        quiet_hours: Some(&night),
        held_until: None,
    };
    // Half an hour this evening, half an hour from seven on.
    let morning = evening().plus_seconds(10 * 3600);
    assert_eq!(quiet.next(&steps, &[]), Some((0, morning)));
    let held = Schedule {
        asked_at: evening(),
        quiet_hours: None,
        held_until: Some(evening().plus_seconds(7200)),
    };
    assert_eq!(
        held.next(&steps, &[]),
        Some((0, evening().plus_seconds(7200)))
    );
}

fn outcome() -> impl Strategy<Value = StepOutcome> {
    prop::sample::select(vec![
        StepOutcome::Queued,
        StepOutcome::Sent,
        StepOutcome::Skipped,
        StepOutcome::Failed,
    ])
}

proptest! {
    /// Whoever looks late or early: every step comes once, in order, none before its time or before the hold ends,
    /// and those that reach somebody keep their distance.
    #[test]
    fn every_step_comes_once_in_order_and_not_too_early(
        gaps in prop::collection::vec(1_i64..5_000, 1..8),
        looks in prop::collection::vec((0_i64..20_000, outcome()), 1..8),
        held in proptest::option::of(0_i64..30_000),
    ) {
        let steps = steps(&gaps);
        let held_until = held.map(|seconds| START.plus_seconds(seconds));
        let schedule = Schedule { asked_at: START, quiet_hours: None, held_until };
        let mut done: Vec<EscalationStep> = Vec::new();
        for (late, outcome) in looks {
            let Some((index, due)) = schedule.next(&steps, &done) else {
                prop_assert_eq!(done.len(), steps.len());
                break;
            };
            prop_assert_eq!(index, done.len());
            prop_assert!(held_until.is_none_or(|until| due >= until));
            match done.last() {
                Some(last) if last.outcome.reached_nobody() => prop_assert!(due >= last.at),
                last => {
                    prop_assert!(due >= START.plus_seconds(steps[index].after_seconds));
                    if let Some(last) = last {
                        prop_assert!(due >= last.at.plus_seconds(gaps[index]));
                    }
                }
            }
            done.push(taken(due.plus_seconds(late), outcome));
        }
    }
}
