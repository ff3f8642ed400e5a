//! Backups: taken while everything works, put back elsewhere, released by a person. A restored copy does nothing by
//! itself (I20), and a migration leaves what was before it intact (I26).

mod doubt;
mod keep;
mod kept;
mod killed;
mod migrations;
mod quarantine;
mod refusals;
mod scheduled;
pub mod tools;
mod upgrades;
mod verify;
