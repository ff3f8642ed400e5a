//! The atomic commands: one file each, pure data plus `apply`. Nothing outside `store` writes SQL.

pub mod ask_budget;
pub mod begin_send;
pub mod cancel;
pub mod claim;
pub mod decide;
pub mod drop_waiting;
pub mod end_send;
pub mod end_session;
pub mod ensure_channel;
pub mod expire_due;
pub mod fail_turn;
pub mod finish_tool;
pub mod finish_turn;
pub mod ingest_record;
pub mod ingest_turn;
pub mod llm_result;
pub mod park;
pub mod queue_cards;
pub mod queue_notice;
pub mod recover;
pub mod release_quarantine;
pub mod reserve_model;
pub mod resolve_delivery;
pub mod resume;
pub mod return_to_ask;
pub mod revise_approval;
pub mod set_channel_paused;
pub mod set_held;
pub mod set_policy;
pub mod settle_model;
pub mod start_session;
pub mod start_tool;
pub mod update_session;
pub mod yield_turn;

mod stub;
