//! The table of queries: they change nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::{Day, Timestamp};
use crate::protocol::agent_job::AgentJob;
use crate::protocol::approval::Approval;
use crate::protocol::artifact::{Artifact, ArtifactHash};
use crate::protocol::cache::{CacheEntry, CacheStats};
use crate::protocol::channel::Channel;
use crate::protocol::command::Actor;
use crate::protocol::costs::Costs;
use crate::protocol::dataset::{Dataset, DatasetDescription, DatasetQuery, DatasetRows};
use crate::protocol::doctor::{AuditAnchor, AuditReport, AuditRow, Doctor};
use crate::protocol::enums::{
    ApprovalState, ContinuationState, CostGrouping, LogLevel, OutboxState, PairingState, Scope,
    SessionState, StatsGrouping, StatsStep,
};
use crate::protocol::escalation::EscalationStatus;
use crate::protocol::file_change::{CallDiff, FileChange};
use crate::protocol::fleet::FleetChannel;
use crate::protocol::gate_test::GateTest;
use crate::protocol::hook::Hook;
use crate::protocol::hygiene::{HygieneReport, HygieneRun, HygieneStatus};
use crate::protocol::ids::{
    ApprovalId, ContinuationId, MemoryId, OutboxId, RuleId, SessionId, ToolCallId,
};
use crate::protocol::leftovers::Leftovers;
use crate::protocol::log::Log;
use crate::protocol::mcp::{McpServer, McpServerReview};
use crate::protocol::memory::{
    Compaction, Erasure, Memory, MemoryFilter, MemoryMatch, MemoryReview, MemoryStats, Summary,
};
use crate::protocol::metrics::Metrics;
use crate::protocol::models::ProviderModels;
use crate::protocol::on_call::{OnCallStatus, Person};
use crate::protocol::pairing::Pairing;
use crate::protocol::policy::{PolicyPatch, WhatIf};
use crate::protocol::problem::Problem;
use crate::protocol::request::table::{Request, mismatch, requests};
use crate::protocol::routine::{Routine, RoutineRun};
use crate::protocol::rule::{Grant, Rule, RuleMatches, RulePatch, RuleSuggestions, RuleTest};
use crate::protocol::session::{Continuation, OutboxItem, Session, Step, TranscriptEntry, Why};
use crate::protocol::skill::{Skill, SkillReview};
use crate::protocol::snapshot::{AuditFilter, EngineStatus, Page, PageRequest, Snapshot};
use crate::protocol::stats::Stats;
use crate::protocol::summary::ShiftSummary;
use crate::protocol::token::Token;
use crate::protocol::tool::{Interpreter, Tool, ToolDefinition};
use crate::protocol::uncertain::Uncertain;

