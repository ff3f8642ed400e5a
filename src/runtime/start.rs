//! Starting and stopping everything that lives in this process, in order.
//!
//! Start: directories, secrets, lock and database, engine, API, bridges. Stop: what runs is given time to end while
//! everything else goes on; then turns, bridges, API, engine, database.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::api::serve::{Serving, TcpOptions, Timing, serve_tcp, serve_unix};
use crate::api::token::StaticTokens;
use crate::channels::channel::Bridge;
use crate::channels::{build, supervisor};
use crate::client::console_client::ConsoleClient;
use crate::client::webhooks::Webhooks;
use crate::clock::Clock;
use crate::config::paths::{prepare_data_dir, prepare_workspace};
use crate::config::secrets::read_private_file;
use crate::config::settings::{Paths, Settings};
use crate::engine::core::{Engine, Parts};
use crate::engine::drain::Progress;
use crate::engine::emergency::ActiveStop;
use crate::engine::start as engine_start;
use crate::model::registry::Models;
use crate::protocol::enums::Scope;
use crate::protocol::token::{ADMIN, TokenRecord, generate, hash_token};
use crate::runtime::channel_handle::ChannelHandle;
use crate::runtime::in_process::InProcessClient;
use crate::runtime::listener::EngineReport;
use crate::runtime::tokens::{self, Tokens};

use crate::runtime::private_file::write_private;
use crate::runtime::program::ChannelProgram;
use crate::runtime::signals::StopSignal;
use crate::runtime::telemetry::Telemetry;
use crate::runtime::{descriptors, logging, stop_signal};
use crate::store::commands::recover::Recovery;
use crate::store::error::StoreError;
use crate::store::{OpenOptions, Store};
use crate::text::redact::Redactor;
use crate::tools::registry::{BUILTIN_NAMES, Registry};
use crate::tools::sandbox::{Sandbox, check_workspace};

/// The control socket in a data directory.
const SOCKET: &str = "leverframe.sock";
/// Longest path of a unix socket on Linux, without the terminating zero byte.
const MAX_SOCKET_PATH: usize = 107;

/// Why nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Another process holds the data directory: attach to it.
    #[error("the data directory is in use by {0}")]
    Locked(String),
    /// Anything else.
    #[error("{0:#}")]
    Other(#[from] anyhow::Error),
}

/// Everything that lives in this process.
pub struct Running {
    pub engine: Engine,
    /// Every address it is reached at, `unix:…` first.
    pub addresses: Vec<String>,
    client: Arc<InProcessClient>,
    webhooks: Webhooks,
    stop_signal: JoinHandle<()>,
    serving: Vec<Serving>,
    bridges: Vec<JoinHandle<()>>,
    stop_bridges: CancellationToken,
    stop_api: CancellationToken,
    listen_file: PathBuf,
    telemetry: Telemetry,
}

/// The redactor with every secret of the settings registered.
pub fn redactor(settings: &Settings) -> Redactor {
    let redactor = Redactor::default();
    for secret in settings.secrets() {
        redactor.register(secret.expose());
    }
    redactor
}

/// Names of the tools that exist, for lists in the configuration.
pub fn tool_names() -> &'static [&'static str] {
    BUILTIN_NAMES
}

/// The control socket of a data directory.
pub fn socket_path(paths: &Paths) -> PathBuf {
    let inside = paths.data_dir.join(SOCKET);
    match &paths.runtime_dir {
        Some(runtime) if inside.as_os_str().len() > MAX_SOCKET_PATH => {
            runtime.join(outside_name(&paths.data_dir))
        }
        Some(_) | None => inside,
    }
}

/// The name of a control socket that does not lie in its data directory.
fn outside_name(data_dir: &Path) -> String {
    let name = crate::tools::canonical::digest(&[&data_dir.to_string_lossy()]);
    format!("leverframe-{}.sock", name.get(..16).unwrap_or(&name))
}

/// Whether a socket is one that a daemon of this data directory makes, whatever its runtime directory is. Daemons use
/// the real path of their data directory.
pub fn is_socket_of(socket: &Path, data_dir: &Path) -> bool {
    let Ok(real) = data_dir.canonicalize() else {
        return false;
    };
    let outside = outside_name(&real);
    socket == real.join(SOCKET) || socket.file_name() == Some(outside.as_ref())
}

