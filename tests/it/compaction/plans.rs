//! How many of the oldest turns go.

use leverframe::engine::compaction::plan::{Fill, Thresholds, asked, due};
use proptest::prelude::*;

const BY_ITSELF: Thresholds = Thresholds {
    share: 70,
    beyond: 40,
};

fn fill(uncovered: usize, sent: &[u64]) -> Fill {
    Fill {
        uncovered,
        sent: sent.to_vec(),
        least: sent.len(),
        history: 0,
        fixed: 100,
        room: 1000,
    }
}

#[test]
fn half_of_what_may_lie_beyond_goes_when_it_is_reached() {
    assert_eq!(due(&fill(45, &[10; 6]), BY_ITSELF), None);
    assert_eq!(due(&fill(46, &[10; 6]), BY_ITSELF), Some(20));
}

#[test]
fn a_full_window_is_brought_below_half() {
    // 100 + 6 × 100 = 700 is 70 %, which is not more.
    assert_eq!(due(&fill(6, &[100; 6]), BY_ITSELF), None);
    // 706 - 2 × 101 = 504 is more than half.
    assert_eq!(due(&fill(6, &[101; 6]), BY_ITSELF), Some(3));
    // What lies beyond goes with it: it is older.
    assert_eq!(due(&fill(10, &[101; 6]), BY_ITSELF), Some(7));
}

#[test]
fn the_newest_stays_however_large_it_is() {
    assert_eq!(due(&fill(1, &[5000]), BY_ITSELF), None);
    assert_eq!(due(&fill(2, &[300, 5000]), BY_ITSELF), Some(1));
    // Not worth a call: the room is full of something else.
    assert_eq!(due(&fill(2, &[30, 5000]), BY_ITSELF), None);
    assert_eq!(asked(&fill(1, &[5000])), None);
    assert_eq!(asked(&fill(9, &[10; 6])), Some(8));
}

proptest! {
    #[test]
    fn a_plan_is_worth_it_and_leaves_the_newest(
        sent in prop::collection::vec(0_u64..400, 0..12),
        more in 0_usize..60,
        fixed in 0_u64..900,
        share in 10_u32..=95,
        beyond in 1_usize..50,
    ) {
        let before = Fill { uncovered: sent.len() + more, sent: sent.clone(), least: sent.len(), history: 0, fixed, room: 1000 };
        let Some(turns) = due(&before, Thresholds { share, beyond }) else {
            prop_assert!(more < beyond || before.uncovered < 2, "{before:?}");
            return Ok(());
        };
        prop_assert!(turns > 0 && turns < before.uncovered);
        let full = before.upcoming() * 100 > before.room * u64::from(share);
        prop_assert!(full || more >= beyond, "too early: {before:?}");
        // What is left of what is sent, and whether less would have done.
        let gone = turns.saturating_sub(more);
        let left: u64 = sent.iter().skip(gone).sum();
        if gone > 1 && more < beyond {
            let with_one_more: u64 = sent.iter().skip(gone - 1).sum();
            prop_assert!((fixed + with_one_more) * 2 > 1000, "more than needed: {before:?}");
        }
        if full && more < beyond {
            let only_the_newest = gone + 1 == sent.len();
            prop_assert!((fixed + left) * 2 <= 1000 || only_the_newest, "too little: {before:?}");
        }
    }
}
