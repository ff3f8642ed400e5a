-- Schema version 11: where and with what the commands run that a rule allows. Never edited once released.

-- As seen from the workspace; none = the workspace itself. Rules of earlier versions mean that.
ALTER TABLE rules ADD COLUMN cwd TEXT;
-- Links resolved; none = what the first word names.
ALTER TABLE rules ADD COLUMN executable TEXT;
