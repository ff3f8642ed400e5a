//! Rules of what people and time decide: approvals, deadlines, policy, the emergency stop, sessions.

use leverframe::protocol::enums::{
    ApprovalKind, ApprovalState, Autonomy, ContinuationState, DecisionKind, Effect, OutboxState,
    SessionState, ToolCallState,
};
use leverframe::store::input::BudgetKind;

use crate::store_model::model::{About, Added, Grant, Model, No, Outcome, Ruled};
use crate::store_model::rules_turn::{OFFERED, RAISE};
use crate::store_model::step::{Question, Shown, Step};

/// Seconds that a snooze lasts when nothing else is said.
const SNOOZE: i64 = 3600;
/// The engine, where a person is named.
pub(crate) const ENGINE: u8 = 9;
/// A question without cards and deadline.
pub(crate) const QUIET: Question = Question {
    lives: None,
    cards: 0,
};

/// A decision.
#[derive(Debug, Clone, Copy)]
struct Word {
    word: DecisionKind,
    for_session: bool,
    extra: Option<u8>,
}

impl Model {
    /// The rules that are not those of turns.
    pub(crate) fn carry_out_more(&mut self, step: &Step) -> Ruled<Outcome> {
        match step {
            Step::Decide {
                gate,
                word,
                shown,
                for_session,
                extra,
                person,
            } => {
                let word = Word {
                    word: *word,
                    for_session: *for_session,
                    extra: *extra,
                };
                self.decide(*gate, word, *shown, *person)
            }
            Step::Revise { gate, shown, cards } => self.revise(*gate, *shown, *cards),
            Step::ExpireDue => self.expire_due(),
            Step::StartSession { channel, chat } => {
                self.session_of(*channel, *chat);
                Ok(Outcome::Done)
            }
            Step::UpdateSession { session, paused } => {
                if self.sessions[*session].state != SessionState::Active {
                    return Err(No::Illegal);
                }
                if let Some(paused) = *paused {
                    self.sessions[*session].paused = paused;
                    self.audit.push("session.updated");
                }
                Ok(Outcome::Done)
            }
            Step::EndSession { session } => {
                if self.sessions[*session].state != SessionState::Active {
                    return Ok(Outcome::Turns(Vec::new()));
                }
                let open: Vec<usize> = (0..self.turns.len())
                    .filter(|turn| {
                        self.turns[*turn].session == *session
                            && !self.turns[*turn].state.is_terminal()
                    })
                    .collect();
                for turn in &open {
                    self.cancel(*turn, false)?;
                }
                self.end_session(*session);
                Ok(Outcome::Turns(open))
            }
            Step::SetPolicy {
                channel,
                autonomy,
                lives,
                right_version,
            } => {
                if *right_version == Some(false) {
                    return Err(No::Version);
                }
                let now = self.now;
                let policy = &mut self.channels[*channel];
                if let Some(autonomy) = *autonomy {
                    // Under two temporary levels lies the permanent one.
                    let permanent = policy.reverts.unwrap_or(policy.autonomy);
                    policy.autonomy = autonomy;
                    policy.expires = lives.map(|seconds| now + seconds * 1000);
                    policy.reverts = lives.map(|_| permanent);
                }
                self.new_version(*channel);
                Ok(Outcome::Done)
            }
            Step::EnsureChannel { channel, autonomy } => self.ensure(*channel, *autonomy),
            Step::TakeOver {
                session,
                person,
                force,
            } => self.take_over(*session, *person, *force),
            Step::Say {
                session,
                person,
                right_hold,
            } => self.say(*session, *person, *right_hold),
            Step::GiveBack {
                session,
                person,
                force,
            } => self.give_back(*session, *person, *force),
            Step::DrainChannel { channel, draining } => {
                self.channels[*channel].draining = *draining;
                self.audit.push("channel.draining");
                Ok(Outcome::Done)
            }
            Step::Assignment {
                gate,
                shown,
                to,
                person,
            } => Ok(self.assign(*gate, *shown, *to, *person)),
            Step::OnCall { who } => {
                if who.is_some() || self.on_call.is_some() {
                    self.audit.push("oncall.set");
                }
                self.on_call = *who;
                Ok(Outcome::Done)
            }
            Step::PauseChannel { channel, paused } => {
                self.channels[*channel].paused = *paused;
                self.audit.push("channel.paused");
                Ok(Outcome::Done)
            }
            Step::Hold { drop_full } => {
                self.held = true;
                self.audit.push("engine.held");
                if *drop_full {
                    for channel in [1, 0] {
                        let policy = &mut self.channels[channel];
                        if policy.autonomy == Autonomy::Full {
                            policy.autonomy = policy
                                .reverts
                                .filter(|level| *level < Autonomy::Full)
                                .unwrap_or(Autonomy::Supervised);
                            policy.expires = None;
                            policy.reverts = None;
                            self.new_version(channel);
                        }
                    }
                }
                Ok(Outcome::Done)
            }
            Step::Release => {
                self.held = false;
                self.audit.push("engine.released");
                Ok(Outcome::Done)
            }
            Step::DropWaiting { keep_newest } => self.drop_waiting(*keep_newest),
            Step::RecordUnknownCall { gate } => {
                let row = &self.gates[*gate];
                let asks = matches!(
                    row.kind,
                    ApprovalKind::ResolveUnknown | ApprovalKind::Resend
                );
                if asks && row.state == ApprovalState::Pending {
                    self.audit.push("outcome.looked_up");
                }
                Ok(Outcome::Done)
            }
            Step::Probe => Ok(Outcome::Done),
            Step::Tidy => {
                self.tidied.push(false);
                self.audit.push("hygiene.run");
                Ok(Outcome::Done)
            }
            Step::TakeBack => match self.tidied.last_mut() {
                None => Ok(Outcome::Done),
                Some(true) => Err(No::Illegal),
                Some(back) => {
                    *back = true;
                    self.audit.push("hygiene.undone");
                    Ok(Outcome::Done)
                }
            },
            Step::ReleaseQuarantine => {
                if self.quarantine {
                    self.quarantine = false;
                    self.audit.push("quarantine.released");
                }
                Ok(Outcome::Done)
            }
            other => self.carry_out_delivery(other),
        }
    }

