//! Numbers as a row of bars.

use leverframe::text::bars::bars;

#[test]
fn the_smallest_number_differs_from_none() {
    assert_eq!(bars(&[0, 1, 500, 1000], 9), "▁▂▄█");
    assert_eq!(bars(&[1000, 0, 3], 2), "▁█");
    assert_eq!(bars(&[0, 0], 2), "▁▁");
    assert_eq!(bars(&[], 2), "");
}
