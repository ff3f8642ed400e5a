//! Parts that others wrote, and our client: servers, issuers, and the conformance suite of the protocol.

mod conformance;
mod crashes;
mod issuer;
mod login_command;
mod logins;
mod servers;
mod world;
