//! Compactions with a model that answers by script: what it is asked, and what becomes of good and bad answers.

use serde_json::{Value, json};

use crate::model_calls::server::{ModelServer, ask, says, steps};
use crate::support::daemon::{Daemon, Home};

/// One exchange is sent along, and one of three goes.
const SMALL: &str = "[model]\ndefault = \"one/m\"\n[engine]\nhistory_exchanges = 1\nhistory_share = 0\n[memory]\ncompaction_exchanges = 2\n";

fn summary(text: &str, facts: Vec<Value>) -> String {
    json!({"summary": text, "facts": facts}).to_string()
}

fn fact(text: &str) -> Value {
    json!({"text": text, "kind": "fact", "confidence": 1, "source": 1})
}

/// A home whose model has a small window, so that one exchange is sent along.
pub fn small(beginning: &str, one: &ModelServer) -> Home {
    let table = one.table("one", "context_window = 9000\nmax_output_tokens = 1000");
    Home::new(&format!("{beginning}{table}"))
}

async fn ended(daemon: &Daemon, count: usize) -> Vec<Value> {
    let list = daemon
        .wait("/v1/compactions", "the compactions end", |list| {
            let items = list["items"].as_array().unwrap();
            items.len() == count && items.iter().all(|item| item["state"] != "running")
        })
        .await;
    list["items"].as_array().unwrap().clone()
}

fn asks_to_compact(request: &Value) -> bool {
    request["messages"][0]["content"]
        .as_str()
        .is_some_and(|system| system.starts_with("Compact the older part"))
}