requests! {
    /// A question that changes nothing.
    #[serde(tag = "query", rename_all = "snake_case")]
    enum Query;

    /// The answer to a [`Query`], of the variant of the same name.
    #[serde(tag = "answer", content = "value", rename_all = "snake_case")]
    enum Answer;

    /// Everything a console starts from; follow events with `after=seq`.
    GetSnapshot: Read -> Snapshot {}

    /// The engine as a whole.
    GetEngine: Read -> EngineStatus {}

    /// Sessions, newest change first.
    ListSessions: Read -> Page<Session> {
        /// Only this state.
        #[serde(default)]
        state: Option<SessionState>,
        /// Only this channel.
        #[serde(default)]
        channel: Option<String>,
        /// Only conversations whose key begins so; with a channel.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prefix: Option<String>,
        /// Page.
        #[serde(flatten)]
        page: PageRequest,
    }

    /// Jobs of external agents, newest change first.
    ListAgentJobs: Read -> Page<AgentJob> {
        /// Page.
        #[serde(flatten)]
        page: PageRequest,
    }

    /// One job of an external agent.
    GetAgentJob: Read -> AgentJob {
        /// Which.
        id: SessionId,
    }

    /// One session.
    GetSession: Read -> Session {
        /// Which.
        id: SessionId,
    }

    /// A window of a session's transcript: the newest entries before a position, oldest first. `next_cursor` is the
    /// next `before`.
    GetTranscript: Read -> Page<TranscriptEntry> {
        /// Which session.
        session_id: SessionId,
        /// Entries before this position; none = the newest.
        #[serde(default)]
        before: Option<u64>,
        /// At most this many (1–500, default 100).
        #[serde(default)]
        #[schemars(range(min = 1, max = 500))]
        limit: Option<u32>,
    }

    /// Continuations, newest change first.
    ListContinuations: Read -> Page<Continuation> {
        /// Only this state.
        #[serde(default)]
        state: Option<ContinuationState>,
        /// Only this session.
        #[serde(default)]
        session_id: Option<SessionId>,
        /// Page.
        #[serde(flatten)]
        page: PageRequest,
    }

    /// One continuation.
    GetContinuation: Read -> Continuation {
        /// Which.
        id: ContinuationId,
    }

    /// A continuation's steps as stored.
    ListSteps: Read -> Page<Step> {
        /// Which.
        continuation_id: ContinuationId,
    }

    /// Approvals, oldest first while pending, else newest first.
    ListApprovals: Read -> Page<Approval> {
        /// Only this state.
        #[serde(default)]
        state: Option<ApprovalState>,
        /// Page.
        #[serde(flatten)]
        page: PageRequest,
    }

    /// One approval.
    GetApproval: Read -> Approval {
        /// Which.
        id: ApprovalId,
    }

    /// All channels.
    ListChannels: Read -> Page<Channel> {}

    /// One channel.
    GetChannel: Read -> Channel {
        /// Which.
        name: String,
    }

    /// What would have run without asking under another level.
    GetWhatIf: Read -> WhatIf {
        /// Which channel.
        channel: String,
        /// The change that is tried.
        patch: PolicyPatch,
        /// How many past calls (1–200, default 20).
        #[serde(default)]
        #[schemars(range(min = 1, max = 200))]
        limit: Option<u32>,
    }

    /// Deliveries, newest first.
    ListDeliveries: Read -> Page<OutboxItem> {
        /// Only this state.
        #[serde(default)]
        state: Option<OutboxState>,
        /// Page.
        #[serde(flatten)]
        page: PageRequest,
    }

    /// One delivery.
    GetDelivery: Read -> OutboxItem {
        /// Which.
        id: OutboxId,
    }

    /// Why a call ran, asked or was refused.
    ExplainCall: Read -> Why {
        /// Which.
        tool_call_id: ToolCallId,
    }

    /// What a call did to the files of its workspace, as far as the record holds it.
    GetCallDiff: Read -> CallDiff {
        /// Which.
        tool_call_id: ToolCallId,
    }

    /// What waits and what nobody knows: to look at before a release, above all of a quarantine.
    ListUncertain: Read -> Uncertain {}

    /// Content that is kept in a file.
    GetArtifact: Read -> Artifact {
        /// Which.
        hash: ArtifactHash,
    }

    /// How the installation is; with `check`, every invariant is verified on the live database.
    GetDoctor: Read -> Doctor {
        /// Whether every invariant is verified too, which reads the whole database.
        #[serde(default)]
        check: bool,
    }

    /// Who did what, newest first.
    ListAudit: Read -> Page<AuditRow> {
        /// Which.
        #[serde(flatten)]
        filter: AuditFilter,
        /// Page.
        #[serde(flatten)]
        page: PageRequest,
    }

    /// Walks the whole audit and compares it with what was noted of it.
    VerifyAudit: Read -> AuditReport {
        /// A place of the chain that was noted elsewhere.
        #[serde(default)]
        anchor: Option<AuditAnchor>,
    }

    /// The configured providers, and of each model that is named what it can do and costs; nobody is asked.
    ListModels: Read -> Page<ProviderModels> {}

    /// What the response cache did, and why it missed.
    GetCache: Read -> CacheStats {}

    /// Cached responses, newest first.
    ListCacheEntries: Read -> Page<CacheEntry> {
        /// Only this channel.
        #[serde(default)]
        channel: Option<String>,
        /// Page.
        #[serde(flatten)]
        page: PageRequest,
    }

    /// One cached response.
    GetCacheEntry: Read -> CacheEntry {
        /// Its id, or a longer beginning of its key.
        id: String,
    }

    /// What was spent, by channel, model or day, and how far the budgets of today are used up.
    GetCosts: Read -> Costs {
        /// What to sum by; over HTTP by day when left out.
        by: CostGrouping,
        /// First local day, YYYY-MM-DD; none = 30 days up to the last.
        #[serde(default)]
        since: Option<Day>,
        /// Last local day; none = today.
        #[serde(default)]
        until: Option<Day>,
    }

    /// Counts and sizes of memory.
    GetMemoryStats: Read -> MemoryStats {}

    /// What is remembered, newest change first.
    ListMemories: Read -> Page<Memory> {
        /// Which.
        #[serde(default)]
        filter: MemoryFilter,
        /// Page.
        #[serde(flatten)]
        page: PageRequest,
    }

    /// What is remembered of something, best first; any text is a valid search. `found_by` says what each was found by,
    /// `words_only` why meaning was not looked for.
    SearchMemories: Read -> MemoryMatch {
        /// What for.
        text: String,
        /// Which.
        #[serde(default)]
        filter: MemoryFilter,
        /// At most this many (1 to 200, default 20).
        #[serde(default)]
        #[schemars(range(min = 1, max = 200))]
        limit: Option<u32>,
    }

    /// One memory.
    GetMemory: Read -> Memory {
        /// Which.
        id: MemoryId,
    }

    /// What waits for a person, says the same, contradicts, or was never used.
    ReviewMemories: Read -> MemoryReview {
        /// At most this many of each (1 to 200, default 20).
        #[serde(default)]
        #[schemars(range(min = 1, max = 200))]
        limit: Option<u32>,
    }

    /// The summary of a session; none = there is none.
    GetSessionSummary: Read -> Option<Summary> {
        /// Which session.
        session_id: SessionId,
    }

    /// Compactions, newest first, with the size of the next prompt before and after.
    ListCompactions: Read -> Page<Compaction> {
        /// Only of this session.
        #[serde(default)]
        session_id: Option<SessionId>,
        /// Page.
        #[serde(flatten)]
        page: PageRequest,
    }

    /// What the erasure of a user would remove.
    PreviewEraseUser: Read -> Erasure {
        /// Stable platform id, for example `telegram:123456`.
        person: String,
    }

    /// Settings of hygiene, its last and next run, sizes by day.
    GetHygiene: Read -> HygieneStatus {}

    /// What a run of hygiene would archive or remove now, and why; changes nothing.
    PreviewHygiene: Read -> HygieneReport {}

    /// Runs of hygiene, newest first.
    ListHygieneRuns: Read -> Page<HygieneRun> {
        /// Page.
        #[serde(flatten)]
        page: PageRequest,
    }

    /// Every hook at every point, in the order they are called in, with counters.
    ListHooks: Read -> Page<Hook> {}

    /// All routines, by name.
    ListRoutines: Read -> Page<Routine> {}

    /// One routine, by id or name.
    GetRoutine: Read -> Routine {
        /// Which.
        routine: String,
    }

    /// Runs of a routine, newest first.
    ListRoutineRuns: Read -> Page<RoutineRun> {
        /// Which, by id or name.
        routine: String,
        /// Page.
        #[serde(flatten)]
        page: PageRequest,
    }

    /// When a schedule is due next; says what is wrong with it.
    ListUpcomingRuns: Read -> Page<Timestamp> {
        /// Cron or `every …`.
        schedule: String,
        /// IANA name; none = of the machine.
        #[serde(default)]
        time_zone: Option<String>,
        /// How many times (1 to 50, default 5).
        #[serde(default)]
        #[schemars(range(min = 1, max = 50))]
        limit: Option<u32>,
    }

    /// All rules, newest first.
    ListRules: Read -> Page<Rule> {}

    /// One rule.
    GetRule: Read -> Rule {
        /// Which.
        id: RuleId,
    }

    /// Permissions for shapes in sessions that hold, newest first.
    ListGrants: Read -> Page<Grant> {}

    /// What a rule matches of the last seven days; changes nothing.
    GetRuleMatches: Read -> RuleMatches {
        /// A rule that exists; the other fields are laid over it.
        #[serde(default)]
        id: Option<RuleId>,
        /// What it says.
        #[serde(default)]
        rule: Box<RulePatch>,
    }

    /// Rules that would have answered most of what people allowed; makes none.
    SuggestRules: Read -> RuleSuggestions {
        /// Days that are looked at (1 to 90, default 7).
        #[serde(default)]
        #[schemars(range(min = 1, max = 90))]
        days: Option<u32>,
        /// Only calls of this channel.
        #[serde(default)]
        channel: Option<String>,
    }

    /// What would happen to a call that came as a message on a channel now; changes nothing.
    TestRules: Read -> RuleTest {
        /// Tool name.
        tool: String,
        /// Its arguments; in a query parameter as JSON.
        args: serde_json::Value,
        /// Channel it comes on.
        channel: String,
        /// Session it comes in; none = a new one, nothing untrusted in context.
        #[serde(default)]
        session_id: Option<SessionId>,
    }

    /// What waits, what is out of the ordinary, who did what and what was spent since a time.
    GetShiftSummary: Read -> ShiftSummary {
        /// Not before this time, RFC 3339; none = eight hours ago.
        #[serde(default)]
        since: Option<Timestamp>,
    }

    /// A window of a session's transcript: the oldest entries from a position on. `next_cursor` is the next `from`.
    GetTranscriptFrom: Read -> Page<TranscriptEntry> {
        /// Which session.
        session_id: SessionId,
        /// Entries at this position and after it; 0 = from the beginning.
        from: u64,
        /// At most this many (1–500, default 100).
        #[serde(default)]
        #[schemars(range(min = 1, max = 500))]
        limit: Option<u32>,
    }

    /// Unknown senders who ask for access to a channel, and who has it: whoever waits first, then the newest.
    ListPairings: Read -> Page<Pairing> {
        /// Only this state.
        #[serde(default)]
        state: Option<PairingState>,
    }

    /// Who is on call, and who can be named.
    GetOnCall: Read -> OnCallStatus {
        /// Who asks. A remote client's is ignored: the daemon takes it from the credential.
        #[serde(default)]
        actor: Option<Actor>,
    }

    /// The people of the configuration, by name: their roles, where the bot reaches them, and who is on call.
    ListPeople: Read -> Page<Person> {}

    /// The channels that escalate what nobody decides: the steps of their policies, and their last drills.
    ListEscalations: Read -> Page<EscalationStatus> {}

    /// The newest test of each gate by `gate test`, as the data directory of the daemon holds it.
    ListGateTests: Read -> Page<GateTest> {}

    /// Named tokens, by name: what they may do, whose they are, and when they were used last. Never their values.
    ListTokens: Read -> Page<Token> {
        /// Also those that were revoked.
        #[serde(default)]
        all: bool,
    }

    /// What edit_file, apply_patch, move_file and delete_file did and what is kept of it, the newest first, at most 200.
    ListFileChanges: Read -> Page<FileChange> {}

    /// The tools that agents can call, by name, and how their newest calls went.
    ListTools: Read -> Page<Tool> {}

    /// The tools that the policy of a channel does not block, as agents there get them.
    ListChannelTools: Read -> Page<ToolDefinition> {
        /// Channel name.
        channel: String,
    }

    /// Instructions of workspaces and skills: in files, and trusted. Instructions first, then by name.
    ListSkills: Read -> Page<Skill> {}

    /// A skill with the difference between what is trusted and its files.
    GetSkill: Read -> SkillReview {
        /// Its name, or `instructions:` and a channel.
        name: String,
    }

    /// The tool servers of the configuration, and those that were taken out of it and are still trusted, by name.
    ListMcpServers: Read -> Page<McpServer> {}

    /// A tool server with its tools, and the difference between what is trusted and what it offered last.
    GetMcpServer: Read -> McpServerReview {
        /// Its name in the configuration.
        name: String,
    }

    /// Shells and other interpreters that sessions keep between the calls of their agents, the oldest first.
    ListInterpreters: Read -> Page<Interpreter> {}

    /// Tables that people sent, by channel and name.
    ListDatasets: Read -> Page<Dataset> {
        /// Only of this channel.
        #[serde(default)]
        channel: Option<String>,
    }

    /// A dataset, what is in its columns, and its first rows.
    GetDataset: Read -> DatasetDescription {
        /// Its id, its name, or `CHANNEL/NAME`.
        dataset: String,
    }

    /// Asks a dataset: which rows, which columns, which groups.
    QueryDataset: Read -> DatasetRows {
        /// Its id, its name, or `CHANNEL/NAME`.
        dataset: String,
        /// The question.
        #[serde(flatten)]
        query: DatasetQuery,
    }

    /// The channels by name: how each stands, what waits, what it spent today, and its turns of the last 24 hours.
    ListFleet: Read -> Page<FleetChannel> {}

    /// Counters, latencies and what waits, for Prometheus. Reading them counts nothing by itself.
    GetMetrics: Read -> Metrics {}

    /// The newest lines of the daemon's log, oldest first. The daemon keeps about 1 MiB of them in memory.
    GetLog: Read -> Log {
        /// Only lines at least as serious.
        #[serde(default)]
        level: Option<LogLevel>,
        /// Lines after this number, the oldest of them first; none = the newest lines.
        #[serde(default)]
        after: Option<u64>,
        /// At most this many (1 to 2000, default 500).
        #[serde(default)]
        #[schemars(range(min = 1, max = 2000))]
        limit: Option<u32>,
    }

    /// What runs left in places from which git, editors, shells and agents run programs, the newest first, at most 200.
    ListLeftovers: Read -> Page<Leftovers> {
        /// Also what a person has dismissed.
        #[serde(default)]
        all: bool,
    }

    /// Cost and health over time: a span of time after the other, in groups. Over HTTP as CSV too.
    GetStats: Read -> Stats {
        /// From the beginning of the span that holds this time; none = 30 spans.
        #[serde(default)]
        since: Option<Timestamp>,
        /// To the end of the span that holds this time; none = now.
        #[serde(default)]
        until: Option<Timestamp>,
        /// How long a span is, by the daemon's clock; over HTTP a day when left out.
        step: StatsStep,
        /// What is grouped by; over HTTP one group of everything when left out.
        by: StatsGrouping,
    }

}
