//! One turn: the pure machine, and the driver that carries out its effects.

pub mod after;
pub mod attachments;
pub mod attempt;
pub mod candidates;
pub mod chat_progress;
pub mod citations;
pub mod driver;
pub mod effect;
pub mod ending;
pub mod error;
pub mod evaluate;
pub mod finish;
pub mod fold;
pub mod input;
pub mod large_result;
pub mod machine;
pub mod memory;
pub mod model_call;
pub mod open_call;
pub mod outbound_files;
pub mod pictures;
pub mod progress;
pub mod proposal;
pub mod reply;
pub mod runner;
pub mod tool_run;
