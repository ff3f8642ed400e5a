//! Results of tools that only read, given again: a look behind the start of a call, and what becomes of its result.
//!
//! Nothing here decides whether a call may run: only one whose start is on disk is looked up, and one that gets a kept
//! result writes the same rows as one that ran. Whatever goes wrong here ends in running the tool.

use crate::clock::Timestamp;
use crate::engine::core::Engine;
use crate::engine::tool_cache::key::Facts;
use crate::engine::tool_cache::workspaces::Change;
use crate::engine::turn::large_result::ResultExcerpt;
use crate::engine::turn::policy_context::PolicyContext;
use crate::protocol::enums::{Access, CacheScope, Effect, ToolCacheMiss, ToolCacheSkipReason};
use crate::protocol::session::CachedResult;
use crate::store::queries::turn::{CallRow, TurnRows};
use crate::store::response_cache::counters::{CounterKey, CounterKind, Delta, local_day};
use crate::store::response_cache::{Key, Made, NewResult, ResultLookup};
use crate::tools::tool::{Cacheable, DependsOn, EffectDisposition, Plan, ToolOutcome, reads};

pub mod key;
pub mod state;
pub mod workspaces;

/// A kept result.
pub struct StoredResult {
    /// What the model reads: outside text.
    pub content: String,
    /// From when it is.
    pub cached: CachedResult,
}

/// What becomes of the result of a run that begins now.
#[derive(Default)]
pub struct Pass(Option<Box<Candidate>>);

struct Candidate {
    key: Key,
    asked: Key,
    made: Made,
    depends_on: DependsOn,
    /// When the run begins: whatever changes behind our back from then on may not be in the result.
    began: Timestamp,
}

fn count(engine: &Engine, rows: &TurnRows, tool: &str, counted: CounterKind) {
    let key = CounterKey {
        day: local_day(engine.clock.now()),
        channel: rows.channel.clone(),
        model: tool.to_owned(),
        scope: CacheScope::User,
        counted,
    };
    engine.response_cache.file.count(key, Delta::ONCE);
}

/// Under what a result of now is made; none while the workspace is being changed, or may be by what a shell runs in the
/// background.
fn made(engine: &Engine, rows: &TurnRows, depends_on: DependsOn) -> Option<Made> {
    let changes = match depends_on {
        DependsOn::Workspace => {
            let tools = engine.tools();
            let tables = tools.all().filter_map(|tool| tool.interpreters());
            let mut interpreters = tables.flat_map(|table| table.list());
            if interpreters.any(|row| row.background > 0) {
                return None;
            }
            let channel = engine.settings.channels.get(&rows.channel)?;
            engine.tool_cache.workspaces().settled(&channel.workspace)?
        }
        DependsOn::Elsewhere => 0,
    };
    Some(Made {
        epoch: engine.store.epoch(),
        changes,
    })
}

