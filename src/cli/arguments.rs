//! The arguments (clap). Nothing here acts.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::cli::approval_card::{DecisionTarget, RuleOfCard};
use crate::cli::list::ListArguments;
use crate::cli::log::LogArguments;
use crate::cli::memory_arguments::MemoryCommands;
use crate::cli::terminal::Format;
use crate::protocol::enums::{
    ApprovalState, ContinuationState, DecisionKind, DecisionScope, HookPoint, InterpreterKind,
    SessionState,
};

/// The operator's console for AI agents that live in chat channels.
#[derive(Debug, Parser)]
#[command(name = "leverframe", version, args_conflicts_with_subcommands = false)]
pub struct Arguments {
    /// A temporary workspace with a scripted model and scripted channels
    #[arg(long, conflicts_with_all = ["daemon", "config", "data_dir", "listen"])]
    pub demo: bool,
    /// With --demo: twelve channels whose visitors ask at once
    #[arg(long, requires = "demo")]
    pub fleet: bool,
    /// Run headless
    #[arg(long)]
    pub daemon: bool,
    /// With --daemon: a console started it and goes away
    #[arg(long, requires = "daemon", hide = true)]
    pub detached: bool,
    /// Configuration file
    #[arg(long, value_name = "F", global = true)]
    pub config: Option<PathBuf>,
    /// Data directory
    #[arg(long, value_name = "D", global = true)]
    pub data_dir: Option<PathBuf>,
    /// Also listen on a loopback address, for example 127.0.0.1:0
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<String>,
    /// Show everything, decide and change nothing
    #[arg(long)]
    pub read_only: bool,
    /// Plain lines and numbered choices in place of the full screen; also with ACCESSIBLE=1
    #[arg(long, global = true)]
    pub plain: bool,
    /// Theme
    #[arg(long, value_name = "T", global = true)]
    pub theme: Option<String>,
    /// Keymap
    #[arg(long, value_name = "K", global = true)]
    pub keymap: Option<String>,
    /// Model, as PROVIDER/MODEL
    #[arg(long, value_name = "M", global = true)]
    pub model: Option<String>,
    /// Print the API's objects; lists one object a line
    #[arg(long, global = true)]
    pub json: bool,
    /// What to do; without it, the console opens
    #[command(subcommand)]
    pub command: Option<Subcommands>,
}

