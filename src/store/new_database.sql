-- Schema version 35 in one piece: what the migrations up to it make of a new file. Later migrations come after it.
-- `tests/it/store/new_database.rs` compares it with them, and writes it.
CREATE TABLE meta (
    key TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE channel_accounts (
    name TEXT NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('desk', 'api', 'mcp', 'cli', 'routine', 'scripted', 'telegram', 'discord', 'slack', 'matrix', 'webhook', 'process', 'gate')),
    cursor TEXT,
    paused INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)),
    baseline TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
, draining_since INTEGER, last_exchange_at INTEGER, last_inbound_at INTEGER, last_outbound_at INTEGER) STRICT, WITHOUT ROWID;
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
    surface TEXT NOT NULL CHECK (surface IN ('console', 'http', 'cli', 'chat', 'scripted', 'engine', 'mcp', 'gate')),
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
, estimate_ratio REAL, spent_usd REAL NOT NULL DEFAULT 0, taint TEXT NOT NULL DEFAULT '[]', removed_turns INTEGER NOT NULL DEFAULT 0, refused_calls INTEGER NOT NULL DEFAULT 0 CHECK (refused_calls >= 0), refused_at INTEGER, flood TEXT CHECK (flood IN ('denials', 'turns')), flood_count INTEGER, flood_at INTEGER, unpaused_at INTEGER, preferences TEXT) STRICT;
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
    surface TEXT NOT NULL CHECK (surface IN ('console', 'http', 'cli', 'chat', 'scripted', 'engine', 'mcp', 'gate')),
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
    ended_at INTEGER, spent_usd REAL NOT NULL DEFAULT 0, max_cost_usd REAL, fresh INTEGER NOT NULL DEFAULT 0 CHECK (fresh IN (0, 1)), private INTEGER NOT NULL DEFAULT 0 CHECK (private IN (0, 1)), archived_at INTEGER, unattended TEXT CHECK (unattended IN ('deny', 'park')), autonomy_ceiling TEXT CHECK (autonomy_ceiling IN ('supervised', 'semi_auto', 'full')), sent_text TEXT, speaker TEXT, progress_told_at INTEGER, progress_ref TEXT, attachments TEXT, options TEXT, message_group TEXT,
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
, estimated_input_tokens INTEGER, channel TEXT, day INTEGER, latency_ms INTEGER, purpose TEXT NOT NULL DEFAULT 'turn' CHECK (purpose IN ('turn', 'compaction'))) STRICT, WITHOUT ROWID;
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
    finished_at INTEGER, hooks TEXT CHECK (hooks IS NULL OR json_valid(hooks)), rule_id BLOB CHECK (length(rule_id) = 16),
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
    detail TEXT, key_until INTEGER,
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
, budget TEXT
    CHECK (budget IN ('cost', 'session_tokens', 'session_cost', 'channel_tokens', 'channel_cost', 'day_tokens', 'day_cost')), budget_day INTEGER, budget_extra REAL, waiting_for TEXT CHECK (waiting_for IS NULL OR json_valid(waiting_for)), old_codes TEXT, once_only TEXT, allowed_by TEXT CHECK (allowed_by IS NULL OR json_valid(allowed_by)), escalation TEXT CHECK (escalation IS NULL OR json_valid(escalation))) STRICT;
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
    expires_at INTEGER, uses INTEGER NOT NULL DEFAULT 0, last_used_at INTEGER, continuation_id BLOB CHECK (length(continuation_id) = 16),
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
    settled_at INTEGER, idempotency TEXT NOT NULL DEFAULT 'none'
    CHECK (idempotency IN ('native_key', 'reconcile', 'none')), key_window_ms INTEGER, begun_at INTEGER, revision INTEGER, whole INTEGER CHECK (whole IN (0, 1)), own TEXT CHECK (own IN ('held', 'interrupted', 'expired')), file TEXT,
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
    surface TEXT NOT NULL CHECK (surface IN ('console', 'http', 'cli', 'chat', 'scripted', 'engine', 'mcp', 'gate')),
    channel TEXT,
    subject TEXT NOT NULL,
    detail TEXT NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;
