//! Clients of OpenAI's interface talk to the agent of a channel: the real binary over HTTP, and OpenAI's own libraries.

mod caller;
mod chat;
mod conversations;
mod doors;
mod history;
mod peers;
mod responses;
mod shapes;
mod waits;
