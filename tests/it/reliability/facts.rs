//! The facts of today's run: those that are not older than this binary.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use leverframe::clock::Timestamp;
use serde_json::Value;

use crate::crash_points::points;

/// Facts that must be there, as `group/name`. Groups of which any fact will do end with `/`.
const NEEDED: &[&str] = &[
    "crash/schedules",
    "crash/random",
    "power-loss/",
    "model/",
    "faults/",
];

/// Everything recorded, by group and name.
pub struct Facts {
    groups: BTreeMap<String, BTreeMap<String, Value>>,
    /// When the newest was recorded.
    pub newest: Option<Timestamp>,
}

impl Facts {
    /// Reads all facts below `directory` that were recorded at `since` or later.
    pub fn read(directory: &Path, since: SystemTime) -> Self {
        let mut facts = Self {
            groups: BTreeMap::new(),
            newest: None,
        };
        for group in entries(directory) {
            let name = stem(&group);
            for file in entries(&group) {
                let changed = std::fs::metadata(&file)
                    .and_then(|found| found.modified())
                    .expect("a fact has a time");
                if changed < since || file.extension().is_none_or(|ext| ext != "json") {
                    continue;
                }
                let text = std::fs::read_to_string(&file).expect("a fact can be read");
                let value = serde_json::from_str(&text)
                    .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
                facts
                    .groups
                    .entry(name.clone())
                    .or_default()
                    .insert(stem(&file), value);
                let millis = changed.duration_since(UNIX_EPOCH).unwrap_or_default();
                let at = Timestamp(i64::try_from(millis.as_millis()).unwrap_or(0));
                facts.newest = facts.newest.max(Some(at));
            }
        }
        facts
    }

    /// The facts of a group.
    pub fn group(&self, name: &str) -> BTreeMap<String, Value> {
        self.groups.get(name).cloned().unwrap_or_default()
    }

    /// Names of all groups.
    pub fn groups(&self) -> impl Iterator<Item = &str> {
        self.groups.keys().map(String::as_str)
    }

    /// What nobody recorded and somebody must.
    pub fn missing(&self) -> Vec<String> {
        let rules = points::rules_in_source();
        NEEDED
            .iter()
            .map(|needed| (*needed).to_owned())
            .chain(rules.iter().map(|rule| format!("mutants/{rule}")))
            .filter(|needed| {
                let (group, name) = needed.split_once('/').expect("group/name");
                let group = self.group(group);
                group.is_empty() || !(name.is_empty() || group.contains_key(name))
            })
            .collect()
    }
}

/// When this test binary was made.
pub fn built() -> SystemTime {
    std::env::current_exe()
        .and_then(std::fs::metadata)
        .and_then(|found| found.modified())
        .expect("our own binary has a time")
}

fn entries(directory: &Path) -> Vec<std::path::PathBuf> {
    let mut found: Vec<_> = std::fs::read_dir(directory)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    found.sort();
    found
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

#[test]
fn old_facts_and_missing_ones_are_no_proof() {
    let dir = tempfile::tempdir().unwrap();
    let fact = |group: &str, name: &str| {
        let folder = dir.path().join(group);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{name}.json")), "{\"n\": 1}").unwrap();
    };
    fact("crash", "schedules");
    fact("power-loss", "anything");
    let fresh = Facts::read(dir.path(), UNIX_EPOCH);
    assert_eq!(fresh.group("crash")["schedules"]["n"], 1);
    let missing = fresh.missing();
    for named in ["crash/random", "model/", "faults/", "mutants/blind_rerun"] {
        assert!(missing.iter().any(|found| found == named), "{missing:?}");
    }
    for there in ["crash/schedules", "power-loss/"] {
        assert!(!missing.iter().any(|found| found == there), "{missing:?}");
    }
    let later = SystemTime::now() + std::time::Duration::from_secs(60);
    let stale = Facts::read(dir.path(), later);
    assert!(stale.groups().next().is_none() && stale.newest.is_none());
}
