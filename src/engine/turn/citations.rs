//! What an answer cites: the sources that its turn read, as its recorded calls say. Pure.
//!
//! Only what a model read counts: a call that ran and succeeded, and what was retrieved into the prompt of the answer.

use serde_json::Value;

use crate::protocol::artifact::{ARTIFACT_PREFIX, ArtifactHash};
use crate::protocol::citation::{Citation, Citations};
use crate::protocol::enums::{CitationKind, DecisionKind, ToolCallState};
use crate::store::queries::turn::CallRow;

/// The sources of an answer. `retrieved` are ids of memories that were found for the message.
pub fn citations(calls: &[CallRow], retrieved: &[String]) -> Citations {
    let mut read: Vec<Citation> = retrieved
        .iter()
        .map(|id| cited(CitationKind::Memory, id))
        .collect();
    for row in calls {
        let call = &row.call;
        // What a person answers in place of a tool is no reading.
        let answered = (call.decision.as_ref())
            .is_some_and(|decision| decision.decision == DecisionKind::Answer);
        if call.state != ToolCallState::Succeeded || answered {
            continue;
        }
        let result = call.result.as_deref().unwrap_or_default();
        match call.name.as_str() {
            "read_file" => read.extend(call.args["path"].as_str().map(file)),
            "search_files" => read.extend(found_in(result).into_iter().map(file)),
            "recall" => read.extend(recalled(result)),
            _ => {}
        }
    }
    Citations::of(read)
}

fn cited(kind: CitationKind, source: &str) -> Citation {
    Citation {
        kind,
        source: source.to_owned(),
    }
}

/// A path that was read: of the workspace, or an artifact's.
fn file(path: &str) -> Citation {
    if path.starts_with(ARTIFACT_PREFIX)
        && let Ok(hash) = path.parse::<ArtifactHash>()
    {
        return cited(CitationKind::Artifact, &hash.reference());
    }
    let mut plain = path;
    while let Some(rest) = plain.strip_prefix("./") {
        plain = rest.trim_start_matches('/');
    }
    cited(
        CitationKind::File,
        if plain.is_empty() { path } else { plain },
    )
}

/// Paths of `path:line: text`, as far as the model read them.
fn found_in(result: &str) -> Vec<&str> {
    let mut paths = Vec::new();
    let mut cut = false;
    for line in result.lines() {
        // Behind what was left out, the first line may lack its beginning.
        if std::mem::replace(&mut cut, line.starts_with("[… ")) || line.starts_with('[') {
            continue;
        }
        paths.extend(path_of(line));
    }
    paths
}

/// The path before the first line number.
fn path_of(line: &str) -> Option<&str> {
    line.match_indices(':').find_map(|(at, _)| {
        let rest = line.get(at + 1..)?;
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let behind = rest.get(digits..)?;
        (at > 0 && digits > 0 && (behind == ":" || behind.starts_with(": ")))
            .then(|| line.get(..at))?
    })
}

/// The memories of an answer of `recall`: a line of JSON each.
fn recalled(result: &str) -> impl Iterator<Item = Citation> {
    result.lines().filter_map(|line| {
        let item: Value = serde_json::from_str(line).ok()?;
        Some(cited(CitationKind::Memory, item["id"].as_str()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
