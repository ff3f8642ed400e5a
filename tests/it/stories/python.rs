//! `python` in the daemon: pictures reach the chat, limits hold for root and for others, and nothing outlives a daemon.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::stories::bot::{self, ben, cli, shown};
use crate::support::daemon::{Daemon, Home};
use crate::support::fake_telegram::FakeTelegram;
use crate::tools::harness::{eventually, sandbox};
use crate::tools::python::{PYPLOT, program};

const TABLE: &str =
    "[tools.python]\n\n[channels.api]\nautonomy = \"full\"\npermanent_full = true\n\n";

/// Whether this machine can run Python in a sandbox.
fn can_run() -> bool {
    sandbox().is_some() && program().is_some()
}

fn call(code: &str, seconds: u64) -> String {
    let args = json!({"code": code, "timeout_seconds": seconds});
    format!("TOOL:python{args}\n")
}

async fn say(daemon: &Daemon, text: &str) -> String {
    let session = daemon.session().await;
    daemon.send(&session, text).await
}

fn result(turn: &Value, call: usize) -> &str {
    turn["tool_calls"][call]["result"]
        .as_str()
        .unwrap_or_default()
}

#[tokio::test]
async fn a_picture_that_python_draws_reaches_the_chat() {
    if !can_run() {
        return;
    }
    let telegram = FakeTelegram::start();
    let people = "[people.anna]\nids = [\"telegram:200\"]\nrole = \"owner\"\n\n[tools.python]\n";
    let home = bot::home(&telegram, "allowed_users = [\"100\"]\n", people);
    let package = home.workspace("team").join("own_plots");
    std::fs::create_dir_all(&package).unwrap();
    // The system's own matplotlib, where there is one, is not what this is about.
    std::fs::write(package.join("__init__.py"), "").unwrap();
    std::fs::write(package.join("pyplot.py"), PYPLOT).unwrap();
    let daemon = bot::start(&home, &telegram, &[200], &[]);
    let code = "import sys, own_plots.pyplot as plt\nsys.modules['matplotlib.pyplot'] = plt\nplt.figure()\nplt.figure()\nprint('drawn')";
    telegram.user_says(
        100,
        &ben(),
        &format!("{}SAY:here is the plot", call(code, 60)),
    );
    let asked = daemon.wait_approval().await;
    assert_eq!(
        (asked["tool"].as_str(), asked["risk"].as_str()),
        (Some("python"), Some("high"))
    );
    assert_eq!(asked["preview"], json!({"type": "text", "text": code}));
    assert!(
        asked["risk_reasons"]
            .to_string()
            .contains("the interpreter is new"),
        "{asked:#}"
    );
    // The cards say what it is.
    let card = telegram
        .messages(200)
        .iter()
        .any(|m| m.text.contains("Runs 5 lines of Python"));
    assert!(card || shown(&telegram, 200, "Runs 5 lines of Python").await.chat == 200);
    let (_, card) = cli(&home, &["approvals", "show", asked["id"].as_str().unwrap()]).await;
    assert!(
        card.contains("Runs 5 lines of Python.") && card.contains("plt.figure()"),
        "{card}"
    );
    assert_eq!(daemon.decide(&asked, "approve").await.0, 200);
    shown(&telegram, 100, "here is the plot").await;
    for name in ["figure-1.png", "figure-2.png"] {
        let photo = shown(&telegram, 100, name).await;
        let begin = format!("<photo {name}: ");
        assert!(photo.text.starts_with(&begin), "{}", photo.text);
    }
    // Consoles find both with the turn.
    let turn = asked["continuation_id"].as_str().unwrap();
    let turn = daemon.get(&format!("/v1/continuations/{turn}")).await;
    let names = turn["files"].as_array().unwrap().iter();
    let names: Vec<&str> = names.map(|file| file["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["figure-1.png", "figure-2.png"]);
    assert_eq!(telegram.state().violations, Vec::<String>::new());
}

#[tokio::test]
async fn nothing_of_a_session_outlives_its_daemon_and_the_next_one_says_so() {
    if !can_run() {
        return;
    }
    let home = Home::new(TABLE);
    let mut daemon = home.daemon();
    let session = daemon.session().await;
    let tag = format!("tag-{}", home.path().display());
    let code = format!(
        "x = 1\nimport subprocess\none = subprocess.Popen(['sh', '-c', 'while :; do sleep 0.05; done', '{tag}'])"
    );
    let turn = daemon
        .send(&session, &format!("{}SAY:started", call(&code, 60)))
        .await;
    daemon.wait_state(&turn, "completed").await;
    let lives = || crate::tools::descendants::alive(&tag);
    assert!(lives(), "it is kept between two calls");
    daemon.kill();
    eventually("everything of it is dead", || !lives()).await;
    let daemon = home.daemon();
    let turn = daemon
        .send(
            &session,
            &format!("{}SAY:again", call("'x' in globals()", 60)),
        )
        .await;
    let done = daemon.wait_state(&turn, "completed").await;
    assert!(
        result(&done, 0).contains("[Python is new: the daemon was started again"),
        "{done:#}"
    );
    assert!(result(&done, 0).ends_with("False"), "{done:#}");
    // The emergency stop ends one, too.
    let turn = daemon
        .send(&session, &format!("{}SAY:once more", call(&code, 60)))
        .await;
    daemon.wait_state(&turn, "completed").await;
    assert!(lives());
    daemon
        .post("/v1/emergency-stop", json!({"reason": "test"}))
        .await;
    eventually("it is dead", || !lives()).await;
}

/// What ends a cell, and what is said then.
const LIMITS: [(&str, u64, &str); 6] = [
    ("b'x' * (10 << 30)", 60, "MemoryError"),
    (
        "import subprocess\nfor n in range(6): subprocess.Popen(['sleep', '60'])",
        60,
        "5 processes beside its own at a time",
    ),
    (
        "import threading, time\nfor n in range(10000): threading.Thread(target=time.sleep, args=(60,)).start()",
        60,
        "thread",
    ),
    (
        "import subprocess, sys, time\nhog = 'import time; x = b\"x\" * (400 << 20); time.sleep(60)'\n\
         for n in range(3): subprocess.Popen([sys.executable, '-c', hog])\ntime.sleep(60)",
        60,
        "MiB of memory, of 1024 MiB",
    ),
    (
        "import time\nfor n in range(4): open(f'part{n}', 'wb').write(b'x' * (4 << 20))\ntime.sleep(60)",
        60,
        "MiB into the workspace, of 8 MiB",
    ),
    ("while True: pass", 1, "stopped after 1 s"),
];

async fn limits_hold(daemon: &Daemon) {
    for (code, seconds, says) in LIMITS {
        let turn = say(daemon, &format!("{}SAY:done", call(code, seconds))).await;
        // What was killed is a question to a person; else the turn goes on.
        let path = format!("/v1/continuations/{turn}");
        let settled = |turn: &Value| {
            let call = &turn["tool_calls"][0];
            ["failed", "indeterminate", "succeeded"]
                .contains(&call["state"].as_str().unwrap_or_default())
        };
        let ended = daemon.wait(&path, says, settled).await;
        let said = match ended["tool_calls"][0]["approval_id"].as_str() {
            Some(question) => {
                daemon.get(&format!("/v1/approvals/{question}")).await["preview"].to_string()
            }
            None => result(&ended, 0).to_owned(),
        };
        assert!(said.contains(says), "{says}: {said} {ended:#}");
    }
}

#[tokio::test]
async fn the_limits_hold_for_whoever_runs_the_daemon() {
    if !can_run() {
        return;
    }
    let home = Home::new(&format!("{TABLE}[engine]\nrun_growth_mib = 8\n"));
    limits_hold(&home.daemon()).await;
}

#[tokio::test]
async fn the_limits_hold_for_an_ordinary_user() {
    if !can_run() || !rustix::process::getuid().is_root() {
        return;
    }
    let home = Home::new(&format!("{TABLE}[engine]\nrun_growth_mib = 8\n"));
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(home.path(), mode).unwrap();
    let words = ["-R", "65534:65534", home.path().to_str().unwrap()];
    assert!(
        std::process::Command::new("chown")
            .args(words)
            .status()
            .unwrap()
            .success()
    );
    let nobody = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
    ];
    let daemon = home.daemon_through(&nobody, &[]);
    let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.pid())).unwrap();
    assert!(status.contains("Uid:\t65534"), "{status}");
    limits_hold(&daemon).await;
}

