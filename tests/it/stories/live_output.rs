//! What a running tool shows to people who watch: at once, and without secrets, however the output is cut.

use serde_json::{Value, json};

use crate::support::daemon::{DEADLINE, Daemon, Home, client};

/// Reads the stream of events and collects what tools show, until one piece satisfies `done`.
struct Watched {
    stream: reqwest::Response,
    unread: Vec<u8>,
    /// The pieces that came, joined.
    shown: String,
}

impl Watched {
    async fn open(daemon: &Daemon, session: &str) -> Self {
        let stream = client()
            .get(format!("{}/v1/events?deltas={session}", daemon.base))
            .bearer_auth(&daemon.token)
            .send()
            .await
            .unwrap();
        Self {
            stream,
            unread: Vec::new(),
            shown: String::new(),
        }
    }

    /// Goes on until an event makes `done` true: its kind, and what is shown by then.
    async fn until(&mut self, done: impl Fn(&str, &str) -> bool) {
        let reading = async {
            loop {
                while let Some(end) = self.unread.windows(2).position(|two| two == b"\n\n") {
                    let frame: Vec<u8> = self.unread.drain(..end + 2).collect();
                    let frame = String::from_utf8(frame).unwrap();
                    let data = frame.lines().find_map(|line| line.strip_prefix("data:"));
                    let Some(event) =
                        data.and_then(|data| serde_json::from_str::<Value>(data).ok())
                    else {
                        continue;
                    };
                    let kind = event["kind"].as_str().unwrap_or_default().to_owned();
                    if kind == "tool.output" {
                        self.shown.push_str(event["text"].as_str().expect("a text"));
                    }
                    if done(&kind, &self.shown) {
                        return;
                    }
                }
                let more = self.stream.chunk().await.unwrap().expect("an open stream");
                self.unread.extend_from_slice(&more);
            }
        };
        let ended = tokio::time::timeout(DEADLINE, reading).await;
        assert!(ended.is_ok(), "shown by now: {}", self.shown);
    }
}

#[tokio::test]
async fn a_secret_that_comes_in_two_pieces_is_not_shown_and_a_line_comes_at_once() {
    let home = Home::new("");
    let daemon = home.daemon();
    let workspace = home.workspace("api");
    // A registered secret that the script itself does not name.
    let (first, second) = daemon.token.split_at(daemon.token.len() / 2);
    let write = |name: &str, text: &str| std::fs::write(workspace.join(name), text).unwrap();
    write("first", first);
    write("second", second);
    // More than one piece holds, and its end is in the secret.
    write(
        "long",
        &format!("{}{}\n", "x".repeat(4096 - first.len()), daemon.token),
    );
    let script = "echo a plain line; cat first; sleep 0.5; cat second; echo; sleep 0.5; cat long; \
                  while [ ! -e go ]; do sleep 0.05; done; echo the end";
    let session = daemon.session().await;
    let mut watched = Watched::open(&daemon, &session).await;
    let call = json!({ "script": script });
    daemon
        .send(&session, &format!("TOOL:execute_command{call}\nSAY:done"))
        .await;
    let asked = daemon.wait_approval().await;
    assert_eq!(daemon.decide(&asked, "approve").await.0, 200);
    watched
        .until(|_, shown| shown.contains("a plain line\n") && shown.contains("xxx"))
        .await;
    write("go", "");
    watched.until(|kind, _| kind == "tool.finished").await;
    let shown = watched.shown;
    assert!(!shown.contains(&daemon.token), "{shown}");
    assert!(!shown.contains(first), "{shown}");
    assert!(!shown.contains(second), "{shown}");
    assert!(shown.contains("[redacted]"), "{shown}");
    assert!(shown.contains("the end\n"), "{shown}");
}
