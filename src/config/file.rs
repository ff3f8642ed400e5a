//! The configuration file as it is written. Every field is optional here; defaults live in the layers.
//!
//! Unknown keys are errors. Nothing here looks at the environment, and no error quotes a value that could
//! be a secret.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;
use toml::de::DeTable;

use crate::config::error::{ConfigError, Fault, Place};
use crate::protocol::words::{Autonomy, Risk, Role};

/// Larger files are refused: nobody writes them.
const MAX_BYTES: u64 = 1 << 20;

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
    /// `[approvals]`.
    pub approvals: ApprovalsTable,
    /// `[budgets]`.
    pub budgets: BudgetsTable,
    /// `[engine]`.
    pub engine: EngineTable,
    /// `[retention]`.
    pub retention: RetentionTable,
    /// `[console]`.
    pub console: ConsoleTable,
    /// `[log]`.
    pub log: LogTable,
    /// `[server]`.
    pub server: ServerTable,
    /// `[tools.NAME]`.
    pub tools: BTreeMap<String, ToolTable>,
}

/// `[model]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelTable {
    /// `<provider>/<model>`.
    pub default: Option<String>,
    /// `<provider>/<model>`, in order.
    pub fallback: Option<Vec<String>>,
    /// Whether the scripted model may answer on real channels.
    pub allow_scripted_on_channels: bool,
}

/// Kind of a provider as the file spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProviderWord {
    /// OpenAI-compatible Chat Completions.
    OpenaiChat,
    /// OpenAI Responses.
    OpenaiResponses,
    /// Anthropic Messages.
    Anthropic,
    /// Google Gemini.
    Gemini,
    /// Ollama's own interface.
    Ollama,
    /// The built-in scripted model.
    Scripted,
}

/// `[providers.NAME]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProviderTable {
    /// Wire format.
    pub kind: Option<ProviderWord>,
    /// Base URL.
    pub base_url: Option<String>,
    /// Variable that holds the key.
    pub api_key_env: Option<String>,
    /// File that holds the key, mode 0600.
    pub api_key_file: Option<String>,
    /// Shell command that prints the key.
    pub api_key_command: Option<String>,
    /// Version header.
    pub api_version: Option<String>,
    /// Seconds.
    pub connect_timeout_seconds: Option<u64>,
    /// Seconds.
    pub first_byte_timeout_seconds: Option<u64>,
    /// Seconds.
    pub idle_timeout_seconds: Option<u64>,
    /// Tokens.
    pub max_output_tokens: Option<u32>,
    /// Tokens.
    pub context_window: Option<u64>,
    /// Calls at once.
    pub max_concurrent: Option<usize>,
    /// US dollars per million tokens, by model id.
    pub prices: BTreeMap<String, PriceTable>,
}

/// `"model id" = { input = 1.0, output = 2.0 }`.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceTable {
    /// Input.
    pub input: f64,
    /// Output.
    pub output: f64,
}

/// Platform of a channel as the file spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlatformWord {
    /// Telegram.
    Telegram,
    /// The platform of tests, at `api_base`.
    #[cfg(feature = "test-hooks")]
    Scripted,
}

/// Who shares a session, as the file spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScopeWord {
    /// Everybody in the chat.
    Chat,
    /// Each sender alone.
    Sender,
}

/// How replies are shown, as the file spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StyleWord {
    /// Only the final answer.
    Final,
    /// With a word about tools in use.
    Progress,
}

