//! Rules of what comes in and of turns: taking in, claiming, model calls, tool calls, endings.

use leverframe::protocol::enums::{
    ApprovalKind, ApprovalState, ContinuationState, DecisionKind, Disposition, Effect, OutboxClass,
    SessionState, ToolCallState,
};
use leverframe::store::input::BudgetKind;

use crate::store_model::model::{
    About, Call, Inbox, Model, No, Outcome, Part, Ruled, Run, Session, Try, Turn, plain_part,
};
use crate::store_model::rules_gate::QUIET;
use crate::store_model::step::{Ended, Item, Judged, Plan, Question, Step, Target};

/// What a question about a run offers.
pub(crate) const RUN: &[DecisionKind] = &[
    DecisionKind::Approve,
    DecisionKind::Deny,
    DecisionKind::DenyAndStop,
    DecisionKind::Answer,
];
/// What a question about an unknown outcome offers.
pub(crate) const UNKNOWN: &[DecisionKind] = &[
    DecisionKind::Happened,
    DecisionKind::RunAgain,
    DecisionKind::GiveUp,
];
/// What a question about a delivery offers.
pub(crate) const RESEND: &[DecisionKind] = &[
    DecisionKind::Sent,
    DecisionKind::SendAgain,
    DecisionKind::Drop,
];
/// What a question about a budget offers.
pub(crate) const BUDGET: &[DecisionKind] = &[DecisionKind::Approve, DecisionKind::Deny];
/// What a question about a raised configuration offers.
pub(crate) const RAISE: &[DecisionKind] = &[DecisionKind::Approve, DecisionKind::Deny];

/// Limits that a turn starts with.
pub(crate) const LIMITS: [u64; 4] = [8, 16, 120_000, 100_000];
/// Tokens of a session, and of a channel and all channels on the one day of every walk.
pub(crate) const SHARED: [u64; 3] = [150, 300, 450];
/// What a question about a shared limit offers to add.
pub(crate) const OFFERED: u8 = 50;
/// Milliseconds that each model call and each wait adds.
pub(crate) const ACTIVE: u64 = 5;
/// Milliseconds after which an unused decision is asked again.
pub(crate) const PATIENCE: i64 = 60_000;

