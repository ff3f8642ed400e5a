//! Rules of the real binary: made over HTTP and on the command line, looked at when a call is judged and explained.

use leverframe::clock::Timestamp;
use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Home};

const LIST: &str = "TOOL:list_files{\"path\":\".\"}\nSAY:done";
const WRITE: &str = "TOOL:write_file{\"path\":\"notes/a.txt\",\"content\":\"x\"}\nSAY:done";

async fn add(daemon: &Daemon, rule: Value) -> Value {
    let (status, made) = daemon.request("POST", "/v1/rules", Some(rule)).await;
    assert_eq!(status, 201, "{made}");
    made
}

async fn turn(daemon: &Daemon, text: &str) -> String {
    let session = daemon.session().await;
    daemon.send(&session, text).await
}

pub(crate) fn cli(home: &Home, words: &[&str]) -> (Option<i32>, String) {
    let output = home
        .command()
        .args(words)
        .output()
        .expect("the binary runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (
        output.status.code(),
        text + &String::from_utf8_lossy(&output.stderr),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_lets_its_calls_run_until_it_is_used_up() {
    let home = Home::new("");
    let mut daemon = home.daemon();
    // Without one it asks; the rule is made with the answer.
    let first = turn(&daemon, WRITE).await;
    let approval = daemon.wait_approval().await;
    let decision = json!({
        "decision": "approve", "digest": approval["digest"],
        "rule": { "field": "path", "matcher": "prefix", "value": "notes/", "max_uses": 1, "expires_in_seconds": 3600 },
    });
    let path = format!(
        "/v1/approvals/{}/decision",
        approval["id"].as_str().unwrap()
    );
    let elsewhere = json!({
        "decision": "approve", "digest": approval["digest"],
        "rule": { "field": "path", "matcher": "prefix", "value": "other/" },
    });
    let (status, refused) = daemon.request("POST", &path, Some(elsewhere)).await;
    assert_eq!(status, 400, "{refused}");
    assert!(
        refused["detail"]
            .as_str()
            .unwrap()
            .contains("does not match")
    );
    let (status, decided) = daemon.request("POST", &path, Some(decision)).await;
    assert_eq!(status, 200, "{decided}");
    daemon.wait_state(&first, "completed").await;
    let rules = daemon.get("/v1/rules").await;
    let rule = &rules["items"][0];
    let id = rule["id"].as_str().unwrap();
    assert_eq!(
        (&rule["uses"], &rule["approval_id"]),
        (&json!(0), &approval["id"])
    );

    // The next one runs by it, and says so.
    let second = turn(&daemon, WRITE.replace("a.txt", "b.txt").as_str()).await;
    let done = daemon.wait_state(&second, "completed").await;
    let call = &done["tool_calls"][0];
    assert_eq!(
        (&call["state"], &call["verdict"]["decision"]),
        (&json!("succeeded"), &json!("allow"))
    );
    let why = daemon
        .get(&format!(
            "/v1/tool-calls/{}/why",
            call["id"].as_str().unwrap()
        ))
        .await;
    assert!(why["story"].to_string().contains(id), "{why}");
    let used = daemon.get(&format!("/v1/rules/{id}")).await;
    assert_eq!(used["uses"], 1);
    assert!(used["last_used_at"].is_string());

    // Used up, over a restart too: the third asks again.
    daemon.kill();
    let daemon = home.daemon();
    turn(&daemon, WRITE.replace("a.txt", "c.txt").as_str()).await;
    let asks = daemon.wait_approval().await;
    assert!(
        asks["verdict"]["rule"]
            .as_str()
            .unwrap()
            .starts_with("autonomy"),
        "{asks}"
    );

    // What it matches of the last week, and how each was decided.
    let found = daemon.get(&format!("/v1/rules/matches?id={id}")).await;
    assert_eq!(
        [
            &found["considered"],
            &found["matched"],
            &found["approved"],
            &found["ran_unasked"]
        ],
        [&json!(3), &json!(3), &json!(1), &json!(1)],
        "{found}"
    );
    let audit = daemon.get("/v1/audit?limit=50").await;
    let made = audit["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["action"] == "rule.added")
        .expect("the audit names the rule");
    assert_eq!(made["subject"], id);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_forbids_wins_over_what_allows_and_lists_stay_above_rules() {
    let home =
        Home::new("[channels.api]\nalways_ask = [\"list_files\"]\nblock = [\"read_file\"]\n");
    let daemon = home.daemon();
    let allow =
        |tool: &str| json!({ "tool": tool, "matcher": "pattern", "value": "*", "field": "" });
    add(&daemon, allow("*")).await;
    let deny = json!({ "tool": "write_file", "field": "path", "matcher": "prefix", "value": "notes/secret",
        "verdict": "deny", "channel": "api" });
    add(&daemon, deny).await;
    let test = async |tool: &str, args: &str| {
        let args: String = args
            .bytes()
            .fold(String::new(), |text, byte| format!("{text}%{byte:02x}"));
        daemon
            .get(&format!(
                "/v1/rules/test?tool={tool}&args={args}&channel=api"
            ))
            .await
    };
    let said = |test: &Value| test["verdict"]["decision"].as_str().unwrap().to_owned();
    let free = test("write_file", r#"{"path":"notes/a","content":"x"}"#).await;
    assert_eq!(said(&free), "allow", "{free}");
    let denied = test(
        "write_file",
        r#"{"path":"./notes//secret.txt","content":"x"}"#,
    )
    .await;
    assert_eq!(
        (said(&denied), denied["matching"].as_array().unwrap().len()),
        ("deny".to_owned(), 2)
    );
    assert_eq!(said(&test("list_files", "{}").await), "ask");
    assert_eq!(said(&test("read_file", r#"{"path":"a"}"#).await), "deny");
    let end = turn(
        &daemon,
        "TOOL:write_file{\"path\":\"notes/secret\",\"content\":\"x\"}\nSAY:ok",
    )
    .await;
    let done = daemon.wait_state(&end, "completed").await;
    assert_eq!(done["tool_calls"][0]["state"], "blocked", "{done}");
    assert!(!home.workspace("api").join("notes/secret").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_from_its_first_word_to_its_last_on_the_command_line() {
    let home = Home::new("");
    let daemon = home.daemon();
    assert!(cli(&home, &["rules", "list"]).1.contains("no rules"));
    let (status, text) = cli(
        &home,
        &[
            "rules",
            "add",
            "execute_command",
            "--prefix",
            "git  'status'",
            "--channel",
            "api",
            "--expires",
            "8h",
            "--max-uses",
            "5",
            "--note",
            "asked too often",
        ],
    );
    assert_eq!(status, Some(0), "{text}");
    assert!(
        text.contains("allow execute_command argv prefix `git status`"),
        "{text}"
    );
    let rule = daemon.get("/v1/rules").await["items"][0].clone();
    let id = rule["id"].as_str().unwrap();
    let (_, shown) = cli(&home, &["--json", "rules", "show", &id[..20]]);
    assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), rule);
    assert_eq!(
        cli(&home, &["rules", "edit", id, "--deny"]).0,
        Some(2),
        "bounded uses are for what allows"
    );
    assert_eq!(
        cli(&home, &["rules", "edit", id, "--deny", "--max-uses", "0"]).0,
        Some(0)
    );
    assert!(cli(&home, &["rules", "disable", id]).1.contains("disabled"));
    assert!(cli(&home, &["rules", "list"]).1.contains("disabled"));
    assert_eq!(cli(&home, &["rules", "enable", id]).0, Some(0));
    let argv = r#"{"argv":["git","status"]}"#;
    let (status, tested) = cli(
        &home,
        &["rules", "test", "execute_command", argv, "--channel", "api"],
    );
    assert!(
        status == Some(0) && tested.contains("does not run") && tested.contains(id),
        "{tested}"
    );
    for (words, expected) in [
        (
            vec!["rules", "add", "write_fil", "--prefix", "x"],
            "did you mean `write_file`",
        ),
        (
            vec![
                "rules",
                "add",
                "write_file",
                "--field",
                "pth",
                "--prefix",
                "x",
            ],
            "has no argument `pth`",
        ),
        (
            vec!["rules", "add", "write_file", "--exact", "x"],
            "no JSON object",
        ),
        (
            vec!["rules", "add", "execute_command", "--prefix", "it's"],
            "a quote is not closed",
        ),
        (
            vec![
                "rules",
                "add",
                "write_file",
                "--prefix",
                "x",
                "--expires",
                "soon",
            ],
            "expected a time like",
        ),
        (
            vec![
                "rules",
                "add",
                "write_file",
                "--prefix",
                "x",
                "--channel",
                "nowhere",
            ],
            "nowhere",
        ),
        (vec!["rules", "add", "write_file"], "say what it matches"),
        (vec!["rules", "show", "rul_zz"], "no rule starts with"),
    ] {
        let (status, text) = cli(&home, &words);
        assert!(
            status != Some(0) && text.contains(expected),
            "{words:?}: {status:?} {text}"
        );
    }
    let (_, preview) = cli(
        &home,
        &["rules", "add", "write_file", "--pattern", "*", "--preview"],
    );
    assert!(preview.contains("matches 0 of 0 calls"), "{preview}");
    assert_eq!(cli(&home, &["rules", "remove", id]).0, Some(0));
    assert!(
        daemon.get("/v1/rules").await["items"]
            .as_array()
            .unwrap()
            .is_empty()
    );
}

/// A decision on the command line makes a rule or a permission with it, or neither.
#[tokio::test(flavor = "multi_thread")]
async fn approve_on_the_command_line_makes_a_rule_or_a_permission() {
    let home = Home::new("");
    let daemon = home.daemon();
    let first = turn(&daemon, WRITE).await;
    let approval = daemon.wait_approval().await;
    let (id, digest) = (
        approval["id"].as_str().unwrap(),
        approval["digest"].as_str().unwrap(),
    );
    let approve = |more: &[&str]| {
        let mut words = vec!["approvals", "approve", id, "--digest", digest];
        words.extend(more);
        cli(&home, &words)
    };
    // What does not go together decides nothing.
    for refused in [
        &["--prefix", "notes/"][..],
        &["--rule", "--shape"],
        &["--rule", "--field", "path", "--prefix", "other/"],
    ] {
        let (status, text) = approve(refused);
        assert_eq!(status, Some(2), "{refused:?}: {text}");
    }
    assert_eq!(
        daemon.get(&format!("/v1/approvals/{id}")).await["state"],
        "pending"
    );
    let (status, text) = approve(&[
        "--rule",
        "--field",
        "path",
        "--prefix",
        "notes/",
        "--max-uses",
        "3",
    ]);
    assert_eq!(status, Some(0), "{text}");
    daemon.wait_state(&first, "completed").await;
    let rules = daemon.get("/v1/rules").await;
    assert_eq!(
        [
            &rules["items"][0]["value"],
            &rules["items"][0]["max_uses"],
            &rules["items"][0]["approval_id"]
        ],
        [&json!("notes/"), &json!(3), &json!(id)]
    );
    let (status, text) = cli(
        &home,
        &["rules", "remove", rules["items"][0]["id"].as_str().unwrap()],
    );
    assert_eq!(status, Some(0), "{text}");

    // A shape: the same again runs, in this session only.
    let session = daemon.session().await;
    let asked = daemon.send(&session, LIST).await;
    let approval = daemon.wait_approval().await;
    let (id, digest) = (
        approval["id"].as_str().unwrap(),
        approval["digest"].as_str().unwrap(),
    );
    let (status, text) = cli(
        &home,
        &["approvals", "approve", id, "--digest", digest, "--shape"],
    );
    assert_eq!(status, Some(0), "{text}");
    daemon.wait_state(&asked, "completed").await;
    let again = daemon.send(&session, LIST).await;
    daemon.wait_state(&again, "completed").await;
    let grants = daemon.get("/v1/rules/grants").await;
    assert_eq!(grants["items"][0]["id"], json!(id));
    assert_eq!(grants["items"][0]["uses"], 1);

    // Refused with a rule of exactly this call: it never runs again.
    let denied = turn(&daemon, WRITE.replace("a.txt", "d.txt").as_str()).await;
    let approval = daemon.wait_approval().await;
    let (id, digest) = (
        approval["id"].as_str().unwrap(),
        approval["digest"].as_str().unwrap(),
    );
    let (status, text) = cli(
        &home,
        &[
            "approvals",
            "deny",
            id,
            "--digest",
            digest,
            "--rule",
            "--expires",
            "8h",
        ],
    );
    assert_eq!(status, Some(0), "{text}");
    daemon.wait_state(&denied, "completed").await;
    let third = turn(&daemon, WRITE.replace("a.txt", "d.txt").as_str()).await;
    let done = daemon.wait_state(&third, "completed").await;
    assert_eq!(
        done["tool_calls"][0]["verdict"]["decision"], "deny",
        "{done}"
    );
}

/// With `approve_grace_seconds` an approved call waits that long, over a restart too, and can be taken back.
#[tokio::test(flavor = "multi_thread")]
async fn an_approved_call_is_held_back_and_can_be_taken_back() {
    let home = Home::new("[approvals]\napprove_grace_seconds = 10\n");
    let mut daemon = home.daemon();
    let turn_id = turn(&daemon, WRITE).await;
    let approval = daemon.wait_approval().await;
    let id = approval["id"].as_str().unwrap();
    let path = format!("/v1/approvals/{id}/decision");
    let decide = |word: &str| json!({ "decision": word, "digest": approval["digest"] });
    let (status, _) = daemon.request("POST", &path, Some(decide("approve"))).await;
    assert_eq!(status, 200);
    daemon.wait_state(&turn_id, "running").await;
    let held = daemon.get(&format!("/v1/approvals/{id}")).await;
    assert_eq!(held["state"], "approved", "{held}");
    assert_eq!(grace(&held), 10);
    // The process dies; the decision is still there, and is still not used.
    daemon.kill();
    let daemon = home.daemon();
    let held = daemon.get(&format!("/v1/approvals/{id}")).await;
    assert_eq!(held["state"], "approved", "{held}");
    let digest = approval["digest"].as_str().unwrap();
    let (status, text) = cli(&home, &["approvals", "revoke", id, "--digest", digest]);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("revoked"), "{text}");
    assert!(!home.path().join("data/workspaces/api/notes/a.txt").exists());

    // Left alone it runs, not before its time; and then it is too late.
    let second = turn(&daemon, WRITE.replace("a.txt", "b.txt").as_str()).await;
    let approval = daemon.wait_approval().await;
    let id = approval["id"].as_str().unwrap();
    let path = format!("/v1/approvals/{id}/decision");
    let body = json!({ "decision": "approve", "digest": approval["digest"] });
    let began = std::time::Instant::now();
    let (status, _) = daemon.request("POST", &path, Some(body)).await;
    assert_eq!(status, 200);
    daemon.wait_state(&second, "completed").await;
    assert!(began.elapsed() >= std::time::Duration::from_secs(9));
    let body = json!({ "decision": "revoke", "digest": approval["digest"] });
    let (status, late) = daemon.request("POST", &path, Some(body)).await;
    assert_eq!(status, 409, "{late}");
    assert!(
        late["detail"].as_str().unwrap().contains("has started"),
        "{late}"
    );
}

/// Seconds between a decision and the start of its call.
fn grace(approval: &Value) -> i64 {
    let at = |name: &str| {
        let at = serde_json::from_value::<Timestamp>(approval["decision"][name].clone());
        Some(at.ok()?.as_millis())
    };
    at("starts_at").map_or(0, |starts| (starts - at("at").unwrap()) / 1000)
}

/// A call of several, and a call with a rule, are held back three seconds although nothing is configured. Taken back,
/// the rule goes with it.
#[tokio::test(flavor = "multi_thread")]
async fn several_calls_and_a_call_with_a_rule_can_be_taken_back_for_three_seconds() {
    let home = Home::new("");
    let daemon = home.daemon();
    let decide = async |file: &str, extra: Value| {
        turn(&daemon, &WRITE.replace("a.txt", file)).await;
        let approval = daemon.wait_approval().await;
        let path = format!(
            "/v1/approvals/{}/decision",
            approval["id"].as_str().unwrap()
        );
        let mut body = json!({ "decision": "approve", "digest": approval["digest"] });
        for (name, value) in extra.as_object().unwrap() {
            body[name] = value.clone();
        }
        let (status, decided) = daemon.request("POST", &path, Some(body)).await;
        assert_eq!(status, 200, "{decided}");
        (path, decided)
    };
    let (_, alone) = decide("a.txt", json!({})).await;
    assert_eq!(grace(&alone), 0, "{alone}");

    let began = std::time::Instant::now();
    let (_, several) = decide("b.txt", json!({ "batch": true })).await;
    assert_eq!(grace(&several), 3, "{several}");
    let turn_id = several["continuation_id"].as_str().unwrap();
    daemon.wait_state(turn_id, "completed").await;
    assert!(began.elapsed() >= std::time::Duration::from_secs(3));

    let rule = json!({ "field": "path", "matcher": "prefix", "value": "notes/" });
    let (path, ruled) = decide("c.txt", json!({ "rule": rule })).await;
    assert_eq!(grace(&ruled), 3, "{ruled}");
    assert_eq!(
        daemon.get("/v1/rules").await["items"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let body = json!({ "decision": "revoke", "digest": ruled["digest"] });
    let (status, back) = daemon.request("POST", &path, Some(body)).await;
    assert_eq!(status, 200, "{back}");
    assert_eq!(daemon.get("/v1/rules").await["items"], json!([]));
}
