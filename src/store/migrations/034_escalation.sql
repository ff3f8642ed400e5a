-- Schema version 34: who heard of a question that nobody decided. Never edited once released.

-- Its steps so far and the next one, as JSON. A step and what delivers it are one transaction.
ALTER TABLE approvals ADD COLUMN escalation TEXT CHECK (escalation IS NULL OR json_valid(escalation));
