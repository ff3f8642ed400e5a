//! Threats at the doors: who reaches the daemon, and as whom.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use reqwest::Method;
use serde_json::json;

use crate::network;
use crate::network::pinning::{Elsewhere, place, said};
use crate::people::{people, token, with};
use crate::support::daemon::{DEADLINE, Home, client};

/// Addresses on which a process listens for TCP, as `/proc/net/tcp` has them.
fn listens(pid: u32) -> Vec<String> {
    let open = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let links = open.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    let sockets: BTreeSet<String> = links
        .filter_map(|link| {
            let inode = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
            Some(inode.to_owned())
        })
        .collect();
    let mut found = Vec::new();
    for file in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let table = std::fs::read_to_string(file).unwrap_or_default();
        for line in table.lines().skip(1) {
            let words: Vec<&str> = line.split_whitespace().collect();
            if words[3] == "0A" && sockets.contains(words[9]) {
                found.push(words[1].to_owned());
            }
        }
    }
    found
}

#[test]
fn t01_no_address_that_other_machines_reach_is_listened_on() {
    let home = Home::new("");
    for address in ["0.0.0.0:0", "[::]:0"] {
        let mut daemon = home
            .command()
            .args(["--daemon", "--listen", address])
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let deadline = Instant::now() + DEADLINE;
        let status = loop {
            if let Some(status) = daemon.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > deadline {
                let found = listens(daemon.id());
                daemon.kill().unwrap();
                daemon.wait().unwrap();
                panic!("{address}: it runs, and listens on {found:?}");
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        assert!(!status.success(), "{address}");
    }
    let daemon = home.daemon();
    let socket = std::fs::metadata(home.data().join("leverframe.sock")).unwrap();
    assert_eq!(socket.permissions().mode() & 0o777, 0o600);
    if cfg!(target_os = "linux") {
        let found = listens(daemon.pid());
        // The one that was asked for, on 127.0.0.1.
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("0100007F:"), "{found:?}");
    }
}

#[tokio::test]
async fn t02_a_page_in_a_browser_does_nothing() {
    let home = Home::new("");
    let daemon = home.daemon();
    let ask = async |method: Method, path: &str, headers: &[(&str, &str)], token: bool| {
        let reads = method == Method::GET;
        let mut request = client().request(method, format!("{}{path}", daemon.base));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if token {
            request = request.bearer_auth(&daemon.token);
        }
        if !reads {
            request = request.body("{}");
        }
        let answer = request.send().await.unwrap();
        let open = answer.headers().contains_key("access-control-allow-origin");
        assert!(!open, "{path} {headers:?}");
        answer.status().as_u16()
    };
    let json = ("Content-Type", "application/json");
    for path in ["/v1/emergency-stop", "/mcp", "/v1/chat/completions"] {
        for bad in [
            ("Host", "evil.example"),
            ("Host", "127.0.0.1.evil.example"),
            ("Origin", "http://evil.example"),
            ("Origin", "null"),
        ] {
            let status = ask(Method::POST, path, &[json, bad], true).await;
            assert_eq!(status, 403, "{path} {bad:?}");
        }
        // What a form can send, and a page without the token.
        for kind in ["text/plain", "application/x-www-form-urlencoded"] {
            let status = ask(Method::POST, path, &[("Content-Type", kind)], true).await;
            assert!((400..500).contains(&status), "{path} {kind}: {status}");
        }
        assert_eq!(ask(Method::POST, path, &[json], false).await, 401, "{path}");
        let preflight = [
            ("Origin", "http://evil.example"),
            ("Access-Control-Request-Method", "POST"),
        ];
        let status = ask(Method::OPTIONS, path, &preflight, false).await;
        assert!((400..500).contains(&status), "{path}: {status}");
    }
    // A token in an address is none.
    let path = format!("/v1/sessions?token={0}&access_token={0}", daemon.token);
    let status = ask(Method::GET, &path, &[], false).await;
    assert_eq!(status, 401);
    assert!(daemon.get("/v1/snapshot").await["engine"]["held_since"].is_null());
}

#[tokio::test(flavor = "multi_thread")]
async fn t03_a_client_picks_neither_its_scope_nor_its_name() {
    let home = Home::new(&people());
    let daemon = home.daemon();
    let value = token(&home, "reader", &["--scope", "read", "--person", "cleo"]);
    let path = "/v1/emergency-stop";
    // Whatever it says of itself, the record counts.
    for (name, claim) in [
        ("Leverframe-Scopes", "admin"),
        ("Leverframe-Actor", "anna"),
        ("X-Forwarded-User", "anna"),
        ("X-Scopes", "read operate approve admin"),
    ] {
        let answer = client()
            .post(format!("{}{path}", daemon.base))
            .bearer_auth(&value)
            .header(name, claim)
            .json(&json!({}))
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status().as_u16(), 403, "{name}");
        assert_eq!(answer.headers().get("Leverframe-Scopes").unwrap(), "read");
    }
    let claims = json!({
        "command": { "command": "emergency_stop" }, "surface": "console",
        "actor": { "type": "operator", "uid": 0, "name": "root", "person": "anna" },
    });
    let (status, _) = with(&daemon, &value, "POST", "/v1/submit", Some(claims)).await;
    assert!((400..500).contains(&status), "{status}");
    let mut near = value.clone();
    near.pop();
    for wrong in [
        "",
        " ",
        "lf_",
        &near,
        &format!("{value}0"),
        &value.to_uppercase(),
    ] {
        let (status, _) = with(&daemon, wrong, "GET", "/v1/sessions", None).await;
        assert_eq!(status, 401, "{wrong:?}");
    }
    assert!(daemon.get("/v1/snapshot").await["engine"]["held_since"].is_null());
}

