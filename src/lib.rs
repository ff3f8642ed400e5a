//! Leverframe: the operator's console for AI agents that live in chat channels.
//!
//! Modules are layers; `tests/it/layering/rules.rs` holds the table of permitted arrows.
//!
//! | module | what it is |
//! |---|---|
//! | [`protocol`], [`clock`], [`text`], [`crash`] | the base: plain types, time, outside text, crash points |
//! | [`config`], [`store`], [`model`], [`tools`] | settings, the database, model providers, tools |
//! | [`agents`] | agents of other makers whose calls pass here: what they say, what they are told, their tools |
//! | [`engine`] | sessions, turns, policy, approvals: the one gate everything goes through |
//! | [`datasets`] | tables that people send: Parquet files, and questions of them |
//! | [`mcp`] | the Model Context Protocol, client and server |
//! | [`channels`] | bridges to chat platforms |
//! | [`client`] | the two traits of the seam, and the remote client |
//! | [`console`] | the console without a screen: what is known, the Queue, the arming rule |
//! | [`api`], [`tui`] | surfaces: HTTP and the full-screen console |
//! | `telemetry` | traces and logs for a collector, by OTLP; only the feature `otel` has it |
//! | [`runtime`], [`cli`] | putting it together; the command line |
//! | `testing` | what tests plug into the real binary; in no build that is shipped |

#[cfg(not(panic = "unwind"))]
compile_error!(
    "A panic ends one bridge, one tool or one turn, never the daemon: build with `panic = \"unwind\"`."
);

pub mod agents;
pub mod api;
pub mod channels;
pub mod cli;
pub mod client;
pub mod clock;
pub mod config;
pub mod console;
pub mod crash;
pub mod datasets;
pub mod engine;
pub mod mcp;
pub mod model;
pub mod protocol;
pub mod runtime;
pub mod store;
#[cfg(feature = "otel")]
pub mod telemetry;
#[cfg(feature = "test-hooks")]
pub mod testing;
pub mod text;
pub mod tools;
pub mod tui;
