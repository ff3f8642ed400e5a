//! The listener under a certificate: every route, the files changing, and certificates of clients.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::network::{certificate, config, home, run, shown};
use crate::support::daemon::{DEADLINE, Daemon, Home, client, client_that_trusts};

fn own(home: &Home) -> Vec<u8> {
    std::fs::read(home.path().join("config/certificate.pem")).unwrap()
}

/// Rows of the doctor about the certificate.
async fn rows(daemon: &Daemon) -> Vec<Value> {
    let doctor = daemon.get("/v1/doctor").await;
    let findings = doctor["findings"].as_array().unwrap();
    let about = |row: &&Value| row["about"] == "certificate";
    findings.iter().filter(about).cloned().collect()
}

/// Waits until the rows are as they should be.
async fn wait_rows(daemon: &Daemon, what: &str, good: impl Fn(&[Value]) -> bool) {
    let deadline = Instant::now() + DEADLINE;
    loop {
        let rows = rows(daemon).await;
        if good(&rows) {
            return;
        }
        assert!(Instant::now() < deadline, "{what}: {rows:#?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_goes_over_tls_and_none_without() {
    let home = home("", "90");
    let key = home.path().join("config/key.pem");
    assert_eq!(key.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let daemon = home.daemon();
    assert!(daemon.base.starts_with("https://127.0.0.1:"));
    assert_eq!(daemon.get("/v1/snapshot").await["held"], Value::Null);
    let http = client_that_trusts(&own(&home));
    let ask = |path: &str| {
        let path = format!("{}{path}", daemon.base);
        http.get(path).bearer_auth(&daemon.token)
    };
    let scrape = ask("/metrics").send().await.unwrap().text().await.unwrap();
    assert!(scrape.contains("leverframe_certificate_expiry_timestamp_seconds "));
    let mut events = ask("/v1/events").send().await.unwrap();
    assert_eq!(events.status(), 200);
    daemon.session().await;
    let told = tokio::time::timeout(DEADLINE, events.chunk()).await;
    assert!(told.unwrap().unwrap().is_some());
    let hello = serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let mcp = http
        .post(format!("{}/mcp", daemon.base))
        .bearer_auth(&daemon.token);
    let mcp = mcp
        .header("Accept", "application/json, text/event-stream")
        .json(&hello);
    assert_eq!(mcp.send().await.unwrap().status(), 200);
    let models = ask("/v1/models").send().await.unwrap();
    assert_eq!(models.status(), 200);

    // A name of the certificate and an address in digits are hosts; another name is none.
    let hosts = [
        ("localhost:1", 200),
        ("192.0.2.7:8787", 200),
        ("[2001:db8::1]", 200),
        ("evil.example", 403),
    ];
    for (host, expected) in hosts {
        let reply = ask("/v1/channels")
            .header("Host", host)
            .send()
            .await
            .unwrap();
        assert_eq!(reply.status().as_u16(), expected, "{host}");
    }
    // Without TLS nobody answers, and without trust nobody asks.
    let plain = daemon.base.replace("https://", "http://");
    assert!(
        client()
            .get(format!("{plain}/healthz"))
            .send()
            .await
            .is_err()
    );
    assert!(
        client()
            .get(format!("{}/healthz", daemon.base))
            .send()
            .await
            .is_err()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_pair_is_taken_and_a_bad_one_leaves_the_old_one_in_use() {
    let home = home("", "10");
    let daemon = home.daemon();
    let config = home.path().join("config");
    let first = shown(&home, &config.join("certificate.pem"));
    let about = rows(&daemon).await;
    assert_eq!(
        about[0]["verdict"], "warn",
        "it ends within 14 days: {about:?}"
    );
    assert!(
        about[0]["detail"]
            .as_str()
            .unwrap()
            .contains(first["fingerprint"].as_str().unwrap())
    );

    let fresh = home.path().join("fresh");
    certificate(&home, &fresh, "90");
    let second = shown(&home, &fresh.join("certificate.pem"));
    assert_ne!(first["fingerprint"], second["fingerprint"]);
    // The client trusts both, so that it can look on.
    let mut both = std::fs::read(fresh.join("certificate.pem")).unwrap();
    both.extend(own(&home));
    for file in ["certificate.pem", "key.pem"] {
        std::fs::rename(fresh.join(file), config.join(file)).unwrap();
    }
    let trusting = reqwest::Certificate::from_pem_bundle(&both).unwrap();
    let looking = daemon.with_client(
        reqwest::Client::builder()
            .tls_certs_only(trusting)
            .pool_max_idle_per_host(0)
            .build()
            .unwrap(),
    );
    let fingerprint = second["fingerprint"].as_str().unwrap().to_owned();
    wait_rows(&looking, "the new certificate is in use", |rows| {
        let detail = rows[0]["detail"].as_str().unwrap();
        rows.len() == 1 && rows[0]["verdict"] == "ok" && detail.contains(&fingerprint)
    })
    .await;
    let http = client_that_trusts(&own(&home));
    let healthz = format!("{}/healthz", looking.base);
    assert_eq!(http.get(&healthz).send().await.unwrap().status(), 200);

    // The key of another certificate.
    certificate(&home, &fresh, "90");
    std::fs::rename(fresh.join("key.pem"), config.join("key.pem")).unwrap();
    wait_rows(&looking, "the doctor tells of the bad pair", |rows| {
        let said = rows
            .get(1)
            .map(|row| row["detail"].to_string())
            .unwrap_or_default();
        rows[0]["detail"].as_str().unwrap().contains(&fingerprint)
            && said.contains("does not go with")
            && said.contains("stays in use")
    })
    .await;
    let http = client_that_trusts(&own(&home));
    assert_eq!(http.get(&healthz).send().await.unwrap().status(), 200);
    assert!(
        home.log().contains("the new certificate cannot be used"),
        "{}",
        home.log()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_certificate_is_its_person_with_the_rights_of_their_role() {
    let home = Home::new("");
    let (server, clients) = (home.path().join("config"), home.path().join("clients"));
    certificate(&home, &server, "90");
    certificate(&home, &clients, "90");
    let id = shown(&home, &clients.join("certificate.pem"))["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let ca = format!("client_ca = {:?}\n", clients.join("certificate.pem"));
    let person = format!("[people.cleo]\nids = [\"{id}\"]\nrole = \"user\"\n");
    let file = server.join("config.toml");
    std::fs::write(&file, config(&format!("{ca}{person}"))).unwrap();
    let daemon = home.daemon();
    let mut pair = std::fs::read(clients.join("certificate.pem")).unwrap();
    pair.extend(std::fs::read(clients.join("key.pem")).unwrap());
    let identity = |builder: reqwest::ClientBuilder| {
        let trusted = reqwest::Certificate::from_pem(&own(&home)).unwrap();
        builder
            .tls_certs_only([trusted])
            .timeout(DEADLINE)
            .build()
            .unwrap()
    };
    let cleo =
        identity(reqwest::Client::builder().identity(reqwest::Identity::from_pem(&pair).unwrap()));
    let url = |path: &str| format!("{}{path}", daemon.base);

    let reply = cleo.get(url("/v1/channels")).send().await.unwrap();
    assert_eq!(reply.status(), 200);
    let scopes = reply.headers()["leverframe-scopes"]
        .to_str()
        .unwrap()
        .to_owned();
    assert!(
        scopes.starts_with("read operate")
            && !scopes.contains("approve")
            && !scopes.contains("admin"),
        "{scopes}"
    );
    let token = serde_json::json!({"name": "mine", "scopes": ["read"]});
    let made = cleo.post(url("/v1/tokens")).json(&token).send().await;
    assert_eq!(made.unwrap().status(), 403);
    // A wrong token is wrong, whatever else is shown; without anything nobody is let in.
    let wrong = cleo.get(url("/v1/channels")).bearer_auth("lf_wrong");
    assert_eq!(wrong.send().await.unwrap().status(), 401);
    let nobody = identity(reqwest::Client::builder());
    assert_eq!(
        nobody
            .get(url("/v1/channels"))
            .send()
            .await
            .unwrap()
            .status(),
        401
    );
    // What it does is Cleo's.
    let opened = cleo
        .post(url("/v1/sessions"))
        .json(&serde_json::json!({}))
        .send()
        .await
        .unwrap();
    assert_eq!(opened.status(), 201, "{opened:?}");
    // A certificate that no authority of the file signed is refused before any request.
    let stranger = home.path().join("stranger");
    certificate(&home, &stranger, "90");
    let mut other = std::fs::read(stranger.join("certificate.pem")).unwrap();
    other.extend(std::fs::read(stranger.join("key.pem")).unwrap());
    let stranger =
        identity(reqwest::Client::builder().identity(reqwest::Identity::from_pem(&other).unwrap()));
    assert!(stranger.get(url("/healthz")).send().await.is_err());

    // Cleo goes: open streams end, and the next request is refused.
    let mut stream = cleo.get(url("/v1/events")).send().await.unwrap();
    assert_eq!(stream.status(), 200);
    std::fs::write(&file, config(&ca)).unwrap();
    let reload = run(&home, &["reload"]);
    assert!(reload.status.success(), "{reload:?}");
    let ended = async { while let Ok(Some(_)) = stream.chunk().await {} };
    tokio::time::timeout(DEADLINE, ended)
        .await
        .expect("the stream ends");
    let refused = cleo.get(url("/v1/channels")).send().await.unwrap();
    assert_eq!(refused.status(), 401);
    let why: Value = refused.json().await.unwrap();
    assert!(
        why["detail"]
            .as_str()
            .unwrap()
            .contains("no person under [people]"),
        "{why}"
    );
}

#[test]
fn beyond_loopback_nothing_listens_without_a_certificate() {
    let plain = Home::new("");
    let output = run(&plain, &["--daemon", "--listen", "0.0.0.0:0"]);
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("certificate create") && said.contains("ssh -L"),
        "{said}"
    );
    // A certificate that cannot be used is no certificate.
    let broken = Home::new(&config(""));
    let file = broken.path().join("config/certificate.pem");
    std::fs::write(&file, "nothing").unwrap();
    let output = run(&broken, &["--daemon", "--listen", "0.0.0.0:0"]);
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("key.pem"), "{said}");
    let good = home("", "90");
    let mut child = good
        .command()
        .args(["--daemon", "--listen", "0.0.0.0:0"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let found = lines
        .map_while(Result::ok)
        .find(|line| line.starts_with("listening on https://0.0.0.0:"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(found.is_some());
}
