//! Several daemons in one console.
//!
//! The world, the link and the screens of the state always belong to the focused host; those of the others
//! are kept here and in `World::elsewhere`. What a host says changes its own part only, and never the focus,
//! a dialog or the selection. The selected item of the Queue always belongs to the focused host, so whatever
//! acts on the selection acts on the daemon that showed it.

use std::collections::BTreeSet;

use crate::protocol::event::{Event, EventBody};
use crate::protocol::ids::{ApprovalId, SessionId};
use crate::protocol::problem::Problem;
use crate::protocol::request::{Answer, Command, Decide, EmergencyStop, Outcome, Query};
use crate::protocol::words::Scope;
use crate::tui::assets;
use crate::tui::format;
use crate::tui::message::{Effect, Message};
use crate::tui::state::app::{Dirty, Link, ListState, Screen, State, Tone};
use crate::tui::state::assigning;
use crate::tui::state::audit::AuditPanel;
use crate::tui::state::cache_cost::CacheCostPanel;
use crate::tui::state::continuations::ContinuationsPanel;
use crate::tui::state::doctor::DoctorPanel;
use crate::tui::state::drafts::Drafts;
use crate::tui::state::fold;
use crate::tui::state::memory::{self, MemoryPanel};
use crate::tui::state::opened;
use crate::tui::state::panel::Asking;
use crate::tui::state::queue::{self, ItemKey};
use crate::tui::state::rules::RulesPanel;
use crate::tui::state::session_view::SessionView;
use crate::tui::state::undo::Undo;
use crate::tui::state::world::World;
use crate::tui::state::{perform, submit, trim, update};

/// At most this many daemons at once: their names must fit where they are shown.
pub const MOST: usize = 16;

/// A daemon, by its place on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct HostId(pub u8);

/// What belongs to one daemon while another has the focus.
#[derive(Debug, Clone, PartialEq)]
struct Parked {
    place: String,
    link: Link,
    scopes: Option<Vec<Scope>>,
    live: ListState<SessionId>,
    channels: ListState<String>,
    session: SessionView,
    asking: Asking,
    continuations: ContinuationsPanel,
    rules: RulesPanel,
    cache_cost: CacheCostPanel,
    memory: MemoryPanel,
    audit: AuditPanel,
    doctor: DoctorPanel,
    drafts: Drafts,
    deciding: BTreeSet<ApprovalId>,
    undo: Undo,
}

impl Parked {
    fn new(place: String) -> Box<Self> {
        Box::new(Self {
            place,
            link: Link::Connecting,
            scopes: None,
            live: ListState::default(),
            channels: ListState::default(),
            session: SessionView::default(),
            asking: Asking::default(),
            continuations: ContinuationsPanel::default(),
            rules: RulesPanel::default(),
            cache_cost: CacheCostPanel::default(),
            memory: MemoryPanel::default(),
            audit: AuditPanel::default(),
            doctor: DoctorPanel::default(),
            drafts: Drafts::default(),
            deciding: BTreeSet::new(),
            undo: Undo::default(),
        })
    }

    fn swap(&mut self, state: &mut State) {
        use std::mem::swap;
        swap(&mut self.place, &mut state.place);
        swap(&mut self.link, &mut state.link);
        swap(&mut self.scopes, &mut state.scopes);
        swap(&mut self.live, &mut state.live);
        swap(&mut self.channels, &mut state.channels);
        swap(&mut self.session, &mut state.session);
        swap(&mut self.asking, &mut state.asking);
        swap(&mut self.continuations, &mut state.continuations);
        swap(&mut self.rules, &mut state.rules);
        swap(&mut self.cache_cost, &mut state.cache_cost);
        swap(&mut self.memory, &mut state.memory);
        swap(&mut self.audit, &mut state.audit);
        swap(&mut self.doctor, &mut state.doctor);
        swap(&mut self.drafts, &mut state.drafts);
        swap(&mut self.deciding, &mut state.deciding);
        swap(&mut self.undo, &mut state.undo);
    }
}

/// A daemon of several.
#[derive(Debug, Clone, PartialEq)]
struct Host {
    /// The name the operator gave it.
    given: Option<String>,
    /// Its address, for as long as nothing better is known.
    address: String,
    /// Its name: no two are the same. Outside text, when the daemon says it.
    name: String,
    /// Everything that is its own; none while it has the focus.
    parked: Option<Box<Parked>>,
}

/// What came of the last emergency stop on a host.
type Stopped = Option<Result<(), String>>;

/// The daemons of a console that has several; empty where there is one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Hosts {
    list: Vec<Host>,
    focused: HostId,
    /// The emergency stop that is reported on.
    stop: Vec<Stopped>,
}

