//! A daemon with every class of path, and raw bytes through each of its doors.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::StatusCode;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};

use crate::network;
use crate::support::daemon::{DEADLINE, Daemon, Home};

/// One of each class of path: method, path, and most bytes of a body.
pub const PATHS: &[(&str, &str, usize)] = &[
    ("GET", "/healthz", WHOLE),
    ("GET", "/metrics", WHOLE),
    ("GET", "/v1/events", WHOLE),
    ("POST", "/v1/sessions", WHOLE),
    ("POST", "/v1/gate/claude", 256 * 1024),
    ("POST", "/webhooks/shop", 4 * MIB),
    ("POST", "/mcp", MIB),
    ("POST", "/v1/chat/completions", WHOLE),
    ("POST", "/v1/datasets?channel=api&file=table.csv", MIB),
];

const MIB: usize = 1024 * 1024;
/// How soon the owner is answered on a machine that does much else: sooner than any attack ends.
const PROMPT: Duration = Duration::from_secs(8);
const WHOLE: usize = 28 * MIB;

/// Memory that a daemon may have at most while it is attacked, in bytes: several of the largest bodies.
pub const MEMORY: u64 = 400 * 1024 * 1024;

const CONFIG: &str = "[model]\nallow_scripted_on_channels = true\n\n[datasets]\nmax_mib = 1\n\n\
    [channels.shop]\nkind = \"webhook\"\nsecret_env = \"SHOP_SECRET\"\nallowed_users = [\"ada\"]\n\n\
    [channels.api]\nautonomy = \"full\"\npermanent_full = true\n\n";

/// Where bytes go in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    Plain,
    Tls,
    Socket,
}

/// A connection.
pub trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

/// A daemon and its home.
pub struct Site {
    pub home: Home,
    pub daemon: Daemon,
    /// The door over TCP, and the socket.
    pub doors: [Door; 2],
}

impl Site {
    /// A daemon that speaks plain HTTP; `more` is added to its configuration.
    pub fn plain(more: &str) -> Self {
        Self::start(Home::new(&format!("{CONFIG}{more}")), Door::Plain, &[])
    }

    /// The same with so many descriptors.
    pub fn narrow(more: &str, descriptors: u32) -> Self {
        let limit = format!("ulimit -n {descriptors}; exec \"$@\"");
        let home = Home::new(&format!("{CONFIG}{more}"));
        Self::start(home, Door::Plain, &["sh", "-c", &limit, "sh"])
    }

    /// A daemon that speaks TLS.
    pub fn tls(more: &str) -> Self {
        Self::start(
            network::home(&format!("{CONFIG}{more}"), "90"),
            Door::Tls,
            &[],
        )
    }

    /// One of each.
    pub fn both(more: &str) -> [Self; 2] {
        [Self::plain(more), Self::tls(more)]
    }

    fn start(home: Home, door: Door, through: &[&str]) -> Self {
        let secret = [("SHOP_SECRET", "a secret of forty-two characters, at least")];
        let daemon = if through.is_empty() {
            home.daemon_with(&secret)
        } else {
            home.daemon_through(through, &secret)
        };
        Self {
            home,
            daemon,
            doors: [door, Door::Socket],
        }
    }

    /// Address and port.
    pub fn address(&self) -> &str {
        let (_, address) = self.daemon.base.split_once("://").unwrap();
        address
    }

    /// A connection without TLS, whatever the door speaks.
    pub async fn bare(&self) -> TcpStream {
        let connecting = TcpStream::connect(self.address());
        let connected = tokio::time::timeout(DEADLINE, connecting).await;
        connected.expect("in time").expect("a connection")
    }

    pub async fn connect(&self, door: Door) -> Box<dyn Wire> {
        match door {
            Door::Plain => Box::new(self.bare().await),
            Door::Socket => {
                let path = self.home.data().join("leverframe.sock");
                Box::new(UnixStream::connect(path).await.expect("the socket"))
            }
            Door::Tls => self.secure(self.bare().await).await,
        }
    }

