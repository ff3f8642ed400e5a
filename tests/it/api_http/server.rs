//! A server over the scripted engine, and a raw HTTP/1.1 caller that can send what a library would not.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use leverframe::api::report::NoReport;
use leverframe::api::serve::{Serving, TcpOptions, Timing, serve_tcp, serve_unix};
use leverframe::api::token::{StaticTokens, TokenVerifier};
use leverframe::client::console_client::ConsoleClient;
use leverframe::client::remote::target::Target;
use leverframe::client::webhooks::Webhooks;
use leverframe::config::server::ListenerLimits;
use leverframe::protocol::enums::Scope;
use leverframe::protocol::token::{TokenRecord, hash_token};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

pub const ADMIN: &str = "lf_admin";
pub const READER: &str = "lf_reader";
pub const BLIND: &str = "lf_blind";

pub fn tokens() -> StaticTokens {
    let record = |name: &str, token: &str, scopes: &[Scope]| TokenRecord {
        name: name.to_owned(),
        hash: hash_token(token),
        scopes: scopes.to_vec(),
        person: None,
        expires_at: None,
    };
    StaticTokens::new(vec![
        record("reader", READER, &[Scope::Read]),
        record("admin", ADMIN, Scope::ALL),
        record("blind", BLIND, &[Scope::Operate]),
    ])
}

pub fn quick() -> Timing {
    Timing {
        ping: Duration::from_millis(50),
        stall: Duration::from_millis(300),
        head: Timing::default().head,
    }
}

pub struct Server {
    pub address: SocketAddr,
    pub shutdown: CancellationToken,
    pub serving: Option<Serving>,
}

impl Server {
    pub async fn start(client: Arc<dyn ConsoleClient>) -> Self {
        Self::start_with(client, Arc::new(tokens()), Timing::default()).await
    }

    pub async fn start_with(
        client: Arc<dyn ConsoleClient>,
        verifier: Arc<dyn TokenVerifier>,
        timing: Timing,
    ) -> Self {
        let shutdown = CancellationToken::new();
        let any = "127.0.0.1:0".parse().unwrap();
        let options = TcpOptions {
            address: any,
            tls: None,
            limits: ListenerLimits::default(),
            verifier,
            report: Arc::new(NoReport),
        };
        let serving = serve_tcp(
            options,
            client,
            Webhooks::default(),
            timing,
            shutdown.clone(),
        )
        .await
        .unwrap();
        Self {
            address: serving.address.unwrap(),
            shutdown,
            serving: Some(serving),
        }
    }

    pub fn target(&self, token: &str) -> Target {
        Target::Http {
            base: format!("http://{}", self.address).parse().unwrap(),
            token: token.to_owned(),
        }
    }

    /// One request with exactly these header lines.
    pub async fn raw(&self, line: &str, headers: &[&str], body: &str) -> Reply {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let mut text = format!("{line} HTTP/1.1\r\nConnection: close\r\n");
        for header in headers {
            text.push_str(header);
            text.push_str("\r\n");
        }
        if !body.is_empty() {
            text.push_str("Content-Length: ");
            text.push_str(&body.len().to_string());
            text.push_str("\r\n");
        }
        text.push_str("\r\n");
        text.push_str(body);
        // A server that refuses early may close before everything was written.
        let _ = stream.write_all(text.as_bytes()).await;
        let mut whole = Vec::new();
        let read = tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut whole));
        let _ = read.await.expect("an answer within ten seconds");
        Reply::parse(&String::from_utf8_lossy(&whole))
    }

    /// A request as a well-behaved client with the admin token sends it.
    pub async fn call(&self, line: &str, body: &str) -> Reply {
        self.call_with(line, &[], body).await
    }

    /// The same with more headers.
    pub async fn call_with(&self, line: &str, more: &[&str], body: &str) -> Reply {
        let mut headers = vec!["Host: 127.0.0.1", "Authorization: Bearer lf_admin"];
        headers.extend(more);
        if !body.is_empty() {
            headers.push("Content-Type: application/json");
        }
        self.raw(line, &headers, body).await
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shutdown.cancel();
    }
}

#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Reply {
    fn parse(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok())
            .unwrap_or(0);
        Self {
            status,
            head: head.to_ascii_lowercase(),
            body: body.to_owned(),
        }
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {} {:?}", self.head, self.body))
    }
}

/// A unix socket in a fresh directory.
pub async fn unix(
    client: Arc<dyn ConsoleClient>,
) -> (tempfile::TempDir, PathBuf, CancellationToken, Serving) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data").join("leverframe.sock");
    let shutdown = CancellationToken::new();
    let serving = serve_unix(
        &path,
        client,
        Webhooks::default(),
        Timing::default(),
        shutdown.clone(),
    )
    .await
    .unwrap();
    (dir, path, shutdown, serving)
}
