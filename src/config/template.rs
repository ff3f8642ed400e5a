//! The configuration file that `leverframe init` writes. What it writes loads again without an error.

use std::fmt::Write as _;

use crate::config::edit::{NewChannel, channel_text};

/// Where a secret is taken from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretChoice {
    /// A variable.
    Env(String),
    /// A file of mode 0600.
    File(String),
}

/// The model chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ModelChoice {
    /// None yet: the scripted model answers.
    #[default]
    Scripted,
    /// A model of a predeclared provider: `openai/…`, `anthropic/…`.
    Named {
        /// `<provider>/<model>`.
        model: String,
    },
    /// An OpenAI-compatible server.
    Server {
        /// Provider name to declare.
        provider: String,
        /// Model id.
        model: String,
        /// Wire format, as the file spells it.
        kind: &'static str,
        /// Base URL.
        base_url: String,
        /// Its key, when it wants one.
        key: Option<SecretChoice>,
        /// What the server said of the model.
        told: ToldChoice,
    },
}

/// What a server says of a model; what it does not say is not written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ToldChoice {
    /// Whether it takes tools.
    pub tools: Option<bool>,
    /// Context window, in tokens.
    pub context_window: Option<u64>,
}

/// The person who may do everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerChoice {
    /// Name under `[people]`.
    pub name: String,
    /// Platform ids, `telegram:123456`.
    pub ids: Vec<String>,
}

/// Answers of `init`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InitChoices {
    /// The model.
    pub model: ModelChoice,
    /// Names and tables of the channels.
    pub channels: Vec<(String, NewChannel)>,
    /// The owner.
    pub owner: Option<OwnerChoice>,
}

/// Tools that a careful start lets run without asking.
pub const STARTER_AUTO_APPROVE: &[&str] = &["read_file", "list_files", "search_files", "recall"];

/// The commented file.
pub fn render_template(choices: &InitChoices) -> String {
    let mut out = String::from(
        "# Leverframe configuration. Changes take effect at the next start.\n\
         # Every setting may be left out. An unknown key is an error, with its line.\n\n",
    );
    model(&choices.model, &mut out);
    channels(&choices.channels, &mut out);
    owner(choices.owner.as_ref(), &mut out);
    out.push_str(REST);
    out
}

/// Writing to a string cannot fail; this says so once.
fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
    out.push('\n');
}

/// A TOML basic string or list of them.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// A part of a table's name.
fn table(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    if !name.is_empty() && name.chars().all(bare) {
        name.to_owned()
    } else {
        quoted(name)
    }
}

fn list<S: AsRef<str>>(items: &[S]) -> String {
    let items: Vec<String> = items.iter().map(|item| quoted(item.as_ref())).collect();
    format!("[{}]", items.join(", "))
}

fn secret(field: &str, choice: &SecretChoice, out: &mut String) {
    match choice {
        SecretChoice::Env(name) => line(out, format_args!("{field}_env = {}", quoted(name))),
        SecretChoice::File(path) => {
            line(out, format_args!("# Mode 0600: nobody else may open it."));
            line(out, format_args!("{field}_file = {}", quoted(path)));
        }
    }
}

/// How OpenAI is asked by its newer API.
const RESPONSES_HINT: &str = "# The provider openai speaks chat completions; this makes it speak OpenAI's Responses API, \
    with the same key.\n# [providers.openai]\n# kind = \"openai-responses\"\n\n";

fn model(choice: &ModelChoice, out: &mut String) {
    out.push_str("[model]\n# <provider>/<model>. openai, anthropic, gemini and ollama need no table: they take their key from\n");
    out.push_str(
        "# OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY (ollama: none). LEVERFRAME_MODEL and --model come first.\n",
    );
    match choice {
        ModelChoice::Scripted => {
            out.push_str("# default = \"anthropic/<model>\"\n\n");
            out.push_str(RESPONSES_HINT);
        }
        ModelChoice::Named { model } => {
            line(out, format_args!("default = {}\n", quoted(model)));
            if model.starts_with("openai/") {
                out.push_str(RESPONSES_HINT);
            }
        }
        ModelChoice::Server {
            provider,
            model,
            kind,
            base_url,
            key,
            told,
        } => {
            line(
                out,
                format_args!("default = {}\n", quoted(&format!("{provider}/{model}"))),
            );
            line(out, format_args!("[providers.{}]", table(provider)));
            line(out, format_args!("kind = {}", quoted(kind)));
            line(out, format_args!("base_url = {}", quoted(base_url)));
            match key {
                Some(source) => secret("api_key", source, out),
                None => out.push_str(
                    "# api_key_env = \"OPENAI_API_KEY\"   # or api_key_file, api_key_command\n",
                ),
            }
            told_of(provider, model, *told, out);
            out.push('\n');
        }
    }
}

