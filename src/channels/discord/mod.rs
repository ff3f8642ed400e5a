//! Discord over its gateway (version 10) and its REST interface.
//!
//! Nothing here decides, and nothing here holds state that is not at Discord or behind the port.
//! Source of every format: <https://docs.discord.com/developers>.

pub mod account;
pub mod api;
pub mod bridge;
pub mod catch_up;
pub mod check;
pub mod connection;
pub mod deliver;
pub mod events;
pub mod fields;
pub mod gateway;
pub mod interactions;
pub mod limits;
pub mod message;
pub mod names;
pub mod position;
pub mod render;
pub mod session;
