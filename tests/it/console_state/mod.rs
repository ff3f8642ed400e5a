//! The console's reducer: properties over random keys and events.
