//! Which backups stay. Pure: the newest always stays, whatever the numbers say.

use std::collections::BTreeSet;

use crate::clock::{Day, Timestamp};

/// The positions of those that go, given when each was made. Of each of the newest `daily` days and `weekly` weeks that
/// have one, the newest stays. A week begins on Monday; days are those of this machine.
pub fn superfluous(made: &[Timestamp], daily: u32, weekly: u32) -> Vec<usize> {
    let mut newest_first: Vec<usize> = (0..made.len()).collect();
    newest_first.sort_by_key(|at| std::cmp::Reverse(made.get(*at)));
    let (mut days, mut weeks) = (BTreeSet::new(), BTreeSet::new());
    let mut gone: Vec<usize> = newest_first
        .into_iter()
        .enumerate()
        .filter(|(place, at)| {
            let Some(time) = made.get(*at) else {
                return false;
            };
            let day = Day::local(*time).0;
            // The first of January 1970 was a Thursday.
            let week = (day + 3).div_euclid(7);
            let for_day = days.len() < daily as usize && days.insert(day);
            let for_week = weeks.len() < weekly as usize && weeks.insert(week);
            *place > 0 && !for_day && !for_week
        })
        .map(|(_, at)| at)
        .collect();
    gone.sort_unstable();
    gone
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
}
