-- Schema version 8: questions that wait for somebody in particular. Never edited once released.

-- Whom a pending question waits for, as JSON: who, by whom, since when, and a note. It decides nothing.
ALTER TABLE approvals ADD COLUMN waiting_for TEXT CHECK (waiting_for IS NULL OR json_valid(waiting_for));