impl Model {
    /// Carries a step out on this copy.
    pub(crate) fn carry_out(&mut self, step: &Step) -> Ruled<Outcome> {
        match step {
            Step::Stale(_) => Err(No::Illegal),
            Step::Ingest {
                item,
                target,
                queue,
                unlimited,
                notice,
                retry,
            } => self.ingest(item, *target, *queue, *unlimited, *notice, *retry),
            Step::Record {
                item,
                disposition,
                notice,
            } => self.record(item, *disposition, *notice),
            Step::OnceCancel { item, turn } => {
                let taken = self.record(item, Disposition::Command, false)?;
                if matches!(taken, Outcome::Ingested { repeated: true, .. }) {
                    return Ok(Outcome::Before);
                }
                let started = self.started(*turn);
                self.cancel(*turn, false)?;
                self.end_if_temporary(*turn);
                Ok(Outcome::Cancelled(started))
            }
            Step::Claim { session } => self.claim(*session),
            Step::Reserve { turn, tokens } => self.reserve(*turn, *tokens),
            Step::Settle { attempt, tokens } => {
                self.settle_try(*attempt, *tokens, true)?;
                self.turns[self.tries[*attempt].turn].active_ms += ACTIVE;
                Ok(Outcome::Done)
            }
            Step::Propose {
                turn,
                attempt,
                tokens,
                plans,
            } => self.propose(*turn, *attempt, *tokens, plans),
            Step::AskBudget {
                turn,
                budget,
                question,
            } => {
                self.may_wait(*turn)?;
                self.turns[*turn].active_ms += ACTIVE;
                let channel = self.sessions[self.turns[*turn].session].channel;
                let about = About {
                    turn: Some(*turn),
                    budget: Some(*budget),
                    ..About::default()
                };
                self.ask(ApprovalKind::Budget, channel, about, BUDGET, *question);
                self.move_turn(*turn, ContinuationState::AwaitingApproval)?;
                Ok(Outcome::Done)
            }
            Step::Park { turn, notice } => {
                self.may_wait(*turn)?;
                self.turns[*turn].active_ms += ACTIVE;
                if self.waiting_gates(*turn) == 0 {
                    return Ok(Outcome::Waits(false));
                }
                self.move_turn(*turn, ContinuationState::AwaitingApproval)?;
                if *notice {
                    self.notice(*turn);
                }
                Ok(Outcome::Waits(true))
            }
            Step::BeginCompaction { turn, tokens } => self.begin_compaction(*turn, *tokens),
            Step::CommitCompaction { session, tokens } => self.commit_compaction(*session, *tokens),
            Step::FailCompaction { session, tokens } => self.fail_compaction(*session, *tokens),
            Step::RetryCompaction { session, tokens } => self.retry_compaction(*session, *tokens),
            Step::SweepCompactions => {
                self.sweep_compactions();
                Ok(Outcome::Done)
            }
            Step::StartTool {
                call,
                right_plan,
                key_lives,
            } => self.start(*call, *right_plan, *key_lives),
            Step::RefuseCall { call } => {
                self.running(self.calls[*call].turn)?;
                self.drop_gate_of(*call)?;
                self.settle_call(*call, ToolCallState::Denied)?;
                self.audit.push("tool.refused");
                Ok(Outcome::Done)
            }
            Step::RecordHooks { call, sent } => {
                if *sent {
                    self.running(self.calls[*call].turn)?;
                }
                self.audit.push("hook.changed");
                Ok(Outcome::Done)
            }
            Step::ReopenApproval { call, question } => {
                self.running(self.calls[*call].turn)?;
                self.drop_gate_of(*call)?;
                self.move_call(*call, ToolCallState::Awaiting)?;
                self.new_plan(*call);
                self.audit.push("tool.asks_again");
                self.ask_run(*call, *question);
                Ok(Outcome::Done)
            }
            Step::FinishTool {
                call,
                last_attempt,
                ended,
            } => self.finish_tool(*call, *last_attempt, *ended),
            Step::FinishTurn {
                turn,
                attempt,
                tokens,
                parts,
            } => self.finish_turn(*turn, *attempt, *tokens, *parts),
            Step::FailTurn {
                turn,
                attempt,
                notice,
            } => {
                self.running(*turn)?;
                if let Some(attempt) = *attempt {
                    self.own(*turn, attempt)?;
                    self.settle_try(attempt, 7, true)?;
                }
                self.push_step(*turn, "error")?;
                self.close_open(*turn, ApprovalState::Revoked, ToolCallState::Cancelled)?;
                self.move_turn(*turn, ContinuationState::Failed)?;
                if *notice {
                    self.notice(*turn);
                }
                self.end_if_temporary(*turn);
                Ok(Outcome::Done)
            }
            Step::Yield { turn, interrupted } => {
                self.running(*turn)?;
                self.turns[*turn].active_ms += ACTIVE;
                if *interrupted {
                    self.move_turn(*turn, ContinuationState::Interrupted)?;
                } else {
                    self.may_wait(*turn)?;
                    self.move_turn(*turn, ContinuationState::Pending)?;
                }
                Ok(Outcome::Done)
            }
            Step::Cancel { turn, notice } => {
                let started = self.started(*turn);
                self.cancel(*turn, *notice)?;
                self.end_if_temporary(*turn);
                Ok(Outcome::Cancelled(started))
            }
            Step::Resume { turn } => {
                if self.turns[*turn].state != ContinuationState::Interrupted
                    || !self.started(*turn).is_empty()
                {
                    return Err(No::Illegal);
                }
                self.audit.push("continuation.resumed");
                let to = if self.waiting_gates(*turn) > 0 {
                    ContinuationState::AwaitingApproval
                } else {
                    ContinuationState::Pending
                };
                self.move_turn(*turn, to)?;
                Ok(Outcome::Done)
            }
            other => self.carry_out_more(other),
        }
    }

