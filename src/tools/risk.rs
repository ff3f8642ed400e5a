//! Why a call has its risk: the named reasons, the risk of each, and their wording. Pure.
//!
//! A call has the highest risk of its reasons. One reason more never lowers it.

use std::borrow::Cow;

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
        self.facts().0
    }

    /// The reason in words, for people. Names are as the call gives them: outside text.
    pub fn text(&self) -> String {
        self.facts().1.into_owned()
    }

    /// Risk and words of each reason.
    fn facts(&self) -> (Risk, Cow<'_, str>) {
        use Risk::{Critical, High, Low, Medium};
        let named = |what: &str, name: &str| Cow::from(format!("{what}: {}", short(name)));
        match self {
            Self::ReadsWorkspace => (Low, "reads files of the workspace".into()),
            Self::ReadsResult => (Low, "reads a result of this conversation again".into()),
            Self::ReadsMemory => (Low, "reads what is remembered for this conversation".into()),
            Self::ReadsSkill => (Low, "reads a skill that an operator trusts".into()),
            Self::ReadsToolList => (Low, "reads the list of tools".into()),
            Self::ReadsHost(host) => {
                let text = format!("reads from {} over the network", short(host));
                (Low, text.into())
            }
            Self::StaysInAgent => (Low, "changes nothing outside of the agent".into()),
            Self::StartsAgent(product) => {
                let text = format!("starts {product}, whose calls are judged one by one");
                (Low, text.into())
            }
            Self::AsksPerson => (Low, "asks a person and changes nothing".into()),
            // It says what may be wrong with a name, not what the call touches.
            Self::MixedScripts(warning) => (Low, warning.into()),
            Self::NewInterpreter => (
                Low,
                "the interpreter is new: nothing is defined in it".into(),
            ),
            Self::Remembers(MemoryScope::Session) => {
                (Low, "it is recalled in this session only".into())
            }
            Self::Remembers(MemoryScope::Channel) => {
                let text = "it is recalled in every conversation of the channel";
                (Medium, text.into())
            }
            Self::Remembers(MemoryScope::Global) => {
                let text = "it is recalled in every conversation of every channel";
                (High, text.into())
            }
            Self::CreatesFile => (Medium, "creates a file in the workspace".into()),
            Self::AddsToFile => (Medium, "adds to the end of a file".into()),
            Self::Overwrites(bytes) => (Medium, format!("overwrites {bytes} bytes").into()),
            Self::Edits(bytes) => (Medium, format!("changes parts of {bytes} bytes").into()),
            Self::MovesFile => (Medium, "moves a file".into()),
            Self::Deletes(bytes) => (Medium, format!("deletes {bytes} bytes").into()),
            Self::Reversible => (Medium, "reversible by git: yes".into()),
            Self::Irreversible(why) => (High, format!("reversible by git: no ({why})").into()),
            Self::SendsFile(bytes, media_type) => {
                let text =
                    format!("sends {bytes} bytes ({media_type}) to the conversation that asked");
                (Medium, text.into())
            }
            // A program that only reads cannot change what is there.
            Self::OnlyReads => (
                Medium,
                "runs a program that only reads, in the sandbox".into(),
            ),
            Self::OnlyReadsElsewhere => {
                let text = "runs programs that only read; no sandbox of ours confines them";
                (Medium, text.into())
            }
            Self::LoadsDataset => {
                let text = "gives a variable of the session's Python the rows of a table";
                (Medium, text.into())
            }
            Self::Outside(path) => (Medium, named("outside the workspace", path)),
            Self::UnlistedHost(host) => {
                let host = short(host);
                let text = format!(
                    "the configuration does not list {host}: the address can carry text out"
                );
                (Medium, text.into())
            }
            Self::UnseenFile => (High, "changes a file that nobody here can look at".into()),
            Self::EndsPlanning => (
                High,
                "ends the planning: the agent acts from then on".into(),
            ),
            Self::BeyondAgentLimits(why) if why.is_empty() => {
                let text = "its own limits do not allow it: the agent asks a person for it";
                (High, text.into())
            }
            Self::BeyondAgentLimits(why) => {
                (High, named("its own limits do not allow it; it says", why))
            }
            Self::ChangesFiles => (High, "runs a program that can change files".into()),
            Self::WorkspaceProgram => (High, "runs a program of the workspace".into()),
            Self::ShellScript => (High, "runs a shell script".into()),
            Self::RunsPython => (High, "runs Python code".into()),
            Self::StartsPrograms(name) => (High, named("can start programs", name)),
            Self::HiddenCode(name) => (High, named("can run code that is not shown", name)),
            Self::DeletesFiles(name) => (High, named("deletes files", name)),
            Self::RecursiveDelete(how) => (High, named("recursive delete", how)),
            Self::OtherUser(program) => (High, named("runs as another user", program)),
            Self::Network(program) => (High, named("uses the network", program)),
            Self::SendsRequest(method, host) => {
                let text = format!("sends a {method} request to {}", short(host));
                (High, text.into())
            }
            Self::Unclassified => (High, "nobody classified what it touches".into()),
            Self::CallsService(host, access) => {
                let risk = match access {
                    Access::ReadLocal | Access::ReadOpen => Low,
                    Access::WriteAdditive
                    | Access::Write
                    | Access::Send
                    | Access::Exec
                    | Access::Unknown => Medium,
                };
                let text = named("calls a service that the configuration declares", host);
                (risk, text)
            }
            Self::CredentialFile(name) => (Critical, named("credentials", name)),
            Self::CredentialSent(name) => (Critical, named("sends a credential", name)),
            Self::Tainted(access) => {
                let risk = match access {
                    Access::WriteAdditive | Access::Write | Access::Send | Access::Unknown => High,
                    Access::ReadLocal | Access::ReadOpen | Access::Exec => Low,
                };
                (risk, "untrusted content is in its context".into())
            }
            Self::Unconfined(why, risk) => (*risk, why.into()),
            Self::Configured(risk) => (
                *risk,
                format!("the configuration says {risk} at least").into(),
            ),
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
