//! Another model for a session or a turn: what it is told of what was before, and where it is forbidden.

use serde_json::json;

use crate::model_calls::server::{ModelServer, ask, claude, home, says, steps, text};
use crate::support::daemon::{Daemon, Home};

const ONE: &str = "[model]\ndefault = \"one/m\"";

async fn switch(daemon: &Daemon, session: &str, model: &str) {
    let path = format!("/v1/sessions/{session}");
    let (status, body) = daemon
        .request("PATCH", &path, Some(json!({"model": model})))
        .await;
    assert_eq!(status, 200, "{body:#}");
}

#[tokio::test]
async fn a_smaller_model_gets_a_summary_of_what_does_not_fit() {
    let (one, two) = (
        ModelServer::chat(Vec::new()),
        ModelServer::claude(Vec::new()),
    );
    let home = Home::new(&format!(
        "{ONE}\n{}{}",
        one.table("one", ""),
        two.table("two", "context_window = 8000\nmax_output_tokens = 1000")
    ));
    let daemon = home.daemon();
    let session = daemon.session().await;
    for n in 0..10 {
        one.next(says(&format!("answer {n} {}", "word ".repeat(1_500))));
        ask(&daemon, &session, &format!("question {n}"), "completed").await;
    }
    assert!(one.seen()[9]["messages"].to_string().contains("question 0"));
    switch(&daemon, &session, "two/small").await;
    let done = ask(&daemon, &session, "and now?", "completed").await;
    let request = &two.seen()[0];
    assert_eq!(request["model"], "small");
    let sent = request["messages"].to_string();
    assert!(sent.contains("<earlier_conversation"), "{sent}");
    assert!(
        sent.contains("\\\"asked\\\":\\\"question 5\\\",\\\"answered\\\":\\\"answer 5"),
        "{sent}"
    );
    assert!(sent.len() < 28_000, "{}", sent.len());
    let step = steps(&daemon, &done, "model").await[0].to_string();
    assert!(step.contains("a summary stands for"), "{step}");
    assert!(step.contains("exchange(s) before"), "{step}");

    // Back again: everything is there, and nothing says otherwise.
    switch(&daemon, &session, "one/m").await;
    let done = ask(&daemon, &session, "and then?", "completed").await;
    let sent = one.seen()[10]["messages"].to_string();
    assert!(
        sent.contains("question 5") && !sent.contains("<earlier_conversation"),
        "{sent}"
    );
    let step = steps(&daemon, &done, "model").await[0].to_string();
    assert!(!step.contains("a summary stands for"), "{step}");
}

#[tokio::test]
async fn opaque_blocks_stay_with_who_wrote_them_and_are_not_sent_when_stale() {
    let thinking =
        |signature: &str| json!({"type": "thinking", "thinking": "hm", "signature": signature});
    let one = ModelServer::claude(Vec::new());
    let two = ModelServer::claude(Vec::new());
    let home = home(ONE, &[("one", &one), ("two", &two)]);
    let daemon = home.daemon();
    let session = daemon.session().await;
    one.next(claude(&[thinking("sig-A"), text("first")], "end_turn"));
    ask(&daemon, &session, "one", "completed").await;
    ask(&daemon, &session, "two", "completed").await;
    assert!(
        one.seen()[1].to_string().contains("sig-A"),
        "kept while nobody else answered"
    );

    // One turn only: the same family, another provider.
    let accepted = daemon
        .post(
            &format!("/v1/sessions/{session}/messages"),
            json!({"text": "three", "model": "two/m"}),
        )
        .await;
    let done = daemon
        .wait_state(accepted["continuation_id"].as_str().unwrap(), "completed")
        .await;
    let sent = two.seen()[0].to_string();
    assert!(!sent.contains("sig-A") && sent.contains("first"), "{sent}");
    let notes = steps(&daemon, &done, "model").await[0]["notes"].to_string();
    assert!(
        notes.contains("opaque blocks of 1 earlier answer(s) were left out"),
        "{notes}"
    );

    // Back at the first: what it once signed is stale.
    ask(&daemon, &session, "four", "completed").await;
    let sent = one.seen()[2].to_string();
    assert!(!sent.contains("sig-A") && sent.contains("first"), "{sent}");
    // Another model of the same provider is another model.
    one.next(claude(&[thinking("sig-B"), text("fifth")], "end_turn"));
    ask(&daemon, &session, "five", "completed").await;
    switch(&daemon, &session, "one/n").await;
    ask(&daemon, &session, "six", "completed").await;
    let sent = one.seen()[4].to_string();
    assert!(!sent.contains("sig-B") && sent.contains("fifth"), "{sent}");
}

#[tokio::test]
async fn a_fixed_model_cannot_be_changed_by_anybody() {
    let (one, two) = (ModelServer::chat(Vec::new()), ModelServer::chat(Vec::new()));
    let config = format!("{ONE}\n[channels.api]\nfixed_model = true");
    let servers = [("one", &one), ("two", &two)];
    let free = home(ONE, &servers);
    let mut daemon = free.daemon();
    let session = daemon.session().await;
    switch(&daemon, &session, "two/m").await;
    daemon.terminate();
    let text = std::fs::read_to_string(free.path().join("config/config.toml")).unwrap();
    let text = text.replace(ONE, &config);
    std::fs::write(free.path().join("config/config.toml"), text).unwrap();

    let daemon = free.daemon();
    let messages = format!("/v1/sessions/{session}/messages");
    let at = format!("/v1/sessions/{session}");
    for (method, path, body) in [
        ("POST", "/v1/sessions", json!({"model": "two/m"})),
        ("PATCH", at.as_str(), json!({"model": "two/m"})),
        (
            "POST",
            messages.as_str(),
            json!({"text": "hi", "model": "two/m"}),
        ),
        ("POST", "/v1/ask", json!({"text": "hi", "model": "two/m"})),
    ] {
        let (status, problem) = daemon.request(method, path, Some(body)).await;
        assert_eq!(status, 403, "{path}: {problem:#}");
        let detail = problem["detail"].as_str().unwrap();
        assert_eq!(
            detail,
            "channel `api` answers with one/m only, not with two/m"
        );
        assert!(
            problem["hint"].as_str().unwrap().contains("fixed_model"),
            "{problem:#}"
        );
    }
    // The fixed one itself may be named; what was chosen before counts no longer, and the step says so.
    switch_is_allowed(&daemon, &at).await;
    let done = ask(&daemon, &session, "hello", "completed").await;
    assert_eq!((one.seen().len(), two.seen().len()), (2, 0));
    assert_eq!(done["response"]["text"], "ok");
}

async fn switch_is_allowed(daemon: &Daemon, path: &str) {
    let done = daemon
        .request(
            "POST",
            &format!("{path}/messages"),
            Some(json!({"text": "hi"})),
        )
        .await
        .1;
    let turn = daemon
        .wait_state(done["continuation_id"].as_str().unwrap(), "completed")
        .await;
    let notes = steps(daemon, &turn, "model").await[0]["notes"].to_string();
    assert!(
        notes.contains("two/m was chosen; the model of this channel is fixed"),
        "{notes}"
    );
    let (status, body) = daemon
        .request("PATCH", path, Some(json!({"model": "one/m"})))
        .await;
    assert_eq!(status, 200, "{body:#}");
}
