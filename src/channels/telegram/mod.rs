//! Telegram over the Bot API, by long poll or by requests of Telegram.
//!
//! Nothing here decides, and nothing here holds state that is not at Telegram or behind the port.
//! Source of every format: <https://core.telegram.org/bots/api>.

pub mod api;
pub mod bridge;
pub mod check;
pub mod deliver;
pub mod inbound;
pub mod position;
pub mod render;
pub mod updates;
pub mod webhook;
