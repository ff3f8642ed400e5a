-- Schema version 30: channels of Discord, Slack, Matrix, webhooks and programs. Never edited once released.

-- The list of words in a CHECK is a part of the table's text. SQLite documents this way for a CHECK that only grows:
-- the rows stay as they are. A column that is not there and goes again makes every connection read the schema again.
ALTER TABLE take_overs ADD COLUMN schema_changes INTEGER;
ALTER TABLE take_overs DROP COLUMN schema_changes;
PRAGMA writable_schema = ON;
UPDATE sqlite_schema
SET sql = replace(sql, '''scripted'', ''telegram'')', '''scripted'', ''telegram'', ''discord'', ''slack'', ''matrix'', ''webhook'', ''process'')')
WHERE type = 'table' AND name = 'channel_accounts';
PRAGMA writable_schema = RESET;
