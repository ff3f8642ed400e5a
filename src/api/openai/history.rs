//! Whether a session is the conversation that a client sends. Pure.
//!
//! A session goes on only where each of its turns is in the client's history, in order, and nothing else is.

use crate::api::openai::content::add_text;
use crate::protocol::chat::{EARLIER_LINE, EarlierMessage, EarlierRole};
use crate::protocol::ids::ContinuationId;

/// How a line begins that the door puts into an answer. The agent did not say it.
pub const NOTE: &str = "> Leverframe: ";
/// The line that stands before an answer that begins a second time.
pub const AGAIN: &str = "the answer broke off and begins again";

/// A turn of a session, as far as a client can know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// Which.
    pub id: ContinuationId,
    /// The user's message as it is stored.
    pub request: String,
    /// Where it stands.
    pub standing: Standing,
}

/// Where a turn stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It is not ended.
    Open,
    /// It ended without an answer.
    Unanswered,
    /// It was answered.
    Answered {
        /// The answer.
        answer: String,
        /// Everything the agent said in it, the answer last.
        whole: String,
    },
}

/// What a session is to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fit {
    /// The message goes on where the session is.
    GoesOn {
        /// The newest turns, where the client has not seen their ends.
        unseen: Vec<ContinuationId>,
    },
    /// The newest turn is the answer to a message with this text. Its files are not compared here.
    Repeats {
        /// That turn.
        turn: ContinuationId,
        /// Those before it whose ends the client has not seen.
        unseen: Vec<ContinuationId>,
    },
    /// It is another conversation.
    Other,
}

/// A text with single spaces.
fn squashed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What the agent said of an answer as a client sends it back; whether its beginning is cut off.
fn said(text: &str) -> (String, bool) {
    let mut kept = String::new();
    let mut is_cut = false;
    for line in text.lines() {
        match line.trim_start().strip_prefix(NOTE) {
            // What broke off is not in the session.
            Some(note) if note.starts_with(AGAIN) => {
                kept.clear();
                is_cut = true;
            }
            Some(_) => {}
            None => {
                kept.push_str(line);
                kept.push('\n');
            }
        }
    }
    (squashed(&kept), is_cut)
}

/// Whether a client's answer says that its turn was not ended.
fn was_told(text: &str) -> bool {
    let mut notes = text
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix(NOTE));
    notes.any(|note| !note.starts_with(AGAIN))
}

/// Whether a turn was begun with this message.
fn asks(turn: &Turn, text: &str) -> bool {
    let (stored, text) = (turn.request.trim(), text.trim());
    stored.strip_prefix(text).is_some_and(|rest| {
        let rest = rest.trim_start();
        rest.is_empty() || rest.starts_with(EARLIER_LINE) || rest.starts_with("[attached file: ")
    })
}

/// How a client has an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    /// To its end.
    Whole,
    /// It stopped reading, or was told that the turn waits.
    Part,
}

/// Whether a client's text is the answer of a turn. It may have those of the turns `before` too, which it had not seen.
fn seen(turn: &Turn, before: &[&Turn], text: &str) -> Option<Seen> {
    let (text, is_cut) = said(text);
    let Standing::Answered { answer, whole } = &turn.standing else {
        return Some(Seen::Part);
    };
    let (answer, whole) = (squashed(answer), squashed(whole));
    let mut rest = text.as_str();
    for turn in before {
        let Standing::Answered { answer, whole } = &turn.standing else {
            continue;
        };
        for earlier in [squashed(whole), squashed(answer)] {
            if let Some(behind) = rest.strip_prefix(earlier.as_str()) {
                rest = behind.trim_start();
                break;
            }
        }
    }
    for text in [text.as_str(), rest] {
        if text == answer || text == whole || (is_cut && !text.is_empty() && whole.ends_with(text))
        {
            return Some(Seen::Whole);
        }
        if answer.starts_with(text) || whole.starts_with(text) {
            return Some(Seen::Part);
        }
    }
    None
}

/// What a session is to a request. `earlier` is what the client sends of it: it begins with the message that began the
/// session. `text` is the message that is to be answered.
pub fn fit(turns: &[Turn], earlier: &[EarlierMessage], text: &str) -> Fit {
    let mut at = 0;
    let mut unseen: Vec<&Turn> = Vec::new();
    for exchange in earlier.chunks(2) {
        let [user, rest @ ..] = exchange else {
            return Fit::Other;
        };
        if user.role != EarlierRole::User {
            return Fit::Other;
        }
        let Some((found, turn)) = turn_of(turns, at, &user.text) else {
            return Fit::Other;
        };
        let answer = rest.first().map_or("", |message| message.text.as_str());
        match seen(turn, &unseen, answer) {
            Some(Seen::Part) if was_told(answer) => unseen.push(turn),
            // Who stops to read in the middle wants no more of it.
            Some(Seen::Whole | Seen::Part) => unseen.clear(),
            None => return Fit::Other,
        }
        at = found + 1;
    }
    let unseen = unseen.iter().map(|turn| turn.id).collect();
    let behind = turns.get(at..).unwrap_or_default();
    let mut others = behind
        .iter()
        .filter(|turn| turn.standing != Standing::Unanswered);
    match (others.next(), others.next()) {
        (None, _) => Fit::GoesOn { unseen },
        (Some(turn), None) if asks(turn, text) => Fit::Repeats {
            turn: turn.id,
            unseen,
        },
        (Some(_), _) => Fit::Other,
    }
}

/// The turn that a message began, and its place, from `at` on. Turns without an answer that the client does not have are
/// passed over; of several tries the last counts.
fn turn_of<'a>(turns: &'a [Turn], at: usize, text: &str) -> Option<(usize, &'a Turn)> {
    let mut tried = None;
    for (place, turn) in turns.iter().enumerate().skip(at) {
        let is_asked = asks(turn, text);
        match turn.standing {
            Standing::Unanswered if is_asked => tried = Some((place, turn)),
            Standing::Unanswered => {}
            Standing::Open | Standing::Answered { .. } if is_asked => return Some((place, turn)),
            Standing::Open | Standing::Answered { .. } => break,
        }
    }
    tried
}

/// Everything the agent said in a turn, from the texts of its steps.
pub fn joined<'a>(steps: impl Iterator<Item = &'a str>) -> String {
    let mut whole = String::new();
    for step in steps {
        add_text(&mut whole, step.trim());
    }
    whole
}
