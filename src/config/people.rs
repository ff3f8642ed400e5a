//! `[people]`: platform ids and roles. One id never belongs to two people.

use std::collections::BTreeMap;

use crate::clock::quiet_hours::QuietHours;
use crate::clock::zone;
use crate::config::error::ConfigError;
use crate::config::inputs::{Inputs, Section};
use crate::config::person::PersonSettings;
use crate::config::platform::SenderIdentity;

/// Everybody.
pub fn resolve(inputs: &Inputs<'_>) -> Result<BTreeMap<String, PersonSettings>, ConfigError> {
    let config = inputs.config();
    let mut people = BTreeMap::new();
    let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
    for (name, table) in &config.people {
        let fault = |problem: String| inputs.fault(&["people", name, "ids"], problem);
        if name.trim().is_empty() || name.chars().any(char::is_control) {
            let fault = inputs.fault(&["people", name], "is not a name");
            return Err(fault.expected("a short name, for example anna").into());
        }
        for id in &table.ids {
            if let Some(problem) = not_an_id(id) {
                let fault = fault(format!("`{id}` {problem}"));
                return Err(fault
                    .expected("platform:id, for example telegram:123456")
                    .into());
            }
            if let Some(channel) = claiming_channel(inputs, id) {
                let problem = format!("`{id}`: channel {channel} does not authenticate senders");
                let step = format!(
                    "Set senders = \"authenticated\" under [channels.{channel}] if its ids are certain, or leave the id out"
                );
                return Err(fault(problem).next_step(step).into());
            }
            if let Some(other) = owners.insert(id, name) {
                let problem = format!("`{id}` is already an id of {other}");
                return Err(fault(problem)
                    .next_step("Give each id to one person")
                    .into());
            }
        }
        let ids = table.ids.clone();
        let quiet_hours = quiet_hours(
            inputs,
            &["people", name],
            table.quiet_hours.as_deref(),
            table.time_zone.as_deref(),
        )?;
        let role = table.role;
        people.insert(
            name.clone(),
            PersonSettings {
                ids,
                role,
                quiet_hours,
            },
        );
    }
    Ok(people)
}

/// The quiet hours of a channel or person, whose table has these keys.
pub fn quiet_hours(
    inputs: &Inputs<'_>,
    table: &[&str],
    hours: Option<&str>,
    zone: Option<&str>,
) -> Result<Option<QuietHours>, ConfigError> {
    let section = Section::new(inputs, table, &());
    let zone = zone::find(zone).map_err(|error| {
        let fault = section.fault("time_zone", error.to_string());
        fault.expected("an IANA name, for example Europe/Berlin")
    })?;
    let Some(hours) = hours else {
        return Ok(None);
    };
    let hours = QuietHours::new(hours, zone).map_err(|problem| {
        let fault = section.fault("quiet_hours", problem);
        fault.expected("two times of day, for example 22:00-07:00")
    })?;
    Ok(Some(hours))
}

/// The channel of an id that only claims who its senders are: nobody gets a role by a claim.
fn claiming_channel<'a>(inputs: &Inputs<'_>, id: &'a str) -> Option<&'a str> {
    let (platform, _) = id.split_once(':')?;
    let (_, channel) = platform.split_once('/')?;
    let config = inputs.config();
    let table = config.channels.get(channel)?;
    match table.senders.unwrap_or(SenderIdentity::Claimed) {
        SenderIdentity::Claimed => Some(channel),
        SenderIdentity::Authenticated => None,
    }
}

/// What is wrong with a platform id, if anything.
fn not_an_id(id: &str) -> Option<&'static str> {
    let Some((platform, local)) = id.split_once(':') else {
        return Some("has no platform");
    };
    let (platform, channel) = match platform.split_once('/') {
        Some((platform, channel)) => (platform, Some(channel)),
        None => (platform, None),
    };
    if platform.is_empty() || !platform.chars().all(|c| c.is_ascii_lowercase()) {
        return Some("does not start with a platform in small letters");
    }
    let own_ids = matches!(platform, "webhook" | "process");
    if own_ids != channel.is_some() {
        return Some(if own_ids {
            "does not name its channel; ids of webhooks and programs are `process/CHANNEL:id`"
        } else {
            "has a `/`, which only ids of webhooks and programs have"
        });
    }
    if local.is_empty() || local.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Some("has no id after the platform, or a space in it");
    }
    if platform == "unix" && local.parse::<u32>().is_err() {
        return Some("is not the number of a user of this machine; `id -u` prints it");
    }
    let digits = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    if platform == "cert" && (local.len() != 64 || !local.chars().all(digits)) {
        return Some(
            "is not the fingerprint of a certificate; `leverframe certificate show FILE` prints it",
        );
    }
    if platform == "telegram" && !local.chars().all(|c| c.is_ascii_digit()) {
        return Some("is not the numeric id; names can be changed and taken over");
    }
    None
}
