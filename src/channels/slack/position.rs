//! Where a bot is in its conversations: the newest known message of each, in one cursor.
//!
//! The cursor belongs to the account on the platform. One of another workspace or bot says nothing. While a conversation
//! is being caught up with, what arrives live does not move its mark: a crash in between would skip what lies before.

use std::collections::BTreeMap;

use crate::channels::slack::ts;

/// Conversations that a cursor remembers; those with the oldest news are forgotten first.
pub const MOST: usize = 200;

/// How far a conversation is known.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mark {
    /// Everything up to this message is known.
    known: String,
    /// The newest message that arrived live while older ones were still missing.
    ahead: Option<String>,
    /// Older ones may still be missing.
    held: bool,
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
            .filter(|(conversation, known)| !conversation.is_empty() && ts::is_time(known))
            .map(|(conversation, known)| {
                let mark = Mark {
                    known: known.to_owned(),
                    ahead: None,
                    held: false,
                };
                (conversation.to_owned(), mark)
            })
            .collect();
        Self {
            account: account.to_owned(),
            marks,
        }
    }

    /// The cursor.
    pub fn text(&self) -> String {
        let mut text = self.account.clone();
        for (conversation, mark) in &self.marks {
            text.push(' ');
            text.push_str(conversation);
            text.push('=');
            text.push_str(&mark.known);
        }
        text
    }

    /// Every known conversation with its mark, the one with the newest news first. They are held until
    /// [`Position::release`].
    pub fn hold_all(&mut self) -> Vec<(String, String)> {
        let mut all: Vec<(String, String)> = self
            .marks
            .iter_mut()
            .map(|(conversation, mark)| {
                mark.held = true;
                (conversation.clone(), mark.known.clone())
            })
            .collect();
        all.sort_by(|(_, one), (_, other)| ts::compare(other, one));
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
            Some(mark) => {
                if ts::is_older(&mark.known, at) {
                    at.clone_into(&mut mark.known);
                }
            }
            None => {
                let mark = Mark {
                    known: at.to_owned(),
                    ahead: None,
                    held: false,
                };
                self.marks.insert(conversation.to_owned(), mark);
                self.forget_oldest();
            }
        }
    }

    /// An older message was fetched, in order.
    pub fn caught_up_to(&mut self, conversation: &str, at: &str) {
        if let Some(mark) = self.marks.get_mut(conversation)
            && ts::is_time(at)
            && ts::is_older(&mark.known, at)
        {
            at.clone_into(&mut mark.known);
        }
    }

    /// Nothing older is missing any more.
    pub fn release(&mut self, conversation: &str) {
        if let Some(mark) = self.marks.get_mut(conversation) {
            mark.held = false;
            if let Some(ahead) = mark.ahead.take()
                && ts::is_older(&mark.known, &ahead)
            {
                mark.known = ahead;
            }
        }
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
