//! Answering questions. Changes nothing.

use crate::clock::Day;
use crate::engine::core::{Engine, lock};
use crate::engine::handle::{duty, emergency, hooks, hygiene, memory, routines, rules};
use crate::engine::problem::from_store;
use crate::engine::response_cache::stats;
use crate::engine::{costs, doctor, what_if, why};
use crate::model::catalogue;
use crate::protocol::channel::{Channel, ChannelHealth};
use crate::protocol::problem::Problem;
use crate::protocol::session::Usage;
use crate::protocol::snapshot::{Answer, EngineStatus, Page, Query, Snapshot};
use crate::protocol::words::{ChannelKind, ChannelState};
use crate::store::error::StoreError;
use crate::store::input::BudgetKind;
use crate::store::queries::approvals::ApprovalFilter;
use crate::store::queries::channels::ChannelRow;
use crate::store::queries::continuations::ContinuationFilter;
use crate::store::queries::outbox::OutboxFilter;
use crate::store::queries::sessions::SessionFilter;

/// How far a summary goes back when nothing else is said: a shift of eight hours.
const SHIFT_SECONDS: i64 = 8 * 3600;

impl Engine {
    /// Answers a question.
    pub async fn answer(&self, query: Query) -> Result<Answer, Problem> {
        let store = &self.store;
        match query {
            Query::Snapshot => snapshot(self)
                .await
                .map(|snapshot| Answer::Snapshot(Box::new(snapshot))),
            Query::Engine => engine_status(self).await.map(Answer::Engine),
            Query::Sessions {
                state,
                channel,
                page,
            } => {
                let filter = SessionFilter { state, channel };
                store
                    .read(move |reader| reader.sessions(&filter, &page))
                    .await
                    .map(Answer::Sessions)
                    .map_err(from_store)
            }
            Query::Session { id } => {
                let session = store
                    .read_here(move |reader| {
                        let mut session = reader.session(id)?;
                        session.memory = Some(reader.session_memory(id)?);
                        Ok(session)
                    })
                    .await
                    .map_err(from_store)?;
                Ok(Answer::Session(Box::new(session)))
            }
            Query::Transcript {
                session_id,
                before,
                limit,
            } => store
                .read(move |reader| reader.transcript(session_id, before, limit))
                .await
                .map(Answer::Transcript)
                .map_err(from_store),
            Query::TranscriptFrom {
                session_id,
                from,
                limit,
            } => store
                .read(move |reader| reader.transcript_from(session_id, from, limit))
                .await
                .map(Answer::Transcript)
                .map_err(from_store),
            Query::Continuations {
                state,
                session_id,
                page,
            } => {
                let filter = ContinuationFilter { state, session_id };
                store
                    .read(move |reader| reader.continuations(&filter, &page))
                    .await
                    .map(Answer::Continuations)
                    .map_err(from_store)
            }
            Query::Continuation { id } => {
                let continuation = store
                    .read_here(move |reader| reader.continuation(id))
                    .await
                    .map_err(from_store)?;
                Ok(Answer::Continuation(Box::new(continuation)))
            }
            Query::Steps { continuation_id } => {
                let items = store
                    .read(move |reader| {
                        reader.continuation(continuation_id)?;
                        reader.steps(continuation_id)
                    })
                    .await
                    .map_err(from_store)?;
                Ok(Answer::Steps(Page {
                    items,
                    next_cursor: None,
                }))
            }
            Query::Approvals { state, page } => {
                let filter = ApprovalFilter { state };
                store
                    .read(move |reader| reader.approvals(&filter, &page))
                    .await
                    .map(Answer::Approvals)
                    .map_err(from_store)
            }
            Query::Approval { id } => {
                let approval = store
                    .read_here(move |reader| reader.approval(id))
                    .await
                    .map_err(from_store)?;
                Ok(Answer::Approval(Box::new(approval)))
            }
            Query::Channels => {
                let rows = store
                    .read(|reader| reader.channel_rows())
                    .await
                    .map_err(from_store)?;
                let items = rows.into_iter().map(|row| channel(self, row)).collect();
                Ok(Answer::Channels(Page {
                    items,
                    next_cursor: None,
                }))
            }
            Query::Channel { name } => channel_view(self, &name)
                .await
                .map(|view| Answer::Channel(Box::new(view))),
            Query::WhatIf {
                channel,
                autonomy,
                limit,
            } => what_if::what_if(self, channel, autonomy, limit)
                .await
                .map(Answer::WhatIf),
            Query::Outbox { state, page } => {
                let filter = OutboxFilter { state };
                store
                    .read(move |reader| reader.outbox(&filter, &page))
                    .await
                    .map(Answer::Outbox)
                    .map_err(from_store)
            }
            Query::Delivery { id } => {
                let item = store
                    .read(move |reader| reader.delivery(id))
                    .await
                    .map_err(from_store)?;
                Ok(Answer::Delivery(Box::new(item)))
            }
            Query::Why { tool_call_id } => why::why(self, tool_call_id)
                .await
                .map(|why| Answer::Why(Box::new(why))),
            Query::Uncertain => emergency::uncertain(self)
                .await
                .map(|found| Answer::Uncertain(Box::new(found))),
            Query::Artifact { hash } => store
                .artifact(hash)
                .await
                .map(|artifact| Answer::Artifact(Box::new(artifact)))
                .map_err(from_store),
            Query::Doctor { check } => doctor::doctor(self, check)
                .await
                .map(|doctor| Answer::Doctor(Box::new(doctor))),
            Query::Audit { filter, page } => store
                .read(move |reader| reader.audit_rows(&filter, &page))
                .await
                .map(Answer::Audit)
                .map_err(from_store),
            Query::AuditVerify { anchor } => doctor::verify_audit(self, anchor)
                .await
                .map(|report| Answer::AuditVerify(Box::new(report))),
            Query::Models => Ok(Answer::Models(Page {
                items: catalogue::list(&self.settings),
                next_cursor: None,
            })),
            Query::Cache => Ok(Answer::Cache(Box::new(stats::stats(self).await))),
            Query::CacheEntries { channel, page } => self
                .response_cache
                .file
                .entries(channel, page)
                .await
                .map(Answer::CacheEntries)
                .map_err(stats::problem),
            Query::CacheEntry { id } => self
                .response_cache
                .file
                .entry(id)
                .await
                .map(|entry| Answer::CacheEntry(Box::new(entry)))
                .map_err(stats::problem),
            Query::Costs { by, since, until } => costs::costs(self, by, since, until)
                .await
                .map(|costs| Answer::Costs(Box::new(costs))),
            Query::Memory(query) => memory::answer(self, query).await.map(Answer::Memory),
            Query::Hygiene(query) => hygiene::answer(self, query).await.map(Answer::Hygiene),
            Query::Hooks => Ok(Answer::Hooks(hooks::list(self))),
            Query::Routines(query) => routines::answer(self, query).await.map(Answer::Routines),
            Query::Rules(query) => rules::answer(self, query).await.map(Answer::Rules),
            Query::Pairings { state } => {
                let items = store
                    .read(move |reader| reader.pairings(state))
                    .await
                    .map_err(from_store)?;
                Ok(Answer::Pairings(Page {
                    items,
                    next_cursor: None,
                }))
            }
            Query::Summary { since } => {
                let now = self.clock.now();
                let since = since.unwrap_or_else(|| now.plus_seconds(-SHIFT_SECONDS));
                store
                    .read(move |reader| reader.shift(since, now))
                    .await
                    .map(|summary| Answer::Summary(Box::new(summary)))
                    .map_err(from_store)
            }
            Query::Leftovers { all } => {
                let items = store
                    .read(move |reader| reader.leftovers(all))
                    .await
                    .map_err(from_store)?;
                Ok(Answer::Leftovers(Page {
                    items,
                    next_cursor: None,
                }))
            }
            Query::Duty { actor } => duty::duty(self, actor.as_ref())
                .await
                .map(|duty| Answer::Duty(Box::new(duty))),
        }
    }
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