/// Starts everything. `extra` are bridges that settings cannot make (the demo's visitors).
pub async fn start(
    settings: Settings,
    redactor: Redactor,
    extra: Vec<(String, Box<dyn Bridge>)>,
) -> Result<Running, StartError> {
    descriptors::raise(settings.listener_limits.connections);
    // From before the lock is taken: who holds it can be told to stop.
    let stop = StopSignal::listen()?;
    let (engine, found) = open(prepare(settings)?, redactor).await?;
    // From before the first turn goes on.
    let telemetry = Telemetry::start(&engine).await;
    let begun = engine_start::begin(&engine, &found).await;
    begun.map_err(|problem| anyhow::Error::new(problem).context("recovering"))?;
    tokens::take_over_files(&engine).await?;

    let client = Arc::new(InProcessClient::new(engine.clone()));
    let stop_signal = stop_signal::obey(stop, client.clone());
    let listen_file = engine.settings.paths.data_dir.join("listen");
    let mut running = Running {
        engine,
        addresses: Vec::new(),
        webhooks: Webhooks::default(),
        client,
        stop_signal,
        serving: Vec::new(),
        bridges: Vec::new(),
        stop_bridges: CancellationToken::new(),
        stop_api: CancellationToken::new(),
        listen_file,
        telemetry,
    };
    running.serve().await?;
    running.connect(extra);
    Ok(running)
}

/// The engine on the database of a data directory that is there. It begins nothing by itself.
pub(crate) async fn open(
    settings: Settings,
    redactor: Redactor,
) -> Result<(Engine, Recovery), StartError> {
    let clock = Clock::System;
    let options = OpenOptions {
        dir: settings.paths.data_dir.clone(),
        clock: clock.clone(),
        readers: 2,
        instance: settings.instance.clone(),
    };
    let sandbox = Sandbox::probe_in_background()
        .with_max_growth(u64::from(settings.engine.run_growth_mib) << 20)
        .with_skills(settings.skill_directories());
    let opened = tokio::task::spawn_blocking(move || Store::open(options))
        .await
        .context("opening the database")?
        .map_err(|error| match error {
            StoreError::Locked { holder } => StartError::Locked(holder),
            other => StartError::Other(anyhow::Error::new(other).context("opening the database")),
        })?;
    let mut tools = Registry::builtin(&sandbox).context("the built-in tools")?;
    tools
        .add_configured(&settings, &sandbox)
        .context("the tools of the configuration")?;
    #[cfg(feature = "test-hooks")]
    let tools = crate::testing::tools::added_to(tools).context("the tools for tests")?;
    let models = Models::new(&settings)
        .context("the model providers")?
        .redacting(&redactor);
    let held = opened
        .recovery
        .held
        .clone()
        .map(|(since, reason)| ActiveStop { since, reason });
    let engine = Engine::new(
        Parts {
            store: opened.store,
            settings,
            models,
            tools,
            sandbox,
            clock,
            redactor,
            log: logging::lines(),
        },
        held,
    );
    Ok((engine, opened.recovery))
}

/// Makes directories and checks that no tool's workspace overlaps ours.
fn prepare(mut settings: Settings) -> anyhow::Result<Settings> {
    prepare_data_dir(&settings.paths.data_dir)?;
    let named = settings.paths.data_dir.clone();
    let data_dir = settings
        .paths
        .data_dir
        .canonicalize()
        .context("the data directory")?;
    settings.paths.data_dir = data_dir;
    for (name, channel) in &mut settings.channels {
        prepare_workspace(&channel.workspace, &named).with_context(|| {
            format!(
                "creating the workspace {} of channel `{name}`",
                channel.workspace.display()
            )
        })?;
        channel.workspace = channel.workspace.canonicalize().with_context(|| {
            format!(
                "the workspace {} of channel `{name}`",
                channel.workspace.display()
            )
        })?;
        let hidden = crate::config::paths::hidden_from_tools(&settings.paths, &channel.workspace);
        check_workspace(&channel.workspace, &hidden)
            .with_context(|| format!("channel `{name}`"))?;
    }
    Ok(settings)
}

impl Running {
    /// A console client of this process.
    pub fn client(&self) -> Arc<dyn ConsoleClient> {
        self.client.clone()
    }

    /// Names of channels that have a live bridge here.
    pub fn live_channels(&self) -> Vec<String> {
        let settings = &self.engine.settings;
        settings
            .channels
            .keys()
            .filter(|name| self.engine.has_bridge(name))
            .cloned()
            .collect()
    }

