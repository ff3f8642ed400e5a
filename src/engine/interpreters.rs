//! Shells and other interpreters that sessions keep between calls: none outlives its session.

use tokio::sync::broadcast::error::RecvError;

use crate::engine::core::Engine;
use crate::protocol::enums::{InterpreterKind, SessionState};
use crate::protocol::event::EventBody;
use crate::protocol::ids::SessionId;
use crate::protocol::tool::Interpreter;
use crate::tools::bash::SHELLS;

/// Why an interpreter is gone whose session ended, for a session that is resumed later.
const SESSION_ENDED: &str = "the session was ended meanwhile";

/// Ends the interpreters of sessions that end, however they do. Runs until the engine stops.
pub async fn end_with_sessions(engine: Engine) {
    let mut events = engine.store.subscribe();
    loop {
        let event = tokio::select! {
            event = events.recv() => event,
            () = engine.shutdown.cancelled() => return,
        };
        match event {
            Ok(event) => {
                if let EventBody::SessionEnded { .. } = event.body {
                    engine.end_interpreters(event.session_id, SESSION_ENDED);
                }
            }
            Err(RecvError::Lagged(_)) => end_missed(&engine).await,
            Err(RecvError::Closed) => return,
        }
    }
}

/// What there is, with commands redacted.
pub fn rows(engine: &Engine) -> Vec<Interpreter> {
    let redact = |text: &mut String| *text = engine.redactor.redact(text).into_owned();
    let tools = engine.tools();
    let tables = tools.all().filter_map(|tool| tool.interpreters());
    let mut rows: Vec<Interpreter> = tables.flat_map(|table| table.list()).collect();
    for row in &mut rows {
        row.command.iter_mut().for_each(redact);
        for command in &mut row.recent {
            redact(&mut command.command);
            command.outcome.iter_mut().for_each(redact);
        }
    }
    rows
}

pub fn end_one(engine: &Engine, session: SessionId, kind: InterpreterKind, why: &str) {
    for table in engine.tools().all().filter_map(|tool| tool.interpreters()) {
        if table.kind() == kind {
            table.end(session, why);
        }
    }
}

/// Removes what the shells of a process left that died. Nothing runs yet.
pub fn remove_left(engine: &Engine) {
    let place = engine.settings.paths.data_dir.join(SHELLS);
    match std::fs::remove_dir_all(&place) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            tracing::error!(%error, "cannot remove the files of earlier shells");
        }
        Ok(()) | Err(_) => {}
    }
}

/// Ends those of sessions whose end was not heard.
async fn end_missed(engine: &Engine) {
    for id in rows(engine).into_iter().map(|row| row.session_id) {
        let found = engine.store.read(move |reader| reader.session(id)).await;
        if !found.is_ok_and(|session| session.state == SessionState::Active) {
            engine.end_interpreters(Some(id), SESSION_ENDED);
        }
    }
}
