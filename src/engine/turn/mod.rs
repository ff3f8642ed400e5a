//! One turn: the pure machine, and the driver that carries out its effects.

pub mod after;
pub mod attempt;
pub mod candidates;
pub mod driver;
pub mod effect;
pub mod ending;
pub mod finish;
pub mod fold;
pub mod input;
pub mod judge;
pub mod large_result;
pub mod machine;
pub mod memory;
pub mod model_call;
pub mod open_call;
pub mod reply;
pub mod tool_run;
