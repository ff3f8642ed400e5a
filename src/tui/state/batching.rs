//! Deciding about several cards: opening the table, and sending one decision after the other.
//!
//! The next decision is sent when the one before it is answered.

use std::collections::BTreeSet;

use crate::console::arming::Subject;
use crate::console::decision::{self, Bound, snoozes};
use crate::console::item::{self, ItemKey};
use crate::console::labels::problem_text;
use crate::console::lifetime::LifetimeChoice;
use crate::console::model::Tone;
use crate::console::{preview, queue};
use crate::protocol::approval::{Approval, Preview};
use crate::protocol::command::DecisionRequest;
use crate::protocol::enums::{ApprovalKind, DecisionKind, DecisionScope, Risk, Scope};
use crate::protocol::ids::ApprovalId;
use crate::protocol::problem::Problem;
use crate::protocol::request::{Command, Decide, Outcome};
use crate::tui::action::Action;
use crate::tui::message::Effect;
use crate::tui::state::app::State;
use crate::tui::state::batch::{Batch, CommandWord, Fate, Item};
use crate::tui::state::modal::{About, Modal, TextPurpose};
use crate::tui::state::text_dialog::{BatchCalls, batch_draft};
use crate::tui::state::{deciding, offering, opening, submit};

/// Whether a decision can be made about several cards at once.
const fn for_several(action: Action) -> bool {
    match action {
        Action::Approve
        | Action::AllowShape
        | Action::Deny
        | Action::DenyWithReason
        | Action::DenyAndStop
        | Action::Snooze
        | Action::SettleHappened
        | Action::SettleAgain
        | Action::SettleGiveUp => true,
        // Arguments, answers and rules are of one call.
        _ => false,
    }
}

/// Why this console can decide nothing now.
fn refused(state: &State) -> Option<String> {
    let blocked = submit::blocked(state).map(str::to_owned);
    blocked.or_else(|| state.model.lacks(Scope::Approve))
}

/// Alike calls that the selected row stands for; none, where it stands for itself only.
fn stack(state: &State) -> Vec<ApprovalId> {
    let alike = state
        .model
        .selected_approval()
        .map(|approval| item::stack(state.model.world(), approval));
    alike.filter(|alike| alike.len() > 1).unwrap_or_default()
}

/// Whether this decision is about all alike calls of the selected row. What cannot be decided about several is about
/// the first.
pub fn is_about_stack(state: &State, action: Action) -> bool {
    for_several(action) && !stack(state).is_empty()
}

/// A decision key was pressed while cards are marked, or on a row that stands for alike calls.
pub fn begin(state: &mut State, action: Action) -> Vec<Effect> {
    if let Some(why) = refused(state) {
        return state.warn(format!("{}: {why}", action.short()));
    }
    if !for_several(action) {
        let count = state.model.queue.marks.len();
        return state.warn(format!(
            "{}: one card at a time; unmark the {count} that are marked first",
            action.short()
        ));
    }
    let calls = calls(state);
    if action == Action::DenyWithReason {
        return opening::open_text(state, TextPurpose::BatchReason(calls));
    }
    open(state, action, &calls, None);
    Vec::new()
}

/// The calls of the marked cards; where none is marked, the alike ones of the selected row.
fn calls(state: &State) -> BatchCalls {
    let marks = &state.model.queue.marks;
    let order = state.model.queue.order.iter();
    let calls = if marks.is_empty() {
        stack(state)
    } else {
        order
            .filter(|key| marks.contains(key))
            .filter_map(|key| state.model.world().approvals.get(&key.item.approval()?))
            .flat_map(|approval| item::stack(state.model.world(), approval))
            .collect()
    };
    BatchCalls {
        calls,
        marked: marks.len(),
    }
}

