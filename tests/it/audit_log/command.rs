//! `leverframe audit` and `/v1/audit`.

use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::support::daemon::{Daemon, Home};

fn run(home: &Home, arguments: &[&str]) -> (i32, String, String) {
    let output = home.command().args(arguments).output().unwrap();
    (
        output.status.code().unwrap(),
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

/// Something worth auditing: an approval, a start, a decision.
async fn history(daemon: &Daemon) {
    let session = daemon.session().await;
    let text = "TOOL:write_file{\"path\":\"a.txt\",\"content\":\"zwölf\"}\nSAY:done";
    let continuation = daemon.send(&session, text).await;
    let approval = daemon.wait_approval().await;
    assert_eq!(daemon.decide(&approval, "approve").await.0, 200);
    daemon.wait_state(&continuation, "completed").await;
}

fn field(hasher: &mut Sha256, bytes: &[u8]) {
    hasher.update((bytes.len() as u64).to_be_bytes());
    hasher.update(bytes);
}

/// The hash of an exported row, computed from its documentation alone.
fn recomputed(row: &Value, prev: &[u8]) -> Vec<u8> {
    let text = |name: &str| row[name].as_str().unwrap_or_default().as_bytes().to_vec();
    let at: jiff::Timestamp = row["at"].as_str().unwrap().parse().unwrap();
    let mut hasher = Sha256::new();
    hasher.update(prev);
    field(&mut hasher, &row["seq"].as_u64().unwrap().to_be_bytes());
    field(&mut hasher, &at.as_millisecond().to_be_bytes());
    for name in ["action", "actor", "actor_id", "surface"] {
        field(&mut hasher, &text(name));
    }
    field(
        &mut hasher,
        if row["channel"].is_null() { b"-" } else { b"+" },
    );
    for name in ["channel", "subject", "detail"] {
        field(&mut hasher, &text(name));
    }
    hasher.finalize().to_vec()
}

#[tokio::test]
async fn a_third_party_can_recompute_the_exported_chain() {
    let home = Home::new("");
    let mut daemon = home.daemon();
    history(&daemon).await;
    let file = home.path().join("audit.ndjson");
    let name = file.to_str().unwrap();
    let (status, _, errors) = run(&home, &["audit", "export", name]);
    assert_eq!(status, 0, "{errors}");
    let rows = lines(&std::fs::read_to_string(&file).unwrap());
    assert!(rows.len() >= 4, "{rows:?}");
    let mut prev = vec![0; 32];
    for row in &rows {
        assert_eq!(row["prev"].as_str().unwrap(), hex(&prev), "{row}");
        prev = recomputed(row, &prev);
        assert_eq!(row["hash"].as_str().unwrap(), hex(&prev), "{row}");
    }
    let head = daemon.get("/v1/audit/verify").await;
    assert_eq!(head["head_hash"].as_str().unwrap(), hex(&prev));
    assert_eq!(head["head_seq"], rows.len());
    assert_eq!(head["broken"], Value::Null);
    // A file that is there is never replaced.
    let (status, _, errors) = run(&home, &["audit", "export", name]);
    assert_eq!(status, 2, "{errors}");
    daemon.terminate();
    // Where nothing runs, the same rows come from the file.
    let (status, text, errors) = run(&home, &["audit", "export", "-"]);
    assert_eq!(status, 0, "{errors}");
    assert_eq!(&lines(&text)[..rows.len()], &rows[..]);
}

/// Characters that a terminal would act on or hide: none of them stands in what is written, to a file or not.
const HIDDEN: [char; 4] = ['\u{9b}', '\u{202e}', '\u{85}', '\u{2028}'];

#[tokio::test]
async fn an_export_hides_nothing_and_reads_back_as_it_was() {
    let home = Home::new("");
    let mut daemon = home.daemon();
    let reason = format!("because {}[31m", String::from_iter(HIDDEN));
    daemon
        .post("/v1/emergency-stop", json!({ "reason": reason }))
        .await;
    daemon.terminate();
    let file = home.path().join("audit.ndjson");
    let (status, _, errors) = run(&home, &["audit", "export", file.to_str().unwrap()]);
    assert_eq!(status, 0, "{errors}");
    let written = std::fs::read_to_string(&file).unwrap();
    let (status, printed, errors) = run(&home, &["audit", "export", "-"]);
    assert_eq!(status, 0, "{errors}");
    assert!(written.contains("\\u202e"), "{written}");
    assert!(!written.contains(HIDDEN) && !printed.contains(HIDDEN));
    assert_eq!(lines(&written), lines(&printed));
    let mut prev = vec![0; 32];
    for row in &lines(&written) {
        prev = recomputed(row, &prev);
        assert_eq!(row["hash"].as_str().unwrap(), hex(&prev), "{row}");
    }
    let text = lines(&written)
        .iter()
        .map(|row| row["detail"].as_str().unwrap().to_owned())
        .collect::<String>();
    assert!(text.contains(&reason), "{text}");
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

#[tokio::test]
async fn rows_are_found_by_time_channel_action_and_actor() {
    let home = Home::new("");
    let daemon = home.daemon();
    history(&daemon).await;
    let items = |answer: &Value| answer["items"].as_array().unwrap().clone();
    let decided = daemon
        .get("/v1/audit?action=approval.decided&channel=api")
        .await;
    assert_eq!(items(&decided).len(), 1, "{decided:#}");
    assert_eq!(items(&decided)[0]["actor_id"], "token:admin");
    let by = daemon.get("/v1/audit?actor=token:admin&limit=500").await;
    assert!(!items(&by).is_empty());
    assert!(
        items(&by)
            .iter()
            .all(|row| row["actor_id"] == "token:admin")
    );
    assert_eq!(
        items(&daemon.get("/v1/audit?since=2999-01-01T00:00:00Z").await).len(),
        0
    );
    assert_eq!(
        items(&daemon.get("/v1/audit?until=1999-01-01T00:00:00Z").await).len(),
        0
    );
    // Pages in both directions hold every row once.
    for order in ["false", "true"] {
        let mut seen = Vec::new();
        let mut path = format!("/v1/audit?limit=2&oldest_first={order}");
        loop {
            let page = daemon.get(&path).await;
            seen.extend(items(&page).iter().map(|row| row["seq"].as_u64().unwrap()));
            let Some(cursor) = page["next_cursor"].as_str() else {
                break;
            };
            path = format!("/v1/audit?limit=2&oldest_first={order}&cursor={cursor}");
        }
        let mut wanted: Vec<u64> = (1..=seen.len() as u64).collect();
        if order == "false" {
            wanted.reverse();
        }
        assert_eq!(seen, wanted);
    }
    let (status, text, errors) = run(
        &home,
        &[
            "--json",
            "audit",
            "list",
            "--since",
            "2h",
            "--action",
            "tool.started",
        ],
    );
    assert_eq!(status, 0, "{errors}");
    assert_eq!(lines(&text).len(), 1);
    let (status, text, _) = run(&home, &["audit", "list", "--limit", "1"]);
    assert_eq!((status, text.lines().count()), (0, 2), "{text}");
    // Bad input names the parameter and what was expected.
    let (status, problem) = daemon
        .request("GET", "/v1/audit?since=yesterday", None)
        .await;
    assert_eq!(status, 400);
    assert!(
        problem["detail"].as_str().unwrap().contains("`since`"),
        "{problem}"
    );
    let (status, problem) = daemon
        .request("GET", "/v1/audit/verify?anchor=7", None)
        .await;
    assert_eq!(status, 400);
    assert!(
        problem["detail"].as_str().unwrap().contains("SEQ:HASH"),
        "{problem}"
    );
    let (status, _, errors) = run(&home, &["audit", "list", "--since", "soon"]);
    assert_eq!(status, 2);
    assert!(errors.contains("2h"), "{errors}");
}

fn edit(data: &Path, sql: &str) {
    let conn = rusqlite::Connection::open(data.join("leverframe.db")).unwrap();
    conn.execute_batch(
        "DROP TRIGGER audit_is_append_only_update; DROP TRIGGER audit_is_append_only_delete;",
    )
    .unwrap();
    conn.execute_batch(sql).unwrap();
}

#[tokio::test]
async fn a_changed_row_a_missing_row_and_a_cut_end_are_found() {
    let home = Home::new("");
    let mut daemon = home.daemon();
    history(&daemon).await;
    let head = daemon.get("/v1/audit/verify").await;
    let anchor = format!(
        "{}:{}",
        head["head_seq"],
        head["head_hash"].as_str().unwrap()
    );
    daemon.terminate();
    let mut daemon = home.daemon();
    let kept = daemon
        .get(&format!("/v1/audit/verify?anchor={anchor}"))
        .await;
    assert_eq!(kept["given"]["verdict"], "contained");
    let anchors = kept["anchors"].as_u64().unwrap();
    assert!(anchors >= 2, "one for each start: {kept}");
    assert_eq!(kept["anchors_missing"], json!([]));
    daemon.terminate();
    let (status, text, errors) = run(&home, &["audit", "verify", "--anchor", &anchor]);
    assert_eq!(status, 0, "{text}{errors}");
    assert!(
        text.contains("chain    whole") && text.contains("the chain contains it"),
        "{text}"
    );

    let sound = std::fs::read(home.data().join("leverframe.db")).unwrap();
    for (sql, reason) in [
        (
            "UPDATE audit SET actor = 'mallory' WHERE seq = 3",
            "broken at row 3",
        ),
        ("DELETE FROM audit WHERE seq = 2", "row 2 is missing"),
        ("DELETE FROM audit WHERE seq > 2", "its end was cut off"),
    ] {
        std::fs::write(home.data().join("leverframe.db"), &sound).unwrap();
        edit(&home.data(), sql);
        let (status, text, errors) = run(&home, &["audit", "verify"]);
        assert_eq!(status, 1, "{sql}: {text}{errors}");
        assert!(text.contains(reason), "{sql}: {text}");
    }
    // The end was cut off and written anew: only what was noted elsewhere shows it.
    let (status, text, _) = run(&home, &["audit", "verify", "--anchor", &anchor, "--json"]);
    assert_eq!(status, 1);
    assert_eq!(lines(&text)[0]["given"]["verdict"], "beyond_end");
    assert_eq!(lines(&text)[0]["broken"], Value::Null);
}

#[tokio::test]
async fn an_export_is_verified_without_its_database() {
    let home = Home::new("");
    let mut daemon = home.daemon();
    history(&daemon).await;
    let head = daemon.get("/v1/audit/verify").await;
    daemon.terminate();
    let file = home.path().join("audit.ndjson");
    let name = file.to_str().unwrap();
    assert_eq!(run(&home, &["audit", "export", name]).0, 0);
    let sound = std::fs::read_to_string(&file).unwrap();
    let verify = |text: &str, anchor: Option<&str>| {
        std::fs::write(&file, text).unwrap();
        let anchor = anchor.map(|anchor| ["--anchor", anchor]);
        let words = ["--json", "audit", "verify", "--file", name];
        let words: Vec<&str> = words
            .into_iter()
            .chain(anchor.into_iter().flatten())
            .collect();
        run(&home, &words)
    };
    let anchor = format!(
        "{}:{}",
        head["head_seq"],
        head["head_hash"].as_str().unwrap()
    );
    let (status, text, errors) = verify(&sound, Some(&anchor));
    assert_eq!(status, 0, "{text}{errors}");
    let report = &lines(&text)[0];
    assert_eq!(report["rows"], sound.lines().count());
    assert_eq!(report["given"]["verdict"], "contained");
    // The newest rows alone are a chain too, and do not contain what was before them.
    let end: String = sound
        .lines()
        .skip(2)
        .flat_map(|line| [line, "\n"])
        .collect();
    let (status, text, errors) = verify(&end, None);
    assert_eq!(
        (status, &lines(&text)[0]["first_seq"]),
        (0, &json!(3)),
        "{errors}"
    );
    // What was changed, left out or cut off is found.
    let changed = sound
        .replacen("zw", "ZW", 1)
        .replacen("engine.started", "engine.Started", 1);
    let without: String = sound
        .lines()
        .enumerate()
        .filter(|(at, _)| *at != 1)
        .flat_map(|(_, line)| [line, "\n"])
        .collect();
    let cut: String = sound
        .lines()
        .take(2)
        .flat_map(|line| [line, "\n"])
        .collect();
    for (text, reason) in [
        (changed, "its hash does not fit"),
        (without, "row 2 is missing"),
        (cut, "beyond_end"),
    ] {
        let (status, said, errors) = verify(&text, Some(&anchor));
        assert_eq!(status, 1, "{reason}: {said}{errors}");
        assert!(said.contains(reason), "{reason}: {said}");
    }
    for (text, problem) in [("{}", "line 1 is no row"), ("", "it has no row")] {
        let (status, _, errors) = verify(text, None);
        assert_eq!(status, 1);
        assert!(errors.contains(problem), "{errors}");
    }
}

#[tokio::test]
async fn an_export_is_signed_and_ssh_verifies_it() {
    let home = Home::new("");
    let mut daemon = home.daemon();
    history(&daemon).await;
    daemon.terminate();
    let at = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
    let (key, file) = (at("key"), at("audit.ndjson"));
    let ssh = |words: &[&str], input: &str| {
        let mut command = std::process::Command::new("ssh-keygen");
        command.args(words).current_dir(home.path());
        command.stdin(if input.is_empty() {
            std::process::Stdio::null()
        } else {
            std::fs::File::open(input).unwrap().into()
        });
        command
            .output()
            .expect("ssh-keygen starts")
            .status
            .success()
    };
    assert!(ssh(
        &["-q", "-t", "ed25519", "-N", "", "-C", "", "-f", &key],
        ""
    ));
    let (status, _, errors) = run(&home, &["audit", "export", &file, "--sign", &key]);
    assert_eq!(status, 0, "{errors}");
    assert!(errors.contains("audit.ndjson.sig"), "{errors}");
    let public = std::fs::read_to_string(at("key.pub")).unwrap();
    std::fs::write(at("signers"), format!("ana {public}")).unwrap();
    let (signers, signature) = (at("signers"), at("audit.ndjson.sig"));
    let verify = [
        "-Y",
        "verify",
        "-f",
        &signers,
        "-I",
        "ana",
        "-n",
        "leverframe-audit",
        "-s",
        &signature,
    ];
    assert!(ssh(&verify, &file));
    let changed = std::fs::read_to_string(&file).unwrap() + "\n";
    std::fs::write(&file, changed).unwrap();
    assert!(!ssh(&verify, &file), "a changed file verifies");
    // Without a signature it says so, and the rows are there.
    let other = at("other.ndjson");
    let (status, _, errors) = run(&home, &["audit", "export", &other, "--sign", &at("none")]);
    assert_eq!(status, 1);
    assert!(errors.contains("not signed"), "{errors}");
    assert!(Path::new(&other).exists());
    let (status, _, errors) = run(&home, &["audit", "export", "-", "--sign", &key]);
    assert_eq!(status, 2, "{errors}");
}

#[tokio::test]
async fn a_month_is_told_to_a_reader() {
    let home = Home::new("");
    let mut daemon = home.daemon();
    history(&daemon).await;
    let session = daemon.session().await;
    let text = "TOOL:write_file{\"path\":\"b.txt\",\"content\":\"b\"}\nSAY:done";
    let turn = daemon.send(&session, text).await;
    let asked = daemon.wait_approval().await;
    let body = json!({
        "decision": "deny", "digest": asked["digest"], "reason": "not <b>now</b> | `later`",
    });
    let path = format!("/v1/approvals/{}/decision", asked["id"].as_str().unwrap());
    daemon.post(&path, body).await;
    daemon.wait_state(&turn, "completed").await;
    let raised = json!({ "autonomy": "full", "expires_in_seconds": 600 });
    let (status, answer) = daemon
        .request("PATCH", "/v1/channels/api/policy", Some(raised))
        .await;
    assert_eq!(status, 200, "{answer:#}");
    daemon
        .post("/v1/emergency-stop", json!({ "reason": "drill" }))
        .await;
    let now = jiff::Zoned::now().strftime("%Y-%m").to_string();
    let report = |words: &[&str]| {
        let words = [&["audit", "report", "--month", &now], words].concat();
        run(&home, &words)
    };
    let check = |markdown: &str| {
        for line in [
            "# Audit of ",
            "The chain of hashes is whole",
            "| token admin | approve | 1 |",
            "| token admin | deny | 1 |",
            "| write\\_file | api | token admin | 1 |",
            "denied write\\_file on api: not \\<b\\>now\\</b\\> \\| \\`later\\`",
            "changed the policy on api: autonomy full until ",
            "STOPPED everything: token admin: drill",
            "| scripted/demo |",
        ] {
            assert!(markdown.contains(line), "{line} is not in {markdown}");
        }
    };
    let (status, markdown, errors) = report(&[]);
    assert_eq!(status, 0, "{errors}");
    check(&markdown);
    daemon.terminate();
    // Where nothing runs, it says the same.
    let file = home.path().join("report.md");
    let (status, _, errors) = report(&[file.to_str().unwrap()]);
    assert_eq!(status, 0, "{errors}");
    check(&std::fs::read_to_string(&file).unwrap());
    assert_eq!(report(&[file.to_str().unwrap()]).0, 2, "it replaced a file");
    let (_, page, _) = report(&["--format", "html"]);
    assert!(
        page.contains("not &lt;b&gt;now&lt;/b&gt; | `later`"),
        "{page}"
    );
    assert!(page.contains("<td>write_file</td><td>api</td>"), "{page}");
    let (_, text, _) = report(&["--json"]);
    let report = &lines(&text)[0];
    assert_eq!(report["decisions"]["token admin"]["deny"], 1, "{report:#}");
    assert_eq!(report["ran"]["write_file"]["api"], 1, "{report:#}");
    // Another month has nothing, and a wrong one says what is expected.
    let (status, text, _) = run(&home, &["audit", "report", "--month", "2001-02"]);
    assert_eq!(status, 0);
    assert!(text.contains("no row of this month"), "{text}");
    let (status, _, errors) = run(&home, &["audit", "report", "--month", "May"]);
    assert_eq!(status, 2);
    assert!(errors.contains("2026-01"), "{errors}");
}
