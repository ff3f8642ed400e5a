//! The Queue: what needs a person, in an order that only the operator changes.
//!
//! An item that arrives is appended and never takes the selection. A decided item stays some seconds
//! with its outcome, and as long as it is selected or above the selection; nothing ever slides under the
//! cursor.

use std::collections::{BTreeMap, BTreeSet};

use crate::clock::Timestamp;
use crate::protocol::approval::Approval;
use crate::protocol::ids::{ApprovalId, ContinuationId, OutboxId, ToolCallId};
use crate::protocol::words::{
    ApprovalKind, ApprovalState, ChannelState, ContinuationState, OutboxState, Risk,
};
use crate::tui::message::Millis;
use crate::tui::state::arming::{Subject, scrolled};
use crate::tui::state::hosts::HostId;
use crate::tui::state::world::World;

/// How long a settled item stays visible at least.
pub const LINGER_MS: u64 = 5_000;

/// The stable identity of a queue item.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ItemKey {
    /// An approval of any kind.
    Approval(ApprovalId),
    /// An interrupted continuation.
    Continuation(ContinuationId),
    /// A failed or unknown delivery.
    Delivery(OutboxId),
    /// What a run left, by its call.
    Leftovers(ToolCallId),
    /// A channel that cannot work.
    Channel(String),
    /// A problem of the engine, by its text.
    Problem(String),
    /// An item of a host that does not have the focus. Never nested.
    Elsewhere(HostId, Box<ItemKey>),
}

impl ItemKey {
    /// Its host, when this one has the focus.
    pub fn host(&self, focused: HostId) -> HostId {
        match self {
            Self::Elsewhere(host, _) => *host,
            Self::Approval(_)
            | Self::Continuation(_)
            | Self::Delivery(_)
            | Self::Leftovers(_)
            | Self::Channel(_)
            | Self::Problem(_) => focused,
        }
    }

    /// The same item after the focus went from one host to another.
    fn seen_from(self, from: HostId, to: HostId) -> Self {
        match self {
            Self::Elsewhere(host, key) if host == to => *key,
            Self::Elsewhere(..) => self,
            Self::Approval(_)
            | Self::Continuation(_)
            | Self::Delivery(_)
            | Self::Leftovers(_)
            | Self::Channel(_)
            | Self::Problem(_) => Self::Elsewhere(from, Box::new(self)),
        }
    }
}

/// The queue's own state.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct QueueState {
    /// Items in display order.
    pub order: Vec<ItemKey>,
    /// Settled items that are still shown, with the time they were settled.
    pub settled: BTreeMap<ItemKey, Millis>,
    /// What is selected.
    pub selected: Option<ItemKey>,
    /// Lines the card is scrolled down.
    pub card_scroll: usize,
    /// Lines of it that the last frame showed: the first and one past the last; none = it showed none.
    pub card_drawn: Option<(usize, usize)>,
    /// Whether the card fills the screen.
    pub zoomed: bool,
    /// Approvals that were put off, until when.
    pub snoozed: BTreeMap<ItemKey, Timestamp>,
    /// Only items with all of these words are shown; empty = all.
    pub filter: String,
    /// What the items are grouped by.
    pub grouping: Grouping,
    /// Open items that the filter hides.
    pub hidden: BTreeSet<ItemKey>,
    /// Approvals that are marked for a decision about several. Never one that is not shown.
    pub marks: BTreeSet<ApprovalId>,
}

/// What the items of the queue are grouped by. Inside a group the deadline orders.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Grouping {
    /// One list.
    #[default]
    None,
    /// By channel.
    Channel,
    /// By tool.
    Tool,
    /// By risk, the highest first.
    Risk,
}

impl Grouping {
    /// The one after it.
    pub const fn next(self) -> Self {
        match self {
            Self::None => Self::Channel,
            Self::Channel => Self::Tool,
            Self::Tool => Self::Risk,
            Self::Risk => Self::None,
        }
    }

    /// In words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "by deadline",
            Self::Channel => "by channel",
            Self::Tool => "by tool",
            Self::Risk => "by risk",
        }
    }
}

