//! Bridges to chat platforms: transport and formatting only; nothing here decides.

pub mod build;
pub mod channel;
pub mod scripted;
pub mod supervisor;
pub mod telegram;
