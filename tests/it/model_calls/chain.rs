//! The fallback chain: who is asked next, when, and what is said about it.

use crate::model_calls::server::{ModelServer, ask, breaks_off, busy, fails, home, says, steps};
use crate::support::daemon::Home;
use crate::support::fake_http::Reply;

const CHAIN: &str = "[model]\ndefault = \"one/m\"\nfallback = [\"two/n\", \"one/m\", \"three/o\"]";

struct Three {
    one: ModelServer,
    two: ModelServer,
    three: ModelServer,
    home: Home,
}

fn three(one: Vec<Reply>, two: Vec<Reply>) -> Three {
    let (one, two, three) = (
        ModelServer::chat(one),
        ModelServer::claude(two),
        ModelServer::chat(Vec::new()),
    );
    let home = home(CHAIN, &[("one", &one), ("two", &two), ("three", &three)]);
    Three {
        one,
        two,
        three,
        home,
    }
}

impl Three {
    fn asked(&self) -> [usize; 3] {
        [
            self.one.seen().len(),
            self.two.seen().len(),
            self.three.seen().len(),
        ]
    }
}

#[tokio::test]
async fn the_next_model_stands_in_when_the_first_one_stays_busy() {
    let three = three(vec![busy(), busy(), busy()], Vec::new());
    let daemon = three.home.daemon();
    let session = daemon.session().await;
    let done = ask(&daemon, &session, "hello", "completed").await;
    assert_eq!(done["response"]["text"], "ok");
    assert_eq!(three.asked(), [3, 1, 0]);

    let step = &steps(&daemon, &done, "model").await[0];
    assert_eq!(step["model"], "two/n");
    assert_eq!(step["attempts"], 4);
    let note = step["notes"][0].as_str().unwrap();
    assert!(
        note.starts_with("one/m did not answer 3 tries, the last one: provider one (127.0.0.1:")
            && note.contains("overloaded")
            && note.ends_with("; two/n stood in"),
        "{note}"
    );
    // The same is in the events, with the three failures before it.
    let events = finished(&daemon, &done).await;
    let failures = events.iter().filter(|event| event["error"].is_string());
    assert_eq!(failures.count(), 3, "{events:#?}");
    assert_eq!(events[3]["notes"][0], note, "{events:#?}");
    assert_eq!(events[3]["model"], "two/n");
}

/// The `model.finished` events of a turn.
async fn finished(
    daemon: &crate::support::daemon::Daemon,
    turn: &serde_json::Value,
) -> Vec<serde_json::Value> {
    let id = turn["id"].as_str().unwrap();
    let mut stream = crate::model_calls::interrupted::events(daemon, "after=0").await;
    let needle = "event: continuation.completed\ndata: ";
    let text = crate::model_calls::interrupted::until(&mut stream, needle).await;
    text.lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .filter_map(|json| serde_json::from_str::<serde_json::Value>(json).ok())
        .filter(|event| event["kind"] == "model.finished" && event["continuation_id"] == id)
        .collect()
}

#[tokio::test]
async fn keys_models_and_quotas_are_not_tried_twice() {
    for (status, what) in [
        (401, "invalid x-api-key"),
        (404, "no such model"),
        (429, "You exceeded your current quota"),
        (402, "pay first"),
    ] {
        let three = three(vec![fails(status, "", what)], Vec::new());
        let daemon = three.home.daemon();
        let session = daemon.session().await;
        let done = ask(&daemon, &session, "hello", "completed").await;
        assert_eq!(three.asked(), [1, 1, 0], "{status}");
        let step = &steps(&daemon, &done, "model").await[0];
        let note = step["notes"][0].as_str().unwrap();
        assert!(note.contains("one/m did not answer: "), "{note}");
    }
}

#[tokio::test]
async fn each_stand_in_is_asked_once_and_all_reasons_are_told() {
    let no = || fails(401, "", "invalid x-api-key");
    let three = three(vec![no()], vec![no()]);
    three.three.next(no());
    let daemon = three.home.daemon();
    let session = daemon.session().await;
    let failed = ask(&daemon, &session, "hello", "failed").await;
    assert_eq!(three.asked(), [1, 1, 1]);
    assert_eq!(failed["error"]["code"], "model_authentication");
    let message = failed["error"]["message"].as_str().unwrap();
    for name in ["one/m", "two/n", "three/o"] {
        assert!(
            message.contains(&format!("{name} did not answer: ")),
            "{message}"
        );
    }
}

