//! Where a command reads and writes. Nothing below `cli` prints in any other way.

use std::fs::File;
use std::io::{self, BufRead, Read as _, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use serde::Serialize;

use crate::cli::exit::Failure;
use crate::cli::find::submit;
use crate::client::console_client::ConsoleClient;
use crate::protocol::request::{Answer, Command, Outcome, Query, Request};
use crate::text::untrusted::{escape_line, reveal_line};

/// Whether a person sits at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attendance {
    /// Standard input and output are a terminal.
    Person,
    /// A script, a pipe, a file.
    Script,
}

/// How lists and objects are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Tables and lines for people.
    Human,
    /// The API's objects, one a line.
    Json,
}

/// Input and output of a command.
pub struct Terminal<'a> {
    /// Results.
    pub out: &'a mut dyn Write,
    /// Everything else.
    pub err: &'a mut dyn Write,
    /// Answers.
    pub input: &'a mut dyn BufRead,
    /// Who is there.
    pub attended: Attendance,
    /// How results are written.
    pub format: Format,
}

/// What a command works with: the engine that it asks, and the terminal on which it answers.
pub struct Cli<'a> {
    /// The engine.
    pub client: &'a dyn ConsoleClient,
    /// Input and output.
    pub terminal: Terminal<'a>,
}

impl Cli<'_> {
    /// Asks, and shows the reply.
    pub async fn query<R>(&mut self, query: R, human: Renderer<R::Reply>) -> Result<(), Failure>
    where
        R: Request<Wire = Query, Answer = Answer, Reply: Serialize>,
    {
        let reply = self.client.call(query).await?;
        self.terminal.show(&reply, human)
    }

    /// Carries out a command of the person at this command line, and shows its reply.
    pub async fn submit<C>(&mut self, command: C, human: Renderer<C::Reply>) -> Result<(), Failure>
    where
        C: Request<Wire = Command, Answer = Outcome, Reply: Serialize>,
    {
        let reply = submit(self.client, command).await?;
        self.terminal.show(&reply, human)
    }
}

/// What people read of a result.
type Renderer<T> = fn(&mut Terminal<'_>, &T) -> Result<(), Failure>;

impl Terminal<'_> {
    /// The same terminal, for a command that asks this engine.
    pub fn with<'a>(&'a mut self, client: &'a dyn ConsoleClient) -> Cli<'a> {
        let terminal = Terminal {
            out: &mut *self.out,
            err: &mut *self.err,
            input: &mut *self.input,
            attended: self.attended,
            format: self.format,
        };
        Cli { client, terminal }
    }

    /// Whether somebody is there to be asked.
    pub fn is_attended(&self) -> bool {
        self.format == Format::Human && self.attended == Attendance::Person
    }

    /// A line of a result. Outside text in it must have been revealed.
    pub fn line(&mut self, text: &str) -> Result<(), Failure> {
        Ok(writeln!(self.out, "{text}")?)
    }

    /// An object as a line of JSON.
    pub fn json<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failure> {
        self.line(&json_line(value)?)
    }

    /// Lines of a result.
    pub fn lines(&mut self, lines: &[String]) -> Result<(), Failure> {
        lines.iter().try_for_each(|line| self.line(line))
    }

    /// A result: the object for programs, for people what `human` writes about it.
    pub fn show<T: Serialize + ?Sized>(
        &mut self,
        value: &T,
        human: impl FnOnce(&mut Self, &T) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match self.format {
            Format::Json => self.json(value),
            Format::Human => human(self, value),
        }
    }

    /// A result that is one line for people.
    pub fn show_line<T: Serialize + ?Sized>(
        &mut self,
        value: &T,
        line: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        self.show(value, |terminal, _| terminal.line(&line()))
    }

    /// A word to the person, beside the result.
    pub fn note(&mut self, text: &str) -> Result<(), Failure> {
        // On a terminal it stands below the results before it.
        self.out.flush()?;
        Ok(writeln!(self.err, "{text}")?)
    }

    /// Asks, and reads one line; empty at the end of input.
    pub fn ask(&mut self, question: &str) -> Result<String, Failure> {
        Ok(self.ask_if_open(question)?.unwrap_or_default())
    }

    /// Asks, and reads one line; none at the end of input.
    pub fn ask_if_open(&mut self, question: &str) -> Result<Option<String>, Failure> {
        // Whoever answers has seen what they are asked about.
        self.out.flush()?;
        write!(self.err, "{question} ")?;
        self.err.flush()?;
        let mut answer = String::new();
        let read = self.input.read_line(&mut answer)?;
        Ok((read > 0).then(|| answer.trim().to_owned()))
    }

    /// Flushes the result.
    pub fn finish(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// An object on one line of JSON, as it goes to a terminal or into a file that somebody looks at in one. What a terminal
/// would act on is escaped; the value is the same.
pub fn json_line<T: Serialize + ?Sized>(value: &T) -> Result<String, Failure> {
    let text = serde_json::to_string(value).map_err(anyhow::Error::from)?;
    Ok(escape_line(&text).into_owned())
}

/// Outside text for one cell of a table.
pub fn cell(text: &str) -> String {
    reveal_line(text).into_owned()
}

/// Standard input for `-`, else a file; at most one byte more than `most`.
pub fn read(terminal: &mut Terminal<'_>, file: &Path, most: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    if file == Path::new("-") {
        terminal.input.take(most + 1).read_to_end(&mut bytes)?;
        return Ok(bytes);
    }
    File::open(file)
        .and_then(|open| open.take(most + 1).read_to_end(&mut bytes))
        .map_err(|error| Failure::at(file, error))?;
    Ok(bytes)
}

/// Makes a file that only its owner reads, never over one that is there.
pub fn create(file: &Path) -> Result<File, Failure> {
    File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file)
        .map_err(|error| Failure::at(file, error))
}
