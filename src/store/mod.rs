//! The database: one writer thread, named atomic commands, read-only queries. No SQL elsewhere.
