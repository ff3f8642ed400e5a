//! Styled frames of every screen, at three sizes and at any size.

pub mod driver;
pub mod fixture;
pub mod styled;

mod any_size;
mod screens;
