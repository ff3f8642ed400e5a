//! From arguments to what is done. Nothing here formats or decides.

use std::io::{self, BufReader, BufWriter, IsTerminal as _, Write as _};
use std::path::PathBuf;

use clap::Parser as _;

use crate::cli::approval_card::DecisionTarget;
use crate::cli::approvals::{self, Order};
use crate::cli::arguments::{
    ApprovalCommands, Arguments, ContinuationCommands, SessionCommands, Subcommands,
};
use crate::cli::ask::{self, OnApproval};
use crate::cli::continuations::{self, Act};
use crate::cli::exit::Failure;
use crate::cli::leftovers::LeftoverCommands;
use crate::cli::modes::{self, Opening, Rights};
use crate::cli::outbox::OutboxCommands;
use crate::cli::terminal::{Attendance, Format, Terminal, cell, read};
use crate::cli::{
    audit, backup, cache, channels, completions, connect, costs, doctor, duty, emergency, events,
    hooks, init, keys, leftovers, list, memory, models, outbox, policy, release, reload, resolve,
    routine, rules, sessions, status, summary, sweep, take_over, themes, why,
};
use crate::client::console_client::ConsoleClient;
use crate::client::remote::connection::RemoteClient;
use crate::config::environment::Environment;
use crate::config::flags::Flags;
use crate::config::paths::locate;
use crate::config::settings::Paths;
use crate::config::supervisor;
use crate::protocol::request::{EmergencyStop, ListPeople};
use crate::protocol::words::{DecisionScope, DecisionWord};
use crate::runtime::helper;

/// Runs the program with the process's arguments; returns its exit status.
pub fn main() -> u8 {
    if let Some(status) = supervisor::from_arguments(std::env::args_os()) {
        return status;
    }
    let given: Vec<String> = std::env::args_os()
        .skip(1)
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    // Before anything else: as helper of the sandbox the process has one thread and none of our arguments.
    if let Some((first, rest)) = given.split_first()
        && first == helper::WORD
    {
        return match helper::run(rest) {
            Ok(words) => {
                let _ = writeln!(io::stdout(), "{words}");
                0
            }
            Err(problem) => {
                let _ = writeln!(io::stderr(), "leverframe: {problem}");
                2
            }
        };
    }
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version go to standard output with status 0, errors to standard error with 2.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            let _ = writeln!(io::stderr(), "leverframe: no runtime: {error}");
            return 1;
        }
    };
    let attended = if io::stdin().is_terminal() && io::stdout().is_terminal() {
        Attendance::Person
    } else {
        Attendance::Script
    };
    let mut out = BufWriter::new(io::stdout());
    let mut err = io::stderr();
    let mut input = BufReader::new(io::stdin());
    let mut terminal = Terminal {
        out: &mut out,
        err: &mut err,
        input: &mut input,
        attended,
    };
    let done = runtime.block_on(Box::pin(run(arguments, &mut terminal)));
    let done = done.and_then(|()| Ok(terminal.finish()?));
    match done {
        Ok(()) => 0,
        Err(failure) => {
            let _ = out.flush();
            if let Some(message) = failure.message() {
                let shown: Vec<String> = message.lines().map(cell).collect();
                let _ = writeln!(io::stderr(), "leverframe: {}", shown.join("\n"));
            }
            failure.status()
        }
    }
}

