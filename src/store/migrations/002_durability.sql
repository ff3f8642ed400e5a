-- Schema version 2: artifacts, what an adapter offers against doubled sends, keys with a life, an audit whose
-- oldest part can be put aside. Never edited once released.

-- Content kept in files named by their SHA-256. The file is durable before its row is.
CREATE TABLE artifacts (
    hash BLOB NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
    size INTEGER NOT NULL CHECK (size >= 0),
    media_type TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Who still needs an artifact; one without any is swept.
CREATE TABLE artifact_references (
    continuation_id BLOB NOT NULL REFERENCES continuations (id),
    hash BLOB NOT NULL REFERENCES artifacts (hash),
    tool_call_id BLOB CHECK (length(tool_call_id) = 16),
    PRIMARY KEY (continuation_id, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX artifact_references_of ON artifact_references (hash);

-- What the adapter said when the send began: recovery runs before any adapter does.
ALTER TABLE outbox ADD COLUMN idempotency TEXT NOT NULL DEFAULT 'none'
    CHECK (idempotency IN ('native_key', 'reconcile', 'none'));
-- How long the platform remembers a native key, in milliseconds; none = for ever.
ALTER TABLE outbox ADD COLUMN key_window_ms INTEGER;
-- When the first send began that may have arrived, of a part that is to be sent again by itself: its key lives from
-- then on. None = no earlier send may have arrived.
ALTER TABLE outbox ADD COLUMN begun_at INTEGER;

-- Until when the tool's key makes another run the first one; none = for ever (keyed calls only).
ALTER TABLE tool_attempts ADD COLUMN key_until INTEGER;

-- The oldest part of the audit, pruned: the chain goes on from the hash of its last row. Writing a segment appends
-- an audit row that names it.
CREATE TABLE audit_segments (
    to_seq INTEGER PRIMARY KEY,
    from_seq INTEGER NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    at INTEGER NOT NULL
) STRICT;
CREATE TRIGGER audit_segments_are_append_only_update BEFORE UPDATE ON audit_segments
BEGIN SELECT RAISE(ABORT, 'the segments of the audit are append-only'); END;
CREATE TRIGGER audit_segments_are_append_only_delete BEFORE DELETE ON audit_segments
BEGIN SELECT RAISE(ABORT, 'the segments of the audit are append-only'); END;
DROP TRIGGER audit_is_append_only_delete;
CREATE TRIGGER audit_is_append_only_delete BEFORE DELETE ON audit
WHEN OLD.seq > (SELECT coalesce(max(to_seq), 0) FROM audit_segments)
BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
