//! The configuration file as it is written. Every field is optional here; defaults live in the layers.
//!
//! Unknown keys are errors. Nothing here looks at the environment, and no error quotes a value that could
//! be a secret.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::config::backup::BackupTable;
use crate::config::escalation::EscalationTable;
use crate::config::log::LogTable;
use crate::config::model_tables::{ProfilePatch, Rates};
use crate::config::platform::SenderIdentity;
use crate::config::server::ServerTable;
use crate::config::settings::{
    Links, Notify, PictureDisplay, ProviderKind, ReplyStyle, SelfApproval, SessionScope,
};
use crate::config::telemetry::TelemetryTable;
use crate::protocol::budget::Limit;
use crate::protocol::enums::{
    Access, Autonomy, CacheScope, ChannelKind, Effect, HookPoint, Risk, Role,
};
use crate::protocol::options::ToolChoice;

/// The whole file.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ConfigFile {
    /// Name of this instance in headers.
    pub instance: Option<String>,
    /// `[model]`.
    pub model: ModelTable,
    /// `[providers.NAME]`.
    pub providers: BTreeMap<String, ProviderTable>,
    /// `[channels.NAME]`.
    pub channels: BTreeMap<String, ChannelTable>,
    /// `[people.NAME]`.
    pub people: BTreeMap<String, PersonTable>,
    /// `[escalation.NAME]`.
    pub escalation: BTreeMap<String, EscalationTable>,
    /// `[approvals]`.
    pub approvals: ApprovalsTable,
    /// `[budgets]`.
    pub budgets: BudgetsTable,
    /// `[engine]`.
    pub engine: EngineTable,
    /// `[retention]`.
    pub retention: RetentionTable,
    /// `[backup]`.
    pub backup: BackupTable,
    /// `[console]`.
    pub console: ConsoleTable,
    /// `[log]`.
    pub log: LogTable,
    /// `[telemetry]`.
    pub telemetry: TelemetryTable,
    /// `[server]`.
    pub server: ServerTable,
    /// `[tools.NAME]`.
    pub tools: BTreeMap<String, ToolTable>,
    /// `[response_cache]`.
    pub response_cache: ResponseCacheTable,
    /// `[hooks.NAME]`.
    pub hooks: BTreeMap<String, HookTable>,
    /// `[attachments]`.
    pub attachments: AttachmentsTable,
    /// `[datasets]`.
    pub datasets: DatasetsTable,
    /// `[transcription]`.
    pub transcription: Option<TranscriptionTable>,
    /// `[memory]`.
    pub memory: MemoryTable,
    /// `[skills]`.
    pub skills: SkillsTable,
    /// `[mcp.NAME]`.
    pub mcp: BTreeMap<String, McpTable>,
}

