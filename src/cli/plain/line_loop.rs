//! The loop: prints, waits for a line, and carries it out. Nothing outside this file knows what can be typed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Parser as _;

use crate::cli::arguments::{ApprovalCommands, Arguments, ContinuationCommands, Subcommands};
use crate::cli::execute::execute;
use crate::cli::exit::Failure;
use crate::cli::outbox::OutboxCommands;
use crate::cli::plain::input::{Answers, Cut, InputLine, LineReader};
use crate::cli::plain::out::Out;
use crate::cli::plain::shell::{Reply, Shell, Stage};
use crate::cli::plain::words::{self, HELP};
use crate::cli::terminal::{Attendance, Terminal, cell};
use crate::client::console_client::ConsoleClient;
use crate::console::access::Hosting;
use crate::console::hosts::Link;
use crate::console::item::QueueKey;
use crate::protocol::request::{Command, EmergencyStop};
use crate::tui::message::QuitKind;
use crate::tui::options::ConsoleOptions;

/// How long the first look at the engine may take before the prompt comes without it.
const FIRST_LOOK: Duration = Duration::from_secs(3);

/// A console in lines, over the consoles of one process.
pub struct Plain {
    heard: LineReader,
    why: Option<&'static str>,
}

impl Plain {
    /// Reads from this; says first why nobody asked for it.
    pub const fn new(heard: LineReader, why: Option<&'static str>) -> Self {
        Self { heard, why }
    }

    /// Runs until it is left.
    pub async fn run(
        &mut self,
        client: Arc<dyn ConsoleClient>,
        options: ConsoleOptions,
    ) -> anyhow::Result<QuitKind> {
        let why = self.why.take();
        let mut shell = Shell::new(&mut self.heard, client, options);
        match shell.main(why).await {
            Ok(kind) => Ok(kind),
            // Nobody reads any more.
            Err(Failure::Output(error)) => {
                tracing::info!(%error, "the output is closed");
                Ok(QuitKind::Terminated)
            }
            Err(failure) => Err(anyhow::anyhow!("{failure}")),
        }
    }
}