/// The lines that declare a model server and name these of its models; the first one is suggested as the default.
pub fn server_table(
    provider: &str,
    kind: &str,
    base_url: &str,
    models: &[(&str, ToldChoice)],
) -> String {
    let mut out = String::new();
    if let Some((first, _)) = models.first() {
        let name = quoted(&format!("{provider}/{first}"));
        line(&mut out, format_args!("# under [model]: default = {name}"));
    }
    line(&mut out, format_args!("[providers.{}]", table(provider)));
    line(&mut out, format_args!("kind = {}", quoted(kind)));
    line(&mut out, format_args!("base_url = {}", quoted(base_url)));
    for (id, told) in models {
        line(&mut out, format_args!("{}", model_line(id, *told)));
    }
    out
}

/// What can be added to a provider that is declared already: remarks only, which replace nothing.
pub fn server_models(provider: &str, models: &[(&str, ToldChoice)]) -> String {
    let mut out = String::new();
    if let Some((first, _)) = models.first() {
        let name = quoted(&format!("{provider}/{first}"));
        line(&mut out, format_args!("# under [model]: default = {name}"));
    }
    for (id, told) in models {
        let model = model_line(id, *told);
        line(
            &mut out,
            format_args!("# under [providers.{}]: {model}", table(provider)),
        );
    }
    out
}

fn model_line(id: &str, told: ToldChoice) -> String {
    let mut facts = Vec::new();
    if told.tools == Some(false) {
        facts.push("tools = false".to_owned());
    }
    if let Some(window) = told.context_window {
        facts.push(format!("context_window = {window}"));
    }
    let facts = match facts.join(", ") {
        none if none.is_empty() => "{}".to_owned(),
        some => format!("{{ {some} }}"),
    };
    format!("models.{} = {facts}", quoted(id))
}

fn told_of(provider: &str, model: &str, told: ToldChoice, out: &mut String) {
    // Tools are sent where nothing is said: only a no has to be written down.
    let none = told.tools == Some(false);
    if !none && told.context_window.is_none() {
        return;
    }
    line(
        out,
        format_args!("\n[providers.{}.models.{}]", table(provider), table(model)),
    );
    if none {
        out.push_str("# The server lists no tools for this model: the engine sends it none.\n");
        out.push_str("tools = false\n");
    }
    if let Some(window) = told.context_window {
        out.push_str("# Tokens, as the server said.\n");
        line(out, format_args!("context_window = {window}"));
    }
}

fn channels(chosen: &[(String, NewChannel)], out: &mut String) {
    out.push_str(
        "# Channels. Built-in ones (desk, api, cli, mcp, routine) are configured without `kind`.\n",
    );
    let Some(((name, first), more)) = chosen.split_first() else {
        out.push_str(
            "# [channels.team]\n# kind = \"telegram\"\n# token_env = \"TELEGRAM_BOT_TOKEN\"   # or token_file, token_command\n\
             # allowed_users = [\"123456\"]          # numeric ids; empty = nobody\n\
             # pairing = false                     # unknown senders get no code and no question\n\
             # tool_cache = true                   # repeated file lists and searches come from a cache for 30 s\n\n",
        );
        return;
    };
    out.push_str(&channel_text(name, first));
    // What every channel can have stands at the first.
    out.push_str("# supervised: every call asks unless auto_approve lists its tool. semi_auto: local reads run.\n");
    out.push_str("# full: every call runs unless blocked; expires after an hour unless permanent_full = true.\n");
    out.push_str("autonomy = \"supervised\"\nblock = []\nalways_ask = []\n");
    out.push_str(
        "# An unknown sender of a direct message gets a code, and the Queue asks you whether to give\n\
         # them access.\n# pairing = true\n",
    );
    out.push_str(
        "# Only the console decides calls of a higher risk: low, medium, high, critical.\n",
    );
    out.push_str("chat_max_risk = \"medium\"\n# workspace = \"~/bots/team\"\n");
    out.push_str(
        "# Model parameters of this channel; they come before those of the model or its provider.\n\
         # temperature = 0.3   # also top_p, and tool_choice: auto, none, required or a tool\n",
    );
    out.push_str("# Repeated lists and searches of files within 30 s come from a cache.\n# tool_cache = true\n\n");
    for (name, channel) in more {
        out.push_str(&channel_text(name, channel));
        out.push('\n');
    }
}

