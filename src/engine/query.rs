//! Answering questions. Changes nothing.

use std::future::ready;

use futures_util::{FutureExt as _, TryFutureExt as _};

use crate::clock::{Day, Timestamp};
use crate::engine::core::Engine;
use crate::engine::handle::{
    datasets, emergency, escalation, file_changes, hygiene, mcp, memory, on_call, routines,
    rule_suggestions, rules, shell, tools,
};
use crate::engine::response_cache::stats;
use crate::engine::views::{channel, channel_view, engine_status, status};
use crate::engine::{
    call_diff, costs, doctor, erase, fleet, gate_tests, metrics, skills, what_if, why,
};
use crate::model::catalogue;
use crate::protocol::channel::Channel;
use crate::protocol::ids::SessionId;
use crate::protocol::problem::Problem;
use crate::protocol::request::{Answer, ListSessions, Query, dispatch};
use crate::protocol::session::Session;
use crate::protocol::snapshot::{Page, Snapshot};
use crate::protocol::summary::ShiftSummary;
use crate::store::queries::approvals::ApprovalFilter;
use crate::store::queries::continuations::ContinuationFilter;
use crate::store::queries::outbox::OutboxFilter;
use crate::store::queries::sessions::SessionFilter;

/// How far a summary goes back when nothing else is said: a shift of eight hours.
const SHIFT_SECONDS: i64 = 8 * 3600;

impl Engine {
    /// Answers a question.
    pub async fn answer(&self, query: Query) -> Result<Answer, Problem> {
        dispatch!(query, Query => Answer {
            GetSnapshot(_) => snapshot(self),
            GetEngine(_) => engine_status(self),
            ListSessions(q) => sessions(self, q),
            GetSession(q) => session(self, q.id),
            GetTranscript(q) => self.read(move |rows| rows.transcript(q.session_id, q.before, q.limit)),
            GetTranscriptFrom(q) => self.read(move |rows| rows.transcript_from(q.session_id, q.from, q.limit)),
            ListContinuations(q) => self.read(move |rows| {
                rows.continuations(&ContinuationFilter { state: q.state, session_id: q.session_id }, &q.page)
            }),
            GetContinuation(q) => self.read_here(move |rows| rows.continuation(q.id)),
            ListSteps(q) => self.read(move |rows| {
                rows.continuation(q.continuation_id)?;
                rows.steps(q.continuation_id).map(Page::from)
            }),
            ListApprovals(q) => self.read(move |rows| {
                rows.approvals(&ApprovalFilter { state: q.state }, &q.page)
            }),
            GetApproval(q) => self.approval(q.id),
            ListChannels(_) => channels(self),
            GetChannel(q) => channel_view(self, &q.name),
            GetWhatIf(q) => what_if::what_if(self, q.channel, q.patch, q.limit),
            ListDeliveries(q) => self.read(move |rows| rows.outbox(&OutboxFilter { state: q.state }, &q.page)),
            GetDelivery(q) => self.read(move |rows| rows.delivery(q.id)),
            ExplainCall(q) => why::why(self, q.tool_call_id),
            GetCallDiff(q) => call_diff::call_diff(self, q.tool_call_id),
            ListUncertain(_) => emergency::uncertain(self),
            GetArtifact(q) => self.store.artifact(q.hash).map_err(Problem::from),
            GetDoctor(q) => doctor::doctor(self, q.check),
            ListAudit(q) => self.read(move |rows| rows.audit_rows(&q.filter, &q.page)),
            VerifyAudit(q) => doctor::verify_audit(self, q.anchor),
            ListModels(_) => ready(Ok(Page::from(catalogue::list(&self.settings)))),
            GetCache(_) => stats::stats(self).map(Ok),
            ListCacheEntries(q) => self.response_cache.file.entries(q.channel, q.page).map_err(stats::problem),
            GetCacheEntry(q) => self.response_cache.file.entry(q.id).map_err(stats::problem),
            GetCosts(q) => costs::costs(self, q.by, q.since, q.until),
            GetMemoryStats(_) => memory::stats(self),
            ListMemories(q) => self.read(move |rows| rows.memories(&q.filter, &q.page)),
            SearchMemories(q) => memory::search(self, q.text, q.filter, q.limit),
            GetMemory(q) => self.read_here(move |rows| rows.memory(q.id)),
            ReviewMemories(q) => memory::review(self, q.limit),
            GetSessionSummary(q) => self.read_here(move |rows| {
                rows.session(q.session_id)?;
                rows.summary(q.session_id)
            }),
            ListCompactions(q) => self.read(move |rows| rows.compactions(q.session_id, &q.page)),
            PreviewEraseUser(q) => erase::preview(self, q.person),
            GetHygiene(_) => hygiene::status(self),
            PreviewHygiene(_) => crate::engine::hygiene::preview(self),
            ListHygieneRuns(q) => self.read(move |rows| rows.hygiene_runs(&q.page)),
            ListHooks(_) => ready(Ok(Page::from(self.hooks.list()))),
            ListRoutines(_) => self.read_here(|rows| rows.routines().map(Page::from)),
            GetRoutine(q) => routines::find(self, &q.routine),
            ListRoutineRuns(q) => routines::runs(self, &q.routine, q.page),
            ListUpcomingRuns(q) => ready(routines::next_times(self, &q.schedule, q.time_zone, q.limit)),
            ListRules(_) => rules::list(self),
            GetRule(q) => rules::one(self, q.id),
            ListGrants(_) => rules::grants(self),
            GetRuleMatches(q) => rules::matches(self, q.id, *q.rule),
            SuggestRules(q) => rule_suggestions::suggestions(self, q.days, q.channel),
            TestRules(q) => rules::test(self, q.tool, q.args, q.channel, q.session_id),
            GetShiftSummary(q) => shift(self, q.since),
            ListPairings(q) => self.read(move |rows| rows.pairings(q.state).map(Page::from)),
            GetOnCall(q) => on_call::status(self, q.actor.as_ref()),
            ListPeople(_) => on_call::people(self),
            ListEscalations(_) => escalation::list(self),
            ListGateTests(_) => gate_tests::list(self),
            ListFileChanges(_) => file_changes::list(self),
            ListTools(_) => tools::list(self),
            ListChannelTools(q) => tools::of_channel(self, q.channel),
            ListSkills(_) => skills::list(self),
            GetSkill(q) => skills::review(self, q.name),
            ListMcpServers(_) => mcp::list(self),
            GetMcpServer(q) => mcp::review(self, q.name),
            ListInterpreters(_) => ready(Ok(shell::list(self))),
            ListDatasets(q) => datasets::list(self, q),
            GetDataset(q) => datasets::describe(self, q.dataset),
            QueryDataset(q) => datasets::query(self, q.dataset, q.query),
            GetLog(q) => {
                let filter = &self.settings.log_filter;
                ready(Ok(self.log.read(q.level, q.after, q.limit, filter)))
            },
            GetMetrics(_) => metrics::metrics(self),
            ListAgentJobs(q) => self.read(move |rows| rows.agent_jobs(&q.page)),
            GetAgentJob(q) => self.read(move |rows| rows.agent_job(q.id)),
            ListFleet(_) => fleet::list(self),
            ListTokens(q) => self.read_here(move |rows| rows.tokens(q.all).map(Page::from)),
            ListLeftovers(q) => self.read(move |rows| rows.leftovers(q.all).map(Page::from)),
            GetStats(q) => crate::engine::stats::stats(self, q),
        })
    }
}

