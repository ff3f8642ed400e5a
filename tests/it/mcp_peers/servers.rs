//! Servers that others wrote, called by an agent through the real daemon.

use serde_json::json;

use crate::mcp_peers::world::{Server, begin, call, ended, home, result, trust};
use crate::support::fake_http::{FakeHttp, Reply};

#[tokio::test]
async fn an_agent_works_with_files_and_not_beside_them() {
    let package = "@modelcontextprotocol/server-filesystem";
    let Some(server) = Server::node(package, &["{home}/share"]) else {
        return;
    };
    let home = home(&[server.table("files", "trusted = true")]);
    let daemon = home.daemon();
    let review = trust(&daemon, "files").await;
    assert_eq!(review["era"], "handshake", "{review:#}");
    assert!(
        review["tools"].as_u64().expect("a number") >= 10,
        "{review:#}"
    );
    let share = home.path().join("share");
    let file = share.join("note.txt");
    let written = call(
        &daemon,
        "files__write_file",
        json!({"path": file, "content": "hello\n"}),
    )
    .await;
    result(&written);
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), "hello\n");
    let read = call(&daemon, "files__read_text_file", json!({"path": file})).await;
    assert!(result(&read).contains("hello"), "{read:#}");
    let outside = call(
        &daemon,
        "files__read_text_file",
        json!({"path": home.path().join("config/config.toml")}),
    )
    .await;
    assert_eq!(outside["state"], "failed", "{outside:#}");
    assert!(
        !outside.to_string().contains("permanent_full"),
        "{outside:#}"
    );
}