#[tokio::test]
async fn nobody_stands_in_after_text_was_shown() {
    let three = three(vec![breaks_off("Half an ans")], Vec::new());
    let daemon = three.home.daemon();
    let session = daemon.session().await;
    let turn = ask(&daemon, &session, "hello", "interrupted").await;
    assert_eq!(three.asked(), [1, 0, 0]);
    let message = turn["error"]["message"].as_str().unwrap();
    assert!(
        message.starts_with("the answer broke off: provider one"),
        "{message}"
    );
}

#[tokio::test]
async fn a_channel_has_its_own_chain_and_a_fixed_model_has_none_of_the_others() {
    for (channel, expected) in [
        ("fallback = [\"three/o\"]", [1, 0, 1]),
        ("fallback = []", [1, 0, 0]),
        ("fixed_model = true", [1, 0, 0]),
        ("fixed_model = true\nfallback = [\"three/o\"]", [1, 0, 1]),
    ] {
        let (one, two, three) = (
            ModelServer::chat(vec![fails(401, "", "no")]),
            ModelServer::claude(Vec::new()),
            ModelServer::chat(Vec::new()),
        );
        let home = home(
            &format!("{CHAIN}\n[channels.api]\n{channel}"),
            &[("one", &one), ("two", &two), ("three", &three)],
        );
        let daemon = home.daemon();
        let session = daemon.session().await;
        let state = if expected[2] == 1 {
            "completed"
        } else {
            "failed"
        };
        ask(&daemon, &session, "hello", state).await;
        let asked = [one.seen().len(), two.seen().len(), three.seen().len()];
        assert_eq!(asked, expected, "{channel}");
    }
}

#[test]
fn a_chain_is_checked_when_the_program_starts() {
    let telegram = "[channels.team]\nkind = \"telegram\"\ntoken_env = \"T\"\n";
    let local = "[providers.one]\nkind = \"openai-chat\"\nbase_url = \"http://127.0.0.1:9\"\n";
    for (config, words) in [
        (
            "[model]\nfallback = [\"nine/m\"]".to_owned(),
            ["model.fallback", "no provider `nine`"],
        ),
        (
            "[model]\nfallback = [\"one\"]".to_owned(),
            ["model.fallback", "<provider>/<model>"],
        ),
        (
            "[channels.api]\nfallback = [\"openai/gpt\"]".to_owned(),
            ["channels.api.fallback", "OPENAI_API_KEY"],
        ),
        (
            format!(
                "[model]\ndefault = \"one/m\"\nfallback = [\"scripted/demo\"]\n{local}{telegram}"
            ),
            ["channels.team", "the scripted model, which is no LLM"],
        ),
        (
            format!("[model]\nfallback = [{}]", "\"scripted/demo\", ".repeat(9)),
            ["model.fallback", "at most 8"],
        ),
    ] {
        let home = Home::new(&config);
        // One that is accepted listens, and is stopped again.
        let listens = home.try_daemon_with(&[("T", "1:x")]).is_some();
        assert!(!listens, "{config} was accepted");
        let out = home
            .command()
            .env("T", "1:x")
            .arg("--daemon")
            .output()
            .expect("it runs");
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(2), "{config}: {said}");
        for word in words {
            assert!(said.contains(word), "{config}: {said}");
        }
    }
}

#[tokio::test]
async fn without_a_chain_the_turn_fails_with_the_provider_s_own_words() {
    let one = ModelServer::chat(vec![fails(401, "", "invalid x-api-key")]);
    let home = home("[model]\ndefault = \"one/m\"", &[("one", &one)]);
    let daemon = home.daemon();
    let session = daemon.session().await;
    let failed = ask(&daemon, &session, "hello", "failed").await;
    assert_eq!(failed["error"]["code"], "model_authentication");
    one.next(says("again"));
    let done = ask(&daemon, &session, "hello", "completed").await;
    assert_eq!(done["response"]["text"], "again");
    assert!(steps(&daemon, &done, "model").await[0]["notes"].is_null());
}