/// `[mcp.NAME]`: a server of the Model Context Protocol. It has `command` or `url`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct McpTable {
    /// Program and its arguments: a server of this machine, over its standard input and output.
    pub command: Option<Vec<String>>,
    /// Working directory of the program; left out: an empty one of its own.
    pub directory: Option<String>,
    /// Variables of the program, in plain text; no secrets.
    pub environment: Option<BTreeMap<String, String>>,
    /// Variables of the daemon that the program gets too; their values count as secrets.
    pub environment_env: Option<Vec<String>>,
    /// Variables of the program whose values are in files of mode 0600: `{ API_KEY = "path" }`.
    pub environment_files: Option<BTreeMap<String, String>>,
    /// Directories and files that the program reads beside the system's.
    pub read: Option<Vec<String>>,
    /// Directories that the program changes.
    pub write: Option<Vec<String>>,
    /// Whether the program has the network; default false.
    pub network: Option<bool>,
    /// Whether the program runs in the sandbox; default true.
    pub sandbox: Option<bool>,
    /// Address of a server that is reached over streamable HTTP.
    pub url: Option<String>,
    /// Headers of every request; `{secret}` stands for the secret.
    pub headers: Option<BTreeMap<String, String>>,
    /// Variable that holds the secret.
    pub secret_env: Option<String>,
    /// File that holds the secret, mode 0600.
    pub secret_file: Option<String>,
    /// Shell command that prints the secret.
    pub secret_command: Option<String>,
    /// Whether the server wants a login: `leverframe mcp login NAME`.
    pub login: Option<bool>,
    /// Id of a client that somebody registered by hand, for the login.
    pub client_id: Option<String>,
    /// Scopes that the login asks for; left out: what the server says.
    pub scopes: Option<Vec<String>>,
    /// Whether what the server claims about its tools counts; default false.
    pub trusted: Option<bool>,
    /// The only tools that agents get, by their names on the server, or a prefix with `*`; left out: all.
    pub allow: Option<Vec<String>>,
    /// Tools that agents never get, by their names on the server, or a prefix with `*`.
    pub block: Option<Vec<String>>,
    /// Seconds that a call can go without an answer or progress.
    pub timeout_seconds: Option<u64>,
    /// Seconds of a whole call.
    pub max_seconds: Option<u64>,
    /// Minutes without a call after which the server is let go.
    pub idle_minutes: Option<u64>,
    /// KiB of a result that are taken; the rest is left out, with a note.
    pub max_result_kib: Option<usize>,
    /// `[mcp.NAME.tools.TOOL]`.
    pub tools: BTreeMap<String, McpToolTable>,
}

/// `[mcp.NAME.tools.TOOL]`: what the operator says about a tool of a server, by its name on the server.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct McpToolTable {
    /// What a call touches; left out: what a trusted server claims, else unknown.
    pub access: Option<Access>,
    /// What recovery assumes of a call that was cut off.
    pub effect: Option<Effect>,
    /// Seconds for which a result is given again; only of tools that read.
    pub cache_seconds: Option<u64>,
    /// Whether models always see the tool, however many tools there are.
    pub always_offered: Option<bool>,
    /// `keyed` tools: the argument that gets the idempotency key.
    pub key_argument: Option<String>,
    /// `reconcilable` tools: the tool of this server that tells whether a call happened.
    pub probe: Option<String>,
}

/// `[skills]`: what agents are taught, once an operator trusts it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SkillsTable {
    /// Folders of skills: each skill is a folder with a SKILL.md in one of them.
    pub folders: Option<Vec<String>>,
    /// Whether the AGENTS.md of a workspace counts.
    pub instructions: Option<bool>,
}

/// `[hooks.NAME]`: a program of the operator, or the limits of `rate_limit`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HookTable {
    /// Program by absolute path, and its arguments.
    pub command: Option<Vec<String>>,
    /// The points at which the engine calls it.
    pub points: Option<Vec<HookPoint>>,
    /// The engine calls lower ones first, then goes by name.
    pub priority: Option<i32>,
    /// Milliseconds that a run may take; at most 30000.
    pub timeout_ms: Option<u64>,
    /// The engine calls it only on these channels; left out: on all.
    pub channels: Option<Vec<String>>,
    /// The engine calls it only for these tools; left out: for all.
    pub tools: Option<Vec<String>>,
    /// Variables that the program gets; their values count as secrets.
    pub env: Option<Vec<String>>,
    /// The engine counts and shows its verdict; nothing follows from it.
    pub dry_run: Option<bool>,
    /// `rate_limit`: messages of each person.
    pub messages_per_minute: Option<u32>,
    /// `rate_limit`: messages on each channel.
    pub channel_messages_per_minute: Option<u32>,
    /// `rate_limit`: tool calls for each person.
    pub tool_calls_per_minute: Option<u32>,
    /// `rate_limit`: tool calls on each channel.
    pub channel_tool_calls_per_minute: Option<u32>,
    /// `rate_limit`: calls a minute of each tool, by its name.
    pub per_tool: Option<BTreeMap<String, u32>>,
}

/// `[model]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelTable {
    /// The model that answers, as `<provider>/<model>`.
    pub default: Option<String>,
    /// Models that stand in when it cannot be had, in order.
    pub fallback: Option<Vec<String>>,
    /// Whether the scripted model may answer on real channels.
    pub allow_scripted_on_channels: bool,
    /// File of profiles that come before the shipped ones.
    pub profiles_file: Option<String>,
    /// File of prices that come before the shipped ones.
    pub prices_file: Option<String>,
}

