//! The Queue: what needs a person, in an order that only the operator changes.
//!
//! An item that arrives is appended and never takes the selection. A decided item stays while the call that
//! was allowed runs, some seconds with its outcome, and as long as it is selected or above the selection;
//! nothing ever slides under the cursor.

use std::collections::{BTreeMap, BTreeSet};

use crate::clock::Timestamp;
use crate::console::arming::{Subject, scrolled};
use crate::console::hosts::Hosts;
use crate::console::item::{
    Grouping, ItemKey, QueueKey, deadline, group, is_open, likeness, passes, since, stack_key,
    starts_in,
};
use crate::console::time::Millis;
use crate::console::world::World;

/// How long a settled item stays visible at least.
pub const LINGER_MS: u64 = 5_000;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct QueueState {
    /// Items in display order.
    pub order: Vec<QueueKey>,
    /// Settled items that are still shown, with the time they were settled.
    pub settled: BTreeMap<QueueKey, Millis>,
    pub selected: Option<QueueKey>,
    /// Lines the card is scrolled down.
    pub card_scroll: usize,
    /// Lines of it that the last frame showed: the first and one past the last; none = it showed none.
    pub card_drawn: Option<(usize, usize)>,
    /// Whether the card shows all that is known, the arguments as the model wrote them too.
    pub card_raw: bool,
    /// Whether the card fills the screen.
    pub zoomed: bool,
    /// Approvals that were put off, until when.
    pub snoozed: BTreeMap<QueueKey, Timestamp>,
    /// Only items with all of these words are shown; empty = all.
    pub filter: String,
    /// What the items are grouped by.
    pub grouping: Grouping,
    /// Open items that the filter hides.
    pub hidden: BTreeSet<QueueKey>,
    /// Approvals that are marked for a decision about several. Never one that is not shown.
    pub marks: BTreeSet<QueueKey>,
}

/// What the card of an item is bound to.
pub fn subject(hosts: &Hosts, key: &QueueKey) -> Option<Subject> {
    let world = hosts.world(key.host)?;
    let (revision, digest) = match &key.item {
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
        ItemKey::RefusedCalls(id) => {
            // Dismissing leaves the session: a settled row has nothing more to be bound to.
            let session = world.sessions.get(id)?;
            let refused = session.refused_calls.as_ref();
            let (count, at) = refused.map_or((0, 0), |one| (one.count, millis(one.last_at)));
            (at, count.to_string())
        }
        ItemKey::Flood(id) => {
            let flood = world.sessions.get(id)?.flood;
            (flood.map_or(0, |one| millis(one.at)), String::new())
        }
        ItemKey::Channel(name) => {
            world.channels.get(name)?;
            (0, String::new())
        }
        ItemKey::Problem(_) => (0, String::new()),
    };
    Some(Subject {
        key: key.clone(),
        revision,
        digest,
    })
}

/// Whether an item is still open, and exactly what was shown of it.
pub fn is_as_shown(hosts: &Hosts, shown: &Subject) -> bool {
    subject(hosts, &shown.key).as_ref() == Some(shown) && hosts.is_open(&shown.key)
}

/// Whether what somebody allowed here is still to be seen: it starts soon, or it runs.
fn is_under_way(hosts: &Hosts, key: &QueueKey, wall: Timestamp) -> bool {
    let known = hosts.world(key.host).zip(key.item.approval());
    known.is_some_and(|(world, id)| {
        let approval = world.approvals.get(&id);
        approval.is_some_and(|approval| {
            world.is_running(approval) || starts_in(wall, approval).is_some()
        })
    })
}

/// Whether a row that is decided now stood for this alike call while both waited.
fn stood_for(hosts: &Hosts, row: &QueueKey, key: &QueueKey) -> bool {
    let approval = |key: &QueueKey| {
        let approvals = &hosts.world(key.host)?.approvals;
        approvals.get(&key.item.approval()?)
    };
    row.host == key.host
        && approval(row)
            .zip(approval(key))
            .is_some_and(|(row, waits)| {
                stack_key(waits).is_some_and(|key| likeness(row) == Some(key))
                    && row
                        .decision
                        .as_ref()
                        .is_some_and(|decision| decision.at >= waits.requested_at)
            })
}

