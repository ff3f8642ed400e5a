//! Declared tools in the daemon: the gate, crashes by class, and what a changed declaration does.

use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Home};
use crate::support::fake_service::{FakeService, Mode};

const TOKEN: &str = "t0p-secret-token";

/// A tool that posts an entry, of the class given.
fn config(service: &FakeService, autonomy: &str, effect: &str) -> String {
    format!(
        "[channels.api]\nautonomy = \"{autonomy}\"\npermanent_full = true\n\n\
         [tools.enter]\nkind = \"http\"\ndescription = \"Enters a text.\"\nmethod = \"POST\"\n\
         url = \"{}/entries\"\nbody = {{ text = \"{{text}}\" }}\nheaders = {{ Authorization = \"Bearer {{secret}}\" }}\n\
         secret_env = \"SERVICE_TOKEN\"\nparameters = {{ text = {{ type = \"string\" }} }}\n\
         effect = \"{effect}\"\ntrusted = true\n",
        service.url()
    )
}

fn daemon(home: &Home, crash: Option<&str>) -> Daemon {
    let mut environment = vec![("SERVICE_TOKEN", TOKEN)];
    environment.extend(crash.map(|crash| ("LEVERFRAME_CRASH", crash)));
    home.daemon_with(&environment)
}

async fn enter(daemon: &Daemon) -> String {
    let session = daemon.session().await;
    daemon
        .send(&session, "TOOL:enter{\"text\":\"hello\"}\nSAY:done")
        .await
}

fn call(continuation: &Value) -> &Value {
    &continuation["tool_calls"][0]
}

#[tokio::test]
async fn a_call_goes_through_the_gate_with_the_whole_request_on_its_card() {
    let service = FakeService::start();
    let home = Home::new(&config(&service, "supervised", "non_idempotent"));
    let daemon = daemon(&home, None);
    let tools = daemon.get("/v1/tools").await;
    let mut listed = tools["items"].as_array().unwrap().iter();
    let listed = listed.find(|tool| tool["name"] == "enter").unwrap();
    let place = service.url().trim_start_matches("http://");
    assert_eq!(listed["source"], format!("http {place}"));

    let continuation = enter(&daemon).await;
    let asked = daemon.wait_approval().await;
    assert_eq!(asked["access"], "send");
    assert_eq!(asked["risk"], "medium");
    let shown = asked["preview"]["text"].as_str().unwrap();
    assert!(
        shown.starts_with(&format!(
            "POST {}/entries\nauthorization: Bearer …\n",
            service.url()
        )),
        "{shown}"
    );
    assert!(shown.ends_with("{\n  \"text\": \"hello\"\n}"), "{shown}");
    let output = home
        .command()
        .args(["approvals", "show", asked["id"].as_str().unwrap()])
        .output()
        .unwrap();
    let card = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        card.contains(&format!("Calls enter: POST {place}/entries.")),
        "{card}"
    );
    let doctor = home.command().arg("doctor").output().unwrap();
    let doctor = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(doctor.contains("tool enter"), "{doctor}");
    assert!(doctor.contains("its secret is there"), "{doctor}");

    assert_eq!(service.posts(), 0);
    let (status, body) = daemon.decide(&asked, "approve").await;
    assert_eq!(status, 200, "{body:#}");
    let done = daemon.wait_state(&continuation, "completed").await;
    assert_eq!(call(&done)["state"], "succeeded", "{done:#}");
    assert_eq!(service.ledger().len(), 1);
    for secret in [
        shown.to_owned(),
        card,
        doctor,
        done.to_string(),
        home.log(),
        tools.to_string(),
    ] {
        assert!(!secret.contains(TOKEN), "{secret}");
    }
}

#[tokio::test]
async fn the_class_decides_what_a_crash_means() {
    for (effect, point, asks, entries) in [
        ("non_idempotent", "tool.effect_done:1", true, 1),
        ("non_idempotent", "tool.started:1", true, 0),
        ("keyed", "tool.effect_done:1", false, 1),
        ("keyed", "tool.started:1", false, 1),
        ("idempotent", "tool.effect_done:1", false, 1),
    ] {
        let service = FakeService::start();
        service.honour_keys(true);
        let home = Home::new(&config(&service, "full", effect));
        let mut died = daemon(&home, Some(point));
        let continuation = enter(&died).await;
        died.wait_exit().expect("it dies at the point");
        let again = daemon(&home, None);
        if asks {
            again
                .wait_question("resolve_unknown", "did it happen")
                .await;
            again.wait_state(&continuation, "awaiting_approval").await;
        } else {
            let done = again.wait_state(&continuation, "completed").await;
            assert_eq!(call(&done)["attempts"], 2, "{effect} {point}");
        }
        // The service takes two posts without a key for the same one.
        assert_eq!(service.ledger().len(), entries, "{effect} {point}");
        let key = service.ledger().first().map(|entry| entry.key.clone());
        if let Some(key) = key {
            assert_eq!(key.is_empty(), effect != "keyed", "{effect}: {key}");
        }
    }
}

#[tokio::test]
async fn a_service_that_fails_may_have_done_it() {
    let service = FakeService::start();
    service.set_mode(Mode::ResetAfter);
    let home = Home::new(&config(&service, "full", "non_idempotent"));
    let daemon = daemon(&home, None);
    enter(&daemon).await;
    daemon
        .wait_question("resolve_unknown", "did it happen")
        .await;
    assert_eq!(service.ledger().len(), 1);
}

#[tokio::test]
async fn a_declaration_that_changed_meanwhile_is_asked_about_again() {
    let service = FakeService::start();
    let home = Home::new(&config(&service, "supervised", "non_idempotent"));
    let first = daemon(&home, None);
    let continuation = enter(&first).await;
    let before = first.wait_approval().await;
    drop(first);
    let file = home.path().join("config/config.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("/entries", "/entries?to=elsewhere")).unwrap();
    let second = daemon(&home, None);
    let (status, _) = second.decide(&before, "approve").await;
    assert_eq!(status, 200);
    // What was on the card is not what would be sent.
    let asked = second
        .wait("/v1/approvals?state=pending", "asked again", |page| {
            page["items"][0]["preview"]["text"]
                .as_str()
                .is_some_and(|text| text.contains("elsewhere"))
        })
        .await;
    assert_eq!(asked["items"].as_array().unwrap().len(), 1);
    assert_eq!(service.posts(), 0);
    second.wait_state(&continuation, "awaiting_approval").await;
}

#[tokio::test]
async fn a_reload_says_that_declared_tools_wait_for_a_restart() {
    let service = FakeService::start();
    let home = Home::new(&config(&service, "full", "non_idempotent"));
    let daemon = daemon(&home, None);
    let file = home.path().join("config/config.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("Enters a text.", "Enters one text.")).unwrap();
    let output = home.command().arg("reload").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        said.contains("tools.enter.description"),
        "{said} {output:?}"
    );
    assert!(said.contains("restart"), "{said}");
    let tools = daemon.get("/v1/tools").await.to_string();
    assert!(tools.contains("Enters a text."), "{tools}");
    assert_eq!(json!(service.posts()), json!(0));
}
