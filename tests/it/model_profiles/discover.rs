//! `models discover`: what answers on this machine, with lines that load, and nothing used by itself.

use std::sync::atomic::Ordering;

use leverframe::protocol::enums::Scope;
use leverframe::protocol::request::{Command, DiscoverModels};
use serde_json::{Value, json};

use crate::first_run::init::ollama;
use crate::model_profiles::server::{Ran, run};
use crate::support::daemon::Home;
use crate::support::fake_http::{FakeHttp, Reply};

fn discover(home: &Home, servers: &str, words: &[&str]) -> Ran {
    let output = home
        .command()
        .args(["models", "discover"])
        .args(words)
        .env("LEVERFRAME_TEST_SERVERS", servers)
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    Ran {
        status: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

#[tokio::test]
async fn a_server_is_shown_with_lines_that_load_and_is_not_used() {
    let (server, asked) = ollama();
    let hanging = FakeHttp::start(|_| Reply::Hang);
    let list = format!("ollama={},vllm={}", server.url(), hanging.url());
    let home = Home::new("[model]\ndefault = \"scripted/demo\"\n");
    let daemon = home.daemon_with(&[("LEVERFRAME_TEST_SERVERS", &list)]);
    daemon.get("/v1/models").await;
    assert_eq!(asked.load(Ordering::SeqCst), 0, "looked for unasked");
    let found = daemon.post("/v1/models/discover", json!({})).await;
    let offered = &found["servers"][0];
    assert_eq!(offered["server"]["title"], "Ollama", "{found}");
    assert_eq!(offered["provider"], Value::Null, "{found}");
    assert_eq!(found["servers"].as_array().unwrap().len(), 1);
    let note = found["notes"][0].as_str().unwrap();
    assert!(note.contains("not offered as vLLM"), "{note}");
    assert!(asked.load(Ordering::SeqCst) > 0);
    // The engine gates it; over HTTP that is the scope admin.
    assert_eq!(
        Command::DiscoverModels(DiscoverModels {}).scope(),
        Scope::Admin
    );
    let (status, problem) = daemon
        .request("POST", "/v1/models/discover", Some(json!({"use": true})))
        .await;
    assert_eq!(status, 400, "{problem}");
    // Nothing of it is configured by that.
    let listed = daemon.get("/v1/models").await.to_string();
    assert!(!listed.contains("qwen3:8b"), "{listed}");

    // The command line shows the same, with a daemon and without one.
    let through = discover(&home, "", &["--json"]);
    let said: Value = serde_json::from_str(&through.out).unwrap();
    assert_eq!(said["servers"], found["servers"]);
    drop(daemon);
    let alone = discover(&home, &list, &[]);
    assert_eq!(alone.status, Some(0), "{}{}", alone.out, alone.err);
    for words in [
        "Ollama at http://127.0.0.1:",
        "4 models, not configured",
        "[providers.ollama-local]",
    ] {
        assert!(alone.out.contains(words), "{words}: {}", alone.out);
    }
    assert!(
        alone.err.contains("add these lines to the configuration"),
        "{}",
        alone.err
    );
    assert!(!alone.out.contains('\u{1b}'), "{:?}", alone.out);

    // The lines load, and name the models.
    let lines = offered["config"].as_str().unwrap();
    let declared = Home::new(&format!("[model]\ndefault = \"scripted/demo\"\n{lines}"));
    let listed = run(&declared, &["models", "list", "--json"]);
    assert_eq!(listed.status, Some(0), "{}\n{lines}", listed.err);
    assert!(
        listed.out.contains("ollama-local/qwen3:8b"),
        "{}",
        listed.out
    );
    // Once declared it is known for what it is.
    let again = discover(&declared, &list, &["--json"]);
    let again: Value = serde_json::from_str(&again.out).unwrap();
    assert_eq!(again["servers"][0]["provider"], "ollama-local", "{again}");
    // What is declared is not declared again: the lines are remarks, and load beside it.
    let more = again["servers"][0]["config"].as_str().unwrap();
    assert!(more.lines().all(|line| line.starts_with('#')), "{more}");
    let both = Home::new(&format!(
        "[model]\ndefault = \"scripted/demo\"\n{lines}{more}"
    ));
    let listed = run(&both, &["models", "list", "--json"]);
    assert_eq!(listed.status, Some(0), "{}\n{more}", listed.err);

    // A name that is taken by another server is not given out a second time.
    let elsewhere = "kind = \"ollama\"\nbase_url = \"http://127.0.0.1:9\"\n";
    let taken = Home::new(&format!(
        "[model]\ndefault = \"scripted/demo\"\n[providers.ollama-local]\n{elsewhere}"
    ));
    let other = discover(&taken, &list, &[]);
    assert!(
        other.out.contains("[providers.ollama-local-2]"),
        "{}",
        other.out
    );
    let localhost = server.url().replace("127.0.0.1", "localhost");
    let same = Home::new(&format!(
        "[model]\ndefault = \"scripted/demo\"\n[providers.mine]\nkind = \"ollama\"\nbase_url = \"{localhost}\"\n"
    ));
    let same = discover(&same, &list, &[]);
    assert!(same.out.contains("configured as mine"), "{}", same.out);
    let nobody = discover(&home, "", &[]);
    assert!(
        nobody.out.contains("no model server answers"),
        "{}",
        nobody.out
    );
}
