//! Hooks: trying them out, calling them again, and how they do.

use serde_json::json;

use crate::engine::core::Engine;
use crate::engine::handle::Caller;
use crate::engine::problem::from_store;
use crate::protocol::hook::{HookCommand, HookOutcome};
use crate::protocol::problem::Problem;
use crate::store::commands::record_hooks::{HookRow, RecordHooks};

/// Carries out a command.
pub async fn carry_out(
    engine: &Engine,
    caller: &Caller,
    command: HookCommand,
) -> Result<HookOutcome, Problem> {
    match command {
        HookCommand::Try { name, point, input } => {
            let trial = engine.hooks.try_out(&name, point, input);
            tokio::select! {
                trial = trial => trial.map(HookOutcome::Tried),
                () = engine.shutdown.cancelled() => Err(Problem::internal("the process stops")),
            }
        }
        HookCommand::Reset { name } => {
            engine.hooks.reset(&name)?;
            let row = HookRow {
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
            engine.store.write(record).await.map_err(from_store)?;
            let mut hooks = engine.hooks.list();
            hooks.retain(|hook| hook.name == name);
            Ok(HookOutcome::Hooks(hooks))
        }
    }
}