impl Hosts {
    /// Whether there is more than one.
    pub fn several(&self) -> bool {
        !self.list.is_empty()
    }

    /// Which one the screens show.
    pub fn focused(&self) -> HostId {
        self.focused
    }

    /// All, in the order of the command line.
    pub fn ids(&self) -> impl Iterator<Item = HostId> + use<> {
        (0..u8::try_from(self.list.len()).unwrap_or(u8::MAX)).map(HostId)
    }

    /// Its name; outside text.
    pub fn name(&self, id: HostId) -> &str {
        self.get(id).map_or("", |host| host.name.as_str())
    }

    fn get(&self, id: HostId) -> Option<&Host> {
        self.list.get(usize::from(id.0))
    }

    fn parked(&mut self, id: HostId) -> Option<&mut Parked> {
        self.list.get_mut(usize::from(id.0))?.parked.as_deref_mut()
    }
}

/// A daemon to be attached to beside others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// What the operator calls it.
    pub given: Option<String>,
    /// Its address, without a credential.
    pub address: String,
}

/// Opens the console on several daemons; the first has the focus. With fewer than two, nothing changes.
pub fn open(state: &mut State, hosts: Vec<Named>) {
    if hosts.len() < 2 {
        return;
    }
    for (index, host) in hosts.into_iter().take(MOST).enumerate() {
        let place = format!("attached to {}", host.address);
        let first = index == 0;
        if first {
            state.place.clone_from(&place);
        } else if let Ok(id) = u8::try_from(index) {
            state.world.elsewhere.insert(HostId(id), World::default());
        }
        state.hosts.list.push(Host {
            given: host.given,
            name: host.address.clone(),
            address: host.address,
            parked: (!first).then(|| Parked::new(place)),
        });
    }
    rename(state);
}

/// What is known of a host.
pub fn world(state: &State, id: HostId) -> Option<&World> {
    if id == state.hosts.focused {
        Some(&state.world)
    } else {
        state.world.elsewhere.get(&id)
    }
}

/// Whether a host can be reached.
pub fn link(state: &State, id: HostId) -> &Link {
    state
        .hosts
        .get(id)
        .and_then(|host| host.parked.as_deref())
        .map_or(&state.link, |parked| &parked.link)
}

/// What is known of every host.
pub fn worlds(state: &State) -> impl Iterator<Item = &World> {
    std::iter::once(&state.world).chain(state.world.elsewhere.values())
}

/// The decisions that are on their way to a host.
pub fn deciding(state: &State, id: HostId) -> &BTreeSet<ApprovalId> {
    state
        .hosts
        .get(id)
        .and_then(|host| host.parked.as_deref())
        .map_or(&state.deciding, |parked| &parked.deciding)
}

/// What of a host needs a person now.
pub fn needs(state: &State, id: HostId) -> usize {
    let focused = state.hosts.focused;
    let open = |key: &&ItemKey| key.host(focused) == id && queue::is_open(&state.world, key);
    state.queue.order.iter().filter(open).count()
}

/// The names of all hosts; of the only one, what it calls itself.
pub fn names(state: &State) -> String {
    if !state.hosts.several() {
        let engine = state.world.engine.as_ref();
        return engine.map_or_else(|| "the engine".to_owned(), |e| e.instance.clone());
    }
    let names: Vec<&str> = state.hosts.list.iter().map(|h| h.name.as_str()).collect();
    names.join(", ")
}

/// Names follow what the daemons call themselves, where the operator gave none. No two become the same: a
/// later one is numbered, and what the operator chose is never taken by another.
fn rename(state: &mut State) {
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let mut names = Vec::new();
    for host in &state.hosts.list {
        taken.extend(host.given.clone());
    }
    for (id, host) in state.hosts.ids().zip(&state.hosts.list) {
        if let Some(given) = &host.given {
            names.push(given.clone());
            continue;
        }
        let says = world(state, id)
            .and_then(|world| world.engine.as_ref())
            .map(|engine| engine.instance.trim())
            .filter(|instance| !instance.is_empty());
        let base = says.unwrap_or(&host.address);
        let mut name = base.to_owned();
        let mut n = usize::from(id.0) + 1;
        while !taken.insert(name.clone()) {
            name = format!("{base}-{n}");
            n += 1;
        }
        names.push(name);
    }
    for (host, name) in state.hosts.list.iter_mut().zip(names) {
        host.name = name;
    }
}

