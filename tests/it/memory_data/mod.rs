//! What is remembered, as data: the store's commands and search, the interface, the command line, forgetting a person.

mod erase;
mod guards;
mod guards_erase;
mod search;
mod store;
mod surfaces;
mod walk;
pub(crate) mod world;
