//! What hygiene archives and what it removes: pure decisions over plain facts.
//!
//! One function decides about one memory, for the preview, for the run and again inside the transaction that changes
//! the row; so a run does what the preview said unless the memory changed in between. Nothing here grows with the number
//! of memories: of each group only as many keys are held as the group may keep.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::clock::Timestamp;
use crate::protocol::enums::{HygieneReason, MemoryScope, MemoryState};
use crate::protocol::hygiene::{HygieneExcess, HygieneGroup, HygieneReport};
use crate::protocol::ids::MemoryId;

/// Most rows that one command changes.
pub const CHUNK: usize = 500;
/// Most ids that a report names.
pub const NAMED: usize = 500;
/// A scope with fewer memories than this may lose all of them to retention at once.
const GUARDED: u64 = 100;

/// What is old and how much is too much.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HygieneRules {
    pub now: Timestamp,
    /// Memories of the scope that were neither used nor changed since then go; no entry = they never do.
    pub kept_since: BTreeMap<MemoryScope, Timestamp>,
    /// Most memories of one scope and channel.
    pub max_memories: u64,
    /// Milliseconds for which what was archived can be brought back.
    pub undo_ms: i64,
    /// The model that embeddings must be of; none = any.
    pub embeddings: Option<String>,
}

/// What is known of one memory when it is decided about.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryFacts {
    pub position: i64,
    pub id: MemoryId,
    pub scope: MemoryScope,
    pub channel: Option<String>,
    pub state: MemoryState,
    /// Whether it is pinned.
    pub pinned: bool,
    /// Whether a turn of its session is open.
    pub in_use: bool,
    /// Whether its session is gone.
    pub orphan: bool,
    /// 0 to 1.
    pub confidence: f64,
    /// How often it was used.
    pub uses: u64,
    /// The latest of its last use, its last change and its making.
    pub touched_at: Timestamp,
    /// Its own end.
    pub expires_at: Option<Timestamp>,
    /// From when on it may be removed for good, where it was archived; none = it is being brought back.
    pub removable_from: Option<Timestamp>,
    /// Bytes of its text.
    pub bytes: u64,
}

/// How useful a memory is: by confidence, then uses, then how lately it was touched. No two are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Usefulness {
    confidence: u64,
    uses: u64,
    touched_at: Timestamp,
    position: i64,
}

impl MemoryFacts {
    fn usefulness(&self) -> Usefulness {
        Usefulness {
            // Numbers from 0 to 1 are ordered as their bits are, once zero has no sign.
            confidence: (self.confidence + 0.0).to_bits(),
            uses: self.uses,
            touched_at: self.touched_at,
            position: self.position,
        }
    }

    fn group(&self) -> Group {
        (self.scope, self.channel.clone())
    }

    fn is_exempt(&self) -> bool {
        self.pinned || self.in_use
    }

    /// Why it goes whatever else there is.
    fn own_reason(&self, rules: &HygieneRules) -> Option<HygieneReason> {
        if self.expires_at.is_some_and(|end| end <= rules.now) {
            Some(HygieneReason::Expired)
        } else if self.orphan {
            Some(HygieneReason::Orphan)
        } else if rules
            .kept_since
            .get(&self.scope)
            .is_some_and(|since| self.touched_at < *since)
        {
            Some(HygieneReason::Retention)
        } else {
            None
        }
    }
}

/// Scope and channel: what a cap is about.
type Group = (MemoryScope, Option<String>);

/// Which of a group go because it holds too many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    /// Those less useful than this one.
    Below(Usefulness),
    /// All that may go.
    All,
}

/// Which memories go because there are too many; nothing for groups that hold no more than they may.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cuts(BTreeMap<Group, Cut>);

/// Why a memory goes; none = it stays. An archived one goes for good.
pub fn reason(facts: &MemoryFacts, rules: &HygieneRules, cuts: &Cuts) -> Option<HygieneReason> {
    match facts.state {
        MemoryState::Archived => facts
            .removable_from
            .is_some_and(|from| from <= rules.now)
            .then_some(HygieneReason::Removed),
        MemoryState::Proposed | MemoryState::Active | MemoryState::Superseded => {
            if facts.is_exempt() {
                return None;
            }
            facts.own_reason(rules).or_else(|| {
                let falls = match cuts.0.get(&facts.group())? {
                    Cut::Below(kept) => facts.usefulness() < *kept,
                    Cut::All => true,
                };
                falls.then_some(HygieneReason::Size)
            })
        }
    }
}

