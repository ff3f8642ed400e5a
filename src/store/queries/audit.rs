//! Reading the audit: pages of rows, and whether the chain still contains what was noted of it.

use crate::protocol::doctor::{
    AnchorCheck, AnchorVerdict, AuditAnchor, AuditBreak, AuditReport, AuditRow,
};
use crate::protocol::hex::hex;
use crate::protocol::snapshot::{AuditFilter, Page, PageRequest};
use crate::store::audit_chain::AuditHead;
use crate::store::error::StoreError;
use crate::store::queries::page::read_page;
use crate::store::reader::Reader;
use crate::store::sql::{Row, Statements, columns, params};

const ROW: &str = "SELECT a.seq, a.at, a.action, a.actor, a.actor_id, a.surface, a.channel, a.subject,
        a.detail, a.hash,
        coalesce((SELECT p.hash FROM audit p WHERE p.seq = a.seq - 1),
            (SELECT s.hash FROM audit_segments s WHERE s.to_seq = a.seq - 1), zeroblob(32)) AS prev
     FROM audit a
     WHERE (?1 IS NULL OR a.at >= ?1) AND (?2 IS NULL OR a.at < ?2) AND (?3 IS NULL OR a.channel = ?3)
        AND (?4 IS NULL OR a.action = ?4) AND (?5 IS NULL OR a.actor = ?5 OR a.actor_id = ?5)";

fn audit_row(row: &Row<'_>) -> Result<(i64, AuditRow), StoreError> {
    let found = columns!(row => AuditRow {
        seq, at, action, actor, actor_id, surface, channel, subject, detail;
        prev: hex(&row.get::<[u8; 32]>("prev")?),
        hash: hex(&row.get::<[u8; 32]>("hash")?),
    });
    Ok((row.get("seq")?, found))
}

impl Reader<'_> {
    /// Rows of the audit, newest first unless asked for otherwise.
    pub fn audit_rows(
        &self,
        filter: &AuditFilter,
        page: &PageRequest,
    ) -> Result<Page<AuditRow>, StoreError> {
        let (tail, first) = if filter.oldest_first {
            ("AND a.seq > ?6 ORDER BY a.seq LIMIT ?7", 0)
        } else {
            ("AND a.seq < ?6 ORDER BY a.seq DESC LIMIT ?7", i64::MAX)
        };
        let AuditFilter {
            since,
            until,
            channel,
            action,
            actor,
            oldest_first: _,
        } = filter;
        read_page(page, first, |from, most| {
            self.conn.rows(
                &format!("{ROW} {tail}"),
                params![since, until, channel, action, actor, from, most],
                audit_row,
            )
        })
    }

    /// Whether the chain contains an anchor.
    fn anchor(&self, anchor: &AuditAnchor, first: u64) -> Result<AnchorCheck, StoreError> {
        let hash: Option<[u8; 32]> = self.conn.value_opt(
            "SELECT hash FROM audit WHERE seq = ?1
             UNION ALL SELECT hash FROM audit_segments WHERE to_seq = ?1",
            [anchor.seq],
        )?;
        let verdict = match hash {
            // Before the first row there is nothing, whose hash is zeros.
            None if anchor.seq == 0 => AnchorVerdict::Contained,
            Some(hash) if hex(&hash) == anchor.hash.to_ascii_lowercase() => {
                AnchorVerdict::Contained
            }
            Some(_) => AnchorVerdict::Differs,
            None if anchor.seq < first => AnchorVerdict::PutAside,
            None => AnchorVerdict::BeyondEnd,
        };
        Ok(AnchorCheck {
            anchor: anchor.clone(),
            verdict,
        })
    }

    /// Where the audit ends.
    pub(crate) fn audit_head(&self) -> Result<AuditAnchor, StoreError> {
        Ok(AuditHead::load(self.conn)?.anchor())
    }

    /// Walks the whole audit and compares it with the places that were noted of it.
    pub fn audit_report(
        &self,
        noted: &[AuditAnchor],
        given: Option<&AuditAnchor>,
    ) -> Result<AuditReport, StoreError> {
        let (rows, broken) = match self.verify_audit()? {
            Ok(rows) => (rows, None),
            Err(broken) => {
                let rows: u64 = self.conn.value("SELECT count(*) FROM audit", [])?;
                let (seq, reason) = (broken.seq, broken.reason);
                (rows, Some(AuditBreak { seq, reason }))
            }
        };
        let first_seq: Option<u64> = self.conn.value("SELECT min(seq) FROM audit", [])?;
        let first = first_seq.unwrap_or(0);
        let head = self.audit_head()?;
        let mut anchors_missing = Vec::new();
        for anchor in noted {
            let found = self.anchor(anchor, first)?;
            match found.verdict {
                AnchorVerdict::Contained | AnchorVerdict::PutAside => {}
                AnchorVerdict::Differs | AnchorVerdict::BeyondEnd => anchors_missing.push(found),
            }
        }
        Ok(AuditReport {
            rows,
            first_seq: first,
            head_seq: head.seq,
            head_hash: head.hash,
            broken,
            anchors: noted.len() as u64,
            anchors_missing,
            given: given.map(|anchor| self.anchor(anchor, first)).transpose()?,
        })
    }
}
