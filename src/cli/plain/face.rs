//! How the console shows itself: on the whole screen, or in lines. Chosen once, at the start.

use std::io::IsTerminal as _;
use std::sync::Arc;

use crate::cli::exit::Failure;
use crate::cli::plain::input::LineReader;
use crate::cli::plain::line_loop::Plain;
use crate::client::console_client::ConsoleClient;
use crate::config::environment::Environment;
use crate::tui::event_loop;
use crate::tui::message::QuitKind;
use crate::tui::options::ConsoleOptions;

/// What the choice depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalFacts {
    /// `--plain`.
    pub plain: bool,
    /// Standard input is a terminal.
    pub input: bool,
    /// Standard output is a terminal.
    pub output: bool,
}

/// The choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConsoleKind {
    /// The whole screen.
    Full,
    /// Lines; why, where nobody asked for them.
    Plain(Option<&'static str>),
}

/// Chooses. An error says why no console can open here at all.
pub fn choose(place: TerminalFacts, environment: &Environment) -> Result<ConsoleKind, Failure> {
    if place.plain {
        return Ok(ConsoleKind::Plain(None));
    }
    if !place.input {
        return Err(Failure::usage(
            "the console needs a terminal as its input and output.\n\
             Without one: `leverframe --daemon` runs the engine, `leverframe approvals list` and the other \
             commands talk to it (`leverframe --help`), `leverframe --plain` reads its commands from any input",
        ));
    }
    Ok(if environment.accessible() {
        ConsoleKind::Plain(Some("plain mode, because ACCESSIBLE is set"))
    } else if !place.output {
        ConsoleKind::Plain(Some("plain mode, because standard output is no terminal"))
    } else if environment.term() == Some("dumb") {
        ConsoleKind::Plain(Some(
            "plain mode, because TERM=dumb says that this terminal has no screen to draw on",
        ))
    } else {
        ConsoleKind::Full
    })
}

/// The console as it was chosen. One for the whole life of the process: lines that were typed ahead
/// belong to whoever asks next.
pub enum Face {
    /// The whole screen.
    Full,
    /// Lines.
    Plain(Box<Plain>),
}

impl Face {
    /// Chooses for this process, and starts to listen where lines are read.
    pub fn open(plain: bool, environment: &Environment) -> Result<Self, Failure> {
        let place = TerminalFacts {
            plain,
            input: std::io::stdin().is_terminal(),
            output: std::io::stdout().is_terminal(),
        };
        match choose(place, environment)? {
            ConsoleKind::Full => Ok(Self::Full),
            ConsoleKind::Plain(why) => {
                Ok(Self::Plain(Box::new(Plain::new(LineReader::start()?, why))))
            }
        }
    }

    /// Whether it prints lines.
    pub const fn is_plain(&self) -> bool {
        matches!(self, Self::Plain(_))
    }

    /// Runs the console until it is left.
    pub async fn run(
        &mut self,
        client: Arc<dyn ConsoleClient>,
        options: ConsoleOptions,
    ) -> anyhow::Result<QuitKind> {
        match self {
            Self::Full => event_loop::run(client, options).await,
            Self::Plain(plain) => plain.run(client, options).await,
        }
    }
}
