//! What `doctor` says about people: who acts here under no name although the configuration goes by names.

use std::collections::BTreeSet;

use crate::config::settings::{SelfApproval, Settings};
use crate::protocol::doctor::Finding;

/// Most users that are named.
const NAMED: usize = 5;

/// Users whom channels let in by their id and who are no person, where nobody may decide what they asked for. Whoever has
/// such an id and a second one can decide it under that.
pub fn nameless(settings: &Settings) -> Option<Finding> {
    if settings.approvals.self_approval != SelfApproval::Never {
        return None;
    }
    let is_known = |id: &String| {
        let mut people = settings.people.values();
        people.any(|person| person.ids.contains(id))
    };
    let channels = settings.channels.values();
    let listed = channels.flat_map(|channel| {
        let users = channel.allowed_users.iter();
        users.map(|user| {
            let prefix = &channel.id_prefix;
            match user.strip_prefix(prefix.as_str()) {
                Some(rest) if rest.starts_with(':') => user.clone(),
                Some(_) | None => format!("{prefix}:{user}"),
            }
        })
    });
    let listed: BTreeSet<String> = listed.filter(|id| !is_known(id)).collect();
    let first = listed.first()?;
    let names: Vec<&str> = listed.iter().take(NAMED).map(String::as_str).collect();
    let more = listed.len() - names.len();
    let more = if more == 0 {
        String::new()
    } else {
        format!(" and {more} more")
    };
    Some(Finding::warn(
        "people",
        format!(
            "self_approval = \"never\" compares people, and [people] does not name {}{more} of allowed_users",
            names.join(", ")
        ),
        format!(
            "add `{first}` to the `ids` of that person under [people]; with role = \"user\" they can only ask"
        ),
    ))
}

/// Users of this machine who are no person, where a person counts. `operators` are their ids: `operator:1000`.
pub fn look(settings: &Settings, operators: &[String]) -> Option<Finding> {
    let never = settings.approvals.self_approval == SelfApproval::Never;
    let two = settings
        .channels
        .values()
        .any(|channel| !channel.two_people.is_empty());
    let setting = match (never, two) {
        (false, false) => return None,
        (true, false) => "self_approval = \"never\" goes",
        (false, true) => "two_people goes",
        (true, true) => "self_approval = \"never\" and two_people go",
    };
    let users = operators
        .iter()
        .filter_map(|id| id.strip_prefix("operator:"));
    let ids = users.map(|user| format!("unix:{user}"));
    let unnamed: Vec<String> = ids
        .filter(|id| {
            !settings
                .people
                .values()
                .any(|person| person.ids.contains(id))
        })
        .take(NAMED)
        .collect();
    let first = unnamed.first()?;
    Some(Finding::warn(
        "people",
        format!(
            "{setting} by person, and {} acted here under no name",
            unnamed.join(", ")
        ),
        format!("add `{first}` to the `ids` of that person under [people]"),
    ))
}
