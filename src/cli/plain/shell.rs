//! What a console in lines holds, and how it waits, asks and submits. News is printed while nothing is asked, never
//! between a question and its answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinSet;

use crate::cli::exit::Failure;
use crate::cli::plain::gate::Gate;
use crate::cli::plain::input::{Cut, InputEvent, InputLine, LineReader};
use crate::cli::plain::out::Out;
use crate::cli::terminal::cell;
use crate::client::console_client::ConsoleClient;
use crate::console::arming::Subject;
use crate::console::hosts::Link;
use crate::console::ids::HostId;
use crate::console::item::{ItemKey, QueueKey};
use crate::console::message::DaemonMessage;
use crate::console::model::Model;
use crate::console::time::{Millis, Now};
use crate::console::world::CallResult;
use crate::console::{connection, update};
use crate::protocol::command::DeliveryResolution;
use crate::protocol::enums::{DecisionKind, ToolCallState};
use crate::protocol::ids::{ContinuationId, SessionId};
use crate::protocol::request::{Command, Outcome};
use crate::tui::message::QuitKind;
use crate::tui::options::ConsoleOptions;

/// The one daemon of a plain console.
const HOST: HostId = HostId(0);
/// News of one moment is said together.
const GATHER: Duration = Duration::from_millis(150);
/// Longest wait for a look at the clock.
const TICK: Duration = Duration::from_mins(1);
/// Messages taken at most at once.
const DRAIN: usize = 512;

/// Numbers that stay: what got one keeps it, and nothing else ever gets it.
#[derive(Debug)]
pub struct Numbers<T>(Vec<T>);

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Clone + PartialEq> Numbers<T> {
    /// Its number, from 1; a new one the first time.
    pub fn of(&mut self, thing: &T) -> usize {
        match self.0.iter().position(|known| known == thing) {
            Some(at) => at + 1,
            None => {
                self.0.push(thing.clone());
                self.0.len()
            }
        }
    }

    /// What has this number.
    pub fn get(&self, number: usize) -> Option<T> {
        self.0.get(number.checked_sub(1)?).cloned()
    }
}

/// How far an item has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// It needs a person.
    Open,
    /// A person put it off, and its time is not over.
    Snoozed,
    /// It needs nobody any more.
    Settled,
    /// The call that somebody allowed has ended.
    Ended,
}

/// What can be done about an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// A decision word as it is.
    Word(DecisionKind),
    /// Deny, and say why.
    Reason,
    /// Allow this shape for the session.
    Shape,
    /// Run its command in a throw-away copy of the workspace.
    Rehearse,
    /// How a rule is made of it.
    Rule,
    /// The turn goes on.
    Resume,
    /// The turn ends.
    Kill,
    /// A delivery is settled.
    Delivery(DeliveryResolution),
    /// What a run left was looked at.
    Dismiss,
}

/// An item as it was printed in full.
#[derive(Debug, Clone)]
pub struct PrintedItem {
    pub(super) subject: Subject,
    pub(super) at: Instant,
    pub(super) choices: Vec<Choice>,
}

impl Choice {
    pub(super) fn label(self) -> String {
        match self {
            Self::Word(word) => word.text().choice(),
            Self::Reason => "deny with a reason that the model reads".to_owned(),
            Self::Shape => {
                "allow this shape for longer: this turn, some time, this session".to_owned()
            }
            Self::Rehearse => {
                "rehearse it in a throw-away copy of the workspace; decides nothing".to_owned()
            }
            Self::Rule => "how to make a rule of it".to_owned(),
            Self::Resume => "resume from the last durable step".to_owned(),
            Self::Kill => "kill: end the turn without an answer".to_owned(),
            Self::Delivery(DeliveryResolution::Sent) => DecisionKind::Sent.text().choice(),
            Self::Delivery(DeliveryResolution::SendAgain) => {
                DecisionKind::SendAgain.text().choice()
            }
            Self::Delivery(DeliveryResolution::Drop) => DecisionKind::Drop.text().choice(),
            Self::Dismiss => "dismiss it; no file changes".to_owned(),
        }
    }
}

/// The session whose transcript is printed as it grows.
#[derive(Debug, Clone, Copy)]
pub struct Open {
    /// Which.
    pub id: SessionId,
    /// Something happened in it since it was last looked at.
    pub stale: bool,
    pub(super) first: Option<u64>,
    pub(super) last: Option<u64>,
    /// The interruption that was printed last, by its position.
    pub(super) interrupted: Option<u64>,
}