fn millis(at: Timestamp) -> u64 {
    u64::try_from(at.as_millis()).unwrap_or(0)
}

/// Everything that needs a person now, ordered by deadline, then by how long it waits.
fn open_items(hosts: &Hosts) -> Vec<QueueKey> {
    let mut items: Vec<QueueKey> = hosts
        .iter()
        .flat_map(|(id, host)| {
            let items = open_here(&host.world).into_iter();
            items.map(move |item| QueueKey::new(id, item))
        })
        .collect();
    by_deadline(hosts, &mut items);
    items
}

fn by_deadline(hosts: &Hosts, items: &mut [QueueKey]) {
    items.sort_by_cached_key(|key| {
        let far = Timestamp(i64::MAX);
        let world = hosts.world(key.host);
        (
            world
                .and_then(|world| deadline(world, &key.item))
                .unwrap_or(far),
            world
                .and_then(|world| since(world, &key.item))
                .unwrap_or(far),
            key.clone(),
        )
    });
}

/// Everything of one host that needs a person now.
fn open_here(world: &World) -> Vec<ItemKey> {
    // Of alike calls the oldest stands for all.
    let mut stacks = BTreeSet::new();
    let approvals = world
        .pending()
        .filter(move |approval| stack_key(approval).is_none_or(|key| stacks.insert(key)))
        .map(|approval| ItemKey::Approval(approval.id));
    let continuations = world
        .continuations
        .keys()
        .map(|id| ItemKey::Continuation(*id));
    let leftovers = world.leftovers.keys().map(|id| ItemKey::Leftovers(*id));
    let deliveries = world.deliveries.keys().map(|id| ItemKey::Delivery(*id));
    let refused = world
        .sessions
        .values()
        .filter(|session| session.refused_calls.is_some())
        .map(|session| ItemKey::RefusedCalls(session.id));
    let floods = world
        .sessions
        .values()
        .filter(|session| session.flood.is_some())
        .map(|session| ItemKey::Flood(session.id));
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
        .chain(refused)
        .chain(floods)
        .chain(channels.filter(|k| is_open(world, k)))
        .chain(problems)
        .collect()
}

impl QueueState {
    /// Shows the card from its start.
    fn card_top(&mut self) {
        self.card_scroll = 0;
        self.card_drawn = None;
        self.card_raw = false;
    }

    /// Scrolls the card by lines; skips none.
    pub fn scroll_card(&mut self, lines: i64) {
        self.card_scroll = scrolled(self.card_scroll, lines, self.card_drawn);
    }

    /// The screen was opened: nothing is selected, order by deadline, settled items are gone.
    pub fn open(&mut self, hosts: &Hosts, wall: Timestamp) {
        self.settled.clear();
        self.selected = None;
        self.card_top();
        self.zoomed = false;
        self.snoozed.retain(|_, until| *until > wall);
        self.marks.clear();
        self.order.clear();
        self.arrange(hosts);
    }