#[tokio::test]
async fn a_machine_without_python_has_no_such_tool_and_the_doctor_says_why() {
    let none = "[tools.python]\nexecutable = \"/usr/bin/no-such-python\"\n";
    let home = Home::new(none);
    let (_, stopped) = cli(&home, &["doctor"]).await;
    let daemon = home.daemon();
    let tools = daemon.get("/v1/tools").await.to_string();
    assert!(!tools.contains("\"python\""), "{tools}");
    let (_, running) = cli(&home, &["doctor"]).await;
    for said in [&stopped, &running] {
        assert!(
            said.contains("there is no tool `python`: /usr/bin/no-such-python: No such file"),
            "{said}"
        );
        assert!(said.contains("apt install python3"), "{said}");
    }
    let Some(found) = program() else { return };
    let home = Home::new(TABLE);
    let daemon = home.daemon();
    let tools = daemon.get("/v1/tools").await;
    let source = format!("Python {}", found.version);
    assert!(tools.to_string().contains(&source), "{tools:#}");
    let (_, said) = cli(&home, &["doctor"]).await;
    assert!(
        said.contains(&format!(
            "Python {} at {}",
            found.version,
            found.path.display()
        )),
        "{said}"
    );
    for (config, says) in [
        ("executable = \"python3\"", "`python3` is no absolute path"),
        ("idle_minutes = 0", "a number from 1 to 1440"),
        ("max_interpreters = 65", "a number from 1 to 64"),
        ("ports = [1]", "`python` has no such setting"),
    ] {
        let home = Home::new(&format!("[tools.python]\n{config}\n"));
        let refused = home.command().arg("--daemon").output().unwrap();
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(said.contains(says), "{config}: {said}");
    }
}
