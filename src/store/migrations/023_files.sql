-- Schema version 23: files that come with messages and that go with answers. Never edited once released.

-- One row for each file that the turn of its message waits for.
CREATE TABLE inbound_files (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    continuation_id TEXT NOT NULL REFERENCES continuations (id) ON DELETE CASCADE,
    channel TEXT NOT NULL,
    -- What the bridge fetches it by.
    reference TEXT NOT NULL,
    name TEXT NOT NULL,
    media_type TEXT NOT NULL,
    -- A protocol::artifact::ArtifactRef as JSON, once it is fetched and something else is still to be done with it.
    artifact TEXT,
    created_at INTEGER NOT NULL
);
CREATE INDEX inbound_files_continuation ON inbound_files (continuation_id);
CREATE INDEX inbound_files_channel ON inbound_files (channel, id);
-- What the messages have in common that their sender sent as one, while the turn waits.
ALTER TABLE continuations ADD COLUMN message_group TEXT;

-- Files that leave with the answer of a turn.
CREATE TABLE outbound_files (
    tool_call_id TEXT PRIMARY KEY REFERENCES tool_calls (id) ON DELETE CASCADE,
    continuation_id TEXT NOT NULL REFERENCES continuations (id) ON DELETE CASCADE,
    -- A protocol::artifact::SentFile as JSON.
    file TEXT NOT NULL,
    created_at INTEGER NOT NULL
);
CREATE INDEX outbound_files_continuation ON outbound_files (continuation_id);
-- The file that a part is, as JSON; none = it is a text or a card.
ALTER TABLE outbox ADD COLUMN file TEXT;
