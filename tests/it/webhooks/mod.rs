//! Webhook channels of the real daemon: signed requests in, replies in answers and at an address.

mod answers;
mod callback;
mod gone;
mod signature;
pub mod world;
