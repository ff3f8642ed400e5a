//! What is found, by whom, and what it costs.

use serde_json::json;

use crate::embeddings::{CHANNELS, Fake, add, cli, embedded, pair, search, text};
use crate::support::daemon::Home;

#[tokio::test]
async fn a_paraphrase_is_found_and_what_is_found_twice_comes_first() {
    let fake = Fake::start();
    let home = fake.home("");
    let daemon = home.daemon();
    add(&daemon, "silent").await;
    add(&daemon, "silent nights on a mountain with wolves and bears").await;
    add(&daemon, "tinsel").await;
    embedded(&daemon, 3).await;

    // No word of it is in any memory.
    let (found, words_only) = search(&daemon, "enlist").await;
    assert_eq!(words_only, json!(null));
    let mut texts: Vec<_> = found.clone();
    texts.sort();
    assert_eq!(
        texts,
        [pair("silent", "meaning"), pair("tinsel", "meaning")]
    );

    let (mut found, _) = search(&daemon, "Silent!").await;
    assert_eq!(found.remove(0), pair("silent", "both"));
    found.sort();
    assert_eq!(
        found,
        [
            pair("silent nights on a mountain with wolves and bears", "words"),
            pair("tinsel", "meaning"),
        ]
    );

    let shown = cli(&home, &["memory", "search", "enlist"]);
    let shown = text(&shown.stdout);
    assert!(
        shown.contains("FOUND BY") && shown.contains("meaning"),
        "{shown}"
    );
    let lines = cli(&home, &["memory", "search", "--json", "enlist"]);
    assert!(text(&lines.stdout).contains("\"found_by\":\"meaning\""));

    // The same filters hold.
    let found = daemon.get("/v1/memory/search?q=enlist&scope=channel").await;
    assert_eq!(found["items"], json!([]));

    // The agent finds it too, and is told how.
    let session = daemon.session().await;
    let asked = format!("TOOL:recall{}\nSAY:done", json!({ "query": "enlist" }));
    let turn = daemon.send(&session, &asked).await;
    let turn = daemon.wait_state(&turn, "completed").await;
    let result = turn["tool_calls"][0]["result"].as_str().unwrap();
    assert!(
        result.contains("tinsel") && result.contains("\"found_by\":\"meaning\""),
        "{result}"
    );

    // One search is asked for once, however often it is made, and all of it is counted.
    let asked = fake.seen();
    let searches = fake.texts().iter().filter(|text| *text == "enlist").count();
    assert_eq!(searches, 1);
    assert!(asked.iter().all(|request| request.path == "/v1/embeddings"
        && request.method == "POST"
        && request.body["model"] == "bag"));
    let costs = daemon.get("/v1/costs?by=model").await;
    let item = costs["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|item| item["name"] == "local/bag")
        .unwrap();
    assert_eq!(item["calls"], asked.len());
    assert_eq!(item["failed"], 0);
    assert_eq!(item["input_tokens"], 7 * asked.len());
    assert_eq!(item["output_tokens"], 0);
}

#[tokio::test]
async fn ollama_is_asked_in_its_own_way() {
    let fake = Fake::start();
    let home = Home::new(&format!(
        "[model]\ndefault = \"scripted/demo\"\n[providers.mine]\nkind = \"ollama\"\nbase_url = \"{}\"\n\
         [memory.embeddings]\nprovider = \"mine\"\nmodel = \"bag\"\ndimensions = 26\nmin_similarity = 95\n",
        fake.http().url()
    ));
    let daemon = home.daemon();
    add(&daemon, "silent").await;
    let stats = embedded(&daemon, 1).await;
    assert_eq!(stats["embeddings"], "mine/bag@26");
    let (found, _) = search(&daemon, "tinsel").await;
    assert_eq!(found, [pair("silent", "meaning")]);
    for request in fake.seen() {
        assert_eq!(request.path, "/api/embed");
        assert_eq!(request.body["dimensions"], 26);
    }
    let shown = text(&cli(&home, &["memory", "stats"]).stdout);
    assert!(shown.contains("embeddings 1 by mine/bag@26;"), "{shown}");
}

#[tokio::test]
async fn where_it_is_off_nobody_is_asked() {
    let fake = Fake::start();
    let home = Home::new(&format!(
        "[model]\ndefault = \"scripted/demo\"\n{CHANNELS}[providers.local]\nkind = \"openai-chat\"\n\
         base_url = \"{}/v1\"\n",
        fake.http().url()
    ));
    let daemon = home.daemon();
    add(&daemon, "silent").await;
    let (found, words_only) = search(&daemon, "tinsel").await;
    assert_eq!((found, words_only), (Vec::new(), json!(null)));
    let (found, _) = search(&daemon, "silent").await;
    assert_eq!(found, [pair("silent", "words")]);
    let session = daemon.session().await;
    let turn = daemon.send(&session, "tinsel").await;
    daemon.wait_state(&turn, "completed").await;
    let stats = daemon.get("/v1/memory/stats").await;
    assert_eq!(stats["embeddings"], json!(null));
    assert_eq!(stats["unembedded"], 0);
    assert!(fake.seen().is_empty());
}

#[tokio::test]
async fn a_secret_that_is_searched_for_is_not_sent() {
    let fake = Fake::start();
    let home = fake.home("");
    let daemon = home.daemon();
    let token = std::fs::read_to_string(home.data().join("token")).unwrap();
    search(&daemon, &format!("what is {}", token.trim())).await;
    let texts = fake.texts();
    assert_eq!(texts.len(), 1);
    assert!(
        texts[0].starts_with("what is ") && !texts[0].contains(token.trim()),
        "{texts:?}"
    );
}
