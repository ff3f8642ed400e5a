//! `[response_cache]` and its variables: whether answers are kept, for whom, how long and how many.

use crate::config::error::{ConfigError, ConfigLocation, Fault};
use crate::config::inputs::{Inputs, Section, field};
use crate::config::settings::ResponseCacheSettings;
use crate::protocol::enums::CacheScope;

const ENABLED: &str = "LEVERFRAME_RESPONSE_CACHE_ENABLED";
const TTL_MINUTES: &str = "LEVERFRAME_RESPONSE_CACHE_TTL_MINUTES";
const MAX_ENTRIES: &str = "LEVERFRAME_RESPONSE_CACHE_MAX_ENTRIES";

/// A variable's value, read with `parse`.
fn variable<T>(
    inputs: &Inputs<'_>,
    name: &'static str,
    expected: &str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, ConfigError> {
    let Some(value) = inputs.environment.get(name) else {
        return Ok(None);
    };
    parse(value.trim()).map(Some).ok_or_else(|| {
        let place = ConfigLocation::Environment(name.to_owned());
        let fault = Fault::new(place, format!("`{value}` cannot be used"));
        fault.expected(expected).into()
    })
}

/// How long, and how many.
pub fn resolve(inputs: &Inputs<'_>) -> Result<ResponseCacheSettings, ConfigError> {
    let config = inputs.config();
    let table = &config.response_cache;
    let minutes = 1..=525_600;
    let entries = 1..=1_000_000;
    let within = |bounds: &std::ops::RangeInclusive<u32>, value: &str| {
        value.parse().ok().filter(|n| bounds.contains(n))
    };
    let ttl = variable(
        inputs,
        TTL_MINUTES,
        "a whole number of minutes from 1 to 525600",
        |value| within(&minutes, value),
    )?;
    let most = variable(
        inputs,
        MAX_ENTRIES,
        "a whole number from 1 to 1000000",
        |value| within(&entries, value),
    )?;
    let section = Section::new(inputs, &["response_cache"], table);
    Ok(ResponseCacheSettings {
        ttl_minutes: match ttl {
            Some(ttl) => ttl,
            None => section.number(field!(table.ttl_minutes), 60, minutes)?,
        },
        max_entries: match most {
            Some(most) => most,
            None => section.number(field!(table.max_entries), 500, entries)?,
        },
    })
}

/// The scope of a channel that wrote `written`. Nobody is given an answer of somebody else unless the file says so.
pub fn scope(inputs: &Inputs<'_>, written: Option<CacheScope>) -> Result<CacheScope, ConfigError> {
    let enabled = variable(inputs, ENABLED, "true or false", |value| {
        match value.to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "on" => Some(true),
            "false" | "0" | "no" | "off" => Some(false),
            _ => None,
        }
    })?;
    Ok(match enabled.or(inputs.config().response_cache.enabled) {
        Some(false) => CacheScope::Off,
        Some(true) => written.unwrap_or(CacheScope::User),
        None => written.unwrap_or(CacheScope::Off),
    })
}
