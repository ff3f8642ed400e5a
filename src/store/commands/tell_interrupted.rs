//! Tells conversations that a request was interrupted and waits for somebody.

use crate::protocol::enums::{ContinuationState, OutboxClass};
use crate::protocol::ids::ContinuationId;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::EngineNotice;
use crate::store::sql::Statements;

/// Says it for each of them that is interrupted and was not told since. Durable.
#[derive(Debug, Clone)]
pub struct TellInterrupted {
    pub continuations: Vec<ContinuationId>,
    /// What is said.
    pub text: String,
}

impl WriteCommand for TellInterrupted {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        for id in &self.continuations {
            let head = tx.head(*id)?;
            if head.state != ContinuationState::Interrupted {
                continue;
            }
            let told: bool = tx.conn.value(
                "SELECT EXISTS (SELECT 1 FROM outbox o JOIN continuations c ON c.id = o.continuation_id
                 WHERE o.continuation_id = ?1 AND o.class = 'notice' AND o.created_at >= c.updated_at)",
                [id],
            )?;
            if told {
                continue;
            }
            let notice = head.notice(OutboxClass::Notice, &self.text);
            tx.queue_own(&notice, EngineNotice::Interrupted)?;
        }
        Ok(())
    }
}
