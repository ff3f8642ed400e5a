//! Subcommands that talk to a daemon, each to its module. Nothing here formats or decides.

use crate::cli::approval_card::DecisionTarget;
use crate::cli::approvals::{self, Order};
use crate::cli::arguments::{ApprovalCommands, ContinuationCommands, SessionCommands, Subcommands};
use crate::cli::ask::{self, OnApproval};
use crate::cli::channel_arguments::ChannelCommands;
use crate::cli::continuations::{self, Act};
use crate::cli::exit::Failure;
use crate::cli::file_changes::{self, FileCommands};
use crate::cli::leftovers::{self, LeftoverCommands};
use crate::cli::outbox::{self, OutboxCommands};
use crate::cli::terminal::{Format, Terminal, read};
use crate::cli::{
    agents, audit, cache, channels, costs, datasets, doctor, emergency, escalation, get, hooks,
    log, memory, metrics, models, on_call, policy, release, reload, resolve, routine, rules,
    sessions, shell, summary, sweep, take_over, token, why,
};
use crate::client::console_client::ConsoleClient;
use crate::protocol::enums::{DecisionKind, DecisionScope, InterpreterKind};
use crate::protocol::request::EmergencyStop;
use crate::protocol::tool::ShellRequest;

/// Carries out a subcommand that talks to a daemon.
pub async fn execute(
    command: Subcommands,
    client: &dyn ConsoleClient,
    terminal: &mut Terminal<'_>,
    format: Format,
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
        | Subcommands::Replay { .. } => Err(Failure::Usage(
            "this subcommand runs without a daemon".to_owned(),
        )),
        Subcommands::Doctor {
            check,
            database: None,
        } => doctor::through(client, terminal, format, check).await,
        Subcommands::Audit(command) => audit::through(client, terminal, format, command).await,
        Subcommands::Models(command) => {
            models::through(client, terminal, format, model.as_deref(), command).await
        }
        Subcommands::Agents(command) => agents::run(client, terminal, format, command).await,
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
            let command = ask::command(terminal, &text, asked)?;
            ask::run(client, terminal, format, command, on_approval).await
        }
        Subcommands::Sessions(SessionCommands::List {
            state,
            channel,
            list,
        }) => sessions::list(client, terminal, format, state, channel, list).await,
        Subcommands::Sessions(SessionCommands::Resume { id }) => {
            sessions::resume(client, terminal, format, &id).await
        }
        Subcommands::Sessions(SessionCommands::Call(given)) => {
            sessions::call(client, terminal, format, given).await
        }
        Subcommands::Sessions(SessionCommands::Pause { id }) => {
            sessions::pause(client, terminal, format, &id, true).await
        }
        Subcommands::Sessions(SessionCommands::Unpause { id }) => {
            sessions::pause(client, terminal, format, &id, false).await
        }
        Subcommands::Sessions(SessionCommands::Preferences { id, text, clear }) => {
            sessions::preferences(client, terminal, format, &id, &text, clear).await
        }
        Subcommands::Sessions(SessionCommands::DismissRefused { id }) => {
            sessions::dismiss_refused(client, terminal, format, &id).await
        }
        Subcommands::Sessions(SessionCommands::TakeOver { id, force }) => {
            take_over::take(client, terminal, format, &id, force).await
        }
        Subcommands::Sessions(SessionCommands::Say { id, text }) => {
            take_over::say(client, terminal, format, &id, &text).await
        }
        Subcommands::Sessions(SessionCommands::Release { id, force }) => {
            take_over::give_back(client, terminal, format, &id, force).await
        }
        Subcommands::Sessions(SessionCommands::Export {
            id,
            file,
            format: wanted,
        }) => sessions::export(client, terminal, format, &id, file.as_deref(), wanted).await,
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
            shell::run(client, terminal, format, &session, request).await
        }
        Subcommands::Shell {
            session,
            end: Some(kind),
            ..
        } => shell::end(client, terminal, format, &session, kind).await,
        Subcommands::Costs { by, since } => costs::run(client, terminal, format, by, since).await,
        Subcommands::Stats(arguments) => {
            crate::cli::stats::run(client, terminal, format, arguments).await
        }
        Subcommands::Approvals(command) => approval(command, client, terminal, format).await,
        Subcommands::Policy(command) => policy::run(client, terminal, format, command).await,
        Subcommands::Channels(command) => channels::run(client, terminal, format, command).await,
        Subcommands::Continuations(command) => {
            let (id, act) = match command {
                ContinuationCommands::List { state, list } => {
                    return continuations::list(client, terminal, format, state, list).await;
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
                    return resolve::run(client, terminal, format, &id, order).await;
                }
            };
            continuations::act(client, terminal, format, &id, act).await
        }
        Subcommands::Outbox(command) => deliveries(command, client, terminal, format).await,
        Subcommands::Skills(command) => {
            crate::cli::skills::run(command, client, terminal, format).await
        }
        Subcommands::Datasets(command) => datasets::run(client, terminal, format, command).await,
        Subcommands::Files(FileCommands::List) => {
            file_changes::list(client, terminal, format).await
        }
        Subcommands::Files(FileCommands::Diff { id }) => {
            file_changes::diff(client, terminal, format, &id).await
        }
        Subcommands::Files(FileCommands::Undo { call }) => {
            file_changes::undo(client, terminal, format, call).await
        }
        Subcommands::Leftovers(LeftoverCommands::List { all }) => {
            leftovers::list(client, terminal, format, all).await
        }
        Subcommands::Leftovers(LeftoverCommands::Dismiss { call }) => {
            leftovers::dismiss(client, terminal, format, call).await
        }
        Subcommands::EmergencyStop { reason } => {
            emergency::run(client, terminal, format, EmergencyStop { reason }).await
        }
        Subcommands::Release {
            waiting,
            conversation,
        } => release::run(client, terminal, format, waiting, &conversation).await,
        Subcommands::Summary { since } => summary::run(client, terminal, format, since).await,
        Subcommands::People => get::run(client, terminal, format, Some("people")).await,
        Subcommands::OnCall { name, time, note } => {
            on_call::on_call(client, terminal, format, name, time, note).await
        }
        Subcommands::Escalation(command) => {
            escalation::run(client, terminal, format, command).await
        }
        Subcommands::Reload { preview } => reload::run(client, terminal, format, preview).await,
        Subcommands::Sweep { preview } => sweep::run(client, terminal, format, preview).await,
        Subcommands::Cache(command) => cache::run(client, terminal, format, command).await,
        Subcommands::Hooks(command) => hooks::run(client, terminal, format, command).await,
        Subcommands::Memory(command) => memory::run(client, terminal, format, command).await,
        Subcommands::Routine(command) => routine::run(client, terminal, format, command).await,
        Subcommands::Token(command) => token::through(client, terminal, format, command).await,
        Subcommands::Rules(command) => rules::run(client, terminal, format, command).await,
        Subcommands::Metrics => metrics::run(client, terminal, format).await,
        Subcommands::Log(arguments) => log::run(client, terminal, format, arguments).await,
        Subcommands::Get { resource } => {
            get::run(client, terminal, format, resource.as_deref()).await
        }
        Subcommands::Why { call } => why::run(client, terminal, format, &call).await,
    }
}