/// What a wait for a line ended with.
pub enum Reply {
    /// A line.
    Line(InputLine),
    /// ctrl-c, or the end: nothing is answered.
    None,
    /// Something is to be said; only where nothing is asked.
    News,
}

/// The console while it is open.
pub struct Shell<'h> {
    pub(super) heard: &'h mut LineReader,
    /// The engine, as far as this console may use it.
    pub client: Arc<Gate>,
    pub(super) options: ConsoleOptions,
    /// What is known.
    pub model: Model,
    /// Where lines go.
    pub out: Out,
    /// Queue items that were printed in full.
    pub printed: BTreeMap<QueueKey, PrintedItem>,
    /// Numbers of queue items.
    pub items: Numbers<QueueKey>,
    /// Numbers of sessions.
    pub sessions: Numbers<SessionId>,
    /// Numbers of turns.
    pub turns: Numbers<ContinuationId>,
    /// The session whose transcript is followed.
    pub open: Option<Open>,
    /// Queue items that were announced, and whether they were open when last spoken of.
    pub(super) told: BTreeMap<QueueKey, Stage>,
    /// Settled by this console: nothing needs to be said of it again.
    pub own: BTreeSet<QueueKey>,
    notices: Vec<String>,
    pub(super) news_since: Option<Instant>,
    pub(super) quiet: bool,
    pub(super) live: bool,
    /// Whether it was said that the daemon's certificate is not taken.
    pub(super) refused: bool,
    /// Lets a connection that is lost be made now.
    pub(super) reconnect: Arc<Notify>,
    pub(super) rang: Option<Instant>,
    pub(super) ended: Option<QuitKind>,
    started: Instant,
    pub(super) incoming: mpsc::Receiver<(HostId, DaemonMessage)>,
    answers: JoinSet<DaemonMessage>,
    // Nobody's deltas are followed: whole answers are printed, not their pieces.
    _deltas: watch::Sender<Vec<SessionId>>,
    // Aborted with the console.
    _tasks: JoinSet<()>,
}

impl<'h> Shell<'h> {
    pub(super) fn new(
        heard: &'h mut LineReader,
        client: Arc<dyn ConsoleClient>,
        options: ConsoleOptions,
    ) -> Self {
        let client = Arc::new(Gate::new(client, options.actor.clone(), options.access));
        let now = Now {
            steady: Millis(0),
            wall: options.clock.now(),
        };
        let model = Model::new(
            options.hosting.clone(),
            options.access,
            client.description(),
            now,
        );
        let (deltas, wanted) = watch::channel(Vec::new());
        let (sender, incoming) = mpsc::channel(DRAIN);
        let mut tasks = JoinSet::new();
        let reconnect = Arc::new(Notify::new());
        let follower: Arc<dyn ConsoleClient> = client.clone();
        tasks.spawn(connection::follow(
            follower,
            wanted,
            Arc::clone(&reconnect),
            options.actor.clone(),
            connection::Out { sender, host: HOST },
        ));
        Self {
            heard,
            client,
            options,
            model,
            out: Out::new(),
            printed: BTreeMap::new(),
            items: Numbers::default(),
            sessions: Numbers::default(),
            turns: Numbers::default(),
            open: None,
            told: BTreeMap::new(),
            own: BTreeSet::new(),
            notices: Vec::new(),
            news_since: None,
            quiet: false,
            live: false,
            refused: false,
            reconnect,
            rang: None,
            ended: None,
            started: Instant::now(),
            incoming,
            answers: JoinSet::new(),
            _deltas: deltas,
            _tasks: tasks,
        }
    }

    fn now(&self) -> Now {
        let steady = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        Now {
            steady: Millis(steady),
            wall: self.options.clock.now(),
        }
    }

    /// Takes in what the engine says, and asks what that makes necessary.
    pub fn feed(&mut self, message: DaemonMessage) {
        if let DaemonMessage::Event(event) = &message
            && event.seq.is_some()
            && let Some(open) = &mut self.open
            && event.session_id == Some(open.id)
        {
            open.stale = true;
            self.news_since.get_or_insert_with(Instant::now);
        }
        self.model.now = self.now();
        for query in update::receive(&mut self.model, HOST, message) {
            let client = Arc::clone(&self.client);
            self.answers.spawn(async move {
                let result = client.query(query.clone()).await;
                DaemonMessage::Answered {
                    query: Box::new(query),
                    result: result.map(Box::new).map_err(Box::new),
                }
            });
        }
        self.note_news();
    }