#[derive(Debug, Default)]
struct GroupTally {
    /// Those that may not go.
    exempt: u64,
    /// The most useful others, least useful on top.
    kept: BinaryHeap<Reverse<Usefulness>>,
    /// Whether some did not fit.
    too_many: bool,
}

impl GroupTally {
    fn shrink_to(&mut self, room: u64) {
        while self.kept.len() as u64 > room {
            self.kept.pop();
            self.too_many = true;
        }
    }
}

/// The first look at every memory: how many each group holds, and how many each scope would lose to retention.
#[derive(Debug, Default)]
pub struct Tally {
    groups: BTreeMap<Group, GroupTally>,
    /// (held, would go by retention).
    scopes: BTreeMap<MemoryScope, (u64, u64)>,
}

impl Tally {
    /// Counts one.
    pub fn add(&mut self, facts: &MemoryFacts, rules: &HygieneRules) {
        if facts.state == MemoryState::Archived {
            return;
        }
        let scope = self.scopes.entry(facts.scope).or_default();
        scope.0 += 1;
        let group = self.groups.entry(facts.group()).or_default();
        if facts.is_exempt() {
            group.exempt += 1;
            return;
        }
        match facts.own_reason(rules) {
            Some(reason) => scope.1 += u64::from(reason == HygieneReason::Retention),
            None => {
                group.kept.push(Reverse(facts.usefulness()));
                group.shrink_to(rules.max_memories);
            }
        }
    }

    /// Scopes that would lose too much at once.
    pub fn too_much(&self) -> Vec<HygieneExcess> {
        self.scopes
            .iter()
            .filter(|(_, (held, go))| *held >= GUARDED && go * 2 > *held)
            .map(|(scope, (held, go))| HygieneExcess {
                scope: *scope,
                count: *go,
                of: *held,
            })
            .collect()
    }

    /// What has to go for the caps. Those that may not go count as held.
    pub fn cuts(self, rules: &HygieneRules) -> Cuts {
        let cut = |(group, mut tally): (Group, GroupTally)| {
            tally.shrink_to(rules.max_memories.saturating_sub(tally.exempt));
            let cut = match (tally.too_many, tally.kept.peek()) {
                (false, _) => return None,
                (true, Some(Reverse(least))) => Cut::Below(*least),
                (true, None) => Cut::All,
            };
            Some((group, cut))
        };
        Cuts(self.groups.into_iter().filter_map(cut).collect())
    }
}

/// Adds rows of one kind, place and reason to a report.
pub fn add(report: &mut HygieneReport, group: HygieneGroup) {
    if group.count == 0 {
        return;
    }
    let same = report.groups.iter_mut().find(|known| {
        (
            &known.what,
            known.reason,
            known.scope,
            known.channel.as_deref(),
        ) == (
            &group.what,
            group.reason,
            group.scope,
            group.channel.as_deref(),
        )
    });
    match same {
        Some(known) => {
            known.count += group.count;
            known.bytes += group.bytes;
        }
        None => report.groups.push(group),
    }
}

/// Adds a memory that goes to a report.
pub fn add_memory(report: &mut HygieneReport, facts: &MemoryFacts, reason: HygieneReason) {
    add(
        report,
        HygieneGroup {
            scope: Some(facts.scope),
            channel: facts.channel.clone(),
            what: "memories".to_owned(),
            reason,
            count: 1,
            bytes: facts.bytes,
        },
    );
    match reason {
        HygieneReason::Removed => report.removed += 1,
        HygieneReason::Expired
        | HygieneReason::Retention
        | HygieneReason::Size
        | HygieneReason::Orphan => report.archived += 1,
    }
    report.bytes += facts.bytes;
    if report.memories.len() < NAMED {
        report.memories.push(facts.id);
    }
}

/// Adds rows of no scope, which nothing belongs to any more.
pub fn add_orphans(report: &mut HygieneReport, what: &str, count: u64, bytes: u64) {
    add(
        report,
        HygieneGroup {
            scope: None,
            channel: None,
            what: what.to_owned(),
            reason: HygieneReason::Orphan,
            count,
            bytes,
        },
    );
}
