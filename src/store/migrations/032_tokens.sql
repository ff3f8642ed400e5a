-- Schema version 32: named tokens, and approvals that take two people. Never edited once released.

CREATE TABLE tokens (
    position INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    -- SHA-256 of the value, which is kept nowhere.
    hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    -- Words as JSON.
    scopes TEXT NOT NULL CHECK (json_valid(scopes)),
    -- Name under [people].
    person TEXT,
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    last_used_at INTEGER
) STRICT;
-- A name is free again once its token was revoked.
CREATE UNIQUE INDEX tokens_name ON tokens (name) WHERE revoked_at IS NULL;

-- Who allowed it first, with the revision that they saw, where two people must.
ALTER TABLE approvals ADD COLUMN allowed_by TEXT CHECK (allowed_by IS NULL OR json_valid(allowed_by));
