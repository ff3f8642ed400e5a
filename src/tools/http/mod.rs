//! What tools that speak HTTP share: which addresses and hosts they may reach, one bounded exchange, and the text of an
//! answer.
//!
//! No request leaves here for an address that was not looked at, and no body is read without a bound.

pub mod address;
pub mod answer;
pub mod exchange;
pub mod hosts;
pub mod html;
pub mod resolver;
pub mod url;
