-- Schema version 25: skills and instructions that an operator trusts. Never edited once released.

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
