//! The real daemon over a directory, requests to it, and commands as a person gives them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A daemon over a data directory; killed at the end.
pub struct Daemon {
    child: Child,
    data: PathBuf,
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The binary that is measured: `LEVERFRAME_BENCH_BINARY` (the shipped one), or the one that was built for benches.
pub fn binary() -> PathBuf {
    let built = || PathBuf::from(env!("CARGO_BIN_EXE_leverframe"));
    std::env::var_os("LEVERFRAME_BENCH_BINARY").map_or_else(built, PathBuf::from)
}

/// The program for this data directory, without anything of the environment.
fn program(data: &Path) -> Command {
    let mut command = Command::new(binary());
    command
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", data)
        .arg("--data-dir")
        .arg(data)
        .stdin(Stdio::null());
    command
}

impl Daemon {
    pub fn start(data: &Path) -> Daemon {
        let child = program(data)
            .arg("--daemon")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let daemon = Daemon {
            child,
            data: data.to_owned(),
        };
        let deadline = Instant::now() + Duration::from_secs(60);
        while UnixStream::connect(daemon.socket()).is_err() {
            assert!(Instant::now() < deadline, "the daemon does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        daemon
    }

    fn socket(&self) -> PathBuf {
        self.data.join("leverframe.sock")
    }

    /// Resident memory, in KiB: (all, the part that is of no file).
    pub fn rss(&self) -> (u64, u64) {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).unwrap();
        let of = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name)).unwrap();
            line.split_whitespace().nth(1).unwrap().parse().unwrap()
        };
        (of("VmRSS:"), of("RssAnon:"))
    }

    /// A connection that stays open.
    pub fn connect(&self) -> Connection {
        Connection::at(&self.socket())
    }

    /// What a command of a person prints, and how long it takes from its start to its end.
    pub fn command(&self, arguments: &[&str]) -> (String, Duration) {
        let began = Instant::now();
        let output = program(&self.data).args(arguments).output().unwrap();
        let took = began.elapsed();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        (String::from_utf8(output.stdout).unwrap(), took)
    }
}

/// A connection to a daemon.
pub struct Connection(BufReader<UnixStream>);

impl Connection {
    /// To whoever listens there.
    pub fn at(socket: &Path) -> Connection {
        Connection(BufReader::new(UnixStream::connect(socket).unwrap()))
    }

    pub fn get(&mut self, path: &str) -> serde_json::Value {
        self.request("GET", path, "")
    }

    pub fn post(&mut self, path: &str, body: &str) -> serde_json::Value {
        self.request("POST", path, body)
    }

    fn request(&mut self, method: &str, path: &str, body: &str) -> serde_json::Value {
        self.send(method, path, body);
        self.receive(path)
    }

    /// Asks, and waits for no answer.
    pub fn send(&mut self, method: &str, path: &str, body: &str) {
        write!(
            self.0.get_mut(),
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
    }

    fn receive(&mut self, path: &str) -> serde_json::Value {
        let stream = &mut self.0;
        let mut length = 0;
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        assert!(line.contains(" 20"), "{path}: {line}");
        loop {
            line.clear();
            stream.read_line(&mut line).unwrap();
            if line == "\r\n" {
                break;
            }
            if let Some(text) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = text.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).unwrap();
        serde_json::from_slice(&body).unwrap()
    }
}

/// A stream of events.
pub struct Events(BufReader<UnixStream>);

impl Events {
    /// Everything that happens from now on, of whoever listens there.
    pub fn at(socket: &Path) -> Events {
        let mut stream = UnixStream::connect(socket).unwrap();
        write!(stream, "GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut events = Events(BufReader::new(stream));
        events.wait_for("200 OK");
        events
    }

    /// Waits for a line with this text.
    pub fn wait_for(&mut self, text: &str) {
        let deadline = Instant::now() + Duration::from_secs(30);
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            // Something comes every few seconds, if only a sign of life.
            assert!(Instant::now() < deadline, "{text}: never happened");
            assert!(
                self.0.read_line(&mut line).unwrap() > 0,
                "{text}: the stream ended"
            );
        }
    }
}

/// The load of the machine, of the last minute: what else ran is a part of what was measured.
pub fn load() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap();
    load.split_whitespace().next().unwrap().to_owned()
}
