//! Suite: `leverframe service`. The unit is what the book shows, systemd takes it, and the sandbox works under it.

mod arguments;
mod files;
mod unit;
