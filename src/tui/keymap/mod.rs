//! From keys to actions. No handler outside this module looks at a raw key.

pub mod context;
pub mod file;
pub mod key;
pub mod lookup;
