//! Secrets in every input, looked for in every byte on disk and on the wire.
//!
//! A word that is no secret goes the same ways: where it does not arrive, the absence of a secret proves nothing.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};

use crate::platform_faults::encodings;
use crate::support::daemon::{Daemon, Home};
use crate::support::fake_telegram::state::User;
use crate::support::fake_telegram::{FakeTelegram, Fault};
use crate::support::record::fault;

const BEN: i64 = 100;
const ANNA: i64 = 200;
/// A provider's key, with everything in it that an encoding changes.
const KEY: &str = "c4nary/\"kEy\\+42=&zz%Q7";
/// No secret: goes wherever the key goes.
const MARKER: &str = "harmless-marker-77";

/// A provider that quotes the key in its refusal. One answer a connection.
fn leaky_provider() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let _ = stream.set_read_timeout(Some(Duration::from_millis(300)));
            let mut request = vec![0; 65_536];
            // The refusal may come before the whole request was read.
            let _ = stream.read(&mut request);
            let body = json!({ "error": { "message":
                format!("Incorrect API key provided: {KEY} ({MARKER}, {})", encodings::whole_base64(KEY.as_bytes())),
                "type": "invalid_request_error", "code": "invalid_api_key" } })
            .to_string();
            let answer = format!(
                "HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    url
}

/// Everything that was on the wire of the HTTP API.
#[derive(Default)]
struct Wire(Mutex<Vec<(String, String)>>);

impl Wire {
    async fn ask(&self, daemon: &Daemon, method: &str, path: &str, body: Option<Value>) -> Value {
        let (_, answer) = daemon.request(method, path, body).await;
        self.0
            .lock()
            .unwrap()
            .push((format!("{method} {path}"), answer.to_string()));
        answer
    }
}

/// The whole log of events as a stream gives it.
async fn events(daemon: &Daemon) -> String {
    let response = crate::support::daemon::client()
        .get(format!("{}/v1/events?after=0", daemon.base))
        .bearer_auth(&daemon.token)
        .send()
        .await
        .unwrap();
    let mut response = response;
    let mut text = String::new();
    // Until it is quiet: what is stored comes without a pause.
    while let Ok(Ok(Some(bytes))) =
        tokio::time::timeout(Duration::from_millis(700), response.chunk()).await
    {
        text.push_str(&String::from_utf8_lossy(&bytes));
    }
    text
}

/// All files below a directory but those that are meant to hold a secret.
fn files(dir: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            files(&path, found);
        } else if kind.is_file() && path.file_name().is_some_and(|name| name != "token") {
            found.push((path.display().to_string(), std::fs::read(&path).unwrap()));
        }
    }
}

fn holds(bytes: &[u8], needle: &str) -> bool {
    bytes
        .windows(needle.len())
        .any(|window| window == needle.as_bytes())
}

