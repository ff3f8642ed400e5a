//! Large results: kept whole, redacted, fetched back by people and by the model of the same conversation.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::support::daemon::{Daemon, Home, client};
use crate::support::record::fact;

const CONFIG: &str = "[channels.api]\nautonomy = \"supervised\"\nauto_approve = [\"read_file\"]\n";

/// A daemon in whose workspace lies a file of this content.
fn with_file(content: &str) -> (Home, Daemon) {
    let home = Home::new(CONFIG);
    let daemon = home.daemon();
    std::fs::write(home.workspace("api").join("big.txt"), content).unwrap();
    (home, daemon)
}

/// The call of a turn that prints the file.
async fn printed(daemon: &Daemon, session: &str) -> Value {
    let text = "TOOL:execute_command{\"argv\":[\"cat\",\"big.txt\"]}\nSAY:done";
    let continuation = daemon.send(session, text).await;
    let approval = daemon.wait_approval().await;
    assert_eq!(daemon.decide(&approval, "approve").await.0, 200);
    let done = daemon.wait_state(&continuation, "completed").await;
    done["tool_calls"][0].clone()
}

/// The only call of a turn of this text.
async fn called(daemon: &Daemon, session: &str, text: &str) -> Value {
    let continuation = daemon.send(session, text).await;
    let done = daemon.wait_state(&continuation, "completed").await;
    done["tool_calls"][0].clone()
}

fn file_of(home: &Home, hash: &str) -> PathBuf {
    home.data().join("artifacts").join(&hash[..2]).join(hash)
}

fn numbered(lines: usize) -> String {
    (1..=lines)
        .map(|n| format!("line {n} of many\n"))
        .collect::<Vec<_>>()
        .concat()
}

#[tokio::test]
async fn a_large_result_is_shown_in_part_and_fetched_back_whole() {
    let whole = numbered(20_000);
    let (home, daemon) = with_file(&whole);
    let session = daemon.session().await;
    let call = printed(&daemon, &session).await;

    let hash = call["artifact"]["hash"]
        .as_str()
        .expect("a hash")
        .to_owned();
    let shown = call["result"].as_str().unwrap();
    assert!(shown.len() < 10 * 1024, "{} bytes are shown", shown.len());
    assert!(shown.contains("line 1 of many"), "the beginning is shown");
    assert!(shown.contains("line 20000 of many"), "the end is shown");
    assert!(!shown.contains("line 10000 of many"), "the middle is not");
    assert!(shown.contains(&format!("artifact:{hash}")), "{shown}");

    let response = client()
        .get(format!("{}/v1/artifacts/{hash}", daemon.base))
        .bearer_auth(&daemon.token)
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(
        response.headers()["content-type"],
        "text/plain; charset=utf-8"
    );
    assert_eq!(response.headers()["x-content-type-options"], "nosniff");
    let body = response.text().await.unwrap();
    assert!(body.contains(&whole), "the whole output is kept");
    assert_eq!(call["artifact"]["size"], body.len());
    let digest = Sha256::digest(&body)
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect::<Vec<_>>()
        .concat();
    assert_eq!(digest, hash);

    let file = file_of(&home, &hash);
    let mode =
        |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&file), 0o600);
    assert_eq!(mode(file.parent().unwrap()), 0o700);

    // The steps name it too, and a text that is no hash, or of nothing, is refused in words.
    let id = call["continuation_id"].as_str().unwrap();
    let steps = daemon.get(&format!("/v1/continuations/{id}/steps")).await;
    assert!(steps.to_string().contains(&hash));
    let (status, problem) = daemon.request("GET", "/v1/artifacts/xyz", None).await;
    assert_eq!(
        (status, problem["kind"].as_str()),
        (400, Some("invalid")),
        "{problem}"
    );
    let none = "0".repeat(64);
    let (status, problem) = daemon
        .request("GET", &format!("/v1/artifacts/{none}"), None)
        .await;
    assert_eq!(status, 404, "{problem}");
    assert!(
        problem["detail"].as_str().unwrap().contains(&none),
        "{problem}"
    );
    fact(
        "retention",
        "large-result",
        &serde_json::json!({"bytes": body.len(), "shown": shown.len()}),
    );
}

