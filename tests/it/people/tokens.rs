//! Named tokens, as the command line and HTTP make, list and revoke them.

use leverframe::protocol::token::hash_token;
use serde_json::{Value, json};

use crate::people::{audit, people, run, token, with};
use crate::support::daemon::Home;

fn said(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_named_token_is_made_used_listed_and_revoked() {
    let home = Home::new(&people());
    let daemon = home.daemon();
    let value = token(
        &home,
        "reader",
        &[
            "--scope",
            "read,operate",
            "--person",
            "cleo",
            "--expires",
            "30d",
        ],
    );
    assert!(value.starts_with("lf_") && value.len() == 67, "{value}");
    let listed = daemon.get("/v1/tokens").await;
    let row = &listed["items"][0];
    assert_eq!(row["name"], "reader");
    assert_eq!(row["scopes"], json!(["read", "operate"]));
    assert_eq!(row["person"], "cleo");
    assert_eq!(row["created_by"], "anna");
    assert!(
        row["expires_at"].is_string() && row["last_used_at"].is_null(),
        "{row}"
    );
    assert!(
        !listed.to_string().contains(&value),
        "the value is shown once"
    );

    assert_eq!(
        with(&daemon, &value, "GET", "/v1/sessions", None).await.0,
        200
    );
    let more = json!({ "name": "mine", "scopes": ["read"] });
    let (status, refused) = with(&daemon, &value, "POST", "/v1/tokens", Some(more)).await;
    assert_eq!(status, 403, "{refused}");
    let used = daemon
        .wait("/v1/tokens", "its use is known", |body| {
            body["items"][0]["last_used_at"].is_string()
        })
        .await;
    let output = run(&home, &["token", "list"]);
    for word in ["reader", "read,operate", "cleo"] {
        assert!(said(&output).contains(word), "{word}: {}", said(&output));
    }
    // What a person does with it has their name, wherever it is shown.
    let session = json!({});
    let (status, _) = with(&daemon, &value, "POST", "/v1/sessions", Some(session)).await;
    assert_eq!(status, 201);
    let listed = daemon.get("/v1/people").await;
    let cleo = &listed["items"][2];
    assert_eq!(cleo["tokens"], json!(["reader"]), "{cleo}");
    assert_eq!(cleo["scopes"], json!(["read", "operate"]), "{cleo}");
    assert_eq!(cleo["last_action"]["action"], "token.login", "{cleo}");

    // The use survives a restart, and so does the token.
    let mut daemon = daemon;
    assert!(daemon.terminate().success());
    let output = run(&home, &["--json", "token", "list"]);
    let row: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(row["last_used_at"], used["items"][0]["last_used_at"]);
    let daemon = home.daemon();
    assert_eq!(
        with(&daemon, &value, "GET", "/v1/sessions", None).await.0,
        200
    );

    let (status, revoked) = daemon.request("DELETE", "/v1/tokens/reader", None).await;
    assert_eq!(status, 200, "{revoked}");
    assert!(revoked["revoked_at"].is_string(), "{revoked}");
    assert_eq!(
        with(&daemon, &value, "GET", "/v1/sessions", None).await.0,
        401
    );
    assert_eq!(daemon.get("/v1/tokens").await["items"], json!([]));
    let all = daemon.get("/v1/tokens?all=true").await;
    assert_eq!(all["items"][0]["name"], "reader", "{all}");
    let output = run(&home, &["token", "revoke", "reader"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("token list"), "{}", said(&output));
    // The name is free again.
    assert_ne!(token(&home, "reader", &["--scope", "read"]), value);
    for action in ["token.created", "token.login", "token.revoked"] {
        let rows = audit(&daemon, action).await;
        assert!(
            rows.iter().any(|row| row["subject"] == "reader"),
            "{action}: {rows:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_a_token_is_refused_with_the_next_step() {
    let home = Home::new(&people());
    let daemon = home.daemon();
    token(&home, "taken", &["--scope", "read"]);
    let cases: &[(&[&str], i32, &[&str])] = &[
        (
            &["x", "--scope", "root"],
            2,
            &["root", "read", "operate", "approve", "admin", "gate"],
        ),
        (&["x"], 2, &["--scope"]),
        (&["admin", "--scope", "read"], 2, &["not `admin`"]),
        (&["../x", "--scope", "read"], 2, &["cannot name a token"]),
        (
            &["taken", "--scope", "read"],
            1,
            &["already", "token revoke taken"],
        ),
        (
            &["x", "--scope", "read", "--expires", "2020-01-01"],
            2,
            &["a time to come", "30d"],
        ),
        (
            &["x", "--scope", "read", "--person", "ana"],
            2,
            &["nobody", "did you mean `anna`"],
        ),
        (
            &["x", "--scope", "read,approve", "--person", "cleo"],
            2,
            &["role user", "`approve`"],
        ),
        (
            &["x", "--scope", "admin", "--person", "ben"],
            2,
            &["role approver", "`admin`"],
        ),
    ];
    for (words, code, says) in cases {
        let output = run(&home, &[&["token", "create"][..], words].concat());
        assert_eq!(
            output.status.code(),
            Some(*code),
            "{words:?}: {}",
            said(&output)
        );
        for text in *says {
            assert!(
                said(&output).contains(text),
                "{words:?} {text}: {}",
                said(&output)
            );
        }
    }
    let bodies = [
        (
            json!({ "name": "x", "scopes": ["root"] }),
            "read, operate, approve",
        ),
        (json!({ "name": "x", "scopes": [] }), "`scopes` is empty"),
        (
            json!({ "name": "x", "scopes": ["read"], "expires_at": "2020-01-01T00:00:00Z" }),
            "in the past",
        ),
    ];
    for (body, says) in bodies {
        let (status, problem) = daemon.request("POST", "/v1/tokens", Some(body)).await;
        assert_eq!(status, 400, "{problem}");
        assert!(problem.to_string().contains(says), "{says}: {problem}");
    }
    let (status, problem) = daemon.request("DELETE", "/v1/tokens/admin", None).await;
    assert_eq!(status, 400, "{problem}");
    assert!(
        problem.to_string().contains("remove that file"),
        "{problem}"
    );
    assert_eq!(
        daemon.get("/v1/tokens").await["items"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_made_and_revoked_where_nothing_runs() {
    let home = Home::new(&people());
    let value = token(&home, "night", &["--scope", "read"]);
    assert!(said(&run(&home, &["token", "list"])).contains("night"));
    let mut daemon = home.daemon();
    assert_eq!(
        with(&daemon, &value, "GET", "/v1/sessions", None).await.0,
        200
    );
    assert!(daemon.terminate().success());
    assert!(run(&home, &["token", "revoke", "night"]).status.success());
    let daemon = home.daemon();
    assert_eq!(
        with(&daemon, &value, "GET", "/v1/sessions", None).await.0,
        401
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_of_former_versions_go_on_working() {
    let home = Home::new("");
    let (editor, build) = ("lf_editor", "lf_build");
    for (folder, value) in [("mcp-tokens", editor), ("gate-tokens", build)] {
        let folder = home.data().join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        let hash = hash_token(value).map(|byte| format!("{byte:02x}")).concat();
        std::fs::write(folder.join("laptop"), hash + "\n").unwrap();
        std::fs::write(folder.join("notes.txt~"), "no token").unwrap();
    }
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(home.data(), private).unwrap();
    let mut daemon = home.daemon();
    for _ in 0..2 {
        let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
        let (status, _) = with(&daemon, editor, "POST", "/mcp", Some(ping)).await;
        assert_ne!(status, 401);
        let (status, _) = with(&daemon, build, "POST", "/v1/gate/claude", Some(json!({}))).await;
        assert!(![401, 403].contains(&status), "{status}");
        assert_eq!(
            with(&daemon, build, "GET", "/v1/sessions", None).await.0,
            403
        );
        let listed = daemon.get("/v1/tokens").await["items"].clone();
        let of = |at: usize| (listed[at]["name"].clone(), listed[at]["scopes"].clone());
        assert_eq!(of(0), (json!("laptop"), json!(["mcp"])), "{listed}");
        assert_eq!(of(1), (json!("laptop.gate"), json!(["gate"])), "{listed}");
        assert!(!home.data().join("mcp-tokens/laptop").exists());
        assert!(home.data().join("mcp-tokens/notes.txt~").exists());
        daemon.kill();
        daemon = home.daemon();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_ends_with_its_time_its_person_and_the_rights_of_its_person() {
    let home = Home::new(&people());
    let daemon = home.daemon();
    let soon = std::time::SystemTime::now() + std::time::Duration::from_secs(2);
    let soon = soon
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_millis();
    let soon = leverframe::clock::Timestamp(i64::try_from(soon).unwrap());
    let body = json!({ "name": "brief", "scopes": ["read"], "expires_at": soon });
    let brief = daemon.post("/v1/tokens", body).await["value"].clone();
    let brief = brief.as_str().unwrap().to_owned();
    assert_eq!(
        with(&daemon, &brief, "GET", "/v1/sessions", None).await.0,
        200
    );
    let body = json!({ "name": "ben", "scopes": ["read", "approve"], "person": "ben" });
    let ben = daemon.post("/v1/tokens", body).await["value"].clone();
    let ben = ben.as_str().unwrap().to_owned();
    let scopes = async |token: &str| {
        let answer = crate::support::daemon::client()
            .get(format!("{}/v1/sessions", daemon.base))
            .bearer_auth(token)
            .send()
            .await
            .unwrap();
        let scopes = answer.headers().get("Leverframe-Scopes").cloned();
        (
            answer.status().as_u16(),
            scopes.map(|words| words.to_str().unwrap().to_owned()),
        )
    };
    assert_eq!(scopes(&ben).await, (200, Some("read approve".to_owned())));
    let configure = async |text: String| {
        std::fs::write(home.path().join("config/config.toml"), text).unwrap();
        daemon.post("/v1/reload", json!({ "preview": false })).await;
    };
    configure(people().replace("role = \"approver\"", "role = \"user\"")).await;
    assert_eq!(scopes(&ben).await, (200, Some("read".to_owned())));
    configure(people().replace("[people.ben]", "[people.bert]")).await;
    assert_eq!(scopes(&ben).await.0, 401, "nobody is called so");
    configure(people()).await;
    assert_eq!(scopes(&ben).await.0, 200);
    let deadline = std::time::Instant::now() + crate::support::daemon::DEADLINE;
    while with(&daemon, &brief, "GET", "/v1/sessions", None).await.0 != 401 {
        assert!(std::time::Instant::now() < deadline, "it does not end");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_holds_hashes_and_no_value() {
    let home = Home::new("");
    let daemon = home.daemon();
    let value = token(&home, "reader", &["--scope", "read"]);
    let file = home.path().join("copy.tar");
    let body = json!({ "path": file });
    let (status, done) = daemon.request("POST", "/v1/backup", Some(body)).await;
    assert_eq!(status, 200, "{done}");
    // Nothing anywhere in the home has it, the archive included.
    let mut folders = vec![home.path().to_owned()];
    let mut looked_at = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(bytes) = std::fs::read(&path) {
                looked_at += 1;
                let found = bytes
                    .windows(value.len())
                    .any(|part| part == value.as_bytes());
                assert!(!found, "{}", path.display());
            }
        }
    }
    assert!(looked_at > 3);
}