    fn new_version(&mut self, channel: usize) {
        self.channels[channel].version += 1;
        self.audit.push("policy.changed");
    }

    fn decide(&mut self, gate: usize, said: Word, shown: Shown, person: u8) -> Ruled<Outcome> {
        let state = self.gates[gate].state;
        let taking_back = said.word == DecisionKind::Revoke && state == ApprovalState::Approved;
        if state != ApprovalState::Pending && !taking_back {
            // The first decision counts; the same again is fine.
            return Ok(match self.gates[gate].decision {
                Some((word, for_session))
                    if word == said.word && for_session == said.for_session =>
                {
                    Outcome::Same
                }
                Some((word, _)) => Outcome::Lost(word),
                None if state == ApprovalState::Expired => Outcome::TooLate,
                None => Outcome::NotPending(state),
            });
        }
        if said.word == DecisionKind::Revoke && !taking_back {
            return Ok(Outcome::NotPending(state));
        }
        if matches!(shown, Shown::WrongDigest | Shown::WrongRevision) {
            return Ok(Outcome::Stale);
        }
        if !taking_back && self.gates[gate].expires.is_some_and(|at| at <= self.now) {
            return Ok(Outcome::TooLate);
        }
        if said.word == DecisionKind::Snooze {
            // Back ten minutes before the deadline, whatever was asked for.
            let last = self.gates[gate].expires.map(|at| at - 600_000);
            let until = last.map_or(self.now + SNOOZE * 1000, |last| {
                last.min(self.now + SNOOZE * 1000)
            });
            if until <= self.now {
                return Err(No::Illegal);
            }
            self.snoozes
                .retain(|(asked, who, _)| (*asked, *who) != (gate, person));
            self.snoozes.push((gate, person, until));
            return Ok(Outcome::Decided);
        }
        if !taking_back && !self.gates[gate].offered.contains(&said.word) {
            return Err(No::Illegal);
        }
        // The engine lets run again what it could look up; for the rest only a person answers.
        if person == ENGINE
            && said.word == DecisionKind::RunAgain
            && self.gates[gate]
                .call
                .is_some_and(|call| self.calls[call].effect == Effect::NonIdempotent)
        {
            return Err(No::Illegal);
        }
        self.carry_out_word(gate, said)?;
        self.audit.push("approval.decided");
        self.disarm(gate, true)?;
        if let Some(turn) = self.gates[gate].turn
            && self.gates[gate].kind != ApprovalKind::Resend
        {
            if said.word == DecisionKind::DenyAndStop && !self.turns[turn].state.is_terminal() {
                self.cancel(turn, false)?;
                self.end_if_temporary(turn);
            }
            self.go_on(turn)?;
        }
        Ok(Outcome::Decided)
    }

