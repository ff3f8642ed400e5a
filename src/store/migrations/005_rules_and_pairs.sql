-- Schema version 5: rules that people make, and what rules and permissions for shapes were used for; an index of what
-- scripts without spaces say.
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

-- Characters that are looked for in pairs: scripts that put no spaces between words, of which `memory_fts` takes a whole
-- sentence for one word, and signs, of which it takes none. As a class for GLOB; `memory_search.rs` has the same.
CREATE VIEW paired_characters (class) AS SELECT '[' || char(
    0x0E00, 45, 0x0EFF, 0x1000, 45, 0x109F, 0x1780, 45, 0x17FF, 0x2190, 45, 0x2BFF, 0x3040, 45, 0x30FF, 0x31F0, 45, 0x31FF,
    0x3400, 45, 0x4DBF, 0x4E00, 45, 0x9FFF, 0xAC00, 45, 0xD7AF, 0xF900, 45, 0xFAFF, 0xFF66, 45, 0xFF9D,
    0x1F000, 45, 0x1FAFF, 0x20000, 45, 0x3FFFF) || ']';
-- A word for each such character and the one behind it (`6771x4eac`), or alone at the end of a run (`4eacx`): all words that
-- begin with `4eacx` are all places of that character.
CREATE VIEW memory_pairs_of (position, pairs) AS
SELECT m.position, (
    WITH RECURSIVE characters (at, this, next) AS (
        SELECT 1, substr(m.text, 1, 1), substr(m.text, 2, 1)
        UNION ALL SELECT at + 1, next, substr(m.text, at + 2, 1) FROM characters WHERE next <> ''
    )
    SELECT group_concat(printf('%xx', unicode(this)) || iif(next GLOB p.class, printf('%x', unicode(next)), ''), ' ')
    FROM characters WHERE this GLOB p.class
) FROM memories m, paired_characters p WHERE m.text GLOB '*' || p.class || '*';

CREATE VIRTUAL TABLE memory_pairs USING fts5(pairs, content = 'memory_pairs_of', content_rowid = 'position', detail = none, columnsize = 0, tokenize = 'ascii');
INSERT INTO memory_pairs (memory_pairs, rank) VALUES ('secure-delete', 1);
INSERT INTO memory_pairs (memory_pairs) VALUES ('rebuild');
CREATE TRIGGER memories_pairs_insert AFTER INSERT ON memories
BEGIN INSERT INTO memory_pairs (rowid, pairs) SELECT position, pairs FROM memory_pairs_of WHERE position = NEW.position; END;
-- Before, because what leaves the index is made of what the row still says.
CREATE TRIGGER memories_pairs_delete BEFORE DELETE ON memories
BEGIN
    INSERT INTO memory_pairs (memory_pairs, rowid, pairs)
    SELECT 'delete', position, pairs FROM memory_pairs_of WHERE position = OLD.position;
END;
CREATE TRIGGER memories_pairs_change BEFORE UPDATE OF text ON memories
BEGIN
    INSERT INTO memory_pairs (memory_pairs, rowid, pairs)
    SELECT 'delete', position, pairs FROM memory_pairs_of WHERE position = OLD.position;
END;
CREATE TRIGGER memories_pairs_changed AFTER UPDATE OF text ON memories
BEGIN INSERT INTO memory_pairs (rowid, pairs) SELECT position, pairs FROM memory_pairs_of WHERE position = NEW.position; END;
