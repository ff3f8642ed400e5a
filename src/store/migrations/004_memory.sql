-- Schema version 4: what is remembered, what was compacted, what hygiene put aside, what runs by itself. Never edited
-- once released.

-- Facts and pins. Text is outside text. `person_id` is whose message it came from, so that a person can be forgotten.
CREATE TABLE memories (
    position INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    scope TEXT NOT NULL CHECK (scope IN ('session', 'channel', 'global')),
    session_id BLOB CHECK (length(session_id) = 16),
    channel TEXT,
    kind TEXT NOT NULL CHECK (kind IN ('fact', 'preference', 'decision', 'task', 'person')),
    text TEXT NOT NULL,
    -- SHA-256 of the folded text: equal ones say the same.
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    author TEXT NOT NULL CHECK (author IN ('user', 'model', 'operator')),
    author_id TEXT NOT NULL,
    person_id TEXT,
    source_id BLOB CHECK (length(source_id) = 16),
    message_ref TEXT,
    confidence REAL NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    -- Which untrusted content was in context when it was written: a JSON list.
    taint TEXT NOT NULL DEFAULT '[]',
    pinned INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1)),
    state TEXT NOT NULL CHECK (state IN ('proposed', 'active', 'superseded', 'archived')),
    -- What an archived one was before, so that an undo restores it.
    archived_from TEXT CHECK (archived_from IN ('proposed', 'active', 'superseded', 'archived')),
    archived_by BLOB REFERENCES hygiene_runs (id),
    superseded_by BLOB CHECK (length(superseded_by) = 16),
    uses INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    last_used_at INTEGER,
    expires_at INTEGER,
    CHECK ((scope = 'session') = (session_id IS NOT NULL)),
    CHECK ((scope = 'global') = (channel IS NULL)),
    CHECK ((state = 'archived') = (archived_from IS NOT NULL)),
    CHECK (pinned = 0 OR state = 'active')
) STRICT;
CREATE INDEX memories_of_session ON memories (session_id, state) WHERE session_id IS NOT NULL;
CREATE INDEX memories_of_channel ON memories (channel, state) WHERE scope = 'channel';
CREATE INDEX memories_global ON memories (state) WHERE scope = 'global';
CREATE INDEX memories_by_state ON memories (state, updated_at);
CREATE INDEX memories_by_change ON memories (updated_at);
CREATE INDEX memories_pinned ON memories (scope) WHERE pinned = 1;
CREATE INDEX memories_by_digest ON memories (digest);
CREATE INDEX memories_of_person ON memories (person_id) WHERE person_id IS NOT NULL;
CREATE INDEX memories_expiring ON memories (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX memories_of_run ON memories (archived_by) WHERE archived_by IS NOT NULL;

CREATE VIRTUAL TABLE memory_fts USING fts5(text, content = 'memories', content_rowid = 'position', tokenize = "unicode61 remove_diacritics 2");
-- What is forgotten leaves the index at once, not with the next merge.
INSERT INTO memory_fts (memory_fts, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER memories_fts_insert AFTER INSERT ON memories
BEGIN INSERT INTO memory_fts (rowid, text) VALUES (NEW.position, NEW.text); END;
CREATE TRIGGER memories_fts_delete AFTER DELETE ON memories
BEGIN INSERT INTO memory_fts (memory_fts, rowid, text) VALUES ('delete', OLD.position, OLD.text); END;
CREATE TRIGGER memories_fts_update AFTER UPDATE OF text ON memories
BEGIN
    INSERT INTO memory_fts (memory_fts, rowid, text) VALUES ('delete', OLD.position, OLD.text);
    INSERT INTO memory_fts (rowid, text) VALUES (NEW.position, NEW.text);
END;

-- Embeddings: little-endian f32 of length 1 together. A row of another model than the configured one, or of another
-- text than the memory has now, is stale.
CREATE TABLE memory_vectors (
    memory_id BLOB NOT NULL PRIMARY KEY CHECK (length(memory_id) = 16),
    -- `<provider>/<model>`, with `@<dimensions>` where some are asked for.
    model TEXT NOT NULL,
    dimension INTEGER NOT NULL CHECK (dimension > 0),
    -- Of the memory that it was made of.
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    vector BLOB NOT NULL,
    at INTEGER NOT NULL,
    CHECK (length(vector) = 4 * dimension)
) STRICT, WITHOUT ROWID;

-- The rolling summary of a session: stands for its turns up to `covers_to` (a position of continuations).
CREATE TABLE summaries (
    session_id BLOB NOT NULL PRIMARY KEY REFERENCES sessions (id),
    version INTEGER NOT NULL,
    text TEXT NOT NULL,
    covers_to INTEGER NOT NULL,
    turns INTEGER NOT NULL,
    model TEXT NOT NULL,
    taint TEXT NOT NULL DEFAULT '[]',
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Compactions: one under way in a session at most.
CREATE TABLE compactions (
    position INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    session_id BLOB NOT NULL REFERENCES sessions (id),
    state TEXT NOT NULL CHECK (state IN ('running', 'done', 'failed')),
    epoch INTEGER NOT NULL,
    model TEXT NOT NULL,
    turns INTEGER NOT NULL,
    facts INTEGER NOT NULL DEFAULT 0,
    tokens_before INTEGER NOT NULL,
    tokens_after INTEGER,
    error TEXT,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    CHECK ((state = 'running') = (ended_at IS NULL))
) STRICT;
CREATE UNIQUE INDEX compactions_running ON compactions (session_id) WHERE state = 'running';
CREATE INDEX compactions_of_session ON compactions (session_id, position);

-- Since when a turn is covered by the summary of its session and no longer sent along; none = it is sent.
ALTER TABLE continuations ADD COLUMN archived_at INTEGER;
-- Nobody is there to answer: a gated call is denied unless the turn may be parked.
ALTER TABLE continuations ADD COLUMN unattended TEXT CHECK (unattended IN ('deny', 'park'));
-- The most it may do by itself, whatever its channel allows.
ALTER TABLE continuations ADD COLUMN autonomy_ceiling TEXT CHECK (autonomy_ceiling IN ('supervised', 'semi_auto', 'full'));
-- Which remembered things of untrusted origin a session has read, until it ends: a JSON list without names.
ALTER TABLE sessions ADD COLUMN taint TEXT NOT NULL DEFAULT '[]';
-- What a model call was for. Embeddings are of no turn and count in `spend` alone.
ALTER TABLE model_attempts ADD COLUMN purpose TEXT NOT NULL DEFAULT 'turn' CHECK (purpose IN ('turn', 'compaction'));

-- Runs of hygiene. What a run put aside can be restored until `undo_until`; after that it is removed for good.
CREATE TABLE hygiene_runs (
    position INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    state TEXT NOT NULL CHECK (state IN ('running', 'done', 'stopped', 'undone', 'removed')),
    by_label TEXT NOT NULL,
    -- What it put aside by scope and reason, and what it tidied: JSON.
    report TEXT NOT NULL,
    archived INTEGER NOT NULL DEFAULT 0,
    -- Those of them that an undo brought back.
    restored INTEGER NOT NULL DEFAULT 0,
    freed_bytes INTEGER NOT NULL DEFAULT 0,
    duration_ms INTEGER,
    at INTEGER NOT NULL,
    undo_until INTEGER NOT NULL,
    -- None while it runs, and while what it put aside is being brought back.
    ended_at INTEGER
) STRICT;
CREATE INDEX hygiene_runs_open ON hygiene_runs (state) WHERE ended_at IS NULL;
CREATE INDEX hygiene_runs_undoable ON hygiene_runs (undo_until) WHERE ended_at IS NOT NULL;

-- Sizes by local day (days since 1970), for the chart.
CREATE TABLE growth (
    day INTEGER NOT NULL PRIMARY KEY,
    memories INTEGER NOT NULL,
    archived INTEGER NOT NULL,
    vectors INTEGER NOT NULL,
    sessions INTEGER NOT NULL,
    continuations INTEGER NOT NULL,
    database_bytes INTEGER NOT NULL,
    log_bytes INTEGER NOT NULL,
    artifact_bytes INTEGER NOT NULL
) STRICT;

-- Messages that the bot sends itself.
CREATE TABLE routines (
    position INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    name TEXT NOT NULL UNIQUE,
    -- Five or six fields of cron, or `every 90m`.
    schedule TEXT NOT NULL,
    -- IANA name; none = of the machine.
    time_zone TEXT,
    prompt TEXT NOT NULL,
    channel TEXT NOT NULL,
    conversation TEXT NOT NULL,
    model TEXT,
    budgets TEXT NOT NULL,
    autonomy_ceiling TEXT NOT NULL CHECK (autonomy_ceiling IN ('supervised', 'semi_auto', 'full')),
    park INTEGER NOT NULL DEFAULT 0 CHECK (park IN (0, 1)),
    missed TEXT NOT NULL CHECK (missed IN ('skip', 'run_once')),
    jitter_seconds INTEGER NOT NULL DEFAULT 0,
    enabled INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    by_label TEXT NOT NULL,
    version INTEGER NOT NULL,
    -- The time it is due by its schedule, and when it is really begun (jitter); none = disabled, or never again.
    due_at INTEGER,
    begin_at INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX routines_due ON routines (begin_at) WHERE begin_at IS NOT NULL;

CREATE TABLE routine_runs (
    position INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    routine_id BLOB NOT NULL REFERENCES routines (id) ON DELETE CASCADE,
    state TEXT NOT NULL CHECK (state IN ('started', 'skipped', 'failed')),
    -- Why it was skipped or failed; who asked for it where a person did.
    detail TEXT,
    continuation_id BLOB CHECK (length(continuation_id) = 16),
    -- The time by the schedule; none = a person asked for it.
    due_at INTEGER,
    at INTEGER NOT NULL,
    CHECK ((state = 'started') = (continuation_id IS NOT NULL))
) STRICT;
CREATE UNIQUE INDEX routine_runs_once ON routine_runs (routine_id, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX routine_runs_of ON routine_runs (routine_id, position);
CREATE INDEX routine_runs_by_continuation ON routine_runs (continuation_id) WHERE continuation_id IS NOT NULL;

-- What hooks did to a call: a JSON list, in order.
ALTER TABLE tool_calls ADD COLUMN hooks TEXT CHECK (hooks IS NULL OR json_valid(hooks));
-- What models read instead of `text`, where a hook changed that.
ALTER TABLE continuations ADD COLUMN sent_text TEXT;
