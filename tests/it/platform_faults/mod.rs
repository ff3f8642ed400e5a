//! What the world outside does wrong: updates in any order, files that change under an approval, readers that stop,
//! secrets in every input. The real program is driven, and what it left on disk and on the wire is looked at.

// Helpers of tests: the lint's own exception covers only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bad_input;
mod canary;
mod encodings;
mod every_fault;
mod mentions;
mod operators;
mod reader;
mod script;
mod updates;