/// Whether an item needs a person now.
pub fn is_open(world: &World, key: &ItemKey) -> bool {
    match key {
        ItemKey::Approval(id) => world
            .approvals
            .get(id)
            .is_some_and(|a| a.state == crate::protocol::words::ApprovalState::Pending),
        ItemKey::Continuation(id) => {
            world
                .continuations
                .get(id)
                .is_some_and(|c| c.state == ContinuationState::Interrupted)
                && !has_gate(world, *id)
        }
        ItemKey::Delivery(id) => world.deliveries.get(id).is_some_and(|d| {
            let stuck = match d.state {
                OutboxState::Failed | OutboxState::Unknown => true,
                OutboxState::Pending
                | OutboxState::Sending
                | OutboxState::Sent
                | OutboxState::Superseded
                | OutboxState::Abandoned => false,
            };
            stuck && !has_resend(world, *id)
        }),
        ItemKey::Leftovers(id) => world.leftovers.contains_key(id),
        ItemKey::Channel(name) => world
            .channels
            .get(name)
            .is_some_and(|c| c.health.state == ChannelState::Failed),
        ItemKey::Problem(text) => world
            .engine
            .as_ref()
            .is_some_and(|e| e.problems.contains(text)),
        ItemKey::Elsewhere(host, key) => world
            .elsewhere
            .get(host)
            .is_some_and(|world| is_open(world, key)),
    }
}

/// An interrupted continuation with an unknown outcome is resumed by deciding that, not by itself.
fn has_gate(world: &World, id: ContinuationId) -> bool {
    world.pending().any(|a| a.continuation_id == Some(id))
}

/// An unknown delivery for which an approval asks already is shown once, as that approval.
fn has_resend(world: &World, id: OutboxId) -> bool {
    world.pending().any(|a| {
        let delivery = a.unknown.as_ref().and_then(|u| u.delivery.as_ref());
        a.kind == ApprovalKind::Resend && delivery.is_some_and(|d| d.id == id)
    })
}

/// When an item must be dealt with; none = no deadline.
pub fn deadline(world: &World, key: &ItemKey) -> Option<Timestamp> {
    match key {
        ItemKey::Approval(id) => world.approvals.get(id).and_then(|a| a.expires_at),
        ItemKey::Continuation(_)
        | ItemKey::Delivery(_)
        | ItemKey::Leftovers(_)
        | ItemKey::Channel(_)
        | ItemKey::Problem(_) => None,
        ItemKey::Elsewhere(host, key) => deadline(world.elsewhere.get(host)?, key),
    }
}

/// Since when an item waits.
pub fn since(world: &World, key: &ItemKey) -> Option<Timestamp> {
    match key {
        ItemKey::Approval(id) => world.approvals.get(id).map(|a| a.requested_at),
        ItemKey::Continuation(id) => world.continuations.get(id).map(|c| c.updated_at),
        ItemKey::Delivery(id) => world.deliveries.get(id).map(|d| d.updated_at),
        ItemKey::Leftovers(id) => world.leftovers.get(id).map(|one| one.found_at),
        ItemKey::Channel(name) => world
            .channels
            .get(name)
            .and_then(|c| c.health.last_exchange_at),
        ItemKey::Problem(_) => world.engine.as_ref().map(|e| e.started_at),
        ItemKey::Elsewhere(host, key) => since(world.elsewhere.get(host)?, key),
    }
}

