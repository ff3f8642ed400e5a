//! Somebody who types lines and reads what is printed.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::console_pty::door::command;
use crate::support::daemon::{DEADLINE, Home};
use crate::support::pty::Pty;

/// What stands in front of a line.
pub const PROMPT: &str = "need you] > ";

/// A console in lines, and how much of it was read.
pub struct Typist {
    /// Its terminal.
    pub pty: Pty,
    read: usize,
}

impl Typist {
    /// The console of this home, in lines, at its first prompt.
    pub fn at(home: &Home) -> Self {
        let mut program = command(home);
        program.arg("--plain");
        let mut typist = Self::of(&program);
        typist.hear(PROMPT);
        typist
    }

    /// This program.
    pub fn of(program: &Command) -> Self {
        Self {
            pty: Pty::start(program, 200, 50),
            read: 0,
        }
    }

    /// Everything that was printed.
    pub fn all(&self) -> String {
        let all = String::from_utf8(self.pty.raw()).expect("lines of UTF-8");
        // What the harness writes behind the program's last word is not the program's.
        let (all, _) = all.split_once("\x1b]7777;").unwrap_or((&all, ""));
        all.replace('\r', "")
    }

    /// What was printed and not read yet.
    pub fn unread(&self) -> String {
        let all = self.pty.raw();
        String::from_utf8_lossy(&all[self.read..]).replace('\r', "")
    }

    /// Reads on until this is printed; what was read.
    pub fn hear(&mut self, text: &str) -> String {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let raw = self.pty.raw();
            let new = &raw[self.read..];
            let found = new
                .windows(text.len())
                .position(|window| window == text.as_bytes());
            if let Some(at) = found {
                let end = at + text.len();
                self.read += end;
                return String::from_utf8_lossy(&new[..end]).replace('\r', "");
            }
            assert!(
                Instant::now() < deadline,
                "never printed: {text}\n{}",
                self.all()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Reads on until this is announced, and the prompt behind it; what was read.
    pub fn news(&mut self, text: &str) -> String {
        let before = self.hear(text);
        before + &self.hear(PROMPT)
    }

    /// Types a line.
    pub fn say(&mut self, line: &str) {
        self.pty.send(line);
        self.pty.send("\r");
    }

    /// Types a line and reads up to the next prompt.
    pub fn enter(&mut self, line: &str) -> String {
        self.say(line);
        self.hear(PROMPT)
    }

    /// Waits until nothing was printed for longer than any arming of the console lasts: what is there was read.
    pub fn look(&self) {
        const LOOKED: Duration = Duration::from_millis(900);
        let deadline = Instant::now() + DEADLINE;
        let (mut length, mut since) = (self.pty.raw().len(), Instant::now());
        while since.elapsed() < LOOKED {
            let now = self.pty.raw().len();
            if now != length {
                (length, since) = (now, Instant::now());
            }
            assert!(Instant::now() < deadline, "it never stops printing");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until it says nothing more, and reads all of that.
    pub fn skip(&mut self) {
        self.look();
        self.read = self.pty.raw().len();
    }

    /// Leaves, and looks at how.
    pub fn quit(mut self) -> String {
        self.say("quit");
        assert_eq!(self.pty.wait_exit(), Some(0), "{}", self.all());
        self.all()
    }
}
