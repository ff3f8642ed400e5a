//! A drill goes through the whole chain, says which step arrived and why another did not, and runs nothing.

use serde_json::json;

use crate::escalation::world::{ANNA, CLEO, home, server, start, until};
use crate::people::audit;
use crate::stories::bot::{self, cli, shown};
use crate::support::daemon::Home;
use crate::support::fake_http::Reply;
use crate::support::fake_telegram::FakeTelegram;

const DRILL: &str = "DRILL, nothing waits and nothing runs";

fn doctor(home: &Home) -> String {
    let output = home.command().arg("doctor").output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drill_that_reaches_everybody_passes_and_doctor_knows_when() {
    let telegram = FakeTelegram::start();
    let (pager, paged) = server(Vec::new());
    let (ntfy, posted) = server(Vec::new());
    let steps = format!(
        "{{ after = \"5m\", to = \"on-call\" }}, {{ after = \"10m\", to = \"person:cleo\" }}, \
         {{ after = \"15m\", to = \"webhook:pager\" }}, {{ after = \"20m\", to = \"ntfy:{}/t\" }}",
        ntfy.url()
    );
    let more = format!(
        "\n[channels.pager]\nkind = \"webhook\"\nsecret_env = \"PAGER_SECRET\"\ncallback_url = \"{}/in\"",
        pager.url()
    );
    let home = home(&telegram, &steps, "", &more);
    let daemon = start(&home, &telegram, &[]);
    let on_call = daemon
        .request("PUT", "/v1/on-call", Some(json!({ "name": "anna" })))
        .await;
    assert_eq!(on_call.0, 200, "{on_call:?}");
    assert!(doctor(&home).contains("policy night: it was never drilled"));
    let (good, text) = cli(&home, &["escalation", "drill", "--fast"]).await;
    assert!(good && text.contains("4 of 4 steps arrived"), "{text}");
    assert!(text.contains("anna, who is on call"), "{text}");
    for chat in [ANNA, CLEO] {
        shown(&telegram, chat, DRILL).await;
        assert_eq!(telegram.messages(chat).len(), 1);
    }
    let got = until(&paged, "notice", |all| !all.is_empty()).await;
    assert_eq!(got[0].body["type"], "notice", "{got:?}");
    assert!(got[0].body["text"].as_str().unwrap().contains(DRILL));
    let posts = until(&posted, "post", |all| !all.is_empty()).await;
    assert_eq!(posts[0].headers["title"], "DRILL of team");
    assert!(daemon.pending_approvals().await.is_empty());
    let listed = daemon.get("/v1/escalations").await;
    let row = &listed["items"][0];
    assert_eq!(
        (&row["channel"], &row["policy"]),
        (&json!("team"), &json!("night")),
        "{listed}"
    );
    assert_eq!(row["steps"][0]["person"], "anna", "{listed}");
    assert!(row["drill"]["ended_at"].is_string(), "{listed}");
    let (good, text) = cli(&home, &["escalation", "list"]).await;
    assert!(
        good && text.contains("passed") && text.contains("5 minutes: anna, who is on call"),
        "{text}"
    );
    assert!(doctor(&home).contains("every step arrived in the drill of"));
    assert_eq!(audit(&daemon, "escalation.drilled").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drill_that_misses_somebody_fails_and_says_why_and_how_to_mend_it() {
    let telegram = FakeTelegram::start();
    let (ntfy, _) = server(vec![Reply::Json(403, json!({}))]);
    let steps = format!(
        "{{ after = \"5m\", to = \"on-call\" }}, {{ after = \"10m\", to = \"ntfy:{}/t\" }}, \
         {{ after = \"15m\", to = \"person:cleo\" }}",
        ntfy.url()
    );
    let home = home(&telegram, &steps, "", "");
    let daemon = start(&home, &telegram, &[]);
    let mut command = home.command();
    command.args(["escalation", "drill", "team", "--fast"]);
    let output = tokio::task::spawn_blocking(move || command.output())
        .await
        .unwrap()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!output.status.success(), "{said}");
    for wanted in ["nobody is on call", "token_env", "1 of 3 steps arrived"] {
        assert!(said.contains(wanted), "wanted {wanted}: {said}");
    }
    shown(&telegram, CLEO, DRILL).await;
    let text = doctor(&home);
    assert!(text.contains("did not reach everybody: step 1"), "{text}");
    // Doctor knows it without a drill too, and only for as long as it holds.
    let now = "not every step reaches somebody now: step 1 (on-call): nobody is on call";
    assert!(text.contains(now), "{text}");
    let put = async |name: &str| {
        let body = Some(json!({ "name": name }));
        assert_eq!(daemon.request("PUT", "/v1/on-call", body).await.0, 200);
    };
    put("anna").await;
    assert!(!doctor(&home).contains("reaches somebody now"));
    let (good, text) = cli(&home, &["escalation", "drill", "tem", "--fast"]).await;
    assert!(!good, "{text}");
    let (status, problem) = daemon
        .request(
            "POST",
            "/v1/escalations/drill",
            Some(json!({ "channel": "tem" })),
        )
        .await;
    assert_eq!(status, 400, "{problem}");
    assert!(
        problem.to_string().contains("did you mean `team`?"),
        "{problem}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drill_goes_on_after_a_kill_and_sends_nothing_twice() {
    let telegram = FakeTelegram::start();
    let steps =
        "{ after = \"1s\", to = \"person:anna\" }, { after = \"4s\", to = \"person:cleo\" }";
    let home = home(&telegram, steps, "", "");
    let mut daemon = start(&home, &telegram, &[]);
    let body = json!({ "channel": "team" });
    let (status, begun) = daemon
        .request("POST", "/v1/escalations/drill", Some(body))
        .await;
    assert_eq!(status, 200, "{begun}");
    shown(&telegram, ANNA, DRILL).await;
    daemon
        .wait("/v1/escalations", "the first step sent", |all| {
            all["items"][0]["drill"]["escalation"]["steps"][0]["outcome"] == "sent"
        })
        .await;
    daemon.kill();
    let daemon = start(&home, &telegram, &[]);
    shown(&telegram, CLEO, DRILL).await;
    let ended = daemon
        .wait("/v1/escalations", "the end", |all| {
            all["items"][0]["drill"]["ended_at"].is_string()
        })
        .await;
    let drill = &ended["items"][0]["drill"];
    assert_eq!(drill["started_at"], begun["started_at"], "{drill}");
    for chat in [ANNA, CLEO] {
        assert_eq!(telegram.messages(chat).len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_names_the_steps_of_a_channel_that_reach_nobody() {
    let home = Home::new(
        "[people.anna]\nids = [\"unix:1\"]\nrole = \"owner\"\n\n[channels.api]\nescalation = \"night\"\n\n\
         [escalation.night]\nsteps = [{ after = \"5m\", to = \"person:anna\" }]\n",
    );
    let _daemon = home.daemon();
    let text = doctor(&home);
    let wanted =
        "no step reaches somebody now: step 1 (person:anna): anna cannot decide it in a chat";
    assert!(text.contains(wanted), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_names_the_channels_whose_questions_nobody_is_told() {
    let telegram = FakeTelegram::start();
    let people = |ids: &str| format!("[people.anna]\nids = [\"{ids}\"]\nrole = \"owner\"\n");
    let home = |ids: &str, more: &str| {
        let settings = format!("allowed_users = [\"100\"]\n{more}");
        bot::home(&telegram, &settings, &people(ids))
    };
    let said = |home: &Home| {
        let _daemon = start(home, &telegram, &[]);
        doctor(home)
    };
    let wanted = "no person is asked in a chat, and nothing escalates";
    let text = said(&home("unix:1", ""));
    let line = text.lines().find(|line| line.contains(wanted));
    assert!(line.is_some_and(|line| line.contains("team")), "{text}");
    // She has a chat.
    let text = said(&home(&format!("telegram:{ANNA}"), ""));
    assert!(!text.contains(wanted), "{text}");
    // She has one, and the channel asks somebody else.
    let cleo = "[people.cleo]\nids = [\"unix:2\"]\nrole = \"approver\"\n";
    let settings = "allowed_users = [\"100\"]\napproval_to = [\"cleo\"]";
    let both = format!("{}\n{cleo}", people(&format!("telegram:{ANNA}")));
    let text = said(&bot::home(&telegram, settings, &both));
    assert!(text.contains("a question of team before"), "{text}");
    // Nobody is named: whoever runs it decides at the console.
    let text = said(&bot::home(&telegram, "allowed_users = [\"100\"]", ""));
    assert!(!text.contains(wanted), "{text}");
}
