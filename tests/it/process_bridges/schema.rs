//! The schema in the book is what the types are.

use leverframe::channels::process::schema::schema;

use std::path::PathBuf;

fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/src/develop/bridge-protocol.schema.json")
}

fn text() -> String {
    serde_json::to_string_pretty(&schema()).unwrap() + "\n"
}

#[test]
fn the_schema_in_the_book_is_what_the_types_are() {
    let written = std::fs::read_to_string(file()).unwrap_or_default();
    assert!(
        written == text(),
        "docs/src/develop/bridge-protocol.schema.json is stale: write it again with \
         cargo test --test it process_bridges::schema::write_the_schema -- --ignored --exact"
    );
}

#[test]
#[ignore = "writes docs/src/develop/bridge-protocol.schema.json"]
fn write_the_schema() {
    std::fs::write(file(), text()).unwrap();
}

#[test]
fn every_message_of_the_page_fits_the_types() {
    use leverframe::channels::process::wire::{BridgeMessage, ProgramMessage};
    let page = std::fs::read_to_string(file().with_file_name("bridge-protocol.md")).unwrap();
    let mut count = 0;
    for line in page.lines() {
        let fits = if let Some(line) = line.strip_prefix("> ") {
            serde_json::from_str::<ProgramMessage>(line).map(|_| ())
        } else if let Some(line) = line.strip_prefix("< ") {
            serde_json::from_str::<BridgeMessage>(line).map(|_| ())
        } else {
            continue;
        };
        count += 1;
        assert!(fits.is_ok(), "{line}: {fits:?}");
    }
    // Twelve types of a program and fourteen of ours.
    assert!(count >= 26, "only {count} examples");
}
