//! Where each case of research/models.md § 9 is shown: in a directory, or by a test that is named here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::conformance::case::{ADAPTERS, cases_of};

/// The last number of the list.
const LAST: u8 = 104;

/// Cases that no single answer can show: the test that does, as `<file below tests/it or src>::<name>`.
const ELSEWHERE: &[(u8, &str)] = &[
    (
        1,
        "tests/it/models/event_reader.rs::cutting_changes_nothing",
    ),
    (
        34,
        "tests/it/models/faults.rs::four_obstacles_have_four_messages",
    ),
    (
        35,
        "tests/it/models/faults.rs::dropping_the_stream_closes_the_connection",
    ),
    (
        63,
        "tests/it/models/nonsense.rs::a_chat_decoder_never_crashes_and_its_calls_have_distinct_ids",
    ),
    (
        71,
        "src/engine/turn/fold.rs::a_switch_of_the_model_takes_the_opaque_blocks_out",
    ),
    (
        84,
        "tests/it/models/requests.rs::a_longer_history_keeps_the_prefix_byte_for_byte",
    ),
    (88, "src/model/names.rs::names_go_out_legal_and_come_back"),
];

/// Cases that nothing shows yet, with what is missing.
const NOT_YET: &[(u8, &str)] = &[
    (36, "the adapter of the Responses API"),
    (37, "the adapter of the Responses API"),
    (41, "the adapter of Gemini"),
    (42, "the adapter of Gemini"),
    (46, "the engine's side"),
    (59, "the adapter of Ollama, and the probe of local servers"),
    (60, "the engine's side"),
    (61, "the engine's side"),
    (64, "the engine's side"),
    (65, "the engine's side"),
    (66, "the engine's side"),
    (67, "the engine's side"),
    (72, "the adapter of the Responses API"),
    (73, "the adapter of the Responses API"),
    (74, "the adapter of Gemini"),
    (77, "the adapter of the Responses API"),
    (79, "the adapter of Gemini"),
    (80, "the engine's side"),
    (81, "the engine's side"),
    (89, "the response cache"),
    (90, "the response cache"),
    (91, "the response cache"),
    (92, "the response cache"),
    (93, "the response cache"),
    (94, "the response cache"),
    (95, "the response cache"),
    (96, "the response cache"),
    (97, "compaction and memory"),
    (98, "compaction and memory"),
    (99, "compaction and memory"),
    (100, "compaction and memory"),
    (101, "the adapter of Ollama, and the probe of local servers"),
    (102, "the adapter of Ollama, and the probe of local servers"),
    (103, "the adapter of Ollama, and the probe of local servers"),
    (104, "the demo's scripts"),
];

#[test]
fn every_case_is_shown_somewhere() {
    let mut shown: BTreeMap<u8, Vec<String>> = BTreeMap::new();
    for (adapter, _) in ADAPTERS {
        for case in cases_of(adapter) {
            for number in &case.file.numbers {
                assert!((1..=LAST).contains(number), "{}: {number}", case.name);
                shown.entry(*number).or_default().push(case.name.clone());
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (number, test) in ELSEWHERE {
        let (file, name) = test.split_once("::").expect("a file and a name");
        let text = std::fs::read_to_string(root.join(file)).unwrap_or_default();
        assert!(
            text.contains(&format!("fn {name}(")),
            "case {number}: there is no test {test}"
        );
        shown.entry(*number).or_default().push((*test).to_owned());
    }
    let not_yet: BTreeSet<u8> = NOT_YET.iter().map(|(number, _)| *number).collect();
    let found: BTreeSet<u8> = shown.keys().copied().collect();
    assert!(
        not_yet.is_disjoint(&found),
        "shown, and still listed as missing: {:?}",
        not_yet.intersection(&found).collect::<Vec<_>>()
    );
    let missing: Vec<u8> = (1..=LAST)
        .filter(|number| !found.contains(number) && !not_yet.contains(number))
        .collect();
    assert!(missing.is_empty(), "shown nowhere: {missing:?}");
}
