//! Parts that others wrote, and our client: servers, issuers, and the conformance suite of the protocol.

mod issuer;
mod logins;
