//! What can wake the console, and what the reducer wants done about it. Both are plain data; the
//! reducer itself does no I/O and reads no clock.

use crossterm::event::KeyEvent;
use ratatui::layout::Rect;

use std::path::PathBuf;

use crate::client::export::ExportFormat;
use crate::console::arming::{CardReport, DialogReport};
use crate::console::ids::HostId;
use crate::console::item::QueueKey;
use crate::console::message::DaemonMessage;
use crate::protocol::artifact::NewAttachment;
use crate::protocol::dataset::Dataset;
use crate::protocol::ids::{ContinuationId, DatasetId, SessionId};
use crate::protocol::request::{Command, Query};
use crate::tui::state::fleet::FleetKey;
use crate::tui::state::screen::Screen;
use crate::tui::state::session_view::SessionReport;
use crate::tui::state::{doctor, memory, rules};

/// Everything that can happen to the console.
#[derive(Debug, Clone)]
pub enum Message {
    Key(KeyEvent),
    /// Pasted text, as one piece.
    Paste(String),
    /// The terminal has the keyboard again.
    FocusGained,
    /// The terminal lost the keyboard.
    FocusLost,
    /// A new size in cells.
    Resize(u16, u16),
    Daemon(HostId, DaemonMessage),
    /// The external editor ended: its text, or why there is none.
    Edited(Result<String, String>),
    /// A deadline of the state passed.
    Tick,
    /// A frame was drawn; this is what it showed.
    Drawn(FrameReport),
    /// The process was asked to end.
    Terminate,
    /// The mouse, while it is ours.
    Mouse(Mouse),
    /// A session or a file of it was written here, or not: in words.
    Exported(Result<String, String>),
    /// A file of this machine was read for a message to a session, or not: in words.
    FileRead(SessionId, Result<NewAttachment, String>),
    /// A file of this machine became a dataset, or not: in words.
    DatasetUploaded(Result<Dataset, String>),
}

impl Effect {
    pub fn ask(query: impl Into<Query>) -> Self {
        Self::Query(query.into())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MouseKind {
    /// The first button was pressed.
    Click,
    /// The wheel was turned towards the end.
    WheelDown,
    /// The wheel was turned towards the beginning.
    WheelUp,
}

/// Something done with the mouse, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mouse {
    pub kind: MouseKind,
    /// Column, from 0.
    pub column: u16,
    /// Row, from 0.
    pub row: u16,
}

/// What can be selected where it was drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HitRegion {
    Item(QueueKey),
    Session(SessionId),
    Channel(String),
    Turn(ContinuationId),
    Rule(rules::Key),
    Memory(memory::Key),
    AuditRow(u64),
    LogLine(u64),
    DoctorRow(doctor::Key),
    Resource(String),
    Dataset(DatasetId),
    Server(String),
    StatsGroup(String),
    /// A channel of the fleet board.
    FleetChannel(FleetKey),
    /// The card beside a list.
    Card,
    Screen(Screen),
}

/// How the console was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuitKind {
    /// The console ends; an engine in this process is to be stopped in order.
    Stop,
    /// The console ends; the engine in this process is to go on in the background.
    Detach,
    /// The process was told to end by a signal.
    Terminated,
}

/// What the reducer wants done. What a daemon is to do goes to the one it stands beside.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    Submit(Command),
    /// Submit a command to every daemon.
    SubmitToAll(Command),
    Query(Query),
    /// Follow the deltas of these sessions.
    SetDeltas(Vec<SessionId>),
    /// Put text on the clipboard (OSC 52).
    Copy(String),
    /// Edit text in the configured editor.
    OpenEditor(String),
    LoadTheme(String),
    Reconnect,
    Quit(QuitKind),
    Suspend,
    Redraw,
    Bell,
    LoadKeymap(String),
    /// Tell who looks elsewhere how many questions wait.
    Notify(usize),
    /// Take the mouse, or give it back to the terminal.
    Mouse(bool),
    /// Write a whole session to a new file in the current directory.
    Export(SessionId, ExportFormat),
    /// Read a file that goes with the next message to a session.
    ReadFile(SessionId, PathBuf),
    /// Write the file of this name of a session into the current directory.
    SaveFile(SessionId, String),
    /// Make a dataset of a file of this machine.
    UploadDataset {
        channel: String,
        file: PathBuf,
        /// Its name; none = the one of the file.
        name: Option<String>,
    },
}

/// What a frame that was really drawn showed, where the reducer must know.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FrameReport {
    pub card: Option<CardReport>,
    pub session: Option<SessionReport>,
    /// How far the card can be scrolled.
    pub card_max_scroll: usize,
    /// How far the files of a step of a replay can be scrolled.
    pub files_max_scroll: usize,
    /// How far what a screen shows in full can be scrolled; none = nothing is.
    pub panel_max_scroll: Option<usize>,
    /// Whether anybody wants to know where things are.
    pub wants_hit_regions: bool,
    /// Where things are that can be selected; what is drawn later lies above.
    pub hit_regions: Vec<(Rect, HitRegion)>,
    /// The dialog on top, where it decides something.
    pub dialog: Option<DialogReport>,
}

impl FrameReport {
    /// Notes where something was drawn.
    pub fn region(&mut self, area: Rect, region: impl FnOnce() -> HitRegion) {
        if self.wants_hit_regions && !area.is_empty() {
            self.hit_regions.push((area, region()));
        }
    }
}
