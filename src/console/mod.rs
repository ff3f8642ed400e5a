//! The console without a screen: what is known of each daemon, the Queue, the arming rule, decisions and their words.
//!
//! Nothing here draws, reads a key or knows a terminal. The full screen and the plain console both stand on it.

pub mod access;
pub mod arming;
pub mod audit_sentence;
pub mod connection;
pub mod decision;
pub mod drafts;
pub mod fold;
pub mod format;
pub mod hosts;
pub mod ids;
pub mod item;
pub mod labels;
pub mod lifetime;
pub mod loading;
pub mod message;
pub mod model;
pub mod opened;
pub mod preview;
pub mod queue;
pub mod rehearsals;
pub mod release;
pub mod status;
pub mod time;
pub mod trim;
pub mod undo;
pub mod update;
pub mod world;
