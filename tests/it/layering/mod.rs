//! The table of permitted arrows between modules.
