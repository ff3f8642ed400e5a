//! Escalation: a question that nobody decides goes to the next who might. What is due follows from the store, the
//! configuration and the time: a restart changes nothing.

pub mod doctor;
pub mod drill;
pub mod ntfy;
pub mod outcome;
pub mod reach;
pub mod schedule;

use crate::clock::Timestamp;
use crate::config::escalation::{EscalationPolicy, Target};
use crate::engine::approvals::Origin;
use crate::engine::core::Engine;
use crate::engine::escalation::ntfy::{Notification, Posts};
use crate::engine::escalation::outcome::{LOOK_SECONDS, delivered, number};
use crate::engine::escalation::reach::{StepMoment, person_of, take};
use crate::engine::escalation::schedule::Schedule;
use crate::engine::reminders::{Waiting, waits};
use crate::protocol::enums::Risk;
use crate::protocol::escalation::{EscalationStep, NextEscalationStep, StepOutcome};
use crate::store::commands::escalate::{Escalate, PlanEscalation, SettleEscalation};
use crate::store::error::StoreError;
use crate::store::queries::waiting::WaitingApproval;

/// Takes the steps that are due; when to look again, if anything waits for a time.
pub async fn look(
    engine: &Engine,
    posts: &Posts,
    waiting: Waiting,
    now: Timestamp,
) -> Option<Timestamp> {
    if engine.emergency.is_quarantined() {
        return None;
    }
    let on_call = waiting.on_call.as_ref().map(|one| one.name.as_str());
    let drill_at = if engine.settings.escalation.is_empty() {
        None
    } else {
        drill::look(engine, posts, on_call, now).await
    };
    let one = Escalator {
        engine,
        posts,
        on_call,
        now,
    };
    let mut next = drill_at;
    for approval in waiting.approvals {
        match one.escalate(approval).await {
            Ok(at) => next = next.into_iter().chain(at).min(),
            Err(error) => tracing::warn!(%error, "cannot escalate an approval"),
        }
    }
    next
}

/// What the steps of all questions go by.
struct Escalator<'a> {
    engine: &'a Engine,
    posts: &'a Posts,
    on_call: Option<&'a str>,
    now: Timestamp,
}