/// Carries out what the arguments say.
pub async fn run(arguments: Arguments, terminal: &mut Terminal<'_>) -> Result<(), Failure> {
    let flags = Flags {
        config: arguments.config,
        data_dir: arguments.data_dir,
        listen: arguments.listen,
        theme: arguments.theme,
        keymap: arguments.keymap,
        model: arguments.model.clone(),
        demo: arguments.demo,
    };
    let rights = if arguments.read_only {
        Rights::ReadOnly
    } else {
        Rights::Full
    };
    let opening = Opening {
        rights,
        plain: arguments.plain,
    };
    let format = if arguments.json {
        Format::Json
    } else {
        Format::Human
    };
    match arguments.command {
        None if arguments.demo => Ok(modes::run_demo(flags, opening).await?),
        None if arguments.daemon => Ok(modes::run_daemon(flags).await?),
        None => Ok(modes::run_console(flags, opening).await?),
        Some(_) if arguments.demo || arguments.daemon => Err(Failure::Usage(
            "--demo and --daemon take no subcommand".to_owned(),
        )),
        Some(Subcommands::Attach { urls, token_file }) => {
            let mut attachments = connect::attachments(&urls, &token_file)?;
            if attachments.len() > 1 {
                let hosts = connect::several(attachments).await?;
                return modes::run_attach_on(hosts, flags, opening).await;
            }
            let Some(one) = attachments.pop() else {
                return Err(Failure::Usage("attach needs an address".to_owned()));
            };
            let client = RemoteClient::connect(one.target).await?;
            Ok(modes::run_attach(client, flags, opening).await?)
        }
        Some(Subcommands::Init(given)) => {
            let environment = Environment::capture();
            let (file, _) = places(&flags, &environment)?;
            init::run(
                terminal,
                &file,
                &given,
                arguments.model.as_deref(),
                &environment,
            )
            .await
        }
        Some(Subcommands::Backup { file }) => {
            let paths = located(&flags, &Environment::capture())?;
            backup::backup(terminal, format, &file, &paths, &flags).await
        }
        Some(Subcommands::Restore { file, force }) => {
            let environment = Environment::capture();
            #[cfg(feature = "test-hooks")]
            crate::testing::plug_in(&environment);
            let paths = located(&flags, &environment)?;
            backup::restore(terminal, format, &file, force, &paths).await
        }
        Some(Subcommands::Doctor { check, database }) => {
            let environment = Environment::capture();
            let (_, data_dir) = places(&flags, &environment)?;
            let order = doctor::Order { check, database };
            doctor::run(terminal, format, &flags, &environment, &data_dir, order).await
        }
        Some(Subcommands::Audit(command)) => {
            let (_, data_dir) = places(&flags, &Environment::capture())?;
            audit::run(terminal, format, &data_dir, command).await
        }
        Some(Subcommands::Models(command)) => {
            let environment = Environment::capture();
            let (_, data_dir) = places(&flags, &environment)?;
            models::run(terminal, format, &flags, &environment, &data_dir, command).await
        }
        Some(Subcommands::Keys) => keys::run(terminal, format, &modes::settings(&flags)?),
        Some(Subcommands::Completions { shell }) => completions::run(terminal, shell),
        Some(Subcommands::Themes { name }) => {
            themes::run(terminal, format, &modes::settings(&flags)?, name.as_deref())
        }
        Some(Subcommands::Replay { id, archive }) => {
            Ok(modes::run_replay(flags, opening, &id, archive).await?)
        }
        Some(Subcommands::Events(arguments)) => {
            let (_, data_dir) = places(&flags, &Environment::capture())?;
            let client = events::client(&data_dir, arguments.watch).await?;
            events::run(&*client, &data_dir, terminal, format, arguments).await
        }
        Some(Subcommands::Status(arguments)) => {
            let (_, data_dir) = places(&flags, &Environment::capture())?;
            status::run(&data_dir, terminal, format, &arguments).await
        }
        Some(Subcommands::EmergencyStop { reason }) => {
            let (_, data_dir) = places(&flags, &Environment::capture())?;
            emergency::stop(&data_dir, terminal, format, reason).await
        }
        Some(command) => {
            let (_, data_dir) = places(&flags, &Environment::capture())?;
            let client = connect::daemon(&data_dir).await?;
            execute(command, &client, terminal, format, arguments.model).await
        }
    }
}

/// The configuration file and the data directory.
fn places(flags: &Flags, environment: &Environment) -> Result<(PathBuf, PathBuf), Failure> {
    let paths = located(flags, environment)?;
    Ok((paths.config_file, paths.data_dir))
}

/// Where everything is.
fn located(flags: &Flags, environment: &Environment) -> Result<Paths, Failure> {
    let located = locate(
        flags.config.as_deref(),
        flags.data_dir.as_deref(),
        environment,
    );
    match located {
        Ok((paths, _)) => Ok(paths),
        Err(error) => Err(Failure::Usage(error.to_string())),
    }
}

