//! Reading and writing the values of cells. A text that is not exactly a value of a type is not taken for one.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;

/// Seconds of a day.
const DAY: i64 = 24 * 3600;

/// A whole number as a machine writes one: `007`, `+7` and what has more than 64 bits are no numbers but names.
pub fn integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain = match digits.as_bytes() {
        [b'0'] => text.len() == 1,
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        [..] => false,
    };
    is_plain.then(|| text.parse().ok()).flatten()
}

/// A number with a fraction or an exponent.
pub fn number(text: &str) -> Option<f64> {
    let bytes = text.strip_prefix('-').unwrap_or(text).as_bytes();
    let whole = bytes
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let has_leading_zero = whole > 1 && bytes.first() == Some(&b'0');
    let starts = matches!(bytes, [b'0'..=b'9', ..] | [b'.', b'0'..=b'9', ..]);
    let has_point = bytes.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E'));
    let is_plain = bytes
        .iter()
        .all(|byte| byte.is_ascii_digit() || b".eE+-".contains(byte));
    if has_leading_zero || !starts || !has_point || !is_plain {
        return None;
    }
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// `true` or `false`, in capitals or not.
pub fn boolean(text: &str) -> Option<bool> {
    if text.eq_ignore_ascii_case("true") {
        Some(true)
    } else if text.eq_ignore_ascii_case("false") {
        Some(false)
    } else {
        None
    }
}

/// Number of two or four digits at a place.
fn digits(bytes: &[u8], from: usize, to: usize) -> Option<i16> {
    let mut number = 0_i16;
    for byte in bytes.get(from..to)? {
        if !byte.is_ascii_digit() {
            return None;
        }
        number = number * 10 + i16::from(byte - b'0');
    }
    Some(number)
}

fn day(bytes: &[u8]) -> Option<Date> {
    if bytes.get(4) != Some(&b'-') || bytes.get(7) != Some(&b'-') {
        return None;
    }
    let year = digits(bytes, 0, 4).filter(|year| *year > 0)?;
    let month = i8::try_from(digits(bytes, 5, 7)?).ok()?;
    let day = i8::try_from(digits(bytes, 8, 10)?).ok()?;
    Date::new(year, month, day).ok()
}

fn seconds(at: DateTime) -> Option<i64> {
    Some(TimeZone::UTC.to_timestamp(at).ok()?.as_second())
}

/// Days since 1970 of `YYYY-MM-DD`.
pub fn date(text: &str) -> Option<i32> {
    if text.len() != 10 {
        return None;
    }
    let midnight = day(text.as_bytes())?.to_datetime(Time::midnight());
    i32::try_from(seconds(midnight)?.div_euclid(DAY)).ok()
}

/// Microseconds since 1970 of a date with a time of day, and whether it names a zone: then they are in UTC.
pub fn datetime(text: &str) -> Option<(i64, bool)> {
    let bytes = text.as_bytes();
    if bytes.len() < 16
        || !matches!(bytes.get(10), Some(b'T' | b' '))
        || bytes.get(13) != Some(&b':')
    {
        return None;
    }
    let date = day(bytes)?;
    let hour = i8::try_from(digits(bytes, 11, 13)?).ok()?;
    let minute = i8::try_from(digits(bytes, 14, 16)?).ok()?;
    let mut at = 16;
    let mut second = 0;
    let mut micros = 0_i64;
    if bytes.get(at) == Some(&b':') {
        second = i8::try_from(digits(bytes, 17, 19)?).ok()?;
        at = 19;
        if bytes.get(at) == Some(&b'.') {
            let rest = bytes.get(at + 1..).unwrap_or_default();
            let fraction = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if !(1..=9).contains(&fraction) {
                return None;
            }
            for place in 0..6 {
                let digit = rest.get(place).filter(|_| place < fraction);
                micros = micros * 10 + digit.map_or(0, |digit| i64::from(digit - b'0'));
            }
            at += 1 + fraction;
        }
    }
    let offset = match bytes.get(at..).unwrap_or_default() {
        [] => None,
        b"Z" | b"z" => Some(0),
        [sign @ (b'+' | b'-'), clock @ ..] => {
            let hours = i64::from(digits(clock, 0, 2)?);
            let minutes = match clock.get(2..).unwrap_or_default() {
                [] => 0,
                [b':', _, _] => i64::from(digits(clock, 3, 5)?),
                [_, _] => i64::from(digits(clock, 2, 4)?),
                [..] => return None,
            };
            if hours > 15 || minutes > 59 {
                return None;
            }
            let offset = (hours * 60 + minutes) * 60;
            Some(if *sign == b'+' { offset } else { -offset })
        }
        [..] => return None,
    };
    let time = Time::new(hour, minute, second, 0).ok()?;
    let local = seconds(date.to_datetime(time))?;
    let utc = local - offset.unwrap_or(0);
    Some((utc * 1_000_000 + micros, offset.is_some()))
}

/// `YYYY-MM-DD`.
pub fn date_text(days: i32) -> String {
    datetime_of(i64::from(days) * DAY * 1_000_000).map_or_else(
        || format!("{days} days after 1970-01-01"),
        |at| at.date().to_string(),
    )
}

/// `YYYY-MM-DDTHH:MM:SS`, with a fraction where there is one.
pub fn datetime_text(micros: i64) -> String {
    datetime_of(micros).map_or_else(
        || format!("{micros} µs after 1970-01-01"),
        |at| at.to_string(),
    )
}

fn datetime_of(micros: i64) -> Option<DateTime> {
    let moment = jiff::Timestamp::from_microsecond(micros).ok()?;
    Some(TimeZone::UTC.to_datetime(moment))
}
