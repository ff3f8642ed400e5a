//! The whole state of the console.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ratatui::layout::Rect;

use crate::clock::Timestamp;
use crate::console::access::{Access, Hosting};
use crate::console::arming::{Arming, CONFIRM_MS, Subject};
use crate::console::hosts::StopResult;
use crate::console::ids::HostId;
use crate::console::model::{Model, Tone};
use crate::console::time::{Millis, Now};
use crate::console::world::World;
use crate::protocol::enums::DecisionKind;
use crate::protocol::ids::{OutboxId, SessionId, TakeOverId};
use crate::tui::action::{Action, ActionClass};
use crate::tui::keymap::context::Context;
use crate::tui::keymap::key::Key;
use crate::tui::keymap::lookup::Keymap;
use crate::tui::message::{Effect, HitRegion};
use crate::tui::state::attached_files::AttachedFiles;
use crate::tui::state::audit::AuditPanel;
use crate::tui::state::cache_cost::CacheCostPanel;
use crate::tui::state::continuations::ContinuationsPanel;
use crate::tui::state::datasets::DatasetsPanel;
use crate::tui::state::doctor::DoctorPanel;
use crate::tui::state::entries::TranscriptEnd;
use crate::tui::state::fleet::FleetPanel;
use crate::tui::state::in_flight::InFlightQueries;
use crate::tui::state::list::ListDetail;
use crate::tui::state::log::POLL_MS;
use crate::tui::state::memory::MemoryPanel;
use crate::tui::state::modal::{History, Modal};
use crate::tui::state::replay::{Replay, Source};
use crate::tui::state::resources::ResourcesPanel;
use crate::tui::state::rule_coach::RuleCoach;
use crate::tui::state::rules::RulesPanel;
use crate::tui::state::screen::Screen;
use crate::tui::state::servers::ServersPanel;
use crate::tui::state::session_view::SessionView;
use crate::tui::state::shell::ShellPanel;
use crate::tui::state::stats::StatsPanel;

/// How long a notice at the bottom stays.
pub const FLASH_MS: u64 = 6_000;
/// How long the keys of a sequence may be apart; also the emergency stop's window.
pub const SEQUENCE_MS: u64 = 1_500;
/// How long a begun sequence waits before the keys that go on with it are shown.
pub const WHICH_KEY_MS: u64 = 300;
/// At this width the detail sits beside the list.
pub const WIDE_COLUMNS: u16 = 140;
/// Below this height most cards do not fit below the list.
pub const CARD_BELOW_ROWS: u16 = 30;
/// Below this size there is one pane.
pub const ONE_PANE: (u16, u16) = (60, 16);

/// A notice at the bottom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toast {
    /// The words; shown through `shown`.
    pub text: String,
    pub tone: Tone,
    pub until: Millis,
    /// Which screen it is about: on another one it is gone.
    pub screen: Screen,
}

/// The first press of a high-risk decision, waiting for the second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HighConfirm {
    /// What was shown.
    pub subject: Subject,
    /// What would be decided.
    pub decision: DecisionKind,
    /// When the first press counted.
    pub since: Millis,
    /// Whether that press opened the card.
    pub opened: bool,
}

/// Keys of a sequence typed so far.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingKeys {
    pub keys: Vec<Key>,
    /// When the last came.
    pub since: Millis,
    /// Whether the next may be the emergency stop.
    pub emergency: bool,
}

/// Whether a frame is wanted because of what the last messages changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Dirty {
    /// Nothing visible changed.
    #[default]
    No,
    /// Something arrived.
    Soon,
    /// The operator did something.
    Now,
}

/// What each daemon has screens of its own for: selections, scrolls, filters and answers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Screens {
    pub live: ListDetail<SessionId>,
    /// What the peek of Live shows of a transcript.
    pub transcript_end: Option<TranscriptEnd>,
    pub channels: ListDetail<String>,
    pub session: SessionView,
    /// Files of the turns that are read there.
    pub attached_files: AttachedFiles,
    /// Questions of the screen that is shown.
    pub in_flight: InFlightQueries,
    pub continuations: ContinuationsPanel,
    pub datasets: DatasetsPanel,
    pub servers: ServersPanel,
    pub stats: Box<StatsPanel>,
    pub rules: RulesPanel,
    pub cache_cost: CacheCostPanel,
    pub memory: MemoryPanel,
    pub audit: AuditPanel,
    pub doctor: DoctorPanel,
    pub resources: ResourcesPanel,
    pub shell: ShellPanel,
}