/// Carries out a subcommand that talks to a daemon.
pub async fn execute(
    command: Subcommands,
    client: &dyn ConsoleClient,
    terminal: &mut Terminal<'_>,
    format: Format,
    model: Option<String>,
) -> Result<(), Failure> {
    match command {
        Subcommands::Attach { .. }
        | Subcommands::Init(_)
        | Subcommands::Backup { .. }
        | Subcommands::Restore { .. }
        | Subcommands::Doctor {
            database: Some(_), ..
        }
        | Subcommands::Keys
        | Subcommands::Completions { .. }
        | Subcommands::Themes { .. }
        | Subcommands::Events(_)
        | Subcommands::Status(_)
        | Subcommands::Replay { .. } => Err(Failure::Usage(
            "this subcommand does not go through a daemon".to_owned(),
        )),
        Subcommands::Doctor {
            check,
            database: None,
        } => doctor::through(client, terminal, format, check).await,
        Subcommands::Audit(command) => audit::through(client, terminal, format, command).await,
        Subcommands::Models(command) => {
            models::through(client, terminal, format, model.as_deref(), command).await
        }
        Subcommands::Ask { text, wait, fresh } => {
            let on_approval = if wait {
                OnApproval::Wait
            } else {
                OnApproval::Leave
            };
            ask::run(client, terminal, format, &text, model, on_approval, fresh).await
        }
        Subcommands::Sessions(SessionCommands::List {
            state,
            channel,
            list,
        }) => sessions::list(client, terminal, format, state, channel, list).await,
        Subcommands::Sessions(SessionCommands::Resume { id }) => {
            sessions::resume(client, terminal, format, &id).await
        }
        Subcommands::Sessions(SessionCommands::Pause { id }) => {
            sessions::pause(client, terminal, format, &id, true).await
        }
        Subcommands::Sessions(SessionCommands::Unpause { id }) => {
            sessions::pause(client, terminal, format, &id, false).await
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
        Subcommands::Costs { by, since } => costs::run(client, terminal, format, by, since).await,
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
        Subcommands::People => list::run(client, terminal, format, ListPeople {}, false).await,
        Subcommands::OnCall { name, time, note } => {
            duty::on_call(client, terminal, format, name, time, note).await
        }
        Subcommands::Reload { preview } => reload::run(client, terminal, format, preview).await,
        Subcommands::Sweep { preview } => sweep::run(client, terminal, format, preview).await,
        Subcommands::Cache(command) => cache::run(client, terminal, format, command).await,
        Subcommands::Hooks(command) => hooks::run(client, terminal, format, command).await,
        Subcommands::Memory(command) => memory::run(client, terminal, format, command).await,
        Subcommands::Routine(command) => routine::run(client, terminal, format, command).await,
        Subcommands::Rules(command) => rules::run(client, terminal, format, command).await,
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
            let scope = scope.or(shape.then_some(DecisionScope::Session));
            let order = Order {
                rule: approvals::rule_of(rule, scope)?,
                scope,
                confirm_code,
                extra,
                ..Order::new(DecisionWord::Approve, seen.digest, seen.reason)
            };
            approvals::decide(client, terminal, format, &id, order).await
        }
        ApprovalCommands::Revoke { id, seen } => {
            let order = Order::new(DecisionWord::Revoke, seen.digest, seen.reason);
            approvals::decide(client, terminal, format, &id, order).await
        }
        ApprovalCommands::Deny {
            id,
            stop,
            rule,
            seen,
        } => {
            let decision = if stop {
                DecisionWord::DenyAndStop
            } else {
                DecisionWord::Deny
            };
            let order = Order {
                rule: approvals::rule_of(rule, None)?,
                ..Order::new(decision, seen.digest, seen.reason)
            };
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
                ..Order::new(DecisionWord::Edit, seen.digest, seen.reason)
            };
            approvals::decide(client, terminal, format, &id, order).await
        }
        ApprovalCommands::Answer { id, text, seen } => {
            let order = Order {
                answer: Some(ask::text(terminal, &text)?),
                ..Order::new(DecisionWord::Answer, seen.digest, seen.reason)
            };
            approvals::decide(client, terminal, format, &id, order).await
        }
        ApprovalCommands::Snooze { id, minutes, seen } => {
            let order = Order {
                minutes: Some(minutes),
                ..Order::new(DecisionWord::Snooze, seen.digest, seen.reason)
            };
            approvals::decide(client, terminal, format, &id, order).await
        }
        ApprovalCommands::Assign { id, name, note } => {
            duty::assign(client, terminal, format, &id, name, note).await
        }
    }
}
