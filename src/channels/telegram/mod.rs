//! Telegram over the Bot API, by long poll.
//!
//! Nothing here decides, and nothing here holds state that is not at Telegram or behind the port.
//! Source of every format: <https://core.telegram.org/bots/api>.

pub mod api;
pub mod bridge;
pub mod card;
pub mod deliver;
pub mod files;
pub mod health;
pub mod inbound;
pub mod outbound;
pub mod pacing;
pub mod position;
pub mod progress;
pub mod render;
pub mod updates;