#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// What is known, with or without a screen.
    pub model: Model,
    /// Terminal size in cells.
    pub size: (u16, u16),
    /// Whether `$EDITOR` can be used.
    pub has_editor: bool,
    /// Names that `:theme` completes.
    pub theme_names: Vec<String>,
    /// Names that `:keymap` completes.
    pub keymap_names: Vec<String>,
    /// Lines of `:` that were run.
    pub commands: History,
    /// How often each action was used, while this console runs. Moving about does not count.
    pub uses: BTreeMap<Action, u32>,
    pub keymap: Keymap,
    pub screen: Screen,
    /// The one before.
    pub last_screen: Screen,
    /// The screens of the daemon that has the focus.
    pub screens: Screens,
    /// The screens of the others, as they were left.
    pub left_screens: BTreeMap<HostId, Screens>,
    /// The fleet board, which is of every daemon.
    pub fleet: FleetPanel,
    pub modals: Vec<Modal>,
    pub arming: Arming,
    /// First press of a high-risk decision.
    pub high: Option<HighConfirm>,
    /// Keys of a sequence.
    pub pending: Option<PendingKeys>,
    /// Notice at the bottom.
    pub toast: Option<Toast>,
    /// What it would say of a rule.
    pub rule_coach: RuleCoach,
    /// Locked by the operator.
    pub locked: bool,
    /// Whether the terminal has the keyboard.
    pub focused: bool,
    /// When the bell last rang.
    pub last_bell: Option<Millis>,
    /// Conversations that this console has taken over.
    pub holds: BTreeSet<TakeOverId>,
    /// Tests of channels whose end is not known yet.
    pub tests: Vec<OutboxId>,
    /// How the newest other replies ended. One of them can be a test that the daemon did not answer for yet.
    pub replies_ended: VecDeque<(OutboxId, Tone, String)>,
    /// Whether a frame is wanted.
    pub dirty: Dirty,
    /// The daemon that the operator wants to see, until it has the focus.
    pub wanted_host: Option<HostId>,
    /// The screen where a new session was asked for, until its answer comes.
    pub new_session_from: Option<Screen>,
    /// What came of the emergency stop that was sent to several daemons.
    pub stops: BTreeMap<HostId, StopResult>,
    /// Something came while nobody looked, and the bell has not rung for it yet.
    pub bell_pending: bool,
    /// The mouse selects and scrolls; else it is the terminal's.
    pub mouse: bool,
    /// Where the last frame drew what can be selected, while the mouse is ours.
    pub hit_regions: Vec<(Rect, HitRegion)>,
    /// What is played again.
    pub replay: Option<Box<Replay>>,
    /// What is to be played as soon as the connection stands; nothing else is then done here.
    pub wanted_replay: Option<Source>,
}

/// Least milliseconds between two bells: what comes in between is told together.
pub const BELL_MS: u64 = 10_000;

impl State {
    /// A console that has heard nothing yet.
    pub fn new(keymap: Keymap, hosting: Hosting, access: Access, place: String, now: Now) -> Self {
        Self {
            model: Model::new(hosting, access, place, now),
            size: (80, 24),
            has_editor: false,
            theme_names: Vec::new(),
            keymap_names: Vec::new(),
            commands: History::default(),
            uses: BTreeMap::new(),
            keymap,
            screen: Screen::Queue,
            last_screen: Screen::Queue,
            screens: Screens::default(),
            left_screens: BTreeMap::new(),
            fleet: FleetPanel::default(),
            modals: Vec::new(),
            arming: Arming::default(),
            high: None,
            pending: None,
            toast: None,
            rule_coach: RuleCoach::default(),
            locked: false,
            focused: true,
            last_bell: None,
            holds: BTreeSet::new(),
            tests: Vec::new(),
            replies_ended: VecDeque::new(),
            dirty: Dirty::Now,
            wanted_host: None,
            new_session_from: None,
            stops: BTreeMap::new(),
            bell_pending: false,
            mouse: false,
            hit_regions: Vec::new(),
            replay: None,
            wanted_replay: None,
        }
    }

    /// Counts a use, for help and the palette.
    pub fn count_use(&mut self, action: Action) {
        let counts = match action.class() {
            ActionClass::Ordinary => !action.only_moves(),
            ActionClass::Decision => true,
            ActionClass::Dialog | ActionClass::Text => false,
        };
        if counts {
            *self.uses.entry(action).or_default() += 1;
        }
    }

    pub fn touch(&mut self, dirty: Dirty) {
        self.dirty = self.dirty.max(dirty);
    }

    pub fn toast(&mut self, tone: Tone, text: impl Into<String>) {
        self.toast = Some(Toast {
            text: text.into(),
            tone,
            until: self.model.now.steady.plus(FLASH_MS),
            screen: self.screen,
        });
        self.touch(Dirty::Now);
    }

    /// Says why nothing is done.
    pub fn warn(&mut self, why: impl Into<String>) -> Vec<Effect> {
        self.toast(Tone::Warning, why);
        Vec::new()
    }

