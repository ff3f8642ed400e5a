//! Turns of the real binary: what a hook changes is what is judged, shown, approved and run; what it stops, the model
//! reads of.

use serde_json::{Value, json};

use leverframe::clock::Clock;
use leverframe::protocol::ids::ContinuationId;
use leverframe::store::{OpenOptions, Store};

use crate::hooks::scripts::{configure, says, script, table};
use crate::support::daemon::{DEADLINE, Daemon, Home};

/// The counters of a hook, summed over its points.
pub async fn counts(daemon: &Daemon, name: &str) -> Value {
    let hooks = daemon.get("/v1/hooks").await;
    let of = |field: &str| -> u64 {
        let items = hooks["items"].as_array().unwrap().iter();
        items
            .filter(|hook| hook["name"] == name)
            .map(|hook| hook["counts"][field].as_u64().unwrap())
            .sum()
    };
    json!({
        "runs": of("runs"), "changes": of("changes"), "cancels": of("cancels"), "failures": of("failures"),
    })
}

/// What the model read of the only call of a turn.
pub fn result(done: &Value) -> &str {
    done["tool_calls"][0]["result"].as_str().unwrap()
}

/// The facts of the first row of a list of the audit.
pub fn detail(audit: &Value) -> Value {
    let text = audit["items"][0]["detail"].as_str();
    serde_json::from_str(text.unwrap_or_else(|| panic!("{audit:#}"))).unwrap()
}

