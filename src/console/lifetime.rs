//! How long a session grant holds: what is offered, what is chosen, in words, and as it is sent.

use crate::clock::Timestamp;
use crate::console::format;
use crate::protocol::approval::SHAPE_SECONDS;
use crate::protocol::enums::DecisionScope;

/// How long a session grant holds. It never outlasts its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// Until the turn ends that asked.
    Turn,
    /// Until this time.
    Until(Timestamp),
    /// While the session lasts.
    Session,
}

/// What is offered beside the turn and the session, in seconds, the shortest first.
const OFFERED: [u64; 4] = [30 * 60, SHAPE_SECONDS, 24 * 3600, 7 * 24 * 3600];
/// Which of the offered ones stands there first: [`SHAPE_SECONDS`].
const FIRST: usize = 2;

/// What is offered at `now`, the shortest first.
pub fn offered(now: Timestamp) -> Vec<Lifetime> {
    let times = OFFERED.into_iter().map(|seconds| after(now, seconds));
    [Lifetime::Turn]
        .into_iter()
        .chain(times)
        .chain([Lifetime::Session])
        .collect()
}

/// The lifetimes that a dialog offers, and which of them is chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LifetimeChoice {
    /// The shortest first.
    offered: Vec<Lifetime>,
    chosen: usize,
}

impl LifetimeChoice {
    /// What is offered at `now`; 8 hours are chosen.
    pub fn at(now: Timestamp) -> Self {
        Self {
            offered: offered(now),
            chosen: FIRST,
        }
    }

    /// The one that is chosen.
    pub fn lifetime(&self) -> Lifetime {
        let chosen = self.offered.get(self.chosen);
        chosen.copied().unwrap_or(Lifetime::Turn)
    }

    /// Chooses the next longer or shorter one; whether there is one.
    pub fn step(&mut self, longer: bool) -> bool {
        let to = if longer {
            (self.chosen + 1).min(self.offered.len().saturating_sub(1))
        } else {
            self.chosen.saturating_sub(1)
        };
        std::mem::replace(&mut self.chosen, to) != to
    }

    /// Chooses a time; it is offered from now on.
    pub fn choose_time(&mut self, at: Timestamp) {
        let lifetime = Lifetime::Until(at);
        let known = self.offered.iter().position(|known| *known == lifetime);
        self.chosen = known.unwrap_or_else(|| {
            // Where it belongs: the turn is the shortest, the session the longest.
            let place = self.offered.partition_point(|known| match known {
                Lifetime::Turn => true,
                Lifetime::Until(other) => *other < at,
                Lifetime::Session => false,
            });
            self.offered.insert(place, lifetime);
            place
        });
    }
}

fn after(now: Timestamp, seconds: u64) -> Lifetime {
    Lifetime::Until(now.plus_seconds(i64::try_from(seconds).unwrap_or(i64::MAX)))
}

impl Lifetime {
    /// What a decision of this scope and these seconds allows for more than one call; none = for one call.
    pub fn of(
        scope: Option<DecisionScope>,
        seconds: Option<u64>,
        now: Timestamp,
    ) -> Option<Lifetime> {
        let (seconds, longest) = match scope? {
            DecisionScope::Once => return None,
            DecisionScope::Turn => (seconds.unwrap_or(0), Self::Turn),
            DecisionScope::Session => (seconds.unwrap_or(SHAPE_SECONDS), Self::Session),
        };
        Some(match seconds {
            0 => longest,
            seconds => after(now, seconds),
        })
    }

    /// Scope and seconds of the decision that is sent at `now`.
    pub fn request(self, now: Timestamp) -> (DecisionScope, Option<u64>) {
        match self {
            Self::Turn => (DecisionScope::Turn, None),
            Self::Session => (DecisionScope::Session, Some(0)),
            // Whole seconds: it ends at its time, or a moment later.
            Self::Until(at) => {
                let seconds = at.millis_since(now).div_ceil(1000).max(1);
                (DecisionScope::Session, Some(seconds))
            }
        }
    }

    /// When it ends, in words, local time.
    pub fn in_words(self, now: Timestamp) -> String {
        match self {
            Self::Turn => "until this turn ends".to_owned(),
            Self::Until(at) => format!("until {}, while this session lasts", at_most(at, now)),
            Self::Session => "while this session lasts".to_owned(),
        }
    }
}

/// A time ahead, local, and how far away that is: `20:00 (in 8h)`.
pub fn at_most(at: Timestamp, now: Timestamp) -> String {
    format!("{} (in {})", at.near(now), format::left(now, at))
}
