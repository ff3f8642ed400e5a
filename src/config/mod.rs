//! Configuration: file, layers, secrets, paths. The only module that reads the environment.

pub mod settings;
