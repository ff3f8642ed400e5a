//! Rules and permissions of the real binary on places: links decide nothing that was not seen.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Home};

const FULL: &str = "[channels.api]\nautonomy = \"full\"\npermanent_full = true\n";

async fn add(daemon: &Daemon, rule: Value) {
    let (status, made) = daemon.request("POST", "/v1/rules", Some(rule)).await;
    assert_eq!(status, 201, "{made}");
}

async fn verdict(daemon: &Daemon, tool: &str, args: &Value) -> (String, Value) {
    let args = args
        .to_string()
        .bytes()
        .fold(String::new(), |text, byte| format!("{text}%{byte:02x}"));
    let path = format!("/v1/rules/test?tool={tool}&args={args}&channel=api");
    let test = daemon.get(&path).await;
    let word = test["verdict"]["decision"].as_str().unwrap().to_owned();
    (word, test)
}

fn put(home: &Home, path: &str, content: &str) {
    let path = home.workspace("api").join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

fn link(home: &Home, target: &str, path: &str) {
    symlink(target, home.workspace("api").join(path)).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_allowing_rule_does_not_follow_a_link_out_of_its_place() {
    let home = Home::new("");
    put(&home, "src/main.py", "print(1)\n");
    put(&home, "docs/a.md", "x");
    link(&home, "src", "out2");
    let daemon = home.daemon();
    for (matcher, value) in [
        ("prefix", "out2/"),
        ("prefix", "docs"),
        ("pattern", "out3/*"),
        ("exact", "one.md"),
    ] {
        let rule =
            json!({ "tool": "write_file", "field": "path", "matcher": matcher, "value": value });
        add(&daemon, rule).await;
    }
    link(&home, "src", "out3");
    link(&home, "src/main.py", "one.md");
    link(&home, "a.md", "docs/b.md");
    let write = |path: &str| json!({ "path": path, "content": "evil", "mode": "overwrite" });
    for (path, word) in [
        ("docs/a.md", "allow"),
        ("docs/new.md", "allow"),
        ("docs/b.md", "allow"),
        ("out2/main.py", "ask"),
        ("out3/main.py", "ask"),
        ("one.md", "ask"),
        ("docs-private/a.md", "ask"),
        ("docs.md", "ask"),
        ("docs/../src/main.py", "ask"),
    ] {
        let (said, test) = verdict(&daemon, "write_file", &write(path)).await;
        assert_eq!(said, word, "{path}: {test}");
    }
    let text = "TOOL:write_file{\"path\":\"out2/main.py\",\"content\":\"evil\",\"mode\":\"overwrite\"}\nSAY:done";
    let session = daemon.session().await;
    daemon.send(&session, text).await;
    daemon.wait_approval().await;
    let kept = std::fs::read_to_string(home.workspace("api").join("src/main.py")).unwrap();
    assert_eq!(kept, "print(1)\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_over_all_arguments_follows_no_link_either() {
    let home = Home::new("");
    put(&home, "src/main.py", "print(1)\n");
    let daemon = home.daemon();
    let rule = json!({ "tool": "write_file", "field": "", "matcher": "pattern", "value": "*\"path\":\"out/*" });
    add(&daemon, rule).await;
    let call = json!({ "path": "out/main.py", "content": "x", "mode": "overwrite" });
    assert_eq!(verdict(&daemon, "write_file", &call).await.0, "allow");
    link(&home, "src", "out");
    assert_eq!(verdict(&daemon, "write_file", &call).await.0, "ask");
    // What forbids finds it where it leads.
    let rule = json!({ "tool": "write_file", "field": "", "matcher": "pattern", "value": "*\"path\":\"src/*", "verdict": "deny" });
    add(&daemon, rule).await;
    assert_eq!(verdict(&daemon, "write_file", &call).await.0, "deny");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forbidden_place_is_forbidden_through_links_and_from_above() {
    let home = Home::new(FULL);
    put(&home, "secrets/key", "hunter2");
    put(&home, "public/a", "x");
    link(&home, "secrets", "pub");
    link(&home, "../public/a", "secrets/shown");
    let daemon = home.daemon();
    add(&daemon, json!({ "tool": "*", "field": "path", "matcher": "prefix", "value": "secrets/", "verdict": "deny" })).await;
    for (tool, args, word) in [
        ("read_file", json!({ "path": "pub/key" }), "deny"),
        ("read_file", json!({ "path": "secrets/key" }), "deny"),
        ("read_file", json!({ "path": "secrets/shown" }), "deny"),
        ("list_files", json!({ "path": "pub" }), "deny"),
        ("list_files", json!({ "path": "secrets" }), "deny"),
        // What reads everything below a directory reads the forbidden part of it too.
        ("search_files", json!({ "pattern": "hunter" }), "ask"),
        (
            "search_files",
            json!({ "pattern": "hunter", "path": "." }),
            "ask",
        ),
        (
            "search_files",
            json!({ "pattern": "hunter", "path": "public" }),
            "allow",
        ),
        ("read_file", json!({ "path": "public/a" }), "allow"),
    ] {
        let (said, test) = verdict(&daemon, tool, &args).await;
        assert_eq!(said, word, "{tool} {args}: {test}");
    }
    let session = daemon.session().await;
    let end = daemon
        .send(&session, "TOOL:read_file{\"path\":\"pub/key\"}\nSAY:done")
        .await;
    let done = daemon.wait_state(&end, "completed").await;
    assert_eq!(done["tool_calls"][0]["state"], "blocked", "{done}");
    assert!(!done.to_string().contains("hunter2"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_permission_for_a_shape_does_not_follow_a_directory_that_was_swapped() {
    let home = Home::new("[channels.api]\nautonomy = \"supervised\"\n");
    put(&home, "out/log", "one\n");
    put(&home, "src/log", "kept\n");
    let daemon = home.daemon();
    let session = daemon.session().await;
    let text = "TOOL:write_file{\"path\":\"out/log\",\"content\":\"line\\n\",\"mode\":\"append\"}\nSAY:done";
    let first = daemon.send(&session, text).await;
    let asked = daemon.wait_approval().await;
    let path = format!("/v1/approvals/{}/decision", asked["id"].as_str().unwrap());
    let decision = json!({ "decision": "approve", "scope": "session", "digest": asked["digest"] });
    let (status, decided) = daemon.request("POST", &path, Some(decision)).await;
    assert_eq!(status, 200, "{decided}");
    daemon.wait_state(&first, "completed").await;
    // The same again runs by it.
    let second = daemon.send(&session, text).await;
    daemon.wait_state(&second, "completed").await;
    let log = |name: &str| std::fs::read_to_string(home.workspace("api").join(name)).unwrap();
    assert_eq!(log("out/log"), "one\nline\nline\n");
    // Where the directory leads elsewhere, it is asked.
    let out = home.workspace("api").join("out");
    std::fs::rename(&out, home.workspace("api").join("old")).unwrap();
    symlink("src", &out).unwrap();
    daemon.send(&session, text).await;
    daemon.wait_approval().await;
    assert_eq!(log("src/log"), "kept\n");
}
