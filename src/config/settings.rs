//! The resolved configuration: what the program uses after all layers are merged.
//!
//! Nothing here is optional because a file was incomplete; every default has been applied.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use crate::clock::quiet_hours::QuietHours;
use crate::config::backup::BackupSettings;
use crate::config::escalation::EscalationPolicy;
use crate::config::flags::Flags;
use crate::config::log::LogFileSettings;
use crate::config::mcp::McpServerSettings;
use crate::config::model_tables::{OwnTables, ProfilePatch, Rates};
use crate::config::person::PersonSettings;
use crate::config::placeholders::Placeholders;
use crate::config::platform::PlatformSettings;
pub use crate::config::secret::Secret;
use crate::config::server::{ListenerLimits, TlsSettings};
use crate::config::telemetry::TelemetrySettings;
use crate::protocol::budget::{FloodLimits, Limit, TurnLimits};
use crate::protocol::enums::{
    Access, Autonomy, CacheScope, ChannelKind, Effect, HookPoint, MemoryScope, Risk,
};
use crate::protocol::options::ModelParameters;

/// What a console needs that shows an engine elsewhere: no model, no channel and no secret.
#[derive(Debug, Clone, PartialEq)]
pub struct ConsoleSettings {
    /// Where things are.
    pub paths: Paths,
    /// Theme name.
    pub theme: String,
    /// Keymap name.
    pub keymap: String,
    /// Notifications of the terminal.
    pub notify: Notify,
    /// Whether the title of the terminal says how many questions wait.
    pub title: bool,
    /// Links of the terminal.
    pub links: Links,
    /// How pictures are drawn.
    pub pictures: PictureDisplay,
    /// Whether this is `--demo`.
    pub demo: bool,
}

/// Everything.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Where things are.
    pub paths: Paths,
    /// Name of this instance in headers.
    pub instance: String,
    /// Default model, `<provider>/<model>`; `scripted/demo` when nothing is configured.
    pub model: String,
    /// Models that stand in for it when it cannot be had, in order.
    pub fallback: Vec<String>,
    /// Providers by name. Always contains `scripted`.
    pub providers: BTreeMap<String, ProviderSettings>,
    /// Tables about models that come before the shipped ones.
    pub tables: OwnTables,
    /// Channels by name. Always contains the built-in ones.
    pub channels: BTreeMap<String, ChannelSettings>,
    /// People by name.
    pub people: BTreeMap<String, PersonSettings>,
    /// Approvals.
    pub approvals: ApprovalSettings,
    /// Escalation policies, by name.
    pub escalation: BTreeMap<String, EscalationPolicy>,
    /// Limits of one continuation, of a session and of a day.
    pub budgets: BudgetSettings,
    /// Engine limits.
    pub engine: EngineSettings,
    /// How long things are kept.
    pub retention: RetentionSettings,
    /// Backups that the daemon makes by itself; none = it makes none.
    pub backup: Option<BackupSettings>,
    /// The response cache.
    pub response_cache: ResponseCacheSettings,
    /// What the operator plugged in.
    pub hooks: HookSettings,
    /// The files with keys and tokens.
    pub key_files: Vec<KeyFile>,
    /// Hygiene of the memory.
    pub hygiene: HygieneSettings,
    /// Files that come with messages.
    pub attachments: AttachmentSettings,
    /// Tables that people send.
    pub datasets: DatasetSettings,
    /// Who transcribes speech; none = nobody does.
    pub transcription: Option<TranscriptionSettings>,
    /// What is remembered, and how long sessions are shortened.
    pub memory: MemorySettings,
    /// Folders of skills, and instructions of workspaces.
    pub skills: SkillSettings,
    /// How `http_fetch` is configured; none = there is no such tool.
    pub fetch: Option<FetchSettings>,
    /// How `bash` is configured; none = there is no such tool.
    pub bash: Option<BashSettings>,
    /// How `python` is configured; none = there is no such tool.
    pub python: Option<PythonSettings>,
    /// Tools that the configuration declares, by name.
    pub http_tools: BTreeMap<String, HttpToolSettings>,
    /// Servers of the Model Context Protocol, by name.
    pub mcp: BTreeMap<String, McpServerSettings>,
    /// Secrets of these servers.
    pub mcp_secrets: McpSecrets,
    /// Risk overrides per tool name.
    pub tool_risk: BTreeMap<String, Risk>,
    /// TCP listener, when asked for: a loopback address, unless `tls` is there.
    pub listen: Option<std::net::SocketAddr>,
    /// The certificate of the TCP listener; none = it speaks plain HTTP.
    pub tls: Option<TlsSettings>,
    /// How much of the TCP listener one caller gets.
    pub listener_limits: ListenerLimits,
    /// Log filter, for example `info` or `leverframe=debug`.
    pub log_filter: String,
    /// JSON lines instead of text.
    pub log_json: bool,
    /// Files of the log.
    pub log_file: LogFileSettings,
    /// The collector that gets traces and logs; none = nobody gets them.
    pub telemetry: Option<TelemetrySettings>,
    /// Whether this is `--demo`.
    pub demo: bool,
    /// What it was made from.
    pub source: Source,
}

