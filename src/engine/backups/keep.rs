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
