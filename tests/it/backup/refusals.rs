//! What is no backup, what cannot be one, and who may not ask: refused with a reason, and nothing changed.

use serde_json::json;

use crate::backup::tools::{files, members, pack, plain_home, run, run_json, said};
use crate::support::record::fault;

#[tokio::test]
async fn a_backup_goes_only_where_nothing_is_and_where_it_can_be_written() {
    let home = plain_home();
    let mut daemon = home.daemon();
    let session = daemon.session().await;
    let id = daemon.send(&session, "SAY:one").await;
    daemon.wait_state(&id, "completed").await;
    let taken = home.path().join("taken.tar");
    std::fs::write(&taken, "mine").unwrap();
    let inside = home.data().join("backup.tar");
    let nowhere = home.path().join("nowhere/backup.tar");
    for (path, status, words) in [
        (taken.to_str().unwrap(), 409, "exists already"),
        (nowhere.to_str().unwrap(), 400, "make the directory first"),
        (inside.to_str().unwrap(), 400, "in the data directory"),
        ("backup.tar", 400, "not an absolute path"),
        ("/", 400, "names no file"),
    ] {
        let (found, problem) = daemon
            .request("POST", "/v1/backup", Some(json!({"path": path})))
            .await;
        assert_eq!(found, status, "{path}: {problem}");
        assert!(
            problem["detail"].as_str().unwrap().contains(words),
            "{path}: {problem}"
        );
    }
    assert_eq!(std::fs::read_to_string(&taken).unwrap(), "mine");
    // The same by the command line, with and without a daemon.
    let output = run(&home, &["backup", taken.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(5), "{}", said(&output));
    daemon.terminate();
    let output = run(&home, &["backup", taken.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(5), "{}", said(&output));
    assert_eq!(std::fs::read_to_string(&taken).unwrap(), "mine");
    let empty = plain_home();
    let output = run(
        &empty,
        &["backup", home.path().join("b.tar").to_str().unwrap()],
    );
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("no database"), "{}", said(&output));
    assert!(!empty.data().exists(), "looking made a data directory");
}

/// Every way in which a file is not our backup; the data directory stays as it is.
#[tokio::test]
async fn what_is_no_whole_backup_is_refused_and_nothing_changes() {
    let home = plain_home();
    let mut daemon = home.daemon();
    let session = daemon.session().await;
    let id = daemon.send(&session, "SAY:one").await;
    daemon.wait_state(&id, "completed").await;
    daemon.terminate();
    let good = home.path().join("good.tar");
    run_json(&home, &["--json", "backup", good.to_str().unwrap()]);
    let whole = std::fs::read(&good).unwrap();
    let parts = members(&good);
    let before = files(&home.data());
    let file = home.path().join("bad.tar");
    let manifest = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut value: serde_json::Value = serde_json::from_slice(&parts[0].1).unwrap();
        change(&mut value);
        let mut changed = parts.clone();
        changed[0].1 = serde_json::to_vec(&value).unwrap();
        changed
    };
    let with = |name: &str| {
        let mut more = parts.clone();
        more.push((name.to_owned(), b"x".to_vec()));
        more
    };
    let write = |content: &[u8]| std::fs::write(&file, content).unwrap();
    type Case<'a> = (&'a str, Box<dyn Fn() + 'a>, &'a str);
    let cases: Vec<Case<'_>> = vec![
        (
            "garbage",
            Box::new(|| write(&[7; 4000])),
            "not a whole backup",
        ),
        ("nothing", Box::new(|| write(&[])), "empty"),
        ("a text", Box::new(|| write(b"hello")), "not a whole backup"),
        (
            "cut in the database",
            Box::new(|| write(&whole[..whole.len() / 2])),
            "not a whole backup",
        ),
        (
            "cut after the manifest",
            Box::new(|| pack(&file, &parts[..1])),
            "is missing",
        ),
        (
            "another tar",
            Box::new(|| pack(&file, &[("README".to_owned(), b"x".to_vec())])),
            "does not belong",
        ),
        (
            "a flipped bit",
            Box::new(|| {
                let mut flipped = parts.clone();
                let at = flipped[1].1.len() / 2;
                flipped[1].1[at] ^= 1;
                pack(&file, &flipped);
            }),
            "damaged",
        ),
        (
            "a path that leads out",
            Box::new(|| pack(&file, &with("../escaped"))),
            "does not belong",
        ),
        (
            "an absolute path",
            Box::new(|| pack(&file, &with("/tmp/leverframe-escaped"))),
            "does not belong",
        ),
        (
            "a secret's place",
            Box::new(|| pack(&file, &with("token"))),
            "does not belong",
        ),
        (
            "an undeclared member",
            Box::new(|| pack(&file, &with("config/themes/x.toml"))),
            "does not name once",
        ),
        (
            "a member twice",
            Box::new(|| {
                let mut twice = parts.clone();
                twice.push(parts[1].clone());
                pack(&file, &twice);
            }),
            "does not name once",
        ),
        (
            "a newer format",
            Box::new(|| pack(&file, &manifest(&|value| value["format"] = json!(99)))),
            "newer program",
        ),
        (
            "a newer schema",
            Box::new(|| pack(&file, &manifest(&|value| value["schema"] = json!(99)))),
            "newer program",
        ),
        (
            "another audit",
            Box::new(|| {
                pack(
                    &file,
                    &manifest(&|value| value["audit_hash"] = json!("00".repeat(32))),
                );
            }),
            "audit",
        ),
    ];
    let count = cases.len();
    for (what, make, words) in cases {
        make();
        let output = run(&home, &["restore", file.to_str().unwrap(), "--force"]);
        assert_eq!(output.status.code(), Some(1), "{what}: {}", said(&output));
        assert!(said(&output).contains(words), "{what}: {}", said(&output));
        assert!(files(&home.data()) == before, "{what} changed something");
        assert!(!home.path().join("data.restoring").exists(), "{what}");
        assert!(!home.path().join("escaped").exists(), "{what}");
    }
    // A link in place of a member.
    {
        let mut tar = tar::Builder::new(std::fs::File::create(&file).unwrap());
        let mut header = tar::Header::new_gnu();
        header.set_size(parts[0].1.len() as u64);
        tar.append_data(&mut header, &parts[0].0, parts[0].1.as_slice())
            .unwrap();
        let mut link = tar::Header::new_gnu();
        link.set_entry_type(tar::EntryType::Symlink);
        link.set_size(0);
        tar.append_link(&mut link, "leverframe.db", "/etc/hostname")
            .unwrap();
        tar.finish().unwrap();
    }
    let output = run(&home, &["restore", file.to_str().unwrap(), "--force"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(
        said(&output).contains("not a plain file"),
        "{}",
        said(&output)
    );
    let output = run(
        &home,
        &["restore", home.path().join("none.tar").to_str().unwrap()],
    );
    assert_ne!(output.status.code(), Some(0));
    assert!(files(&home.data()) == before);
    fault(
        "restore-of-garbage",
        &format!(
            "{} files that are not complete backups: garbage, cut off, flipped bit, other tar, paths that lead out, links, newer versions",
            count + 1
        ),
        "exit 1 with the reason; the data directory byte for byte as before",
    );
}
