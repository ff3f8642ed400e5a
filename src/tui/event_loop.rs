//! The loop: wait for something, drain what is ready, draw once. Generic over terminal and input, so
//! that tests drive it without a terminal. Nothing blocks it: commands and queries run beside it.

use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossterm::event::{Event as InputEvent, MouseButton, MouseEvent, MouseEventKind};
use futures_util::{Stream, StreamExt};
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinSet;

use crate::client::console_client::ConsoleClient;
use crate::client::export::ExportFormat;
use crate::console::connection;
use crate::console::hosts::HostAddress;
use crate::console::ids::HostId;
use crate::console::message::DaemonMessage;
use crate::console::model::Tone;
use crate::console::status::Status;
use crate::console::time::{Millis, Now};
use crate::protocol::enums::Surface;
use crate::protocol::ids::SessionId;
use crate::protocol::request::{Command, Envelope, Query};
use crate::text::ascii;
use crate::tui::action::Action;
use crate::tui::assets::{self, AssetKind};
use crate::tui::code_colors::{CodeLines, MAX_TIME};
use crate::tui::frames::{FrameScheduler, Wanted};
use crate::tui::message::{Effect, Message, Mouse, MouseKind, QuitKind};
use crate::tui::options::ConsoleOptions;
use crate::tui::pictures::asking::{self, Reply};
use crate::tui::pictures::cell_size::CellSize;
use crate::tui::pictures::placements::Placements;
use crate::tui::pictures::{Decoded, PictureKey};
use crate::tui::reload::Watch;
use crate::tui::state::app::{Dirty, State};
use crate::tui::state::hosts;
use crate::tui::state::screen::Screen;
use crate::tui::state::update::update;
use crate::tui::terminal::{
    self, CLIPBOARD_MAX, ConsoleTerminal, TerminalGuard, clipboard_sequence,
};
use crate::tui::theme::roles::Theme;
use crate::tui::view::cache::ViewCache;
use crate::tui::view::screen;
use crate::tui::{editor, export, files, keymap, notify, pictures, theme};

/// Terminal events.
pub type Input = Pin<Box<dyn Stream<Item = io::Result<InputEvent>> + Send>>;

/// Messages taken at most before a frame is drawn.
const DRAIN: usize = 512;

/// A daemon among several, with the name the operator gave it.
pub struct Attached {
    /// The name; none = what it calls itself.
    pub name: Option<String>,
    /// Its address, without a credential.
    pub address: String,
    pub client: Arc<dyn ConsoleClient>,
}

/// Runs the console on the real terminal until it is left.
pub async fn run(
    client: Arc<dyn ConsoleClient>,
    options: ConsoleOptions,
) -> anyhow::Result<QuitKind> {
    run_on(alone(client), options).await
}

/// The same on several daemons.
pub async fn run_on(hosts: Vec<Attached>, options: ConsoleOptions) -> anyhow::Result<QuitKind> {
    use anyhow::Context as _;
    let mut options = options;
    let mut terminal =
        TerminalGuard::enter().context("the terminal cannot be set up (is this a terminal?)")?;
    let mut reply = Reply::default();
    if let Some(question) = &options.question {
        reply = asking::ask(question).await;
        options.graphics = reply.graphics;
        // What a terminal may have written of the question goes.
        terminal::clear(terminal.terminal()).context("the terminal cannot be cleared")?;
    }
    let open_input = move || -> Input { Box::pin(asking::input(&mut reply)) };
    Box::pin(run_on_with(hosts, options, terminal, open_input)).await
}

/// Runs the console on this terminal with this input. `open_input` is called again after the input was
/// given up for a suspension or an editor.
pub async fn run_with<T: ConsoleTerminal>(
    client: Arc<dyn ConsoleClient>,
    options: ConsoleOptions,
    terminal: T,
    open_input: impl FnMut() -> Input,
) -> anyhow::Result<QuitKind> {
    run_on_with(alone(client), options, terminal, open_input).await
}

/// The same on several daemons.
pub async fn run_on_with<T: ConsoleTerminal>(
    hosts: Vec<Attached>,
    options: ConsoleOptions,
    terminal: T,
    open_input: impl FnMut() -> Input,
) -> anyhow::Result<QuitKind> {
    let mut console = Console::new(hosts, options, terminal);
    console.main(open_input).await
}

