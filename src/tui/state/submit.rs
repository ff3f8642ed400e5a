//! The one gate for commands of this console: read-only, lock and connection are checked here.
//! The engine checks everything again; this only keeps promises that are about this screen.

use crate::protocol::command::{Command, Outcome};
use crate::protocol::duty::NOBODY;
use crate::protocol::hook::HookCommand;
use crate::protocol::hygiene::HygieneCommand;
use crate::protocol::routine::RoutineCommand;
use crate::protocol::rule::RuleCommand;
use crate::protocol::take_over::TakeOverCommand;
use crate::protocol::words::{DecisionScope, DecisionWord, Scope, VerdictWord};
use crate::tui::message::Effect;
use crate::tui::options::Access;
use crate::tui::state::app::{State, Tone};
use crate::tui::state::{decide, hosts, undo};

/// Why no command (other than the emergency stop) can be sent now.
pub fn blocked(state: &State) -> Option<&'static str> {
    if state.replay.is_some() {
        Some("a replay is shown")
    } else if state.access == Access::ReadOnly {
        Some("read-only console (--read-only)")
    } else if state.locked {
        Some("locked (L unlocks)")
    } else if !state.is_live() {
        Some("not connected; nothing is decided meanwhile")
    } else {
        None
    }
}

/// Why nothing that needs this scope can be sent with the credential of this console.
pub fn lacks(state: &State, scope: Scope) -> Option<String> {
    let scopes = state.scopes.as_ref()?;
    if scopes.contains(&scope) {
        return None;
    }
    let has: Vec<&str> = scopes.iter().map(|scope| scope.as_str()).collect();
    let has = if has.is_empty() {
        "none".to_owned()
    } else {
        has.join(", ")
    };
    Some(format!(
        "the token lacks the scope `{scope}` (it has {has})"
    ))
}

/// Submits a command, unless this console may not.
pub fn submit(state: &mut State, command: Command) -> Vec<Effect> {
    let why = blocked(state).map(str::to_owned);
    if let Some(why) = why.or_else(|| lacks(state, command.required_scope())) {
        state.flash(Tone::Warning, format!("not sent: {why}"));
        return Vec::new();
    }
    if let Command::Decide { approval_id, .. } = &command
        && !state.deciding.insert(*approval_id)
    {
        state.flash(
            Tone::Warning,
            "not sent: a decision about this is on its way",
        );
        return Vec::new();
    }
    undo::sending(state, &command);
    vec![Effect::Submit(command)]
}

/// The emergency stop: under the lock too, and tried even when the connection looks dead.
pub fn emergency_stop(state: &mut State) -> Vec<Effect> {
    if state.access == Access::ReadOnly {
        state.flash(Tone::Warning, "not sent: read-only console (--read-only)");
        return Vec::new();
    }
    if state.hosts.several() {
        return hosts::stop_all(state);
    }
    state.flash(Tone::Warning, "EMERGENCY STOP sent");
    vec![Effect::Submit(Command::EmergencyStop { reason: None })]
}