/// Opens the table of these calls.
pub fn open(state: &mut State, action: Action, calls: &BatchCalls, reason: Option<String>) {
    let items: Vec<Item> = calls
        .calls
        .iter()
        .filter_map(|id| item_of(state, action, *id))
        .collect();
    // The words of a decision differ by kind; the first that takes part says which.
    let word = items
        .iter()
        .find_map(|item| {
            let approval = state.model.world().approvals.get(&item.bound.approval_id)?;
            offering::word_for(approval, action)
        })
        .unwrap_or(DecisionKind::Deny);
    // Nobody is asked to put off what would have to be back at once.
    let latest = items
        .iter()
        .filter(|item| item.fate == Fate::Waits)
        .filter_map(|item| {
            state
                .model
                .world()
                .approvals
                .get(&item.bound.approval_id)?
                .expires_at
        })
        .max();
    let batch = Batch {
        action,
        word,
        lasts: (action == Action::AllowShape).then(|| LifetimeChoice::at(state.model.now.wall)),
        reason,
        snoozes: snoozes(state.model.now.wall, latest),
        items,
        is_stack: calls.marked == 0,
        arrived: 0,
        chosen: 0,
        sending: None,
    };
    deciding::open(state, About::Batch(batch));
}

/// How long its card was read; none = not to the end. Alike calls have one card, that of the oldest; the table shows in
/// full where the others differ from it.
fn read(state: &State, approval: &Approval, subject: &Subject) -> Option<u64> {
    let own = state.arming.read(subject);
    own.or_else(|| {
        let first = *item::stack(state.model.world(), approval).first()?;
        let key = state.model.key(ItemKey::Approval(first));
        state
            .arming
            .read(&queue::subject(&state.model.hosts, &key)?)
    })
}

fn item_of(state: &State, action: Action, id: ApprovalId) -> Option<Item> {
    let approval = state.model.world().approvals.get(&id)?;
    let key = state.model.key(ItemKey::Approval(id));
    let subject = queue::subject(&state.model.hosts, &key)?;
    let read = read(state, approval, &subject);
    let high = match action {
        Action::Approve | Action::AllowShape | Action::SettleAgain => match approval.risk {
            Risk::Low | Risk::Medium => None,
            Risk::High => Some("high risk: only on its own card"),
            Risk::Critical => Some("critical: only on its own card"),
        },
        _ => None,
    };
    let why = if !state.model.hosts.is_open(&key) {
        Some("already settled".to_owned())
    } else if state.model.host().deciding.contains(&id) {
        Some("a decision about it is on its way".to_owned())
    } else if let Some(why) = high {
        Some(why.to_owned())
    } else if let Some(why) = offering::not_offered(state, approval, action) {
        Some(why.to_owned())
    } else if read.is_none() {
        Some("its card was not read to the end".to_owned())
    } else {
        None
    };
    let what = match &approval.question {
        Some(question) if approval.kind != ApprovalKind::Execute => question.clone(),
        Some(_) | None => preview::one_line(approval),
    };
    let command = command_words(state, approval);
    Some(Item {
        bound: Bound {
            approval_id: id,
            subject,
            seen_ms: read.unwrap_or(0),
            title: decision::title(approval),
        },
        channel: approval.channel.clone(),
        risk: approval.risk,
        what,
        bound_files: approval.plan.binding().filter(|_| !command.is_empty()),
        command,
        fate: why.map_or(Fate::Waits, Fate::LeftOut),
    })
}

/// The words of a command that waits with others that are alike and not the same; none = it does not.
fn command_words(state: &State, approval: &Approval) -> Vec<CommandWord> {
    let world = state.model.world();
    let argv = |approval: &Approval| match &approval.preview {
        Preview::Exec { argv } => preview::words(argv),
        Preview::None | Preview::Diff { .. } | Preview::Text { .. } => Vec::new(),
    };
    let alike: Vec<Vec<String>> = item::stack(world, approval)
        .iter()
        .filter_map(|id| world.approvals.get(id))
        .map(argv)
        .collect();
    let own = argv(approval);
    let differs = |at: usize| alike.iter().any(|other| other.get(at) != own.get(at));
    let words: Vec<CommandWord> = (own.iter().enumerate())
        .map(|(at, text)| CommandWord {
            text: text.clone(),
            differs: differs(at),
        })
        .collect();
    let some_differ = words.iter().any(|word| word.differs);
    if some_differ { words } else { Vec::new() }
}