/// `[providers.NAME]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProviderTable {
    /// The interface that the server speaks.
    pub kind: Option<ProviderKind>,
    /// Address of the server.
    pub base_url: Option<String>,
    /// Variable that holds the key.
    pub api_key_env: Option<String>,
    /// File that holds the key, mode 0600.
    pub api_key_file: Option<String>,
    /// Shell command that prints the key.
    pub api_key_command: Option<String>,
    /// Version header of the Anthropic interface.
    pub api_version: Option<String>,
    /// Seconds until a connection must stand.
    pub connect_timeout_seconds: Option<u64>,
    /// Seconds until the first byte of an answer.
    pub first_byte_timeout_seconds: Option<u64>,
    /// Seconds that an answer may pause.
    pub idle_timeout_seconds: Option<u64>,
    /// Seconds of a whole call, however much it sends; 0 = no bound.
    pub request_timeout_seconds: Option<u64>,
    /// Tokens that a call asks for; left out: by the model's profile.
    pub max_output_tokens: Option<u32>,
    /// Tokens of the context window; left out: by the model's profile.
    pub context_window: Option<u64>,
    /// Calls that this provider takes at once.
    pub max_concurrent: Option<usize>,
    /// US dollars per million tokens, by model id: `"id" = { input = 1.0, output = 2.0 }`.
    pub prices: BTreeMap<String, Rates>,
    /// What its models can do, by model id: `"id" = { tools = false }`.
    pub models: BTreeMap<String, ProfilePatch>,
    /// Reasoning effort of its models, in the provider's word.
    pub effort: Option<String>,
    /// Sampling temperature of its models, 0 to 2.
    pub temperature: Option<f64>,
    /// Share of the probability that tokens are taken from, above 0 and at most 1.
    pub top_p: Option<f64>,
    /// Which tool models call. `required` and the name of a tool hold until the turn has made a call.
    pub tool_choice: Option<ToolChoice>,
    /// Whether its models cost nothing.
    pub free: bool,
}

/// Platform of a channel as the file spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChannelPlatform {
    /// Telegram.
    Telegram,
    /// Discord.
    Discord,
    /// Slack.
    Slack,
    /// Matrix.
    Matrix,
    /// Signed requests of another system, both ways.
    Webhook,
    /// A bridge that is a program.
    Process,
    /// The platform of tests, at `api_base`.
    #[cfg(feature = "test-hooks")]
    Scripted,
}

impl ChannelPlatform {
    /// Those that a person connects.
    pub const ALL: &'static [Self] = &[
        Self::Telegram,
        Self::Discord,
        Self::Slack,
        Self::Matrix,
        Self::Webhook,
        Self::Process,
    ];

    /// The kind of channel.
    pub const fn kind(self) -> ChannelKind {
        match self {
            Self::Telegram => ChannelKind::Telegram,
            Self::Discord => ChannelKind::Discord,
            Self::Slack => ChannelKind::Slack,
            Self::Matrix => ChannelKind::Matrix,
            Self::Webhook => ChannelKind::Webhook,
            Self::Process => ChannelKind::Process,
            #[cfg(feature = "test-hooks")]
            Self::Scripted => ChannelKind::Scripted,
        }
    }

    /// As the file spells it.
    pub const fn as_str(self) -> &'static str {
        self.kind().as_str()
    }
}

impl std::str::FromStr for ChannelPlatform {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = Self::ALL.iter();
        let found = all.clone().find(|one| one.as_str() == text).copied();
        found.ok_or_else(|| {
            let words: Vec<&str> = all.map(|one| one.as_str()).collect();
            format!("expected one of {}", words.join(", "))
        })
    }
}

