//! From arguments to what is done. Nothing here formats or decides.

use std::io::{self, BufReader, BufWriter, IsTerminal as _, Write as _};
use std::path::PathBuf;

use clap::Parser as _;

use crate::cli::arguments::{Arguments, BackupCommands, Subcommands};
use crate::cli::channel_add;
use crate::cli::channel_arguments::ChannelCommands;
use crate::cli::execute::execute;
use crate::cli::exit::Failure;
use crate::cli::gate::GateCommands;
use crate::cli::init::AfterInit;
use crate::cli::modes::{self, Opening};
use crate::cli::terminal::{Attendance, Format, Terminal, cell};
use crate::cli::{
    attach, audit, backup, certificate, completions, conform, connect, doctor, emergency, events,
    gate, gate_call, gate_test, init, keys, known_hosts, man, mcp, models, service, status, themes,
    token,
};
use crate::config::environment::Environment;
use crate::config::flags::Flags;
use crate::config::paths::locate;
use crate::config::settings::Paths;
use crate::config::supervisor;
use crate::console::access::Access;
use crate::runtime::demo::Visitors;
use crate::runtime::helper;
use crate::runtime::logging::Destination;

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
    // A hook of another program waits for this one with every call: nothing else is set up for it.
    if let [gate, agent, words @ ..] = given.as_slice()
        && gate == "gate"
        && let Ok(agent) = agent.parse()
        && let Some(status) = gate_call::from_words(agent, words)
    {
        return status;
    }
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version go to standard output with status 0, errors to standard error with 2.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    if let Some(Subcommands::Gate(command)) = &arguments.command
        && let Some((agent, call)) = command.call()
    {
        return gate_call::from_arguments(agent, call, arguments.data_dir.as_deref());
    }
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
        format: arguments.format(),
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
    let access = if arguments.read_only {
        Access::ReadOnly
    } else {
        Access::Operate
    };
    let opening = Opening {
        access,
        plain: arguments.plain,
    };
    match arguments.command {
        None if arguments.demo => {
            let visitors = if arguments.fleet {
                Visitors::Fleet
            } else {
                Visitors::Few
            };
            Ok(modes::run_demo(flags, visitors, opening).await?)
        }
        None if arguments.daemon => {
            let log = if arguments.detached {
                Destination::Detached
            } else {
                Destination::Daemon
            };
            Ok(modes::run_daemon(flags, log).await?)
        }
        None => Ok(Box::pin(modes::run_console(flags, opening)).await?),
        Some(_) if arguments.demo || arguments.daemon => {
            Err(Failure::usage("--demo and --daemon take no subcommand"))
        }
        Some(Subcommands::Attach(arguments)) => {
            let (_, data_dir) = places(&flags, &Environment::capture())?;
            attach::run(terminal, arguments, &data_dir, flags, opening).await
        }
        Some(Subcommands::Hosts(command)) => {
            let (_, data_dir) = places(&flags, &Environment::capture())?;
            known_hosts::run(terminal, &data_dir, command)
        }
        Some(Subcommands::Init(given)) => {
            let environment = Environment::capture();
            let (file, _) = places(&flags, &environment)?;
            let model = arguments.model.as_deref();
            // It asks a person, with `--json` too.
            terminal.format = Format::Human;
            match init::run(terminal, &file, &given, model, &environment).await? {
                AfterInit::End => Ok(()),
                AfterInit::Start => {
                    terminal.finish()?;
                    // The file names the model now.
                    let flags = Flags {
                        model: None,
                        ..flags
                    };
                    Ok(Box::pin(modes::run_console(flags, opening)).await?)
                }
            }
        }
        Some(Subcommands::Backup {
            command: Some(BackupCommands::Verify { file, within }),
            ..
        }) => backup::verify(terminal, &file, within).await,
        Some(Subcommands::Backup {
            command: None,
            file,
        }) => {
            let paths = located(&flags, &Environment::capture())?;
            let file = file.ok_or_else(|| Failure::usage("backup needs a FILE"))?;
            backup::backup(terminal, &file, &paths, &flags).await
        }
        Some(Subcommands::Restore { file, force }) => {
            let environment = Environment::capture();
            #[cfg(feature = "test-hooks")]
            crate::testing::plug_in(&environment);
            let paths = located(&flags, &environment)?;
            backup::restore(terminal, &file, force, &paths).await
        }
        Some(Subcommands::Doctor { check, database }) => {
            let environment = Environment::capture();
            let (_, data_dir) = places(&flags, &environment)?;
            let order = doctor::Order { check, database };
            doctor::run(terminal, &flags, &environment, &data_dir, order).await
        }
        Some(Subcommands::Audit(command)) => {
            let (_, data_dir) = places(&flags, &Environment::capture())?;
            audit::run(terminal, &data_dir, command).await
        }
        Some(Subcommands::Models(command)) => {
            let environment = Environment::capture();
            let (_, data_dir) = places(&flags, &environment)?;
            models::run(terminal, &flags, &environment, &data_dir, command).await
        }
        Some(Subcommands::Token(command)) => {
            let environment = Environment::capture();
            let (_, data_dir) = places(&flags, &environment)?;
            token::run(terminal, &flags, &environment, &data_dir, command).await
        }
        Some(Subcommands::Certificate(command)) => {
            let paths = located(&flags, &Environment::capture())?;
            certificate::run(terminal, &paths.config_dir, command)
        }
        Some(Subcommands::Channels(ChannelCommands::Add(arguments))) => {
            let paths = located(&flags, &Environment::capture())?;
            channel_add::run(terminal, &flags, &paths, arguments).await
        }
        Some(Subcommands::Channels(ChannelCommands::Conform(arguments))) => {
            conform::run(terminal, arguments).await
        }
        Some(Subcommands::Mcp(command)) => {
            let paths = located(&flags, &Environment::capture())?;
            mcp::run(command, terminal, &flags, &paths).await
        }
        Some(Subcommands::Gate(GateCommands::Test(arguments))) => {
            let environment = Environment::capture();
            let (_, data_dir) = places(&flags, &environment)?;
            gate_test::run(terminal, &environment, &data_dir, arguments).await
        }
        Some(Subcommands::Gate(command)) => {
            let environment = Environment::capture();
            let data_dir = match (&flags.data_dir, environment.path("LEVERFRAME_DATA_DIR")) {
                (None, None) => None,
                _ => Some(located(&flags, &environment)?.data_dir),
            };
            gate::run(terminal, &environment, data_dir, command)
        }
        Some(Subcommands::Service(command)) => {
            service::run(terminal, &flags, &Environment::capture(), command)
        }
        Some(Subcommands::Keys) => keys::run(terminal, &modes::settings(&flags)?),
        Some(Subcommands::Man { directory }) => man::run(terminal, &directory),
        Some(Subcommands::Completions { shell }) => completions::run(terminal, shell),
        Some(Subcommands::Themes { name }) => {
            themes::run(terminal, &modes::settings(&flags)?, name.as_deref())
        }
        Some(Subcommands::Replay { id, archive }) => {
            Ok(modes::run_replay(flags, opening, &id, archive).await?)
        }
        Some(Subcommands::Events(arguments)) => {
            let (_, data_dir) = places(&flags, &Environment::capture())?;
            let client = events::client(&data_dir, arguments.watch).await?;
            events::run(&mut terminal.with(&*client), &data_dir, arguments).await
        }
        Some(Subcommands::Status(arguments)) => {
            let (_, data_dir) = places(&flags, &Environment::capture())?;
            status::run(&data_dir, terminal, &arguments).await
        }
        Some(Subcommands::EmergencyStop { reason }) => {
            let (_, data_dir) = places(&flags, &Environment::capture())?;
            emergency::stop(&data_dir, terminal, reason).await
        }
        Some(command) => {
            let (_, data_dir) = places(&flags, &Environment::capture())?;
            let client = connect::daemon(&data_dir).await?;
            execute(command, &mut terminal.with(&client), arguments.model).await
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