fn owner(choice: Option<&OwnerChoice>, out: &mut String) {
    out.push_str(
        "# People and what they may do: user (talk), approver (decide), owner (change policy).\n",
    );
    match choice {
        None => {
            out.push_str("# [people.anna]\n# ids = [\"telegram:123456\"]\n# role = \"owner\"\n\n");
        }
        Some(owner) => {
            line(out, format_args!("[people.{}]", table(&owner.name)));
            line(out, format_args!("ids = {}", list(&owner.ids)));
            out.push_str("role = \"owner\"\n\n");
        }
    }
}

const REST: &str = r#"# Who gets a question that nobody decides; a channel names it with escalation = "night".
# [escalation.night]
# steps = [{ after = "5m", to = "on-call" }, { after = "10m", to = "person:anna" }]

[approvals]
# life_seconds = 86400
# high_risk_life_seconds = 14400
# reminder_seconds = [300, 3600, 43200]  # when the bot reminds people of open questions; []: never
# approve_grace_seconds = 0  # up to 10: an approved call of low or medium risk waits so long; `z` revokes the approval
# May the person who asked also decide? console (in the console, not in the chat), always, never.
self_approval = "console"

# [budgets]                  # of one turn; when one is used up, the engine asks a person
# max_steps = 8
# max_tool_calls = 16
# max_duration_seconds = 120
# max_tokens = 100000
# max_cost_usd = 0.50        # US dollars; left out: no limit in money
# [budgets.session]          # of a whole session; max_tokens, max_cost_usd
# [budgets.channel]          # of each channel a day; [channels.NAME.budget] for one of them
# [budgets.day]              # of all channels a day
# max_cost_usd = 20.0

# [engine]
# shutdown_grace_seconds = 20  # time that running work gets to end at shutdown
# run_growth_mib = 1024      # the engine ends a command that makes its workspace grow by more; no file gets larger
# history_share = 50         # percent of a model's window that whole exchanges fill, newest first; 0: the fewest

# [retention]                # days; the newest turns of a session in use always stay
# events_days = 30           # what screens follow
# event_archive_days = 90    # then events stay in compressed files, one a day; 0: none
# history_days = 30          # ended turns, at least 8
# session_idle_days = 7      # without a change until a session expires
# file_changes_days = 30     # how long you can restore files that tools changed or deleted
# audit_days = 400           # who allowed what, at least 365

# [backup]                   # without it the daemon makes no backups
# every = "24h"
# folder = "/var/backups/leverframe"    # must be there, best on another disk
# keep_daily = 7             # days whose newest backup stays
# keep_weekly = 4            # weeks whose newest backup stays

# [response_cache]           # a channel caches only with response_cache = "user" or "channel"
# ttl_minutes = 60
# max_entries = 500

# [skills]                   # agents get only skills that you trust: leverframe skills list
# folders = []               # folders of skills (SKILL.md), like "/srv/skills"
# instructions = true        # the AGENTS.md of workspaces

# [tools.http_fetch]         # with this table agents can fetch pages; each fetch asks unless rules or lists say otherwise
# allow = ["docs.rs"]        # hosts where a fetch counts as a read; "*.example.org": all below it
# deny = []                  # never reached; ["*"]: all that allow and private do not list
# private = []               # may lead to this machine or a private network
# ports = []                 # beside 80 and 443
# timeout_seconds = 30
# max_kib = 2048
# cache_seconds = 60         # how long a page comes from the cache, if a channel has tool_cache = true

# [tools.bash]               # with this table each session has a shell that keeps its state (see A shell in the guide)
# idle_minutes = 10          # until an idle shell ends
# max_shells = 8             # at once

# [tools.python]             # with this table agents can run Python in the sandbox; each session keeps its variables
# executable = "/usr/bin/python3"   # left out: the first of /usr/bin/python3 and /usr/local/bin/python3
# idle_minutes = 10          # until an idle interpreter ends
# max_interpreters = 8       # at once

