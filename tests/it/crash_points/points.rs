//! The crash points as they stand in the source, so that a new one cannot be forgotten here.

use std::collections::BTreeSet;
use std::path::Path;

/// Points of starting up, which no running turn reaches.
pub const OF_THE_START: &[&str] = &["migrate.mid", "recover.mid", "recover.post"];

/// Points that a plain approval does not reach; the list of schedules names them.
pub const OF_OTHER_SCENARIOS: &[&str] = &[
    "cancel.pre_commit",
    "cancel.post",
    "expire.pre_commit",
    "expire.post",
    "resume.post",
    "settle.pre_commit",
    "settle.post",
    "compact.pre_model",
    "compact.post_model",
    "compact.pre_commit",
    "compact.post_commit",
];

/// Points off the path of a turn: `retention::crashes` kills there, at those of backups `backup::killed`, at those of
/// forgetting `memory_data::erase`, at those of hygiene `hygiene::crashes`, at those of routines
/// `routines::crashes`, at those of take-overs `take_overs::crashes`, at those of strangers `pairings::crashes`, and at
/// those of files `stories::chat_files`, at those of changes of files `effects::files`, at those of datasets
/// `datasets::surfaces`, at those of jobs `gate::jobs`, and at those of escalation `escalation::crashes`.
pub const ELSEWHERE: &[&str] = &[
    "agent_run.deferred",
    "escalate.pre_commit",
    "escalate.post",
    "escalate.posted",
    "fetch_file.done",
    "receive_file.post",
    "archive.pre_rename",
    "archive.placed",
    "artifact.pre_rename",
    "sweep.mid",
    "erase.mid",
    "erase.pre_end",
    "backup.mid",
    "restore.mid",
    "routine.begin_pre_commit",
    "routine.begin_post_commit",
    "hygiene.mid",
    "hygiene.pre_end",
    "take_over.post",
    "say.pre_commit",
    "say.post",
    "pairing.pre_commit",
    "pairing.post",
    "mcp.ask_pre_commit",
    "mcp.ask_post",
    "mcp.trust_pre_commit",
    "mcp.trust_post",
    "change.staged",
    "change.half",
    "change.done",
    "dataset.pre_rename",
    "dataset.pre_row",
    "dataset.post",
    "dataset.pre_unlink",
];

/// Every name in `crash_point!("…")` below `src/`, except where the macro is defined.
pub fn in_source() -> BTreeSet<String> {
    names_of("crash_point!(\"")
}

/// Every name in `mutant!("…")` below `src/`.
pub fn rules_in_source() -> BTreeSet<String> {
    names_of("mutant!(\"")
}

fn names_of(before: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    scan(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        before,
        &mut names,
    );
    names
}

fn scan(dir: &Path, before: &str, names: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(dir).expect("a source directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            scan(&path, before, names);
        } else if path.extension().is_some_and(|ext| ext == "rs") && !path.ends_with("src/crash.rs")
        {
            let text = std::fs::read_to_string(&path).expect("a source file");
            for rest in text.split(before).skip(1) {
                let name = rest.split('"').next().expect("a closing quote");
                names.insert(name.to_owned());
            }
        }
    }
}
