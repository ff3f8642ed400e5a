//! The head of the audit, noted outside the database at each start and after each sweep, which is every six hours.
//!
//! A chain inside one file cannot show that its end was cut off; a line noted earlier can. The file `audit-anchors` has
//! lines with time, epoch, number and hash of the newest row, and `restored` where an older copy of the database had been
//! put in place, which loses what came after the copy and is no secret. The log gets the same line.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::clock::Timestamp;
use crate::protocol::doctor::AuditAnchor;

const FILE: &str = "audit-anchors";

/// Notes the head. A failure is a warning: the anchors are a second look, and the database is as durable without.
pub(crate) fn note(dir: &Path, now: Timestamp, epoch: u64, head: &AuditAnchor, restored: bool) {
    let mark = if restored { " restored" } else { "" };
    let (seq, hash) = (head.seq, &head.hash);
    tracing::info!(seq, %hash, "the audit ends here");
    let line = format!("{now} {epoch} {seq} {hash}{mark}\n");
    let written = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(dir.join(FILE))
        .and_then(|mut file| {
            file.write_all(line.as_bytes())?;
            file.sync_data()
        });
    if let Err(error) = written {
        tracing::warn!(%error, "the head of the audit was not noted in {FILE}");
    }
}

/// The anchors that the chain must still contain: those noted before an older copy was put in place count only up to
/// that copy's end. Lines that are no anchors are left out.
pub fn expected(dir: &Path) -> Vec<AuditAnchor> {
    let text = std::fs::read_to_string(dir.join(FILE)).unwrap_or_default();
    let mut anchors: Vec<AuditAnchor> = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, _, seq, hash, rest @ ..] = words.as_slice() else {
            continue;
        };
        let Ok(seq) = seq.parse() else {
            continue;
        };
        if rest.contains(&"restored") {
            anchors.retain(|anchor| anchor.seq < seq);
        }
        anchors.push(AuditAnchor {
            seq,
            hash: (*hash).to_owned(),
        });
    }
    anchors
}
