//! Configuration: file, layers, secrets, paths. The only module that reads the environment.

#![warn(missing_docs)]

pub mod attachments;
pub mod backup;
pub mod backup_files;
pub mod backup_schedule;
pub mod cache;
pub mod channels;
pub mod datasets;
pub mod edit;
pub mod environment;
pub mod error;
pub mod file;
pub mod flags;
pub mod headers;
pub mod hooks;
pub mod http_tools;
pub mod hygiene;
pub mod inputs;
pub mod key_files;
pub mod layers;
pub mod log;
pub mod log_files;
pub mod mcp;
pub mod mcp_servers;
pub mod memory;
pub mod model_tables;
pub mod ownership;
pub mod paths;
pub mod people;
pub mod placeholders;
pub mod platform;
pub mod platforms;
pub mod program;
pub mod programs;
pub mod providers;
pub mod reload;
pub mod secret;
pub mod secrets;
pub mod settings;
pub mod skills;
pub mod supervisor;
pub mod template;
pub mod toml_text;
pub mod tools;
