//! Tables that people send: whatever comes in has a defined result, and every question the answer that a plain reading
//! of the rows gives.

mod chat;
mod convert;
mod keeping;
mod places;
mod python;
mod questions;
pub mod surfaces;
