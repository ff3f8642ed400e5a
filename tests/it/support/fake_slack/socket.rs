//! Socket Mode: one socket, from its hello to its end.

use std::sync::Arc;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

use crate::support::fake_slack::Shared;
use crate::support::fake_slack::http::{Request, plain};

/// What a socket is to do.
#[derive(Debug, Clone)]
pub enum Order {
    /// Write this.
    Text(String),
    /// End without a word.
    Break,
    /// Stay open, read nothing and write nothing.
    Freeze,
}

/// Serves a socket until it ends.
pub async fn serve(mut stream: TcpStream, request: &Request, shared: Arc<Shared>) {
    let ticket = request.params()["ticket"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let known = shared.change(|state| state.tickets.remove(&ticket));
    let Some(key) = request.header("sec-websocket-key").filter(|_| known) else {
        let _ = stream.write_all(&plain(403, b"")).await;
        return;
    };
    let head = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {}\r\n\r\n",
        derive_accept_key(key.as_bytes())
    );
    if stream.write_all(head.as_bytes()).await.is_err() {
        return;
    }
    let mut socket = WebSocketStream::from_raw_socket(stream, Role::Server, None).await;
    let (orders, mut ordered) = mpsc::unbounded_channel();
    let (id, hello) = shared.change(|state| state.socket_opened(orders));
    let mut frozen = false;
    if socket.send(Message::text(hello)).await.is_ok() {
        shared.change(|state| state.socket_ready(id));
        loop {
            tokio::select! {
                order = ordered.recv() => match order {
                    Some(Order::Text(text)) if !frozen => {
                        if socket.send(Message::text(text)).await.is_err() {
                            break;
                        }
                    }
                    Some(Order::Text(_)) => {}
                    Some(Order::Freeze) => frozen = true,
                    Some(Order::Break) | None => {
                        let _ = socket.get_ref().set_zero_linger();
                        break;
                    }
                },
                message = socket.next(), if !frozen => match message {
                    Some(Ok(Message::Text(text))) => {
                        let said: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
                        shared.change(|state| state.acknowledged(id, &said));
                    }
                    Some(Ok(Message::Ping(_))) => shared.change(|state| state.pings += 1),
                    Some(Ok(Message::Close(frame))) => {
                        let code = frame.map_or(0, |frame| u16::from(frame.code));
                        shared.change(|state| state.closed.push(code));
                        break;
                    }
                    Some(Ok(_)) => {}
                    Some(Err(_)) | None => break,
                },
            }
        }
    }
    shared.change(|state| state.socket_ended(id));
}

/// The first message of a socket.
pub fn hello(connections: usize) -> String {
    json!({
        "type": "hello",
        "num_connections": connections,
        "connection_info": { "app_id": "A0001" },
        "debug_info": { "host": "fake", "approximate_connection_time": 18060 },
    })
    .to_string()
}
