//! Shared harness of the suites.

pub mod aimock;
pub mod content_hash;
pub mod daemon;
pub mod fake_discord;
pub mod fake_http;
pub mod fake_platform;
pub mod fake_server;
pub mod fake_service;
pub mod fake_slack;
pub mod fake_telegram;
pub mod fault_proxy;
pub mod log_capture;
pub mod pty;
pub mod record;
pub mod requirement;
pub mod world;

/// A message as a model was sent it, without the block that says who wrote it and when.
pub fn without_sender(text: &str) -> &str {
    text.rsplit_once("</from>\n").map_or(text, |(_, said)| said)
}
