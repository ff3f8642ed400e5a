//! More turns than a provider takes calls: the bound holds, everybody has a turn, and who looks sees who waits.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use serde_json::{Value, json};

use crate::end_to_end_models::patient_peer::{Manner, PatientPeer};
use crate::end_to_end_models::stories::model_steps;
use crate::support::daemon::{DEADLINE, Daemon, Home, client};

const PLACES: usize = 4;

fn home(peer: &PatientPeer) -> Home {
    Home::new(&format!(
        "[model]\ndefault = \"peer/test-model\"\n\n\
         [providers.peer]\nkind = \"openai-chat\"\nbase_url = \"{}\"\nmax_concurrent = {PLACES}\n\n\
         [engine]\nmax_running = 32\n",
        peer.base_url
    ))
}

/// The events of one kind, as they come.
struct Heard(Arc<Mutex<String>>);

impl Heard {
    async fn follow(daemon: &Daemon, kind: &str) -> Self {
        let mut response = client()
            .get(format!("{}/v1/events?kind={kind}", daemon.base))
            .bearer_auth(&daemon.token)
            .send()
            .await
            .unwrap();
        let text = Arc::new(Mutex::new(String::new()));
        let heard = Arc::clone(&text);
        tokio::spawn(async move {
            while let Ok(Some(bytes)) = response.chunk().await {
                heard
                    .lock()
                    .unwrap()
                    .push_str(&String::from_utf8_lossy(&bytes));
            }
        });
        Self(text)
    }

    /// Waits until each of these stands in an event.
    async fn wait_all(&self, needles: &[String]) -> String {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let text = self.0.lock().unwrap().clone();
            if needles.iter().all(|needle| text.contains(needle)) {
                return text;
            }
            assert!(Instant::now() < deadline, "{needles:?} not in {text}");
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    }
}

async fn session(daemon: &Daemon, channel: &str) -> String {
    let session = daemon
        .post("/v1/sessions", json!({ "channel": channel }))
        .await;
    session["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_busy_channel_does_not_keep_a_quiet_one_waiting() {
    let peer = PatientPeer::start(Manner::OnWord);
    let home = home(&peer);
    let daemon = home.daemon();
    let heard = Heard::follow(&daemon, "model.waiting").await;
    let mut busy = Vec::new();
    for n in 0..10 {
        let session = session(&daemon, "api").await;
        busy.push(daemon.send(&session, &format!("busy {n}")).await);
    }
    peer.wait_asked(PLACES);
    let desk = session(&daemon, "desk").await;
    let quiet = daemon.send(&desk, "quiet").await;
    let told = heard.wait_all(std::slice::from_ref(&quiet)).await;
    assert!(told.contains(r#""provider":"peer""#), "{told}");
    assert_eq!(peer.asked(), PLACES, "no more at once");

    // Seven wait, one of them on the quiet channel: it is next.
    let waiting = heard
        .0
        .lock()
        .unwrap()
        .matches("event: model.waiting")
        .count();
    assert!(waiting >= 1);
    // All of them have asked, or the order would be chance.
    let asked = |text: &str| busy.iter().filter(|id| text.contains(id.as_str())).count();
    let deadline = Instant::now() + DEADLINE;
    while asked(&heard.0.lock().unwrap()) < 10 - PLACES {
        assert!(Instant::now() < deadline);
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    peer.allow(1);
    let order = peer.wait_asked(PLACES + 1);
    assert_eq!(order[PLACES], "quiet", "{order:?}");

    peer.allow(10);
    let done = daemon.wait_state(&quiet, "completed").await;
    assert_eq!(done["response"]["text"], "re: quiet");
    for id in &busy {
        daemon.wait_state(id, "completed").await;
    }
    assert_eq!(peer.most_open(), PLACES);
}

#[tokio::test]
async fn who_waits_can_be_cancelled_has_spent_nothing_and_gives_its_turn_to_the_next() {
    let peer = PatientPeer::start(Manner::OnWord);
    let home = home(&peer);
    let daemon = home.daemon();
    let heard = Heard::follow(&daemon, "model.waiting").await;
    let mut turns = Vec::new();
    for n in 0..PLACES + 2 {
        let session = session(&daemon, "api").await;
        turns.push(daemon.send(&session, &format!("turn {n}")).await);
        if n < PLACES {
            peer.wait_asked(n + 1);
        } else {
            heard.wait_all(&turns[PLACES..]).await;
        }
    }
    // Both have been told to wait, so the wait of each began before now.
    let all_waited = Instant::now();
    let first = &turns[PLACES];
    let cancelled = daemon
        .post(&format!("/v1/continuations/{first}/cancel"), json!({}))
        .await;
    assert_eq!(cancelled["state"], "cancelled");
    assert_eq!(cancelled["usage"]["input_tokens"], 0, "{cancelled:#}");
    // Waits of a second and more are worth a note on the step. They are measured by the steady clock, which no test can
    // set and nothing tells: all that can be done is to let the rest of that second pass.
    tokio::time::sleep_until((all_waited + std::time::Duration::from_millis(1_050)).into()).await;
    peer.allow(1);
    let order = peer.wait_asked(PLACES + 1);
    assert_eq!(order[PLACES], format!("turn {}", PLACES + 1));
    peer.allow(PLACES);
    for id in turns.iter().filter(|id| *id != first) {
        let done = daemon.wait_state(id, "completed").await;
        let steps = model_steps(&daemon, &done).await;
        let noted = steps[0]["notes"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .any(|note| note.contains("waited") && note.contains("peer"));
        assert_eq!(noted, *id == turns[PLACES + 1], "{steps:#?}");
    }
    assert_eq!(peer.asked(), PLACES + 1);
}
