-- Schema version 33: what ended when, for statistics of any time without reading all of history. Never edited once
-- released. What ends is added at the end of each index.

CREATE INDEX continuations_by_end ON continuations (ended_at, state, session_id) WHERE ended_at IS NOT NULL;
CREATE INDEX tool_calls_by_end ON tool_calls (finished_at, state, channel, name, duration_ms)
    WHERE finished_at IS NOT NULL;
CREATE INDEX approvals_by_change ON approvals (updated_at, requested_at, decided_at, state, channel);
CREATE INDEX outbox_by_end ON outbox (settled_at, state, channel) WHERE settled_at IS NOT NULL;