    /// What an item with this key became before.
    fn seen(&mut self, item: &Item) -> Ruled<Option<Outcome>> {
        let before = item.key.and_then(|key| {
            self.inbox.iter().find(|row| {
                row.channel == item.channel
                    && row.principal == item.principal
                    && row.key == Some(key)
            })
        });
        let Some(row) = before else { return Ok(None) };
        if row.body != item.body {
            return Err(No::KeyConflict);
        }
        let outcome = Outcome::Ingested {
            disposition: row.disposition,
            turn: row.turn,
            repeated: true,
        };
        self.save_cursor(item);
        Ok(Some(outcome))
    }

    fn save_cursor(&mut self, item: &Item) {
        if item.cursor {
            self.channels[item.channel].cursor = Some(item.body);
        }
    }

    fn take_in(&mut self, item: &Item, disposition: Disposition, turn: Option<usize>) -> Outcome {
        self.inbox.push(Inbox {
            channel: item.channel,
            principal: item.principal,
            key: item.key,
            body: item.body,
            disposition,
            turn,
        });
        self.save_cursor(item);
        Outcome::Ingested {
            disposition,
            turn,
            repeated: false,
        }
    }

    fn item_notice(&mut self, item: &Item) {
        self.queue(plain_part(
            item.channel,
            format!("chat-{}", item.chat),
            OutboxClass::Notice,
        ));
    }

    fn record(&mut self, item: &Item, disposition: Disposition, notice: bool) -> Ruled<Outcome> {
        if let Some(outcome) = self.seen(item)? {
            return Ok(outcome);
        }
        if disposition == Disposition::Turn {
            return Err(No::Illegal);
        }
        let outcome = self.take_in(item, disposition, None);
        if notice {
            self.item_notice(item);
        }
        Ok(outcome)
    }

    /// The active session of a conversation, or a new one.
    pub(crate) fn session_of(&mut self, channel: usize, chat: u8) -> usize {
        let found = self.sessions.iter().position(|session| {
            session.channel == channel
                && session.chat == chat
                && !session.temporary
                && session.state == SessionState::Active
        });
        found.unwrap_or_else(|| self.open_session(channel, chat, false))
    }

    fn open_session(&mut self, channel: usize, chat: u8, temporary: bool) -> usize {
        self.sessions.push(Session {
            channel,
            chat,
            state: SessionState::Active,
            temporary,
            paused: false,
            turns: 0,
            tokens: 0,
            summary: 0,
        });
        self.sessions.len() - 1
    }

    fn ingest(
        &mut self,
        item: &Item,
        target: Target,
        queue: u32,
        unlimited: bool,
        notice: bool,
        retry: Option<usize>,
    ) -> Ruled<Outcome> {
        if let Some(outcome) = self.seen(item)? {
            return Ok(outcome);
        }
        if retry.is_some_and(|turn| !self.turns[turn].state.is_terminal()) {
            return Err(No::Illegal);
        }
        let session = match target {
            Target::Session(session) if self.sessions[session].state == SessionState::Active => {
                session
            }
            Target::Session(_) => return Err(No::Illegal),
            Target::Chat => self.session_of(item.channel, item.chat),
            Target::Temporary => self.open_session(item.channel, item.chat, true),
        };
        let waiting = self
            .turns
            .iter()
            .filter(|turn| turn.session == session && turn.state == ContinuationState::Pending)
            .count();
        if !unlimited && self.holder(session).is_none() && waiting >= queue as usize {
            let outcome = self.take_in(item, Disposition::QueueFull, None);
            if notice {
                self.item_notice(item);
            }
            return Ok(outcome);
        }
        Ok(self.queue_turn(item, session, retry))
    }

    /// A turn that waits.
    pub(crate) fn queue_turn(
        &mut self,
        item: &Item,
        session: usize,
        retry: Option<usize>,
    ) -> Outcome {
        self.turns.push(Turn {
            session,
            state: ContinuationState::Pending,
            epoch: 0,
            attempt: 0,
            limits: LIMITS,
            model_steps: 0,
            calls: 0,
            active_ms: 0,
            tokens: 0,
            decided: None,
            retry,
            put_away: false,
            steps: Vec::new(),
            path: vec![ContinuationState::Pending],
        });
        self.sessions[session].turns += 1;
        self.take_in(item, Disposition::Turn, Some(self.turns.len() - 1))
    }