/// The group of an item: where it stands among the groups, and what it is called.
pub fn group(world: &World, grouping: Grouping, key: &ItemKey) -> (u8, String) {
    let approval = match key {
        ItemKey::Approval(id) => world.approvals.get(id),
        ItemKey::Continuation(_)
        | ItemKey::Delivery(_)
        | ItemKey::Leftovers(_)
        | ItemKey::Channel(_)
        | ItemKey::Problem(_) => None,
        ItemKey::Elsewhere(host, key) => {
            let there = world.elsewhere.get(host);
            return there.map_or_else(Default::default, |there| group(there, grouping, key));
        }
    };
    match grouping {
        Grouping::None => (0, String::new()),
        Grouping::Channel => {
            let channel = match key {
                ItemKey::Approval(_) => approval.map(|approval| &approval.channel),
                ItemKey::Continuation(id) => world.continuations.get(id).map(|turn| &turn.channel),
                ItemKey::Delivery(id) => world.deliveries.get(id).map(|one| &one.channel),
                ItemKey::Leftovers(id) => world.leftovers.get(id).map(|one| &one.channel),
                ItemKey::Channel(name) => Some(name),
                ItemKey::Problem(_) | ItemKey::Elsewhere(..) => None,
            };
            match channel {
                Some(channel) => (0, format!("channel {channel}")),
                None => (1, "no channel".to_owned()),
            }
        }
        Grouping::Tool => match (approval, key) {
            (Some(approval), _) if !approval.tool.is_empty() => (0, approval.tool.clone()),
            (Some(approval), _) => (1, approval.kind.as_str().replace('_', " ")),
            (None, ItemKey::Continuation(_)) => (2, "interrupted turns".to_owned()),
            (None, ItemKey::Delivery(_)) => (2, "deliveries".to_owned()),
            (None, ItemKey::Leftovers(_)) => (2, "left by runs".to_owned()),
            (None, ItemKey::Channel(_)) => (2, "dead channels".to_owned()),
            (None, ItemKey::Approval(_) | ItemKey::Problem(_) | ItemKey::Elsewhere(..)) => {
                (3, "engine".to_owned())
            }
        },
        Grouping::Risk => match approval.map(|approval| approval.risk) {
            Some(Risk::Critical) => (0, "critical risk".to_owned()),
            Some(Risk::High) => (1, "high risk".to_owned()),
            Some(Risk::Medium) => (2, "medium risk".to_owned()),
            Some(Risk::Low) => (3, "low risk".to_owned()),
            None => (4, "no call".to_owned()),
        },
    }
}

/// What the filter looks at.
fn searched(world: &World, key: &ItemKey) -> String {
    let text = match key {
        ItemKey::Approval(id) => world.approvals.get(id).map(|a| {
            let person = a.requester.person.as_deref().unwrap_or_default();
            let question = a.question.as_deref().unwrap_or_default();
            let waits = a.assignment.as_ref().map_or_else(String::new, |one| {
                let me = if world.duty.is_me(&one.to) {
                    " for:me"
                } else {
                    ""
                };
                format!("for:{}{me}", one.to)
            });
            format!(
                "{} {} {} {} {} {} {person} {} {question} {waits} {}",
                a.kind,
                a.tool,
                a.channel,
                a.conversation,
                a.risk,
                a.requester.display,
                a.short_code,
                a.args
            )
        }),
        ItemKey::Continuation(id) => world.continuations.get(id).map(|turn| {
            format!(
                "interrupted resume {} {} {} {}",
                turn.channel, turn.conversation, turn.requester.display, turn.request.text
            )
        }),
        ItemKey::Delivery(id) => world.deliveries.get(id).map(|one| {
            format!(
                "delivery {} {} {} {}",
                one.state, one.channel, one.conversation, one.preview
            )
        }),
        ItemKey::Leftovers(id) => world.leftovers.get(id).map(|one| {
            let places = one.new.set_aside.iter().map(|place| &place.path);
            let places = places.chain(one.new.in_place.iter().map(|place| &place.path));
            let places: Vec<&str> = places.map(String::as_str).collect();
            format!(
                "left set aside {} {} {} {} {}",
                one.channel,
                one.conversation,
                one.tool,
                one.preview,
                places.join(" ")
            )
        }),
        ItemKey::Channel(name) => Some(format!("channel dead {name}")),
        ItemKey::Problem(text) => Some(format!("engine problem {text}")),
        ItemKey::Elsewhere(host, key) => {
            world.elsewhere.get(host).map(|there| searched(there, key))
        }
    };
    text.unwrap_or_default().to_lowercase()
}

/// Whether an item has all the words of the filter.
pub fn passes(world: &World, filter: &str, key: &ItemKey) -> bool {
    if filter.trim().is_empty() {
        return true;
    }
    let text = searched(world, key);
    filter
        .to_lowercase()
        .split_whitespace()
        .all(|word| text.contains(word))
}

