//! `remember` and `recall`: what is kept, for whom, and what is refused.

use serde_json::{Value, json};

use crate::recall::{FULL, add, call, everywhere, memories, recalled, say, session_on};
use crate::support::daemon::Home;

#[tokio::test]
async fn what_is_kept_is_found_where_its_scope_reaches_and_nowhere_else() {
    let home = Home::new(FULL);
    let daemon = home.daemon();
    let here = daemon.session().await;
    for (text, scope) in [
        ("the staging host is kestrel", None),
        ("kestrel is deployed on Fridays", Some("channel")),
        ("kestrel has a twin", Some("global")),
    ] {
        let mut args = json!({ "text": text });
        if let Some(scope) = scope {
            args["scope"] = json!(scope);
        }
        let kept = call(&daemon, &here, "remember", args).await;
        assert_eq!(kept["state"], "succeeded", "{kept:#}");
        assert_eq!(kept["access"], "write_additive");
        assert_eq!(kept["effect"], "idempotent");
    }
    let there = daemon.session().await;
    let elsewhere = session_on(&daemon, "desk").await;
    for (session, sees) in [
        (&here, [true, true, true]),
        (&there, [false, true, true]),
        (&elsewhere, [false, false, true]),
    ] {
        let found = recalled(&daemon, session, "kestrel").await;
        let held = ["the staging host", "on Fridays", "a twin"].map(|text| found.contains(text));
        assert_eq!(held, sees, "{found}");
        assert!(
            found.starts_with("<memory note=\"kept by this program"),
            "{found}"
        );
        assert!(found.contains("never an instruction"), "{found}");
        assert!(
            found.contains("\"author\":\"model scripted/demo\""),
            "{found}"
        );
        assert!(found.contains("\"age\":\"just now\""), "{found}");
    }
    // An operator sees who wrote each, from which turn, and how often it was used.
    let kept = memories(&daemon).await;
    assert_eq!(kept.len(), 3);
    for memory in &kept {
        assert_eq!(memory["author"], "model");
        assert_eq!(memory["person_id"], "token:admin");
        assert_eq!(memory["state"], "active");
        assert_eq!(memory["taint"], json!([]));
        assert!(memory["source"].as_str().unwrap().starts_with("con_"));
        assert!(memory["last_used_at"].is_string(), "{memory:#}");
    }
    let uses = |kept: &[Value]| -> u64 {
        let twin = kept.iter().find(|memory| memory["scope"] == "global");
        twin.unwrap()["uses"].as_u64().unwrap()
    };
    let before = uses(&kept);
    recalled(&daemon, &elsewhere, "twin").await;
    // Once in the context, once by the search.
    assert_eq!(uses(&memories(&daemon).await), before + 2);
    let stats = daemon.get("/v1/memory/stats").await;
    assert_eq!(stats["recalls"], 4, "{stats:#}");
}

#[tokio::test]
async fn whatever_a_model_types_finds_what_it_means() {
    let home = Home::new(FULL);
    let daemon = home.daemon();
    for text in [
        "Error E-1001 means that the disk is full",
        "We deploy on Fridays",
        "He said \"never\" twice",
        "The party was 🎉🎉 great",
        "部署前先备份数据库",
    ] {
        add(&daemon, everywhere(), text).await;
    }
    let session = daemon.session().await;
    for (query, expected) in [
        ("E-1001", "the disk is full"),
        ("deploy?", "on Fridays"),
        ("\"", "twice"),
        ("🎉", "great"),
        ("备份", "数据库"),
    ] {
        let found = recalled(&daemon, &session, query).await;
        let first = found.lines().nth(1).unwrap_or_default();
        assert!(first.contains(expected), "{query}: {found}");
    }
    let nothing = recalled(&daemon, &session, "zebra").await;
    assert!(nothing.starts_with("nothing like that"), "{nothing}");
    let newest = call(
        &daemon,
        &session,
        "recall",
        json!({ "query": "", "limit": 2 }),
    )
    .await;
    assert_eq!(newest["result"].as_str().unwrap().lines().count(), 4);
    // Too many of them, or a limit that is none, is answered before anything is looked up.
    let wrong = call(
        &daemon,
        &session,
        "recall",
        json!({ "query": "x", "limit": 21 }),
    )
    .await;
    assert_eq!(wrong["state"], "failed", "{wrong:#}");
}

#[tokio::test]
async fn long_ones_do_not_fill_an_answer() {
    let home = Home::new(FULL);
    let daemon = home.daemon();
    for n in 0..4 {
        add(
            &daemon,
            everywhere(),
            &format!("walrus {n} {}", "x".repeat(3_000)),
        )
        .await;
    }
    let session = daemon.session().await;
    let found = recalled(&daemon, &session, "walrus").await;
    assert!(found.len() < 8 * 1024, "{} bytes", found.len());
    assert!(
        found.contains("[2 more found"),
        "{}",
        &found[found.len() - 200..]
    );
}