# [tools.find_issue]         # a request to a service as a tool of its own (see The web in the guide)
# kind = "http"
# description = "Find issues of the tracker by words."
# url = "https://tracker.example.org/api/issues"
# query = { q = "{words}" }
# headers = {}               # a token: { Authorization = "Bearer {secret}" }, and secret_env or secret_file
# parameters = { words = { type = "string" } }

# [mcp.files]                # a tool server (see Tool servers in the guide); `leverframe mcp add` writes such a table
# command = ["npx", "-y", "@modelcontextprotocol/server-filesystem", "/srv/share"]
# write = ["/srv/share"]     # what it changes; read = [] beside the system's
# network = true             # npx fetches what it runs
# [mcp.tracker]
# url = "https://tracker.example.org/mcp"
# headers = {}               # a token: { Authorization = "Bearer {secret}" }, and secret_env or secret_file

# [hooks.rate_limit]         # built in; a limit that you leave out does not exist
# messages_per_minute = 20   # of each person; channel_messages_per_minute of each channel
# tool_calls_per_minute = 30 # for each person; channel_tool_calls_per_minute on each channel
# per_tool = { execute_command = 10 }
# [hooks.NAME]               # a program of yours: JSON in, verdict out (see Hooks in the guide)
# command = ["/usr/local/lib/bot/check.sh"]   # absolute; only you or root may write it
# points = ["before_tool_call"]
# priority = 100             # lower ones first
# timeout_ms = 2000          # at most 30000
# channels = []              # only these; tools = [] too
# env = []                   # variables that it gets
# dry_run = false            # true: the engine only counts its verdict

[attachments]                # files in messages; the daemon puts them into the channel's workspace
# max_files = 10             # of one message; 0 = none
# max_mib = 8                # all files of one message together, at most 20

[datasets]                   # tables (CSV, TSV, JSON) that people send: agents query them without Python
# keep_days = 30             # until the daemon deletes a dataset; 0 = never
# max_mib = 256              # of its file, at most 4096
# max_total_mib = 1024       # all datasets of a channel together

# [transcription]            # voice messages and other audio become text; left out: they do not
# provider = "openai"        # of kind openai-chat or openai-responses: its /audio/transcriptions gets the audio
# model = "whisper-1"

[memory]
# compaction = true          # a summary and facts replace the oldest turns of a long session
# compaction_model = "anthropic/<model>"  # left out: the model of the session
# compaction_share = 70      # percent of the room for a prompt; above it the engine compacts
# compaction_exchanges = 40  # exchanges beyond engine.history_exchanges; then it compacts too

[memory.hygiene]             # every 12 hours; `--undo` restores archived memories for undo_days; pinned ones stay
# retention_days = 30        # after the last use; 0 = for ever. Of one scope: session_days, channel_days, global_days
# max_memories = 10000       # of each scope and channel: the least useful go first
# undo_days = 7

# [memory.embeddings]        # memory searches also match meaning; left out: only words. Costs one call a search
# provider = "ollama"        # of kind openai-chat, openai-responses or ollama; it gets the texts of memories
# model = "nomic-embed-text"
# dimensions = 768           # left out: those of the model
# min_similarity = 30        # percent; a text below it is no match

[console]
# theme = "terminal"  # `leverframe themes` lists them
# keymap = "default"  # or "vim"
# notify = "off"      # when the terminal is not focused: osc9, osc99 (kitty) or osc777; the bell always rings
# title = true        # the title of the terminal shows how many questions wait
# links = "auto"      # addresses and paths of files are links of the terminal: auto, on or off
# pictures = "auto"   # pictures of a transcript: auto, kitty, iterm2, sixel, half-blocks or off

# [telemetry]                # traces and logs for an OpenTelemetry collector; needs a build with the feature otel
# endpoint = "https://collector.example:4318"
# headers = {}               # a token: { Authorization = "Bearer {secret}" }, and secret_env or secret_file
# sample_ratio = 1.0         # share of the turns to trace

# [server]
# listen = "127.0.0.1:8787"  # beyond loopback only with [server.tls]; from elsewhere also: leverframe attach ssh://HOST
# max_connections_per_principal = 100   # of one token, or of one person; left out: an eighth of all

# [server.tls]               # `leverframe certificate create` makes a certificate
# certificate = "certificate.pem"
# key = "key.pem"            # mode 0600
# client_ca = "clients.pem"  # clients may show a certificate that one of these signed
"#;
