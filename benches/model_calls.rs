//! What a turn costs around its model call: CPU with a server that answers at once and with a cached response in its place,
//! how long a cancel takes to hang up, and fifty sessions through four calls at once.
//!
//! Run it alone on a quiet machine: `cargo bench --bench model_calls`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    missing_docs
)] // a bench is a test

#[allow(dead_code)] // it repeats nothing, so it only reports
mod harness;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Turns before anything is measured.
const WARM_UP: usize = 200;
/// Turns whose CPU is measured.
const TURNS: usize = 2_000;
/// Cached responses that are asked for.
const HITS: usize = 1_000;
/// Cancels.
const CANCELS: usize = 50;
/// Sessions at once, and turns of each.
const SESSIONS: usize = 50;
const TURNS_OF_EACH: usize = 10;
/// How long the server takes for an answer where sessions compete.
const ANSWER: Duration = Duration::from_millis(20);

/// A server of chat completions: answers after `delay`, or falls silent in the middle and says when it is left.
struct Server {
    url: String,
    silent: Arc<AtomicBool>,
    slow: Arc<AtomicBool>,
    most_open: Arc<AtomicUsize>,
    left: mpsc::Receiver<Instant>,
}

fn serve(
    mut stream: TcpStream,
    silent: &AtomicBool,
    slow: &AtomicBool,
    open: &AtomicUsize,
    most_open: &AtomicUsize,
    left: &mpsc::Sender<Instant>,
) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let mut length = 0;
        let mut line = String::new();
        loop {
            line.clear();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if line == "\r\n" {
                break;
            }
            if let Some(text) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = text.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let now = open.fetch_add(1, Ordering::SeqCst) + 1;
        most_open.fetch_max(now, Ordering::SeqCst);
        let text = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"an answer\"},\"finish_reason\":null}]}\n\n";
        let end = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";
        if silent.load(Ordering::SeqCst) {
            let _ = stream.write_all(format!("{head}\r\n{text}").as_bytes());
            let mut byte = [0_u8; 1];
            let _ = reader.read(&mut byte);
            let _ = left.send(Instant::now());
            open.fetch_sub(1, Ordering::SeqCst);
            return;
        }
        if slow.load(Ordering::SeqCst) {
            std::thread::sleep(ANSWER);
        }
        let answer = format!(
            "{head}content-length: {}\r\n\r\n{text}{end}",
            text.len() + end.len()
        );
        open.fetch_sub(1, Ordering::SeqCst);
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let silent = Arc::new(AtomicBool::new(false));
        let slow = Arc::new(AtomicBool::new(false));
        let open = Arc::new(AtomicUsize::new(0));
        let most_open = Arc::new(AtomicUsize::new(0));
        let (told, left) = mpsc::channel();
        let (is_silent, is_slow, most) = (silent.clone(), slow.clone(), most_open.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let _ = stream.set_nodelay(true);
                let (silent, slow, open) = (is_silent.clone(), is_slow.clone(), open.clone());
                let (most, told) = (most.clone(), told.clone());
                std::thread::spawn(move || serve(stream, &silent, &slow, &open, &most, &told));
            }
        });
        Self {
            url,
            silent,
            slow,
            most_open,
            left,
        }
    }
}

