//! Turns in lines: what runs, waits, was interrupted or has ended, and what can be done about it.

use crate::cli::continuations::{self, Act};
use crate::cli::exit::{Failure, usage};
use crate::cli::find;
use crate::cli::plain::out::Out;
use crate::cli::plain::shell::Shell;
use crate::cli::terminal::{Attendance, Format, Terminal, cell};
use crate::console::format;
use crate::protocol::ids::ContinuationId;
use crate::protocol::request::{
    CancelContinuation, Command, ListContinuations, ResumeContinuation, RetryContinuation,
};
use crate::protocol::snapshot::PageRequest;
use crate::text::untrusted::limit_line;

/// Turns that are listed.
const LISTED: u32 = 20;

impl Shell<'_> {
    /// `turns`.
    pub async fn list_turns(&mut self) -> Result<(), Failure> {
        let query = ListContinuations {
            state: None,
            session_id: None,
            page: PageRequest::first(Some(LISTED)),
        };
        let page = self.engine().call(query).await?;
        if page.items.is_empty() {
            return self.out.line("No turn yet.");
        }
        for turn in &page.items {
            let number = self.turns.of(&turn.id);
            self.out.line(&format!(
                "{number:>3}  {}  {}  {}: {}  ({} steps, {} ago)",
                turn.state,
                cell(&turn.channel),
                limit_line(&turn.requester.display, 20),
                limit_line(&turn.request.text, 60),
                turn.steps,
                format::age(self.model.now.wall, turn.updated_at)
            ))?;
        }
        self.out.line(
            "`turn` and a number prints one; then `resume`, `retry` or `kill` and the number.",
        )
    }

    async fn turn(&mut self, named: &str) -> Result<Option<ContinuationId>, Failure> {
        if named.is_empty() {
            self.out.line("which one? `turns` lists them")?;
            return Ok(None);
        }
        match named.parse::<usize>().ok() {
            Some(number) => match self.turns.get(number) {
                Some(id) => Ok(Some(id)),
                None => Err(usage!(
                    "no turn has the number {number}; `turns` lists them"
                )),
            },
            None => find::continuation(self.engine(), named).await.map(Some),
        }
    }

    /// `turn 4`.
    pub async fn print_turn(&mut self, named: &str) -> Result<(), Failure> {
        let Some(id) = self.turn(named).await? else {
            return Ok(());
        };
        let (mut out, mut err) = (Out::new(), Out::new());
        let mut terminal = Terminal {
            out: &mut out,
            err: &mut err,
            input: &mut std::io::empty(),
            attended: Attendance::Person,
            format: Format::Human,
        };
        let mut cli = terminal.with(self.engine());
        continuations::act(&mut cli, &id.to_string(), Act::Show).await
    }

    /// `resume 4`, `retry 4`, `kill 4`.
    pub async fn turn_act(&mut self, verb: &str, named: &str) -> Result<(), Failure> {
        let Some(continuation_id) = self.turn(named).await? else {
            return Ok(());
        };
        let (question, command) = match verb {
            "resume" => (
                None,
                Command::ResumeContinuation(ResumeContinuation { continuation_id }),
            ),
            "retry" => (
                Some("A new turn with the same message; tools may run again. Type retry to do so:"),
                Command::RetryContinuation(RetryContinuation { continuation_id }),
            ),
            _ => (
                Some(
                    "Its tools are killed, its approvals closed, no answer is sent. Type kill to do so:",
                ),
                Command::CancelContinuation(CancelContinuation {
                    continuation_id,
                    reason: None,
                }),
            ),
        };
        if let Some(question) = question
            && !self.sure(question, verb).await?
        {
            return Ok(());
        }
        self.act(command).await?;
        Ok(())
    }
}
