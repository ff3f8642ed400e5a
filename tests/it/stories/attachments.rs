//! Files that come with a message: kept whole, offered to tools by path, untrusted.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Home, client};

/// Bytes that are no text, in base64.
const PICTURE: &str = "iVBORw0KGgoA/w==";
const PICTURE_BYTES: &[u8] = b"\x89PNG\r\n\x1a\n\x00\xff";

async fn send(daemon: &Daemon, session: &str, key: &str, body: Value) -> (u16, Value) {
    let url = format!("{}/v1/sessions/{session}/messages", daemon.base);
    let request = client().post(url).bearer_auth(&daemon.token);
    let sent = request.header("Idempotency-Key", key).json(&body).send();
    let answer = sent.await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

fn with_picture(text: &str) -> Value {
    json!({ "text": text, "attachments": [
        { "name": "../a photo.png", "media_type": "image/png", "data": PICTURE },
        { "name": "a_photo.png", "data": "aGVsbG8K" },
    ] })
}

#[tokio::test]
async fn files_over_http_are_kept_and_lie_where_tools_find_them() {
    let home = Home::new("");
    let daemon = home.daemon();
    let session = daemon.session().await;
    let text = "TOOL:write_file{\"path\":\"note.txt\",\"content\":\"hello\\n\"}\nSAY:done";
    let (status, sent) = send(&daemon, &session, "one", with_picture(text)).await;
    assert_eq!(status, 202, "{sent:#}");
    let id = sent["continuation_id"].as_str().unwrap();

    // Whatever follows from a file of somebody asks, and the card says why (A7).
    let approval = daemon.wait_approval().await;
    assert_eq!(
        approval["taint"],
        json!(["a file that came with a message"])
    );
    assert_eq!(daemon.decide(&approval, "approve").await.0, 200);
    let done = daemon.wait_state(id, "completed").await;
    let [picture, other] = [&done["attachments"][0], &done["attachments"][1]];
    let path = format!("attachments/{id}/a_photo.png");
    assert_eq!(picture["path"], path.as_str());
    assert_eq!(other["path"], format!("attachments/{id}/2-a_photo.png"));
    assert_eq!(picture["size"], PICTURE_BYTES.len());
    let line = format!("[attached file: {path} (image/png, 10 bytes)]");
    assert!(
        done["request"]["text"].as_str().unwrap().contains(&line),
        "{done:#}"
    );

    let file = home.workspace("api").join(&path);
    assert_eq!(std::fs::read(&file).unwrap(), PICTURE_BYTES);
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o111, 0, "an attached file can be run: {mode:o}");

    let hash = picture["hash"].as_str().unwrap();
    let url = format!("{}/v1/artifacts/{hash}", daemon.base);
    let whole = client()
        .get(url)
        .bearer_auth(&daemon.token)
        .send()
        .await
        .unwrap();
    assert_eq!(whole.headers()["content-type"], "image/png");
    assert_eq!(&whole.bytes().await.unwrap()[..], PICTURE_BYTES);

    // The same request is the same turn; with another file it is another request (E7).
    let (_, again) = send(&daemon, &session, "one", with_picture(text)).await;
    assert_eq!(again["continuation_id"], id);
    let mut changed = with_picture(text);
    changed["attachments"][1]["data"] = json!("aGVsbG8h");
    let (status, conflict) = send(&daemon, &session, "one", changed).await;
    assert_eq!(status, 409, "{conflict:#}");
}

#[tokio::test]
async fn a_file_that_cannot_be_taken_is_refused_by_its_field() {
    let home = Home::new("");
    let daemon = home.daemon();
    let session = daemon.session().await;
    let large = "A".repeat(4 * (8 * 1024 * 1024 / 3 + 1));
    for (attachments, said) in [
        (json!([{ "name": "a", "data": "?" }]), "attachments[0].data"),
        (json!([{ "name": "a", "data": large }]), "8 MiB"),
        (
            json!([{ "name": "a", "data": "", "media_type": "a\nb" }]),
            "attachments[0].media_type",
        ),
        (
            json!(vec![json!({ "name": "a", "data": "" }); 11]),
            "at most 10",
        ),
    ] {
        let body = json!({ "text": "hello", "attachments": attachments });
        let (status, refused) = send(&daemon, &session, said, body).await;
        assert_eq!(status, 400, "{refused:#}");
        assert!(
            refused["detail"].as_str().unwrap().contains(said),
            "{refused:#}"
        );
    }
}

#[tokio::test]
async fn no_file_is_written_through_a_link() {
    let home = Home::new("");
    let daemon = home.daemon();
    let elsewhere = tempfile::tempdir().unwrap();
    let workspace = home.workspace("api");
    std::fs::create_dir_all(&workspace).unwrap();
    symlink(elsewhere.path(), workspace.join("attachments")).unwrap();
    let session = daemon.session().await;
    let (_, sent) = send(&daemon, &session, "one", with_picture("SAY:done")).await;
    let id = sent["continuation_id"].as_str().unwrap();
    daemon.wait_state(id, "completed").await;
    assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}