struct Daemon {
    child: Child,
    socket: PathBuf,
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Daemon {
    /// With `more` at the end of its configuration.
    fn start(home: &Path, server: &Server, more: &str) -> Self {
        let config = home.join("config.toml");
        let text = format!(
            "[model]\ndefault = \"local/m\"\n\n[providers.local]\nkind = \"openai-chat\"\nbase_url = \"{}\"\n\
             max_concurrent = 4\n\n[engine]\nmax_running = 64\n\n{more}",
            server.url
        );
        std::fs::write(&config, text).unwrap();
        let data = home.join("data");
        let child = Command::new(env!("CARGO_BIN_EXE_leverframe"))
            .arg("--daemon")
            .env("LEVERFRAME_CONFIG", &config)
            .env("LEVERFRAME_DATA_DIR", &data)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let daemon = Self {
            child,
            socket: data.join("leverframe.sock"),
        };
        let deadline = Instant::now() + Duration::from_secs(10);
        while UnixStream::connect(&daemon.socket).is_err() {
            assert!(Instant::now() < deadline, "the daemon does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        daemon
    }

    /// CPU time used so far, user and system.
    fn cpu(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let (_, fields) = stat.rsplit_once(") ").unwrap();
        let fields: Vec<&str> = fields.split(' ').collect();
        let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
        // Linux counts these in hundredths of a second.
        Duration::from_millis(ticks * 10)
    }

    fn connect(&self) -> BufReader<UnixStream> {
        BufReader::new(UnixStream::connect(&self.socket).unwrap())
    }
}

/// One request on a connection that stays open; the body of the answer.
fn request(stream: &mut BufReader<UnixStream>, method: &str, path: &str, body: &str) -> Value {
    write!(
        stream.get_mut(),
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut length = 0;
    let mut line = String::new();
    stream.read_line(&mut line).unwrap();
    assert!(line.contains(" 20"), "{line}");
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

fn session(stream: &mut BufReader<UnixStream>) -> String {
    let made = request(stream, "POST", "/v1/sessions", "{}");
    made["id"].as_str().unwrap().to_owned()
}

/// So many turns, ten a session.
fn turns(stream: &mut BufReader<UnixStream>, count: usize) {
    let mut id = String::new();
    for n in 0..count {
        if n % 10 == 0 {
            id = session(stream);
        }
        let done = request(
            stream,
            "POST",
            &format!("/v1/sessions/{id}/messages?wait=30"),
            r#"{"text":"ping"}"#,
        );
        assert_eq!(done["state"], "completed", "{done}");
    }
}

fn cpu_of_a_turn(daemon: &Daemon) {
    let mut stream = daemon.connect();
    turns(&mut stream, WARM_UP);
    let (cpu, began) = (daemon.cpu(), Instant::now());
    turns(&mut stream, TURNS);
    let used = daemon.cpu().saturating_sub(cpu).as_secs_f64() * 1e3 / TURNS as f64;
    let took = began.elapsed().as_secs_f64() * 1e3 / TURNS as f64;
    println!("a turn, answered at once                     CPU {used:.2} ms, {took:.2} ms in all");
}

/// A question that was answered before: from the message in to the reply out, with the session that it opens.
fn replay(daemon: &Daemon) {
    let mut stream = daemon.connect();
    let mut ask = || {
        let question = r#"{"text":"what is asked often"}"#;
        let done = request(&mut stream, "POST", "/v1/ask?wait=30", question);
        assert_eq!(done["state"], "completed", "{done}");
        assert_eq!(done["response"]["text"], "an answer");
        done["usage"]["input_tokens"].as_u64().unwrap()
    };
    assert!(ask() > 0, "the first one is asked of the model");
    // Whatever is written behind the answer is done with.
    for _ in 0..WARM_UP {
        ask();
    }
    let mut samples = Vec::new();
    let cpu = daemon.cpu();
    for _ in 0..HITS {
        let began = Instant::now();
        let used = ask();
        samples.push(began.elapsed());
        assert_eq!(used, 0, "a cached response uses nothing");
    }
    let used = daemon.cpu().saturating_sub(cpu).as_secs_f64() * 1e3 / HITS as f64;
    harness::report("hit replay end to end (≤ 3 ms)", samples);
    println!("a turn, answered by the cache                CPU {used:.2} ms");
}

fn cancel(daemon: &Daemon, server: &Server) {
    server.silent.store(true, Ordering::SeqCst);
    let mut stream = daemon.connect();
    let mut samples = Vec::new();
    for _ in 0..CANCELS {
        let id = session(&mut stream);
        let accepted = request(
            &mut stream,
            "POST",
            &format!("/v1/sessions/{id}/messages"),
            r#"{"text":"go on"}"#,
        );
        let turn = accepted["continuation_id"].as_str().unwrap().to_owned();
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            let snapshot = request(&mut stream, "GET", "/v1/snapshot", "");
            let streams = snapshot["streams"].as_array().unwrap();
            if streams.iter().any(|open| open["continuation_id"] == turn) {
                break;
            }
            assert!(Instant::now() < deadline, "no text is shown");
        }
        let began = Instant::now();
        request(
            &mut stream,
            "POST",
            &format!("/v1/continuations/{turn}/cancel"),
            "{}",
        );
        let left = server.left.recv_timeout(Duration::from_secs(10)).unwrap();
        samples.push(left.saturating_duration_since(began));
    }
    server.silent.store(false, Ordering::SeqCst);
    harness::report("cancel, until the server is left (≤ 100 ms)", samples);
}

fn many_sessions(daemon: &Daemon, server: &Server) {
    server.slow.store(true, Ordering::SeqCst);
    server.most_open.store(0, Ordering::SeqCst);
    let began = Instant::now();
    let ends: Vec<Duration> = std::thread::scope(|scope| {
        let sessions: Vec<_> = (0..SESSIONS)
            .map(|_| {
                scope.spawn(|| {
                    turns(&mut daemon.connect(), TURNS_OF_EACH);
                    began.elapsed()
                })
            })
            .collect();
        sessions.into_iter().map(|s| s.join().unwrap()).collect()
    });
    let all = ends.iter().max().unwrap();
    let first = ends.iter().min().unwrap();
    let best = ANSWER * u32::try_from(SESSIONS * TURNS_OF_EACH).unwrap() / 4;
    println!(
        "{SESSIONS} sessions × {TURNS_OF_EACH} turns through 4 calls of {ANSWER:?}     {all:.2?} (at best {best:.2?}), \
         the first session ended after {first:.2?}; at most {} calls at once",
        server.most_open.load(Ordering::SeqCst)
    );
}

fn main() {
    // `cargo test --benches` only wants to know that it starts.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let server = Server::start();
    let daemon = Daemon::start(home.path(), &server, "");
    cpu_of_a_turn(&daemon);
    cancel(&daemon, &server);
    many_sessions(&daemon, &server);
    drop(daemon);
    let home = tempfile::tempdir().unwrap();
    let keeps = "[channels.api]\nresponse_cache = \"channel\"\n";
    replay(&Daemon::start(home.path(), &server, keeps));
}
