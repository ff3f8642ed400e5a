//! The stories of a newcomer, with the real binary: HTTP, Telegram, kill -9.

mod attachments;
pub mod bot;
mod chat_codes;
mod chat_commands;
mod chat_files;
mod chat_grants;
mod chat_indirect;
mod chat_notices;
mod chat_options;
mod chat_progress;
mod chat_sessions;
mod demo_risks;
mod health;
mod http;
mod large_calls;
mod live_output;
mod logs;
mod nul;
#[cfg(target_os = "linux")]
mod python;
mod questions;
mod telegram;
mod what_led_here;