/// `[channels.NAME]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ChannelTable {
    /// Platform; absent for built-in channels.
    pub kind: Option<PlatformWord>,
    /// Variable that holds the token.
    pub token_env: Option<String>,
    /// File that holds the token, mode 0600.
    pub token_file: Option<String>,
    /// Shell command that prints the token.
    pub token_command: Option<String>,
    /// Base URL of the platform.
    pub api_base: Option<String>,
    /// Baseline level.
    pub autonomy: Option<Autonomy>,
    /// Whether `full` may have no expiry.
    pub permanent_full: Option<bool>,
    /// Baseline list.
    pub auto_approve: Option<Vec<String>>,
    /// Baseline list.
    pub block: Option<Vec<String>>,
    /// Baseline list.
    pub always_ask: Option<Vec<String>>,
    /// Platform ids.
    pub allowed_users: Option<Vec<String>>,
    /// Conversation ids.
    pub allowed_chats: Option<Vec<String>>,
    /// Names under `[people]`.
    pub approval_to: Option<Vec<String>>,
    /// Highest risk decided from chat.
    pub chat_max_risk: Option<Risk>,
    /// Seconds.
    pub max_wait_seconds: Option<u64>,
    /// Workspace root.
    pub workspace: Option<String>,
    /// `<provider>/<model>`.
    pub model: Option<String>,
    /// `<provider>/<model>`, in order.
    pub fallback: Option<Vec<String>>,
    /// Whether nobody can choose another model here.
    pub fixed_model: Option<bool>,
    /// Added to the system text.
    pub note: Option<String>,
    /// Only when addressed, in groups.
    pub require_mention: Option<bool>,
    /// Who shares a session.
    pub session_scope: Option<ScopeWord>,
    /// How replies are shown.
    pub reply_style: Option<StyleWord>,
    /// Messages waiting per session.
    pub max_queue: Option<u32>,
}

/// `[people.NAME]`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PersonTable {
    /// `platform:id`.
    pub ids: Vec<String>,
    /// Role.
    pub role: Role,
}

/// Who may decide own calls, as the file spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SelfApprovalWord {
    /// From the console.
    Console,
    /// From anywhere.
    Always,
    /// Never.
    Never,
}

/// `[approvals]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ApprovalsTable {
    /// Whether the requester may decide.
    pub self_approval: Option<SelfApprovalWord>,
    /// Seconds.
    pub life_seconds: Option<u64>,
    /// Seconds.
    pub high_risk_life_seconds: Option<u64>,
    /// Pending approvals.
    pub max_pending_per_session: Option<u32>,
    /// Pending approvals.
    pub max_pending_per_channel: Option<u32>,
}

/// `[budgets]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BudgetsTable {
    /// Model calls.
    pub max_steps: Option<u32>,
    /// Tool calls.
    pub max_tool_calls: Option<u32>,
    /// Seconds.
    pub max_duration_seconds: Option<u32>,
    /// Tokens.
    pub max_tokens: Option<u64>,
}

/// `[engine]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EngineTable {
    /// Continuations at once.
    pub max_running: Option<usize>,
    /// Only the first call of an answer.
    pub one_tool_per_step: Option<bool>,
    /// Attempts of a model call.
    pub max_model_attempts: Option<u32>,
    /// Exchanges of history.
    pub history_exchanges: Option<u32>,
    /// Seconds that running work gets to end.
    pub shutdown_grace_seconds: Option<u32>,
}

/// `[retention]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RetentionTable {
    /// Days events are kept.
    pub events_days: Option<u32>,
    /// Days ended turns are kept.
    pub history_days: Option<u32>,
    /// Days without a change until a session expires.
    pub session_idle_days: Option<u32>,
    /// Days the audit is kept.
    pub audit_days: Option<u32>,
}

/// `[console]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ConsoleTable {
    /// Theme name.
    pub theme: Option<String>,
    /// Keymap name.
    pub keymap: Option<String>,
}

/// `[log]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LogTable {
    /// Filter, for example `leverframe=debug`.
    pub filter: Option<String>,
    /// JSON lines.
    pub json: Option<bool>,
}

/// `[server]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerTable {
    /// Loopback address and port.
    pub listen: Option<String>,
}

/// `[tools.NAME]`.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolTable {
    /// Risk of its calls.
    pub risk: Risk,
}

