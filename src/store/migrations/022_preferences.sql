-- Schema version 22: preferences of a session. Never edited once released.

-- What models are told in every turn of the session, redacted; none = nothing.
ALTER TABLE sessions ADD COLUMN preferences TEXT;
