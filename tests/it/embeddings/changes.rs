//! A vector never outlives its memory, nor what its memory says.

use serde_json::json;

use crate::embeddings::{Fake, add, cli, embedded, pair, search, text};
use crate::support::daemon::Home;

/// Reads from the database of a home whose daemon is gone.
fn vectors(home: &Home) -> Vec<(Vec<u8>, String)> {
    let database = rusqlite::Connection::open(home.data().join("leverframe.db")).unwrap();
    let mut statement = database
        .prepare("SELECT vector, model FROM memory_vectors ORDER BY memory_id")
        .unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    rows.unwrap().map(Result::unwrap).collect()
}

#[tokio::test]
async fn an_edit_changes_what_it_means_and_a_forgetting_ends_it() {
    let fake = Fake::start();
    let home = fake.home("");
    let daemon = home.daemon();
    let id = add(&daemon, "silent").await;
    add(&daemon, "zzz yyy").await;
    embedded(&daemon, 2).await;
    let (status, _) = daemon
        .request(
            "PATCH",
            &format!("/v1/memory/{id}"),
            Some(json!({ "text": "below" })),
        )
        .await;
    assert_eq!(status, 200);
    embedded(&daemon, 2).await;
    assert!(search(&daemon, "tinsel").await.0.is_empty());
    let (found, _) = search(&daemon, "elbow").await;
    assert_eq!(found, [pair("below", "meaning")]);
    let (status, _) = daemon
        .request("DELETE", &format!("/v1/memory/{id}"), None)
        .await;
    assert_eq!(status, 200);
    assert!(search(&daemon, "elbow").await.0.is_empty());
    embedded(&daemon, 1).await;
}

#[tokio::test]
async fn of_a_person_who_is_forgotten_no_vector_is_left() {
    let fake = Fake::start();
    let home = fake.home("");
    let mut daemon = home.daemon();
    let items = json!([
        { "place": { "scope": "global" }, "text": "xylophone kestrel quark", "person_id": "telegram:100" },
        { "place": { "scope": "global" }, "text": "somebody else", "person_id": "telegram:200" },
    ]);
    daemon
        .post("/v1/memory/import", json!({ "items": items }))
        .await;
    embedded(&daemon, 2).await;
    daemon.terminate();
    let before = vectors(&home);
    let daemon = home.daemon();
    let gone = cli(&home, &["memory", "erase-user", "telegram:100", "--yes"]);
    assert!(gone.status.success(), "{}", text(&gone.stderr));
    embedded(&daemon, 1).await;
    drop(daemon);
    let after = vectors(&home);
    assert_eq!(after.len(), 1);
    let canary = &before.iter().find(|row| !after.contains(row)).unwrap().0;
    for entry in std::fs::read_dir(home.data()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            let held = bytes.windows(canary.len()).any(|part| part == canary);
            assert!(!held, "{}", path.display());
        }
    }
}

#[tokio::test]
async fn another_model_makes_its_own_vectors() {
    let fake = Fake::start();
    let home = fake.home("");
    let mut daemon = home.daemon();
    add(&daemon, "silent").await;
    embedded(&daemon, 1).await;
    daemon.terminate();
    let first = vectors(&home);
    assert_eq!(first[0].1, "local/bag");

    let config = home.path().join("config/config.toml");
    std::fs::write(&config, fake.config("sack", "dimensions = 26\n")).unwrap();
    let mut daemon = home.daemon();
    embedded(&daemon, 1).await;
    let (found, _) = search(&daemon, "tinsel").await;
    assert_eq!(found, [pair("silent", "meaning")]);
    let last = fake.seen().pop().unwrap();
    assert_eq!(last.body["model"], "sack");
    assert_eq!(last.body["dimensions"], 26);
    daemon.terminate();
    assert_eq!(vectors(&home)[0].1, "local/sack@26");
}

#[tokio::test]
async fn what_was_put_aside_and_brought_back_means_what_it_meant() {
    let fake = Fake::start();
    let home = fake.home("[memory.hygiene]\nmax_memories = 1\n");
    let daemon = home.daemon();
    add(&daemon, "silent").await;
    add(&daemon, "mountain").await;
    embedded(&daemon, 2).await;
    let run = cli(&home, &["memory", "hygiene", "--run", "--yes", "--json"]);
    assert!(run.status.success(), "{}", text(&run.stderr));
    let run: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(run["report"]["archived"], 1, "{run:#}");
    let aside = |found: Vec<(String, String)>| found.is_empty();
    let (silent, _) = search(&daemon, "tinsel").await;
    let (mountain, _) = search(&daemon, "mountnia").await;
    assert!(aside(silent) != aside(mountain));
    let id = run["id"].as_str().unwrap();
    let undone = cli(&home, &["memory", "hygiene", "--undo", id]);
    assert!(undone.status.success(), "{}", text(&undone.stderr));
    let asked = fake.seen().len();
    embedded(&daemon, 2).await;
    let (silent, _) = search(&daemon, "tinsel").await;
    assert_eq!(silent, [pair("silent", "meaning")]);
    let (mountain, _) = search(&daemon, "mountnia").await;
    assert_eq!(mountain, [pair("mountain", "meaning")]);
    assert_eq!(fake.seen().len(), asked, "it was made again");
}
