//! What a walk can do: one value a command, with indices in place of ids.
//!
//! A walk that failed is shortened by leaving steps out, which moves every index behind them. So a walk is kept in names:
//! a row is named by the step that made it, and a step that names a row nobody made is left out with it.

use leverframe::protocol::enums::{
    Autonomy, DecisionKind, Disposition, Effect, OutboxClass, ToolCallState,
};
use leverframe::store::commands::resolve_delivery::Settlement;
use leverframe::store::input::BudgetKind;

/// Where an inbound item comes from and what makes it the same item again.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    /// Channel: 0 = `team` (its platform cannot repeat a send safely), 1 = `desk` (local).
    pub(crate) channel: usize,
    /// Scope of the key.
    pub(crate) principal: &'static str,
    /// Idempotency key.
    pub(crate) key: Option<u8>,
    /// What the body says.
    pub(crate) body: u8,
    /// Conversation.
    pub(crate) chat: u8,
    /// Whether it moves the channel's position.
    pub(crate) cursor: bool,
}

/// Which session a message is for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target {
    Chat,
    Session(usize),
    Temporary,
}

/// A question to a person.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Question {
    /// Seconds until it expires.
    pub(crate) lives: Option<i64>,
    /// Cards sent with it.
    pub(crate) cards: u8,
}

/// A call that the model proposes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) effect: Effect,
    pub(crate) verdict: Judged,
}

/// What the policy said to a call.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Judged {
    Ready,
    Ask(Question),
    Refused(ToolCallState),
}

/// What a decision shows as what was on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    Right,
    RightDigestOnly,
    WrongDigest,
    WrongRevision,
}

/// How a run ended.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ended {
    Well,
    Badly,
    Unknown(Question),
    /// Unknown, and nobody is asked: refused.
    UnknownUnasked,
    /// A state that no run ends in: refused.
    Nonsense,
}

/// How a send ended.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sent {
    /// Accepted, as this many messages.
    Yes(u8),
    /// Not sent; again after this many seconds.
    Later(i64),
    Never,
    Unknown(Option<Question>),
}

/// A step whose numbers are names of rows, not places.
#[derive(Debug, Clone)]
pub(crate) struct Named {
    /// Names what it makes.
    pub(crate) label: usize,
    pub(crate) step: Step,
}

/// Rows that are named.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Session,
    Turn,
    Call,
    Gate,
    Part,
    Try,
}

/// Names of rows: the label of the step that made it, and the how manieth of its kind it was.
pub(crate) const NAMES_OF_A_STEP: usize = 1000;

/// What an adapter offers against doubled sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Offer {
    Nothing,
    LookUp,
    /// A key, remembered for so many seconds or for ever.
    Key(Option<i64>),
}

/// What a look at the platform said.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Look {
    Arrived(u8),
    Not,
    Unclear,
}

