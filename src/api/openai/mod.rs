//! The agent of a channel for clients of OpenAI's interface: chat completions and responses.
//!
//! Nothing here runs a tool for a client or shows an approval to one. A request never changes a session whose history is
//! not the one that the client sends: it opens another.

pub mod answer;
pub mod chat;
pub mod chat_answer;
pub mod content;
pub mod conversation;
pub mod dialogue;
pub mod error;
pub mod follow;
pub mod history;
pub mod models;
pub mod parameters;
pub mod responses;
pub mod responses_answer;

use crate::api::route::Route;

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    [chat::routes(), responses::routes(), models::routes()].concat()
}