/// A file that was read, with its text for positions in errors.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoadedFile {
    /// Where it lies.
    pub path: PathBuf,
    /// What it says.
    pub config: ConfigFile,
    text: String,
}

impl LoadedFile {
    /// Reads a file; none when there is none.
    pub fn read(path: &Path) -> Result<Option<Self>, ConfigError> {
        let place = || Place::File {
            path: path.to_owned(),
            line: None,
            column: None,
        };
        let cannot = |error: &std::io::Error| {
            let fault = Fault::new(place(), format!("cannot be read: {error}"));
            let step = "Name a readable file with --config or LEVERFRAME_CONFIG";
            ConfigError::from(fault.next_step(step))
        };
        let mut file = match std::fs::File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(cannot(&error)),
        };
        if file.metadata().is_ok_and(|about| about.is_dir()) {
            let step = format!(
                "Name the file in it, for example {}",
                path.join("config.toml").display()
            );
            let fault = Fault::new(place(), "is a directory").expected("a TOML file");
            return Err(fault.next_step(step).into());
        }
        let mut bytes = Vec::new();
        let limited = file.by_ref().take(MAX_BYTES + 1);
        { limited }
            .read_to_end(&mut bytes)
            .map_err(|e| cannot(&e))?;
        if bytes.len() as u64 > MAX_BYTES {
            let fault = Fault::new(place(), "is larger than 1 MiB").expected("a TOML file");
            return Err(fault.into());
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let good = error.utf8_error().valid_up_to();
            let text = String::from_utf8_lossy(error.as_bytes().get(..good).unwrap_or_default());
            let (line, column) = position(&text, good);
            let place = Place::File {
                path: path.to_owned(),
                line: Some(line),
                column: Some(column),
            };
            let fault = Fault::new(place, "is not UTF-8 text from here on");
            ConfigError::from(fault.next_step("Save the file as UTF-8"))
        })?;
        Self::parse(path, text).map(Some)
    }

    /// Reads text as if it were the file at `path`.
    pub fn parse(path: &Path, text: impl Into<String>) -> Result<Self, ConfigError> {
        let text = text.into();
        // Editors of some platforms start a file with a byte order mark.
        let text = match text.strip_prefix('\u{feff}') {
            Some(rest) => rest.to_owned(),
            None => text,
        };
        let mut loaded = Self {
            path: path.to_owned(),
            config: ConfigFile::default(),
            text,
        };
        match toml::from_str(&loaded.text) {
            Ok(config) => loaded.config = config,
            Err(error) => return Err(loaded.explain(&error).into()),
        }
        Ok(loaded)
    }

    /// A fault at a key of this file; at the nearest table around it when the key is not written.
    pub fn fault(&self, keys: &[&str], problem: impl Into<String>) -> Fault {
        let start = DeTable::parse(&self.text)
            .ok()
            .and_then(|table| start_of(table.get_ref(), keys));
        Fault::new(self.place(start), problem).key(keys.join("."))
    }

    fn place(&self, start: Option<usize>) -> Place {
        let (line, column) = start.map(|start| position(&self.text, start)).unzip();
        Place::File {
            path: self.path.clone(),
            line,
            column,
        }
    }

    fn explain(&self, error: &toml::de::Error) -> Fault {
        let span = error.span();
        let start = span.as_ref().map(|span| span.start);
        let place = self.place(start);
        let mut fault = explain(place, error.message());
        let table = DeTable::parse(&self.text).ok();
        let keys = table.zip(start).map(|(table, start)| {
            let mut keys = Vec::new();
            keys_at(table.get_ref(), start, &mut keys);
            keys
        });
        fault.key = keys.filter(|keys| !keys.is_empty()).map(|k| k.join("."));
        fault
    }
}