async fn deliveries(
    command: OutboxCommands,
    client: &dyn ConsoleClient,
    terminal: &mut Terminal<'_>,
    format: Format,
) -> Result<(), Failure> {
    match command {
        OutboxCommands::List { state, list } => {
            outbox::list(client, terminal, format, state, list).await
        }
        OutboxCommands::Show { id } => outbox::show(client, terminal, format, &id).await,
        OutboxCommands::Resolve {
            id,
            resolution,
            seen,
        } => {
            let DecisionTarget { digest, reason } = seen;
            outbox::resolve(client, terminal, format, &id, resolution, digest, reason).await
        }
    }
}

/// Longest arguments of an edit, in bytes; the daemon takes no longer ones.
const LONGEST_ARGS: u64 = 1024 * 1024;

async fn approval(
    command: ApprovalCommands,
    client: &dyn ConsoleClient,
    terminal: &mut Terminal<'_>,
    format: Format,
) -> Result<(), Failure> {
    match command {
        ApprovalCommands::List { state, all, list } => {
            let state = (!all).then_some(state);
            approvals::list(client, terminal, format, state, list).await
        }
        ApprovalCommands::Show { id } => approvals::show(client, terminal, format, &id).await,
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
                return Err(Failure::Usage(
                    "--rule makes a rule, --shape a permission for one session: name one of them; \
                     `--rule --scope session` makes a rule of the session"
                        .to_owned(),
                ));
            }
            let scope = scope.or(shape.then_some(DecisionScope::Session));
            let order = Order {
                confirm_code,
                extra,
                ..Order::new(DecisionKind::Approve, seen.digest, seen.reason)
            };
            let order = approvals::lasting(rule, scope, order)?;
            approvals::decide(client, terminal, format, &id, order).await
        }
        ApprovalCommands::Rehearse { id } => {
            approvals::rehearse(client, terminal, format, &id).await
        }
        ApprovalCommands::AllowLater { id } => {
            approvals::allow_later(client, terminal, format, &id).await
        }
        ApprovalCommands::Revoke { id, seen } => {
            let order = Order::new(DecisionKind::Revoke, seen.digest, seen.reason);
            approvals::decide(client, terminal, format, &id, order).await
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
            approvals::decide(client, terminal, format, &id, order).await
        }
        ApprovalCommands::Edit { id, args, seen } => {
            let text = read(terminal, &args, LONGEST_ARGS)?;
            let args = serde_json::from_slice(&text).map_err(|error| {
                Failure::Usage(format!(
                    "{}: {error}; expected a JSON object",
                    args.display()
                ))
            })?;
            let order = Order {
                args: Some(args),
                ..Order::new(DecisionKind::Edit, seen.digest, seen.reason)
            };
            approvals::decide(client, terminal, format, &id, order).await
        }
        ApprovalCommands::Answer { id, text, seen } => {
            let order = Order {
                answer: Some(ask::text(terminal, &text)?),
                ..Order::new(DecisionKind::Answer, seen.digest, seen.reason)
            };
            approvals::decide(client, terminal, format, &id, order).await
        }
        ApprovalCommands::Snooze { id, minutes, seen } => {
            let order = Order {
                minutes: Some(minutes),
                ..Order::new(DecisionKind::Snooze, seen.digest, seen.reason)
            };
            approvals::decide(client, terminal, format, &id, order).await
        }
        ApprovalCommands::Assign { id, name, note } => {
            on_call::assign(client, terminal, format, &id, name, note).await
        }
    }
}
