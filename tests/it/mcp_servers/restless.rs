//! A server that says with each list that the list has changed: it is looked at now and then, not without pause.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::mcp_servers::scripted::{Scripted, seen, server, table, tool, trust, turn};
use crate::support::daemon::{Daemon, Home, client};

/// How long it is watched.
const WATCHED: Duration = Duration::from_secs(3);
/// Most lists and most events while it is watched.
const MOST: usize = 6;

/// The events about servers, as they come.
async fn follow(daemon: &Daemon) -> Arc<Mutex<String>> {
    let mut response = client()
        .get(format!("{}/v1/events?kind=mcp.changed", daemon.base))
        .bearer_auth(&daemon.token)
        .send()
        .await
        .unwrap();
    let text = Arc::new(Mutex::new(String::new()));
    let heard = Arc::clone(&text);
    tokio::spawn(async move {
        while let Ok(Some(bytes)) = response.chunk().await {
            let more = String::from_utf8_lossy(&bytes).into_owned();
            heard.lock().unwrap().push_str(&more);
        }
    });
    text
}

#[tokio::test]
async fn news_with_each_list_makes_no_loop_and_a_real_change_is_still_seen() {
    let home = Home::new(&format!(
        "[channels.api]\nautonomy = \"full\"\npermanent_full = true\ntaint_guard_in_full = false\n{}",
        table("one", "")
    ));
    let plain = [tool("keep", "Stays."), tool("note", "Writes a note.")];
    let scripted = Scripted::new(&home, "one", &plain);
    scripted.is_restless();
    let daemon = home.daemon();
    seen(&daemon, "one").await;
    let events = follow(&daemon).await;
    let heard = || events.lock().unwrap().matches("event: mcp.changed").count();
    let (lists, before) = (scripted.lists(), heard());
    let until = Instant::now() + WATCHED;
    while Instant::now() < until {
        let (more, told) = (scripted.lists() - lists, heard() - before);
        assert!(more <= MOST && told <= MOST, "{more} lists, {told} events");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }

    trust(&daemon, "one").await;
    scripted.offers(&[tool("keep", "Stays."), tool("note", "Writes it twice.")]);
    let session = daemon.session().await;
    // The list before this call has the change, which is another tool's.
    let calls = turn(&daemon, &session, "TOOL:mcp__one__keep{}\nSAY:done").await;
    assert_eq!(calls[0].0, "succeeded", "{calls:?}");
    daemon.wait_question("server_pin", "1 changed: note").await;
    assert_eq!(server(&daemon, "one").await["quarantined"], 1);
}
