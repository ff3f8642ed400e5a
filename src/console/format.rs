//! Numbers for people: the coarsest useful grain, so that an idle screen does not change.

use jiff::tz::TimeZone;

use crate::clock::{Timestamp, zone};

/// An age or span: `12s` only under a minute and only when `seconds` are wanted, else `<1m`, `4m`, `3h`, `2d`.
pub fn age(now: Timestamp, then: Timestamp) -> String {
    let minutes = now.millis_since(then) / 60_000;
    match minutes {
        0 => "<1m".to_owned(),
        1..=59 => format!("{minutes}m"),
        60..=2879 => format!("{}h", minutes / 60),
        _ => format!("{}d", minutes / 1440),
    }
}

/// Time left: seconds under a minute, else minutes, hours, days; `over` when past.
pub fn left(now: Timestamp, deadline: Timestamp) -> String {
    if deadline <= now {
        return "over".to_owned();
    }
    let seconds = deadline.millis_since(now).div_ceil(1000);
    match seconds {
        0..=59 => format!("{seconds}s"),
        60..=3599 => format!("{}m", seconds / 60),
        3600..=172_799 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// A duration in milliseconds: `84ms`, `1.2s`, `3m10s`.
pub fn duration(millis: u64) -> String {
    match millis {
        0..=999 => format!("{millis}ms"),
        1000..=59_999 => format!("{}.{}s", millis / 1000, millis % 1000 / 100),
        _ => format!("{}m{:02}s", millis / 60_000, millis / 1000 % 60),
    }
}

/// A count: `812`, `14.2k`, `3.1M`.
pub fn count(n: u64) -> String {
    match n {
        0..=999 => n.to_string(),
        1000..=999_999 => format!("{}.{}k", n / 1000, n % 1000 / 100),
        _ => format!("{}.{}M", n / 1_000_000, n % 1_000_000 / 100_000),
    }
}

/// A size: `812 B`, `14.2 kB`, `1.2 MB`.
pub fn bytes(n: u64) -> String {
    match n {
        0..=999 => format!("{n} B"),
        1000..=999_999 => format!("{}.{} kB", n / 1000, n % 1000 / 100),
        _ => format!("{}.{} MB", n / 1_000_000, n % 1_000_000 / 100_000),
    }
}

/// Names in one line; `none` where there is none.
pub fn names(names: &[String]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    names.join(", ")
}

/// Money: `$0.42`; `$?` when a price is unknown.
pub fn money(usd: Option<f64>) -> String {
    match usd {
        None => "$?".to_owned(),
        Some(usd) if usd > 0.0 && usd < 0.01 => "<$0.01".to_owned(),
        Some(usd) => format!("${usd:.2}"),
    }
}

/// Shows clocks in this zone instead of the system's. Only before the first clock was shown: a screen never mixes
/// two. For tests and pictures, which must not depend on where they are made.
pub fn show_clocks_in(shown: TimeZone) {
    zone::show_in(shown);
}

/// The next morning at this hour, local time; none where the calendar has no such moment.
pub fn morning_after(now: Timestamp, hour: i8) -> Option<Timestamp> {
    let zone = zone::shown_in();
    let today = jiff::Timestamp::from_millisecond(now.as_millis()).ok()?;
    let day = today.to_zoned(zone.clone()).date().tomorrow().ok()?;
    let morning = day.at(hour, 0, 0, 0).to_zoned(zone).ok()?;
    Some(Timestamp(morning.timestamp().as_millisecond()))
}

/// Hours and minutes, local time.
pub fn clock(at: Timestamp) -> String {
    local(at, "%H:%M").unwrap_or_else(|| "--:--".to_owned())
}

/// Hours, minutes and seconds, local time.
pub fn time_of_day(at: Timestamp) -> String {
    local(at, "%H:%M:%S").unwrap_or_else(|| "--:--:--".to_owned())
}

/// Day and time to the second, local time.
pub fn moment(at: Timestamp) -> String {
    local(at, "%Y-%m-%d %H:%M:%S").unwrap_or_else(|| "--:--".to_owned())
}

fn local(at: Timestamp, format: &str) -> Option<String> {
    let time = jiff::Timestamp::from_millisecond(at.as_millis()).ok()?;
    let zoned = time.to_zoned(zone::shown_in());
    Some(zoned.strftime(format).to_string())
}