/// Runs the program to its end; status and what it printed.
pub fn program(home: &Home, arguments: &[&str]) -> (i32, String) {
    let output = home
        .command()
        .args(arguments)
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.code().unwrap(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

const WRITE_A: &str = "TOOL:write_file{\"path\":\"a.txt\",\"content\":\"a\"}\nSAY:done";

#[tokio::test]
async fn what_a_hook_changes_is_what_is_shown_approved_and_run() {
    let home = Home::new("");
    let verdict = r#"{"verdict":"change","args":{"path":"b.txt","content":"b"}}"#;
    let path = says(home.path(), "redirect", verdict);
    let more = "tools = [\"write_file\"]\nchannels = [\"api\"]";
    configure(
        &home,
        &table("redirect", &path, "\"before_tool_call\"", more),
    );
    let daemon = home.daemon();
    let url = format!("{}/v1/events?kind=hook.ran", daemon.base);
    let mut stream = crate::support::daemon::client()
        .get(url)
        .bearer_auth(&daemon.token)
        .send()
        .await
        .unwrap();
    let session = daemon.session().await;
    let turn = daemon.send(&session, WRITE_A).await;
    let approval = daemon.wait_approval().await;
    assert_eq!(approval["args"], json!({"path": "b.txt", "content": "b"}));
    assert!(
        approval["preview"]["unified"]
            .as_str()
            .unwrap()
            .contains("+b"),
        "{approval:#}"
    );
    let (status, body) = daemon.decide(&approval, "approve").await;
    assert_eq!(status, 200, "{body}");
    let done = daemon.wait_state(&turn, "completed").await;
    let workspace = home.workspace("api");
    assert_eq!(
        std::fs::read_to_string(workspace.join("b.txt")).unwrap(),
        "b"
    );
    assert!(!workspace.join("a.txt").exists());
    // Once when it was proposed, once at the start, where it found what it wants.
    let expected = json!({"runs": 2, "changes": 1, "cancels": 0, "failures": 0});
    assert_eq!(counts(&daemon, "redirect").await, expected);
    assert_eq!(counts(&daemon, "redaction").await["failures"], 0);
    assert!(counts(&daemon, "audit").await["runs"].as_u64().unwrap() >= 3);

    // The digest is of the changed arguments: without the hook, the same call has the same one.
    std::fs::remove_file(workspace.join("b.txt")).unwrap();
    let call = done["tool_calls"][0]["id"].as_str().unwrap();
    let why = daemon.get(&format!("/v1/tool-calls/{call}/why")).await;
    let note = &why["hooks"][0];
    assert_eq!(note["hook"], "redirect", "{why:#}");
    assert_eq!(note["verdict"], "change");
    assert_eq!(note["before"], json!({"path": "a.txt", "content": "a"}));
    assert_eq!(note["value"], json!({"path": "b.txt", "content": "b"}));
    let (status, text) = program(&home, &["why", call]);
    assert_eq!(status, 0, "{text}");
    assert!(text.contains("hook redirect changed args from"), "{text}");
    let audit = daemon.get("/v1/audit?action=hook.changed").await;
    let row = &audit["items"][0];
    assert_eq!(row["subject"], call, "{audit:#}");
    assert_eq!(detail(&audit)["said"]["after"]["path"], "b.txt");

    let mut seen = String::new();
    while !seen.contains("\"hook\":\"redirect\"") {
        let chunk = tokio::time::timeout(DEADLINE, stream.chunk()).await;
        let chunk = chunk.expect(&seen).unwrap().expect("more events");
        seen.push_str(&String::from_utf8_lossy(&chunk));
    }
    assert!(!seen.contains("id: "), "it is ephemeral: {seen}");

    drop(daemon);
    std::fs::write(home.path().join("config/config.toml"), "").unwrap();
    let daemon = home.daemon();
    let session = daemon.session().await;
    daemon
        .send(
            &session,
            "TOOL:write_file{\"content\":\"b\",\"path\":\"b.txt\"}",
        )
        .await;
    let plain = daemon.wait_approval().await;
    assert_eq!(plain["digest"], approval["digest"]);
}

#[tokio::test]
async fn a_cancelled_call_gives_the_model_the_reason_and_the_turn_goes_on() {
    let home = Home::new("[channels.api]\nauto_approve = [\"list_files\"]\n");
    let verdict = r#"{"verdict":"cancel","reason":"not on Sundays"}"#;
    let path = says(home.path(), "calendar", verdict);
    configure(&home, &table("calendar", &path, "\"before_tool_call\"", ""));
    let daemon = home.daemon();
    let done = daemon
        .post(
            "/v1/ask?wait=15",
            json!({"text": "TOOL:list_files{}\nSAY:done"}),
        )
        .await;
    assert_eq!(done["state"], "completed", "{done:#}");
    assert_eq!(
        result(&done),
        "cancelled by the hook `calendar`: not on Sundays. Nothing ran"
    );
    let call = &done["tool_calls"][0];
    assert_eq!(
        (&call["state"], &call["attempts"]),
        (&json!("denied"), &json!(0))
    );
    assert_eq!(call["verdict"]["rule"], "hook calendar: cancelled");
    assert_eq!(call["access"], "read_local");
    assert_eq!(counts(&daemon, "calendar").await["cancels"], 1);
    let audit = daemon.get("/v1/audit?action=hook.cancelled").await;
    assert_eq!(detail(&audit)["hook"], "calendar");
}

#[tokio::test]
async fn a_broken_hook_fails_closed_and_the_turn_goes_on_and_everybody_can_see_it() {
    let home = Home::new("[channels.api]\nauto_approve = [\"list_files\"]\n");
    let path = says(home.path(), "open", r#"{"verdict":"pass"}"#);
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o722)).unwrap();
    configure(&home, &table("open", &path, "\"before_tool_call\"", ""));
    let daemon = home.daemon();
    let ask = || {
        daemon.post(
            "/v1/ask?wait=15",
            json!({"text": "TOOL:list_files{}\nSAY:done"}),
        )
    };
    let row = |listed: &str| {
        let found = listed.lines().find(|line| line.contains(" open "));
        found.map_or_else(|| panic!("{listed}"), str::to_owned)
    };
    let (_, listed) = program(&home, &["hooks", "list"]);
    let fresh = row(&listed);
    assert!(
        fresh.contains("never ran") && !fresh.contains("µs"),
        "{listed}"
    );
    let done = ask().await;
    assert_eq!(done["state"], "completed", "{done:#}");
    assert!(
        result(&done).starts_with("not run, because the hook `open`"),
        "{done:#}"
    );
    assert!(
        result(&done).contains("can be written by others"),
        "{done:#}"
    );
    let (status, listed) = program(&home, &["hooks", "list"]);
    assert_eq!(status, 0, "{listed}");
    assert!(
        listed.contains("not run: ") && listed.contains("mode 0722"),
        "{listed}"
    );
    let asked = row(&listed);
    assert!(
        asked.contains("µs") && !asked.contains("never ran"),
        "{listed}"
    );
    let (_, doctor) = program(&home, &["doctor"]);
    assert!(
        doctor.contains("hook open") && doctor.contains("it is not run"),
        "{doctor}"
    );
    let (status, tried) = program(&home, &["hooks", "try", "open"]);
    assert_eq!(status, 1, "{tried}");
    for _ in 0..5 {
        ask().await;
    }
    // Mended, and still left alone until it is asked again.
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    assert!(result(&ask().await).contains("failed too often"));
    let (status, reset) = program(&home, &["hooks", "reset", "open"]);
    assert_eq!(status, 0, "{reset}");
    let done = ask().await;
    assert_eq!(done["tool_calls"][0]["state"], "succeeded", "{done:#}");
    assert_eq!(counts(&daemon, "open").await["failures"], 5);
    let (_, tried) = program(
        &home,
        &["hooks", "try", "open", "--point", "before_tool_call"],
    );
    assert!(tried.starts_with("pass"), "{tried}");
    let audit = daemon.get("/v1/audit?action=hook.reset").await;
    assert_eq!(audit["items"][0]["subject"], "open", "{audit:#}");
    let (status, text) = program(&home, &["hooks", "reset", "opn"]);
    assert_eq!(status, 1);
    assert!(text.contains("no hook `opn`"), "{text}");
}

#[tokio::test]
async fn what_the_model_reads_can_be_changed_and_stays_changed() {
    let home = Home::new("");
    let body = "case \"$(cat)\" in\n*SAY:secret*) echo '{\"verdict\":\"change\",\"text\":\"SAY:public\"}';;\n\
                *) echo '{\"verdict\":\"pass\"}';;\nesac";
    let path = script(home.path(), "mask", body);
    configure(&home, &table("mask", &path, "\"before_llm_call\"", ""));
    let mut daemon = home.daemon();
    let session = daemon.session().await;
    let turn = daemon.send(&session, "SAY:secret").await;
    let done = daemon.wait_state(&turn, "completed").await;
    assert_eq!(done["response"]["text"], "public", "{done:#}");
    assert_eq!(done["request"]["text"], "SAY:secret");
    let steps = daemon.get(&format!("/v1/continuations/{turn}/steps")).await;
    assert!(
        steps["items"][0]["body"]["notes"][0]
            .as_str()
            .unwrap()
            .contains("the hook mask changed"),
        "{steps:#}"
    );
    let second = daemon.send(&session, "SAY:more").await;
    daemon.wait_state(&second, "completed").await;
    let expected = json!({"runs": 2, "changes": 1, "cancels": 0, "failures": 0});
    assert_eq!(counts(&daemon, "mask").await, expected);
    daemon.terminate();

    // Later turns send the earlier message as the model read it, not as it was written.
    let opened = Store::open(OpenOptions {
        dir: home.data(),
        clock: Clock::System,
        readers: 1,
        instance: "test".to_owned(),
    })
    .unwrap();
    let (session, second) = (
        session.parse().unwrap(),
        second.parse::<ContinuationId>().unwrap(),
    );
    let history = opened
        .store
        .read(move |reader| reader.history(session, second, 6))
        .await
        .unwrap();
    assert_eq!(history[0].text, "SAY:public");
    opened.store.close().await;
}

#[tokio::test]
async fn a_model_call_that_is_cancelled_or_cannot_be_checked_fails_the_turn() {
    for (verdict, code, words) in [
        (
            r#"{"verdict":"cancel","reason":"outside office hours"}"#,
            "hook_cancelled",
            "outside office hours",
        ),
        ("garbage", "hook_failed", "no verdict"),
    ] {
        let home = Home::new("");
        let path = says(home.path(), "hours", verdict);
        configure(&home, &table("hours", &path, "\"before_llm_call\"", ""));
        let daemon = home.daemon();
        let session = daemon.session().await;
        let turn = daemon.send(&session, "hello").await;
        let failed = daemon.wait_state(&turn, "failed").await;
        assert_eq!(failed["error"]["code"], code, "{failed:#}");
        let message = failed["error"]["message"].as_str().unwrap();
        assert!(
            message.contains(words) && message.contains("`hours`"),
            "{message}"
        );
        // No model was asked.
        assert_eq!(failed["usage"]["input_tokens"], 0);
    }
}
