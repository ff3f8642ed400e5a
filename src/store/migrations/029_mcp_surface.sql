-- Schema version 29: the surface `mcp`. Never edited once released.

-- The list of words in a CHECK is a part of the table's text. SQLite documents this way for a CHECK that only grows:
-- the rows stay as they are. A column that is not there and goes again makes every connection read the schema again.
ALTER TABLE take_overs ADD COLUMN schema_changes INTEGER;
ALTER TABLE take_overs DROP COLUMN schema_changes;
PRAGMA writable_schema = ON;
UPDATE sqlite_schema
SET sql = replace(sql, '''chat'', ''scripted'', ''engine'')', '''chat'', ''scripted'', ''engine'', ''mcp'')')
WHERE type = 'table' AND name IN ('policy_versions', 'continuations', 'audit', 'take_overs');
PRAGMA writable_schema = RESET;
