//! Routes made from the table of requests: one query or command each, and where HTTP differs from its fields.

use serde_json::Map;

use crate::api::route::Method::{Delete, Patch, Post, Put};
use crate::api::route::{Route, command, query, remove};
use crate::protocol::command::DecisionRequest;
use crate::protocol::enums::CostGrouping;
use crate::protocol::on_call::AssignRequest;
use crate::protocol::policy::PolicyPatch;
use crate::protocol::request::{
    AcceptMemory, AcceptPairing, AddMemory, AddRoutine, AddRule, AllowLater, AssignApproval,
    CancelAgentJob, CancelContinuation, ChangeRoutine, ChangeRule, CheckChannel, CompactSession,
    CreateBackup, CreateToken, Decide, DiscoverModels, DismissLeftovers, DismissRefusedCalls,
    DistrustSkill, DrainChannel, DrillEscalation, EditMemory, EmergencyStop, EndInterpreter,
    EndSession, EraseUser, ExplainCall, GetAgentJob, GetApproval, GetCache, GetCacheEntry,
    GetCallDiff, GetChannel, GetContinuation, GetCosts, GetDelivery, GetDoctor, GetHygiene, GetLog,
    GetMemory, GetMemoryStats, GetRoutine, GetRule, GetRuleMatches, GetSession, GetShiftSummary,
    GetSkill, GetSnapshot, GetWhatIf, GiveBackSession, ListAgentJobs, ListApprovals, ListAudit,
    ListCacheEntries, ListChannelTools, ListChannels, ListCompactions, ListContinuations,
    ListDeliveries, ListEscalations, ListFileChanges, ListFleet, ListGateTests, ListGrants,
    ListHooks, ListHygieneRuns, ListInterpreters, ListLeftovers, ListMemories, ListPairings,
    ListPeople, ListRoutineRuns, ListRoutines, ListRules, ListSessions, ListSkills, ListSteps,
    ListTokens, ListTools, ListUncertain, ListUpcomingRuns, PauseChannel, PinCacheEntry, PinMemory,
    PreviewEraseUser, PreviewHygiene, RefusePairing, RehearseCall, ReleaseEmergencyStop,
    ReloadConfiguration, RemoveGrant, RemoveRoutine, RemoveRule, ResetHook, ResolveDelivery,
    ResumeChannel, ResumeSession, ReviewMemories, RevokePairing, RevokeToken, RunAgent, RunHygiene,
    RunInShell, RunRoutine, SearchMemories, SendAsBot, SetOnCall, SetPolicy, StartSession,
    SuggestRules, SupersedeMemories, Sweep, TakeOverSession, TestChannel, TestModel, TestRules,
    TrustSkill, TryHook, UndoFileChange, UndoHygiene, UpdateSession,
};
use crate::protocol::routine::RoutinePatch;
use crate::protocol::rule::RulePatch;
use crate::protocol::tool::ShellRequest;

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    [agents(), channels(), installation(), knowledge(), policy()].concat()
}