fn alone(client: Arc<dyn ConsoleClient>) -> Vec<Attached> {
    vec![Attached {
        name: None,
        address: client.description(),
        client,
    }]
}

/// The connection to one daemon.
struct Wire {
    client: Arc<dyn ConsoleClient>,
    deltas: watch::Sender<Vec<SessionId>>,
    reconnect: Arc<Notify>,
}

struct Console<T> {
    wires: Vec<Wire>,
    options: ConsoleOptions,
    terminal: T,
    state: State,
    theme: Theme,
    cache: ViewCache,
    /// The pixels on the screen.
    placements: Placements,
    /// Columns and rows of the terminal, and the size of a cell as the line knows it.
    cells: Option<((u16, u16), Option<CellSize>)>,
    /// The title that the terminal was given.
    title: Option<String>,
    frames: FrameScheduler,
    watch: Watch,
    started: Instant,
    incoming: mpsc::Receiver<(HostId, DaemonMessage)>,
    answers: JoinSet<Message>,
    tasks: JoinSet<()>,
    /// What colours texts and decodes pictures beside the loop.
    slow: JoinSet<Slow>,
}

/// What a frame wants that takes longer than a frame.
enum Slow {
    Code(u64, CodeLines),
    Picture(PictureKey, Decoded),
}

/// What the loop must do itself after a batch of effects.
enum Asked {
    Quit(QuitKind),
    Suspend,
    Edit(String),
}

impl<T: ConsoleTerminal> Console<T> {
    fn new(hosts: Vec<Attached>, options: ConsoleOptions, terminal: T) -> Self {
        let started = Instant::now();
        let now = Now {
            steady: Millis(0),
            wall: options.clock.now(),
        };
        let user_dir = options.user_dir.as_deref();
        let mut complaints = Vec::new();
        let keymap = keymap::file::load(&options.keymap, user_dir).unwrap_or_else(|error| {
            complaints.push(error.to_string());
            keymap::file::default_keymap()
        });
        let theme =
            theme::file::load(&options.theme, user_dir, options.depth).unwrap_or_else(|error| {
                complaints.push(error.to_string());
                theme::file::default_theme(options.depth)
            });
        let mut state = State::new(
            keymap,
            options.hosting.clone(),
            options.access,
            hosts
                .first()
                .map_or_else(String::new, |host| host.client.description()),
            now,
        );
        let named = hosts.iter().map(|host| HostAddress {
            name: host.name.clone(),
            address: host.address.clone(),
        });
        hosts::open(&mut state, named.collect());
        state.has_editor = options.editor.is_some();
        state.wanted_replay = options.replay;
        state.theme_names = assets::names(AssetKind::Theme, user_dir);
        state.keymap_names = assets::names(AssetKind::Keymap, user_dir);
        let (depth, links) = (options.depth, options.links);
        let mut cache = ViewCache::new(depth, links);
        cache.pictures_mut().set_graphics(options.graphics);
        let placements = Placements::new(options.graphics, std::process::id());
        let watch = Watch::new(options.user_dir.clone());
        if !complaints.is_empty() {
            state.toast(Tone::Error, complaints.join("; "));
        }
        let (sender, incoming) = mpsc::channel(DRAIN);
        let mut tasks = JoinSet::new();
        let mut wires = Vec::new();
        for (id, host) in (0..=u8::MAX).map(HostId).zip(hosts) {
            let client = host.client;
            let (deltas, wanted) = watch::channel(Vec::new());
            let reconnect = Arc::new(Notify::new());
            tasks.spawn(connection::follow(
                Arc::clone(&client),
                wanted,
                Arc::clone(&reconnect),
                options.actor.clone(),
                connection::Out {
                    sender: sender.clone(),
                    host: id,
                },
            ));
            wires.push(Wire {
                client,
                deltas,
                reconnect,
            });
        }
        Self {
            wires,
            options,
            terminal,
            state,
            theme,
            cache,
            placements,
            cells: None,
            title: None,
            frames: FrameScheduler::default(),
            watch,
            started,
            incoming,
            answers: JoinSet::new(),
            tasks,
            slow: JoinSet::new(),
        }
    }

    fn now(&self) -> Now {
        let steady = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        Now {
            steady: Millis(steady),
            wall: self.options.clock.now(),
        }
    }