    /// Time passed.
    fn tick(&mut self) {
        self.model.now = self.now();
        self.model.refresh_queue();
        update::settle(&mut self.model);
        self.note_news();
    }

    /// Makes a connection that is lost or refused now.
    pub(super) fn connect_now(&mut self) {
        if let Some(host) = self.model.hosts.get_mut(HOST) {
            host.link = Link::Connecting;
        }
        self.refused = false;
        self.reconnect.notify_one();
    }

    /// Whether what answers at the daemon's place is not taken for it.
    pub(super) fn is_refused(&self) -> bool {
        matches!(self.model.host().link, Link::Refused { .. })
    }

    /// Notes what is to be said.
    fn note_news(&mut self) {
        let notices = std::mem::take(&mut self.model.notices);
        self.notices.extend(notices.into_iter().map(|one| one.text));
        let changed = self.model.is_live() != self.live
            || (self.is_refused() && !self.refused)
            || !self.notices.is_empty()
            || self
                .model
                .queue
                .order
                .iter()
                .any(|key| self.told.get(key) != Some(&self.stage(key)));
        if changed {
            self.news_since.get_or_insert_with(Instant::now);
        }
    }

    /// Takes what has come already.
    pub fn catch_up(&mut self) {
        while let Ok((_, message)) = self.incoming.try_recv() {
            self.feed(message);
        }
        while let Some(Ok(message)) = self.answers.try_join_next() {
            self.feed(message);
        }
    }

    /// How long until the clock alone changes something: the next snooze ends, or a minute passes.
    fn until_tick(&self) -> Duration {
        let now = self.now().wall;
        let snoozed = self.model.queue.snoozed.values().min();
        snoozed.map_or(TICK, |until| {
            Duration::from_millis(until.millis_since(now)).clamp(GATHER, TICK)
        })
    }

    /// Waits for a line. `idle`: nothing is asked, and news ends the wait.
    pub(super) async fn listen(&mut self, idle: bool) -> Result<Reply, Failure> {
        loop {
            let due = self
                .news_since
                .filter(|_| idle && !self.quiet)
                .map(|since| tokio::time::Instant::from_std(since + GATHER));
            let due = due.unwrap_or_else(|| tokio::time::Instant::now() + self.until_tick());
            tokio::select! {
                biased;
                said = self.heard.next() => match said {
                    InputEvent::Line(line) => return Ok(Reply::Line(line)),
                    InputEvent::Interrupt => return Ok(Reply::None),
                    InputEvent::End => {
                        self.ended = Some(QuitKind::Stop);
                        return Ok(Reply::None);
                    }
                    InputEvent::Terminate => {
                        self.ended = Some(QuitKind::Terminated);
                        return Ok(Reply::None);
                    }
                },
                Some((_, message)) = self.incoming.recv() => self.feed(message),
                Some(answer) = self.answers.join_next() => {
                    if let Ok(message) = answer {
                        self.feed(message);
                    }
                }
                () = tokio::time::sleep_until(due) => {
                    self.tick();
                    let news = self.news_since.is_some_and(|since| since.elapsed() >= GATHER);
                    if idle && !self.quiet && news {
                        return Ok(Reply::News);
                    }
                }
            }
        }
    }

    /// Asks for one line. None = ctrl-c, or the input ended.
    pub async fn ask(&mut self, question: &str) -> Result<Option<InputLine>, Failure> {
        self.out.prompt(&format!("{question} "))?;
        match self.listen(false).await? {
            Reply::Line(line) => Ok(Some(line)),
            Reply::None | Reply::News => {
                self.out.line("")?;
                Ok(None)
            }
        }
    }