/// `[channels.NAME]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ChannelTable {
    /// Platform; built-in channels leave it out.
    pub kind: Option<ChannelPlatform>,
    /// Variable that holds the token.
    pub token_env: Option<String>,
    /// File that holds the token, mode 0600.
    pub token_file: Option<String>,
    /// Shell command that prints the token.
    pub token_command: Option<String>,
    /// Slack: variable that holds the app-level token.
    pub app_token_env: Option<String>,
    /// Slack: file that holds the app-level token, mode 0600.
    pub app_token_file: Option<String>,
    /// Slack: shell command that prints the app-level token.
    pub app_token_command: Option<String>,
    /// Webhook: variable that holds the secret of the signatures.
    pub secret_env: Option<String>,
    /// Webhook: file that holds the secret of the signatures, mode 0600.
    pub secret_file: Option<String>,
    /// Webhook: shell command that prints the secret of the signatures.
    pub secret_command: Option<String>,
    /// Webhook: address that gets what the agent says; left out: only the answers of requests that wait.
    pub callback_url: Option<String>,
    /// Telegram: public address of this daemon; Telegram sends updates there in place of being asked.
    pub webhook_url: Option<String>,
    /// Process: program and its arguments.
    pub command: Option<Vec<String>>,
    /// Process: working directory of the program; left out: an empty one of its own.
    pub directory: Option<String>,
    /// Process: variables of the program, in plain text; no secrets.
    pub environment: Option<BTreeMap<String, String>>,
    /// Process: variables of the daemon that the program gets too; their values count as secrets.
    pub environment_env: Option<Vec<String>>,
    /// Process: variables of the program whose values are in files of mode 0600: `{ API_KEY = "path" }`.
    pub environment_files: Option<BTreeMap<String, String>>,
    /// Process: directories and files that the program reads beside the system's.
    pub read: Option<Vec<String>>,
    /// Process: directories that the program changes.
    pub write: Option<Vec<String>>,
    /// Process: whether the program has the network; default true.
    pub network: Option<bool>,
    /// Process: whether the program runs in the sandbox; default true.
    pub sandbox: Option<bool>,
    /// Webhook and process: `authenticated` where who is named as the sender is certain; default `claimed`.
    pub senders: Option<SenderIdentity>,
    /// Base URL of the platform; of Matrix: the homeserver.
    pub api_base: Option<String>,
    /// Level; a stricter one applies with the next reload or start, a looser one waits for a person.
    pub autonomy: Option<Autonomy>,
    /// Whether `full` may have no expiry.
    pub permanent_full: Option<bool>,
    /// Whether untrusted content in context makes calls ask in `full` too; default true.
    pub taint_guard_in_full: Option<bool>,
    /// Tools that run without a person: names, or a prefix with `*`.
    pub auto_approve: Option<Vec<String>>,
    /// Tools that never run.
    pub block: Option<Vec<String>>,
    /// Tools that always ask.
    pub always_ask: Option<Vec<String>>,
    /// Numeric ids of people whom the bot answers.
    pub allowed_users: Option<Vec<String>>,
    /// Groups in which the bot answers; without `allowed_users` it answers everybody there.
    pub allowed_chats: Option<Vec<String>>,
    /// Names under `[people]` whom the bot asks; empty: all approvers.
    pub approval_to: Option<Vec<String>>,
    /// Names under `[people]` who decide what this channel asks, and nobody else; empty: whoever may decide.
    pub approvers: Option<Vec<String>>,
    /// What two people must allow: names of tools, prefixes with `*`, and `risk:high` for this risk and higher ones.
    pub two_people: Option<Vec<String>>,
    /// Name under `[escalation]`: who hears of a question that nobody decides; left out: nobody more.
    pub escalation: Option<String>,
    /// Highest risk that somebody can decide in the chat.
    pub chat_max_risk: Option<Risk>,
    /// Seconds after which the bot tells the chat that work goes on.
    pub max_wait_seconds: Option<u64>,
    /// Folder of the agent's files; left out: `<data directory>-workspaces/<channel>`.
    pub workspace: Option<String>,
    /// Model of this channel, as `<provider>/<model>`.
    pub model: Option<String>,
    /// Models that stand in, in place of `[model] fallback`.
    pub fallback: Option<Vec<String>>,
    /// Whether nobody can choose another model here.
    pub fixed_model: Option<bool>,
    /// Text that the engine adds to the system text.
    pub note: Option<String>,
    /// Names of the skills of this channel; left out: all that an operator trusts.
    pub skills: Option<Vec<String>>,
    /// Names under `[mcp]` whose tools this channel gets; left out: all.
    pub mcp: Option<Vec<String>>,
    /// Sampling temperature of models on this channel, 0 to 2.
    pub temperature: Option<f64>,
    /// Share of the probability that tokens are taken from, above 0 and at most 1.
    pub top_p: Option<f64>,
    /// Which tool models call. `required` and the name of a tool hold until the turn has made a call.
    pub tool_choice: Option<ToolChoice>,
    /// In groups the bot answers only who addresses it.
    pub require_mention: Option<bool>,
    /// Who shares a session.
    pub session_scope: Option<SessionScope>,
    /// How replies are shown.
    pub reply_style: Option<ReplyStyle>,
    /// Whether a reply ends with what its turn read: files, artifacts and memories.
    pub citations: Option<bool>,
    /// Messages that can wait in one session.
    pub max_queue: Option<u32>,
    /// Who may get a cached answer.
    pub response_cache: Option<CacheScope>,
    /// Whether the engine gives results of tools that only read again.
    pub tool_cache: Option<bool>,
    /// `[channels.NAME.budget]`.
    pub budget: Limit,
    /// Whether an unknown sender can ask for access.
    pub pairing: Option<bool>,
    /// Denials in a row that pause a conversation; 0: none do. Left out: 3 on chat platforms, else 0.
    pub pause_after_denials: Option<u32>,
    /// Turns in ten minutes that pause a conversation; 0: none do. Left out: 20 on chat platforms, else 0.
    pub pause_after_turns: Option<u32>,
    /// Hours in which the bot sends no cards and reminders, as `22:00-07:00`; deadlines stand still. Critical calls ask.
    pub quiet_hours: Option<String>,
    /// IANA name of the time zone of `quiet_hours`; left out: the machine's.
    pub time_zone: Option<String>,
}

