//! What is typed, line by line, with the time each line came; signals come the same way.
//!
//! A line is read from the terminal as the terminal edits it: no raw mode, no key is taken away from a
//! screen reader or a braille display. The reader outlives a console: the next one goes on with it.

use std::io::{self, BufRead, Read};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};

use crate::runtime::signals::EndSignals;

/// A line this soon after the one before it was pasted with it.
const PASTED: Duration = Duration::from_millis(40);
/// Longest line that is taken, in bytes.
const LONGEST: u64 = 1024 * 1024;

/// A line as it was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputLine {
    /// Without its end.
    pub text: String,
    /// When it came.
    pub at: Instant,
    /// It came together with the line before it: a paste, or a script.
    pub pasted: bool,
}

/// What the person or the system said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputEvent {
    /// A line.
    Line(InputLine),
    /// ctrl-c.
    Interrupt,
    /// There is nothing more to read.
    End,
    /// SIGTERM or SIGHUP.
    Terminate,
}

/// Where lines come from.
pub struct LineReader {
    queue: mpsc::Receiver<InputEvent>,
    interruptions: watch::Receiver<()>,
}

impl LineReader {
    /// Starts to read standard input and to listen for signals.
    pub fn start() -> anyhow::Result<Self> {
        let (say, queue) = mpsc::channel(256);
        let lines = say.clone();
        // A thread of its own and not one of the runtime's: nothing can end a read of a terminal, and the
        // runtime would wait for it.
        std::thread::Builder::new()
            .name("lines".to_owned())
            .spawn(move || read(&mut io::stdin().lock(), &lines))?;
        let mut signals = EndSignals::listen()?;
        let (interrupt, interruptions) = watch::channel(());
        tokio::spawn(async move {
            loop {
                let what = match signals.next().await {
                    "SIGINT" => InputEvent::Interrupt,
                    _ => InputEvent::Terminate,
                };
                // First into the line of what was said, so that it can be skipped to.
                if say.send(what).await.is_err() {
                    return;
                }
                interrupt.send_replace(());
            }
        });
        Ok(Self {
            queue,
            interruptions,
        })
    }

    /// The next thing said. Cancel-safe.
    pub async fn next(&mut self) -> InputEvent {
        self.queue.recv().await.unwrap_or(InputEvent::End)
    }

    /// Changes with every signal from now on, whatever else is still unread.
    pub fn interruptions(&self) -> watch::Receiver<()> {
        let mut from_now = self.interruptions.clone();
        from_now.mark_unchanged();
        from_now
    }

    /// Throws away what was typed before a signal, as a terminal does; what kind of signal it was.
    pub fn skip_to_cut(&mut self) -> Cut {
        loop {
            match self.queue.try_recv() {
                Ok(InputEvent::Line(_)) => {}
                Ok(InputEvent::Interrupt) => return Cut::Interrupt,
                Ok(InputEvent::End) | Err(mpsc::error::TryRecvError::Disconnected) => {
                    return Cut::End;
                }
                Ok(InputEvent::Terminate) => return Cut::Terminate,
                Err(mpsc::error::TryRecvError::Empty) => return Cut::Interrupt,
            }
        }
    }

    /// [`LineReader::next`] for a command that waits for an answer in its own way.
    pub fn blocking_next(&mut self) -> InputEvent {
        tokio::task::block_in_place(|| self.queue.blocking_recv()).unwrap_or(InputEvent::End)
    }
}

/// Sends each line of an input, and its end.
pub fn read(input: &mut impl BufRead, say: &mpsc::Sender<InputEvent>) {
    let mut before: Option<Instant> = None;
    loop {
        let mut bytes = Vec::new();
        let count = match input.by_ref().take(LONGEST).read_until(b'\n', &mut bytes) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => 0,
        };
        let at = Instant::now();
        if count == 0 {
            let _ = say.blocking_send(InputEvent::End);
            return;
        }
        let text = String::from_utf8_lossy(&bytes);
        let line = InputLine {
            text: text.trim_end_matches(['\n', '\r']).to_owned(),
            at,
            pasted: before.is_some_and(|before| at.duration_since(before) < PASTED),
        };
        before = Some(at);
        if say.blocking_send(InputEvent::Line(line)).is_err() {
            return;
        }
    }
}

/// How a wait of a command for its answer ended, when no line came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// ctrl-c: the command is left, nothing else.
    Interrupt,
    /// The input ended.
    End,
    /// The process is to end.
    Terminate,
}

/// Standard input for the commands of the command line, which read it when they ask something.
pub struct Answers<'a> {
    heard: &'a mut LineReader,
    held: Vec<u8>,
    at: usize,
    /// Why the command was given nothing more to read.
    pub cut: Option<Cut>,
}

impl<'a> Answers<'a> {
    /// Nothing asked yet.
    pub fn new(heard: &'a mut LineReader) -> Self {
        Self {
            heard,
            held: Vec::new(),
            at: 0,
            cut: None,
        }
    }
}

impl Read for Answers<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for Answers<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at >= self.held.len() && self.cut.is_none() {
            self.held.clear();
            self.at = 0;
            match self.heard.blocking_next() {
                InputEvent::Line(line) => {
                    self.held.extend_from_slice(line.text.as_bytes());
                    self.held.push(b'\n');
                }
                InputEvent::Interrupt => self.cut = Some(Cut::Interrupt),
                InputEvent::End => self.cut = Some(Cut::End),
                InputEvent::Terminate => self.cut = Some(Cut::Terminate),
            }
        }
        Ok(self.held.get(self.at..).unwrap_or_default())
    }

    fn consume(&mut self, count: usize) {
        self.at = (self.at + count).min(self.held.len());
    }
}
