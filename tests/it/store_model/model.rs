//! The reference: what the store must hold after each command, kept in plain vectors, with none of the store's code.
//!
//! Rows are named by the order in which they were made. A refused command changes nothing, so [`Model::apply`] works on
//! a copy and keeps it only when nothing was refused.

use leverframe::protocol::enums::{
    ApprovalKind, ApprovalState, Autonomy, CompactionState, ContinuationState, DecisionKind,
    Disposition, Effect, OutboxClass, OutboxState, SessionState, ToolCallState,
};
use leverframe::store::input::BudgetKind;

use crate::store_model::step::{NAMES_OF_A_STEP, Named, Offer, Question, Step};
use crate::store_model::table;

/// Names of the channels.
pub(crate) const CHANNELS: [&str; 2] = ["team", "desk"];

#[derive(Debug, Clone)]
pub(crate) struct Session {
    pub(crate) channel: usize,
    pub(crate) chat: u8,
    pub(crate) state: SessionState,
    pub(crate) temporary: bool,
    pub(crate) paused: bool,
    pub(crate) turns: u32,
    pub(crate) tokens: u64,
    /// Version of its summary.
    pub(crate) summary: u64,
}

/// A compaction of a session.
#[derive(Debug, Clone)]
pub(crate) struct Compaction {
    pub(crate) session: usize,
    pub(crate) state: CompactionState,
    pub(crate) epoch: u64,
    /// The newest turn it covers.
    pub(crate) newest: usize,
    /// Its last call.
    pub(crate) attempt: usize,
}

#[derive(Debug, Clone)]
pub(crate) struct Turn {
    pub(crate) session: usize,
    pub(crate) state: ContinuationState,
    pub(crate) epoch: u64,
    pub(crate) attempt: u32,
    /// Steps, tool calls, milliseconds, tokens.
    pub(crate) limits: [u64; 4],
    pub(crate) model_steps: u64,
    pub(crate) calls: u64,
    pub(crate) active_ms: u64,
    pub(crate) tokens: u64,
    /// When the last gate fell.
    pub(crate) decided: Option<i64>,
    pub(crate) retry: Option<usize>,
    /// Whether a summary stands for it.
    pub(crate) put_away: bool,
    /// Kinds of its steps in order.
    pub(crate) steps: Vec<&'static str>,
    /// Every state it was in, in order.
    pub(crate) path: Vec<ContinuationState>,
}

#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) turn: usize,
    pub(crate) step: usize,
    pub(crate) index: usize,
    pub(crate) state: ToolCallState,
    pub(crate) effect: Effect,
    /// What would run: the number of the plan.
    pub(crate) plan: u32,
    pub(crate) verdict: &'static str,
    pub(crate) policy_version: u64,
    pub(crate) gate: Option<usize>,
    pub(crate) attempts: u32,
    pub(crate) result_step: Option<usize>,
    pub(crate) finished: Option<i64>,
}

/// One start of a call.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) call: usize,
    pub(crate) attempt: u32,
    pub(crate) epoch: u64,
    pub(crate) gate: Option<usize>,
    /// Until when another run under its key would be this one.
    pub(crate) key_until: Option<i64>,
    pub(crate) outcome: Option<ToolCallState>,
}

#[derive(Debug, Clone)]
pub(crate) struct Gate {
    pub(crate) kind: ApprovalKind,
    pub(crate) state: ApprovalState,
    /// Plan of its call that it is about.
    pub(crate) plan: Option<u32>,
    pub(crate) revision: u32,
    pub(crate) channel: usize,
    pub(crate) turn: Option<usize>,
    pub(crate) call: Option<usize>,
    pub(crate) part: Option<usize>,
    pub(crate) budget: Option<BudgetKind>,
    /// Level of the configuration it would accept.
    pub(crate) baseline: Option<Autonomy>,
    pub(crate) offered: Vec<DecisionKind>,
    pub(crate) expires: Option<i64>,
    /// What was decided, and whether for the session.
    pub(crate) decision: Option<(DecisionKind, bool)>,
    pub(crate) decided: Option<i64>,
    pub(crate) notified: bool,
    /// Whom it waits for, and who said so.
    pub(crate) waits: Option<(u8, u8)>,
}