impl Arguments {
    /// How results are written.
    pub const fn format(&self) -> Format {
        if self.json {
            Format::Json
        } else {
            Format::Human
        }
    }
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Subcommands {
    /// Open the console on a running daemon, or on several at once
    Attach(crate::cli::attach_arguments::AttachArguments),
    /// Ask in a temporary session and print the answer
    Ask {
        /// The message; `-` reads standard input
        #[arg(required = true)]
        text: Vec<String>,
        /// Wait for approvals instead of ending with status 6
        #[arg(long)]
        wait: bool,
        /// Ask the model even where a response is cached
        #[arg(long)]
        fresh: bool,
        /// File to attach to the message; can be given again
        #[arg(long, value_name = "FILE")]
        attach: Vec<PathBuf>,
        /// What the turn may use
        #[command(flatten)]
        options: crate::cli::ask::AskOptions,
    },
    /// Sessions
    #[command(subcommand)]
    Sessions(SessionCommands),
    /// Approvals
    #[command(subcommand)]
    Approvals(ApprovalCommands),
    /// Channels
    #[command(subcommand)]
    Channels(crate::cli::channel_arguments::ChannelCommands),
    /// What a channel's agent may do by itself, and with which tools
    #[command(subcommand)]
    Policy(crate::cli::policy::PolicyCommands),
    /// Print events, one a line; by default the last 100 since the daemon started
    Events(crate::cli::events::EventArguments),
    /// Continuations: one message and everything up to its answer
    #[command(subcommand)]
    Continuations(ContinuationCommands),
    /// Deliveries: answers, cards and notices that the daemon sends to platforms
    #[command(subcommand)]
    Outbox(crate::cli::outbox::OutboxCommands),
    /// Jobs of external agents that the daemon starts
    #[command(subcommand)]
    Agents(crate::cli::agents::AgentCommands),
    /// External agents (Claude Code, Codex, Gemini CLI): the daemon decides about their tool calls
    #[command(subcommand)]
    Gate(crate::cli::gate::GateCommands),
    /// Tool servers (Model Context Protocol), and Leverframe as a tool server for other hosts
    #[command(subcommand)]
    Mcp(crate::cli::mcp::McpCommands),
    /// Skills and instructions of workspaces: list them, and trust those that agents may get
    #[command(subcommand)]
    Skills(crate::cli::skills::SkillCommands),
    /// Datasets: tables that people send and agents query without a program
    #[command(subcommand)]
    Datasets(crate::cli::datasets::DatasetCommands),
    /// Show what tools did to files, and undo it
    #[command(subcommand)]
    Files(crate::cli::file_changes::FileCommands),
    /// Files that commands left where git, editors, shells and agents run programs
    #[command(subcommand)]
    Leftovers(crate::cli::leftovers::LeftoverCommands),
    /// Emergency stop: kill running tools, and start nothing until the release
    ///
    /// If the socket does not answer, this sends SIGUSR1 to the process, which does the same. Without this command:
    /// `kill -USR1 PID`; `leverframe.lock` in the data directory holds the process id. A release needs the socket.
    EmergencyStop {
        /// Shown to everyone
        #[arg(long)]
        reason: Option<String>,
    },
    /// Release the emergency stop
    Release {
        /// Which waiting messages to answer: newest, all, or drop for none; asks when they are old
        #[arg(long, value_parser = waiting)]
        waiting: Option<crate::protocol::command::Waiting>,
        /// Another choice for one session, by its id or unique prefix: SESSION=drop
        #[arg(long, value_name = "SESSION=WORD", value_parser = conversation)]
        conversation: Vec<(String, crate::protocol::command::Waiting)>,
    },
    /// Run the daemon as a systemd service, with a hardened unit
    #[command(subcommand)]
    Service(crate::cli::service::ServiceCommands),
    /// Print the daemon's metrics in the format of Prometheus
    Metrics,
    /// Print the newest lines of the daemon's log
    Log(LogArguments),
    /// List a resource: datasets, fleet, interpreters, pairings, people, routines, servers, skills, tools; alone, their names
    Get {
        /// Name of the resource
        resource: Option<String>,
    },
    /// Run a command in a session's shell, as a person; without one, run each line of standard input
    Shell {
        /// Session: id or unique prefix
        session: String,
        /// Run Python code in the session's interpreter in place of a shell command
        #[arg(long, conflicts_with = "end")]
        python: bool,
        /// The command; spaces join its words
        #[arg(trailing_var_arg = true)]
        command: Vec<String>,
        /// Seconds after which the daemon stops a command
        #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=900))]
        timeout: Option<u64>,
        /// End the shell, or the Python interpreter, of the session in place of running a command
        #[arg(long, value_name = "KIND", conflicts_with = "command", num_args = 0..=1, default_missing_value = "bash")]
        end: Option<InterpreterKind>,
    },
    /// Show why a tool call ran, asked or was denied
    Why {
        /// Id of the call
        call: String,
    },
    /// Write a configuration file
    Init(InitArguments),
    /// Write a backup into one new file: database, artifacts, configuration, no secrets
    #[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
    Backup {
        /// What to do with a backup in place of writing one
        #[command(subcommand)]
        command: Option<BackupCommands>,
        /// The file; must not exist
        #[arg(required = true)]
        file: Option<PathBuf>,
    },
    /// Restore a backup; the daemon then starts in quarantine
    Restore {
        /// The backup
        file: PathBuf,
        /// Move an existing data directory aside
        #[arg(long)]
        force: bool,
    },
    /// Check this installation, and name the next step for each problem
    Doctor {
        /// Also verify every invariant of the database
        #[arg(long)]
        check: bool,
        /// Verify this database file (a copy, a backup) instead, without changing it
        #[arg(long, value_name = "FILE")]
        database: Option<PathBuf>,
    },
    /// The audit: who did what
    #[command(subcommand)]
    Audit(AuditCommands),
    /// Show spending, and how much of today's budgets is used
    Costs {
        /// What to sum by: channel, model or day
        #[arg(long, default_value = "day")]
        by: crate::protocol::enums::CostGrouping,
        /// First local day (2026-01-31), or days up to today (7d, 4w); 30 days by default
        #[arg(long)]
        since: Option<String>,
    },
    /// Show cost and health over time: spending, turns, questions, tools, messages
    Stats(crate::cli::stats::StatsArguments),
    /// Make the daemon read its configuration again and apply what needs no restart; also with SIGHUP
    Reload {
        /// Only show what would change
        #[arg(long)]
        preview: bool,
    },
    /// Remove data past its retention now; the daemon does this every six hours
    Sweep {
        /// Only count
        #[arg(long)]
        preview: bool,
    },
    /// Models: list the configured ones, and test them
    #[command(subcommand)]
    Models(ModelCommands),
    /// The response cache: savings, misses, and removing cached responses
    #[command(subcommand)]
    Cache(CacheCommands),
    /// Hooks that the daemon calls around turns: list, try and reset them
    #[command(subcommand)]
    Hooks(HookCommands),
    /// Routines: prompts that the bot gets on a schedule
    #[command(subcommand)]
    Routine(crate::cli::routine::RoutineCommands),
    /// Memories: search, edit, review and delete them
    #[command(subcommand)]
    Memory(MemoryCommands),
    /// Print the console's keys; --keymap names another keymap
    Keys,
    /// Print the script that completes these commands in a shell
    ///
    /// bash: `leverframe completions bash > ~/.local/share/bash-completion/completions/leverframe`.
    /// zsh: `leverframe completions zsh > "${fpath[1]}/_leverframe"`.
    /// fish: `leverframe completions fish > ~/.config/fish/completions/leverframe.fish`.
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write the manual pages into a directory, one a command
    ///
    /// `leverframe man ~/.local/share/man/man1`, then `man leverframe-approvals`.
    Man {
        /// The directory; created if missing
        directory: PathBuf,
    },
    /// List the console's themes, or the roles of one
    Themes {
        /// Name of a theme
        name: Option<String>,
    },
    /// Print how many questions wait, in one line; for status bars too
    ///
    /// tmux: `set -g status-right "#(leverframe status --tmux)"`. waybar: `"exec": "leverframe status --waybar",
    /// "return-type": "json", "interval": 5`.
    Status(crate::cli::status::StatusArguments),
    /// Report for a shift change: waiting questions, unusual events, who did what, and spending
    Summary {
        /// Not before this time: RFC 3339, or how long ago (30m, 8h, 3d); eight hours by default
        #[arg(long)]
        since: Option<String>,
    },
    /// List the people of the configuration: roles, ids, where the bot reaches them, and who is on call
    People,
    /// Show who is on call; with a name, put this person on call
    OnCall {
        /// An approver of the configuration, or an operator as the audit names them; - for nobody
        name: Option<String>,
        /// For how long (30m, 8h, 2d); by default until somebody else takes over
        #[arg(long = "for", value_name = "TIME", requires = "name")]
        time: Option<String>,
        /// A note
        #[arg(long, requires = "name")]
        note: Option<String>,
    },
    /// Escalation: who gets a question that nobody decides, and drills that test it
    #[command(subcommand)]
    Escalation(crate::cli::escalation::EscalationCommands),
    /// Named tokens: who may use the API over HTTP, and with which permissions
    #[command(subcommand)]
    Token(crate::cli::token::TokenCommands),
    /// Certificates of the listener and of clients
    #[command(subcommand)]
    Certificate(crate::cli::certificate::CertificateCommands),
    /// Daemons whose certificate you trust by its fingerprint
    #[command(subcommand)]
    Hosts(crate::cli::known_hosts::HostCommands),
    /// Rules: which calls run, ask or never run, whatever the autonomy
    #[command(subcommand)]
    Rules(crate::cli::rules::RuleCommands),
    /// Replay a past continuation or session from the daemon, the files or the event archive
    Replay {
        /// Id or unique prefix of a continuation, or `ses_…` of a session
        id: String,
        /// Replay it from the event archive, even if the database still has it
        #[arg(long)]
        archive: bool,
    },
}

/// `backup`.
#[derive(Debug, Subcommand)]
pub enum BackupCommands {
    /// Restore a backup into a temporary directory, and check all of it
    Verify {
        /// The backup
        file: PathBuf,
        /// Where to unpack it; by default the directory for temporary files
        #[arg(long, value_name = "DIR")]
        within: Option<PathBuf>,
    },
}

/// `hooks`.
#[derive(Debug, Subcommand)]
pub enum HookCommands {
    /// List every hook at every point, in calling order, with counters
    List,
    /// Call a hook with an example or a document; its verdict has no effect
    Try {
        /// Name of the hook
        name: String,
        /// One of its points; its first by default
        #[arg(long)]
        point: Option<HookPoint>,
        /// File with the JSON document that it reads; `-` reads standard input
        #[arg(long, value_name = "FILE")]
        input: Option<PathBuf>,
    },
    /// Call a hook again that the daemon skips after too many failures
    Reset {
        /// Name of the hook
        name: String,
    },
}

/// `models`.
#[derive(Debug, Subcommand)]
pub enum ModelCommands {
    /// List the configured providers and models, with abilities and prices; calls no provider
    List,
    /// Call a model and test streaming, cached tokens, tools, parallel calls and context size
    Test {
        /// PROVIDER/MODEL; the default model if left out
        #[arg(value_name = "PROVIDER/MODEL")]
        name: Option<String>,
        /// Do not ask before calls that may cost money
        #[arg(long)]
        yes: bool,
    },
    /// Look for model servers on this machine, and print the lines that would declare them
    Discover,
}

/// `cache`.
#[derive(Debug, Subcommand)]
pub enum CacheCommands {
    /// Show hits, misses by reason, and savings
    Stats,
    /// List cached responses, newest first
    List {
        /// Only this channel
        #[arg(long)]
        channel: Option<String>,
        /// At most this many
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..=500))]
        limit: Option<u32>,
    },
    /// Show a cached response with its question
    Show {
        /// Id or unique prefix of at least four characters
        id: String,
    },
    /// Keep a cached response past its expiry
    Pin {
        /// Id or unique prefix of at least four characters
        id: String,
    },
    /// Let a cached response expire again
    Unpin {
        /// Id or unique prefix of at least four characters
        id: String,
    },
    /// Remove one cached response, those of a channel, or all
    Purge {
        /// Id or unique prefix of at least four characters
        id: Option<String>,
        /// All of this channel
        #[arg(long, conflicts_with = "id")]
        channel: Option<String>,
        /// All of them
        #[arg(long, conflicts_with_all = ["id", "channel"])]
        all: bool,
    },
}

