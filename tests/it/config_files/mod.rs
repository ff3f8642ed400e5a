//! Configuration layers and the errors a user can cause.