impl Escalator<'_> {
    /// Takes what is due of one question; when to look again.
    async fn escalate(
        &self,
        mut approval: WaitingApproval,
    ) -> Result<Option<Timestamp>, StoreError> {
        let settings = &self.engine.settings;
        let name = settings
            .channels
            .get(&approval.channel)
            .and_then(|channel| channel.escalation.clone());
        let policy = name.as_ref().and_then(|name| settings.escalation.get(name));
        let (Some(name), Some(policy)) = (name, policy) else {
            return self.forget(&approval).await.map(|()| None);
        };
        let looks_again = self.settle(&mut approval, policy).await?;
        loop {
            let due = self.due(&approval, policy);
            let Some((index, at)) = due.filter(|(_, at)| *at <= self.now) else {
                let next = due.and_then(|(index, at)| self.next(policy, index, at));
                let stored = approval.escalation.get_or_insert_default();
                if stored.next != next || stored.policy != name {
                    let plan = PlanEscalation {
                        approval_id: approval.id,
                        revision: approval.revision,
                        policy: name.clone(),
                        taken: stored.steps.len(),
                        next,
                    };
                    self.engine.persist(plan).await?;
                }
                let again = looks_again.then(|| self.now.plus_seconds(LOOK_SECONDS));
                return Ok(due.map(|(_, at)| at).into_iter().chain(again).min());
            };
            let Some(mut command) = self.step(&approval, &name, policy, index) else {
                return Ok(None);
            };
            let step = command.step.clone();
            let escalation = approval.escalation.get_or_insert_default();
            escalation.steps.push(step.clone());
            let due = self.due(&approval, policy);
            command.next = due.and_then(|(index, at)| self.next(policy, index, at));
            tracing::info!(approval = %approval.id, step = step.step, to = %step.to, outcome = step.outcome.as_str(), %at,
                "escalating an approval");
            if !self.engine.persist(command).await? {
                return Ok(None);
            }
            if !step.outcome.reached_nobody() {
                // What it queued has an end soon.
                return Ok(Some(self.now));
            }
        }
    }

    /// A question whose channel has no policy any more: nothing comes next.
    async fn forget(&self, approval: &WaitingApproval) -> Result<(), StoreError> {
        let Some(escalation) = approval
            .escalation
            .as_ref()
            .filter(|one| one.next.is_some())
        else {
            return Ok(());
        };
        let plan = PlanEscalation {
            approval_id: approval.id,
            revision: approval.revision,
            policy: escalation.policy.clone(),
            taken: escalation.steps.len(),
            next: None,
        };
        self.engine.persist(plan).await
    }

    /// The index of the next step and when it is due.
    fn due(
        &self,
        approval: &WaitingApproval,
        policy: &EscalationPolicy,
    ) -> Option<(usize, Timestamp)> {
        let channel = self.engine.settings.channels.get(&approval.channel);
        let acknowledged = approval
            .assigned_at
            .map(|at| at.plus_seconds(policy.acknowledgement_seconds));
        let schedule = Schedule {
            asked_at: approval.requested_at,
            quiet_hours: channel
                .and_then(|channel| channel.quiet_hours.as_ref())
                .filter(|_| approval.risk < Risk::Critical),
            held_until: acknowledged.into_iter().chain(approval.snoozed_until).max(),
        };
        let taken = approval.escalation.as_ref().map(|one| one.steps.as_slice());
        schedule.next(&policy.steps, taken.unwrap_or_default())
    }

    fn next(
        &self,
        policy: &EscalationPolicy,
        index: usize,
        at: Timestamp,
    ) -> Option<NextEscalationStep> {
        let step = policy.steps.get(index)?;
        Some(NextEscalationStep {
            step: number(index),
            to: step.target.name(),
            person: person_of(&step.target, self.on_call).map(str::to_owned),
            at,
        })
    }

    /// What taking this step means at this moment.
    fn step(
        &self,
        approval: &WaitingApproval,
        name: &str,
        policy: &EscalationPolicy,
        index: usize,
    ) -> Option<Escalate> {
        let target = &policy.steps.get(index)?.target;
        let moment = StepMoment {
            origin: Origin {
                channel: &approval.channel,
                requester: &approval.requester.id,
            },
            risk: approval.risk,
            on_call: self.on_call,
            is_last: index + 1 == policy.steps.len(),
            now: self.now,
        };
        let (step, recipients) = take(self.engine, target, index, &moment);
        let choices: Vec<&str> = approval.choices.iter().map(String::as_str).collect();
        let you = match (target, &step.person) {
            (Target::OnCall, Some(_)) => "you, because you are on call",
            (Target::Person(_), _) => "you",
            (Target::OnCall, None) | (Target::Webhook(_) | Target::Ntfy { .. }, _) => "this system",
        };
        Some(Escalate {
            approval_id: approval.id,
            revision: approval.revision,
            policy: name.to_owned(),
            step,
            cards: recipients
                .iter()
                .map(|recipient| recipient.card(approval.kind, &choices))
                .collect(),
            text: format!("Escalated to {you}: {}", waits(approval, self.now)),
            next: None,
        })
    }

    /// Keeps what became of steps that were on their way. Whether some still are.
    async fn settle(
        &self,
        approval: &mut WaitingApproval,
        policy: &EscalationPolicy,
    ) -> Result<bool, StoreError> {
        let mut looks_again = false;
        let Some(mut escalation) = approval.escalation.take() else {
            return Ok(false);
        };
        for step in &mut escalation.steps {
            if step.outcome != StepOutcome::Queued {
                continue;
            }
            let ended = if step.deliveries.is_empty() {
                self.posted(approval, step, policy)
            } else {
                delivered(self.engine, &step.deliveries).await?
            };
            let Some(ended) = ended else {
                looks_again = true;
                continue;
            };
            let (outcome, detail) = match ended {
                Ok(()) => (StepOutcome::Sent, None),
                Err(why) => (StepOutcome::Failed, Some(why)),
            };
            let settle = SettleEscalation {
                approval_id: approval.id,
                revision: approval.revision,
                step: step.step,
                outcome,
                detail: detail.clone(),
            };
            self.engine.persist(settle).await?;
            (step.outcome, step.detail, step.settled_at) = (outcome, detail, Some(self.now));
        }
        approval.escalation = Some(escalation);
        Ok(looks_again)
    }

    /// How the post of a step to its topic ended; none = it is under way.
    fn posted(
        &self,
        approval: &WaitingApproval,
        step: &EscalationStep,
        policy: &EscalationPolicy,
    ) -> Option<Result<(), String>> {
        let index = step.step as usize - 1;
        let Some(Target::Ntfy { url, token, .. }) = policy.steps.get(index).map(|one| &one.target)
        else {
            return Some(Err("the policy has no such step any more".to_owned()));
        };
        let tool = approval.tool.as_deref().unwrap_or("a question");
        let notification = Notification {
            url: url.clone(),
            token: token.clone(),
            sequence: format!("{}-{}", approval.id, step.step),
            title: format!("{tool} on {} waits for a decision", approval.channel),
            text: waits(approval, self.now),
            risk: approval.risk,
            click: policy.click.clone(),
        };
        self.posts.poll(self.engine, notification)
    }
}