/// How long an approved call can still be taken back before it starts, in milliseconds; none = it is not held.
pub fn starts_in(world: &World, wall: Timestamp, approval: &Approval) -> Option<u64> {
    let window = world.engine.as_ref()?.undo_seconds;
    if approval.state != ApprovalState::Approved
        || approval.kind != ApprovalKind::Execute
        || approval.risk >= Risk::High
    {
        return None;
    }
    let decided = approval.decision.as_ref()?.at;
    let starts = decided.plus_seconds(i64::from(window));
    (starts > wall).then(|| starts.millis_since(wall))
}

/// What the card of an item is bound to.
pub fn subject(world: &World, key: &ItemKey) -> Option<Subject> {
    let (revision, digest) = match key {
        ItemKey::Approval(id) => {
            let approval = world.approvals.get(id)?;
            (u64::from(approval.revision), approval.digest.clone())
        }
        ItemKey::Continuation(id) => (
            millis(world.continuations.get(id)?.updated_at),
            String::new(),
        ),
        ItemKey::Delivery(id) => (millis(world.deliveries.get(id)?.updated_at), String::new()),
        ItemKey::Leftovers(id) => (millis(world.leftovers.get(id)?.found_at), String::new()),
        ItemKey::Channel(name) => {
            world.channels.get(name)?;
            (0, String::new())
        }
        ItemKey::Problem(_) => (0, String::new()),
        ItemKey::Elsewhere(host, inner) => {
            return Some(Subject {
                key: key.clone(),
                ..subject(world.elsewhere.get(host)?, inner)?
            });
        }
    };
    Some(Subject {
        key: key.clone(),
        revision,
        digest,
    })
}

fn millis(at: Timestamp) -> u64 {
    u64::try_from(at.as_millis()).unwrap_or(0)
}

/// Everything that needs a person now, ordered by deadline, then by how long it waits.
fn open_items(world: &World) -> Vec<ItemKey> {
    let mut items = open_here(world);
    for (host, other) in &world.elsewhere {
        let there = open_here(other).into_iter();
        items.extend(there.map(|key| ItemKey::Elsewhere(*host, Box::new(key))));
    }
    by_deadline(world, &mut items);
    items
}

fn by_deadline(world: &World, items: &mut [ItemKey]) {
    items.sort_by_cached_key(|key| {
        let far = Timestamp(i64::MAX);
        (
            deadline(world, key).unwrap_or(far),
            since(world, key).unwrap_or(far),
            key.clone(),
        )
    });
}

/// Everything of one host that needs a person now.
fn open_here(world: &World) -> Vec<ItemKey> {
    let approvals = world.pending().map(|a| ItemKey::Approval(a.id));
    let continuations = world
        .continuations
        .keys()
        .map(|id| ItemKey::Continuation(*id));
    let leftovers = world.leftovers.keys().map(|id| ItemKey::Leftovers(*id));
    let deliveries = world.deliveries.keys().map(|id| ItemKey::Delivery(*id));
    let channels = world
        .channels
        .keys()
        .map(|name| ItemKey::Channel(name.clone()));
    let problems = world
        .engine
        .iter()
        .flat_map(|e| e.problems.iter().map(|p| ItemKey::Problem(p.clone())));
    approvals
        .chain(continuations.filter(|k| is_open(world, k)))
        .chain(deliveries.filter(|k| is_open(world, k)))
        .chain(leftovers)
        .chain(channels.filter(|k| is_open(world, k)))
        .chain(problems)
        .collect()
}

impl QueueState {
    /// Shows the card from its start.
    fn card_top(&mut self) {
        self.card_scroll = 0;
        self.card_drawn = None;
    }

    /// Scrolls the card by lines; skips none.
    pub fn scroll_card(&mut self, lines: i64) {
        self.card_scroll = scrolled(self.card_scroll, lines, self.card_drawn);
    }

    /// The screen was opened: nothing is selected, order by deadline, settled items are gone.
    pub fn open(&mut self, world: &World, wall: Timestamp) {
        self.settled.clear();
        self.selected = None;
        self.card_top();
        self.zoomed = false;
        self.snoozed.retain(|_, until| *until > wall);
        self.marks.clear();
        self.order.clear();
        self.arrange(world);
    }