/// The world changed: what is not as it was listed is left out of the table, and what arrived since is counted.
pub fn follow(state: &mut State) {
    let hosts = &state.model.hosts;
    let Some(Modal::Deciding(dialog)) = state.modals.last() else {
        return;
    };
    let About::Batch(found) = &dialog.about else {
        return;
    };
    if found.sending.is_some() {
        return;
    }
    let is_changed = |item: &Item| !queue::is_as_shown(hosts, &item.bound.subject);
    let changed: Vec<ApprovalId> = (found.items.iter())
        .filter(|item| item.fate == Fate::Waits && is_changed(item))
        .map(|item| item.bound.approval_id)
        .collect();
    let listed: BTreeSet<ApprovalId> = (found.items.iter())
        .map(|item| item.bound.approval_id)
        .collect();
    let arrived = (listed.iter())
        .filter_map(|id| state.model.world().approvals.get(id))
        .flat_map(|approval| item::stack(state.model.world(), approval))
        .filter(|id| !listed.contains(id))
        .collect::<BTreeSet<_>>()
        .len();
    if changed.is_empty() && arrived == found.arrived {
        return;
    }
    deciding::changed(state);
    if let Some(batch) = batch(state) {
        batch.arrived = arrived;
        for item in &mut batch.items {
            if changed.contains(&item.bound.approval_id) {
                item.fate = Fate::LeftOut("it changed or was settled since".to_owned());
            }
        }
        batch.chosen = 0;
    }
}

/// The key of the decision was pressed once more: all that is listed is decided.
pub fn again(state: &mut State, key: Action) -> Vec<Effect> {
    match batch(state) {
        Some(batch) if batch.is_again(key) && batch.sending.is_none() && batch.open() => {
            batch.chosen = 1;
        }
        Some(_) | None => return Vec::new(),
    }
    press(state)
}

fn batch(state: &mut State) -> Option<&mut Batch> {
    match &mut deciding::top(state)?.about {
        About::Batch(batch) => Some(batch),
        About::Shape(_) | About::Rule(_) => None,
    }
}

/// The chosen button was pressed.
pub fn press(state: &mut State) -> Vec<Effect> {
    let now = state.model.now.steady;
    let Some(Modal::Deciding(dialog)) = state.modals.last() else {
        return Vec::new();
    };
    let About::Batch(found) = &dialog.about else {
        return Vec::new();
    };
    if found.chosen == 0 || found.sending.is_some() || found.count(&Fate::Waits) == 0 {
        return close(state);
    }
    if let Err(refusal) = dialog.exposure.check(&state.arming, now) {
        return state.warn(format!("not armed: {}", refusal.why()));
    }
    let minutes = (found.word == DecisionKind::Snooze)
        .then(|| found.snoozes.get(found.chosen - 1))
        .flatten()
        .map(|choice| choice.minutes);
    let Some(first) = found.items.iter().find(|item| item.fate == Fate::Waits) else {
        return Vec::new();
    };
    let several = found.count(&Fate::Waits) > 1;
    let lasts = (found.lasts.as_ref()).map(|lasts| lasts.lifetime().request(state.model.now.wall));
    let (scope, expires_in_seconds) = match lasts {
        Some((scope, seconds)) => (Some(scope), seconds),
        None => (
            (found.action == Action::Approve).then_some(DecisionScope::Once),
            None,
        ),
    };
    let request = DecisionRequest {
        batch: several,
        reason: found.reason.clone(),
        minutes,
        scope,
        expires_in_seconds,
        ..decision::request(&first.bound, found.word)
    };
    let reason = request.reason.as_ref().and(found.items.first());
    if let Some(draft) = reason.map(|item| batch_draft(&item.bound.approval_id)) {
        state.model.host_mut().drafts.put(draft, String::new());
    }
    if let Some(batch) = batch(state) {
        batch.sending = Some(request);
        batch.chosen = 0;
    }
    send_next(state)
}

/// Closes the table. What was not sent yet is not sent.
pub fn close(state: &mut State) -> Vec<Effect> {
    let stopped = batch(state).map(|batch| {
        let sent = batch.sending.is_some();
        (sent, batch.count(&Fate::Waits))
    });
    state.modals.pop();
    if let Some((true, left)) = stopped
        && left > 0
    {
        state.toast(Tone::Warning, format!("stopped: {left} were not sent"));
    }
    Vec::new()
}

