//! Takes in the test of a model: a turn of a session of its own that runs from its first moment, so that its calls are
//! reserved, settled and counted like any other's. No driver ever takes it up.

use crate::protocol::ids::ContinuationId;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::commands::claim::Claim;
use crate::store::commands::ingest_turn::IngestTurn;
use crate::store::error::StoreError;
use crate::store::input::ChannelFloods;
use crate::store::tx::continuations::ContinuationRow;

/// The conversation of every test. The others of temporary sessions are ids.
pub const CONVERSATION: &str = "models test";

/// Begins a test. Durable.
#[derive(Debug, Clone)]
pub struct StartModelTest {
    /// The turn: of a temporary session, in [`CONVERSATION`], without a key.
    pub turn: IngestTurn,
    /// Epoch of the caller.
    pub epoch: u64,
}

/// Whether this is a test: nobody can resume or repeat one as a turn.
pub(crate) fn is_test(head: &ContinuationRow) -> bool {
    head.temporary && head.conversation == CONVERSATION
}

impl WriteCommand for StartModelTest {
    type Output = ContinuationId;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<ContinuationId, StoreError> {
        let taken = self.turn.apply(tx)?;
        let claimed = match taken.session_id {
            Some(session_id) => Claim {
                session_id,
                epoch: self.epoch,
                floods: ChannelFloods::default(),
                except: Vec::new(),
            }
            .apply(tx)?,
            None => None,
        };
        claimed.ok_or_else(|| {
            StoreError::rejected(
                "the database is quarantined: no model is called before its release",
            )
        })
    }
}
