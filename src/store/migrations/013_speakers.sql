-- Schema version 13: who wrote a message and when, as models read it. Never edited once released.

-- JSON. NULL = the message came with an earlier version; models read it bare, as before.
ALTER TABLE continuations ADD COLUMN speaker TEXT;
