//! One server: connected when somebody asks for it, at most once at a time, and let go when nobody does.
//!
//! A server that ends takes nothing with it but the calls that it was running, and no call is sent twice.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Notify, broadcast};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::clock::backoff::{doubled, jitter};
use crate::config::mcp::{McpPlace, McpServerSettings};
use crate::mcp::client::caller::Log;
use crate::mcp::client::connection::{ConnectError, Connection};
use crate::mcp::client::request::RequestError;
use crate::protocol::enums::{McpEra, McpServerState};
use crate::protocol::mcp::McpIdentity;
use crate::text::program_log::ProgramLog;
use crate::tools::mcp::catalogue::Catalogue;
use crate::tools::mcp::link::{Link, Use, lock};
use crate::tools::mcp::place::identity_place;
use crate::tools::mcp::status::ServerStatus;
use crate::tools::mcp::surroundings::Surroundings;
use crate::tools::service::ServiceProcess;

/// Directory of the directories of servers, below the data directory.
const DIRECTORY: &str = "mcp";
/// Longest start of a program, which may download what it needs first.
const START: Duration = Duration::from_secs(60);
/// Longest greeting over HTTP.
const GREETING: Duration = Duration::from_secs(25);
/// The first wait after a failure, and the longest.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// A longer wait ends a call that needs the server.
const PATIENCE: Duration = Duration::from_secs(10);
/// A connection that lasted so long has left earlier failures behind.
const SOUND: Duration = Duration::from_secs(60);
/// A list that is older is asked for again before a call, though the server told of no change.
const FRESH: Duration = Duration::from_secs(300);
/// Shortest time between two looks at a list of which a server says that it changed, and the longest.
const SHORTEST_PAUSE: Duration = Duration::from_secs(3);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// Longest text of a server in a message of ours, in bytes.
const MAX_WHY: usize = 600;

/// One server.
pub(super) struct Server {
    name: String,
    settings: McpServerSettings,
    surroundings: Surroundings,
    changes: broadcast::Sender<String>,
    /// Ends with everything that belongs to servers.
    tasks: TaskTracker,
    log: ProgramLog,
    /// Ends a try to connect.
    abandon: Notify,
    /// Held while it is being connected.
    connecting: tokio::sync::Mutex<()>,
    /// Held while its list is asked for.
    listing: tokio::sync::Mutex<()>,
    now: Mutex<Now>,
}

/// How it is now.
struct Now {
    state: McpServerState,
    problem: Option<String>,
    link: Option<Arc<Link>>,
    /// Earlier ones, in which calls are still under way.
    retired: Vec<Arc<Link>>,
    era: Option<McpEra>,
    protocol_version: Option<String>,
    identity: Option<McpIdentity>,
    connections: u64,
    /// Failures in a row.
    failures: u32,
    retry_at: Instant,
    /// The server is known to be of the newer era, and slow to say so.
    is_stateless: bool,
}

/// A connection with its program, or why there is none.
type Opened = Result<(Connection, Option<ServiceProcess>), ConnectError>;

impl Server {
    pub(super) fn new(
        name: &str,
        settings: McpServerSettings,
        surroundings: Surroundings,
        changes: broadcast::Sender<String>,
        tasks: TaskTracker,
    ) -> Self {
        Self {
            name: name.to_owned(),
            log: ProgramLog::new(surroundings.redactor.clone()),
            settings,
            surroundings,
            changes,
            tasks,
            abandon: Notify::new(),
            connecting: tokio::sync::Mutex::default(),
            listing: tokio::sync::Mutex::default(),
            now: Mutex::new(Now {
                state: McpServerState::Idle,
                problem: None,
                link: None,
                retired: Vec::new(),
                era: None,
                protocol_version: None,
                identity: None,
                connections: 0,
                failures: 0,
                retry_at: Instant::now(),
                is_stateless: false,
            }),
        }
    }

    pub(super) fn settings(&self) -> &McpServerSettings {
        &self.settings
    }

    pub(super) fn status(&self) -> ServerStatus {
        let now = lock(&self.now);
        let link = now.link.as_ref();
        ServerStatus {
            state: now.state,
            problem: now.problem.clone(),
            era: now.era,
            protocol_version: now.protocol_version.clone(),
            identity: now.identity.clone(),
            connected_at: link.map(|link| link.connected_at),
            restarts: now.connections.saturating_sub(1),
            pid: link.and_then(|link| link.pid),
            log: self.log.lines(),
            sandbox: match &self.settings.place {
                McpPlace::Program(program) if program.sandbox => {
                    Some(self.surroundings.services.sandbox.level_word_so_far())
                }
                McpPlace::Program(_) => Some("unsandboxed".to_owned()),
                McpPlace::Address(_) => None,
            },
        }
    }

