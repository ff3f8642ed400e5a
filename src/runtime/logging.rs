//! Logs: to a file while the screen is up, to standard error for a daemon; every line through the redactor. The newest
//! lines stay in memory too, for who asks for them.
//!
//! An event is one line: a line break in it, and what a terminal would act on, is written as `\uXXXX`.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use anyhow::Context as _;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::clock::Clock;
use crate::config::settings::Settings;
use crate::engine::log_lines::LogLines;
use crate::protocol::enums::LogLevel;
use crate::text::redact::Redactor;
use crate::text::untrusted::escape_line;

/// Where log lines go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destination {
    /// `<data dir>/leverframe.log`: the screen is up.
    File,
    /// What the configuration names, else standard error.
    Daemon,
    /// What the configuration names, else `<data dir>/leverframe.log`: a console left this daemon behind, and nobody
    /// reads its standard error.
    Detached,
}

/// The file that this process logs into.
static OPEN: OnceLock<Arc<Mutex<LogFile>>> = OnceLock::new();

/// Opens the log file of this process again: somebody may have moved it away, to put it aside themselves.
pub fn reopen() -> io::Result<()> {
    match OPEN.get() {
        Some(file) => file.lock().unwrap_or_else(PoisonError::into_inner).reopen(),
        None => Ok(()),
    }
}

/// The log file of a data directory.
pub fn log_file(data_dir: &Path) -> PathBuf {
    data_dir.join("leverframe.log")
}

/// Starts logging. Call once, after the data directory exists.
pub fn start(
    settings: &Settings,
    destination: Destination,
    redactor: Redactor,
) -> anyhow::Result<()> {
    let filter: Targets = settings.log_filter.parse().with_context(|| {
        format!(
            "log filter `{}`: expected for example `info` or `leverframe=debug`",
            settings.log_filter
        )
    })?;
    // The SDK would write down what servers say, at any length.
    let filter = if settings.log_filter.contains("rmcp") {
        filter
    } else {
        filter.with_target("rmcp", LevelFilter::ERROR)
    };
    let own = || log_file(&settings.paths.data_dir);
    let named = settings.log_file.path.clone();
    let sink = match destination {
        Destination::File => Some(own()),
        Destination::Daemon => named,
        Destination::Detached => Some(named.unwrap_or_else(own)),
    };
    let sink = match sink {
        Some(path) => {
            let limits = &settings.log_file;
            let file = LogFile::open(path, limits.max_bytes, limits.keep)?;
            let file = OPEN.get_or_init(|| Arc::new(Mutex::new(file)));
            Sink::File(Arc::clone(file))
        }
        None => Sink::StandardError,
    };
    let kept = Keeping {
        lines: lines(),
        redactor: redactor.clone(),
    };
    let writer = Redacting { sink, redactor };
    let written = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_writer(writer);
    let registry = tracing_subscriber::registry().with(filter).with(kept);
    let started = if settings.log_json {
        registry.with(written.json()).try_init()
    } else {
        registry.with(written).try_init()
    };
    // A second start in one process (tests) keeps the first destination.
    if let Err(error) = started {
        tracing::debug!(%error, "logging was started before");
    }
    Ok(())
}

/// The newest lines of this process: there is one log in a process, as there is one subscriber.
pub fn lines() -> LogLines {
    static LINES: OnceLock<LogLines> = OnceLock::new();
    LINES.get_or_init(LogLines::default).clone()
}

/// Keeps each event as a line, with secrets taken out.
struct Keeping {
    lines: LogLines,
    redactor: Redactor,
}

impl<S: Subscriber> Layer<S> for Keeping {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let mut text = EventText::default();
        event.record(&mut text);
        let metadata = event.metadata();
        let level = match *metadata.level() {
            Level::ERROR => LogLevel::Error,
            Level::WARN => LogLevel::Warn,
            Level::INFO => LogLevel::Info,
            Level::DEBUG => LogLevel::Debug,
            Level::TRACE => LogLevel::Trace,
        };
        let text = format!("{}{}", text.message, text.fields);
        let clean = self.redactor.redact(&text);
        let at = Clock::System.now();
        self.lines
            .add(at, level, metadata.target(), &escape_line(&clean));
    }
}

