//! Parts that others wrote, and our client: servers, issuers, and the conformance suite of the protocol.

mod conformance;
mod issuer;
mod logins;
