//! The terminal while the console has it. The only place that touches raw mode.
//!
//! Whatever way the console is left (return, error, panic, signal), the terminal is as it was before.

use std::io::{self, BufWriter, Stdout, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once};

use crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, EnableBracketedPaste, EnableFocusChange,
};
use crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, execute, queue};
use ratatui::Terminal;
use ratatui::backend::Backend;
use ratatui::layout::Size;

use crate::text::untrusted::reveal_line;
use crate::tui::links::LinkTable;
use crate::tui::pictures::asking;
use crate::tui::pictures::cell_size::CellSize;
use crate::tui::scrolling::ScrollingBackend;

/// What the loop needs of a terminal beyond drawing cells.
pub trait ConsoleTerminal {
    /// Draws to this.
    type Backend: Backend;

    /// The terminal to draw with.
    fn terminal(&mut self) -> &mut Terminal<Self::Backend>;

    /// Before a frame's bytes.
    fn begin_frame(&mut self) -> io::Result<()>;

    /// After a frame's bytes.
    fn end_frame(&mut self) -> io::Result<()>;

    /// Writes a control sequence of ours (clipboard, bell).
    fn control(&mut self, sequence: &str) -> io::Result<()>;

    /// Where the numbers of linked cells are said; none = this terminal has no links.
    fn links(&self) -> Option<LinkTable> {
        None
    }

    /// The size of a cell in pixels now, as the line knows it.
    fn cell_size(&self) -> Option<CellSize> {
        None
    }

    /// Gives the terminal back to the shell for a while.
    fn release(&mut self) -> io::Result<()>;

    /// Takes it again.
    fn acquire(&mut self) -> io::Result<()>;
}

/// Empties the screen, so that the next frame draws every cell of the size it has now.
///
/// Not `Terminal::clear`: that asks the terminal where its cursor is, waits up to two seconds for an
/// answer, and takes the answer away from whoever reads keys.
pub fn clear<B: Backend>(terminal: &mut Terminal<B>) -> Result<(), B::Error> {
    let size = terminal.size()?;
    terminal.resize(size.into())
}

/// Whether the terminal is ours now; what the panic hook looks at.
static HELD: AtomicBool = AtomicBool::new(false);
static HOOK: Once = Once::new();
/// Whether the mouse is ours while the terminal is.
static MOUSE: AtomicBool = AtomicBool::new(false);

/// Presses and the wheel, at any column. Not motion: nobody asks where the pointer is.
const MOUSE_ON: &str = "\x1b[?1000h\x1b[?1006h";
const MOUSE_OFF: &str = "\x1b[?1006l\x1b[?1000l";

/// Takes the mouse, or gives it back; remembered, so that it goes and comes with the terminal.
pub fn mouse_sequence(on: bool) -> &'static str {
    MOUSE.store(on, Ordering::SeqCst);
    if on { MOUSE_ON } else { MOUSE_OFF }
}

/// Whether the title is ours while the terminal is.
static TITLED: AtomicBool = AtomicBool::new(false);

/// The terminal keeps its title on a stack (xterm's window operations 22 and 23).
const TITLE_PUSH: &str = "\x1b[22;2t";
const TITLE_POP: &str = "\x1b[23;2t";

/// Sets the title, without a byte that rings; remembered, so that the terminal gets its own one back.
pub fn title_sequence(title: &str) -> String {
    let push = if TITLED.swap(true, Ordering::SeqCst) {
        ""
    } else {
        TITLE_PUSH
    };
    format!("{push}\x1b]2;{}\x1b\\", reveal_line(title))
}

/// What deletes the pictures that the terminal holds.
static FAREWELL: Mutex<String> = Mutex::new(String::new());

/// Remembers what deletes the pictures that the terminal holds, for whatever way the console is left.
pub fn set_farewell(sequences: String) {
    if let Ok(mut farewell) = FAREWELL.lock() {
        *farewell = sequences;
    }
}

