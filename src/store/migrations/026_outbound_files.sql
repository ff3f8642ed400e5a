-- Schema version 26: a call sends several files. Never edited once released.

-- The key can only change with the table.
CREATE TABLE outbound_files_of_26 (
    tool_call_id TEXT NOT NULL REFERENCES tool_calls (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    continuation_id TEXT NOT NULL REFERENCES continuations (id) ON DELETE CASCADE,
    -- A protocol::artifact::SentFile as JSON.
    file TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (tool_call_id, name)
);
INSERT INTO outbound_files_of_26 (tool_call_id, name, continuation_id, file, created_at)
    SELECT tool_call_id, coalesce(json_extract(file, '$.name'), ''), continuation_id, file, created_at
    FROM outbound_files;
DROP TABLE outbound_files;
ALTER TABLE outbound_files_of_26 RENAME TO outbound_files;
CREATE INDEX outbound_files_continuation ON outbound_files (continuation_id);
