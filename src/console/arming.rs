//! The arming rule (CONSOLE.md § Arming rule): when a decision key counts.
//!
//! Pure, with time handed in. It learns what was on screen from reports of frames that were really
//! drawn, never from what was meant to be drawn. Nothing here can make a decision count earlier than
//! a report allows.

use std::collections::BTreeMap;

use crate::console::item::QueueKey;
use crate::console::time::Millis;

/// How long exactly this id and revision must have been on screen.
pub const VISIBLE_MS: u64 = 500;
/// A key this soon after the card appeared or changed was meant for something else.
pub const QUIET_MS: u64 = 250;
/// Keys this soon after the terminal regained focus do not count.
pub const FOCUS_MS: u64 = 300;
/// Time between the two presses for high risk.
pub const CONFIRM_MS: u64 = 700;
/// Of how many cards that are not on screen it remembers what was read.
const REMEMBERED: usize = 200;

/// What is on screen: an id at a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    pub key: QueueKey,
    /// Which revision of it; for items without one, the time of their last change.
    pub revision: u64,
    /// Digest of what the card shows; empty for items without one.
    pub digest: String,
}

/// What a drawn frame showed of the selected card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardReport {
    pub subject: Subject,
    /// Columns of its body; another width means other lines.
    pub width: u16,
    /// Lines of its body in all.
    pub lines: usize,
    /// First line shown.
    pub first: usize,
    /// One past the last line shown.
    pub end: usize,
    /// Whether id, tool and risk were fully visible.
    pub identity: bool,
    /// Whether it is the whole card, and not the beginning of one that is still being loaded.
    pub whole: bool,
}

/// What a decision key asks of the card before it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demand {
    /// All of it was on screen: the key lets something happen.
    Read,
    /// Its id, tool and risk are on screen: the key prevents, postpones, or opens an editor.
    Identity,
}

/// Why a decision key does not count now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    NothingSelected,
    /// The card is not on screen.
    NotShown,
    /// It has not been on screen long enough.
    TooSoon,
    /// A key came too close to its appearing.
    NotQuiet,
    /// Part of it has not been seen.
    NotReadToEnd,
    /// Id, tool and risk do not fit on this screen.
    TooSmall,
    /// Its whole content is not here yet.
    NotLoaded,
    /// The terminal has just regained focus.
    JustFocused,
    Pasted,
    /// The dialog has not been on screen long enough.
    DialogTooSoon,
    /// What the dialog must say does not fit on this screen.
    DialogTooSmall,
    /// Part of the dialog has not been seen.
    DialogNotRead,
}

impl Refusal {
    /// In words, after "not armed: ".
    pub const fn why(self) -> &'static str {
        match self {
            Self::NothingSelected => "nothing is selected",
            Self::NotShown => "the card is not on screen (enter opens it)",
            Self::TooSoon => "the card has just appeared or changed; look first",
            Self::NotQuiet => "a key came as the card appeared; wait a moment",
            Self::NotReadToEnd => "part of the card has not been shown; scroll through it",
            Self::TooSmall => "id, tool and risk do not fit on this screen",
            Self::NotLoaded => "the card is not loaded in full yet",
            Self::JustFocused => "the terminal has just regained focus",
            Self::Pasted => "pasted text never decides",
            Self::DialogTooSoon => "this has just appeared or changed; read it first",
            Self::DialogTooSmall => "this does not fit on this screen",
            Self::DialogNotRead => "part of this has not been shown; scroll through it",
        }
    }
}

/// Where a text is scrolled to by so many lines. Never so far that lines between the last frame and the next are on
/// neither: keys that come faster than frames must not make anybody skip what they have to read. `drawn`: the first
/// line of the last frame and one past its last.
pub fn scrolled(scroll: usize, lines: i64, drawn: Option<(usize, usize)>) -> usize {
    let by = usize::try_from(lines.unsigned_abs()).unwrap_or(usize::MAX);
    let to = if lines > 0 {
        scroll.saturating_add(by)
    } else {
        scroll.saturating_sub(by)
    };
    match drawn {
        Some((first, end)) if first < end => {
            let (least, most) = (first.saturating_sub(end - first), end);
            if (least..=most).contains(&scroll) {
                to.clamp(least, most)
            } else {
                // It was sent somewhere else since then.
                to
            }
        }
        Some(_) | None => to,
    }
}

/// Which lines of a text have been on screen. A jump leaves what it jumped over unseen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct SeenLines {
    // From and to, one past the last; in order, with a gap between any two.
    ranges: Vec<(usize, usize)>,
}

