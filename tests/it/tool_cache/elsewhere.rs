//! What lies elsewhere: pages and answers of services are given again for the time that the configuration says.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Home};
use crate::support::fake_http::{FakeHttp, Reply};

/// A service that answers each path with how often anybody asked.
fn service() -> (FakeHttp, Arc<Mutex<Vec<String>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let asked = Arc::clone(&seen);
    let http = FakeHttp::start(move |request| {
        let mut asked = asked.lock().unwrap();
        asked.push(format!("{} {}", request.method, request.path));
        let status = if request.path == "/missing" { 404 } else { 200 };
        Reply::Json(status, json!({ "asked": asked.len() }))
    });
    (http, seen)
}

/// The first call of a turn in a new session.
async fn call(daemon: &Daemon, text: &str) -> Value {
    let session = daemon.session().await;
    let id = daemon.send(&session, &format!("{text}\nSAY:done")).await;
    daemon.wait_state(&id, "completed").await["tool_calls"][0].clone()
}

#[tokio::test]
async fn what_only_reads_is_given_again_until_its_time_is_over() {
    let (http, seen) = service();
    let port = http.url().rsplit(':').next().unwrap();
    let home = Home::new(&format!(
        "[channels.api]\nautonomy = \"full\"\npermanent_full = true\ntool_cache = true\n\
         taint_guard_in_full = false\n\
         [tools.http_fetch]\nprivate = [\"127.0.0.1\"]\nports = [{port}]\ncache_seconds = 60\n\
         [tools.state]\nkind = \"http\"\ndescription = \"The state.\"\nurl = \"{}/state\"\ncache_seconds = 60\n\
         [tools.always]\nkind = \"http\"\ndescription = \"The same.\"\nurl = \"{}/always\"\n",
        http.url(),
        http.url()
    ));
    let offset = home.path().join("offset");
    std::fs::write(&offset, "0").unwrap();
    let clock = [("LEVERFRAME_CLOCK_OFFSET_FILE", offset.to_str().unwrap())];
    let daemon = home.daemon_with(&clock);
    let count = || seen.lock().unwrap().len();
    let fetch = |path: &str, method: &str| {
        let url = format!("{}{path}", http.url());
        format!("TOOL:http_fetch{}", json!({"url": url, "method": method}))
    };

    for text in [&fetch("/page", "GET"), "TOOL:state{}"] {
        let before = count();
        let first = call(&daemon, text).await;
        assert!(!first["cached"].is_object(), "{first:#}");
        let again = call(&daemon, text).await;
        assert!(again["cached"].is_object(), "{again:#}");
        assert_eq!(again["result"], first["result"]);
        assert_eq!(count(), before + 1, "{text}");
    }
    // What sends, what fails, and what has no such time always runs.
    for text in [
        &fetch("/page", "POST"),
        &fetch("/missing", "GET"),
        "TOOL:always{}",
    ] {
        let before = count();
        call(&daemon, text).await;
        let again = call(&daemon, text).await;
        assert!(!again["cached"].is_object(), "{again:#}");
        assert_eq!(count(), before + 2, "{text}");
    }
    // A write into the workspace changes nothing elsewhere.
    call(&daemon, "TOOL:write_file{\"path\":\"a\",\"content\":\"b\"}").await;
    assert!(call(&daemon, "TOOL:state{}").await["cached"].is_object());
    std::fs::write(&offset, "61").unwrap();
    assert!(!call(&daemon, "TOOL:state{}").await["cached"].is_object());
    let tools = daemon.get("/v1/tools").await["items"].to_string();
    assert!(tools.contains("\"cache_seconds\":60"), "{tools}");
}

#[tokio::test]
async fn a_page_that_is_given_again_taints_as_it_did() {
    let (http, _) = service();
    let port = http.url().rsplit(':').next().unwrap();
    let home = Home::new(&format!(
        "[channels.api]\nautonomy = \"full\"\npermanent_full = true\ntool_cache = true\n\
         [tools.http_fetch]\nprivate = [\"127.0.0.1\"]\nports = [{port}]\ncache_seconds = 60\n"
    ));
    let daemon = home.daemon();
    let fetch = format!(
        "TOOL:http_fetch{}",
        json!({"url": format!("{}/page", http.url())})
    );
    call(&daemon, &fetch).await;
    let session = daemon.session().await;
    let text =
        format!("{fetch}\nTHEN TOOL:write_file{{\"path\":\"a\",\"content\":\"b\"}}\nSAY:done");
    daemon.send(&session, &text).await;
    let asked = daemon.wait_approval().await;
    assert_eq!(asked["taint"], json!(["a page of 127.0.0.1"]), "{asked:#}");
}
