//! How long datasets stay: their time, the person whose they are, and a backup.

use serde_json::{Value, json};

use crate::datasets::surfaces::{command, upload};
use crate::stories::bot::{self, ben, shown};
use crate::support::daemon::Home;
use crate::support::fake_telegram::FakeTelegram;

const TABLE: &str = "a,b\n1,xylophoneKestrel\n";

fn names(list: &Value) -> Vec<String> {
    let items = list["items"].as_array().unwrap().iter();
    items
        .map(|item| item["name"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn a_dataset_whose_time_is_over_goes_with_its_file() {
    use leverframe::protocol::dataset::Dataset;
    use leverframe::protocol::ids::DatasetId;
    use leverframe::store::commands::put_dataset::PutDataset;
    use leverframe::store::input::ActorRef;

    use crate::retention::world::{DAY_MS, sound, sweep};
    use crate::support::world::World;

    let world = World::new().await;
    let made = crate::datasets::convert::made("t.csv", TABLE.as_bytes()).unwrap();
    let now = world.clock.now();
    for (name, days) in [("short", Some(30)), ("ever", None)] {
        let dataset = Dataset {
            id: DatasetId::generate(),
            channel: "team".to_owned(),
            name: name.to_owned(),
            source: "t.csv".to_owned(),
            rows: made.made.rows,
            columns: made.made.columns.clone(),
            bytes: made.made.bytes,
            sha256: made.made.sha256.clone(),
            notes: Vec::new(),
            created_at: now,
            expires_at: days.map(|days| now.plus_seconds(days * 24 * 3600)),
            uploaded_by: "me".to_owned(),
            taint: None,
        };
        let file = world.store.new_dataset_file("team").await.unwrap();
        std::fs::copy(&made.path, &file).unwrap();
        let lock = world.store.dataset_lock().await;
        world
            .store
            .name_dataset_file(&lock, file, &dataset)
            .await
            .unwrap();
        let by = ActorRef::engine();
        world
            .ok(PutDataset {
                dataset,
                sender: None,
                by,
            })
            .await;
    }
    let folder = world.dir.join("datasets/team");
    let orphan = folder.join("orphan.parquet");
    std::fs::write(&orphan, "never named").unwrap();
    world.clock.advance_millis(30 * DAY_MS - 1000);
    let report = sweep(&world).await;
    assert_eq!((report.datasets, report.dataset_files), (0, 1));
    assert!(!orphan.exists() && folder.join("short.parquet").exists());
    world.clock.advance_millis(2000);
    // Nothing goes while somebody copies; the row is gone all the same.
    let guard = world.store.artifact_guard().await;
    let report = sweep(&world).await;
    assert_eq!((report.datasets, report.dataset_files), (1, 0));
    drop(guard);
    assert!(folder.join("short.parquet").exists());
    assert_eq!(sweep(&world).await.dataset_files, 1);
    assert!(!folder.join("short.parquet").exists() && folder.join("ever.parquet").exists());
    sound(&world).await;
    // A file that is gone or is another one is told.
    std::fs::write(folder.join("ever.parquet"), "another").unwrap();
    let found = world
        .store
        .read(leverframe::store::check::check)
        .await
        .unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].invariant == "I32" && found[0].detail.contains("datasets/team/ever.parquet"),
        "{found:?}"
    );
}

#[tokio::test]
async fn the_tables_of_a_person_go_with_them() {
    let telegram = FakeTelegram::start();
    let people = "[people.anna]\nids = [\"telegram:200\"]\nrole = \"owner\"\n";
    let home = bot::home(&telegram, "allowed_users = [\"100\"]\n", people);
    let daemon = bot::start(&home, &telegram, &[200], &[]);
    let caption = json!({ "caption": "SAY:kept", "file": { "file_name": "mine.csv" } });
    telegram.user_sends_file(100, &ben(), ("document", "doc", TABLE.as_bytes()), caption);
    shown(&telegram, 100, "kept").await;
    assert_eq!(
        upload(&daemon, "channel=team&file=ours.csv", "a\n1\n")
            .await
            .0,
        201
    );
    assert_eq!(names(&daemon.get("/v1/datasets").await), ["mine", "ours"]);
    let preview = daemon.get("/v1/memory/people/telegram:100").await;
    assert_eq!(preview["datasets"], 1, "{preview:#}");
    let (status, gone) = daemon
        .request("DELETE", "/v1/memory/people/telegram:100", None)
        .await;
    assert_eq!(
        (status, &gone["left"], &gone["datasets"]),
        (200, &json!(0), &json!(1)),
        "{gone:#}"
    );
    assert_eq!(names(&daemon.get("/v1/datasets").await), ["ours"]);
    assert!(!home.data().join("datasets/team/mine.parquet").exists());
    assert!(home.data().join("datasets/team/ours.parquet").exists());
}

#[tokio::test]
async fn a_backup_holds_them_and_a_restore_has_them_again() {
    let home = Home::new("");
    let mut daemon = home.daemon();
    assert_eq!(
        upload(&daemon, "channel=api&file=kept.csv", TABLE).await.0,
        201
    );
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().join("b.tar");
    let file = file.to_str().unwrap();
    let made = command(&home, &["backup", file]).await;
    assert!(made.status.success(), "{made:?}");
    daemon.terminate();
    std::fs::remove_dir_all(home.data().join("datasets")).unwrap();
    let restored = command(&home, &["restore", file, "--force"]).await;
    assert!(restored.status.success(), "{restored:?}");
    let daemon = home.daemon();
    assert_eq!(names(&daemon.get("/v1/datasets").await), ["kept"]);
    let answer = daemon.post("/v1/datasets/kept/query", json!({})).await;
    assert_eq!(answer["rows"], json!([[1, "xylophoneKestrel"]]));
}