#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) channel: usize,
    pub(crate) conversation: String,
    pub(crate) turn: Option<usize>,
    pub(crate) gate: Option<usize>,
    pub(crate) class: OutboxClass,
    pub(crate) state: OutboxState,
    pub(crate) part: u32,
    pub(crate) parts: u32,
    pub(crate) attempts: u32,
    pub(crate) epoch: u64,
    pub(crate) not_before: Option<i64>,
    pub(crate) created: i64,
    /// What the adapter offered when the last send began.
    pub(crate) offer: Offer,
    /// When the first send began that may have arrived.
    pub(crate) begun: Option<i64>,
    /// When the last send began.
    pub(crate) sent_at: i64,
    /// Platform ids of the messages it became.
    pub(crate) refs: Vec<String>,
    /// Platform id of the message it edits.
    pub(crate) target: Option<String>,
    /// Whether the engine says it about itself.
    pub(crate) own: bool,
}

/// A button of a card.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub(crate) gate: usize,
    pub(crate) part: usize,
    pub(crate) revision: u32,
    pub(crate) spent: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Inbox {
    pub(crate) channel: usize,
    pub(crate) principal: &'static str,
    pub(crate) key: Option<u8>,
    pub(crate) body: u8,
    pub(crate) disposition: Disposition,
    pub(crate) turn: Option<usize>,
}

/// A call to a model.
#[derive(Debug, Clone)]
pub(crate) struct Try {
    pub(crate) turn: usize,
    pub(crate) epoch: u64,
    pub(crate) estimate: u32,
    /// What it used, once known.
    pub(crate) used: Option<u32>,
    pub(crate) failed: bool,
    /// Made for its turn, and not for the session around it.
    pub(crate) of_turn: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Channel {
    pub(crate) version: u64,
    pub(crate) autonomy: Autonomy,
    pub(crate) expires: Option<i64>,
    pub(crate) reverts: Option<Autonomy>,
    /// Level of the configuration that was accepted last.
    pub(crate) baseline: Autonomy,
    pub(crate) paused: bool,
    pub(crate) draining: bool,
    pub(crate) cursor: Option<u8>,
}

/// A decision that holds for a session.
#[derive(Debug, Clone)]
pub(crate) struct Grant {
    pub(crate) session: usize,
    pub(crate) arguments: String,
    pub(crate) gate: usize,
}

/// What a person added to a budget that turns share.
#[derive(Debug, Clone)]
pub(crate) struct Added {
    pub(crate) gate: usize,
    pub(crate) budget: BudgetKind,
    /// Of which session, or else of which channel.
    pub(crate) session: Option<usize>,
    pub(crate) channel: Option<usize>,
    pub(crate) amount: u64,
}

/// What a start found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Recovered {
    pub(crate) interrupted: Vec<usize>,
    pub(crate) resolve: Vec<usize>,
    pub(crate) ready_again: u32,
    pub(crate) unknown: Vec<usize>,
    pub(crate) old: Vec<usize>,
    pub(crate) quarantine: bool,
    pub(crate) held: bool,
    pub(crate) clean: bool,
}

/// What a command answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    Ingested {
        disposition: Disposition,
        turn: Option<usize>,
        repeated: bool,
    },
    /// The item had been taken in before; its command was not carried out again.
    Before,
    Claimed(Option<usize>),
    Waits(bool),
    /// A budget forbids a call.
    Exhausted(BudgetKind),
    Dropped(bool),
    Decided,
    Same,
    Lost(DecisionKind),
    Stale,
    TooLate,
    NotPending(ApprovalState),
    Started(u32),
    OtherPlan,
    TooOld,
    KeyRanOut,
    /// What let it run is not in force any more.
    NoLongerAllowed,
    NotStartable(ToolCallState),
    Cancelled(Vec<usize>),
    Turns(Vec<usize>),
    Expired(Vec<usize>, Vec<usize>),
    Recovered(Recovered),
    Refused(No),
}

/// Why nothing happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum No {
    Illegal,
    KeyConflict,
    Version,
}

/// A result of a rule.
pub(crate) type Ruled<T = ()> = Result<T, No>;

/// A subject of a question.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct About {
    pub(crate) turn: Option<usize>,
    pub(crate) call: Option<usize>,
    pub(crate) part: Option<usize>,
    pub(crate) budget: Option<BudgetKind>,
    pub(crate) baseline: Option<Autonomy>,
}

