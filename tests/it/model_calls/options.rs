//! Options of one message: tools it may use, hints, and how the model is asked.

use serde_json::{Value, json};

use crate::model_calls::server::{ModelServer, ask, calls, home, says, steps};
use crate::support::daemon::Home;
use crate::take_overs::daemon::cli;

const ONE: &str = "[model]\ndefault = \"one/m\"\n[channels.api]\nautonomy = \"semi_auto\"";

fn names(request: &Value) -> Vec<&str> {
    let tools = request["tools"].as_array().map(Vec::as_slice);
    let tools = tools.unwrap_or_default();
    tools
        .iter()
        .filter_map(|tool| tool["function"]["name"].as_str())
        .collect()
}

#[tokio::test]
async fn a_turn_has_its_own_tools_and_parameters_and_a_retry_keeps_them() {
    let list = || calls("list_files", "{}");
    let one = ModelServer::chat(vec![list(), says("done"), list(), says("again")]);
    let home = home(ONE, &[("one", &one)]);
    let daemon = home.daemon();
    let body = json!({
        "text": "look", "allow_tools": ["read_file"], "hints": ["be brief <"],
        "temperature": 0.5, "tool_choice": "required",
    });
    let asked = daemon.post("/v1/ask?wait=30", body).await;
    let id = asked["id"]
        .as_str()
        .or(asked["continuation_id"].as_str())
        .unwrap()
        .to_owned();
    let path = format!("/v1/continuations/{id}");
    let done = daemon
        .wait(&path, "the end", |turn| turn["state"] == "completed")
        .await;
    // It asked for a tool that its channel allows and its message does not.
    let results = steps(&daemon, &done, "tool_result").await;
    assert!(
        results[0]
            .to_string()
            .contains("is not offered in this turn"),
        "{results:?}"
    );
    let retried = daemon.post(&format!("{path}/retry"), json!({})).await;
    let again = format!("/v1/continuations/{}", retried["id"].as_str().unwrap());
    daemon
        .wait(&again, "the end", |turn| turn["state"] == "completed")
        .await;
    let seen = one.seen();
    assert_eq!(seen.len(), 4);
    for (at, request) in seen.iter().enumerate() {
        assert_eq!(names(request), ["read_file"], "request {at}");
        assert_eq!(request["temperature"], 0.5, "request {at}");
        // A call is demanded until one was made.
        assert_eq!(
            request.get("tool_choice").is_some(),
            at % 2 == 0,
            "request {at}"
        );
        let text = request["messages"].to_string();
        assert!(
            text.contains("be brief ") && !text.contains("be brief <"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn what_cannot_be_is_an_error_that_names_the_field() {
    let one = ModelServer::chat(vec![]);
    let home = home(ONE, &[("one", &one)]);
    let daemon = home.daemon();
    for (option, wanted) in [
        (
            json!({"temperature": 2.5}),
            "`temperature`: 2.5 is out of range; expected a number from 0 to 2",
        ),
        (json!({"top_p": 0.0}), "`top_p`: 0 is out of range"),
        (
            json!({"allow_tools": ["read_fil"]}),
            "there is no tool `read_fil`; did you mean `read_file`? Tools: ",
        ),
        (json!({"tool_choice": "recal"}), "did you mean `recall`?"),
        (
            json!({"tool_choice": "recall", "allow_tools": []}),
            "which is not in `allow_tools`",
        ),
        (json!({"hints": [" "]}), "`hints[0]`"),
    ] {
        let mut body = option.clone();
        body["text"] = json!("hi");
        let answer = daemon.request("POST", "/v1/ask", Some(body)).await;
        let text = format!("{answer:?}").replace('\\', "");
        assert!(text.contains(wanted), "{option}: {text}");
    }
    assert_eq!(one.seen().len(), 0);
}

#[tokio::test]
async fn what_is_set_closest_to_the_message_holds_and_a_reload_changes_it() {
    let one = ModelServer::chat(vec![]);
    let provider = one.table(
        "one",
        "temperature = 0.1\ntop_p = 0.5\ntool_choice = \"none\"",
    );
    let models = "[providers.one.models]\nm = { temperature = 0.2 }\n";
    let channel = |more: &str| format!("{ONE}\n{more}\n{provider}{models}");
    let home = Home::new(&channel("tool_choice = \"required\""));
    let daemon = home.daemon();
    let session = daemon.session().await;
    ask(&daemon, &session, "one", "completed").await;
    let body = json!({"text": "two", "temperature": 0.9, "tool_choice": "read_file"});
    let sent = daemon
        .post(&format!("/v1/sessions/{session}/messages"), body)
        .await;
    let turn = sent["continuation_id"].as_str().or(sent["id"].as_str());
    daemon.wait_state(turn.unwrap(), "completed").await;
    // A tool that the turn does not offer is not demanded.
    std::fs::write(
        home.path().join("config/config.toml"),
        channel("temperature = 0.3\ntool_choice = \"read_file\""),
    )
    .unwrap();
    let report = daemon.post("/v1/reload", json!({"preview": false})).await;
    assert!(
        report["changes"]
            .as_array()
            .is_some_and(|changes| changes.iter().all(|change| change["effect"] == "now")),
        "{report:#}"
    );
    ask(&daemon, &session, "three", "completed").await;
    let body = json!({"text": "four", "allow_tools": ["list_files"]});
    let sent = daemon
        .post(&format!("/v1/sessions/{session}/messages"), body)
        .await;
    let turn = sent["continuation_id"].as_str().or(sent["id"].as_str());
    daemon.wait_state(turn.unwrap(), "completed").await;

    let named = json!({"type": "function", "function": {"name": "read_file"}});
    let wanted = [
        (0.2, json!("required")),
        (0.9, named.clone()),
        (0.3, named),
        (0.3, Value::Null),
    ];
    let seen = one.seen();
    assert_eq!(seen.len(), wanted.len());
    for ((temperature, choice), request) in wanted.into_iter().zip(&seen) {
        assert_eq!(request["temperature"], temperature);
        assert_eq!(request["top_p"], 0.5);
        assert_eq!(request["tool_choice"], choice);
    }
}

#[tokio::test]
async fn a_turn_that_a_kill_cut_short_still_refuses_the_tools_that_its_message_left_out() {
    let list = || calls("list_files", "{}");
    let one = ModelServer::chat(vec![
        calls("read_file", "{\"path\": \"notes.md\"}"),
        list(),
        says("done"),
    ]);
    let config = "[model]\ndefault = \"one/m\"\n[channels.api]\nauto_approve = [\"list_files\"]\n\
        always_ask = [\"read_file\"]";
    let home = home(config, &[("one", &one)]);
    let mut daemon = home.daemon();
    std::fs::create_dir_all(home.workspace("api")).unwrap();
    std::fs::write(home.workspace("api").join("notes.md"), "hello").unwrap();
    let session = daemon.session().await;
    let body = json!({"text": "look", "allow_tools": ["read_file"], "temperature": 0.5});
    let sent = daemon
        .post(&format!("/v1/sessions/{session}/messages"), body)
        .await;
    let turn = sent["continuation_id"].as_str().unwrap().to_owned();
    daemon.wait_approval().await;
    // A turn that is killed before it waits is interrupted, and a person lets it go on.
    daemon.wait_state(&turn, "awaiting_approval").await;
    daemon.kill();
    let daemon = home.daemon();
    let approval = daemon.wait_approval().await;
    assert_eq!(daemon.decide(&approval, "approve").await.0, 200);
    let done = daemon.wait_state(&turn, "completed").await;
    assert_eq!(done["options"]["allow_tools"], json!(["read_file"]));
    assert_eq!(done["tool_calls"][1]["state"], "blocked", "{done:#}");
    let results = steps(&daemon, &done, "tool_result").await;
    assert!(
        results[1]
            .to_string()
            .contains("is not offered in this turn"),
        "{results:?}"
    );
    for request in one.seen() {
        assert_eq!(
            (names(&request), &request["temperature"]),
            (vec!["read_file"], &json!(0.5))
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_flags_of_ask_are_the_options_of_its_message() {
    let one = ModelServer::chat(vec![]);
    let home = home(ONE, &[("one", &one)]);
    let daemon = home.daemon();
    let ask = async |flags: &[&str]| cli(&home, &[&["ask"], flags, &["hello"]].concat()).await;
    let all = "--allow-tool read_file --allow-tool recall --hint brief --temperature 0.2 --top-p 0.9 --tool-choice recall";
    let flags: Vec<&str> = all.split(' ').collect();
    let (status, text) = ask(&flags).await;
    assert_eq!(status, Some(0), "{text}");
    let (status, text) = ask(&["--no-tools"]).await;
    assert_eq!(status, Some(0), "{text}");
    let seen = one.seen();
    assert_eq!(names(&seen[0]), ["read_file", "recall"]);
    assert_eq!(
        (&seen[0]["temperature"], &seen[0]["top_p"]),
        (&json!(0.2), &json!(0.9))
    );
    assert_eq!(seen[0]["tool_choice"]["function"]["name"], "recall");
    assert!(seen[0]["messages"].to_string().contains("brief"));
    assert_eq!(names(&seen[1]), [""; 0]);
    for (flags, wanted) in [
        (["--temperature", "3"], "`temperature`: 3 is out of range"),
        (["--allow-tool", "read_fil"], "did you mean `read_file`?"),
    ] {
        let (status, text) = ask(&flags).await;
        assert_ne!(status, Some(0), "{text}");
        assert!(text.contains(wanted), "{text}");
    }
    let turns = daemon.get("/v1/continuations").await;
    let id = turns["items"][1]["id"].as_str().unwrap();
    let (_, text) = cli(&home, &["continuations", "show", id]).await;
    for line in [
        "option    allow_tools read_file, recall",
        "option    hint brief",
        "option    tool_choice recall",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}
