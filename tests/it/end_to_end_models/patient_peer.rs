//! A model server (chat completions) that answers when it is told to, and notes when its callers hang up.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::daemon::DEADLINE;

use crate::support::without_sender;

/// What it does with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// Waits for [`PatientPeer::allow`], then answers.
    OnWord,
    /// Sends nothing, not even a status.
    Silent,
    /// Sends the beginning of an answer, then nothing.
    HalfWay,
    /// Refuses with 429 and asks to wait a minute.
    Refuses,
    /// Answers at once.
    AtOnce,
}

/// What it shows before it falls silent.
pub const HALF: &str = "Half of an answer";

#[derive(Debug)]
struct State {
    manner: Manner,
    /// Texts of the last user messages, in order of arrival.
    asked: Vec<String>,
    /// Answers that may be given.
    allowed: usize,
    /// Requests without an answer, and the most there ever were at once.
    open: usize,
    most_open: usize,
    /// When callers hung up before they had an answer.
    left: Vec<Instant>,
}

/// A running server. Its threads end with their connections.
pub struct PatientPeer {
    /// `http://127.0.0.1:PORT/v1`.
    pub base_url: String,
    shared: Arc<(Mutex<State>, Condvar)>,
}

impl PatientPeer {
    /// Starts on a free port.
    pub fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new((
            Mutex::new(State {
                manner,
                asked: Vec::new(),
                allowed: 0,
                open: 0,
                most_open: 0,
                left: Vec::new(),
            }),
            Condvar::new(),
        ));
        let serving = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let shared = Arc::clone(&serving);
                std::thread::spawn(move || serve(stream, &shared));
            }
        });
        Self {
            base_url: format!("http://{address}/v1"),
            shared,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.0.lock().unwrap()
    }

    /// Requests from now on.
    pub fn set(&self, manner: Manner) {
        self.state().manner = manner;
    }

    /// Lets so many answers go.
    pub fn allow(&self, count: usize) {
        self.state().allowed += count;
        self.shared.1.notify_all();
    }

    fn wait<T>(&self, what: &str, done: impl Fn(&State) -> Option<T>) -> T {
        let deadline = Instant::now() + DEADLINE;
        let mut state = self.state();
        loop {
            if let Some(found) = done(&state) {
                return found;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "never happened: {what}: {state:?}");
            state = self.shared.1.wait_timeout(state, left).unwrap().0;
        }
    }

    /// Waits until so many requests have come; their texts.
    pub fn wait_asked(&self, count: usize) -> Vec<String> {
        self.wait("requests", |state| {
            (state.asked.len() >= count).then(|| state.asked.clone())
        })
    }

    /// Waits until so many callers have hung up; when the last of them did.
    pub fn wait_left(&self, count: usize) -> Instant {
        self.wait("callers hang up", |state| {
            (state.left.len() >= count).then(|| state.left[count - 1])
        })
    }

    /// How many requests have come.
    pub fn asked(&self) -> usize {
        self.state().asked.len()
    }

    /// The most requests that ever waited for an answer at once.
    pub fn most_open(&self) -> usize {
        self.state().most_open
    }
}

fn serve(mut stream: TcpStream, shared: &(Mutex<State>, Condvar)) {
    let (state, changed) = shared;
    let Some(body) = read(&mut stream) else {
        return;
    };
    let text = body["messages"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|message| message["role"] == "user")
        .filter_map(|message| message["content"].as_str())
        .next_back()
        .map(without_sender)
        .unwrap_or_default()
        .to_owned();
    let manner = {
        let mut state = state.lock().unwrap();
        state.asked.push(text.clone());
        state.open += 1;
        state.most_open = state.most_open.max(state.open);
        changed.notify_all();
        state.manner
    };
    match manner {
        Manner::AtOnce => answer(&mut stream, &text),
        Manner::OnWord => {
            let mut held = state.lock().unwrap();
            let deadline = Instant::now() + 3 * DEADLINE;
            while held.allowed == 0 {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return;
                }
                held = changed.wait_timeout(held, left).unwrap().0;
            }
            held.allowed -= 1;
            // Before the answer leaves: the next caller may come as soon as it has arrived.
            held.open -= 1;
            drop(held);
            answer(&mut stream, &text);
            return;
        }
        Manner::Refuses => {
            let _ = stream.write_all(
                b"HTTP/1.1 429 X\r\nretry-after: 60\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}",
            );
        }
        Manner::Silent | Manner::HalfWay => {
            if manner == Manner::HalfWay {
                let _ = stream.write_all(
                    format!(
                        "{HEAD}{}",
                        event(&format!(r#"{{"content":"{HALF}"}}"#), "null")
                    )
                    .as_bytes(),
                );
            }
            let _ = stream.set_read_timeout(Some(3 * DEADLINE));
            let mut byte = [0_u8; 1];
            let gone = stream.read(&mut byte);
            if matches!(gone, Ok(0))
                || gone.is_err_and(|error| error.kind() != std::io::ErrorKind::WouldBlock)
            {
                state.lock().unwrap().left.push(Instant::now());
            }
        }
    }
    let mut state = state.lock().unwrap();
    state.open -= 1;
    changed.notify_all();
}

const HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

fn event(delta: &str, finish: &str) -> String {
    format!(
        "data: {{\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish}}}]}}\n\n"
    )
}

fn answer(stream: &mut TcpStream, text: &str) {
    let said = serde_json::json!({ "content": format!("re: {text}") });
    let body = format!(
        "{HEAD}{}{}data: [DONE]\n\n",
        event(&said.to_string(), "null"),
        event("{}", "\"stop\"")
    );
    let _ = stream.write_all(body.as_bytes());
    let _ = stream.flush();
}

fn read(stream: &mut TcpStream) -> Option<Value> {
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .ok()?;
    let mut bytes = Vec::new();
    let mut chunk = [0_u8; 16 * 1024];
    loop {
        let count = stream.read(&mut chunk).ok()?;
        if count == 0 {
            return None;
        }
        bytes.extend_from_slice(&chunk[..count]);
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
        let length: usize = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length:"))
            .and_then(|text| text.trim().parse().ok())?;
        if bytes.len() >= end + 4 + length {
            return serde_json::from_slice(&bytes[end + 4..end + 4 + length]).ok();
        }
    }
}
