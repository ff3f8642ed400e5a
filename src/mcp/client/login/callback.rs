//! The port of this machine to which an issuer sends the browser back.
//!
//! It listens on loopback only, takes the answer to one login only, and shows nothing of what it was sent.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::mcp::client::login::error::LoginError;

/// Longest wait for the person.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(300);
/// Longest wait for the head of one request.
const HEAD_WITHIN: Duration = Duration::from_secs(10);
/// More than the head of a browser has.
const MAX_HEAD: usize = 16 * 1024;
/// Where the answer comes to.
const PATH: &str = "/callback";

/// The port.
#[derive(Debug)]
pub struct Callback {
    listener: TcpListener,
    address: SocketAddr,
}

impl Callback {
    /// Listens; port 0 = any that is free.
    pub async fn listen(port: u16) -> Result<Self, LoginError> {
        let problem = |error: std::io::Error| {
            LoginError::Failed(format!(
                "port {port} of this machine cannot be used: {error}"
            ))
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .await
            .map_err(problem)?;
        let address = listener.local_addr().map_err(problem)?;
        Ok(Self { listener, address })
    }

    /// The address that the issuer sends the browser to.
    pub fn redirect(&self) -> String {
        redirect(self.address.port())
    }

    /// Waits for the answer with this `state`, at most `within`: the whole address that the browser asked for. Whatever
    /// else comes gets an error and ends nothing.
    pub async fn answer(self, state: &str, within: Duration) -> Result<String, LoginError> {
        let waited = async {
            loop {
                let Ok((stream, _)) = self.listener.accept().await else {
                    // No more file handles, say: somebody may close one.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                };
                let one = tokio::time::timeout(HEAD_WITHIN, self.take(stream, state));
                if let Ok(Some(answer)) = one.await {
                    return answer;
                }
            }
        };
        tokio::time::timeout(within, waited).await.map_err(|_| {
            LoginError::Failed(format!(
                "nobody consented within {} s: log in again",
                within.as_secs()
            ))
        })
    }

    async fn take(&self, mut stream: TcpStream, state: &str) -> Option<String> {
        let head = head(&mut stream).await?;
        let target = head.strip_prefix("GET ")?.split(' ').next()?;
        let address = format!("http://127.0.0.1:{}{target}", self.address.port());
        let is_answer = reqwest::Url::parse(&address).is_ok_and(|url| {
            url.path() == PATH
                && url
                    .query_pairs()
                    .any(|(key, value)| key == "state" && value == state)
        });
        let (status, text) = if is_answer {
            (
                "200 OK",
                "Leverframe has the answer. You can close this page.",
            )
        } else {
            (
                "404 Not Found",
                "Leverframe waits for the answer to another login.",
            )
        };
        let reply = format!(
            "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {}\r\n\
             cache-control: no-store\r\nconnection: close\r\n\r\n{text}",
            text.len()
        );
        // The answer is in hand, whether or not the browser reads the reply.
        let _ = stream.write_all(reply.as_bytes()).await;
        let _ = stream.shutdown().await;
        is_answer.then_some(address)
    }
}

/// The address of a port of this machine that issuers send the browser to.
pub fn redirect(port: u16) -> String {
    format!("http://127.0.0.1:{port}{PATH}")
}

/// The head of a request; none where there is no whole one.
async fn head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut chunk = [0; 1024];
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        let read = stream.read(&mut chunk).await.ok()?;
        if read == 0 || head.len() + read > MAX_HEAD {
            return None;
        }
        head.extend_from_slice(&chunk[..read]);
    }
    String::from_utf8(head).ok()
}
