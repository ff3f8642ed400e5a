//! Search in what is remembered: any text is a valid search, and what it costs is bounded.
//!
//! Words are quoted, so that nothing a person types is an operator. First come those that hold every word, then those
//! with words that begin so, then those that hold the rare ones of them. Scripts without spaces are not taken apart
//! into words by that index: an index of neighbouring characters says where they may be, and the texts themselves decide.
//! Only a search for nothing but ASCII signs looks through all texts.

use std::collections::{BTreeSet, HashSet};

use crate::store::sql::Value;

use crate::clock::Timestamp;
use crate::protocol::memory::Memory;
use crate::store::error::StoreError;
use crate::store::queries::memory_rows::{Condition, MEMORY, memory_row};
use crate::store::reader::Reader;
use crate::store::sql::{Statements, params};

/// Words of a search that count, and pairs of characters.
const MOST_WORDS: usize = 24;
/// Characters of a word that count.
const MOST_CHARS: usize = 64;
/// Hits of an index at which a search looks, newest ones first, to find those that meet its condition.
const LOOKED_AT: u32 = 20_000;
/// Hits that are weighed, newest ones first: a word that is everywhere says little.
const WEIGHED: u32 = 1000;
/// Texts that hold all pairs of what is looked for and are read, newest ones first.
const READ: u32 = 2000;

/// What a search looks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Words {
    /// Phrases for the index: words as typed, without ASCII punctuation. What lies beyond ASCII is left to the index,
    /// whose tables of letters are not Rust's.
    pub(crate) phrases: Vec<String>,
    /// Runs of a script without spaces.
    pub(crate) runs: Vec<String>,
    /// What is neither, where nothing else is there: signs and emoji.
    pub(crate) signs: Option<String>,
}

/// Scripts that put no spaces between words: the index takes a whole sentence of them for one word.
fn unspaced(c: char) -> bool {
    matches!(u32::from(c),
        0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF | 0x3040..=0x30FF | 0x31F0..=0x31FF | 0x3400..=0x4DBF
        | 0x4E00..=0x9FFF | 0xAC00..=0xD7AF | 0xF900..=0xFAFF | 0xFF66..=0xFF9D | 0x20000..=0x3FFFF)
}

/// Characters of which the index has pairs: those of scripts without spaces, and signs. The class in
/// `005_rules_and_pairs.sql` names the same ones.
pub(crate) fn paired(c: char) -> bool {
    unspaced(c) || matches!(u32::from(c), 0x2190..=0x2BFF | 0x1F000..=0x1FAFF)
}

/// Takes a text apart.
pub(crate) fn words(text: &str) -> Words {
    let mut words = Words::default();
    let (mut phrases, mut runs) = (BTreeSet::new(), BTreeSet::new());
    for word in text.split_whitespace() {
        if words.phrases.len() + words.runs.len() >= MOST_WORDS {
            break;
        }
        let (mut phrase, mut run) = (String::new(), String::new());
        for c in word.chars().take(MOST_CHARS) {
            if unspaced(c) {
                run.push(c);
                phrase.push(' ');
            } else if c.is_ascii_alphanumeric() || !(c.is_ascii() || c.is_control()) {
                phrase.push(c);
                run.push(' ');
            } else {
                phrase.push(' ');
                run.push(' ');
            }
        }
        let phrase = phrase.split_whitespace().collect::<Vec<_>>().join(" ");
        // Signs alone are no word to the index.
        if phrase.contains(char::is_alphanumeric) && phrases.insert(phrase.clone()) {
            words.phrases.push(phrase);
        }
        for run in run.split_whitespace() {
            if runs.insert(run.to_owned()) {
                words.runs.push(run.to_owned());
            }
        }
    }
    if words.phrases.is_empty() && words.runs.is_empty() {
        let signs: String = text
            .chars()
            .filter(|c| !c.is_control())
            .take(MOST_CHARS)
            .collect();
        words.signs = Some(signs.trim().to_owned()).filter(|signs| !signs.is_empty());
    }
    words
}

/// Whether a search for this text looks through all texts, one by one, because no index can tell.
pub(crate) fn looks_through(text: &str) -> bool {
    words(text)
        .signs
        .is_some_and(|signs| !signs.contains(paired))
}

/// A pattern for LIKE that finds the text anywhere.
fn anywhere(text: &str) -> Value {
    let mut pattern = String::with_capacity(text.len() + 2);
    pattern.push('%');
    for c in text.chars() {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern.push('%');
    Value::from(pattern)
}

/// Pairs of neighbouring characters, or the one character there is.
fn pairs<'a>(runs: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut pairs = Vec::new();
    for run in runs {
        let chars: Vec<char> = run.chars().collect();
        for pair in chars.windows(2.min(chars.len().max(1))) {
            let pair: String = pair.iter().collect();
            if pairs.len() < MOST_WORDS && seen.insert(pair.clone()) {
                pairs.push(pair);
            }
        }
    }
    pairs
}

