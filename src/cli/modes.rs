//! The modes that need the engine or the screen. Nothing here reads arguments.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;

use crate::cli::exit::{Failure, usage};
use crate::cli::plain::face::Face;
use crate::cli::replay;
use crate::cli::temporary_directory::TemporaryDirectory;
use crate::client::console_client::ConsoleClient;
use crate::client::remote::connection::RemoteClient;
use crate::client::remote::target::Target;
use crate::clock::Clock;
use crate::config::environment::Environment;
use crate::config::flags::Flags;
use crate::config::layers;
use crate::config::settings::{ConsoleSettings, Links, PictureDisplay, Settings};
use crate::console::access::{Access, Hosting};
use crate::protocol::command::Actor;
use crate::runtime::demo::{self, Visitors};
use crate::runtime::logging::{self, Destination};
use crate::runtime::signals::{EndSignals, ReloadSignal};
use crate::runtime::start::{self, Running, StartError, socket_path};
use crate::runtime::wind_down::{Wound, wind_down};
use crate::runtime::{detach, notify, reload_signal, watchdog};
use crate::text::ascii;
use crate::tui::event_loop::{self, Attached};
use crate::tui::links::LinkScope;
use crate::tui::message::QuitKind;
use crate::tui::options::{ConsoleOptions, Editor};
use crate::tui::pictures::asking::Question;
use crate::tui::pictures::graphics::{Graphics, Hints, Protocol};
use crate::tui::theme::depth::ColorDepth;

/// How a console opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opening {
    /// What it may do.
    pub access: Access,
    /// `--plain`: lines instead of a screen.
    pub plain: bool,
}

/// Says in a data directory that a daemon served it last, so that a console does not take it over by accident.
const DAEMON_MARK: &str = "served-by-daemon";

/// Everything a mode starts from.
struct Start {
    settings: Settings,
    environment: Environment,
}

fn resolve(flags: &Flags) -> Result<Start, Failure> {
    let environment = Environment::capture();
    #[cfg(feature = "test-hooks")]
    crate::testing::plug_in(&environment);
    let settings =
        layers::load(flags, &environment, start::tool_names()).map_err(Failure::usage)?;
    Ok(Start {
        settings,
        environment,
    })
}

/// The settings of a console, for what needs nothing else.
pub fn settings(flags: &Flags) -> Result<ConsoleSettings, Failure> {
    resolve_console(flags).map(|(settings, _)| settings)
}

/// What a console starts from that shows an engine elsewhere.
fn resolve_console(flags: &Flags) -> Result<(ConsoleSettings, Environment), Failure> {
    let environment = Environment::capture();
    #[cfg(feature = "test-hooks")]
    crate::testing::plug_in(&environment);
    let settings = layers::load_console(flags, &environment).map_err(Failure::usage)?;
    Ok((settings, environment))
}

/// How the console shows itself, in which letters. Before anything is started: where nobody could see or use it,
/// nothing is.
fn open_face(opening: Opening) -> Result<Face, Failure> {
    let environment = Environment::capture();
    if !environment.utf8() {
        ascii::choose();
    }
    Face::open(opening.plain, &environment)
}

