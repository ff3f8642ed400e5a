//! A small HTTP server on loopback for fakes that must also misbehave below HTTP: reset, hang, refuse.
//!
//! One request a connection. It runs in a thread of its own, so that a test may block, and ends when dropped.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};

/// Longest request that is read, in bytes.
const MAX_REQUEST: usize = 1 << 20;

/// A request.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// `GET`, `POST`.
    pub method: String,
    /// Path without the query.
    pub path: String,
    /// Query, without the question mark.
    pub query: String,
    /// The header `Idempotency-Key`, or nothing.
    pub key: String,
    /// The header `Authorization`, or nothing.
    pub authorization: String,
    /// JSON body; null when there is none.
    pub body: Value,
    /// Every header, by its name in small letters.
    pub headers: BTreeMap<String, String>,
    /// The body, as it came.
    pub raw: Vec<u8>,
}

/// What the server does with a request. What it *did* is the handler's own matter.
#[derive(Debug, Clone)]
pub enum Reply {
    /// Answers.
    Json(u16, Value),
    /// Answers after this long.
    Late(Duration, u16, Value),
    /// Resets the connection.
    Reset,
    /// Holds the connection and never answers.
    Hang,
    /// Writes these bytes and closes.
    Raw(Vec<u8>),
}

enum Order {
    /// Refuse connections, or take them again.
    Refuse(bool, oneshot::Sender<()>),
    Stop,
}

/// A running server.
pub struct FakeHttp {
    url: String,
    orders: mpsc::UnboundedSender<Order>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl FakeHttp {
    /// Starts on a free port; `handler` is called for each whole request.
    pub fn start(handler: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.set_nonblocking(true).expect("a listener");
        let address = listener.local_addr().expect("an address");
        let (orders, mut given) = mpsc::unbounded_channel();
        let handler: Arc<dyn Fn(&Request) -> Reply + Send + Sync> = Arc::new(handler);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(async move {
                let mut listener = Some(TcpListener::from_std(listener).expect("a listener"));
                loop {
                    let accepting = async {
                        match &listener {
                            Some(listener) => listener.accept().await,
                            None => std::future::pending().await,
                        }
                    };
                    tokio::select! {
                        order = given.recv() => match order {
                            Some(Order::Refuse(true, done)) => {
                                listener = None;
                                let _ = done.send(());
                            }
                            Some(Order::Refuse(false, done)) => {
                                listener = Some(TcpListener::bind(address).await.expect("the same port"));
                                let _ = done.send(());
                            }
                            Some(Order::Stop) | None => return,
                        },
                        accepted = accepting => {
                            if let Ok((stream, _)) = accepted {
                                tokio::spawn(serve(stream, Arc::clone(&handler)));
                            }
                        }
                    }
                }
            });
        });
        Self {
            url: format!("http://{address}"),
            orders,
            thread: Some(thread),
        }
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Refuses connections from now on, or takes them again.
    pub fn refuse(&self, refuse: bool) {
        let (done, waits) = oneshot::channel();
        self.orders
            .send(Order::Refuse(refuse, done))
            .expect("the server runs");
        // Works inside and outside of a runtime, as tests are both.
        let (told, hears) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let _ = told.send(waits.blocking_recv());
        });
        hears
            .recv_timeout(Duration::from_secs(10))
            .expect("the server answers")
            .expect("the server runs");
    }
}

impl Drop for FakeHttp {
    fn drop(&mut self) {
        let _ = self.orders.send(Order::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn serve(mut stream: TcpStream, handler: Arc<dyn Fn(&Request) -> Reply + Send + Sync>) {
    let Some(request) = read(&mut stream).await else {
        return;
    };
    let (status, body) = match handler(&request) {
        Reply::Json(status, body) => (status, body),
        Reply::Late(wait, status, body) => {
            tokio::time::sleep(wait).await;
            (status, body)
        }
        Reply::Reset => {
            let _ = stream.set_zero_linger();
            return;
        }
        Reply::Raw(bytes) => {
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
            return;
        }
        Reply::Hang => {
            // Until the other side gives up.
            let mut byte = [0_u8; 1];
            let _ = stream.read(&mut byte).await;
            return;
        }
    };
    let body = body.to_string();
    let answer = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
}

/// A whole request; none when it is not one.
async fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let mut buffer = [0_u8; 4096];
    loop {
        if let Some(request) = parse(&bytes) {
            return Some(request);
        }
        let count = stream.read(&mut buffer).await.ok()?;
        if count == 0 || bytes.len() > MAX_REQUEST {
            return None;
        }
        bytes.extend_from_slice(&buffer[..count]);
    }
}

fn parse(bytes: &[u8]) -> Option<Request> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&bytes[..end]).ok()?;
    let mut lines = head.split("\r\n");
    let mut first = lines.next()?.split(' ');
    let (method, target) = (first.next()?, first.next()?);
    let header = |name: &str| {
        head.split("\r\n").skip(1).find_map(|line| {
            let (given, value) = line.split_once(':')?;
            given
                .eq_ignore_ascii_case(name)
                .then(|| value.trim().to_owned())
        })
    };
    let length: usize = header("content-length").map_or(Some(0), |text| text.parse().ok())?;
    let body = bytes.get(end + 4..end + 4 + length)?;
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    Some(Request {
        method: method.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        key: header("idempotency-key").unwrap_or_default(),
        authorization: header("authorization").unwrap_or_default(),
        body: serde_json::from_slice(body).unwrap_or(Value::Null),
        headers: head
            .split("\r\n")
            .skip(1)
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect(),
        raw: body.to_vec(),
    })
}
