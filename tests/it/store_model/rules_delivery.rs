//! Rules of deliveries, of time and of starts.

use leverframe::protocol::enums::{
    ApprovalKind, ApprovalState, CompactionState, ContinuationState, DecisionKind, Effect,
    OutboxClass, OutboxState, ToolCallState,
};
use leverframe::store::commands::resolve_delivery::Settlement;

use crate::store_model::model::{About, Model, No, Outcome, Recovered, Ruled, plain_part};
use crate::store_model::rules_gate::QUIET;
use crate::store_model::rules_turn::RESEND;
use crate::store_model::step::{Look, Offer, Question, Sent, Step};

/// Milliseconds after which a word about work under way says nothing any more.
const STALE: i64 = 60_000;
/// What a call of a restored copy is asked with again.
const AGAIN: &[DecisionKind] = &[
    DecisionKind::Approve,
    DecisionKind::Deny,
    DecisionKind::DenyAndStop,
    DecisionKind::Answer,
    DecisionKind::Snooze,
];
/// Milliseconds after which an answer is not delivered late by itself.
const OLD: i64 = 6 * 3600 * 1000;

/// What the sender of a channel is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    Part(usize),
    Wait(i64),
    Nothing,
}

impl Model {
    /// The rules of deliveries, time and starts.
    pub(crate) fn carry_out_delivery(&mut self, step: &Step) -> Ruled<Outcome> {
        match step {
            Step::QueueNotice {
                channel,
                chat,
                class,
            } => {
                self.queue(plain_part(*channel, format!("chat-{chat}"), *class));
                Ok(Outcome::Done)
            }
            Step::QueueCards { gate } => {
                if self.gates[*gate].state != ApprovalState::Pending {
                    return Err(No::Illegal);
                }
                self.queue_cards(*gate, 1);
                Ok(Outcome::Done)
            }
            Step::BeginSend { part, offer } => {
                if self.quarantine
                    || self.held_up(*part)
                    || self.parts[*part].state != OutboxState::Pending
                {
                    return Err(No::Illegal);
                }
                if self.parts[*part].begun.is_some() && !self.repeats(*part, *offer) {
                    self.lose(*part)?;
                    self.ask_resend(*part, QUIET);
                    return Ok(Outcome::KeyRanOut);
                }
                self.move_part(*part, OutboxState::Sending)?;
                let (epoch, now) = (self.epoch, self.now);
                let row = &mut self.parts[*part];
                row.offer = *offer;
                row.sent_at = now;
                row.attempts += 1;
                row.epoch = epoch;
                row.not_before = None;
                Ok(Outcome::Done)
            }
            Step::EndSend { part, sent } => self.end_send(*part, *sent),
            Step::EndLookUp {
                part,
                last_attempt,
                look,
            } => self.end_look_up(*part, *last_attempt, *look),
            Step::DropExpiredNotice { part } => {
                let row = &self.parts[*part];
                let stale = row.class == OutboxClass::Progress
                    && row.state == OutboxState::Pending
                    && self.now - row.created > STALE;
                if stale {
                    self.move_part(*part, OutboxState::Superseded)?;
                }
                Ok(Outcome::Dropped(stale))
            }
            Step::ResolveDelivery { part, settlement } => self.resolve(*part, *settlement),
            Step::Crash => self.start_again(false, false),
            Step::Restart => self.start_again(true, false),
            Step::Restore => self.start_again(true, true),
            Step::Clock(seconds) => {
                if *seconds < 0 {
                    // The system writes a row first, so that the store has seen the time that it is turned back from.
                    self.audit.push("channel.paused");
                }
                self.clock += seconds * 1000;
                self.now = self.now.max(self.clock);
                Ok(Outcome::Done)
            }
            other => unreachable!("{other:?} has its rule elsewhere"),
        }
    }

    /// Whether an answer cannot go on because nobody knows whether an earlier part of it arrived.
    fn behind_unknown(&self, part: usize) -> bool {
        let row = &self.parts[part];
        row.class == OutboxClass::Final
            && self.parts[..part].iter().any(|before| {
                before.class == OutboxClass::Final
                    && before.turn == row.turn
                    && before.state == OutboxState::Unknown
            })
    }

    /// Whether something earlier of the same conversation must go first. What itself waits behind an unknown part
    /// holds up nothing but its own answer.
    fn held_up(&self, part: usize) -> bool {
        let row = &self.parts[part];
        if row.own && self.held {
            return false;
        }
        self.behind_unknown(part)
            || (0..part).any(|earlier| {
                let before = &self.parts[earlier];
                before.channel == row.channel
                    && before.conversation == row.conversation
                    && matches!(before.state, OutboxState::Pending | OutboxState::Sending)
                    && (before.turn == row.turn || !self.behind_unknown(earlier))
            })
    }

