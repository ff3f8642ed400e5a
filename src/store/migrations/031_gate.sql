-- Schema version 31: the channel and the surface `gate`, and what external agents report. Never edited once released.

-- The list of words in a CHECK is a part of the table's text. SQLite documents this way for a CHECK that only grows:
-- the rows stay as they are. A column that is not there and goes again makes every connection read the schema again.
ALTER TABLE take_overs ADD COLUMN schema_changes INTEGER;
ALTER TABLE take_overs DROP COLUMN schema_changes;
PRAGMA writable_schema = ON;
UPDATE sqlite_schema
SET sql = replace(sql, '''webhook'', ''process'')', '''webhook'', ''process'', ''gate'')')
WHERE type = 'table' AND name = 'channel_accounts';
UPDATE sqlite_schema
SET sql = replace(sql, '''chat'', ''scripted'', ''engine'', ''mcp'')', '''chat'', ''scripted'', ''engine'', ''mcp'', ''gate'')')
WHERE type = 'table' AND name IN ('policy_versions', 'continuations', 'audit', 'take_overs');
PRAGMA writable_schema = RESET;

-- What an external agent says of a call after it. Without a call of ours, the agent never asked.
CREATE TABLE call_reports (
    position INTEGER PRIMARY KEY,
    session_id BLOB NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    tool_call_id BLOB UNIQUE REFERENCES tool_calls (id) ON DELETE CASCADE,
    tool TEXT NOT NULL,
    outcome TEXT NOT NULL CHECK (outcome IN ('succeeded', 'failed', 'unreported')),
    -- Redacted.
    result TEXT,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX call_reports_session ON call_reports (session_id);
