//! Shared harness of the suites.

pub mod aimock;
pub mod daemon;
pub mod fake_http;
pub mod fake_platform;
pub mod fake_service;
pub mod fake_telegram;
pub mod pty;
pub mod record;
pub mod requirement;