#[tokio::test(flavor = "multi_thread")]
async fn t04_a_revoked_token_loses_its_streams_within_a_second() {
    let home = Home::new("");
    let daemon = home.daemon();
    let value = token(&home, "watcher", &["--scope", "read"]);
    let other = token(&home, "stays", &["--scope", "read"]);
    let open = async |token: &str| {
        let answer = client()
            .get(format!("{}/v1/events", daemon.base))
            .bearer_auth(token)
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status().as_u16(), 200);
        answer.bytes_stream()
    };
    let (mut ends, mut stays) = (open(&value).await, open(&other).await);
    let (status, _) = daemon.request("DELETE", "/v1/tokens/watcher", None).await;
    assert_eq!(status, 200);
    // Long before the next ping would have come.
    let revoked = Instant::now();
    let ended = async { while let Some(Ok(_)) = ends.next().await {} };
    tokio::time::timeout(Duration::from_secs(5), ended)
        .await
        .expect("the stream ends");
    assert!(
        revoked.elapsed() < Duration::from_secs(5),
        "{:?}",
        revoked.elapsed()
    );
    // The other one goes on.
    daemon.session().await;
    let next = tokio::time::timeout(Duration::from_secs(20), stays.next()).await;
    assert!(next.expect("it speaks").expect("it goes on").is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn t04_whoever_guesses_tokens_is_made_to_wait() {
    let home = Home::new("");
    let daemon = home.daemon();
    let mut refused: Vec<u16> = Vec::new();
    for n in 0..105 {
        let answer = client()
            .get(format!("{}/v1/sessions", daemon.base))
            .bearer_auth(format!("lf_{n:064}"))
            // Nothing that a caller says of itself makes it somebody else.
            .header("X-Forwarded-For", format!("10.0.0.{n}"))
            .header("X-Device", n.to_string())
            .send()
            .await
            .unwrap();
        refused.push(answer.status().as_u16());
    }
    assert_eq!(refused[0], 401);
    assert_eq!(refused[104], 429, "{refused:?}");
    // Whoever has the right one is not shut out.
    assert_eq!(daemon.request("GET", "/v1/sessions", None).await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn t05_a_daemon_that_shows_another_certificate_is_not_attached_to() {
    let home = network::home("", "90");
    let pem = home.path().join("config/certificate.pem");
    let print = |file: &Path| network::shown(&home, file)["fingerprint"].clone();
    let known = print(&pem);
    let mut daemon = home.daemon();
    let console = Elsewhere::new(&daemon);
    let accept = ["--accept-fingerprint", known.as_str().unwrap()];
    let attached = console.attach(&daemon, &accept);
    assert!(attached.status.success(), "{}", said(&attached));
    // A fake one at the same place, with a certificate of its own and for the same name.
    let port = place(&daemon);
    daemon.terminate();
    std::fs::remove_file(&pem).unwrap();
    std::fs::remove_file(home.path().join("config/key.pem")).unwrap();
    network::certificate(&home, &home.path().join("config"), "90");
    let daemon = home.daemon_at(&port);
    let refused = console.attach(&daemon, &accept);
    let words = said(&refused);
    assert!(!refused.status.success(), "{words}");
    for shown in [&known, &print(&pem)] {
        assert!(words.contains(shown.as_str().unwrap()), "{words}");
    }
    // There is no way to attach all the same.
    let help = said(&network::run(&home, &["attach", "--help"])).to_lowercase();
    for word in ["insecure", "skip", "no-verify", "--force"] {
        assert!(!help.contains(word), "{word}: {help}");
    }
}
