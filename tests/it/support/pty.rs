//! A program in a pseudo terminal: keys go in, the parsed screen and every raw byte come out.
//!
//! Every wait has a deadline; a program that is dropped is killed. Nothing here sleeps except to poll.

use std::fs::File;
use std::io::{Read as _, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{Termios, tcgetattr};

use crate::support::daemon::DEADLINE;

/// How often a condition is looked at.
const POLL: Duration = Duration::from_millis(10);
/// Written to the terminal by the harness itself once the program ended: all that came before is the program's.
const END: &[u8] = b"\x1b]7777;end\x07";

/// What the terminal has received.
struct Received {
    parser: vt100::Parser,
    raw: Vec<u8>,
}

/// A program in a terminal.
pub struct Pty {
    master: Box<dyn MasterPty + Send>,
    keys: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    // Kept open, so that the line's settings can be read after the program ended.
    line: File,
    received: Arc<Mutex<Received>>,
    held: Arc<AtomicBool>,
    before: Termios,
}

/// What a terminal is like when the shell has it.
#[derive(Debug, PartialEq, Eq)]
pub struct Manners {
    /// The alternate screen is shown.
    pub alternate: bool,
    /// The cursor is hidden.
    pub cursor_hidden: bool,
    /// Pastes are bracketed.
    pub bracketed_paste: bool,
    /// Focus changes are reported.
    pub focus_reports: bool,
    /// A synchronized update is open, which freezes the screen of terminals that know it.
    pub update_open: bool,
    /// The line's settings differ from those before the program started.
    pub line_changed: bool,
}

impl Manners {
    /// As a shell wants it.
    pub const SHELL: Self = Self {
        alternate: false,
        cursor_hidden: false,
        bracketed_paste: false,
        focus_reports: false,
        update_open: false,
        line_changed: false,
    };
    /// As the console takes it.
    pub const CONSOLE: Self = Self {
        alternate: true,
        cursor_hidden: true,
        bracketed_paste: true,
        focus_reports: true,
        update_open: false,
        line_changed: true,
    };
}

impl Pty {
    /// Starts a program in a terminal of this size. Only the command's own environment reaches it.
    pub fn start(command: &Command, columns: u16, rows: u16) -> Self {
        let pair = native_pty_system()
            .openpty(size(columns, rows))
            .expect("a pseudo terminal");
        let name = pair.master.tty_name().expect("the terminal has a name");
        let line = std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(rustix::fs::OFlags::NOCTTY.bits().cast_signed())
            .open(name)
            .expect("the terminal's line");
        let before = tcgetattr(&line).expect("the line's settings");
        let mut builder = CommandBuilder::new(command.get_program());
        builder.args(command.get_args());
        builder.env_clear();
        for (name, value) in command.get_envs() {
            if let Some(value) = value {
                builder.env(name, value);
            }
        }
        builder.cwd(
            command
                .get_current_dir()
                .map_or("/", |dir| dir.to_str().expect("a UTF-8 directory")),
        );
        let child = pair.slave.spawn_command(builder).expect("it starts");
        drop(pair.slave);
        let received = Arc::new(Mutex::new(Received {
            parser: vt100::Parser::new(whole(rows), whole(columns), 0),
            raw: Vec::new(),
        }));
        let mut reader = pair.master.try_clone_reader().expect("a reader");
        let filled = Arc::clone(&received);
        let held = Arc::new(AtomicBool::new(false));
        let holds = Arc::clone(&held);
        std::thread::spawn(move || {
            let mut buffer = [0_u8; 16 * 1024];
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                while holds.load(Ordering::SeqCst) {
                    std::thread::sleep(POLL);
                }
                let mut received = lock(&filled);
                received.raw.extend_from_slice(&buffer[..count]);
                received.parser.process(&buffer[..count]);
            }
        });
        let keys = pair.master.take_writer().expect("a writer");
        Self {
            master: pair.master,
            keys,
            child,
            line,
            received,
            held,
            before,
        }
    }

    /// Types these bytes.
    pub fn send(&mut self, keys: &str) {
        self.keys
            .write_all(keys.as_bytes())
            .and_then(|()| self.keys.flush())
            .expect("the terminal takes keys");
    }

    /// Takes nothing from the program any more, or goes on: what it writes piles up in the line.
    pub fn hold(&self, held: bool) {
        self.held.store(held, Ordering::SeqCst);
    }

    /// The screen's text, one line per row, without trailing blanks.
    pub fn screen(&self) -> String {
        let received = lock(&self.received);
        let screen = received.parser.screen();
        let (_, columns) = screen.size();
        let rows: Vec<String> = screen
            .rows(0, columns.get())
            .map(|row| row.trim_end().to_owned())
            .collect();
        rows.join("\n")
    }

    /// Every byte written so far.
    pub fn raw(&self) -> Vec<u8> {
        lock(&self.received).raw.clone()
    }

    /// Whether these bytes were written.
    pub fn wrote(&self, bytes: &[u8]) -> bool {
        find(&lock(&self.received).raw, bytes)
    }

    /// Waits until the screen satisfies a condition; the screen.
    pub fn wait(&self, what: &str, condition: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let screen = self.screen();
            if condition(&screen) {
                return screen;
            }
            assert!(Instant::now() < deadline, "never seen: {what}\n{screen}");
            std::thread::sleep(POLL);
        }
    }

    /// Waits for a text on the screen.
    pub fn see(&self, text: &str) -> String {
        self.wait(text, |screen| screen.contains(text))
    }

    /// Waits until a text is no longer on the screen.
    pub fn gone(&self, text: &str) -> String {
        self.wait(&format!("no more {text}"), |screen| !screen.contains(text))
    }

    /// Presses a key, waits a while for a text, and presses again until it comes.
    pub fn press_until(&mut self, key: &str, text: &str) -> String {
        let deadline = Instant::now() + DEADLINE;
        loop {
            self.send(key);
            let patience = Instant::now() + Duration::from_secs(1);
            while Instant::now() < patience {
                let screen = self.screen();
                if screen.contains(text) {
                    return screen;
                }
                std::thread::sleep(POLL);
            }
            let screen = self.screen();
            assert!(
                Instant::now() < deadline,
                "{key:?} never led to: {text}\n{screen}"
            );
        }
    }

    /// Gives the terminal another size.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        // The parser first: what the program draws for the new size must not meet the old one.
        lock(&self.received)
            .parser
            .screen_mut()
            .set_size(whole(rows), whole(columns));
        self.master.resize(size(columns, rows)).expect("a new size");
    }

    /// The same on a line that knows the pixels of the window.
    pub fn resize_with_pixels(&mut self, columns: u16, rows: u16, pixels: (u16, u16)) {
        lock(&self.received)
            .parser
            .screen_mut()
            .set_size(whole(rows), whole(columns));
        let size = PtySize {
            pixel_width: pixels.0,
            pixel_height: pixels.1,
            ..size(columns, rows)
        };
        self.master.resize(size).expect("a new size");
    }

    /// The terminal's modes now.
    pub fn manners(&self) -> Manners {
        let now = tcgetattr(&self.line).expect("the line's settings");
        let received = lock(&self.received);
        let screen = received.parser.screen();
        Manners {
            alternate: screen.alternate_screen(),
            cursor_hidden: screen.hide_cursor(),
            bracketed_paste: screen.bracketed_paste(),
            focus_reports: is_on(&received.raw, b"\x1b[?1004"),
            update_open: is_on(&received.raw, b"\x1b[?2026"),
            line_changed: settings(&now) != settings(&self.before),
        }
    }

    /// Waits until the terminal's modes are these.
    pub fn wait_manners(&self, wanted: &Manners) {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let manners = self.manners();
            if manners == *wanted {
                return;
            }
            assert!(
                Instant::now() < deadline,
                "never so: {wanted:?}, but {manners:?}\n{}",
                self.screen()
            );
            std::thread::sleep(POLL);
        }
    }

    /// The program's process id.
    pub fn pid(&self) -> Pid {
        let raw = self.child.process_id().expect("a process id");
        Pid::from_raw(raw.cast_signed()).expect("a process id")
    }

    /// Sends a signal to the program.
    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("the signal is sent");
    }

    /// Whether it still runs.
    pub fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits until it ended and all it wrote was read; its exit status, none when a signal ended it.
    pub fn wait_exit(&mut self) -> Option<u32> {
        let deadline = Instant::now() + DEADLINE;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                break status;
            }
            assert!(
                Instant::now() < deadline,
                "it does not end\n{}",
                self.screen()
            );
            std::thread::sleep(POLL);
        };
        self.line.write_all(END).expect("the line takes the mark");
        while !self.wrote(END) {
            assert!(Instant::now() < deadline, "the mark never arrived");
            std::thread::sleep(POLL);
        }
        status.signal().is_none().then(|| status.exit_code())
    }

    /// kill -9, and waits until it is gone.
    pub fn kill(&mut self) {
        if self.runs() {
            self.signal(Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Whether `haystack` contains `needle`.
pub fn find(haystack: &[u8], needle: &[u8]) -> bool {
    haystack
        .windows(needle.len())
        .any(|window| window == needle)
}

/// Whether a private mode was last set rather than reset.
fn is_on(raw: &[u8], mode: &[u8]) -> bool {
    raw.windows(mode.len() + 1)
        .rev()
        .find_map(|window| match window.split_last() {
            Some((b'h', rest)) if rest == mode => Some(true),
            Some((b'l', rest)) if rest == mode => Some(false),
            Some(_) | None => None,
        })
        .unwrap_or(false)
}

fn settings(termios: &Termios) -> [u32; 4] {
    [
        termios.input_modes.bits(),
        termios.output_modes.bits(),
        termios.control_modes.bits(),
        termios.local_modes.bits(),
    ]
}

fn whole(count: u16) -> std::num::NonZeroU16 {
    std::num::NonZeroU16::new(count).expect("a terminal has at least one row and column")
}

fn size(columns: u16, rows: u16) -> PtySize {
    PtySize {
        rows,
        cols: columns,
        pixel_width: 0,
        pixel_height: 0,
    }
}

fn lock(received: &Mutex<Received>) -> MutexGuard<'_, Received> {
    received
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