/// Sessions, turns, approvals and deliveries.
fn agents() -> Vec<Route> {
    vec![
        query::<GetSnapshot>("/v1/snapshot"),
        query::<ListSessions>("/v1/sessions"),
        command::<StartSession>(Post, "/v1/sessions").created(),
        query::<GetSession>("/v1/sessions/{id}"),
        command::<UpdateSession>(Patch, "/v1/sessions/{id}").id("session_id"),
        command::<EndSession>(Delete, "/v1/sessions/{id}").id("session_id"),
        command::<ResumeSession>(Post, "/v1/sessions/{id}/resume").id("session_id"),
        command::<DismissRefusedCalls>(Post, "/v1/sessions/{id}/refused-calls/dismiss")
            .id("session_id"),
        command::<TakeOverSession>(Post, "/v1/sessions/{id}/take-over").id("session_id"),
        command::<SendAsBot>(Post, "/v1/sessions/{id}/say").id("session_id"),
        command::<GiveBackSession>(Post, "/v1/sessions/{id}/release").id("session_id"),
        command::<RunInShell>(Post, "/v1/sessions/{id}/shell")
            .id("session_id")
            .nested::<ShellRequest>("request"),
        command::<EndInterpreter>(Post, "/v1/sessions/{id}/interpreters/end").id("session_id"),
        command::<CompactSession>(Post, "/v1/sessions/{id}/compact").id("session_id"),
        query::<ListCompactions>("/v1/compactions").named("session", "session_id"),
        query::<ListAgentJobs>("/v1/agent-jobs"),
        command::<RunAgent>(Post, "/v1/agent-jobs").created(),
        query::<GetAgentJob>("/v1/agent-jobs/{id}"),
        command::<CancelAgentJob>(Post, "/v1/agent-jobs/{id}/cancel").bodyless(),
        query::<ListContinuations>("/v1/continuations").named("session", "session_id"),
        query::<GetContinuation>("/v1/continuations/{id}"),
        query::<ListSteps>("/v1/continuations/{id}/steps").id("continuation_id"),
        command::<CancelContinuation>(Post, "/v1/continuations/{id}/cancel").id("continuation_id"),
        query::<ListApprovals>("/v1/approvals"),
        query::<GetApproval>("/v1/approvals/{id}"),
        command::<AllowLater>(Post, "/v1/approvals/{id}/allow-later")
            .id("approval_id")
            .bodyless(),
        command::<Decide>(Post, "/v1/approvals/{id}/decision")
            .id("approval_id")
            .nested::<DecisionRequest>("decision"),
        command::<RehearseCall>(Post, "/v1/approvals/{id}/rehearsal").id("approval_id"),
        command::<AssignApproval>(Post, "/v1/approvals/{id}/assign")
            .id("approval_id")
            .nested::<AssignRequest>("request"),
        query::<ExplainCall>("/v1/tool-calls/{id}/why").id("tool_call_id"),
        query::<GetCallDiff>("/v1/tool-calls/{id}/diff").id("tool_call_id"),
        query::<ListFileChanges>("/v1/file-changes"),
        command::<UndoFileChange>(Post, "/v1/file-changes/{id}/undo").id("tool_call_id"),
        query::<ListLeftovers>("/v1/leftovers"),
        command::<DismissLeftovers>(Post, "/v1/leftovers/{id}/dismiss").id("tool_call_id"),
        query::<ListDeliveries>("/v1/outbox"),
        query::<GetDelivery>("/v1/outbox/{id}"),
        command::<ResolveDelivery>(Post, "/v1/outbox/{id}/resolution").id("outbox_id"),
    ]
}

/// Channels and the people on them.
fn channels() -> Vec<Route> {
    vec![
        query::<ListChannels>("/v1/channels"),
        query::<GetChannel>("/v1/channels/{id}").id("name"),
        command::<SetPolicy>(Patch, "/v1/channels/{id}/policy")
            .id("channel")
            .nested::<PolicyPatch>("patch"),
        query::<ListChannelTools>("/v1/channels/{id}/tools").id("channel"),
        command::<CheckChannel>(Post, "/v1/channels/{id}/check").id("channel"),
        query::<GetWhatIf>("/v1/channels/{id}/what-if")
            .id("channel")
            .without(&["expires_in_seconds", "if_version"])
            .or("patch", Map::new()),
        command::<PauseChannel>(Post, "/v1/channels/{id}/pause").id("channel"),
        command::<ResumeChannel>(Post, "/v1/channels/{id}/resume").id("channel"),
        command::<DrainChannel>(Post, "/v1/channels/{id}/drain")
            .id("channel")
            .or("drain", true),
        command::<TestChannel>(Post, "/v1/channels/{id}/test").id("channel"),
        query::<ListPairings>("/v1/pairings"),
        command::<AcceptPairing>(Post, "/v1/pairings/{id}/accept").id("pairing"),
        command::<RefusePairing>(Post, "/v1/pairings/{id}/refuse").id("pairing"),
        command::<RevokePairing>(Post, "/v1/pairings/{id}/revoke").id("pairing"),
        query::<ListPeople>("/v1/people"),
        query::<ListTokens>("/v1/tokens"),
        command::<CreateToken>(Post, "/v1/tokens").created(),
        command::<RevokeToken>(Delete, "/v1/tokens/{name}"),
        query::<ListTools>("/v1/tools"),
        query::<ListSkills>("/v1/skills"),
        query::<GetSkill>("/v1/skills/{id}").id("name"),
        command::<TrustSkill>(Post, "/v1/skills/{id}/trust").id("name"),
        command::<DistrustSkill>(Delete, "/v1/skills/{id}/trust").id("name"),
        query::<ListInterpreters>("/v1/interpreters"),
        query::<ListFleet>("/v1/fleet"),
        command::<SetOnCall>(Put, "/v1/on-call"),
        query::<ListGateTests>("/v1/gate/tests"),
        query::<ListEscalations>("/v1/escalations"),
        command::<DrillEscalation>(Post, "/v1/escalations/drill"),
    ]
}

