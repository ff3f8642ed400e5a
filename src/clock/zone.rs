//! Time zones by their names. The database is the system's; nothing is built in but UTC.

use std::sync::OnceLock;

use jiff::tz::TimeZone;

/// The zone that times are shown in.
static SHOWN: OnceLock<TimeZone> = OnceLock::new();

/// Shows times in this zone instead of the machine's. Only before the first time was shown.
pub fn show_in(zone: TimeZone) {
    // Set before means that the same was chosen before, or that it is too late; both change nothing.
    let _ = SHOWN.set(zone);
}

/// The zone that times are shown in: that of the machine, unless another was chosen.
pub fn shown_in() -> TimeZone {
    SHOWN.get_or_init(TimeZone::system).clone()
}

/// How alike two names must be for one to be suggested, 0 to 1.
const ALIKE: f64 = 0.8;
/// Names suggested at most.
const SUGGESTIONS: usize = 3;

/// A name that the time zone database does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no time zone `{name}`{}", suggest(.near, *.any))]
pub struct UnknownZone {
    /// What was asked for.
    pub name: String,
    /// Names that look like it.
    pub near: Vec<String>,
    /// Whether the system has a time zone database at all.
    pub any: bool,
}

fn suggest(near: &[String], any: bool) -> String {
    if !any {
        "; this system has no time zone database (install tzdata), only `UTC` is known".to_owned()
    } else if near.is_empty() {
        "; names are like `Europe/Berlin`, `America/New_York` or `UTC`".to_owned()
    } else {
        format!("; did you mean {}?", near.join(", "))
    }
}

/// The zone of this name, or the machine's.
pub fn find(name: Option<&str>) -> Result<TimeZone, UnknownZone> {
    match name {
        None => Ok(TimeZone::system()),
        Some(name) => TimeZone::get(name).map_err(|_| unknown(name)),
    }
}

fn unknown(name: &str) -> UnknownZone {
    let wanted = name.to_lowercase();
    let last = |name: &str| name.rsplit('/').next().unwrap_or_default().to_owned();
    let mut any = false;
    let mut near: Vec<(f64, String)> = jiff::tz::db()
        .available()
        .filter_map(|known| {
            any = true;
            let lower = known.as_str().to_lowercase();
            let whole = strsim::jaro_winkler(&wanted, &lower);
            // `Berlin` is meant for `Europe/Berlin`.
            let city = strsim::jaro_winkler(&last(&wanted), &last(&lower));
            let alike = whole.max(city);
            (alike >= ALIKE).then(|| (alike, known.as_str().to_owned()))
        })
        .collect();
    near.sort_unstable_by(|one, other| other.0.total_cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
    near.truncate(SUGGESTIONS);
    UnknownZone {
        name: name.chars().take(64).collect(),
        near: near.into_iter().map(|(_, name)| name).collect(),
        any,
    }
}