    /// The last gate fell: a parked turn goes on.
    fn go_on(&mut self, turn: usize) -> Ruled {
        if self.turns[turn].state.is_terminal() || self.waiting_gates(turn) > 0 {
            return Ok(());
        }
        self.turns[turn].decided = Some(self.now);
        if self.turns[turn].state == ContinuationState::AwaitingApproval {
            self.move_turn(turn, ContinuationState::Pending)?;
        }
        Ok(())
    }

    /// Writes down who said what.
    pub(crate) fn answer(
        &mut self,
        gate: usize,
        to: ApprovalState,
        word: DecisionKind,
        for_session: bool,
    ) -> Ruled {
        self.move_gate(gate, to)?;
        self.gates[gate].decision = Some((word, for_session));
        self.gates[gate].decided = Some(self.now);
        Ok(())
    }

    fn carry_out_word(&mut self, gate: usize, said: Word) -> Ruled {
        use ApprovalState::{Approved, Consumed, Denied, Revoked};
        let word = said.word;
        let asked = self.gates[gate].clone();
        let answer = |model: &mut Self, to| model.answer(gate, to, word, said.for_session);
        match (asked.kind, word) {
            (ApprovalKind::Execute, DecisionKind::Approve) => {
                let (call, turn) = (
                    asked.call.ok_or(No::Illegal)?,
                    asked.turn.ok_or(No::Illegal)?,
                );
                // What a call became under a later plan is of high risk here: nobody allows that for a session.
                if said.for_session && self.calls[call].plan > 1 {
                    return Err(No::Illegal);
                }
                answer(self, Approved)?;
                self.move_call(call, ToolCallState::Approved)?;
                if said.for_session {
                    let session = self.turns[turn].session;
                    let arguments = arguments(call, self.calls[call].plan);
                    self.grants
                        .retain(|grant| (grant.session, &grant.arguments) != (session, &arguments));
                    self.grants.push(Grant {
                        session,
                        arguments,
                        gate,
                    });
                }
                Ok(())
            }
            (ApprovalKind::Execute, DecisionKind::Deny | DecisionKind::DenyAndStop) => {
                answer(self, Denied)?;
                self.settle_call(asked.call.ok_or(No::Illegal)?, ToolCallState::Denied)
            }
            (ApprovalKind::Execute, DecisionKind::Answer) => {
                answer(self, Consumed)?;
                self.push_step(asked.turn.ok_or(No::Illegal)?, "operator_note")?;
                self.settle_call(asked.call.ok_or(No::Illegal)?, ToolCallState::Succeeded)
            }
            (ApprovalKind::Execute, DecisionKind::Revoke) => {
                answer(self, Revoked)?;
                self.grants.retain(|grant| grant.gate != gate);
                self.settle_call(asked.call.ok_or(No::Illegal)?, ToolCallState::Denied)
            }
            (ApprovalKind::ResolveUnknown, _) => {
                let call = asked.call.ok_or(No::Illegal)?;
                let (to, state) = match word {
                    DecisionKind::Happened => (Consumed, ToolCallState::SucceededByNote),
                    DecisionKind::RunAgain => (Consumed, ToolCallState::Ready),
                    _ => (Denied, ToolCallState::Abandoned),
                };
                answer(self, to)?;
                self.push_step(asked.turn.ok_or(No::Illegal)?, "operator_note")?;
                if state == ToolCallState::Ready {
                    self.move_call(call, state)
                } else {
                    self.settle_call(call, state)
                }
            }
            (ApprovalKind::Budget, DecisionKind::Approve) => {
                let turn = asked.turn.ok_or(No::Illegal)?;
                answer(self, Consumed)?;
                let budget = asked.budget.ok_or(No::Illegal)?;
                let (limit, unit) = match budget {
                    BudgetKind::Steps => (0, 1),
                    BudgetKind::ToolCalls => (1, 1),
                    // Asked for and given in seconds.
                    BudgetKind::ActiveMs => (2, 1000),
                    BudgetKind::Tokens => (3, 1),
                    // No turn of a walk has one to raise.
                    BudgetKind::Cost => return Ok(()),
                    BudgetKind::SessionTokens
                    | BudgetKind::SessionCost
                    | BudgetKind::ChannelTokens
                    | BudgetKind::ChannelCost
                    | BudgetKind::DayTokens
                    | BudgetKind::DayCost => {
                        let session = self.turns[turn].session;
                        let of_session =
                            matches!(budget, BudgetKind::SessionTokens | BudgetKind::SessionCost);
                        let of_channel =
                            matches!(budget, BudgetKind::ChannelTokens | BudgetKind::ChannelCost);
                        let channel = self.sessions[session].channel;
                        self.added.push(Added {
                            gate,
                            budget,
                            session: of_session.then_some(session),
                            channel: of_channel.then_some(channel),
                            amount: u64::from(said.extra.unwrap_or(OFFERED)),
                        });
                        return Ok(());
                    }
                };
                let limit = &mut self.turns[turn].limits[limit];
                // Without an amount as much again; each number must still fit 32 bits.
                let more = said.extra.map_or(*limit, |extra| u64::from(extra) * unit);
                *limit = (*limit + more).min(u64::from(u32::MAX));
                Ok(())
            }
            (ApprovalKind::Budget, _) => {
                let turn = asked.turn.ok_or(No::Illegal)?;
                answer(self, Denied)?;
                self.push_step(turn, "error")?;
                self.close_open(turn, Revoked, ToolCallState::Cancelled)?;
                self.move_turn(turn, ContinuationState::Failed)?;
                self.end_if_temporary(turn);
                Ok(())
            }
            (ApprovalKind::Resend, _) => {
                let (to, state) = match word {
                    DecisionKind::Sent => (Consumed, OutboxState::Sent),
                    DecisionKind::SendAgain => (Consumed, OutboxState::Pending),
                    _ => (Denied, OutboxState::Abandoned),
                };
                answer(self, to)?;
                self.settle_part(asked.part.ok_or(No::Illegal)?, state)
            }
            (ApprovalKind::PolicyRaise, _) => {
                let raised = asked.baseline.ok_or(No::Illegal)?;
                let accepted = word == DecisionKind::Approve;
                answer(self, if accepted { Consumed } else { Denied })?;
                let policy = &mut self.channels[asked.channel];
                policy.baseline = raised;
                if accepted {
                    if raised > policy.autonomy {
                        policy.autonomy = raised;
                        policy.expires = None;
                        policy.reverts = None;
                    } else {
                        policy.reverts = policy.reverts.map(|level| level.max(raised));
                    }
                    self.new_version(asked.channel);
                }
                Ok(())
            }
            _ => Err(No::Illegal),
        }
    }