/// The console with the engine inside, or attached when another process holds the data directory.
pub async fn run_console(flags: Flags, opening: Opening) -> Result<(), Failure> {
    let access = opening.access;
    let mut face = open_face(opening)?;
    let (console, environment) = resolve_console(&flags)?;
    let socket = socket_path(&console.paths);
    if let Ok(client) = RemoteClient::connect(Target::Unix(socket.clone())).await {
        return attached(&mut face, client, &console, &environment, access).await;
    }
    let Start { settings, .. } = resolve(&flags)?;
    crate::config::paths::prepare_data_dir(&settings.paths.data_dir).map_err(Failure::usage)?;
    let redactor = start::redactor(&settings);
    logging::start(&settings, Destination::File, redactor.clone())?;
    let mark = settings.paths.data_dir.join(DAEMON_MARK);
    if mark.exists() {
        return Err(usage!(
            "{} was last served by a daemon, which is not running now.\n\
             Start it again (`leverframe --daemon`, or your service manager) and run `leverframe` to attach.\n\
             To run the engine inside the console instead, remove {}",
            settings.paths.data_dir.display(),
            mark.display()
        ));
    }
    let running = match start::start(settings.clone(), redactor, Vec::new()).await {
        Ok(running) => running,
        // Somebody started between the look above and now.
        Err(StartError::Locked(holder)) => {
            let client = RemoteClient::connect(Target::Unix(socket))
                .await
                .map_err(|problem| {
                    usage!(
                        "the data directory is in use by {holder}, which does not answer: {problem}"
                    )
                })?;
            return attached(&mut face, client, &console, &environment, access).await;
        }
        Err(StartError::Other(error)) => return Err(error.into()),
    };
    let quit = embedded(&mut face, &running, &console, &environment, access).await;
    let log = logging::log_file(&settings.paths.data_dir);
    // Listened to only now: the console has its own ears, and what it heard there is not a second signal.
    let mut signals = EndSignals::listen()?;
    let (mut said, plain) = (false, face.is_plain());
    let wound = wind_down(running, &mut signals, |progress| {
        let line = format!("{progress} (ctrl-c ends at once)");
        if plain {
            // One line for each change: what is printed here stays.
            if progress.changed {
                say(&line);
            }
        } else {
            said = true;
            say_again(&line);
        }
    })
    .await;
    if said {
        say("");
    }
    cut_short(wound)?;
    match quit? {
        QuitKind::Stop | QuitKind::Terminated => Ok(()),
        QuitKind::Detach => {
            let client = detach::start_daemon(&daemon_arguments(&flags), socket, log).await?;
            say("The engine goes on as a daemon. Attaching; quit to leave it running.");
            attached(&mut face, client, &console, &environment, access).await
        }
    }
}

/// Headless.
pub async fn run_daemon(flags: Flags, log: Destination) -> Result<(), Failure> {
    let Start {
        settings,
        environment,
    } = resolve(&flags)?;
    crate::config::paths::prepare_data_dir(&settings.paths.data_dir).map_err(Failure::usage)?;
    let redactor = start::redactor(&settings);
    logging::start(&settings, log, redactor.clone())?;
    let mut signals = EndSignals::listen_as_daemon()?;
    let reload = ReloadSignal::listen()?;
    let data_dir = settings.paths.data_dir.clone();
    let running = match start::start(settings, redactor, Vec::new()).await {
        Ok(running) => running,
        Err(StartError::Locked(holder)) => {
            return Err(usage!(
                "{} is in use by {holder}; run `leverframe` to attach to it",
                data_dir.display()
            ));
        }
        Err(StartError::Other(error)) => return Err(error.into()),
    };
    std::fs::write(data_dir.join(DAEMON_MARK), "")
        .with_context(|| format!("writing in {}", data_dir.display()))?;
    for address in &running.addresses {
        say(&format!("listening on {address}"));
    }
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        data_dir = %data_dir.display(),
        addresses = running.addresses.join(" "),
        channels = running.live_channels().join(" "),
        "started"
    );
    let socket = environment.notify_socket();
    notify::notify(socket.as_deref(), "READY=1");
    let reloads = reload_signal::obey(reload, running.client());
    let watchdog = watchdog::watch(running.client(), socket.clone(), environment.watchdog());
    let signal = signals.next().await;
    tracing::info!(signal, "stopping");
    notify::notify(socket.as_deref(), "STOPPING=1");
    let wound = wind_down(running, &mut signals, |progress| {
        if progress.changed {
            tracing::info!("{progress} (a second SIGTERM ends at once)");
        }
        // What comes after the draining needs time too: sends under way may take ten seconds.
        let needed = Duration::from_secs(progress.seconds + 15).as_micros();
        notify::notify(
            socket.as_deref(),
            &format!("STATUS={progress}\nEXTEND_TIMEOUT_USEC={needed}"),
        );
    })
    .await;
    reloads.abort();
    if let Some(watchdog) = watchdog {
        watchdog.abort();
    }
    cut_short(wound)
}