    /// Tells whoever listens that something changed.
    pub(super) fn tell(&self) {
        // Nobody may be listening.
        let _ = self.changes.send(self.name.clone());
    }

    /// The connection, made where there is none. The error says why there is none and what to do.
    pub(super) async fn connect(self: &Arc<Self>) -> Result<Use, String> {
        if let Some(link) = self.live() {
            return Ok(Use::of(link));
        }
        let server = Arc::clone(self);
        // Whoever asked may go away; what was begun is brought to an end.
        let connecting = self.tasks.spawn(async move { server.connect_once().await });
        match connecting.await {
            Ok(connected) => connected,
            Err(error) => Err(format!("`{}` could not be connected: {error}", self.name)),
        }
    }

    fn live(&self) -> Option<Arc<Link>> {
        let now = lock(&self.now);
        let link = now.link.as_ref();
        let usable = |connection: &Connection| {
            !connection.closed().is_cancelled() && !connection.retired().is_cancelled()
        };
        link.filter(|link| usable(&link.connection)).cloned()
    }

    async fn connect_once(self: &Arc<Self>) -> Result<Use, String> {
        let _one = self.connecting.lock().await;
        if let Some(link) = self.live() {
            return Ok(Use::of(link));
        }
        let abandoned = self.abandon.notified();
        tokio::pin!(abandoned);
        // From here on: who lets it go afterwards ends this try.
        abandoned.as_mut().enable();
        let connected = tokio::select! {
            opened = self.try_once() => self.settle(opened?),
            () = abandoned => Err(format!("the server `{}` was let go", self.name)),
        };
        self.tell();
        connected
    }

    /// One try, when its turn has come. The outer error says why there was none.
    async fn try_once(&self) -> Result<Opened, String> {
        self.wait_for_turn().await?;
        let is_stateless = {
            let mut now = lock(&self.now);
            now.state = McpServerState::Starting;
            now.is_stateless
        };
        self.tell();
        Ok(self.open(is_stateless).await)
    }

    /// Waits until it may be tried again. The error says why it is not tried now.
    async fn wait_for_turn(&self) -> Result<(), String> {
        let (retry_at, failed) = {
            let now = lock(&self.now);
            if now.state == McpServerState::Stopped {
                return Err(format!(
                    "a person stopped the server `{0}`; `leverframe mcp start {0}` starts it again",
                    self.name
                ));
            }
            let failed = now.problem.clone().unwrap_or_default();
            (now.retry_at, failed)
        };
        let wait = retry_at.saturating_duration_since(Instant::now());
        if wait > PATIENCE {
            return Err(format!(
                "the server `{}` failed: {failed}; it can be tried again in {} s",
                self.name,
                wait.as_secs() + 1
            ));
        }
        tokio::time::sleep(wait).await;
        Ok(())
    }

    async fn open(&self, is_stateless: bool) -> Opened {
        let kept = self.log.clone();
        let log: Log = Arc::new(move |line: &str| {
            kept.push(line);
        });
        match &self.settings.place {
            McpPlace::Program(program) => {
                let errors = self.log.clone();
                let starting =
                    self.surroundings
                        .services
                        .start(DIRECTORY, &self.name, program, move |text| {
                            errors.push(text);
                        });
                let (process, streams) = starting
                    .await
                    .map_err(|error| ConnectError::failed(error.to_string()))?;
                let connecting = Connection::over_streams(
                    streams.output,
                    streams.input,
                    log,
                    is_stateless,
                    START,
                );
                match connecting.await {
                    Ok(connection) => Ok((connection, Some(process))),
                    Err(error) => {
                        self.tasks.spawn(process.end());
                        Err(error)
                    }
                }
            }
            McpPlace::Address(address) => {
                let redactor = self.surroundings.redactor.clone();
                let clock = self.surroundings.clock.clone();
                let connecting = Connection::over_http(address, redactor, clock, log, GREETING);
                Ok((connecting.await?, None))
            }
        }
    }

