-- Schema version 21: options of a message. Never edited once released.

-- What a message asks for beside its text, as JSON; none = nothing.
ALTER TABLE continuations ADD COLUMN options TEXT;
