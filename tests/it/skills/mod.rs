//! Instructions and skills: only what an operator trusts reaches a model.

mod daemon;
mod folders;
mod head;