/// Turns a message of the parser into ours. The parser's quotes of values are left out: a value may be a
/// secret in the wrong place.
fn explain(place: Place, message: &str) -> Fault {
    let words = quoted(message);
    let (first, others) = words.split_first().unwrap_or((&"", &[]));
    let list = |words: &[&str]| match words {
        [] => "no key at all".to_owned(),
        [one] => format!("`{one}`"),
        many => format!("one of {}", many.join(", ")),
    };
    if message.starts_with("unknown field") {
        let fault = Fault::new(place, format!("unknown key `{first}`"));
        let fault = fault.nearest(first, others.iter().copied());
        return fault.expected(list(others));
    }
    if message.starts_with("unknown variant") {
        let fault = Fault::new(place, format!("`{first}` is not known here"));
        let fault = fault.nearest(first, others.iter().copied());
        return fault.expected(list(others));
    }
    if let Some((_, known)) = message.split_once(": expected one of ") {
        let known: Vec<&str> = known.split(", ").collect();
        let fault = Fault::new(place, format!("`{first}` is not known here"));
        let fault = fault.nearest(first, known.iter().copied());
        return fault.expected(list(&known));
    }
    if message.starts_with("missing field") {
        let step = format!("Add `{first} = …` to this table");
        return Fault::new(place, format!("`{first}` is missing")).next_step(step);
    }
    let expected = message.rsplit_once(", expected ").map(|(_, e)| in_words(e));
    if let Some(found) = message.strip_prefix("invalid type: ") {
        let end = found.find([',', '"', '`']).unwrap_or(found.len());
        let found = found.get(..end).unwrap_or_default().trim();
        let found = if found == "map" { "table" } else { found };
        let found = if found == "sequence" { "list" } else { found };
        let fault = Fault::new(place, format!("wrong type: this is of type {found}"));
        return fault.expected(expected.unwrap_or_default());
    }
    if message.starts_with("invalid value: integer") {
        let fault = Fault::new(place, "the number is out of range");
        return fault.expected(expected.unwrap_or_default());
    }
    if message.starts_with("duplicate key") {
        return Fault::new(place, "is written twice").next_step("Keep one of the two");
    }
    Fault::new(place, format!("not valid TOML: {message}"))
}

/// The words between backticks.
fn quoted(message: &str) -> Vec<&str> {
    message.split('`').skip(1).step_by(2).collect()
}

/// Names of types as people know them.
fn in_words(expected: &str) -> String {
    match expected {
        "u32" | "u64" | "usize" => "a whole number from 0".to_owned(),
        "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a string" | "a borrowed string" => "text in quotes".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a map" => "a table".to_owned(),
        other if other.starts_with("struct ") => "a table".to_owned(),
        other => other.to_owned(),
    }
}

/// Line and column of a byte offset, both from 1; the column counts characters.
fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text
        .get(..text.floor_char_boundary(offset))
        .unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = before.matches('\n').count() + 1;
    let column = before.get(line_start..).unwrap_or_default().chars().count() + 1;
    (line, column)
}

/// Where the deepest written part of `keys` starts.
fn start_of(table: &DeTable<'_>, keys: &[&str]) -> Option<usize> {
    let (first, rest) = keys.split_first()?;
    let (key, value) = table.iter().find(|(key, _)| key.get_ref() == first)?;
    let inner = value
        .get_ref()
        .as_table()
        .and_then(|table| start_of(table, rest));
    Some(inner.unwrap_or(key.span().start))
}

/// The keys around a byte offset, outermost first.
fn keys_at(table: &DeTable<'_>, offset: usize, keys: &mut Vec<String>) -> bool {
    for (key, value) in table {
        let depth = keys.len();
        keys.push(key.get_ref().to_string());
        let inside = covers(key, offset) || covers(value, offset);
        if let Some(inner) = value.get_ref().as_table()
            && keys_at(inner, offset, keys)
        {
            return true;
        }
        if inside {
            return true;
        }
        keys.truncate(depth);
    }
    false
}

fn covers<T>(part: &Spanned<T>, offset: usize) -> bool {
    part.span().contains(&offset)
}
