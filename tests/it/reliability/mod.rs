//! `tests/RELIABILITY.md`: written from what the suites recorded, and checked as it is committed.
//!
//! No number of the report is typed. A suite that recorded nothing, or recorded it with another build of the tests than
//! this one, has proved nothing today.

mod committed;
mod facts;
mod page;
mod write;
