//! Where a command reads and writes. Nothing below `cli` prints in any other way.

use std::io::{self, BufRead, Read as _, Write};
use std::path::Path;

use serde::Serialize;

use crate::cli::exit::Failure;
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
}

impl Terminal<'_> {
    /// A line of a result. Outside text in it must have been revealed.
    pub fn line(&mut self, text: &str) -> Result<(), Failure> {
        Ok(writeln!(self.out, "{text}")?)
    }

    /// An object as a line of JSON.
    pub fn json(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        self.line(&json_line(value)?)
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
pub fn json_line(value: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string(value).map_err(anyhow::Error::from)?;
    Ok(escape_line(&text).into_owned())
}

/// Outside text for one cell of a table.
pub fn cell(text: &str) -> String {
    reveal_line(text).into_owned()
}

/// Whether somebody is there to be asked.
pub fn attended(terminal: &Terminal<'_>, format: Format) -> bool {
    format == Format::Human && terminal.attended == Attendance::Person
}

/// Standard input for `-`, else a file; at most one byte more than `most`.
pub fn read(terminal: &mut Terminal<'_>, file: &Path, most: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    if file == Path::new("-") {
        terminal.input.take(most + 1).read_to_end(&mut bytes)?;
        return Ok(bytes);
    }
    std::fs::File::open(file)
        .and_then(|open| open.take(most + 1).read_to_end(&mut bytes))
        .map_err(|error| Failure::Usage(format!("{}: {error}", file.display())))?;
    Ok(bytes)
}
