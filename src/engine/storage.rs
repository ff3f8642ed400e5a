//! While the database cannot be written: nothing begins, everybody is told, and work goes on by itself as soon as a
//! tiny write succeeds again.
//!
//! A turn that cannot store its next step waits where it is: what it did since the last durable step is kept in memory
//! and stored when there is space. Should the process end before that, recovery finds the last durable step.

use std::time::Duration;

use crate::engine::core::Engine;
use crate::engine::views::announce_if_changed;
use crate::store::command::WriteCommand;
use crate::store::commands::probe::Probe;
use crate::store::error::StoreError;

/// Between two tries to write while a problem lasts.
const PROBE_EVERY: Duration = Duration::from_secs(2);
/// After a write that failed, however soon another one succeeds.
const PAUSE: Duration = Duration::from_millis(500);

impl Engine {
    /// Waits until the database can be written. `false`: it cannot, and the process stops.
    pub async fn writable(&self) -> bool {
        let mut problem = self.store.problem_changes();
        loop {
            if problem.borrow_and_update().is_none() {
                return true;
            }
            tokio::select! {
                () = self.shutdown.cancelled() => return false,
                changed = problem.changed() => if changed.is_err() { return false },
            }
        }
    }

    /// Rests after a write that failed for lack of space, then waits as [`Engine::writable`].
    pub async fn writable_again(&self) -> bool {
        tokio::select! {
            () = self.shutdown.cancelled() => return false,
            () = tokio::time::sleep(PAUSE) => {}
        }
        self.writable().await
    }

    /// Carries out a command, however long the disk is full. An error of that kind means that the process stops.
    pub async fn persist<C: WriteCommand + Clone>(
        &self,
        command: C,
    ) -> Result<C::Output, StoreError> {
        loop {
            if !self.writable().await {
                let why = self.store.problem().unwrap_or_default();
                return Err(StoreError::Full(why));
            }
            match self.store.write(command.clone()).await {
                Err(StoreError::Full(why)) => {
                    if !self.writable_again().await {
                        return Err(StoreError::Full(why));
                    }
                }
                other => return other,
            }
        }
    }

    /// What stands in the way of normal work, for people; empty = nothing.
    pub fn problems(&self) -> Vec<String> {
        let store = self.store.problem().map(|why| {
            format!("the database cannot be written, nothing is started or acknowledged: {why}")
        });
        store
            .into_iter()
            .chain(self.clock.doubt())
            .chain(self.hygiene.problem())
            .chain(self.backups.problem())
            .collect()
    }
}

/// Runs until the engine stops: tells of problems, looks for their end, lets work go on after it.
pub async fn watch(engine: Engine) {
    let mut changes = engine.store.problem_changes();
    let mut broken = false;
    loop {
        let engine = engine.current();
        let is_broken = changes.borrow_and_update().is_some();
        announce_if_changed(&engine).await;
        if broken && !is_broken {
            go_on(&engine).await;
        }
        broken = is_broken;
        tokio::select! {
            () = engine.shutdown.cancelled() => return,
            changed = changes.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(PROBE_EVERY), if broken => {
                // The writer notes how it went.
                if let Err(error) = engine.store.write(Probe).await {
                    tracing::debug!(%error, "still no space");
                }
            }
        }
    }
}

/// Everything that gave up while nothing could be written is begun again.
async fn go_on(engine: &Engine) {
    record_stop(engine).await;
    engine.scheduler.deadlines_changed();
    match engine
        .store
        .read(|reader| reader.sessions_with_pending())
        .await
    {
        Ok(sessions) => {
            for session in sessions {
                engine.wake(session);
            }
        }
        Err(error) => tracing::error!(%error, "cannot read the pending work"),
    }
}

/// Records the stop that the full disk could not take. No release is recorded meanwhile.
async fn record_stop(engine: &Engine) {
    let _recording = engine.emergency.recording().await;
    let Some(stop) = engine.emergency.take_unrecorded() else {
        return;
    };
    if let Err(error) = engine.store.write(stop.clone()).await {
        tracing::error!(%error, "the emergency stop is in force but not recorded");
        if matches!(error, StoreError::Full(_)) {
            engine.emergency.record_later(stop);
        }
    }
}
