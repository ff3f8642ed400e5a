//! Long sessions become short ones: when, with what, and that nothing is lost whatever ends in between.

mod answers;
mod commits;
mod daemon;
mod forgets;
pub mod models;
mod plans;
mod property;
mod stops;
