//! The table of queries. A query changes nothing.

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
    /// A request that changes nothing.
    #[serde(tag = "query", rename_all = "snake_case")]
    enum Query;

    /// The answer to a [`Query`]: the variant of the same name.
    #[serde(tag = "answer", content = "value", rename_all = "snake_case")]
    enum Answer;

    /// The initial state for a console. Follow later events with `after=seq`.
    GetSnapshot: Read -> Snapshot {}

    /// State of the engine.
    GetEngine: Read -> EngineStatus {}

    /// Lists sessions, newest change first.
    ListSessions: Read -> Page<Session> {
        /// Only sessions in this state.
        #[serde(default)]
        state: Option<SessionState>,
        /// Only sessions of this channel.
        #[serde(default)]
        channel: Option<String>,
        /// Only conversations whose key has this prefix; needs `channel`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prefix: Option<String>,
        /// Page.
        #[serde(flatten)]
        page: PageRequest,
    }

    /// Lists jobs of external agents, newest change first.
    ListAgentJobs: Read -> Page<AgentJob> {
        /// Page.
        #[serde(flatten)]
        page: PageRequest,
    }

    /// One job of an external agent.
    GetAgentJob: Read -> AgentJob {
        /// Job id.
        id: SessionId,
    }

    /// One session.
    GetSession: Read -> Session {
        /// Session id.
        id: SessionId,
    }

    /// A part of a session's transcript: the newest entries before a position, oldest first. `next_cursor` is the
    /// `before` of the next request.
    GetTranscript: Read -> Page<TranscriptEntry> {
        /// Session id.
        session_id: SessionId,
        /// Entries before this position; none = the newest.
        #[serde(default)]
        before: Option<u64>,
        /// At most this many (1–500, default 100).
        #[serde(default)]
        #[schemars(range(min = 1, max = 500))]
        limit: Option<u32>,
    }

    /// Lists continuations (turns), newest change first.
    ListContinuations: Read -> Page<Continuation> {
        /// Only continuations in this state.
        #[serde(default)]
        state: Option<ContinuationState>,
        /// Only continuations of this session.
        #[serde(default)]
        session_id: Option<SessionId>,
        /// Page.
        #[serde(flatten)]
        page: PageRequest,
    }

    /// One continuation (turn).
    GetContinuation: Read -> Continuation {
        /// Continuation id.
        id: ContinuationId,
    }

    /// The stored steps of a continuation.
    ListSteps: Read -> Page<Step> {
        /// Continuation id.
        continuation_id: ContinuationId,
    }

    /// Lists approvals: pending ones oldest first, others newest first.
    ListApprovals: Read -> Page<Approval> {
        /// Only approvals in this state.
        #[serde(default)]
        state: Option<ApprovalState>,
        /// Page.
        #[serde(flatten)]
        page: PageRequest,
    }

    /// One approval.
    GetApproval: Read -> Approval {
        /// Approval id.
        id: ApprovalId,
    }

    /// Lists all channels.
    ListChannels: Read -> Page<Channel> {}

    /// One channel.
    GetChannel: Read -> Channel {
        /// Channel name.
        name: String,
    }

    /// Which past calls would have run without asking under another policy.
    GetWhatIf: Read -> WhatIf {
        /// Channel name.
        channel: String,
        /// The policy change to try.
        patch: PolicyPatch,
        /// Number of past calls to examine (1–200, default 20).
        #[serde(default)]
        #[schemars(range(min = 1, max = 200))]
        limit: Option<u32>,
    }

    /// Lists deliveries, newest first.
    ListDeliveries: Read -> Page<OutboxItem> {
        /// Only deliveries in this state.
        #[serde(default)]
        state: Option<OutboxState>,
        /// Page.
        #[serde(flatten)]
        page: PageRequest,
    }

    /// One delivery.
    GetDelivery: Read -> OutboxItem {
        /// Delivery id.
        id: OutboxId,
    }

    /// Why a call ran, asked or was refused.
    ExplainCall: Read -> Why {
        /// Tool call id.
        tool_call_id: ToolCallId,
    }

    /// The changes of a call to the files of its workspace, as far as they are recorded.
    GetCallDiff: Read -> CallDiff {
        /// Tool call id.
        tool_call_id: ToolCallId,
    }

    /// Waiting work and unknown outcomes: review them before a release, above all of a quarantine.
    ListUncertain: Read -> Uncertain {}

    /// Content stored under its hash.
    GetArtifact: Read -> Artifact {
        /// Hash of the content.
        hash: ArtifactHash,
    }

    /// State of the installation. With `check`, the engine also verifies every invariant on the live database.
    GetDoctor: Read -> Doctor {
        /// Whether to verify every invariant, which reads the whole database.
        #[serde(default)]
        check: bool,
    }

    /// Lists audit rows (who did what), newest first.
    ListAudit: Read -> Page<AuditRow> {
        /// Filter for audit rows.
        #[serde(flatten)]
        filter: AuditFilter,
        /// Page.
        #[serde(flatten)]
        page: PageRequest,
    }

    /// Reads the whole audit and compares its hash chain with the stored anchors.
    VerifyAudit: Read -> AuditReport {
        /// A row number and hash that were noted elsewhere.
        #[serde(default)]
        anchor: Option<AuditAnchor>,
    }

    /// Lists the configured providers with the capabilities and prices of their models. The engine contacts no
    /// provider.
    ListModels: Read -> Page<ProviderModels> {}

    /// Sizes and counters of the response cache.
    GetCache: Read -> CacheStats {}

    /// Lists cached responses, newest first.
    ListCacheEntries: Read -> Page<CacheEntry> {
        /// Only responses of this channel.
        #[serde(default)]
        channel: Option<String>,
        /// Page.
        #[serde(flatten)]
        page: PageRequest,
    }

    /// One cached response.
    GetCacheEntry: Read -> CacheEntry {
        /// Id, or a longer prefix of its key.
        id: String,
    }

    /// Spending by channel, model or day, and use of today's budgets.
    GetCosts: Read -> Costs {
        /// Grouping; over HTTP the default is by day.
        by: CostGrouping,
        /// First local day, YYYY-MM-DD; default: 30 days up to the last one.
        #[serde(default)]
        since: Option<Day>,
        /// Last local day; default: today.
        #[serde(default)]
        until: Option<Day>,
    }

    /// Counts and sizes of the memory.
    GetMemoryStats: Read -> MemoryStats {}

    /// Lists memories, newest change first.
    ListMemories: Read -> Page<Memory> {
        /// Filter for memories.
        #[serde(default)]
        filter: MemoryFilter,
        /// Page.
        #[serde(flatten)]
        page: PageRequest,
    }

    /// Searches memories, best match first; any text is a valid search. `found_by` tells how each was found.
    /// `words_only` tells why the search did not compare meanings.
    SearchMemories: Read -> MemoryMatch {
        /// Text to search for.
        text: String,
        /// Filter for memories.
        #[serde(default)]
        filter: MemoryFilter,
        /// At most this many (1 to 200, default 20).
        #[serde(default)]
        #[schemars(range(min = 1, max = 200))]
        limit: Option<u32>,
    }

    /// One memory.
    GetMemory: Read -> Memory {
        /// Memory id.
        id: MemoryId,
    }

    /// Memories to review: proposals, duplicates, contradictions and unused ones.
    ReviewMemories: Read -> MemoryReview {
        /// Most memories of each sort (1 to 200, default 20).
        #[serde(default)]
        #[schemars(range(min = 1, max = 200))]
        limit: Option<u32>,
    }

    /// The summary of a session; none = there is none.
    GetSessionSummary: Read -> Option<Summary> {
        /// Session id.
        session_id: SessionId,
    }

    /// Lists compactions, newest first, with the size of the next prompt before and after.
    ListCompactions: Read -> Page<Compaction> {
        /// Only compactions of this session.
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

    /// Settings of memory hygiene, its last and next run, and sizes by day.
    GetHygiene: Read -> HygieneStatus {}

    /// What a memory hygiene run would archive or remove now, and why. Changes nothing.
    PreviewHygiene: Read -> HygieneReport {}

    /// Lists memory hygiene runs, newest first.
    ListHygieneRuns: Read -> Page<HygieneRun> {
        /// Page.
        #[serde(flatten)]
        page: PageRequest,
    }

    /// Lists every hook at every point, in the order of the calls, with counters.
    ListHooks: Read -> Page<Hook> {}

    /// Lists all routines by name.
    ListRoutines: Read -> Page<Routine> {}

    /// One routine, by id or name.
    GetRoutine: Read -> Routine {
        /// Id or name.
        routine: String,
    }

    /// Lists runs of a routine, newest first.
    ListRoutineRuns: Read -> Page<RoutineRun> {
        /// Id or name of the routine.
        routine: String,
        /// Page.
        #[serde(flatten)]
        page: PageRequest,
    }

    /// When a schedule is due next. An invalid schedule is refused with the reason.
    ListUpcomingRuns: Read -> Page<Timestamp> {
        /// Cron expression or `every …`.
        schedule: String,
        /// IANA name of the time zone; default: that of the machine.
        #[serde(default)]
        time_zone: Option<String>,
        /// Number of times (1 to 50, default 5).
        #[serde(default)]
        #[schemars(range(min = 1, max = 50))]
        limit: Option<u32>,
    }

    /// Lists all rules, newest first.
    ListRules: Read -> Page<Rule> {}

    /// One rule.
    GetRule: Read -> Rule {
        /// Rule id.
        id: RuleId,
    }

    /// Lists grants in force, newest first.
    ListGrants: Read -> Page<Grant> {}

    /// Calls of the last seven days that a rule matches. Changes nothing.
    GetRuleMatches: Read -> RuleMatches {
        /// An existing rule; the fields of `rule` replace its fields.
        #[serde(default)]
        id: Option<RuleId>,
        /// Fields of the rule.
        #[serde(default)]
        rule: Box<RulePatch>,
    }

    /// Suggests rules that would have answered most of what people allowed. Creates none.
    SuggestRules: Read -> RuleSuggestions {
        /// Days to examine (1 to 90, default 7).
        #[serde(default)]
        #[schemars(range(min = 1, max = 90))]
        days: Option<u32>,
        /// Only calls of this channel.
        #[serde(default)]
        channel: Option<String>,
    }

    /// The verdict about a call that would come as a message on a channel now. Changes nothing.
    TestRules: Read -> RuleTest {
        /// Tool name.
        tool: String,
        /// The arguments; in a query parameter as JSON.
        args: serde_json::Value,
        /// Channel of the call.
        channel: String,
        /// Session of the call; default: a new one, without untrusted content in the context.
        #[serde(default)]
        session_id: Option<SessionId>,
    }

    /// Summary for a change of shift: pending approvals, unusual states, actions and spending since a time.
    GetShiftSummary: Read -> ShiftSummary {
        /// Start of the summary, RFC 3339; default: eight hours ago.
        #[serde(default)]
        since: Option<Timestamp>,
    }

    /// A part of a session's transcript: the oldest entries from a position on. `next_cursor` is the `from` of the
    /// next request.
    GetTranscriptFrom: Read -> Page<TranscriptEntry> {
        /// Session id.
        session_id: SessionId,
        /// First position; 0 = the beginning.
        from: u64,
        /// At most this many (1–500, default 100).
        #[serde(default)]
        #[schemars(range(min = 1, max = 500))]
        limit: Option<u32>,
    }

    /// Lists unknown senders who ask for access to a channel, and people who have it: pending ones first, then the
    /// newest.
    ListPairings: Read -> Page<Pairing> {
        /// Only pairings in this state.
        #[serde(default)]
        state: Option<PairingState>,
    }

    /// Who is on call, and who can be.
    GetOnCall: Read -> OnCallStatus {
        /// The caller. The daemon ignores a remote client's value and takes the caller from the credential.
        #[serde(default)]
        actor: Option<Actor>,
    }

    /// Lists the people in the configuration by name, with their roles, the channels that reach them, and who is on
    /// call.
    ListPeople: Read -> Page<Person> {}

    /// Lists the channels with an escalation policy: the steps of their policies, and their last drills.
    ListEscalations: Read -> Page<EscalationStatus> {}

    /// Lists the newest `gate test` of each gate, from the data directory of the daemon.
    ListGateTests: Read -> Page<GateTest> {}

    /// Lists named tokens by name: scopes, owners and last use. Never their values.
    ListTokens: Read -> Page<Token> {
        /// Whether to include revoked tokens.
        #[serde(default)]
        all: bool,
    }

    /// Lists stored file changes of edit_file, apply_patch, move_file and delete_file, newest first, at most 200.
    ListFileChanges: Read -> Page<FileChange> {}

    /// Lists the tools that agents can call, by name, with figures about their newest calls.
    ListTools: Read -> Page<Tool> {}

    /// Lists the tools that the policy of a channel does not block, as its agents get them.
    ListChannelTools: Read -> Page<ToolDefinition> {
        /// Channel name.
        channel: String,
    }

    /// Lists workspace instructions and skills, in files and trusted: instructions first, then by name.
    ListSkills: Read -> Page<Skill> {}

    /// A skill, and the difference between the trusted version and its files.
    GetSkill: Read -> SkillReview {
        /// Name of the skill, or `instructions:` and a channel.
        name: String,
    }

    /// Lists the tool servers of the configuration, and removed ones that are still trusted, by name.
    ListMcpServers: Read -> Page<McpServer> {}

    /// A tool server with its tools, and the difference between the trusted definitions and its last offer.
    GetMcpServer: Read -> McpServerReview {
        /// Name in the configuration.
        name: String,
    }

    /// Lists shells and other interpreters that sessions keep between calls, oldest first.
    ListInterpreters: Read -> Page<Interpreter> {}

    /// Lists datasets by channel and name.
    ListDatasets: Read -> Page<Dataset> {
        /// Only datasets of this channel.
        #[serde(default)]
        channel: Option<String>,
    }

    /// A dataset with a summary of its columns and its first rows.
    GetDataset: Read -> DatasetDescription {
        /// Id, name, or `CHANNEL/NAME`.
        dataset: String,
    }

    /// Queries a dataset: rows, columns and groups.
    QueryDataset: Read -> DatasetRows {
        /// Id, name, or `CHANNEL/NAME`.
        dataset: String,
        /// The query.
        #[serde(flatten)]
        query: DatasetQuery,
    }

    /// Lists channels by name, with state, pending approvals, spending of today, and turns of the last 24 hours.
    ListFleet: Read -> Page<FleetChannel> {}

    /// Counters, latencies and queue sizes for Prometheus. Reading them changes no counter.
    GetMetrics: Read -> Metrics {}

    /// The newest lines of the daemon's log, oldest first. The daemon keeps about 1 MiB of them in memory.
    GetLog: Read -> Log {
        /// Least severity of the lines.
        #[serde(default)]
        level: Option<LogLevel>,
        /// Only lines after this number, from the oldest on; default: the newest lines.
        #[serde(default)]
        after: Option<u64>,
        /// At most this many (1 to 2000, default 500).
        #[serde(default)]
        #[schemars(range(min = 1, max = 2000))]
        limit: Option<u32>,
    }

    /// Lists files that runs left in places from which git, editors, shells and agents run programs: newest first, at
    /// most 200.
    ListLeftovers: Read -> Page<Leftovers> {
        /// Whether to include what a person has dismissed.
        #[serde(default)]
        all: bool,
    }

    /// Cost and health over time, by period and group. HTTP offers CSV too.
    GetStats: Read -> Stats {
        /// Any time in the first period; default: 30 periods.
        #[serde(default)]
        since: Option<Timestamp>,
        /// Any time in the last period; default: now.
        #[serde(default)]
        until: Option<Timestamp>,
        /// Length of a period, by the daemon's clock; over HTTP the default is a day.
        step: StatsStep,
        /// Grouping; over HTTP the default is one group for everything.
        by: StatsGrouping,
    }

}
