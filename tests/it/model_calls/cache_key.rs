//! The name under which a provider keeps the beginning of a session's requests: one for each session, and no clue to
//! who is in it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::model_calls::server::ask;
use crate::support::daemon::Home;
use crate::support::fake_http::{FakeHttp, Reply};
use crate::support::fake_platform::FakePlatform;

const API_KEY: &str = "sk-very-secret-0123456789";

/// A server that speaks Responses, answers everything with a word and keeps every request.
fn responses() -> (FakeHttp, Arc<Mutex<Vec<Value>>>) {
    let seen: Arc<Mutex<Vec<Value>>> = Arc::default();
    let kept = Arc::clone(&seen);
    let http = FakeHttp::start(move |request| {
        kept.lock().unwrap().push(request.body.clone());
        let said = json!({"type": "output_text", "text": "ok"});
        Reply::Json(
            200,
            json!({
                "status": "completed",
                "output": [{"type": "message", "role": "assistant", "content": [said]}],
                "usage": {"input_tokens": 100, "output_tokens": 5},
            }),
        )
    });
    (http, seen)
}

fn key_of(request: &Value) -> String {
    let key = request["prompt_cache_key"].as_str();
    key.unwrap_or_else(|| panic!("{request:#}")).to_owned()
}

#[tokio::test]
async fn a_session_has_one_key_that_names_nobody() {
    let (server, seen) = responses();
    let platform = FakePlatform::start(false);
    let config = format!(
        "[model]\ndefault = \"one/m\"\n[providers.one]\nkind = \"openai-responses\"\nbase_url = \"{}/v1\"\n\
         api_key_env = \"ONE_KEY\"\n[providers.one.models.m]\nprompt_cache = \"key\"\n\
         [channels.team]\nkind = \"scripted\"\napi_base = \"{}\"\nallowed_users = [\"user-4711\", \"user-4712\"]",
        server.url(),
        platform.api_base("native")
    );
    let home = Home::new(&config);
    let environment = [("ONE_KEY", API_KEY)];
    let mut daemon = home.daemon_with(&environment);
    let session = daemon.session().await;
    ask(&daemon, &session, "first words", "completed").await;
    ask(&daemon, &session, "second words", "completed").await;
    daemon.terminate();
    let daemon = home.daemon_with(&environment);
    ask(&daemon, &session, "third words", "completed").await;
    // Another session of the same channel, and two conversations of a platform.
    let other = daemon.session().await;
    ask(&daemon, &other, "first words", "completed").await;
    for (conversation, user, turns) in [("chat-815", "user-4711", 5), ("chat-816", "user-4712", 6)]
    {
        platform.say(conversation, user, "first words");
        daemon
            .wait("/v1/continuations", "an answer", |page| {
                let items = page["items"].as_array().unwrap();
                items.len() == turns && items.iter().all(|turn| turn["state"] == "completed")
            })
            .await;
    }

    let requests = seen.lock().unwrap().clone();
    let keys: Vec<String> = requests.iter().map(key_of).collect();
    assert_eq!(keys.len(), 6);
    assert!(
        keys[..3].iter().all(|key| *key == keys[0]),
        "one session, over a restart: {keys:?}"
    );
    let different: BTreeSet<&String> = keys[2..].iter().collect();
    assert_eq!(different.len(), 4, "another session, another key: {keys:?}");

    let sessions = daemon.get("/v1/sessions").await;
    let secrets = sessions["items"].as_array().unwrap().iter();
    let mut secrets: Vec<String> = secrets
        .map(|session| session["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(secrets.len(), 4, "{sessions:#}");
    // An id without its prefix is an id as well.
    let bare: Vec<String> = secrets
        .iter()
        .filter_map(|id| id.split_once('_'))
        .map(|(_, bare)| bare.to_owned())
        .collect();
    secrets.extend(bare);
    secrets.extend(["user-4711", "user-4712", "chat-815", "chat-816", "words"].map(str::to_owned));
    secrets.extend([API_KEY.to_owned(), daemon.token.clone()]);
    for key in &keys {
        assert_eq!(key.len(), 32, "{key}");
        assert!(key.bytes().all(|byte| byte.is_ascii_hexdigit()), "{key}");
        let held: Vec<&String> = secrets
            .iter()
            .filter(|secret| key.to_lowercase().contains(&secret.to_lowercase()))
            .collect();
        assert!(held.is_empty(), "{key} holds {held:?}");
    }
}
