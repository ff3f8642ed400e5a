//! Sessions in lines: what each does, the transcript of one, and writing into it.

use crate::cli::exit::{Failure, usage};
use crate::cli::find;
use crate::cli::plain::queue::WIDTH;
use crate::cli::plain::shell::{Open, Shell};
use crate::cli::terminal::cell;
use crate::console::format;
use crate::protocol::command::BudgetRequest;
use crate::protocol::enums::ContinuationState;
use crate::protocol::ids::SessionId;
use crate::protocol::request::{Command, GetTranscript, SendMessage, StartSession, UpdateSession};
use crate::protocol::session::{StepBody, TranscriptBody, TranscriptEntry};
use crate::text::untrusted::limit_line;
use crate::tui::view;

/// Entries of a transcript that are printed at once.
const PAGE: u32 = 20;
/// Entries that are looked through for news.
const NEWS: u32 = 100;

/// How a turn stands, where that is not its end: it will be said otherwise later, at the same position.
fn unfinished(entry: &TranscriptEntry) -> Option<ContinuationState> {
    match &entry.body {
        TranscriptBody::State { state, .. } if !state.is_terminal() => Some(*state),
        TranscriptBody::State { .. }
        | TranscriptBody::User { .. }
        | TranscriptBody::Compacted { .. }
        | TranscriptBody::Step { .. } => None,
    }
}

/// The newest position that will not be said otherwise any more.
fn last_said(entries: &[TranscriptEntry]) -> Option<u64> {
    let said = entries
        .iter()
        .rev()
        .find(|entry| unfinished(entry).is_none());
    said.map(|entry| entry.position)
}

/// Words of a model behind which its turn still goes on: the answer will repeat them.
fn held_back(entry: &TranscriptEntry, entries: &[TranscriptEntry]) -> bool {
    let words = matches!(&entry.body, TranscriptBody::Step { step, tool_calls }
        if tool_calls.is_empty() && matches!(step.body, StepBody::Model { .. }));
    words
        && entries.iter().any(|other| {
            other.continuation_id == entry.continuation_id
                && unfinished(other).is_some_and(|state| state != ContinuationState::Interrupted)
        })
}