    /// What the sender of a channel does next: the first part of each conversation, in order.
    pub(crate) fn next_part(&self, channel: usize) -> Next {
        let mut conversations = Vec::new();
        let mut earliest: Option<i64> = None;
        for (part, row) in self.parts.iter().enumerate() {
            if row.channel != channel
                || !matches!(row.state, OutboxState::Pending | OutboxState::Sending)
                || self.behind_unknown(part)
                || conversations.contains(&row.conversation)
            {
                continue;
            }
            conversations.push(row.conversation.clone());
            match row.not_before {
                _ if row.state == OutboxState::Sending => {}
                Some(at) if at > self.now => {
                    earliest = Some(earliest.map_or(at, |first| first.min(at)));
                }
                _ => return Next::Part(part),
            }
        }
        earliest.map_or(Next::Nothing, Next::Wait)
    }

    fn end_send(&mut self, part: usize, sent: Sent) -> Ruled<Outcome> {
        if self.parts[part].state != OutboxState::Sending || self.parts[part].epoch != self.epoch {
            return Err(No::Illegal);
        }
        match sent {
            Sent::Yes(count) => self.arrived(part, count)?,
            Sent::Later(seconds) => {
                self.move_part(part, OutboxState::Pending)?;
                self.parts[part].not_before = Some(self.now + seconds * 1000);
            }
            Sent::Never => self.move_part(part, OutboxState::Failed)?,
            Sent::Unknown(_) if self.parts[part].class == OutboxClass::Progress => {
                self.move_part(part, OutboxState::Superseded)?;
            }
            Sent::Unknown(_) if self.repeats(part, self.parts[part].offer) => {
                self.repeat(part)?;
                self.send_later(part);
            }
            Sent::Unknown(question) => {
                self.lose(part)?;
                if let Some(question) = question {
                    self.ask_resend(part, question);
                }
            }
        }
        Ok(Outcome::Done)
    }

    fn arrived(&mut self, part: usize, count: u8) -> Ruled {
        self.move_part(part, OutboxState::Sent)?;
        self.parts[part].refs = (0..count)
            .map(|n| message_ref(part, self.parts[part].attempts, n))
            .collect();
        if let Some(gate) = self.parts[part].gate
            && self.parts[part].class == OutboxClass::ApprovalCard
        {
            self.gates[gate].notified = true;
            let spent = self
                .tokens
                .iter()
                .any(|token| token.part == part && token.spent);
            // Decided while the card was on its way.
            if spent || self.gates[gate].state != ApprovalState::Pending {
                self.update_card(part);
            }
        }
        Ok(())
    }

    /// When the first send began that may have arrived.
    fn begun(&self, part: usize) -> Option<i64> {
        let row = &self.parts[part];
        row.begun
            .or((row.state == OutboxState::Sending).then_some(row.sent_at))
    }

    /// Whether a send that may have arrived may be made again: an edit to a given text, or the platform knows its key.
    fn repeats(&self, part: usize, offer: Offer) -> bool {
        match offer {
            _ if self.parts[part].class == OutboxClass::CardUpdate => true,
            Offer::Key(None) => true,
            Offer::Key(Some(seconds)) => self
                .begun(part)
                .is_some_and(|begun| self.now - begun < seconds * 1000),
            Offer::Nothing | Offer::LookUp => false,
        }
    }

    /// Nobody knows whether it arrived; when it began is kept.
    fn lose(&mut self, part: usize) -> Ruled {
        let begun = self.begun(part);
        self.move_part(part, OutboxState::Unknown)?;
        self.parts[part].begun = begun;
        self.parts[part].not_before = None;
        Ok(())
    }

    /// To be sent again under its key.
    fn repeat(&mut self, part: usize) -> Ruled {
        let begun = self.begun(part);
        self.move_part(part, OutboxState::Pending)?;
        self.parts[part].begun = begun;
        Ok(())
    }

    /// Tried again by itself: after 1 s, then twice as long each time, up to 64 s.
    fn send_later(&mut self, part: usize) {
        let wait = 1_i64 << self.parts[part].attempts.saturating_sub(1).min(6);
        self.parts[part].not_before = Some(self.now + wait * 1000);
    }

