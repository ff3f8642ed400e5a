-- Schema version 5: rules that people make, and what rules and permissions for shapes were used for.
-- Never edited once released: the next change is a new file.

CREATE TABLE rules (
    position INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    -- A tool's name, or `prefix*`.
    tool TEXT NOT NULL,
    -- The argument whose value is compared; none = all of them as canonical JSON.
    field TEXT,
    matcher TEXT NOT NULL CHECK (matcher IN ('exact', 'prefix', 'pattern')),
    value TEXT NOT NULL,
    scope TEXT NOT NULL CHECK (scope IN ('session', 'channel', 'global')),
    channel TEXT,
    session_id BLOB REFERENCES sessions (id),
    verdict TEXT NOT NULL CHECK (verdict IN ('allow', 'ask', 'deny')),
    enabled INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    expires_at INTEGER,
    max_uses INTEGER,
    uses INTEGER NOT NULL DEFAULT 0,
    last_used_at INTEGER,
    note TEXT,
    -- The question it was made on.
    approval_id BLOB CHECK (length(approval_id) = 16),
    by_label TEXT NOT NULL,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    CHECK ((scope = 'channel') = (channel IS NOT NULL)),
    CHECK ((scope = 'session') = (session_id IS NOT NULL)),
    CHECK (max_uses IS NULL OR uses <= max_uses)
) STRICT;
CREATE INDEX rules_of_session ON rules (session_id) WHERE session_id IS NOT NULL;

ALTER TABLE session_grants ADD COLUMN uses INTEGER NOT NULL DEFAULT 0;
ALTER TABLE session_grants ADD COLUMN last_used_at INTEGER;
-- The rule that decided the call; it may be gone by now.
ALTER TABLE tool_calls ADD COLUMN rule_id BLOB CHECK (length(rule_id) = 16);
CREATE INDEX tool_calls_of_rule ON tool_calls (rule_id) WHERE rule_id IS NOT NULL;