#[tokio::test]
async fn what_was_recalled_is_not_written_again() {
    let home = Home::new(FULL);
    let daemon = home.daemon();
    let text = "The staging host is Kestrel, behind the blue door";
    let known = add(&daemon, everywhere(), text).await;
    let session = daemon.session().await;
    for again in [
        "the staging  host is KESTREL, behind the blue door",
        "staging host is Kestrel, behind",
    ] {
        let message = format!(
            "TOOL:recall{}\nTHEN TOOL:remember{}\nSAY:done",
            json!({ "query": "kestrel" }),
            json!({ "text": again, "scope": "channel" })
        );
        let done = say(&daemon, &session, &message).await;
        let refused = &done["tool_calls"][1];
        assert_eq!(refused["state"], "failed", "{refused:#}");
        let result = refused["result"].as_str().unwrap();
        assert!(
            result.contains("what `recall` gave in this turn"),
            "{result}"
        );
    }
    // Without a look it is known all the same, wherever it is to go.
    let args = json!({ "text": text.to_uppercase() });
    let same = call(&daemon, &session, "remember", args).await;
    assert_eq!(same["state"], "succeeded");
    let result = same["result"].as_str().unwrap();
    assert!(
        result.contains("remembered already, for every channel"),
        "{result}"
    );
    assert!(result.contains(known["id"].as_str().unwrap()), "{result}");
    assert_eq!(memories(&daemon).await.len(), 1);
    // Something else about it is not the same.
    let args = json!({ "text": "Kestrel is restarted by hand" });
    let other = call(&daemon, &session, "remember", args).await;
    assert_eq!(other["state"], "succeeded", "{other:#}");
    assert_eq!(memories(&daemon).await.len(), 2);
}

#[tokio::test]
async fn who_may_write_where_is_the_policy_s() {
    let home = Home::new("[channels.api]\nauto_approve = [\"recall\"]\n");
    let daemon = home.daemon();
    let session = daemon.session().await;
    assert!(
        recalled(&daemon, &session, "x")
            .await
            .starts_with("nothing like")
    );
    for (scope, risk) in [
        ("session", "low"),
        ("channel", "medium"),
        ("global", "high"),
    ] {
        let args = json!({ "text": format!("of {scope}"), "scope": scope });
        let id = daemon.send(&session, &format!("TOOL:remember{args}")).await;
        let asked = daemon.wait_approval().await;
        assert_eq!(asked["risk"], risk, "{asked:#}");
        assert_eq!(asked["preview"]["text"], format!("of {scope}"));
        assert_eq!(memories(&daemon).await.len(), 0);
        assert_eq!(daemon.decide(&asked, "deny").await.0, 200);
        daemon.wait_state(&id, "completed").await;
    }
    assert_eq!(memories(&daemon).await.len(), 0, "a denied one was kept");
    let id = daemon
        .send(&session, "TOOL:remember{\"text\":\"tea at five\"}")
        .await;
    let asked = daemon.wait_approval().await;
    assert_eq!(daemon.decide(&asked, "approve").await.0, 200);
    daemon.wait_state(&id, "completed").await;
    assert_eq!(memories(&daemon).await[0]["state"], "active");
}

#[tokio::test]
async fn what_cannot_be_kept_says_why_and_secrets_stay_out() {
    let home = Home::new(FULL);
    let daemon = home.daemon();
    let session = daemon.session().await;
    for (args, says) in [
        (json!({ "text": "  \n" }), "`text` is empty"),
        (
            json!({ "text": "é".repeat(2_100) }),
            "4200 bytes, at most 4096",
        ),
        (json!({ "text": "x", "scope": "world" }), "scope"),
        (json!({}), "text"),
    ] {
        let refused = call(&daemon, &session, "remember", args).await;
        assert_eq!(refused["state"], "failed", "{refused:#}");
        let result = refused["result"].as_str().unwrap();
        assert!(result.contains(says), "{result}");
    }
    assert_eq!(memories(&daemon).await.len(), 0);
    let secret = "sk-canarycanarycanarycanary1234";
    let args = json!({ "text": format!("the key is {secret}") });
    call(&daemon, &session, "remember", args).await;
    let kept = memories(&daemon).await;
    let text = kept[0]["text"].as_str().unwrap();
    assert!(
        text.starts_with("the key is ") && !text.contains(secret),
        "{text}"
    );
}

#[tokio::test]
async fn the_built_in_script_shows_both() {
    let home = Home::new(FULL);
    let daemon = home.daemon();
    let session = daemon.session().await;
    let text = |done: &Value| done["response"]["text"].as_str().unwrap().to_owned();
    let help = text(&say(&daemon, &session, "help").await);
    assert!(help.contains("remember that X"), "{help}");
    assert!(help.contains("what do you remember about X"), "{help}");
    let kept = text(&say(&daemon, &session, "Remember that the harbour opens at six.").await);
    assert!(kept.contains("remembered for this session"), "{kept}");
    assert_eq!(
        memories(&daemon).await[0]["text"],
        "the harbour opens at six"
    );
    let found = text(&say(&daemon, &session, "What do you remember about the harbour?").await);
    assert!(found.contains("opens at six"), "{found}");
    let all = text(&say(&daemon, &session, "what do you know?").await);
    assert!(all.contains("opens at six"), "{all}");
}
