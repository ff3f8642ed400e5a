//! Agents of other makers whose calls are judged here: what their hooks say, what these are told, and their tools.
//!
//! Nothing here decides or waits, and only a job runs a program. What is not understood is refused, and only a decided
//! allow is told as one.

#![warn(missing_docs)]

pub mod answer;
pub mod call_plan;
pub mod event;
pub mod file_diff;
pub mod gate_tool;
pub mod parse;
pub mod run_output;
pub mod run_tool;
pub mod tool_kind;

pub use answer::{accepts_edits, answer, knows_defer};
pub use event::{
    AgentCall, AgentReport, AgentTurn, AskEvent, GateEvent, GateProblem, TurnChange, Verdict,
};
pub use gate_tool::tool;
pub use parse::parse;
