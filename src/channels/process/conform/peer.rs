//! One run of a program that is tried: everything it says is looked at, and every wait has an end.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};

use crate::channels::process::conform::lab::Lab;
use crate::channels::process::decode::{self, Line};
use crate::channels::process::lines::Lines;
use crate::channels::process::wire::{
    BridgeMessage, Capabilities, Hello, MAX_FILE, MAX_LINE, Message, ProgramMessage, TextFormat,
    VERSION,
};
use crate::client::program::RunningProgram;
use crate::text::untrusted::limit_line;

/// Longest wait for anything.
pub const WAIT: Duration = Duration::from_secs(10);
/// Where everything is said.
pub const CONVERSATION: &str = "conform";
/// Cells of a program's words.
const SAID: usize = 160;

type Output = Box<dyn AsyncRead + Send + Unpin>;

/// A program that runs.
pub struct Peer<'a> {
    lab: &'a Lab<'a>,
    process: Option<Box<dyn RunningProgram>>,
    input: Option<Box<dyn AsyncWrite + Send + Unpin>>,
    lines: Lines<Output>,
    /// What it said and nobody took yet.
    kept: VecDeque<ProgramMessage>,
    next: u64,
    /// Acknowledge each item when it is taken.
    pub acks: bool,
    /// Who it says it is.
    pub hello: Option<Hello>,
}

impl<'a> Peer<'a> {
    /// Starts the program and says which version is spoken.
    pub async fn started(lab: &'a Lab<'a>, protocol: u32) -> Result<Self, String> {
        let started = lab.program.start(lab.log.clone()).await;
        let (process, pipes) = started.map_err(|error| error.to_string())?;
        let mut peer = Self {
            lab,
            process: Some(process),
            input: Some(pipes.input),
            lines: Lines::new(pipes.output, MAX_LINE),
            kept: VecDeque::new(),
            next: 1,
            acks: true,
            hello: None,
        };
        peer.tell(&BridgeMessage::Start {
            protocol,
            channel: "conform".to_owned(),
            conform: true,
            max_file_bytes: MAX_FILE,
        })
        .await?;
        Ok(peer)
    }

    /// Starts the program and greets it; items after `cursor` may come.
    pub async fn welcomed(lab: &'a Lab<'a>, cursor: Option<String>) -> Result<Self, String> {
        let mut peer = Self::started(lab, VERSION).await?;
        peer.take_hello().await?;
        peer.tell(&BridgeMessage::Welcome { cursor }).await?;
        Ok(peer)
    }

    /// Starts the program where its account stands.
    pub async fn new(lab: &'a Lab<'a>) -> Result<Self, String> {
        Self::welcomed(lab, lab.cursor()).await
    }

    /// Takes its hello.
    pub async fn take_hello(&mut self) -> Result<Hello, String> {
        let hello = self
            .expect("`hello`", |message| match message {
                ProgramMessage::Hello(hello) => Some(hello.clone()),
                _ => None,
            })
            .await?;
        self.hello = Some(hello.clone());
        Ok(hello)
    }

    /// Writes a message.
    pub async fn tell(&mut self, message: &BridgeMessage) -> Result<(), String> {
        self.write(&message.line()).await
    }