    /// The turn of a session that may run now: the oldest that waits, when none runs and nothing holds it.
    pub(crate) fn next_turn(&self, session: usize) -> Option<usize> {
        let of = |state| {
            self.turns
                .iter()
                .position(move |turn| turn.session == session && turn.state == state)
        };
        if self.quarantine
            || self.sessions[session].paused
            || self.holder(session).is_some()
            || of(ContinuationState::Running).is_some()
        {
            return None;
        }
        let draining = self.channels[self.sessions[session].channel].draining;
        self.turns.iter().position(|turn| {
            turn.session == session
                && turn.state == ContinuationState::Pending
                && (turn.attempt > 0 || !draining)
        })
    }

    fn claim(&mut self, session: usize) -> Ruled<Outcome> {
        let found = self.next_turn(session);
        if let Some(turn) = found {
            self.move_turn(turn, ContinuationState::Running)?;
            self.turns[turn].epoch = self.epoch;
            self.turns[turn].attempt += 1;
        }
        Ok(Outcome::Claimed(found))
    }

    fn reserve(&mut self, turn: usize, tokens: u32) -> Ruled<Outcome> {
        self.running(turn)?;
        if self.quarantine || self.unanswered(turn) {
            return Err(No::Illegal);
        }
        if let Some(budget) = self.used_up(turn, u64::from(tokens), true) {
            return Ok(Outcome::Exhausted(budget));
        }
        self.tries.push(Try {
            turn,
            epoch: self.epoch,
            estimate: tokens,
            used: None,
            failed: false,
            of_turn: true,
        });
        Ok(Outcome::Done)
    }

    /// The first limit that a call does not fit in: what calls used or may use, of the turn, its session, its channel
    /// and in all.
    pub(crate) fn used_up(&self, turn: usize, asked: u64, of_turn: bool) -> Option<BudgetKind> {
        let session = self.turns[turn].session;
        let channel = self.sessions[session].channel;
        let sum = |which: &dyn Fn(&Try) -> bool| -> u64 {
            self.tries
                .iter()
                .filter(|row| which(row))
                .map(|row| u64::from(row.used.unwrap_or(row.estimate)))
                .sum()
        };
        let of = |row: &Try| self.turns[row.turn].session;
        let added = |budget: BudgetKind| -> u64 {
            self.added
                .iter()
                .filter(|row| row.budget == budget)
                .filter(|row| row.session.is_none_or(|of| of == session))
                .filter(|row| row.channel.is_none_or(|of| of == channel))
                .map(|row| row.amount)
                .sum()
        };
        let [of_session, of_channel, of_day] = SHARED;
        [
            (
                BudgetKind::Tokens,
                self.turns[turn].limits[3],
                sum(&|row| row.turn == turn && row.of_turn),
            ),
            (
                BudgetKind::SessionTokens,
                of_session,
                sum(&|row| of(row) == session),
            ),
            (
                BudgetKind::ChannelTokens,
                of_channel,
                sum(&|row| self.sessions[of(row)].channel == channel),
            ),
            (BudgetKind::DayTokens, of_day, sum(&|_| true)),
        ]
        .into_iter()
        .filter(|(budget, ..)| of_turn || *budget != BudgetKind::Tokens)
        .find(|(budget, limit, used)| used + asked > limit + added(*budget))
        .map(|(budget, _, _)| budget)
    }

    /// A model call settles only the turn it was made for.
    fn own(&self, turn: usize, attempt: usize) -> Ruled {
        if self.tries[attempt].turn == turn {
            Ok(())
        } else {
            Err(No::Illegal)
        }
    }

    fn model_step(&mut self, turn: usize, attempt: usize, tokens: u32) -> Ruled<usize> {
        self.own(turn, attempt)?;
        // Every call has its result before the model speaks again.
        if self.unanswered(turn) {
            return Err(No::Illegal);
        }
        self.settle_try(attempt, tokens, false)?;
        self.turns[turn].model_steps += 1;
        self.turns[turn].active_ms += ACTIVE;
        self.push_step(turn, "model")
    }

