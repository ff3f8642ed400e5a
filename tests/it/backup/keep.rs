//! Which backups stay.

use leverframe::clock::Timestamp;
use leverframe::engine::backups::keep::superfluous;
use proptest::prelude::*;

const DAY: i64 = 24 * 3600;
/// Noon of a Monday, so that no time zone moves it into another day.
const MONDAY: i64 = 1_769_428_800;

fn at(seconds: i64) -> Timestamp {
    Timestamp((MONDAY + seconds) * 1000)
}

#[test]
fn the_newest_of_each_day_and_week_stay() {
    // Two a day for three weeks, oldest first; the last is on a Sunday.
    let made: Vec<Timestamp> = (0..21)
        .flat_map(|day| [at(day * DAY), at(day * DAY + 3600)])
        .collect();
    let gone = superfluous(&made, 3, 2);
    let kept: Vec<usize> = (0..made.len()).filter(|one| !gone.contains(one)).collect();
    // The evenings of the last three days, and the Sunday of the week before.
    assert_eq!(kept, [27, 37, 39, 41]);
}

#[test]
fn the_newest_stays_whatever_the_numbers_say() {
    let made = [at(0), at(DAY), at(2 * DAY)];
    assert_eq!(superfluous(&made, 0, 0), [0, 1]);
    assert_eq!(superfluous(&[], 0, 0), [0; 0]);
}

proptest! {
    #[test]
    fn never_the_newest_and_never_too_many(
        seconds in prop::collection::vec(0..400 * DAY, 1..60),
        daily in 0_u32..20,
        weekly in 0_u32..20,
    ) {
        let made: Vec<Timestamp> = seconds.iter().map(|one| at(*one)).collect();
        let gone = superfluous(&made, daily, weekly);
        let newest = made.iter().max().copied();
        let kept: Vec<Timestamp> = (0..made.len())
            .filter(|one| !gone.contains(one))
            .map(|one| made[one])
            .collect();
        prop_assert_eq!(kept.iter().max().copied(), newest);
        prop_assert!(kept.len() <= (daily + weekly).max(1) as usize);
        // To clean up what stayed removes nothing more.
        prop_assert!(superfluous(&kept, daily, weekly).is_empty());
    }
}
