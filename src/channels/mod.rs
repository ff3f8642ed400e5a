//! Bridges to chat platforms: transport and formatting only; nothing here decides.

#![warn(missing_docs)]

pub mod build;
pub mod card;
pub mod channel;
pub mod discord;
pub mod fields;
pub mod files;
pub mod health;
pub mod http;
pub mod intake;
pub mod matrix;
pub mod menu;
pub mod outbound;
pub mod pacing;
pub mod parts;
pub mod platform;
pub mod process;
pub mod progress;
pub mod scripted;
pub mod serve;
pub mod slack;
pub mod supervisor;
pub mod sync;
pub mod telegram;
pub mod webhook;
pub mod websocket;
