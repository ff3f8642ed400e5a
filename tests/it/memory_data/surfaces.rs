//! The interface and the command line of the real binary.

use std::io::Write as _;
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::support::daemon::Home;

struct Ran {
    status: i32,
    out: String,
    err: String,
}

fn ran(output: Output) -> Ran {
    Ran {
        status: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

async fn memory_with(home: &Home, words: &[&str], input: &[u8]) -> Ran {
    let mut command = home.command();
    command
        .arg("memory")
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let input = input.to_vec();
    tokio::task::spawn_blocking(move || {
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // A command that does not read its input closes it.
        let _ = stdin.write_all(&input);
        drop(stdin);
        ran(child.wait_with_output().unwrap())
    })
    .await
    .unwrap()
}

async fn memory(home: &Home, words: &[&str]) -> Ran {
    memory_with(home, words, b"").await
}

async fn ok(home: &Home, words: &[&str]) -> String {
    let done = memory(home, words).await;
    assert_eq!(done.status, 0, "{words:?}: {}", done.err);
    done.out
}

async fn json_of(home: &Home, words: &[&str]) -> Value {
    let mut all = words.to_vec();
    all.push("--json");
    serde_json::from_str(&ok(home, &all).await).unwrap()
}

async fn count(home: &Home) -> usize {
    ok(home, &["list", "--json"]).await.lines().count()
}

#[tokio::test]
async fn a_memory_is_written_found_changed_and_forgotten_on_the_command_line() {
    let home = Home::new("");
    let daemon = home.daemon();
    let memory = json_of(&home, &["add", "the", "gate", "code", "is", "1234"]).await;
    assert_eq!(
        (&memory["scope"], &memory["state"], &memory["confidence"]),
        (&json!("global"), &json!("active"), &json!(1.0))
    );
    let id = memory["id"].as_str().unwrap();
    let short = &id[..26];
    ok(
        &home,
        &[
            "add",
            "--channel",
            "api",
            "--kind",
            "decision",
            "--pin",
            "we use tabs",
        ],
    )
    .await;
    let found = json_of(&home, &["search", "what is the gate code?"]).await;
    assert_eq!(found["id"], id);
    let edited = json_of(
        &home,
        &[
            "edit",
            id,
            "--text",
            "the gate code is 9999",
            "--expires",
            "2d",
        ],
    )
    .await;
    assert_eq!(edited["text"], "the gate code is 9999");
    assert!(edited["expires_at"].is_string());
    assert!(ok(&home, &["pin", id]).await.contains("pinned"));
    assert_eq!(json_of(&home, &["unpin", id]).await["pinned"], false);
    let shown = ok(&home, &["show", short]).await;
    assert!(
        shown.contains("the gate code is 9999") && shown.contains("ends"),
        "{shown}"
    );
    let listed = ok(&home, &["list", "--pinned"]).await;
    assert!(
        listed.contains("we use tabs") && !listed.contains("gate"),
        "{listed}"
    );
    let stats = json_of(&home, &["stats"]).await;
    assert_eq!(stats["groups"].as_array().unwrap().len(), 2, "{stats}");
    let snapshot = daemon.get("/v1/snapshot").await;
    assert_eq!(snapshot["memory"]["groups"], stats["groups"]);
    let review = json_of(&home, &["review"]).await;
    assert_eq!(review["never_used"], json!([]));
    let better = json_of(&home, &["add", "the gate code is secret now"]).await;
    json_of(&home, &["supersede", better["id"].as_str().unwrap(), id]).await;
    assert_eq!(
        json_of(&home, &["show", id]).await["superseded_by"],
        better["id"]
    );
    ok(&home, &["delete", id]).await;
    let gone = self::memory(&home, &["show", id]).await;
    assert_eq!(gone.status, 1, "{}", gone.err);
    assert!(gone.err.contains(id), "{}", gone.err);
    // Each of it was told to whoever follows.
    let kinds: Vec<String> = rusqlite::Connection::open(home.data().join("leverframe.db"))
        .unwrap()
        .prepare("SELECT json_extract(body, '$.change') FROM events WHERE body LIKE '%memory.changed%' ORDER BY seq")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(
        kinds,
        [
            "added",
            "added",
            "edited",
            "pinned",
            "pinned",
            "added",
            "superseded",
            "deleted"
        ]
    );
}

#[tokio::test]
async fn bad_input_is_named_and_changes_nothing() {
    let home = Home::new("");
    let _daemon = home.daemon();
    let huge = "x".repeat(1 << 20);
    let cases: &[(&[&str], &[u8], &[&str])] = &[
        (&["add", "-"], huge.as_bytes(), &["1048576 bytes", "4096"]),
        (&["add", "  "], b"", &["empty"]),
        (&["add", "x", "--channel", "nowhere"], b"", &["no channel `nowhere`"]),
        (&["add", "x", "--expires", "soon"], b"", &["--expires soon", "2h, 3d, 1w"]),
        (&["add", "x", "--kind", "rumour"], b"", &["rumour", "fact"]),
        (&["show", "mem_"], b"", &["no memory starts with"]),
        (&["import", "-"], b"{\"name\": \"mem0\"", &["-, line 1, column", "memory export", "nothing was imported"]),
        (
            &["import", "-"],
            b"{\"place\":{\"scope\":\"global\"},\"text\":\"good\"}\n\n{\"role\":\"user\",\"content\":\"hi\"}\n",
            &["line 3, column 7", "`role`", "`place`"],
        ),
        (&["import", "-"], b"SQLite format 3\0\xff\xfe", &["line 1, column 17", "no text"]),
        (&["import", "-"], b"[{\"place\":{\"scope\":\"global\"},\"text\":\"a\"},\n 7]", &["line 2, column 2"]),
        (
            &["import", "-"],
            b"{\"place\":{\"scope\":\"global\"},\"text\":\"good\"}\n{\"place\":{\"scope\":\"channel\",\"channel\":\"gone\"},\"text\":\"b\"}\n",
            &["item 2", "no channel `gone`", "nothing was imported"],
        ),
        (
            &["import", "-"],
            b"{\"place\":{\"scope\":\"global\"},\"text\":\"good\"}\n{\"place\":{\"scope\":\"global\"},\"text\":\"b\",\"confidence\":7}\n",
            &["item 2", "confidence", "nothing was imported"],
        ),
        (&["import", "-"], huge.as_bytes(), &["at most 900000 bytes", "nothing was imported"]),
        (&["import", "/nowhere/at/all"], b"", &["/nowhere/at/all"]),
        (&["erase-user", "telegram:1"], b"", &["--yes"]),
    ];
    for (words, input, expected) in cases {
        let done = memory_with(&home, words, input).await;
        assert_ne!(done.status, 0, "{words:?}");
        for part in *expected {
            assert!(
                done.err.contains(part),
                "{words:?} lacks {part:?}: {}",
                done.err
            );
        }
    }
    assert_eq!(count(&home).await, 0);
    let waits = memory(&home, &["erase-user", "telegram:1"]).await;
    assert_eq!(waits.status, 6);
}

#[tokio::test]
async fn what_is_exported_is_imported_elsewhere_whole() {
    let home = Home::new("[channels.api]\n");
    let daemon = home.daemon();
    for n in 0..3 {
        ok(&home, &["add", &format!("fact number {n}")]).await;
    }
    ok(
        &home,
        &[
            "add",
            "--channel",
            "api",
            "--pin",
            "日本語 and \"quotes\"\nand lines \u{9b}31m\u{202e}\u{85}\u{2028} hidden",
        ],
    )
    .await;
    let file = home.path().join("memory.ndjson");
    let file = file.to_str().unwrap();
    ok(&home, &["export", file]).await;
    let exists = memory(&home, &["export", file]).await;
    assert_eq!(exists.status, 2, "{}", exists.err);
    let text = std::fs::read_to_string(file).unwrap();
    assert_eq!(text.lines().count(), 4);
    assert!(!text.contains(['\u{9b}', '\u{202e}', '\u{85}', '\u{2028}']));
    assert!(
        text.contains("\\u009b31m\\u202e\\u0085\\u2028 hidden"),
        "{text}"
    );
    // The interface writes the same.
    let client = crate::support::daemon::client();
    let url = format!("{}/v1/memory/export", daemon.base);
    let answer = client
        .get(url)
        .bearer_auth(&daemon.token)
        .send()
        .await
        .unwrap();
    assert_eq!(answer.headers()["content-type"], "application/x-ndjson");
    assert_eq!(answer.text().await.unwrap(), text);

    let other = Home::new("[channels.api]\n");
    let there = other.daemon();
    let done = json_of(&other, &["import", file]).await;
    assert_eq!((&done["added"], &done["known"]), (&json!(4), &json!(0)));
    let again = json_of(&other, &["import", file]).await;
    assert_eq!((&again["added"], &again["known"]), (&json!(0), &json!(4)));
    let mut lines: Vec<String> = ok(&other, &["export"])
        .await
        .lines()
        .map(str::to_owned)
        .collect();
    let mut expected: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    expected.sort();
    assert_eq!(lines, expected);
    // Lines are taken by the interface too.
    let url = format!("{}/v1/memory/import?lines=true", there.base);
    let answer = client
        .post(url)
        .bearer_auth(&there.token)
        .header("content-type", "application/json")
        .body(text)
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.text().await.unwrap(), r#"{"added":0,"known":4}"#);
}

#[tokio::test]
async fn secrets_are_taken_out_before_anything_is_stored() {
    let home = Home::new("");
    let mut daemon = home.daemon();
    let secret = "sk-canarycanarycanarycanary1234";
    let memory = json_of(&home, &["add", &format!("the key is {secret}")]).await;
    assert!(
        !memory["text"].as_str().unwrap().contains(secret),
        "{memory}"
    );
    let id = memory["id"].as_str().unwrap();
    json_of(
        &home,
        &["edit", id, "--text", &format!("now it is {secret}")],
    )
    .await;
    let line =
        json!({"place": {"scope": "global"}, "text": format!("imported {secret}")}).to_string();
    assert_eq!(
        memory_with(&home, &["import", "-"], line.as_bytes())
            .await
            .status,
        0
    );
    assert!(daemon.terminate().success());
    let bytes = std::fs::read(home.data().join("leverframe.db")).unwrap();
    assert!(
        !bytes
            .windows(secret.len())
            .any(|part| part == secret.as_bytes())
    );
}

#[tokio::test]
async fn the_interface_keeps_its_scopes_and_limits() {
    let home = Home::new("");
    let daemon = home.daemon();
    let added = daemon
        .post(
            "/v1/memory",
            json!({"place": {"scope": "global"}, "text": "tea at five"}),
        )
        .await;
    let id = added["id"].as_str().unwrap();
    let patched = daemon
        .request(
            "PATCH",
            &format!("/v1/memory/{id}"),
            Some(json!({"kind": "preference"})),
        )
        .await;
    assert_eq!((patched.0, &patched.1["kind"]), (200, &json!("preference")));
    let pinned = daemon
        .post(&format!("/v1/memory/{id}/pin"), json!({}))
        .await;
    assert_eq!(pinned["pinned"], true);
    let found = daemon.get("/v1/memory/search?q=TEA%3F&limit=5").await;
    assert_eq!(found["items"][0]["id"], id);
    for (method, path, body, status) in [
        ("GET", "/v1/memory/search", None, 400),
        ("GET", "/v1/memory/search?q=x&limit=0", None, 400),
        ("GET", "/v1/memory?state=asleep", None, 400),
        ("GET", "/v1/memory?cursor=zzz", None, 404),
        (
            "GET",
            "/v1/memory/mem_00000000000000000000000000",
            None,
            404,
        ),
        ("PATCH", &format!("/v1/memory/{id}"), Some(json!({})), 400),
        ("POST", &format!("/v1/memory/{id}/accept"), None, 422),
        (
            "POST",
            &format!("/v1/memory/{id}/supersede"),
            Some(json!({"others": []})),
            400,
        ),
        (
            "POST",
            "/v1/memory",
            Some(json!({"place": {"scope": "global"}, "text": "x".repeat(5000)})),
            400,
        ),
        (
            "POST",
            "/v1/memory",
            Some(
                json!({"place": {"scope": "global"}, "text": "x", "expires_at": "2001-01-01T00:00:00Z"}),
            ),
            400,
        ),
    ] {
        let (got, problem) = daemon.request(method, path, body).await;
        assert_eq!(got, status, "{method} {path}: {problem}");
    }
    let (status, gone) = daemon
        .request("DELETE", &format!("/v1/memory/{id}"), None)
        .await;
    assert_eq!((status, &gone["id"]), (200, &json!(id)));
}
