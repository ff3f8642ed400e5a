//! Drills: marked messages go the way of a question, so that somebody knows that it leads to people. Nothing runs and
//! nobody is asked; what a drill has come to is in the store, so a restart goes on with it.

use crate::clock::Timestamp;
use crate::config::escalation::{EscalationPolicy, Target};
use crate::engine::approvals::Origin;
use crate::engine::core::Engine;
use crate::engine::escalation::ntfy::{Notification, Posts};
use crate::engine::escalation::outcome::{LOOK_SECONDS, delivered};
use crate::engine::escalation::reach::{self, StepMoment};
use crate::engine::escalation::schedule::Schedule;
use crate::protocol::enums::{OutboxClass, Risk};
use crate::protocol::escalation::{EscalationDrill, StepOutcome, in_words};
use crate::store::commands::put_drill::PutDrill;
use crate::store::error::StoreError;
use crate::store::input::NewNotice;

/// Seconds after which a message of a drill counts as lost.
const PATIENCE_SECONDS: i64 = 60;

/// Takes the steps of drills that are due; when to look again.
pub async fn look(
    engine: &Engine,
    posts: &Posts,
    on_call: Option<&str>,
    now: Timestamp,
) -> Option<Timestamp> {
    let drills = match engine.store.read(|reader| reader.escalation_drills()).await {
        Ok(drills) => drills,
        Err(error) => {
            tracing::warn!(%error, "cannot read the running drills");
            return None;
        }
    };
    let mut next: Option<Timestamp> = None;
    for drill in drills.into_iter().filter(|drill| drill.ended_at.is_none()) {
        match advance(engine, posts, on_call, drill, now).await {
            Ok(at) => next = next.into_iter().chain(at).min(),
            Err(error) => tracing::warn!(%error, "cannot continue a drill"),
        }
    }
    next
}

/// Goes on with one drill; when to look again, if it has not ended.
async fn advance(
    engine: &Engine,
    posts: &Posts,
    on_call: Option<&str>,
    mut drill: EscalationDrill,
    now: Timestamp,
) -> Result<Option<Timestamp>, StoreError> {
    let settings = &engine.settings;
    let Some(policy) = settings.escalation.get(&drill.escalation.policy) else {
        drill.ended_at = Some(now);
        return keep(engine, drill, Vec::new()).await.map(|_| None);
    };
    let mut steps = policy.steps.clone();
    if drill.fast {
        for step in &mut steps {
            step.after_seconds = 0;
        }
    }
    let schedule = Schedule {
        asked_at: drill.started_at,
        ..Schedule::default()
    };
    loop {
        let settled = settle(engine, posts, policy, &mut drill, now).await?;
        let due = schedule.next(&steps, &drill.escalation.steps);
        let waits = drill
            .escalation
            .steps
            .iter()
            .any(|step| step.outcome == StepOutcome::Queued);
        // The next person hears of it once it is known whether the one before did: the table says who did not.
        let ready = due.filter(|(_, at)| *at <= now && !(drill.fast && waits));
        let Some((index, _)) = ready else {
            if due.is_none() && !waits {
                drill.ended_at = Some(now);
                keep(engine, drill, Vec::new()).await?;
                return Ok(None);
            }
            if settled {
                keep(engine, drill, Vec::new()).await?;
            }
            let again = waits.then(|| now.plus_seconds(LOOK_SECONDS));
            let due = due.map(|(_, at)| at).filter(|at| *at > now);
            return Ok(due.into_iter().chain(again).min());
        };
        let taken = drill.escalation.steps.len();
        let notices = take(engine, policy, &mut drill, index, on_call, now);
        let put = PutDrill {
            drill: drill.clone(),
            taken,
            notices,
        };
        if !engine.persist(put).await? {
            return Ok(None);
        }
        let last = drill.escalation.steps.last();
        if last.is_some_and(|step| step.outcome == StepOutcome::Queued) {
            return Ok(Some(now));
        }
    }
}