    /// Puts everything in its place: groups, deadlines inside them, what was put off at the end. Only on the operator's
    /// own word; nothing that arrives does this.
    fn arrange(&mut self, world: &World) {
        let mut items = open_items(world);
        let settled = self
            .order
            .iter()
            .filter(|key| self.settled.contains_key(*key));
        items.extend(settled.cloned());
        by_deadline(world, &mut items);
        items.dedup();
        let (shown, hidden): (Vec<_>, Vec<_>) = items
            .into_iter()
            .partition(|key| passes(world, &self.filter, key));
        self.order = shown;
        self.hidden = hidden.into_iter().collect();
        let (grouping, snoozed) = (self.grouping, &self.snoozed);
        self.order.sort_by_cached_key(|key| {
            let later = snoozed.contains_key(key);
            (later, group(world, grouping, key))
        });
        self.unmark_hidden();
        if self
            .selected
            .as_ref()
            .is_some_and(|key| !self.order.contains(key))
        {
            self.selected = None;
            self.zoomed = false;
        }
    }

    /// What is not shown is not marked.
    fn unmark_hidden(&mut self) {
        let order = &self.order;
        self.marks
            .retain(|id| order.contains(&ItemKey::Approval(*id)));
    }

    /// Shows only the items with all of these words.
    pub fn set_filter(&mut self, world: &World, filter: &str) {
        filter.trim().clone_into(&mut self.filter);
        self.arrange(world);
    }

    /// Groups by the next thing.
    pub fn group_next(&mut self, world: &World) {
        self.grouping = self.grouping.next();
        self.arrange(world);
    }

    /// Marks an approval, or no longer.
    pub fn mark(&mut self, id: ApprovalId) {
        if !self.marks.remove(&id) {
            self.marks.insert(id);
        }
    }

    /// Until when an item is put off; none = it is not.
    pub fn snoozed_until(&self, key: &ItemKey) -> Option<Timestamp> {
        self.snoozed.get(key).copied()
    }

    /// Everything that needs a person now, shown or not.
    pub fn waiting<'a>(&'a self, world: &'a World) -> impl Iterator<Item = &'a ItemKey> {
        let shown = self.order.iter().filter(|key| is_open(world, key));
        shown
            .chain(&self.hidden)
            .filter(|key| self.snoozed_until(key).is_none())
    }

    /// The world changed: append what is new, note what is settled, drop what lingered long enough.
    /// Returns how many items need a person who did not before: new ones, and those whose time off is over.
    pub fn refresh(&mut self, world: &World, now: Millis, wall: Timestamp) -> usize {
        let before = self.snoozed.len();
        self.snoozed.retain(|_, until| *until > wall);
        let woken = before - self.snoozed.len();
        self.snoozed.retain(|key, _| is_open(world, key));
        self.marks
            .retain(|id| is_open(world, &ItemKey::Approval(*id)));
        // After a new snapshot an item may not be known at all: there is nothing left to show of it.
        self.order.retain(|key| subject(world, key).is_some());
        self.settled.retain(|key, _| subject(world, key).is_some());
        if self
            .selected
            .as_ref()
            .is_some_and(|key| subject(world, key).is_none())
        {
            self.selected = None;
            self.zoomed = false;
        }
        let open = open_items(world);
        let open_set: BTreeSet<&ItemKey> = open.iter().collect();
        for key in &self.order {
            if open_set.contains(key) {
                self.settled.remove(key);
            } else {
                self.settled.entry(key.clone()).or_insert(now);
            }
        }
        let known: BTreeSet<ItemKey> = self.order.iter().cloned().collect();
        let (new, hidden): (Vec<ItemKey>, Vec<ItemKey>) = open
            .into_iter()
            .filter(|key| !known.contains(key))
            .partition(|key| passes(world, &self.filter, key));
        let hidden: BTreeSet<ItemKey> = hidden.into_iter().collect();
        let added = new.len() + hidden.difference(&self.hidden).count();
        self.hidden = hidden;
        self.order.extend(new);
        self.prune(now, Keep::SelectedAndAbove);
        self.unmark_hidden();
        added + woken
    }

