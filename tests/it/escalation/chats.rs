//! The real binary: a question goes to the next person, to a webhook and to ntfy, with the words that say why.

use serde_json::{Value, json};

use crate::escalation::world::{ANNA, ASKS, CLEO, escalated, home, outcomes, server, start, until};
use crate::people::audit;
use crate::stories::bot::{WRITE, ben, shown};
use crate::support::daemon::{Daemon, client};
use crate::support::fake_http::{Reply, Request};
use crate::support::fake_telegram::FakeTelegram;
use crate::support::fake_telegram::state::User;

const TO_CLEO: &str = "{ after = \"1s\", to = \"person:cleo\" }";
const FAR: &str = "{ after = \"1h\", to = \"person:anna\" }";

fn cards(got: &[Request], kind: &str) -> usize {
    got.iter().filter(|one| one.body["type"] == kind).count()
}

fn sleeps() -> String {
    let now = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC);
    let hour = |by: i64| {
        let at = now.checked_add(jiff::Span::new().hours(by)).unwrap();
        at.strftime("%H:%M").to_string()
    };
    format!(
        "quiet_hours = \"{}-{}\"\ntime_zone = \"UTC\"",
        hour(-1),
        hour(1)
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_goes_to_the_next_person_who_decides_it_with_the_card() {
    let telegram = FakeTelegram::start();
    let home = home(
        &telegram,
        &format!("{TO_CLEO}, {{ after = \"2h\", to = \"on-call\" }}"),
        "",
        "",
    );
    let daemon = start(&home, &telegram, &[]);
    telegram.user_says(ASKS, &ben(), WRITE);
    shown(&telegram, ANNA, "write_file").await;
    let asked = daemon.wait_approval().await;
    let card = shown(&telegram, CLEO, "write_file").await;
    assert!(
        card.text.contains("Escalated to cleo: nobody decided for ")
            && card.text.contains("(step 1 of night)"),
        "{card:?}"
    );
    let found = escalated(&daemon, &asked["id"], "step 1 sent", |one| {
        outcomes(one) == ["sent"] && one["next"]["step"] == 2
    })
    .await;
    let step = &found["escalation"]["steps"][0];
    assert_eq!(
        (&step["to"], &step["person"]),
        (&json!("person:cleo"), &json!("cleo")),
        "{found}"
    );
    assert_eq!(found["escalation"]["next"]["to"], "on-call", "{found}");
    let rows = audit(&daemon, "approval.escalated").await;
    assert_eq!(rows.len(), 1, "{rows:?}");
    let code = asked["short_code"].as_str().unwrap();
    telegram.user_says(CLEO, &User::new(CLEO, "Cleo"), &format!("/approve {code}"));
    shown(&telegram, ASKS, "all done").await;
    assert_eq!(audit(&daemon, "approval.escalated").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_has_the_card_is_told_under_it_and_on_call_counts_at_the_moment_of_the_step() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram, "{ after = \"3s\", to = \"on-call\" }", "", "");
    let daemon = start(&home, &telegram, &[]);
    telegram.user_says(ASKS, &ben(), WRITE);
    let card = shown(&telegram, ANNA, "write_file").await;
    let asked = daemon.wait_approval().await;
    // She takes over after the question was asked.
    let (status, answer) = daemon
        .request("PUT", "/v1/on-call", Some(json!({ "name": "anna" })))
        .await;
    assert_eq!(status, 200, "{answer}");
    escalated(&daemon, &asked["id"], "anna is named", |one| {
        one["next"]["person"] == "anna"
    })
    .await;
    let told = shown(
        &telegram,
        ANNA,
        "Escalated to you, because you are on call: write_file on team has waited for a decision",
    )
    .await;
    assert_eq!(told.reply_to, Some(card.message_id), "{told:?}");
    let last = escalated(&daemon, &asked["id"], "no next", |one| {
        outcomes(one) == ["sent"]
    })
    .await;
    assert!(last["escalation"]["next"].is_null(), "{last}");
    assert_eq!(daemon.decide(&asked, "deny").await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn quiet_hours_and_nobody_on_call_skip_to_the_next_and_the_last_step_disturbs() {
    let telegram = FakeTelegram::start();
    let steps = "{ after = \"1s\", to = \"on-call\" }, { after = \"1h\", to = \"person:cleo\" }, \
                 { after = \"2h\", to = \"person:cleo\" }";
    let home = home(&telegram, steps, &sleeps(), "");
    let daemon = start(&home, &telegram, &[]);
    telegram.user_says(ASKS, &ben(), WRITE);
    let asked = daemon.wait_approval().await;
    shown(&telegram, CLEO, "(step 3 of night)").await;
    let found = escalated(&daemon, &asked["id"], "three steps", |one| {
        outcomes(one) == ["skipped", "skipped", "sent"]
    })
    .await;
    let steps = &found["escalation"]["steps"];
    assert_eq!(steps[0]["detail"], "nobody is on call", "{found}");
    let why = steps[1]["detail"].as_str().unwrap();
    assert!(
        why.starts_with("cleo has quiet hours until ") && why.ends_with("UTC"),
        "{why}"
    );
    assert_eq!(audit(&daemon, "approval.escalated").await.len(), 3);
    assert_eq!(daemon.decide(&asked, "deny").await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_and_ntfy_hear_of_it_and_the_webhook_of_the_end() {
    let telegram = FakeTelegram::start();
    let (pager, paged) = server(Vec::new());
    let (ntfy, posted) = server(vec![Reply::Json(503, json!({}))]);
    let steps = format!(
        "{{ after = \"1s\", to = \"webhook:pager\" }}, {{ after = \"2s\", to = \"ntfy:{}/a-topic\", token_env = \"NTFY\" }}",
        ntfy.url()
    );
    let more = format!(
        "click = \"https://console.example.org\"\n\n[channels.pager]\nkind = \"webhook\"\n\
         secret_env = \"PAGER_SECRET\"\ncallback_url = \"{}/in\"",
        pager.url()
    );
    let home = home(&telegram, &steps, "", &more);
    let daemon = start(&home, &telegram, &[("NTFY", "tk_secret")]);
    telegram.user_says(ASKS, &ben(), WRITE);
    let asked = daemon.wait_approval().await;
    let got = until(&paged, "card", |all| cards(all, "card") == 1).await;
    let headers = &got[0].headers;
    assert!(
        headers.keys().any(|name| name.contains("signature")),
        "{headers:?}"
    );
    let text = got[0].body["text"].as_str().unwrap();
    assert!(text.contains("Escalated to webhook pager"), "{text}");
    assert_eq!(got[0].body["buttons"], json!([]));
    assert_eq!(got[0].body["conversation"], "escalation");
    // The first post failed; both have the same sequence.
    let posts = until(&posted, "second post", |all| all.len() == 2).await;
    let post = &posts[1];
    assert_eq!(post.path, "/a-topic");
    assert_eq!(post.authorization, "Bearer tk_secret");
    assert_eq!(
        post.headers["title"],
        "write_file on team waits for a decision"
    );
    assert_eq!(post.headers["click"], "https://console.example.org");
    assert_eq!(post.headers["priority"], "4");
    assert_eq!(
        post.headers["x-sequence-id"],
        posts[0].headers["x-sequence-id"]
    );
    let body = String::from_utf8(post.raw.clone()).unwrap();
    assert!(
        body.contains("has waited for a decision") && !body.contains("note.txt"),
        "{body}"
    );
    let found = escalated(&daemon, &asked["id"], "both sent", |one| {
        outcomes(one) == ["sent", "sent"]
    })
    .await;
    // The topic is as good as a password: nobody reads it here.
    assert!(!found.to_string().contains("a-topic"), "{found}");
    let metrics = metrics(&daemon).await;
    assert!(
        metrics.contains("leverframe_escalation_steps_total{channel=\"team\",outcome=\"sent\"} 2"),
        "{metrics}"
    );
    assert_eq!(daemon.decide(&asked, "deny").await.0, 200);
    until(&paged, "end", |all| cards(all, "card_update") == 1).await;
    assert!(!home.log().contains("a-topic"), "{}", home.log());
}

async fn metrics(daemon: &Daemon) -> String {
    let request = client().get(format!("{}/metrics", daemon.base));
    let answer = request.bearer_auth(&daemon.token).send().await.unwrap();
    answer.text().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_fails_says_why_and_the_next_follows_at_once() {
    let telegram = FakeTelegram::start();
    let (ntfy, _) = server(vec![Reply::Json(403, json!({}))]);
    let steps = format!(
        "{{ after = \"1s\", to = \"ntfy:{}/t\" }}, {{ after = \"1h\", to = \"person:cleo\" }}",
        ntfy.url()
    );
    let home = home(&telegram, &steps, "", "");
    let daemon = start(&home, &telegram, &[]);
    telegram.user_says(ASKS, &ben(), WRITE);
    let asked = daemon.wait_approval().await;
    shown(&telegram, CLEO, "(step 2 of night)").await;
    let found = escalated(&daemon, &asked["id"], "the second", |one| {
        outcomes(one) == ["failed", "sent"]
    })
    .await;
    let why = found["escalation"]["steps"][0]["detail"].as_str().unwrap();
    assert!(why.contains("403") && why.contains("token_env"), "{why}");
    assert_eq!(audit(&daemon, "approval.escalation_failed").await.len(), 1);
    assert_eq!(daemon.decide(&asked, "deny").await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_assigned_or_snoozed_question_waits_and_a_decided_one_is_over() {
    let telegram = FakeTelegram::start();
    let home = home(
        &telegram,
        &format!("{FAR}, {{ after = \"2h\", to = \"person:cleo\" }}"),
        "",
        "acknowledgement_timeout = \"2d\"",
    );
    let daemon = start(&home, &telegram, &[]);
    telegram.user_says(ASKS, &ben(), WRITE);
    let asked = daemon.wait_approval().await;
    let id = &asked["id"];
    let planned = escalated(&daemon, id, "a plan", |one| one["next"]["step"] == 1).await;
    let at = |approval: &Value, field: &str| -> jiff::Timestamp {
        let text = approval.pointer(field).and_then(Value::as_str).unwrap();
        text.parse().unwrap()
    };
    let hour =
        at(&planned, "/escalation/next/at").as_second() - at(&planned, "/requested_at").as_second();
    assert_eq!(hour, 3600, "{planned}");
    let path = format!("/v1/approvals/{}/assign", id.as_str().unwrap());
    let body = json!({ "to": "anna", "digest": asked["digest"] });
    let (status, answer) = daemon.request("POST", &path, Some(body)).await;
    assert_eq!(status, 200, "{answer}");
    let first = planned["escalation"]["next"]["at"].clone();
    let held = escalated(&daemon, id, "held by anna", |one| {
        one["next"]["at"] != first
    })
    .await;
    let days =
        at(&held, "/escalation/next/at").as_second() - at(&held, "/assignment/at").as_second();
    assert_eq!(days, 2 * 24 * 3600, "{held}");
    assert_eq!(daemon.decide(&asked, "deny").await.0, 200);
    assert!(audit(&daemon, "approval.escalated").await.is_empty());
}
