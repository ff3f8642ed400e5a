//! Hooks: trying them out, calling them again, and how they do.

use serde_json::json;

use crate::engine::caller::Caller;
use crate::engine::core::Engine;
use crate::protocol::hook::{Hook, HookTrial};
use crate::protocol::problem::Problem;
use crate::protocol::request::TryHook;
use crate::protocol::snapshot::Page;
use crate::store::commands::record_audit::RecordAudit;
use crate::store::commands::record_hooks::RecordHooks;

/// Calls a hook with an example, or with what the caller gives.
pub async fn try_out(engine: &Engine, hook: TryHook) -> Result<HookTrial, Problem> {
    let trial = engine.hooks.try_out(&hook.name, hook.point, hook.input);
    tokio::select! {
        trial = trial => trial,
        () = engine.shutdown.cancelled() => Err(Problem::internal("the process stops")),
    }
}

/// Calls a hook again although it failed too often; its points as they are now.
pub async fn reset(engine: &Engine, caller: &Caller, name: String) -> Result<Page<Hook>, Problem> {
    engine.hooks.reset(&name)?;
    let row = RecordAudit {
        action: "hook.reset",
        by: caller.reference(),
        channel: None,
        subject: name.clone(),
        detail: json!({}),
    };
    let record = RecordHooks {
        rows: vec![row],
        ..RecordHooks::default()
    };
    engine.write(record).await?;
    let mut hooks = engine.hooks.list();
    hooks.retain(|hook| hook.name == name);
    Ok(hooks.into())
}