impl Settings {
    /// Where the datasets of channels are, by the workspace of the channel. A workspace that two channels share has none:
    /// neither may see those of the other.
    pub fn dataset_directories(&self) -> BTreeMap<PathBuf, PathBuf> {
        let all = self.paths.data_dir.join("datasets");
        let is_shared = |workspace: &PathBuf| {
            let same = |channel: &&ChannelSettings| &channel.workspace == workspace;
            self.channels.values().filter(same).count() > 1
        };
        let channels = self.channels.iter();
        channels
            .filter(|(_, channel)| !is_shared(&channel.workspace))
            .map(|(name, channel)| (channel.workspace.clone(), all.join(name)))
            .collect()
    }

    /// Where programs of a channel find the files of its skills.
    pub fn skill_directory(&self, channel: &str) -> PathBuf {
        self.paths.data_dir.join("skills").join(channel)
    }

    /// Those directories, by the workspace of the channel; empty where no skills are configured. A workspace that two
    /// channels share has none: they may have other skills.
    pub fn skill_directories(&self) -> BTreeMap<PathBuf, PathBuf> {
        if self.skills.folders.is_empty() {
            return BTreeMap::new();
        }
        let workspaces = self.dataset_directories();
        let channels = self.channels.iter();
        channels
            .filter(|(_, channel)| workspaces.contains_key(&channel.workspace))
            .map(|(name, channel)| (channel.workspace.clone(), self.skill_directory(name)))
            .collect()
    }

    /// Every secret in it.
    pub fn secrets(&self) -> impl Iterator<Item = &Secret> {
        let keys = self.providers.values().filter_map(|p| p.api_key.as_ref());
        let tokens = self.channels.values().flat_map(|c| c.platform.secrets());
        let hooks = self.hooks.commands.values();
        let variables = hooks.flat_map(|hook| hook.environment.iter().map(|(_, value)| value));
        let tools = self.http_tools.values();
        let secrets = tools.filter_map(|tool| tool.secret.as_ref());
        let servers = self.mcp_secrets.values.iter();
        let topics = self.escalation.values().flat_map(|one| one.secrets());
        let collector = self.telemetry.iter().flat_map(|one| &one.secrets);
        keys.chain(tokens)
            .chain(variables)
            .chain(secrets)
            .chain(servers)
            .chain(topics)
            .chain(collector)
    }
}

/// Secrets of the servers of the Model Context Protocol.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct McpSecrets {
    /// Their values.
    pub values: Vec<Secret>,
    /// Variables that are to be passed on and are not set: server and variable.
    pub missing: Vec<(String, String)>,
}

/// `[skills]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillSettings {
    /// Folders of skills, absolute.
    pub folders: Vec<PathBuf>,
    /// Whether the AGENTS.md of a workspace counts.
    pub instructions: bool,
}

/// `[tools.bash]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BashSettings {
    /// Minutes after which an idle shell ends.
    pub idle_minutes: u64,
    /// Most shells at once.
    pub max_shells: usize,
}

/// `[tools.python]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PythonSettings {
    /// The Python to use; none = the first that is found.
    pub executable: Option<PathBuf>,
    /// Minutes until an interpreter ends that no call uses.
    pub idle_minutes: u64,
    /// Most sessions that have an interpreter at once.
    pub max_interpreters: usize,
}

