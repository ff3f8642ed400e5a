//! Lists for people: what is listed has heads and cells, and a resource says which query lists it.
//!
//! The command line and the console show the same rows. Cells hold revealed text, one line each; nothing here writes.

use serde::Serialize;
use serde_json::Value;

use crate::protocol::agent_job::AgentJob;
use crate::protocol::dataset::{Dataset, grouped};
use crate::protocol::enums::PairingState;
use crate::protocol::escalation::{EscalationStatus, PolicyStep};
use crate::protocol::fleet::{FleetChannel, HOURS};
use crate::protocol::gate_test::GateTest;
use crate::protocol::mcp::McpServer;
use crate::protocol::on_call::Person;
use crate::protocol::pairing::Pairing;
use crate::protocol::request::{
    Answer, ListAgentJobs, ListDatasets, ListEscalations, ListFleet, ListGateTests,
    ListInterpreters, ListMcpServers, ListPairings, ListPeople, ListRoutines, ListSkills,
    ListTokens, ListTools, Query,
};
use crate::protocol::routine::Routine;
use crate::protocol::skill::Skill;
use crate::protocol::snapshot::PageRequest;
use crate::protocol::token::Token;
use crate::protocol::tool::{Interpreter, Tool};
use crate::text::bars::bars;
use crate::text::untrusted::{limit_line, reveal_line};

/// Something that is listed, one row each.
pub trait TableRow: Serialize {
    /// Heads of its columns. The first column names the row.
    const HEADS: &'static [&'static str];
    /// Said where there is none.
    const NOTHING: &'static str;

    /// Its cells, as many as heads.
    fn cells(&self) -> Vec<String>;
}

/// A listed thing with its type left behind.
#[derive(Debug, Clone, PartialEq)]
pub struct ResourceRow {
    /// Its cells, as many as heads. The first one names it.
    pub cells: Vec<String>,
    /// The object of the API.
    pub object: Value,
}

/// A kind of thing that `leverframe get NAME` and `:NAME` in the console list.
#[derive(Debug, Clone, Copy)]
pub struct Resource {
    /// Its name on the command line and in the console, a plural.
    pub name: &'static str,
    /// What the list is for, in a few words.
    pub about: &'static str,
    /// Heads of its columns.
    pub heads: &'static [&'static str],
    /// Said where there is none.
    pub nothing: &'static str,
    /// What is asked.
    pub query: fn() -> Query,
    /// The rows of an answer; none = the answer belongs to another query.
    pub rows: fn(&Answer) -> Option<Vec<ResourceRow>>,
}

impl PartialEq for Resource {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// Every resource, by name: name, about, type of a row, query and its fields.
macro_rules! resources {
    ($($name:literal, $about:literal, $row:ty, $query:ident $fields:tt;)+) => {
        /// Every resource, by name.
        pub const RESOURCES: &[Resource] = &[$(Resource {
            name: $name,
            about: $about,
            heads: <$row as TableRow>::HEADS,
            nothing: <$row as TableRow>::NOTHING,
            query: || Query::$query($query $fields),
            rows: |answer| match answer {
                Answer::$query(page) => Some(page.items.iter().map(erased).collect()),
                _ => None,
            },
        }),+];
    };
}

resources! {
    "agents", "jobs of external agents, and their states", AgentJob, ListAgentJobs { page: PageRequest::default() };
    "datasets", "tables that people sent, and when they expire", Dataset, ListDatasets { channel: None };
    "escalations", "channels that escalate, and their last drills", EscalationStatus, ListEscalations {};
    "fleet", "the channels: what waits, failed, was spent, and 24 hours of turns", FleetChannel, ListFleet {};
    "gate-tests", "gate tests of external agents, and what failed", GateTest, ListGateTests {};
    "interpreters", "running shells and Python interpreters of sessions", Interpreter, ListInterpreters {};
    "pairings", "unknown senders who ask for access, and those who have it", Pairing, ListPairings { state: None };
    "people", "people of the configuration, their roles and ids", Person, ListPeople {};
    "routines", "scheduled prompts, and when they are due", Routine, ListRoutines {};
    "servers", "tool servers, their state, and the tools that agents get", McpServer, ListMcpServers {};
    "skills", "instructions of workspaces and skills, and which are trusted", Skill, ListSkills {};
    "tokens", "named tokens for the API, and their scopes", Token, ListTokens { all: false };
    "tools", "tools that agents can call, and how their calls ended", Tool, ListTools {};
}

fn erased<T: TableRow>(item: &T) -> ResourceRow {
    ResourceRow {
        cells: item.cells(),
        object: serde_json::to_value(item).unwrap_or_default(),
    }
}

impl TableRow for AgentJob {
    const HEADS: &'static [&'static str] = &[
        "ID",
        "AGENT",
        "STATE",
        "RUNS",
        "DIRECTORY",
        "CHANGED",
        "TASK",
    ];
    const NOTHING: &'static str = "no jobs";