/// `audit`.
#[derive(Debug, Subcommand)]
pub enum AuditCommands {
    /// List rows, newest first
    List {
        /// Not before this time: RFC 3339, or how long ago (45s, 30m, 2h, 3d, 1w)
        #[arg(long)]
        since: Option<String>,
        /// Only this channel
        #[arg(long)]
        channel: Option<String>,
        /// Only this action, for example approval.decided
        #[arg(long)]
        action: Option<String>,
        /// Only this actor, by label or id
        #[arg(long)]
        actor: Option<String>,
        /// At most this many
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..=500))]
        limit: Option<u32>,
    },
    /// Verify the whole hash chain against its checkpoints
    Verify {
        /// A head of the chain that you noted elsewhere, as `verify` prints it
        #[arg(long, value_name = "SEQ:HASH")]
        anchor: Option<crate::protocol::doctor::AuditAnchor>,
        /// An exported file, in place of the audit itself
        #[arg(long, value_name = "EXPORT")]
        file: Option<PathBuf>,
    },
    /// Write all rows with their hashes, one JSON object a line, oldest first
    Export {
        /// New file; `-` writes to standard output
        file: PathBuf,
        /// Sign it with this private ssh key; the signature goes to FILE.sig
        #[arg(long, value_name = "KEY")]
        sign: Option<PathBuf>,
    },
    /// Write a report of a month: who allowed what, denials, autonomy, stops, spending
    Report {
        /// New file; standard output when left out or `-`
        file: Option<PathBuf>,
        /// The month, like 2026-01; the last whole one by default
        #[arg(long)]
        month: Option<String>,
        /// Format of the report
        #[arg(long, value_enum, default_value = "markdown")]
        format: crate::cli::document::DocumentFormat,
    },
}

