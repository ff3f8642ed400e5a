//! What the model is sent: pure parts, with random histories.

mod citations;
mod fits;
mod histories;
mod learned;
mod priorities;
mod shares;