    fn size(&mut self) -> Message {
        let size = self
            .terminal
            .terminal()
            .size()
            .map_or((80, 24), |size| (size.width, size.height));
        Message::Resize(size.0, size.1)
    }

    async fn main(&mut self, mut open_input: impl FnMut() -> Input) -> anyhow::Result<QuitKind> {
        use anyhow::Context as _;
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminated =
            signal(SignalKind::terminate()).context("SIGTERM cannot be watched")?;
        let mut hung_up = signal(SignalKind::hangup()).context("SIGHUP cannot be watched")?;
        // Watched here too: the reader of keys forgets a resize that comes together with a key.
        let mut resized =
            signal(SignalKind::window_change()).context("SIGWINCH cannot be watched")?;
        let mut input = open_input();
        let size = self.size();
        let mut asked = self.feed(size);
        self.frames.request(Wanted::Now, self.now().steady);
        loop {
            match asked.take() {
                Some(Asked::Quit(kind)) => {
                    self.tasks.abort_all();
                    self.finish_commands().await;
                    return Ok(kind);
                }
                Some(Asked::Suspend) => {
                    // The reader is dropped, not only left alone: it would eat the shell's keys.
                    drop(input);
                    self.suspend()?;
                    input = open_input();
                    let size = self.size();
                    asked = self.feed(size);
                    continue;
                }
                Some(Asked::Edit(text)) => {
                    drop(input);
                    let result = self.edit(&text).await?;
                    input = open_input();
                    asked = self.feed(Message::Edited(result));
                    continue;
                }
                None => {}
            }
            let now = self.now();
            if self.frames.is_due(now.steady) {
                asked = self.draw().context("the terminal cannot be written to")?;
                if asked.is_some() {
                    continue;
                }
            }
            let wake = [self.frames.due(), self.state.next_deadline()]
                .into_iter()
                .flatten()
                .min();
            let now = self.now();
            let sleep = wake.map_or(Duration::from_mins(1), |at| {
                Duration::from_millis(at.since(now.steady))
            });
            let message = tokio::select! {
                biased;
                _ = terminated.recv() => Some(Message::Terminate),
                _ = hung_up.recv() => Some(Message::Terminate),
                _ = resized.recv() => Some(self.size()),
                event = input.next() => match event {
                    Some(Ok(event)) => translate(event),
                    // The terminal is gone: nobody can see or type anything here any more.
                    Some(Err(_)) | None => Some(Message::Terminate),
                },
                Some((host, message)) = self.incoming.recv() => Some(Message::Daemon(host, message)),
                Some(answer) = self.answers.join_next() => answer.ok(),
                Some(done) = self.slow.join_next() => {
                    match done {
                        Ok(Slow::Code(key, lines)) => self.cache.color(key, lines),
                        Ok(Slow::Picture(key, decoded)) => self.cache.pictures_mut().put(key, decoded),
                        Err(error) => tracing::debug!(%error, "a task of a frame stopped unexpectedly"),
                    }
                    self.frames.request(Wanted::Soon, self.now().steady);
                    None
                }
                () = self.watch.written() => {
                    let changed = self.watch.changed();
                    if changed {
                        self.reload();
                    }
                    // What was loaded, or why it was not, is drawn.
                    changed.then_some(Message::Tick)
                }
                () = tokio::time::sleep(sleep) => {
                    let now = self.now().steady;
                    self.state.next_deadline().is_none_or(|at| at <= now.plus(1)).then_some(Message::Tick)
                }
            };
            if let Some(message) = message {
                asked = self.feed(message);
            }
            for _ in 0..DRAIN {
                if asked.is_some() {
                    break;
                }
                let Ok((host, message)) = self.incoming.try_recv() else {
                    break;
                };
                asked = self.feed(Message::Daemon(host, message));
            }
        }
    }

