//! The gateway: version 10 in JSON, with the codes the real one closes with.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use sha1::{Digest as _, Sha1};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role};

use crate::support::fake_discord::Shared;
use crate::support::fake_discord::http::Request;
use crate::support::fake_discord::state::{GUILD, Order, Session, State};

/// Longest payload of a client, in bytes.
const MAX_PAYLOAD: usize = 4_096;

/// What happens to a connection.
enum Then {
    GoOn,
    Close(u16),
    Drop,
}

/// A connection, as the server sees it.
struct Client {
    number: u64,
    session: Option<String>,
    /// The number of the last event it was sent.
    sent: u64,
    compressor: Option<flate2::Compress>,
}

/// Serves a client until it goes or is closed.
pub async fn serve(mut stream: TcpStream, rest: Vec<u8>, request: &Request, shared: Arc<Shared>) {
    let Some(key) = request.websocket.as_deref() else {
        return;
    };
    let number = connect(&shared);
    let mut hash = Sha1::new();
    hash.update(key.as_bytes());
    hash.update(b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    let accept = base64::engine::general_purpose::STANDARD.encode(hash.finalize());
    let head = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
    );
    if stream.write_all(head.as_bytes()).await.is_err() {
        return;
    }
    let mut socket = WebSocketStream::from_partially_read(stream, rest, Role::Server, None).await;
    let mut client = Client {
        number,
        session: None,
        sent: 0,
        compressor: request
            .query
            .contains("compress=zlib-stream")
            .then(|| flate2::Compress::new(flate2::Compression::fast(), true)),
    };
    let at_once = shared.lock().closes_with;
    let then = match at_once {
        Some(code) => Then::Close(code),
        None => talk(&mut socket, &mut client, &shared).await,
    };
    if let Then::Close(code) = then {
        let frame = CloseFrame {
            code: CloseCode::from(code),
            reason: "closed by the server".into(),
        };
        let _ = socket.close(Some(frame)).await;
        // Until the client has read it.
        let _ = tokio::time::timeout(Duration::from_secs(2), async {
            while let Some(Ok(_)) = socket.next().await {}
        })
        .await;
    }
}

fn connect(shared: &Shared) -> u64 {
    let mut state = shared.lock();
    state.connections.push(std::time::Instant::now());
    let number = state.connections.len() as u64;
    drop(state);
    shared.touch();
    number
}

async fn talk(
    socket: &mut WebSocketStream<TcpStream>,
    client: &mut Client,
    shared: &Arc<Shared>,
) -> Then {
    let interval = shared.lock().heartbeat_ms;
    let hello = json!({ "op": 10, "d": { "heartbeat_interval": interval }, "s": null, "t": null });
    if !say(socket, client, &hello).await {
        return Then::Drop;
    }
    let patience = Duration::from_millis(interval * 5 / 2);
    let mut silent_until = tokio::time::Instant::now() + patience;
    let mut version = shared.version.subscribe();
    loop {
        let orders: Vec<Order> = if client.session.is_some() {
            shared.lock().orders.drain(..).collect()
        } else {
            Vec::new()
        };
        for order in orders {
            match order {
                Order::Close(code) => return Then::Close(code),
                Order::Drop => return Then::Drop,
                Order::Say(payload) => {
                    if !say(socket, client, &payload).await {
                        return Then::Drop;
                    }
                }
                Order::Invalidate => {
                    shared.lock().sessions.clear();
                    let payload = json!({ "op": 9, "d": false });
                    if !say(socket, client, &payload).await {
                        return Then::Drop;
                    }
                }
            }
        }
        let events = news(&shared.lock(), client);
        for event in events {
            if !say(socket, client, &event).await {
                return Then::Drop;
            }
        }
        tokio::select! {
            message = socket.next() => {
                let text = match message {
                    Some(Ok(Message::Text(text))) => text.to_string(),
                    Some(Ok(Message::Close(frame))) => {
                        let code = frame.map_or(1_005, |frame| u16::from(frame.code));
                        if matches!(code, 1_000 | 1_001) && let Some(session) = &client.session {
                            shared.lock().sessions.remove(session);
                            shared.touch();
                        }
                        return Then::Drop;
                    }
                    Some(Ok(_)) => continue,
                    Some(Err(_)) | None => return Then::Drop,
                };
                if text.contains("\"op\":1,") || text.contains("\"op\": 1,") {
                    silent_until = tokio::time::Instant::now() + patience;
                }
                let (answers, then) = payload(&mut shared.lock(), client, &text);
                shared.touch();
                for answer in answers {
                    if !say(socket, client, &answer).await {
                        return Then::Drop;
                    }
                }
                if !matches!(then, Then::GoOn) {
                    return then;
                }
            }
            _ = version.changed() => {
                // Somebody else went on with the session.
                let state = shared.lock();
                let is_other = client
                    .session
                    .as_ref()
                    .and_then(|session| state.sessions.get(session))
                    .is_some_and(|session| session.connection != client.number);
                if is_other {
                    return Then::Drop;
                }
            }
            () = tokio::time::sleep_until(silent_until) => return Then::Close(4_009),
        }
    }
}

async fn say(
    socket: &mut WebSocketStream<TcpStream>,
    client: &mut Client,
    payload: &Value,
) -> bool {
    let text = payload.to_string();
    let message = match &mut client.compressor {
        None => Message::Text(text.into()),
        Some(compressor) => {
            let mut out = Vec::with_capacity(text.len() + 1_024);
            let done =
                compressor.compress_vec(text.as_bytes(), &mut out, flate2::FlushCompress::Sync);
            if done.is_err() {
                return false;
            }
            Message::Binary(out.into())
        }
    };
    socket.send(message).await.is_ok()
}

