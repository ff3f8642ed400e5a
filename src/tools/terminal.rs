//! A pseudo-terminal: a program has one end of it, and this is the other.
//!
//! Nothing that is typed here comes back as output, and nothing here becomes the terminal of this process.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::process::Pid;
use rustix::pty::OpenptFlags;
use rustix::termios::{LocalModes, OptionalActions, OutputModes, Termios, Winsize};
use tokio::io::unix::AsyncFd;

/// Size that programs see, in characters.
const ROWS: u16 = 50;
const COLUMNS: u16 = 120;

/// The end of whoever types and reads.
pub struct Terminal {
    end: AsyncFd<OwnedFd>,
    /// How it was set up; programs change that.
    modes: Termios,
}

impl Terminal {
    /// A new terminal, and the end of it for a program.
    pub fn open() -> io::Result<(Self, OwnedFd)> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
        #[cfg(target_os = "linux")]
        let flags = flags | OpenptFlags::CLOEXEC;
        let end = rustix::pty::openpt(flags)?;
        rustix::io::fcntl_setfd(&end, rustix::io::FdFlags::CLOEXEC)?;
        rustix::pty::grantpt(&end)?;
        rustix::pty::unlockpt(&end)?;
        let name = rustix::pty::ptsname(&end, Vec::new())?;
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let other = rustix::fs::open(name, flags, Mode::empty())?;
        let mut modes = rustix::termios::tcgetattr(&other)?;
        modes.local_modes.remove(LocalModes::ECHO);
        modes.output_modes.remove(OutputModes::OPOST);
        rustix::termios::tcsetattr(&other, OptionalActions::Now, &modes)?;
        let size = Winsize {
            ws_row: ROWS,
            ws_col: COLUMNS,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        rustix::termios::tcsetwinsize(&end, size)?;
        let status = rustix::fs::fcntl_getfl(&end)?;
        rustix::fs::fcntl_setfl(&end, status | OFlags::NONBLOCK)?;
        #[expect(
            deprecated,
            reason = "its replacement is unsafe, which this crate forbids; an owned descriptor stays what it is"
        )]
        let end = AsyncFd::new(end)?;
        Ok((Self { end, modes }, other))
    }

    /// What was written there; 0 = nobody has the other end any more.
    pub async fn read(&self, buffer: &mut [u8]) -> usize {
        loop {
            let Ok(mut ready) = self.end.readable().await else {
                return 0;
            };
            let read = ready.try_io(|end| Ok(rustix::io::read(end, &mut *buffer)?));
            match read {
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                // Linux says so with an error.
                Ok(count) => return count.unwrap_or(0),
                Err(_) => {}
            }
        }
    }

    /// Types a text, as far as there is room for it. How programs left the terminal is put right before.
    pub async fn type_in(&self, mut text: &[u8]) -> io::Result<()> {
        rustix::termios::tcsetattr(self.end.as_fd(), OptionalActions::Now, &self.modes)?;
        while !text.is_empty() {
            let mut ready = self.end.writable().await?;
            match ready.try_io(|end| Ok(rustix::io::write(end, text)?)) {
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(count) => text = text.get(count?..).unwrap_or_default(),
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// The group of processes that has the terminal, and the leader of its session; none = no session has it.
    pub fn groups(&self) -> Option<(Pid, Pid)> {
        let foreground = rustix::termios::tcgetpgrp(&self.end).ok()?;
        let leader = rustix::termios::tcgetsid(&self.end).ok()?;
        Some((foreground, leader))
    }
}
