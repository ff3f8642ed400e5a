//! The real binary as a daemon, with a home of its own, driven over HTTP.
//!
//! Every wait has a deadline; a daemon that is dropped is killed.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Longest wait for anything.
pub const DEADLINE: Duration = Duration::from_secs(20);

/// A directory with configuration, data and workspaces, that outlives daemons.
pub struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    /// A home with this configuration file. `{home}` in it becomes the home's path.
    pub fn new(config: &str) -> Self {
        let dir = tempfile::Builder::new()
            .prefix("lf")
            .tempdir()
            .expect("a temporary directory");
        let home = dir.path().to_str().expect("a UTF-8 path").to_owned();
        std::fs::create_dir(dir.path().join("config")).expect("the configuration directory");
        std::fs::write(
            dir.path().join("config/config.toml"),
            config.replace("{home}", &home),
        )
        .expect("the configuration");
        let mode = |path: PathBuf, bits| {
            // Whatever the umask of whoever runs the tests: others may not write it.
            std::fs::set_permissions(path, PermissionsExt::from_mode(bits)).expect("the mode");
        };
        mode(dir.path().join("config"), 0o755);
        mode(dir.path().join("config/config.toml"), 0o644);
        Self { dir }
    }

    /// The home's path.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The data directory.
    pub fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// The default workspace of a channel.
    pub fn workspace(&self, channel: &str) -> PathBuf {
        self.dir.path().join("data-workspaces").join(channel)
    }

    /// The binary with this home and nothing of the test's own environment. `LEVERFRAME_TEST_BINARY` names another
    /// build of it: one of the profile that is shipped.
    pub fn command(&self) -> Command {
        let binary = std::env::var_os("LEVERFRAME_TEST_BINARY")
            .unwrap_or_else(|| env!("CARGO_BIN_EXE_leverframe").into());
        let mut command = Command::new(binary);
        command
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.dir.path())
            .env("TERM", "xterm-256color")
            .arg("--config")
            .arg(self.dir.path().join("config/config.toml"))
            .arg("--data-dir")
            .arg(self.data());
        command
    }

    /// Starts a daemon on a free loopback port and waits until it says where.
    pub fn daemon(&self) -> Daemon {
        self.daemon_with(&[])
    }

    /// The same with extra environment variables.
    pub fn daemon_with(&self, environment: &[(&str, &str)]) -> Daemon {
        self.try_daemon_with(environment)
            .expect("the daemon listens")
    }

    /// The same; none when it ended before it listened.
    pub fn try_daemon_with(&self, environment: &[(&str, &str)]) -> Option<Daemon> {
        self.start(self.command(), environment, "127.0.0.1:0")
    }

    /// A daemon on this address.
    pub fn daemon_at(&self, address: &str) -> Daemon {
        self.start(self.command(), &[], address)
            .expect("the daemon listens")
    }

    /// A daemon that is started through other programs: the words of the command follow these.
    pub fn daemon_through(&self, words: &[&str], environment: &[(&str, &str)]) -> Daemon {
        let own = self.command();
        let (program, before) = words.split_first().expect("a program");
        let mut command = Command::new(program);
        command
            .args(before)
            .arg(own.get_program())
            .args(own.get_args());
        command.env_clear();
        for (name, value) in own.get_envs() {
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        self.start(command, environment, "127.0.0.1:0")
            .expect("the daemon listens")
    }

    /// A daemon that finds its configuration file by itself, below the home.
    pub fn daemon_without_config(&self) -> Daemon {
        let own = self.command();
        let mut command = Command::new(own.get_program());
        command.args(own.get_args().skip(2)).env_clear();
        for (name, value) in own.get_envs() {
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        self.start(command, &[], "127.0.0.1:0")
            .expect("the daemon listens")
    }

    fn start(
        &self,
        mut command: Command,
        environment: &[(&str, &str)],
        listen: &str,
    ) -> Option<Daemon> {
        let stderr = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.dir.path().join("stderr.log"))
            .expect("the log");
        let mut child = command
            .args(["--daemon", "--listen", listen])
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .expect("the binary starts");
        let stdout = child.stdout.take().expect("a pipe");
        let (said, heard) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if said.send(line).is_err() {
                    break;
                }
            }
        });
        let deadline = Instant::now() + DEADLINE;
        loop {
            match heard.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    if let Some(base) = line
                        .strip_prefix("listening on ")
                        .filter(|url| url.starts_with("http"))
                    {
                        let client = if base.starts_with("https://") {
                            let own = self.dir.path().join("config/certificate.pem");
                            let own = std::fs::read(own).expect("its certificate");
                            client_that_trusts(&own)
                        } else {
                            client()
                        };
                        let token = std::fs::read_to_string(self.data().join("token"))
                            .expect("the token file");
                        return Some(Daemon {
                            child,
                            base: base.trim().to_owned(),
                            token: token.trim().to_owned(),
                            client,
                        });
                    }
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    let _ = child.wait();
                    return None;
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    let _ = child.kill();
                    panic!("the daemon did not listen in time: {}", self.log());
                }
            }
        }
    }

    /// Everything daemons of this home wrote to standard error.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("stderr.log")).unwrap_or_default()
    }
}

