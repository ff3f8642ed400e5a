//! HTTP: an adapter over `ConsoleClient`, never over engine types.
//!
//! Nothing in a request body, query or header other than the credential decides who acts: the actor comes
//! from the unix socket's peer or from the token's record. Nothing here writes to the store or decides
//! policy. One table (`router::table`) is both the router and `/openapi.json`.

pub mod approvals;
pub mod artifacts;
pub mod auth;
pub mod backup;
pub mod cache;
pub mod channels;
pub mod compactions;
pub mod connection;
pub mod continuations;
pub mod costs;
pub mod doctor;
pub mod duty;
pub mod emergency;
pub mod error;
pub mod events;
pub mod framing;
pub mod generic;
pub mod health;
pub mod hooks;
pub mod hygiene;
pub mod leftovers;
pub mod limiter;
pub mod listener;
pub mod memory;
pub mod models;
pub mod openapi;
pub mod outbox;
pub mod pairings;
pub mod peer;
pub mod request;
pub mod route;
pub mod router;
pub mod routines;
pub mod rules;
pub mod seats;
pub mod serve;
pub mod sessions;
pub mod snapshot;
pub mod state;
pub mod summary;
pub mod sweep;
pub mod token;
pub mod wait;
