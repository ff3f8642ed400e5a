//! Bodies still to be written.
use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::error::StoreError;
macro_rules! stub {
    ($t:path, $o:ty, $d:ident) => {
        impl WriteCommand for $t {
            type Output = $o;
            const DURABILITY: Durability = Durability::$d;
            fn apply(&self, _tx: &mut WriteTx<'_>) -> Result<Self::Output, StoreError> {
                Err(StoreError::Closed)
            }
        }
    };
}
stub!(
    crate::store::commands::ingest_turn::IngestTurn,
    crate::store::commands::ingest_turn::IngestOutcome,
    Durable
);
stub!(
    crate::store::commands::ingest_record::IngestRecord,
    crate::store::commands::ingest_turn::IngestOutcome,
    Durable
);
stub!(
    crate::store::commands::start_session::StartSession,
    crate::protocol::ids::SessionId,
    Durable
);
stub!(
    crate::store::commands::update_session::UpdateSession,
    (),
    Durable
);
stub!(
    crate::store::commands::end_session::EndSession,
    Vec<crate::protocol::ids::ContinuationId>,
    Durable
);
stub!(
    crate::store::commands::claim::Claim,
    Option<crate::protocol::ids::ContinuationId>,
    Relaxed
);
stub!(
    crate::store::commands::reserve_model::ReserveModel,
    crate::protocol::ids::ModelAttemptId,
    Durable
);
stub!(
    crate::store::commands::settle_model::SettleModel,
    (),
    Durable
);
stub!(crate::store::commands::llm_result::LlmResult, u32, Durable);
stub!(
    crate::store::commands::park::Park,
    crate::store::commands::park::Parked,
    Durable
);
stub!(crate::store::commands::ask_budget::AskBudget, (), Durable);
stub!(
    crate::store::commands::start_tool::StartTool,
    crate::store::commands::start_tool::StartToolOutcome,
    Durable
);
stub!(
    crate::store::commands::return_to_ask::ReturnToAsk,
    (),
    Durable
);
stub!(crate::store::commands::finish_tool::FinishTool, (), Durable);
stub!(crate::store::commands::finish_turn::FinishTurn, (), Durable);
stub!(crate::store::commands::fail_turn::FailTurn, (), Durable);
stub!(crate::store::commands::yield_turn::Yield, (), Durable);
stub!(
    crate::store::commands::cancel::Cancel,
    crate::store::commands::cancel::Cancelled,
    Durable
);
stub!(crate::store::commands::resume::Resume, (), Durable);
stub!(
    crate::store::commands::decide::Decide,
    crate::store::commands::decide::DecideReport,
    Durable
);
stub!(
    crate::store::commands::revise_approval::ReviseApproval,
    crate::store::commands::decide::DecideReport,
    Durable
);
stub!(
    crate::store::commands::expire_due::ExpireDue,
    crate::store::commands::expire_due::ExpiredDue,
    Durable
);
stub!(
    crate::store::commands::ensure_channel::EnsureChannel,
    (),
    Durable
);
stub!(
    crate::store::commands::set_policy::SetPolicy,
    crate::protocol::policy::Policy,
    Durable
);
stub!(crate::store::commands::set_held::SetHeld, (), Durable);
stub!(
    crate::store::commands::set_channel_paused::SetChannelPaused,
    (),
    Durable
);
stub!(
    crate::store::commands::drop_waiting::DropWaiting,
    Vec<crate::protocol::ids::ContinuationId>,
    Durable
);
stub!(
    crate::store::commands::release_quarantine::ReleaseQuarantine,
    (),
    Durable
);
stub!(crate::store::commands::begin_send::BeginSend, (), Durable);
stub!(crate::store::commands::end_send::EndSend, (), Durable);
stub!(
    crate::store::commands::resolve_delivery::ResolveDelivery,
    (),
    Durable
);
stub!(
    crate::store::commands::queue_notice::QueueNotice,
    crate::protocol::ids::OutboxId,
    Durable
);
stub!(crate::store::commands::queue_cards::QueueCards, (), Durable);