    /// Drops settled items that have been shown long enough.
    pub fn prune(&mut self, now: Millis, keep: Keep) {
        let selected = self
            .selected
            .as_ref()
            .and_then(|s| self.order.iter().position(|k| k == s));
        let mut index = 0;
        let settled = &mut self.settled;
        let selected_key = self.selected.clone();
        self.order.retain(|key| {
            let at = index;
            index += 1;
            let kept_by_place = match keep {
                Keep::SelectedAndAbove => selected.is_some_and(|s| at <= s),
                Keep::Selected => selected_key.as_ref() == Some(key),
            };
            let over = settled
                .get(key)
                .is_some_and(|since| now.since(*since) >= LINGER_MS);
            let drop = over && !kept_by_place;
            if drop {
                settled.remove(key);
            }
            !drop
        });
        self.sink(keep);
    }

    /// What was put off goes to the end, as far as that moves nothing under the cursor.
    fn sink(&mut self, keep: Keep) {
        let selected = self.selected.as_ref();
        let fixed = match keep {
            Keep::SelectedAndAbove => self
                .order
                .iter()
                .position(|key| Some(key) == selected)
                .map_or(0, |at| at + 1),
            Keep::Selected => 0,
        };
        let snoozed = &self.snoozed;
        if let Some(below) = self.order.get_mut(fixed..) {
            below.sort_by_key(|key| snoozed.contains_key(key) && Some(key) != selected);
        }
    }

    /// When something lingers out.
    pub fn next_change(&self, now: Millis) -> Option<Millis> {
        self.settled
            .values()
            .map(|at| at.plus(LINGER_MS))
            .filter(|at| *at > now)
            .min()
    }

    /// Puts an item off until then. Its row stays while it is selected.
    pub fn snooze(&mut self, key: &ItemKey, until: Timestamp) {
        self.snoozed.insert(key.clone(), until);
        self.sink(Keep::SelectedAndAbove);
    }

    /// Moves the selection; from none to the first or last item.
    pub fn select(&mut self, step: Step, now: Millis) {
        let target = {
            let at = self
                .selected
                .as_ref()
                .and_then(|s| self.order.iter().position(|k| k == s));
            let last = self.order.len().saturating_sub(1);
            let index = match (step, at) {
                (Step::Down, Some(i)) => (i + 1).min(last),
                (Step::Up, Some(i)) => i.saturating_sub(1),
                (Step::Down | Step::Top, _) => 0,
                (Step::Up | Step::Bottom, _) => last,
            };
            self.order.get(index).cloned()
        };
        if target != self.selected {
            self.selected = target;
            self.card_top();
        }
        self.prune(now, Keep::Selected);
    }

    /// Selects an item of the list by its id; one that is gone changes nothing.
    pub fn pick(&mut self, key: ItemKey) {
        if self.order.contains(&key) {
            self.selected = Some(key);
            self.card_top();
        }
    }

    /// The selected approval.
    pub fn selected_approval<'w>(&self, world: &'w World) -> Option<&'w Approval> {
        match &self.selected {
            Some(ItemKey::Approval(id)) => world.approvals.get(id),
            Some(
                ItemKey::Continuation(_)
                | ItemKey::Delivery(_)
                | ItemKey::Leftovers(_)
                | ItemKey::Channel(_)
                | ItemKey::Problem(_)
                | ItemKey::Elsewhere(..),
            )
            | None => None,
        }
    }

    /// The focus went from one host to another: the same items, seen from there.
    pub fn seen_from(&mut self, from: HostId, to: HostId) {
        let turn = |key: ItemKey| key.seen_from(from, to);
        self.order = std::mem::take(&mut self.order)
            .into_iter()
            .map(turn)
            .collect();
        self.settled = std::mem::take(&mut self.settled)
            .into_iter()
            .map(|(key, at)| (turn(key), at))
            .collect();
        self.snoozed = std::mem::take(&mut self.snoozed)
            .into_iter()
            .map(|(key, until)| (turn(key), until))
            .collect();
        self.hidden = std::mem::take(&mut self.hidden)
            .into_iter()
            .map(turn)
            .collect();
        // A decision about several goes to one host.
        self.marks.clear();
        self.selected = self.selected.take().map(turn);
    }
}

/// Which settled items stay although their time is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Those whose going would move something under the cursor.
    SelectedAndAbove,
    /// Only the selected one: the operator has just moved.
    Selected,
}

/// A movement in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// One down.
    Down,
    /// One up.
    Up,
    /// First.
    Top,
    /// Last.
    Bottom,
}
