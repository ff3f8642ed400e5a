//! Bridges to chat platforms: transport and formatting only; nothing here decides.

#![warn(missing_docs)]

pub mod build;
pub mod channel;
pub mod scripted;
pub mod supervisor;
pub mod telegram;
