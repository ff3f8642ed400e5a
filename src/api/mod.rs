//! HTTP: an adapter over ConsoleClient, never over engine types.