    /// Takes what a try to connect gave.
    fn settle(self: &Arc<Self>, opened: Opened) -> Result<Use, String> {
        let mut now = lock(&self.now);
        let was_stopped = now.state == McpServerState::Stopped;
        match opened {
            Ok((connection, process)) if was_stopped => {
                connection.close();
                self.tasks.spawn(ended(process));
                Err(format!("a person stopped the server `{}`", self.name))
            }
            Ok((connection, process)) => {
                let (name, version) = connection.server();
                now.identity = Some(McpIdentity {
                    name,
                    version,
                    place: identity_place(&self.settings),
                });
                now.era = Some(connection.era());
                now.protocol_version = Some(connection.protocol_version().to_owned());
                now.state = McpServerState::Running;
                now.problem = None;
                now.connections += 1;
                let link = Arc::new(Link {
                    connection,
                    pid: process.as_ref().and_then(ServiceProcess::id),
                    connected_at: self.surroundings.clock.now(),
                    began: Instant::now(),
                    catalogue: Mutex::default(),
                    told: Mutex::default(),
                    differs: Notify::new(),
                    freed: Notify::new(),
                    uses: Mutex::new((0, Instant::now())),
                    let_go: CancellationToken::new(),
                });
                let earlier = now.link.replace(Arc::clone(&link));
                now.retired.extend(earlier);
                let using = Use::of(Arc::clone(&link));
                drop(now);
                let server = Arc::clone(self);
                self.tasks
                    .spawn(async move { server.watch(link, process).await });
                Ok(using)
            }
            Err(_) if was_stopped => Err(format!("a person stopped the server `{}`", self.name)),
            Err(ConnectError::NeedsLogin(why)) => {
                let step = match &self.settings.place {
                    McpPlace::Address(address) if address.login.is_some() => {
                        format!("run `leverframe mcp login {}`", self.name)
                    }
                    McpPlace::Address(_) | McpPlace::Program(_) => {
                        "set `login = true`, or a header with its token".to_owned()
                    }
                };
                let why = format!("{why}; {step}");
                now.state = McpServerState::NeedsLogin;
                now.problem = Some(why.clone());
                now.retry_at = Instant::now();
                Err(format!("the server `{}` cannot be used: {why}", self.name))
            }
            Err(ConnectError::Failed { why, is_stateless }) => {
                now.is_stateless |= is_stateless;
                let why = match self.log.last() {
                    Some(line) => format!("{why} (its last line: {line})"),
                    None => why,
                };
                let why = self.surroundings.redactor.redact(&why).into_owned();
                now.fail(&why);
                Err(format!("the server `{}` cannot be used: {why}", self.name))
            }
        }
    }

    /// Stays with a connection until it ends, and cleans up behind it.
    async fn watch(self: Arc<Self>, link: Arc<Link>, process: Option<ServiceProcess>) {
        let closed = link.connection.closed();
        let retired = link.connection.retired();
        let mut news = link.connection.news();
        let mut pause = SHORTEST_PAUSE;
        let mut looked_at: Option<Instant> = None;
        let mut look_at: Option<Instant> = None;
        let was_idle = loop {
            let (uses, last) = *lock(&link.uses);
            if uses == 0 && retired.is_cancelled() {
                break true;
            }
            let now = Instant::now();
            let next_look = looked_at.map_or(now, |at| (at + pause).max(now));
            let idle_at = last + self.settings.keep;
            let wait_until = match uses {
                0 => idle_at,
                _ => Instant::now() + self.settings.keep,
            };
            tokio::select! {
                () = link.let_go.cancelled() => break false,
                () = closed.cancelled() => break false,
                changed = news.changed() => {
                    if changed.is_err() {
                        break false;
                    }
                    *lock(&link.catalogue) = None;
                    look_at.get_or_insert(next_look);
                }
                () = link.differs.notified() => {
                    look_at.get_or_insert(next_look);
                }
                () = tokio::time::sleep_until(look_at.unwrap_or(wait_until)), if look_at.is_some() => {
                    let changed = tokio::select! {
                        changed = self.has_other_list(&link) => changed,
                        () = link.let_go.cancelled() => break false,
                        () = closed.cancelled() => break false,
                    };
                    (look_at, looked_at) = (None, Some(Instant::now()));
                    pause = (pause * 2).min(LONGEST_PAUSE);
                    if changed {
                        pause = SHORTEST_PAUSE;
                        self.tell();
                    }
                }
                () = retired.cancelled(), if !retired.is_cancelled() => {}
                () = link.freed.notified() => {}
                () = tokio::time::sleep_until(wait_until) => {
                    let (uses, last) = *lock(&link.uses);
                    if uses == 0 && last + self.settings.keep <= Instant::now() {
                        break true;
                    }
                }
            }
        };
        let on_purpose = was_idle || link.let_go.is_cancelled();
        {
            let mut now = lock(&self.now);
            now.retired.retain(|other| !Arc::ptr_eq(other, &link));
            if now
                .link
                .as_ref()
                .is_some_and(|current| Arc::ptr_eq(current, &link))
            {
                now.link = None;
                if on_purpose {
                    // What let it go has said what it is now.
                    if now.state == McpServerState::Running {
                        now.state = McpServerState::Idle;
                    }
                } else {
                    if link.began.elapsed() >= SOUND {
                        now.failures = 0;
                    }
                    let last = self.log.last();
                    let line =
                        last.map_or_else(String::new, |line| format!(" (its last line: {line})"));
                    now.fail(&format!("it ended by itself{line}"));
                }
            }
        }
        link.connection.close();
        self.tell();
        ended(process).await;
    }