    fn revise(&mut self, gate: usize, shown: Shown, cards: u8) -> Ruled<Outcome> {
        let asked = self.gates[gate].clone();
        if asked.state != ApprovalState::Pending {
            return Ok(match asked.decision {
                Some((word, _)) => Outcome::Lost(word),
                None => Outcome::NotPending(asked.state),
            });
        }
        if shown == Shown::WrongDigest {
            return Ok(Outcome::Stale);
        }
        if asked.expires.is_some_and(|at| at <= self.now) {
            return Ok(Outcome::TooLate);
        }
        let (Some(call), Some(turn)) = (asked.call, asked.turn) else {
            return Err(No::Illegal);
        };
        if self.calls[call].state != ToolCallState::Awaiting {
            return Err(No::Illegal);
        }
        self.disarm(gate, true)?;
        self.new_plan(call);
        self.gates[gate].plan = Some(self.calls[call].plan);
        self.gates[gate].revision += 1;
        self.push_step(turn, "operator_note")?;
        self.audit.push("approval.edited");
        self.queue_cards(gate, cards);
        Ok(Outcome::Decided)
    }

    fn expire_due(&mut self) -> Ruled<Outcome> {
        let now = self.now;
        let mut due: Vec<(i64, usize)> = (0..self.gates.len())
            .filter(|gate| self.gates[*gate].state == ApprovalState::Pending)
            .filter_map(|gate| Some((self.gates[gate].expires?, gate)))
            .filter(|(at, _)| *at <= now)
            .collect();
        due.sort_unstable();
        let mut expired = Vec::new();
        for (_, gate) in due {
            // Another gate of its turn took it along.
            if self.gates[gate].state != ApprovalState::Pending {
                continue;
            }
            let turn = self.gates[gate]
                .turn
                .filter(|_| self.gates[gate].kind != ApprovalKind::Resend);
            // What runs is not ended under its own feet: it expires once it waits.
            if turn.is_some_and(|turn| self.turns[turn].state == ContinuationState::Running) {
                continue;
            }
            self.close_gate(gate, ApprovalState::Expired)?;
            self.audit.push("approval.expired");
            expired.push(gate);
            if let Some(turn) = turn {
                self.close_open(turn, ApprovalState::Revoked, ToolCallState::Expired)?;
                self.move_turn(turn, ContinuationState::Expired)?;
                let notice = self.notice(turn);
                self.parts[notice].own = true;
                self.end_if_temporary(turn);
            }
        }
        let mut channels = Vec::new();
        // By name: desk, team.
        for channel in [1, 0] {
            let policy = &mut self.channels[channel];
            if policy.expires.is_some_and(|at| at <= now) {
                policy.autonomy = policy.reverts.unwrap_or(Autonomy::Supervised);
                policy.expires = None;
                policy.reverts = None;
                self.new_version(channel);
                channels.push(channel);
            }
        }
        Ok(Outcome::Expired(expired, channels))
    }

