-- Schema version 3: what may be spent, and what was.  Never edited once released.

-- Progress messages that wait, of one turn: every finish looks for them.
CREATE INDEX outbox_progress ON outbox (continuation_id) WHERE class = 'progress' AND settled_at IS NULL;
