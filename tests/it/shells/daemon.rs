//! An agent's shell over calls, restarts and stops, and a person in it.

use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::stories::bot::cli;
use crate::support::daemon::{Daemon, Home};
use crate::tools::bash::lives;
use crate::tools::harness;

const CONFIG: &str = "[channels.api]\nautonomy = \"full\"\npermanent_full = true\n[tools.bash]\n";

fn home() -> Option<Home> {
    harness::sandbox().map(|_| Home::new(CONFIG))
}

/// A turn that runs a command in the shell, from the message to its end: what the model read.
async fn run(daemon: &Daemon, session: &str, command: &str) -> String {
    let args = json!({ "command": command });
    let turn = daemon
        .send(session, &format!("TOOL:bash{args}\nSAY:done"))
        .await;
    daemon.wait_state(&turn, "completed").await;
    let steps = daemon.get(&format!("/v1/continuations/{turn}/steps")).await;
    steps["items"].to_string()
}

async fn interpreters(daemon: &Daemon) -> Vec<Value> {
    let page = daemon.get("/v1/interpreters").await;
    page["items"].as_array().unwrap().clone()
}

async fn gone(word: &str) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while lives(word) {
        assert!(Instant::now() < deadline, "{word} lives");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_asks_and_its_card_says_where_it_stands() {
    if harness::sandbox().is_none() {
        return;
    }
    let home = Home::new("[tools.bash]\n");
    let daemon = home.daemon();
    let session = daemon.session().await;
    for (command, place) in [("mkdir d; cd d", "in a new shell"), ("sudo rm -rf x", "/d")] {
        let args = json!({ "command": command });
        daemon
            .send(&session, &format!("TOOL:bash{args}\nSAY:done"))
            .await;
        let asked = daemon.wait_approval().await;
        assert_eq!(asked["access"], "exec");
        assert_eq!(asked["risk"], "high");
        assert_eq!(asked["preview"]["text"], command);
        assert!(asked["plan"].to_string().contains(place), "{asked:#}");
        if command.starts_with("sudo") {
            let reasons = asked["risk_reasons"].to_string();
            assert!(reasons.contains("runs as another user: sudo"), "{reasons}");
            assert!(reasons.contains("recursive delete"), "{reasons}");
        }
        assert_eq!(daemon.decide(&asked, "approve").await.0, 200);
        let turn = asked["continuation_id"].as_str().unwrap();
        daemon.wait_state(turn, "completed").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn state_stays_until_the_daemon_dies_and_the_next_call_hears_of_that() {
    let Some(home) = home() else { return };
    let mut daemon = home.daemon();
    let session = daemon.session().await;
    let said = run(
        &daemon,
        &session,
        "WORD=kept; setsid sleep 81818 & disown -a",
    )
    .await;
    assert!(!said.contains("is new"), "{said}");
    assert!(
        run(&daemon, &session, "echo is-$WORD")
            .await
            .contains("is-kept")
    );
    assert!(lives("81818"));
    let rows = interpreters(&daemon).await;
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["session_id"], json!(session));
    assert_eq!(
        (&rows[0]["state"], &rows[0]["commands"]),
        (&json!("idle"), &json!(2))
    );
    daemon.kill();
    gone("81818").await;
    drop(daemon);
    let daemon = home.daemon();
    assert_eq!(interpreters(&daemon).await.len(), 0);
    assert!(
        !home.data().join("shells").exists(),
        "what the shells left is removed"
    );
    let said = run(&daemon, &session, "echo is-[$WORD]").await;
    assert!(
        said.contains("the shell is new: the daemon was started again"),
        "{said}"
    );
    assert!(said.contains("is-[]"), "{said}");
    // Its end ends the shell, and what left the shell.
    run(&daemon, &session, "setsid sleep 81819 & disown -a").await;
    assert!(lives("81819"));
    let (status, _) = daemon
        .request("DELETE", &format!("/v1/sessions/{session}"), None)
        .await;
    assert_eq!(status, 200);
    gone("81819").await;
    assert_eq!(interpreters(&daemon).await.len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_runs_commands_in_the_shell_and_the_audit_says_so() {
    let Some(home) = home() else { return };
    let daemon = home.daemon();
    let session = daemon.session().await;
    run(&daemon, &session, "WORD=agent").await;
    let (good, said) = cli(&home, &["shell", &session, "echo is-$WORD; WORD=person"]).await;
    assert!(good && said.contains("is-agent"), "{said}");
    let said = run(&daemon, &session, "echo is-$WORD").await;
    assert!(
        said.contains("a person ran a command in the shell since your last one (1)"),
        "{said}"
    );
    assert!(said.contains("is-person"), "{said}");
    let (good, said) = cli(&home, &["get", "interpreters"]).await;
    assert!(
        good && said.contains(&session) && said.contains("echo is-"),
        "{said}"
    );
    let path = format!("/v1/sessions/{session}/shell");
    let (status, ran) = daemon
        .request("POST", &path, Some(json!({"command": "exit 3"})))
        .await;
    assert_eq!(status, 200, "{ran:#}");
    assert_eq!(ran["is_error"], true);
    let (status, _) = daemon
        .request(
            "POST",
            &path,
            Some(json!({"command": "true", "timeout_seconds": 901})),
        )
        .await;
    assert_eq!(status, 400);
    let (good, said) = cli(&home, &["shell", &session, "--", "true"]).await;
    assert!(good, "{said}");
    // A script ends as its last command does.
    for (script, status) in [("true\nfalse\n", Some(1)), ("false\ntrue\n", Some(0))] {
        let mut program = home.command();
        program
            .args(["shell", &session])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = program.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(script.as_bytes()).unwrap();
        drop(input);
        assert_eq!(child.wait().unwrap().code(), status, "{script:?}");
    }
    let (good, said) = cli(&home, &["shell", &session, "--end"]).await;
    assert!(good && said.contains("ended, after 5 commands"), "{said}");
    let (good, said) = cli(&home, &["shell", &session, "--end"]).await;
    assert!(!good, "{said}");
    let rows = daemon.get("/v1/audit?limit=100").await;
    let rows = rows["items"].as_array().unwrap().clone();
    let of = |action: &str| rows.iter().filter(|row| row["action"] == action).count();
    assert_eq!((of("shell.started"), of("shell.ended")), (7, 7));
    assert_eq!(of("interpreter.ended"), 1);
    let first = rows
        .iter()
        .rfind(|row| row["action"] == "shell.started")
        .unwrap();
    assert!(
        first["detail"].as_str().unwrap().contains("echo is-$WORD"),
        "{first:#}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_runs_code_in_the_python_and_the_agent_hears_of_it() {
    if harness::sandbox().is_none() {
        return;
    }
    let home =
        Home::new("[channels.api]\nautonomy = \"full\"\npermanent_full = true\n[tools.python]\n");
    let daemon = home.daemon();
    let session = daemon.session().await;
    let agent = async |code: &str| {
        let args = json!({ "code": code });
        let turn = daemon
            .send(&session, &format!("TOOL:python{args}\nSAY:done"))
            .await;
        daemon.wait_state(&turn, "completed").await;
        let steps = daemon.get(&format!("/v1/continuations/{turn}/steps")).await;
        steps["items"].to_string()
    };
    agent("word = 'agent'").await;
    let code = "print(f'is-{word}'); word = 'person'";
    let (good, said) = cli(&home, &["shell", &session, "--python", code]).await;
    assert!(good && said.contains("is-agent"), "{said}");
    let said = agent("f'is-{word}'").await;
    assert!(
        said.contains("a person ran a command in Python since your last one (1)"),
        "{said}"
    );
    assert!(said.contains("is-person"), "{said}");
    assert!(!agent("word").await.contains("a person ran"));
    let path = format!("/v1/sessions/{session}/shell");
    let wrong = json!({ "command": "1 / 0", "kind": "python" });
    let (status, ran) = daemon.request("POST", &path, Some(wrong)).await;
    assert_eq!((status, &ran["is_error"]), (200, &json!(true)), "{ran:#}");
    assert!(
        ran["content"]
            .as_str()
            .unwrap()
            .contains("ZeroDivisionError")
    );
    let shell = json!({ "command": "true" });
    let (status, refused) = daemon.request("POST", &path, Some(shell)).await;
    assert_eq!(status, 422, "{refused:#}");
    assert!(refused["hint"].as_str().unwrap().contains("[tools.bash]"));
    let rows = daemon.get("/v1/audit?action=shell.started&limit=10").await;
    let rows = rows["items"].as_array().unwrap().clone();
    assert_eq!(rows.len(), 2, "{rows:#?}");
    for row in &rows {
        let detail = row["detail"].as_str().unwrap();
        assert!(detail.contains("python"), "{row:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_emergency_stop_ends_every_shell_and_refuses_people() {
    let Some(home) = home() else { return };
    let daemon = home.daemon();
    let session = daemon.session().await;
    run(&daemon, &session, "setsid sleep 81820 & disown -a").await;
    let args = json!({ "command": "sleep 81821" });
    daemon
        .send(&session, &format!("TOOL:bash{args}\nSAY:done"))
        .await;
    let deadline = Instant::now() + Duration::from_secs(20);
    while !lives("81821") {
        assert!(Instant::now() < deadline, "it does not run");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let path = format!("/v1/sessions/{session}/shell");
    let command = json!({"command": "true"});
    let (status, busy) = daemon.request("POST", &path, Some(command.clone())).await;
    assert_eq!(status, 409, "{busy:#}");
    daemon.post("/v1/emergency-stop", json!({})).await;
    gone("81820").await;
    gone("81821").await;
    assert_eq!(interpreters(&daemon).await.len(), 0);
    let (status, held) = daemon.request("POST", &path, Some(command)).await;
    assert_eq!(status, 503, "{held:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_a_crash_cut_off_has_an_unknown_outcome() {
    let Some(home) = home() else { return };
    let mut daemon = home.daemon();
    let session = daemon.session().await;
    let args = json!({ "command": "sleep 81822" });
    let turn = daemon
        .send(&session, &format!("TOOL:bash{args}\nSAY:done"))
        .await;
    let deadline = Instant::now() + Duration::from_secs(20);
    while !lives("81822") {
        assert!(Instant::now() < deadline, "it does not run");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    daemon.kill();
    gone("81822").await;
    drop(daemon);
    let daemon = home.daemon();
    let asked = daemon.wait_question("resolve_unknown", "bash").await;
    assert_eq!(asked["continuation_id"], json!(turn));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_who_goes_away_leaves_a_shell_and_a_whole_audit() {
    let Some(home) = home() else { return };
    let daemon = home.daemon();
    let session = daemon.session().await;
    let path = format!("/v1/sessions/{session}/shell");
    let say = |command: &str| Some(json!({ "command": command }));
    let (status, said) = daemon.request("POST", &path, say("X=5")).await;
    assert_eq!(status, 200, "{said:#}");
    let deadline = Instant::now() + Duration::from_secs(20);
    tokio::select! {
        ended = daemon.try_request("POST", &path, say("sleep 81823")) => panic!("{ended:?}"),
        () = async {
            while !lives("81823") {
                assert!(Instant::now() < deadline, "it does not run");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        } => {}
    }
    gone("81823").await;
    let ends = |audit: &Value| audit.to_string().matches("shell.ended").count() == 2;
    daemon
        .wait(
            "/v1/audit?action=shell.ended",
            "both ends in the audit",
            ends,
        )
        .await;
    let (status, said) = daemon.request("POST", &path, say("echo $X")).await;
    assert_eq!(status, 200, "{said:#}");
    assert!(
        said["content"].as_str().unwrap().contains("\n5"),
        "{said:#}"
    );
}