    /// Gives one message to the reducer and starts what it wants done.
    fn feed(&mut self, message: Message) -> Option<Asked> {
        let now = self.now();
        // Also when the size ends up as it was: a terminal that was smaller for a moment has lost cells.
        if let Message::Resize(columns, rows) = message {
            self.clear();
            self.measure((columns, rows));
        }
        let effects = update(&mut self.state, message, now);
        if self.watch.changed_unsaid(now.steady) {
            self.reload();
        }
        let mut asked = None;
        for (host, effect) in effects {
            match effect {
                Effect::Submit(command) => self.submit(host, command),
                Effect::Query(query) => self.query(host, query),
                Effect::SetDeltas(sessions) => {
                    if let Some(wire) = self.wires.get(usize::from(host.0)) {
                        wire.deltas.send_if_modified(|known| {
                            let changed = *known != sessions;
                            *known = sessions;
                            changed
                        });
                    }
                }
                Effect::Copy(text) => self.copy(&text),
                Effect::OpenEditor(text) => asked = Some(Asked::Edit(text)),
                Effect::LoadTheme(name) => self.load_theme(&name),
                Effect::LoadKeymap(name) => self.load_keymap(&name),
                Effect::Reconnect => {
                    if let Some(wire) = self.wires.get(usize::from(host.0)) {
                        wire.reconnect.notify_one();
                    }
                }
                Effect::Quit(kind) => asked = Some(Asked::Quit(kind)),
                Effect::Suspend => asked = Some(Asked::Suspend),
                Effect::Redraw => {
                    self.clear();
                    self.state.touch(Dirty::Now);
                }
                Effect::Bell => self.control("\x07"),
                Effect::SubmitToAll(command) => {
                    for id in self.state.model.hosts.ids() {
                        self.submit(id, command.clone());
                    }
                }
                Effect::Mouse(on) => self.control(terminal::mouse_sequence(on)),
                Effect::Notify(waiting) => {
                    let (how, tmux) = (self.options.notify, self.options.tmux);
                    if let Some(sequence) = notify::sequence(how, tmux, waiting) {
                        self.control(&sequence);
                    }
                }
                Effect::Export(session_id, format) => self.export(host, session_id, format),
                Effect::ReadFile(session_id, path) => {
                    self.answers.spawn(async move {
                        Message::FileRead(session_id, files::read(path).await)
                    });
                }
                Effect::SaveFile(session_id, name) => self.save(host, session_id, name),
                Effect::UploadDataset {
                    channel,
                    file,
                    name,
                } => self.upload(host, channel, file, name),
            }
        }
        let wanted = match std::mem::take(&mut self.state.dirty) {
            Dirty::No => return asked,
            Dirty::Soon => Wanted::Soon,
            Dirty::Now => Wanted::Now,
        };
        self.frames.request(wanted, now.steady);
        asked
    }

    /// Everything is drawn anew by the next frame.
    fn clear(&mut self) {
        self.placements.forget();
        if let Err(error) = terminal::clear(self.terminal.terminal()) {
            tracing::debug!(%error, "the screen could not be cleared");
        }
    }

    /// The terminal has so many cells: these may have another size.
    fn measure(&mut self, cells: (u16, u16)) {
        let cell = self.terminal.cell_size();
        let Some((before, cell_before)) = self.cells.replace((cells, cell)) else {
            return;
        };
        if before == cells || (cell.is_some() && cell == cell_before) {
            return;
        }
        let graphics = self.placements.graphics().resized(cell);
        self.placements.set_graphics(graphics);
        self.cache.pictures_mut().set_graphics(graphics);
    }

    fn control(&mut self, sequence: &str) {
        if let Err(error) = self.terminal.control(sequence) {
            tracing::debug!(%error, "a control sequence could not be written");
        }
    }

    fn copy(&mut self, text: &str) {
        if text.len() > CLIPBOARD_MAX {
            let message = format!(
                "not copied: {} bytes, terminals take at most {CLIPBOARD_MAX}{}",
                text.len(),
                self.instead_of_copying()
            );
            self.state.toast(Tone::Warning, message);
            return;
        }
        self.control(&clipboard_sequence(text));
    }

    /// What can be done with a session that is too long for the clipboard, with the key it is on.
    fn instead_of_copying(&self) -> String {
        let context = self.state.context();
        if self.state.screen != Screen::Session {
            return String::new();
        }
        self.state
            .keymap
            .key_of(context, Action::Export)
            .map_or_else(
                || "; `:export` writes it to a file".to_owned(),
                |key| format!("; {key} writes the whole session to a file"),
            )
    }

    fn load_theme(&mut self, name: &str) {
        match theme::file::load(name, self.options.user_dir.as_deref(), self.options.depth) {
            Ok(theme) => {
                self.theme = theme;
                self.cache.clear();
                name.clone_into(&mut self.options.theme);
                self.state.toast(Tone::Info, format!("theme {name}"));
            }
            Err(error) => self
                .state
                .toast(Tone::Error, format!("theme unchanged: {error}")),
        }
    }