/// What was cut short is no success; whatever was in flight is classified at the next start.
fn cut_short(wound: Wound) -> Result<(), Failure> {
    match wound {
        Wound::Down => Ok(()),
        Wound::Short(signal) => Err(Failure::Ended(format!("a second {signal}: ended at once"))),
    }
}

/// The demo: scripted model and channels in a temporary directory.
pub async fn run_demo(
    mut flags: Flags,
    visitors: Visitors,
    opening: Opening,
) -> Result<(), Failure> {
    let mut face = open_face(opening)?;
    let root = TemporaryDirectory::new("demo")?;
    flags.data_dir = Some(root.path.join("data"));
    flags.demo = true;
    let (console, environment) = resolve_console(&flags)?;
    let Start { mut settings, .. } = resolve(&flags)?;
    crate::config::paths::prepare_data_dir(&settings.paths.data_dir).map_err(Failure::usage)?;
    demo::add_channels(&mut settings, &root.path, visitors)?;
    let redactor = start::redactor(&settings);
    logging::start(&settings, Destination::File, redactor.clone())?;
    let seed = Clock::System.now().as_millis().unsigned_abs();
    let bridges = demo::bridges(&Clock::System, seed, visitors);
    let running = start::start(settings.clone(), redactor, bridges)
        .await
        .map_err(anyhow::Error::from)?;
    // The demo has nobody outside to serve: leaving it just ends it.
    let options = options(
        &console,
        &environment,
        opening.access,
        Hosting::Embedded {
            live_channels: Vec::new(),
        },
    );
    let quit = face.run(running.client(), options).await;
    running.stop().await;
    quit?;
    Ok(())
}

/// The console attached to a daemon.
pub async fn run_attach(
    client: RemoteClient,
    flags: Flags,
    opening: Opening,
) -> Result<(), Failure> {
    let mut face = open_face(opening)?;
    let (settings, environment) = resolve_console(&flags)?;
    attached(&mut face, client, &settings, &environment, opening.access).await
}

/// The console attached to several daemons.
pub async fn run_attach_on(
    hosts: Vec<Attached>,
    flags: Flags,
    opening: Opening,
) -> Result<(), Failure> {
    if open_face(opening)?.is_plain() {
        return Err(Failure::usage(
            "the console without a screen shows one daemon: give `attach` one address",
        ));
    }
    let (settings, environment) = resolve_console(&flags)?;
    let options = options(&settings, &environment, opening.access, Hosting::Attached);
    event_loop::run_on(hosts, options).await?;
    Ok(())
}

/// A console that only plays what was, and sends nothing.
pub async fn run_replay(
    flags: Flags,
    opening: Opening,
    id: &str,
    archive: bool,
) -> Result<(), Failure> {
    if open_face(opening)?.is_plain() {
        return Err(Failure::usage(
            "a replay needs the full screen: without it, `leverframe sessions export ID` prints what was said",
        ));
    }
    let (settings, environment) = resolve_console(&flags)?;
    let (client, source) = replay::playable(&settings.paths.data_dir, id, archive).await?;
    let options = ConsoleOptions {
        replay: Some(source),
        // A replay shows no pictures.
        question: None,
        ..options(&settings, &environment, Access::ReadOnly, Hosting::Attached)
    };
    event_loop::run(client, options).await?;
    Ok(())
}

async fn attached(
    face: &mut Face,
    client: RemoteClient,
    settings: &ConsoleSettings,
    environment: &Environment,
    access: Access,
) -> Result<(), Failure> {
    let client: Arc<dyn ConsoleClient> = Arc::new(client);
    face.run(
        client,
        options(settings, environment, access, Hosting::Attached),
    )
    .await?;
    Ok(())
}

