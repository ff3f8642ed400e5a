//! What is remembered, as data: the store's commands and search, the interface, the command line, forgetting a person.

mod search;
mod store;
mod world;