/// Effects that concern a daemon, addressed to this one.
pub fn addressed(state: &State, to: HostId, effects: Vec<Effect>) -> Vec<Effect> {
    if !state.hosts.several() {
        return effects;
    }
    let address = |effect| match effect {
        Effect::Submit(_)
        | Effect::Query(_)
        | Effect::SetDeltas(_)
        | Effect::Export(..)
        | Effect::Reconnect => Effect::At(to, Box::new(effect)),
        Effect::Copy(_)
        | Effect::OpenEditor(_)
        | Effect::LoadTheme(_)
        | Effect::Quit(_)
        | Effect::Suspend
        | Effect::Redraw
        | Effect::Bell
        | Effect::LoadKeymap(_)
        | Effect::Notify(_)
        | Effect::Mouse(_)
        | Effect::At(..) => effect,
    };
    effects.into_iter().map(address).collect()
}

/// Gives another host the focus: every screen shows it from now on.
pub fn focus(state: &mut State, to: HostId) -> Vec<Effect> {
    let from = state.hosts.focused;
    // A dialog is bound to what its host showed: it stays where it is.
    if from == to || !state.modals.is_empty() {
        return Vec::new();
    }
    let Some(mut parked) = state
        .hosts
        .list
        .get_mut(usize::from(to.0))
        .and_then(|host| host.parked.take())
    else {
        return Vec::new();
    };
    let mut effects = Vec::new();
    if state.screen == Screen::Session {
        effects.push(Effect::At(from, Box::new(Effect::SetDeltas(Vec::new()))));
    }
    // Answers to what was asked there are not awaited any more; it is asked again on return.
    state.asking.lost();
    state.world.opened.lost();
    state.session.lost();
    state.session.stale = true;
    parked.swap(state);
    if let Some(host) = state.hosts.list.get_mut(usize::from(from.0)) {
        host.parked = Some(parked);
    }
    state.hosts.focused = to;
    let mut elsewhere = std::mem::take(&mut state.world.elsewhere);
    let world = elsewhere.remove(&to).unwrap_or_default();
    elsewhere.insert(from, std::mem::replace(&mut state.world, world));
    state.world.elsewhere = elsewhere;
    state.queue.seen_from(from, to);
    // Ids of two hosts may be the same: what was read of a card there says nothing about one here.
    state.arming.forget();
    state.high = None;
    let shown = perform::shows(state);
    effects.extend(addressed(state, to, shown));
    state.touch(Dirty::Now);
    effects
}

/// The focus follows the selection of the Queue.
pub fn follow_selection(state: &mut State) -> Vec<Effect> {
    match &state.queue.selected {
        Some(ItemKey::Elsewhere(host, _)) => {
            let host = *host;
            focus(state, host)
        }
        Some(_) | None => Vec::new(),
    }
}

/// Gives the next host the focus. Nothing is selected after it.
pub fn next(state: &mut State) -> Vec<Effect> {
    let count = state.hosts.list.len();
    if count == 0 {
        state.flash(Tone::Warning, "this console is attached to one daemon only");
        return Vec::new();
    }
    let at = (usize::from(state.hosts.focused.0) + 1) % count;
    go(state, HostId(u8::try_from(at).unwrap_or(0)))
}

/// `:host NAME`.
pub fn named(state: &mut State, wanted: Option<&str>) -> Vec<Effect> {
    if !state.hosts.several() {
        return next(state);
    }
    let Some(wanted) = wanted else {
        let all: Vec<String> = known(state)
            .into_iter()
            .map(|(name, word)| format!("{name} ({word})"))
            .collect();
        state.flash(Tone::Info, format!("host NAME; known: {}", all.join(", ")));
        return Vec::new();
    };
    let found = state.hosts.ids().find(|id| state.hosts.name(*id) == wanted);
    if let Some(id) = found {
        return go(state, id);
    }
    let all: Vec<&str> = state.hosts.list.iter().map(|h| h.name.as_str()).collect();
    let hint = match assets::nearest(wanted, all.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known: {}", all.join(", ")),
    };
    let wanted: String = wanted.chars().take(40).collect();
    let text = format!("there is no host `{wanted}`; {hint}");
    state.flash(Tone::Warning, text);
    Vec::new()
}

fn go(state: &mut State, id: HostId) -> Vec<Effect> {
    // What is played is of the host that has the focus, and lies over its transcript.
    if perform::stays_in_replay(state) {
        return Vec::new();
    }
    state.queue.selected = None;
    state.queue.zoomed = false;
    let effects = focus(state, id);
    let text = format!(
        "host {}: {}",
        state.hosts.name(id),
        link_word(state, id, true)
    );
    state.flash(Tone::Info, text);
    effects
}

