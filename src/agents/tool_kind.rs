//! What is known of the tools of agents: for each name what a call of it does. Pure.
//!
//! A name that is not here is of no known kind, whatever it sounds like.

use crate::protocol::enums::{Access, Effect, ExternalAgent};
use crate::tools::tool::reads;

/// What a call of a tool does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolKind {
    /// Gives a shell a command: `command`.
    Shell,
    /// Reads or searches files or a directory.
    Read,
    /// Finds files by a pattern that is a path.
    Find,
    /// Reads from the network.
    Web,
    /// Changes nothing outside of the agent. What a subagent does then asks by itself.
    Own,
    /// Writes a whole file: `file_path` and `content`.
    Write,
    /// Replaces a part of a file: `file_path`, `old_string` and `new_string`; of several parts a list of these.
    Edit,
    /// Changes a cell of a notebook.
    Notebook,
    /// Changes files by a patch, in `command`.
    Patch,
    /// Asks the person at the terminal to choose.
    Question,
    /// Shows a plan, and acts when that is allowed.
    Plan,
    /// Nothing is known.
    Unknown,
}

impl ToolKind {
    /// The kind of a tool, by the agent's own name of it.
    pub fn of(agent: ExternalAgent, name: &str) -> Self {
        if agent.shells().contains(&name) {
            return Self::Shell;
        }
        match agent {
            ExternalAgent::Claude => match name {
                "Grep" | "LS" | "NotebookRead" | "Read" => Self::Read,
                "Glob" => Self::Find,
                "WebFetch" | "WebSearch" => Self::Web,
                "Agent" | "BashOutput" | "EnterPlanMode" | "Task" | "TaskCreate" | "TaskGet"
                | "TaskList" | "TaskOutput" | "TaskUpdate" | "TodoRead" | "TodoWrite"
                | "ToolSearch" => Self::Own,
                "Write" => Self::Write,
                "Edit" | "MultiEdit" => Self::Edit,
                "NotebookEdit" => Self::Notebook,
                "AskUserQuestion" => Self::Question,
                "ExitPlanMode" => Self::Plan,
                _ => Self::Unknown,
            },
            ExternalAgent::Codex => match name {
                "view_image" => Self::Read,
                "web_search" => Self::Web,
                "update_plan" => Self::Own,
                "apply_patch" => Self::Patch,
                "request_user_input" => Self::Question,
                _ => Self::Unknown,
            },
            ExternalAgent::Gemini => match name {
                "grep_search"
                | "list_directory"
                | "read_file"
                | "read_many_files"
                | "search_file_content" => Self::Read,
                "glob" => Self::Find,
                "google_web_search" | "web_fetch" => Self::Web,
                "enter_plan_mode" | "get_internal_docs" | "write_todos" => Self::Own,
                "write_file" => Self::Write,
                "replace" => Self::Edit,
                "ask_user" => Self::Question,
                "exit_plan_mode" => Self::Plan,
                _ => Self::Unknown,
            },
        }
    }

    /// The most that a call of it touches. What only the person at the terminal is asked counts as sent to somebody, so
    /// that it asks here too.
    pub fn access(self) -> Access {
        match self {
            Self::Shell => Access::Exec,
            Self::Read | Self::Find | Self::Own => Access::ReadLocal,
            Self::Web => Access::ReadOpen,
            Self::Write | Self::Edit | Self::Notebook | Self::Patch => Access::Write,
            Self::Question | Self::Plan => Access::Send,
            Self::Unknown => Access::Unknown,
        }
    }

    /// Its recovery class: to tell an agent the same once more changes nothing.
    pub fn effect(self) -> Effect {
        if reads(self.access()) {
            Effect::ReadOnly
        } else {
            Effect::Idempotent
        }
    }
}
