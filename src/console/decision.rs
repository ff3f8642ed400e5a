//! What a decision says, and what it is bound to: id, revision and digest of what was shown.

use crate::clock::Timestamp;
use crate::console::arming::Subject;
use crate::console::format;
use crate::console::world::World;
use crate::protocol::approval::{Approval, snooze_end, takes_two};
use crate::protocol::command::DecisionRequest;
use crate::protocol::enums::{ApprovalKind, DecisionKind, DecisionScope};
use crate::protocol::ids::ApprovalId;
use crate::protocol::request::{Command, Decide};

/// What a dialog about a card is bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    pub approval_id: ApprovalId,
    /// Id, revision and digest as shown when the dialog opened.
    pub subject: Subject,
    /// How long the card had been on screen then.
    pub seen_ms: u64,
    /// Tool or title, for the dialog's heading.
    pub title: String,
}

/// The tool, or the kind of question.
pub fn title(approval: &Approval) -> String {
    if approval.tool.is_empty() {
        approval.kind.as_str().to_owned()
    } else {
        approval.tool.clone()
    }
}

/// Who alone decides this, where its channel names them, and whether whoever sits here is one of them. Where nobody
/// knows who that is, the daemon tells.
pub fn approvers<'w>(world: &'w World, approval: &Approval) -> Option<(&'w [String], bool)> {
    let named = &world.channels.get(&approval.channel)?.approvers;
    let is_me = |name: &String| world.on_call_status.is_me(name);
    let me = world.on_call_status.you.is_empty() || named.iter().any(is_me);
    (!named.is_empty()).then_some((named, me))
}

/// What is to be said of a call that two people must allow; none = one is enough.
pub fn two_people(world: &World, approval: &Approval) -> Option<String> {
    if let Some(first) = &approval.allowed_by {
        return Some(first.in_words());
    }
    let list = &world.channels.get(&approval.channel)?.two_people;
    let takes_two =
        approval.kind == ApprovalKind::Execute && takes_two(list, &approval.tool, approval.risk);
    takes_two.then(|| "two people must allow it".to_owned())
}

/// Why whoever sits here decides nothing of this; none = they may.
pub fn decided_by_others(world: &World, approval: &Approval) -> Option<String> {
    let (named, me) = approvers(world, approval)?;
    let verb = if named.len() == 1 {
        "decides"
    } else {
        "decide"
    };
    (!me).then(|| format!("only {} {verb} here", named.join(" or ")))
}

/// A request with nothing but the decision and what it is bound to.
pub fn request(bound: &Bound, decision: DecisionKind) -> DecisionRequest {
    DecisionRequest {
        scope: (decision == DecisionKind::Approve).then_some(DecisionScope::Once),
        revision: u32::try_from(bound.subject.revision).ok(),
        seen_ms: Some(bound.seen_ms),
        ..DecisionRequest::new(decision, bound.subject.digest.clone())
    }
}

/// The command of a decision about an approval.
pub fn command(bound: &Bound, decision: DecisionRequest) -> Command {
    Command::Decide(Decide {
        approval_id: bound.approval_id,
        decision,
    })
}

/// A way to put a card off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnoozeChoice {
    /// In words.
    pub words: &'static str,
    /// Minutes that are asked for.
    pub minutes: u32,
    /// When it is back: earlier than asked for, where the deadline is close.
    pub until: Timestamp,
}

/// The hour of the morning that `tomorrow` means, local time.
const MORNING: i8 = 8;

/// How long a card with this deadline can be put off; empty = not at all.
pub fn snoozes(now: Timestamp, deadline: Option<Timestamp>) -> Vec<SnoozeChoice> {
    let morning = format::morning_after(now, MORNING).map(|at| {
        let minutes = at.millis_since(now).div_ceil(60_000);
        ("tomorrow", u32::try_from(minutes).unwrap_or(u32::MAX))
    });
    [("15 minutes", 15), ("1 hour", 60)]
        .into_iter()
        .chain(morning)
        .filter_map(|(words, minutes)| {
            let until = snooze_end(now, minutes, deadline)?;
            Some(SnoozeChoice {
                words,
                minutes,
                until,
            })
        })
        .collect()
}
