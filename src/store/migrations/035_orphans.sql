-- Schema version 35: what removals left behind goes, and no removal misses a compaction's call. Never edited once released.

-- Removals run without foreign keys, so no ON DELETE CASCADE removed these rows. They can hold words of an erased user.
PRAGMA secure_delete = ON;
DELETE FROM reminders WHERE NOT EXISTS (SELECT 1 FROM approvals a WHERE a.id = reminders.approval_id);
DELETE FROM inbound_files WHERE NOT EXISTS (SELECT 1 FROM continuations c WHERE c.id = inbound_files.continuation_id);
DELETE FROM outbound_files WHERE NOT EXISTS (SELECT 1 FROM tool_calls t WHERE t.id = outbound_files.tool_call_id)
    OR NOT EXISTS (SELECT 1 FROM continuations c WHERE c.id = outbound_files.continuation_id);
DELETE FROM call_reports WHERE NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = call_reports.session_id)
    OR (tool_call_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM tool_calls t WHERE t.id = call_reports.tool_call_id));
-- A session that expired kept its rules.
DELETE FROM rules WHERE session_id IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = rules.session_id AND s.state = 'active');
-- An open call is settled by the next start.
DELETE FROM model_attempts WHERE settled_at IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM continuations c WHERE c.id = model_attempts.continuation_id);
PRAGMA secure_delete = FAST;

-- A compaction's call hangs on a turn that ended: the only calls that a turn can get after its end.
CREATE INDEX model_attempts_of_compactions ON model_attempts (continuation_id) WHERE purpose = 'compaction';
