//! The contract of a tool: describe, classify, prepare, execute.
//!
//! `prepare` never has an effect and may fail freely; whatever `execute` does was in the plan that
//! `prepare` returned and that was approved by digest.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::protocol::agent_job::AgentRun;
use crate::protocol::approval::{PlanFacts, Preview};
use crate::protocol::artifact::ArtifactHash;
use crate::protocol::dataset::{Dataset, DatasetDescription, DatasetQuery, DatasetRows};
use crate::protocol::enums::{Access, DatasetFormat, Effect, InterpreterKind, MemoryScope};
use crate::protocol::ids::{SessionId, ToolCallId};
use crate::protocol::leftovers::NewPlaces;
use crate::protocol::rehearsal::RehearsalEnd;
use crate::protocol::tool::Interpreter;
use crate::tools::place::PlacesBefore;
use crate::tools::risk::RiskReason;

/// Where tools come from that are part of the program.
pub const BUILT_IN: &str = "built-in";

/// The JSON Schema of arguments: an object with these properties, of which these are required, and no others.
macro_rules! arguments {
    ([$($required:literal),*], $properties:tt) => {
        serde_json::json!({
            "type": "object",
            "properties": $properties,
            "required": [$($required),*],
            "additionalProperties": false
        })
    };
}
pub(crate) use arguments;

/// What a tool declares about itself. Part of the pinned definition that approvals are bound to.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Name; part of the contract.
    pub name: Cow<'static, str>,
    /// For the model: short, says when to use it.
    pub description: Cow<'static, str>,
    /// JSON Schema (object, `additionalProperties: false`).
    pub input_schema: Value,
    /// The most a call of it can touch.
    pub access: Access,
    /// Recovery class.
    pub effect: Effect,
    /// Longest run.
    pub max_duration: Duration,
    /// Keyed tools: how long the other side remembers a key after a run with it began; none = for ever. A run that
    /// begins late in it must still arrive in time, so declare less than the other side promises.
    pub key_lifetime: Option<Duration>,
    /// Whether a result may be given again instead of running once more; none = never. Only calls that read get one: the
    /// registry takes no tool that can change what its results follow from.
    pub cacheable: Option<Cacheable>,
}

/// Whether a call of this access leaves everything as it is.
pub fn reads(access: Access) -> bool {
    match access {
        Access::ReadLocal | Access::ReadOpen => true,
        Access::WriteAdditive | Access::Write | Access::Exec | Access::Send | Access::Unknown => {
            false
        }
    }
}

/// How long a result may be given again, and what else ends that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cacheable {
    /// Longest age. Bounds what changes behind our back, so keep it short.
    pub ttl: Duration,
    /// What a result follows from beside its arguments.
    pub depends_on: DependsOn,
}

impl Cacheable {
    /// Of results that lie elsewhere.
    pub fn elsewhere(ttl: Duration) -> Self {
        Self {
            ttl,
            depends_on: DependsOn::Elsewhere,
        }
    }
}

/// What a result follows from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DependsOn {
    /// The files of the workspace: whatever may write there ends it.
    Workspace,
    /// What lies elsewhere and changes behind our back: only time ends it.
    Elsewhere,
}

impl DependsOn {
    /// The word of the definition's digest.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Workspace => "workspace",
            Self::Elsewhere => "elsewhere",
        }
    }
}

/// What one call would do, found without doing it.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// What this call touches (at most what the spec says).
    pub access: Access,
    /// Why it has its risk: the highest of these.
    pub risk_reasons: Vec<RiskReason>,
    /// Shown beside the arguments.
    pub preview: Preview,
    /// Where it would run.
    pub facts: PlanFacts,
    /// Digests of files the call depends on (a script, the file that would be overwritten):
    /// (path, lower-case hex SHA-256 or `absent`). Part of the approval's digest.
    pub operands: Vec<(String, String)>,
    /// No rule, list or level may let this run without a person (unsandboxed programs).
    pub always_asks: Option<String>,
}