/// `sessions`.
#[derive(Debug, Subcommand)]
pub enum SessionCommands {
    /// List sessions, newest change first
    List {
        /// Only this state
        #[arg(long)]
        state: Option<SessionState>,
        /// Only this channel
        #[arg(long)]
        channel: Option<String>,
        /// How it is shown
        #[command(flatten)]
        list: ListArguments,
    },
    /// Resume an earlier session; the active session of its conversation ends
    Resume {
        /// Id or unique prefix
        id: String,
    },
    /// Pause a session; new messages wait
    Pause {
        /// Id or unique prefix
        id: String,
    },
    /// Resume a paused session, even one that the engine paused
    Unpause {
        /// Id or unique prefix
        id: String,
    },
    /// Show or set the preferences that models get in every turn of a session
    Preferences {
        /// Id or unique prefix
        id: String,
        /// The new preferences, at most 2 KiB; `-` reads standard input; without text, shows them
        text: Vec<String>,
        /// Remove the preferences
        #[arg(long, conflicts_with = "text")]
        clear: bool,
    },
    /// Call a tool in a session without a model, under its policy and approvals
    Call(crate::cli::sessions::CallArguments),
    /// Dismiss from the Queue the calls of a session that the engine denied because too many waited
    DismissRefused {
        /// Id or unique prefix
        id: String,
    },
    /// Take over a conversation: the agent waits, and you write in its place
    TakeOver {
        /// Id or unique prefix
        id: String,
        /// Also if somebody else has taken it over
        #[arg(long)]
        force: bool,
    },
    /// Write as the bot in a conversation that you took over; this answers the waiting messages
    Say {
        /// Id or unique prefix
        id: String,
        /// The message; `-` reads standard input
        #[arg(required = true)]
        text: Vec<String>,
    },
    /// Give the conversation back; the agent answers the messages since your last one
    Release {
        /// Id or unique prefix
        id: String,
        /// Also if somebody else took it over
        #[arg(long)]
        force: bool,
    },
    /// Write a whole session, oldest entry first
    Export {
        /// Id or unique prefix
        id: String,
        /// New file; standard output when left out or `-`
        file: Option<PathBuf>,
        /// markdown or json; json with --json
        #[arg(long)]
        format: Option<crate::client::export::ExportFormat>,
    },
}

