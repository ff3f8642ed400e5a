-- Schema version 20: the files that come with a message. Never edited once released.

-- A JSON list of protocol::artifact::Attachment; none = no file. Each file has a row in artifact_references too.
ALTER TABLE continuations ADD COLUMN attachments TEXT;
