//! The arguments (clap). Nothing here acts.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::cli::approval_card::{DecisionTarget, RuleOfCard};
use crate::cli::list::ListArguments;
use crate::cli::log::LogArguments;
use crate::cli::memory_arguments::MemoryCommands;
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
    /// Configuration file
    #[arg(long, value_name = "F", global = true)]
    pub config: Option<PathBuf>,
    /// Data directory
    #[arg(long, value_name = "D", global = true)]
    pub data_dir: Option<PathBuf>,
    /// Also listen on a loopback address, for example 127.0.0.1:0
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<String>,
    /// Look, never act
    #[arg(long)]
    pub read_only: bool,
    /// No screen: lines that stay, numbered choices, every task; also with ACCESSIBLE=1
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
        /// A file that comes with the message; once for each file
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
    /// What happened, one event a line; the last 100 of this run of the daemon where nothing else is said
    Events(crate::cli::events::EventArguments),
    /// Continuations: one message and everything up to its answer
    #[command(subcommand)]
    Continuations(ContinuationCommands),
    /// Deliveries: the parts of answers, cards and notices on their way out
    #[command(subcommand)]
    Outbox(crate::cli::outbox::OutboxCommands),
    /// Jobs of agents of other makers that the daemon starts
    #[command(subcommand)]
    Agents(crate::cli::agents::AgentCommands),
    /// Agents of other makers (Claude Code, Codex, Gemini CLI): their calls are judged here
    #[command(subcommand)]
    Gate(crate::cli::gate::GateCommands),
    /// The Model Context Protocol: servers whose tools agents call, and hosts that plug Leverframe in
    #[command(subcommand)]
    Mcp(crate::cli::mcp::McpCommands),
    /// Instructions of workspaces and skills, and which of them agents get
    #[command(subcommand)]
    Skills(crate::cli::skills::SkillCommands),
    /// Tables that people send: agents ask them without a program
    #[command(subcommand)]
    Datasets(crate::cli::datasets::DatasetCommands),
    /// What tools did to files, and undoing it
    #[command(subcommand)]
    Files(crate::cli::file_changes::FileCommands),
    /// What runs of programs left in places from which git, editors, shells and agents run programs
    #[command(subcommand)]
    Leftovers(crate::cli::leftovers::LeftoverCommands),
    /// Kill running tools and hold everything
    ///
    /// Where the socket does not answer, the process gets SIGUSR1, which does the same. Without this command:
    /// `kill -USR1 PID`; the process id stands in `leverframe.lock` in the data directory. A release needs the socket.
    EmergencyStop {
        /// Shown to everyone
        #[arg(long)]
        reason: Option<String>,
    },
    /// Release the emergency stop
    Release {
        /// What happens to what waited: newest, all or drop; asked when it is old
        #[arg(long, value_parser = waiting)]
        waiting: Option<crate::protocol::command::Waiting>,
        /// Where something else happens, by id of the session or unique prefix: SESSION=drop
        #[arg(long, value_name = "SESSION=WORD", value_parser = conversation)]
        conversation: Vec<(String, crate::protocol::command::Waiting)>,
    },
    /// Run the daemon as a service of systemd: the unit, hardened
    #[command(subcommand)]
    Service(crate::cli::service::ServiceCommands),
    /// Print the counters and latencies of the daemon, as Prometheus scrapes them
    Metrics,
    /// Print the newest lines of the daemon's log
    Log(LogArguments),
    /// List a resource: datasets, fleet, interpreters, pairings, people, routines, servers, skills, tools; alone, which resources there are
    Get {
        /// Name of the resource
        resource: Option<String>,
    },
    /// Run a command in the shell of a session, as a person; without one, every line of the input
    Shell {
        /// Session: id or unique prefix
        session: String,
        /// Run code in the Python of the session, in place of a command in its shell
        #[arg(long, conflicts_with = "end")]
        python: bool,
        /// What runs; its words are joined by spaces
        #[arg(trailing_var_arg = true)]
        command: Vec<String>,
        /// Seconds after which a command is stopped
        #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=900))]
        timeout: Option<u64>,
        /// End the shell instead, or the Python of the session
        #[arg(long, value_name = "KIND", conflicts_with = "command", num_args = 0..=1, default_missing_value = "bash")]
        end: Option<InterpreterKind>,
    },
    /// Why a tool call ran, asked or was refused
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
    /// Put a backup back; it starts in quarantine
    Restore {
        /// The backup
        file: PathBuf,
        /// Move a data directory that is there aside
        #[arg(long)]
        force: bool,
    },
    /// How this installation is, and what to do about what is wrong
    Doctor {
        /// Verify every invariant of the database too
        #[arg(long)]
        check: bool,
        /// Verify this database file (a copy, a backup) instead; nothing in it is changed
        #[arg(long, value_name = "FILE")]
        database: Option<PathBuf>,
    },
    /// Who did what
    #[command(subcommand)]
    Audit(AuditCommands),
    /// What was spent, and how far the budgets of today are used up
    Costs {
        /// What to sum by: channel, model or day
        #[arg(long, default_value = "day")]
        by: crate::protocol::enums::CostGrouping,
        /// First local day (2026-01-31), or how many days up to today (7d, 4w); 30 days when left out
        #[arg(long)]
        since: Option<String>,
    },
    /// Cost and health over time: spending, turns, questions, tools, messages
    Stats(crate::cli::stats::StatsArguments),
    /// Have the daemon read its configuration again, and apply what needs no restart; also with SIGHUP
    Reload {
        /// Only show what would change
        #[arg(long)]
        preview: bool,
    },
    /// Remove what is kept no longer, now; it happens by itself every six hours
    Sweep {
        /// Only count
        #[arg(long)]
        preview: bool,
    },
    /// Models: what is configured, and what works
    #[command(subcommand)]
    Models(ModelCommands),
    /// Cached responses: what they saved, why they were missed, removing them
    #[command(subcommand)]
    Cache(CacheCommands),
    /// Hooks: what is called around turns, and how it does
    #[command(subcommand)]
    Hooks(HookCommands),
    /// Routines: messages that the bot sends itself on a schedule
    #[command(subcommand)]
    Routine(crate::cli::routine::RoutineCommands),
    /// What is remembered, and what goes
    #[command(subcommand)]
    Memory(MemoryCommands),
    /// The console's keys; --keymap names another keymap
    Keys,
    /// The script that completes these commands in a shell
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
        /// The directory; made where it is missing
        directory: PathBuf,
    },
    /// The console's themes, or the roles of one
    Themes {
        /// Name of a theme
        name: Option<String>,
    },
    /// How many questions wait, in one line; for status bars too
    ///
    /// tmux: `set -g status-right "#(leverframe status --tmux)"`. waybar: `"exec": "leverframe status --waybar",
    /// "return-type": "json", "interval": 5`.
    Status(crate::cli::status::StatusArguments),
    /// What waits, what is out of the ordinary, who did what and what was spent: for whoever takes over the shift
    Summary {
        /// Not before this time: RFC 3339, or how long ago (30m, 8h, 3d); eight hours when left out
        #[arg(long)]
        since: Option<String>,
    },
    /// People of the configuration: roles, ids, where the bot reaches them, and who is on call
    People,
    /// Who is on call; with a name, who is from now on
    OnCall {
        /// A person of the configuration who may decide, or an operator as the audit names them; - for nobody
        name: Option<String>,
        /// For how long (30m, 8h, 2d); until somebody else is when left out
        #[arg(long = "for", value_name = "TIME", requires = "name")]
        time: Option<String>,
        /// A note
        #[arg(long, requires = "name")]
        note: Option<String>,
    },
    /// Escalation: who hears of a question that nobody decides, and drills that prove it
    #[command(subcommand)]
    Escalation(crate::cli::escalation::EscalationCommands),
    /// Named tokens: who reaches this over HTTP, and what each may do
    #[command(subcommand)]
    Token(crate::cli::token::TokenCommands),
    /// Certificates of the listener and of clients
    #[command(subcommand)]
    Certificate(crate::cli::certificate::CertificateCommands),
    /// Daemons whose certificate is known by its fingerprint
    #[command(subcommand)]
    Hosts(crate::cli::known_hosts::HostCommands),
    /// Rules: which calls run, ask or never run, whatever the level says
    #[command(subcommand)]
    Rules(crate::cli::rules::RuleCommands),
    /// Play a past continuation or session again, from the daemon, the files or the event archive
    Replay {
        /// Id or unique prefix of a continuation, or `ses_…` of a session
        id: String,
        /// Play what the event archive tells of it, also where the database holds it still
        #[arg(long)]
        archive: bool,
    },
}