/// `[people.NAME]`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PersonTable {
    /// Ids of this person, as `platform:id`.
    pub ids: Vec<String>,
    /// What this person may do.
    pub role: Role,
    /// Hours in which this person gets no cards and reminders, as `22:00-07:00`. Critical calls ask.
    pub quiet_hours: Option<String>,
    /// IANA name of the time zone of `quiet_hours`; left out: the machine's.
    pub time_zone: Option<String>,
}

/// `[approvals]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ApprovalsTable {
    /// Where people may decide their own requests.
    pub self_approval: Option<SelfApproval>,
    /// Seconds until an approval expires.
    pub life_seconds: Option<u64>,
    /// The same for calls of high or critical risk.
    pub high_risk_life_seconds: Option<u64>,
    /// Seconds by which an approved call of low or medium risk starts later; at most 10. Several calls at once, and a
    /// call with a rule, start 3 seconds later at least.
    #[serde(alias = "undo_seconds")]
    pub approve_grace_seconds: Option<u32>,
    /// Seconds after which the bot reminds people of a call that waits; left out: 5 minutes, 1 hour, 12 hours.
    pub reminder_seconds: Option<Vec<u64>>,
    /// Approvals that can wait in one session; the engine denies further calls.
    pub max_pending_per_session: Option<u32>,
    /// Approvals that can wait on one channel.
    pub max_pending_per_channel: Option<u32>,
}

/// `[budgets]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BudgetsTable {
    /// Model calls of one turn.
    pub max_steps: Option<u32>,
    /// Tool calls of one turn.
    pub max_tool_calls: Option<u32>,
    /// Seconds of model and engine time; waiting for people does not count.
    pub max_duration_seconds: Option<u32>,
    /// Tokens of one turn.
    pub max_tokens: Option<u64>,
    /// US dollars of one turn; left out: no limit in money.
    pub max_cost_usd: Option<f64>,
    /// `[budgets.session]`.
    pub session: Limit,
    /// `[budgets.channel]`.
    pub channel: Limit,
    /// `[budgets.day]`.
    pub day: Limit,
}

