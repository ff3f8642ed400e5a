-- Schema version 27: tables that people sent. Never edited once released.

-- One row for each Parquet file `datasets/<channel>/<name>.parquet` of the data directory.
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