impl SeenLines {
    /// These lines were shown.
    fn add(&mut self, mut first: usize, mut end: usize) {
        self.ranges.retain(|&(from, to)| {
            let joins = from <= end && first <= to;
            if joins {
                first = first.min(from);
                end = end.max(to);
            }
            !joins
        });
        let at = self.ranges.partition_point(|&(from, _)| from < first);
        self.ranges.insert(at, (first, end));
    }

    /// Whether every one of so many lines was shown.
    fn all(&self, lines: usize) -> bool {
        matches!(self.ranges.first(), Some(&(0, to)) if to >= lines)
    }
}

/// How long the current card has been on screen, and what of it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Exposure {
    subject: Subject,
    width: u16,
    since: Millis,
    quiet_since: Millis,
    disturbed: bool,
    seen: SeenLines,
    lines: usize,
    identity: bool,
    whole: bool,
}

impl Exposure {
    /// Whether the lines that were shown of the same card at another time are the lines of this one.
    fn has_the_lines_of(&self, report: &CardReport) -> bool {
        self.subject == report.subject
            && self.width == report.width
            && self.lines == report.lines
            && self.whole == report.whole
    }

    /// Whether it has been looked at as the rule asks: for how long it has been on screen.
    fn check(&self, demand: Demand, now: Millis) -> Result<u64, Refusal> {
        let read = match demand {
            Demand::Read => true,
            Demand::Identity => false,
        };
        if read && !self.whole {
            return Err(Refusal::NotLoaded);
        }
        if !self.identity {
            return Err(Refusal::TooSmall);
        }
        let shown = now.since(self.since);
        if shown < VISIBLE_MS {
            return Err(Refusal::TooSoon);
        }
        if now.since(self.quiet_since) < VISIBLE_MS {
            return Err(if self.disturbed {
                Refusal::NotQuiet
            } else {
                Refusal::TooSoon
            });
        }
        if read && !self.seen.all(self.lines) {
            return Err(Refusal::NotReadToEnd);
        }
        Ok(shown)
    }
}

/// State of the arming rule.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arming {
    exposure: Option<Exposure>,
    // Cards that were shown before: what was read of one counts when it comes back unchanged, how long it was shown
    // does not.
    earlier: BTreeMap<QueueKey, Exposure>,
    // Cards that were once armed, as they were then, and how long they had been on screen.
    read: BTreeMap<QueueKey, (Subject, u64)>,
    last_key: Option<Millis>,
    focus_gained: Option<Millis>,
}

impl Arming {
    /// Notes the card that is on screen as read, if it is.
    fn note_read(&mut self, now: Millis) {
        if let Some(exposure) = &self.exposure
            && let Ok(shown) = exposure.check(Demand::Read, now)
        {
            let subject = exposure.subject.clone();
            self.read.insert(subject.key.clone(), (subject, shown));
        }
    }

    /// How long exactly this was on screen when it was last read to its end; none = it never was.
    pub fn read(&self, subject: &Subject) -> Option<u64> {
        self.read
            .get(&subject.key)
            .filter(|(read, _)| read == subject)
            .map(|(_, shown)| *shown)
    }

    /// A frame was drawn.
    pub fn drawn(&mut self, report: Option<CardReport>, now: Millis) {
        self.note_read(now);
        let Some(report) = report else {
            self.put_by();
            return;
        };
        if self
            .exposure
            .as_ref()
            .is_some_and(|exposure| exposure.subject != report.subject)
        {
            self.put_by();
        }
        match &mut self.exposure {
            Some(exposure) => {
                let loaded = exposure.whole != report.whole;
                if !exposure.has_the_lines_of(&report) {
                    exposure.width = report.width;
                    exposure.lines = report.lines;
                    exposure.seen = SeenLines::default();
                }
                exposure.seen.add(report.first, report.end);
                // What was there before was another card to the eye.
                if loaded || report.identity && !exposure.identity {
                    exposure.since = now;
                    exposure.quiet_since = now;
                }
                exposure.identity = report.identity;
                exposure.whole = report.whole;
            }
            None => {
                let earlier = self.earlier.remove(&report.subject.key);
                let mut seen = earlier
                    .filter(|earlier| earlier.has_the_lines_of(&report))
                    .map_or_else(SeenLines::default, |earlier| earlier.seen);
                seen.add(report.first, report.end);
                self.exposure = Some(Exposure {
                    subject: report.subject,
                    width: report.width,
                    since: now,
                    quiet_since: now,
                    disturbed: false,
                    seen,
                    lines: report.lines,
                    identity: report.identity,
                    whole: report.whole,
                });
            }
        }
    }