    fn cells(&self) -> Vec<String> {
        vec![
            self.id.to_string(),
            self.agent.to_string(),
            self.state.to_string(),
            self.runs.to_string(),
            reveal_line(&self.directory).into_owned(),
            self.updated_at.to_string(),
            limit_line(&self.task, 60),
        ]
    }
}

/// The resource of this name.
pub fn resource(name: &str) -> Option<&'static Resource> {
    RESOURCES.iter().find(|one| one.name == name)
}

/// The fields of an object as lines of a name and a value, nested ones with their path. Fields without a value are
/// left out.
pub fn fields(object: &Value) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    flatten(object, String::new(), &mut lines);
    lines
}

fn flatten(value: &Value, path: String, lines: &mut Vec<(String, String)>) {
    match value {
        Value::Null => {}
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = match path.as_str() {
                    "" => name.clone(),
                    path => format!("{path}.{name}"),
                };
                flatten(value, path, lines);
            }
        }
        Value::Array(items) if items.iter().all(|item| !item.is_object()) => {
            let items: Vec<String> = items.iter().map(plain).collect();
            if !items.is_empty() {
                lines.push((path, items.join(", ")));
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                flatten(item, format!("{path}.{at}"), lines);
            }
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) => lines.push((path, plain(value))),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Text from outside as one revealed line.
pub fn cell(text: &str) -> String {
    reveal_line(text).into_owned()
}

/// The text, or a dash in place of nothing.
pub fn or_dash(text: String) -> String {
    if text.is_empty() {
        "-".to_owned()
    } else {
        text
    }
}

/// The value, or a dash where there is none.
pub fn known(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

impl TableRow for Tool {
    const HEADS: &'static [&'static str] = &[
        "NAME", "FROM", "ACCESS", "EFFECT", "CALLS", "ERRORS", "P50 MS", "CACHE", "LAST",
    ];
    const NOTHING: &'static str = "no tools";

    fn cells(&self) -> Vec<String> {
        vec![
            cell(&self.name),
            cell(&self.source),
            self.access.to_string(),
            self.effect.to_string(),
            self.calls.to_string(),
            self.errors.to_string(),
            known(self.p50_ms),
            known(self.cache_seconds.map(|seconds| format!("{seconds} s"))),
            known(self.last_call_at),
        ]
    }
}

impl TableRow for McpServer {
    const HEADS: &'static [&'static str] = &[
        "NAME", "STATE", "TOOLS", "WAITING", "CALLS", "ERRORS", "P50 MS", "TRUSTED", "PLACE",
    ];
    const NOTHING: &'static str =
        "no tool servers: `leverframe mcp add` puts one into the configuration";

    fn cells(&self) -> Vec<String> {
        vec![
            cell(&self.name),
            self.state.to_string(),
            self.tools.to_string(),
            self.quarantined.to_string(),
            self.calls.to_string(),
            self.errors.to_string(),
            known(self.p50_ms),
            known(self.trusted_at),
            or_dash(cell(self.problem.as_ref().unwrap_or(&self.place))),
        ]
    }
}