/// What an event says: its message, and its fields as ` name=value`.
#[derive(Default)]
struct EventText {
    message: String,
    fields: String,
}

impl EventText {
    fn note(&mut self, field: &Field, value: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = if field.name() == "message" {
            write!(self.message, "{value}")
        } else {
            write!(self.fields, " {}={value}", field.name())
        };
    }
}

impl Visit for EventText {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.note(field, format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.note(field, format_args!("{value:?}"));
    }
}

/// A log file that keeps itself and those before it within a size.
pub struct LogFile {
    path: PathBuf,
    max_bytes: u64,
    /// Files before it that stay: `.1` is the newest of them.
    keep: u32,
    file: File,
    bytes: u64,
}

impl LogFile {
    /// Opens the file for appending; one that is too long already becomes the one before.
    pub fn open(path: PathBuf, max_bytes: u64, keep: u32) -> anyhow::Result<Self> {
        if std::fs::metadata(&path).is_ok_and(|metadata| metadata.len() > max_bytes) {
            rotate(&path, keep).with_context(|| format!("renaming {}", path.display()))?;
        }
        let file =
            append(&path).with_context(|| format!("opening the log file {}", path.display()))?;
        let bytes = file.metadata().map_or(0, |metadata| metadata.len());
        Ok(Self {
            path,
            max_bytes,
            keep,
            file,
            bytes,
        })
    }

    /// Opens it again under its name.
    pub fn reopen(&mut self) -> io::Result<()> {
        self.file = append(&self.path)?;
        self.bytes = self.file.metadata().map_or(0, |metadata| metadata.len());
        Ok(())
    }

    /// Appends a line. Where the file cannot be renamed, it grows rather than losing the line.
    pub fn write_line(&mut self, line: &[u8]) -> io::Result<()> {
        let grown = self.bytes.saturating_add(line.len() as u64);
        if self.bytes > 0
            && grown > self.max_bytes
            && let Ok(file) = rotate(&self.path, self.keep).and_then(|()| append(&self.path))
        {
            self.file = file;
            self.bytes = 0;
        }
        self.file.write_all(line)?;
        self.bytes = self.bytes.saturating_add(line.len() as u64);
        Ok(())
    }
}

/// Puts the file aside: what was `.1` becomes `.2`, and so on. The oldest goes.
fn rotate(path: &Path, keep: u32) -> io::Result<()> {
    let aside = |number: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{number}"));
        PathBuf::from(name)
    };
    if keep == 0 {
        return std::fs::remove_file(path);
    }
    for number in (1..keep).rev() {
        match std::fs::rename(aside(number), aside(number + 1)) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    std::fs::rename(path, aside(1))
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)
}

#[derive(Clone)]
enum Sink {
    File(Arc<Mutex<LogFile>>),
    StandardError,
}

/// Writes whole lines with secrets taken out.
#[derive(Clone)]
struct Redacting {
    sink: Sink,
    redactor: Redactor,
}

impl Write for Redacting {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let line = String::from_utf8_lossy(bytes);
        let clean = one_line(&self.redactor.redact(&line));
        match &self.sink {
            Sink::File(file) => file
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .write_line(clean.as_bytes())?,
            Sink::StandardError => io::stderr().lock().write_all(clean.as_bytes())?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// One event as one line, whatever its fields hold. The formatter ends it with a line break, in JSON as well.
fn one_line(event: &str) -> String {
    let text = event.strip_suffix('\n').unwrap_or(event);
    format!("{}\n", escape_line(text))
}

impl<'a> MakeWriter<'a> for Redacting {
    type Writer = Redacting;

    fn make_writer(&'a self) -> Redacting {
        self.clone()
    }
}