    fn end_look_up(&mut self, part: usize, last: bool, look: Look) -> Ruled<Outcome> {
        if self.parts[part].state != OutboxState::Unknown || !last {
            return Ok(Outcome::Done);
        }
        let (word, state) = match look {
            Look::Arrived(count) => {
                self.arrived(part, count)?;
                (DecisionKind::Sent, ApprovalState::Consumed)
            }
            Look::Not
                if self.parts[part].class != OutboxClass::Final
                    || self.now - self.parts[part].created <= OLD =>
            {
                self.settle_part(part, OutboxState::Pending)?;
                self.send_later(part);
                (DecisionKind::SendAgain, ApprovalState::Consumed)
            }
            // An answer that is too old is not delivered late by itself.
            Look::Not | Look::Unclear => return Ok(Outcome::Done),
        };
        self.answer_resend(part, word, state)?;
        Ok(Outcome::Done)
    }

    fn answer_resend(&mut self, part: usize, word: DecisionKind, state: ApprovalState) -> Ruled {
        let question = self
            .gates
            .iter()
            .position(|gate| gate.part == Some(part) && gate.state == ApprovalState::Pending);
        if let Some(gate) = question {
            self.answer(gate, state, word, false)?;
            self.disarm(gate, true)?;
        }
        self.audit.push("delivery.resolved");
        Ok(())
    }

    fn ask_resend(&mut self, part: usize, question: Question) {
        let about = About {
            turn: self.parts[part].turn,
            part: Some(part),
            ..About::default()
        };
        let channel = self.parts[part].channel;
        self.ask(ApprovalKind::Resend, channel, about, RESEND, question);
    }

    /// A person's word on a delivery.
    pub(crate) fn settle_part(&mut self, part: usize, to: OutboxState) -> Ruled {
        self.move_part(part, to)?;
        // No send so far counts any more.
        self.parts[part].begun = None;
        self.parts[part].not_before = None;
        Ok(())
    }

    fn resolve(&mut self, part: usize, settlement: Settlement) -> Ruled<Outcome> {
        if !matches!(
            self.parts[part].state,
            OutboxState::Unknown | OutboxState::Failed
        ) {
            return Err(No::Illegal);
        }
        let (to, word, gate_state) = match settlement {
            Settlement::Sent => (
                OutboxState::Sent,
                DecisionKind::Sent,
                ApprovalState::Consumed,
            ),
            Settlement::SendAgain => (
                OutboxState::Pending,
                DecisionKind::SendAgain,
                ApprovalState::Consumed,
            ),
            Settlement::Drop => (
                OutboxState::Abandoned,
                DecisionKind::Drop,
                ApprovalState::Denied,
            ),
        };
        self.settle_part(part, to)?;
        self.answer_resend(part, word, gate_state)?;
        Ok(Outcome::Done)
    }

    /// A new process: what was in flight gets a truthful state.
    fn start_again(&mut self, clean: bool, copy: bool) -> Ruled<Outcome> {
        self.epoch += 1;
        self.quarantine |= copy;
        self.requeue_unparked()?;
        // A model call under way may have been billed in full.
        for attempt in 0..self.tries.len() {
            if self.tries[attempt].used.is_none() {
                self.settle_try(attempt, self.tries[attempt].estimate, true)?;
            }
        }
        for row in &mut self.compactions {
            if row.state == CompactionState::Running {
                row.state = CompactionState::Failed;
            }
        }
        let mut found = Recovered {
            interrupted: Vec::new(),
            resolve: Vec::new(),
            ready_again: 0,
            unknown: Vec::new(),
            old: Vec::new(),
            quarantine: self.quarantine,
            held: self.held,
            clean,
        };
        for turn in 0..self.turns.len() {
            if self.turns[turn].state == ContinuationState::Running {
                self.move_turn(turn, ContinuationState::Interrupted)?;
                found.interrupted.push(turn);
            }
        }
        for call in 0..self.calls.len() {
            if self.calls[call].state == ToolCallState::Started {
                self.recover_call(call, &mut found)?;
            }
        }
        for part in 0..self.parts.len() {
            if self.parts[part].state == OutboxState::Sending {
                self.recover_part(part, &mut found)?;
            }
        }
        if copy {
            self.doubt_open_work(&mut found)?;
        }
        for part in 0..self.parts.len() {
            let row = &self.parts[part];
            let oldest = self.now - OLD;
            let wanted = self
                .gates
                .iter()
                .any(|gate| gate.part == Some(part) && gate.decided.is_some_and(|at| at >= oldest));
            if row.state == OutboxState::Pending
                && row.class == OutboxClass::Final
                && row.created < oldest
                && !wanted
            {
                let left = row.begun.is_some();
                self.lose(part)?;
                self.ask_resend(part, QUIET);
                if !left && let Some(gate) = self.gates.last_mut() {
                    // Whether it arrived is no question.
                    gate.offered.retain(|word| *word != DecisionKind::Sent);
                }
                found.old.push(part);
            }
        }
        self.audit.push("engine.started");
        Ok(Outcome::Recovered(found))
    }

