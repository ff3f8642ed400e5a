//! A real homeserver: Synapse, one for all tests of a run, on loopback, in a directory of its own. It ends with the run.
//!
//! Installed by `tests/peers/install.sh synapse`; where it is not, a test says so loudly.

use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::daemon::{DEADLINE, client};
use crate::support::requirement::peer;

/// A Python that begins on a busy machine.
const START: Duration = Duration::from_mins(2);
/// Between two looks.
const PACE: Duration = Duration::from_millis(50);
/// No limits: tests write more quickly than people.
const NO_LIMITS: &str = r"
rc_message: {per_second: 10000, burst_count: 10000}
rc_joins: {local: {per_second: 10000, burst_count: 10000}, remote: {per_second: 10000, burst_count: 10000}}
rc_joins_per_room: {per_second: 10000, burst_count: 10000}
rc_invites:
  per_room: {per_second: 10000, burst_count: 10000}
  per_user: {per_second: 10000, burst_count: 10000}
  per_issuer: {per_second: 10000, burst_count: 10000}
rc_room_creation: {per_second: 10000, burst_count: 10000}
";
/// Whatever the limits: everybody may come.
const COMMON: &str = r"
server_name: localhost
report_stats: false
macaroon_secret_key: test
form_secret: test
trusted_key_servers: []
suppress_key_server_warning: true
enable_registration: true
enable_registration_without_verification: true
presence: {enabled: false}
bcrypt_rounds: 4
rc_registration: {per_second: 10000, burst_count: 10000}
rc_login:
  address: {per_second: 10000, burst_count: 10000}
  account: {per_second: 10000, burst_count: 10000}
  failed_attempts: {per_second: 10000, burst_count: 10000}
";

/// A running homeserver.
pub struct Synapse {
    url: String,
    /// Holds the input of what watches over it: when this process ends, whatever way, the homeserver does.
    _watch: Child,
}

/// The homeserver without limits.
pub fn synapse(unchecked: &str) -> Option<&'static Synapse> {
    static SERVER: OnceLock<Synapse> = OnceLock::new();
    let python = peer("synapse", "bin/python", unchecked)?;
    Some(SERVER.get_or_init(|| start(&python, NO_LIMITS)))
}

/// One with the limits that Synapse has by default.
pub fn limited_synapse(unchecked: &str) -> Option<&'static Synapse> {
    static SERVER: OnceLock<Synapse> = OnceLock::new();
    let python = peer("synapse", "bin/python", unchecked)?;
    Some(SERVER.get_or_init(|| start(&python, "")))
}

fn start(python: &Path, limits: &str) -> Synapse {
    // The watcher removes it.
    let dir = tempfile::Builder::new()
        .prefix("lf-synapse")
        .tempdir()
        .unwrap()
        .keep();
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let at = dir.display();
    let config = format!(
        "{COMMON}{limits}\n\
         pid_file: {at}/pid\n\
         log_config: {at}/log.yaml\n\
         media_store_path: {at}/media\n\
         signing_key_path: {at}/signing.key\n\
         database: {{name: sqlite3, args: {{database: '{at}/homeserver.db'}}}}\n\
         listeners: [{{port: {port}, bind_addresses: [127.0.0.1], type: http, tls: false, resources: [{{names: [client]}}]}}]\n"
    );
    let log = format!(
        "version: 1\nhandlers: {{file: {{class: logging.FileHandler, filename: '{at}/log'}}}}\n\
         root: {{level: WARNING, handlers: [file]}}\ndisable_existing_loggers: false\n"
    );
    let key = "ed25519 a_test MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY\n";
    for (name, text) in [
        ("config.yaml", config.as_str()),
        ("log.yaml", log.as_str()),
        ("signing.key", key),
    ] {
        let mut file = std::fs::File::create(dir.join(name)).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }
    let output = std::fs::File::create(dir.join("output")).unwrap();
    let watch = Command::new("sh")
        .args([
            "-c",
            "\"$0\" -m synapse.app.homeserver -c \"$1/config.yaml\" </dev/null & server=$!; \
             cat >/dev/null; kill \"$server\"; wait \"$server\"; rm -rf \"$1\"",
        ])
        .arg(python)
        .arg(&dir)
        .stdin(Stdio::piped())
        .stdout(output.try_clone().unwrap())
        .stderr(output)
        .spawn()
        .unwrap();
    let deadline = Instant::now() + START;
    while !speaks_http(port) {
        assert!(
            Instant::now() < deadline,
            "Synapse did not start: {}",
            std::fs::read_to_string(dir.join("output")).unwrap_or_default()
        );
        std::thread::sleep(PACE);
    }
    Synapse {
        url: format!("http://127.0.0.1:{port}"),
        _watch: watch,
    }
}

