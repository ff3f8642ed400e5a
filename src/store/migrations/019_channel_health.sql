-- Schema version 19: when a channel last talked to its platform. Never edited once released.

ALTER TABLE channel_accounts ADD COLUMN last_exchange_at INTEGER;
ALTER TABLE channel_accounts ADD COLUMN last_inbound_at INTEGER;
ALTER TABLE channel_accounts ADD COLUMN last_outbound_at INTEGER;
