-- Schema version 17: who was reminded of an approval. Never edited once released.

-- How many times a person was reminded of an approval in chats. The person is a name of the configuration.
CREATE TABLE reminders (
    approval_id BLOB NOT NULL REFERENCES approvals (id) ON DELETE CASCADE,
    person TEXT NOT NULL,
    count INTEGER NOT NULL CHECK (count > 0),
    sent_at INTEGER NOT NULL,
    PRIMARY KEY (approval_id, person)
) STRICT, WITHOUT ROWID;
