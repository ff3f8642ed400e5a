//! Cosine and the fusion of two lists, for any vectors and any lists.

use std::collections::HashSet;

use leverframe::protocol::enums::SearchMethod;
use leverframe::store::vectors::{Nearest, cosine, fuse, normalised, to_bytes};
use proptest::prelude::*;

fn vector(size: usize) -> impl Strategy<Value = Vec<f32>> {
    prop::collection::vec(-1000.0_f32..1000.0, size)
}

/// A list of different things, in any order.
fn list() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::hash_set(0_u8..40, 0..30)
        .prop_map(|set| set.into_iter().collect::<Vec<_>>())
        .prop_shuffle()
}

fn score(rank: Option<usize>) -> f64 {
    rank.map_or(0.0, |n| 1.0 / (61.0 + n as f64))
}

proptest! {
    #[test]
    fn cosine_is_that_of_the_school_book(
        (one, other) in (1_usize..200).prop_flat_map(|size| (vector(size), vector(size)))
    ) {
        let (Some(a), Some(b)) = (normalised(one.clone()), normalised(other.clone())) else {
            // Only nothing has no direction.
            prop_assert!(one.iter().all(|x| *x == 0.0) || other.iter().all(|x| *x == 0.0));
            return Ok(());
        };
        let product = |a: &[f32], b: &[f32]| -> f64 {
            a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum()
        };
        let expected = product(&one, &other) / (product(&one, &one).sqrt() * product(&other, &other).sqrt());
        let found = cosine(&a, &to_bytes(&b)).unwrap();
        prop_assert!((f64::from(found) - expected).abs() < 1e-4, "{found} and not {expected}");
        prop_assert!((cosine(&b, &to_bytes(&a)).unwrap() - found).abs() < 1e-5);
        prop_assert!((cosine(&a, &to_bytes(&a)).unwrap() - 1.0).abs() < 1e-4);
        // Another size is never compared.
        prop_assert_eq!(cosine(&a, &to_bytes(&[b.clone(), vec![0.0]].concat())), None);
        prop_assert_eq!(cosine(&a, &to_bytes(&b)[1..]), None);
    }

    #[test]
    fn the_nearest_are_those_of_a_sorted_list(cosines in prop::collection::vec(-1.0_f32..1.0, 0..300)) {
        let mut nearest = Nearest::new(50);
        for (n, cosine) in cosines.iter().enumerate() {
            nearest.add(*cosine, n);
        }
        let mut sorted: Vec<usize> = (0..cosines.len()).collect();
        sorted.sort_by(|a, b| cosines[*b].total_cmp(&cosines[*a]).then(a.cmp(b)));
        sorted.truncate(50);
        prop_assert_eq!(nearest.keys(), sorted);
    }

    #[test]
    fn two_lists_become_one_by_their_ranks(words in list(), meaning in list()) {
        let fused = fuse(&words, &meaning);
        let all: HashSet<u8> = words.iter().chain(&meaning).copied().collect();
        let keys: Vec<u8> = fused.iter().map(|(key, _)| *key).collect();
        prop_assert_eq!(keys.len(), all.len());
        prop_assert_eq!(keys.iter().copied().collect::<HashSet<_>>(), all);
        let rank = |list: &[u8], key: u8| list.iter().position(|other| *other == key);
        let mut before = f64::INFINITY;
        for (key, by) in fused {
            let (w, m) = (rank(&words, key), rank(&meaning, key));
            let expected = match (w, m) {
                (Some(_), Some(_)) => SearchMethod::Both,
                (Some(_), None) => SearchMethod::Words,
                (None, _) => SearchMethod::Meaning,
            };
            prop_assert_eq!(by, expected);
            let score = score(w) + score(m);
            prop_assert!(score <= before + 1e-12);
            before = score;
        }
        // One list alone keeps its order.
        let alone: Vec<u8> = fuse(&words, &[]).into_iter().map(|(key, _)| key).collect();
        prop_assert_eq!(alone, words);
    }
}

#[test]
fn what_has_no_direction_is_no_vector() {
    for vector in [
        vec![],
        vec![0.0, 0.0],
        vec![f32::NAN, 1.0],
        vec![f32::INFINITY],
        vec![f32::NEG_INFINITY, 1.0],
    ] {
        assert_eq!(normalised(vector.clone()), None, "{vector:?}");
    }
    // Neither the largest nor the smallest numbers overflow.
    for x in [f32::MAX, 1e-30] {
        let vector = normalised(vec![x, x]).unwrap();
        assert!(
            (vector[0] - std::f32::consts::FRAC_1_SQRT_2).abs() < 1e-6,
            "{vector:?}"
        );
    }
    // What was found twice comes before what was found once in a better place.
    assert_eq!(
        fuse(&["a", "both"], &["b", "both"]),
        [
            ("both", SearchMethod::Both),
            ("a", SearchMethod::Words),
            ("b", SearchMethod::Meaning)
        ]
    );
}
