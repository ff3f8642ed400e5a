//! `python`: runs code in a Python of its session, which keeps what earlier calls defined.
//!
//! No Python is shared by sessions, none runs outside of the sandbox where there is one, and none runs anything between
//! two calls. Where no sandbox confines it, no rule lets code run without a person.

mod code_risk;
pub mod dataset;
pub mod executable;
pub mod interpreter;
pub mod load_dataset;
mod outputs;
pub mod reply;
pub mod tool;
