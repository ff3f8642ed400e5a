//! An exported audit, checked without its database. Nothing here knows what a row should say: only that all of them
//! belong to one chain.

use std::io::BufRead;

use crate::protocol::doctor::{
    AnchorCheck, AnchorVerdict, AuditAnchor, AuditBreak, AuditReport, AuditRow,
};
use crate::protocol::hex::{from_hex, hex};
use crate::store::audit_chain::Entry;

/// Why an export could not be walked.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// It could not be read.
    #[error("{0}")]
    Read(#[from] std::io::Error),
    /// A line is not a row.
    #[error("line {line} is no row of an audit: {problem}")]
    Line {
        /// Its number, from 1.
        line: u64,
        /// What is wrong.
        problem: serde_json::Error,
    },
    /// There is no row.
    #[error("it has no row")]
    Empty,
}

/// Walks an export, oldest row first, and says whether it contains `given`. The first row may follow one that is not
/// exported.
///
/// # Errors
/// When it cannot be read, has no row, or a line is not a row.
pub fn walk(export: impl BufRead, given: Option<&AuditAnchor>) -> Result<AuditReport, ExportError> {
    let mut walk = Walk::default();
    for (number, line) in (1..).zip(export.lines()) {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let row = serde_json::from_str(&line).map_err(|problem| ExportError::Line {
            line: number,
            problem,
        })?;
        walk.take(&row, given);
    }
    let (Some(first), Some((head_seq, head))) = (walk.first, walk.last) else {
        return Err(ExportError::Empty);
    };
    Ok(AuditReport {
        rows: walk.rows,
        first_seq: first,
        head_seq,
        head_hash: hex(&head),
        broken: walk.broken,
        anchors: 0,
        anchors_missing: Vec::new(),
        given: given.map(|anchor| AnchorCheck {
            anchor: anchor.clone(),
            verdict: match walk.given {
                Some(verdict) => verdict,
                None if anchor.seq < first => AnchorVerdict::PutAside,
                None => AnchorVerdict::BeyondEnd,
            },
        }),
    })
}

/// What is known after some rows.
#[derive(Default)]
struct Walk {
    rows: u64,
    first: Option<u64>,
    last: Option<(u64, [u8; 32])>,
    broken: Option<AuditBreak>,
    given: Option<AnchorVerdict>,
}

impl Walk {
    fn take(&mut self, row: &AuditRow, given: Option<&AuditAnchor>) {
        let prev = from_hex::<32>(&row.prev);
        let hash = prev.map(|prev| Entry::of(row).hash(row.seq, row.at, &prev));
        let reason = match self.last {
            Some((seq, _)) if row.seq != seq + 1 => Some(format!("row {} is missing", seq + 1)),
            Some((_, before)) if prev != Some(before) => {
                Some("it does not follow the row before".to_owned())
            }
            Some(_) | None if hash.is_none() || hash != from_hex(&row.hash) => {
                Some("its hash does not fit its content and the row before".to_owned())
            }
            Some(_) | None => None,
        };
        if let (None, Some(reason)) = (&self.broken, reason) {
            let seq = row.seq;
            self.broken = Some(AuditBreak { seq, reason });
        }
        if let Some(anchor) = given.filter(|anchor| anchor.seq == row.seq) {
            let same = from_hex::<32>(&anchor.hash) == hash && hash.is_some();
            self.given = Some(if same {
                AnchorVerdict::Contained
            } else {
                AnchorVerdict::Differs
            });
        }
        self.rows += 1;
        self.first.get_or_insert(row.seq);
        self.last = Some((row.seq, hash.unwrap_or_default()));
    }
}
