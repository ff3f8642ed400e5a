-- Schema version 10: what a card showed, and what the engine says about itself. Never edited once released.

-- Revision of the approval that a card showed when its send began.
ALTER TABLE outbox ADD COLUMN revision INTEGER;
-- Whether the platform's message shows the card whole; NULL = nobody said so.
ALTER TABLE outbox ADD COLUMN whole INTEGER CHECK (whole IN (0, 1));
UPDATE outbox SET revision = (SELECT max(t.revision) FROM card_tokens t WHERE t.outbox_id = outbox.id)
WHERE class = 'approval_card';

-- Codes of earlier revisions, separated by commas. Whoever sends one is told that it changed since.
ALTER TABLE approvals ADD COLUMN old_codes TEXT;
CREATE INDEX approvals_with_old_codes ON approvals (id) WHERE old_codes IS NOT NULL;

-- What a word of the engine about itself says. Such a word leaves during an emergency stop too.
ALTER TABLE outbox ADD COLUMN own TEXT CHECK (own IN ('held', 'interrupted', 'expired'));
CREATE INDEX outbox_of_the_engine ON outbox (channel, conversation) WHERE own IS NOT NULL;

-- Why a permission for the session would never be used for the call; NULL = nothing in the policy is against one.
ALTER TABLE approvals ADD COLUMN once_only TEXT;