/// The installation as a whole.
fn installation() -> Vec<Route> {
    vec![
        query::<ListUncertain>("/v1/emergency-stop"),
        command::<EmergencyStop>(Post, "/v1/emergency-stop"),
        command::<ReleaseEmergencyStop>(Post, "/v1/emergency-stop/release"),
        command::<CreateBackup>(Post, "/v1/backup"),
        command::<ReloadConfiguration>(Post, "/v1/reload"),
        command::<Sweep>(Post, "/v1/sweep"),
        query::<GetDoctor>("/v1/doctor"),
        query::<ListAudit>("/v1/audit"),
        query::<GetLog>("/v1/log"),
        query::<GetShiftSummary>("/v1/summary"),
        query::<GetCosts>("/v1/costs").or("by", CostGrouping::Day.as_str()),
        command::<TestModel>(Post, "/v1/models/test"),
        command::<DiscoverModels>(Post, "/v1/models/discover"),
    ]
}

/// Memory, its hygiene, and the response cache.
fn knowledge() -> Vec<Route> {
    vec![
        query::<ListMemories>("/v1/memory").named("session", "session_id"),
        command::<AddMemory>(Post, "/v1/memory"),
        query::<SearchMemories>("/v1/memory/search")
            .named("session", "session_id")
            .named("q", "text"),
        query::<GetMemoryStats>("/v1/memory/stats"),
        query::<ReviewMemories>("/v1/memory/review"),
        query::<PreviewEraseUser>("/v1/memory/people/{id}").id("person"),
        command::<EraseUser>(Delete, "/v1/memory/people/{id}").id("person"),
        query::<GetMemory>("/v1/memory/{id}"),
        command::<EditMemory>(Patch, "/v1/memory/{id}"),
        command::<PinMemory>(Post, "/v1/memory/{id}/pin").or("pinned", true),
        command::<AcceptMemory>(Post, "/v1/memory/{id}/accept").bodyless(),
        command::<SupersedeMemories>(Post, "/v1/memory/{id}/supersede"),
        query::<GetHygiene>("/v1/memory/hygiene"),
        query::<PreviewHygiene>("/v1/memory/hygiene/preview"),
        query::<ListHygieneRuns>("/v1/memory/hygiene/runs"),
        command::<RunHygiene>(Post, "/v1/memory/hygiene"),
        command::<UndoHygiene>(Post, "/v1/memory/hygiene/{id}/undo").bodyless(),
        query::<GetCache>("/v1/cache"),
        query::<ListCacheEntries>("/v1/cache/entries"),
        query::<GetCacheEntry>("/v1/cache/entries/{id}"),
        command::<PinCacheEntry>(Post, "/v1/cache/entries/{id}/pin").or("pinned", true),
    ]
}

/// Rules, routines and hooks.
fn policy() -> Vec<Route> {
    vec![
        query::<ListRules>("/v1/rules"),
        command::<AddRule>(Post, "/v1/rules")
            .nested::<RulePatch>("rule")
            .needing(&["tool", "matcher", "value"])
            .created(),
        query::<GetRuleMatches>("/v1/rules/matches").without(&[
            "scope",
            "enabled",
            "expires_in_seconds",
            "max_uses",
            "note",
            "if_version",
        ]),
        query::<SuggestRules>("/v1/rules/suggest"),
        query::<TestRules>("/v1/rules/test"),
        query::<ListGrants>("/v1/rules/grants"),
        remove::<RemoveGrant>("/v1/rules/grants/{id}"),
        query::<GetRule>("/v1/rules/{id}"),
        command::<ChangeRule>(Patch, "/v1/rules/{id}").nested::<RulePatch>("patch"),
        remove::<RemoveRule>("/v1/rules/{id}"),
        query::<ListRoutines>("/v1/routines"),
        command::<AddRoutine>(Post, "/v1/routines")
            .nested::<RoutinePatch>("routine")
            .needing(&["name", "schedule", "prompt"])
            .created(),
        query::<ListUpcomingRuns>("/v1/routines/upcoming"),
        query::<GetRoutine>("/v1/routines/{id}").id("routine"),
        command::<ChangeRoutine>(Patch, "/v1/routines/{id}")
            .id("routine")
            .nested::<RoutinePatch>("patch"),
        remove::<RemoveRoutine>("/v1/routines/{id}").id("routine"),
        command::<RunRoutine>(Post, "/v1/routines/{id}/run").id("routine"),
        query::<ListRoutineRuns>("/v1/routines/{id}/runs").id("routine"),
        query::<ListHooks>("/v1/hooks"),
        command::<TryHook>(Post, "/v1/hooks/{name}/try"),
        command::<ResetHook>(Post, "/v1/hooks/{name}/reset").bodyless(),
    ]
}