/// Without a runtime: tests of several threads wait for one start.
fn speaks_http(port: u16) -> bool {
    use std::io::Read as _;
    let Ok(mut stream) = std::net::TcpStream::connect(("127.0.0.1", port)) else {
        return false;
    };
    let request = "GET /_matrix/client/versions HTTP/1.0\r\nHost: localhost\r\n\r\n";
    let mut answer = String::new();
    stream
        .set_read_timeout(Some(Duration::from_secs(5)))
        .is_ok()
        && stream.write_all(request.as_bytes()).is_ok()
        && stream.read_to_string(&mut answer).is_ok()
        && answer.starts_with("HTTP/1.0 200")
}

impl Synapse {
    /// Its address.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Somebody whom no other test knows. The name is the beginning of theirs.
    pub async fn user(&self, name: &str) -> Account {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{name}{number}-{}", std::process::id());
        let nobody = Account {
            base: self.url.clone(),
            user: String::new(),
            token: String::new(),
        };
        let body = json!({ "username": name, "password": "password",
                           "auth": { "type": "m.login.dummy" } });
        let account = nobody.call(Method::POST, "register", &body).await;
        Account {
            user: text(&account, "user_id"),
            token: text(&account, "access_token"),
            ..nobody
        }
    }
}

fn text(value: &Value, name: &str) -> String {
    value[name]
        .as_str()
        .unwrap_or_else(|| panic!("no {name} in {value}"))
        .to_owned()
}

/// Somebody at the homeserver, by plain HTTP.
#[derive(Clone)]
pub struct Account {
    base: String,
    /// `@name:localhost`.
    pub user: String,
    /// Its access token.
    pub token: String,
}

impl Account {
    /// A call below `/_matrix/client/v3/`: status and body.
    pub async fn try_call(&self, method: Method, path: &str, body: &Value) -> (u16, Value) {
        let url = format!("{}/_matrix/client/v3/{path}", self.base);
        let mut request = client().request(method.clone(), url);
        if !self.token.is_empty() {
            request = request.bearer_auth(&self.token);
        }
        if method != Method::GET {
            request = request.json(body);
        }
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        (status, response.json().await.unwrap_or(Value::Null))
    }

    /// A call that must succeed.
    pub async fn call(&self, method: Method, path: &str, body: &Value) -> Value {
        let (status, answer) = self.try_call(method, path, body).await;
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    /// The same account with a new token.
    pub async fn log_in(&self) -> Account {
        let body = json!({ "type": "m.login.password", "password": "password",
                           "identifier": { "type": "m.id.user", "user": self.user } });
        let answer = self.call(Method::POST, "login", &body).await;
        Account {
            token: text(&answer, "access_token"),
            ..self.clone()
        }
    }

    /// A room in which only they are, and those whom they invite.
    pub async fn room(&self, settings: Value) -> String {
        let answer = self.call(Method::POST, "createRoom", &settings).await;
        text(&answer, "room_id")
    }

    /// A room for direct messages with somebody.
    pub async fn direct_room(&self, with: &Account) -> String {
        let settings = json!({ "preset": "trusted_private_chat", "is_direct": true,
                               "invite": [with.user] });
        self.room(settings).await
    }

    pub async fn invite(&self, room: &str, whom: &Account) {
        let body = json!({ "user_id": whom.user });
        self.call(Method::POST, &format!("rooms/{room}/invite"), &body)
            .await;
    }

    pub async fn join(&self, room: &str) {
        self.call(Method::POST, &format!("join/{room}"), &json!({}))
            .await;
    }

    /// Sends an event; its id.
    pub async fn send(&self, room: &str, kind: &str, content: &Value) -> String {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let key = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = format!("rooms/{room}/send/{kind}/t{key}");
        text(&self.call(Method::PUT, &path, content).await, "event_id")
    }

    /// Writes; the id of the message.
    pub async fn say(&self, room: &str, said: &str) -> String {
        let content = json!({ "msgtype": "m.text", "body": said });
        self.send(room, "m.room.message", &content).await
    }

    /// Writes with further content.
    pub async fn say_with(&self, room: &str, said: &str, more: Value) -> String {
        let mut content = json!({ "msgtype": "m.text", "body": said });
        for (name, value) in more.as_object().unwrap() {
            content[name] = value.clone();
        }
        self.send(room, "m.room.message", &content).await
    }

    pub async fn react(&self, room: &str, event: &str, key: &str) -> String {
        let content = json!({ "m.relates_to":
            { "rel_type": "m.annotation", "event_id": event, "key": key } });
        self.send(room, "m.reaction", &content).await
    }

    pub async fn set_state(&self, room: &str, kind: &str, content: &Value) {
        self.call(Method::PUT, &format!("rooms/{room}/state/{kind}"), content)
            .await;
    }

    /// Everything in a room that they see, oldest first.
    pub async fn events(&self, room: &str) -> Vec<Value> {
        let path = format!("rooms/{room}/messages?dir=b&limit=500");
        let (status, page) = self.try_call(Method::GET, &path, &Value::Null).await;
        let chunk = page["chunk"].as_array().filter(|_| status == 200);
        let mut events = chunk.cloned().unwrap_or_default();
        events.reverse();
        events
    }

    /// What somebody said in a room, without edits, oldest first.
    pub async fn said_by(&self, room: &str, by: &Account) -> Vec<Value> {
        let mut events = self.events(room).await;
        events.retain(|event| {
            event["type"] == "m.room.message"
                && event["sender"] == by.user.as_str()
                && event["content"]["m.relates_to"]["rel_type"] != "m.replace"
                && event["content"]["body"].is_string()
        });
        events
    }

    /// The newest event of a room for which this is so, once there is one.
    pub async fn wait(&self, room: &str, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let events = self.events(room).await;
            if let Some(event) = events.iter().rfind(|event| is_it(event)) {
                return event.clone();
            }
            let told: Vec<String> = events
                .iter()
                .map(|event| event["content"].to_string())
                .collect();
            assert!(
                Instant::now() < deadline,
                "never happened: {what}\n{}",
                told.join("\n")
            );
            tokio::time::sleep(PACE).await;
        }
    }

