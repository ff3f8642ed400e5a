//! Messages as lines, over the streams of a program.
//!
//! Memory stays bounded whatever the other side writes, and what is no message changes nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::mcp::client::caller::Log;

/// Longest line, in bytes.
const MAX_LINE: usize = 8 * 1024 * 1024;
/// Bytes of a line's room that are kept for the next one.
const ROOM: usize = 256 * 1024;
/// How long an older server may be silent about a question of the newer protocol.
const PROBE: Duration = Duration::from_secs(4);
/// Most bytes of a line in the log that is no message.
const SAID: usize = 200;

/// A transport over two streams.
pub(super) struct Lines<R, W> {
    reader: BufReader<R>,
    line: Vec<u8>,
    /// Whether the rest of a line is dropped that is too long.
    drops: bool,
    writer: Arc<Mutex<Option<W>>>,
    log: Log,
    /// The question whether the server is of the newer era, and when silence is an answer.
    probe: Option<(RequestId, Instant)>,
    /// A probe that was answered by silence.
    silent: Option<RequestId>,
    was_late: Arc<AtomicBool>,
}

impl<R: AsyncRead + Unpin, W> Lines<R, W> {
    /// `was_late` becomes true where a server of the newer era answers after it was taken for an older one.
    pub(super) fn new(reader: R, writer: W, log: Log, was_late: Arc<AtomicBool>) -> Self {
        Self {
            reader: BufReader::new(reader),
            line: Vec::new(),
            drops: false,
            writer: Arc::new(Mutex::new(Some(writer))),
            log,
            probe: None,
            silent: None,
            was_late,
        }
    }

    /// Reads until `line` is a whole line; false = the stream ended. What was read stays when this is dropped.
    async fn read_line(&mut self) -> bool {
        loop {
            let available = match self.reader.fill_buf().await {
                Ok(available) if !available.is_empty() => available,
                Ok(_) | Err(_) => return false,
            };
            let end = available.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(available.len(), |end| end + 1);
            if !self.drops {
                self.line.extend_from_slice(&available[..taken]);
            }
            self.reader.consume(taken);
            if self.line.len() > MAX_LINE {
                (self.log)(&format!("a line of more than {MAX_LINE} bytes is dropped"));
                self.line = Vec::new();
                self.drops = true;
            }
            if end.is_some() {
                if !self.drops {
                    return true;
                }
                self.drops = false;
            }
        }
    }

    /// The message of the line, where it is one for us.
    fn message(&mut self) -> Option<ServerJsonRpcMessage> {
        let line = self.line.trim_ascii();
        let parsed = (!line.is_empty()).then(|| serde_json::from_slice(line));
        let message = match parsed {
            None => None,
            Some(Ok(message)) => Some(message),
            Some(Err(error)) => {
                let said = String::from_utf8_lossy(&line[..line.len().min(SAID)]);
                (self.log)(&format!(
                    "no message, {} bytes ({error}): {said}",
                    line.len()
                ));
                None
            }
        };
        self.line.clear();
        self.line.shrink_to(ROOM);
        message.filter(|message| !self.is_late(message))
    }

    /// Whether this answers a probe: in time it ends the wait, afterwards it counts no more.
    fn is_late(&mut self, message: &ServerJsonRpcMessage) -> bool {
        let (id, succeeds) = match message {
            ServerJsonRpcMessage::Response(response) => (Some(&response.id), true),
            ServerJsonRpcMessage::Error(error) => (error.id.as_ref(), false),
            ServerJsonRpcMessage::Request(_) | ServerJsonRpcMessage::Notification(_) => {
                (None, false)
            }
        };
        let Some(id) = id else { return false };
        if self.probe.as_ref().is_some_and(|(probe, _)| probe == id) {
            self.probe = None;
        }
        let is_late = self.silent.as_ref() == Some(id);
        if is_late && succeeds {
            self.was_late.store(true, Ordering::Release);
        }
        is_late
    }
}

impl<R, W> Transport<RoleClient> for Lines<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = std::io::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        if let ClientJsonRpcMessage::Request(request) = &message
            && matches!(request.request, ClientRequest::DiscoverRequest(_))
        {
            self.probe = Some((request.id.clone(), Instant::now() + PROBE));
        }
        let writer = Arc::clone(&self.writer);
        async move {
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let mut writer = writer.lock().await;
            let Some(writer) = writer.as_mut() else {
                return Err(std::io::ErrorKind::NotConnected.into());
            };
            writer.write_all(&line).await?;
            writer.flush().await
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let silence = self.probe.clone();
            let until = silence.as_ref().map(|(_, until)| *until);
            tokio::select! {
                read = self.read_line() => {
                    if !read {
                        return None;
                    }
                    if let Some(message) = self.message() {
                        return Some(message);
                    }
                }
                () = tokio::time::sleep_until(until.unwrap_or_else(Instant::now)), if until.is_some() => {
                    let (id, _) = silence?;
                    self.probe = None;
                    self.silent = Some(id.clone());
                    let error = ErrorData::invalid_request("no answer", None);
                    return Some(ServerJsonRpcMessage::error(error, Some(id)));
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.writer.lock().await.take();
        Ok(())
    }
}