    fn propose(
        &mut self,
        turn: usize,
        attempt: usize,
        tokens: u32,
        plans: &[Plan],
    ) -> Ruled<Outcome> {
        self.running(turn)?;
        let step = self.model_step(turn, attempt, tokens)?;
        self.turns[turn].calls += plans.len() as u64;
        let channel = self.sessions[self.turns[turn].session].channel;
        for (index, plan) in plans.iter().enumerate() {
            self.calls.push(Call {
                turn,
                step,
                index,
                state: ToolCallState::Proposed,
                effect: plan.effect,
                plan: 1,
                verdict: match plan.verdict {
                    Judged::Ready => "allow",
                    Judged::Ask(_) => "ask",
                    Judged::Refused(_) => "deny",
                },
                policy_version: self.channels[channel].version,
                gate: None,
                attempts: 0,
                result_step: None,
                finished: None,
            });
            let call = self.calls.len() - 1;
            match plan.verdict {
                Judged::Ready => self.move_call(call, ToolCallState::Ready)?,
                Judged::Ask(question) => {
                    self.move_call(call, ToolCallState::Awaiting)?;
                    self.ask_run(call, question);
                }
                Judged::Refused(state) => {
                    if !matches!(
                        state,
                        ToolCallState::Blocked | ToolCallState::Denied | ToolCallState::Failed
                    ) {
                        return Err(No::Illegal);
                    }
                    self.settle_call(call, state)?;
                }
            }
        }
        Ok(Outcome::Done)
    }

    fn ask_run(&mut self, call: usize, question: Question) {
        let turn = self.calls[call].turn;
        let channel = self.sessions[self.turns[turn].session].channel;
        let about = About {
            turn: Some(turn),
            call: Some(call),
            ..About::default()
        };
        self.ask(ApprovalKind::Execute, channel, about, RUN, question);
    }

    /// Another plan was judged, by the policy as it is now.
    pub(crate) fn new_plan(&mut self, call: usize) {
        let channel = self.sessions[self.turns[self.calls[call].turn].session].channel;
        self.calls[call].plan += 1;
        self.calls[call].verdict = "ask";
        self.calls[call].policy_version = self.channels[channel].version;
    }

    fn drop_gate_of(&mut self, call: usize) -> Ruled {
        if let Some(gate) = self.calls[call].gate
            && matches!(
                self.gates[gate].state,
                ApprovalState::Pending | ApprovalState::Approved
            )
        {
            self.close_gate(gate, ApprovalState::Revoked)?;
        }
        Ok(())
    }

    /// Running with nothing in flight: it may be put down.
    fn may_wait(&self, turn: usize) -> Ruled {
        self.running(turn)?;
        if self.started(turn).is_empty() {
            Ok(())
        } else {
            Err(No::Illegal)
        }
    }

    fn start(&mut self, call: usize, right_plan: bool, key_lives: Option<i64>) -> Ruled<Outcome> {
        let turn = self.calls[call].turn;
        self.running(turn)?;
        if self.quarantine {
            return Err(No::Illegal);
        }
        let may_start = matches!(
            self.calls[call].state,
            ToolCallState::Ready | ToolCallState::Approved
        );
        // A keyed run that died with its process, and that a second one would repeat.
        let earlier = self.runs.iter().position(|run| {
            run.call == call
                && run.attempt == self.calls[call].attempts
                && run.outcome == Some(ToolCallState::Ready)
                && self.calls[call].effect == Effect::Keyed
        });
        let inherited = earlier.and_then(|run| self.runs[run].key_until);
        if let Some(run) = earlier
            && may_start
            && inherited.is_some_and(|until| until <= self.now)
        {
            self.runs[run].outcome = Some(ToolCallState::Indeterminate);
            if let Some(gate) = self.calls[call].gate
                && self.calls[call].state == ToolCallState::Approved
            {
                self.close_gate(gate, ApprovalState::Revoked)?;
            }
            self.move_call(call, ToolCallState::Indeterminate)?;
            self.ask_unknown(call, QUIET);
            return Ok(Outcome::KeyRanOut);
        }
        let own = key_lives.map(|seconds| self.now + seconds * 1000);
        let mut used = None;
        match self.calls[call].state {
            ToolCallState::Ready if !right_plan => return Ok(Outcome::OtherPlan),
            ToolCallState::Ready => {}
            ToolCallState::Approved => {
                let gate = self.calls[call].gate.ok_or(No::Illegal)?;
                if !right_plan {
                    return Ok(Outcome::OtherPlan);
                }
                // A decision ages from the moment nothing stood in the way of its call any more.
                let free = self
                    .calls
                    .iter()
                    .filter(|other| other.turn == turn && other.step == self.calls[call].step)
                    .filter_map(|other| other.finished)
                    .chain(self.turns[turn].decided)
                    .chain(self.gates[gate].decided)
                    .max()
                    .unwrap_or(0);
                if self.now - free > PATIENCE {
                    self.move_gate(gate, ApprovalState::Pending)?;
                    self.grants.retain(|grant| grant.gate != gate);
                    self.gates[gate].revision += 1;
                    self.gates[gate].decision = None;
                    self.gates[gate].decided = None;
                    self.move_call(call, ToolCallState::Awaiting)?;
                    self.audit.push("approval.returned");
                    return Ok(Outcome::TooOld);
                }
                self.move_gate(gate, ApprovalState::Consumed)?;
                used = Some(gate);
            }
            state => return Ok(Outcome::NotStartable(state)),
        }
        self.move_call(call, ToolCallState::Started)?;
        self.calls[call].attempts += 1;
        let attempt = self.calls[call].attempts;
        self.runs.push(Run {
            call,
            attempt,
            epoch: self.epoch,
            gate: used,
            // The other side counts from the run that reached it first.
            key_until: own.into_iter().chain(inherited).min(),
            outcome: None,
        });
        self.audit.push("tool.started");
        Ok(Outcome::Started(attempt))
    }