/// `[tools.http_fetch]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchSettings {
    /// Hosts in lower case that reading tells nothing; `*.` and a domain for all below it.
    pub allow: Vec<String>,
    /// Hosts that it never reaches; `*` for all that neither `allow` nor `private` lists.
    pub deny: Vec<String>,
    /// Hosts that may lead to this machine or to a private network.
    pub private: Vec<String>,
    /// Ports beside 80 and 443.
    pub ports: Vec<u16>,
    /// Seconds until the whole answer must be there.
    pub timeout_seconds: u64,
    /// KiB that are read of an answer.
    pub max_kib: usize,
    /// How long what was read may be given again; none = never.
    pub cache: Option<Duration>,
}

/// `[tools.NAME] kind = "http"`.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpToolSettings {
    /// For models.
    pub description: String,
    /// Method, in capitals.
    pub method: String,
    /// Scheme, host and port.
    pub origin: String,
    /// Path, and query where the address has one.
    pub path: Placeholders,
    /// Further parameters of the query.
    pub query: Vec<(String, Placeholders)>,
    /// Headers.
    pub headers: Vec<(String, Placeholders)>,
    /// JSON that is sent.
    pub body: Option<HttpBody>,
    /// JSON Schema of the arguments.
    pub schema: serde_json::Value,
    /// What a call touches.
    pub access: Access,
    /// Recovery class.
    pub effect: Effect,
    /// Keyed: the header of the key, and how long the service remembers it.
    pub key: Option<(String, Duration)>,
    /// The secret.
    pub secret: Option<Secret>,
    /// JSON pointer of the part that is read.
    pub result: Option<String>,
    /// Whether its answers are no untrusted content.
    pub trusted: bool,
    /// Seconds until the whole answer must be there.
    pub timeout_seconds: u64,
    /// KiB that are read of an answer.
    pub max_kib: usize,
    /// How long an answer may be given again; none = never.
    pub cache: Option<Duration>,
}

/// JSON with placeholders.
#[derive(Debug, Clone, PartialEq)]
pub enum HttpBody {
    /// As it stands: a number, a truth value, null.
    Json(serde_json::Value),
    /// A text.
    Text(Placeholders),
    /// A list.
    Array(Vec<HttpBody>),
    /// Members in order.
    Object(Vec<(String, HttpBody)>),
}

impl HttpBody {
    /// Every text in it.
    pub fn texts(&self) -> Vec<&Placeholders> {
        match self {
            Self::Json(_) => Vec::new(),
            Self::Text(text) => vec![text],
            Self::Array(items) => items.iter().flat_map(Self::texts).collect(),
            Self::Object(members) => members.iter().flat_map(|(_, item)| item.texts()).collect(),
        }
    }
}

/// What settings were made from, as far as a reload needs it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Source {
    /// The command line.
    pub flags: Flags,
    /// What the file says: values as TOML, by dotted key.
    pub values: BTreeMap<String, String>,
}

/// Where things are. All absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    /// Configuration file (may not exist).
    pub config_file: PathBuf,
    /// Directory of the configuration file: user themes and keymaps lie beside it.
    pub config_dir: PathBuf,
    /// Database, lock, socket, logs, artifacts.
    pub data_dir: PathBuf,
    /// `$XDG_RUNTIME_DIR`, for a socket whose path would be too long in the data directory.
    pub runtime_dir: Option<PathBuf>,
}

/// A file that holds a key or a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyFile {
    /// The setting that names it.
    pub key: String,
    /// Where it is.
    pub path: PathBuf,
}

/// Wire format of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProviderKind {
    /// OpenAI-compatible Chat Completions.
    #[serde(rename = "openai-chat")]
    OpenAiChat,
    /// OpenAI Responses.
    #[serde(rename = "openai-responses")]
    OpenAiResponses,
    /// Anthropic Messages.
    Anthropic,
    /// Google Gemini `generateContent`.
    Gemini,
    /// Ollama's own `/api/chat`.
    Ollama,
    /// The built-in scripted model, which is no LLM.
    Scripted,
}

