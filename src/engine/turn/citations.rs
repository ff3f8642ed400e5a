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
pub fn file(path: &str) -> Citation {
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
pub fn found_in(result: &str) -> Vec<&str> {
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
pub fn path_of(line: &str) -> Option<&str> {
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
