//! What the console says about what was done or refused.

use crate::console::decision;
use crate::protocol::approval::Approval;
use crate::protocol::configuration::ConfigurationReload;
use crate::protocol::enums::{ApprovalState, DecisionScope, ReloadEffect, VerdictKind};
use crate::protocol::on_call::NOBODY;
use crate::protocol::problem::Problem;
use crate::protocol::request::{
    CheckChannel, Command, Decide, DiscoverModels, DistrustMcpServer, DistrustSkill, DrainChannel,
    Outcome, PauseChannel, PinCacheEntry, ResumeChannel, SetOnCall, SetPolicy, StartMcpServer,
    StopMcpServer, Sweep, TestChannel, TestMcpServer, TrustMcpServer, TrustSkill, UpdateSession,
};

/// What was done, for the notice.
pub fn done_text(command: &Command, outcome: &Outcome) -> String {
    match command {
        Command::StartSession(_) => "session opened".to_owned(),
        Command::UpdateSession(UpdateSession {
            paused: Some(true), ..
        }) => "session paused: new turns wait".to_owned(),
        Command::UpdateSession(UpdateSession {
            paused: Some(false),
            ..
        }) => "session goes on".to_owned(),
        Command::UpdateSession(UpdateSession {
            model: Some(model), ..
        }) => format!("this session uses {model} from now on"),
        Command::UpdateSession(UpdateSession {
            preferences: Some(text),
            ..
        }) => if text.trim().is_empty() {
            "preferences removed"
        } else {
            "preferences set: models read them from the next step on"
        }
        .to_owned(),
        Command::UpdateSession(_) => "session changed".to_owned(),
        Command::EndSession(_) => "session ended".to_owned(),
        Command::ResumeSession(_) => "session resumed".to_owned(),
        Command::SendMessage(_) | Command::Ask(_) | Command::Converse(_) => {
            "message accepted".to_owned()
        }
        Command::CallTool(_) => "call accepted".to_owned(),
        Command::AskGate(_) => "answered".to_owned(),
        Command::RunAgent(_) => "job started".to_owned(),
        Command::CancelAgentJob(_) => "job ended, with its program and its question".to_owned(),
        Command::AllowLater(_) => {
            "allowed once, if the agent asks again within 15 minutes".to_owned()
        }
        Command::CancelContinuation(_) => "turn cancelled, its tools are killed".to_owned(),
        Command::ResumeContinuation(_) => "turn goes on".to_owned(),
        Command::RetryContinuation(_) => "message started again as a new turn".to_owned(),
        Command::Decide(Decide { decision, .. }) => {
            let what = match outcome {
                Outcome::Decide(approval) if !approval.tool.is_empty() => approval.tool.as_str(),
                Outcome::Decide(approval) => approval.kind.as_str(),
                _ => "it",
            };
            let done = match (&decision.rule, decision.scope) {
                (Some(rule), _) if rule.verdict == Some(VerdictKind::Deny) => {
                    "denied, and a rule made"
                }
                (Some(_), _) => "allowed, and a rule made",
                (None, Some(DecisionScope::Session)) => "allowed for this session",
                (None, Some(DecisionScope::Turn)) => "allowed until this turn ends",
                (None, Some(DecisionScope::Once) | None) => decision.decision.text().done,
            };
            match outcome {
                Outcome::Decide(Approval {
                    state: ApprovalState::Pending,
                    allowed_by: Some(first),
                    ..
                }) => format!("{what}: {}", first.in_words()),
                Outcome::Decide(approval) => format!("{done}: {what}{}", starts_later(approval)),
                _ => format!("{done}: {what}"),
            }
        }
        Command::SetPolicy(SetPolicy { channel, .. }) => format!("policy of {channel} changed"),
        Command::PauseChannel(PauseChannel { channel }) => format!("{channel} paused"),
        Command::ResumeChannel(ResumeChannel { channel }) => format!("{channel} goes on"),
        Command::ResolveDelivery(_) => "delivery settled".to_owned(),
        Command::DismissLeftovers(_) => "dismissed; no file was changed".to_owned(),
        Command::UndoFileChange(_) => "the files are as they were before the call".to_owned(),
        Command::DismissRefusedCalls(_) => "dismissed; the calls stay refused".to_owned(),
        Command::EmergencyStop(_) => {
            "EMERGENCY STOP is in force; :release lets work go on".to_owned()
        }
        Command::ReleaseEmergencyStop(_) => "emergency stop released".to_owned(),
        Command::ReloadConfiguration(_) => match outcome {
            Outcome::ReloadConfiguration(report) => reload_text(report),
            _ => "configuration reloaded".to_owned(),
        },
        Command::CreateBackup(_) => "backup written".to_owned(),
        Command::Sweep(Sweep { preview: true }) => "nothing was removed: only counted".to_owned(),
        Command::Sweep(Sweep { preview: false }) => "swept".to_owned(),
        Command::TestModel(_) => "model tested".to_owned(),
        Command::PinCacheEntry(PinCacheEntry { pinned: true, .. }) => "response pinned".to_owned(),
        Command::PinCacheEntry(PinCacheEntry { pinned: false, .. }) => {
            "response unpinned".to_owned()
        }
        Command::PurgeCache(_) => "cached responses purged".to_owned(),
        Command::AddMemory(_)
        | Command::EditMemory(_)
        | Command::PinMemory(_)
        | Command::AcceptMemory(_)
        | Command::SupersedeMemories(_)
        | Command::DeleteMemory(_)
        | Command::EraseUser(_)
        | Command::ImportMemories(_)
        | Command::CompactSession(_) => "memory changed".to_owned(),
        Command::AcceptPairing(_) | Command::RefusePairing(_) | Command::RevokePairing(_) => {
            "pairing changed".to_owned()
        }
        Command::BeginDatasetUpload(_) | Command::AppendDatasetUpload(_) => {
            "the file is on its way".to_owned()
        }
        Command::FinishDatasetUpload(_) => match outcome {
            Outcome::FinishDatasetUpload(dataset) => dataset.line(),
            _ => "dataset made".to_owned(),
        },
        Command::ExportDataset(_) => "dataset copied".to_owned(),
        Command::DeleteDataset(_) => match outcome {
            Outcome::DeleteDataset(dataset) => {
                format!("dataset {} of {} removed", dataset.name, dataset.channel)
            }
            _ => "dataset removed".to_owned(),
        },
        Command::RunHygiene(_) => "hygiene has run".to_owned(),
        Command::UndoHygiene(_) => "undone".to_owned(),
        Command::TryHook(_) => "hook tried".to_owned(),
        Command::ResetHook(_) => "hook is called again".to_owned(),
        Command::AddRoutine(_) => "routine made".to_owned(),
        Command::ChangeRoutine(_) => "routine changed".to_owned(),
        Command::RemoveRoutine(_) => "routine removed".to_owned(),
        Command::RunRoutine(_) => "routine started".to_owned(),
        Command::DiscoverModels(DiscoverModels {}) => "looked for model servers".to_owned(),
        Command::TrustSkill(TrustSkill { name, .. }) => format!("{name} is trusted: agents get it"),
        Command::DistrustSkill(DistrustSkill { name }) => {
            format!("{name} is not trusted any more: agents do not get it")
        }
        Command::TrustMcpServer(TrustMcpServer { name, .. }) => {
            format!("{name} is trusted: agents get its tools")
        }
        Command::DistrustMcpServer(DistrustMcpServer { name }) => {
            format!("{name} is not trusted any more: agents get none of its tools")
        }
        Command::StopMcpServer(StopMcpServer { name }) => format!("{name} is stopped"),
        Command::StartMcpServer(StartMcpServer { name }) => format!("{name} is connected"),
        Command::TestMcpServer(TestMcpServer { name }) => format!("{name} answers"),
        Command::ListMcpResources(_) | Command::ReadMcpResource(_) => "resource read".to_owned(),
        Command::ListMcpPrompts(_) | Command::GetMcpPrompt(_) => "prompt read".to_owned(),
        Command::AddRule(_) => "rule made".to_owned(),
        Command::ChangeRule(_) => "rule changed".to_owned(),
        Command::RemoveRule(_) => "rule removed".to_owned(),
        Command::RemoveGrant(_) => "session grant revoked".to_owned(),
        Command::TakeOverSession(_) => {
            "taken over: the agent pauses, and you write as the bot".to_owned()
        }
        Command::SendAsBot(_) => "sent as the bot".to_owned(),
        Command::GiveBackSession(_) => "given back: the agent answers again".to_owned(),
        Command::DrainChannel(DrainChannel {
            channel,
            drain: true,
        }) => format!("{channel} drains: it starts nothing new"),
        Command::DrainChannel(DrainChannel {
            channel,
            drain: false,
        }) => format!("{channel} starts work again"),
        Command::CheckChannel(CheckChannel { channel }) => {
            format!("the platform of {channel} was asked")
        }
        Command::TestChannel(TestChannel { channel, .. }) => {
            format!("test on its way through {channel}")
        }
        Command::RunInShell(_) => match outcome {
            Outcome::RunInShell(run) => {
                let mut lines = run.content.lines();
                let told = lines.find(|line| !line.starts_with('['));
                format!("ran in the shell: {}", told.unwrap_or_default())
            }
            _ => "ran in the shell".to_owned(),
        },
        Command::EndInterpreter(end) => format!("{} of the session ended", end.kind.noun()),
        Command::RehearseCall(_) => match outcome {
            Outcome::RehearseCall(rehearsal) => format!(
                "rehearsed, not run: {}; {}",
                rehearsal.outcome,
                rehearsal.files_in_words()
            ),
            _ => "rehearsed".to_owned(),
        },
        Command::AssignApproval(_) => match outcome {
            Outcome::AssignApproval(approval) => match &approval.assignment {
                Some(one) => format!("{} waits for {}", decision::title(approval), one.to),
                None => format!("{} is assigned to nobody", decision::title(approval)),
            },
            _ => "assigned".to_owned(),
        },
        Command::CreateToken(command) => format!("token {} made", command.name),
        Command::RevokeToken(command) => format!("token {} revoked", command.name),
        Command::DrillEscalation(command) => format!(
            "drill of {} begun; :escalations shows how it goes",
            command.request.channel
        ),
        Command::SetOnCall(SetOnCall { request }) if request.name == NOBODY => {
            "nobody is on call".to_owned()
        }
        Command::SetOnCall(SetOnCall { request }) => {
            format!("{} is on call", request.name)
        }
    }
}