/// One provider.
#[derive(Debug, Clone, PartialEq)]
pub struct ProviderSettings {
    /// Wire format.
    pub kind: ProviderKind,
    /// Base URL, for example `https://api.anthropic.com` or `http://127.0.0.1:8080/v1`.
    pub base_url: String,
    /// Key; none = the server wants none.
    pub api_key: Option<Secret>,
    /// Value of the provider's version header (Anthropic).
    pub api_version: Option<String>,
    /// Seconds to connect.
    pub connect_timeout_seconds: u64,
    /// Seconds to the first byte of the answer.
    pub first_byte_timeout_seconds: u64,
    /// Seconds without any byte.
    pub idle_timeout_seconds: u64,
    /// Seconds from sending a call to the end of its answer; 0 = no bound.
    pub request_timeout_seconds: u64,
    /// Upper bound on output tokens per call.
    pub max_output_tokens: u32,
    /// Context window of its models, in tokens.
    pub context_window: u64,
    /// Model calls at once.
    pub max_concurrent: usize,
    /// Price overrides by model id.
    pub prices: BTreeMap<String, Rates>,
    /// What the configuration itself says of its models.
    pub tuning: ModelTuning,
}

/// What the configuration says of a provider's models, as far as it says anything.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelTuning {
    /// Context window of all its models, in tokens.
    pub context_window: Option<u64>,
    /// Output tokens that a call asks for.
    pub max_output_tokens: Option<u32>,
    /// Reasoning effort, in the provider's word.
    pub effort: Option<String>,
    /// How its models are asked.
    pub parameters: ModelParameters,
    /// By model id.
    pub models: BTreeMap<String, ProfilePatch>,
    /// Whether its models cost nothing.
    pub free: bool,
    /// Where the key was taken from, in words: `ANTHROPIC_API_KEY`, a file, a command. Never the key.
    pub key_from: Option<String>,
}

/// How a reply is shown while it is being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplyStyle {
    /// Only the final answer.
    Final,
    /// A word about tools in use, then the final answer.
    Progress,
    /// The answer as it is being written, then the final answer.
    Streaming,
}

/// What a conversation's session is shared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionScope {
    /// Everybody in the chat.
    Chat,
    /// Each sender has an own one.
    Sender,
}

/// One channel.
#[derive(Debug, Clone, PartialEq)]
pub struct ChannelSettings {
    /// Kind.
    pub kind: ChannelKind,
    /// What the ids of its people begin with, before a colon: `telegram`, or `process/irc` where only this channel knows
    /// them.
    pub id_prefix: String,
    /// How it reaches its platform.
    pub platform: PlatformSettings,
    /// Baseline level.
    pub autonomy: Autonomy,
    /// Whether `full` without expiry is allowed.
    pub permanent_full: bool,
    /// Whether untrusted content in context makes calls ask in `full` too.
    pub taint_guard_in_full: bool,
    /// Baseline list.
    pub auto_approve: Vec<String>,
    /// Baseline list.
    pub block: Vec<String>,
    /// Baseline list.
    pub always_ask: Vec<String>,
    /// Platform ids that may talk to the agent; empty = nobody.
    pub allowed_users: Vec<String>,
    /// Conversation ids where the agent may be talked to; empty = any conversation of an allowed user.
    pub allowed_chats: Vec<String>,
    /// Names under `[people]` that are asked; empty = all approvers.
    pub approval_to: Vec<String>,
    /// Names under `[people]` who decide what it asks, and nobody else; empty = whoever may decide.
    pub approvers: Vec<String>,
    /// Tools and risks that two people must allow, as [`takes_two`](crate::protocol::approval::takes_two) reads them.
    pub two_people: Vec<String>,
    /// The escalation policy of its questions; none = they have no steps.
    pub escalation: Option<String>,
    /// Highest risk that can be decided from chat.
    pub chat_max_risk: Risk,
    /// Seconds before the chat is told that work goes on.
    pub max_wait_seconds: u64,
    /// Workspace root.
    pub workspace: PathBuf,
    /// Model of this channel's sessions, when not the default.
    pub model: Option<String>,
    /// Models that stand in on this channel, in order; none = those of the default model.
    pub fallback: Option<Vec<String>>,
    /// Whether sessions and turns of this channel cannot choose another model.
    pub fixed_model: bool,
    /// Added to the system text.
    pub note: Option<String>,
    /// Names of the skills of this channel; none = all.
    pub skills: Option<Vec<String>>,
    /// Names of the tool servers of this channel; none = all.
    pub mcp: Option<Vec<String>>,
    /// How models are asked here, before what is set for the model and its provider.
    pub parameters: ModelParameters,
    /// In group chats: only when mentioned, replied to or commanded.
    pub require_mention: bool,
    /// Who shares a session.
    pub session_scope: SessionScope,
    /// How replies are shown while written.
    pub reply_style: ReplyStyle,
    /// Whether a reply ends with what its turn read.
    pub citations: bool,
    /// Messages waiting per session.
    pub max_queue: u32,
    /// Whom a cached response may be given to.
    pub response_cache: CacheScope,
    /// Whether results of tools that only read may be given again for some seconds.
    pub tool_cache: bool,
    /// What it may use on one local day.
    pub budget: Limit,
    /// Whether somebody new who writes a direct message is told a code, and an operator asked to let them in.
    pub pairing: bool,
    /// What pauses a conversation.
    pub floods: FloodLimits,
    /// When nobody is to be disturbed about what comes from here.
    pub quiet_hours: Option<QuietHours>,
}

