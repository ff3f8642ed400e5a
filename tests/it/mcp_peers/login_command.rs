//! `leverframe mcp login` and `logout` with the real binary, and what the daemon makes of a login.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};

use crate::mcp_peers::issuer::Issuer;
use crate::mcp_peers::world::{begin, call, result, trust};
use crate::support::daemon::{DEADLINE, Daemon, Home};
use crate::unknown_outcomes::run;

fn home(issuer: &Issuer) -> Home {
    Home::new(&format!(
        "[channels.api]\nautonomy = \"full\"\npermanent_full = true\n\n[mcp.home]\nurl = \"{}\"\nlogin = true\n",
        issuer.server()
    ))
}

/// Logs in as a person would: status, and all that was printed.
async fn log_in(home: &Home, more: &[&str]) -> (i32, String) {
    let mut command = tokio::process::Command::from(home.command());
    let mut child = command
        .args(["mcp", "login", "home"])
        .args(more)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the binary starts");
    let work = async {
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let mut said = String::new();
        while let Some(line) = lines.next_line().await.expect("text") {
            said = format!("{said}{line}\n");
            if !line.starts_with("http") {
                continue;
            }
            let back = Issuer::consent(&line).await;
            if more.contains(&"--no-browser") {
                let mut input = child.stdin.take().expect("a pipe");
                input
                    .write_all(format!("{back}\n").as_bytes())
                    .await
                    .expect("it reads");
            } else {
                let reply = crate::support::daemon::client().get(&back).send().await;
                assert_eq!(reply.expect("a reply").status(), 200);
            }
        }
        let mut out = child.stdout.take().expect("a pipe");
        out.read_to_string(&mut said).await.expect("text");
        let status = child.wait().await.expect("it ends");
        (status.code().expect("a status"), said)
    };
    tokio::time::timeout(DEADLINE, work).await.expect("in time")
}

async fn state(daemon: &Daemon, wanted: &str) {
    daemon
        .wait("/v1/mcp/servers/home", wanted, |body| {
            body["state"] == wanted
        })
        .await;
}

#[tokio::test]
async fn a_person_logs_in_and_agents_use_the_server_until_the_issuer_withdraws_it() {
    let issuer = Issuer::start().await;
    let home = home(&issuer);
    let daemon = home.daemon();
    state(&daemon, "needs_login").await;
    let (status, said) = log_in(&home, &[]).await;
    assert_eq!(status, 0, "{said}");
    assert!(said.contains("home: logged in"), "{said}");
    assert!(
        !said.contains("access-1") && !said.contains("refresh-1"),
        "{said}"
    );
    let file = home.data().join("mcp/home.login.json");
    let mode = std::fs::metadata(&file)
        .expect("the file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    // The running daemon heard of it.
    state(&daemon, "running").await;
    trust(&daemon, "home").await;
    let greeted = call(&daemon, "home__greet", json!({})).await;
    assert_eq!(result(&greeted), "hello from behind the login");

    // A token that the server refuses is renewed without anybody.
    issuer.behaviour().refused.insert("access-1".to_owned());
    let greeted = call(&daemon, "home__greet", json!({})).await;
    assert_eq!(result(&greeted), "hello from behind the login");
    assert_eq!(issuer.behaviour().renewals, 1);

    // The issuer takes everything back.
    issuer.behaviour().refused.insert("access-2".to_owned());
    issuer.behaviour().revoked = true;
    let continuation = begin(&daemon, "home__greet", json!({})).await;
    let done = daemon.wait_state(&continuation, "completed").await;
    let failed = &done["tool_calls"][0];
    assert_eq!(failed["state"], "failed", "{done:#}");
    assert!(failed.to_string().contains("login"), "{done:#}");
    state(&daemon, "needs_login").await;

    for place in [home.log(), done.to_string(), everything(&home)] {
        for secret in ["access-1", "access-2", "refresh-1", "refresh-2"] {
            assert!(!place.contains(secret), "{secret}");
        }
    }
}

/// What the data directory holds beside the login itself.
fn everything(home: &Home) -> String {
    let files = std::fs::read_dir(home.data())
        .expect("a directory")
        .flatten();
    let texts = files.filter(|entry| entry.path().is_file()).map(|entry| {
        let bytes = std::fs::read(entry.path()).expect("a file");
        String::from_utf8_lossy(&bytes).into_owned()
    });
    texts.collect()
}

#[tokio::test]
async fn a_person_with_the_browser_elsewhere_pastes_the_address() {
    let issuer = Issuer::start().await;
    let home = home(&issuer);
    let (status, said) = log_in(&home, &["--no-browser", "--port", "4567"]).await;
    assert_eq!(status, 0, "{said}");
    let file = home.data().join("mcp/home.login.json");
    assert!(file.exists(), "{said}");

    let (status, out, _) = run(&home, &["mcp", "logout", "home"]);
    assert_eq!(status, 0, "{out}");
    assert!(out.contains("logged out") && !file.exists(), "{out}");
    let (_, out, _) = run(&home, &["mcp", "logout", "home"]);
    assert!(out.contains("nobody was logged in"), "{out}");
}

#[tokio::test]
async fn what_cannot_be_logged_in_at_is_told_with_the_next_step() {
    let home = Home::new(
        "[mcp.plain]\nurl = \"http://127.0.0.1:9/mcp\"\n\n[mcp.program]\ncommand = [\"/bin/true\"]\n\n\
         [mcp.gone]\nurl = \"http://127.0.0.1:9/mcp\"\nlogin = true\n",
    );
    for (name, says) in [
        ("plain", "login = true"),
        ("program", "is a program of this machine"),
        ("other", "gone, plain, program"),
        ("gone", "127.0.0.1:9"),
    ] {
        let (status, out, err) = run(&home, &["mcp", "login", name]);
        assert!(status != 0, "{name}: {out}");
        assert!(err.contains(says), "{name}: {err}");
    }
}
