//! M2: what hygiene archived can be brought back or is gone for good, and its runs say what they did.

use crate::store::check::rule::{Rule, Subject, query};

#[rustfmt::skip]
pub(crate) const RULES: &[Rule] = &[
    query("M2", "memory archived by a run that was undone or removed", "memories WHERE archived_by IS NOT NULL", Subject::Memory,
        "SELECT m.id, r.state AS note FROM memories m JOIN hygiene_runs r ON r.id = m.archived_by
         WHERE r.state = 'removed' OR (r.state = 'undone' AND r.ended_at IS NOT NULL)"),
    query("M2", "memory that names a run and is not archived, or a run that is not there", "memories WHERE archived_by IS NOT NULL", Subject::Memory,
        "SELECT m.id, m.state AS note FROM memories m LEFT JOIN hygiene_runs r ON r.id = m.archived_by
         WHERE m.archived_by IS NOT NULL AND (m.state <> 'archived' OR r.id IS NULL)"),
    query("M2", "run with more memories than it says it archived", "hygiene_runs", Subject::HygieneRun,
        "SELECT r.id, r.archived || ' and not ' || count(m.id) AS note FROM hygiene_runs r
         JOIN memories m ON m.archived_by = r.id
         GROUP BY r.id HAVING count(m.id) > r.archived"),
    query("M2", "run whose end does not fit its state", "hygiene_runs", Subject::HygieneRun,
        "SELECT id, state AS note FROM hygiene_runs WHERE (state = 'running' AND ended_at IS NOT NULL)
            OR (state IN ('done', 'stopped', 'removed') AND ended_at IS NULL) OR undo_until < at
            OR archived <> json_extract(report, '$.archived')"),
    query("M2", "memory that the index does not have, or entry of the index without a memory", "memories", Subject::Text,
        "SELECT 'position ' || m.position FROM memories m
            WHERE NOT EXISTS (SELECT 1 FROM memory_fts_docsize d WHERE d.id = m.position)
         UNION ALL SELECT 'entry ' || d.id FROM memory_fts_docsize d
            WHERE NOT EXISTS (SELECT 1 FROM memories m WHERE m.position = d.id)"),
];
