//! A daemon that only answers the gate, over a unix socket and below HTTP, and a caller that asks it.

use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::time::{Duration, Instant};

use crate::support::daemon::DEADLINE;

/// What came.
#[derive(Debug, Clone)]
pub struct Seen {
    head: String,
    pub body: Vec<u8>,
}

impl Seen {
    /// `POST /v1/gate/claude HTTP/1.1`.
    pub fn first_line(&self) -> &str {
        self.head.lines().next().unwrap_or_default()
    }

    /// A header; empty where there is none.
    pub fn header(&self, name: &str) -> &str {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(':'));
        lines
            .find(|(given, _)| given.eq_ignore_ascii_case(name))
            .map_or("", |(_, value)| value.trim())
    }
}

/// What is done with it.
#[derive(Debug, Clone)]
pub enum Reply {
    /// These bytes, and the connection ends.
    Raw(Vec<u8>),
    /// The connection ends without a word.
    Close,
    /// Nothing, for as long as the other side waits.
    Hang,
}

/// A whole answer of the gate.
pub fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Reply {
    let mut text = format!(
        "HTTP/1.1 {status} X\r\nleverframe-protocol: 2\r\ncontent-length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    Reply::Raw(format!("{text}connection: close\r\n\r\n{body}").into_bytes())
}

/// A 200 with this verdict.
pub fn verdict(word: &str, body: &str) -> Reply {
    answer(200, &[("Leverframe-Verdict", word)], body)
}

type Requests = Arc<(Mutex<Vec<Seen>>, Condvar)>;

/// A running server. It ends with the test.
pub struct Stub {
    dir: tempfile::TempDir,
    seen: Requests,
}

impl Stub {
    /// `reply` is asked with the number of the request, from 0.
    pub fn start(reply: impl Fn(usize) -> Reply + Send + Sync + 'static) -> Self {
        let dir = tempfile::Builder::new().prefix("lf").tempdir().unwrap();
        let listener = UnixListener::bind(dir.path().join("s.sock")).unwrap();
        let seen: Requests = Arc::default();
        let (known, reply) = (Arc::clone(&seen), Arc::new(reply));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                let (known, reply) = (Arc::clone(&known), Arc::clone(&reply));
                std::thread::spawn(move || serve(stream, &known, &*reply));
            }
        });
        Self { dir, seen }
    }

    pub fn socket(&self) -> PathBuf {
        self.dir.path().join("s.sock")
    }

    /// For the variable.
    pub fn address(&self) -> String {
        format!("unix:{}", self.socket().display())
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.0.lock().unwrap().clone()
    }

    /// Waits until so many requests came.
    pub fn wait(&self, count: usize) {
        let seen = self.seen.0.lock().unwrap();
        let (seen, _) = self
            .seen
            .1
            .wait_timeout_while(seen, DEADLINE, |seen| seen.len() < count)
            .unwrap();
        assert!(seen.len() >= count, "{} of {count} requests", seen.len());
    }
}

fn serve(mut stream: UnixStream, seen: &Requests, reply: &dyn Fn(usize) -> Reply) {
    let mut bytes = Vec::new();
    let mut buffer = [0_u8; 16 * 1024];
    let request = loop {
        let count = stream.read(&mut buffer).unwrap_or(0);
        if count == 0 {
            return;
        }
        bytes.extend_from_slice(&buffer[..count]);
        let Some(end) = bytes.windows(4).position(|part| part == b"\r\n\r\n") else {
            continue;
        };
        let seen = Seen {
            head: String::from_utf8_lossy(&bytes[..end]).into_owned(),
            body: bytes[end + 4..].to_vec(),
        };
        if seen.body.len() >= seen.header("content-length").parse().unwrap_or(0) {
            break seen;
        }
    };
    let number = {
        let mut all = seen.0.lock().unwrap();
        all.push(request);
        seen.1.notify_all();
        all.len() - 1
    };
    match reply(number) {
        Reply::Raw(bytes) => {
            let _ = stream.write_all(&bytes);
        }
        Reply::Close => {}
        Reply::Hang => {
            let _ = stream.read(&mut buffer);
        }
    }
}

/// The program, with nothing of the test's own environment.
pub fn program() -> PathBuf {
    std::env::var_os("LEVERFRAME_TEST_BINARY")
        .unwrap_or_else(|| env!("CARGO_BIN_EXE_leverframe").into())
        .into()
}

/// How it ended.
#[derive(Debug)]
pub struct End {
    pub status: Option<i32>,
    pub out: String,
    pub err: String,
}

impl End {
    /// Nothing but a deny: status 2, the agent's own words, and a line that says why.
    #[track_caller]
    pub fn denies(&self, why: &str) {
        assert_eq!(self.status, Some(2), "{self:?}");
        let said: serde_json::Value = serde_json::from_str(&self.out)
            .unwrap_or_else(|error| panic!("no JSON ({error}): {self:?}"));
        let output = &said["hookSpecificOutput"];
        let words = [
            &said["decision"],
            &output["permissionDecision"],
            &output["decision"]["behavior"],
        ];
        assert!(words.iter().any(|word| *word == "deny"), "{self:?}");
        assert_eq!(self.err.lines().count(), 1, "{self:?}");
        assert!(self.err.contains(why), "not `{why}`: {self:?}");
    }
}

/// A caller, its standard input still open.
pub fn spawn(words: &[&str], gate: Option<&str>, home: &Path) -> Child {
    let mut command = Command::new(program());
    command
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", home)
        .arg("gate")
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let Some(gate) = gate {
        command.env("LEVERFRAME_GATE", gate);
    }
    command.spawn().unwrap()
}

/// Writes all of standard input, closes it and waits for the end.
pub fn finish(mut child: Child, input: &[u8]) -> End {
    let mut stdin = child.stdin.take().unwrap();
    let pid = rustix::process::Pid::from_child(&child);
    let input = input.to_vec();
    let (done, ended) = mpsc::channel();
    std::thread::spawn(move || {
        let written = stdin.write_all(&input);
        drop(stdin);
        let output = child.wait_with_output();
        let _ = done.send((written, output));
    });
    let started = Instant::now();
    let Ok((written, output)) = ended.recv_timeout(DEADLINE) else {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        panic!("the caller did not end within {:?}", started.elapsed());
    };
    // Codex lets a call go on whose hook does not read all of it.
    written.unwrap();
    let output = output.unwrap();
    End {
        status: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Asks and waits for the end.
pub fn ask(words: &[&str], gate: Option<&str>, input: &[u8]) -> End {
    let home = tempfile::tempdir().unwrap();
    finish(spawn(words, gate, home.path()), input)
}

/// A question of Claude Code.
pub const QUESTION: &[u8] = br#"{"session_id":"s1","cwd":"/w","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"t1"}"#;

/// Longer than any caller takes that knows its answer.
pub const SHORT: Duration = Duration::from_secs(9);
