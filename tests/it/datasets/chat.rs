//! A table that somebody sends to the bot: the model is told of it, asks it, and the session is tainted.

use serde_json::{Value, json};

use crate::stories::bot::{self, ben, shown};
use crate::support::daemon::{Home, client};
use crate::support::fake_telegram::FakeTelegram;

const BEN: i64 = 100;
const SALES: &[u8] = b"city;amount\nBonn;1\nK\xf6ln;2\nBonn;3\n";

fn home(telegram: &FakeTelegram) -> Home {
    let people = "[people.anna]\nids = [\"telegram:200\"]\nrole = \"owner\"\n";
    bot::home(
        telegram,
        "autonomy = \"semi_auto\"\nallowed_users = [\"100\"]\n",
        people,
    )
}

#[tokio::test]
async fn a_table_from_a_chat_is_asked_by_the_model() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram);
    let daemon = bot::start(&home, &telegram, &[200], &[]);
    // Nothing is there yet, so the model is told of no tools for it.
    telegram.user_says(BEN, &ben(), "SAY:hello");
    shown(&telegram, BEN, "hello").await;

    let call = json!({"name": "sales", "group_by": ["city"], "order_by": "city",
        "aggregate": [{"fn": "sum", "column": "amount"}]});
    let caption = json!({ "caption": format!("TOOL:query_dataset{call}\nSAY:asked"), "file": { "file_name": "Sales.csv" } });
    telegram.user_sends_file(BEN, &ben(), ("document", "doc", SALES), caption);
    shown(&telegram, BEN, "asked").await;
    let page = daemon.get("/v1/continuations").await;
    let turn = page["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|turn| {
            turn["request"]["text"]
                .as_str()
                .unwrap()
                .contains("query_dataset")
        })
        .unwrap();
    let text = turn["request"]["text"].as_str().unwrap();
    assert!(
        text.ends_with(
            "[dataset sales: 3 rows, 2 columns (city text, amount integer); encoding Windows-1252, delimiter ;]"
        ),
        "{text}"
    );
    let result = turn["tool_calls"][0]["result"].to_string();
    assert!(
        result.contains("| Bonn | 4 |") && result.contains("| Köln | 2 |"),
        "{turn:#}"
    );
    // Whose it is, and that nobody here vouches for it.
    let list = daemon.get("/v1/datasets").await;
    let dataset = &list["items"][0];
    assert_eq!(dataset["channel"], "team");
    assert_eq!(dataset["taint"], "a table that came with a message");
    // It is a file of the workspace too, as every other one.
    let path = turn["attachments"][0]["path"].as_str().unwrap();
    assert_eq!(
        std::fs::read(home.workspace("team").join(path)).unwrap(),
        SALES
    );
}

#[tokio::test]
async fn a_file_over_http_is_one_too_and_taints_whoever_asks_it_later() {
    let home = Home::new("[channels.api]\nautonomy = \"semi_auto\"\n");
    let daemon = home.daemon();
    let session = daemon.session().await;
    let body = json!({ "text": "SAY:thanks", "attachments": [
        { "name": "people.json", "data": "W3sibmFtZSI6IkFkYSJ9XQ==" },
        { "name": "broken.csv", "data": "H4sI" },
    ] });
    let sent = client()
        .post(format!("{}/v1/sessions/{session}/messages", daemon.base))
        .bearer_auth(&daemon.token)
        .json(&body)
        .send();
    let sent: Value = sent.await.unwrap().json().await.unwrap();
    let done = daemon
        .wait_state(sent["continuation_id"].as_str().unwrap(), "completed")
        .await;
    let text = done["request"]["text"].as_str().unwrap();
    assert!(
        text.contains("[dataset people: 1 row, 1 column (name text)]"),
        "{text}"
    );
    assert!(
        text.contains("[`broken.csv` is no dataset: this is a gzip file"),
        "{text}"
    );

    // Another conversation has read nothing of it before it asks.
    let other = daemon.session().await;
    let turn = daemon
        .send(
            &other,
            "TOOL:describe_dataset{\"name\":\"people\"}\nSAY:read",
        )
        .await;
    let done = daemon.wait_state(&turn, "completed").await;
    let described = done["tool_calls"][0]["result"].to_string();
    assert!(
        described.contains("| name | text | 0 | 1 | Ada | Ada |"),
        "{described}"
    );
    let write = "TOOL:write_file{\"path\":\"a.txt\",\"content\":\"a\"}\nSAY:done";
    let turn = daemon.send(&other, write).await;
    let approval = daemon.wait_approval().await;
    assert_eq!(
        approval["taint"],
        json!(["a table that came with a message"]),
        "{approval:#}"
    );
    assert_eq!(daemon.decide(&approval, "approve").await.0, 200);
    daemon.wait_state(&turn, "completed").await;

    // A name that nearly fits, and the list.
    let turn = daemon
        .send(
            &other,
            "TOOL:query_dataset{\"name\":\"peple\"}\nTOOL:list_datasets{}\nSAY:done",
        )
        .await;
    let done = daemon.wait_state(&turn, "completed").await;
    let result = done["tool_calls"][0]["result"].to_string();
    assert!(result.contains("did you mean `people`?"), "{result}");
    let listed = done["tool_calls"][1]["result"].to_string();
    assert!(listed.contains("dataset people: 1 row,"), "{listed}");
}
