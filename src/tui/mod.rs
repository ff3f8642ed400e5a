//! The console: one state, one reducer, drawn on demand.