#[tokio::test]
async fn an_answer_that_cannot_be_used_is_asked_for_once_more_with_what_was_wrong() {
    let good = summary(
        "They began with question 0.",
        vec![fact("Somebody asked question 0")],
    );
    let one = ModelServer::chat(vec![
        says("a0"),
        says("a1"),
        says("a2"),
        says("no JSON"),
        says(&good),
    ]);
    let home = small(SMALL, &one);
    let daemon = home.daemon();
    let session = daemon.session().await;
    let mut done = Value::Null;
    for n in 0..3 {
        done = ask(&daemon, &session, &format!("question {n}"), "completed").await;
    }
    let compaction = ended(&daemon, 1).await.remove(0);
    assert_eq!(compaction["state"], "done", "{compaction:#}");
    assert_eq!(
        (&compaction["turns"], &compaction["facts"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(compaction["model"], "one/m");
    let requests = one.seen();
    assert_eq!(requests.len(), 5);
    assert!(requests[3..].iter().all(asks_to_compact));
    let (first, second) = (requests[3].to_string(), requests[4].to_string());
    assert!(
        first.contains("question 0") && !first.contains("question 1"),
        "{first}"
    );
    assert!(
        second.contains("could not be used") && second.contains("not the JSON object"),
        "{second}"
    );
    assert!(
        requests[3]
            .get("tools")
            .is_none_or(|tools| tools.as_array().is_none_or(Vec::is_empty))
    );
    // The turn it hangs on used what it used.
    assert_eq!(done["usage"]["input_tokens"], 100);
    let view = daemon.get(&format!("/v1/sessions/{session}")).await;
    assert_eq!(view["usage"]["input_tokens"], 500, "{view:#}");
    assert_eq!(view["memory"]["covered_turns"], 1);
    assert_eq!(view["memory"]["proposed"], 1);

    ask(&daemon, &session, "question 3", "completed").await;
    let request = one.seen()[5].clone();
    let sent = request["messages"].to_string();
    assert!(
        sent.contains("They began with question 0.") && sent.contains("<summary"),
        "{sent}"
    );
    assert!(
        sent.contains("question 2") && !sent.contains("question 1"),
        "{sent}"
    );
    // The stable part is what it was.
    assert_eq!(request["messages"][0], requests[2]["messages"][0]);
    assert_eq!(request["tools"], requests[2]["tools"]);
}

#[tokio::test]
async fn facts_that_say_nothing_or_become_too_long_are_left_out_and_the_rest_is_kept() {
    // The mark in its place is longer than the key.
    const KEY: &str = "q7Zx-9";
    let found = vec![
        fact("\u{0}\u{1}"),
        fact("Anna likes tea"),
        fact(&format!("{KEY} ").repeat(585)),
    ];
    let one = ModelServer::chat(vec![
        says("a0"),
        says("a1"),
        says("a2"),
        says(&summary("They spoke of tea.", found)),
    ]);
    let table = one.table("one", "context_window = 9000\nmax_output_tokens = 1000");
    let other = "[providers.other]\nkind = \"openai-chat\"\nbase_url = \"http://127.0.0.1:9/v1\"\n\
                 api_key_env = \"OTHER_KEY\"\n";
    let home = Home::new(&format!("{SMALL}{table}{other}"));
    let daemon = home.daemon_with(&[("OTHER_KEY", KEY)]);
    let session = daemon.session().await;
    for n in 0..3 {
        ask(&daemon, &session, &format!("question {n}"), "completed").await;
    }
    let compaction = ended(&daemon, 1).await.remove(0);
    assert_eq!(compaction["state"], "done", "{compaction:#}");
    assert_eq!(compaction["facts"], 1);
    assert_eq!(one.seen().len(), 4, "it was not asked again");
    let kept = daemon.get("/v1/memory").await;
    assert_eq!(kept["items"].as_array().unwrap().len(), 1, "{kept:#}");
    assert_eq!(kept["items"][0]["text"], "Anna likes tea");
}

#[tokio::test]
async fn secrets_stay_out_of_what_a_compaction_writes() {
    const SECRET: &str = "sk-canarycanarycanarycanary1234";
    let good = summary(
        &format!("They shared {SECRET}."),
        vec![fact(&format!("The key is {SECRET}"))],
    );
    let one = ModelServer::chat(vec![says("a0"), says("a1"), says("a2"), says(&good)]);
    let home = small(SMALL, &one);
    let mut daemon = home.daemon();
    let session = daemon.session().await;
    for n in 0..3 {
        ask(&daemon, &session, &format!("question {n}"), "completed").await;
    }
    let compaction = ended(&daemon, 1).await.remove(0);
    assert_eq!(compaction["state"], "done", "{compaction:#}");
    let kept = daemon.get("/v1/memory").await["items"][0].clone();
    assert_eq!(kept["text"], "The key is [redacted]", "{kept:#}");
    assert!(daemon.terminate().success());
    for entry in std::fs::read_dir(home.data()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            let found = bytes
                .windows(SECRET.len())
                .any(|part| part == SECRET.as_bytes());
            assert!(!found, "{}", path.display());
        }
    }
}

#[tokio::test]
async fn two_bad_answers_fail_visibly_lose_nothing_and_are_not_asked_for_again_at_once() {
    let many = summary("s", (0..1000).map(|n| fact(&n.to_string())).collect());
    let huge = summary("s", vec![fact(&"x".repeat(1_000_000))]);
    let one = ModelServer::chat(vec![
        says("a0"),
        says("a1"),
        says("a2"),
        says(&many),
        says(&huge),
    ]);
    let home = small(SMALL, &one);
    let daemon = home.daemon();
    let session = daemon.session().await;
    for n in 0..3 {
        ask(&daemon, &session, &format!("question {n}"), "completed").await;
    }
    let failed = ended(&daemon, 1).await.remove(0);
    assert_eq!(failed["state"], "failed");
    let error = failed["error"].as_str().unwrap();
    assert!(
        error.contains("two answers of one/m") && error.contains("bytes, at most"),
        "{error}"
    );
    let second = one.seen()[4].to_string();
    assert!(second.contains("1000 facts, at most 10"), "{second}");
    let (status, problem) = daemon
        .request("GET", &format!("/v1/sessions/{session}/summary"), None)
        .await;
    assert_eq!(status, 404, "{problem}");
    let memory = daemon.get(&format!("/v1/sessions/{session}")).await["memory"].clone();
    assert_eq!(
        (&memory["failed_compactions"], &memory["covered_turns"]),
        (&json!(1), &json!(0))
    );

    // It rests before it is tried again by itself; a person need not wait.
    ask(&daemon, &session, "question 3", "completed").await;
    assert_eq!(one.seen().len(), 6);
    one.next(says(&summary("All of it.", vec![])));
    let done = daemon
        .post(&format!("/v1/sessions/{session}/compact"), json!({}))
        .await;
    assert_eq!(done["state"], "done", "{done:#}");
    assert_eq!(done["turns"], 3);
    let summary = daemon.get(&format!("/v1/sessions/{session}/summary")).await;
    assert_eq!(
        (&summary["version"], &summary["turns"]),
        (&json!(1), &json!(3))
    );
    assert_eq!(summary["text"], "All of it.");
    let (status, problem) = daemon
        .request("POST", &format!("/v1/sessions/{session}/compact"), None)
        .await;
    assert_eq!(
        (status, problem["title"].as_str()),
        (409, Some("nothing to compact"))
    );
    let answer = ask(&daemon, &session, "question 4", "completed").await;
    let sent = one.seen().last().unwrap()["messages"].to_string();
    assert!(
        sent.contains("All of it.") && sent.contains("question 3"),
        "{sent}"
    );
    assert!(!sent.contains("question 2"), "{sent}");
    assert_eq!(steps(&daemon, &answer, "model").await.len(), 1);
}

#[tokio::test]
async fn a_full_window_is_compacted_by_another_model_where_one_is_named() {
    let one = ModelServer::chat(Vec::new());
    let two = ModelServer::chat(vec![says(&summary("Much was said.", vec![])); 9]);
    let config = format!(
        "[model]\ndefault = \"one/m\"\n[engine]\nhistory_share = 0\n[memory]\ncompaction_model = \"two/n\"\n{}\n{}",
        one.table("one", "context_window = 9000\nmax_output_tokens = 1000"),
        two.table("two", "")
    );
    let home = crate::support::daemon::Home::new(&config);
    let daemon = home.daemon();
    let session = daemon.session().await;
    let long = "word ".repeat(800);
    for n in 0..6 {
        ask(
            &daemon,
            &session,
            &format!("question {n} {long}"),
            "completed",
        )
        .await;
    }
    let list = daemon
        .wait("/v1/compactions", "a compaction", |list| {
            list["items"][0]["state"] == "done"
        })
        .await;
    let done = list["items"].as_array().unwrap().last().unwrap();
    assert_eq!(done["model"], "two/n");
    let (before, after) = (
        done["tokens_before"].as_u64().unwrap(),
        done["tokens_after"].as_u64().unwrap(),
    );
    // 70 % of 8000, and half of that.
    assert!(
        before > 5_600 && before < 7_500 && after <= 4_000,
        "{done:#}"
    );
    assert!(!one.seen().iter().any(asks_to_compact));
    assert!(two.seen().iter().all(asks_to_compact) && !two.seen().is_empty());
    let costs = daemon.get("/v1/costs?by=model").await.to_string();
    assert!(costs.contains("two/n"), "{costs}");
}

#[tokio::test]
async fn a_used_up_budget_means_not_now() {
    let one = ModelServer::chat(Vec::new());
    let two = ModelServer::chat(Vec::new());
    // A turn may use some 4 000 tokens and uses 105; the answer to a compaction may have 8 192 alone.
    let beginning = SMALL.replace(
        "[memory]\n",
        "[budgets.session]\nmax_tokens = 8000\n[memory]\ncompaction_model = \"two/n\"\n",
    );
    let table = two.table("two", "context_window = 64000\nmax_output_tokens = 8192");
    let home = small(&format!("{beginning}{table}"), &one);
    let daemon = home.daemon();
    let session = daemon.session().await;
    for n in 0..3 {
        ask(&daemon, &session, &format!("question {n}"), "completed").await;
    }
    let path = format!("/v1/sessions/{session}/compact");
    let (status, problem) = daemon.request("POST", &path, None).await;
    assert_eq!(
        (status, problem["title"].as_str()),
        (409, Some("a budget is used up")),
        "{problem}"
    );
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("max_tokens of this session"), "{problem}");
    let list = daemon.get("/v1/compactions").await;
    assert_eq!(list["items"], json!([]));
    assert!(two.seen().is_empty());
}