/// How the terminal shows a notification while it has not the focus. The bell rings in any case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Notify {
    /// Not at all.
    #[default]
    Off,
    /// OSC 9: iTerm2, Windows Terminal, WezTerm, ghostty.
    Osc9,
    /// OSC 99: kitty.
    Osc99,
    /// OSC 777: foot, urxvt, WezTerm, ghostty.
    Osc777,
}

/// Whether addresses and paths are links of the terminal (OSC 8).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Links {
    /// Where the terminal is none of those that write sequences out.
    #[default]
    Auto,
    /// In any case.
    On,
    /// Never.
    Off,
}

/// How pictures of a transcript are drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PictureDisplay {
    /// As the terminal says it can.
    #[default]
    Auto,
    /// By kitty's protocol.
    Kitty,
    /// By the inline images of iTerm2.
    Iterm2,
    /// By sixel.
    Sixel,
    /// As text in two colours.
    HalfBlocks,
    /// Not at all.
    Off,
}

/// Whether the requester of a call may decide it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SelfApproval {
    /// From the console, not from the chat.
    Console,
    /// From anywhere.
    Always,
    /// Never.
    Never,
}

/// Approvals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalSettings {
    /// Whether the requester may decide.
    pub self_approval: SelfApproval,
    /// Seconds an approval of up to medium risk lives.
    pub life_seconds: u64,
    /// Seconds an approval of high or critical risk lives.
    pub high_risk_life_seconds: u64,
    /// Seconds for which an approved call of up to medium risk is held back before it starts, 0 to 10. A call that was
    /// approved among several, or with a rule, is held back three seconds at least.
    pub approve_grace_seconds: u32,
    /// Seconds after which people are reminded, in rising order; empty = they are not.
    pub reminder_seconds: Vec<i64>,
    /// Pending approvals per session; beyond it a call is denied.
    pub max_pending_per_session: u32,
    /// Pending approvals per channel; beyond it a call is denied.
    pub max_pending_per_channel: u32,
}

/// Limits of one continuation, of a session and of a day.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BudgetSettings {
    /// Of one continuation.
    pub turn: TurnLimits,
    /// Of a session for as long as it lives.
    pub session: Limit,
    /// Of a channel on one local day, where the channel has none of its own.
    pub channel: Limit,
    /// Of all channels on one local day.
    pub day: Limit,
}

/// Engine limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineSettings {
    /// Continuations that run at once.
    pub max_running: usize,
    /// Execute only the first call of an answer.
    pub one_tool_per_step: bool,
    /// Times a model call is tried.
    pub max_model_attempts: u32,
    /// Complete exchanges of history sent along at least.
    pub history_exchanges: u32,
    /// Percent of a window that further exchanges may fill; 0 = none are sent.
    pub history_share: u32,
    /// Seconds that running work gets to end when the process is told to; 0 = none.
    pub shutdown_grace_seconds: u32,
    /// MiB by which one run of a program may make its workspace grow, and of one file that it writes.
    pub run_growth_mib: u32,
}

/// How long things are kept, in days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetentionSettings {
    /// Events.
    pub events: u32,
    /// Archived events, after they left the database; 0 = there is no archive.
    pub event_archive: u32,
    /// Days for which a change of files can be undone.
    pub file_changes: u32,
    /// Ended turns with everything that belongs to them, ended sessions, settled notices.
    pub history: u32,
    /// Without a change until a session expires.
    pub session_idle: u32,
    /// The audit.
    pub audit: u32,
}

/// The response cache, as far as it is the same for all channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseCacheSettings {
    /// Minutes a response stays cached.
    pub ttl_minutes: u32,
    /// Most answers kept.
    pub max_entries: u32,
}

