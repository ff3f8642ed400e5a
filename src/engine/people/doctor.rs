//! What `doctor` says about people: who acts here under no name although the configuration goes by names.

use crate::config::settings::{SelfApproval, Settings};
use crate::protocol::doctor::{Finding, Standing};

/// Most users that are named.
const NAMED: usize = 5;

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
    Some(Finding {
        verdict: Standing::Warn,
        about: "people".to_owned(),
        detail: format!(
            "{setting} by person, and {} acted here under no name",
            unnamed.join(", ")
        ),
        fix: Some(format!(
            "add `{first}` to the `ids` of whoever that is under [people]"
        )),
    })
}