    fn load_keymap(&mut self, name: &str) {
        match keymap::file::load(name, self.options.user_dir.as_deref()) {
            Ok(keymap) => {
                self.state.keymap = keymap;
                // Some lines name keys.
                self.cache.clear();
                self.state.pending = None;
                name.clone_into(&mut self.options.keymap);
                self.state.toast(Tone::Info, format!("keymap {name}"));
            }
            Err(error) => self
                .state
                .toast(Tone::Error, format!("keymap unchanged: {error}")),
        }
    }

    /// The user's files are not what they were. What is wanted is loaded again, also where it could not be
    /// at first; nothing is said where nothing changed.
    fn reload(&mut self) {
        let user_dir = self.options.user_dir.as_deref();
        self.state.theme_names = assets::names(AssetKind::Theme, user_dir);
        self.state.keymap_names = assets::names(AssetKind::Keymap, user_dir);
        let theme = theme::file::load(&self.options.theme, user_dir, self.options.depth);
        if theme.is_err() || theme.is_ok_and(|theme| theme != self.theme) {
            self.load_theme(&self.options.theme.clone());
        }
        let keymap = keymap::file::load(&self.options.keymap, self.options.user_dir.as_deref());
        if keymap.is_err() || keymap.is_ok_and(|keymap| keymap != self.state.keymap) {
            self.load_keymap(&self.options.keymap.clone());
        }
    }

