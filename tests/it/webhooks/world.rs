//! A daemon with a webhook channel, and a system that signs what it posts.

use std::sync::{Arc, Mutex};

use leverframe::channels::webhook::signature::{SIGNATURE_HEADER, TIMESTAMP_HEADER, sign, verify};
use leverframe::clock::Clock;
use leverframe::config::settings::Secret;
use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Home, client};
use crate::support::fake_http::{FakeHttp, Reply, Request};

/// The secret of the channel.
pub const SECRET: &str = "a secret of forty-two characters, at least";

/// A home with the channel `shop`; `more` stands in its table.
pub fn home(more: &str) -> Home {
    Home::new(&format!(
        "[model]\nallow_scripted_on_channels = true\n\n[channels.shop]\nkind = \"webhook\"\nsecret_env = \"SHOP_SECRET\"\n\
         autonomy = \"supervised\"\nallowed_users = [\"ada\"]\n{more}\n"
    ))
}

/// A daemon whose channel takes requests.
pub async fn start(home: &Home, environment: &[(&str, &str)]) -> Daemon {
    let mut all = vec![("SHOP_SECRET", SECRET)];
    all.extend_from_slice(environment);
    let daemon = home.daemon_with(&all);
    daemon
        .wait("/v1/channels/shop", "it listens", |channel| {
            channel["health"]["state"] == "connected"
        })
        .await;
    daemon
}

/// The seconds since 1970.
pub fn now() -> i64 {
    Clock::System.now().as_millis() / 1000
}

/// Posts a body with these headers; status and JSON.
pub async fn post(daemon: &Daemon, headers: &[(&str, String)], body: Vec<u8>) -> (u16, Value) {
    let mut request = client()
        .post(format!("{}/webhooks/shop", daemon.base))
        .header("content-type", "application/json")
        .body(body);
    for (name, value) in headers {
        request = request.header(*name, value);
    }
    let response = request.send().await.expect("an answer");
    let status = response.status().as_u16();
    (status, response.json().await.unwrap_or(Value::Null))
}

/// Posts a signed message.
pub async fn say(daemon: &Daemon, message: &Value, wait: Option<u64>) -> (u16, Value) {
    let body = message.to_string().into_bytes();
    let seconds = now();
    let signature = sign(&Secret::new(SECRET), seconds, &body).unwrap();
    let mut headers = vec![
        (TIMESTAMP_HEADER, seconds.to_string()),
        (SIGNATURE_HEADER, signature),
    ];
    if let Some(wait) = wait {
        headers.push(("prefer", format!("wait={wait}")));
    }
    post(daemon, &headers, body).await
}

pub fn message(id: &str, text: &str) -> Value {
    json!({"id": id, "sender": {"id": "ada", "name": "Ada"}, "text": text})
}

/// What a system got at its address, in order.
pub type Got = Arc<Mutex<Vec<(String, Value)>>>;

/// A system that takes what the channel sends, after `faults` answers of another kind. It takes nothing that is not signed.
pub fn system(faults: Vec<Reply>) -> (FakeHttp, Got) {
    let got: Got = Arc::default();
    let (seen, faults) = (Arc::clone(&got), Mutex::new(faults));
    let http = FakeHttp::start(move |request: &Request| {
        let genuine = verify(
            &Secret::new(SECRET),
            Clock::System.now(),
            &request.headers,
            &request.raw,
        );
        if let Err(fault) = genuine {
            return Reply::Json(401, json!({"error": fault.to_string()}));
        }
        let mut seen = seen.lock().unwrap();
        seen.push((request.key.clone(), request.body.clone()));
        let mut faults = faults.lock().unwrap();
        if faults.is_empty() {
            Reply::Json(200, json!({}))
        } else {
            faults.remove(0)
        }
    });
    (http, got)
}

/// Posts a signed body; none when no answer came.
pub async fn post_at(url: &str, body: Vec<u8>) -> Option<u16> {
    let seconds = now();
    let signature = sign(&Secret::new(SECRET), seconds, &body).unwrap();
    let request = client()
        .post(format!("{url}/webhooks/shop"))
        .header("content-type", "application/json")
        .header(TIMESTAMP_HEADER, seconds.to_string())
        .header(SIGNATURE_HEADER, signature)
        .body(body);
    let response = request.send().await.ok()?;
    Some(response.status().as_u16())
}