impl Plan {
    /// A call with nothing to show, no file and no reason to ask always.
    pub fn new(access: Access, risk_reasons: Vec<RiskReason>) -> Self {
        Self {
            access,
            risk_reasons,
            preview: Preview::None,
            facts: PlanFacts::default(),
            operands: Vec::new(),
            always_asks: None,
        }
    }

    /// The reasons for its risk, in words.
    pub fn reasons(&self) -> Vec<String> {
        self.risk_reasons.iter().map(RiskReason::text).collect()
    }
}

/// Arguments that cannot be carried out, found before any effect. The model reads the message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PrepareError {
    /// The arguments do not fit the schema, or make no sense (missing file, bad pattern).
    #[error("{0}")]
    Invalid(String),
    /// A path guard refused: outside the workspace, a symlink out of it, a device.
    #[error("{0}")]
    Guarded(String),
}

/// Whether the effect happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffectDisposition {
    /// It did (or the call has none).
    Done,
    /// It certainly did not.
    ConfirmedNoEffect,
    /// Killed, timed out or lost half-way.
    Unknown,
}

/// What a look at the other side says about an earlier run whose outcome nobody knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Probe {
    /// It happened.
    Done {
        /// What the model reads as the call's result; at most 64 KiB.
        content: String,
    },
    /// It did not happen, and that run cannot happen any more.
    NotDone,
    /// The look does not tell.
    Unclear {
        /// Why, for the person who is asked then.
        why: String,
    },
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOutcome {
    /// What it gave, at most 1 MiB, shortened with a note where output was longer. What is too long for a model is kept
    /// as an artifact.
    pub content: String,
    /// Whether it is an error to the model.
    pub is_error: bool,
    /// Whether the effect happened.
    pub disposition: EffectDisposition,
    /// Whether a reading was cut short, by time or by a limit: another run may give more, so it is never given again.
    pub partial: bool,
}

impl ToolOutcome {
    /// An effect that happened.
    pub fn done(content: String) -> Self {
        Self {
            content,
            is_error: false,
            disposition: EffectDisposition::Done,
            partial: false,
        }
    }

    /// A call that failed.
    pub fn failed(content: String, disposition: EffectDisposition) -> Self {
        Self {
            is_error: true,
            disposition,
            ..Self::done(content)
        }
    }

    /// A call that was not carried out, and why.
    pub fn not_done(why: String) -> Self {
        Self::failed(why, EffectDisposition::ConfirmedNoEffect)
    }
}

/// How a program ended that ran in a throw-away copy of its workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrialRun {
    /// How it ended.
    pub ended: RehearsalEnd,
    /// The same in words.
    pub outcome: String,
    /// Its exit status, where it ended by itself and had one.
    pub exit_status: Option<i32>,
    /// How long it ran, in milliseconds.
    pub duration_ms: u64,
    /// What it wrote, at most 1 MiB: outside text.
    pub output: String,
}

/// What a host says that keeps nothing.
const NO_MEMORY: &str = "there is no memory here";

/// What becomes of the run of an external agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentRunChange {
    /// Its program is about to start.
    Begins,
    /// It goes on with a new message: nothing that waited is asked about again.
    GoesOn,
    /// It ended while its call of this id waits. It runs again once there is a decision.
    Deferred(String),
    /// Its program runs no more.
    Ended,
}

/// What the engine offers a running tool.
#[async_trait]
pub trait ToolHost: Send + Sync {
    /// Output so far, for people watching. Decorative: may be dropped.
    fn progress(&self, text: &str);

    /// Some of the output is left out between what was shown and what is shown next, which begins a line.
    fn omitted(&self) {}

    /// The text of an artifact that this conversation refers to; else why not, for the model.
    async fn artifact(&self, hash: ArtifactHash) -> Result<String, String> {
        Err(format!("there is no {} here", hash.reference()))
    }

    /// Keeps a file that goes to the conversation with the answer; else why not, for the model.
    async fn send_file(
        &self,
        _path: &str,
        _media_type: &str,
        _content: Vec<u8>,
    ) -> Result<(), String> {
        Err("no file can be sent here".to_owned())
    }

