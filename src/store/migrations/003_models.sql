-- Schema version 3: what may be spent and what was, and how well estimates fit. Never edited once released.

-- Progress messages that wait, of one turn: every finish looks for them.
CREATE INDEX outbox_progress ON outbox (continuation_id) WHERE class = 'progress' AND settled_at IS NULL;

-- Real input tokens per estimated one, learned from the session's settled calls; none = not known yet.
ALTER TABLE sessions ADD COLUMN estimate_ratio REAL;

-- What the estimate of the input alone was, to learn from; where and on which local day (days since 1970) it counts.
ALTER TABLE model_attempts ADD COLUMN estimated_input_tokens INTEGER;
ALTER TABLE model_attempts ADD COLUMN channel TEXT;
ALTER TABLE model_attempts ADD COLUMN day INTEGER;
ALTER TABLE model_attempts ADD COLUMN latency_ms INTEGER;

-- Settled model calls by local day: what was spent where. Grows by one row a day, channel and model.
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

-- What was spent before: days in UTC, because nobody noted the local ones. Calls of a turn that was swept are lost.
UPDATE model_attempts SET day = started_at / 86400000, channel = (
    SELECT s.channel FROM continuations c JOIN sessions s ON s.id = c.session_id WHERE c.id = continuation_id);
INSERT INTO spend
    SELECT day, channel, model, count(*), count(error), coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0),
        coalesce(sum(cached_tokens), 0), coalesce(sum(cache_write_tokens), 0), total(cost_usd),
        coalesce(sum(CASE WHEN cost_usd IS NULL THEN input_tokens + output_tokens END), 0)
    FROM model_attempts WHERE settled_at IS NOT NULL GROUP BY day, channel, model;

-- Sums over priced calls: `cost_usd` says nothing any more once one call had no price.
ALTER TABLE sessions ADD COLUMN spent_usd REAL NOT NULL DEFAULT 0;
ALTER TABLE continuations ADD COLUMN spent_usd REAL NOT NULL DEFAULT 0;
UPDATE continuations SET spent_usd = m.usd
    FROM (SELECT continuation_id, total(cost_usd) AS usd FROM model_attempts GROUP BY continuation_id) m
    WHERE m.continuation_id = continuations.id;
UPDATE sessions SET spent_usd = c.usd
    FROM (SELECT session_id, total(spent_usd) AS usd FROM continuations GROUP BY session_id) c
    WHERE c.session_id = sessions.id;
UPDATE sessions SET spent_usd = max(spent_usd, coalesce(cost_usd, 0.0));

-- US dollars a turn may cost; none = no limit in money.
ALTER TABLE continuations ADD COLUMN max_cost_usd REAL;

-- Which limit beyond those of `budget_kind` an approval of kind budget is about.
ALTER TABLE approvals ADD COLUMN budget TEXT
    CHECK (budget IN ('cost', 'session_tokens', 'session_cost', 'channel_tokens', 'channel_cost', 'day_tokens', 'day_cost'));

-- The day it is about, and what it adds where the decision names no amount: tokens, US dollars, seconds or a count.
ALTER TABLE approvals ADD COLUMN budget_day INTEGER;
ALTER TABLE approvals ADD COLUMN budget_extra REAL;

-- What people added to the budget of a session, of a channel for a day, or of a day. Outlives its question, which is
-- swept with its turn.
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

-- Whether a turn wants a new answer even where one is kept, and whether it was said in a chat of two.
ALTER TABLE continuations ADD COLUMN fresh INTEGER NOT NULL DEFAULT 0 CHECK (fresh IN (0, 1));
ALTER TABLE continuations ADD COLUMN private INTEGER NOT NULL DEFAULT 0 CHECK (private IN (0, 1));
-- Limits of which four fifths were used, so that each is told once: of a turn, a session, a channel's day or a day.
CREATE TABLE budget_warnings (
    budget TEXT NOT NULL,
    scope TEXT NOT NULL,
    day INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (budget, scope, day)
) STRICT, WITHOUT ROWID;
