//! Answering questions. Changes nothing.

use std::future::ready;

use futures_util::{FutureExt as _, TryFutureExt as _};

use crate::clock::{Day, Timestamp};
use crate::engine::core::{Engine, lock};
use crate::engine::handle::{duty, emergency, hygiene, memory, routines, rules};
use crate::engine::problem::from_store;
use crate::engine::response_cache::stats;
use crate::engine::{costs, doctor, forget, what_if, why};
use crate::model::catalogue;
use crate::protocol::channel::{Channel, ChannelHealth};
use crate::protocol::ids::SessionId;
use crate::protocol::problem::Problem;
use crate::protocol::request::{Answer, Query, dispatch};
use crate::protocol::session::{Session, Usage};
use crate::protocol::snapshot::{EngineStatus, Page, Snapshot};
use crate::protocol::summary::ShiftSummary;
use crate::protocol::words::{ChannelKind, ChannelState};
use crate::store::error::StoreError;
use crate::store::input::BudgetKind;
use crate::store::queries::approvals::ApprovalFilter;
use crate::store::queries::channels::ChannelRow;
use crate::store::queries::continuations::ContinuationFilter;
use crate::store::queries::outbox::OutboxFilter;
use crate::store::queries::sessions::SessionFilter;
use crate::store::reader::Reader;

/// How far a summary goes back when nothing else is said: a shift of eight hours.
const SHIFT_SECONDS: i64 = 8 * 3600;

impl Engine {
    /// Answers a question.
    pub async fn answer(&self, query: Query) -> Result<Answer, Problem> {
        dispatch!(query, Query => Answer {
            GetSnapshot(_) => snapshot(self),
            GetEngine(_) => engine_status(self),
            ListSessions(q) => read(self, move |rows| {
                rows.sessions(&SessionFilter { state: q.state, channel: q.channel }, &q.page)
            }),
            GetSession(q) => session(self, q.id),
            GetTranscript(q) => read(self, move |rows| rows.transcript(q.session_id, q.before, q.limit)),
            GetTranscriptFrom(q) => read(self, move |rows| rows.transcript_from(q.session_id, q.from, q.limit)),
            ListContinuations(q) => read(self, move |rows| {
                rows.continuations(&ContinuationFilter { state: q.state, session_id: q.session_id }, &q.page)
            }),
            GetContinuation(q) => read_here(self, move |rows| rows.continuation(q.id)),
            ListSteps(q) => read(self, move |rows| {
                rows.continuation(q.continuation_id)?;
                rows.steps(q.continuation_id).map(Page::from)
            }),
            ListApprovals(q) => read(self, move |rows| {
                rows.approvals(&ApprovalFilter { state: q.state }, &q.page)
            }),
            GetApproval(q) => read_here(self, move |rows| rows.approval(q.id)),
            ListChannels(_) => channels(self),
            GetChannel(q) => channel_view(self, &q.name),
            GetWhatIf(q) => what_if::what_if(self, q.channel, q.autonomy, q.limit),
            ListDeliveries(q) => read(self, move |rows| rows.outbox(&OutboxFilter { state: q.state }, &q.page)),
            GetDelivery(q) => read(self, move |rows| rows.delivery(q.id)),
            ExplainCall(q) => why::why(self, q.tool_call_id),
            ListUncertain(_) => emergency::uncertain(self),
            GetArtifact(q) => self.store.artifact(q.hash).map_err(from_store),
            GetDoctor(q) => doctor::doctor(self, q.check),
            ListAudit(q) => read(self, move |rows| rows.audit_rows(&q.filter, &q.page)),
            VerifyAudit(q) => doctor::verify_audit(self, q.anchor),
            ListModels(_) => ready(Ok(Page::from(catalogue::list(&self.settings)))),
            GetCache(_) => stats::stats(self).map(Ok),
            ListCacheEntries(q) => self.response_cache.file.entries(q.channel, q.page).map_err(stats::problem),
            GetCacheEntry(q) => self.response_cache.file.entry(q.id).map_err(stats::problem),
            GetCosts(q) => costs::costs(self, q.by, q.since, q.until),
            GetMemoryStats(_) => memory::stats(self),
            ListMemories(q) => read(self, move |rows| rows.memories(&q.filter, &q.page)),
            SearchMemories(q) => memory::search(self, q.text, q.filter, q.limit),
            GetMemory(q) => read_here(self, move |rows| rows.memory(q.id)),
            ReviewMemories(q) => memory::review(self, q.limit),
            GetSessionSummary(q) => read_here(self, move |rows| {
                rows.session(q.session_id)?;
                rows.summary(q.session_id)
            }),
            ListCompactions(q) => read(self, move |rows| rows.compactions(q.session_id, &q.page)),
            PreviewForgetPerson(q) => forget::preview(self, q.person),
            GetHygiene(_) => hygiene::status(self),
            PreviewHygiene(_) => crate::engine::hygiene::preview(self),
            ListHygieneRuns(q) => read(self, move |rows| rows.hygiene_runs(&q.page)),
            ListHooks(_) => ready(Ok(Page::from(self.hooks.list()))),
            ListRoutines(_) => read_here(self, |rows| rows.routines().map(Page::from)),
            GetRoutine(q) => routines::find(self, &q.routine),
            ListRoutineRuns(q) => routines::runs(self, &q.routine, q.page),
            ListUpcomingRuns(q) => ready(routines::next_times(self, &q.schedule, q.time_zone, q.limit)),
            ListRules(_) => rules::list(self),
            GetRule(q) => rules::one(self, q.id),
            ListGrants(_) => rules::grants(self),
            GetRuleMatches(q) => rules::matches(self, q.id, *q.rule),
            TestRules(q) => rules::test(self, q.tool, q.args, q.channel, q.session_id),
            GetShiftSummary(q) => shift(self, q.since),
            ListPairings(q) => read(self, move |rows| rows.pairings(q.state).map(Page::from)),
            GetDuty(q) => duty::duty(self, q.actor.as_ref()),
            ListLeftovers(q) => read(self, move |rows| rows.leftovers(q.all).map(Page::from)),
        })
    }
}

