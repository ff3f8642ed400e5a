//! The turn as a pure state machine: `(state, input) -> effects`. Nothing here performs I/O, reads a clock or
//! knows the store; the driver does, and reports back as [`Input`].
//!
//! Invariants, tested by property: a tool starts only when its call is ready or approved; gated calls start
//! only after every decision of their step; the model is asked only when every call is settled; after
//! [`Phase::Over`] nothing happens any more.

use crate::engine::turn::effect::Effect;
use crate::engine::turn::input::{Call, CallStatus, Halt, Input};
use crate::protocol::budget::{TurnLimits, TurnUsage};
use crate::protocol::ids::ToolCallId;
use crate::store::input::BudgetKind;

/// Where the turn is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Not yet claimed by a driver.
    Idle,
    /// The model was asked.
    CallingModel,
    /// Proposed calls are being evaluated and stored.
    RecordingCalls,
    /// Calls of the current step are being worked on.
    Tools,
    /// Tools are being killed before letting go.
    Halting(Halt),
    /// Parking: waiting to hear whether gates still wait.
    Parking,
    /// This driver has nothing more to do.
    Over,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    limits: TurnLimits,
    used: TurnUsage,
    calls: Vec<Call>,
    phase: Phase,
}

impl Turn {
    /// A turn as the store holds it: what it may use, what it has used, and the calls of its last step.
    pub fn restore(limits: TurnLimits, used: TurnUsage, calls: Vec<Call>) -> Self {
        Self {
            limits,
            used,
            calls,
            phase: Phase::Idle,
        }
    }

    /// Where it is.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// What it has used.
    pub fn used(&self) -> TurnUsage {
        self.used
    }

    /// The calls of the current step.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// Whether this driver has nothing more to do.
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// Takes in what happened and says what to do. Inputs that make no sense in this phase change nothing:
    /// they are late reports of work that was already given up.
    pub fn step(&mut self, input: Input) -> Vec<Effect> {
        match (self.phase, input) {
            (Phase::Over, _) => Vec::new(),
            (_, Input::TimePassed { active_ms }) => {
                self.used.active_ms = self.used.active_ms.max(active_ms);
                Vec::new()
            }
            // A call that was to be started and was not is as quiet as one that ended.
            (
                Phase::Halting(halt),
                Input::ToolEnded { id, status } | Input::CallBecame { id, status },
            ) => {
                self.set(id, status);
                self.halt_when_quiet(halt)
            }
            // A cancel overrides a hold or a shutdown that is already under way.
            (Phase::Halting(before), Input::Halted(halt)) => {
                self.phase = Phase::Halting(halt);
                // What was let run so far is not any more.
                if before == Halt::TakenOver && halt != before && self.any(CallStatus::Started) {
                    vec![Effect::KillTools]
                } else {
                    Vec::new()
                }
            }
            (Phase::Halting(_), _) => Vec::new(),
            (_, Input::Halted(halt)) => self.halt(halt),
            (Phase::Idle, Input::Claimed) => self.next(),
            (Phase::CallingModel, Input::ModelSaid { tokens }) => {
                self.account(tokens, 0);
                self.over(Effect::Finish)
            }
            (Phase::CallingModel, Input::ModelProposed { tokens, calls }) => {
                self.account(tokens, calls);
                self.phase = Phase::RecordingCalls;
                vec![Effect::RecordCalls]
            }
            (Phase::CallingModel, Input::ModelFailed { code, message }) => {
                self.over(Effect::Fail { code, message })
            }
            (Phase::CallingModel, Input::BudgetReached(kind)) => self.over(Effect::AskBudget(kind)),
            (Phase::CallingModel, Input::ModelInterrupted { reason, partial }) => {
                self.over(Effect::Interrupt { reason, partial })
            }
            (Phase::RecordingCalls, Input::CallsRecorded { calls }) => {
                self.calls = calls;
                self.next()
            }
            (Phase::Tools, Input::CallBecame { id, status } | Input::ToolEnded { id, status }) => {
                self.set(id, status);
                self.next()
            }
            (Phase::Parking, Input::GatesDecided { calls }) => {
                self.calls = calls;
                self.next()
            }
            (
                Phase::Idle
                | Phase::CallingModel
                | Phase::RecordingCalls
                | Phase::Tools
                | Phase::Parking,
                Input::Claimed
                | Input::ModelSaid { .. }
                | Input::ModelProposed { .. }
                | Input::ModelFailed { .. }
                | Input::BudgetReached(_)
                | Input::ModelInterrupted { .. }
                | Input::CallsRecorded { .. }
                | Input::CallBecame { .. }
                | Input::ToolEnded { .. }
                | Input::GatesDecided { .. },
            ) => Vec::new(),
        }
    }