#[derive(Debug, Clone)]
pub(crate) struct Model {
    /// What the machine's clock says.
    pub(crate) clock: i64,
    /// Time as it counts: never earlier than what was stored.
    pub(crate) now: i64,
    pub(crate) epoch: u64,
    pub(crate) held: bool,
    pub(crate) quarantine: bool,
    pub(crate) sessions: Vec<Session>,
    pub(crate) turns: Vec<Turn>,
    pub(crate) calls: Vec<Call>,
    pub(crate) runs: Vec<Run>,
    pub(crate) gates: Vec<Gate>,
    pub(crate) parts: Vec<Part>,
    pub(crate) tokens: Vec<Token>,
    pub(crate) inbox: Vec<Inbox>,
    pub(crate) tries: Vec<Try>,
    pub(crate) compactions: Vec<Compaction>,
    pub(crate) added: Vec<Added>,
    pub(crate) channels: Vec<Channel>,
    pub(crate) grants: Vec<Grant>,
    /// (approval, person, until).
    pub(crate) snoozes: Vec<(usize, u8, i64)>,
    /// (channel, chat, person) of conversations that people hold.
    pub(crate) holds: Vec<(usize, u8, u8)>,
    /// Who is on call.
    pub(crate) on_call: Option<u8>,
    /// Runs of hygiene; whether each was taken back.
    pub(crate) tidied: Vec<bool>,
    /// Actions in order.
    pub(crate) audit: Vec<&'static str>,
    /// Answer to the last command.
    pub(crate) last: Outcome,
    /// Label of the last step.
    pub(crate) label: usize,
    /// Names of the rows of each kind, by place.
    pub(crate) names: [Vec<usize>; 6],
    /// Arrows taken by the last command.
    pub(crate) arrows: Vec<(&'static str, &'static str, &'static str)>,
}

impl Model {
    /// The store as the world makes it: two channels, nothing else.
    pub(crate) fn new(now: i64) -> Self {
        let channel = Channel {
            version: 1,
            autonomy: Autonomy::Supervised,
            expires: None,
            reverts: None,
            baseline: Autonomy::Supervised,
            paused: false,
            draining: false,
            cursor: None,
        };
        Self {
            clock: now,
            now,
            epoch: 1,
            held: false,
            quarantine: false,
            sessions: Vec::new(),
            turns: Vec::new(),
            calls: Vec::new(),
            runs: Vec::new(),
            gates: Vec::new(),
            parts: Vec::new(),
            tokens: Vec::new(),
            inbox: Vec::new(),
            tries: Vec::new(),
            compactions: Vec::new(),
            added: Vec::new(),
            channels: vec![channel.clone(), channel],
            grants: Vec::new(),
            snoozes: Vec::new(),
            holds: Vec::new(),
            on_call: None,
            tidied: Vec::new(),
            audit: vec!["engine.started", "policy.changed", "policy.changed"],
            last: Outcome::Done,
            label: 0,
            names: Default::default(),
            arrows: Vec::new(),
        }
    }

    /// The step with places in place of names; none when it names what is not there.
    pub(crate) fn placed(&self, named: &Named) -> Option<Step> {
        named
            .step
            .with_rows(&mut |kind, name| self.names[kind as usize].iter().position(|n| *n == name))
    }

    /// The state after a step, whose new rows get its name.
    pub(crate) fn follow(self, named: &Named) -> Self {
        let Some(step) = self.placed(named) else {
            return self;
        };
        let mut next = self.apply(&step);
        next.label = named.label;
        let counts = [
            next.sessions.len(),
            next.turns.len(),
            next.calls.len(),
            next.gates.len(),
            next.parts.len(),
            next.tries.len(),
        ];
        for (names, count) in next.names.iter_mut().zip(counts) {
            let new = count - names.len();
            names.extend((0..new).map(|n| named.label * NAMES_OF_A_STEP + n));
        }
        next
    }

    /// The state after a step.
    pub(crate) fn apply(self, step: &Step) -> Self {
        let mut next = self.clone();
        next.arrows.clear();
        match next.carry_out(step) {
            Ok(outcome) => {
                next.last = outcome;
                next
            }
            Err(no) => Self {
                last: Outcome::Refused(no),
                arrows: Vec::new(),
                ..self
            },
        }
    }

    pub(crate) fn move_turn(&mut self, turn: usize, to: ContinuationState) -> Ruled {
        let from = self.turns[turn].state;
        if !table::allows(table::TURNS, from, to) {
            return Err(No::Illegal);
        }
        self.turns[turn].state = to;
        self.turns[turn].path.push(to);
        self.arrows.push(("turn", from.as_str(), to.as_str()));
        Ok(())
    }

    pub(crate) fn move_call(&mut self, call: usize, to: ToolCallState) -> Ruled {
        let from = self.calls[call].state;
        if !table::allows(table::CALLS, from, to) {
            return Err(No::Illegal);
        }
        self.calls[call].state = to;
        self.calls[call].finished = to.is_settled().then_some(self.now);
        self.arrows.push(("call", from.as_str(), to.as_str()));
        Ok(())
    }

