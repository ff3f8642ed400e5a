//! Where the plain console writes: whole lines, at once, in the letters the terminal has.

use std::io::{self, Write};

use crate::cli::exit::Failure;
use crate::text::ascii;

/// Standard output.
#[derive(Debug)]
pub struct Out {
    to: io::Stdout,
}

impl Out {
    /// Standard output of this process.
    pub fn new() -> Self {
        Self { to: io::stdout() }
    }

    /// A line. Outside text in it must have been revealed.
    pub fn line(&mut self, text: &str) -> Result<(), Failure> {
        self.write_all(text.as_bytes())?;
        self.write_all(b"\n")?;
        Ok(self.flush()?)
    }

    /// What a person is asked; the answer goes behind it.
    pub fn prompt(&mut self, text: &str) -> Result<(), Failure> {
        self.write_all(text.as_bytes())?;
        Ok(self.flush()?)
    }
}

impl Default for Out {
    fn default() -> Self {
        Self::new()
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.to.write_all(ascii::fitting(text).as_bytes())?,
            Err(_) => self.to.write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