/// What a client was not sent yet.
fn news(state: &State, client: &mut Client) -> Vec<Value> {
    let Some(session) = client
        .session
        .as_ref()
        .and_then(|id| state.sessions.get(id))
    else {
        return Vec::new();
    };
    let new: Vec<Value> = session
        .events
        .iter()
        .filter(|(seq, _)| *seq > client.sent)
        .map(|(_, event)| event.clone())
        .collect();
    client.sent = client.sent.max(session.seq);
    new
}

/// What a payload of a client leads to.
fn payload(state: &mut State, client: &mut Client, text: &str) -> (Vec<Value>, Then) {
    if text.len() > MAX_PAYLOAD {
        state
            .violations
            .push("a payload of more than 4096 bytes".to_owned());
        return (Vec::new(), Then::Close(4_002));
    }
    let Ok(payload) = serde_json::from_str::<Value>(text) else {
        state
            .violations
            .push("a payload that is no JSON".to_owned());
        return (Vec::new(), Then::Close(4_002));
    };
    let data = &payload["d"];
    match payload["op"].as_u64() {
        Some(1) => {
            state.heartbeats += 1;
            let told = data.as_u64();
            if let Some(session) = client
                .session
                .as_ref()
                .and_then(|id| state.sessions.get_mut(id))
                && let Some(told) = told
            {
                if told > client.sent {
                    state
                        .violations
                        .push("a heartbeat with a number that was not sent".to_owned());
                } else {
                    // What is acknowledged is forgotten, so nobody can have it again.
                    session.acknowledged = session.acknowledged.max(told);
                    session.events.retain(|(seq, _)| *seq > told);
                }
            }
            if state.answers_heartbeats {
                (vec![json!({ "op": 11 })], Then::GoOn)
            } else {
                (Vec::new(), Then::GoOn)
            }
        }
        Some(2) if client.session.is_some() => {
            state.violations.push("a second identification".to_owned());
            (Vec::new(), Then::Close(4_005))
        }
        Some(2) => identify(state, client, data),
        Some(6) => resume(state, client, data),
        Some(3 | 4 | 8) if client.session.is_some() => (Vec::new(), Then::GoOn),
        Some(3 | 4 | 8) => (Vec::new(), Then::Close(4_003)),
        Some(_) | None => {
            state.violations.push(format!("an unknown payload {text}"));
            (Vec::new(), Then::Close(4_001))
        }
    }
}

fn identify(state: &mut State, client: &mut Client, data: &Value) -> (Vec<Value>, Then) {
    if data["token"] != json!(state.token) {
        return (Vec::new(), Then::Close(4_004));
    }
    let Some(intents) = data["intents"]
        .as_u64()
        .filter(|intents| *intents < 1 << 26)
    else {
        return (Vec::new(), Then::Close(4_013));
    };
    if intents & (1 << 15) != 0 && !state.message_content {
        return (Vec::new(), Then::Close(4_014));
    }
    if data["properties"]["os"].as_str().is_none() {
        state
            .violations
            .push("an identification without properties".to_owned());
    }
    state.identified += 1;
    if state.starts_left == 0 {
        state
            .violations
            .push("an identification beyond the limit".to_owned());
    }
    state.starts_left = state.starts_left.saturating_sub(1);
    let id = format!("session{}", state.identified);
    let ready = json!({
        "v": 10, "user": state.bot.json(), "guilds": [{ "id": GUILD.to_string(), "unavailable": true }],
        "session_id": id, "resume_gateway_url": format!("{}/resume", state.url.replace("http://", "ws://")),
        "application": { "id": state.application.to_string(), "flags": 1 << 19 }, "private_channels": [],
        "shard": [0, 1],
    });
    // The sessions of earlier connections end some time later; nobody asks for them here.
    state.sessions.clear();
    let mut session = Session {
        intents,
        connection: client.number,
        ..Session::default()
    };
    for (name, data) in [("READY", ready), ("GUILD_CREATE", state.guild())] {
        session.seq += 1;
        let event = json!({ "op": 0, "s": session.seq, "t": name, "d": data });
        session.events.push((session.seq, event));
    }
    state.sessions.insert(id.clone(), session);
    client.session = Some(id);
    (Vec::new(), Then::GoOn)
}

fn resume(state: &mut State, client: &mut Client, data: &Value) -> (Vec<Value>, Then) {
    if data["token"] != json!(state.token) {
        return (Vec::new(), Then::Close(4_004));
    }
    let id = data["session_id"].as_str().unwrap_or_default().to_owned();
    let seq = data["seq"].as_u64().unwrap_or(0);
    state.resumed.push((id.clone(), seq));
    let Some(session) = state.sessions.get_mut(&id) else {
        return (vec![json!({ "op": 9, "d": false })], Then::GoOn);
    };
    if seq > session.seq {
        state.sessions.remove(&id);
        return (Vec::new(), Then::Close(4_007));
    }
    session.connection = client.number;
    let mut missed: Vec<Value> = session
        .events
        .iter()
        .filter(|(number, _)| *number > seq)
        .map(|(_, event)| event.clone())
        .collect();
    session.seq += 1;
    let resumed = json!({ "op": 0, "s": session.seq, "t": "RESUMED", "d": { "_trace": [] } });
    missed.push(resumed);
    client.sent = session.seq;
    client.session = Some(id);
    (missed, Then::GoOn)
}