/// An HTTP client that trusts nobody and follows nothing.
pub fn client() -> reqwest::Client {
    // Needed once per process even for plain HTTP; a second installation is refused and harmless.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .timeout(DEADLINE)
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .expect("an HTTP client")
}

/// An HTTP client that trusts this certificate in PEM and no other.
pub fn client_that_trusts(pem: &[u8]) -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let certificate = reqwest::Certificate::from_pem(pem).expect("a certificate");
    reqwest::Client::builder()
        .timeout(DEADLINE)
        .redirect(reqwest::redirect::Policy::none())
        .tls_certs_only([certificate])
        .build()
        .expect("an HTTP client")
}

/// A running daemon.
pub struct Daemon {
    child: Child,
    /// `http://127.0.0.1:PORT`, or `https://…` where the configuration names a certificate.
    pub base: String,
    /// The admin token.
    pub token: String,
    client: reqwest::Client,
}

/// Where approvals that wait for a person are listed.
const PENDING: &str = "/v1/approvals?state=pending";

/// The items of a list; none where it has no such field.
fn items(list: &Value) -> Vec<Value> {
    list["items"].as_array().cloned().unwrap_or_default()
}

impl Daemon {
    /// Sends a request; the status and the JSON body (null when there is none).
    pub async fn request(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        self.try_request(method, path, body)
            .await
            .unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    /// The same; an error when the daemon is gone.
    pub async fn try_request(
        &self,
        method: &str,
        path: &str,
        body: Option<Value>,
    ) -> Result<(u16, Value), reqwest::Error> {
        let method = method.parse().expect("a method");
        let mut request = self
            .client
            .request(method, format!("{}{path}", self.base))
            .bearer_auth(&self.token);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let response = request.send().await?;
        let status = response.status().as_u16();
        let text = response.text().await?;
        Ok((status, serde_json::from_str(&text).unwrap_or(Value::Null)))
    }

    /// POST under an idempotency key; an error when the daemon is gone.
    pub async fn try_post_keyed(
        &self,
        path: &str,
        key: &str,
        body: Value,
    ) -> Result<(u16, Value), reqwest::Error> {
        let response = self
            .client
            .post(format!("{}{path}", self.base))
            .bearer_auth(&self.token)
            .header("Idempotency-Key", key)
            .json(&body)
            .send()
            .await?;
        let status = response.status().as_u16();
        let text = response.text().await?;
        Ok((status, serde_json::from_str(&text).unwrap_or(Value::Null)))
    }

    /// GET; must answer 200.
    pub async fn get(&self, path: &str) -> Value {
        let (status, body) = self.request("GET", path, None).await;
        assert_eq!(status, 200, "GET {path}: {body}");
        body
    }

    /// POST; must answer 2xx.
    pub async fn post(&self, path: &str, body: Value) -> Value {
        let (status, answer) = self.request("POST", path, Some(body)).await;
        assert!(
            (200..300).contains(&status),
            "POST {path}: {status} {answer}"
        );
        answer
    }

    /// Opens a session on `api` and returns its id.
    pub async fn session(&self) -> String {
        let session = self.post("/v1/sessions", json!({})).await;
        session["id"].as_str().expect("a session id").to_owned()
    }

    /// Sends a message and returns the continuation's id.
    pub async fn send(&self, session: &str, text: &str) -> String {
        let accepted = self
            .post(
                &format!("/v1/sessions/{session}/messages"),
                json!({ "text": text }),
            )
            .await;
        accepted["continuation_id"]
            .as_str()
            .expect("a continuation id")
            .to_owned()
    }

    /// Waits until a GET satisfies a condition.
    pub async fn wait(&self, path: &str, what: &str, condition: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let body = self.get(path).await;
            if condition(&body) {
                return body;
            }
            if Instant::now() >= deadline {
                let engine = self.get("/v1/snapshot").await["engine"].clone();
                panic!("{what} did not come true in time: {body:#}\n{engine:#}");
            }
            tokio::time::sleep(Duration::from_millis(15)).await;
        }
    }

