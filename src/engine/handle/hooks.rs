//! Hooks: trying them out, calling them again, and how they do.

use crate::engine::core::Engine;
use crate::engine::handle::Caller;
use crate::protocol::hook::{Hook, HookCommand, HookOutcome};
use crate::protocol::problem::Problem;
use crate::protocol::snapshot::Page;

/// Carries out a command.
pub async fn carry_out(
    _engine: &Engine,
    _caller: &Caller,
    command: HookCommand,
) -> Result<HookOutcome, Problem> {
    Err(Problem::internal(format!("{command:?}")))
}

/// Every hook at every point.
pub fn list(_engine: &Engine) -> Result<Page<Hook>, Problem> {
    Err(Problem::internal("hooks"))
}
