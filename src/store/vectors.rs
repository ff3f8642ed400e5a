//! Meaning as vectors: how two of them compare, how they are kept, and how what was found by words and by meaning
//! becomes one list. Pure.
//!
//! Invariant: every vector that is compared is finite and of length 1, so that the product of two is their cosine.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::Hash;

use crate::protocol::enums::SearchMethod;

/// The rank constant of reciprocal rank fusion: what is first counts little more than what is second.
const RANK_CONSTANT: f64 = 60.0;
/// Hits of each way to find that are put together.
pub const WEIGHED: usize = 50;

/// What a search means.
#[derive(Debug, Clone, PartialEq)]
pub struct Meaning {
    /// What vectors are compared with it: those stored under this name.
    pub model: String,
    /// Of length 1.
    pub vector: Vec<f32>,
    /// Least cosine of what counts as found.
    pub least: f32,
}

/// The same direction with length 1; none where there is no direction, or a number that is none.
pub fn normalised(mut vector: Vec<f32>) -> Option<Vec<f32>> {
    let square: f64 = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
    let length = square.sqrt();
    if !length.is_finite() || length < f64::from(f32::MIN_POSITIVE) {
        return None;
    }
    for x in &mut vector {
        *x = (f64::from(*x) / length) as f32;
    }
    Some(vector)
}

/// As it is kept.
pub fn to_bytes(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// Cosine of a vector and one that is kept, both of length 1; none where they have not as many numbers.
pub fn cosine(vector: &[f32], kept: &[u8]) -> Option<f32> {
    let (numbers, rest) = kept.as_chunks::<4>();
    if numbers.len() != vector.len() || !rest.is_empty() {
        return None;
    }
    // Four sums, so that one addition does not wait for the one before it.
    let mut sums = [0.0_f32; 4];
    for (xs, ys) in vector.chunks(4).zip(numbers.chunks(4)) {
        for ((sum, x), y) in sums.iter_mut().zip(xs).zip(ys) {
            *sum += x * f32::from_le_bytes(*y);
        }
    }
    let sum = sums.iter().sum::<f32>();
    sum.is_finite().then(|| sum.clamp(-1.0, 1.0))
}

/// The square of the length of a vector that is kept.
pub fn square(kept: &[u8]) -> f64 {
    let (numbers, _) = kept.as_chunks::<4>();
    let numbers = numbers.iter().map(|bytes| f32::from_le_bytes(*bytes));
    numbers.map(|x| f64::from(x) * f64::from(x)).sum()
}

/// The nearest so far.
#[derive(Debug)]
pub struct Nearest<K> {
    most: usize,
    found: Vec<(f32, K)>,
}

impl<K: Copy + Ord> Nearest<K> {
    /// At most so many.
    pub fn new(most: usize) -> Self {
        Self {
            most,
            found: Vec::with_capacity(most * 2),
        }
    }

    /// Another one.
    pub fn add(&mut self, cosine: f32, key: K) {
        self.found.push((cosine, key));
        if self.found.len() >= self.most * 2 {
            self.cut();
        }
    }

    fn cut(&mut self) {
        self.found
            .sort_unstable_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        self.found.truncate(self.most);
    }

    /// Nearest first.
    pub fn keys(mut self) -> Vec<K> {
        self.cut();
        self.found.into_iter().map(|(_, key)| key).collect()
    }
}

/// Two lists as one, best first, by reciprocal rank fusion: a place in a list counts one over sixty more than its
/// number, and what stands in both has the sum. Equal ones: those found by words first.
pub fn fuse<K: Copy + Eq + Hash>(words: &[K], meaning: &[K]) -> Vec<(K, SearchMethod)> {
    let mut found: Vec<(K, f64, SearchMethod)> = Vec::with_capacity(words.len() + meaning.len());
    let mut at: HashMap<K, usize> = HashMap::new();
    for (list, by) in [
        (words, SearchMethod::Words),
        (meaning, SearchMethod::Meaning),
    ] {
        for (n, key) in list.iter().enumerate() {
            let score = 1.0 / (RANK_CONSTANT + (n + 1) as f64);
            match at.get(key).and_then(|at| found.get_mut(*at)) {
                // A key twice in one list counts where it stands first.
                Some(known) if known.2 == by || known.2 == SearchMethod::Both => {}
                Some(known) => {
                    known.1 += score;
                    known.2 = SearchMethod::Both;
                }
                None => {
                    at.insert(*key, found.len());
                    found.push((*key, score, by));
                }
            }
        }
    }
    // Stable: those of words were put in first.
    found.sort_by(|one, other| other.1.partial_cmp(&one.1).unwrap_or(Ordering::Equal));
    found.into_iter().map(|(key, _, by)| (key, by)).collect()
}
