//! Bridges to chat platforms: transport and formatting only; nothing here decides.

pub mod build;
pub mod channel;
pub mod scripted;
pub mod supervised_port;
pub mod supervisor;
pub mod telegram;
#[cfg(feature = "test-hooks")]
pub mod testing;
