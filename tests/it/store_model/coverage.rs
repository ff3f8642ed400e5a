//! What the walks of a run did, and what they missed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use serde_json::json;

use crate::store_model::model::{Model, Outcome};
use crate::store_model::step::Step;
use crate::store_model::table;
use crate::support::record::fact;

#[derive(Debug, Default)]
struct Seen {
    walks: u64,
    steps: u64,
    /// (carried out, refused) of each command.
    commands: BTreeMap<&'static str, (u64, u64)>,
    /// Commands of an earlier epoch, each refused.
    stale: u64,
    /// Model calls that a budget forbade.
    exhausted: u64,
    arrows: BTreeMap<(&'static str, &'static str, &'static str), u64>,
    /// Walks that reached each state of a turn.
    states: BTreeMap<&'static str, u64>,
}

static SEEN: Mutex<Option<Seen>> = Mutex::new(None);

fn with<T>(look: impl FnOnce(&mut Seen) -> T) -> T {
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    look(seen.get_or_insert_default())
}

/// A walk begins.
pub(crate) fn walk() {
    with(|seen| seen.walks += 1);
}

/// A step was taken and the store did as the model said.
pub(crate) fn count(model: &Model, step: &Step) {
    with(|seen| {
        seen.steps += 1;
        let refused = matches!(model.last, Outcome::Refused(_));
        let entry = seen.commands.entry(step.name()).or_default();
        if refused {
            entry.1 += 1;
        } else {
            entry.0 += 1;
        }
        if matches!(model.last, Outcome::Exhausted(_)) {
            seen.exhausted += 1;
        }
        if matches!(step, Step::Stale(_)) {
            seen.stale += 1;
        }
        for arrow in &model.arrows {
            *seen.arrows.entry(*arrow).or_default() += 1;
            if arrow.0 == "turn" {
                *seen.states.entry(arrow.2).or_default() += 1;
            }
        }
    });
}

/// Writes down what was seen; fails when something was not and `complete` asks for it.
pub(crate) fn report(complete: bool) {
    let (missing, value) = with(|seen| {
        let mut missing: Vec<String> = Vec::new();
        for name in Step::NAMES {
            if seen.commands.get(name).is_none_or(|(done, _)| *done == 0) {
                missing.push(format!("command {name}"));
            }
        }
        let wanted: BTreeSet<_> = table::arrows().into_iter().collect();
        for arrow in &wanted {
            let unused = table::UNUSED.contains(arrow);
            if unused == seen.arrows.contains_key(arrow) {
                missing.push(format!(
                    "{} {} to {} (unused: {unused})",
                    arrow.0, arrow.1, arrow.2
                ));
            }
        }
        if seen.stale == 0 {
            missing.push("a command of an earlier epoch".to_owned());
        }
        if seen.exhausted == 0 {
            missing.push("a model call that a budget forbids".to_owned());
        }
        let commands: BTreeMap<_, _> = seen
            .commands
            .iter()
            .map(|(name, (done, refused))| (*name, json!({"done": done, "refused": refused})))
            .collect();
        let arrows: BTreeMap<String, u64> = seen
            .arrows
            .iter()
            .map(|((kind, from, to), count)| (format!("{kind} {from} to {to}"), *count))
            .collect();
        let value = json!({
            "cases": seen.walks,
            "transitions": seen.steps,
            "commands": commands,
            "stale_epoch_refused": seen.stale,
            "budget_forbade": seen.exhausted,
            "arrows": arrows,
            "arrows_of_the_tables": wanted.len() - table::UNUSED.len(),
            "states": seen.states,
            "violations": 0,
        });
        (missing, value)
    });
    println!("{}", serde_json::to_string(&value).unwrap());
    assert!(
        !complete || missing.is_empty(),
        "the walks never exercised: {missing:#?}"
    );
    fact("model", "walks", &value);
}
