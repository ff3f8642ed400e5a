-- Schema version 1. Never edited once released: the next change is a new file.
-- Ids are 16 raw bytes, times milliseconds since 1970 UTC, JSON is TEXT. Every CHECK of a vocabulary is
-- compared with protocol::words by tests/it/store/schema.rs.

-- Flags and counters of the whole database: epoch, clean, quarantine, held_at, held_reason, starts, events_pruned.
CREATE TABLE meta (
    key TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE channel_accounts (
    name TEXT NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('desk', 'api', 'mcp', 'cli', 'routine', 'scripted', 'telegram')),
    cursor TEXT,
    paused INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)),
    baseline TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE policies (
    channel TEXT NOT NULL PRIMARY KEY REFERENCES channel_accounts (name),
    version INTEGER NOT NULL,
    autonomy TEXT NOT NULL CHECK (autonomy IN ('supervised', 'semi_auto', 'full')),
    expires_at INTEGER,
    reverts_to TEXT CHECK (reverts_to IN ('supervised', 'semi_auto', 'full')),
    auto_approve TEXT NOT NULL,
    block TEXT NOT NULL,
    always_ask TEXT NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX policies_expiring ON policies (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE policy_versions (
    channel TEXT NOT NULL REFERENCES channel_accounts (name),
    version INTEGER NOT NULL,
    policy TEXT NOT NULL,
    by_label TEXT NOT NULL,
    by_id TEXT NOT NULL,
    surface TEXT NOT NULL CHECK (surface IN ('console', 'http', 'cli', 'chat', 'scripted', 'engine')),
    at INTEGER NOT NULL,
    PRIMARY KEY (channel, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
    position INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    channel TEXT NOT NULL,
    conversation TEXT NOT NULL,
    title TEXT,
    state TEXT NOT NULL CHECK (state IN ('active', 'ended', 'expired')),
    paused INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)),
    temporary INTEGER NOT NULL DEFAULT 0 CHECK (temporary IN (0, 1)),
    model TEXT,
    last_line TEXT,
    last_sender TEXT,
    turns INTEGER NOT NULL DEFAULT 0,
    input_tokens INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0,
    cached_tokens INTEGER NOT NULL DEFAULT 0,
    cache_write_tokens INTEGER NOT NULL DEFAULT 0,
    cost_usd REAL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX sessions_active ON sessions (channel, conversation) WHERE state = 'active' AND temporary = 0;
CREATE INDEX sessions_by_change ON sessions (updated_at);
CREATE INDEX sessions_by_state ON sessions (state, updated_at);
CREATE INDEX sessions_by_channel ON sessions (channel, updated_at);

CREATE TABLE continuations (
    position INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    session_id BLOB NOT NULL REFERENCES sessions (id),
    state TEXT NOT NULL
        CHECK (state IN ('pending', 'running', 'awaiting_approval', 'interrupted', 'completed', 'failed', 'cancelled', 'expired')),
    epoch INTEGER NOT NULL DEFAULT 0,
    attempt INTEGER NOT NULL DEFAULT 0,
    requester_id TEXT NOT NULL,
    requester_display TEXT NOT NULL,
    requester_person TEXT,
    surface TEXT NOT NULL CHECK (surface IN ('console', 'http', 'cli', 'chat', 'scripted', 'engine')),
    text TEXT NOT NULL,
    model TEXT,
    message_ref TEXT,
    retry_of BLOB CHECK (length(retry_of) = 16),
    max_steps INTEGER NOT NULL,
    max_tool_calls INTEGER NOT NULL,
    max_active_ms INTEGER NOT NULL,
    max_tokens INTEGER NOT NULL,
    used_steps INTEGER NOT NULL DEFAULT 0,
    used_tool_calls INTEGER NOT NULL DEFAULT 0,
    used_active_ms INTEGER NOT NULL DEFAULT 0,
    input_tokens INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0,
    cached_tokens INTEGER NOT NULL DEFAULT 0,
    cache_write_tokens INTEGER NOT NULL DEFAULT 0,
    cost_usd REAL,
    error TEXT,
    gates_decided_at INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    ended_at INTEGER,
    CHECK ((ended_at IS NULL) = (state IN ('pending', 'running', 'awaiting_approval', 'interrupted')))
) STRICT;
CREATE INDEX continuations_of_session ON continuations (session_id);
CREATE INDEX continuations_by_state ON continuations (state);
CREATE INDEX continuations_open ON continuations (session_id, state) WHERE ended_at IS NULL;

CREATE TABLE inbox (
    id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    channel TEXT NOT NULL,
    principal TEXT NOT NULL,
    key TEXT,
    body_digest BLOB NOT NULL CHECK (length(body_digest) = 32),
    disposition TEXT NOT NULL CHECK (disposition IN ('turn', 'command', 'pairing', 'ignored', 'queue_full')),
    detail TEXT,
    continuation_id BLOB REFERENCES continuations (id),
    received_at INTEGER NOT NULL,
    CHECK ((disposition = 'turn') = (continuation_id IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX inbox_refused ON inbox (channel, detail) WHERE disposition = 'pairing';
CREATE UNIQUE INDEX inbox_once ON inbox (channel, principal, key) WHERE key IS NOT NULL;

CREATE TABLE steps (
    position INTEGER PRIMARY KEY,
    continuation_id BLOB NOT NULL REFERENCES continuations (id),
    n INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('model', 'tool_result', 'operator_note', 'final', 'error')),
    body TEXT NOT NULL,
    at INTEGER NOT NULL,
    UNIQUE (continuation_id, n)
) STRICT;

CREATE TABLE model_attempts (
    id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    continuation_id BLOB NOT NULL REFERENCES continuations (id),
    epoch INTEGER NOT NULL,
    step INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    model TEXT NOT NULL,
    estimated_tokens INTEGER NOT NULL,
    estimated_cost_usd REAL,
    input_tokens INTEGER,
    output_tokens INTEGER,
    cached_tokens INTEGER,
    cache_write_tokens INTEGER,
    cost_usd REAL,
    error TEXT,
    started_at INTEGER NOT NULL,
    settled_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX model_attempts_by_time ON model_attempts (started_at);
CREATE INDEX model_attempts_open ON model_attempts (continuation_id) WHERE settled_at IS NULL;

CREATE TABLE tool_calls (
    position INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    continuation_id BLOB NOT NULL REFERENCES continuations (id),
    channel TEXT NOT NULL,
    step INTEGER NOT NULL,
    idx INTEGER NOT NULL,
    provider_call_id TEXT NOT NULL,
    name TEXT NOT NULL,
    args TEXT NOT NULL,
    preview TEXT NOT NULL,
    access TEXT NOT NULL
        CHECK (access IN ('read_local', 'read_open', 'write_additive', 'write', 'exec', 'send', 'unknown')),
    effect TEXT NOT NULL
        CHECK (effect IN ('read_only', 'idempotent', 'keyed', 'reconcilable', 'non_idempotent')),
    risk TEXT NOT NULL CHECK (risk IN ('low', 'medium', 'high', 'critical')),
    risk_reasons TEXT NOT NULL,
    plan TEXT NOT NULL,
    digest TEXT NOT NULL,
    args_digest TEXT NOT NULL,
    idempotency_key TEXT NOT NULL UNIQUE,
    verdict TEXT NOT NULL CHECK (verdict IN ('allow', 'ask', 'deny')),
    rule TEXT NOT NULL,
    policy_version INTEGER NOT NULL,
    state TEXT NOT NULL
        CHECK (state IN ('proposed', 'blocked', 'denied', 'ready', 'awaiting', 'approved', 'started', 'succeeded', 'failed', 'indeterminate', 'succeeded_by_note', 'abandoned', 'cancelled', 'expired')),
    approval_id BLOB CHECK (length(approval_id) = 16),
    attempts INTEGER NOT NULL DEFAULT 0,
    result_step INTEGER,
    duration_ms INTEGER,
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    finished_at INTEGER,
    UNIQUE (continuation_id, step, idx)
) STRICT;
CREATE INDEX tool_calls_of_channel ON tool_calls (channel);
CREATE INDEX tool_calls_of_tool ON tool_calls (channel, name);
CREATE INDEX tool_calls_started ON tool_calls (continuation_id) WHERE state = 'started';

CREATE TABLE tool_attempts (
    id BLOB NOT NULL CHECK (length(id) = 16),
    call_id BLOB NOT NULL REFERENCES tool_calls (id),
    attempt INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    idempotency_key TEXT NOT NULL,
    approval_id BLOB CHECK (length(approval_id) = 16),
    started_at INTEGER NOT NULL,
    finished_at INTEGER,
    outcome TEXT
        CHECK (outcome IN ('proposed', 'blocked', 'denied', 'ready', 'awaiting', 'approved', 'started', 'succeeded', 'failed', 'indeterminate', 'succeeded_by_note', 'abandoned', 'cancelled', 'expired')),
    detail TEXT,
    PRIMARY KEY (call_id, attempt)
) STRICT, WITHOUT ROWID;

CREATE TABLE approvals (
    position INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    short_code TEXT NOT NULL,
    kind TEXT NOT NULL
        CHECK (kind IN ('execute', 'resolve_unknown', 'resend', 'budget', 'question', 'pairing', 'memory', 'server_pin', 'policy_raise')),
    state TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'denied', 'expired', 'revoked', 'consumed')),
    digest TEXT NOT NULL,
    revision INTEGER NOT NULL,
    channel TEXT NOT NULL,
    conversation TEXT NOT NULL,
    session_id BLOB REFERENCES sessions (id),
    continuation_id BLOB REFERENCES continuations (id),
    tool_call_id BLOB REFERENCES tool_calls (id),
    outbox_id BLOB CHECK (length(outbox_id) = 16),
    budget_kind TEXT CHECK (budget_kind IN ('steps', 'tool_calls', 'active_ms', 'tokens')),
    baseline TEXT,
    requester_id TEXT NOT NULL,
    requester_display TEXT NOT NULL,
    requester_person TEXT,
    taint TEXT NOT NULL,
    preview TEXT NOT NULL,
    model_reason TEXT,
    question TEXT,
    offered TEXT NOT NULL,
    notified INTEGER NOT NULL DEFAULT 0 CHECK (notified IN (0, 1)),
    requested_at INTEGER NOT NULL,
    expires_at INTEGER,
    decision TEXT
        CHECK (decision IN ('approve', 'deny', 'deny_and_stop', 'edit', 'answer', 'snooze', 'revoke', 'happened', 'run_again', 'give_up', 'sent', 'send_again', 'drop')),
    decision_body TEXT,
    decided_at INTEGER,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX approvals_by_state ON approvals (state);
CREATE INDEX approvals_by_code ON approvals (short_code);
CREATE INDEX approvals_of_continuation ON approvals (continuation_id);
CREATE INDEX approvals_due ON approvals (expires_at) WHERE state = 'pending' AND expires_at IS NOT NULL;
CREATE INDEX approvals_of_session ON approvals (session_id) WHERE state = 'pending';
CREATE INDEX approvals_of_channel ON approvals (channel) WHERE state = 'pending';
CREATE INDEX approvals_of_outbox ON approvals (outbox_id) WHERE outbox_id IS NOT NULL;

CREATE TABLE approval_snoozes (
    approval_id BLOB NOT NULL REFERENCES approvals (id),
    person_id TEXT NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (approval_id, person_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE session_grants (
    session_id BLOB NOT NULL REFERENCES sessions (id),
    tool TEXT NOT NULL,
    args_digest TEXT NOT NULL,
    requester_id TEXT NOT NULL,
    approval_id BLOB NOT NULL REFERENCES approvals (id),
    by_label TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    PRIMARY KEY (session_id, tool, args_digest, requester_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE outbox (
    position INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    channel TEXT NOT NULL,
    conversation TEXT NOT NULL,
    continuation_id BLOB CHECK (length(continuation_id) = 16),
    approval_id BLOB REFERENCES approvals (id),
    class TEXT NOT NULL CHECK (class IN ('final', 'approval_card', 'card_update', 'progress', 'notice')),
    state TEXT NOT NULL
        CHECK (state IN ('pending', 'sending', 'sent', 'failed', 'unknown', 'superseded', 'abandoned')),
    part INTEGER NOT NULL,
    parts INTEGER NOT NULL,
    text TEXT NOT NULL,
    buttons TEXT,
    target_ref TEXT,
    reply_to TEXT,
    attempts INTEGER NOT NULL DEFAULT 0,
    epoch INTEGER NOT NULL DEFAULT 0,
    not_before INTEGER,
    last_error TEXT,
    external_refs TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    settled_at INTEGER,
    CHECK ((settled_at IS NULL) = (state IN ('pending', 'sending')))
) STRICT;
CREATE INDEX outbox_by_state ON outbox (state);
CREATE INDEX outbox_open ON outbox (channel) WHERE settled_at IS NULL;
CREATE INDEX outbox_of_approval ON outbox (approval_id) WHERE approval_id IS NOT NULL;

CREATE TABLE card_tokens (
    token TEXT NOT NULL PRIMARY KEY,
    approval_id BLOB NOT NULL REFERENCES approvals (id),
    outbox_id BLOB NOT NULL REFERENCES outbox (id),
    revision INTEGER NOT NULL,
    digest TEXT NOT NULL,
    decision TEXT NOT NULL
        CHECK (decision IN ('approve', 'deny', 'deny_and_stop', 'edit', 'answer', 'snooze', 'revoke', 'happened', 'run_again', 'give_up', 'sent', 'send_again', 'drop')),
    spent_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX card_tokens_of_approval ON card_tokens (approval_id);

-- seq starts at epoch * 2^32 in each epoch and is assigned by the writer: never reused, gaps allowed.
CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    session_id BLOB,
    continuation_id BLOB,
    body TEXT NOT NULL
) STRICT;

CREATE TABLE audit (
    seq INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    action TEXT NOT NULL,
    actor TEXT NOT NULL,
    actor_id TEXT NOT NULL,
    surface TEXT NOT NULL CHECK (surface IN ('console', 'http', 'cli', 'chat', 'scripted', 'engine')),
    channel TEXT,
    subject TEXT NOT NULL,
    detail TEXT NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;
CREATE TRIGGER audit_is_append_only_update BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
CREATE TRIGGER audit_is_append_only_delete BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
