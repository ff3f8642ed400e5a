//! A program of somebody else that a bridge talks to over pipes, as the bridge sees it.
//!
//! Whoever holds one cannot say where it runs or what it sees: that was settled when the starter was made.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncWrite};

/// Why a program does not run. The text says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// It cannot run as it is configured: a person has to change something.
    #[error("{0}")]
    Settings(String),
    /// The system did not start it; it may later.
    #[error("{0}")]
    System(String),
}

/// Who hears a line that the program wrote for people: without secrets, revealed and short.
pub type LogLine = Arc<dyn Fn(&str) + Send + Sync>;

/// The streams for messages.
pub struct ProgramPipes {
    /// Its standard input.
    pub input: Box<dyn AsyncWrite + Send + Unpin>,
    /// Its standard output.
    pub output: Box<dyn AsyncRead + Send + Unpin>,
}

/// Starts one program, as often as it is asked to.
#[async_trait]
pub trait ProgramStarter: Send + Sync {
    /// Looks whether the program could be started; starts nothing. In words, what confines it.
    async fn look(&self) -> Result<String, ProgramError>;

    /// Starts the program. `log` hears its standard error.
    async fn start(
        &self,
        log: LogLine,
    ) -> Result<(Box<dyn RunningProgram>, ProgramPipes), ProgramError>;
}

/// A program that runs. It and everything below it is killed when this is dropped.
#[async_trait]
pub trait RunningProgram: Send {
    /// How it ended, in words, once it has. Cancel-safe.
    async fn wait(&mut self) -> String;

    /// Waits for its end, whose input is closed: asks it to end, and kills it in the end. Takes at most 4 s.
    async fn end(self: Box<Self>);
}