    /// Asks for several lines, ended by a single dot. None = nothing was written, or ctrl-c.
    pub async fn ask_text(
        &mut self,
        question: &str,
    ) -> Result<Option<(String, InputLine)>, Failure> {
        self.out.line(&format!(
            "{question} (several lines; a single dot ends, ctrl-c leaves)"
        ))?;
        let mut text: Vec<String> = Vec::new();
        loop {
            let Some(line) = self.ask("|").await? else {
                self.out.line("left; nothing was sent")?;
                return Ok(None);
            };
            if line.text.trim() == "." {
                let text = text.join("\n");
                return Ok((!text.trim().is_empty()).then_some((text, line)));
            }
            text.push(line.text);
        }
    }

    /// Asks which of these; from 1. None = none of them.
    pub async fn choose(
        &mut self,
        question: &str,
        choices: &[String],
    ) -> Result<Option<usize>, Failure> {
        for (at, choice) in choices.iter().enumerate() {
            self.out.line(&format!("  {}  {choice}", at + 1))?;
        }
        let Some(line) = self
            .ask(&format!(
                "{question} (1 to {}, enter leaves)",
                choices.len()
            ))
            .await?
        else {
            return Ok(None);
        };
        let chosen = line.text.trim().parse::<usize>().ok();
        Ok(chosen.filter(|at| (1..=choices.len()).contains(at)))
    }

    /// The engine, behind the gate of this console.
    pub fn engine(&self) -> &dyn ConsoleClient {
        self.client.as_ref()
    }

    /// Submits, and says what came of it in the words of the full console. None = refused.
    pub async fn act(&mut self, command: Command) -> Result<Option<Outcome>, Failure> {
        let envelope = crate::cli::find::envelope(command.clone(), None);
        let result = self.client.submit(envelope).await;
        let outcome = result.as_ref().ok().cloned();
        self.feed(DaemonMessage::Submitted {
            command: Box::new(command),
            result: result.map(Box::new).map_err(Box::new),
        });
        self.say_notices()?;
        Ok(outcome)
    }

    /// The same of what takes long: an interruption ends it. None = interrupted.
    pub async fn act_until_interrupted(
        &mut self,
        command: Command,
    ) -> Result<Option<bool>, Failure> {
        let envelope = crate::cli::find::envelope(command.clone(), None);
        let client = Arc::clone(&self.client);
        let mut interrupted = self.heard.interruptions();
        let mut missed = Vec::new();
        let result = {
            let work = client.submit(envelope);
            tokio::pin!(work);
            loop {
                tokio::select! {
                    result = &mut work => break Some(result),
                    _ = interrupted.changed() => break None,
                    // What happens meanwhile is kept, so that the engine never waits for this console.
                    Some((_, message)) = self.incoming.recv() => missed.push(message),
                }
            }
        };
        for message in missed {
            self.feed(message);
        }
        let Some(result) = result else {
            match self.heard.skip_to_cut() {
                Cut::End => self.ended = Some(QuitKind::Stop),
                Cut::Terminate => self.ended = Some(QuitKind::Terminated),
                Cut::Interrupt => self.out.line("")?,
            }
            return Ok(None);
        };
        let done = result.is_ok();
        self.feed(DaemonMessage::Submitted {
            command: Box::new(command),
            result: result.map(Box::new).map_err(Box::new),
        });
        self.say_notices()?;
        Ok(Some(done))
    }

    pub(super) fn say_notices(&mut self) -> Result<(), Failure> {
        for notice in std::mem::take(&mut self.notices) {
            self.out.line(&cell(&notice))?;
        }
        Ok(())
    }

    /// Whether an item needs a person now.
    pub fn is_open(&self, key: &QueueKey) -> bool {
        self.model.hosts.is_open(key)
    }

    /// How far an item has come.
    pub fn stage(&self, key: &QueueKey) -> Stage {
        match self.result(key) {
            _ if self.is_open(key) => match self.model.queue.snoozed_until(key) {
                Some(_) => Stage::Snoozed,
                None => Stage::Open,
            },
            Some(result) if result.state != ToolCallState::Started => Stage::Ended,
            Some(_) | None => Stage::Settled,
        }
    }

    pub(super) fn result(&self, key: &QueueKey) -> Option<&CallResult> {
        let ItemKey::Approval(id) = &key.item else {
            return None;
        };
        let world = self.model.hosts.world(key.host)?;
        world.result(world.approvals.get(id)?)
    }

    /// Marks these as spoken of.
    pub fn mark_told(&mut self, keys: &[QueueKey]) {
        for key in keys {
            self.told.insert(key.clone(), self.stage(key));
        }
    }
}