    /// Says something, and does nothing more.
    pub fn tell(&mut self, text: impl Into<String>) -> Vec<Effect> {
        self.toast(Tone::Info, text);
        Vec::new()
    }

    /// Says that nothing is selected for `action`.
    pub fn nothing(&mut self, action: Action) -> Vec<Effect> {
        self.warn(format!("{}: nothing is selected", action.short()))
    }

    /// Shows what the model has to tell.
    pub fn take_notices(&mut self) {
        for notice in std::mem::take(&mut self.model.notices) {
            self.toast(notice.tone, notice.text);
        }
    }

    /// A notice that is older than the last message goes with the screen it was about. One that came with the change of
    /// screen is about the new one.
    pub fn settle_flash(&mut self) {
        let fresh = self.model.now.steady.plus(FLASH_MS);
        match &mut self.toast {
            Some(toast) if toast.until >= fresh => toast.screen = self.screen,
            Some(toast) if toast.screen != self.screen => self.toast = None,
            Some(_) | None => {}
        }
    }

    pub fn context(&self) -> Context {
        let screen = if self.replay.is_some() {
            Context::Replay
        } else {
            self.screen.context()
        };
        self.modals.last().map_or(screen, Modal::context)
    }

    /// Whether the engine can be reached.
    pub fn is_live(&self) -> bool {
        self.model.is_live()
    }

    /// Whether the screen is too small for two panes.
    pub fn one_pane(&self) -> bool {
        self.size.0 < ONE_PANE.0 || self.size.1 < ONE_PANE.1
    }

    /// Whether most cards are cut off unless they fill the screen.
    pub fn cuts_cards(&self) -> bool {
        self.one_pane() || self.size.0 < WIDE_COLUMNS && self.size.1 < CARD_BELOW_ROWS
    }

    /// The keys of a sequence that has waited long enough for help: what can follow is shown.
    pub fn which_key(&self) -> Option<&PendingKeys> {
        let waited =
            |pending: &&PendingKeys| self.model.now.steady.since(pending.since) >= WHICH_KEY_MS;
        self.pending.as_ref().filter(waited)
    }

    /// The next time something changes by itself.
    pub fn next_deadline(&self) -> Option<Millis> {
        let Now { steady, wall } = self.model.now;
        let in_wall = |millis: u64| steady.plus(millis.max(1));
        let soon = |at: Millis| at.max(steady.plus(1));
        // The next moment at which so many milliseconds of the wall clock are full.
        let full = |millis: i64| {
            let passed = wall.as_millis().rem_euclid(millis);
            in_wall(u64::try_from(millis - passed).unwrap_or(0))
        };
        let is_near = |at: Timestamp| at > wall && at.millis_since(wall) <= 61_000;
        let pending = self.model.hosts.worlds().flat_map(World::pending);
        let world = self.model.world();
        let urgent = pending.filter_map(|one| one.expires_at).any(is_near)
            || (world.approvals.values()).any(|one| self.model.starts_in(one).is_some());
        let retries = self.screen == Screen::Live && !world.retries.is_empty();
        let live = self.is_live() || self.model.hosts.several();
        let seconds = (retries || urgent && self.screen == Screen::Queue) && live;
        let on_call = world.on_call_status.on_call.as_ref();
        let in_flight = &self.screens.in_flight;
        let log_shown = self.screen == Screen::Audit && self.screens.audit.log.shown;
        let polls = log_shown && self.is_live() && !in_flight.is_open(Screen::Audit);
        let asks = self.is_live() && self.screen.asks();
        let queue = self.screen == Screen::Queue;
        let pending_since = self.pending.as_ref().map(|pending| pending.since);
        [
            Some(full(60_000)),
            seconds.then(|| full(1000)),
            on_call
                .and_then(|one| one.until)
                .map(|until| in_wall(until.millis_since(wall))),
            self.replay
                .as_ref()
                .and_then(|replay| replay.next_change(steady)),
            self.toast.as_ref().map(|toast| toast.until),
            pending_since.map(|at| at.plus(SEQUENCE_MS)),
            pending_since
                .map(|at| at.plus(WHICH_KEY_MS))
                .filter(|at| *at > steady),
            in_flight.due(self.screen).filter(|_| asks).map(soon),
            in_flight
                .asked
                .filter(|_| polls)
                .map(|at| soon(at.plus(POLL_MS))),
            self.last_bell
                .filter(|_| self.bell_pending)
                .map(|at| soon(at.plus(BELL_MS))),
            self.model.queue.next_change(steady).filter(|_| queue),
            self.arming.next_change(steady).filter(|_| queue),
            self.high
                .as_ref()
                .map(|high| high.since.plus(CONFIRM_MS))
                .filter(|at| *at > steady),
        ]
        .into_iter()
        .flatten()
        .min()
    }
}