/// Hooks of the operator, and the limits of the built-in one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HookSettings {
    /// Programs, by name.
    pub commands: BTreeMap<String, CommandHook>,
    /// How much may happen in a minute.
    pub rate_limit: RateLimits,
}

/// A program that is called at some points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandHook {
    /// Absolute path of the program, and its arguments.
    pub command: Vec<String>,
    /// When it is called; at least one, each once.
    pub points: Vec<HookPoint>,
    /// Lower ones are called first.
    pub priority: i32,
    /// Milliseconds it may take.
    pub timeout_ms: u64,
    /// Only on these channels; empty = on all.
    pub channels: Vec<String>,
    /// Only for these tools; empty = for all.
    pub tools: Vec<String>,
    /// Variables it is given beside the usual ones.
    pub environment: Vec<(String, Secret)>,
    /// Its verdict is only counted.
    pub dry_run: bool,
}

/// The most that may happen in a minute; none = no limit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RateLimits {
    /// Messages of each person.
    pub messages: Option<u32>,
    /// Messages on each channel.
    pub channel_messages: Option<u32>,
    /// Tool calls for each person.
    pub tool_calls: Option<u32>,
    /// Tool calls on each channel.
    pub channel_tool_calls: Option<u32>,
    /// Calls of each of these tools.
    pub per_tool: BTreeMap<String, u32>,
}

/// Who transcribes speech.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptionSettings {
    /// Name of the provider.
    pub provider: String,
    /// Id of its model.
    pub model: String,
}

/// Files that come with messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttachmentSettings {
    /// Most files of one message.
    pub max_files: usize,
    /// Bytes that they have at most, all together.
    pub max_bytes: u64,
}

/// Tables that people send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatasetSettings {
    /// Days that one is kept; 0 = for ever.
    pub keep_days: u32,
    /// Bytes that a file has at most that becomes one.
    pub max_bytes: u64,
    /// Bytes that the datasets of a channel take at most.
    pub max_total_bytes: u64,
}

/// Hygiene of the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HygieneSettings {
    /// Days that memories of sessions are kept after their last use; 0 = for ever.
    pub session_days: u32,
    /// The same of channels.
    pub channel_days: u32,
    /// The same of those that are recalled everywhere.
    pub global_days: u32,
    /// Most memories of one scope and channel.
    pub max_memories: u64,
    /// Days within which a run can be taken back.
    pub undo_days: u32,
}

impl HygieneSettings {
    /// Days that memories of a scope are kept after their last use; 0 = for ever.
    pub const fn days_of(&self, scope: MemoryScope) -> u32 {
        match scope {
            MemoryScope::Session => self.session_days,
            MemoryScope::Channel => self.channel_days,
            MemoryScope::Global => self.global_days,
        }
    }
}

/// What is remembered, and how long sessions are shortened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemorySettings {
    /// Whether long sessions are compacted by themselves.
    pub compaction: bool,
    /// `<provider>/<model>` that compacts; none = that of the session.
    pub compaction_model: Option<String>,
    /// Share of the room for a prompt, in percent, beyond which a session is compacted.
    pub compaction_share: u32,
    /// Exchanges beyond those that are sent along at which a session is compacted.
    pub compaction_exchanges: u32,
    /// How texts are compared by meaning; none = only by words.
    pub embeddings: Option<EmbeddingSettings>,
}

/// The model that turns texts into vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddingSettings {
    /// Name of its provider.
    pub provider: String,
    /// Its id there.
    pub model: String,
    /// Numbers of a vector, where the model is to be told.
    pub dimensions: Option<u32>,
    /// Percent of similarity below which two texts have nothing to do with each other.
    pub min_similarity: u32,
}

impl EmbeddingSettings {
    /// `<provider>/<model>`, as prices and costs name it.
    pub fn name(&self) -> String {
        format!("{}/{}", self.provider, self.model)
    }

    /// What its vectors are stored under: those of another name cannot be compared with them.
    pub fn stored_as(&self) -> String {
        match self.dimensions {
            Some(dimensions) => format!("{}@{dimensions}", self.name()),
            None => self.name(),
        }
    }
}

/// Accesses that `semi_auto` lets run.
pub const SEMI_AUTO_RUNS: &[Access] = &[Access::ReadLocal];
