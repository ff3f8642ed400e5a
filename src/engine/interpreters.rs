//! Shells and other interpreters that sessions keep between calls: none outlives its session.

use tokio::sync::broadcast::error::RecvError;

use crate::engine::core::Engine;
use crate::protocol::enums::SessionState;
use crate::protocol::event::EventBody;
use crate::protocol::ids::SessionId;

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

/// Ends those of sessions whose end was not heard.
async fn end_missed(engine: &Engine) {
    let tables = engine.tools.all().filter_map(|tool| tool.interpreters());
    let rows = tables.flat_map(|table| table.list());
    let sessions: Vec<SessionId> = rows.map(|row| row.session_id).collect();
    for id in sessions {
        let found = engine.store.read(move |reader| reader.session(id)).await;
        if !found.is_ok_and(|session| session.state == SessionState::Active) {
            engine.end_interpreters(Some(id), SESSION_ENDED);
        }
    }
}
