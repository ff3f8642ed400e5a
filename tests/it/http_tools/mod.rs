//! Tools that speak HTTP, with the real binary: what a bot fetches, what that does to its session, and crashes.

mod configured;
mod declared;
mod fetch;
mod home_assistant;