/// `approvals`.
#[derive(Debug, Subcommand)]
pub enum ApprovalCommands {
    /// List approvals
    List {
        /// Only this state
        #[arg(long, default_value = "pending")]
        state: ApprovalState,
        /// All states
        #[arg(long, conflicts_with = "state")]
        all: bool,
        /// How it is shown
        #[command(flatten)]
        list: ListArguments,
    },
    /// Show one approval in full
    Show {
        /// Id, unique prefix of it, or short code
        id: String,
    },
    /// Approve; on a terminal shows the card and asks
    Approve {
        /// Id, unique prefix of it, or short code
        id: String,
        /// How far: once, turn (until this turn ends) or session; with --rule how far the rule reaches
        #[arg(long)]
        scope: Option<DecisionScope>,
        /// Allow exactly this in its session, for 8 hours or until --expires or --until; same as `--scope session`
        #[arg(long, conflicts_with = "scope")]
        shape: bool,
        /// Make a rule of it
        #[command(flatten)]
        rule: RuleOfCard,
        /// Short code, for critical calls
        #[arg(long)]
        confirm_code: Option<String>,
        /// Budgets: add this much instead of the offer, in the unit of the question (tokens, dollars, seconds)
        #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = amount)]
        extra: Option<f64>,
        /// What was looked at
        #[command(flatten)]
        seen: DecisionTarget,
    },
    /// Run its command in a throw-away copy of the workspace, without network, and show the effects; decides nothing
    Rehearse {
        /// Id, unique prefix of it, or short code
        id: String,
    },
    /// Allow an external agent's expired call once, if the agent asks again within 15 minutes
    AllowLater {
        /// Id of the expired approval
        id: String,
    },
    /// Take back an approval whose call has not started, with its rule or session grant
    Revoke {
        /// Id, unique prefix of it, or short code
        id: String,
        /// What was looked at
        #[command(flatten)]
        seen: DecisionTarget,
    },
    /// Deny; the model reads the reason and goes on
    Deny {
        /// Id, unique prefix of it, or short code
        id: String,
        /// End the turn too
        #[arg(long)]
        stop: bool,
        /// Make a rule of it
        #[command(flatten)]
        rule: RuleOfCard,
        /// What was looked at
        #[command(flatten)]
        seen: DecisionTarget,
    },
    /// Change the arguments of a call; it waits for a decision about the new ones
    Edit {
        /// Id, unique prefix of it, or short code
        id: String,
        /// File with the new arguments as JSON; `-` reads standard input
        #[arg(long, value_name = "FILE")]
        args: PathBuf,
        /// What was looked at
        #[command(flatten)]
        seen: DecisionTarget,
    },
    /// Answer a question, or give the result of a call in place of its tool, which does not run
    Answer {
        /// Id, unique prefix of it, or short code
        id: String,
        /// The answer; `-` reads standard input
        #[arg(required = true)]
        text: Vec<String>,
        /// What was looked at
        #[command(flatten)]
        seen: DecisionTarget,
    },
    /// Hide it from yourself for a while; others see it
    Snooze {
        /// Id, unique prefix of it, or short code
        id: String,
        /// Minutes
        #[arg(long, default_value_t = 60)]
        minutes: u32,
        /// What was looked at
        #[command(flatten)]
        seen: DecisionTarget,
    },
    /// Assign a question to a person; all approvers can still decide it
    Assign {
        /// Id, unique prefix of it, or short code
        id: String,
        /// An approver of the configuration, or an operator as the audit names them; - for nobody
        name: String,
        /// A note for them
        #[arg(long)]
        note: Option<String>,
    },
}