    fn account(&mut self, tokens: u64, calls: u32) {
        self.used.steps = self.used.steps.saturating_add(1);
        self.used.tokens = self.used.tokens.saturating_add(tokens);
        self.used.tool_calls = self.used.tool_calls.saturating_add(calls);
    }

    fn set(&mut self, id: ToolCallId, status: CallStatus) {
        if let Some(call) = self.calls.iter_mut().find(|call| call.id == id) {
            call.status = status;
        }
    }

    fn over(&mut self, effect: Effect) -> Vec<Effect> {
        self.phase = Phase::Over;
        vec![effect]
    }

    fn any(&self, status: CallStatus) -> bool {
        self.calls.iter().any(|call| call.status == status)
    }

    /// What follows from how the calls stand.
    fn next(&mut self) -> Vec<Effect> {
        self.phase = Phase::Tools;
        let parallel: Vec<ToolCallId> = self
            .calls
            .iter()
            .filter(|call| call.parallel && call.status == CallStatus::Ready)
            .map(|call| call.id)
            .collect();
        if !parallel.is_empty() {
            for id in &parallel {
                self.set(*id, CallStatus::Started);
            }
            return parallel.into_iter().map(Effect::StartTool).collect();
        }
        if self.any(CallStatus::Started) {
            return Vec::new();
        }
        if self.any(CallStatus::Awaiting) || self.any(CallStatus::Indeterminate) {
            self.phase = Phase::Parking;
            return vec![Effect::Park];
        }
        let first = self
            .calls
            .iter()
            .find(|call| matches!(call.status, CallStatus::Ready | CallStatus::Approved))
            .map(|call| call.id);
        if let Some(id) = first {
            self.set(id, CallStatus::Started);
            return vec![Effect::StartTool(id)];
        }
        if let Some(kind) = self.exhausted() {
            return self.over(Effect::AskBudget(kind));
        }
        self.phase = Phase::CallingModel;
        vec![Effect::CallModel]
    }

    /// The first budget that forbids another model call.
    fn exhausted(&self) -> Option<BudgetKind> {
        if self.used.steps >= self.limits.max_steps {
            Some(BudgetKind::Steps)
        } else if self.used.tool_calls > 0 && self.used.tool_calls >= self.limits.max_tool_calls {
            Some(BudgetKind::ToolCalls)
        } else if self.used.active_ms >= self.limits.max_active_ms {
            Some(BudgetKind::ActiveMs)
        } else if self.used.tokens >= self.limits.max_tokens {
            Some(BudgetKind::Tokens)
        } else {
            None
        }
    }

    fn halt(&mut self, halt: Halt) -> Vec<Effect> {
        self.phase = Phase::Halting(halt);
        if self.any(CallStatus::Started) {
            match halt {
                // What an agent has begun is no harm to the person who takes over; not knowing how it ended is.
                Halt::TakenOver => Vec::new(),
                Halt::Cancelled | Halt::Held | Halt::ShuttingDown => vec![Effect::KillTools],
            }
        } else {
            self.halt_when_quiet(halt)
        }
    }

    fn halt_when_quiet(&mut self, halt: Halt) -> Vec<Effect> {
        if self.any(CallStatus::Started) {
            return Vec::new();
        }
        self.phase = Phase::Over;
        match halt {
            // The store already holds the cancellation.
            Halt::Cancelled => Vec::new(),
            // An unknown outcome is a gate: park, so that nothing goes on before a person answered.
            Halt::Held | Halt::ShuttingDown | Halt::TakenOver
                if self.any(CallStatus::Indeterminate) =>
            {
                vec![Effect::Park]
            }
            Halt::Held | Halt::ShuttingDown | Halt::TakenOver => vec![Effect::Yield],
        }
    }
}
