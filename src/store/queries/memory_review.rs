//! What a person should look through: what waits, what is said twice, what contradicts, what nobody needed.
//!
//! Nothing here decides anything: the lists are bounded and so is what they look at.

use std::collections::{HashMap, HashSet};

use crate::store::sql::Value;

use crate::clock::Timestamp;
use crate::protocol::memory::{Memory, MemoryReview};
use crate::store::error::StoreError;
use crate::store::queries::memory_rows::MEMORY;
use crate::store::reader::Reader;
use crate::text::fold::fold;

/// Newest active ones that are compared with each other.
const COMPARED: u32 = 2000;
/// Milliseconds after which one that nobody needed is worth a look.
const WEEK_MS: i64 = 7 * 24 * 3600 * 1000;
/// Words of a text that count in a comparison.
const MOST_WORDS: usize = 64;
/// Words that stand in more of them say nothing about what two have in common.
const COMMON: usize = 40;

/// Words that turn a sentence around.
const NEGATIONS: [&str; 9] = [
    "not", "no", "never", "isn", "aren", "doesn", "don", "nicht", "kein",
];

/// A text as it is compared.
struct NormalizedText {
    words: HashSet<String>,
    negated: bool,
    place: (Option<[u8; 16]>, Option<String>),
}

fn compared(memory: &Memory) -> NormalizedText {
    let folded = fold(&memory.text);
    let all: Vec<&str> = folded
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .take(MOST_WORDS)
        .collect();
    NormalizedText {
        negated: all.iter().any(|word| NEGATIONS.contains(word)),
        words: all
            .into_iter()
            .filter(|word| !NEGATIONS.contains(word))
            .map(str::to_owned)
            .collect(),
        place: (
            memory.session_id.map(|id| id.to_bytes()),
            memory.channel.clone(),
        ),
    }
}

/// What two texts are to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Likeness {
    /// They say the same.
    Same,
    /// They say different things of the same.
    Differing,
    /// Neither.
    None,
}

/// One holds all words of the other and four fifths of its own: the same. Two thirds of the shorter one's with another
/// number, another word in the place of one, or turned around: differing.
fn likeness(a: &NormalizedText, b: &NormalizedText) -> Likeness {
    let shared = a.words.intersection(&b.words).count();
    let (less, more) = (
        a.words.len().min(b.words.len()),
        a.words.len().max(b.words.len()),
    );
    let turned = a.negated != b.negated;
    if shared == 0 || shared * 3 < less * 2 {
        return Likeness::None;
    }
    if shared == less && shared * 5 >= more * 4 && !turned {
        return Likeness::Same;
    }
    let number = |x: &NormalizedText, y: &NormalizedText| {
        x.words
            .difference(&y.words)
            .any(|word| word.chars().any(|c| c.is_ascii_digit()))
    };
    let numbers_differ = number(a, b) && number(b, a);
    // "Anna likes tea" and "Anna likes coffee".
    let replaced = less == more && shared + 1 == less;
    if shared >= 2 && less * 2 >= more && (turned || numbers_differ || replaced) {
        return Likeness::Differing;
    }
    Likeness::None
}

impl Reader<'_> {
    /// At most `limit` of each.
    pub fn memory_review(&self, limit: u32, now: Timestamp) -> Result<MemoryReview, StoreError> {
        let list = |condition: &str, order: &str, values: &[Value]| {
            Ok::<_, StoreError>(
                self.select(
                    &format!(
                        "SELECT {MEMORY} FROM memories m WHERE {condition} ORDER BY {order} LIMIT ?"
                    ),
                    values,
                )?
                .into_iter()
                .map(|(_, memory)| memory)
                .collect::<Vec<Memory>>(),
            )
        };
        let proposed = list(
            "m.state = 'proposed'",
            "m.updated_at, m.position",
            &[Value::from(limit)],
        )?;
        let never_used = list(
            "m.state = 'active' AND m.pinned = 0 AND m.uses = 0 AND m.updated_at < ?",
            "m.updated_at, m.position",
            &[Value::from(now.plus_millis(-WEEK_MS)), Value::from(limit)],
        )?;
        let active = list(
            "m.state = 'active' AND (m.expires_at IS NULL OR m.expires_at > ?)",
            "m.updated_at DESC, m.position DESC",
            &[Value::from(now), Value::from(COMPARED)],
        )?;
        let (duplicates, contradictions) = alike(&active, limit as usize);
        Ok(MemoryReview {
            proposed,
            duplicates,
            contradictions,
            never_used,
        })
    }
}

/// Groups that say the same and pairs that differ, in the order given, at most so many of each. Only those that share
/// a word that is not everywhere are compared.
fn alike(active: &[Memory], limit: usize) -> (Vec<Vec<Memory>>, Vec<Vec<Memory>>) {
    let texts: Vec<NormalizedText> = active.iter().map(compared).collect();
    let mut holders: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, text) in texts.iter().enumerate() {
        for word in &text.words {
            holders.entry(word).or_default().push(at);
        }
    }
    let (mut duplicates, mut contradictions) = (Vec::new(), Vec::new());
    let mut grouped = HashSet::new();
    for (at, text) in texts.iter().enumerate() {
        if duplicates.len() >= limit && contradictions.len() >= limit {
            break;
        }
        if grouped.contains(&at) {
            continue;
        }
        let mut near: Vec<usize> = text
            .words
            .iter()
            .filter_map(|word| holders.get(word.as_str()))
            .flat_map(|holders| {
                // The newest ones of a common word, which include those that are equal and close in time.
                let from = holders.partition_point(|other| *other <= at);
                holders[from..].iter().take(COMMON).copied()
            })
            .collect();
        near.sort_unstable();
        near.dedup();
        let mut same = vec![active[at].clone()];
        for other in near {
            if texts[other].place != text.place || grouped.contains(&other) {
                continue;
            }
            match likeness(text, &texts[other]) {
                Likeness::Same => {
                    grouped.insert(other);
                    same.push(active[other].clone());
                }
                Likeness::Differing if contradictions.len() < limit => {
                    contradictions.push(vec![active[at].clone(), active[other].clone()]);
                }
                Likeness::Differing | Likeness::None => {}
            }
        }
        if same.len() > 1 && duplicates.len() < limit {
            duplicates.push(same);
        }
    }
    (duplicates, contradictions)
}