/// `backup`.
#[derive(Debug, Subcommand)]
pub enum BackupCommands {
    /// Restore a backup into a directory that goes away again, and check all of it
    Verify {
        /// The backup
        file: PathBuf,
        /// Where to unpack it for that time; the directory for temporary files when left out
        #[arg(long, value_name = "DIR")]
        within: Option<PathBuf>,
    },
}

/// `hooks`.
#[derive(Debug, Subcommand)]
pub enum HookCommands {
    /// List every hook at every point, in the order they are called in, with counters
    List,
    /// Call one with an example or a document; nothing follows from what it says
    Try {
        /// Name of the hook
        name: String,
        /// One of its points; its first when left out
        #[arg(long)]
        point: Option<HookPoint>,
        /// File with the JSON document that it reads; `-` reads standard input
        #[arg(long, value_name = "FILE")]
        input: Option<PathBuf>,
    },
    /// Call one again at once that failed too often
    Reset {
        /// Name of the hook
        name: String,
    },
}

/// `models`.
#[derive(Debug, Subcommand)]
pub enum ModelCommands {
    /// List the configured providers and models, with what they can do and cost; asks nobody
    List,
    /// Really ask a model: streaming, cached tokens, tools, parallel calls, context size
    Test {
        /// PROVIDER/MODEL; the default model where it is left out
        #[arg(value_name = "PROVIDER/MODEL")]
        name: Option<String>,
        /// Do not ask whether it may cost money
        #[arg(long)]
        yes: bool,
    },
    /// Look for model servers on this machine; shows the lines that would declare them, and uses none
    Discover,
}