/// A number as it can be sent: one that is none would arrive as nothing, which means something else.
fn amount(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|amount: &f64| amount.is_finite())
        .ok_or_else(|| "expected a number like 50000 or 0.5".to_owned())
}

/// `continuations`.
#[derive(Debug, Subcommand)]
pub enum ContinuationCommands {
    /// List continuations, newest change first
    List {
        /// Only this state
        #[arg(long)]
        state: Option<ContinuationState>,
        /// How it is shown
        #[command(flatten)]
        list: ListArguments,
    },
    /// Show a continuation
    Show {
        /// Id or unique prefix
        id: String,
    },
    /// Resume an interrupted continuation
    Resume {
        /// Id or unique prefix
        id: String,
    },
    /// Cancel a continuation
    Cancel {
        /// Id or unique prefix
        id: String,
        /// Shown in history
        #[arg(long)]
        reason: Option<String>,
    },
    /// Run its message again as a new continuation
    Retry {
        /// Id or unique prefix
        id: String,
    },
    /// Record the outcome of a call that was in flight; on a terminal shows the card and asks
    Resolve {
        /// Id of the call, or id or unique prefix of its continuation
        id: String,
        /// happened, run-again or give-up
        #[arg(value_parser = unknown_resolution)]
        resolution: DecisionKind,
        /// A note; the model reads it with a result
        #[arg(long)]
        note: Option<String>,
        /// Digest of the card that you saw; needed without a terminal
        #[arg(long)]
        digest: Option<String>,
    },
}

fn unknown_resolution(word: &str) -> Result<DecisionKind, String> {
    match word {
        "happened" => Ok(DecisionKind::Happened),
        "run-again" | "run_again" => Ok(DecisionKind::RunAgain),
        "give-up" | "give_up" => Ok(DecisionKind::GiveUp),
        _ => Err("expected one of happened, run-again, give-up".to_owned()),
    }
}

/// `init`.
#[derive(Debug, Clone, Default, Args)]
pub struct InitArguments {
    /// Provider: openai, anthropic, or a name of your own with --base-url
    #[arg(long)]
    pub provider: Option<String>,
    /// Base URL of an OpenAI-compatible server
    #[arg(long)]
    pub base_url: Option<String>,
    /// Variable that holds the provider's key
    #[arg(long)]
    pub api_key_env: Option<String>,
    /// Variable that holds the Telegram token
    #[arg(long, conflicts_with = "telegram_token_file")]
    pub telegram_token_env: Option<String>,
    /// File (mode 0600) that holds the Telegram token
    #[arg(long)]
    pub telegram_token_file: Option<String>,
    /// Your numeric Telegram id
    #[arg(long)]
    pub owner_id: Option<String>,
    /// Ask nothing
    #[arg(long)]
    pub yes: bool,
    /// Replace an existing file
    #[arg(long)]
    pub force: bool,
}

fn waiting(word: &str) -> Result<crate::protocol::command::Waiting, String> {
    use crate::protocol::command::Waiting;
    match word {
        "newest" => Ok(Waiting::Newest),
        "all" => Ok(Waiting::All),
        "drop" => Ok(Waiting::Drop),
        _ => Err("expected one of newest, all, drop".to_owned()),
    }
}

fn conversation(text: &str) -> Result<(String, crate::protocol::command::Waiting), String> {
    match text.split_once('=') {
        Some((session, word)) if !session.is_empty() => Ok((session.to_owned(), waiting(word)?)),
        Some(_) | None => Err("expected SESSION=newest, SESSION=all or SESSION=drop".to_owned()),
    }
}
