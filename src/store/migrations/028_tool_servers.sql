-- Schema version 28: tool servers, what an operator trusts of each, and what it offered last. Never edited once released.

CREATE TABLE tool_servers (
    -- Its name in the configuration.
    name TEXT PRIMARY KEY,
    -- Who it is, as an operator trusts it; none = nothing of it is trusted.
    identity TEXT,
    trusted_at INTEGER,
    by_label TEXT,
    -- Whether agents get its resources.
    trusts_resources INTEGER NOT NULL DEFAULT 0 CHECK (trusts_resources IN (0, 1)),
    -- What it offered last; none = it was never seen.
    offered_identity TEXT,
    offered_at INTEGER,
    -- Over all of it that can be trusted.
    offered_sha256 TEXT CHECK (length(offered_sha256) = 64),
    instructions TEXT,
    warnings TEXT NOT NULL DEFAULT '[]',
    has_resources INTEGER NOT NULL DEFAULT 0 CHECK (has_resources IN (0, 1)),
    -- What a person has answered: of this nobody is asked again.
    decided_sha256 TEXT CHECK (length(decided_sha256) = 64),
    -- The question that waits.
    approval_id BLOB UNIQUE CHECK (length(approval_id) = 16),
    CHECK ((identity IS NULL) = (trusted_at IS NULL)),
    CHECK ((identity IS NULL) = (by_label IS NULL)),
    CHECK ((offered_identity IS NULL) = (offered_at IS NULL)),
    CHECK ((offered_identity IS NULL) = (offered_sha256 IS NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE server_tools (
    server TEXT NOT NULL REFERENCES tool_servers (name) ON DELETE CASCADE,
    -- Its name on the server.
    name TEXT NOT NULL,
    -- The definition that is trusted, as JSON.
    trusted TEXT,
    trusted_sha256 TEXT CHECK (length(trusted_sha256) = 64),
    -- The definition that the server offered last, as JSON; none = it did not offer it, or one that cannot be used.
    offered TEXT,
    offered_sha256 TEXT CHECK (length(offered_sha256) = 64),
    -- Why the offered one cannot be used, or is left out.
    problem TEXT,
    -- Whether the offered one can be trusted.
    usable INTEGER NOT NULL CHECK (usable IN (0, 1)),
    PRIMARY KEY (server, name),
    CHECK ((trusted IS NULL) = (trusted_sha256 IS NULL)),
    CHECK ((offered IS NULL) = (offered_sha256 IS NULL)),
    CHECK (usable = 0 OR offered IS NOT NULL),
    CHECK (trusted IS NOT NULL OR offered IS NOT NULL OR problem IS NOT NULL)
) STRICT, WITHOUT ROWID;