CREATE TRIGGER audit_is_append_only_update BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
CREATE TABLE artifacts (
    hash BLOB NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
    size INTEGER NOT NULL CHECK (size >= 0),
    media_type TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE artifact_references (
    continuation_id BLOB NOT NULL REFERENCES continuations (id),
    hash BLOB NOT NULL REFERENCES artifacts (hash),
    tool_call_id BLOB CHECK (length(tool_call_id) = 16),
    PRIMARY KEY (continuation_id, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX artifact_references_of ON artifact_references (hash);
CREATE TABLE audit_segments (
    to_seq INTEGER PRIMARY KEY,
    from_seq INTEGER NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    at INTEGER NOT NULL
) STRICT;
CREATE TRIGGER audit_segments_are_append_only_update BEFORE UPDATE ON audit_segments
BEGIN SELECT RAISE(ABORT, 'the segments of the audit are append-only'); END;
CREATE TRIGGER audit_segments_are_append_only_delete BEFORE DELETE ON audit_segments
BEGIN SELECT RAISE(ABORT, 'the segments of the audit are append-only'); END;
CREATE TRIGGER audit_is_append_only_delete BEFORE DELETE ON audit
WHEN OLD.seq > (SELECT coalesce(max(to_seq), 0) FROM audit_segments)
BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
CREATE INDEX outbox_progress ON outbox (continuation_id) WHERE class = 'progress' AND settled_at IS NULL;
CREATE TABLE spend (
    day INTEGER NOT NULL,
    channel TEXT NOT NULL,
    model TEXT NOT NULL,
    calls INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    -- Sum over priced calls.
    cost_usd REAL NOT NULL,
    -- Tokens of calls whose price is not known.
    unpriced_tokens INTEGER NOT NULL,
    PRIMARY KEY (day, channel, model)
) STRICT, WITHOUT ROWID;
CREATE TABLE budget_grants (
    approval_id BLOB NOT NULL PRIMARY KEY CHECK (length(approval_id) = 16),
    budget TEXT NOT NULL
        CHECK (budget IN ('session_tokens', 'session_cost', 'channel_tokens', 'channel_cost', 'day_tokens', 'day_cost')),
    session_id BLOB CHECK (length(session_id) = 16),
    channel TEXT,
    day INTEGER,
    -- Tokens or US dollars.
    amount REAL NOT NULL,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX budget_grants_of_day ON budget_grants (day);
CREATE INDEX budget_grants_of_session ON budget_grants (session_id) WHERE session_id IS NOT NULL;
CREATE TABLE budget_warnings (
    budget TEXT NOT NULL,
    scope TEXT NOT NULL,
    day INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (budget, scope, day)
) STRICT, WITHOUT ROWID;
CREATE TABLE memories (
    position INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    scope TEXT NOT NULL CHECK (scope IN ('session', 'channel', 'global')),
    session_id BLOB CHECK (length(session_id) = 16),
    channel TEXT,
    kind TEXT NOT NULL CHECK (kind IN ('fact', 'preference', 'decision', 'task', 'person')),
    text TEXT NOT NULL,
    -- SHA-256 of the folded text: equal ones say the same.
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    author TEXT NOT NULL CHECK (author IN ('user', 'model', 'operator')),
    author_id TEXT NOT NULL,
    person_id TEXT,
    source_id BLOB CHECK (length(source_id) = 16),
    message_ref TEXT,
    confidence REAL NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    -- Which untrusted content was in context when it was written: a JSON list.
    taint TEXT NOT NULL DEFAULT '[]',
    pinned INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1)),
    state TEXT NOT NULL CHECK (state IN ('proposed', 'active', 'superseded', 'archived')),
    -- What an archived one was before, so that an undo restores it.
    archived_from TEXT CHECK (archived_from IN ('proposed', 'active', 'superseded', 'archived')),
    archived_by BLOB REFERENCES hygiene_runs (id),
    superseded_by BLOB CHECK (length(superseded_by) = 16),
    uses INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    last_used_at INTEGER,
    expires_at INTEGER,
    CHECK ((scope = 'session') = (session_id IS NOT NULL)),
    CHECK ((scope = 'global') = (channel IS NULL)),
    CHECK ((state = 'archived') = (archived_from IS NOT NULL)),
    CHECK (pinned = 0 OR state = 'active')
) STRICT;
CREATE INDEX memories_of_session ON memories (session_id, state) WHERE session_id IS NOT NULL;
CREATE INDEX memories_of_channel ON memories (channel, state) WHERE scope = 'channel';
CREATE INDEX memories_global ON memories (state) WHERE scope = 'global';
CREATE INDEX memories_by_state ON memories (state, updated_at);
CREATE INDEX memories_by_change ON memories (updated_at);
CREATE INDEX memories_pinned ON memories (scope) WHERE pinned = 1;
CREATE INDEX memories_by_digest ON memories (digest);
CREATE INDEX memories_of_person ON memories (person_id) WHERE person_id IS NOT NULL;
CREATE INDEX memories_expiring ON memories (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX memories_of_run ON memories (archived_by) WHERE archived_by IS NOT NULL;
CREATE VIRTUAL TABLE memory_fts USING fts5(text, content = 'memories', content_rowid = 'position', tokenize = "unicode61 remove_diacritics 2");
INSERT INTO memory_fts (memory_fts, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER memories_fts_insert AFTER INSERT ON memories
BEGIN INSERT INTO memory_fts (rowid, text) VALUES (NEW.position, NEW.text); END;
CREATE TRIGGER memories_fts_delete AFTER DELETE ON memories
BEGIN INSERT INTO memory_fts (memory_fts, rowid, text) VALUES ('delete', OLD.position, OLD.text); END;
CREATE TRIGGER memories_fts_update AFTER UPDATE OF text ON memories
BEGIN
    INSERT INTO memory_fts (memory_fts, rowid, text) VALUES ('delete', OLD.position, OLD.text);
    INSERT INTO memory_fts (rowid, text) VALUES (NEW.position, NEW.text);
END;
CREATE TABLE memory_vectors (
    memory_id BLOB NOT NULL PRIMARY KEY CHECK (length(memory_id) = 16),
    -- `<provider>/<model>`, with `@<dimensions>` where some are asked for.
    model TEXT NOT NULL,
    dimension INTEGER NOT NULL CHECK (dimension > 0),
    -- Of the memory that it was made of.
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    vector BLOB NOT NULL,
    at INTEGER NOT NULL,
    CHECK (length(vector) = 4 * dimension)
) STRICT, WITHOUT ROWID;
CREATE TABLE summaries (
    session_id BLOB NOT NULL PRIMARY KEY REFERENCES sessions (id),
    version INTEGER NOT NULL,
    text TEXT NOT NULL,
    covers_to INTEGER NOT NULL,
    turns INTEGER NOT NULL,
    model TEXT NOT NULL,
    taint TEXT NOT NULL DEFAULT '[]',
    at INTEGER NOT NULL
, removed_turns INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;
CREATE TABLE compactions (
    position INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    session_id BLOB NOT NULL REFERENCES sessions (id),
    state TEXT NOT NULL CHECK (state IN ('running', 'done', 'failed')),
    epoch INTEGER NOT NULL,
    model TEXT NOT NULL,
    turns INTEGER NOT NULL,
    facts INTEGER NOT NULL DEFAULT 0,
    tokens_before INTEGER NOT NULL,
    tokens_after INTEGER,
    error TEXT,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    CHECK ((state = 'running') = (ended_at IS NULL))
) STRICT;
CREATE UNIQUE INDEX compactions_running ON compactions (session_id) WHERE state = 'running';
CREATE INDEX compactions_of_session ON compactions (session_id, position);
CREATE TABLE hygiene_runs (
    position INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    state TEXT NOT NULL CHECK (state IN ('running', 'done', 'stopped', 'undone', 'removed')),
    by_label TEXT NOT NULL,
    -- What it put aside by scope and reason, and what it tidied: JSON.
    report TEXT NOT NULL,
    archived INTEGER NOT NULL DEFAULT 0,
    -- Those of them that an undo brought back.
    restored INTEGER NOT NULL DEFAULT 0,
    freed_bytes INTEGER NOT NULL DEFAULT 0,
    duration_ms INTEGER,
    at INTEGER NOT NULL,
    undo_until INTEGER NOT NULL,
    -- None while it runs, and while what it put aside is being brought back.
    ended_at INTEGER
) STRICT;
CREATE INDEX hygiene_runs_open ON hygiene_runs (state) WHERE ended_at IS NULL;
CREATE INDEX hygiene_runs_undoable ON hygiene_runs (undo_until) WHERE ended_at IS NOT NULL;
CREATE TABLE growth (
    day INTEGER NOT NULL PRIMARY KEY,
    memories INTEGER NOT NULL,
    archived INTEGER NOT NULL,
    vectors INTEGER NOT NULL,
    sessions INTEGER NOT NULL,
    continuations INTEGER NOT NULL,
    database_bytes INTEGER NOT NULL,
    log_bytes INTEGER NOT NULL,
    artifact_bytes INTEGER NOT NULL
) STRICT;
CREATE TABLE routines (
    position INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    name TEXT NOT NULL UNIQUE,
    -- Five or six fields of cron, or `every 90m`.
    schedule TEXT NOT NULL,
    -- IANA name; none = of the machine.
    time_zone TEXT,
    prompt TEXT NOT NULL,
    channel TEXT NOT NULL,
    conversation TEXT NOT NULL,
    model TEXT,
    budgets TEXT NOT NULL,
    autonomy_ceiling TEXT NOT NULL CHECK (autonomy_ceiling IN ('supervised', 'semi_auto', 'full')),
    park INTEGER NOT NULL DEFAULT 0 CHECK (park IN (0, 1)),
    missed TEXT NOT NULL CHECK (missed IN ('skip', 'run_once')),
    jitter_seconds INTEGER NOT NULL DEFAULT 0,
    enabled INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    by_label TEXT NOT NULL,
    version INTEGER NOT NULL,
    -- The time it is due by its schedule, and when it is really begun (jitter); none = disabled, or never again.
    due_at INTEGER,
    begin_at INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX routines_due ON routines (begin_at) WHERE begin_at IS NOT NULL;
CREATE TABLE routine_runs (
    position INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    routine_id BLOB NOT NULL REFERENCES routines (id) ON DELETE CASCADE,
    state TEXT NOT NULL CHECK (state IN ('started', 'skipped', 'failed')),
    -- Why it was skipped or failed; who asked for it where a person did.
    detail TEXT,
    continuation_id BLOB CHECK (length(continuation_id) = 16),
    -- The time by the schedule; none = a person asked for it.
    due_at INTEGER,
    at INTEGER NOT NULL,
    CHECK ((state = 'started') = (continuation_id IS NOT NULL))
) STRICT;
CREATE UNIQUE INDEX routine_runs_once ON routine_runs (routine_id, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX routine_runs_of ON routine_runs (routine_id, position);
CREATE INDEX routine_runs_by_continuation ON routine_runs (continuation_id) WHERE continuation_id IS NOT NULL;
CREATE INDEX tool_calls_of_rule ON tool_calls (rule_id) WHERE rule_id IS NOT NULL;
CREATE VIEW paired_characters (class) AS SELECT '[' || char(
    0x0E00, 45, 0x0EFF, 0x1000, 45, 0x109F, 0x1780, 45, 0x17FF, 0x2190, 45, 0x2BFF, 0x3040, 45, 0x30FF, 0x31F0, 45, 0x31FF,
    0x3400, 45, 0x4DBF, 0x4E00, 45, 0x9FFF, 0xAC00, 45, 0xD7AF, 0xF900, 45, 0xFAFF, 0xFF66, 45, 0xFF9D,
    0x1F000, 45, 0x1FAFF, 0x20000, 45, 0x3FFFF) || ']';
CREATE VIEW memory_pairs_of (position, pairs) AS
SELECT m.position, (
    WITH RECURSIVE characters (at, this, next) AS (
        SELECT 1, substr(m.text, 1, 1), substr(m.text, 2, 1)
        UNION ALL SELECT at + 1, next, substr(m.text, at + 2, 1) FROM characters WHERE next <> ''
    )
    SELECT group_concat(printf('%xx', unicode(this)) || iif(next GLOB p.class, printf('%x', unicode(next)), ''), ' ')
    FROM characters WHERE this GLOB p.class
) FROM memories m, paired_characters p WHERE m.text GLOB '*' || p.class || '*';
CREATE VIRTUAL TABLE memory_pairs USING fts5(pairs, content = 'memory_pairs_of', content_rowid = 'position', detail = none, columnsize = 0, tokenize = 'ascii');
INSERT INTO memory_pairs (memory_pairs, rank) VALUES ('secure-delete', 1);
INSERT INTO memory_pairs (memory_pairs) VALUES ('rebuild');
CREATE TRIGGER memories_pairs_insert AFTER INSERT ON memories
BEGIN INSERT INTO memory_pairs (rowid, pairs) SELECT position, pairs FROM memory_pairs_of WHERE position = NEW.position; END;
CREATE TRIGGER memories_pairs_delete BEFORE DELETE ON memories
BEGIN
    INSERT INTO memory_pairs (memory_pairs, rowid, pairs)
    SELECT 'delete', position, pairs FROM memory_pairs_of WHERE position = OLD.position;
END;
CREATE TRIGGER memories_pairs_change BEFORE UPDATE OF text ON memories
BEGIN
    INSERT INTO memory_pairs (memory_pairs, rowid, pairs)
    SELECT 'delete', position, pairs FROM memory_pairs_of WHERE position = OLD.position;
END;
CREATE TRIGGER memories_pairs_changed AFTER UPDATE OF text ON memories
BEGIN INSERT INTO memory_pairs (rowid, pairs) SELECT position, pairs FROM memory_pairs_of WHERE position = NEW.position; END;
CREATE TABLE take_overs (
    channel TEXT NOT NULL,
    conversation TEXT NOT NULL,
    id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    by_label TEXT NOT NULL,
    by_id TEXT NOT NULL,
    surface TEXT NOT NULL CHECK (surface IN ('console', 'http', 'cli', 'chat', 'scripted', 'engine', 'mcp', 'gate')),
    at INTEGER NOT NULL,
    PRIMARY KEY (channel, conversation)
) STRICT, WITHOUT ROWID;
CREATE TABLE pairings (
    channel TEXT NOT NULL,
    sender_id TEXT NOT NULL,
    display TEXT NOT NULL,
    conversation TEXT NOT NULL,
    code TEXT NOT NULL,
    approval_id BLOB NOT NULL UNIQUE CHECK (length(approval_id) = 16),
    state TEXT NOT NULL CHECK (state IN ('pending', 'accepted', 'refused', 'expired', 'revoked')),
    asked_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    decided_at INTEGER,
    by_label TEXT,
    PRIMARY KEY (channel, sender_id),
    CHECK ((state = 'pending') = (decided_at IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX continuations_private ON continuations (session_id) WHERE private = 1;
CREATE INDEX approvals_with_old_codes ON approvals (id) WHERE old_codes IS NOT NULL;
CREATE INDEX outbox_of_the_engine ON outbox (channel, conversation) WHERE own IS NOT NULL;
CREATE TABLE leftovers (
    call_id BLOB PRIMARY KEY CHECK (length(call_id) = 16),
    session_id BLOB NOT NULL CHECK (length(session_id) = 16),
    continuation_id BLOB NOT NULL CHECK (length(continuation_id) = 16),
    channel TEXT NOT NULL,
    conversation TEXT NOT NULL,
    tool TEXT NOT NULL,
    preview TEXT NOT NULL,
    workspace TEXT NOT NULL,
    -- What the workspace had before the run; none = the run is over and was looked after.
    before TEXT CHECK (before IS NULL OR json_valid(before)),
    found TEXT CHECK (found IS NULL OR json_valid(found)),
    found_at INTEGER,
    dismissed_at INTEGER,
    by_label TEXT,
    CHECK (before IS NOT NULL OR found IS NOT NULL),
    CHECK ((found IS NULL) = (found_at IS NULL)),
    CHECK (dismissed_at IS NULL OR found IS NOT NULL),
    CHECK ((dismissed_at IS NULL) = (by_label IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_refused ON sessions (refused_at) WHERE refused_calls > 0;
CREATE INDEX continuations_progress ON continuations (session_id) WHERE progress_ref IS NOT NULL;
CREATE TABLE reminders (
    approval_id BLOB NOT NULL REFERENCES approvals (id) ON DELETE CASCADE,
    person TEXT NOT NULL,
    count INTEGER NOT NULL CHECK (count > 0),
    sent_at INTEGER NOT NULL,
    PRIMARY KEY (approval_id, person)
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_flooded ON sessions (flood_at) WHERE flood IS NOT NULL;
CREATE INDEX sessions_unpaused ON sessions (channel, conversation) WHERE unpaused_at IS NOT NULL;
CREATE INDEX approvals_decided ON approvals (channel, conversation, decided_at)
    WHERE kind = 'execute' AND decided_at IS NOT NULL;
CREATE TABLE inbound_files (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    continuation_id TEXT NOT NULL REFERENCES continuations (id) ON DELETE CASCADE,
    channel TEXT NOT NULL,
    -- What the bridge fetches it by.
    reference TEXT NOT NULL,
    name TEXT NOT NULL,
    media_type TEXT NOT NULL,
    -- A protocol::artifact::ArtifactRef as JSON, once it is fetched and something else is still to be done with it.
    artifact TEXT,
    created_at INTEGER NOT NULL
);
CREATE INDEX inbound_files_continuation ON inbound_files (continuation_id);
CREATE INDEX inbound_files_channel ON inbound_files (channel, id);
CREATE INDEX session_grants_of_turn ON session_grants (continuation_id) WHERE continuation_id IS NOT NULL;
CREATE TABLE "rules" (
    position INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    -- A tool's name, or `prefix*`.
    tool TEXT NOT NULL,
    -- The argument whose value is compared; none = all of them as canonical JSON.
    field TEXT,
    matcher TEXT NOT NULL CHECK (matcher IN ('exact', 'prefix', 'pattern')),
    value TEXT NOT NULL,
    scope TEXT NOT NULL CHECK (scope IN ('turn', 'session', 'channel', 'global')),
    channel TEXT,
    -- The session, of a rule of a turn too.
    session_id BLOB REFERENCES sessions (id),
    continuation_id BLOB CHECK (length(continuation_id) = 16),
    verdict TEXT NOT NULL CHECK (verdict IN ('allow', 'ask', 'deny')),
    enabled INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    expires_at INTEGER,
    max_uses INTEGER,
    uses INTEGER NOT NULL DEFAULT 0,
    last_used_at INTEGER,
    note TEXT,
    -- The question it was made on.
    approval_id BLOB CHECK (length(approval_id) = 16),
    by_label TEXT NOT NULL,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    -- As seen from the workspace; none = the workspace itself.
    cwd TEXT,
    -- Links resolved; none = what the first word names.
    executable TEXT,
    CHECK ((scope = 'channel') = (channel IS NOT NULL)),
    CHECK ((scope IN ('turn', 'session')) = (session_id IS NOT NULL)),
    CHECK ((scope = 'turn') = (continuation_id IS NOT NULL)),
    CHECK (max_uses IS NULL OR uses <= max_uses)
) STRICT;
CREATE INDEX rules_of_session ON rules (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX rules_of_turn ON rules (continuation_id) WHERE continuation_id IS NOT NULL;
CREATE TABLE skills (
    id INTEGER PRIMARY KEY,
    -- Name of a skill, or `instructions:` and the channel.
    name TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL CHECK (kind IN ('instructions', 'skill')),
    channel TEXT,
    description TEXT NOT NULL,
    -- Over the files as they were, before secrets were taken out of the texts below.
    sha256 TEXT NOT NULL CHECK (length(sha256) = 64),
    trusted_at INTEGER NOT NULL,
    by_label TEXT NOT NULL,
    CHECK ((kind = 'instructions') = (channel IS NOT NULL))
) STRICT;
CREATE TABLE skill_files (
    skill_id INTEGER NOT NULL REFERENCES skills (id) ON DELETE CASCADE,
    -- Below the folder of the skill.
    path TEXT NOT NULL,
    sha256 TEXT NOT NULL CHECK (length(sha256) = 64),
    -- none = no UTF-8 text.
    content TEXT,
    PRIMARY KEY (skill_id, path)
) STRICT, WITHOUT ROWID;
CREATE TABLE "outbound_files" (
    tool_call_id TEXT NOT NULL REFERENCES tool_calls (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    continuation_id TEXT NOT NULL REFERENCES continuations (id) ON DELETE CASCADE,
    -- A protocol::artifact::SentFile as JSON.
    file TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (tool_call_id, name)
);
CREATE INDEX outbound_files_continuation ON outbound_files (continuation_id);
CREATE TABLE datasets (
    position INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    channel TEXT NOT NULL,
    name TEXT NOT NULL,
    -- The name of the file that it was made of.
    source TEXT NOT NULL,
    row_count INTEGER NOT NULL,
    -- A list of protocol::dataset::DatasetColumn as JSON.
    columns TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    -- Of the Parquet file, in hexadecimal digits.
    sha256 TEXT NOT NULL CHECK (length(sha256) = 64),
    -- A list of texts as JSON.
    notes TEXT NOT NULL,
    uploaded_by TEXT NOT NULL,
    -- Stable platform id of the sender of the message that it came with; none = it was uploaded.
    sender TEXT,
    -- Whose text it holds when nobody here vouches for it.
    taint TEXT,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    UNIQUE (channel, name)
) STRICT;
CREATE INDEX datasets_expire ON datasets (expires_at) WHERE expires_at IS NOT NULL;
CREATE TABLE tool_servers (
    -- Its name in the configuration.
    name TEXT PRIMARY KEY,
    -- Who it is, as an operator trusts it; none = nothing of it is trusted.
    identity TEXT,
    trusted_at INTEGER,
    by_label TEXT,
    -- Whether agents get its resources.
    trusts_resources INTEGER NOT NULL DEFAULT 0 CHECK (trusts_resources IN (0, 1)),
    -- What it offered last; none = it was never seen.
    offered_identity TEXT,
    offered_at INTEGER,
    -- Over all of it that can be trusted.
    offered_sha256 TEXT CHECK (length(offered_sha256) = 64),
    instructions TEXT,
    warnings TEXT NOT NULL DEFAULT '[]',
    has_resources INTEGER NOT NULL DEFAULT 0 CHECK (has_resources IN (0, 1)),
    -- What a person has answered: of this nobody is asked again.
    decided_sha256 TEXT CHECK (length(decided_sha256) = 64),
    -- The question that waits.
    approval_id BLOB UNIQUE CHECK (length(approval_id) = 16),
    CHECK ((identity IS NULL) = (trusted_at IS NULL)),
    CHECK ((identity IS NULL) = (by_label IS NULL)),
    CHECK ((offered_identity IS NULL) = (offered_at IS NULL)),
    CHECK ((offered_identity IS NULL) = (offered_sha256 IS NULL))
) STRICT, WITHOUT ROWID;
CREATE TABLE server_tools (
    server TEXT NOT NULL REFERENCES tool_servers (name) ON DELETE CASCADE,
    -- Its name on the server.
    name TEXT NOT NULL,
    -- The definition that is trusted, as JSON.
    trusted TEXT,
    trusted_sha256 TEXT CHECK (length(trusted_sha256) = 64),
    -- The definition that the server offered last, as JSON; none = it did not offer it, or one that cannot be used.
    offered TEXT,
    offered_sha256 TEXT CHECK (length(offered_sha256) = 64),
    -- Why the offered one cannot be used, or is left out.
    problem TEXT,
    -- Whether the offered one can be trusted.
    usable INTEGER NOT NULL CHECK (usable IN (0, 1)),
    PRIMARY KEY (server, name),
    CHECK ((trusted IS NULL) = (trusted_sha256 IS NULL)),
    CHECK ((offered IS NULL) = (offered_sha256 IS NULL)),
    CHECK (usable = 0 OR offered IS NOT NULL),
    CHECK (trusted IS NOT NULL OR offered IS NOT NULL OR problem IS NOT NULL)
) STRICT, WITHOUT ROWID;
CREATE TABLE call_reports (
    position INTEGER PRIMARY KEY,
    session_id BLOB NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    tool_call_id BLOB UNIQUE REFERENCES tool_calls (id) ON DELETE CASCADE,
    tool TEXT NOT NULL,
    outcome TEXT NOT NULL CHECK (outcome IN ('succeeded', 'failed', 'unreported')),
    -- Redacted.
    result TEXT,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX call_reports_session ON call_reports (session_id);
CREATE TABLE tokens (
    position INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    -- SHA-256 of the value, which is kept nowhere.
    hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    -- Words as JSON.
    scopes TEXT NOT NULL CHECK (json_valid(scopes)),
    -- Name under [people].
    person TEXT,
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    last_used_at INTEGER
) STRICT;
CREATE UNIQUE INDEX tokens_name ON tokens (name) WHERE revoked_at IS NULL;
CREATE INDEX continuations_by_end ON continuations (ended_at, state, session_id) WHERE ended_at IS NOT NULL;
CREATE INDEX tool_calls_by_end ON tool_calls (finished_at, state, channel, name, duration_ms)
    WHERE finished_at IS NOT NULL;
CREATE INDEX approvals_by_change ON approvals (updated_at, requested_at, decided_at, state, channel);
CREATE INDEX outbox_by_end ON outbox (settled_at, state, channel) WHERE settled_at IS NOT NULL;
CREATE INDEX model_attempts_of_compactions ON model_attempts (continuation_id) WHERE purpose = 'compaction';