impl TableRow for Skill {
    const HEADS: &'static [&'static str] = &["NAME", "STATE", "FILES", "TRUSTED", "BY", "ABOUT"];
    const NOTHING: &'static str =
        "no skills: [skills] folders names folders of them, and workspaces have AGENTS.md";

    fn cells(&self) -> Vec<String> {
        let about = self.problem.as_ref().unwrap_or(&self.description);
        vec![
            cell(&self.name),
            self.state.to_string(),
            self.files.to_string(),
            known(self.trusted_at),
            cell(self.trusted_by.as_deref().unwrap_or("-")),
            or_dash(cell(about)),
        ]
    }
}

impl TableRow for Dataset {
    const HEADS: &'static [&'static str] = &[
        "NAME", "CHANNEL", "ROWS", "COLUMNS", "SIZE", "FROM", "EXPIRES",
    ];
    const NOTHING: &'static str = "no datasets";

    fn cells(&self) -> Vec<String> {
        vec![
            cell(&self.name),
            cell(&self.channel),
            grouped(self.rows),
            self.columns.len().to_string(),
            size(self.bytes),
            limit_line(&self.uploaded_by, 30),
            self.expires_at
                .map_or_else(|| "never".to_owned(), |at| at.to_string()),
        ]
    }
}

impl TableRow for Interpreter {
    const HEADS: &'static [&'static str] = &[
        "INTERPRETER",
        "STATE",
        "COMMANDS",
        "BACKGROUND",
        "STARTED",
        "LAST",
        "COMMAND",
    ];
    const NOTHING: &'static str = "no session keeps a shell or a Python";

    fn cells(&self) -> Vec<String> {
        let state = match self.running_since {
            Some(since) => format!("{} since {since}", self.state),
            None => self.state.to_string(),
        };
        vec![
            format!("{} of {}", self.kind, self.session_id),
            state,
            self.commands.to_string(),
            self.background.to_string(),
            self.started_at.to_string(),
            self.last_used_at.to_string(),
            or_dash(limit_line(self.command.as_deref().unwrap_or_default(), 60)),
        ]
    }
}

/// Bytes in the unit that fits.
pub fn size(bytes: u64) -> String {
    const KIB: u64 = 1024;
    match bytes {
        0..KIB => format!("{bytes} B"),
        KIB..1_048_576 => format!("{} KiB", bytes / KIB),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}

impl TableRow for FleetChannel {
    const HEADS: &'static [&'static str] = &[
        "CHANNEL",
        "STATE",
        "WAITING",
        "OLDEST",
        "ERRORS",
        "USD",
        "BUDGET",
        "LAST REPLY",
        "TURNS 24H",
        "ERRORS 24H",
    ];
    const NOTHING: &'static str = "no channels";

    fn cells(&self) -> Vec<String> {
        vec![
            cell(&self.name),
            cell(&self.state),
            self.waiting.to_string(),
            known(self.oldest_waiting_at),
            self.failed().to_string(),
            known(self.spent_usd.map(|usd| format!("{usd:.2}"))),
            known(
                self.budget
                    .as_ref()
                    .map(|one| format!("{:.0} %", one.percent)),
            ),
            known(self.last_reply_at),
            bars(&self.turns, HOURS),
            bars(&self.errors, HOURS),
        ]
    }
}

impl TableRow for Person {
    const HEADS: &'static [&'static str] = &[
        "NAME", "ROLE", "IDS", "TOKENS", "CHANNELS", "NOW", "LAST", "DID",
    ];
    const NOTHING: &'static str = "nobody stands under [people] in the configuration";

    fn cells(&self) -> Vec<String> {
        let on_call = self.on_call.then(|| "on call".to_owned());
        let quiet = self.quiet_until.map(|until| format!("quiet until {until}"));
        let last = self.last_action.as_ref();
        let now: Vec<String> = [on_call, quiet].into_iter().flatten().collect();
        vec![
            cell(&self.name),
            self.role.to_string(),
            cell(&or_dash(self.ids.join(", "))),
            cell(&or_dash(self.tokens.join(", "))),
            cell(&or_dash(self.channels.join(", "))),
            or_dash(now.join(", ")),
            known(last.map(|last| last.at)),
            known(last.map(|last| cell(&last.action))),
        ]
    }
}

