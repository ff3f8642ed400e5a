//! Subcommands that talk to a daemon, each to its module. Nothing here formats or decides.

use crate::cli::approval_card::DecisionTarget;
use crate::cli::approvals::{self, Order};
use crate::cli::arguments::{ApprovalCommands, ContinuationCommands, SessionCommands, Subcommands};
use crate::cli::ask::{self, OnApproval};
use crate::cli::channel_arguments::ChannelCommands;
use crate::cli::continuations::{self, Act};
use crate::cli::exit::{Failure, usage};
use crate::cli::file_changes::{self, FileCommands};
use crate::cli::leftovers::{self, LeftoverCommands};
use crate::cli::outbox::{self, OutboxCommands};
use crate::cli::terminal::{Cli, read};
use crate::cli::{
    agents, audit, cache, channels, costs, datasets, doctor, emergency, escalation, get, hooks,
    log, memory, metrics, models, on_call, policy, release, reload, resolve, routine, rules,
    sessions, shell, summary, sweep, take_over, token, why,
};
use crate::protocol::enums::{DecisionKind, DecisionScope, InterpreterKind};
use crate::protocol::request::EmergencyStop;
use crate::protocol::tool::ShellRequest;

/// Carries out a subcommand that talks to a daemon.
pub async fn execute(
    command: Subcommands,
    cli: &mut Cli<'_>,
    model: Option<String>,
) -> Result<(), Failure> {
    match command {
        Subcommands::Attach(_)
        | Subcommands::Init(_)
        | Subcommands::Backup { .. }
        | Subcommands::Restore { .. }
        | Subcommands::Doctor {
            database: Some(_), ..
        }
        | Subcommands::Service(_)
        | Subcommands::Certificate(_)
        | Subcommands::Hosts(_)
        | Subcommands::Keys
        | Subcommands::Gate(_)
        | Subcommands::Mcp(_)
        | Subcommands::Channels(ChannelCommands::Add(_))
        | Subcommands::Completions { .. }
        | Subcommands::Man { .. }
        | Subcommands::Themes { .. }
        | Subcommands::Events(_)
        | Subcommands::Status(_)
        | Subcommands::Replay { .. } => {
            Err(Failure::usage("this subcommand runs without a daemon"))
        }
        Subcommands::Doctor {
            check,
            database: None,
        } => doctor::through(cli, check).await,
        Subcommands::Audit(command) => audit::through(cli, command).await,
        Subcommands::Models(command) => models::through(cli, model.as_deref(), command).await,
        Subcommands::Agents(command) => agents::run(cli, command).await,
        Subcommands::Ask {
            text,
            wait,
            fresh,
            attach,
            options,
        } => {
            let on_approval = if wait {
                OnApproval::Wait
            } else {
                OnApproval::Leave
            };
            let asked = ask::Question {
                model,
                fresh,
                options: options.into(),
                files: &attach,
            };
            let command = ask::command(&mut cli.terminal, &text, asked)?;
            ask::run(cli, command, on_approval).await
        }
        Subcommands::Sessions(SessionCommands::List {
            state,
            channel,
            list,
        }) => sessions::list(cli, state, channel, list).await,
        Subcommands::Sessions(SessionCommands::Resume { id }) => sessions::resume(cli, &id).await,
        Subcommands::Sessions(SessionCommands::Call(given)) => sessions::call(cli, given).await,
        Subcommands::Sessions(SessionCommands::Pause { id }) => {
            sessions::pause(cli, &id, true).await
        }
        Subcommands::Sessions(SessionCommands::Unpause { id }) => {
            sessions::pause(cli, &id, false).await
        }
        Subcommands::Sessions(SessionCommands::Preferences { id, text, clear }) => {
            sessions::preferences(cli, &id, &text, clear).await
        }
        Subcommands::Sessions(SessionCommands::DismissRefused { id }) => {
            sessions::dismiss_refused(cli, &id).await
        }
        Subcommands::Sessions(SessionCommands::TakeOver { id, force }) => {
            take_over::take(cli, &id, force).await
        }
        Subcommands::Sessions(SessionCommands::Say { id, text }) => {
            take_over::say(cli, &id, &text).await
        }
        Subcommands::Sessions(SessionCommands::Release { id, force }) => {
            take_over::give_back(cli, &id, force).await
        }
        Subcommands::Sessions(SessionCommands::Export {
            id,
            file,
            format: wanted,
        }) => sessions::export(cli, &id, file.as_deref(), wanted).await,
        Subcommands::Shell {
            session,
            command,
            timeout,
            python,
            end: None,
        } => {
            let request = ShellRequest {
                command: command.join(" "),
                kind: if python {
                    InterpreterKind::Python
                } else {
                    InterpreterKind::Bash
                },
                timeout_seconds: timeout,
            };
            shell::run(cli, &session, request).await
        }
        Subcommands::Shell {
            session,
            end: Some(kind),
            ..
        } => shell::end(cli, &session, kind).await,
        Subcommands::Costs { by, since } => costs::run(cli, by, since).await,
        Subcommands::Stats(arguments) => crate::cli::stats::run(cli, arguments).await,
        Subcommands::Approvals(command) => approval(command, cli).await,
        Subcommands::Policy(command) => policy::run(cli, command).await,
        Subcommands::Channels(command) => channels::run(cli, command).await,
        Subcommands::Continuations(command) => {
            let (id, act) = match command {
                ContinuationCommands::List { state, list } => {
                    return continuations::list(cli, state, list).await;
                }
                ContinuationCommands::Show { id } => (id, Act::Show),
                ContinuationCommands::Resume { id } => (id, Act::Resume),
                ContinuationCommands::Cancel { id, reason } => (id, Act::Cancel { reason }),
                ContinuationCommands::Retry { id } => (id, Act::Retry),
                ContinuationCommands::Resolve {
                    id,
                    resolution,
                    note,
                    digest,
                } => {
                    let order = Order::new(resolution, digest, note);
                    return resolve::run(cli, &id, order).await;
                }
            };
            continuations::act(cli, &id, act).await
        }
        Subcommands::Outbox(command) => deliveries(command, cli).await,
        Subcommands::Skills(command) => crate::cli::skills::run(command, cli).await,
        Subcommands::Datasets(command) => datasets::run(cli, command).await,
        Subcommands::Files(FileCommands::List) => file_changes::list(cli).await,
        Subcommands::Files(FileCommands::Diff { id }) => file_changes::diff(cli, &id).await,
        Subcommands::Files(FileCommands::Undo { call }) => file_changes::undo(cli, call).await,
        Subcommands::Leftovers(LeftoverCommands::List { all }) => leftovers::list(cli, all).await,
        Subcommands::Leftovers(LeftoverCommands::Dismiss { call }) => {
            leftovers::dismiss(cli, call).await
        }
        Subcommands::EmergencyStop { reason } => {
            emergency::run(cli, EmergencyStop { reason }).await
        }
        Subcommands::Release {
            waiting,
            conversation,
        } => release::run(cli, waiting, &conversation).await,
        Subcommands::Summary { since } => summary::run(cli, since).await,
        Subcommands::People => get::run(cli, Some("people")).await,
        Subcommands::OnCall { name, time, note } => on_call::on_call(cli, name, time, note).await,
        Subcommands::Escalation(command) => escalation::run(cli, command).await,
        Subcommands::Reload { preview } => reload::run(cli, preview).await,
        Subcommands::Sweep { preview } => sweep::run(cli, preview).await,
        Subcommands::Cache(command) => cache::run(cli, command).await,
        Subcommands::Hooks(command) => hooks::run(cli, command).await,
        Subcommands::Memory(command) => memory::run(cli, command).await,
        Subcommands::Routine(command) => routine::run(cli, command).await,
        Subcommands::Token(command) => token::through(cli, command).await,
        Subcommands::Rules(command) => rules::run(cli, command).await,
        Subcommands::Metrics => metrics::run(cli).await,
        Subcommands::Log(arguments) => log::run(cli, arguments).await,
        Subcommands::Get { resource } => get::run(cli, resource.as_deref()).await,
        Subcommands::Why { call } => why::run(cli, &call).await,
    }
}

