//! Who gets in, and what is refused before anybody looks at it.

use serde_json::{Value, json};

use crate::mcp_server::host::{Era, McpHost, token};
use crate::support::daemon::{Daemon, Home, client};

fn post(daemon: &Daemon, token: &str, body: impl Into<reqwest::Body>) -> reqwest::RequestBuilder {
    client()
        .post(format!("{}/mcp", daemon.base))
        .bearer_auth(token)
        .header("Accept", "application/json, text/event-stream")
        .header("Content-Type", "application/json")
        .body(body)
}

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

async fn status(request: reqwest::RequestBuilder) -> u16 {
    request.send().await.unwrap().status().as_u16()
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_and_origins_of_elsewhere_are_refused_and_ones_own_is_not() {
    let home = Home::new("");
    let daemon = home.daemon();
    let token = token(&home, "editor");
    let port = daemon.base.rsplit(':').next().unwrap().to_owned();
    assert_eq!(status(post(&daemon, &token, PING)).await, 200);
    let evil = post(&daemon, &token, PING).header("Host", "evil.example");
    assert_eq!(status(evil).await, 403);
    let own = [
        format!("http://127.0.0.1:{port}"),
        format!("http://localhost:{port}"),
    ];
    for origin in own {
        let request = post(&daemon, &token, PING).header("Origin", &origin);
        assert_eq!(status(request).await, 200, "{origin}");
        // On no other path.
        let other = client()
            .get(format!("{}/v1/sessions", daemon.base))
            .bearer_auth(&daemon.token)
            .header("Origin", &origin);
        assert_eq!(status(other).await, 403, "{origin}");
        // And not without the token.
        let stranger = post(&daemon, "lf_no", PING).header("Origin", &origin);
        assert_eq!(status(stranger).await, 401, "{origin}");
    }
    for origin in [
        "http://evil.example".to_owned(),
        "null".to_owned(),
        "http://localhost:1".to_owned(),
        format!("https://localhost:{port}"),
        format!("http://localhost.evil.example:{port}"),
    ] {
        let request = post(&daemon, &token, PING).header("Origin", &origin);
        assert_eq!(status(request).await, 403, "{origin}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_of_a_host_opens_nothing_else_and_goes_when_it_is_revoked() {
    let home = Home::new("");
    let daemon = home.daemon();
    let nobody = client().post(format!("{}/mcp", daemon.base)).body("{");
    // Nobody reads the body of a stranger.
    let nobody = nobody.header("Content-Type", "application/json");
    assert_eq!(status(nobody).await, 401);
    assert_eq!(status(post(&daemon, "lf_wrong", "{")).await, 401);
    let token = token(&home, "editor");
    assert!(token.starts_with("lf_"), "{token}");
    for path in [
        "/v1/sessions",
        "/v1/approvals",
        "/v1/snapshot",
        "/v1/channels/mcp",
    ] {
        let request = client()
            .get(format!("{}{path}", daemon.base))
            .bearer_auth(&token);
        assert_eq!(status(request).await, 403, "{path}");
    }
    let command = json!({
        "command": { "command": "set_policy", "channel": "mcp", "patch": { "autonomy": "full" } },
        "surface": "mcp",
    });
    let submit = client()
        .post(format!("{}/v1/submit", daemon.base))
        .bearer_auth(&token)
        .json(&command);
    assert_eq!(status(submit).await, 403);
    assert_eq!(status(post(&daemon, &token, PING)).await, 200);
    let removed = home
        .command()
        .args(["token", "revoke", "editor"])
        .output()
        .unwrap();
    assert!(removed.status.success(), "{removed:?}");
    assert_eq!(status(post(&daemon, &token, PING)).await, 401);
    for name in ["admin", "../token", "", ".x"] {
        let taken = home
            .command()
            .args(["token", "create", name, "--scope", "mcp"])
            .output()
            .unwrap();
        assert_eq!(taken.status.code(), Some(2), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_are_no_message_are_refused_and_the_daemon_goes_on() {
    let home = Home::new("");
    let daemon = home.daemon();
    let token = token(&home, "editor");
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let in_params = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{deep}}}"#);
    let cases: Vec<(&str, Vec<u8>, u16)> = vec![
        ("batch", format!("[{PING}]").into_bytes(), 400),
        ("deep", deep.clone().into_bytes(), 400),
        ("deep params", in_params.into_bytes(), 400),
        ("no UTF-8", vec![b'{', b'"', 0xff, b'"', b'}'], 400),
        ("cut", PING.as_bytes()[..20].to_vec(), 400),
        ("empty", Vec::new(), 400),
        ("too long", vec![b' '; 1024 * 1024 + 1], 413),
    ];
    for (what, body, wanted) in cases {
        assert_eq!(status(post(&daemon, &token, body)).await, wanted, "{what}");
    }
    assert_eq!(status(post(&daemon, &token, PING)).await, 200);
    let other = client()
        .delete(format!("{}/mcp", daemon.base))
        .bearer_auth(&token);
    assert_eq!(status(other).await, 405);
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_that_contradict_the_body_are_refused() {
    let home = Home::new("");
    let daemon = home.daemon();
    let host = McpHost::new(&home, &daemon, "editor", Era::Stateless);
    let list = || host.request("tools/list", json!({}));
    let (code, _) = McpHost::send(list()).await;
    assert_eq!(code, 200);
    for (name, value) in [
        ("Mcp-Method", "tools/call"),
        ("MCP-Protocol-Version", "2025-11-25"),
    ] {
        let request = list().build().unwrap();
        let mut changed = request;
        changed.headers_mut().insert(name, value.parse().unwrap());
        let response = client().execute(changed).await.unwrap();
        assert_eq!(response.status(), 400, "{name}");
        let body: Value = response.json().await.unwrap();
        assert_eq!(body["error"]["code"], -32020, "{name}: {body}");
    }
    let call = host.request(
        "tools/call",
        json!({ "name": "list_sessions", "arguments": {} }),
    );
    let mut call = call.build().unwrap();
    let other = "read_file".parse().unwrap();
    call.headers_mut().insert("Mcp-Name", other);
    let response = client().execute(call).await.unwrap();
    assert_eq!(response.status(), 400);
    // A state that nobody gave.
    let forged = json!({ "name": "list_sessions", "arguments": {}, "requestState": "e30.e30" });
    let error = host.ask("tools/call", forged).await.unwrap_err();
    assert_eq!(error["code"], -32602);
}