    /// Keeps a text for later turns; what became of it, else why not, for the model.
    async fn remember(&self, _text: &str, _scope: MemoryScope) -> Result<String, String> {
        Err(NO_MEMORY.to_owned())
    }

    /// The datasets of the channel, by name; else why not, for the model.
    async fn datasets(&self) -> Result<Vec<Dataset>, String> {
        Err(NO_DATASETS.to_owned())
    }

    /// What is in the columns of a dataset, by its name; else why not, for the model.
    async fn describe_dataset(&self, _name: &str) -> Result<DatasetDescription, String> {
        Err(NO_DATASETS.to_owned())
    }

    /// The answer to a question of a dataset; else why there is none, for the model.
    async fn query_dataset(
        &self,
        _name: &str,
        _query: DatasetQuery,
    ) -> Result<DatasetRows, String> {
        Err(NO_DATASETS.to_owned())
    }

    /// What is remembered and a query is found in, for the model; else why there is no answer.
    async fn recall(&self, _query: &str, _limit: u32) -> Result<String, String> {
        Err(NO_MEMORY.to_owned())
    }

    /// The file of a table, in the directory that Python sees of its channel; a CSV is a copy that goes with the answer.
    async fn dataset_file(
        &self,
        _name: &str,
        _format: DatasetFormat,
    ) -> Result<DatasetCopy, String> {
        Err(NO_DATASETS.to_owned())
    }

    /// A file of a skill as an operator trusts it, SKILL.md where none is named; else why not, for the model.
    async fn skill(&self, _name: &str, _file: Option<&str>) -> Result<String, String> {
        Err("there are no skills here".to_owned())
    }

    /// The tools of servers that fit these words, best first; else why none was found, for the model.
    async fn find_tools(&self, _query: &str, _limit: Option<usize>) -> Result<String, String> {
        Err("there are no tool servers here".to_owned())
    }

    /// The text of a resource of a server, or the list of those it has; else why not, for the model.
    async fn read_resource(&self, _server: &str, _uri: Option<&str>) -> Result<String, String> {
        Err("there are no tool servers here".to_owned())
    }

    /// Asks a person in the midst of a call, and waits for the answer: the text of a choice where there are choices. Else
    /// why there is no answer, for the model. `asked_by` says who wants to know, in a few words.
    async fn ask(
        &self,
        _asked_by: &str,
        _question: &str,
        _choices: &[String],
    ) -> Result<String, String> {
        Err("nobody can be asked here".to_owned())
    }

    /// Takes in how the run of an external agent changed; else why it cannot go on.
    async fn agent_run(&self, _run: &AgentRun, _change: AgentRunChange) -> Result<(), String> {
        Err("no agent runs here".to_owned())
    }

    /// Whether a person runs it, and no model: the session hears of that.
    fn is_person(&self) -> bool {
        false
    }

    /// Whether an earlier call of this tool ran in this session, in this process or an earlier one.
    async fn ran_before(&self) -> bool {
        false
    }
}

/// A file of a table. A copy is removed when this is dropped.
#[derive(Debug)]
pub struct DatasetCopy {
    /// Its name in the directory.
    pub name: String,
    /// Where it lies, of a copy.
    pub copy: Option<PathBuf>,
}

