//! A program in a terminal of 120 by 40, and what it writes: every byte, with nothing answered.

use std::fmt;
use std::io::{Read as _, Write};
use std::num::NonZeroU16;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

/// Ends a frame (synchronized output).
const FRAME: &[u8] = b"\x1b[?2026l";
/// Empties the whole screen.
const ERASE: &[u8] = b"\x1b[2J";
/// Longest wait for something on screen.
const DEADLINE: Duration = Duration::from_secs(30);

/// The terminal and the program in it; killed at the end.
pub struct Pane {
    child: Box<dyn Child + Send + Sync>,
    keys: Box<dyn Write + Send>,
    written: Arc<Mutex<Vec<u8>>>,
    screen: Arc<Mutex<vt100::Parser>>,
    began: Instant,
    _master: Box<dyn MasterPty + Send>,
}

/// What was written and used in a while.
pub struct Window {
    time: Duration,
    bytes: usize,
    frames: usize,
    erased: usize,
    /// Share of one core.
    pub cpu: f64,
    wakes: u64,
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.time.as_secs_f64();
        write!(
            f,
            "{:.0} B/s, {:.1} frames/s, {} B a frame, {} erased, CPU {:.2} %, {:.2} wake-ups/s",
            self.bytes as f64 / seconds,
            self.frames as f64 / seconds,
            self.bytes / self.frames.max(1),
            self.erased,
            self.cpu * 100.0,
            self.wakes as f64 / seconds
        )
    }
}

fn count(bytes: &[u8], what: &[u8]) -> usize {
    bytes.windows(what.len()).filter(|at| *at == what).count()
}

impl Pane {
    pub fn start(program: &Path, arguments: &[&str]) -> Pane {
        let size = PtySize {
            rows: 40,
            cols: 120,
            pixel_width: 0,
            pixel_height: 0,
        };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(program);
        command.args(arguments);
        command.env_clear();
        command.env("PATH", "/usr/bin:/bin");
        command.env("HOME", "/nonexistent");
        command.env("TERM", "xterm-256color");
        command.env("COLORTERM", "truecolor");
        command.env("LANG", "C.UTF-8");
        command.cwd("/");
        let began = Instant::now();
        let child = pair.slave.spawn_command(command).unwrap();
        let mut reader = pair.master.try_clone_reader().unwrap();
        let written = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&written);
        let (rows, columns) = (NonZeroU16::new(40).unwrap(), NonZeroU16::new(120).unwrap());
        let screen = Arc::new(Mutex::new(vt100::Parser::new(rows, columns, 0)));
        let shown = Arc::clone(&screen);
        std::thread::spawn(move || {
            let mut buffer = vec![0_u8; 64 * 1024];
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                sink.lock().unwrap().extend_from_slice(&buffer[..count]);
                shown.lock().unwrap().process(&buffer[..count]);
            }
        });
        Pane {
            child,
            keys: pair.master.take_writer().unwrap(),
            written,
            screen,
            began,
            _master: pair.master,
        }
    }

    pub fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// How much was written so far.
    pub fn position(&self) -> usize {
        self.written.lock().unwrap().len()
    }

    /// Waits until this was written behind a position. The time since the start.
    pub fn wait_for(&self, text: &str, from: usize) -> Duration {
        let text = text.as_bytes();
        let deadline = Instant::now() + DEADLINE;
        loop {
            {
                let written = self.written.lock().unwrap();
                if count(&written[from.min(written.len())..], text) > 0 {
                    return self.began.elapsed();
                }
                let tail = written.len().saturating_sub(2000);
                assert!(
                    Instant::now() < deadline,
                    "never written: {}\n{}",
                    String::from_utf8_lossy(text),
                    String::from_utf8_lossy(&written[tail..])
                );
            }
            std::thread::sleep(Duration::from_micros(50));
        }
    }

    /// Waits until this is on the screen, whatever bytes brought it there.
    pub fn see(&self, text: &str) {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let contents = self.screen.lock().unwrap().screen().contents();
            if contents.contains(text) {
                return;
            }
            assert!(Instant::now() < deadline, "never seen: {text}\n{contents}");
            std::thread::sleep(Duration::from_micros(50));
        }
    }

    /// What is written and used in this time.
    pub fn watch(&self, time: Duration) -> Window {
        let (from, cpu, wakes) = (self.position(), self.cpu(), self.wakes());
        let began = Instant::now();
        std::thread::sleep(time);
        let time = began.elapsed();
        let used = self.cpu() - cpu;
        let written = self.written.lock().unwrap();
        let bytes = &written[from..];
        Window {
            time,
            bytes: bytes.len(),
            frames: count(bytes, FRAME),
            erased: count(bytes, ERASE),
            cpu: used / time.as_secs_f64(),
            // A thread that ended takes its count along.
            wakes: self.wakes().saturating_sub(wakes),
        }
    }

    fn proc(&self, path: &str) -> String {
        let id = self.child.process_id().unwrap();
        std::fs::read_to_string(format!("/proc/{id}/{path}")).unwrap()
    }

    /// Seconds of CPU so far, of a clock with 100 ticks a second.
    fn cpu(&self) -> f64 {
        let stat = self.proc("stat");
        let (_, behind) = stat.rsplit_once(')').unwrap();
        let fields: Vec<&str> = behind.split_whitespace().collect();
        let ticks = |at: usize| fields[at].parse::<f64>().unwrap();
        (ticks(11) + ticks(12)) / 100.0
    }

    /// Times that a thread waited for something and went on.
    fn wakes(&self) -> u64 {
        let id = self.child.process_id().unwrap();
        let mut all = 0;
        for task in std::fs::read_dir(format!("/proc/{id}/task")).unwrap() {
            let path = task.unwrap().path().join("status");
            let Ok(status) = std::fs::read_to_string(path) else {
                continue;
            };
            all += field(&status, "voluntary_ctxt_switches:");
        }
        all
    }

    /// Resident memory, in KiB.
    pub fn resident(&self) -> u64 {
        field(&self.proc("status"), "VmRSS:")
    }

    /// The same in words.
    pub fn memory(&self) -> String {
        format!("{:.1} MiB resident", self.resident() as f64 / 1024.0)
    }

    /// Ends the program, as a service manager would.
    pub fn stop(&mut self) {
        let id = self.child.process_id().unwrap();
        let pid = rustix::process::Pid::from_raw(i32::try_from(id).unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let _ = self.child.wait();
    }
}

fn field(status: &str, name: &str) -> u64 {
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

impl Drop for Pane {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
