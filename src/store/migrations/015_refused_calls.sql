-- Schema version 15: calls that were refused because too many waited. Never edited once released.

-- Calls of a session that nobody was asked about, since a person last dismissed the count; and when the last one was.
ALTER TABLE sessions ADD COLUMN refused_calls INTEGER NOT NULL DEFAULT 0 CHECK (refused_calls >= 0);
ALTER TABLE sessions ADD COLUMN refused_at INTEGER;
CREATE INDEX sessions_refused ON sessions (refused_at) WHERE refused_calls > 0;