/// `cache`.
#[derive(Debug, Subcommand)]
pub enum CacheCommands {
    /// Hits, misses by reason, what was saved
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
    /// Show one with question and answer
    Show {
        /// Id or unique prefix of at least four characters
        id: String,
    },
    /// Keep one past its time
    Pin {
        /// Id or unique prefix of at least four characters
        id: String,
    },
    /// Let it go at its time again
    Unpin {
        /// Id or unique prefix of at least four characters
        id: String,
    },
    /// Remove one, those of a channel, or all
    Purge {
        /// Id or unique prefix of at least four characters
        id: Option<String>,
        /// All of this channel
        #[arg(long, conflicts_with = "id")]
        channel: Option<String>,
        /// All there are
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
    /// Walk the whole chain and compare it with what was noted of it
    Verify {
        /// A head that was noted elsewhere, as `verify` prints it
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
        /// Sign it with this private key of ssh; the signature is in FILE.sig
        #[arg(long, value_name = "KEY")]
        sign: Option<PathBuf>,
    },
    /// Write what a month says, for a reader: who allowed what, refusals, levels, stops, spend
    Report {
        /// New file; standard output when left out or `-`
        file: Option<PathBuf>,
        /// The month, like 2026-01; the last whole one when left out
        #[arg(long)]
        month: Option<String>,
        /// How it is written
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
    /// Go back to an earlier session; the active one of its conversation ends
    Resume {
        /// Id or unique prefix
        id: String,
    },
    /// Pause a session: what comes waits
    Pause {
        /// Id or unique prefix
        id: String,
    },
    /// Let a paused session go on, also one that the engine paused
    Unpause {
        /// Id or unique prefix
        id: String,
    },
    /// What models are told in every turn of a session: show it, or set it
    Preferences {
        /// Id or unique prefix
        id: String,
        /// The new preferences, at most 2 KiB; `-` reads standard input; left out: they are shown
        text: Vec<String>,
        /// Tell models nothing any more
        #[arg(long, conflicts_with = "text")]
        clear: bool,
    },
    /// Call a tool in a session without a model, under its policy and approvals
    Call(crate::cli::sessions::CallArguments),
    /// Take the calls of a session that were refused because too many waited off the Queue
    DismissRefused {
        /// Id or unique prefix
        id: String,
    },
    /// Hold the agent of a session's conversation, to write in its place
    TakeOver {
        /// Id or unique prefix
        id: String,
        /// Even from somebody else
        #[arg(long)]
        force: bool,
    },
    /// Write as the bot in a conversation that you have taken over; what waited is answered with it
    Say {
        /// Id or unique prefix
        id: String,
        /// The message; `-` reads standard input
        #[arg(required = true)]
        text: Vec<String>,
    },
    /// Give the conversation back; the agent answers what came in since your last word
    Release {
        /// Id or unique prefix
        id: String,
        /// Even somebody else's
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
        /// Exactly this in its session, for 8 hours or as --expires or --until says: `--scope session`
        #[arg(long, conflicts_with = "scope")]
        shape: bool,
        /// Make a rule of it
        #[command(flatten)]
        rule: RuleOfCard,
        /// Short code, for critical calls
        #[arg(long)]
        confirm_code: Option<String>,
        /// Budgets: add this much instead of what is offered, in the unit of the question (tokens, dollars, seconds)
        #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = amount)]
        extra: Option<f64>,
        /// What was looked at
        #[command(flatten)]
        seen: DecisionTarget,
    },
    /// Run its command in a throw-away copy of the workspace, without network, and show what it would do; decides nothing
    Rehearse {
        /// Id, unique prefix of it, or short code
        id: String,
    },
    /// Let an external agent make a call once that nobody decided in time, if it asks again within 15 minutes
    AllowLater {
        /// Id of the approval that is over
        id: String,
    },
    /// Take an approval back whose call has not started, with the rule or permission made with it
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
    /// Let it wait for somebody in particular; decides nothing, and everybody who may still can
    Assign {
        /// Id, unique prefix of it, or short code
        id: String,
        /// A person of the configuration who may decide, or an operator as the audit names them; - for nobody
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
    /// Show one
    Show {
        /// Id or unique prefix
        id: String,
    },
    /// Let an interrupted one go on
    Resume {
        /// Id or unique prefix
        id: String,
    },
    /// End one
    Cancel {
        /// Id or unique prefix
        id: String,
        /// Shown in history
        #[arg(long)]
        reason: Option<String>,
    },
    /// Start its message again as a new one
    Retry {
        /// Id or unique prefix
        id: String,
    },
    /// Say what became of a call that was in flight; on a terminal shows the card and asks
    Resolve {
        /// Id of the call, or id or unique prefix of its continuation
        id: String,
        /// happened, run-again or give-up
        #[arg(value_parser = unknown_resolution)]
        resolution: DecisionKind,
        /// Read by the model with a result, kept with the decision
        #[arg(long)]
        note: Option<String>,
        /// Digest of what was looked at; needed where nobody can be asked
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
