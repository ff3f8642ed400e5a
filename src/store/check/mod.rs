//! The invariants of DESIGN.md that the database alone can show. Reads everything; not for the hot path.
//!
//! Each rule is complete in one read transaction of its own: what it compares was committed together. A live
//! database is therefore checked rule by rule, so that no transaction holds the write-ahead log longer than one
//! rule takes. What needs a ledger outside (what a platform showed, what a tool did) is checked by the crash tests.

mod calls;
mod deliveries;
mod file;
mod gate;
mod hygiene;
mod log;
mod memories;
mod people;
mod routines;
mod rule;
mod starts;
mod turns;

use crate::protocol::doctor::{CheckReport, RuleResult};
pub use crate::store::check::file::check_artifacts;
use crate::store::check::rule::Rule;
pub use crate::store::check::rule::Violation;
use crate::store::error::StoreError;
use crate::store::reader::Reader;

/// The groups of rules, in the order of checking: the file first, because nothing else means much when it is broken.
const GROUPS: [&[Rule]; 10] = [
    file::RULES,
    turns::RULES,
    calls::RULES,
    deliveries::RULES,
    log::RULES,
    routines::RULES,
    hygiene::RULES,
    memories::RULES,
    people::RULES,
    gate::RULES,
];

fn rules() -> impl Iterator<Item = &'static Rule> {
    GROUPS.into_iter().flatten()
}

/// Whether a rule looks at the content of files. The others look at what rows say.
pub fn is_about_files(rule: &RuleResult) -> bool {
    file::RULES
        .iter()
        .any(|of| of.broken == rule.broken && of.broken != file::REFERENCES)
}

/// How many rules there are.
pub fn count() -> usize {
    rules().count()
}

/// Runs one rule, by its number from 0; none when there is no such rule. One read transaction is enough, and must
/// not be shared with a later rule of a live database.
pub fn run(reader: &Reader<'_>, number: usize) -> Result<Option<RuleResult>, StoreError> {
    rules().nth(number).map(|rule| rule.run(reader)).transpose()
}

/// Runs every rule in one read transaction. For a database that nobody writes. `took_ms` is left to the caller.
pub fn report(reader: &Reader<'_>) -> Result<CheckReport, StoreError> {
    let mut report = CheckReport::default();
    for rule in rules() {
        report.add(rule.run(reader)?);
    }
    Ok(report)
}

/// Every violation found; empty = sound.
pub fn check(reader: &Reader<'_>) -> Result<Vec<Violation>, StoreError> {
    let mut found = Vec::new();
    for rule in rules() {
        let result = rule.run(reader)?;
        found.extend(result.found.into_iter().map(|what| Violation {
            invariant: rule.invariant,
            detail: format!("{}: {what}", rule.broken),
        }));
    }
    Ok(found)
}

/// The SQLite that is linked: `SQLite 3.51.3`.
pub fn sqlite_version() -> String {
    format!("SQLite {}", crate::store::sql::version())
}