    /// Shakes hands.
    pub async fn secure(&self, stream: TcpStream) -> Box<dyn Wire> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let own = self.home.path().join("config/certificate.pem");
        let mut roots = rustls::RootCertStore::empty();
        roots
            .add(CertificateDer::from_pem_file(own).unwrap())
            .unwrap();
        let config = rustls::ClientConfig::builder()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from("localhost").unwrap();
        let shaken = tokio_rustls::TlsConnector::from(Arc::new(config)).connect(name, stream);
        let shaken = tokio::time::timeout(DEADLINE, shaken).await;
        Box::new(shaken.expect("in time").expect("a handshake"))
    }

    /// The head of a request with the admin's token, without its end.
    pub fn head(&self, method: &str, path: &str) -> String {
        let kind = if path.starts_with("/v1/datasets") {
            "text/csv"
        } else {
            "application/json"
        };
        format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
             Accept: application/json, text/event-stream\r\nContent-Type: {kind}\r\n",
            self.daemon.token
        )
    }

    /// The owner's socket answers at once, as far as a busy machine can.
    pub async fn owner(&self) {
        let begun = Instant::now();
        let said = self.ask(Door::Socket, "GET /v1/channels").await;
        assert!(said.starts_with("HTTP/1.1 200"), "{said}");
        assert!(
            begun.elapsed() < PROMPT,
            "the owner waited for {:?}",
            begun.elapsed()
        );
    }

    /// A request with the admin's token on a connection of its own: the whole answer.
    pub async fn ask(&self, door: Door, line: &str) -> String {
        self.tell(door, line, "").await
    }

    /// The same with a body.
    pub async fn tell(&self, door: Door, line: &str, body: &str) -> String {
        let (method, path) = line.split_once(' ').unwrap();
        let mut stream = self.connect(door).await;
        let request = format!(
            "{}Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
            self.head(method, path),
            body.len()
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
        rest(&mut stream, DEADLINE).await
    }

    /// The database is written and a tool runs, through this door.
    pub async fn runs(&self, door: Door) {
        let asked = async |line: &str, body: Value| {
            let body = if body.is_null() {
                String::new()
            } else {
                body.to_string()
            };
            let said = self.tell(door, line, &body).await;
            assert!(said.starts_with("HTTP/1.1 20"), "{door:?} {line}: {said}");
            let (_, body) = said.split_once("\r\n\r\n").unwrap();
            serde_json::from_str::<Value>(body).unwrap()
        };
        let file = format!("{door:?}");
        let session = asked("POST /v1/sessions", json!({})).await;
        let script = json!({ "script": format!("echo it-runs > {file}") });
        let path = format!("/v1/sessions/{}/messages", session["id"].as_str().unwrap());
        let text = format!("TOOL:execute_command{script}\nSAY:done");
        let accepted = asked(&format!("POST {path}"), json!({ "text": text })).await;
        let turn = accepted["continuation_id"].as_str().unwrap();
        let deadline = Instant::now() + DEADLINE;
        loop {
            let found = asked(&format!("GET /v1/continuations/{turn}"), Value::Null).await;
            if found["state"] == "completed" {
                break;
            }
            assert!(Instant::now() < deadline, "{door:?}: {found}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let made = self.home.workspace("api").join(file);
        assert!(made.exists(), "{door:?}: the tool did not run");
        std::fs::remove_file(made).unwrap();
    }

    /// Everything works through both doors, and memory is what it may be.
    pub async fn works(&self) {
        for door in self.doors {
            let said = self.ask(door, "GET /healthz").await;
            assert!(said.starts_with("HTTP/1.1 200"), "{door:?}: {said}");
            self.runs(door).await;
        }
        let peak = self.peak();
        assert!(peak < MEMORY, "{peak} bytes at the peak");
    }

    /// The most memory that the daemon had, in bytes.
    pub fn peak(&self) -> u64 {
        self.memory("VmHWM:")
    }

    /// A line of `/proc/PID/status`, in bytes.
    pub fn memory(&self, line: &str) -> u64 {
        let status = format!("/proc/{}/status", self.daemon.pid());
        let text = std::fs::read_to_string(status).unwrap();
        let found = text.lines().find_map(|one| one.strip_prefix(line)).unwrap();
        let kibibytes: u64 = found.split_whitespace().next().unwrap().parse().unwrap();
        kibibytes * 1024
    }

    /// A sample of the metrics, asked through the socket.
    pub async fn metric(&self, name: &str) -> f64 {
        let text = self.ask(Door::Socket, "GET /metrics").await;
        crate::monitoring::scrape::value(&text, name).unwrap_or_else(|| panic!("{name}: {text}"))
    }

    /// Waits until a sample is as it should be.
    pub async fn wait_metric(&self, name: &str, good: impl Fn(f64) -> bool) {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let value = self.metric(name).await;
            if good(value) {
                return;
            }
            assert!(Instant::now() < deadline, "{name} stays at {value}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// Everything until the other side ends the connection, which it does in time.
pub async fn rest(stream: &mut (impl AsyncRead + Unpin), limit: Duration) -> String {
    let mut whole = Vec::new();
    let ended = tokio::time::timeout(limit, stream.read_to_end(&mut whole)).await;
    let said = String::from_utf8_lossy(&whole).into_owned();
    assert!(ended.is_ok(), "still open after {limit:?}: {said:?}");
    said
}

/// Reads until some words came.
pub async fn until(stream: &mut (impl AsyncRead + Unpin), words: &str) -> String {
    let mut text = String::new();
    let mut buffer = [0; 4096];
    while !text.contains(words) {
        let size = tokio::time::timeout(DEADLINE, stream.read(&mut buffer)).await;
        let size = size
            .unwrap_or_else(|_| panic!("no {words:?} in {text:?}"))
            .unwrap_or(0);
        assert!(size > 0, "ended before {words:?}: {text:?}");
        text.push_str(&String::from_utf8_lossy(&buffer[..size]));
    }
    text
}

/// The status of an answer; none = the connection was cut without one.
pub fn status(said: &str) -> Option<StatusCode> {
    let digits = said.strip_prefix("HTTP/1.1 ")?.get(..3)?;
    digits.parse().ok()
}