async fn deliveries(command: OutboxCommands, cli: &mut Cli<'_>) -> Result<(), Failure> {
    match command {
        OutboxCommands::List { state, list } => outbox::list(cli, state, list).await,
        OutboxCommands::Show { id } => outbox::show(cli, &id).await,
        OutboxCommands::Resolve {
            id,
            resolution,
            seen,
        } => {
            let DecisionTarget { digest, reason } = seen;
            outbox::resolve(cli, &id, resolution, digest, reason).await
        }
    }
}

/// Longest arguments of an edit, in bytes; the daemon takes no longer ones.
const LONGEST_ARGS: u64 = 1024 * 1024;

async fn approval(command: ApprovalCommands, cli: &mut Cli<'_>) -> Result<(), Failure> {
    match command {
        ApprovalCommands::List { state, all, list } => {
            let state = (!all).then_some(state);
            approvals::list(cli, state, list).await
        }
        ApprovalCommands::Show { id } => approvals::show(cli, &id).await,
        ApprovalCommands::Approve {
            id,
            scope,
            shape,
            rule,
            confirm_code,
            extra,
            seen,
        } => {
            if shape && rule.rule {
                return Err(Failure::usage(
                    "--rule makes a rule, --shape a permission for one session: name one of them; \
                     `--rule --scope session` makes a rule of the session",
                ));
            }
            let scope = scope.or(shape.then_some(DecisionScope::Session));
            let order = Order {
                confirm_code,
                extra,
                ..Order::new(DecisionKind::Approve, seen.digest, seen.reason)
            };
            let order = approvals::lasting(rule, scope, order)?;
            approvals::decide(cli, &id, order).await
        }
        ApprovalCommands::Rehearse { id } => approvals::rehearse(cli, &id).await,
        ApprovalCommands::AllowLater { id } => approvals::allow_later(cli, &id).await,
        ApprovalCommands::Revoke { id, seen } => {
            let order = Order::new(DecisionKind::Revoke, seen.digest, seen.reason);
            approvals::decide(cli, &id, order).await
        }
        ApprovalCommands::Deny {
            id,
            stop,
            rule,
            seen,
        } => {
            let decision = if stop {
                DecisionKind::DenyAndStop
            } else {
                DecisionKind::Deny
            };
            let order = Order::new(decision, seen.digest, seen.reason);
            let order = approvals::lasting(rule, None, order)?;
            approvals::decide(cli, &id, order).await
        }
        ApprovalCommands::Edit { id, args, seen } => {
            let text = read(&mut cli.terminal, &args, LONGEST_ARGS)?;
            let args = serde_json::from_slice(&text)
                .map_err(|error| usage!("{}: {error}; expected a JSON object", args.display()))?;
            let order = Order {
                args: Some(args),
                ..Order::new(DecisionKind::Edit, seen.digest, seen.reason)
            };
            approvals::decide(cli, &id, order).await
        }
        ApprovalCommands::Answer { id, text, seen } => {
            let order = Order {
                answer: Some(ask::text(&mut cli.terminal, &text)?),
                ..Order::new(DecisionKind::Answer, seen.digest, seen.reason)
            };
            approvals::decide(cli, &id, order).await
        }
        ApprovalCommands::Snooze { id, minutes, seen } => {
            let order = Order {
                minutes: Some(minutes),
                ..Order::new(DecisionKind::Snooze, seen.digest, seen.reason)
            };
            approvals::decide(cli, &id, order).await
        }
        ApprovalCommands::Assign { id, name, note } => on_call::assign(cli, &id, name, note).await,
    }
}