    /// A start reads the configuration: what is stricter holds at once, what is looser is asked about.
    fn ensure(&mut self, channel: usize, autonomy: Autonomy) -> Ruled<Outcome> {
        let before = self.channels[channel].baseline;
        if autonomy < before {
            let policy = &mut self.channels[channel];
            let old = (policy.autonomy, policy.expires, policy.reverts);
            if policy.autonomy > autonomy {
                policy.autonomy = autonomy;
                policy.expires = None;
                policy.reverts = None;
            }
            policy.reverts = policy.reverts.map(|level| level.min(autonomy));
            if (policy.autonomy, policy.expires, policy.reverts) != old {
                self.new_version(channel);
            }
            self.channels[channel].baseline = autonomy;
        }
        let raised = autonomy > before;
        let mut asked = false;
        for gate in 0..self.gates.len() {
            let row = &self.gates[gate];
            if row.kind != ApprovalKind::PolicyRaise
                || row.channel != channel
                || row.state != ApprovalState::Pending
            {
                continue;
            }
            if raised && row.baseline == Some(autonomy) {
                asked = true;
            } else {
                self.close_gate(gate, ApprovalState::Revoked)?;
            }
        }
        if raised && !asked {
            let about = About {
                baseline: Some(autonomy),
                ..About::default()
            };
            self.ask(ApprovalKind::PolicyRaise, channel, about, RAISE, QUIET);
        }
        Ok(Outcome::Done)
    }

    fn drop_waiting(&mut self, keep_newest: bool) -> Ruled<Outcome> {
        let waiting: Vec<usize> = (0..self.turns.len())
            .rev()
            .filter(|turn| {
                matches!(
                    self.turns[*turn].state,
                    ContinuationState::Pending | ContinuationState::Interrupted
                )
            })
            .collect();
        let (mut kept, mut told, mut dropped) = (Vec::new(), Vec::new(), Vec::new());
        for turn in waiting {
            let session = self.turns[turn].session;
            if keep_newest && !kept.contains(&session) {
                kept.push(session);
                continue;
            }
            let place = (self.sessions[session].channel, self.sessions[session].chat);
            let first = !told.contains(&place);
            if first {
                told.push(place);
            }
            self.cancel(turn, first)?;
            self.end_if_temporary(turn);
            dropped.push(turn);
        }
        self.audit.push("waiting.settled");
        Ok(Outcome::Turns(dropped))
    }
}

/// The text of a call's arguments.
pub(crate) fn arguments(call: usize, plan: u32) -> String {
    format!("arguments {call}.{plan}")
}