/// One step of a walk. Indices count rows in the order in which they were made.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Ingest {
        item: Item,
        target: Target,
        /// Sessions hold at most this many waiting turns.
        queue: u32,
        unlimited: bool,
        notice: bool,
        retry: Option<usize>,
    },
    Record {
        item: Item,
        disposition: Disposition,
        notice: bool,
    },
    /// A command that came as a message: recorded and carried out once.
    OnceCancel {
        item: Item,
        turn: usize,
    },
    StartSession {
        channel: usize,
        chat: u8,
    },
    UpdateSession {
        session: usize,
        paused: Option<bool>,
    },
    EndSession {
        session: usize,
    },
    Claim {
        session: usize,
    },
    Reserve {
        turn: usize,
        tokens: u32,
    },
    Settle {
        attempt: usize,
        tokens: u32,
    },
    Propose {
        turn: usize,
        attempt: usize,
        tokens: u32,
        plans: Vec<Plan>,
    },
    AskBudget {
        turn: usize,
        budget: BudgetKind,
        question: Question,
    },
    Park {
        turn: usize,
        notice: bool,
    },
    Decide {
        gate: usize,
        word: DecisionKind,
        shown: Shown,
        for_session: bool,
        extra: Option<u8>,
        person: u8,
    },
    Revise {
        gate: usize,
        shown: Shown,
        cards: u8,
    },
    ReopenApproval {
        call: usize,
        question: Question,
    },
    StartTool {
        call: usize,
        right_plan: bool,
        /// Seconds that the other side remembers the key of a keyed call.
        key_lives: Option<i64>,
    },
    RefuseCall {
        call: usize,
    },
    /// What hooks did to a call, and whether they changed what models read of its turn.
    RecordHooks {
        call: usize,
        sent: bool,
    },
    FinishTool {
        call: usize,
        last_attempt: bool,
        ended: Ended,
    },
    FinishTurn {
        turn: usize,
        attempt: Option<usize>,
        tokens: u32,
        parts: u8,
    },
    FailTurn {
        turn: usize,
        attempt: Option<usize>,
        notice: bool,
    },
    Yield {
        turn: usize,
        interrupted: bool,
    },
    Cancel {
        turn: usize,
        notice: bool,
    },
    Resume {
        turn: usize,
    },
    ExpireDue,
    SetPolicy {
        channel: usize,
        autonomy: Option<Autonomy>,
        /// Seconds until it ends.
        lives: Option<i64>,
        right_version: Option<bool>,
    },
    EnsureChannel {
        channel: usize,
        autonomy: Autonomy,
    },
    /// A person takes a conversation over, named by a session of it.
    TakeOver {
        session: usize,
        person: u8,
        force: bool,
    },
    /// Somebody writes in it, as it was taken last or as it never was.
    Say {
        session: usize,
        person: u8,
        right_hold: bool,
    },
    GiveBack {
        session: usize,
        person: u8,
        force: bool,
    },
    DrainChannel {
        channel: usize,
        draining: bool,
    },
    /// A question waits for somebody, or for nobody any more.
    Assignment {
        gate: usize,
        shown: Shown,
        to: Option<u8>,
        person: u8,
    },
    OnCall {
        who: Option<u8>,
    },
    PauseChannel {
        channel: usize,
        paused: bool,
    },
    Hold {
        drop_full: bool,
    },
    Release,
    DropWaiting {
        keep_newest: bool,
    },
    ReleaseQuarantine,
    QueueNotice {
        channel: usize,
        chat: u8,
        class: OutboxClass,
    },
    QueueCards {
        gate: usize,
    },
    BeginSend {
        part: usize,
        offer: Offer,
    },
    EndLookUp {
        part: usize,
        last_attempt: bool,
        look: Look,
    },
    DropExpiredNotice {
        part: usize,
    },
    EndSend {
        part: usize,
        sent: Sent,
    },
    ResolveDelivery {
        part: usize,
        settlement: Settlement,
    },
    /// What a look at the other side said about an unknown outcome.
    RecordUnknownCall {
        gate: usize,
    },
    /// Begins a compaction of the session of a turn, up to that turn.
    BeginCompaction {
        turn: usize,
        tokens: u32,
    },
    /// Commits the newest compaction of a session, with everything that lies open before its turn.
    CommitCompaction {
        session: usize,
        tokens: u32,
    },
    /// Ends it without a change.
    FailCompaction {
        session: usize,
        tokens: u32,
    },
    /// Asks its model once more.
    RetryCompaction {
        session: usize,
        tokens: u32,
    },
    /// Old compactions go, as if all that ended were old.
    SweepCompactions,
    /// A write that means nothing.
    Probe,
    /// Something is remembered, grows old, and a run of hygiene puts it aside.
    Tidy,
    /// The newest run of hygiene is taken back.
    TakeBack,
    /// The same by a caller of the epoch before.
    Stale(Box<Step>),
    /// SIGKILL and a new start.
    Crash,
    /// A clean end and a new start.
    Restart,
    /// The files of a clean end copied elsewhere without what lies beside them.
    Restore,
    /// Time passes, in seconds; may be negative.
    Clock(i64),
}