    /// A turn that had only its questions open is in line again: the process died before it parked.
    fn requeue_unparked(&mut self) -> Ruled {
        for turn in 0..self.turns.len() {
            let open = self.calls.iter().any(|call| {
                call.turn == turn
                    && matches!(
                        call.state,
                        ToolCallState::Proposed
                            | ToolCallState::Ready
                            | ToolCallState::Approved
                            | ToolCallState::Started
                            | ToolCallState::Indeterminate
                    )
            });
            let asks = self
                .tries
                .iter()
                .any(|one| one.turn == turn && one.used.is_none());
            if self.turns[turn].state == ContinuationState::Running
                && self.waiting_gates(turn) > 0
                && !open
                && !asks
            {
                self.move_turn(turn, ContinuationState::Pending)?;
            }
        }
        Ok(())
    }

    /// What was open when a copy was made may have gone on elsewhere since: a person is asked about each.
    fn doubt_open_work(&mut self, found: &mut Recovered) -> Ruled {
        for part in 0..self.parts.len() {
            if self.parts[part].state != OutboxState::Pending {
                continue;
            }
            match self.parts[part].class {
                OutboxClass::Progress | OutboxClass::CardUpdate | OutboxClass::ApprovalCard => {
                    self.move_part(part, OutboxState::Superseded)?;
                }
                OutboxClass::Final | OutboxClass::Notice => {
                    self.move_part(part, OutboxState::Unknown)?;
                    self.parts[part].not_before = None;
                    self.ask_resend(part, QUIET);
                    found.unknown.push(part);
                }
            }
        }
        for gate in 0..self.gates.len() {
            if self.gates[gate].state == ApprovalState::Approved
                && let Some(call) = self.gates[gate].call
            {
                self.move_gate(gate, ApprovalState::Pending)?;
                self.grants.retain(|grant| grant.gate != gate);
                self.gates[gate].revision += 1;
                self.gates[gate].decision = None;
                self.gates[gate].decided = None;
                self.move_call(call, ToolCallState::Awaiting)?;
                self.audit.push("approval.returned");
            }
        }
        for call in 0..self.calls.len() {
            let harmless = matches!(
                self.calls[call].effect,
                Effect::ReadOnly | Effect::Idempotent
            );
            let turn = self.calls[call].turn;
            if self.calls[call].state == ToolCallState::Ready
                && !harmless
                && !self.turns[turn].state.is_terminal()
            {
                self.move_call(call, ToolCallState::Awaiting)?;
                let channel = self.sessions[self.turns[turn].session].channel;
                let about = About {
                    turn: Some(turn),
                    call: Some(call),
                    ..About::default()
                };
                self.ask(ApprovalKind::Execute, channel, about, AGAIN, QUIET);
                self.audit.push("tool.asks_again");
            }
        }
        Ok(())
    }

    fn recover_call(&mut self, call: usize, found: &mut Recovered) -> Ruled {
        let over = self.turns[self.calls[call].turn].state.is_terminal();
        let forgotten = self.runs.iter().any(|run| {
            run.call == call
                && run.outcome.is_none()
                && run.key_until.is_some_and(|until| until <= self.now)
        });
        let repeatable = match self.calls[call].effect {
            Effect::ReadOnly | Effect::Idempotent => true,
            Effect::Keyed => !forgotten,
            Effect::Reconcilable | Effect::NonIdempotent => false,
        };
        let to = if repeatable && !over {
            ToolCallState::Ready
        } else {
            ToolCallState::Indeterminate
        };
        self.move_call(call, to)?;
        for run in &mut self.runs {
            if run.call == call && run.outcome.is_none() {
                run.outcome = Some(to);
            }
        }
        if to == ToolCallState::Ready {
            found.ready_again += 1;
        } else if !over {
            self.ask_unknown(call, QUIET);
            found.resolve.push(call);
        }
        Ok(())
    }

    fn recover_part(&mut self, part: usize, found: &mut Recovered) -> Ruled {
        let class = self.parts[part].class;
        if class == OutboxClass::Progress {
            self.move_part(part, OutboxState::Superseded)
        } else if self.repeats(part, self.parts[part].offer) {
            self.repeat(part)
        } else {
            self.lose(part)?;
            self.ask_resend(part, QUIET);
            found.unknown.push(part);
            Ok(())
        }
    }
}

/// The platform's id of a message that a part became.
pub(crate) fn message_ref(part: usize, attempt: u32, n: u8) -> String {
    format!("m{part}.{attempt}.{n}")
}