    /// What somebody else said in a room, once it contains this.
    pub async fn hears(&self, room: &str, said: &str) -> Value {
        self.wait(room, said, |event| {
            let body = event["content"]["body"].as_str();
            event["sender"] != self.user.as_str() && body.is_some_and(|body| body.contains(said))
        })
        .await
    }

    /// Waits until somebody is in a room.
    pub async fn sees_come(&self, room: &str, who: &Account) {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let events = self.events(room).await;
            let newest = events.iter().rfind(|event| {
                event["type"] == "m.room.member" && event["state_key"] == who.user.as_str()
            });
            if newest.is_some_and(|event| event["content"]["membership"] == "join") {
                return;
            }
            assert!(Instant::now() < deadline, "{} never came", who.user);
            tokio::time::sleep(PACE).await;
        }
    }

    /// Waits until these type in a room.
    pub async fn wait_typing(&self, room: &str, who: &[&str]) {
        let deadline = Instant::now() + DEADLINE;
        // Each question differs a little, because Synapse keeps answers.
        for hold in 0.. {
            let path = format!("sync?timeout={hold}");
            let answer = self.call(Method::GET, &path, &Value::Null).await;
            let ephemeral = answer["rooms"]["join"][room]["ephemeral"]["events"].as_array();
            let typing = ephemeral.into_iter().flatten().find_map(|event| {
                (event["type"] == "m.typing").then(|| event["content"]["user_ids"].clone())
            });
            if typing.unwrap_or_else(|| json!([])) == json!(who) {
                return;
            }
            assert!(Instant::now() < deadline, "{who:?} never typed");
            tokio::time::sleep(PACE).await;
        }
    }

    /// Stores a file; its address.
    pub async fn upload(&self, name: &str, media_type: &str, content: &[u8]) -> String {
        let url = format!("{}/_matrix/media/v3/upload?filename={name}", self.base);
        let request = client()
            .post(url)
            .bearer_auth(&self.token)
            .header("content-type", media_type)
            .body(content.to_vec());
        let answer: Value = request.send().await.unwrap().json().await.unwrap();
        text(&answer, "content_uri")
    }

    /// What a file holds.
    pub async fn download(&self, mxc: &str) -> Vec<u8> {
        let path = mxc.strip_prefix("mxc://").unwrap();
        let url = format!("{}/_matrix/client/v1/media/download/{path}", self.base);
        let response = client()
            .get(url)
            .bearer_auth(&self.token)
            .send()
            .await
            .unwrap();
        assert_eq!(response.status(), 200);
        response.bytes().await.unwrap().to_vec()
    }
}