    /// Waits until a continuation is in a state.
    pub async fn wait_state(&self, continuation: &str, state: &str) -> Value {
        let path = format!("/v1/continuations/{continuation}");
        self.wait(&path, &format!("state {state}"), |body| {
            body["state"] == state
        })
        .await
    }

    /// Approvals of a kind, answered or not.
    pub async fn approvals_of(&self, kind: &str) -> Vec<Value> {
        let mut all = items(&self.get("/v1/approvals").await);
        all.retain(|item| item["kind"] == kind);
        all
    }

    /// Approvals that wait for a person now.
    pub async fn pending_approvals(&self) -> Vec<Value> {
        items(&self.get(PENDING).await)
    }

    /// The pending approvals, once there are so many.
    pub async fn wait_approvals(&self, count: usize) -> Vec<Value> {
        let so_many = |body: &Value| items(body).len() == count;
        items(&self.wait(PENDING, "pending approvals", so_many).await)
    }

    /// The first pending approval, once there is one.
    pub async fn wait_approval(&self) -> Value {
        let any = |body: &Value| !items(body).is_empty();
        self.wait(PENDING, "a pending approval", any).await["items"][0].clone()
    }

    /// The pending approval of a kind whose question says something, once there is one.
    pub async fn wait_question(&self, kind: &str, says: &str) -> Value {
        let asked = |body: &Value| {
            items(body).into_iter().find(|item| {
                let question = item["question"].as_str();
                item["kind"] == kind && question.is_some_and(|text| text.contains(says))
            })
        };
        let list = self.wait(PENDING, says, |body| asked(body).is_some()).await;
        asked(&list).expect("it was there")
    }

    /// Decides an approval with its current digest.
    pub async fn decide(&self, approval: &Value, decision: &str) -> (u16, Value) {
        let id = approval["id"].as_str().expect("an id");
        let mut body = json!({ "decision": decision, "digest": approval["digest"] });
        if approval["risk"] == "critical" {
            body["confirm_code"] = approval["short_code"].clone();
        }
        self.request("POST", &format!("/v1/approvals/{id}/decision"), Some(body))
            .await
    }

    /// The same daemon, asked by another client from now on.
    pub fn with_client(mut self, client: reqwest::Client) -> Self {
        self.client = client;
        self
    }

    /// Process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// kill -9, and waits until it is gone.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Sends a signal.
    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).expect("the daemon runs");
    }

    /// SIGTERM, and waits; the exit status.
    pub fn terminate(&mut self) -> std::process::ExitStatus {
        let pid = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        self.wait_exit().expect("it ends after SIGTERM")
    }

    /// Waits until it ended by itself; none when it did not in time.
    pub fn wait_exit(&mut self) -> Option<std::process::ExitStatus> {
        let deadline = Instant::now() + DEADLINE;
        while Instant::now() < deadline {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        None
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.kill();
    }
}
