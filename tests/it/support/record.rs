//! What the suites found, one JSON file a fact, from which `tests/RELIABILITY.md` is written. No number of the report
//! has another source.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// Where facts lie: below the target directory, one folder a group.
pub fn directory() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("reliability")
}

/// Replaces one fact. `group` is a section of the report (`crash`, `mutants`, `power-loss`, `model`, `faults`), `name`
/// the row in it: lower-case words joined by `-`.
pub fn fact(group: &str, name: &str, value: &Value) {
    let folder = directory().join(group);
    std::fs::create_dir_all(&folder).expect("a folder for facts");
    let file = folder.join(format!("{name}.json"));
    let text = serde_json::to_string_pretty(value).expect("JSON");
    std::fs::write(&file, text + "\n").expect("a fact");
}

/// Records that a fault was injected and survived. Call it at the end of the test, when everything has held.
pub fn fault(name: &str, injected: &str, held: &str) {
    fact("faults", name, &json!({"injected": injected, "held": held}));
}