/// Undoes everything `enter` did. Safe to call more than once, and from a panic hook.
pub fn restore() {
    if !HELD.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = io::stdout();
    if MOUSE.load(Ordering::SeqCst) {
        let _ = out.write_all(MOUSE_OFF.as_bytes());
    }
    if TITLED.swap(false, Ordering::SeqCst) {
        let _ = out.write_all(TITLE_POP.as_bytes());
    }
    // A panic may have come while it was written.
    if let Ok(mut farewell) = FAREWELL.try_lock() {
        let _ = out.write_all(std::mem::take(&mut *farewell).as_bytes());
    }
    // Each step is tried even when one before it failed: a terminal half restored is worse.
    let _ = execute!(
        out,
        EndSynchronizedUpdate,
        DisableFocusChange,
        DisableBracketedPaste,
        LeaveAlternateScreen,
        cursor::Show
    );
    let _ = disable_raw_mode();
    let _ = out.flush();
}

fn enter() -> io::Result<()> {
    HOOK.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            restore();
            previous(info);
        }));
    });
    enable_raw_mode()?;
    HELD.store(true, Ordering::SeqCst);
    execute!(
        io::stdout(),
        EnterAlternateScreen,
        EnableBracketedPaste,
        EnableFocusChange,
        cursor::Hide
    )?;
    if MOUSE.load(Ordering::SeqCst) {
        io::stdout().write_all(MOUSE_ON.as_bytes())?;
    }
    Ok(())
}

/// The real terminal. Restored when dropped.
pub struct TerminalGuard {
    terminal: Terminal<ScrollingBackend<BufWriter<Stdout>>>,
}

impl TerminalGuard {
    /// Takes the terminal.
    pub fn enter() -> io::Result<Self> {
        let entered = enter().and_then(|()| {
            let (columns, rows) = crossterm::terminal::size()?;
            Terminal::new(ScrollingBackend::new(
                BufWriter::with_capacity(16 * 1024, io::stdout()),
                Size::new(columns, rows),
            ))
        });
        match entered {
            Ok(terminal) => Ok(Self { terminal }),
            Err(error) => {
                restore();
                Err(error)
            }
        }
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        restore();
    }
}

impl ConsoleTerminal for TerminalGuard {
    type Backend = ScrollingBackend<BufWriter<Stdout>>;

    fn terminal(&mut self) -> &mut Terminal<Self::Backend> {
        &mut self.terminal
    }

    fn begin_frame(&mut self) -> io::Result<()> {
        // A panic of some other task gave the terminal back, and the process lived on: take it again.
        if !HELD.load(Ordering::SeqCst) {
            self.acquire()?;
        }
        queue!(self.terminal.backend_mut(), BeginSynchronizedUpdate)
    }

    fn end_frame(&mut self) -> io::Result<()> {
        queue!(self.terminal.backend_mut(), EndSynchronizedUpdate)?;
        io::Write::flush(self.terminal.backend_mut())
    }

    fn control(&mut self, sequence: &str) -> io::Result<()> {
        let backend = self.terminal.backend_mut();
        io::Write::write_all(backend, sequence.as_bytes())?;
        io::Write::flush(backend)
    }

    fn links(&self) -> Option<LinkTable> {
        Some(self.terminal.backend().links())
    }

    fn cell_size(&self) -> Option<CellSize> {
        asking::window_cell()
    }

    fn release(&mut self) -> io::Result<()> {
        io::Write::flush(self.terminal.backend_mut())?;
        restore();
        Ok(())
    }

    fn acquire(&mut self) -> io::Result<()> {
        enter()?;
        clear(&mut self.terminal)
    }
}

/// Longest text that is put on the clipboard; terminals drop or cut longer ones.
pub const CLIPBOARD_MAX: usize = 74_994;

/// The OSC 52 sequence that puts `text` on the clipboard. Base64 as in RFC 4648 § 4.
pub fn clipboard_sequence(text: &str) -> String {
    format!("\x1b]52;c;{}\x07", base64(text.as_bytes()))
}

fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4usize {
            if digit <= chunk.len() {
                let index = (word >> (18 - 6 * digit) & 63) as usize;
                out.push(ALPHABET.get(index).map_or('=', |c| char::from(*c)));
            } else {
                out.push('=');
            }
        }
    }
    out
}
