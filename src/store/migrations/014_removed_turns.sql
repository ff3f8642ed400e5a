-- Schema version 14: how many turns retention removed. Never edited once released.

-- Completed turns of the session that are no longer there. What went before this version is not counted.
ALTER TABLE sessions ADD COLUMN removed_turns INTEGER NOT NULL DEFAULT 0;
-- Those of them that the summary stands for.
ALTER TABLE summaries ADD COLUMN removed_turns INTEGER NOT NULL DEFAULT 0;
