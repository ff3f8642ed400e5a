//! What a rehearsal shows, what it cannot do, and that it leaves nothing behind.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::stories::bot::cli;
use crate::support::daemon::{Daemon, Home};
use crate::tools::harness;

/// Whether programs are confined here; says so loudly where they are not.
fn confined() -> bool {
    harness::sandbox().is_some()
}

/// An entry of a tree: what it is and what is in it.
type TreeEntry = (u32, i64, i64, Vec<u8>);

/// Everything below a directory: mode, time of the last change, and content or target.
fn tree(root: &Path) -> BTreeMap<PathBuf, TreeEntry> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(&directory).unwrap().flatten() {
            let path = entry.path();
            let meta = std::fs::symlink_metadata(&path).unwrap();
            let content = if meta.is_dir() {
                open.push(path.clone());
                Vec::new()
            } else if meta.is_symlink() {
                let target = std::fs::read_link(&path).unwrap();
                target.to_string_lossy().into_owned().into_bytes()
            } else {
                std::fs::read(&path).unwrap()
            };
            found.insert(
                path,
                (meta.mode(), meta.mtime(), meta.mtime_nsec(), content),
            );
        }
    }
    found
}

/// A daemon of which a command waits, with files in its workspace.
struct Place {
    home: Home,
    daemon: Daemon,
    asked: Value,
    turn: String,
}

impl Place {
    async fn new(script: &str, seconds: u64) -> Self {
        let home = Home::new("");
        let daemon = home.daemon();
        let workspace = home.workspace("api");
        std::fs::create_dir_all(workspace.join("notes")).unwrap();
        for (path, content) in [
            ("a.txt", "one\n"),
            ("gone.txt", "x\n"),
            ("notes/b.txt", "b\n"),
        ] {
            std::fs::write(workspace.join(path), content).unwrap();
        }
        let args = json!({ "script": script, "timeout_seconds": seconds });
        let session = daemon.session().await;
        let turn = daemon
            .send(&session, &format!("TOOL:execute_command{args}\nSAY:done"))
            .await;
        let asked = daemon.wait_approval().await;
        Self {
            home,
            daemon,
            asked,
            turn,
        }
    }

    fn workspace(&self) -> PathBuf {
        self.home.workspace("api")
    }

    fn path(&self) -> String {
        format!(
            "/v1/approvals/{}/rehearsal",
            self.asked["id"].as_str().unwrap()
        )
    }

    async fn rehearse(&self) -> Value {
        let before = tree(&self.workspace());
        let (status, shown) = self.daemon.request("POST", &self.path(), None).await;
        assert_eq!(status, 200, "{shown:#}");
        assert_eq!(
            tree(&self.workspace()),
            before,
            "the workspace is as it was"
        );
        assert_eq!(self.copies(), 0, "no copy is left");
        let still = self.daemon.wait_approval().await;
        for field in ["id", "digest", "revision", "state"] {
            assert_eq!(still[field], self.asked[field], "{field}");
        }
        shown
    }

    /// Copies of workspaces that are there.
    fn copies(&self) -> usize {
        std::fs::read_dir(self.home.data().join("rehearsals")).map_or(0, Iterator::count)
    }

    async fn audited(&self) -> Vec<Value> {
        let rows = self.daemon.get("/v1/audit?limit=100").await;
        let rows = rows["items"].as_array().unwrap().clone();
        rows.into_iter()
            .filter(|row| row["action"].as_str().unwrap().starts_with("rehearsal."))
            .collect()
    }
}

