//! Leverframe as a server of the Model Context Protocol: session tools, and the built-in tools directly.
//!
//! Nothing here decides what may run, and no caller sees or answers an approval. Nobody gets at a session, a turn or a
//! task of another principal: a foreign id and an unknown one get the same answer.

pub mod calls;
pub mod handler;
pub mod http;
pub mod own;
pub mod principal;
pub mod schema;
pub mod stdio;
pub mod tasks;
pub mod tools;
pub mod views;
pub mod wait;