    /// Whether the server offers something else than what was told.
    async fn has_other_list(&self, link: &Link) -> bool {
        // What cannot be seen now is seen before the next call.
        let Ok(catalogue) = self.catalogue(link).await else {
            return false;
        };
        let before = lock(&link.told).replace(Arc::clone(&catalogue));
        before != Some(catalogue)
    }

    /// What the server offers, asked for where that is not known.
    pub(super) async fn catalogue(&self, link: &Link) -> Result<Arc<Catalogue>, RequestError> {
        let known = || {
            let known = lock(&link.catalogue);
            let fresh = known.as_ref().filter(|(_, at)| at.elapsed() < FRESH);
            fresh.map(|(catalogue, _)| Arc::clone(catalogue))
        };
        if let Some(catalogue) = known() {
            return Ok(catalogue);
        }
        let _one = self.listing.lock().await;
        if let Some(catalogue) = known() {
            return Ok(catalogue);
        }
        // What changes from now on is asked for again.
        let news = link.connection.news();
        let list = link.connection.tools().await?;
        let identity = lock(&self.now).identity.clone();
        let identity = identity
            .ok_or_else(|| RequestError::NotDone(format!("nobody knows who `{}` is", self.name)))?;
        let mut catalogue = Catalogue::new(&self.name, identity, list);
        let instructions = link.connection.instructions();
        catalogue.instructions =
            instructions.map(|text| text[..text.floor_char_boundary(16 * 1024)].to_owned());
        catalogue.has_resources = link.connection.has_resources();
        catalogue.has_prompts = link.connection.has_prompts();
        let catalogue = Arc::new(catalogue);
        if *lock(&link.told).get_or_insert_with(|| Arc::clone(&catalogue)) != catalogue {
            link.differs.notify_one();
        }
        if !news.has_changed().unwrap_or(true) {
            *lock(&link.catalogue) = Some((Arc::clone(&catalogue), Instant::now()));
        }
        Ok(catalogue)
    }

    /// The next look at what it offers asks it.
    pub(super) fn forget_list(&self) {
        if let Some(link) = &lock(&self.now).link {
            *lock(&link.catalogue) = None;
        }
    }

    /// A call went well: earlier failures count no more.
    pub(super) fn is_sound(&self) {
        lock(&self.now).failures = 0;
    }

    /// The server refused a login that it had accepted.
    pub(super) fn needs_login(&self) {
        {
            let mut now = lock(&self.now);
            now.state = McpServerState::NeedsLogin;
            now.problem = Some(format!("run `leverframe mcp login {}`", self.name));
            // Other calls may be allowed, and go on.
            if let Some(link) = &now.link {
                link.connection.retire();
            }
        }
        self.tell();
    }

    /// Lets it go. `state`: what it is then.
    pub(super) fn let_go(&self, state: McpServerState) {
        {
            let mut now = lock(&self.now);
            now.state = state;
            now.problem = None;
            now.failures = 0;
            now.retry_at = Instant::now();
            for link in now.link.iter().chain(&now.retired) {
                link.let_go.cancel();
                link.connection.close();
            }
        }
        self.abandon.notify_waiters();
        self.tell();
    }

    /// A failure in words of this server, cut.
    pub(super) fn said(&self, why: &str) -> String {
        let why = self.surroundings.redactor.redact(why);
        why[..why.floor_char_boundary(MAX_WHY)].to_owned()
    }
}

impl Now {
    fn fail(&mut self, why: &str) {
        self.failures = self.failures.saturating_add(1);
        let wait = doubled(FIRST_WAIT, self.failures, LONGEST_WAIT);
        self.retry_at = Instant::now() + wait.mul_f64(0.75 + jitter() / 2.0);
        if self.state != McpServerState::Stopped {
            self.state = McpServerState::Failed;
        }
        self.problem = Some(why[..why.floor_char_boundary(MAX_WHY)].to_owned());
    }
}

async fn ended(process: Option<ServiceProcess>) {
    if let Some(process) = process {
        process.end().await;
    }
}