impl Step {
    /// Every name, for the count of what a run exercised.
    pub(crate) const NAMES: &'static [&'static str] = &[
        "ask_budget",
        "begin_compaction",
        "begin_send",
        "cancel",
        "claim",
        "clock",
        "commit_compaction",
        "crash",
        "decide",
        "drop_expired_notice",
        "drop_waiting",
        "end_look_up",
        "end_send",
        "end_session",
        "ensure_channel",
        "expire_due",
        "fail_compaction",
        "fail_turn",
        "finish_tool",
        "finish_turn",
        "give_back",
        "assign",
        "hold",
        "ingest_record",
        "ingest_turn",
        "llm_result",
        "on_call",
        "once",
        "record_unknown_call",
        "park",
        "probe",
        "queue_cards",
        "queue_notice",
        "refuse_call",
        "record_hooks",
        "release",
        "release_quarantine",
        "reserve_model",
        "resolve_delivery",
        "restart",
        "restore",
        "resume",
        "retry_compaction",
        "reopen_approval",
        "revise_approval",
        "say",
        "set_channel_draining",
        "set_channel_paused",
        "set_policy",
        "settle_model",
        "start_session",
        "start_tool",
        "sweep_compactions",
        "take_back",
        "take_over",
        "tidy",
        "update_session",
        "release_turn",
    ];

    /// Its command.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Step::Ingest { .. } => "ingest_turn",
            Step::Record { .. } => "ingest_record",
            Step::OnceCancel { .. } => "once",
            Step::StartSession { .. } => "start_session",
            Step::UpdateSession { .. } => "update_session",
            Step::EndSession { .. } => "end_session",
            Step::Claim { .. } => "claim",
            Step::Reserve { .. } => "reserve_model",
            Step::Settle { .. } => "settle_model",
            Step::Propose { .. } => "llm_result",
            Step::AskBudget { .. } => "ask_budget",
            Step::Park { .. } => "park",
            Step::Decide { .. } => "decide",
            Step::Revise { .. } => "revise_approval",
            Step::ReopenApproval { .. } => "reopen_approval",
            Step::StartTool { .. } => "start_tool",
            Step::RefuseCall { .. } => "refuse_call",
            Step::RecordHooks { .. } => "record_hooks",
            Step::FinishTool { .. } => "finish_tool",
            Step::FinishTurn { .. } => "finish_turn",
            Step::FailTurn { .. } => "fail_turn",
            Step::Yield { .. } => "release_turn",
            Step::Cancel { .. } => "cancel",
            Step::Resume { .. } => "resume",
            Step::ExpireDue => "expire_due",
            Step::SetPolicy { .. } => "set_policy",
            Step::EnsureChannel { .. } => "ensure_channel",
            Step::TakeOver { .. } => "take_over",
            Step::Say { .. } => "say",
            Step::GiveBack { .. } => "give_back",
            Step::DrainChannel { .. } => "set_channel_draining",
            Step::Assignment { .. } => "assign",
            Step::OnCall { .. } => "on_call",
            Step::PauseChannel { .. } => "set_channel_paused",
            Step::Hold { .. } => "hold",
            Step::Release => "release",
            Step::DropWaiting { .. } => "drop_waiting",
            Step::ReleaseQuarantine => "release_quarantine",
            Step::QueueNotice { .. } => "queue_notice",
            Step::QueueCards { .. } => "queue_cards",
            Step::BeginSend { .. } => "begin_send",
            Step::EndLookUp { .. } => "end_look_up",
            Step::DropExpiredNotice { .. } => "drop_expired_notice",
            Step::EndSend { .. } => "end_send",
            Step::ResolveDelivery { .. } => "resolve_delivery",
            Step::RecordUnknownCall { .. } => "record_unknown_call",
            Step::BeginCompaction { .. } => "begin_compaction",
            Step::CommitCompaction { .. } => "commit_compaction",
            Step::FailCompaction { .. } => "fail_compaction",
            Step::RetryCompaction { .. } => "retry_compaction",
            Step::SweepCompactions => "sweep_compactions",
            Step::Probe => "probe",
            Step::Tidy => "tidy",
            Step::TakeBack => "take_back",
            Step::Stale(step) => step.name(),
            Step::Crash => "crash",
            Step::Restart => "restart",
            Step::Restore => "restore",
            Step::Clock(_) => "clock",
        }
    }

    /// Whether its caller names the epoch it belongs to.
    pub(crate) fn carries_epoch(&self) -> bool {
        matches!(
            self,
            Step::Claim { .. }
                | Step::Reserve { .. }
                | Step::Propose { .. }
                | Step::AskBudget { .. }
                | Step::Park { .. }
                | Step::ReopenApproval { .. }
                | Step::StartTool { .. }
                | Step::RefuseCall { .. }
                | Step::FinishTool { .. }
                | Step::FinishTurn { .. }
                | Step::FailTurn { .. }
                | Step::Yield { .. }
                | Step::BeginSend { .. }
                | Step::EndSend { .. }
                | Step::BeginCompaction { .. }
                | Step::CommitCompaction { .. }
                | Step::FailCompaction { .. }
                | Step::RetryCompaction { .. }
        )
    }

    /// The same step with every row it names exchanged; none when one of them is not known.
    pub(crate) fn with_rows(
        &self,
        rows: &mut dyn FnMut(Kind, usize) -> Option<usize>,
    ) -> Option<Step> {
        let mut step = self.clone();
        let mut exchange = |kind: Kind, row: &mut usize| -> Option<()> {
            *row = rows(kind, *row)?;
            Some(())
        };
        match &mut step {
            Step::Stale(inner) => {
                let inner = inner.with_rows(rows)?;
                return Some(Step::Stale(Box::new(inner)));
            }
            Step::Ingest { target, retry, .. } => {
                if let Target::Session(session) = target {
                    exchange(Kind::Session, session)?;
                }
                if let Some(turn) = retry {
                    exchange(Kind::Turn, turn)?;
                }
            }
            Step::OnceCancel { turn, .. }
            | Step::Reserve { turn, .. }
            | Step::AskBudget { turn, .. }
            | Step::Park { turn, .. }
            | Step::Yield { turn, .. }
            | Step::Cancel { turn, .. }
            | Step::BeginCompaction { turn, .. }
            | Step::Resume { turn } => exchange(Kind::Turn, turn)?,
            Step::UpdateSession { session, .. }
            | Step::TakeOver { session, .. }
            | Step::Say { session, .. }
            | Step::GiveBack { session, .. }
            | Step::EndSession { session }
            | Step::CommitCompaction { session, .. }
            | Step::FailCompaction { session, .. }
            | Step::RetryCompaction { session, .. }
            | Step::Claim { session } => exchange(Kind::Session, session)?,
            Step::Settle { attempt, .. } => exchange(Kind::Try, attempt)?,
            Step::Propose { turn, attempt, .. } => {
                exchange(Kind::Turn, turn)?;
                exchange(Kind::Try, attempt)?;
            }
            Step::FinishTurn { turn, attempt, .. } | Step::FailTurn { turn, attempt, .. } => {
                exchange(Kind::Turn, turn)?;
                if let Some(attempt) = attempt {
                    exchange(Kind::Try, attempt)?;
                }
            }
            Step::Decide { gate, .. }
            | Step::Revise { gate, .. }
            | Step::Assignment { gate, .. }
            | Step::RecordUnknownCall { gate }
            | Step::QueueCards { gate } => {
                exchange(Kind::Gate, gate)?;
            }
            Step::ReopenApproval { call, .. }
            | Step::StartTool { call, .. }
            | Step::RefuseCall { call }
            | Step::RecordHooks { call, .. }
            | Step::FinishTool { call, .. } => exchange(Kind::Call, call)?,
            Step::BeginSend { part, .. }
            | Step::EndLookUp { part, .. }
            | Step::DropExpiredNotice { part }
            | Step::EndSend { part, .. }
            | Step::ResolveDelivery { part, .. } => exchange(Kind::Part, part)?,
            Step::Record { .. }
            | Step::StartSession { .. }
            | Step::ExpireDue
            | Step::SetPolicy { .. }
            | Step::EnsureChannel { .. }
            | Step::PauseChannel { .. }
            | Step::DrainChannel { .. }
            | Step::OnCall { .. }
            | Step::Hold { .. }
            | Step::Release
            | Step::DropWaiting { .. }
            | Step::ReleaseQuarantine
            | Step::QueueNotice { .. }
            | Step::SweepCompactions
            | Step::Probe
            | Step::Tidy
            | Step::TakeBack
            | Step::Crash
            | Step::Restart
            | Step::Restore
            | Step::Clock(_) => {}
        }
        Some(step)
    }
}
