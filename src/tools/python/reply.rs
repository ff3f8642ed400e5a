//! Replies of the driver, read from a descriptor that a cell can write to as well.
//!
//! Nothing but the reply with the nonce of the request stands for it: other bytes, and replies to earlier requests, are
//! dropped, and no line is kept that is too long to be one.

use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Longest reply, in bytes.
pub const MAX_REPLY: usize = 512 * 1024;

/// What the driver says about a request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Reply {
    nonce: String,
    /// The value of the last expression, in words.
    #[serde(default)]
    pub value: Option<String>,
    /// What was raised, with the frames of the cell.
    #[serde(default)]
    pub error: Option<String>,
    /// Names of files that it made of pictures and tables, in the directory of the request.
    #[serde(default)]
    pub files: Vec<String>,
    /// How many more it would have made.
    #[serde(default)]
    pub left_out: u64,
}

/// The descriptor of the replies.
pub struct Replies<R> {
    pipe: R,
    buffer: Vec<u8>,
    /// Bytes of the buffer in which no line ends.
    looked_at: usize,
    /// Whether the line that goes on is too long.
    is_skipping: bool,
}

impl<R: AsyncRead + Unpin> Replies<R> {
    /// Nothing is read yet.
    pub fn new(pipe: R) -> Self {
        Self {
            pipe,
            buffer: Vec::new(),
            looked_at: 0,
            is_skipping: false,
        }
    }

    /// The reply to a request; none = the descriptor was closed. Whoever waits may give up at any time.
    pub async fn to(&mut self, nonce: &str) -> Option<Reply> {
        loop {
            while let Some(line) = self.line() {
                let reply = serde_json::from_slice::<Reply>(&line).ok();
                if let Some(reply) = reply.filter(|reply| reply.nonce == nonce) {
                    return Some(reply);
                }
            }
            let mut chunk = [0; 4096];
            match self.pipe.read(&mut chunk).await {
                Ok(0) | Err(_) => return None,
                Ok(count) => self.buffer.extend_from_slice(&chunk[..count]),
            }
        }
    }

    /// The next line that has ended and is not too long.
    fn line(&mut self) -> Option<Vec<u8>> {
        loop {
            let new = &self.buffer[self.looked_at..];
            let Some(end) = new.iter().position(|byte| *byte == b'\n') else {
                self.looked_at = self.buffer.len();
                if self.looked_at > MAX_REPLY {
                    self.is_skipping = true;
                    self.buffer.clear();
                    self.looked_at = 0;
                }
                return None;
            };
            let line: Vec<u8> = self.buffer.drain(..=self.looked_at + end).collect();
            self.looked_at = 0;
            if !std::mem::take(&mut self.is_skipping) {
                return Some(line);
            }
        }
    }
}