/// Looks for a kept result of a call that was started just now under the policies of `policy_context`.
pub async fn consult(
    engine: &Engine,
    rows: &TurnRows,
    row: &CallRow,
    plan: &Plan,
    policy_context: &PolicyContext,
) -> (Option<StoredResult>, Pass) {
    let nothing = (None, Pass::default());
    let name = row.call.name.as_str();
    let tool = engine.tools().get(name);
    let (Some(cacheable), Some(channel)) = (
        tool.and_then(|tool| tool.spec().cacheable),
        engine.settings.channels.get(&rows.channel),
    ) else {
        return nothing;
    };
    // One call of a tool may read where another one sends.
    let only_reads = reads(plan.access) && row.call.effect == Effect::ReadOnly;
    if !only_reads || !engine.tool_cache.is_enabled() {
        return nothing;
    }
    let miss = |reason| count(engine, rows, name, CounterKind::ToolMiss(reason));
    if !channel.tool_cache {
        miss(ToolCacheMiss::Off);
        return nothing;
    }
    let Cacheable { ttl, depends_on } = cacheable;
    let Some(made) = made(engine, rows, depends_on) else {
        miss(ToolCacheMiss::WorkspaceChanged);
        return nothing;
    };
    let policies: Vec<u64> = std::iter::once(&policy_context.policy)
        .chain(&policy_context.also)
        .map(|policy| policy.version)
        .collect();
    let facts = Facts {
        tool: name,
        definition: &engine.tools().definition_digest(name).unwrap_or_default(),
        args: &row.call.args,
        channel: &rows.channel,
        requester: &rows.requester.id,
        policies: &policies,
        workspace: &channel.workspace,
        hidden: &engine.hidden_directories(&channel.workspace),
        plan,
    };
    let (key, asked) = (key::of(&facts), key::asked(&facts));
    let now = engine.clock.now();
    let pass = Pass(Some(Box::new(Candidate {
        key,
        asked,
        made,
        depends_on,
        began: now,
    })));
    if rows.cache.fresh {
        miss(ToolCacheMiss::Bypass);
        return (None, pass);
    }
    let ttl_ms = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
    let file = &engine.response_cache.file;
    let reason = match file.look_for_result(key, asked, made, ttl_ms, now).await {
        ResultLookup::Found(kept) => {
            count(engine, rows, name, CounterKind::ToolHit);
            let cached = CachedResult {
                stored_at: kept.stored_at,
                age_ms: now.millis_since(kept.stored_at),
                ran_ms: kept.ran_ms,
            };
            let content = kept.content;
            return (Some(StoredResult { content, cached }), Pass::default());
        }
        ResultLookup::Expired => ToolCacheMiss::Expired,
        ResultLookup::Stale => ToolCacheMiss::WorkspaceChanged,
        ResultLookup::OtherPolicy => ToolCacheMiss::PolicyChanged,
        ResultLookup::Nothing => ToolCacheMiss::First,
        ResultLookup::Unusable => ToolCacheMiss::Disabled,
    };
    miss(reason);
    (None, pass)
}

/// Says that a call which does more than read begins in a workspace; none for one that only reads.
pub fn begin_change(engine: &Engine, row: &CallRow, workspace: &std::path::Path) -> Option<Change> {
    let call = &row.call;
    if reads(call.access) && call.effect == Effect::ReadOnly {
        return None;
    }
    let everywhere = match call.access {
        // Only a sandbox keeps a program inside its workspace.
        Access::Exec | Access::Unknown => !engine.sandbox.is_confined(),
        Access::ReadLocal
        | Access::ReadOpen
        | Access::WriteAdditive
        | Access::Write
        | Access::Send => false,
    };
    Some(engine.tool_cache.workspaces().begin(workspace, everywhere))
}

/// Why a result may not be kept.
pub fn may_keep(outcome: &ToolOutcome, shown: &ResultExcerpt) -> Result<(), ToolCacheSkipReason> {
    if outcome.is_error || outcome.disposition != EffectDisposition::Done {
        return Err(ToolCacheSkipReason::Failed);
    }
    if outcome.partial || !shown.whole {
        return Err(ToolCacheSkipReason::Partial);
    }
    Ok(())
}

impl Pass {
    /// Keeps what a run gave, where that is allowed. `shown` is what the model reads of it.
    pub fn settle(
        self,
        engine: &Engine,
        rows: &TurnRows,
        tool: &str,
        outcome: &ToolOutcome,
        shown: &ResultExcerpt,
        ran_ms: u64,
    ) {
        let Some(candidate) = self.0 else {
            return;
        };
        let refused = may_keep(outcome, shown).and_then(|()| {
            // What changed while it ran may be half in it.
            if made(engine, rows, candidate.depends_on) == Some(candidate.made) {
                Ok(())
            } else {
                Err(ToolCacheSkipReason::WorkspaceChanged)
            }
        });
        if let Err(why) = refused {
            return count(engine, rows, tool, CounterKind::ToolNotKept(why));
        }
        engine.response_cache.file.keep_result(NewResult {
            key: candidate.key,
            asked: candidate.asked,
            channel: rows.channel.clone(),
            content: shown.content.clone(),
            ran_ms,
            made: candidate.made,
            stored_at: candidate.began,
        });
        count(engine, rows, tool, CounterKind::ToolStore);
    }
}
