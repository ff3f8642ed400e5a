//! What a backup holds, and what it must never hold.

use leverframe::store::schema::SCHEMA_VERSION;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::backup::tools::{
    bot_home, files, members, plain_home, run, run_command, run_json, said, sound,
};
use crate::support::fake_telegram::{FakeTelegram, TOKEN};
use crate::support::record::{fact, fault};

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// The manifest tells the truth about every member, and the configuration comes without its secrets (I22).
#[tokio::test]
async fn a_backup_says_what_it_holds_and_holds_no_secret() {
    let telegram = FakeTelegram::start();
    let home = bot_home(&telegram);
    telegram.change(|state| state.know_chat(200));
    for folder in ["keymaps", "themes"] {
        std::fs::create_dir(home.path().join("config").join(folder)).unwrap();
    }
    let theme = format!("# made with {TOKEN}\n");
    std::fs::write(home.path().join("config/themes/mine.toml"), theme).unwrap();
    std::fs::write(home.path().join("config/.env"), format!("T={TOKEN}\n")).unwrap();
    let key = "another-canary-that-is-a-key";
    std::fs::write(home.path().join("config/key"), key).unwrap();
    let mut daemon = home.daemon_with(&[("TEAM_TOKEN", TOKEN)]);
    let admin = daemon.token.clone();
    let session = daemon.session().await;
    let id = daemon
        .send(&session, &format!("SAY:my token is {TOKEN}"))
        .await;
    daemon.wait_state(&id, "completed").await;
    let file = home.path().join("online.tar");
    let report = daemon
        .post("/v1/backup", json!({"path": file.to_str().unwrap()}))
        .await;
    assert_eq!(report["sessions"], 1);
    assert_eq!(report["continuations"], 1);
    assert_eq!(report["config_files"], 2);
    assert!(
        report["notes"]
            .as_array()
            .unwrap()
            .iter()
            .any(|note| note.as_str().unwrap().contains("secret was taken out")),
        "{report}"
    );
    assert_eq!(report["size"], std::fs::metadata(&file).unwrap().len());
    daemon.terminate();
    // Without a daemon the same command reads the store itself, and leaves no trace beside it.
    let before: Vec<String> = files(&home.data())
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    let at_rest = home.path().join("at-rest.tar");
    let mut command = home.command();
    command.env("TEAM_TOKEN", TOKEN);
    let output = run_command(command, &["--json", "backup", at_rest.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let after: Vec<String> = files(&home.data())
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(before, after);

    for file in [&file, &at_rest] {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let held = members(file);
        assert_eq!(held[0].0, "manifest.json");
        let manifest: Value = serde_json::from_slice(&held[0].1).unwrap();
        assert_eq!(
            (&manifest["format"], &manifest["schema"]),
            (&json!(2), &json!(SCHEMA_VERSION))
        );
        assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
        let named: Vec<(String, u64, String)> = manifest["members"]
            .as_array()
            .unwrap()
            .iter()
            .map(|member| {
                (
                    member["path"].as_str().unwrap().to_owned(),
                    member["size"].as_u64().unwrap(),
                    member["sha256"].as_str().unwrap().to_owned(),
                )
            })
            .collect();
        let found: Vec<(String, u64, String)> = held[1..]
            .iter()
            .map(|(name, content)| {
                let hash = hex(&Sha256::digest(content));
                (name.clone(), content.len() as u64, hash)
            })
            .collect();
        assert_eq!(named, found);
        let names: Vec<&str> = found.iter().map(|(name, ..)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "leverframe.db",
                "config/config.toml",
                "config/themes/mine.toml"
            ]
        );
        for (name, content) in &held {
            for secret in [TOKEN, key, admin.as_str()] {
                assert!(
                    !content
                        .windows(secret.len())
                        .any(|window| window == secret.as_bytes()),
                    "a secret is in {name}"
                );
            }
        }
    }
    sound(&home).await;
    fault(
        "canary-secrets-in-backup",
        "a bot token in a message, in config.toml and in a theme; an admin token, a key file and a .env beside them",
        "none of them in any member of a backup made with or without a daemon",
    );
}

/// Deleted content does not travel, and the copy is whole without the write-ahead log.
#[tokio::test]
async fn what_is_restored_is_what_was_backed_up() {
    let home = plain_home();
    let mut daemon = home.daemon();
    let session = daemon.session().await;
    for text in ["SAY:one", "SAY:two"] {
        let id = daemon.send(&session, text).await;
        daemon.wait_state(&id, "completed").await;
    }
    // Not stopped in order: the newest messages lie in the write-ahead log.
    daemon.kill();
    let file = home.path().join("backup.tar");
    let report = run_json(&home, &["--json", "backup", file.to_str().unwrap()]);
    assert_eq!(report["continuations"], 2);
    let other = plain_home();
    std::fs::remove_file(other.path().join("config/config.toml")).unwrap();
    let report = run_json(&other, &["--json", "restore", file.to_str().unwrap()]);
    assert_eq!(report["moved_aside"], Value::Null);
    assert_eq!(
        std::fs::read(other.path().join("config/config.toml")).unwrap(),
        std::fs::read(home.path().join("config/config.toml")).unwrap()
    );
    let mut daemon = other.daemon();
    let transcript = daemon
        .get(&format!("/v1/sessions/{session}/transcript"))
        .await;
    let text = transcript.to_string();
    assert!(
        text.contains("one") && text.contains("two"),
        "{transcript:#}"
    );
    // A second restore, over what is there: refused, then moved aside, and nothing deleted.
    let running = run(&other, &["restore", file.to_str().unwrap(), "--force"]);
    assert_eq!(running.status.code(), Some(5), "{}", said(&running));
    assert!(
        said(&running).contains("in use by process"),
        "{}",
        said(&running)
    );
    daemon.terminate();
    let refused = run(&other, &["restore", file.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(5), "{}", said(&refused));
    assert!(said(&refused).contains("--force"), "{}", said(&refused));
    let kept = std::fs::read(other.data().join("leverframe.db")).unwrap();
    std::fs::write(other.path().join("config/config.toml"), "[model]\n").unwrap();
    let report = run_json(
        &other,
        &["--json", "restore", file.to_str().unwrap(), "--force"],
    );
    let aside = report["moved_aside"].as_str().unwrap();
    assert!(aside.contains("data.before-restore-"), "{report}");
    assert_eq!(
        std::fs::read(std::path::Path::new(aside).join("leverframe.db")).unwrap(),
        kept
    );
    let beside = other.path().join("config/config.toml.from-backup");
    assert_eq!(report["config_files"], json!([beside.to_str().unwrap()]));
    assert_eq!(
        std::fs::read_to_string(other.path().join("config/config.toml")).unwrap(),
        "[model]\n"
    );
    // A side-car that knows of nothing newer proves nothing: the copy knows what it is.
    std::fs::write(other.data().join("epoch"), "1\n").unwrap();
    assert!(sound(&other).await, "restored, so quarantined");
    fact(
        "backup",
        "restored",
        &json!({"checks": "invariants hold after restore, with and without --force"}),
    );
}

/// I25 for backups: what the database names is in it, and a file that is missing is an error that names it.
#[tokio::test]
async fn artifacts_travel_and_a_missing_one_is_named() {
    let home = plain_home();
    std::fs::create_dir_all(home.workspace("api")).unwrap();
    std::fs::write(
        home.workspace("api").join("big.txt"),
        "long line\n".repeat(4000),
    )
    .unwrap();
    let mut daemon = home.daemon();
    let session = daemon.session().await;
    let id = daemon
        .send(
            &session,
            "TOOL:execute_command{\"argv\":[\"cat\",\"big.txt\"]}\nSAY:read",
        )
        .await;
    let approval = daemon.wait_approval().await;
    assert_eq!(daemon.decide(&approval, "approve").await.0, 200);
    let done = daemon.wait_state(&id, "completed").await;
    let hash = done["tool_calls"][0]["artifact"]["hash"]
        .as_str()
        .expect("a large result is an artifact")
        .trim_start_matches("sha256:")
        .to_owned();
    let path = format!("artifacts/{}/{hash}", &hash[..2]);
    let file = home.path().join("backup.tar");
    let report = daemon
        .post("/v1/backup", json!({"path": file.to_str().unwrap()}))
        .await;
    assert_eq!(report["artifacts"], 1);
    assert!(members(&file).iter().any(|(name, _)| *name == path));
    let other = plain_home();
    run_json(&other, &["--json", "restore", file.to_str().unwrap()]);
    let mut restored = other.daemon();
    let kept = restored.get(&format!("/v1/continuations/{id}")).await;
    assert_eq!(
        kept["tool_calls"][0]["artifact"],
        done["tool_calls"][0]["artifact"]
    );
    assert!(other.data().join(&path).exists());
    restored.terminate();
    sound(&other).await;
    // Changed behind our back, then gone.
    for (what, words) in [
        ("changed", "does not hold what its name says"),
        ("gone", "which is not there"),
    ] {
        let artifact = home.data().join(&path);
        if what == "gone" {
            std::fs::remove_file(&artifact).unwrap();
        } else {
            let mut content = std::fs::read(&artifact).unwrap();
            content[0] ^= 1;
            std::fs::write(&artifact, content).unwrap();
        }
        let second = home.path().join(format!("{what}.tar"));
        let (status, problem) = daemon
            .request(
                "POST",
                "/v1/backup",
                Some(json!({"path": second.to_str().unwrap()})),
            )
            .await;
        assert_eq!(status, 500, "{problem}");
        let detail = problem["detail"].as_str().unwrap();
        assert!(
            detail.contains(&hash) && detail.contains(words),
            "{problem}"
        );
        assert!(!second.exists());
    }
    daemon.terminate();
}
