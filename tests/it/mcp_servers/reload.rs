//! Servers come, change and go with a reload, without a restart.

use serde_json::json;

use crate::mcp_servers::scripted::{Scripted, server, table, tool, trust, turn};
use crate::support::daemon::Home;

const FULL: &str =
    "[channels.api]\nautonomy = \"full\"\npermanent_full = true\ntaint_guard_in_full = false\n";

fn write(home: &Home, text: &str) {
    let text = text.replace("{home}", home.path().to_str().unwrap());
    std::fs::write(home.path().join("config/config.toml"), text).unwrap();
}

#[tokio::test]
async fn a_reload_adds_changes_and_removes_servers() {
    let home = Home::new(FULL);
    let one = Scripted::new(&home, "one", &[tool("note", "Writes.")]);
    let _two = Scripted::new(&home, "two", &[tool("look", "Looks.")]);
    let daemon = home.daemon();
    assert_eq!(daemon.get("/v1/mcp/servers").await["items"], json!([]));

    write(&home, &format!("{FULL}{}", table("one", "")));
    let report = daemon.post("/v1/reload", json!({})).await;
    assert!(!report.to_string().contains("restart"), "{report}");
    trust(&daemon, "one").await;
    let session = daemon.session().await;
    let call = "TOOL:mcp__one__note{}\nSAY:done";
    assert_eq!(turn(&daemon, &session, call).await[0].0, "succeeded");

    // Another one beside it, and the first for another channel alone.
    let channels = FULL.replace("full = false\n", "full = false\nmcp = [\"two\"]\n");
    write(
        &home,
        &format!("{channels}{}{}", table("one", ""), table("two", "")),
    );
    daemon.post("/v1/reload", json!({})).await;
    trust(&daemon, "two").await;
    let calls = turn(
        &daemon,
        &session,
        "TOOL:mcp__one__note{}\nTOOL:mcp__two__look{}\nSAY:done",
    )
    .await;
    assert_eq!(
        (calls[0].0.as_str(), calls[1].0.as_str()),
        ("blocked", "succeeded"),
        "{calls:?}"
    );
    assert!(calls[0].1.contains("no server `one` here"), "{calls:?}");
    assert_eq!(one.calls().len(), 1);

    // A tool is blocked from now on.
    write(
        &home,
        &format!("{FULL}{}", table("one", "block = [\"note\"]")),
    );
    daemon.post("/v1/reload", json!({})).await;
    let calls = turn(&daemon, &session, call).await;
    assert_eq!(calls[0].0, "blocked", "{calls:?}");

    // The place changes: it is another server.
    let moved = table("one", "").replace("server.sh\", ", "server.sh\", \"{home}/servers/one\", ");
    write(&home, &format!("{FULL}{moved}"));
    daemon.post("/v1/reload", json!({})).await;
    assert_eq!(server(&daemon, "one").await["identity_changed"], true);
    daemon.wait_question("server_pin", "ANOTHER SERVER").await;

    write(&home, FULL);
    daemon.post("/v1/reload", json!({})).await;
    assert_eq!(
        daemon.pending_approvals().await,
        [json!(null); 0],
        "nobody is asked about it any more"
    );
    let calls = turn(&daemon, &session, call).await;
    assert_eq!(calls[0].0, "blocked", "{calls:?}");
    let left = server(&daemon, "one").await;
    assert!(
        left["problem"]
            .as_str()
            .unwrap()
            .contains("mcp distrust one"),
        "{left}"
    );
    let path = "/v1/mcp/servers/one/distrust";
    assert_eq!(daemon.request("POST", path, None).await.0, 200);
    let (status, _) = daemon.request("GET", "/v1/mcp/servers/one", None).await;
    assert_eq!(status, 404);
}
