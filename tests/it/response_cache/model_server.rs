//! A model that counts how often it is asked, and can be held until the test lets it answer.
//!
//! It speaks streamed chat completions; what it says follows from the question and the number of the call.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::support::without_sender;

/// A running model.
pub struct ModelServer {
    pub base_url: String,
    calls: Arc<AtomicUsize>,
    hold: watch::Sender<bool>,
    work: tokio::task::JoinHandle<()>,
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.work.abort();
    }
}

impl ModelServer {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let calls = Arc::new(AtomicUsize::new(0));
        let hold = watch::Sender::new(false);
        let (counted, held) = (Arc::clone(&calls), hold.clone());
        let work = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let number = counted.fetch_add(1, Ordering::SeqCst) + 1;
                let held = held.subscribe();
                tokio::spawn(answer(socket, number, held));
            }
        });
        Self {
            base_url: format!("http://{address}/v1"),
            calls,
            hold,
            work,
        }
    }

    /// How often it was asked.
    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    /// Answers nothing until it is let go.
    pub fn hold(&self, hold: bool) {
        self.hold.send_replace(hold);
    }
}

async fn answer(mut socket: TcpStream, number: usize, mut held: watch::Receiver<bool>) {
    let Some(request) = Box::pin(read(&mut socket)).await else {
        return;
    };
    let _ = held.wait_for(|held| !held).await;
    let question = request["messages"]
        .as_array()
        .and_then(|messages| {
            messages
                .iter()
                .rev()
                .find(|message| message["role"] == "user")
        })
        .and_then(|message| message["content"].as_str())
        .map(without_sender)
        .unwrap_or_default()
        .to_owned();
    let after_tool = request["messages"]
        .as_array()
        .and_then(|messages| messages.last())
        .is_some_and(|message| message["role"] == "tool");
    let reply = if question.contains("BREAK") {
        "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}".to_owned()
    } else {
        let (delta, finish) = if question.contains("TOOLS") && !after_tool {
            let call = json!({"tool_calls": [{"index": 0, "id": "c1", "type": "function",
                "function": {"name": "list_files", "arguments": "{}"}}]});
            (call, "tool_calls")
        } else if question.contains("CUT") {
            (json!({"content": "and so"}), "length")
        } else {
            let secret = if question.contains("SECRET") {
                " sk-canarycanarycanarycanary1234"
            } else {
                ""
            };
            let text = format!("answer {number} to {question}{secret}");
            (json!({ "content": text }), "stop")
        };
        let mut body = String::new();
        for chunk in [
            json!({"id": "x", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]}),
            json!({"id": "x", "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}),
            json!({"id": "x", "choices": [], "usage": {"prompt_tokens": 1000, "completion_tokens": 204,
                "total_tokens": 1204}}),
        ] {
            body.push_str(&format!("data: {chunk}\n\n"));
        }
        body.push_str("data: [DONE]\n\n");
        format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        )
    };
    let _ = socket.write_all(reply.as_bytes()).await;
    let _ = socket.shutdown().await;
}

async fn read(socket: &mut TcpStream) -> Option<Value> {
    let mut bytes = Vec::new();
    let mut chunk = [0_u8; 16 * 1024];
    loop {
        let whole = bytes
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .and_then(|end| {
                let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
                let length: usize = head
                    .lines()
                    .find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok())?;
                serde_json::from_slice(bytes.get(end + 4..end + 4 + length)?).ok()
            });
        if whole.is_some() {
            return whole;
        }
        let count = socket.read(&mut chunk).await.ok()?;
        if count == 0 {
            return None;
        }
        bytes.extend_from_slice(&chunk[..count]);
    }
}