#[tokio::test]
async fn a_secret_put_into_every_input_is_in_no_byte_on_disk_or_on_the_wire() {
    let telegram = FakeTelegram::start();
    let token = telegram.state().token.clone();
    let home = Home::new(&format!(
        "[model]\ndefault = \"scripted/demo\"\nallow_scripted_on_channels = true\n\n\
         [providers.leaky]\nkind = \"openai-chat\"\nbase_url = \"{}\"\napi_key_env = \"LEAKY_KEY\"\n\n\
         [channels.team]\nkind = \"telegram\"\ntoken_env = \"TEAM_TOKEN\"\napi_base = \"{}\"\n\
         autonomy = \"semi_auto\"\nallowed_users = [\"{BEN}\"]\n\n\
         [people.anna]\nids = [\"telegram:{ANNA}\"]\nrole = \"owner\"\n",
        leaky_provider(),
        telegram.url()
    ));
    telegram.change(|state| state.know_chat(ANNA));
    let environment = [
        ("TEAM_TOKEN", token.as_str()),
        ("LEAKY_KEY", KEY),
        ("LEVERFRAME_LOG", "leverframe=trace,info"),
    ];
    let mut daemon = home.daemon_with(&environment);
    let admin = daemon.token.clone();
    let wire = Wire::default();
    let both = format!("{MARKER} {KEY} {token}");

    // A tool's output: a file that holds them, raw and encoded.
    let workspace = home.workspace("team");
    std::fs::create_dir_all(&workspace).unwrap();
    let mut encoded = encodings::text_forms(KEY);
    for before in ["", "u", "u:"] {
        encoded.push(encodings::whole_base64(
            format!("{before}{KEY} and more").as_bytes(),
        ));
    }
    std::fs::write(
        workspace.join("leak.txt"),
        format!("{both}\n{}\n", encoded.join("\n")),
    )
    .unwrap();
    let ben = User::new(BEN, "Ben");
    telegram.user_says(BEN, &ben, "TOOL:read_file{\"path\":\"leak.txt\"}");
    // Chat text, which comes back as the answer.
    telegram.user_says(BEN, &ben, &format!("SAY:you said {both}"));
    // Arguments of a call that is shown to people, in the chat and over HTTP.
    let args = json!({ "path": "note.txt", "content": both });
    telegram.user_says(BEN, &ben, &format!("TOOL:write_file{args}\nSAY:written"));
    // The platform quotes the token in a refusal.
    telegram.fault(
        "sendMessage",
        Fault::Refuse(400, format!("Bad Request: /bot{token}/sendMessage {both}")),
    );
    let approval = daemon.wait_approval().await;
    let id = approval["id"].as_str().unwrap().to_owned();
    let decision = json!({ "decision": "deny", "digest": approval["digest"], "reason": both });
    wire.ask(&daemon, "GET", &format!("/v1/approvals/{id}"), None)
        .await;
    let path = format!("/v1/approvals/{id}/decision");
    wire.ask(&daemon, "POST", &path, Some(decision)).await;

    // Bodies of requests: titles, texts, reasons, and an error of the provider that quotes the key.
    let opened = json!({ "title": both });
    let session = wire
        .ask(&daemon, "POST", "/v1/sessions", Some(opened))
        .await;
    let session = session["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/sessions/{session}");
    let title = json!({ "title": format!("again {both}") });
    wire.ask(&daemon, "PATCH", &path, Some(title)).await;
    let path = format!("/v1/sessions/{session}/messages?wait=20");
    let said = json!({ "text": format!("SAY:{both}") });
    wire.ask(&daemon, "POST", &path, Some(said)).await;
    let leaky = json!({ "text": format!("hello {both}"), "model": "leaky/some-model" });
    let failed = wire.ask(&daemon, "POST", &path, Some(leaky)).await;
    assert_eq!(failed["state"], "failed", "{failed:#}");
    // What is refused is quoted back to its sender only.
    let wrong = json!({ "decision": KEY, "digest": token });
    let path = format!("/v1/approvals/{id}/decision");
    daemon.request("POST", &path, Some(wrong)).await;
    let stop = json!({ "reason": both });
    wire.ask(&daemon, "POST", "/v1/emergency-stop", Some(stop))
        .await;
    wire.ask(
        &daemon,
        "POST",
        "/v1/emergency-stop/release",
        Some(json!({})),
    )
    .await;

    daemon
        .wait("/v1/outbox?limit=100", "all replies are over", |body| {
            body["items"].as_array().is_some_and(|items| {
                items
                    .iter()
                    .all(|item| !matches!(item["state"].as_str(), Some("pending" | "sending")))
            })
        })
        .await;
    for path in [
        "/v1/snapshot",
        "/v1/sessions?limit=100",
        "/v1/continuations?limit=100",
        "/v1/approvals?limit=100",
        "/v1/outbox?limit=100",
        "/v1/channels",
    ] {
        wire.ask(&daemon, "GET", path, None).await;
    }
    let list = daemon.get("/v1/continuations?limit=100").await;
    for continuation in list["items"].as_array().unwrap() {
        let id = continuation["id"].as_str().unwrap();
        let path = format!("/v1/continuations/{id}");
        wire.ask(&daemon, "GET", &path, None).await;
        wire.ask(&daemon, "GET", &format!("{path}/steps"), None)
            .await;
    }
    let path = format!("/v1/sessions/{session}/transcript");
    wire.ask(&daemon, "GET", &path, None).await;
    let stream = events(&daemon).await;
    let calls: Vec<String> = telegram
        .ledger()
        .iter()
        .map(|call| format!("{} {}", call.method, Value::Object(call.params.clone())))
        .collect();

    let mut places: Vec<(String, Vec<u8>)> = wire
        .0
        .lock()
        .unwrap()
        .iter()
        .map(|(what, text)| (what.clone(), text.clone().into_bytes()))
        .collect();
    places.push(("the stream of events".to_owned(), stream.into_bytes()));
    places.push((
        "the calls of Telegram".to_owned(),
        calls.join("\n").into_bytes(),
    ));
    // With the write-ahead log as a crash leaves it, then as a clean end does.
    daemon.kill();
    files(&home.data(), &mut places);
    drop(daemon);
    let mut daemon = home.daemon_with(&environment);
    assert!(daemon.terminate().success());
    files(&home.data(), &mut places);
    places.push(("the log".to_owned(), home.log().into_bytes()));

    let mut leaks = Vec::new();
    let secret_half = token.split_once(':').unwrap().1;
    for (name, secret) in [
        ("key", KEY),
        ("token", secret_half),
        ("admin token", &admin),
    ] {
        for (form, text) in encodings::traces(secret) {
            for (place, bytes) in &places {
                if holds(bytes, &text) {
                    leaks.push(format!("the {name} ({form}) in {place}"));
                }
            }
        }
    }
    let ways = [
        ".db",
        "the stream of events",
        "the calls of Telegram",
        "/v1/continuations?limit=100",
        "/v1/approvals?limit=100",
        "/v1/sessions?limit=100",
    ];
    for way in ways {
        assert!(
            places
                .iter()
                .any(|(place, bytes)| place.contains(way) && holds(bytes, MARKER)),
            "nothing came through to {way}, so it proves nothing"
        );
    }
    leaks.sort();
    leaks.dedup();
    assert!(leaks.is_empty(), "{}", leaks.join("\n"));
    fault(
        "secrets-in-every-input",
        "a provider's key and a bot's token in chat text, tool output and arguments, request bodies, reasons, and errors of platform and provider",
        "in no byte of the data directory, the log, the HTTP answers, the event stream or the calls to Telegram: raw, JSON, URL, base64",
    );
}
