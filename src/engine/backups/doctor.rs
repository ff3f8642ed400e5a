//! What `doctor` says about backups.

use crate::clock::Timestamp;
use crate::config::backup::BackupSettings;
use crate::config::settings::Settings;
use crate::engine::backups::state::FailedTry;
use crate::engine::core::Engine;
use crate::protocol::doctor::Finding;
use crate::store::queries::backups::MadeBackup;

const ABOUT: &str = "backup";

/// What the database knows of backups.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Known {
    /// When the newest was made, by whomever; none = none is known.
    pub newest: Option<Timestamp>,
    /// Those that the daemon made by itself.
    pub made: Vec<MadeBackup>,
}

/// Hours or days in words.
fn age(millis: u64) -> String {
    let minutes = millis / 60_000;
    match minutes {
        0..120 => format!("{minutes} min"),
        120..2880 => format!("{} h", minutes / 60),
        _ => format!("{} days", minutes / 1440),
    }
}

/// How backups stand. `failed` is the last try of the daemon, if that failed. `broken` are the rules that the database of
/// the newest checked backup breaks.
pub fn look(
    settings: Option<&BackupSettings>,
    known: &Known,
    failed: Option<&FailedTry>,
    broken: &[String],
    now: Timestamp,
) -> Finding {
    let newest = known.newest.map_or_else(
        || "none is known".to_owned(),
        |at| format!("the newest is of {at}, {} old", age(now.millis_since(at))),
    );
    let Some(settings) = settings else {
        let detail = format!("{newest}; no backup is scheduled ([backup] `every` and `folder`)");
        return Finding::ok(ABOUT, detail);
    };
    if let Some(failed) = failed {
        let detail = format!(
            "the backup of {} failed: {}; {newest}; next try at {}",
            failed.at, failed.why, failed.again_at
        );
        let fix = "correct what it names; `leverframe reload` tries at once";
        return Finding::fail(ABOUT, detail, fix);
    }
    let folder = settings.folder.display();
    let last = known.made.iter().map(|one| one.created_at).max();
    let detail = format!("{newest}; {} in {folder}", known.made.len());
    let Some(last) = last else {
        let detail = format!("{detail}; the first is due");
        return Finding::warn(ABOUT, detail, "the daemon makes it when it starts");
    };
    let every = settings.every_seconds.unsigned_abs() * 1000;
    if now.millis_since(last) > 2 * every {
        let detail = format!("{detail}; the next is overdue");
        let fix = "it is made while the daemon runs, unless that is quarantined";
        return Finding::warn(ABOUT, detail, fix);
    }
    let next = last.plus_seconds(settings.every_seconds);
    let detail = format!("{detail}; the next about {next}");
    if !broken.is_empty() {
        let detail = format!("{detail}; the newest breaks rules: {}", broken.join("; "));
        let fix = "`leverframe doctor --check` names the rows, in the running database too";
        return Finding::warn(ABOUT, detail, fix);
    }
    Finding::ok(ABOUT, detail)
}

/// How they stand in a running engine.
pub async fn running(engine: &Engine) -> Finding {
    let known = engine
        .store
        .read_here(|reader| {
            Ok(Known {
                newest: reader.newest_backup()?,
                made: reader.made_backups()?,
            })
        })
        .await;
    match known {
        Ok(known) => look(
            engine.settings.backup.as_ref(),
            &known,
            engine.backups.failed().as_ref(),
            &engine.backups.broken_rules(),
            engine.clock.now(),
        ),
        Err(error) => Finding::warn(
            ABOUT,
            format!("what the database knows of backups cannot be read: {error}"),
            "`leverframe doctor --check` looks at all of it",
        ),
    }
}

/// How they stand where nothing runs.
pub fn stopped(settings: Option<&Settings>, known: &Known, now: Timestamp) -> Finding {
    let backup = settings.and_then(|settings| settings.backup.as_ref());
    look(backup, known, None, &[], now)
}