async fn eventually(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !condition().await {
        assert!(Instant::now() < deadline, "{what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rehearsal_shows_what_a_command_would_do_and_does_none_of_it() {
    if !confined() {
        return;
    }
    let script = "echo two >> a.txt; rm gone.txt; mkdir d; echo new > d/n.txt; ln -s a.txt l; \
                  chmod 700 notes/b.txt; touch notes; echo spoken; exit 3";
    let place = Place::new(script, 20).await;
    let shown = place.rehearse().await;
    assert_eq!(
        (&shown["ended"], &shown["exit_status"]),
        (&json!("exited"), &json!(3)),
        "{shown:#}"
    );
    assert_eq!(shown["output"], "spoken\n");
    let files: BTreeMap<&str, &Value> = shown["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| (file["path"].as_str().unwrap(), file))
        .collect();
    let fate = |path: &str| files[path]["fate"].as_str().unwrap();
    assert_eq!(
        files.keys().copied().collect::<Vec<_>>(),
        ["a.txt", "d/n.txt", "gone.txt", "l", "notes/b.txt"]
    );
    assert_eq!(
        [fate("a.txt"), fate("d/n.txt"), fate("gone.txt")],
        ["changed", "created", "deleted"]
    );
    assert!(files["a.txt"]["diff"].as_str().unwrap().contains("+two"));
    assert!(files["gone.txt"]["diff"].as_str().unwrap().contains("-x"));
    assert_eq!(files["l"]["note"], "a link to a.txt");
    assert!(
        files["notes/b.txt"]["note"]
            .as_str()
            .unwrap()
            .contains("mode 700")
    );
    let rows = place.audited().await;
    let actions: Vec<&str> = rows
        .iter()
        .map(|row| row["action"].as_str().unwrap())
        .collect();
    assert_eq!(actions, ["rehearsal.ended", "rehearsal.started"]);
    assert_eq!(rows[0]["subject"], place.asked["id"]);
    assert!(
        rows[0]["detail"]
            .as_str()
            .unwrap()
            .contains("exit status 3")
    );

    // It was no run of the call: the first attempt comes with the decision.
    let turn = place
        .daemon
        .get(&format!("/v1/continuations/{}", place.turn))
        .await;
    assert_eq!(turn["tool_calls"][0]["state"], "awaiting");
    let (good, said) = cli(
        &place.home,
        &["approvals", "rehearse", place.asked["id"].as_str().unwrap()],
    )
    .await;
    assert!(good, "{said}");
    for words in [
        "REHEARSAL, not a run",
        "exit status 3",
        "deleted gone.txt",
        "+two",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert_eq!(place.daemon.decide(&place.asked, "approve").await.0, 200);
    let done = place.daemon.wait_state(&place.turn, "completed").await;
    assert_eq!(done["tool_calls"][0]["attempts"], 1, "{done:#}");
    assert!(!place.workspace().join("gone.txt").exists());
    let (status, late) = place.daemon.request("POST", &place.path(), None).await;
    assert_eq!(status, 422, "{late}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rehearsal_reaches_neither_the_rest_of_the_machine_nor_the_network() {
    if !confined() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().join("evil");
    let script = format!(
        "echo x > {} || echo no outside; echo x > /etc/evil || echo no etc; \
         bash -c 'echo x > /dev/tcp/127.0.0.1/{port}' || echo no network; echo x > /tmp/t && echo own tmp",
        target.display()
    );
    let place = Place::new(&script, 20).await;
    let shown = place.rehearse().await;
    let output = shown["output"].as_str().unwrap();
    for words in ["no outside", "no etc", "no network", "own tmp"] {
        assert!(output.contains(words), "{words}: {output}");
    }
    assert!(!target.exists() && !Path::new("/etc/evil").exists());
    assert!(listener.accept().is_err(), "nobody came");
    assert_eq!(shown["files"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rehearsal_ends_when_it_takes_too_long_or_writes_too_much() {
    if !confined() {
        return;
    }
    let endless = Place::new("while :; do :; done", 1).await;
    let shown = endless.rehearse().await;
    assert_eq!(shown["ended"], "timed_out", "{shown:#}");

    let one_file = Place::new("head -c 100000000 /dev/zero > big", 30).await;
    let shown = one_file.rehearse().await;
    assert_ne!(shown["exit_status"], 0, "{shown:#}");
    let bytes = shown["files"][0]["bytes"].as_u64().unwrap();
    assert!(bytes <= 64 << 20, "{bytes}");

    let script = "for i in 1 2 3 4 5 6; do head -c 30000000 /dev/zero > f$i; done; sleep 20";
    let many_files = Place::new(script, 30).await;
    let shown = many_files.rehearse().await;
    assert_eq!(shown["ended"], "over_limit", "{shown:#}");
    assert!(
        shown["outcome"].as_str().unwrap().contains("of 64 MiB"),
        "{shown:#}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_of_a_rehearsal_that_is_cut_off() {
    if !confined() {
        return;
    }
    // A word that no other process has.
    let marker = format!("31{}.5", std::process::id());
    let place = Place::new(&format!("echo x > made; sleep {marker}"), 60).await;
    let runs = || {
        std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
            let words = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            words.starts_with(b"sleep\0") && String::from_utf8_lossy(&words).contains(&marker)
        })
    };
    let begin = || {
        let (client, id) = (cli_rehearsal(&place.home, &place.asked), place.daemon.pid());
        assert!(id > 0);
        client
    };

    // Whoever asked goes away.
    let mut asking = begin();
    eventually("it runs", async || runs()).await;
    let (status, busy) = place.daemon.request("POST", &place.path(), None).await;
    assert_eq!(status, 409, "one at a time: {busy}");
    asking.kill().unwrap();
    asking.wait().unwrap();
    eventually("it is gone", async || !runs() && place.copies() == 0).await;
    eventually("its end is audited", async || {
        let rows = place.audited().await;
        rows[0]["action"] == "rehearsal.ended"
            && rows[0]["detail"].as_str().unwrap().contains("cancelled")
    })
    .await;

    // An emergency stop ends it like everything else that runs.
    let mut asking = begin();
    eventually("it runs", async || runs()).await;
    place.daemon.post("/v1/emergency-stop", json!({})).await;
    eventually("it is stopped", async || !runs() && place.copies() == 0).await;
    asking.wait().unwrap();
    let (status, held) = place.daemon.request("POST", &place.path(), None).await;
    assert_eq!(status, 503, "{held}");
    place
        .daemon
        .post("/v1/emergency-stop/release", json!({ "waiting": "all" }))
        .await;

    // The daemon is killed: the program dies with it, the copy goes at the next start.
    let Place {
        home,
        mut daemon,
        asked,
        turn: _,
    } = place;
    let mut asking = cli_rehearsal(&home, &asked);
    eventually("it runs", async || runs()).await;
    daemon.kill();
    asking.wait().unwrap();
    eventually("the program is dead", async || !runs()).await;
    let copies = home.data().join("rehearsals");
    assert!(
        std::fs::read_dir(&copies).unwrap().count() > 0,
        "left by the dead process"
    );
    let daemon = home.daemon();
    assert!(!copies.exists(), "removed at the start");
    assert!(!home.workspace("api").join("made").exists());
    let still = daemon.wait_approval().await;
    assert_eq!(still["digest"], asked["digest"]);
}

/// The command line in the middle of a rehearsal.
fn cli_rehearsal(home: &Home, asked: &Value) -> std::process::Child {
    home.command()
        .args(["approvals", "rehearse", asked["id"].as_str().unwrap()])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn only_commands_in_workspaces_that_can_be_copied_are_rehearsed() {
    let home = Home::new("");
    let daemon = home.daemon();
    let session = daemon.session().await;
    daemon.send(&session, crate::stories::bot::WRITE).await;
    let asked = daemon.wait_approval().await;
    let path = format!("/v1/approvals/{}/rehearsal", asked["id"].as_str().unwrap());
    let (status, problem) = daemon.request("POST", &path, None).await;
    assert_eq!(status, 422, "{problem}");
    assert!(
        problem["detail"]
            .as_str()
            .unwrap()
            .contains("only a command"),
        "{problem}"
    );
    if !confined() {
        return;
    }
    let place = Place::new("true", 5).await;
    let large = std::fs::File::create(place.workspace().join("large")).unwrap();
    large.set_len(300 << 20).unwrap();
    let (status, problem) = place.daemon.request("POST", &place.path(), None).await;
    assert_eq!(status, 422, "{problem}");
    assert!(
        problem["detail"]
            .as_str()
            .unwrap()
            .contains("more than 256 MiB"),
        "{problem}"
    );
    assert_eq!(place.copies(), 0);
    let rows = place.audited().await;
    assert!(
        rows[0]["detail"].as_str().unwrap().contains("not started"),
        "{rows:?}"
    );
}
