-- Schema version 24: permissions and rules that end with a turn. Never edited once released.

-- The turn that the permission ends with; none = it ends with its session.
ALTER TABLE session_grants ADD COLUMN continuation_id BLOB CHECK (length(continuation_id) = 16);
CREATE INDEX session_grants_of_turn ON session_grants (continuation_id) WHERE continuation_id IS NOT NULL;

-- Rules of one turn: the words of a CHECK can only change with the table.
CREATE TABLE rules_of_24 (
    position INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    -- A tool's name, or `prefix*`.
    tool TEXT NOT NULL,
    -- The argument whose value is compared; none = all of them as canonical JSON.
    field TEXT,
    matcher TEXT NOT NULL CHECK (matcher IN ('exact', 'prefix', 'pattern')),
    value TEXT NOT NULL,
    scope TEXT NOT NULL CHECK (scope IN ('turn', 'session', 'channel', 'global')),
    channel TEXT,
    -- The session, of a rule of a turn too.
    session_id BLOB REFERENCES sessions (id),
    continuation_id BLOB CHECK (length(continuation_id) = 16),
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
    -- As seen from the workspace; none = the workspace itself.
    cwd TEXT,
    -- Links resolved; none = what the first word names.
    executable TEXT,
    CHECK ((scope = 'channel') = (channel IS NOT NULL)),
    CHECK ((scope IN ('turn', 'session')) = (session_id IS NOT NULL)),
    CHECK ((scope = 'turn') = (continuation_id IS NOT NULL)),
    CHECK (max_uses IS NULL OR uses <= max_uses)
) STRICT;
INSERT INTO rules_of_24 (position, id, tool, field, matcher, value, scope, channel, session_id, verdict, enabled,
    expires_at, max_uses, uses, last_used_at, note, approval_id, by_label, version, created_at, updated_at, cwd, executable)
SELECT position, id, tool, field, matcher, value, scope, channel, session_id, verdict, enabled,
    expires_at, max_uses, uses, last_used_at, note, approval_id, by_label, version, created_at, updated_at, cwd, executable
FROM rules;
DROP TABLE rules;
ALTER TABLE rules_of_24 RENAME TO rules;
CREATE INDEX rules_of_session ON rules (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX rules_of_turn ON rules (continuation_id) WHERE continuation_id IS NOT NULL;