/// Every host with a word about its connection, for `:host`.
pub fn known(state: &State) -> Vec<(String, String)> {
    state
        .hosts
        .ids()
        .map(|id| {
            let name = state.hosts.name(id).to_owned();
            (name, link_word(state, id, true))
        })
        .collect()
}

/// The connection of a host in words: all of them, or only where it is not as it should be.
pub fn link_word(state: &State, id: HostId, whole: bool) -> String {
    let now = state.now.wall;
    match link(state, id) {
        Link::Connecting => "connecting".to_owned(),
        Link::Lost { since, .. } if whole => format!("LOST {}", format::age(now, *since)),
        Link::Lost { .. } => "LOST".to_owned(),
        Link::Live { since } if whole => format!("connected {}", format::age(now, *since)),
        Link::Live { .. } => String::new(),
    }
}

/// The emergency stop on every host, also on those that look dead.
pub fn stop_all(state: &mut State) -> Vec<Effect> {
    state.hosts.stop = vec![None; state.hosts.list.len()];
    let text = format!("EMERGENCY STOP sent to {}", names(state));
    state.flash(Tone::Warning, text);
    let stop = Effect::Submit(Command::EmergencyStop(EmergencyStop { reason: None }));
    state
        .hosts
        .ids()
        .map(|id| Effect::At(id, Box::new(stop.clone())))
        .collect()
}

/// Says for every host what came of the emergency stop.
fn report_stop(state: &mut State, host: HostId, result: Result<(), String>) {
    if let Some(slot) = state.hosts.stop.get_mut(usize::from(host.0)) {
        *slot = Some(result);
    }
    let mut tone = Tone::Info;
    let mut held = Vec::new();
    let mut failed = Vec::new();
    let mut waiting = Vec::new();
    for (id, stopped) in state.hosts.ids().zip(&state.hosts.stop) {
        let name = state.hosts.name(id);
        match stopped {
            Some(Ok(())) => held.push(name.to_owned()),
            Some(Err(why)) => failed.push(format!("{name} NOT STOPPED ({why})")),
            None => waiting.push(name.to_owned()),
        }
    }
    let mut words = Vec::new();
    if !failed.is_empty() {
        tone = Tone::Error;
        words.push(failed.join(", "));
    }
    if !held.is_empty() {
        words.push(format!("EMERGENCY STOP is in force on {}", held.join(", ")));
    }
    if !waiting.is_empty() {
        tone = tone_at_least_warning(tone);
        words.push(format!("no answer yet from {}", waiting.join(", ")));
    }
    state.flash(tone, words.join("; "));
}

fn tone_at_least_warning(tone: Tone) -> Tone {
    match tone {
        Tone::Info | Tone::Warning => Tone::Warning,
        Tone::Error => Tone::Error,
    }
}

/// A daemon said something.
pub fn heard(state: &mut State, host: HostId, message: Message) -> Vec<Effect> {
    if state.hosts.get(host).is_none() {
        return Vec::new();
    }
    let engine_said = matches!(&message, Message::Snapshot(_));
    let stopped = match &message {
        Message::Submitted { command, result }
            if matches!(**command, Command::EmergencyStop(_)) =>
        {
            let result = result.as_ref().map(|_| ());
            Some(result.map_err(ToString::to_string))
        }
        _ => None,
    };
    let answers = matches!(&message, Message::Submitted { .. });
    let effects = if host == state.hosts.focused {
        let before = state.flash.take();
        let effects = update::received(state, message);
        match &mut state.flash {
            Some(flash) if answers => {
                let name = state.hosts.list.get(usize::from(host.0));
                let name = name.map_or("", |host| host.name.as_str());
                flash.text = format!("{name}: {}", flash.text);
            }
            Some(_) => {}
            None => state.flash = before,
        }
        effects
    } else {
        beside(state, host, message)
    };
    if let Some(result) = stopped {
        report_stop(state, host, result);
    }
    if engine_said {
        rename(state);
    }
    addressed(state, host, effects)
}