/// Reads off the async threads.
async fn read<T: Send + 'static>(
    engine: &Engine,
    query: impl FnOnce(&Reader<'_>) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, Problem> {
    engine.store.read(query).await.map_err(from_store)
}

/// Reads here: one row, or few.
async fn read_here<T>(
    engine: &Engine,
    query: impl FnOnce(&Reader<'_>) -> Result<T, StoreError>,
) -> Result<T, Problem> {
    engine.store.read_here(query).await.map_err(from_store)
}

async fn session(engine: &Engine, id: SessionId) -> Result<Session, Problem> {
    read_here(engine, move |rows| {
        let mut session = rows.session(id)?;
        session.memory = Some(rows.session_memory(id)?);
        Ok(session)
    })
    .await
}

async fn channels(engine: &Engine) -> Result<Page<Channel>, Problem> {
    let rows = read(engine, |rows| rows.channel_rows()).await?;
    let items: Vec<Channel> = rows.into_iter().map(|row| channel(engine, row)).collect();
    Ok(items.into())
}

async fn shift(engine: &Engine, since: Option<Timestamp>) -> Result<ShiftSummary, Problem> {
    let now = engine.clock.now();
    let since = since.unwrap_or_else(|| now.plus_seconds(-SHIFT_SECONDS));
    read(engine, move |rows| rows.shift(since, now)).await
}

async fn snapshot(engine: &Engine) -> Result<Snapshot, Problem> {
    let now = engine.clock.now();
    let rows = engine
        .store
        .read(move |reader| reader.snapshot_rows(now))
        .await
        .map_err(from_store)?;
    let remembered = memory::stats(engine).await?;
    let streams = lock(&engine.streams).values().cloned().collect();
    let status = status(engine, rows.usage_today).await?;
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
        duty: duty::duty(engine, None).await?,
        leftovers: rows.leftovers,
        engine: status,
    })
}

