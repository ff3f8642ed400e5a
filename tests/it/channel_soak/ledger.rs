//! What the database says of each message, beside what the platforms have.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use crate::channel_soak::platforms::number_in;

/// An answer in the database.
#[derive(Debug, Clone)]
pub struct Answer {
    /// State of its delivery.
    pub state: String,
    /// When its message was taken in, in milliseconds since 1970.
    pub received_at: i64,
}

/// The answers by the number of their message. More than one = the message was taken in more than once.
pub fn answers(database: &Path) -> BTreeMap<u64, Vec<Answer>> {
    let conn = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let mut statement = conn
        .prepare(
            "SELECT o.text, o.state, i.received_at FROM outbox o JOIN inbox i ON i.continuation_id = o.continuation_id
             WHERE o.class = 'final'",
        )
        .unwrap();
    let rows = statement
        .query_map([], |row| {
            let answer = Answer {
                state: row.get(1)?,
                received_at: row.get(2)?,
            };
            Ok((row.get::<_, String>(0)?, answer))
        })
        .unwrap();
    let mut answers: BTreeMap<u64, Vec<Answer>> = BTreeMap::new();
    for row in rows {
        let (text, answer) = row.unwrap();
        let number = number_in(&text).unwrap_or_else(|| panic!("an answer to nothing: {text}"));
        answers.entry(number).or_default().push(answer);
    }
    answers
}

/// What became of all messages.
#[derive(Debug, Default)]
pub struct Verdict {
    /// Answered once, as the database says.
    pub answered: usize,
    /// Nobody knows whether the answer arrived, and the database says so.
    pub unknown: usize,
    /// Never taken in, or its answer is nowhere though the database says that it was sent.
    pub lost: Vec<u64>,
    /// Taken in or answered more than once.
    pub doubled: Vec<u64>,
}

/// Compares, for messages 0 to `count`.
pub fn compare(
    count: u64,
    stored: &BTreeMap<u64, Vec<Answer>>,
    shown: &BTreeMap<u64, u32>,
) -> Verdict {
    let mut verdict = Verdict::default();
    for number in 0..count {
        let shown = shown.get(&number).copied().unwrap_or_default();
        let stored = stored.get(&number).map_or(&[][..], Vec::as_slice);
        match (stored, shown) {
            ([one], 0 | 1) if one.state == "unknown" => verdict.unknown += 1,
            ([one], 1) if one.state == "sent" => verdict.answered += 1,
            ([] | [_], 0 | 1) => verdict.lost.push(number),
            _ => verdict.doubled.push(number),
        }
    }
    verdict
}

#[test]
fn what_is_lost_or_doubled_is_found() {
    let answer = |state: &str| Answer {
        state: state.to_owned(),
        received_at: 0,
    };
    let stored = BTreeMap::from([
        (0, vec![answer("sent")]),
        (1, vec![answer("sent")]),
        (2, vec![answer("sent")]),
        (3, vec![answer("unknown")]),
        (4, vec![answer("sent"), answer("sent")]),
        (6, vec![answer("pending")]),
    ]);
    let shown = BTreeMap::from([(0, 1), (1, 2), (3, 1), (4, 1)]);
    let verdict = compare(7, &stored, &shown);
    assert_eq!((verdict.answered, verdict.unknown), (1, 1));
    assert_eq!(verdict.doubled, [1, 4]);
    assert_eq!(verdict.lost, [2, 5, 6]);
}
