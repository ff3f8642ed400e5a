//! Lines of a program, each of a bounded length.

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

/// Why no further line comes.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// A line has more bytes than a line may have.
    #[error("a line of its standard output has more than {0} bytes")]
    TooLong(usize),
    /// The pipe broke.
    #[error("its standard output cannot be read: {0}")]
    Read(#[from] std::io::Error),
}

/// Reads lines.
pub struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    most: usize,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Lines of at most `most` bytes.
    pub fn new(reader: R, most: usize) -> Self {
        Self {
            reader: BufReader::with_capacity(64 * 1024, reader),
            line: Vec::new(),
            most,
        }
    }

    /// The next line without its end; none at the end. A last line without end is no line. Cancel-safe.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, LineError> {
        loop {
            let available = self.reader.fill_buf().await?;
            if available.is_empty() {
                return Ok(None);
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let taken = end.unwrap_or(available.len());
            if self.line.len() + taken > self.most {
                return Err(LineError::TooLong(self.most));
            }
            self.line.extend_from_slice(&available[..taken]);
            self.reader.consume(taken + usize::from(end.is_some()));
            if end.is_some() {
                return Ok(Some(std::mem::take(&mut self.line)));
            }
        }
    }
}