/// Sends the next that waits; says what came of all when none is left.
fn send_next(state: &mut State) -> Vec<Effect> {
    loop {
        let Some(found) = batch(state) else {
            return Vec::new();
        };
        let Some(request) = found.sending.clone() else {
            return Vec::new();
        };
        let action = found.action;
        let waiting = found
            .items
            .iter()
            .position(|item| item.fate == Fate::Waits)
            .map(|at| (at, found.items[at].bound.clone()));
        let Some((at, bound)) = waiting else {
            summary(state);
            return Vec::new();
        };
        // As it was shown in the table: something else is another question.
        let as_shown = queue::is_as_shown(&state.model.hosts, &bound.subject);
        let word = state
            .model
            .world()
            .approvals
            .get(&bound.approval_id)
            .and_then(|approval| offering::word_for(approval, action));
        let (fate, effects) = match word.filter(|_| as_shown) {
            None => (
                Fate::Refused("changed or settled meanwhile".to_owned()),
                Vec::new(),
            ),
            Some(word) => {
                let own = decision::request(&bound, word);
                let request = DecisionRequest {
                    batch: request.batch,
                    reason: request.reason,
                    minutes: request.minutes,
                    scope: request.scope,
                    expires_in_seconds: request.expires_in_seconds,
                    ..own
                };
                let effects = submit::submit(state, decision::command(&bound, request));
                let fate = if effects.is_empty() {
                    let why = refused(state).unwrap_or("a decision is on its way".to_owned());
                    Fate::Refused(format!("not sent: {why}"))
                } else {
                    Fate::Sent
                };
                (fate, effects)
            }
        };
        if let Some(item) = batch(state).and_then(|batch| batch.items.get_mut(at)) {
            item.fate = fate;
        }
        if !effects.is_empty() {
            return effects;
        }
    }
}

/// What came of all of them.
fn summary(state: &mut State) {
    let Some(found) = batch(state) else {
        return;
    };
    let done = found.count(&Fate::Done);
    let mut refused = 0;
    let mut left_out = 0;
    let mut settled = Vec::new();
    for item in &found.items {
        match &item.fate {
            Fate::Refused(_) => refused += 1,
            Fate::LeftOut(_) => left_out += 1,
            Fate::Done => settled.push(item.bound.approval_id),
            Fate::Waits | Fate::Sent => {}
        }
    }
    let what = found.word.text().done;
    for id in settled {
        let key = state.model.key(ItemKey::Approval(id));
        state.model.queue.marks.remove(&key);
    }
    let tone = if refused > 0 {
        Tone::Warning
    } else {
        Tone::Info
    };
    let text = format!("{what}: {done}; {refused} not taken, {left_out} left out");
    state.toast(tone, text);
}

/// Whether a command is one that the table on top has sent.
pub fn sent(state: &mut State, command: &Command) -> bool {
    let Command::Decide(Decide { approval_id, .. }) = command else {
        return false;
    };
    batch(state).is_some_and(|batch| {
        batch
            .items
            .iter()
            .any(|item| item.bound.approval_id == *approval_id && item.fate == Fate::Sent)
    })
}

/// Whether the table on top has done something already.
pub fn some_done(state: &mut State) -> bool {
    batch(state).is_some_and(|batch| batch.count(&Fate::Done) > 0)
}

/// A decision was carried out or refused: it is noted in the table, and the next one goes.
pub fn submitted(
    state: &mut State,
    command: &Command,
    result: &Result<Box<Outcome>, Box<Problem>>,
) -> Vec<Effect> {
    let Command::Decide(Decide { approval_id, .. }) = command else {
        return Vec::new();
    };
    let fate = match result {
        Ok(_) => Fate::Done,
        Err(problem) => Fate::Refused(problem_text(problem)),
    };
    let Some(found) = batch(state) else {
        return Vec::new();
    };
    let item = found
        .items
        .iter_mut()
        .find(|item| item.bound.approval_id == *approval_id && item.fate == Fate::Sent);
    let Some(item) = item else {
        return Vec::new();
    };
    item.fate = fate;
    send_next(state)
}
