-- Schema version 9: the private turns of a session. Never edited once released.

-- Every new message asks whether its session has one: without it, all turns of the session were read each time.
CREATE INDEX continuations_private ON continuations (session_id) WHERE private = 1;