/// `[engine]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EngineTable {
    /// Turns that run at once.
    pub max_running: Option<usize>,
    /// The engine takes only the first call of an answer.
    pub one_tool_per_step: Option<bool>,
    /// Attempts of a model call.
    pub max_model_attempts: Option<u32>,
    /// Complete exchanges that a prompt has at least.
    pub history_exchanges: Option<u32>,
    /// Percent of the window that more exchanges may fill; 0 = none.
    pub history_share: Option<u32>,
    /// Seconds that running work gets to end.
    pub shutdown_grace_seconds: Option<u32>,
    /// MiB by which a run of a program may make its workspace grow.
    pub run_growth_mib: Option<u32>,
}

/// `[retention]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RetentionTable {
    /// Days events are kept.
    pub events_days: Option<u32>,
    /// Days that an archived day of events is kept after its events left the database; 0 = there is no archive.
    pub event_archive_days: Option<u32>,
    /// Days ended turns are kept.
    pub history_days: Option<u32>,
    /// Days without a change until a session expires.
    pub session_idle_days: Option<u32>,
    /// Days for which what tools did to files can be undone; a deleted file is kept that long.
    pub file_changes_days: Option<u32>,
    /// Days the audit is kept.
    pub audit_days: Option<u32>,
}

/// `[response_cache]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ResponseCacheTable {
    /// `false`: no channel caches responses. `true`: channels that say nothing cache them for each user.
    pub enabled: Option<bool>,
    /// Minutes that a response stays cached.
    pub ttl_minutes: Option<u32>,
    /// Most responses that are cached.
    pub max_entries: Option<u32>,
}

/// `[attachments]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AttachmentsTable {
    /// Most files of one message; 0 = none is taken.
    pub max_files: Option<usize>,
    /// MiB that the files of one message have at most.
    pub max_mib: Option<u64>,
}

/// `[datasets]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DatasetsTable {
    /// Days that a dataset is kept; 0 = for ever.
    pub keep_days: Option<u32>,
    /// MiB that a file has at most that becomes one.
    pub max_mib: Option<u64>,
    /// MiB that the datasets of a channel take at most.
    pub max_total_mib: Option<u64>,
}

/// `[transcription]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TranscriptionTable {
    /// Name of a provider of kind `openai-chat` or `openai-responses`.
    pub provider: Option<String>,
    /// Its model for speech.
    pub model: Option<String>,
}

/// `[memory]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MemoryTable {
    /// Whether long sessions are compacted by themselves.
    pub compaction: Option<bool>,
    /// Model that writes the summary; left out: the model of the session.
    pub compaction_model: Option<String>,
    /// Percent of the room for a prompt beyond which a session is compacted.
    pub compaction_share: Option<u32>,
    /// Exchanges beyond `engine.history_exchanges` at which it is compacted too.
    pub compaction_exchanges: Option<u32>,
    /// `[memory.hygiene]`.
    pub hygiene: HygieneTable,
    /// `[memory.embeddings]`.
    pub embeddings: Option<EmbeddingsTable>,
}

/// `[memory.embeddings]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EmbeddingsTable {
    /// Name of a provider of kind `openai-chat`, `openai-responses` or `ollama`.
    pub provider: Option<String>,
    /// Its model.
    pub model: Option<String>,
    /// Numbers of an embedding.
    pub dimensions: Option<u32>,
    /// Percent below which a text does not count as found by meaning.
    pub min_similarity: Option<u32>,
}

/// `[memory.hygiene]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HygieneTable {
    /// Days memories are kept after their last use; 0 = for ever.
    pub retention_days: Option<u32>,
    /// The same for those of sessions.
    pub session_days: Option<u32>,
    /// The same for those of channels.
    pub channel_days: Option<u32>,
    /// The same for those that are recalled everywhere.
    pub global_days: Option<u32>,
    /// Most memories of one scope and channel.
    pub max_memories: Option<u64>,
    /// Days within which a run can be taken back.
    pub undo_days: Option<u32>,
}