impl Shell<'_> {
    /// `sessions`.
    pub fn list_sessions(&mut self) -> Result<(), Failure> {
        let world = self.model.world();
        let rows: Vec<(SessionId, String)> = world
            .sessions_by_change()
            .into_iter()
            .map(|session| {
                let title = session.title.as_deref().unwrap_or(&session.conversation);
                let last = session.last_line.as_deref().unwrap_or("nothing said yet");
                let words = format!(
                    "{}  {}  {}: {}  ({} turns, {}, {} ago)",
                    world.session_status(session).as_str(),
                    cell(&session.channel),
                    limit_line(title, 30),
                    limit_line(last, 60),
                    session.turns,
                    format::money(session.usage.cost_usd),
                    format::age(self.model.now.wall, session.updated_at),
                );
                (session.id, words)
            })
            .collect();
        if rows.is_empty() {
            return self
                .out
                .line("No session yet; `new` opens one at the desk.");
        }
        for (id, words) in rows {
            let number = self.sessions.of(&id);
            self.out.line(&format!("{number:>3}  {words}"))?;
        }
        self.out.line("`open` and a number prints one.")
    }

    async fn session(&mut self, named: &str) -> Result<SessionId, Failure> {
        match named.parse::<usize>().ok() {
            Some(number) => self
                .sessions
                .get(number)
                .ok_or_else(|| usage!("no session has the number {number}; `sessions` lists them")),
            None => find::session(self.engine(), named).await,
        }
    }

    async fn entries(
        &self,
        session_id: SessionId,
        before: Option<u64>,
        limit: u32,
    ) -> Result<Vec<TranscriptEntry>, Failure> {
        let query = GetTranscript {
            session_id,
            before,
            limit: Some(limit),
        };
        let page = self.engine().call(query).await?;
        Ok(page.items)
    }

    fn print_entries(&mut self, entries: &[TranscriptEntry]) -> Result<(), Failure> {
        for line in view::plain::transcript(entries, WIDTH) {
            self.out.line(&line)?;
        }
        Ok(())
    }

    /// `open N`.
    pub async fn open_session(&mut self, named: &str) -> Result<(), Failure> {
        if named.is_empty() {
            return self.out.line("which one? `sessions` lists them");
        }
        let id = self.session(named).await?;
        let entries = self.entries(id, None, PAGE).await?;
        let number = self.sessions.of(&id);
        self.out.line(&format!("session {number}  {id}"))?;
        if entries.is_empty() {
            self.out
                .line("Nothing was said yet; `write TEXT` begins.")?;
        }
        self.print_entries(&entries)?;
        self.open = Some(Open {
            id,
            stale: false,
            first: entries.first().map(|entry| entry.position),
            last: last_said(&entries),
            interrupted: None,
        });
        Ok(())
    }

    /// `older`.
    pub async fn older(&mut self) -> Result<(), Failure> {
        let Some(open) = self.open else {
            return self.out.line("no session is open; `sessions` lists them");
        };
        let entries = match open.first {
            Some(_) => self.entries(open.id, open.first, PAGE).await?,
            None => Vec::new(),
        };
        let Some(first) = entries.first().map(|entry| entry.position) else {
            return self.out.line("this is the beginning");
        };
        self.print_entries(&entries)?;
        if let Some(open) = &mut self.open {
            open.first = Some(first);
        }
        Ok(())
    }

    /// Prints what was said in the open session since it was last looked at.
    pub async fn say_transcript(&mut self) -> Result<(), Failure> {
        let Some(open) = self.open.filter(|open| open.stale) else {
            return Ok(());
        };
        if let Some(open) = &mut self.open {
            open.stale = false;
        }
        // Not worth a word: it is asked again with the next thing that happens.
        let Ok(entries) = self.entries(open.id, None, NEWS).await else {
            return Ok(());
        };
        let mut new: Vec<TranscriptEntry> = Vec::new();
        for entry in &entries {
            let known = open.last.is_some_and(|last| entry.position <= last);
            let said = match unfinished(entry) {
                None => held_back(entry, &entries),
                Some(ContinuationState::Interrupted) => open.interrupted == Some(entry.position),
                Some(_) => true,
            };
            if !known && !said {
                new.push(entry.clone());
            }
        }
        self.print_entries(&new)?;
        if let Some(open) = &mut self.open {
            open.last = last_said(&new).or(open.last);
            open.first = open.first.or(new.first().map(|entry| entry.position));
            let interrupted = new.iter().rev().find(|entry| unfinished(entry).is_some());
            open.interrupted = interrupted.map(|entry| entry.position).or(open.interrupted);
        }
        Ok(())
    }

    /// `write TEXT`, or several lines.
    pub async fn write(&mut self, text: &str) -> Result<(), Failure> {
        let Some(open) = self.open else {
            return self
                .out
                .line("no session is open; `sessions` lists them, `new` opens one");
        };
        let held = self.model.world().sessions.get(&open.id);
        if let Some(held) = held.and_then(|session| session.taken_over.as_ref()) {
            return self.out.line(&format!(
                "{} has taken this conversation over: `sessions say {} TEXT` writes as the bot, \
                 `sessions release {}` gives it back",
                cell(&held.by),
                open.id,
                open.id
            ));
        }
        let text = if text.is_empty() {
            match self.ask_text("Message").await? {
                Some((text, _)) => text,
                None => return Ok(()),
            }
        } else {
            text.to_owned()
        };
        self.act(Command::SendMessage(SendMessage {
            session_id: open.id,
            text,
            model: None,
            budgets: BudgetRequest::default(),
            fresh: false,
            attachments: Vec::new(),
            options: crate::protocol::options::TurnOptions::default(),
        }))
        .await?;
        Ok(())
    }

    /// `new`.
    pub async fn new_session(&mut self) -> Result<(), Failure> {
        let start = StartSession {
            channel: Some("desk".to_owned()),
            conversation: None,
            title: None,
            model: None,
        };
        let session = find::submit(self.engine(), start).await?;
        self.open_session(&session.id.to_string()).await
    }

    /// `pause` and `unpause`: a channel that is named, else the open session.
    pub async fn pause(&mut self, named: &str, paused: bool) -> Result<(), Failure> {
        if !named.is_empty() {
            return self.pause_channel(named, paused).await;
        }
        let Some(open) = self.open else {
            return self.out.line("no session is open, and no channel is named");
        };
        self.act(Command::UpdateSession(UpdateSession {
            session_id: open.id,
            title: None,
            model: None,
            paused: Some(paused),
            preferences: None,
        }))
        .await?;
        Ok(())
    }
}
