//! One run of a program: what it is asked, and what it answers.
//!
//! A request that was written and not answered is lost, never "not sent"; one that was not written is never lost.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::channels::process::wire::{BridgeMessage, Capabilities, ProgramMessage};
use crate::channels::sync::lock;

/// Lines that wait to be written.
const QUEUE: usize = 256;
/// Longest wait for an answer. Programs may pace their sends.
const ANSWER: Duration = Duration::from_mins(2);
/// The same once the bridge stops.
const LAST_ANSWER: Duration = Duration::from_secs(3);
/// Longest wait until a program reads what is written.
const WRITE: Duration = Duration::from_secs(30);

/// Why a request has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskError {
    /// No byte of it reached the program.
    NotHanded(String),
    /// It may have been carried out.
    Lost(String),
}

/// A line to write, and the request that it is.
struct Outgoing {
    line: Vec<u8>,
    request: Option<u64>,
}

struct Waiting {
    answer: oneshot::Sender<ProgramMessage>,
    /// Its line is being written, or was.
    handed: bool,
}

/// What is written to one program and what it has not answered yet.
pub struct Session {
    outgoing: mpsc::Sender<Outgoing>,
    waiting: Mutex<HashMap<u64, Waiting>>,
    next: AtomicU64,
    /// What its platform can do.
    pub capabilities: Capabilities,
    /// Fires when nothing comes any more.
    pub closed: CancellationToken,
    /// Fires when the bridge stops.
    pub stopping: CancellationToken,
}

/// What is to be written.
pub struct Queue(mpsc::Receiver<Outgoing>);

impl Session {
    /// A session that nothing was written in.
    pub fn new(capabilities: Capabilities, stopping: CancellationToken) -> (Self, Queue) {
        let (outgoing, queue) = mpsc::channel(QUEUE);
        let session = Self {
            outgoing,
            waiting: Mutex::default(),
            next: AtomicU64::new(1),
            capabilities,
            closed: CancellationToken::new(),
            stopping,
        };
        (session, Queue(queue))
    }

    fn waiting<T>(&self, change: impl FnOnce(&mut HashMap<u64, Waiting>) -> T) -> T {
        change(&mut lock(&self.waiting))
    }

    /// Writes a message that has no answer. Waits for room.
    pub async fn tell(&self, message: &BridgeMessage) {
        let line = Outgoing {
            line: message.line(),
            request: None,
        };
        tokio::select! {
            biased;
            () = self.closed.cancelled() => {}
            // Nobody writes any more: the program is gone.
            _ = self.outgoing.send(line) => {}
        }
    }

    /// Asks, and waits for the answer. `message` gets the number of the request.
    pub async fn ask(
        &self,
        message: impl FnOnce(u64) -> BridgeMessage,
    ) -> Result<ProgramMessage, AskError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        let one = Waiting {
            answer,
            handed: false,
        };
        self.waiting(|waiting| waiting.insert(id, one));
        let _forget = Forget { session: self, id };
        let line = Outgoing {
            line: message(id).line(),
            request: Some(id),
        };
        let answered = async {
            if self.outgoing.send(line).await.is_err() {
                return None;
            }
            answered.await.ok()
        };
        let too_late = async {
            tokio::select! {
                () = tokio::time::sleep(ANSWER) => format!("no answer within {} s", ANSWER.as_secs()),
                () = async {
                    self.stopping.cancelled().await;
                    tokio::time::sleep(LAST_ANSWER).await;
                } => "the channel stopped before the answer".to_owned(),
            }
        };
        let why = tokio::select! {
            biased;
            answer = answered => match answer {
                Some(answer) => return Ok(answer),
                None => "its program ended before the answer".to_owned(),
            },
            () = self.closed.cancelled() => "its program ended before the answer".to_owned(),
            why = too_late => why,
        };
        // From here on nobody writes it any more.
        let one = self.waiting(|waiting| waiting.remove(&id));
        Err(match one {
            Some(Waiting { handed: false, .. }) => AskError::NotHanded(why),
            Some(Waiting { handed: true, .. }) | None => AskError::Lost(why),
        })
    }

    /// Takes an answer. False = nobody waits for it: it came too late, or names no request.
    pub fn answer(&self, id: u64, message: ProgramMessage) -> bool {
        match self.waiting(|waiting| waiting.remove(&id)) {
            Some(one) => one.answer.send(message).is_ok(),
            None => false,
        }
    }

    /// Writes what is queued, until the program does not read it. Says why then.
    pub async fn write(&self, mut queue: Queue, mut input: impl AsyncWrite + Unpin) -> String {
        while let Some(Outgoing { line, request }) = queue.0.recv().await {
            if let Some(id) = request {
                let is_wanted = self.waiting(|waiting| match waiting.get_mut(&id) {
                    Some(one) => {
                        one.handed = true;
                        true
                    }
                    None => false,
                });
                // Whoever asked gave up; "not handed" was the end of it.
                if !is_wanted {
                    continue;
                }
            }
            let writing = async {
                input.write_all(&line).await?;
                input.flush().await
            };
            match tokio::time::timeout(WRITE, writing).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => return format!("its standard input is closed: {error}"),
                Err(_) => {
                    return format!(
                        "its program does not read its standard input for {} s",
                        WRITE.as_secs()
                    );
                }
            }
        }
        "its session ended".to_owned()
    }
}

/// Nobody waits for the answer any more.
struct Forget<'a> {
    session: &'a Session,
    id: u64,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.session.waiting(|waiting| waiting.remove(&self.id));
    }
}
