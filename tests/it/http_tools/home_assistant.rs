//! The recipe of the book, word for word, against a small Home Assistant.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Home};
use crate::support::fake_http::{FakeHttp, Reply};

const TOKEN: &str = "long-lived-token-of-the-home";

/// The tables of the recipe.
fn recipe() -> String {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/src/guide/web.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let (_, part) = page.split_once("## Home Assistant").expect("the recipe");
    let (_, block) = part.split_once("```toml\n").expect("its tables");
    block.split_once("```").expect("their end").0.to_owned()
}

/// A home with one light, and what was asked of it with the right token.
fn home() -> (FakeHttp, Arc<Mutex<Vec<String>>>) {
    let calls = Arc::new(Mutex::new(Vec::new()));
    let (seen, light) = (Arc::clone(&calls), Mutex::new("off"));
    let http = FakeHttp::start(move |request| {
        if request.authorization != format!("Bearer {TOKEN}") {
            return Reply::Json(401, json!({"message": "401: Unauthorized"}));
        }
        seen.lock().unwrap().push(format!(
            "{} {} {}",
            request.method, request.path, request.body
        ));
        let mut light = light.lock().unwrap();
        let state = |light: &str| json!({"entity_id": "light.kitchen", "state": light, "attributes": {"friendly_name": "Kitchen"}});
        match (request.method.as_str(), request.path.as_str()) {
            ("GET", "/api/states") => Reply::Json(200, json!([state(&light)])),
            ("GET", "/api/states/light.kitchen") => Reply::Json(200, state(&light)),
            ("POST", "/api/services/light/turn_on")
                if request.body["entity_id"] == "light.kitchen" =>
            {
                *light = "on";
                Reply::Json(200, json!([state(&light)]))
            }
            ("POST", _) => Reply::Json(400, json!({"message": "Service not found."})),
            _ => Reply::Json(404, json!({"message": "Entity not found."})),
        }
    });
    (http, calls)
}

fn start(token: &str) -> (FakeHttp, Arc<Mutex<Vec<String>>>, Home, Daemon) {
    let (http, calls) = home();
    let tables = recipe().replace("http://homeassistant.local:8123", http.url());
    assert_eq!(tables.matches(http.url()).count(), 3, "{tables}");
    let home = Home::new(&format!(
        "[channels.api]\nauto_approve = [\"home_state\", \"home_entities\"]\n\n{tables}"
    ));
    let daemon = home.daemon_with(&[("HOME_ASSISTANT_TOKEN", token)]);
    (http, calls, home, daemon)
}

fn results(continuation: &Value) -> Vec<String> {
    let calls = continuation["tool_calls"].as_array().expect("calls");
    calls
        .iter()
        .map(|call| call["result"].as_str().unwrap_or_default().to_owned())
        .collect()
}

#[tokio::test]
async fn an_agent_reads_the_home_and_asks_before_it_changes_it() {
    let (_http, calls, _home, daemon) = start(TOKEN);
    let session = daemon.session().await;
    let text = "TOOL:home_entities{}\nTHEN TOOL:home_state{\"entity_id\":\"light.kitchen\"}\n\
                THEN TOOL:home_call_service{\"domain\":\"light\",\"service\":\"turn_on\",\"data\":{\"entity_id\":\"light.kitchen\",\"brightness\":120}}\n\
                THEN TOOL:home_state{\"entity_id\":\"light.kitchen\"}\nSAY:done";
    let continuation = daemon.send(&session, text).await;
    let asked = daemon.wait_approval().await;
    assert_eq!(asked["tool"], "home_call_service");
    assert_eq!(asked["taint"].as_array().unwrap().len(), 1, "{asked:#}");
    assert_eq!(calls.lock().unwrap().len(), 2);
    let (status, body) = daemon.decide(&asked, "approve").await;
    assert_eq!(status, 200, "{body:#}");
    let done = daemon.wait_state(&continuation, "completed").await;
    let results = results(&done);
    assert!(results[1].contains("\"state\": \"off\""), "{results:#?}");
    assert!(results[3].contains("\"state\": \"on\""), "{results:#?}");
    assert_eq!(
        calls.lock().unwrap()[2],
        "POST /api/services/light/turn_on {\"entity_id\":\"light.kitchen\",\"brightness\":120}"
    );
}

#[tokio::test]
async fn what_the_home_refuses_can_be_read() {
    let (_http, calls, _home, daemon) = start(TOKEN);
    let session = daemon.session().await;
    let text = "TOOL:home_state{\"entity_id\":\"light.cellar\"}\nTHEN TOOL:home_state{\"entity_id\":\"../config\"}\nSAY:done";
    let continuation = daemon.send(&session, text).await;
    let done = daemon.wait_state(&continuation, "completed").await;
    let said = results(&done);
    assert!(
        said[0].starts_with("HTTP 404") && said[0].contains("Entity not found."),
        "{said:#?}"
    );
    assert!(said[1].contains("do not fit its schema"), "{said:#?}");
    assert_eq!(calls.lock().unwrap().len(), 1);

    let (_http, _, _home, daemon) = start("another-token-than-the-right");
    let session = daemon.session().await;
    let continuation = daemon
        .send(&session, "TOOL:home_entities{}\nSAY:done")
        .await;
    let done = daemon.wait_state(&continuation, "completed").await;
    let said = results(&done);
    assert!(
        said[0].starts_with("HTTP 401: the service refuses the secret"),
        "{said:#?}"
    );
}
