//! What is between a bridge and its platform on a bad day: answers that get lost, come late, twice or not at all.
//!
//! One request a connection. Each fault is for the next request whose first line contains a word.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// What happens to a request.
#[derive(Debug, Clone)]
pub enum Fault {
    /// This status and body; the platform hears nothing of it.
    Status(u16, &'static str),
    /// 429 with this body, and a second to wait; the platform hears nothing of it.
    Limited(&'static str),
    /// The connection is reset before the platform hears of it.
    ResetBefore,
    /// The platform carries it out, and the answer is lost.
    ResetAfter,
    /// Half of the answer comes.
    CutBody,
    /// The answer comes this much later.
    Slow(Duration),
    /// The platform gets it twice.
    Twice,
    /// Nothing ever comes back.
    Silence,
    /// The answer is held until that of another request, whose first line contains this word, was delivered.
    Reorder(&'static str),
}

/// Longest time that an answer is held for another one; less than clients wait.
const HELD: Duration = Duration::from_millis(1_500);

#[derive(Default)]
struct Plan {
    faults: Vec<(&'static str, Fault)>,
    requests: Vec<String>,
    /// First lines of requests whose answers were delivered.
    delivered: Vec<String>,
    /// Answers that wait for another one.
    holding: usize,
    /// Answers that another one passed.
    reordered: usize,
}

#[derive(Default)]
struct Shared {
    plan: Mutex<Plan>,
    /// An answer was delivered.
    delivery: Condvar,
}

/// A running proxy. It takes no more connections once dropped.
pub struct Proxy {
    url: String,
    shared: Arc<Shared>,
    ended: Arc<AtomicBool>,
}

impl Proxy {
    /// In front of a server, `http://127.0.0.1:PORT`.
    pub fn start(upstream: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let upstream = upstream.trim_start_matches("http://").to_owned();
        let proxy = Self {
            url: format!("http://{address}"),
            shared: Arc::default(),
            ended: Arc::default(),
        };
        let (shared, ended) = (Arc::clone(&proxy.shared), Arc::clone(&proxy.ended));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                let (shared, upstream) = (Arc::clone(&shared), upstream.clone());
                std::thread::spawn(move || {
                    let _ = serve(stream, &upstream, &shared);
                });
            }
        });
        proxy
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// The next request whose first line contains `word` fares so.
    pub fn fault(&self, word: &'static str, fault: Fault) {
        self.shared.plan.lock().unwrap().faults.push((word, fault));
    }

    /// Whether every fault has happened.
    pub fn is_over(&self) -> bool {
        self.shared.plan.lock().unwrap().faults.is_empty()
    }

    /// Whether an answer waits for another one.
    pub fn is_holding(&self) -> bool {
        self.shared.plan.lock().unwrap().holding > 0
    }

    /// How many answers were passed by another one.
    pub fn reordered(&self) -> usize {
        self.shared.plan.lock().unwrap().reordered
    }

    /// The first lines of requests that contain a word.
    pub fn requests(&self, word: &str) -> Vec<String> {
        let plan = self.shared.plan.lock().unwrap();
        let lines = plan.requests.iter().filter(|line| line.contains(word));
        lines.cloned().collect()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        // Wakes the thread that waits for a connection.
        let _ = TcpStream::connect(self.url.trim_start_matches("http://"));
    }
}

fn serve(mut client: TcpStream, upstream: &str, shared: &Shared) -> std::io::Result<()> {
    let request = read_request(&mut client)?;
    let first = request
        .split(|byte| *byte == b'\r')
        .next()
        .unwrap_or_default();
    let line = String::from_utf8_lossy(first).into_owned();
    let fault = {
        let mut plan = shared.plan.lock().unwrap();
        plan.requests.push(line.clone());
        let at = plan.faults.iter().position(|(word, _)| line.contains(word));
        at.map(|at| plan.faults.remove(at).1)
    };
    match fault {
        Some(Fault::Status(status, body)) => refuse(&mut client, status, "", body),
        Some(Fault::Limited(body)) => refuse(&mut client, 429, "retry-after: 1\r\n", body),
        Some(Fault::ResetBefore) => reset(&client),
        Some(Fault::ResetAfter) => {
            forward(&request, upstream)?;
            reset(&client)
        }
        Some(Fault::CutBody) => {
            let answer = forward(&request, upstream)?;
            client.write_all(&answer[..answer.len() - 10])?;
            client.shutdown(Shutdown::Both)
        }
        Some(Fault::Slow(late)) => {
            let answer = forward(&request, upstream)?;
            std::thread::sleep(late);
            client.write_all(&answer)?;
            client.shutdown(Shutdown::Both)
        }
        Some(Fault::Silence) => {
            // Until the other side gives up.
            let mut rest = [0; 64];
            while client.read(&mut rest)? > 0 {}
            Ok(())
        }
        Some(Fault::Twice) => {
            forward(&request, upstream)?;
            relay(&request, upstream, &mut client)
        }
        Some(Fault::Reorder(word)) => {
            let answer = forward(&request, upstream)?;
            shared.wait_for(word);
            client.write_all(&answer)?;
            client.shutdown(Shutdown::Both)
        }
        None => {
            relay(&request, upstream, &mut client)?;
            shared.plan.lock().unwrap().delivered.push(line);
            shared.delivery.notify_all();
            Ok(())
        }
    }
}

impl Shared {
    /// Waits until another answer was delivered.
    fn wait_for(&self, word: &str) {
        let mut plan = self.plan.lock().unwrap();
        plan.holding += 1;
        let before = plan.delivered.len();
        let missing = |plan: &mut Plan| {
            let mut later = plan.delivered[before..].iter();
            !later.any(|line| line.contains(word))
        };
        let waited = self.delivery.wait_timeout_while(plan, HELD, missing);
        let (mut plan, waited) = waited.unwrap();
        plan.holding -= 1;
        if !waited.timed_out() {
            plan.reordered += 1;
        }
    }
}

fn refuse(client: &mut TcpStream, status: u16, more: &str, body: &str) -> std::io::Result<()> {
    let answer = format!(
        "HTTP/1.1 {status} Fault\r\ncontent-type: application/json\r\n{more}content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    client.write_all(answer.as_bytes())?;
    client.shutdown(Shutdown::Both)
}

/// The whole request, without the wish to keep the connection.
fn read_request(client: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut read = Vec::new();
    let mut buffer = [0; 16_384];
    loop {
        let head = read.windows(4).position(|four| four == b"\r\n\r\n");
        if let Some(head) = head {
            let text = String::from_utf8_lossy(&read[..head]).to_lowercase();
            let length = text
                .lines()
                .find_map(|line| line.strip_prefix("content-length:"))
                .map_or(0, |length| length.trim().parse().unwrap_or(0));
            if read.len() >= head + 4 + length {
                let mut request = read[..head].to_vec();
                request.extend_from_slice(b"\r\nconnection: close");
                request.extend_from_slice(&read[head..]);
                return Ok(request);
            }
        }
        match client.read(&mut buffer)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            count => read.extend_from_slice(&buffer[..count]),
        }
    }
}

fn forward(request: &[u8], upstream: &str) -> std::io::Result<Vec<u8>> {
    let mut server = TcpStream::connect(upstream)?;
    server.write_all(request)?;
    let mut answer = Vec::new();
    copy_answer(&mut server, &mut answer)?;
    Ok(answer)
}

/// Copies one answer as it comes: as long as it says that it is, or to the end of the connection. It says that the
/// connection ends with it.
fn copy_answer(server: &mut TcpStream, to: &mut impl Write) -> std::io::Result<()> {
    let mut head = Vec::new();
    let mut buffer = [0; 16_384];
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        match server.read(&mut buffer)? {
            0 => return to.write_all(&head),
            count => head.extend_from_slice(&buffer[..count]),
        }
    }
    let mut left = rest_of(&head);
    let first = head.windows(2).position(|two| two == b"\r\n").unwrap_or(0);
    to.write_all(&head[..first])?;
    to.write_all(b"\r\nconnection: close")?;
    to.write_all(&head[first..])?;
    while left != Some(0) {
        match server.read(&mut buffer)? {
            0 => return Ok(()),
            count => {
                to.write_all(&buffer[..count])?;
                left = left.map(|left| left.saturating_sub(count));
            }
        }
    }
    Ok(())
}

/// The bytes that are missing of an answer; none = it does not say.
fn rest_of(answer: &[u8]) -> Option<usize> {
    let head = answer.windows(4).position(|four| four == b"\r\n\r\n")?;
    let text = String::from_utf8_lossy(&answer[..head]).to_lowercase();
    let length = text
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"))?;
    let length: usize = length.trim().parse().ok()?;
    Some((head + 4 + length).saturating_sub(answer.len()))
}

/// Ends the wait for the server as soon as the client is gone, as a real proxy does.
fn relay(request: &[u8], upstream: &str, client: &mut TcpStream) -> std::io::Result<()> {
    let mut server = TcpStream::connect(upstream)?;
    server.write_all(request)?;
    let (mut watched, closing) = (client.try_clone()?, server.try_clone()?);
    let watch = std::thread::spawn(move || {
        let mut byte = [0; 1];
        if !matches!(watched.read(&mut byte), Ok(1..)) {
            let _ = closing.shutdown(Shutdown::Both);
        }
    });
    let copied = copy_answer(&mut server, client);
    let _ = client.shutdown(Shutdown::Both);
    let _ = watch.join();
    copied
}

fn reset(client: &TcpStream) -> std::io::Result<()> {
    rustix::net::sockopt::set_socket_linger(client, Some(Duration::ZERO))?;
    client.shutdown(Shutdown::Both)
}