/// `[console]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ConsoleTable {
    /// Theme name.
    pub theme: Option<String>,
    /// Keymap name.
    pub keymap: Option<String>,
    /// How the terminal notifies while it has not the focus.
    pub notify: Option<Notify>,
    /// Whether the title of the terminal says how many questions wait.
    pub title: Option<bool>,
    /// Whether addresses and paths are links of the terminal.
    pub links: Option<Links>,
    /// How pictures of a transcript are drawn.
    pub pictures: Option<PictureDisplay>,
}

/// What a table of a tool declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolKind {
    /// A request over HTTP.
    Http,
}

/// `[tools.NAME]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ToolTable {
    /// `http`: the table declares a tool that is a request to a service. Left out: a tool that exists.
    pub kind: Option<ToolKind>,
    /// Least risk of its calls.
    pub risk: Option<Risk>,
    /// `http_fetch`: hosts that reading tells nothing: `example.org`, or `*.example.org` for all below it.
    pub allow: Option<Vec<String>>,
    /// `http_fetch`: hosts that it never reaches; `*`: all that neither `allow` nor `private` lists.
    pub deny: Option<Vec<String>>,
    /// `http_fetch`: hosts that may lead to this machine or to a private network.
    pub private: Option<Vec<String>>,
    /// `http_fetch`: ports beside 80 and 443.
    pub ports: Option<Vec<u16>>,
    /// `python`: absolute path of the Python to use. Left out: the first of `/usr/bin/python3` and
    /// `/usr/local/bin/python3`.
    pub executable: Option<String>,
    /// `bash`, `python`: minutes until a shell or an interpreter ends that no call uses.
    pub idle_minutes: Option<u64>,
    /// `python`: sessions that have an interpreter at once.
    pub max_interpreters: Option<usize>,
    /// `bash`: sessions that have a shell at once.
    pub max_shells: Option<usize>,
    /// Seconds until the whole answer must be there.
    pub timeout_seconds: Option<u64>,
    /// KiB that are read of an answer.
    pub max_kib: Option<usize>,
    /// Seconds for which the engine gives what was read again, where the channel says `tool_cache = true`; left out: never.
    pub cache_seconds: Option<u64>,
    /// Declared: what models read about it.
    pub description: Option<String>,
    /// Declared: `GET` where nothing is said.
    pub method: Option<String>,
    /// Declared: scheme, host and port as they are; in path and query `{name}` is a parameter.
    pub url: Option<String>,
    /// Declared: further parameters of the query.
    pub query: Option<BTreeMap<String, String>>,
    /// Declared: headers; `{secret}` is the secret.
    pub headers: Option<BTreeMap<String, String>>,
    /// Declared: JSON that is sent; a text that is `"{name}"` alone is the value itself.
    pub body: Option<toml::Value>,
    /// Declared: a JSON Schema for each parameter, by its name.
    pub parameters: Option<toml::Table>,
    /// Declared: parameters that may be left out.
    pub optional: Option<Vec<String>>,
    /// Declared: what a call touches; left out: by the method.
    pub access: Option<Access>,
    /// Declared: what recovery may assume of a call that a crash interrupted; left out: by the method.
    pub effect: Option<Effect>,
    /// Declared, `keyed`: header that takes the idempotency key.
    pub key_header: Option<String>,
    /// Declared, `keyed`: seconds for which the service remembers a key, less what a late run may need.
    pub key_seconds: Option<u64>,
    /// Declared: variable that holds the secret.
    pub secret_env: Option<String>,
    /// Declared: file that holds the secret, mode 0600.
    pub secret_file: Option<String>,
    /// Declared: shell command that prints the secret.
    pub secret_command: Option<String>,
    /// Declared: JSON pointer of the part that the agent reads.
    pub result: Option<String>,
    /// Declared: whether its answers do not count as untrusted content.
    pub trusted: Option<bool>,
}
