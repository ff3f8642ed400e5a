//! The composition root: puts engine, channels and API together and takes them apart in order.
//!
//! Nothing here decides anything about turns, policy or people.

pub mod alone;
pub mod archived_session;
pub mod backup;
pub mod channel_handle;
pub mod channels;
pub mod conform;
pub mod demo;
pub mod demo_repository;
pub mod descriptors;
pub mod detach;
pub mod gate_model;
pub mod gate_program;
pub mod gate_tests;
pub mod helper;
pub mod in_process;
pub mod listener;
pub mod logging;
pub mod models;
pub mod notify;
pub mod offline;
pub mod private_file;
pub mod program;
pub mod reload_signal;
pub mod signals;
pub mod start;
pub mod stop_signal;
#[cfg(feature = "otel")]
pub mod telemetry;
#[cfg(not(feature = "otel"))]
#[path = "without_telemetry.rs"]
pub mod telemetry;
pub mod tokens;
pub mod watchdog;
pub mod wind_down;
