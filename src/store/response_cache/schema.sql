-- The response cache, version 2. A file of another version is made anew.
CREATE TABLE entries (
    row INTEGER PRIMARY KEY AUTOINCREMENT,
    key BLOB NOT NULL UNIQUE CHECK (length(key) = 32),
    asked BLOB NOT NULL CHECK (length(asked) = 16),
    channel TEXT NOT NULL,
    scope TEXT NOT NULL,
    requester TEXT NOT NULL,
    model TEXT NOT NULL,
    question TEXT NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    cost_usd REAL,
    bytes INTEGER NOT NULL,
    stored_at INTEGER NOT NULL,
    -- Order of use: a number that only rises, because clocks do not.
    used INTEGER NOT NULL,
    used_at INTEGER,
    hits INTEGER NOT NULL DEFAULT 0,
    pinned INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1)),
    -- Over key, answer and the facts that are given with it: a damaged page must not become an answer.
    sum BLOB NOT NULL CHECK (length(sum) = 8),
    answer TEXT NOT NULL
) STRICT;
CREATE INDEX entries_used ON entries (used) WHERE pinned = 0;
CREATE INDEX entries_asked ON entries (asked);
CREATE INDEX entries_channel ON entries (channel);
CREATE INDEX entries_stored ON entries (stored_at) WHERE pinned = 0;

CREATE TABLE counters (
    day TEXT NOT NULL,
    channel TEXT NOT NULL,
    model TEXT NOT NULL,
    scope TEXT NOT NULL,
    what TEXT NOT NULL,
    reason TEXT NOT NULL,
    times INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost_usd REAL NOT NULL,
    unpriced INTEGER NOT NULL,
    PRIMARY KEY (day, channel, model, scope, what, reason)
) STRICT, WITHOUT ROWID;

-- Results of tools; see results.rs.
CREATE TABLE results (
    key BLOB NOT NULL PRIMARY KEY CHECK (length(key) = 32),
    asked BLOB NOT NULL CHECK (length(asked) = 32),
    channel TEXT NOT NULL,
    ran_ms INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    changes INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    stored_at INTEGER NOT NULL,
    used INTEGER NOT NULL,
    sum BLOB NOT NULL CHECK (length(sum) = 8),
    content TEXT NOT NULL
) STRICT;
CREATE INDEX results_asked ON results (asked);
CREATE INDEX results_used ON results (used);