/// What was done, for the notice.
pub fn done_text(command: &Command, outcome: &Outcome) -> String {
    match command {
        Command::StartSession { .. } => "session opened".to_owned(),
        Command::UpdateSession {
            paused: Some(true), ..
        } => "session paused: new turns wait".to_owned(),
        Command::UpdateSession {
            paused: Some(false),
            ..
        } => "session goes on".to_owned(),
        Command::UpdateSession {
            model: Some(model), ..
        } => format!("this session asks {model} from now on"),
        Command::UpdateSession { .. } => "session changed".to_owned(),
        Command::EndSession { .. } => "session ended".to_owned(),
        Command::ResumeSession { .. } => "session resumed".to_owned(),
        Command::SendMessage { .. } | Command::Ask { .. } => "message accepted".to_owned(),
        Command::CancelContinuation { .. } => "turn cancelled, its tools are killed".to_owned(),
        Command::ResumeContinuation { .. } => "turn goes on".to_owned(),
        Command::RetryContinuation { .. } => "message started again as a new turn".to_owned(),
        Command::Decide { decision, .. } => {
            let what = match outcome {
                Outcome::Approval(approval) if !approval.tool.is_empty() => approval.tool.as_str(),
                Outcome::Approval(approval) => approval.kind.as_str(),
                Outcome::Accepted(_)
                | Outcome::Session(_)
                | Outcome::Continuation(_)
                | Outcome::Channel(_)
                | Outcome::Delivery(_)
                | Outcome::Engine(_)
                | Outcome::Backup(_)
                | Outcome::Swept(_)
                | Outcome::ModelTest(_)
                | Outcome::CacheEntry(_)
                | Outcome::CachePurged(_)
                | Outcome::Memory(_)
                | Outcome::Hygiene(_)
                | Outcome::Hook(_)
                | Outcome::Routine(_)
                | Outcome::Discovery(_)
                | Outcome::Rule(_)
                | Outcome::Pairing(_)
                | Outcome::Duty(_)
                | Outcome::Leftovers(_) => "it",
            };
            let done = match (&decision.rule, decision.scope) {
                (Some(rule), _) if rule.verdict == Some(VerdictWord::Deny) => {
                    "denied, and a rule made"
                }
                (Some(_), _) => "allowed, and a rule made",
                (None, Some(DecisionScope::Session)) => "allowed for this session",
                (None, Some(DecisionScope::Once) | None) => decision_done(decision.decision),
            };
            format!("{done}: {what}")
        }
        Command::SetPolicy { channel, .. } => format!("policy of {channel} changed"),
        Command::PauseChannel { channel } => format!("{channel} paused"),
        Command::ResumeChannel { channel } => format!("{channel} goes on"),
        Command::ResolveDelivery { .. } => "delivery settled".to_owned(),
        Command::DismissLeftovers { .. } => "dismissed; no file was changed".to_owned(),
        Command::EmergencyStop { .. } => {
            "EMERGENCY STOP is in force; :release lets work go on".to_owned()
        }
        Command::ReleaseEmergencyStop { .. } => "emergency stop released".to_owned(),
        Command::Backup { .. } => "backup written".to_owned(),
        Command::Sweep { preview: true } => "nothing was swept: only counted".to_owned(),
        Command::Sweep { preview: false } => "swept".to_owned(),
        Command::TestModel { .. } => "model tested".to_owned(),
        Command::PinCacheEntry { pinned: true, .. } => "answer pinned".to_owned(),
        Command::PinCacheEntry { pinned: false, .. } => "answer unpinned".to_owned(),
        Command::PurgeCache { .. } => "kept answers forgotten".to_owned(),
        Command::Memory(_) => "memory changed".to_owned(),
        Command::Pairing(_) => "pairing changed".to_owned(),
        Command::Hygiene(HygieneCommand::Run { .. }) => "memory tidied".to_owned(),
        Command::Hygiene(HygieneCommand::Undo { .. }) => "taken back".to_owned(),
        Command::Hook(HookCommand::Try { .. }) => "hook tried".to_owned(),
        Command::Hook(HookCommand::Reset { .. }) => "hook is called again".to_owned(),
        Command::Routine(RoutineCommand::Add { .. }) => "routine made".to_owned(),
        Command::Routine(RoutineCommand::Change { .. }) => "routine changed".to_owned(),
        Command::Routine(RoutineCommand::Remove { .. }) => "routine removed".to_owned(),
        Command::Routine(RoutineCommand::RunNow { .. }) => "routine started".to_owned(),
        Command::DiscoverModels => "looked for model servers".to_owned(),
        Command::Rule(RuleCommand::Add { .. }) => "rule made".to_owned(),
        Command::Rule(RuleCommand::Change { .. }) => "rule changed".to_owned(),
        Command::Rule(RuleCommand::Remove { .. }) => "rule removed".to_owned(),
        Command::Rule(RuleCommand::RemoveGrant { .. }) => "permission taken back".to_owned(),
        Command::TakeOver(TakeOverCommand::Take { .. }) => {
            "taken over: the agent is held, what you write goes out as the bot".to_owned()
        }
        Command::TakeOver(TakeOverCommand::Say { .. }) => "said as the bot".to_owned(),
        Command::TakeOver(TakeOverCommand::GiveBack { .. }) => {
            "given back: the agent answers again".to_owned()
        }
        Command::DrainChannel {
            channel,
            drain: true,
        } => format!("{channel} takes up nothing new"),
        Command::DrainChannel {
            channel,
            drain: false,
        } => format!("{channel} takes up work again"),
        Command::TestChannel { channel, .. } => format!("test on its way through {channel}"),
        Command::HandOver { .. } => match outcome {
            Outcome::Approval(approval) => match &approval.waiting_for {
                Some(one) => format!("{} waits for {}", decide::title(approval), one.to),
                None => format!("{} waits for nobody in particular", decide::title(approval)),
            },
            _ => "handed over".to_owned(),
        },
        Command::SetOnCall(request) if request.name == NOBODY => "nobody is on call".to_owned(),
        Command::SetOnCall(request) => format!("{} is on call", request.name),
    }
}

/// A decision in the past tense.
pub const fn decision_done(decision: DecisionWord) -> &'static str {
    match decision {
        DecisionWord::Approve => "allowed once",
        DecisionWord::Deny => "denied",
        DecisionWord::DenyAndStop => "denied and stopped",
        DecisionWord::Edit => "arguments changed, still pending",
        DecisionWord::Answer => "answered",
        DecisionWord::Snooze => "snoozed",
        DecisionWord::Revoke => "revoked",
        DecisionWord::Happened => "settled as happened",
        DecisionWord::RunAgain => "runs again",
        DecisionWord::GiveUp => "given up",
        DecisionWord::Sent => "settled as sent",
        DecisionWord::SendAgain => "sent again",
        DecisionWord::Drop => "dropped",
    }
}
