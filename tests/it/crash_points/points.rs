//! The crash points as they stand in the source, so that a new one cannot be forgotten here.

use std::collections::BTreeSet;
use std::path::Path;

/// Points of starting up, which no running turn reaches.
pub const OF_THE_START: &[&str] = &["migrate.mid", "recover.mid", "recover.post"];

/// Points that no turn reaches and that another suite kills at: `backup.mid` in `backup::killed`.
pub const COVERED_ELSEWHERE: &[&str] = &["backup.mid"];

/// Every name in `crash_point!("…")` below `src/`, except where the macro is defined.
pub fn in_source() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    scan(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        &mut names,
    );
    names
}

fn scan(dir: &Path, names: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(dir).expect("a source directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            scan(&path, names);
        } else if path.extension().is_some_and(|ext| ext == "rs") && !path.ends_with("src/crash.rs")
        {
            let text = std::fs::read_to_string(&path).expect("a source file");
            for rest in text.split("crash_point!(\"").skip(1) {
                let name = rest.split('"').next().expect("a closing quote");
                names.insert(name.to_owned());
            }
        }
    }
}