async fn embedded(
    face: &mut Face,
    running: &Running,
    settings: &ConsoleSettings,
    environment: &Environment,
    access: Access,
) -> anyhow::Result<QuitKind> {
    let hosting = Hosting::Embedded {
        live_channels: running.live_channels(),
    };
    face.run(
        running.client(),
        options(settings, environment, access, hosting),
    )
    .await
}

fn options(
    settings: &ConsoleSettings,
    environment: &Environment,
    access: Access,
    hosting: Hosting,
) -> ConsoleOptions {
    let uid = rustix::process::getuid().as_raw();
    let depth = if environment.no_color() {
        ColorDepth::None
    } else if environment.true_color() {
        ColorDepth::True
    } else if environment
        .term()
        .is_some_and(|term| term.contains("256color"))
    {
        ColorDepth::Indexed
    } else {
        ColorDepth::Sixteen
    };
    let editor = environment.editor().map(|editor| Editor {
        argv: editor.split_whitespace().map(str::to_owned).collect(),
        directory: settings.paths.data_dir.clone(),
    });
    ConsoleOptions {
        theme: settings.theme.clone(),
        keymap: settings.keymap.clone(),
        user_dir: (!settings.demo).then(|| settings.paths.config_dir.clone()),
        access,
        depth,
        hosting,
        actor: Actor::Operator {
            uid,
            name: environment
                .user()
                .map_or_else(|| uid.to_string(), str::to_owned),
            person: None,
        },
        editor: editor.filter(|editor| !editor.argv.is_empty()),
        clock: Clock::System,
        notify: settings.notify,
        // The consoles of Linux and serial lines have no title.
        title: settings.title && !matches!(environment.term(), None | Some("linux" | "dumb")),
        links: links(settings.links, environment),
        graphics: Graphics {
            protocol: if settings.pictures == PictureDisplay::Off {
                Protocol::Off
            } else {
                Protocol::HalfBlocks
            },
            ..Graphics::default()
        },
        question: question(settings.pictures, environment, depth),
        tmux: environment.tmux(),
        replay: None,
    }
}

/// The links that the terminal is given. Over SSH a path of a file names none of the machine that the person sits at.
fn links(setting: Links, environment: &Environment) -> LinkScope {
    let speaks = !matches!(environment.term(), None | Some("linux" | "dumb"));
    match setting {
        Links::Off => LinkScope::None,
        Links::Auto if !speaks => LinkScope::None,
        Links::Auto | Links::On if environment.ssh() => LinkScope::Web,
        Links::Auto | Links::On => LinkScope::WebAndFiles,
    }
}

/// What the terminal is asked about pictures; none = nothing it could answer would change how they are drawn.
fn question(
    display: PictureDisplay,
    environment: &Environment,
    depth: ColorDepth,
) -> Option<Question> {
    let speaks = !matches!(environment.term(), None | Some("linux" | "dumb"));
    let wants = !matches!(display, PictureDisplay::Off | PictureDisplay::HalfBlocks);
    let draws = depth != ColorDepth::None && !ascii::only();
    let hints = Hints {
        program: environment
            .terminal_program()
            .unwrap_or_default()
            .to_owned(),
        nested: environment.nested(),
        tmux: environment.tmux(),
        true_color: depth == ColorDepth::True,
    };
    (speaks && wants && draws).then_some(Question { display, hints })
}

/// The flags a daemon needs to serve what this console served.
fn daemon_arguments(flags: &Flags) -> Vec<String> {
    let path = |path: &Option<PathBuf>| path.as_deref().map(|path| path.display().to_string());
    [
        ("--config", path(&flags.config)),
        ("--data-dir", path(&flags.data_dir)),
        ("--listen", flags.listen.clone()),
        ("--model", flags.model.clone()),
    ]
    .into_iter()
    .filter_map(|(flag, value)| value.map(|value| [flag.to_owned(), value]))
    .flatten()
    .collect()
}

/// A line on standard output, at once. A closed output is no reason to stop serving.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// A line in place of the one before, where a person is watching.
fn say_again(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = write!(out, "\r\x1b[K{line}").and_then(|()| out.flush());
}
