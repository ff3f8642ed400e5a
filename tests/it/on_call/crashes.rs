//! kill -9 around an assignment: it happened whole or not at all, and said again it is done once.

use serde_json::json;

use crate::on_call::daemon::PEOPLE;
use crate::support::daemon::Home;

async fn survives(point: &str, kept: bool) {
    let home = Home::new(PEOPLE);
    let mut daemon = home.daemon_with(&[("LEVERFRAME_CRASH", &format!("{point}:1"))]);
    let session = daemon.session().await;
    daemon
        .send(
            &session,
            "TOOL:write_file{\"path\":\"a.txt\",\"content\":\"x\"}\nSAY:done",
        )
        .await;
    let asked = daemon.wait_approval().await;
    let path = format!("/v1/approvals/{}", asked["id"].as_str().unwrap());
    let over = format!("{path}/assign");
    let body = json!({ "to": "anna", "digest": asked["digest"] });
    let answer = daemon.try_request("POST", &over, Some(body.clone())).await;
    assert!(answer.is_err(), "{point} was not reached: {answer:?}");
    assert!(daemon.wait_exit().is_some_and(|status| !status.success()));
    let daemon = home.daemon();
    let found = daemon.get(&path).await;
    assert_eq!(found["assignment"]["to"] == "anna", kept, "{found}");
    let (status, again) = daemon.request("POST", &over, Some(body)).await;
    assert_eq!((status, &again["assignment"]["to"]), (200, &json!("anna")));
    let audit = daemon.get("/v1/audit?action=approval.assigned").await;
    assert_eq!(audit["items"].as_array().map(Vec::len), Some(1), "{audit}");
    assert_eq!(daemon.decide(&asked, "deny").await.0, 200);
}

#[tokio::test]
async fn killed_inside_a_hand_over_it_waits_for_nobody() {
    survives("decide.pre_commit", false).await;
}

#[tokio::test]
async fn killed_behind_a_hand_over_it_waits_for_them() {
    survives("decide.post", true).await;
}
