//! Turns as tasks of the protocol: the id of a task is the id of its turn, and the store of the engine is the only one.

use rmcp::model::{DetailedTask, Task, TaskPayload, TaskStatus};
use serde_json::Value;

use crate::mcp::server::calls::result_of;
use crate::mcp::server::views::TurnStatus;
use crate::protocol::session::Continuation;

/// How often a host should look, in milliseconds.
const POLL_MS: u64 = 1_000;

/// An ended task stays as it is; a turn that waits or can be resumed is not ended.
fn status(turn: TurnStatus) -> TaskStatus {
    match turn {
        TurnStatus::Running | TurnStatus::WaitsForApproval | TurnStatus::Interrupted => {
            TaskStatus::Working
        }
        TurnStatus::Completed | TurnStatus::Failed | TurnStatus::Expired => TaskStatus::Completed,
        TurnStatus::Cancelled => TaskStatus::Cancelled,
    }
}

/// The task of a turn.
pub fn task(turn: &Continuation) -> Task {
    let standing = TurnStatus::of(turn.state);
    Task::new(
        turn.id.to_string(),
        status(standing),
        turn.created_at.to_string(),
        turn.updated_at.to_string(),
    )
    .with_status_message(standing.sentence())
    .with_poll_interval_ms(POLL_MS)
}

/// The same with the result, once there is one.
pub fn detailed(turn: &Continuation) -> DetailedTask {
    let task = task(turn);
    let payload = match task.status {
        TaskStatus::Completed => {
            let result = match serde_json::to_value(result_of(turn)) {
                Ok(Value::Object(result)) => result,
                Ok(_) | Err(_) => serde_json::Map::new(),
            };
            TaskPayload::Completed { result }
        }
        TaskStatus::Cancelled => TaskPayload::Cancelled,
        _ => TaskPayload::Working,
    };
    DetailedTask::new(task, payload)
}
