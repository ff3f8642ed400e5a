//! Takes back the last action of this console while that is possible, and names it before it is sent. Giving a
//! permission back asks first; taking one away does not.

use std::collections::BTreeMap;

use crate::clock::Timestamp;
use crate::console::decision;
use crate::console::world::World;
use crate::protocol::command::DecisionRequest;
use crate::protocol::enums::{ApprovalState, Autonomy, DecisionKind, DecisionScope, VerdictKind};
use crate::protocol::event::{Event, EventBody};
use crate::protocol::file_change::FILE_TOOLS;
use crate::protocol::ids::{ApprovalId, RuleId, ToolCallId};
use crate::protocol::policy::{Policy, PolicyPatch};
use crate::protocol::request::{
    Command, Decide, Outcome, RemoveGrant, RemoveRule, SetPolicy, UndoFileChange,
};
use crate::protocol::rule::Rule;

/// Steps that are remembered.
const REMEMBERED: usize = 50;

/// Something that was done here.
#[derive(Debug, Clone, PartialEq)]
enum UndoEntry {
    /// An approval was answered.
    Decided {
        id: ApprovalId,
        title: String,
        decision: DecisionKind,
        shape: bool,
        rule: bool,
    },
    /// A rule was made by itself.
    Rule(Box<Rule>),
    /// The autonomy of a channel was set.
    Autonomy {
        channel: String,
        before: Box<Policy>,
        now: Autonomy,
    },
}

/// Something that was done here, and the command that would take it back, once that was offered.
#[derive(Debug, Clone, PartialEq)]
struct Step {
    entry: UndoEntry,
    back: Option<Command>,
}

/// What was done here, while this console runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Undo {
    /// Newest last. What a table sent is one step.
    steps: Vec<Vec<Step>>,
    /// Policies as they were when a change of them was sent.
    before: BTreeMap<String, Policy>,
    /// Rules that were made with a decision.
    rules: BTreeMap<ApprovalId, RuleId>,
}

impl Undo {
    /// Whether nothing was done here yet.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// How the last step is taken back, newest first: what each thing is called, and how. None = nothing was done here.
    ///
    /// What takes a command stays the last step until that command is sent.
    pub fn take_last(&mut self, world: &World, now: Timestamp) -> Option<Vec<(String, Way)>> {
        let step = self.steps.pop()?;
        let mut ways = Vec::new();
        let mut left = Vec::new();
        for Step { entry, .. } in step {
            let (name, way) = way(self, world, now, &entry);
            if let Way::Send(command) | Way::Ask(command) = &way {
                let back = Some(command.clone());
                left.push(Step { entry, back });
            }
            ways.push((name, way));
        }
        if !left.is_empty() {
            self.steps.push(left);
        }
        ways.reverse();
        Some(ways)
    }

    /// Forgets what this command takes back. Says whether there was any such thing.
    fn forget(&mut self, command: &Command) -> bool {
        let mut is_back = false;
        for step in &mut self.steps {
            step.retain(|one| {
                let is_it = one.back.as_ref() == Some(command);
                is_back |= is_it;
                !is_it
            });
        }
        self.steps.retain(|step| !step.is_empty());
        is_back
    }

    /// A rule was made on a card.
    pub fn note(&mut self, event: &Event) {
        if let EventBody::RuleChanged { change, rule } = &event.body
            && let Some(approval) = rule.approval_id
        {
            match change.as_str() {
                "removed" => self.rules.remove(&approval),
                _ => self.rules.insert(approval, rule.id),
            };
        }
    }
}

/// A command is being sent.
pub fn sending(undo: &mut Undo, world: &World, command: &Command) {
    let is_back = undo.forget(command);
    if let Command::SetPolicy(SetPolicy { channel, patch }) = command
        && patch.autonomy.is_some()
        && let Some(known) = world.channels.get(channel)
    {
        // To take something back is no step of its own: the next `z` goes on to the step before.
        if is_back {
            undo.before.remove(channel);
        } else {
            undo.before.insert(channel.clone(), known.policy.clone());
        }
    }
}

/// A command was carried out. `joins`: it belongs to the step before.
pub fn done(undo: &mut Undo, command: &Command, outcome: &Outcome, joins: bool) {
    let done = match (command, outcome) {
        (Command::Decide(Decide { decision, .. }), Outcome::Decide(_))
            if decision.decision == DecisionKind::Revoke =>
        {
            return;
        }
        (Command::Decide(Decide { decision, .. }), Outcome::Decide(approval)) => {
            UndoEntry::Decided {
                id: approval.id,
                title: decision::title(approval),
                decision: decision.decision,
                shape: matches!(
                    decision.scope,
                    Some(DecisionScope::Turn | DecisionScope::Session)
                ),
                rule: decision.rule.is_some(),
            }
        }
        (Command::AddRule(_), Outcome::AddRule(rule)) => UndoEntry::Rule(Box::new(rule.clone())),
        (Command::SetPolicy(SetPolicy { channel, patch }), _) => {
            let before = undo.before.remove(channel);
            let Some((before, now)) = before.zip(patch.autonomy) else {
                return;
            };
            if before.autonomy == now {
                return;
            }
            UndoEntry::Autonomy {
                channel: channel.clone(),
                before: Box::new(before),
                now,
            }
        }
        _ => return,
    };
    let done = Step {
        entry: done,
        back: None,
    };
    let steps = &mut undo.steps;
    match steps.last_mut() {
        Some(step) if joins => step.push(done),
        Some(_) | None => steps.push(vec![done]),
    }
    if steps.len() > REMEMBERED {
        steps.remove(0);
    }
}

