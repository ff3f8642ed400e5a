-- Schema version 6: conversations that people hold in place of the agent, channels that drain. Never edited once
-- released.

-- Who writes in place of the agent. Of the conversation, not of a session: a new session of it is held as well.
CREATE TABLE take_overs (
    channel TEXT NOT NULL,
    conversation TEXT NOT NULL,
    id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    by_label TEXT NOT NULL,
    by_id TEXT NOT NULL,
    surface TEXT NOT NULL CHECK (surface IN ('console', 'http', 'cli', 'chat', 'scripted', 'engine')),
    at INTEGER NOT NULL,
    PRIMARY KEY (channel, conversation)
) STRICT, WITHOUT ROWID;

-- Since when a channel takes up nothing new.
ALTER TABLE channel_accounts ADD COLUMN draining_since INTEGER;
