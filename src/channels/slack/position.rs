//! Where a bot is in its conversations: the newest known message of each, in one cursor.
//!
//! The cursor belongs to the account on the platform. One of another workspace or bot counts for nothing. While a
//! conversation is being caught up with, what arrives live does not move its mark: a crash in between would skip what
//! lies before.
//!
//! Slack does not deliver in order, so a mark says nothing about the minute before it. The cursor names the last messages
//! of that minute, and a new connection reads the minute again without them. So nothing is read again because the store
//! forgot it: retention and the erasure of a user remove keys in the store, never these.

use std::collections::BTreeMap;

use crate::channels::slack::ts;

/// Conversations that a cursor remembers; those with the oldest news are forgotten first.
pub const MOST: usize = 200;
/// Microseconds before the newest message of a conversation in which an older one may still come.
const OVERLAP: u64 = 60_000_000;
/// Messages of a conversation that are remembered from that time.
const RECENT: usize = 8;

/// How far a conversation is known.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mark {
    /// Everything up to this message is known.
    known: String,
    /// The last messages that came, the newest first; `known` is the first. Empty: no older one can still come.
    recent: Vec<String>,
    /// The newest message that arrived live while older ones were still missing.
    ahead: Option<String>,
    /// Older ones may still be missing.
    held: bool,
}

impl Mark {
    fn at(time: &str) -> Self {
        Self {
            known: time.to_owned(),
            recent: vec![time.to_owned()],
            ahead: None,
            held: false,
        }
    }

    /// As a cursor has it: the newest message, and how many microseconds before it each of the recent ones came.
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let known = parts.next().filter(|known| ts::is_time(known))?;
        let recent = parts.filter_map(|micros| ts::earlier(known, micros.parse().ok()?));
        Some(Self {
            recent: recent.take(RECENT).collect(),
            ..Self::at(known)
        })
    }

    fn text(&self, newest: &str) -> String {
        let mut text = self.known.clone();
        // No conversation has news from long after it, so an older message may still come.
        if ts::micros_between(&self.known, newest).is_some_and(|gap| gap <= OVERLAP) {
            for recent in &self.recent {
                if let Some(gap) = ts::micros_between(recent, &self.known) {
                    text.push('-');
                    text.push_str(&gap.to_string());
                }
            }
        }
        text
    }

    /// Notes a message that came.
    fn remember(&mut self, time: &str) {
        if self.recent.iter().any(|recent| recent == time) {
            return;
        }
        if ts::is_older(&self.known, time) {
            time.clone_into(&mut self.known);
        }
        self.recent.push(time.to_owned());
        self.recent.sort_by(|one, other| ts::compare(other, one));
        let known = &self.known;
        self.recent
            .retain(|recent| ts::micros_between(recent, known).is_some_and(|gap| gap <= OVERLAP));
        self.recent.truncate(RECENT);
    }

    /// The time after which a message may be missing.
    fn missing_after(&self) -> String {
        match self.recent.as_slice() {
            [] => self.known.clone(),
            [.., oldest] if self.recent.len() == RECENT => oldest.clone(),
            [..] => ts::earlier(&self.known, OVERLAP).unwrap_or_default(),
        }
    }
}

/// A conversation to catch up with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// The conversation.
    pub conversation: String,
    /// Its newest known message.
    pub known: String,
    /// Messages after this time may be missing; it is not after `known`.
    pub after: String,
}

/// The marks of one account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    account: String,
    marks: BTreeMap<String, Mark>,
}

impl Position {
    /// Where this account goes on. The first word of a cursor is its account.
    pub fn stored(cursor: Option<&str>, account: &str) -> Self {
        let mut words = cursor.unwrap_or_default().split(' ');
        let own = words.next() == Some(account);
        let marks = words
            .filter(|_| own)
            .filter_map(|word| word.split_once('='))
            .filter(|(conversation, _)| !conversation.is_empty())
            .filter_map(|(conversation, mark)| Some((conversation.to_owned(), Mark::parse(mark)?)))
            .collect();
        Self {
            account: account.to_owned(),
            marks,
        }
    }

    /// The cursor.
    pub fn text(&self) -> String {
        let known = self.marks.values().map(|mark| mark.known.as_str());
        let newest = known
            .max_by(|one, other| ts::compare(one, other))
            .unwrap_or_default();
        let mut text = self.account.clone();
        for (conversation, mark) in &self.marks {
            text.push(' ');
            text.push_str(conversation);
            text.push('=');
            text.push_str(&mark.text(newest));
        }
        text
    }

    /// Every known conversation, the one with the newest news first. They are held until [`Position::release`].
    pub fn hold_all(&mut self) -> Vec<Gap> {
        let mut all: Vec<Gap> = self
            .marks
            .iter_mut()
            .map(|(conversation, mark)| {
                mark.held = true;
                Gap {
                    conversation: conversation.clone(),
                    known: mark.known.clone(),
                    after: mark.missing_after(),
                }
            })
            .collect();
        all.sort_by(|one, other| ts::compare(&other.known, &one.known));
        all
    }

    /// A message arrived live.
    pub fn arrived(&mut self, conversation: &str, at: &str) {
        if !ts::is_time(at) || conversation.contains([' ', '=']) {
            return;
        }
        match self.marks.get_mut(conversation) {
            Some(mark) if mark.held => {
                if mark
                    .ahead
                    .as_deref()
                    .is_none_or(|ahead| ts::is_older(ahead, at))
                {
                    mark.ahead = Some(at.to_owned());
                }
            }
            Some(mark) => mark.remember(at),
            None => {
                self.marks.insert(conversation.to_owned(), Mark::at(at));
                self.forget_oldest();
            }
        }
    }

    /// An older message was fetched, in order.
    pub fn caught_up_to(&mut self, conversation: &str, at: &str) {
        if let Some(mark) = self.marks.get_mut(conversation)
            && ts::is_time(at)
        {
            mark.remember(at);
        }
    }

    /// Nothing older is missing any more.
    pub fn release(&mut self, conversation: &str) {
        if let Some(mark) = self.marks.get_mut(conversation) {
            mark.held = false;
            if let Some(ahead) = mark.ahead.take() {
                mark.remember(&ahead);
            }
        }
    }

    /// Whether a message is one of the last that came in a conversation.
    pub fn remembers(&self, conversation: &str, at: &str) -> bool {
        let mark = self.marks.get(conversation);
        mark.is_some_and(|mark| mark.known == at || mark.recent.iter().any(|recent| recent == at))
    }

    /// Whether a conversation is known; of a thread: somebody spoke to us there.
    pub fn knows(&self, conversation: &str) -> bool {
        self.marks.contains_key(conversation)
    }

    fn forget_oldest(&mut self) {
        while self.marks.len() > MOST {
            let oldest = self
                .marks
                .iter()
                .filter(|(_, mark)| !mark.held)
                .min_by(|(_, one), (_, other)| ts::compare(&one.known, &other.known))
                .map(|(conversation, _)| conversation.clone());
            match oldest {
                Some(conversation) => self.marks.remove(&conversation),
                None => return,
            };
        }
    }
}