    async fn serve(&mut self) -> anyhow::Result<()> {
        let socket = socket_path(&self.engine.settings.paths);
        let client: Arc<dyn ConsoleClient> = self.client.clone();
        let unix = serve_unix(
            &socket,
            client.clone(),
            self.webhooks.clone(),
            Timing::default(),
            self.stop_api.clone(),
        )
        .await?;
        self.addresses.push(unix.url.clone());
        self.serving.push(unix);
        if let Some(address) = self.engine.settings.listen {
            let verifier = Arc::new(Tokens {
                admin: admin_token(&self.engine)?,
                engine: self.engine.clone(),
            });
            let options = TcpOptions {
                address,
                tls: self.engine.settings.tls.clone(),
                limits: self.engine.settings.listener_limits,
                verifier,
                report: Arc::new(EngineReport(self.engine.clone())),
            };
            let tcp = serve_tcp(
                options,
                client,
                self.webhooks.clone(),
                Timing::default(),
                self.stop_api.clone(),
            )
            .await?;
            self.addresses.push(tcp.url.clone());
            self.serving.push(tcp);
        }
        let text = self.addresses.join("\n") + "\n";
        std::fs::write(&self.listen_file, text)
            .with_context(|| format!("writing {}", self.listen_file.display()))?;
        Ok(())
    }

    fn connect(&mut self, extra: Vec<(String, Box<dyn Bridge>)>) {
        let clock = self.engine.clock.clone();
        let webhooks = self.webhooks.clone();
        let configured = self
            .engine
            .settings
            .channels
            .iter()
            .filter_map(|(name, settings)| {
                let bridge = match &settings.platform.program {
                    Some(program) => {
                        let program = ChannelProgram {
                            channel: name.clone(),
                            program: program.clone(),
                            services: self.engine.services.clone(),
                            redactor: self.engine.redactor.clone(),
                        };
                        Some(build::process(name, Arc::new(program), &clock))
                    }
                    None => build::build(name, settings, &clock, &webhooks),
                };
                #[cfg(feature = "test-hooks")]
                let bridge = bridge.or_else(|| crate::testing::bridge::build(settings, &clock));
                bridge.map(|bridge| (name.clone(), bridge))
            });
        let all: Vec<(String, Box<dyn Bridge>)> = configured.chain(extra).collect();
        for (name, bridge) in all {
            let port = Arc::new(ChannelHandle::new(self.engine.clone(), name));
            self.bridges.push(tokio::spawn(connect_when_released(
                self.engine.emergency.quarantine_changes(),
                bridge,
                port,
                self.stop_bridges.child_token(),
            )));
        }
    }

    /// Lets running turns end and their replies go out, for as long as the settings give. Messages and requests are
    /// taken all the while; what they begin waits for the next start. `report` hears of changes and of every second.
    pub async fn drain(&self, report: impl FnMut(Progress)) {
        let engine = self.engine.current();
        let grace = engine.settings.engine.shutdown_grace_seconds;
        engine
            .drain(Duration::from_secs(u64::from(grace)), report)
            .await;
    }

    /// Stops everything in order: turns let go, no new messages, no new requests, the database closes.
    pub async fn stop(self) {
        self.engine.let_go();
        self.stop_bridges.cancel();
        for bridge in self.bridges {
            if let Err(error) = bridge.await {
                tracing::warn!(%error, "a bridge ended with an error");
            }
        }
        self.stop_api.cancel();
        for serving in self.serving {
            serving.stopped().await;
        }
        self.stop_signal.abort();
        self.engine.stop().await;
        self.telemetry.stop().await;
        if let Err(error) = std::fs::remove_file(&self.listen_file) {
            tracing::debug!(%error, "the file with the addresses was already gone");
        }
        self.engine.store.clone().close().await;
    }
}

/// Runs a bridge, in a quarantined database from its release on: until then it does not even say hello.
async fn connect_when_released(
    mut quarantine: watch::Receiver<bool>,
    bridge: Box<dyn Bridge>,
    port: Arc<ChannelHandle>,
    stop: CancellationToken,
) {
    tokio::select! {
        released = quarantine.wait_for(|quarantined| !quarantined) => if released.is_err() { return },
        () = stop.cancelled() => return,
    }
    let backoff = supervisor::Backoff::default();
    supervisor::supervise(Arc::from(bridge), port, backoff, stop).await;
}

/// The admin token: made at the first start with `--listen`, kept 0600 in the data directory.
fn admin_token(engine: &Engine) -> anyhow::Result<StaticTokens> {
    let path = engine.settings.paths.data_dir.join("token");
    // A start that was cut short leaves an empty one, which nobody can know.
    if std::fs::metadata(&path).is_ok_and(|about| about.is_file() && about.len() == 0) {
        std::fs::remove_file(&path).with_context(|| format!("removing {}", path.display()))?;
    }
    if !path.exists() {
        write_private(&path, &(generate()? + "\n"))?;
    }
    let token = read_private_file(&path)?;
    engine.redactor.register(token.expose());
    Ok(StaticTokens::new(vec![TokenRecord {
        name: ADMIN.to_owned(),
        hash: hash_token(token.expose().trim()),
        scopes: vec![Scope::Read, Scope::Operate, Scope::Approve, Scope::Admin],
        person: None,
        expires_at: None,
    }]))
}
