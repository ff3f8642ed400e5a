//! The arming rule (CONSOLE.md § Arming rule): when a decision key counts.
//!
//! Pure, with time handed in. It learns what was on screen from reports of frames that were really
//! drawn, never from what was meant to be drawn. Nothing here can make a decision count earlier than
//! a report allows.

use crate::tui::message::Millis;
use crate::tui::state::queue::ItemKey;

/// How long exactly this id and revision must have been on screen.
pub const VISIBLE_MS: u64 = 500;
/// A key this soon after the card appeared or changed was meant for something else.
pub const QUIET_MS: u64 = 250;
/// Keys this soon after the terminal regained focus do not count.
pub const FOCUS_MS: u64 = 300;
/// Time between the two presses for high risk.
pub const CONFIRM_MS: u64 = 700;

/// What is on screen: an id at a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// Which item.
    pub key: ItemKey,
    /// Which revision of it; for items without one, the time of their last change.
    pub revision: u64,
    /// Digest of what the card shows; empty for items without one.
    pub digest: String,
}

/// What a drawn frame showed of the selected card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardReport {
    /// Which card.
    pub subject: Subject,
    /// Columns and rows of its body; another size means other lines.
    pub size: (u16, u16),
    /// Lines of its body in all.
    pub lines: usize,
    /// First line shown.
    pub first: usize,
    /// One past the last line shown.
    pub end: usize,
    /// Whether id, tool and risk were fully visible.
    pub identity: bool,
}

/// Why a decision key does not count now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Nothing is selected.
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
    /// The terminal has just regained focus.
    JustFocused,
    /// Pasted.
    Pasted,
}

impl Refusal {
    /// In words, after "not armed: ".
    pub const fn why(self) -> &'static str {
        match self {
            Self::NothingSelected => "nothing is selected",
            Self::NotShown => "the card is not on screen (enter opens it)",
            Self::TooSoon => "the card has just appeared or changed; look first",
            Self::NotQuiet => "a key came as the card appeared; wait a moment",
            Self::NotReadToEnd => "part of the card has not been shown; scroll to its end",
            Self::TooSmall => "id, tool and risk do not fit on this screen",
            Self::JustFocused => "the terminal has just regained focus",
            Self::Pasted => "pasted text never decides",
        }
    }
}

/// How long the current card has been on screen, and what of it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Exposure {
    subject: Subject,
    size: (u16, u16),
    since: Millis,
    quiet_since: Millis,
    disturbed: bool,
    seen_from: usize,
    seen_to: usize,
    lines: usize,
    identity: bool,
}

/// State of the arming rule.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arming {
    exposure: Option<Exposure>,
    // The card that was shown last, while a dialog or another screen covers it: what was read of it counts
    // when it comes back unchanged, how long it was shown does not.
    covered: Option<Exposure>,
    last_key: Option<Millis>,
    focus_gained: Option<Millis>,
}

impl Arming {
    /// A frame was drawn.
    pub fn drawn(&mut self, report: Option<CardReport>, now: Millis) {
        let Some(report) = report else {
            self.covered = self.exposure.take().or(self.covered.take());
            return;
        };
        match &mut self.exposure {
            Some(exposure) if exposure.subject == report.subject => {
                if exposure.size != report.size || exposure.lines != report.lines {
                    exposure.size = report.size;
                    exposure.lines = report.lines;
                    exposure.seen_from = report.first;
                    exposure.seen_to = report.end;
                } else {
                    exposure.seen_from = exposure.seen_from.min(report.first);
                    exposure.seen_to = exposure.seen_to.max(report.end);
                }
                if report.identity && !exposure.identity {
                    exposure.since = now;
                    exposure.quiet_since = now;
                }
                exposure.identity = report.identity;
            }
            Some(_) | None => {
                let read = self.covered.take().filter(|covered| {
                    covered.subject == report.subject
                        && covered.size == report.size
                        && covered.lines == report.lines
                });
                let (seen_from, seen_to) = read.map_or((report.first, report.end), |read| {
                    (
                        read.seen_from.min(report.first),
                        read.seen_to.max(report.end),
                    )
                });
                self.exposure = Some(Exposure {
                    subject: report.subject,
                    size: report.size,
                    since: now,
                    quiet_since: now,
                    disturbed: false,
                    seen_from,
                    seen_to,
                    lines: report.lines,
                    identity: report.identity,
                });
            }
        }
    }

    /// What was shown until now counts no more: another host has the focus.
    pub fn forget(&mut self) {
        self.exposure = None;
        self.covered = None;
    }

    /// A key was pressed (any key, before it is acted on).
    pub fn key(&mut self, now: Millis) {
        self.last_key = Some(now);
        if let Some(exposure) = &mut self.exposure
            && now.since(exposure.quiet_since) < QUIET_MS
        {
            exposure.quiet_since = now;
            exposure.disturbed = true;
        }
    }

    /// The terminal regained focus.
    pub fn focus_gained(&mut self, now: Millis) {
        self.focus_gained = Some(now);
    }

    /// Whether the terminal has the focus for so short a time that what is done may be what brought it.
    pub fn just_focused(&self, now: Millis) -> bool {
        self.focus_gained.is_some_and(|at| now.since(at) < FOCUS_MS)
    }

    /// Whether a decision about `subject` counts now. Ask before [`Arming::key`] is told of the same key.
    pub fn check(&self, subject: Option<&Subject>, now: Millis) -> Result<u64, Refusal> {
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
        if !exposure.identity {
            return Err(Refusal::TooSmall);
        }
        let shown = now.since(exposure.since);
        if shown < VISIBLE_MS {
            return Err(Refusal::TooSoon);
        }
        if now.since(exposure.quiet_since) < VISIBLE_MS {
            return Err(if exposure.disturbed {
                Refusal::NotQuiet
            } else {
                Refusal::TooSoon
            });
        }
        if exposure.seen_from > 0 || exposure.seen_to < exposure.lines {
            return Err(Refusal::NotReadToEnd);
        }
        Ok(shown)
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
