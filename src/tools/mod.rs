//! Tools: what the agent can do, how each is classified, checked, confined and run.
//!
//! Nothing here decides whether a call may run (the engine's policy does), and nothing here touches the
//! store.

#![warn(missing_docs)]

pub mod apply_patch;
pub mod ask_operator;
pub mod atomic;
pub mod bash;
pub mod canonical;
pub mod change_diff;
pub mod change_journal;
pub mod change_recovery;
pub mod control_directory;
pub mod datasets;
pub mod edit_file;
pub mod executable_places;
pub mod execute_command;
pub mod file_change;
pub mod file_step;
pub mod file_tool;
pub mod file_version;
pub mod guard;
pub mod host_tool;
pub mod http;
pub mod http_fetch;
pub mod http_tool;
pub mod interpreters;
pub mod list_files;
pub mod load_skill;
pub mod mcp;
pub mod memory;
pub mod move_file;
pub mod nearest_lines;
pub mod operands;
pub mod output;
pub mod patch;
pub mod path_risk;
pub mod place;
pub mod place_names;
pub mod place_scan;
pub mod place_watch;
pub mod preview;
pub mod process;
pub mod python;
pub mod read_file;
pub mod registry;
pub mod risk;
pub mod sandbox;
pub mod scratch;
pub mod script;
pub mod search_files;
pub mod send_file;
pub mod service;
pub mod shell;
pub mod skill_folder;
pub mod terminal;
pub mod text_edits;
pub mod tool;
pub mod version_control;
pub mod walk;
pub mod write_file;