/// A channel by name.
pub async fn channel_view(engine: &Engine, name: &str) -> Result<Channel, Problem> {
    engine.channel(name)?;
    let wanted = name.to_owned();
    let row = engine
        .store
        .read_here(move |reader| reader.channel_row(&wanted))
        .await
        .map_err(from_store)?;
    Ok(channel(engine, row))
}

/// A stored channel with what its bridge reported.
pub fn channel(engine: &Engine, row: ChannelRow) -> Channel {
    let bridges = lock(&engine.bridges);
    let bridge = bridges.get(&row.name);
    let local = ChannelHealth {
        state: ChannelState::Local,
        detail: None,
        last_exchange_at: None,
        last_inbound_at: None,
        last_outbound_at: None,
        reconnects: 0,
        rate_limited_until: None,
    };
    let bridged = match row.kind {
        ChannelKind::Telegram | ChannelKind::Scripted => true,
        ChannelKind::Desk
        | ChannelKind::Api
        | ChannelKind::Mcp
        | ChannelKind::Cli
        | ChannelKind::Routine => false,
    };
    let mut health = match bridge.and_then(|bridge| bridge.health.clone()) {
        Some(health) => health,
        None if bridged => ChannelHealth {
            state: ChannelState::Starting,
            ..local
        },
        None => local,
    };
    if row.kind == ChannelKind::Routine {
        let next = lock(&engine.next_routine).clone();
        health.detail = next.map(|(name, at)| format!("next routine {name} at {at}"));
    }
    if row.paused {
        health.state = ChannelState::Paused;
    } else if health.state == ChannelState::Paused {
        // Resumed a moment ago: the bridge connects, and has not said so yet.
        health.state = ChannelState::Starting;
        health.detail = None;
    }
    if bridged && !engine.settings.channels.contains_key(&row.name) {
        health.state = ChannelState::Failed;
        health.detail = Some("not in the configuration any more".to_owned());
    }
    Channel {
        account: bridge.and_then(|bridge| bridge.account.clone()),
        name: row.name,
        kind: row.kind,
        policy: row.policy,
        health,
        paused: row.paused,
        held: bridged && engine.is_held(),
        backlog: row.backlog,
        pending_approvals: row.pending_approvals,
        active_sessions: row.active_sessions,
        draining: row.draining,
        taken_over: row.taken_over,
        asking: row.pairings.0,
        paired: row.pairings.1,
    }
}

/// The engine as a whole.
pub async fn engine_status(engine: &Engine) -> Result<EngineStatus, Problem> {
    let today = Day::local(engine.clock.now());
    let usage = engine
        .store
        .read(move |reader| reader.usage_on(today.0))
        .await
        .map_err(from_store)?;
    status(engine, usage).await
}

async fn status(engine: &Engine, usage_today: Usage) -> Result<EngineStatus, Problem> {
    let today = Day::local(engine.clock.now());
    let limit = engine.settings.budgets.day.max_cost_usd;
    let (flags, budget_today_usd) = engine
        .store
        .read_here(move |reader| {
            let budget = limit
                .map(|limit| {
                    let added = reader.added_on(today.0, BudgetKind::DayCost, None)?;
                    Ok::<_, StoreError>(limit + added)
                })
                .transpose()?;
            Ok((reader.flags()?, budget))
        })
        .await
        .map_err(from_store)?;
    let held = engine.held.borrow().clone();
    let settings = &engine.settings;
    Ok(EngineStatus {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        instance: settings.instance.clone(),
        epoch: engine.store.epoch(),
        held_since: held.as_ref().map(|held| held.since),
        held_reason: held.map(|held| held.reason),
        quarantine: flags.quarantine,
        model: settings.model.clone(),
        scripted: settings.model.starts_with("scripted/"),
        demo: settings.demo,
        sandbox: engine.sandbox.level_word_so_far(),
        usage_today,
        budget_today_usd,
        undo_seconds: engine.settings.approvals.undo_seconds,
        problems: engine.problems(),
        writable: engine.store.problem().is_none(),
        draining: *engine.draining.borrow(),
        started_at: engine.started_at,
    })
}