    pub(crate) fn move_gate(&mut self, gate: usize, to: ApprovalState) -> Ruled {
        let from = self.gates[gate].state;
        if !table::allows(table::GATES, from, to) {
            return Err(No::Illegal);
        }
        self.gates[gate].state = to;
        self.arrows.push(("gate", from.as_str(), to.as_str()));
        Ok(())
    }

    pub(crate) fn move_part(&mut self, part: usize, to: OutboxState) -> Ruled {
        let from = self.parts[part].state;
        if !table::allows(table::PARTS, from, to) {
            return Err(No::Illegal);
        }
        self.parts[part].state = to;
        self.arrows.push(("part", from.as_str(), to.as_str()));
        Ok(())
    }

    /// The state of a turn that this boot runs.
    pub(crate) fn running(&self, turn: usize) -> Ruled {
        if self.turns[turn].state == ContinuationState::Running
            && self.turns[turn].epoch == self.epoch
        {
            Ok(())
        } else {
            Err(No::Illegal)
        }
    }

    pub(crate) fn started(&self, turn: usize) -> Vec<usize> {
        (0..self.calls.len())
            .filter(|call| {
                self.calls[*call].turn == turn && self.calls[*call].state == ToolCallState::Started
            })
            .collect()
    }

    /// Whether a call of the turn has no result yet.
    pub(crate) fn unanswered(&self, turn: usize) -> bool {
        self.calls
            .iter()
            .any(|call| call.turn == turn && call.result_step.is_none())
    }

    /// Questions that hold up a turn.
    pub(crate) fn waiting_gates(&self, turn: usize) -> usize {
        self.gates
            .iter()
            .filter(|gate| {
                gate.turn == Some(turn)
                    && gate.state == ApprovalState::Pending
                    && gate.kind != ApprovalKind::Resend
            })
            .count()
    }

    /// Adds a step, counted from 1.
    pub(crate) fn push_step(&mut self, turn: usize, kind: &'static str) -> Ruled<usize> {
        if self.turns[turn].state.is_terminal() {
            return Err(No::Illegal);
        }
        self.turns[turn].steps.push(kind);
        Ok(self.turns[turn].steps.len())
    }

    /// Ends a call with the one result that the model reads.
    pub(crate) fn settle_call(&mut self, call: usize, to: ToolCallState) -> Ruled {
        if self.calls[call].result_step.is_some() {
            return Err(No::Illegal);
        }
        self.move_call(call, to)?;
        let step = self.push_step(self.calls[call].turn, "tool_result")?;
        self.calls[call].result_step = Some(step);
        Ok(())
    }

    /// Settles a call to a model: what it used counts for its turn and session.
    pub(crate) fn settle_try(&mut self, attempt: usize, tokens: u32, failed: bool) -> Ruled {
        let found = &mut self.tries[attempt];
        if found.used.is_some() {
            return Err(No::Illegal);
        }
        found.used = Some(tokens);
        found.failed = failed;
        let (turn, of_turn) = (found.turn, found.of_turn);
        if of_turn {
            self.turns[turn].tokens += u64::from(tokens);
        }
        let session = self.turns[turn].session;
        self.sessions[session].tokens += u64::from(tokens);
        Ok(())
    }

    pub(crate) fn queue(&mut self, part: Part) -> usize {
        self.parts.push(Part {
            created: self.now,
            ..part
        });
        self.parts.len() - 1
    }

    /// A word of ours about a turn.
    pub(crate) fn notice(&mut self, turn: usize) -> usize {
        let session = &self.sessions[self.turns[turn].session];
        let part = plain_part(
            session.channel,
            format!("chat-{}", session.chat),
            OutboxClass::Notice,
        );
        self.queue(Part {
            turn: Some(turn),
            ..part
        })
    }

    /// Asks, and queues the cards.
    pub(crate) fn ask(
        &mut self,
        kind: ApprovalKind,
        channel: usize,
        about: About,
        offered: &[DecisionKind],
        question: Question,
    ) {
        self.gates.push(Gate {
            kind,
            state: ApprovalState::Pending,
            plan: about.call.map(|call| self.calls[call].plan),
            revision: 1,
            channel,
            turn: about.turn,
            call: about.call,
            part: about.part,
            budget: about.budget,
            baseline: about.baseline,
            offered: offered.to_vec(),
            expires: question.lives.map(|seconds| self.now + seconds * 1000),
            decision: None,
            decided: None,
            notified: false,
            waits: None,
        });
        let gate = self.gates.len() - 1;
        if let Some(call) = about.call {
            self.calls[call].gate = Some(gate);
        }
        self.queue_cards(gate, question.cards);
    }

