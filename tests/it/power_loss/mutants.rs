//! Rules of durability that are switched off: the suite must see each of them missing.

use serde_json::json;

use crate::power_loss::replay::Plan;
use crate::power_loss::store_run::{lose_power, record, shortly};
use crate::power_loss::{seed, strace};
use crate::support::record::fact;

fn is_caught(rule: &str, says: &str, as_what: &str) {
    if !strace::available() {
        return;
    }
    let recorded = record(&shortly(), 0, Some(rule));
    let (_, status, said) = &recorded.lives[0];
    assert!(status.success(), "{status}\n{said}");
    let plan = Plan {
        seed: seed(),
        images: 40,
        one_is_enough: true,
    };
    let outcome = lose_power(&recorded, plan);
    let Some((after, what)) = outcome.violations.first() else {
        panic!(
            "`{rule}` is switched off, and none of {} images shows it",
            outcome.images
        );
    };
    assert!(
        what.contains(as_what),
        "`{rule}` shows as something else: {what}"
    );
    fact(
        "mutants",
        rule,
        &json!({
            "rule": says,
            "caught": true,
            "by": "an image of the disk after a loss of power",
            "after": after,
            "of": outcome.images,
            "damage": what.lines().next().unwrap_or_default().chars().take(160).collect::<String>(),
        }),
    );
}

/// Durable commands are answered before they are on the disk.
#[test]
fn answers_before_the_sync_are_caught() {
    is_caught(
        "fsync_before_effect",
        "a durable command is on the disk before it is answered",
        "though commit",
    );
}

/// The side-car takes its place before its content is on the disk.
#[test]
fn a_side_car_without_a_sync_is_caught() {
    is_caught(
        "sidecar_fsync",
        "the side-car's content is on the disk before it takes its name",
        "restored copy",
    );
}

/// A row names an artifact whose content is not on the disk.
#[test]
fn an_artifact_without_a_sync_is_caught() {
    is_caught(
        "artifact_fsync",
        "an artifact's content is on the disk before a row names it",
        "I25",
    );
}

/// The same run with every rule in force has nothing to show.
#[test]
fn nothing_is_caught_where_nothing_is_switched_off() {
    if !strace::available() {
        return;
    }
    let recorded = record(&shortly(), 0, None);
    let plan = Plan {
        seed: seed(),
        images: 40,
        one_is_enough: false,
    };
    lose_power(&recorded, plan).assert_sound(recorded);
}
