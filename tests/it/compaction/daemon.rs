//! A long conversation with the built-in script, from the first turn to an answer out of the summary.

use std::process::Output;

use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Home};

const CONFIG: &str = "[engine]\nhistory_exchanges = 200\n[providers.scripted]\nkind = \"scripted\"\n\
    context_window = 9000\nmax_output_tokens = 1000\n[memory]\ncompaction_share = 80\n";

pub async fn say(daemon: &Daemon, session: &str, text: &str) -> Value {
    let id = daemon.send(session, text).await;
    daemon.wait_state(&id, "completed").await
}

fn memory(home: &Home, arguments: &[&str]) -> Output {
    home.command()
        .arg("memory")
        .args(arguments)
        .output()
        .expect("the command runs")
}

fn text(output: &[u8]) -> String {
    String::from_utf8_lossy(output).into_owned()
}

#[tokio::test]
async fn sixty_turns_become_a_summary_that_answers() {
    let home = Home::new(CONFIG);
    let daemon = home.daemon();
    let session = daemon.session().await;
    let nothing = memory(&home, &["summary", &session]);
    assert_eq!(nothing.status.code(), Some(1));
    assert!(
        text(&nothing.stderr).contains("no summary"),
        "{}",
        text(&nothing.stderr)
    );

    say(&daemon, &session, "my name is Zebedee and I keep bees").await;
    let mut sizes = Vec::new();
    for n in 1..60 {
        let turn = say(
            &daemon,
            &session,
            &format!(
                "SAY:noted, that is number {n} of the {}",
                "long ".repeat(80)
            ),
        )
        .await;
        sizes.push(turn["usage"]["input_tokens"].as_u64().unwrap());
        // Not in the way of turns; here each is waited for, so that the sizes are the same each time.
        daemon
            .wait("/v1/compactions", "none runs", |list| {
                list["items"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .all(|item| item["state"] != "running")
            })
            .await;
    }
    let view = daemon.get(&format!("/v1/sessions/{session}")).await;
    let compactions = view["memory"]["compactions"].as_u64().unwrap();
    assert!(
        compactions >= 2 && view["memory"]["failed_compactions"] == 0,
        "{view:#}"
    );
    let covered = view["memory"]["covered_turns"].as_u64().unwrap();
    assert!(covered > 20 && covered < 60, "{view:#}");
    // A prompt never grows past its threshold by more than a turn, and falls as often as there was a compaction.
    let falls = sizes
        .windows(2)
        .filter(|pair| pair[1] + 1_000 < pair[0])
        .count() as u64;
    assert!(
        falls >= 2 && falls <= compactions,
        "{falls} falls, {compactions} compactions: {sizes:?}"
    );
    assert!(sizes.iter().all(|size| *size < 7_000), "{sizes:?}");

    let list = daemon
        .get(&format!("/v1/compactions?session={session}"))
        .await;
    for item in list["items"].as_array().unwrap() {
        let tokens = |name: &str| item[name].as_u64().unwrap();
        assert!(tokens("tokens_after") < tokens("tokens_before"), "{item:#}");
    }
    // What was said first is out of the window and in the summary.
    let answer = say(&daemon, &session, "earlier zebedee").await;
    let said = answer["response"]["text"].as_str().unwrap();
    assert!(
        said.starts_with("Before, this was said:") && said.contains("my name is Zebedee"),
        "{said}"
    );
    let answer = say(&daemon, &session, "earlier quinquereme").await;
    assert!(
        answer["response"]["text"]
            .as_str()
            .unwrap()
            .starts_with("Nothing that I was sent")
    );

    let shown = memory(&home, &["summary", &session]);
    assert!(shown.status.success(), "{}", text(&shown.stderr));
    let shown = text(&shown.stdout);
    assert!(
        shown.contains("my name is Zebedee") && shown.contains("by scripted/"),
        "{shown}"
    );
    let lines = memory(&home, &["compactions", "--json"]);
    let lines = text(&lines.stdout);
    let newest: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(newest, list["items"][0]);
    let table = text(
        &memory(
            &home,
            &["compactions", "--session", &session, "--limit", "1"],
        )
        .stdout,
    );
    assert!(
        table.contains("NEXT PROMPT") && table.contains("done"),
        "{table}"
    );
    let compacted = memory(&home, &["compact", &session]);
    assert!(compacted.status.success(), "{}", text(&compacted.stderr));
    assert!(text(&compacted.stdout).contains("turns put into the summary"));
    assert_eq!(memory(&home, &["compact", &session]).status.code(), Some(5));

    // The event tells it with its sizes, and the fact waits: the channel is supervised.
    let facts = daemon.get(&format!("/v1/sessions/{session}")).await["memory"].clone();
    assert_eq!(
        (&facts["facts"], &facts["proposed"]),
        (&json!(0), &json!(1)),
        "{facts:#}"
    );
    let transcript = daemon
        .get(&format!("/v1/sessions/{session}/transcript?limit=500"))
        .await;
    assert!(
        transcript.to_string().contains("Zebedee"),
        "the turns themselves are kept"
    );
    // Each compaction stands in it once, behind the turn after which it began, however it is read.
    let entries = transcript["items"].as_array().unwrap();
    let told: Vec<&Value> = entries
        .iter()
        .filter(|entry| entry["body"]["type"] == "compacted")
        .collect();
    let list = daemon
        .get(&format!("/v1/compactions?session={session}"))
        .await;
    let done = list["items"].as_array().unwrap();
    assert_eq!(told.len(), done.len(), "{told:#?}");
    for (entry, item) in told.iter().zip(done.iter().rev()) {
        for field in ["turns", "facts", "tokens_before", "tokens_after"] {
            assert_eq!(entry["body"][field], item[field], "{entry:#} {item:#}");
        }
        assert_eq!(entry["at"], item["started_at"]);
    }
    for pair in entries.windows(2) {
        assert!(pair[0]["position"].as_u64() < pair[1]["position"].as_u64());
        if pair[0]["body"]["type"] == "compacted" {
            // Not as text: `.2Z` is before `.21Z` and sorts behind it.
            let at = |entry: &Value| -> jiff::Timestamp {
                entry["at"].as_str().unwrap().parse().unwrap()
            };
            assert!(at(&pair[0]) <= at(&pair[1]), "{pair:#?}");
            assert_ne!(pair[1]["body"]["type"], "step", "{pair:#?}");
        }
    }
    let mut paged: Vec<Value> = Vec::new();
    let mut before = String::new();
    loop {
        let path = format!("/v1/sessions/{session}/transcript?limit=3{before}");
        let page = daemon.get(&path).await;
        paged.splice(0..0, page["items"].as_array().unwrap().iter().cloned());
        match page["next_cursor"].as_str() {
            Some(cursor) => before = format!("&before={cursor}"),
            None => break,
        }
    }
    assert_eq!(&paged, entries);
}
