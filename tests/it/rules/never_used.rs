//! A rule that allows what always asks is not made, and one that is there is told as never used.

use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Home};

const WRITE: &str = "TOOL:write_file{\"path\":\"notes/a.txt\",\"content\":\"x\"}\nSAY:done";
const LISTED: &str = "[channels.api]\nalways_ask = [\"write_*\"]\n";

fn rule(tool: &str, verdict: &str, channel: Option<&str>) -> Value {
    let mut rule = json!({
        "tool": tool, "field": "path", "matcher": "prefix", "value": "notes/", "verdict": verdict,
    });
    if tool.ends_with('*') {
        rule["field"] = json!("");
        rule["matcher"] = json!("pattern");
        rule["value"] = json!("*");
    }
    if let Some(channel) = channel {
        rule["channel"] = json!(channel);
    }
    rule
}

async fn add(daemon: &Daemon, rule: Value) -> (u16, Value) {
    daemon.request("POST", "/v1/rules", Some(rule)).await
}

fn cli(home: &Home, words: &[&str]) -> (Option<i32>, String) {
    let output = home.command().args(words).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.code(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn what_could_never_be_used_is_refused_with_the_reason() {
    let home = Home::new(LISTED);
    let daemon = home.daemon();
    for tool in ["write_file", "write_f*"] {
        let (status, problem) = add(&daemon, rule(tool, "allow", Some("api"))).await;
        assert_eq!(status, 422, "{tool}: {problem}");
        let text = problem.to_string();
        let why = format!("{tool} is on always_ask of channel api");
        assert!(
            text.contains(&why) && text.contains("approve each call once"),
            "{text}"
        );
    }
    // One that forbids, one of another channel, one of another tool, and one that also reaches elsewhere are made.
    for (tool, verdict, channel) in [
        ("write_file", "deny", Some("api")),
        ("write_file", "ask", Some("api")),
        ("write_file", "allow", Some("desk")),
        ("read_file", "allow", Some("api")),
        ("write_file", "allow", None),
    ] {
        let (status, made) = add(&daemon, rule(tool, verdict, channel)).await;
        assert_eq!(status, 201, "{tool} {verdict}: {made}");
        assert_eq!(made.get("never_used"), None, "{made}");
    }
    let words = ["rules", "add", "write_file", "--field", "path"];
    let rest = ["--prefix", "notes/", "--channel", "api"];
    let (status, text) = cli(&home, &[&words[..], &rest[..]].concat());
    assert_ne!(status, Some(0), "{text}");
    assert!(text.contains("is on always_ask of channel api"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_that_always_asks_makes_no_rule_that_allows() {
    let home = Home::new(LISTED);
    let daemon = home.daemon();
    let session = daemon.session().await;
    daemon.send(&session, WRITE).await;
    let asked = daemon.wait_approval().await;
    let path = format!("/v1/approvals/{}/decision", asked["id"].as_str().unwrap());
    let with = |decision: &str, verdict: &str| {
        let mut rule = rule("write_file", verdict, Some("api"));
        rule.as_object_mut().unwrap().remove("tool");
        json!({ "decision": decision, "digest": asked["digest"], "rule": rule })
    };
    let (status, problem) = daemon
        .request("POST", &path, Some(with("approve", "allow")))
        .await;
    assert_eq!(status, 422, "{problem}");
    assert!(problem.to_string().contains("always_ask"), "{problem}");
    assert_eq!(daemon.wait_approval().await["id"], asked["id"]);
    let (status, decided) = daemon
        .request("POST", &path, Some(with("deny", "deny")))
        .await;
    assert_eq!(status, 200, "{decided}");
    assert_eq!(daemon.get("/v1/rules").await["items"][0]["verdict"], "deny");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_is_there_is_told_as_never_used_once_its_tool_always_asks() {
    let home = Home::new("");
    let daemon = home.daemon();
    let (status, made) = add(&daemon, rule("write_file", "allow", Some("api"))).await;
    assert_eq!(status, 201, "{made}");
    let id = made["id"].as_str().unwrap();
    let list = json!({ "always_ask": ["write_file"] });
    let (status, _) = daemon
        .request("PATCH", "/v1/channels/api/policy", Some(list))
        .await;
    assert_eq!(status, 200);
    let told = daemon.get(&format!("/v1/rules/{id}")).await;
    assert_eq!(
        told["never_used"],
        "write_file is on always_ask of channel api"
    );
    for words in [&["rules", "list"][..], &["rules", "show", id]] {
        let (status, text) = cli(&home, words);
        assert_eq!(status, Some(0), "{text}");
        assert!(
            text.contains("never used: write_file is on always_ask"),
            "{text}"
        );
    }
    // It can be turned off and on as it is needed, and not turned on while it is of no use.
    let path = format!("/v1/rules/{id}");
    let turn = |enabled: bool| {
        let body = json!({ "enabled": enabled });
        daemon.request("PATCH", &path, Some(body))
    };
    assert_eq!(turn(false).await.0, 200);
    assert_eq!(turn(true).await.0, 422);
    let list = json!({ "always_ask": [] });
    let (status, _) = daemon
        .request("PATCH", "/v1/channels/api/policy", Some(list))
        .await;
    assert_eq!(status, 200);
    let (status, told) = turn(true).await;
    assert_eq!((status, told.get("never_used")), (200, None), "{told}");
}