#[tokio::test]
async fn the_model_of_the_same_conversation_reads_on_and_no_other_does() {
    let mut whole = numbered(5_000);
    whole.push_str(&"x".repeat(9_000));
    whole.push_str("THE END\n");
    let (_home, daemon) = with_file(&whole);
    let session = daemon.session().await;
    let call = printed(&daemon, &session).await;
    let hash = call["artifact"]["hash"].as_str().unwrap().to_owned();
    let read = |offset: u32, limit: u32| {
        format!(
            "TOOL:read_file{{\"path\":\"artifact:{hash}\",\"offset\":{offset},\"limit\":{limit}}}\nSAY:read"
        )
    };
    let middle = called(&daemon, &session, &read(3000, 3)).await;
    assert_eq!(middle["state"], "succeeded", "{middle:#}");
    let text = middle["result"].as_str().unwrap();
    // The first line of the output says how the program ended.
    assert!(text.contains("line 2999 of many"), "{text}");
    assert!(text.contains("continue with offset 3003"), "{text}");
    assert!(
        middle["artifact"].is_null(),
        "a window is not kept once more"
    );

    // The end of a very long line can be reached.
    let end = called(&daemon, &session, &read(5000, 20)).await;
    let text = end["result"].as_str().unwrap();
    assert!(text.contains("THE END"), "{text}");

    let other = daemon.session().await;
    let refused = called(&daemon, &other, &read(1, 3)).await;
    assert_eq!(refused["state"], "failed", "{refused:#}");
    let text = refused["result"].as_str().unwrap();
    assert!(
        text.contains("this conversation has no artifact:"),
        "{text}"
    );

    let nonsense = "TOOL:read_file{\"path\":\"artifact:12\"}\nSAY:read";
    let refused = called(&daemon, &session, nonsense).await;
    assert_eq!(refused["state"], "failed", "{refused:#}");
    assert!(
        refused["result"]
            .as_str()
            .unwrap()
            .contains("names no artifact")
    );
}

#[tokio::test]
async fn a_secret_in_the_output_never_reaches_the_file() {
    let home = Home::new(CONFIG);
    let daemon = home.daemon();
    let secret = daemon.token.clone();
    let whole = format!("{}{secret}\n{}", numbered(2_000), numbered(2_000));
    std::fs::write(home.workspace("api").join("big.txt"), whole).unwrap();
    let session = daemon.session().await;
    let call = printed(&daemon, &session).await;
    let hash = call["artifact"]["hash"].as_str().unwrap();
    let kept = std::fs::read_to_string(file_of(&home, hash)).unwrap();
    assert!(kept.contains("line 2000 of many"), "it is the output");
    assert!(!kept.contains(&secret), "the file holds the secret");
    for entry in std::fs::read_dir(home.data()).unwrap() {
        let path = entry.unwrap().path();
        // The token's own file is where it belongs.
        if path.is_file() && path.file_name().is_some_and(|name| name != "token") {
            let bytes = std::fs::read(&path).unwrap();
            let found = bytes
                .windows(secret.len())
                .any(|window| window == secret.as_bytes());
            assert!(!found, "{} holds the secret", path.display());
        }
    }
}

#[tokio::test]
async fn a_short_result_is_no_artifact() {
    let (home, daemon) = with_file("short\n");
    let short = printed(&daemon, &daemon.session().await).await;
    assert!(short["artifact"].is_null(), "{short:#}");
    assert!(short["result"].as_str().unwrap().contains("short"));
    assert!(!home.data().join("artifacts").exists());
}
