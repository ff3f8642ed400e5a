//! kill -9 in the middle of a change of several files: all of it, or none, and never twice.

use serde_json::{Value, json};

use crate::effects::world::{World, call};
use crate::support::daemon::Home;

/// Four files: one changes, one is made, one moves, one goes.
const PATCH: &str = "*** Begin Patch\\n*** Update File: a.txt\\n-one\\n+ONE\\n+more\\n\
                     *** Add File: new/b.txt\\n+fresh\\n\
                     *** Update File: c.txt\\n*** Move to: moved.txt\\n\
                     *** Delete File: d.txt\\n*** End Patch";

/// Point, time it is reached, and whether the change is whole by then.
const POINTS: &[(&str, bool)] = &[
    ("tool.started:1", false),
    ("change.staged:1", false),
    ("change.half:1", false),
    ("change.half:2", false),
    ("change.half:4", false),
    ("change.half:5", true),
    ("change.done:1", true),
    ("tool.effect_done:1", true),
];

#[tokio::test]
async fn a_change_of_several_files_happens_whole_and_once() {
    for (point, whole) in POINTS {
        let world = World::new();
        let workspace = world.home.workspace("api");
        std::fs::create_dir_all(&workspace).expect("a workspace");
        for (name, text) in [("a.txt", "one\ntwo\n"), ("c.txt", "c\n"), ("d.txt", "d\n")] {
            std::fs::write(workspace.join(name), text).expect("a file");
        }
        let mut daemon = world.daemon(Some(point));
        let session = daemon.session().await;
        let text = format!("TOOL:apply_patch{{\"patch\":\"{PATCH}\"}}\nSAY:done");
        let continuation = daemon.send(&session, &text).await;
        daemon.wait_exit().expect("it dies at the point");

        let daemon = world.daemon(None);
        let done = daemon.wait_state(&continuation, "completed").await;
        let call = call(&done);
        if *whole {
            assert_eq!(call["state"], "succeeded_by_note", "{point}: {call:#}");
            assert_eq!(call["attempts"], 1, "{point}");
        } else {
            assert_eq!(call["state"], "succeeded", "{point}: {call:#}");
            assert_eq!(call["attempts"], 2, "{point}");
        }
        let asked = daemon.approvals_of("resolve_unknown").await;
        assert!(
            asked.iter().all(|one| one["decision"]["by"] == "engine"),
            "{point}: nobody is asked: {asked:#?}"
        );
        let mut found: Vec<(String, String)> = Vec::new();
        for directory in [workspace.clone(), workspace.join("new")] {
            for entry in std::fs::read_dir(directory).expect("a directory").flatten() {
                if entry.path().is_file() {
                    let text = std::fs::read_to_string(entry.path()).expect("text");
                    found.push((entry.file_name().to_string_lossy().into_owned(), text));
                }
            }
        }
        found.sort();
        let expected = [
            ("a.txt", "ONE\nmore\ntwo\n"),
            ("b.txt", "fresh\n"),
            ("moved.txt", "c\n"),
        ];
        let expected = expected.map(|(name, text)| (name.to_owned(), text.to_owned()));
        assert_eq!(found, expected, "{point}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_sees_one_difference_and_can_undo_what_they_allowed() {
    let home = Home::new("");
    let workspace = home.workspace("api");
    std::fs::create_dir_all(&workspace).expect("a workspace");
    let put = |name: &str, text: &str| std::fs::write(workspace.join(name), text).expect("a file");
    let read = |name: &str| std::fs::read_to_string(workspace.join(name)).unwrap_or_default();
    for (name, text) in [("a.txt", "one\n"), ("c.txt", "c\n"), ("d.txt", "d\n")] {
        put(name, text);
    }
    let daemon = home.daemon();
    let session = daemon.session().await;
    let text = format!("TOOL:apply_patch{{\"patch\":\"{PATCH}\"}}\nSAY:done");
    let continuation = daemon.send(&session, &text).await;
    let asked = daemon.wait_approval().await;
    let shown = asked["preview"]["unified"].as_str().expect("a difference");
    assert_eq!(
        shown,
        "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1,2 @@\n-one\n+ONE\n+more\n\
         --- /dev/null\n+++ b/new/b.txt\n@@ -0,0 +1 @@\n+fresh\n\
         rename from c.txt\nrename to moved.txt\n\
         --- a/d.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-d\n"
    );
    assert_eq!(asked["risk"], "high");

    // Somebody writes after the card was shown: it is asked again, about what is there now.
    put("a.txt", "one\nmine\n");
    let (status, body) = daemon.decide(&asked, "approve").await;
    assert_eq!(status, 200, "{body:#}");
    let again = daemon
        .wait("/v1/approvals?state=pending", "asked again", |page| {
            page["items"][0]["id"].is_string() && page["items"][0]["id"] != asked["id"]
        })
        .await;
    let again = &again["items"][0];
    assert!(
        again["preview"]["unified"]
            .as_str()
            .is_some_and(|shown| shown.contains(" mine\n")),
        "{again:#}"
    );
    assert_eq!(read("a.txt"), "one\nmine\n");
    let (status, body) = daemon.decide(again, "approve").await;
    assert_eq!(status, 200, "{body:#}");
    let done = daemon.wait_state(&continuation, "completed").await;
    assert_eq!(read("a.txt"), "ONE\nmore\nmine\n");
    assert_eq!(read("moved.txt"), "c\n");

    let id = call(&done)["id"].as_str().expect("an id").to_owned();
    let list = daemon.get("/v1/file-changes").await;
    assert_eq!(list["items"][0]["tool_call_id"], json!(id));
    let fates: Vec<&Value> = list["items"][0]["files"]
        .as_array()
        .expect("files")
        .iter()
        .map(|file| &file["fate"])
        .collect();
    assert_eq!(
        fates,
        ["changed", "created", "created", "deleted", "deleted"]
    );
    let undo = format!("/v1/file-changes/{id}/undo");
    put("moved.txt", "mine too\n");
    let (status, refused) = daemon.request("POST", &undo, Some(json!({}))).await;
    assert_eq!(status, 409, "{refused:#}");
    assert_eq!(read("a.txt"), "ONE\nmore\nmine\n", "all or none");
    put("moved.txt", "c\n");
    let mut command = home.command();
    let undone = command
        .args(["files", "undo", &id])
        .output()
        .expect("the command line");
    let said = String::from_utf8_lossy(&undone.stdout).into_owned();
    assert!(
        undone.status.success() && said.contains("undone"),
        "{undone:?}"
    );
    assert_eq!(read("a.txt"), "one\nmine\n");
    assert_eq!(
        (read("c.txt").as_str(), read("d.txt").as_str()),
        ("c\n", "d\n")
    );
    assert!(!workspace.join("new").exists() && !workspace.join("moved.txt").exists());
    let after = daemon.get("/v1/file-changes").await;
    let (before, after) = (&list["items"][0], &after["items"][0]);
    assert_eq!(before["at"], after["at"], "when it happened stays");
    assert!(before["undone_at"].is_null(), "{before:#}");
    assert!(
        after["undone_at"].as_str() > after["at"].as_str(),
        "{after:#}"
    );
    let (status, twice) = daemon.request("POST", &undo, Some(json!({}))).await;
    assert_eq!(status, 409, "{twice:#}");
    let audit = daemon.get("/v1/audit?limit=100").await;
    let rows = audit["items"].as_array().expect("rows");
    let undone = rows
        .iter()
        .filter(|row| row["action"] == "file_change.undo");
    assert_eq!(undone.count(), 3, "every try of a person: {audit:#}");
    let refused = rows
        .iter()
        .filter(|row| row["action"] == "file_change.undo_refused")
        .filter(|row| {
            row["detail"]
                .as_str()
                .is_some_and(|text| text.contains("why"))
        });
    assert_eq!(refused.count(), 2, "what was refused says so: {audit:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_record_tells_what_each_call_did_to_files_and_what_it_does_not_hold() {
    let home = Home::new("[channels.api]\nautonomy = \"full\"\npermanent_full = true\n");
    let workspace = home.workspace("api");
    std::fs::create_dir_all(&workspace).expect("a workspace");
    let daemon = home.daemon();
    let session = daemon.session().await;
    let mut ids = Vec::new();
    for (tool, args) in [
        ("write_file", r#"{"path":"a.txt","content":"one\n"}"#),
        (
            "edit_file",
            r#"{"path":"a.txt","edits":[{"old":"one","new":"two"}]}"#,
        ),
        (
            "write_file",
            r#"{"path":"a.txt","content":"three\n","mode":"overwrite"}"#,
        ),
        ("delete_file", r#"{"path":"a.txt"}"#),
        ("read_file", r#"{"path":"."}"#),
    ] {
        let continuation = daemon
            .send(&session, &format!("TOOL:{tool}{args}\nSAY:done"))
            .await;
        let done = daemon.wait_state(&continuation, "completed").await;
        ids.push(call(&done)["id"].as_str().expect("an id").to_owned());
    }
    let mut diffs = Vec::new();
    for id in &ids {
        diffs.push(daemon.get(&format!("/v1/tool-calls/{id}/diff")).await);
    }
    let unified = |at: usize| diffs[at]["unified"].as_str().expect("a difference");
    // Nothing of a write is kept: its arguments say what there is to say.
    assert_eq!(diffs[0]["source"], "arguments");
    assert_eq!(
        unified(0),
        "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+one\n"
    );
    assert_eq!(diffs[0]["missing"], json!([]));
    // What the edit found is kept, and its arguments say what it made of it.
    assert_eq!(diffs[1]["source"], "kept_files", "{:#}", diffs[1]);
    assert_eq!(
        unified(1),
        "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n"
    );
    assert_eq!(diffs[2]["source"], "arguments");
    assert_eq!(
        diffs[2]["missing"],
        json!(["a.txt: what it held before is not in the record"])
    );
    assert_eq!(
        unified(3),
        "--- a/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-three\n"
    );
    assert_eq!((unified(4), &diffs[4]["source"]), ("", &Value::Null));

    let files = |arguments: &[&str]| {
        let output = home
            .command()
            .arg("files")
            .args(arguments)
            .output()
            .expect("the command line");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let said = files(&["diff", &ids[1]]);
    assert!(
        said.contains("from the files that are kept") && said.contains("\n-one\n+two\n"),
        "{said}"
    );
    // Of a session: in the order in which it happened, without calls that only read.
    let said = files(&["diff", &session]);
    let at = |text: &str| said.find(text).unwrap_or_else(|| panic!("{text}: {said}"));
    assert!(
        at("+one\n") < at("+two\n")
            && at("+two\n") < at("+three\n")
            && at("+three\n") < at("-three\n")
    );
    assert!(!said.contains("read_file"), "{said}");
    // After an undo, what was kept is forgotten, and the record says so.
    files(&["undo", &ids[3]]);
    let undone = daemon.get(&format!("/v1/tool-calls/{}/diff", ids[3])).await;
    assert_eq!(undone["undone"], true, "{undone:#}");
    let missing = undone["missing"][0].as_str().expect("a sentence");
    assert!(missing.contains("is not kept"), "{missing}");
}
