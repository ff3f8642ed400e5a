//! Asks those whose quiet hours are over, asks more people than the one on call, and reminds
//! everybody of what still waits.
//!
//! What is due follows from the store, the configuration and the time: a restart changes nothing.

use crate::clock::Timestamp;
use crate::engine::approvals::{self, Origin, Recipient};
use crate::engine::core::Engine;
use crate::engine::people;
use crate::protocol::duration::span;
use crate::protocol::enums::Risk;
use crate::protocol::on_call::OnCall;
use crate::store::commands::remind::Remind;
use crate::store::queries::waiting::WaitingApproval;

/// Seconds for which only the person on call is asked, where nobody is reminded.
const ON_CALL_SECONDS: i64 = 5 * 60;

/// What waits for people, and who is on call.
#[derive(Debug, Clone, Default)]
pub struct Waiting {
    /// Questions, oldest first.
    pub approvals: Vec<WaitingApproval>,
    /// Who is on call now.
    pub on_call: Option<OnCall>,
}

/// What waits for people at this time.
pub async fn waiting(engine: &Engine, now: Timestamp) -> Waiting {
    let read = engine
        .store
        .read(move |reader| Ok((reader.waiting_approvals(now)?, reader.on_call()?)))
        .await;
    let (approvals, on_call) = read.unwrap_or_else(|error| {
        tracing::warn!(%error, "cannot read the pending approvals");
        (Vec::new(), None)
    });
    Waiting {
        approvals,
        on_call: on_call.filter(|one| one.until.is_none_or(|until| until > now)),
    }
}

/// Does what is due; when to look again, if anything waits for a time.
pub async fn look(engine: &Engine, waiting: &Waiting, now: Timestamp) -> Option<Timestamp> {
    let mut next: Option<Timestamp> = None;
    for approval in &waiting.approvals {
        let plan = Plan::new(engine, approval, waiting.on_call.as_ref(), now);
        next = next.into_iter().chain(plan.next).min();
        if plan.recipients.is_empty() {
            continue;
        }
        let choices: Vec<&str> = approval.choices.iter().map(String::as_str).collect();
        let remind = Remind {
            approval_id: approval.id,
            revision: approval.revision,
            cards: plan
                .recipients
                .iter()
                .map(|recipient| recipient.card(approval.kind, &choices))
                .collect(),
            due: plan.due,
            text: format!("Reminder: {}", waits(approval, now)),
        };
        if let Err(error) = engine.persist(remind).await {
            tracing::warn!(approval = %approval.id, %error, "cannot remind people");
        }
    }
    next
}

/// What is due for one approval.
struct Plan {
    /// Reminders that are due by now.
    due: u32,
    /// Who gets a card or a reminder.
    recipients: Vec<Recipient>,
    /// When to look again.
    next: Option<Timestamp>,
}

impl Plan {
    fn new(
        engine: &Engine,
        approval: &WaitingApproval,
        on_call: Option<&OnCall>,
        now: Timestamp,
    ) -> Self {
        let asked_at = approval.requested_at;
        let times = || {
            let seconds = engine.settings.approvals.reminder_seconds.iter();
            seconds.map(|seconds| asked_at.plus_seconds(*seconds))
        };
        let due = u32::try_from(times().filter(|at| *at <= now).count()).unwrap_or(u32::MAX);
        let mut plan = Self {
            due,
            recipients: Vec::new(),
            next: times().find(|at| *at > now),
        };
        let origin = Origin {
            channel: &approval.channel,
            requester: &approval.requester.id,
        };
        let asked = approvals::recipients(engine, origin, approval.risk, |name| {
            match &approval.assigned_to {
                Some(to) => to == name,
                None => approvals::is_asked(engine, &approval.channel, name),
            }
        });
        let quiet_until = |name: &str| {
            approvals::quiet_until(engine, &approval.channel, name, approval.risk, now)
        };
        // The others are asked once this time is over.
        let alone_until = times()
            .next()
            .unwrap_or_else(|| asked_at.plus_seconds(ON_CALL_SECONDS));
        let first = on_call
            .map(|one| one.name.as_str())
            .filter(|name| alone_until > now && quiet_until(name).is_none())
            .filter(|name| asked.iter().any(|one| one.person == *name));
        for recipient in asked {
            let place = (recipient.channel.clone(), recipient.conversation.clone());
            let has_card = approval.carded.contains(&place);
            let reminded = approval.reminders.get(&recipient.person).copied();
            let lacks = !has_card || reminded.unwrap_or(0) < due;
            if !lacks || snoozed(engine, approval, &recipient.person) {
                continue;
            }
            if !has_card && first.is_some_and(|name| name != recipient.person) {
                plan.look_at(alone_until);
            } else if let Some(end) = quiet_until(&recipient.person) {
                plan.look_at(end);
            } else {
                plan.recipients.push(recipient);
            }
        }
        plan
    }

    fn look_at(&mut self, at: Timestamp) {
        self.next = Some(self.next.map_or(at, |next| next.min(at)));
    }
}

/// Whether a person put the question off.
fn snoozed(engine: &Engine, approval: &WaitingApproval, name: &str) -> bool {
    let is_theirs = |id: &String| {
        people::person(&engine.settings, id).is_some_and(|person| person.name == name)
    };
    approval.snoozed.iter().any(is_theirs)
}

/// What waits, for how long, and until when.
pub fn waits(approval: &WaitingApproval, now: Timestamp) -> String {
    let what = match &approval.tool {
        Some(tool) => format!("`{tool}`"),
        None => "a question".to_owned(),
    };
    let risk = if approval.risk >= Risk::High {
        format!(", {} risk", approval.risk)
    } else {
        String::new()
    };
    let expires = approval.expires_at.map_or_else(String::new, |at| {
        format!(" It expires in {}.", span(at.millis_since(now)))
    });
    format!(
        "{what} on {}{risk} has waited for a decision for {}, code {}.{expires}",
        approval.channel,
        span(now.millis_since(approval.requested_at)),
        approval.short_code
    )
}