impl Drop for DatasetCopy {
    fn drop(&mut self) {
        if let Some(path) = &self.copy {
            // The next start removes what stays.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// What a host says that has no tables.
const NO_DATASETS: &str = "there are no datasets here";

/// Where runs of programs are written down, so that what they leave in the workspace is known even when this process
/// dies during one.
#[async_trait]
pub trait RunJournal: Send + Sync {
    /// Before a run: what its workspace has then. An error says why the program must not start.
    async fn begin(
        &self,
        call: ToolCallId,
        workspace: &Path,
        before: &PlacesBefore,
    ) -> Result<(), String>;

    /// After it: what is new.
    async fn end(&self, call: ToolCallId, new: NewPlaces);
}

/// A journal that keeps nothing: for preparing.
pub struct NoJournal;

#[async_trait]
impl RunJournal for NoJournal {
    async fn begin(&self, _: ToolCallId, _: &Path, _: &PlacesBefore) -> Result<(), String> {
        Ok(())
    }

    async fn end(&self, _: ToolCallId, _: NewPlaces) {}
}

/// The surroundings of one call.
pub struct ToolContext<'a> {
    /// Workspace root; exists, absolute, canonical.
    pub workspace: PathBuf,
    /// Directories no tool may see: data, configuration, runtime sockets. Absolute, canonical.
    pub hidden: Vec<PathBuf>,
    /// Where changes of files are written down; outside of every workspace.
    pub changes: PathBuf,
    /// Operands of the plan that was allowed; none while preparing and looking.
    pub operands: Vec<(String, String)>,
    /// Its session.
    pub session_id: SessionId,
    /// The call.
    pub call_id: ToolCallId,
    /// Stable across attempts.
    pub idempotency_key: String,
    /// Fires on cancel, emergency stop and shutdown: kill everything and return within 2 s.
    pub cancel: CancellationToken,
    /// Back to the engine.
    pub host: &'a dyn ToolHost,
    /// Where its runs are written down.
    pub journal: Arc<dyn RunJournal>,
}

/// What a tool keeps running for sessions between its calls.
pub trait InterpreterTable: Send + Sync {
    /// Which interpreters these are.
    fn kind(&self) -> InterpreterKind;

    /// Those that are there, the oldest first.
    fn list(&self) -> Vec<Interpreter>;

    /// Ends the one of a session, also during a command. `why` is a clause for the model: "a person ended it". False =
    /// there was none.
    fn end(&self, session: SessionId, why: &str) -> bool;

    /// Ends all of them.
    fn end_all(&self, why: &str);
}

/// One tool.
#[async_trait]
pub trait Tool: Send + Sync {
    /// What it declares.
    fn spec(&self) -> &ToolSpec;

    /// Where it comes from, in a few words.
    fn source(&self) -> String {
        BUILT_IN.to_owned()
    }

    /// Recovery class of one call. Arguments fit the schema already.
    fn effect(&self, _args: &Value) -> Effect {
        self.spec().effect
    }

    /// Whose text a result of this call holds when nobody here vouches for it; none = it holds none. A session that
    /// reads such a result is tainted.
    fn untrusted(&self, _args: &Value) -> Option<String> {
        None
    }

    /// Whether models are told of it where the channel has datasets or has none. A call is judged the same either way.
    fn is_offered(&self, _has_datasets: bool) -> bool {
        true
    }

    /// Finds what the call would do. Arguments fit the schema already. Never has an effect.
    fn prepare(&self, context: &ToolContext<'_>, args: &Value) -> Result<Plan, PrepareError>;

    /// Whether its results are windows of something that is kept elsewhere and can be read again: they are shown as
    /// they are, and not kept once more.
    fn reads_windows(&self) -> bool {
        false
    }

    /// Does it. Called only with arguments whose plan was allowed.
    async fn execute(&self, context: &ToolContext<'_>, args: &Value) -> ToolOutcome;

    /// What it keeps running for sessions between its calls; none = it keeps nothing.
    fn interpreters(&self) -> Option<&dyn InterpreterTable> {
        None
    }

    /// Runs a call in a throw-away copy of its workspace, which lies at `files` (absolute, canonical): nothing but the
    /// copy changes. The error says why it did not start.
    async fn rehearse(
        &self,
        _context: &ToolContext<'_>,
        _files: &Path,
        _args: &Value,
    ) -> Result<TrialRun, String> {
        Err("only a command can be rehearsed".to_owned())
    }

    /// Looks whether an earlier run of this call, with the same idempotency key, happened. Only reads: the policy of
    /// the call is not asked, and the engine may look as often as it likes, bounded in time. Asked of reconcilable
    /// tools, and of keyed ones whose key has run out.
    async fn probe(&self, _context: &ToolContext<'_>, _args: &Value) -> Probe {
        Probe::Unclear {
            why: "the tool has no way to look".to_owned(),
        }
    }
}
