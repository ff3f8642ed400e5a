//! Reads the daemon's event stream (WHATWG HTML § 9.2, as `api::events` writes it) byte by byte, in linear
//! time and bounded memory. Nothing of a message is delivered before its blank line: a stream cut in the
//! middle of an event never yields half of it.

/// Longest message, in bytes. An approval carries its full arguments and diff.
pub const LONGEST: usize = 32 * 1024 * 1024;

/// One message of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message {
    /// The field `event`; empty when there was none.
    pub event: String,
    /// The `data` lines joined with line feeds.
    pub data: String,
}

/// Why reading cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// A message does not end.
    #[error("an event is longer than {LONGEST} bytes")]
    TooLong,
    /// Not UTF-8.
    #[error("an event is not UTF-8")]
    NotUtf8,
}

/// The reader.
#[derive(Debug, Default)]
pub struct Reader {
    line: Vec<u8>,
    message: Message,
    size: usize,
    has_data: bool,
    after_return: bool,
    any_line: bool,
}

impl Reader {
    /// Takes the next bytes; complete messages are appended to `out`.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<Message>) -> Result<(), ReadError> {
        for &byte in bytes {
            let follows_return = std::mem::take(&mut self.after_return);
            match byte {
                b'\n' if follows_return => {}
                b'\n' => self.end_line(out)?,
                b'\r' => {
                    self.after_return = true;
                    self.end_line(out)?;
                }
                byte => {
                    self.size += 1;
                    if self.size > LONGEST {
                        return Err(ReadError::TooLong);
                    }
                    self.line.push(byte);
                }
            }
        }
        Ok(())
    }

    fn end_line(&mut self, out: &mut Vec<Message>) -> Result<(), ReadError> {
        let line = std::mem::take(&mut self.line);
        let mut line = std::str::from_utf8(&line).map_err(|_| ReadError::NotUtf8)?;
        if !self.any_line {
            self.any_line = true;
            line = line.strip_prefix('\u{feff}').unwrap_or(line);
        }
        if line.is_empty() {
            let message = std::mem::take(&mut self.message);
            self.size = 0;
            if std::mem::take(&mut self.has_data) {
                out.push(message);
            }
            return Ok(());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.message.event),
            "data" => {
                if self.has_data {
                    self.message.data.push('\n');
                }
                self.has_data = true;
                self.message.data.push_str(value);
            }
            // Comments, ids (every event carries its own seq) and fields of later versions.
            _ => {}
        }
        Ok(())
    }
}