    fn finish_tool(&mut self, call: usize, last: bool, ended: Ended) -> Ruled<Outcome> {
        let attempts = self.calls[call].attempts;
        let attempt = if last { attempts } else { attempts + 1 };
        let epoch = self.epoch;
        let run = self
            .runs
            .iter_mut()
            .find(|run| run.call == call && run.attempt == attempt && run.outcome.is_none())
            .ok_or(No::Illegal)?;
        if run.epoch != epoch {
            return Err(No::Illegal);
        }
        let state = match ended {
            Ended::Well => ToolCallState::Succeeded,
            Ended::Badly => ToolCallState::Failed,
            Ended::Unknown(_) | Ended::UnknownUnasked => ToolCallState::Indeterminate,
            Ended::Nonsense => return Err(No::Illegal),
        };
        run.outcome = Some(state);
        let turn = self.calls[call].turn;
        let over = self.turns[turn].state.is_terminal();
        let unknown = state == ToolCallState::Indeterminate;
        if over || unknown {
            self.move_call(call, state)?;
        } else {
            self.settle_call(call, state)?;
        }
        self.audit.push("tool.finished");
        if unknown && !over {
            let Ended::Unknown(question) = ended else {
                return Err(No::Illegal);
            };
            self.ask_unknown(call, question);
        }
        Ok(Outcome::Done)
    }

    /// Asks what became of a run.
    pub(crate) fn ask_unknown(&mut self, call: usize, question: Question) {
        let turn = self.calls[call].turn;
        let channel = self.sessions[self.turns[turn].session].channel;
        let about = About {
            turn: Some(turn),
            call: Some(call),
            ..About::default()
        };
        self.ask(
            ApprovalKind::ResolveUnknown,
            channel,
            about,
            UNKNOWN,
            question,
        );
    }

    fn finish_turn(
        &mut self,
        turn: usize,
        attempt: Option<usize>,
        tokens: u32,
        parts: u8,
    ) -> Ruled<Outcome> {
        self.running(turn)?;
        if self.unanswered(turn) || self.waiting_gates(turn) > 0 {
            return Err(No::Illegal);
        }
        if let Some(attempt) = attempt {
            self.model_step(turn, attempt, tokens)?;
        }
        self.push_step(turn, "final")?;
        self.move_turn(turn, ContinuationState::Completed)?;
        let session = self.sessions[self.turns[turn].session].clone();
        for part in 1..=parts {
            let new = plain_part(
                session.channel,
                format!("chat-{}", session.chat),
                OutboxClass::Final,
            );
            self.queue(Part {
                turn: Some(turn),
                part: u32::from(part),
                parts: u32::from(parts),
                ..new
            });
        }
        self.end_if_temporary(turn);
        Ok(Outcome::Done)
    }
}
