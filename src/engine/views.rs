//! The engine and its channels as readers see them now, and telling readers when that changed.

use crate::clock::Day;
use crate::engine::core::Engine;
use crate::protocol::channel::{Channel, ChannelHealth};
use crate::protocol::enums::{ChannelKind, ChannelState};
use crate::protocol::event::EventBody;
use crate::protocol::problem::Problem;
use crate::protocol::session::Usage;
use crate::protocol::snapshot::EngineStatus;
use crate::store::error::StoreError;
use crate::store::input::BudgetKind;
use crate::store::queries::channels::{ChannelRow, LastTimes};

pub async fn channel_view(engine: &Engine, name: &str) -> Result<Channel, Problem> {
    engine.channel(name)?;
    let wanted = name.to_owned();
    let row = engine
        .read_here(move |reader| reader.channel_row(&wanted))
        .await?;
    Ok(channel(engine, row))
}

/// A stored channel with what its bridge reported.
pub fn channel(engine: &Engine, row: ChannelRow) -> Channel {
    let link = engine.delivery.link(&row.name);
    let bridged = row.kind.has_bridge();
    let health = health(engine, &row.name, row.kind, row.paused, row.last);
    let taint_guard_in_full = engine.has_taint_guard(&row.name);
    let settings = engine.settings.channels.get(&row.name);
    let workspace = settings.map(|channel| channel.workspace.to_string_lossy().into_owned());
    Channel {
        account: link.account(),
        name: row.name,
        kind: row.kind,
        policy: row.policy,
        taint_guard_in_full,
        approvers: settings.map_or_else(Vec::new, |channel| channel.approvers.clone()),
        two_people: settings.map_or_else(Vec::new, |channel| channel.two_people.clone()),
        health,
        paused: row.paused,
        workspace,
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

/// How a channel is: what its bridge reported, with what the database knows.
pub fn health(
    engine: &Engine,
    name: &str,
    kind: ChannelKind,
    paused: bool,
    last: LastTimes,
) -> ChannelHealth {
    let link = engine.delivery.link(name);
    let local = ChannelHealth {
        state: ChannelState::Local,
        detail: None,
        last_exchange_at: None,
        last_inbound_at: None,
        last_outbound_at: None,
        reconnects: 0,
        rate_limited_until: None,
    };
    let bridged = kind.has_bridge();
    let mut health = match link.health() {
        Some(health) => health,
        None if bridged => ChannelHealth {
            state: ChannelState::Starting,
            ..local
        },
        None => local,
    };
    if kind == ChannelKind::Routine {
        let next = engine.scheduler.next_routine();
        health.detail = next.map(|(name, at)| format!("next routine {name} at {at}"));
    }
    health.last_exchange_at = health.last_exchange_at.max(last.exchange);
    health.last_inbound_at = health.last_inbound_at.max(last.inbound);
    health.last_outbound_at = health.last_outbound_at.max(last.outbound);
    if paused {
        health.state = ChannelState::Paused;
    } else if health.state == ChannelState::Paused {
        // Resumed a moment ago: the bridge connects, and has not said so yet.
        health.state = ChannelState::Starting;
        health.detail = None;
    }
    if bridged && !engine.settings.channels.contains_key(name) {
        health.state = ChannelState::Failed;
        health.detail = Some("no longer in the configuration".to_owned());
    }
    health
}

/// The engine as a whole.
pub async fn engine_status(engine: &Engine) -> Result<EngineStatus, Problem> {
    let today = Day::local(engine.clock.now());
    let usage = engine.read(move |reader| reader.usage_on(today.0)).await?;
    status(engine, today, usage).await
}

/// The engine as a whole, with what was used on this day.
pub async fn status(
    engine: &Engine,
    today: Day,
    usage_today: Usage,
) -> Result<EngineStatus, Problem> {
    let limit = engine.settings.budgets.day.max_cost_usd;
    let (flags, budget_today_usd) = engine
        .read_here(move |reader| {
            let budget = limit
                .map(|limit| {
                    let added = reader.added_on(today.0, BudgetKind::DayCost, None)?;
                    Ok::<_, StoreError>(limit + added)
                })
                .transpose()?;
            Ok((reader.flags()?, budget))
        })
        .await?;
    let held = engine.emergency.held();
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
        tools: engine.tools().names().map(str::to_owned).collect(),
        today,
        usage_today,
        budget_today_usd,
        problems: engine.problems(),
        writable: engine.store.problem().is_none(),
        draining: engine.sessions.draining(),
        started_at: engine.started_at,
    })
}

/// Shows readers how a channel is now. Losing it loses only a moment: the next event or snapshot says the same.
pub async fn announce_channel(engine: &Engine, channel: &str) {
    if let Ok(view) = channel_view(engine, channel).await {
        engine.publish(
            None,
            None,
            EventBody::ChannelState {
                channel: Box::new(view),
            },
        );
    }
}

/// The same of every channel with a bridge.
pub async fn announce_bridged(engine: &Engine) {
    for channel in engine.settings.channels.keys() {
        if engine.has_bridge(channel) {
            announce_channel(engine, channel).await;
        }
    }
}

/// Tells consoles when a problem came or went, and when a new day began: its spending starts at zero.
pub async fn announce_if_changed(engine: &Engine) {
    let today = Day::local(engine.clock.now());
    let problems = engine.problems();
    if !engine.maintenance.is_announced(&problems, today) {
        announce_engine(engine).await;
        engine.maintenance.note_announced(problems, today);
    }
}

/// Tells consoles how the engine stands.
pub async fn announce_engine(engine: &Engine) {
    match engine_status(engine).await {
        Ok(status) => engine.publish(
            None,
            None,
            EventBody::EngineState {
                engine: Box::new(status),
            },
        ),
        Err(problem) => tracing::warn!(%problem, "cannot send the state of the engine to consoles"),
    }
}
