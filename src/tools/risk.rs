//! Why a call has its risk: the named reasons, the risk of each, and their wording. Pure.
//!
//! A call has the highest risk of its reasons. One reason more never lowers it.

use crate::protocol::enums::{Access, MemoryScope, Risk};
use crate::tools::output::first;

/// Longest name of a file, program or cause in a reason, in bytes.
const MAX_NAME: usize = 120;

/// One reason for the risk of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RiskReason {
    /// Reads files of the workspace.
    ReadsWorkspace,
    /// Reads a result that is kept for the conversation.
    ReadsResult,
    /// Reads what is remembered.
    ReadsMemory,
    /// Reads a skill that an operator trusts.
    ReadsSkill,
    /// Reads what trusted tool servers say of their tools.
    ReadsToolList,
    /// Gives a variable of the session's Python the rows of a table.
    LoadsDataset,
    /// Asks a person, and does nothing else.
    AsksPerson,
    /// Keeps a text for later turns.
    Remembers(MemoryScope),
    /// Creates a file.
    CreatesFile,
    /// Extends a file.
    AddsToFile,
    /// Replaces what a file holds, in bytes.
    Overwrites(u64),
    /// Changes parts of what files hold, in bytes of the whole files.
    Edits(u64),
    /// Changes a file that nobody here can look at.
    UnseenFile,
    /// Changes nothing but what an agent keeps for itself.
    StaysInAgent,
    /// An agent asks its own person for it, and why: its own limits do not allow it.
    BeyondAgentLimits(String),
    /// Starts an agent whose calls are judged one by one: the name of its product.
    StartsAgent(&'static str),
    /// Lets an agent go from planning to acting.
    EndsPlanning,
    /// Gives a file another place.
    MovesFile,
    /// Takes files away, of so many bytes together.
    Deletes(u64),
    /// Git can bring back what is replaced.
    Reversible,
    /// Git cannot bring back what is replaced, and why.
    Irreversible(&'static str),
    /// Sends a file to the conversation that asked: bytes and media type.
    SendsFile(u64, &'static str),
    /// Names a file that holds credentials.
    CredentialFile(String),
    /// Runs a program that only reads, in the sandbox.
    OnlyReads,
    /// Runs programs that only read, where nothing of ours confines them.
    OnlyReadsElsewhere,
    /// Runs a program that can change files.
    ChangesFiles,
    /// Runs a program that lies in the workspace.
    WorkspaceProgram,
    /// Gives a shell a text that nobody takes apart.
    ShellScript,
    /// Runs Python code that nobody takes apart.
    RunsPython,
    /// Runs in an interpreter in which nothing is defined yet.
    NewInterpreter,
    /// Names what starts programs.
    StartsPrograms(String),
    /// Names what runs code that does not stand in the call.
    HiddenCode(String),
    /// Names what deletes files.
    DeletesFiles(String),
    /// Deletes directories with all that is in them, and how.
    RecursiveDelete(String),
    /// Runs as another user, and by which program.
    OtherUser(String),
    /// Reaches for the network, and with which program.
    Network(String),
    /// Reads from a host over the network.
    ReadsHost(String),
    /// Sends a request that is no reading: its method and the host.
    SendsRequest(String, String),
    /// Calls a service that the configuration declares: its host, and what the call touches.
    CallsService(String, Access),
    /// The configuration does not list the host.
    UnlistedHost(String),
    /// Sends what is a credential by its name: of a header or a query parameter.
    CredentialSent(String),
    /// Names a path outside the workspace.
    Outside(String),
    /// No sandbox is proved to confine it: why, and the least risk that follows.
    Unconfined(String, Risk),
    /// Nobody classified what it touches.
    Unclassified,
    /// Untrusted content is in the context of a call of this access.
    Tainted(Access),
    /// A word mixes letters of scripts that look alike.
    MixedScripts(String),
    /// The configuration sets the least risk of the tool.
    Configured(Risk),
}

impl RiskReason {
    /// The least risk of a call with this reason.
    pub fn risk(&self) -> Risk {
        match self {
            Self::ReadsWorkspace
            | Self::ReadsResult
            | Self::ReadsMemory
            | Self::ReadsSkill
            | Self::ReadsToolList
            | Self::ReadsHost(_)
            | Self::StaysInAgent
            | Self::StartsAgent(_)
            | Self::AsksPerson => Risk::Low,
            // It says what may be wrong with a name, not what the call touches.
            Self::MixedScripts(_) | Self::NewInterpreter => Risk::Low,
            Self::Remembers(MemoryScope::Session) => Risk::Low,
            Self::Remembers(MemoryScope::Channel) => Risk::Medium,
            Self::Remembers(MemoryScope::Global) => Risk::High,
            Self::CreatesFile
            | Self::AddsToFile
            | Self::Overwrites(_)
            | Self::Edits(_)
            | Self::MovesFile
            | Self::Deletes(_)
            | Self::Reversible
            | Self::SendsFile(..) => Risk::Medium,
            // A program that only reads cannot change what is there.
            Self::OnlyReads
            | Self::OnlyReadsElsewhere
            | Self::LoadsDataset
            | Self::Outside(_)
            | Self::UnlistedHost(_) => Risk::Medium,
            Self::Irreversible(_)
            | Self::UnseenFile
            | Self::EndsPlanning
            | Self::BeyondAgentLimits(_)
            | Self::ChangesFiles
            | Self::WorkspaceProgram
            | Self::ShellScript
            | Self::RunsPython
            | Self::StartsPrograms(_)
            | Self::HiddenCode(_)
            | Self::DeletesFiles(_)
            | Self::RecursiveDelete(_)
            | Self::OtherUser(_)
            | Self::Network(_)
            | Self::SendsRequest(..)
            | Self::Unclassified => Risk::High,
            Self::CallsService(_, access) => match access {
                Access::ReadLocal | Access::ReadOpen => Risk::Low,
                Access::WriteAdditive
                | Access::Write
                | Access::Send
                | Access::Exec
                | Access::Unknown => Risk::Medium,
            },
            Self::CredentialFile(_) | Self::CredentialSent(_) => Risk::Critical,
            Self::Tainted(access) => match access {
                Access::WriteAdditive | Access::Write | Access::Send | Access::Unknown => {
                    Risk::High
                }
                Access::ReadLocal | Access::ReadOpen | Access::Exec => Risk::Low,
            },
            Self::Unconfined(_, risk) | Self::Configured(risk) => *risk,
        }
    }

    /// The reason in words, for people. Names are as the call gives them: outside text.
    pub fn text(&self) -> String {
        match self {
            Self::ReadsWorkspace => "reads files of the workspace".to_owned(),
            Self::ReadsResult => "reads a result of this conversation again".to_owned(),
            Self::ReadsMemory => "reads what is remembered for this conversation".to_owned(),
            Self::ReadsToolList => "reads the list of tools".to_owned(),
            Self::ReadsSkill => "reads a skill that an operator trusts".to_owned(),
            Self::LoadsDataset => {
                "gives a variable of the session's Python the rows of a table".to_owned()
            }
            Self::AsksPerson => "asks a person and changes nothing".to_owned(),
            Self::Remembers(MemoryScope::Session) => {
                "it is recalled in this session only".to_owned()
            }
            Self::Remembers(MemoryScope::Channel) => {
                "it is recalled in every conversation of the channel".to_owned()
            }
            Self::Remembers(MemoryScope::Global) => {
                "it is recalled in every conversation of every channel".to_owned()
            }
            Self::CreatesFile => "creates a file in the workspace".to_owned(),
            Self::AddsToFile => "adds to the end of a file".to_owned(),
            Self::Overwrites(bytes) => format!("overwrites {bytes} bytes"),
            Self::Edits(bytes) => format!("changes parts of {bytes} bytes"),
            Self::MovesFile => "moves a file".to_owned(),
            Self::Deletes(bytes) => format!("deletes {bytes} bytes"),
            Self::Reversible => "reversible by git: yes".to_owned(),
            Self::Irreversible(why) => format!("reversible by git: no ({why})"),
            Self::SendsFile(bytes, media_type) => {
                format!("sends {bytes} bytes ({media_type}) to the conversation that asked")
            }
            Self::CredentialFile(name) => format!("credentials: {}", short(name)),
            Self::OnlyReads => "runs a program that only reads, in the sandbox".to_owned(),
            Self::OnlyReadsElsewhere => {
                "runs programs that only read; no sandbox of ours confines them".to_owned()
            }
            Self::UnseenFile => "changes a file that nobody here can look at".to_owned(),
            Self::StaysInAgent => "changes nothing outside of the agent".to_owned(),
            Self::StartsAgent(product) => {
                format!("starts {product}, whose calls are judged one by one")
            }
            Self::BeyondAgentLimits(why) if why.is_empty() => {
                "its own limits do not allow it: the agent asks a person for it".to_owned()
            }
            Self::BeyondAgentLimits(why) => {
                format!("its own limits do not allow it; it says: {}", short(why))
            }
            Self::EndsPlanning => "ends the planning: the agent acts from then on".to_owned(),
            Self::ChangesFiles => "runs a program that can change files".to_owned(),
            Self::WorkspaceProgram => "runs a program of the workspace".to_owned(),
            Self::ShellScript => "runs a shell script".to_owned(),
            Self::RunsPython => "runs Python code".to_owned(),
            Self::NewInterpreter => "the interpreter is new: nothing is defined in it".to_owned(),
            Self::StartsPrograms(name) => format!("can start programs: {}", short(name)),
            Self::HiddenCode(name) => {
                format!("can run code that is not shown: {}", short(name))
            }
            Self::DeletesFiles(name) => format!("deletes files: {}", short(name)),
            Self::RecursiveDelete(how) => format!("recursive delete: {}", short(how)),
            Self::OtherUser(program) => format!("runs as another user: {}", short(program)),
            Self::Network(program) => format!("uses the network: {}", short(program)),
            Self::ReadsHost(host) => format!("reads from {} over the network", short(host)),
            Self::SendsRequest(method, host) => {
                format!("sends a {method} request to {}", short(host))
            }
            Self::CallsService(host, _) => {
                format!(
                    "calls a service that the configuration declares: {}",
                    short(host)
                )
            }
            Self::UnlistedHost(host) => format!(
                "the configuration does not list {}: the address can carry text out",
                short(host)
            ),
            Self::CredentialSent(name) => format!("sends a credential: {}", short(name)),
            Self::Outside(path) => format!("outside the workspace: {}", short(path)),
            Self::Unconfined(why, _) => why.clone(),
            Self::Unclassified => "nobody classified what it touches".to_owned(),
            Self::Tainted(_) => "untrusted content is in its context".to_owned(),
            Self::MixedScripts(warning) => warning.clone(),
            Self::Configured(risk) => format!("the configuration says {risk} at least"),
        }
    }
}

fn short(name: &str) -> String {
    let kept = first(name, MAX_NAME);
    let more = if kept.len() < name.len() { "…" } else { "" };
    format!("{kept}{more}")
}

/// The highest risk of these reasons; low without any.
pub fn highest(reasons: &[RiskReason]) -> Risk {
    let risks = reasons.iter().map(RiskReason::risk);
    risks.max().unwrap_or(Risk::Low)
}

/// Adds a reason that is not there yet.
pub fn add(reasons: &mut Vec<RiskReason>, reason: RiskReason) {
    if !reasons.contains(&reason) {
        reasons.push(reason);
    }
}