async fn sessions(engine: &Engine, asked: ListSessions) -> Result<Page<Session>, Problem> {
    // Keys of different channels have nothing in common.
    if asked.prefix.is_some() && asked.channel.is_none() {
        return Err(Problem::invalid(
            "`prefix` needs `channel`: a key belongs to a channel",
        ));
    }
    let filter = SessionFilter {
        state: asked.state,
        channel: asked.channel,
        prefix: asked.prefix,
    };
    engine
        .read(move |rows| rows.sessions(&filter, &asked.page))
        .await
}

async fn session(engine: &Engine, id: SessionId) -> Result<Session, Problem> {
    engine
        .read_here(move |rows| {
            let mut session = rows.session(id)?;
            session.memory = Some(rows.session_memory(id)?);
            Ok(session)
        })
        .await
}

async fn channels(engine: &Engine) -> Result<Page<Channel>, Problem> {
    let rows = engine.read(|rows| rows.channel_rows()).await?;
    let items: Vec<Channel> = rows.into_iter().map(|row| channel(engine, row)).collect();
    Ok(items.into())
}

async fn shift(engine: &Engine, since: Option<Timestamp>) -> Result<ShiftSummary, Problem> {
    let now = engine.clock.now();
    let since = since.unwrap_or_else(|| now.plus_seconds(-SHIFT_SECONDS));
    engine.read(move |rows| rows.shift(since, now)).await
}

async fn snapshot(engine: &Engine) -> Result<Snapshot, Problem> {
    let now = engine.clock.now();
    let rows = engine.read(move |reader| reader.snapshot_rows(now)).await?;
    let remembered = memory::stats(engine).await?;
    let streams = engine.open_calls.streams();
    let status = status(engine, Day::local(now), rows.usage_today).await?;
    Ok(Snapshot {
        seq: rows.seq,
        at: now,
        sessions: rows.sessions,
        continuations: rows.continuations,
        approvals: rows.approvals,
        channels: rows
            .channels
            .into_iter()
            .map(|row| channel(engine, row))
            .collect(),
        deliveries: rows.deliveries,
        streams,
        cache: stats::summary(engine).await,
        memory: remembered,
        on_call_status: on_call::status(engine, None).await?,
        leftovers: rows.leftovers,
        engine: status,
    })
}
