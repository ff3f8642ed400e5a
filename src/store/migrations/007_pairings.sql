-- Schema version 7: people whom an operator lets in. Never edited once released.

-- Whoever wrote to a channel without being on its list: the newest asking of each. Of the account, not of the
-- platform: who is let in on one bot is a stranger to the next.
CREATE TABLE pairings (
    channel TEXT NOT NULL,
    sender_id TEXT NOT NULL,
    display TEXT NOT NULL,
    conversation TEXT NOT NULL,
    code TEXT NOT NULL,
    approval_id BLOB NOT NULL UNIQUE CHECK (length(approval_id) = 16),
    state TEXT NOT NULL CHECK (state IN ('pending', 'accepted', 'refused', 'expired', 'revoked')),
    asked_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    decided_at INTEGER,
    by_label TEXT,
    PRIMARY KEY (channel, sender_id),
    CHECK ((state = 'pending') = (decided_at IS NULL))
) STRICT, WITHOUT ROWID;