impl Shell<'_> {
    async fn main(&mut self, why: Option<&'static str>) -> Result<QuitKind, Failure> {
        if let Some(why) = why {
            self.out.line(why)?;
        }
        let place = cell(&self.client.description());
        self.out.line(&format!(
            "Leverframe {}, {place}. `help` lists what can be typed.",
            env!("CARGO_PKG_VERSION")
        ))?;
        let until = tokio::time::Instant::now() + FIRST_LOOK;
        while self.model.world().engine.is_none() {
            match tokio::time::timeout_at(until, self.incoming.recv()).await {
                Ok(Some((_, message))) => self.feed(message),
                Ok(None) | Err(_) => break,
            }
        }
        self.live = self.model.is_live();
        if !self.live {
            self.out
                .line("No answer from the engine yet; trying again.")?;
        }
        self.list_queue()?;
        loop {
            self.say_news().await?;
            self.prompt()?;
            match self.listen(true).await? {
                Reply::Line(line) => {
                    self.catch_up();
                    if let Err(failure) = self.command(line).await {
                        self.complain(failure)?;
                    }
                }
                Reply::News => self.out.line("")?,
                Reply::None if self.ended.is_none() => {
                    self.out.line("")?;
                    self.quit().await?;
                }
                Reply::None => {}
            }
            if let Some(kind) = self.ended {
                return Ok(kind);
            }
        }
    }

    fn prompt(&mut self) -> Result<(), Failure> {
        let (waiting, _) = self.model.needs();
        let held = self
            .model
            .world()
            .engine
            .as_ref()
            .is_some_and(|engine| engine.held_since.is_some());
        let stop = if held { "STOPPED, " } else { "" };
        self.out.prompt(&format!("[{stop}{waiting} need you] > "))
    }

    /// What failed, in words; an output that is closed ends the console.
    fn complain(&mut self, failure: Failure) -> Result<(), Failure> {
        if matches!(failure, Failure::Output(_)) {
            return Err(failure);
        }
        let message = failure.message().unwrap_or_default();
        for line in message.lines() {
            self.out.line(&cell(line))?;
        }
        Ok(())
    }

    /// Everything that happened since it was last said, a line each.
    async fn say_news(&mut self) -> Result<(), Failure> {
        self.news_since = None;
        self.say_notices()?;
        let live = self.model.is_live();
        let refused = self.is_refused();
        if live != self.live || (refused && !self.refused) {
            (self.live, self.refused) = (live, refused);
            let line = match &self.model.host().link {
                Link::Live { .. } => "connected again".to_owned(),
                Link::Connecting => "connecting".to_owned(),
                Link::Refused { why, .. } => {
                    format!(
                        "not connected, and not tried again until you type reconnect: {}",
                        cell(why)
                    )
                }
                Link::Lost { why, .. } => {
                    format!(
                        "connection lost: {}; nothing is decided meanwhile",
                        cell(why)
                    )
                }
            };
            self.out.line(&line)?;
        }
        let keys = self.model.queue.order.clone();
        let mut arrived = Vec::new();
        for key in keys {
            let stage = self.stage(&key);
            match (self.told.insert(key.clone(), stage), stage) {
                (Some(before), _) if before == stage => {}
                (Some(_), Stage::Ended) => {
                    self.own.remove(&key);
                    self.say_result(&key)?;
                }
                (Some(_), Stage::Settled) => {
                    if !self.own.remove(&key)
                        && let Some(words) = crate::tui::view::queue::in_words(&self.model, &key)
                    {
                        let number = self.items.of(&key);
                        self.out.line(&format!("settled: {number}  {words}"))?;
                    }
                }
                (_, Stage::Snoozed) | (None, Stage::Settled | Stage::Ended) => {}
                (_, Stage::Open) => arrived.push(key),
            }
        }
        let known: BTreeSet<&QueueKey> = self.model.queue.order.iter().collect();
        self.told.retain(|key, _| known.contains(key));
        if !arrived.is_empty() {
            self.announce(&arrived)?;
        }
        self.say_transcript().await
    }

    fn announce(&mut self, arrived: &[QueueKey]) -> Result<(), Failure> {
        const ONE_BY_ONE: usize = 3;
        let bell = self
            .rang
            .is_none_or(|at| at.elapsed() >= Duration::from_secs(10));
        if bell {
            self.rang = Some(Instant::now());
            self.out.prompt("\x07")?;
        }
        if arrived.len() > ONE_BY_ONE {
            for key in arrived {
                self.items.of(key);
            }
            return self.out.line(&format!(
                "new: {} more need you; `queue` lists them",
                arrived.len()
            ));
        }
        for key in arrived {
            let number = self.items.of(key);
            if let Some(words) = crate::tui::view::queue::in_words(&self.model, key) {
                self.out.line(&format!("new: {number}  {words}"))?;
            }
        }
        Ok(())
    }

    async fn command(&mut self, line: InputLine) -> Result<(), Failure> {
        let (word, rest) = words::first(&line.text);
        if let Ok(number) = word.parse::<usize>() {
            return match rest.parse::<usize>() {
                Ok(choice) => self.take_choice(number, choice, &line).await,
                Err(_) if rest.is_empty() => self.print_item(number).await,
                Err(_) => self
                    .out
                    .line("a number of the queue, or two: which one, and which of its choices"),
            };
        }
        match (word, rest) {
            ("", _) => {}
            ("help" | "?", _) => {
                for line in HELP {
                    self.out.line(line)?;
                }
            }
            ("quit" | "exit" | "q", "") => self.quit().await?,
            ("queue" | "approvals", "") => self.list_queue()?,
            ("show", rest) if rest.parse::<usize>().is_ok() => {
                self.print_item(rest.parse().unwrap_or_default()).await?;
            }
            (word, rest) if Self::is_decision(word, rest) => {
                self.decide_in_words(word, rest, &line).await?;
            }
            ("stop" | "emergency-stop", "") => self.emergency_stop().await?,
            ("sessions" | "live", "") => self.list_sessions()?,
            ("open", rest) => self.open_session(rest).await?,
            ("older", "") => self.older().await?,
            ("write" | "say", rest) => self.write(rest).await?,
            ("new", "") => self.new_session().await?,
            ("channels", "") => self.list_channels()?,
            ("autonomy", rest) => self.autonomy(rest).await?,
            ("pause", rest) => self.pause(rest, true).await?,
            ("unpause", rest) => self.pause(rest, false).await?,
            ("turns" | "continuations", "") => self.list_turns().await?,
            ("turn", rest) => self.print_turn(rest).await?,
            ("resume" | "retry" | "kill", rest) => self.turn_act(word, rest).await?,
            ("reconnect", "") if self.model.is_live() => self.out.line("connected")?,
            ("reconnect", "") => self.connect_now(),
            ("lock", "") => {
                self.client.lock(true);
                self.out.line("locked: nothing is sent; `unlock` unlocks")?;
            }
            ("unlock", "") => {
                self.client.lock(false);
                self.out.line("unlocked")?;
            }
            ("quiet", "") => {
                self.quiet = true;
                self.out.line("news waits until you press enter")?;
            }
            ("loud", "") => {
                self.quiet = false;
                self.out.line("news is printed when it comes")?;
            }
            ("keys" | "themes", _) => {
                self.out
                    .line("only the full-screen console has keys and themes")?;
            }
            _ => self.as_command_line(&line.text).await?,
        }
        Ok(())
    }

    /// Everything else is a command of the command line, against the engine of this console.
    async fn as_command_line(&mut self, line: &str) -> Result<(), Failure> {
        let mut words = words::split(line).map_err(|why| Failure::Usage(why.to_owned()))?;
        let bare = match words.as_slice() {
            [one] => one.as_str(),
            _ => "",
        };
        match bare {
            "rules" | "models" | "hooks" | "routine" | "outbox" => words.push("list".to_owned()),
            "cache" | "memory" => words.push("stats".to_owned()),
            "audit" => words.extend(["list", "--limit", "20"].map(str::to_owned)),
            _ => {}
        }
        words.insert(0, "leverframe".to_owned());
        let parsed = match Arguments::try_parse_from(&words) {
            Ok(parsed) => parsed,
            Err(error) => {
                for line in error.to_string().lines() {
                    self.out.line(&cell(line))?;
                }
                return self.out.line("`help` lists what can be typed here");
            }
        };
        let format = parsed.format();
        let command = match parsed.command {
            None => return self.out.line("`help` lists what can be typed"),
            // A decision is about what was printed here, so it is made here.
            Some(
                Subcommands::Approvals(
                    ApprovalCommands::Approve { .. } | ApprovalCommands::Deny { .. },
                )
                | Subcommands::Continuations(ContinuationCommands::Resolve { .. })
                | Subcommands::Outbox(OutboxCommands::Resolve { .. }),
            ) => {
                return self.out.line(
                    "decide it here: `queue` lists it, its number prints it in full, its choices decide",
                );
            }
            Some(
                Subcommands::Attach(_)
                | Subcommands::Certificate(_)
                | Subcommands::Hosts(_)
                | Subcommands::Init(_)
                | Subcommands::Backup { .. }
                | Subcommands::Restore { .. }
                | Subcommands::Doctor {
                    database: Some(_), ..
                },
            ) => {
                return self
                    .out
                    .line("not from here: run it on the command line of the machine itself");
            }
            Some(command) => command,
        };
        let client = Arc::clone(&self.client);
        let (mut out, mut err) = (Out::new(), Out::new());
        let mut interrupted = self.heard.interruptions();
        let mut answers = Answers::new(self.heard);
        let mut terminal = Terminal {
            out: &mut out,
            err: &mut err,
            input: &mut answers,
            attended: Attendance::Person,
            format,
        };
        let mut cli = terminal.with(client.as_ref());
        let incoming = &mut self.incoming;
        let mut missed = Vec::new();
        let done = {
            let work = Box::pin(execute(command, &mut cli, parsed.model));
            tokio::pin!(work);
            loop {
                tokio::select! {
                    done = &mut work => break Some(done),
                    _ = interrupted.changed() => break None,
                    // What happens meanwhile is kept, so that the engine never waits for this console.
                    Some((_, message)) = incoming.recv() => missed.push(message),
                }
            }
        };
        let cut = answers.cut;
        for message in missed {
            self.feed(message);
        }
        let cut = match done {
            Some(_) => cut,
            None => Some(self.heard.skip_to_cut()),
        };
        match cut {
            Some(Cut::End) => self.ended = Some(QuitKind::Stop),
            Some(Cut::Terminate) => self.ended = Some(QuitKind::Terminated),
            Some(Cut::Interrupt) => self.out.line("")?,
            None => {}
        }
        match done {
            None | Some(Err(Failure::Waiting)) => Ok(()),
            Some(done) => done,
        }
    }

    async fn emergency_stop(&mut self) -> Result<(), Failure> {
        let question = format!(
            "STOP {}: kills running tools and stops all work. Type stop once more:",
            cell(&self.model.host().place)
        );
        let Some(line) = self.ask(&question).await? else {
            return Ok(());
        };
        if line.text.trim() != "stop" || line.pasted {
            return self.out.line("not stopped");
        }
        self.act(Command::EmergencyStop(EmergencyStop { reason: None }))
            .await?;
        Ok(())
    }

    /// Leaves; asks first where people outside depend on it.
    async fn quit(&mut self) -> Result<(), Failure> {
        let live = match &self.options.hosting {
            Hosting::Embedded { live_channels } => live_channels.join(", "),
            // The engine runs elsewhere and goes on.
            Hosting::Attached => {
                self.ended = Some(QuitKind::Stop);
                return Ok(());
            }
        };
        let work = self.model.world().open_work();
        let work = if work.is_empty() {
            "Nothing is under way.".to_owned()
        } else {
            format!(
                "Under way: {}. Open turns can be resumed later.",
                work.join(", ")
            )
        };
        if live.is_empty() {
            self.ended = Some(QuitKind::Stop);
            return self.out.line(&work);
        }
        self.out.line(&format!(
            "This console holds the engine, and with it the channels {}.",
            cell(&live)
        ))?;
        self.out.line(&work)?;
        let ways = [
            "stay",
            "leave, and let the engine go on in the background",
            "leave, and stop the engine cleanly",
        ];
        match self.choose("Which?", &ways.map(str::to_owned)).await? {
            Some(2) => self.ended = Some(QuitKind::Detach),
            Some(3) => self.ended = Some(QuitKind::Stop),
            Some(_) | None => {}
        }
        Ok(())
    }
}