async fn keep(
    engine: &Engine,
    drill: EscalationDrill,
    notices: Vec<NewNotice>,
) -> Result<bool, StoreError> {
    let taken = drill.escalation.steps.len();
    let put = PutDrill {
        drill,
        taken,
        notices,
    };
    engine.persist(put).await
}

/// Adds the step to the drill; the messages that it sends.
fn take(
    engine: &Engine,
    policy: &EscalationPolicy,
    drill: &mut EscalationDrill,
    index: usize,
    on_call: Option<&str>,
    now: Timestamp,
) -> Vec<NewNotice> {
    let Some(target) = policy.steps.get(index).map(|step| &step.target) else {
        return Vec::new();
    };
    let moment = StepMoment {
        origin: Origin {
            channel: &drill.channel,
            requester: "drill",
        },
        risk: Risk::Low,
        on_call,
        is_last: index + 1 == policy.steps.len(),
        now,
    };
    let (step, recipients) = reach::take(engine, target, index, &moment);
    let text = text(drill, index, target, step.person.as_deref());
    drill.escalation.steps.push(step);
    let notice = |recipient: crate::engine::approvals::Recipient| NewNotice {
        channel: recipient.channel,
        conversation: recipient.conversation,
        class: OutboxClass::Notice,
        text: text.clone(),
        reply_to: None,
        continuation_id: None,
    };
    recipients.into_iter().map(notice).collect()
}

fn text(drill: &EscalationDrill, index: usize, target: &Target, person: Option<&str>) -> String {
    format!(
        "DRILL, nothing waits and nothing runs: an undecided question of {} goes to {} here (step {} of {}).",
        drill.channel,
        in_words(&target.name(), person).trim_end_matches(','),
        index + 1,
        drill.escalation.policy
    )
}

/// Notes what became of steps that were on their way. Whether that changed something.
async fn settle(
    engine: &Engine,
    posts: &Posts,
    policy: &EscalationPolicy,
    drill: &mut EscalationDrill,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let mut changed = false;
    for at in 0..drill.escalation.steps.len() {
        let step = &drill.escalation.steps[at];
        if step.outcome != StepOutcome::Queued {
            continue;
        }
        let lost = now > step.at.plus_seconds(PATIENCE_SECONDS);
        let ended = if step.deliveries.is_empty() {
            posted(engine, posts, policy, drill, at)
        } else {
            delivered(engine, &step.deliveries).await?
        };
        let ended = ended.or_else(|| {
            lost.then(|| {
                Err(format!(
                    "not delivered within {PATIENCE_SECONDS} seconds; `leverframe doctor` says how its channel is"
                ))
            })
        });
        if let Some(ended) = ended {
            let step = &mut drill.escalation.steps[at];
            step.outcome = match ended {
                Ok(()) => StepOutcome::Sent,
                Err(_) => StepOutcome::Failed,
            };
            step.detail = ended.err();
            step.settled_at = Some(now);
            changed = true;
        }
    }
    Ok(changed)
}

fn posted(
    engine: &Engine,
    posts: &Posts,
    policy: &EscalationPolicy,
    drill: &EscalationDrill,
    at: usize,
) -> Option<Result<(), String>> {
    let Some(Target::Ntfy { url, token, .. }) = policy.steps.get(at).map(|one| &one.target) else {
        return Some(Err("the policy has no such step any more".to_owned()));
    };
    let target = policy.steps.get(at).map(|one| &one.target)?;
    let notification = Notification {
        url: url.clone(),
        token: token.clone(),
        sequence: format!(
            "drill-{}-{}-{}",
            drill.channel,
            drill.started_at.as_millis(),
            at + 1
        ),
        title: format!("DRILL of {}", drill.channel),
        text: text(drill, at, target, None),
        risk: Risk::Low,
        click: policy.click.clone(),
    };
    posts.poll(engine, notification)
}
