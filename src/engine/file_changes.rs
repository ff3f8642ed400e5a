//! Changes of files by tools: settled at the start where the process died during one, forgotten when they are old.

use crate::engine::core::Engine;
use crate::store::error::StoreError;
use crate::tools::change_recovery;

/// Finishes or takes back what was cut off. Nothing runs yet.
pub async fn recover(engine: &Engine) {
    let (journal, engine) = (engine.file_changes(), engine.clone());
    let settled = tokio::task::spawn_blocking(move || {
        change_recovery::recover(&journal, |workspace| engine.hidden_directories(workspace))
    });
    match settled.await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            tracing::error!(%error, "cannot settle interrupted file changes");
        }
        Err(error) => {
            tracing::error!(%error, "a fault in Leverframe stopped the settlement of file changes");
        }
    }
}

/// Forgets what is older than the configuration keeps, how much. What a look may still ask for stays.
pub async fn forget_old(engine: &Engine) -> Result<u64, StoreError> {
    let asked = engine.store.read(|reader| reader.unknown_calls()).await?;
    let asked: Vec<String> = asked.iter().map(|call| call.call_id.to_string()).collect();
    let kept = i64::from(engine.settings.retention.file_changes) * 24 * 3600;
    let before = engine.clock.now().plus_seconds(-kept);
    let journal = engine.file_changes();
    let forgotten = tokio::task::spawn_blocking(move || {
        change_recovery::forget(&journal, before, |key| asked.iter().any(|one| one == key))
    });
    Ok(match forgotten.await {
        Ok(Ok(forgotten)) => forgotten,
        Ok(Err(error)) => {
            tracing::warn!(%error, "cannot remove old file changes; the next sweep tries again");
            0
        }
        Err(_) => 0,
    })
}