    /// The card is not on screen any more.
    fn put_by(&mut self) {
        if let Some(exposure) = self.exposure.take() {
            if self.earlier.len() >= REMEMBERED {
                self.earlier.pop_first();
            }
            self.earlier.insert(exposure.subject.key.clone(), exposure);
        }
    }

    /// What was shown until now counts no more: another host has the focus.
    pub fn forget(&mut self) {
        self.exposure = None;
        self.earlier.clear();
        self.read.clear();
    }

    /// A key was pressed (any key, before it is acted on).
    pub fn key(&mut self, now: Millis) {
        self.note_read(now);
        self.last_key = Some(now);
        if let Some(exposure) = &mut self.exposure
            && now.since(exposure.quiet_since) < QUIET_MS
        {
            exposure.quiet_since = now;
            exposure.disturbed = true;
        }
    }

    pub fn focus_gained(&mut self, now: Millis) {
        self.focus_gained = Some(now);
    }

    /// Whether the terminal has the focus for so short a time that what is done may be what brought it.
    pub fn just_focused(&self, now: Millis) -> bool {
        self.focus_gained.is_some_and(|at| now.since(at) < FOCUS_MS)
    }

    /// Whether a decision about `subject` counts now. Ask before [`Arming::key`] is told of the same key.
    pub fn check(
        &self,
        subject: Option<&Subject>,
        demand: Demand,
        now: Millis,
    ) -> Result<u64, Refusal> {
        let subject = subject.ok_or(Refusal::NothingSelected)?;
        if self.just_focused(now) {
            return Err(Refusal::JustFocused);
        }
        let Some(exposure) = &self.exposure else {
            return Err(Refusal::NotShown);
        };
        if exposure.subject != *subject {
            return Err(Refusal::TooSoon);
        }
        exposure.check(demand, now)
    }

    /// When the answer of [`Arming::check`] may next change by itself.
    pub fn next_change(&self, now: Millis) -> Option<Millis> {
        let exposure = self.exposure.as_ref()?;
        [
            Some(exposure.quiet_since.plus(VISIBLE_MS)),
            self.focus_gained.map(|at| at.plus(FOCUS_MS)),
        ]
        .into_iter()
        .flatten()
        .filter(|at| *at > now)
        .min()
    }
}

/// What a drawn frame showed of a dialog that decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DialogReport {
    /// Columns and rows for its lines; another size means other lines.
    pub size: (u16, u16),
    /// Lines that must have been seen.
    pub lines: usize,
    /// First line shown.
    pub first: usize,
    /// One past the last line shown.
    pub end: usize,
    /// How far it can be scrolled.
    pub max_scroll: usize,
    /// Whether what it is about and its buttons were fully visible.
    pub legible: bool,
}

/// How long a dialog that decides has been on screen as it is now, and what of it. The arming rule inside dialogs:
/// the last press counts [`CONFIRM_MS`] after what it says has appeared, when all of that has been shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DialogExposure {
    /// Lines scrolled down.
    pub scroll: usize,
    drawn: Option<(usize, usize)>,
    since: Option<Millis>,
    size: (u16, u16),
    lines: usize,
    seen: SeenLines,
    legible: bool,
}

impl DialogExposure {
    /// What it says changed: it must be looked at again.
    pub fn changed(&mut self) {
        *self = Self {
            scroll: self.scroll,
            ..Self::default()
        };
    }

    /// Scrolls by lines; skips none.
    pub fn scroll_by(&mut self, lines: i64) {
        self.scroll = scrolled(self.scroll, lines, self.drawn);
    }

    /// A frame showed it.
    pub fn drawn(&mut self, report: DialogReport, now: Millis) {
        self.scroll = self.scroll.min(report.max_scroll);
        self.drawn = Some((report.first, report.end));
        let same = self.since.is_some()
            && self.size == report.size
            && self.lines == report.lines
            && (self.legible || !report.legible);
        if !same {
            self.since = Some(now);
            self.size = report.size;
            self.lines = report.lines;
            self.seen = SeenLines::default();
        }
        self.seen.add(report.first, report.end);
        self.legible = report.legible;
    }

    /// Whether the press that decides counts now.
    pub fn check(&self, arming: &Arming, now: Millis) -> Result<(), Refusal> {
        if arming.just_focused(now) {
            return Err(Refusal::JustFocused);
        }
        let since = self.since.ok_or(Refusal::DialogTooSoon)?;
        if !self.legible {
            return Err(Refusal::DialogTooSmall);
        }
        if now.since(since) < CONFIRM_MS {
            return Err(Refusal::DialogTooSoon);
        }
        if !self.seen.all(self.lines) {
            return Err(Refusal::DialogNotRead);
        }
        Ok(())
    }
}