#[tokio::test]
async fn a_server_that_shows_its_environment_shows_nothing_of_ours() {
    let Some(server) = Server::node("@modelcontextprotocol/server-everything", &["stdio"]) else {
        return;
    };
    let more = "environment = { LOG = \"info\" }\nenvironment_env = [\"SERVICE_TOKEN\"]";
    let home = home(&[server.table("everything", more)]);
    let secrets = [
        ("ANTHROPIC_API_KEY", "sk-ant-000000000000000000000000"),
        (
            "TELEGRAM_BOT_TOKEN",
            "123456:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        ),
        ("HARMLESS", "but-not-for-servers"),
        ("SERVICE_TOKEN", "passed-on-by-name"),
    ];
    let daemon = home.daemon_with(&secrets);
    trust(&daemon, "everything").await;
    let said = call(&daemon, "everything__get-env", json!({})).await;
    let text = result(&said);
    for (_, secret) in &secrets {
        assert!(!text.contains(secret), "{text}");
    }
    assert!(!text.contains(&daemon.token), "{text}");
    // It has its own token, which nobody else reads: the redactor knows it.
    assert!(
        text.contains("SERVICE_TOKEN") && text.contains("[redacted]"),
        "{text}"
    );
    assert!(text.contains("LOG") && !text.contains("HARMLESS"), "{text}");
    let echoed = call(&daemon, "everything__echo", json!({"message": "hello"})).await;
    assert!(result(&echoed).contains("hello"), "{echoed:#}");
}

#[tokio::test]
async fn a_person_fills_in_the_form_of_a_server() {
    let Some(server) = Server::node("@modelcontextprotocol/server-everything", &["stdio"]) else {
        return;
    };
    let home = home(&[server.table("everything", "")]);
    let daemon = home.daemon();
    trust(&daemon, "everything").await;
    let tool = "everything__trigger-elicitation-request";
    let continuation = begin(&daemon, tool, json!({})).await;
    // The answers by the title of the field. The rest is left out.
    let answers = [
        ("String", "Ada Lovelace"),
        ("Boolean", "yes"),
        ("String with email format", "ada@example.org"),
        ("Integer", "7"),
        ("Titled Single Select Enum", "Green Lantern"),
    ];
    let mut asked = std::collections::BTreeSet::new();
    for _ in 0..13 {
        let question = daemon.wait_approval().await;
        let text = question["question"].as_str().expect("a question");
        let title = text.lines().nth(1).expect("the title of a field");
        let is_it = |part: &str| title == part || title.starts_with(&format!("{part} ("));
        let known = answers.iter().find(|(part, _)| is_it(part));
        let choices = question["args"]["choices"].as_array();
        let last = choices.and_then(|choices| choices.last()?.as_str());
        let answer = known.map_or(last.unwrap_or("-"), |(_, answer)| answer);
        assert!(asked.insert(title.to_owned()), "{title} is asked twice");
        let path = format!("/v1/approvals/{}", question["id"].as_str().expect("an id"));
        let body = json!({"decision": "answer", "digest": question["digest"], "answer": answer});
        daemon.post(&format!("{path}/decision"), body).await;
        daemon
            .wait(&path, "the end of a question", |body| {
                body["state"] != "pending"
            })
            .await;
    }
    let call = ended(&daemon, &continuation).await;
    let said = result(&call);
    for part in [
        "Ada Lovelace",
        "ada@example.org",
        "\"integer\": 7",
        "hero-2",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[tokio::test]
async fn a_server_that_dies_in_a_call_is_there_for_the_next_one() {
    let Some(server) = Server::node("@modelcontextprotocol/server-everything", &["stdio"]) else {
        return;
    };
    let home = home(&[server.table("everything", "")]);
    let daemon = home.daemon();
    trust(&daemon, "everything").await;
    let tool = "everything__trigger-long-running-operation";
    let continuation = begin(&daemon, tool, json!({"duration": 60, "steps": 60})).await;
    let path = format!("/v1/continuations/{continuation}");
    daemon
        .wait(&path, "a call that runs", |body| {
            body["tool_calls"][0]["state"] == "started"
        })
        .await;
    let status = daemon.get("/v1/mcp/servers/everything").await;
    let pid = status["pid"].as_i64().expect("a process");
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).expect("a pid")).expect("a pid");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it runs");
    let ended_call = daemon
        .wait(&path, "the end of the call", |body| {
            body["tool_calls"][0]["state"] != "started"
        })
        .await;
    let state = &ended_call["tool_calls"][0]["state"];
    assert!(state != "succeeded", "{ended_call:#}");
    let echoed = call(&daemon, "everything__echo", json!({"message": "again"})).await;
    assert!(result(&echoed).contains("again"), "{echoed:#}");
    let status = daemon.get("/v1/mcp/servers/everything").await;
    assert_eq!(status["state"], "running", "{status:#}");
    assert!(status["restarts"].as_u64() >= Some(1), "{status:#}");
}

#[tokio::test]
async fn an_agent_asks_git_and_the_time() {
    let (Some(git), Some(time)) = (
        Server::python(&["-m", "mcp_server_git", "--repository", "{home}/share"]),
        Server::python(&["-m", "mcp_server_time", "--local-timezone", "Europe/Berlin"]),
    ) else {
        return;
    };
    let home = home(&[
        git.table("git", "trusted = true"),
        time.table("time", "trusted = true"),
    ]);
    let share = home.path().join("share");
    for words in [
        &["init", "-q"][..],
        &[
            "-c",
            "user.name=Anna",
            "-c",
            "user.email=a@example.com",
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "First",
        ],
    ] {
        let made = std::process::Command::new("git")
            .current_dir(&share)
            .args(words)
            .status();
        assert!(made.expect("git runs").success());
    }
    let daemon = home.daemon();
    let review = trust(&daemon, "git").await;
    assert_eq!(review["era"], "stateless", "{review:#}");
    let log = call(
        &daemon,
        "git__git_log",
        json!({"repo_path": share, "max_count": 5}),
    )
    .await;
    assert!(result(&log).contains("First"), "{log:#}");
    trust(&daemon, "time").await;
    let time =
        json!({"source_timezone": "Europe/Berlin", "time": "12:00", "target_timezone": "UTC"});
    let converted = call(&daemon, "time__convert_time", time).await;
    assert!(result(&converted).contains("UTC"), "{converted:#}");
}

#[tokio::test]
async fn an_agent_reads_a_page_through_the_server_that_fetches() {
    let Some(fetch) = Server::python(&["-m", "mcp_server_fetch", "--allow-private-ips"]) else {
        return;
    };
    let site = FakeHttp::start(|request| match request.path.as_str() {
        "/robots.txt" => Reply::Json(404, json!({})),
        _ => Reply::Json(200, json!({"greeting": "hello from the page"})),
    });
    let home = home(&[fetch.table("fetch", "network = true\ntrusted = true")]);
    let daemon = home.daemon();
    trust(&daemon, "fetch").await;
    let page = call(
        &daemon,
        "fetch__fetch",
        json!({"url": format!("{}/page", site.url())}),
    )
    .await;
    assert!(result(&page).contains("hello from the page"), "{page:#}");
}

#[tokio::test]
async fn an_agent_uses_a_server_over_http() {
    let Some(server) = Server::ledger() else {
        return;
    };
    let dir = tempfile::TempDir::new().expect("a directory");
    let port = {
        let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        free.local_addr().expect("an address").port()
    };
    let mut words: Vec<String> = server.command().to_vec();
    words.pop();
    let mut process = tokio::process::Command::new(&words[0])
        .args(&words[1..])
        .arg(dir.path().join("ledger"))
        .arg(port.to_string())
        .stdin(std::process::Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .expect("it starts");
    let deadline = std::time::Instant::now() + crate::support::daemon::DEADLINE;
    while tokio::net::TcpStream::connect(("127.0.0.1", port))
        .await
        .is_err()
    {
        assert!(std::time::Instant::now() < deadline, "it does not listen");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let home = home(&[format!(
        "[mcp.ledger]\nurl = \"http://127.0.0.1:{port}/mcp\"\n"
    )]);
    let daemon = home.daemon();
    let review = trust(&daemon, "ledger").await;
    assert_eq!(review["transport"], "http", "{review:#}");
    assert_eq!(
        review["instructions"], "Entries stay for ever.",
        "{review:#}"
    );
    let entered = call(&daemon, "ledger__enter_once", json!({"text": "over HTTP"})).await;
    assert!(
        result(&entered).contains("entered: over HTTP"),
        "{entered:#}"
    );
    let kept = std::fs::read_to_string(dir.path().join("ledger")).expect("a ledger");
    assert_eq!(kept, "\tover HTTP\n");
    // Without its server nothing is entered, and the daemon goes on.
    process.kill().await.expect("it ran");
    let continuation = begin(&daemon, "ledger__enter_once", json!({"text": "gone"})).await;
    let path = format!("/v1/continuations/{continuation}");
    let gone = daemon.wait(&path, "the end of the call", |body| {
        let state = body["tool_calls"][0]["state"].as_str();
        state.is_some_and(|state| matches!(state, "succeeded" | "failed" | "indeterminate"))
    });
    let gone = gone.await["tool_calls"][0]["state"].clone();
    assert!(gone == "failed" || gone == "indeterminate", "{gone}");
}
