-- Schema version 18: conversations that the engine paused. Never edited once released.

-- Why the engine paused the conversation of a session, how many there were, and when; none = it did not.
ALTER TABLE sessions ADD COLUMN flood TEXT CHECK (flood IN ('denials', 'turns'));
ALTER TABLE sessions ADD COLUMN flood_count INTEGER;
ALTER TABLE sessions ADD COLUMN flood_at INTEGER;
-- When a person last let it go on: what was before does not count.
ALTER TABLE sessions ADD COLUMN unpaused_at INTEGER;
CREATE INDEX sessions_flooded ON sessions (flood_at) WHERE flood IS NOT NULL;
CREATE INDEX sessions_unpaused ON sessions (channel, conversation) WHERE unpaused_at IS NOT NULL;
CREATE INDEX approvals_decided ON approvals (channel, conversation, decided_at)
    WHERE kind = 'execute' AND decided_at IS NOT NULL;
