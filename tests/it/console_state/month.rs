//! A busy month in a console that stays open: what it hears, asks and is answered. Played by a test and by a bench.

use std::sync::Arc;

use leverframe::console::message::DaemonMessage;
use leverframe::protocol::approval::{Approval, Preview};
use leverframe::protocol::enums::*;
use leverframe::protocol::event::{Event, EventBody};
use leverframe::protocol::ids::{ApprovalId, ContinuationId, OutboxId, SessionId, ToolCallId};
use leverframe::protocol::request::{Answer, GetApproval, GetContinuation, Query};
use leverframe::tui::message::Effect;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;

/// Bytes of the file that each call would write.
const CONTENT: usize = 16 * 1024;

/// The id of a turn and of everything that belongs to it.
pub fn bytes(n: u32) -> [u8; 16] {
    let mut bytes = [1, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    bytes[12..].copy_from_slice(&n.to_be_bytes());
    bytes
}

/// The question of a turn, whole, as the engine has it.
pub fn question(n: u32) -> Approval {
    let mut approval = fixture::approval(1, Risk::Medium);
    approval.id = ApprovalId::from_bytes(bytes(n));
    approval.session_id = Some(SessionId::from_bytes(bytes(n)));
    approval.continuation_id = Some(ContinuationId::from_bytes(bytes(n)));
    approval.tool_call_id = Some(ToolCallId::from_bytes(bytes(n)));
    approval.digest = format!("{n:064x}");
    let content = format!("{n:08} of a long file\n").repeat(CONTENT / 24);
    approval.args = serde_json::json!({ "path": "notes/a.txt", "content": content });
    approval.preview = Preview::Diff {
        path: "notes/a.txt".into(),
        unified: content.replace('\n', "\n+"),
    };
    approval
}

/// A console that hears one turn after the other.
pub struct Listener {
    /// The console.
    pub driver: Driver,
    seq: u64,
    /// Turns heard so far.
    turns: u32,
}

impl Listener {
    /// A console with some things open.
    pub fn new() -> Self {
        Self {
            driver: Driver::with(120, 40, fixture::busy()),
            seq: 1_000_000,
            turns: 1,
        }
    }

    /// Hears an event of a turn, and is answered what it asks for.
    pub fn hear(&mut self, n: u32, body: EventBody) {
        self.seq += 1;
        let event = Event {
            seq: Some(self.seq),
            at: self.driver.now().wall,
            session_id: Some(SessionId::from_bytes(bytes(n))),
            continuation_id: Some(ContinuationId::from_bytes(bytes(n))),
            body,
        };
        let effects = self.driver.hear(DaemonMessage::Event(Arc::new(event)));
        self.answer(effects);
    }

    /// Answers every question about an approval, a turn or a delivery, as the engine does: whole.
    pub fn answer(&mut self, effects: Vec<Effect>) {
        let mut open = effects;
        while let Some(effect) = open.pop() {
            let Effect::Query(query) = effect else {
                continue;
            };
            let answer = match &query {
                Query::GetApproval(GetApproval { id }) => {
                    let n = u32::from_be_bytes(id.to_bytes()[12..].try_into().unwrap());
                    Answer::GetApproval(question(n))
                }
                Query::GetContinuation(GetContinuation { id }) => {
                    let mut turn = fixture::continuation(1, ContinuationState::Failed);
                    turn.id = *id;
                    turn.session_id = SessionId::from_bytes(id.to_bytes());
                    Answer::GetContinuation(turn)
                }
                _ => continue,
            };
            open.extend(self.driver.hear(DaemonMessage::Answered {
                query: Box::new(query),
                result: Ok(Box::new(answer)),
            }));
        }
    }

    /// A turn that nobody looks at.
    pub fn hear_turn(&mut self) {
        self.play(false);
    }

    /// A turn; the card of every third is opened.
    pub fn turn(&mut self) {
        self.play(true);
    }

    /// One turn from its message to its end: steps, deltas, a call that asks and is decided, output, a reply.
    fn play(&mut self, looks: bool) {
        self.turns += 1;
        let n = self.turns;
        let mut session = fixture::session(1, "desk", "ana", "hello");
        session.id = SessionId::from_bytes(bytes(n));
        session.open_continuation = None;
        session.pending_approvals = 0;
        let call_id = ToolCallId::from_bytes(bytes(n));
        let approval = |state| {
            let mut approval = question(n);
            approval.state = state;
            Box::new(approval)
        };
        let decided = if n.is_multiple_of(5) {
            ApprovalState::Denied
        } else {
            ApprovalState::Consumed
        };
        let session = Box::new(session);
        self.hear(n, EventBody::SessionStarted { session });
        self.hear(
            n,
            EventBody::MessageReceived {
                channel: "desk".into(),
                conversation: format!("c{n}"),
                sender: "ana".into(),
                sender_id: None,
                preview: "hello".into(),
            },
        );
        self.hear(n, EventBody::ContinuationStarted { attempt: 1 });
        for step in 0..3 {
            self.hear(n, EventBody::ContinuationStreaming { step });
            self.hear(
                n,
                EventBody::MessageDelta {
                    step,
                    offset: 0,
                    text: "some words of an answer ".repeat(20),
                },
            );
            self.hear(
                n,
                EventBody::ModelFinished {
                    model: "scripted/demo".into(),
                    step,
                    usage: fixture::usage(),
                    latency_ms: 10,
                    error: None,
                    stop: None,
                    answered_by: None,
                    notes: Vec::new(),
                },
            );
        }
        let requested = approval(ApprovalState::Pending);
        self.hear(
            n,
            EventBody::ApprovalRequested {
                approval: requested,
            },
        );
        self.hear(n, EventBody::ContinuationAwaitingApproval { pending: 1 });
        if looks && n.is_multiple_of(3) {
            self.open_last();
        }
        let approval = approval(decided);
        self.hear(n, EventBody::ApprovalDecided { approval });
        let text = "output ".repeat(50);
        self.hear(n, EventBody::ToolOutput { call_id, text });
        // The end of every seventh is lost, as after a crash.
        if !n.is_multiple_of(7) {
            self.hear(
                n,
                EventBody::ToolFinished {
                    call_id,
                    name: "write_file".into(),
                    state: ToolCallState::Succeeded,
                    preview: "written".into(),
                    duration_ms: Some(5),
                    cached: None,
                },
            );
        }
        let outbox_id = OutboxId::from_bytes(bytes(n));
        self.hear(
            n,
            EventBody::ReplySent {
                outbox_id,
                class: OutboxClass::Final,
                channel: "team".into(),
                part: 1,
            },
        );
        if n.is_multiple_of(4) {
            let reason = "the process ended".into();
            self.hear(n, EventBody::ContinuationInterrupted { reason });
        }
        let preview = "done".into();
        let usage = fixture::usage();
        self.hear(n, EventBody::ContinuationCompleted { preview, usage });
        let reason = "idle".into();
        self.hear(n, EventBody::SessionEnded { reason });
        // What was decided stays on screen some seconds.
        self.driver.wait(100);
        // What the driver of the tests notes would grow.
        self.driver.effects.clear();
    }

    /// Looks at the card that came last, as an operator does.
    fn open_last(&mut self) {
        let effects = self.driver.press("G");
        self.answer(effects);
        self.driver.draw();
    }

    /// What the console holds: entries of each list, and bytes of arguments and diffs.
    pub fn held(&self) -> Vec<(&'static str, usize)> {
        let state = &self.driver.state;
        let world = state.model.world();
        let content = world.approvals.values().map(|approval| {
            let diff = match &approval.preview {
                Preview::Diff { unified, .. } => unified.len(),
                Preview::Exec { .. } | Preview::Text { .. } | Preview::None => 0,
            };
            approval.args.to_string().len() + diff
        });
        vec![
            ("approvals", world.approvals.len()),
            ("turns", world.continuations.len()),
            ("sessions", world.sessions.len()),
            ("streams", world.streams.len()),
            ("retries", world.retries.len()),
            ("waits", world.waiting_for.len()),
            ("outputs", world.tool_output.len()),
            ("failures", world.failed.len()),
            ("deliveries", world.deliveries.len()),
            ("rows of the queue", state.model.queue.order.len()),
            ("rows of Live", state.screens.live.order.len()),
            ("drafts", state.model.host().drafts.len()),
            ("bytes of arguments and diffs", content.sum()),
        ]
    }
}