    /// Lets a daemon do something beside the loop; what comes of it is a message.
    fn beside<F: Future<Output = Message> + Send + 'static>(
        &mut self,
        host: HostId,
        work: impl FnOnce(Arc<dyn ConsoleClient>) -> F,
    ) {
        if let Some(wire) = self.wires.get(usize::from(host.0)) {
            self.answers.spawn(work(Arc::clone(&wire.client)));
        }
    }

    fn submit(&mut self, host: HostId, command: Command) {
        let envelope = Envelope {
            command: command.clone(),
            actor: self.options.actor.clone(),
            surface: Surface::Console,
            idempotency_key: None,
            trace: None,
        };
        self.beside(host, |client| async move {
            let result = client.submit(envelope).await;
            let message = DaemonMessage::Submitted {
                command: Box::new(command),
                result: result.map(Box::new).map_err(Box::new),
            };
            Message::Daemon(host, message)
        });
    }

    fn query(&mut self, host: HostId, query: Query) {
        self.beside(host, |client| async move {
            let result = client.query(query.clone()).await;
            let message = DaemonMessage::Answered {
                query: Box::new(query),
                result: result.map(Box::new).map_err(Box::new),
            };
            Message::Daemon(host, message)
        });
    }

    fn export(&mut self, host: HostId, session_id: SessionId, format: ExportFormat) {
        let at = self.options.clock.now();
        self.beside(host, move |client| async move {
            let here = Path::new(".");
            Message::Exported(export::export(&*client, here, session_id, format, at).await)
        });
    }

    fn upload(&mut self, host: HostId, channel: String, file: PathBuf, name: Option<String>) {
        let actor = self.options.actor.clone();
        self.beside(host, |client| async move {
            Message::DatasetUploaded(files::upload(&*client, &actor, channel, &file, name).await)
        });
    }

    fn save(&mut self, host: HostId, session_id: SessionId, name: String) {
        self.beside(host, move |client| async move {
            let here = Path::new(".");
            Message::Exported(files::save(&*client, here, session_id, &name).await)
        });
    }

    /// A command already on its way is not cut off by leaving.
    async fn finish_commands(&mut self) {
        let all = async { while self.answers.join_next().await.is_some() {} };
        if tokio::time::timeout(Duration::from_secs(1), all)
            .await
            .is_err()
        {
            tracing::warn!("the console ended while a command or query was under way");
        }
    }

    fn draw(&mut self) -> anyhow::Result<Option<Asked>> {
        let now = self.now().steady;
        let links = self.terminal.links();
        if let Some(links) = links.as_ref().filter(|links| links.is_full()) {
            links.clear();
            self.clear();
        }
        self.terminal.begin_frame()?;
        let (state, theme, cache) = (&self.state, &self.theme, &mut self.cache);
        let placements = &mut self.placements;
        let mut report = None;
        let drawn = self.terminal.terminal().draw(|frame| {
            let area = frame.area();
            report = Some(screen::draw(state, theme, cache, area, frame.buffer_mut()));
            if ascii::only() {
                screen::in_ascii(frame.buffer_mut());
            }
            if let Some(links) = &links {
                links.stamp(frame.buffer_mut(), &cache.take_shown());
            }
            placements.stamp(frame.buffer_mut(), &cache.take_shown_pictures(), now);
        });
        let drawn = drawn
            .map(|_| ())
            .map_err(|error| anyhow::anyhow!("{error}"));
        let pixels = self.placements.take_sequences();
        let shown = if pixels.is_empty() {
            Ok(())
        } else {
            terminal::set_farewell(self.placements.farewell());
            self.terminal.control(&pixels)
        };
        self.terminal.end_frame()?;
        drawn?;
        shown?;
        self.frames.drawn(self.now().steady);
        if let Some(at) = self.placements.due() {
            self.frames.request_at(at);
        }
        for (key, text) in self.cache.code().take_wanted() {
            self.slow
                .spawn_blocking(move || Slow::Code(key, text.lines(MAX_TIME)));
        }
        for (key, content) in self.cache.pictures_mut().take_wanted() {
            self.slow
                .spawn_blocking(move || Slow::Picture(key, pictures::decode(&content, key)));
        }
        self.entitle();
        Ok(self.feed(Message::Drawn(report.unwrap_or_default())))
    }

    /// Says in the title of the terminal how many questions wait, where that changed.
    fn entitle(&mut self) {
        if !self.options.title {
            return;
        }
        let model = &self.state.model;
        let status = if model.hosts.iter().any(|(_, host)| host.is_live()) {
            Status::of(model)
        } else {
            // A count of before would be a lie.
            Status::off()
        };
        let title = status.title();
        if self.title.as_ref() != Some(&title) {
            self.control(&terminal::title_sequence(&title));
            self.title = Some(title);
        }
    }

    fn suspend(&mut self) -> anyhow::Result<()> {
        self.terminal.release()?;
        // The whole group, as the terminal itself does it: a wrapper around this program (`cargo run`) would
        // go on waiting, and the shell behind it too.
        let stopped = rustix::process::kill_current_process_group(rustix::process::Signal::TSTP);
        self.terminal.acquire()?;
        self.placements.forget();
        self.title = None;
        if let Err(error) = stopped {
            self.state.toast(Tone::Error, format!("suspend: {error}"));
        }
        self.state.touch(Dirty::Now);
        Ok(())
    }

    async fn edit(&mut self, text: &str) -> anyhow::Result<Result<String, String>> {
        let Some(options) = self.options.editor.clone() else {
            return Ok(Err("set $VISUAL or $EDITOR".to_owned()));
        };
        self.terminal.release()?;
        let result = editor::edit(&options, text).await;
        self.terminal.acquire()?;
        self.placements.forget();
        self.title = None;
        Ok(result)
    }
}

fn translate(event: InputEvent) -> Option<Message> {
    match event {
        InputEvent::Key(key) => Some(Message::Key(key)),
        InputEvent::Paste(text) => Some(Message::Paste(text)),
        InputEvent::FocusGained => Some(Message::FocusGained),
        InputEvent::FocusLost => Some(Message::FocusLost),
        InputEvent::Resize(width, height) => Some(Message::Resize(width, height)),
        InputEvent::Mouse(event) => translate_mouse(event),
    }
}

fn translate_mouse(event: MouseEvent) -> Option<Message> {
    let kind = match event.kind {
        MouseEventKind::Down(MouseButton::Left) => MouseKind::Click,
        MouseEventKind::ScrollDown => MouseKind::WheelDown,
        MouseEventKind::ScrollUp => MouseKind::WheelUp,
        MouseEventKind::Down(_)
        | MouseEventKind::Up(_)
        | MouseEventKind::Drag(_)
        | MouseEventKind::Moved
        | MouseEventKind::ScrollLeft
        | MouseEventKind::ScrollRight => return None,
    };
    Some(Message::Mouse(Mouse {
        kind,
        column: event.column,
        row: event.row,
    }))
}