/// What a host without the focus says. Nothing of it opens, selects or closes anything.
fn beside(state: &mut State, host: HostId, message: Message) -> Vec<Effect> {
    match message {
        Message::Snapshot(snapshot) => {
            let mut fresh = World::from_snapshot(*snapshot);
            let before = state.world.elsewhere.remove(&host).unwrap_or_default();
            let first = before.engine.is_none();
            opened::carry(before, &mut fresh);
            state.world.elsewhere.insert(host, fresh);
            let now = state.now.wall;
            if let Some(parked) = state.hosts.parked(host) {
                if !matches!(parked.link, Link::Live { .. }) {
                    parked.link = Link::Live { since: now };
                }
                parked.session.stale = true;
            }
            if first && state.queue.selected.is_none() {
                state.queue.open(&state.world, now);
            }
            update::refresh_lists(state);
            state.touch(Dirty::Soon);
            Vec::new()
        }
        Message::Event(event) => event_beside(state, host, &event),
        Message::Disconnected { why } => {
            let now = state.now.wall;
            if let Some(parked) = state.hosts.parked(host) {
                let since = match &parked.link {
                    Link::Lost { since, .. } => *since,
                    Link::Live { .. } | Link::Connecting => now,
                };
                parked.link = Link::Lost { why, since };
            }
            state.touch(Dirty::Soon);
            Vec::new()
        }
        Message::Scopes(scopes) => {
            if let Some(parked) = state.hosts.parked(host) {
                parked.scopes = scopes;
            }
            Vec::new()
        }
        Message::Submitted { command, result } => {
            submitted_beside(state, host, &command, &result);
            Vec::new()
        }
        Message::Answered { query, result } => {
            answered_beside(state, host, &query, result);
            Vec::new()
        }
        // Of this console, not of a daemon.
        Message::Key(_)
        | Message::Paste(_)
        | Message::FocusGained
        | Message::FocusLost
        | Message::Resize(..)
        | Message::Edited(_)
        | Message::Tick
        | Message::Drawn(_)
        | Message::Mouse(_)
        | Message::Terminate
        | Message::Exported(_)
        | Message::From(..) => Vec::new(),
    }
}

fn event_beside(state: &mut State, host: HostId, event: &Event) -> Vec<Effect> {
    let Some(world) = state.world.elsewhere.get_mut(&host) else {
        return Vec::new();
    };
    let missing = fold::apply(world, event);
    let mine = assigning::is_mine(&world.duty, event);
    let mut effects: Vec<Effect> = missing.into_iter().map(update::ask_for).collect();
    let shown = event.seq.is_some()
        || matches!(
            event.body,
            EventBody::EngineState { .. } | EventBody::ChannelState { .. }
        );
    if shown {
        trim::trim_other(state, host);
        let added = update::refresh_lists(state);
        if matches!(event.body, EventBody::ApprovalRequested { .. }) && added > 0 {
            state.unrung = !state.focused;
            effects.extend(update::ring(state));
        }
        state.touch(Dirty::Soon);
    }
    if mine {
        let name = state.hosts.name(host);
        let text = format!("{name}: a question is handed to you");
        state.flash(Tone::Warning, text);
        state.unrung |= !state.focused;
        effects.extend(update::ring(state));
    }
    effects
}

fn submitted_beside(
    state: &mut State,
    host: HostId,
    command: &Command,
    result: &Result<Box<Outcome>, Box<Problem>>,
) {
    if let Some(mut parked) = state
        .hosts
        .list
        .get_mut(usize::from(host.0))
        .and_then(|host| host.parked.take())
    {
        if let Command::Decide(Decide { approval_id, .. }) = command {
            parked.deciding.remove(approval_id);
        }
        parked.drafts.answered(command, result.is_ok());
        // What a run of hygiene came to is shown on the screen that asked for it.
        std::mem::swap(&mut state.memory, &mut parked.memory);
        memory::submitted(state, command, result);
        std::mem::swap(&mut state.memory, &mut parked.memory);
        if let Some(host) = state.hosts.list.get_mut(usize::from(host.0)) {
            host.parked = Some(parked);
        }
    }
    let (tone, text) = match result {
        Err(problem) => (Tone::Error, update::problem_text(problem)),
        Ok(outcome) => {
            if let Some((id, until)) = update::snoozed(state, command, outcome) {
                let key = ItemKey::Elsewhere(host, Box::new(ItemKey::Approval(id)));
                state.queue.snooze(&key, until);
            }
            (Tone::Info, submit::done_text(command, outcome))
        }
    };
    let text = format!("{}: {text}", state.hosts.name(host));
    state.flash(tone, text);
}

/// Rows that an event could not tell in full. What screens asked for is not awaited any more.
fn answered_beside(
    state: &mut State,
    host: HostId,
    query: &Query,
    result: Result<Box<Answer>, Box<Problem>>,
) {
    match result {
        Ok(answer) => {
            if let Some(world) = state.world.elsewhere.get_mut(&host)
                && update::learn(world, *answer).is_none()
            {
                update::refresh_lists(state);
                state.touch(Dirty::Soon);
            }
        }
        Err(problem) => tracing::debug!(%problem, ?query, "a background query failed"),
    }
}
