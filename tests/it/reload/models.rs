//! What a reload changes for models.

use serde_json::{Value, json};

use crate::reload::{reload, write};
use crate::support::daemon::{Daemon, Home};
use crate::support::fake_http::{FakeHttp, Reply};

/// The text of a message over HTTP with a recording, or what the request is refused with.
async fn voice(daemon: &Daemon) -> String {
    let session = daemon.session().await;
    let body = json!({ "text": "SAY:listen", "attachments": [
        { "name": "memo.ogg", "media_type": "audio/ogg", "data": "T2dnUw==" } ] });
    let path = format!("/v1/sessions/{session}/messages");
    let sent = daemon.post(&path, body).await;
    let id = sent["continuation_id"].as_str().unwrap();
    let done = daemon.wait_state(id, "completed").await;
    done["request"]["text"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn transcription_comes_changes_and_goes_with_a_reload() {
    let http = FakeHttp::start(|request| {
        let model = String::from_utf8_lossy(&request.raw);
        let said = if model.contains("second") {
            "two"
        } else {
            "one"
        };
        Reply::Json(200, json!({ "text": said }))
    });
    let ears = format!(
        "[providers.ears]\nkind = \"openai-chat\"\nbase_url = \"{}/v1\"\n",
        http.url()
    );
    let hears =
        |model: &str| format!("{ears}[transcription]\nprovider = \"ears\"\nmodel = \"{model}\"\n");
    let home = Home::new(&ears);
    let daemon = home.daemon();
    assert!(!voice(&daemon).await.contains("what is said"));
    for (model, said) in [("first", "one"), ("second", "two")] {
        write(&home, &hears(model));
        let (status, report): (u16, Value) = reload(&daemon, false).await;
        assert_eq!(
            (status, &report["changes"][0]["effect"]),
            (200, &json!("now")),
            "{report}"
        );
        let text = voice(&daemon).await;
        assert!(
            text.contains(&format!("[what is said in it: {said}]")),
            "{text}"
        );
    }
    write(&home, &ears);
    reload(&daemon, false).await;
    assert!(!voice(&daemon).await.contains("what is said"));
}