    /// Writes bytes.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        let Some(input) = &mut self.input else {
            return Err("its standard input is closed".to_owned());
        };
        let writing = async {
            input.write_all(bytes).await?;
            input.flush().await
        };
        match tokio::time::timeout(WAIT, writing).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(format!("it ended, or closed its standard input: {error}")),
            Err(_) => Err("it does not read its standard input".to_owned()),
        }
    }

    /// The next thing that it says; none = its output is closed.
    pub async fn read(&mut self) -> Result<Option<ProgramMessage>, String> {
        loop {
            let Some(line) = self.lines.next().await.map_err(|error| error.to_string())? else {
                return Ok(None);
            };
            match decode::line(&line) {
                Line::Blank => {}
                Line::Unknown(kind) => return Err(format!("it said `{kind}`, which is no type")),
                Line::Unfit { why, .. } => return Err(why),
                Line::Message(message) => return Ok(Some(*message)),
            }
        }
    }

    /// Waits for something among what it says; the rest is kept.
    pub async fn expect<T>(
        &mut self,
        what: &str,
        mut pick: impl FnMut(&ProgramMessage) -> Option<T>,
    ) -> Result<T, String> {
        let mut found = None;
        let at = self.kept.iter().position(|message| {
            found = pick(message);
            found.is_some()
        });
        if let (Some(at), Some(found)) = (at, found) {
            let message = self.kept.remove(at);
            self.taken(message.as_ref()).await?;
            return Ok(found);
        }
        let deadline = tokio::time::Instant::now() + WAIT;
        loop {
            let message = tokio::time::timeout_at(deadline, self.read()).await;
            let Ok(message) = message else {
                let said: Vec<&str> = self.kept.iter().map(ProgramMessage::kind).collect();
                let said = limit_line(&said.join(", "), SAID);
                return Err(format!(
                    "no {what} within {} s; it said: {}",
                    WAIT.as_secs(),
                    if said.is_empty() { "nothing" } else { &said }
                ));
            };
            let Some(message) = message? else {
                return Err(format!("it ended before {what}"));
            };
            if let Some(found) = pick(&message) {
                self.taken(Some(&message)).await?;
                return Ok(found);
            }
            self.kept.push_back(message);
        }
    }

    /// Acknowledges an item that was taken.
    async fn taken(&mut self, message: Option<&ProgramMessage>) -> Result<(), String> {
        let (key, cursor) = match message {
            Some(ProgramMessage::Message(message)) => (&message.item.key, &message.item.cursor),
            Some(ProgramMessage::Click { item, .. }) => (&item.key, &item.cursor),
            _ => return Ok(()),
        };
        if self.acks {
            self.lab.move_to(cursor.clone());
            return self.ack(key.clone()).await;
        }
        Ok(())
    }

    /// Acknowledges an item.
    pub async fn ack(&mut self, key: String) -> Result<(), String> {
        self.tell(&BridgeMessage::Ack {
            key,
            disposition: "queued".to_owned(),
            repeated: false,
            feedback: None,
        })
        .await
    }

    /// Asks, and waits for the answer with the same number.
    pub async fn ask(
        &mut self,
        message: impl FnOnce(u64) -> BridgeMessage,
    ) -> Result<ProgramMessage, String> {
        let id = self.next;
        self.next += 1;
        let message = message(id);
        self.tell(&message).await?;
        self.expect(&format!("answer to request {id}"), |message| {
            (message.answers() == Some(id)).then(|| message.clone())
        })
        .await
    }

    /// Sends a text under a key.
    pub async fn send(&mut self, key: &str, text: &str) -> Result<ProgramMessage, String> {
        let (key, text) = (key.to_owned(), text.to_owned());
        self.ask(|id| BridgeMessage::Send {
            id,
            key,
            conversation: CONVERSATION.to_owned(),
            text,
            format: TextFormat::Plain,
            reply_to: None,
        })
        .await
    }

    /// Sends a text that must be taken, under itself as key; the platform's ids.
    pub async fn sent(&mut self, text: &str) -> Result<Vec<String>, String> {
        match self.send(&format!("key of {text}"), text).await? {
            ProgramMessage::Sent { refs, .. } if !refs.is_empty() => Ok(refs),
            ProgramMessage::Sent { .. } => Err("`sent` without `refs`".to_owned()),
            other => Err(format!("`{}` in place of `sent`", other.kind())),
        }
    }

    /// Waits for a message with this text.
    pub async fn heard(&mut self, text: &str) -> Result<Message, String> {
        let what = format!("message with the text `{}`", limit_line(text, 60));
        self.expect(&what, |message| match message {
            ProgramMessage::Message(message) if message.text == text => Some(message.clone()),
            _ => None,
        })
        .await
    }

    /// Whether an item was said that nobody took.
    pub fn has_item(&self) -> bool {
        self.kept.iter().any(|message| {
            matches!(
                message,
                ProgramMessage::Message(_)
                    | ProgramMessage::Click { .. }
                    | ProgramMessage::Other { .. }
            )
        })
    }

    /// Whether it claims something in its hello.
    pub fn claims(&self, claim: impl FnOnce(&Capabilities) -> bool) -> bool {
        let hello = self.hello.as_ref();
        hello.is_some_and(|hello| claim(&hello.capabilities))
    }

    /// Whether a message with this text was said that nobody took.
    pub fn has_kept(&self, text: &str) -> bool {
        self.kept.iter().any(
            |message| matches!(message, ProgramMessage::Message(message) if message.text == text),
        )
    }

    /// Sends a text and waits until the person repeats it.
    pub async fn echo(&mut self, text: &str) -> Result<Message, String> {
        self.sent(text).await?;
        self.heard(text).await
    }

    /// Pings.
    pub async fn pong(&mut self) -> Result<(), String> {
        let id = self.next;
        self.next += 1;
        self.tell(&BridgeMessage::Ping { id }).await?;
        self.expect("`pong`", |message| {
            matches!(message, ProgramMessage::Pong { id: of } if *of == id).then_some(())
        })
        .await
    }

    /// Kills it and waits until it is gone.
    pub async fn kill(mut self) -> Result<(), String> {
        drop(self.process.take());
        let gone = async { while let Ok(Some(_)) = self.lines.next().await {} };
        let gone = tokio::time::timeout(WAIT, gone).await;
        gone.map_err(|_| "it lives on after kill -9".to_owned())
    }

    /// Closes its input.
    pub fn close_input(&mut self) {
        self.input = None;
    }

    /// Waits for its end; how it ended.
    pub async fn ended(&mut self, within: Duration) -> Result<String, String> {
        let Some(process) = &mut self.process else {
            return Err("it ended before".to_owned());
        };
        let lines = &mut self.lines;
        let ending = async {
            // It may have something to say; a full pipe would hold it.
            while let Ok(Some(_)) = lines.next().await {}
            process.wait().await
        };
        let ended = tokio::time::timeout(within, ending).await;
        ended.map_err(|_| format!("it runs on after {} s", within.as_secs()))
    }
}
