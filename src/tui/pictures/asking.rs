//! Asks the terminal, once, before the first frame.

use std::fs::File;
use std::io::{self, IsTerminal as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crossterm::event::{Event as InputEvent, EventStream};
use futures_util::{Stream, StreamExt as _, future, stream};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::config::settings::PictureDisplay;
use crate::tui::pictures::answers::{Answers, LateAnswer, question};
use crate::tui::pictures::cell_size::CellSize;
use crate::tui::pictures::graphics::{Graphics, Hints, TmuxClient, choose};

/// How long a terminal has to answer. Terminals answer at once; lines over the world take about this long.
const PATIENCE: Duration = Duration::from_millis(250);
/// How long an answer is expected after that.
const LATEST: Duration = Duration::from_secs(5);
/// How long such an answer takes to come in.
const LONGEST: Duration = Duration::from_millis(500);
/// Most bytes that are read meanwhile.
const MOST: usize = 16 * 1024;

/// What is asked, and of what terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// What the operator wants.
    pub display: PictureDisplay,
    /// What the environment says.
    pub hints: Hints,
}

#[derive(Debug, Default)]
pub struct Reply {
    pub graphics: Graphics,
    pub typed: Vec<InputEvent>,
    /// Whether an answer may still come.
    pub open: bool,
}

/// Asks the terminal, which is ours and in raw mode.
pub async fn ask(question: &Question) -> Reply {
    let tmux = question.hints.tmux;
    let multiplexed = tmux || question.hints.nested;
    let answers = tokio::task::spawn_blocking(move || exchange(multiplexed));
    let client = async {
        if tmux {
            tokio::time::timeout(PATIENCE, ask_tmux())
                .await
                .ok()
                .flatten()
        } else {
            None
        }
    };
    let (bytes, client) = tokio::join!(answers, client);
    let bytes = bytes.map_err(io::Error::other).flatten();
    let bytes = bytes.unwrap_or_else(|error| {
        tracing::debug!(%error, "the terminal could not be asked about pictures");
        Vec::new()
    });
    let (mut answers, typed) = Answers::of(&bytes);
    let open = !answers.complete;
    if answers.cell.is_none()
        && let (Some(pixels), Ok(cells)) = (answers.window, crossterm::terminal::size())
    {
        answers.cell = CellSize::in_window(pixels, cells);
    }
    let (display, hints) = (question.display, &question.hints);
    let graphics = choose(display, hints, &answers, client.as_ref(), window_cell());
    tracing::debug!(?answers, ?client, ?graphics, "how pictures are drawn");
    Reply {
        graphics,
        typed,
        open,
    }
}

/// The size of a cell as the line knows it.
pub fn window_cell() -> Option<CellSize> {
    let size = crossterm::terminal::window_size().ok()?;
    let pixels = (u32::from(size.width), u32::from(size.height));
    CellSize::in_window(pixels, (size.columns, size.rows))
}

/// The events of the terminal from now on, without an answer that comes late.
pub fn input(reply: &mut Reply) -> impl Stream<Item = io::Result<InputEvent>> + Send + use<> {
    let typed = std::mem::take(&mut reply.typed);
    let is_open = std::mem::take(&mut reply.open);
    let begin = Instant::now();
    let mut late = LateAnswer::default();
    let mut opened: Option<Instant> = None;
    let events = EventStream::new().filter(move |event| {
        let Ok(event) = event else {
            return future::ready(true);
        };
        if !is_open || begin.elapsed() > LATEST {
            return future::ready(true);
        }
        if opened.is_some_and(|at| at.elapsed() > LONGEST) {
            late = LateAnswer::default();
        }
        let typed = late.is_typed(event);
        opened = (!typed).then(|| opened.unwrap_or_else(Instant::now));
        future::ready(typed)
    });
    stream::iter(typed.into_iter().map(Ok)).chain(events)
}

/// Writes the question, and reads until the last answer is there or nobody waits any more.
fn exchange(multiplexed: bool) -> io::Result<Vec<u8>> {
    let mut out = io::stdout();
    out.write_all(question(multiplexed).as_bytes())?;
    out.flush()?;
    let stdin = io::stdin();
    if stdin.is_terminal() {
        read_answers(stdin.as_fd())
    } else {
        read_answers(File::open("/dev/tty")?.as_fd())
    }
}

fn read_answers(terminal: BorrowedFd<'_>) -> io::Result<Vec<u8>> {
    let until = Instant::now() + PATIENCE;
    let mut bytes = Vec::new();
    let mut buffer = [0_u8; 1024];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        let mut ready = [PollFd::new(&terminal, PollFlags::IN)];
        match poll(&mut ready, Some(&left)) {
            Ok(0) => return Ok(bytes),
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        let count = rustix::io::read(terminal, &mut buffer)?;
        bytes.extend_from_slice(buffer.get(..count).unwrap_or_default());
        if count == 0 || bytes.len() > MOST || Answers::of(&bytes).0.complete {
            return Ok(bytes);
        }
    }
}

/// Asks tmux about itself and the terminal around it. tmux knows from the environment which pane asks.
async fn ask_tmux() -> Option<TmuxClient> {
    let output = tokio::process::Command::new("tmux")
        .args(["display-message", "-p", TmuxClient::FORMAT])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .ok()?;
    let line = String::from_utf8_lossy(&output.stdout);
    output.status.success().then(|| TmuxClient::of(&line))
}
