//! HTTP: an adapter over `ConsoleClient`, never over engine types.
//!
//! Nothing in a request body, query or header other than the credential decides who acts: the actor comes
//! from the unix socket's peer or from the token's record. Nothing here writes to the store or decides
//! policy. One table (`router::table`) is both the router and `/openapi.json`.

pub mod accounts;
pub mod artifacts;
pub mod audit;
pub mod auth;
pub mod body;
pub mod cache;
pub mod channels;
pub mod connection;
pub mod continuations;
pub mod datasets;
pub mod error;
pub mod events;
pub mod form;
pub mod framing;
pub mod gate;
pub mod generic;
pub mod guarded;
pub mod health;
pub mod limiter;
pub mod listener;
pub mod mcp;
pub mod mcp_servers;
pub mod memory;
pub mod metrics;
pub mod on_call;
pub mod open_credentials;
pub mod openai;
pub mod openapi;
pub mod peer;
pub mod plain;
pub mod report;
pub mod request;
pub mod route;
pub mod router;
pub mod seats;
pub mod serve;
pub mod sessions;
pub mod state;
pub mod stats;
pub mod tls;
pub mod token;
pub mod wait;
pub mod webhooks;
