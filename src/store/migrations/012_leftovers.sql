-- Schema version 12: what runs of programs leave in places from which other programs run code. Never edited once released.

-- One row for each call whose program runs now, or left something. It outlives the history of its turn: a file may still
-- lie in the workspace that a person has not looked at.
CREATE TABLE leftovers (
    call_id BLOB PRIMARY KEY CHECK (length(call_id) = 16),
    session_id BLOB NOT NULL CHECK (length(session_id) = 16),
    continuation_id BLOB NOT NULL CHECK (length(continuation_id) = 16),
    channel TEXT NOT NULL,
    conversation TEXT NOT NULL,
    tool TEXT NOT NULL,
    preview TEXT NOT NULL,
    workspace TEXT NOT NULL,
    -- What the workspace had before the run; none = the run is over and was looked after.
    before TEXT CHECK (before IS NULL OR json_valid(before)),
    found TEXT CHECK (found IS NULL OR json_valid(found)),
    found_at INTEGER,
    dismissed_at INTEGER,
    by_label TEXT,
    CHECK (before IS NOT NULL OR found IS NOT NULL),
    CHECK ((found IS NULL) = (found_at IS NULL)),
    CHECK (dismissed_at IS NULL OR found IS NOT NULL),
    CHECK ((dismissed_at IS NULL) = (by_label IS NULL))
) STRICT, WITHOUT ROWID;
