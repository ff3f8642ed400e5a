-- Schema version 16: what chats were told while their messages are worked on. Never edited once released.

-- When the notice was queued that work on this message goes on; a turn has one at most.
ALTER TABLE continuations ADD COLUMN progress_told_at INTEGER;
-- The message of the chat that shows how far the turn has come, by the platform's id; none = there is none.
ALTER TABLE continuations ADD COLUMN progress_ref TEXT;
CREATE INDEX continuations_progress ON continuations (session_id) WHERE progress_ref IS NOT NULL;
