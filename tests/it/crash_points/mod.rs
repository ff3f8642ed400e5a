//! kill -9 at every crash point, then recovery.