impl TableRow for EscalationStatus {
    const HEADS: &'static [&'static str] = &["CHANNEL", "POLICY", "LAST DRILL", "STEPS"];
    const NOTHING: &'static str =
        "no channel escalates: set `escalation` under [channels.NAME] to a name under [escalation]";

    fn cells(&self) -> Vec<String> {
        let steps: Vec<String> = self.steps.iter().map(PolicyStep::in_words).collect();
        let drill = self.drill.as_ref().map(|drill| {
            let verdict = match (drill.ended_at, drill.problem()) {
                (None, _) => "running since",
                (Some(_), Some(_)) => "failed",
                (Some(_), None) => "passed",
            };
            format!("{verdict} {}", drill.started_at)
        });
        vec![
            cell(&self.channel),
            cell(&self.policy),
            drill.unwrap_or_else(|| "never".to_owned()),
            cell(&steps.join(" · ")),
        ]
    }
}

impl TableRow for Token {
    const HEADS: &'static [&'static str] = &[
        "NAME",
        "SCOPES",
        "PERSON",
        "CREATED",
        "EXPIRES",
        "LAST USED",
    ];
    const NOTHING: &'static str =
        "no tokens: `leverframe token create NAME --scope read` makes one";

    fn cells(&self) -> Vec<String> {
        let scopes: Vec<&str> = self.scopes.iter().map(|scope| scope.as_str()).collect();
        let ends = match (self.revoked_at, self.expires_at) {
            (Some(at), _) => format!("revoked {at}"),
            (None, Some(at)) => at.to_string(),
            (None, None) => "never".to_owned(),
        };
        let used = self.last_used_at.map(|at| at.to_string());
        vec![
            cell(&self.name),
            scopes.join(","),
            cell(self.person.as_deref().unwrap_or("-")),
            self.created_at.to_string(),
            ends,
            used.unwrap_or_else(|| "never".to_owned()),
        ]
    }
}

impl TableRow for Pairing {
    const HEADS: &'static [&'static str] =
        &["CODE", "CHANNEL", "USER", "STATE", "SINCE", "BY", "NAME"];
    const NOTHING: &'static str = "nobody asked for access";

    fn cells(&self) -> Vec<String> {
        let state = match self.state {
            PairingState::Pending => format!("pending until {}", self.expires_at),
            state @ (PairingState::Accepted
            | PairingState::Refused
            | PairingState::Expired
            | PairingState::Revoked) => state.to_string(),
        };
        vec![
            cell(&self.code),
            cell(&self.channel),
            cell(&self.sender),
            state,
            self.decided_at.unwrap_or(self.asked_at).to_string(),
            cell(self.by.as_deref().unwrap_or("-")),
            cell(&self.display),
        ]
    }
}

impl TableRow for Routine {
    const HEADS: &'static [&'static str] = &["NAME", "SCHEDULE", "GOES TO", "NEXT", "LAST"];
    const NOTHING: &'static str = "no routines";

    fn cells(&self) -> Vec<String> {
        let zone = self.time_zone.as_deref().unwrap_or("local");
        vec![
            cell(&self.name),
            format!("{} ({})", cell(&self.schedule), cell(zone)),
            format!(
                "{} {}",
                cell(&self.channel),
                limit_line(&self.conversation, 20)
            ),
            next_run(self),
            known(self.last_run.as_ref().map(|run| {
                let state = run.continuation_state.map(|state| state.to_string());
                let state = state.unwrap_or_else(|| run.state.to_string());
                format!("{} {state}", run.at)
            })),
        ]
    }
}

/// When a routine runs next, in words.
pub fn next_run(routine: &Routine) -> String {
    match (routine.enabled, routine.due_at, routine.begin_at) {
        (false, _, _) => "disabled".to_owned(),
        (true, Some(due), Some(begin)) if begin > due => format!("next {due}, begins {begin}"),
        (true, Some(due), _) => format!("next {due}"),
        (true, None, _) => "never due again".to_owned(),
    }
}