/// A pair as the index has it; of one character, every pair that begins with it.
fn indexed(pair: &str) -> String {
    let mut chars = pair.chars().map(u32::from);
    match (chars.next(), chars.next()) {
        (Some(first), Some(second)) => format!("{first:x}x{second:x}"),
        (Some(first), None) => format!("{first:x}x *"),
        (None, _) => String::new(),
    }
}

fn quoted(phrase: &str) -> String {
    format!("\"{phrase}\"")
}

/// A search for texts with every one of these pairs.
fn all_of(pairs: &[String]) -> String {
    let pairs: Vec<String> = pairs.iter().map(|pair| indexed(pair)).collect();
    pairs.join(" AND ")
}

/// Which of the two indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Index {
    Words,
    Pairs,
}

/// Adds to the weight of a hit: pinned, used, and changed within the last weeks. `?` is now.
const LIFT: &str = "m.pinned * 0.6 + 0.03 * min(m.uses, 20)
    + 0.4 / (1.0 + max(? - m.updated_at, 0) / 2419200000.0)";

impl Reader<'_> {
    /// What a text is found in by its words, best first. Without anything to look for: newest change first.
    pub(crate) fn find(
        &self,
        text: &str,
        within: &Condition,
        limit: u32,
        now: Timestamp,
    ) -> Result<Vec<Memory>, StoreError> {
        let words = words(text);
        let mut found = Hits {
            limit: limit as usize,
            ..Hits::default()
        };
        if let Some(signs) = &words.signs {
            let runs = signs.split(|c| !paired(c)).filter(|run| !run.is_empty());
            let pairs = pairs(runs);
            let holders = (!pairs.is_empty()).then(|| all_of(&pairs));
            self.look_through(&mut found, within, &[anywhere(signs)], 1, holders, now)?;
            return Ok(found.memories);
        }
        if words.phrases.is_empty() && words.runs.is_empty() {
            let mut values = within.values.clone();
            values.push(Value::from(limit));
            found.add(self.select(
                &format!(
                    "SELECT {MEMORY} FROM memories m WHERE {} ORDER BY m.updated_at DESC, m.position DESC LIMIT ?",
                    within.text
                ),
                &values,
            )?);
            return Ok(found.memories);
        }
        if words.runs.is_empty() {
            let every = |form: fn(&str) -> String| {
                words
                    .phrases
                    .iter()
                    .map(|phrase| form(phrase))
                    .collect::<Vec<_>>()
                    .join(" AND ")
            };
            self.weigh(&mut found, within, &every(quoted), now)?;
            if !found.full() {
                self.weigh(&mut found, within, &every(beginning), now)?;
            }
        } else {
            let all: Vec<Value> = words
                .runs
                .iter()
                .map(String::as_str)
                .chain(words.phrases.iter().flat_map(|phrase| phrase.split(' ')))
                .map(anywhere)
                .collect();
            let holders = Some(all_of(&pairs(words.runs.iter().map(String::as_str))));
            self.look_through(&mut found, within, &all, all.len(), holders, now)?;
        }
        let parts: Vec<&str> = {
            let mut seen = HashSet::new();
            let phrases = words.phrases.iter();
            let parts = phrases.flat_map(|phrase| phrase.split(' '));
            parts
                .filter(|part| seen.insert(*part))
                .take(MOST_WORDS)
                .collect()
        };
        if !found.full() && parts.len() + words.runs.len() > 1 {
            let rare = self.rarest(Index::Words, &parts, |part| quoted(part))?;
            if !rare.is_empty() {
                self.weigh(&mut found, within, &rare.join(" OR "), now)?;
            }
        }
        if !found.full() && !words.runs.is_empty() {
            let pairs = pairs(words.runs.iter().map(String::as_str));
            let rare = self.rarest(Index::Pairs, &pairs, |pair| indexed(pair))?;
            if !rare.is_empty() {
                // One pair of many says nothing.
                let least = pairs.len().div_ceil(3).max(1);
                let pairs: Vec<Value> = pairs.iter().map(|pair| anywhere(pair)).collect();
                let holders = Some(rare.join(" OR "));
                self.look_through(&mut found, within, &pairs, least, holders, now)?;
            }
        }
        Ok(found.memories)
    }

    /// The rarest of the words, and those after it as long as all of them stand in no more than are weighed.
    fn rarest<T>(
        &self,
        index: Index,
        words: &[T],
        phrase: impl Fn(&T) -> String,
    ) -> Result<Vec<String>, StoreError> {
        let count = match index {
            Index::Words => {
                "SELECT count(*) FROM (SELECT 1 FROM memory_fts WHERE memory_fts MATCH ?1 LIMIT ?2)"
            }
            Index::Pairs => {
                "SELECT count(*) FROM (SELECT 1 FROM memory_pairs WHERE memory_pairs MATCH ?1 LIMIT ?2)"
            }
        };
        let mut counted = Vec::new();
        for word in words {
            let phrase = phrase(word);
            let hits: u32 = self.conn.value(count, params![phrase, WEIGHED])?;
            if hits > 0 {
                counted.push((hits, phrase));
            }
        }
        counted.sort_unstable();
        let mut sum = 0;
        Ok(counted
            .into_iter()
            .take_while(|(hits, _)| {
                let first = sum == 0;
                sum += hits;
                first || sum < WEIGHED
            })
            .map(|(_, phrase)| phrase)
            .collect())
    }

    /// What the index finds, by its weight.
    fn weigh(
        &self,
        found: &mut Hits,
        within: &Condition,
        query: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let query = Value::from(query.to_owned());
        let mut values = vec![query.clone(), query, Value::from(LOOKED_AT)];
        values.extend(within.values.iter().cloned());
        values.push(Value::from(WEIGHED));
        values.push(Value::from(now));
        values.push(Value::from(found.limit as i64));
        // The condition counts before the bound: hits elsewhere displace none of these.
        let text = format!(
            "SELECT {MEMORY} FROM (SELECT memory_fts.rowid AS at, bm25(memory_fts) AS weight
                FROM memory_fts CROSS JOIN memories m ON m.position = memory_fts.rowid
                WHERE memory_fts MATCH ? AND memory_fts.rowid > coalesce((SELECT rowid FROM memory_fts
                    WHERE memory_fts MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?), 0)
                    AND {} ORDER BY memory_fts.rowid DESC LIMIT ?) h
             CROSS JOIN memories m ON m.position = h.at ORDER BY h.weight - ({LIFT}), m.position DESC LIMIT ?",
            within.text
        );
        found.add(self.select(&text, &values)?);
        Ok(())
    }

    /// What holds at least so many of these, most first. With a search for the index of pairs, only what that finds is
    /// read.
    fn look_through(
        &self,
        found: &mut Hits,
        within: &Condition,
        patterns: &[Value],
        least: usize,
        holders: Option<String>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let sum = vec!["(m.text LIKE ? ESCAPE '\\')"; patterns.len()].join(" + ");
        let mut values = patterns.to_vec();
        let from = match holders {
            Some(holders) => {
                let holders = Value::from(holders);
                values.extend([holders.clone(), holders, Value::from(LOOKED_AT)]);
                values.extend(within.values.iter().cloned());
                values.push(Value::from(READ));
                format!(
                    "(SELECT memory_pairs.rowid AS at
                        FROM memory_pairs CROSS JOIN memories m ON m.position = memory_pairs.rowid
                        WHERE memory_pairs MATCH ? AND memory_pairs.rowid > coalesce((SELECT rowid FROM memory_pairs
                            WHERE memory_pairs MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?), 0)
                            AND {} ORDER BY memory_pairs.rowid DESC LIMIT ?) h
                     CROSS JOIN memories m ON m.position = h.at WHERE TRUE",
                    within.text
                )
            }
            None => {
                values.extend(within.values.iter().cloned());
                format!("memories m WHERE {}", within.text)
            }
        };
        values.push(Value::from(least as i64));
        values.push(Value::from(now));
        values.push(Value::from(found.limit as i64));
        let rows = self.conn.rows(
            &format!(
                "SELECT {MEMORY}, {sum} AS held FROM {from} AND held >= ?
                 ORDER BY held + ({LIFT}) DESC, m.position DESC LIMIT ?"
            ),
            values.as_slice(),
            memory_row,
        )?;
        found.add(rows);
        Ok(())
    }
}

/// Every word, the last part of each of at least three characters only begun.
fn beginning(phrase: &str) -> String {
    let last = phrase.rsplit(' ').next().unwrap_or_default();
    let star = if last.chars().count() >= 3 { " *" } else { "" };
    format!("\"{phrase}\"{star}")
}

/// Hits so far, best first, none twice.
#[derive(Debug, Default)]
struct Hits {
    limit: usize,
    seen: HashSet<i64>,
    memories: Vec<Memory>,
}

impl Hits {
    fn full(&self) -> bool {
        self.memories.len() >= self.limit
    }

    fn add(&mut self, rows: Vec<(i64, Memory)>) {
        for (position, memory) in rows {
            if !self.full() && self.seen.insert(position) {
                self.memories.push(memory);
            }
        }
    }
}
