//! Sources that an answer can cite.

use leverframe::engine::turn::citations::{file, found_in, path_of};
use leverframe::protocol::enums::CitationKind;

#[test]
fn paths_of_a_search_are_those_of_whole_lines() {
    let result = "src/a.rs:12: let x = 1;\nsrc/b.rs:3: y: 4: z\n[stopped after 2 matches: there may be more]\n";
    assert_eq!(found_in(result), ["src/a.rs", "src/b.rs"]);
    let cut = "a.rs:1: one\n[… 900 of 9000 bytes left out; the whole is artifact:x …]\nb.rs:2: half\nc.rs:3: whole\n";
    assert_eq!(found_in(cut), ["a.rs", "c.rs"]);
    assert_eq!(found_in("[no match]\n"), [""; 0]);
    assert_eq!(path_of("a:b.txt:7: x"), Some("a:b.txt"));
    assert_eq!(path_of("12: x"), None);
}

#[test]
fn a_path_is_cited_as_one_source_however_it_is_written() {
    assert_eq!(file("./notes.md"), file("notes.md"));
    let hash = "artifact:".to_owned() + &"a".repeat(64);
    assert_eq!(file(&hash).kind, CitationKind::Artifact);
    assert_eq!(file("artifact:notes").kind, CitationKind::File);
}