/// How one thing is taken back.
#[derive(Debug, Clone, PartialEq)]
pub enum Way {
    /// By this command, at once.
    Send(Command),
    /// By this command, after a question.
    Ask(Command),
    /// It is only shown again.
    Wake(ApprovalId),
    /// Not at all, and why.
    Never(&'static str),
}

fn way(undo: &Undo, world: &World, now: Timestamp, done: &UndoEntry) -> (String, Way) {
    match done {
        UndoEntry::Decided {
            id,
            title,
            decision,
            shape,
            rule,
        } => {
            let name = format!("{} {title}", decision.text().done);
            (name, way_back(undo, world, *id, *decision, *shape, *rule))
        }
        UndoEntry::Rule(rule) => {
            let command = Command::RemoveRule(RemoveRule { id: rule.id });
            let way = if rule.verdict == VerdictKind::Allow {
                Way::Send(command)
            } else {
                Way::Ask(command)
            };
            (format!("rule {}", rule.in_words()), way)
        }
        UndoEntry::Autonomy {
            channel,
            before,
            now: set,
        } => {
            let name = format!("{set} on {channel}");
            let current = world.channels.get(channel).map(|one| &one.policy);
            let Some(current) = current.filter(|policy| policy.autonomy == *set) else {
                return (name, Way::Never("it was changed again since"));
            };
            let left = before.expires_at.map(|at| at.millis_since(now) / 1000);
            if left == Some(0) {
                return (
                    name,
                    Way::Never("the earlier level would have ended by now"),
                );
            }
            let command = Command::SetPolicy(SetPolicy {
                channel: channel.clone(),
                patch: PolicyPatch {
                    autonomy: Some(before.autonomy),
                    expires_in_seconds: left,
                    if_version: Some(current.version),
                    ..PolicyPatch::default()
                },
            });
            let way = if before.autonomy > *set {
                Way::Ask(command)
            } else {
                Way::Send(command)
            };
            (name, way)
        }
    }
}

/// How an answer to an approval is taken back.
fn way_back(
    undo: &Undo,
    world: &World,
    id: ApprovalId,
    decision: DecisionKind,
    shape: bool,
    rule: bool,
) -> Way {
    let approval = world.approvals.get(&id);
    match decision {
        DecisionKind::Snooze => Way::Wake(id),
        // The permission and the rule made with it go with it.
        DecisionKind::Approve
            if approval.is_some_and(|one| one.state == ApprovalState::Approved) =>
        {
            let Some(approval) = approval else {
                return Way::Never("it is no longer known");
            };
            Way::Send(Command::Decide(Decide {
                approval_id: id,
                decision: revoke(approval),
            }))
        }
        _ if rule => match undo.rules.get(&id) {
            Some(rule) => {
                let command = Command::RemoveRule(RemoveRule { id: *rule });
                if decision == DecisionKind::Approve {
                    Way::Send(command)
                } else {
                    Way::Ask(command)
                }
            }
            None => Way::Never("its rule is already gone"),
        },
        DecisionKind::Approve if shape => Way::Send(Command::RemoveGrant(RemoveGrant { id })),
        DecisionKind::Approve => match approval_of_files(approval) {
            Some(tool_call_id) => {
                Way::Ask(Command::UndoFileChange(UndoFileChange { tool_call_id }))
            }
            None => Way::Never("it has started"),
        },
        DecisionKind::Edit => Way::Never("the arguments can be edited again"),
        DecisionKind::Deny | DecisionKind::DenyAndStop | DecisionKind::Answer => {
            Way::Never("the model has been told")
        }
        DecisionKind::Revoke
        | DecisionKind::Happened
        | DecisionKind::RunAgain
        | DecisionKind::GiveUp
        | DecisionKind::Sent
        | DecisionKind::SendAgain
        | DecisionKind::Drop => Way::Never("it is settled"),
    }
}

/// The call whose change of files can be undone though it has started.
fn approval_of_files(approval: Option<&crate::protocol::approval::Approval>) -> Option<ToolCallId> {
    let approval = approval.filter(|one| FILE_TOOLS.contains(&one.tool.as_str()))?;
    approval.tool_call_id
}

fn revoke(approval: &crate::protocol::approval::Approval) -> DecisionRequest {
    DecisionRequest {
        revision: Some(approval.revision),
        ..DecisionRequest::new(DecisionKind::Revoke, approval.digest.clone())
    }
}
