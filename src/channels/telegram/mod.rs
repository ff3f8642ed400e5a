//! Telegram over the Bot API, by long poll.
//!
//! Nothing here decides, and nothing here holds state that is not at Telegram or behind the port.
//! Source of every format: <https://core.telegram.org/bots/api>.

pub mod api;
pub mod bridge;
pub mod deliver;
pub mod inbound;
pub mod position;
pub mod render;
pub mod updates;