    pub(crate) fn queue_cards(&mut self, gate: usize, cards: u8) {
        for _ in 0..cards {
            let part = plain_part(
                self.gates[gate].channel,
                "owner".to_owned(),
                OutboxClass::ApprovalCard,
            );
            let part = self.queue(Part {
                turn: self.gates[gate].turn,
                gate: Some(gate),
                ..part
            });
            for _ in 0..2 {
                self.tokens.push(Token {
                    gate,
                    part,
                    revision: self.gates[gate].revision,
                    spent: false,
                });
            }
        }
    }

    /// Makes every card of a question harmless; shown ones are updated when wanted.
    pub(crate) fn disarm(&mut self, gate: usize, update: bool) -> Ruled {
        for token in &mut self.tokens {
            token.spent |= token.gate == gate;
        }
        for part in 0..self.parts.len() {
            if self.parts[part].gate != Some(gate)
                || self.parts[part].class != OutboxClass::ApprovalCard
            {
                continue;
            }
            match self.parts[part].state {
                OutboxState::Pending => self.move_part(part, OutboxState::Superseded)?,
                OutboxState::Sent if update => self.update_card(part),
                _ => {}
            }
        }
        Ok(())
    }

    /// One edit for each message that shows a card.
    pub(crate) fn update_card(&mut self, card: usize) {
        for target in self.parts[card].refs.clone() {
            let shown = self.parts[card].clone();
            let part = plain_part(shown.channel, shown.conversation, OutboxClass::CardUpdate);
            self.queue(Part {
                turn: shown.turn,
                gate: shown.gate,
                target: Some(target),
                ..part
            });
        }
    }

    /// Closes a question without an answer.
    pub(crate) fn close_gate(&mut self, gate: usize, to: ApprovalState) -> Ruled {
        let to = if self.gates[gate].state == ApprovalState::Approved {
            ApprovalState::Revoked
        } else {
            to
        };
        self.move_gate(gate, to)?;
        self.disarm(gate, true)
    }

    /// Closes what is open in a turn that is about to end.
    pub(crate) fn close_open(
        &mut self,
        turn: usize,
        gates: ApprovalState,
        calls: ToolCallState,
    ) -> Ruled {
        for gate in 0..self.gates.len() {
            let row = &self.gates[gate];
            if row.turn == Some(turn)
                && row.kind != ApprovalKind::Resend
                && matches!(row.state, ApprovalState::Pending | ApprovalState::Approved)
            {
                self.close_gate(gate, gates)?;
            }
        }
        for call in 0..self.calls.len() {
            if self.calls[call].turn == turn
                && matches!(
                    self.calls[call].state,
                    ToolCallState::Ready | ToolCallState::Awaiting | ToolCallState::Approved
                )
            {
                self.move_call(call, calls)?;
            }
        }
        Ok(())
    }

    pub(crate) fn end_session(&mut self, session: usize) {
        self.sessions[session].state = SessionState::Ended;
        self.grants.retain(|grant| grant.session != session);
    }

    pub(crate) fn end_if_temporary(&mut self, turn: usize) {
        let session = self.turns[turn].session;
        // Somebody may have sent another message into it.
        let open = self
            .turns
            .iter()
            .any(|turn| turn.session == session && !turn.state.is_terminal());
        if self.sessions[session].temporary
            && self.sessions[session].state == SessionState::Active
            && !open
        {
            self.end_session(session);
        }
    }

    /// Ends a turn on somebody's word.
    pub(crate) fn cancel(&mut self, turn: usize, notice: bool) -> Ruled {
        if self.turns[turn].state.is_terminal() {
            return Err(No::Illegal);
        }
        self.close_open(turn, ApprovalState::Revoked, ToolCallState::Cancelled)?;
        self.move_turn(turn, ContinuationState::Cancelled)?;
        self.audit.push("continuation.cancelled");
        if notice {
            self.notice(turn);
        }
        Ok(())
    }
}

/// A part of one message, to be sent.
pub(crate) fn plain_part(channel: usize, conversation: String, class: OutboxClass) -> Part {
    Part {
        channel,
        conversation,
        turn: None,
        gate: None,
        class,
        state: OutboxState::Pending,
        part: 1,
        parts: 1,
        attempts: 0,
        epoch: 0,
        not_before: None,
        created: 0,
        offer: Offer::Nothing,
        begun: None,
        sent_at: 0,
        refs: Vec::new(),
        target: None,
        own: false,
    }
}
