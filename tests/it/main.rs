//! The one integration binary; each module below is a suite.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    missing_docs
)] // helpers of tests are tests

mod api_http;
mod assets;
mod attacks;
mod audit_log;
mod backup;
mod budgets;
mod channel_soak;
mod command_line;
mod compaction;
mod config_files;
mod conformance;
mod console_frames;
mod console_plain;
mod console_pty;
mod console_state;
mod context;
mod crash_points;
mod datasets;
mod deliveries;
mod discord;
mod doctor;
mod documentation;
mod effects;
mod embeddings;
mod end_to_end_models;
mod escalation;
mod first_run;
mod floods;
mod gate;
mod hooks;
mod http_tools;
mod hygiene;
mod layering;
mod leftovers;
mod matrix;
mod mcp_client;
mod mcp_peers;
mod mcp_server;
mod mcp_servers;
mod memory_data;
mod model_calls;
mod model_profiles;
mod models;
mod monitoring;
mod network;
mod on_call;
mod openai_clients;
mod pairings;
mod people;
mod platform_faults;
mod policy;
mod power_loss;
mod process_bridges;
mod process_faults;
mod recall;
mod refused_calls;
mod rehearsals;
mod reliability;
mod reload;
mod reminders;
mod response_cache;
mod retention;
mod routines;
mod rules;
mod service;
mod sessions;
mod shells;
mod skills;
mod slack;
mod stats;
mod store;
mod store_model;
mod stories;
mod support;
mod take_overs;
mod telegram;
mod telemetry;
mod text;
mod threats;
mod tool_cache;
mod tools;
mod turn_machine;
mod unknown_outcomes;
mod webhooks;
