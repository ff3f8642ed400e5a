//! A server on loopback that may do anything with a connection, and names that lead where a test wants.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use leverframe::config::settings::FetchSettings;
use leverframe::tools::http::resolver::Resolver;
use leverframe::tools::http_fetch::HttpFetch;

/// Does what it wants with a connection; gets the head and the body that came with it.
type Handler = dyn Fn(&str, &mut TcpStream) + Send + Sync;

pub struct Server {
    pub address: SocketAddr,
    /// Heads of requests, with what came of their bodies.
    pub requests: Arc<Mutex<Vec<String>>>,
    over: Arc<AtomicBool>,
}

impl Server {
    pub fn start(handler: impl Fn(&str, &mut TcpStream) + Send + Sync + 'static) -> Self {
        Self::at("127.0.0.1:0", handler).expect("a free port")
    }

    pub fn at(
        place: &str,
        handler: impl Fn(&str, &mut TcpStream) + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        let listener = TcpListener::bind(place)?;
        let address = listener.local_addr()?;
        let (requests, over) = (
            Arc::new(Mutex::new(Vec::new())),
            Arc::new(AtomicBool::new(false)),
        );
        let (seen, ended) = (Arc::clone(&requests), Arc::clone(&over));
        let handler: Arc<Handler> = Arc::new(handler);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(mut stream) = stream else { continue };
                let (seen, handler) = (Arc::clone(&seen), Arc::clone(&handler));
                std::thread::spawn(move || {
                    let request = head_and_body(&mut stream);
                    seen.lock().unwrap().push(request.clone());
                    handler(&request, &mut stream);
                });
            }
        });
        Ok(Self {
            address,
            requests,
            over,
        })
    }

    /// A server that answers each request with this.
    pub fn saying(content_type: &str, body: impl AsRef<[u8]>) -> Self {
        let answer = answer(&format!("content-type: {content_type}\r\n"), body.as_ref());
        Self::start(move |_, stream| {
            let _ = stream.write_all(&answer);
        })
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    pub fn hits(&self) -> usize {
        self.requests.lock().unwrap().len()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
    }
}

fn head_and_body(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0_u8; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length")
                    .then(|| value.trim().parse().ok())?
            });
            if body.len() >= length.unwrap_or(0) {
                return text;
            }
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return String::from_utf8_lossy(&bytes).into_owned(),
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
        }
    }
}

/// A whole answer with status 200; each header ends its line.
pub fn answer(headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// An answer that leads elsewhere.
pub fn redirect(status: u16, to: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status} X\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    )
    .into_bytes()
}

/// Names, with what each look-up finds, the last for ever.
#[derive(Default)]
pub struct Names {
    leads: HashMap<String, Vec<Vec<IpAddr>>>,
    pub looked_up: Mutex<Vec<String>>,
}

impl Names {
    pub fn of(name: &str, lookups: &[&[&str]]) -> Arc<Self> {
        let parsed = lookups
            .iter()
            .map(|found| found.iter().map(|text| text.parse().unwrap()).collect());
        Arc::new(Self {
            leads: HashMap::from([(name.to_owned(), parsed.collect())]),
            looked_up: Mutex::default(),
        })
    }
}

#[async_trait]
impl Resolver for Names {
    async fn resolve(&self, host: &str, port: u16) -> std::io::Result<Vec<SocketAddr>> {
        let mut looked_up = self.looked_up.lock().unwrap();
        let times = looked_up.iter().filter(|name| *name == host).count();
        looked_up.push(host.to_owned());
        let Some(lookups) = self.leads.get(host) else {
            return Err(std::io::Error::other("no such name"));
        };
        let found = &lookups[times.min(lookups.len() - 1)];
        Ok(found.iter().map(|ip| SocketAddr::new(*ip, port)).collect())
    }
}

/// Nothing listed; two seconds, 64 KiB.
pub fn settings() -> FetchSettings {
    FetchSettings {
        allow: Vec::new(),
        deny: Vec::new(),
        private: Vec::new(),
        ports: Vec::new(),
        timeout_seconds: 2,
        max_kib: 64,
        cache: None,
    }
}

/// The tool where `site.test` leads to loopback and may, and a server's port is open.
pub fn fetch_of(server: &Server) -> HttpFetch {
    let listed = FetchSettings {
        private: vec!["site.test".to_owned()],
        ports: vec![server.port()],
        ..settings()
    };
    HttpFetch::with_resolver(listed, Names::of("site.test", &[&["127.0.0.1"]]))
}