    /// Puts everything in its place: groups, deadlines inside them, what was put off at the end. Only on the operator's
    /// own word; nothing that arrives does this.
    fn arrange(&mut self, hosts: &Hosts) {
        let mut items = open_items(hosts);
        // What is settled stays its time.
        items.extend(self.order.iter().cloned());
        by_deadline(hosts, &mut items);
        items.dedup();
        let (shown, hidden): (Vec<_>, Vec<_>) = items.into_iter().partition(|key| {
            hosts
                .world(key.host)
                .is_some_and(|world| passes(world, &self.filter, &key.item))
        });
        self.order = shown;
        self.hidden = hidden.into_iter().collect();
        let (grouping, snoozed) = (self.grouping, &self.snoozed);
        self.order.sort_by_cached_key(|key| {
            let later = snoozed.contains_key(key);
            let group = hosts
                .world(key.host)
                .map(|world| group(world, grouping, &key.item));
            (later, group.unwrap_or_default())
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
        self.marks.retain(|key| order.contains(key));
    }

    /// Shows only the items with all of these words.
    pub fn set_filter(&mut self, hosts: &Hosts, filter: &str) {
        filter.trim().clone_into(&mut self.filter);
        self.arrange(hosts);
    }

    /// Groups by the next thing.
    pub fn group_next(&mut self, hosts: &Hosts) {
        self.grouping = self.grouping.next();
        self.arrange(hosts);
    }

    /// Marks an approval, or no longer.
    pub fn mark(&mut self, key: QueueKey) {
        if !self.marks.remove(&key) {
            self.marks.insert(key);
        }
    }

    /// Until when an item is put off; none = it is not.
    pub fn snoozed_until(&self, key: &QueueKey) -> Option<Timestamp> {
        self.snoozed.get(key).copied()
    }

    /// Everything that needs a person now, shown or not.
    pub fn waiting<'a>(&'a self, hosts: &'a Hosts) -> impl Iterator<Item = &'a QueueKey> {
        let shown = self.order.iter().filter(|key| hosts.is_open(key));
        shown
            .chain(&self.hidden)
            .filter(|key| self.snoozed_until(key).is_none())
    }

    /// The items of the list that wait for a person and that nobody here is deciding: first those below the selected
    /// one, then those above it.
    pub fn waiting_next<'a>(&'a self, hosts: &'a Hosts) -> impl Iterator<Item = &'a QueueKey> {
        let selected = self.selected.as_ref();
        let at = self.order.iter().position(|key| Some(key) == selected);
        let (above, below) = self.order.split_at(at.map_or(0, |at| at + 1));
        below.iter().chain(above).filter(move |key| {
            let decided = hosts.get(key.host).zip(key.item.approval());
            let is_decided_here = decided.is_some_and(|(host, id)| host.deciding.contains(&id));
            Some(*key) != selected
                && !is_decided_here
                && hosts.is_open(key)
                && self.snoozed_until(key).is_none()
        })
    }

    /// The world changed: append what is new, note what is settled, drop what lingered long enough.
    /// Returns how many items need a person who did not before: new ones, and those whose time off is over.
    pub fn refresh(&mut self, hosts: &Hosts, now: Millis, wall: Timestamp) -> usize {
        let before = self.snoozed.len();
        self.snoozed.retain(|_, until| *until > wall);
        let woken = before - self.snoozed.len();
        self.snoozed.retain(|key, _| hosts.is_open(key));
        self.marks.retain(|key| hosts.is_open(key));
        // After a new snapshot an item may not be known at all: there is nothing left to show of it.
        self.order.retain(|key| subject(hosts, key).is_some());
        self.settled.retain(|key, _| subject(hosts, key).is_some());
        if self
            .selected
            .as_ref()
            .is_some_and(|key| subject(hosts, key).is_none())
        {
            self.selected = None;
            self.zoomed = false;
        }
        let open = open_items(hosts);
        let open_set: BTreeSet<&QueueKey> = open.iter().collect();
        for key in &self.order {
            if open_set.contains(key) || is_under_way(hosts, key, wall) {
                self.settled.remove(key);
            } else {
                self.settled.entry(key.clone()).or_insert(now);
            }
        }
        let known: BTreeSet<QueueKey> = self.order.iter().cloned().collect();
        let (new, hidden): (Vec<QueueKey>, Vec<QueueKey>) = open
            .into_iter()
            .filter(|key| !known.contains(key))
            .partition(|key| {
                hosts
                    .world(key.host)
                    .is_some_and(|world| passes(world, &self.filter, &key.item))
            });
        let hidden: BTreeSet<QueueKey> = hidden.into_iter().collect();
        // What comes forward as the first of its alike calls was counted with the row that stood for it.
        let is_added = |key: &&QueueKey| !known.iter().any(|row| stood_for(hosts, row, key));
        let added = new.iter().filter(is_added).count()
            + hidden.difference(&self.hidden).filter(is_added).count();
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
    pub fn snooze(&mut self, key: &QueueKey, until: Timestamp) {
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
    pub fn pick(&mut self, key: QueueKey) {
        if self.order.contains(&key) {
            self.selected = Some(key);
            self.card_top();
        }
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
    Down,
    Up,
    /// First.
    Top,
    /// Last.
    Bottom,
}