/// That an approved call starts later; empty where it starts at once.
fn starts_later(approval: &Approval) -> String {
    let decision = approval.decision.as_ref();
    let starts = decision.and_then(|one| Some(one.starts_at?.millis_since(one.at)));
    starts.map_or_else(String::new, |ms| format!("; starts {} s later", ms / 1000))
}

/// A problem in one line.
pub fn problem_text(problem: &Problem) -> String {
    let mut text = match &problem.winner {
        Some(winner) => format!(
            "{}: already decided `{}` by {} ({})",
            problem.title, winner.decision, winner.by, winner.surface
        ),
        None => format!("{}: {}", problem.title, problem.detail),
    };
    if let Some(hint) = &problem.hint {
        text.push_str("; ");
        text.push_str(hint);
    }
    text
}

/// What a reload of the configuration came to.
fn reload_text(report: &ConfigurationReload) -> String {
    let restart = report.changes.iter();
    let restart = restart
        .filter(|change| change.effect == ReloadEffect::Restart)
        .count();
    match (report.changes.len() - restart, restart) {
        (0, 1..) => format!("configuration: {restart} settings waiting for a restart"),
        (0, 0) => "configuration: nothing changed".to_owned(),
        (changed, 0) => format!("configuration: {changed} settings changed"),
        (changed, restart) => {
            format!("configuration: {changed} settings changed, {restart} waiting for a restart")
        }
    }
}
