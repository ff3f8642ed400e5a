//! Routines of the real binary: over HTTP with events and history, into a Telegram chat, and from one.

use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Home};
use crate::support::fake_telegram::FakeTelegram;
use crate::support::fake_telegram::state::User;

const WRITE: &str = "TOOL:write_file{\"path\":\"note.txt\",\"content\":\"hi\"}\nSAY:all the same";

async fn add(daemon: &Daemon, routine: Value) -> Value {
    let (status, made) = daemon.request("POST", "/v1/routines", Some(routine)).await;
    assert_eq!(status, 201, "{made}");
    made
}

/// Runs one now and answers its turn's id.
async fn run(daemon: &Daemon, name: &str) -> String {
    let run = daemon
        .post(&format!("/v1/routines/{name}/run"), json!({}))
        .await;
    run["continuation_id"].as_str().expect("a turn").to_owned()
}

#[tokio::test]
async fn a_routine_is_made_runs_when_it_is_due_and_is_seen_everywhere() {
    let home = Home::new("");
    let offset = home.path().join("offset");
    let environment = [("LEVERFRAME_CLOCK_OFFSET_FILE", offset.to_str().unwrap())];
    let mut daemon = home.daemon_with(&environment);
    let made = add(
        &daemon,
        json!({ "name": "minutely", "schedule": "every 1m", "prompt": "SAY:tick" }),
    )
    .await;
    assert_eq!(made["channel"], "routine");
    assert_eq!(made["conversation"], "minutely");
    assert_eq!(made["autonomy_ceiling"], "supervised");
    // The channel's row says what comes next.
    let detail = |channel: &Value| {
        channel["health"]["detail"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    daemon
        .wait("/v1/channels/routine", "what is next", |channel| {
            detail(channel).starts_with("next routine minutely at ")
        })
        .await;
    std::fs::write(&offset, "61").unwrap();
    // Any change makes the scheduler look at the clock again; without one it does so every half minute.
    daemon
        .request(
            "PATCH",
            "/v1/routines/minutely",
            Some(json!({ "prompt": "SAY:tock" })),
        )
        .await;
    let runs = daemon
        .wait("/v1/routines/minutely/runs", "a run", |runs| {
            runs["items"][0]["continuation_state"] == "completed"
        })
        .await;
    assert_eq!(runs["items"].as_array().unwrap().len(), 1);
    assert_eq!(runs["items"][0]["due_at"], made["due_at"]);
    let id = runs["items"][0]["continuation_id"].as_str().unwrap();
    let turn = daemon.get(&format!("/v1/continuations/{id}")).await;
    assert_eq!(turn["response"]["text"], "tock");
    let session = turn["session_id"].as_str().unwrap();
    let transcript = daemon
        .get(&format!("/v1/sessions/{session}/transcript"))
        .await;
    assert!(transcript.to_string().contains("tock"), "{transcript}");
    // Another run goes to the same session.
    let again = run(&daemon, "minutely").await;
    let second = daemon.wait_state(&again, "completed").await;
    assert_eq!(second["session_id"], session);
    // The audit knows who changed what; what runs by itself is in the history, not there.
    let audit = daemon.get("/v1/audit?limit=50").await;
    let actions: Vec<&str> = audit["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|row| row["action"].as_str())
        .filter(|action| action.starts_with("routine."))
        .collect();
    assert_eq!(actions, ["routine.run", "routine.changed", "routine.added"]);
    let (status, gone) = daemon
        .request("DELETE", "/v1/routines/minutely", None)
        .await;
    assert_eq!((status, &gone["removed"]), (200, &made["id"]));
    assert_eq!(
        daemon.request("GET", "/v1/routines/minutely", None).await.0,
        404
    );
    daemon.wait_state(&again, "completed").await;
    assert!(daemon.terminate().success());
}

#[tokio::test]
async fn a_gated_call_is_denied_unless_the_routine_may_wait() {
    let home = Home::new("");
    let daemon = home.daemon();
    add(
        &daemon,
        json!({ "name": "alone", "schedule": "@daily", "prompt": WRITE }),
    )
    .await;
    add(
        &daemon,
        json!({ "name": "patient", "schedule": "@daily", "prompt": WRITE, "park": true }),
    )
    .await;

    let alone = daemon
        .wait_state(&run(&daemon, "alone").await, "completed")
        .await;
    assert_eq!(alone["tool_calls"][0]["state"], "denied");
    assert!(alone["approvals"].as_array().unwrap().is_empty());
    let approvals = daemon.get("/v1/approvals?state=pending").await;
    assert!(
        approvals["items"].as_array().unwrap().is_empty(),
        "{approvals}"
    );

    let patient = run(&daemon, "patient").await;
    daemon.wait_state(&patient, "awaiting_approval").await;
    let approval = daemon.wait_approval().await;
    assert_eq!(approval["requester"]["display"], "routine patient");
    assert_eq!(daemon.decide(&approval, "approve").await.0, 200);
    let turn = daemon.wait_state(&patient, "completed").await;
    assert_eq!(turn["tool_calls"][0]["state"], "succeeded");
    assert_eq!(
        std::fs::read_to_string(home.workspace("routine").join("note.txt")).unwrap(),
        "hi"
    );
    let check = home.command().args(["doctor", "--check"]).output().unwrap();
    assert!(
        check.status.success(),
        "{}",
        String::from_utf8_lossy(&check.stdout)
    );
}

#[tokio::test]
async fn what_is_wrong_is_said_and_nothing_is_made() {
    let home = Home::new("");
    let daemon = home.daemon();
    let routine = |field: &str, value: Value| {
        let mut routine = json!({ "name": "r", "schedule": "@daily", "prompt": "SAY:x" });
        routine[field] = value;
        routine
    };
    for (body, status, part) in [
        (
            routine("schedule", json!("61 * * * *")),
            400,
            "field 1 (minute) at character 1: `61` is out of range",
        ),
        (
            routine("time_zone", json!("Europa/Berlin")),
            400,
            "did you mean Europe/Berlin",
        ),
        (routine("channel", json!("tame")), 404, "no channel `tame`"),
        (
            routine("autonomy_ceiling", json!("total")),
            400,
            "autonomy_ceiling",
        ),
        (routine("colour", json!("red")), 400, "colour"),
        (
            routine("budgets", json!({ "max_cost_usd": -1.0 })),
            400,
            "max_cost_usd",
        ),
        (json!({ "name": "r", "prompt": "x" }), 400, "schedule"),
    ] {
        let (got, problem) = daemon
            .request("POST", "/v1/routines", Some(body.clone()))
            .await;
        let text = problem.to_string();
        assert!(got == status && text.contains(part), "{body}: {got} {text}");
    }
    let upcoming =
        "/v1/routines/upcoming?schedule=0%209%20*%20*%20*&time_zone=Europe%2FBerlin&limit=3";
    assert_eq!(
        daemon.get(upcoming).await["items"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    let (status, problem) = daemon
        .request("GET", "/v1/routines/upcoming?schedule=every%20other", None)
        .await;
    assert_eq!(status, 400, "{problem}");
    assert_eq!(
        daemon.request("GET", "/v1/routines/upcoming", None).await.0,
        400
    );
    assert!(
        daemon.get("/v1/routines").await["items"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    // The same key is the same run.
    add(&daemon, routine("name", json!("once"))).await;
    let one = daemon
        .try_post_keyed("/v1/routines/once/run", "k", json!({}))
        .await
        .unwrap();
    daemon
        .wait_state(one.1["continuation_id"].as_str().unwrap(), "completed")
        .await;
    let two = daemon
        .try_post_keyed("/v1/routines/once/run", "k", json!({}))
        .await
        .unwrap();
    assert_eq!(
        one.1["continuation_id"], two.1["continuation_id"],
        "{two:?}"
    );
    assert_eq!(
        daemon.get("/v1/routines/once/runs").await["items"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

fn home(telegram: &FakeTelegram) -> Home {
    Home::new(&format!(
        "[model]\ndefault = \"scripted/demo\"\nallow_scripted_on_channels = true\n\n\
         [channels.team]\nkind = \"telegram\"\ntoken_env = \"TEAM_TOKEN\"\napi_base = \"{}\"\n\
         allowed_users = [\"100\"]\n\n\
         [people.anna]\nids = [\"telegram:200\"]\nrole = \"owner\"\n",
        telegram.url()
    ))
}

async fn said(telegram: &FakeTelegram, chat: i64, text: &str) {
    telegram
        .wait_until(text, |state| {
            state
                .messages
                .iter()
                .any(|m| m.chat == chat && m.text.contains(text))
        })
        .await;
}

#[tokio::test]
async fn an_answer_goes_to_the_chat_and_owners_run_routines_from_theirs() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram);
    telegram.change(|state| {
        state.know_chat(100);
        state.know_chat(200);
    });
    let token = telegram.state().token.clone();
    let daemon = home.daemon_with(&[("TEAM_TOKEN", &token)]);
    // Where on a chat platform has to be said.
    let mut routine = json!({
        "name": "tides", "schedule": "0 6 * * *", "prompt": "SAY:high water at noon", "channel": "team", "enabled": false,
    });
    let (status, problem) = daemon
        .request("POST", "/v1/routines", Some(routine.clone()))
        .await;
    assert!(
        status == 400 && problem.to_string().contains("`team` is a chat platform"),
        "{problem}"
    );
    routine["conversation"] = json!("100");
    add(&daemon, routine).await;

    let (ben, anna) = (User::new(100, "Ben"), User::new(200, "Anna"));
    telegram.user_says(100, &ben, "/routines run tides");
    said(&telegram, 100, "Only owners").await;
    telegram.user_says(200, &anna, "/routines");
    said(&telegram, 200, "tides: 0 6 * * *, disabled").await;
    telegram.user_says(200, &anna, "/routines run tidse");
    said(&telegram, 200, "Not done: there is no routine tidse").await;
    telegram.user_says(200, &anna, "/routines sing");
    said(&telegram, 200, "Send /routines, /routines run NAME").await;
    telegram.user_says(200, &anna, "/routines run tides");
    // Told twice, carried out once.
    telegram.repeat_last();
    said(&telegram, 200, "Routine tides runs.").await;
    said(&telegram, 100, "high water at noon").await;
    telegram.user_says(200, &anna, "/routines enable tides");
    said(&telegram, 200, "Routine tides is due next at ").await;
    telegram.user_says(200, &anna, "/routines disable tides");
    said(&telegram, 200, "Routine tides is disabled.").await;
    let runs = daemon.get("/v1/routines/tides/runs").await;
    assert_eq!(runs["items"].as_array().unwrap().len(), 1, "{runs}");
    assert_eq!(runs["items"][0]["detail"], "asked for by anna");
    let shown = telegram.messages(100);
    assert_eq!(
        shown
            .iter()
            .filter(|m| m.text.contains("high water"))
            .count(),
        1
    );
    assert!(
        telegram.state().violations.is_empty(),
        "{}",
        telegram.story()
    );
}
