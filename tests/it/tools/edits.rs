//! edit_file, apply_patch, move_file, delete_file.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use leverframe::clock::Timestamp;
use leverframe::protocol::approval::Preview;
use leverframe::protocol::enums::{Access, Risk};
use leverframe::tools::change_journal::{ChangeRecord, JournalEntry, open_entries};
use leverframe::tools::change_recovery::{forget, recover, undo};
use leverframe::tools::file_change::{FileTarget, NewContent, apply};
use leverframe::tools::file_version::read;
use leverframe::tools::guard::Guard;
use leverframe::tools::risk::highest;
use leverframe::tools::tool::{EffectDisposition, Plan};
use serde_json::{Value, json};

use crate::tools::harness::{Bench, text};

fn diff(plan: &Plan) -> &str {
    match &plan.preview {
        Preview::Diff { unified, .. } => unified,
        other => panic!("{other:?}"),
    }
}

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({"path": path, "edits": [{"old": old, "new": new}]})
}

fn patch(lines: &[&str]) -> Value {
    json!({"patch": format!("*** Begin Patch\n{}\n*** End Patch", lines.join("\n"))})
}

impl Bench {
    fn why(&self, tool: &str, args: Value) -> String {
        self.prepare(tool, args).unwrap_err().to_string()
    }

    /// Everything in the workspace, by path.
    fn files(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut todo = vec![self.workspace.clone()];
        while let Some(directory) = todo.pop() {
            for entry in std::fs::read_dir(directory).unwrap().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    todo.push(path);
                } else {
                    let path = path.strip_prefix(&self.workspace).unwrap();
                    found.push(path.to_string_lossy().into_owned());
                }
            }
        }
        found.sort();
        found
    }

    fn undo(&self, key: &str) -> Result<(), String> {
        let hidden = vec![self.hidden.clone()];
        undo(&self.hidden.join("file_changes"), key, |_| hidden.clone()).map(|_| ())
    }

    /// The keys of the changes that are done.
    fn done(&self) -> Vec<String> {
        let found = std::fs::read_dir(self.hidden.join("file_changes/done")).unwrap();
        let names = found.flatten().map(|entry| entry.file_name());
        names
            .map(|name| name.to_string_lossy().into_owned())
            .collect()
    }
}

#[tokio::test]
async fn an_edit_replaces_exactly_what_is_named_and_keeps_the_rest() {
    let bench = Bench::new();
    let path = bench.put("a.txt", "\u{feff}one\r\ntwo\r\nthree");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o750)).unwrap();
    let args = edit("a.txt", "one\ntwo", "ONE\n1.5\ntwo");
    let plan = bench.prepare("edit_file", args.clone()).unwrap();
    assert_eq!(
        (plan.access, highest(&plan.risk_reasons)),
        (Access::Write, Risk::High)
    );
    assert_eq!(
        plan.reasons(),
        [
            "changes parts of 18 bytes",
            "reversible by git: no (no repository in the workspace)"
        ]
    );
    assert!(
        diff(&plan).starts_with("--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,4 @@\n"),
        "{}",
        diff(&plan)
    );
    let done = bench.call("edit_file", args).await;
    assert_eq!(
        (done.is_error, done.disposition, done.content.as_str()),
        (false, EffectDisposition::Done, "changed `a.txt`")
    );
    // Byte-order mark, line ends, the missing end of line and the mode stay.
    assert_eq!(text(&path), "\u{feff}ONE\r\n1.5\r\ntwo\r\nthree");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o750);
    assert_eq!(bench.files(), ["a.txt"], "no temporary file stays");
}

#[test]
fn an_edit_that_does_not_fit_exactly_once_says_where_it_nearly_does() {
    let bench = Bench::new();
    let content = "fn alpha() {\n    call(1);\n}\n\nfn beta() {\n    call(2);\n}\n";
    bench.put("code.rs", content);
    let none = bench.why(
        "edit_file",
        edit("code.rs", "fn alpha() {\n   call(1);", "x"),
    );
    assert!(
        none.contains("edit 1: old is not in the file exactly so"),
        "{none}"
    );
    assert!(
        none.contains("1: fn alpha() {\n2:     call(1);\n"),
        "{none}"
    );
    let twice = bench.why("edit_file", edit("code.rs", "    call(", "x"));
    assert!(twice.contains("more than once (lines 2, 6)"), "{twice}");
    // Two places that overlap are two.
    bench.put("a", "aaa");
    let overlapping = bench.why("edit_file", edit("a", "aa", "b"));
    assert!(overlapping.contains("more than once"), "{overlapping}");
    let far = bench.why("edit_file", edit("code.rs", "nothing of the kind", "x"));
    assert!(far.contains("No line of the file is like it"), "{far}");
    let both = json!({"path": "code.rs", "edits": [
        {"old": "alpha() {\n", "new": "x"}, {"old": "fn alpha", "new": "y"},
    ]});
    let both = bench.why("edit_file", both);
    assert!(both.contains("edits 2 and 1 overlap in line 1"), "{both}");
    let same = bench.why("edit_file", edit("code.rs", "alpha", "alpha"));
    assert!(same.contains("changes nothing"), "{same}");
    // A file cannot grow without bound.
    bench.put("wide", "a".repeat(1 << 20));
    let bomb =
        json!({"path": "wide", "edits": [{"old": "a", "new": "b".repeat(1000), "all": true}]});
    let bomb = bench.why("edit_file", bomb);
    assert!(bomb.contains("would have more than 8 MiB"), "{bomb}");
    assert_eq!(text(&bench.workspace.join("code.rs")), content);
}

#[tokio::test]
async fn edits_are_looked_for_in_the_file_as_it_is_and_all_replaces_every_one() {
    let bench = Bench::new();
    let path = bench.put("f", "a b a\n");
    let args = json!({"path": "f", "edits": [
        {"old": "a", "new": "b", "all": true}, {"old": "b", "new": "c"},
    ]});
    bench.call("edit_file", args).await;
    assert_eq!(text(&path), "b c b\n");
}

#[test]
fn what_cannot_be_edited_is_said() {
    let bench = Bench::new();
    bench.put("binary", b"\x7fELF\0\0");
    bench.put("large", vec![b'x'; 50 << 20]);
    std::fs::create_dir(bench.workspace.join("directory")).unwrap();
    symlink("/etc/passwd", bench.workspace.join("link")).unwrap();
    for (path, words) in [
        ("binary", "is not UTF-8 text"),
        ("large", "at most 8 MiB can be edited"),
        ("directory", "is a directory"),
        ("missing", "does not exist"),
        ("link", "leads out of the workspace"),
        ("../x", "outside the workspace"),
        (".git/hooks/pre-commit", "tools never write there"),
        (".git/config", "tools never write there"),
    ] {
        let why = bench.why("edit_file", edit(path, "x", "y"));
        assert!(why.contains(words), "{path}: {why}");
        let update = format!("*** Update File: {path}");
        let why = bench.why("apply_patch", patch(&[&update, "-x", "+y"]));
        assert!(why.contains(words), "{path}: {why}");
    }
    for (path, words) in [
        ("directory", "is a directory: only files"),
        (".", "is the workspace itself"),
        ("missing", "does not exist"),
        ("link", "leads out of the workspace"),
        (".git/config", "tools never write there"),
    ] {
        let why = bench.why("delete_file", json!({"path": path}));
        assert!(why.contains(words), "{path}: {why}");
        let why = bench.why("move_file", json!({"from": path, "to": "new"}));
        assert!(why.contains(words), "{path}: {why}");
    }
    bench.put("real", "x");
    symlink("real", bench.workspace.join("inside")).unwrap();
    for (tool, args) in [
        ("delete_file", json!({"path": "inside"})),
        ("move_file", json!({"from": "inside", "to": "new"})),
        ("move_file", json!({"from": "binary", "to": "inside"})),
        ("apply_patch", patch(&["*** Delete File: inside"])),
    ] {
        let why = bench.why(tool, args);
        assert!(why.contains("goes through a link: give `real`"), "{why}");
    }
    for to in ["directory", "binary", "../x", ".git/hooks/x"] {
        bench.why("move_file", json!({"from": "real", "to": to}));
    }
}

#[tokio::test]
async fn a_patch_changes_several_files_as_one() {
    let bench = Bench::new();
    bench.put("a.md", "# A\n\none\ntwo\n");
    bench.put("b.md", "b\r\nold\r\nend");
    bench.put("gone.md", "gone\n");
    bench.put("from.md", "moved\n");
    let args = patch(&[
        "*** Update File: a.md",
        "@@ # A",
        " ",
        "-one",
        "+1",
        " two",
        "*** Update File: b.md",
        "@@",
        "-old",
        "+new",
        "+newer",
        "*** Add File: deep/new.md",
        "+fresh",
        "*** Delete File: gone.md",
        "*** Update File: from.md",
        "*** Move to: to.md",
    ]);
    let plan = bench.prepare("apply_patch", args.clone()).unwrap();
    assert_eq!(
        diff(&plan),
        "--- a/a.md\n+++ b/a.md\n@@ -1,4 +1,4 @@\n # A\n \n-one\n+1\n two\n\
         --- a/b.md\n+++ b/b.md\n@@ -1,3 +1,4 @@\n b\r\n-old\r\n+new\r\n+newer\r\n end\n\\ No newline at end of file\n\
         --- /dev/null\n+++ b/deep/new.md\n@@ -0,0 +1 @@\n+fresh\n\
         --- a/gone.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n\
         rename from from.md\nrename to to.md\n"
    );
    assert_eq!(
        plan.facts.paths,
        ["a.md", "b.md", "deep/new.md", "gone.md", "from.md", "to.md"]
    );
    assert_eq!(highest(&plan.risk_reasons), Risk::High);
    let done = bench.call("apply_patch", args).await;
    assert_eq!(
        (done.is_error, done.content.as_str()),
        (
            false,
            "changed `a.md`, changed `b.md`, created `deep/new.md`, deleted `gone.md`, moved `from.md` to `to.md`"
        )
    );
    assert_eq!(bench.files(), ["a.md", "b.md", "deep/new.md", "to.md"]);
    assert_eq!(
        text(&bench.workspace.join("b.md")),
        "b\r\nnew\r\nnewer\r\nend"
    );
    assert_eq!(text(&bench.workspace.join("to.md")), "moved\n");

    let [key] = bench.done().try_into().unwrap();
    bench.undo(&key).unwrap();
    assert_eq!(bench.files(), ["a.md", "b.md", "from.md", "gone.md"]);
    assert!(!bench.workspace.join("deep").exists());
    assert_eq!(text(&bench.workspace.join("a.md")), "# A\n\none\ntwo\n");
    assert!(bench.undo(&key).unwrap_err().contains("undone already"));
}

#[test]
fn a_patch_that_does_not_fit_changes_nothing() {
    let bench = Bench::new();
    bench.put("a", "one\ntwo\n");
    bench.put("b", "x\ny\nx\ny\n");
    for (lines, words) in [
        // The first file fits, the second does not.
        (
            &[
                "*** Update File: a",
                "-one",
                "+1",
                "*** Update File: b",
                "-z",
                "+1",
            ][..],
            "`b`: the part at line 6 of the patch is not in the file exactly so",
        ),
        (
            &["*** Update File: b", "-x", "+z"],
            "fits more than once (lines 1 and 3)",
        ),
        (
            &["*** Update File: b", "@@ nowhere", "-x", "+z"],
            "`@@` line that is not in the file",
        ),
        (&["*** Update File: a", " one"], "changes nothing"),
        (&["*** Update File: a", "one"], "begins with none of"),
        (&["*** Update File: a"], "is empty"),
        (&["*** Add File: a", "+x"], "exists already"),
        (&["*** Rename File: a"], "is no section"),
        (
            &["*** Delete File: a", "*** Delete File: ./a"],
            "comes twice",
        ),
        (
            &["*** Add File: x", "+x", "*** Add File: x/y", "+y"],
            "cannot be a file and the directory",
        ),
        (
            &["*** Update File: a", "*** Move to: b"],
            "is not moved over it",
        ),
        (&["*** Add File: ../x", "+x"], "outside the workspace"),
        (&[], "changes no file"),
    ] {
        let why = bench.why("apply_patch", patch(lines));
        assert!(why.contains(words), "{lines:?}: {why}");
    }
    let open = bench.why(
        "apply_patch",
        json!({"patch": "*** Begin Patch\n*** Delete File: a"}),
    );
    assert!(open.contains("must end with"), "{open}");
    assert_eq!(bench.files(), ["a", "b"]);
    assert_eq!(text(&bench.workspace.join("a")), "one\ntwo\n");
}

#[tokio::test]
async fn a_file_that_changed_since_it_was_allowed_is_left_alone() {
    let bench = Bench::new();
    bench.put("a", "one\n");
    bench.put("b", "two\n");
    let args = patch(&[
        "*** Update File: a",
        "-one",
        "+1",
        "*** Update File: b",
        "-two",
        "+2",
    ]);
    let plan = bench.prepare("apply_patch", args.clone()).unwrap();
    bench.put("b", "two\nmore\n");
    let late = bench.execute_allowed("apply_patch", args, &plan).await;
    assert_eq!(
        (late.is_error, late.disposition),
        (true, EffectDisposition::ConfirmedNoEffect)
    );
    assert!(
        late.content
            .contains("`b` changed after this call was allowed"),
        "{}",
        late.content
    );
    assert_eq!(text(&bench.workspace.join("a")), "one\n");
    // The same for a file that is written whole.
    let args = json!({"path": "a", "content": "new\n", "mode": "overwrite"});
    let plan = bench.prepare("write_file", args.clone()).unwrap();
    bench.put("a", "mine\n");
    let late = bench.execute_allowed("write_file", args, &plan).await;
    assert!(
        late.content
            .contains("`a` changed after this call was allowed"),
        "{}",
        late.content
    );
    assert_eq!(text(&bench.workspace.join("a")), "mine\n");
}

#[tokio::test]
async fn a_file_that_somebody_saves_at_the_same_moment_leaves_all_as_it_was() {
    let bench = Bench::new();
    for name in ["a", "b", "c"] {
        bench.put(name, "old\n");
    }
    let guard = Guard::of(bench.workspace.clone(), vec![bench.hidden.clone()]);
    let target = |name: &str, new: Option<&str>| {
        let path = guard.file(name).unwrap();
        FileTarget {
            before: Some(read(&guard, &path, 0).unwrap()),
            after: new.map(|text| NewContent::Bytes {
                bytes: text.into(),
                mode: 0o644,
            }),
            path,
        }
    };
    let journal = bench.hidden.join("file_changes");
    let made = FileTarget {
        path: guard.writable("made/d").unwrap(),
        before: None,
        after: Some(NewContent::Bytes {
            bytes: b"new\n".to_vec(),
            mode: 0o644,
        }),
    };
    let targets = vec![
        target("a", Some("new\n")),
        made,
        target("b", Some("new\n")),
        target("c", None),
    ];
    bench.put("b", "somebody's\n");
    let record = ChangeRecord {
        workspace: bench.workspace.clone(),
        session: String::new(),
        tool: "apply_patch".to_owned(),
        said: String::new(),
        files: Vec::new(),
        made: Vec::new(),
        done: false,
        undone: false,
        happened_at: None,
        problem: None,
    };
    let failure = apply(&JournalEntry::new(&journal, "key"), &guard, record, targets).unwrap_err();
    assert_eq!(
        failure.disposition,
        EffectDisposition::ConfirmedNoEffect,
        "{}",
        failure.message
    );
    assert!(
        failure.message.contains("`b` changed at the same moment"),
        "{}",
        failure.message
    );
    assert_eq!(bench.files(), ["a", "b", "c"]);
    for (name, holds) in [("a", "old\n"), ("b", "somebody's\n"), ("c", "old\n")] {
        assert_eq!(text(&bench.workspace.join(name)), holds);
    }
    assert!(!bench.workspace.join("made").exists());
    assert!(open_entries(&journal).unwrap().is_empty());
    assert!(bench.done().is_empty());
}

#[test]
fn the_difference_of_a_large_file_is_that_of_its_lines() {
    let bench = Bench::new();
    let lines: Vec<String> = (1..=1000).map(|line| format!("line {line}\n")).collect();
    bench.put("f", lines.concat());
    let args = json!({"path": "f", "edits": [
        {"old": "line 500\n", "new": "line five hundred\nand one more\n"},
        {"old": "line 900\n", "new": ""},
    ]});
    let plan = bench.prepare("edit_file", args).unwrap();
    assert_eq!(
        diff(&plan),
        "--- a/f\n+++ b/f\n@@ -497,7 +497,8 @@\n line 497\n line 498\n line 499\n-line 500\n\
         +line five hundred\n+and one more\n line 501\n line 502\n line 503\n\
         @@ -897,7 +898,6 @@\n line 897\n line 898\n line 899\n-line 900\n line 901\n line 902\n line 903\n"
    );
    // A line that comes twice in a row, and one that only ends as the next does.
    bench.put("g", "a\nx\nend\n");
    let plan = bench
        .prepare("edit_file", edit("g", "x\n", "x\nx\nthe end\n"))
        .unwrap();
    let changed: Vec<&str> = diff(&plan).lines().skip(3).collect();
    assert_eq!(changed, [" a", " x", "+x", "+the end", " end"]);
}

#[tokio::test]
async fn what_leads_through_a_link_by_now_is_not_put_back() {
    let bench = Bench::new();
    bench.put("d/f", "content\n");
    bench.put("other/g", "g\n");
    bench.call("delete_file", json!({"path": "d/f"})).await;
    let [key] = bench.done().try_into().unwrap();
    std::fs::remove_dir(bench.workspace.join("d")).unwrap();
    symlink("other", bench.workspace.join("d")).unwrap();
    let why = bench.undo(&key).unwrap_err();
    assert!(why.contains("`d/f` leads through a link now"), "{why}");
    assert!(!bench.workspace.join("other/f").exists());
}

#[tokio::test]
async fn moving_refuses_to_overwrite_unless_said() {
    let bench = Bench::new();
    bench.put("a", "one\n");
    bench.put("b", "two\n");
    let why = bench.why("move_file", json!({"from": "a", "to": "b"}));
    assert!(why.contains("`b` exists already: set overwrite"), "{why}");
    let args = json!({"from": "a", "to": "b", "overwrite": true});
    let plan = bench.prepare("move_file", args.clone()).unwrap();
    assert_eq!(highest(&plan.risk_reasons), Risk::High);
    assert!(diff(&plan).contains("-two"), "{}", diff(&plan));
    bench.call("move_file", args).await;
    assert_eq!(bench.files(), ["b"]);
    assert_eq!(text(&bench.workspace.join("b")), "one\n");
    // Only the case changes, and into a directory that is not there.
    let plan = bench
        .prepare("move_file", json!({"from": "b", "to": "B"}))
        .unwrap();
    assert_eq!(highest(&plan.risk_reasons), Risk::Medium);
    bench
        .call("move_file", json!({"from": "b", "to": "B"}))
        .await;
    bench
        .call("move_file", json!({"from": "B", "to": "x/y/z"}))
        .await;
    assert_eq!(bench.files(), ["x/y/z"]);
    std::fs::hard_link(bench.workspace.join("x/y/z"), bench.workspace.join("same")).unwrap();
    let why = bench.why(
        "move_file",
        json!({"from": "same", "to": "x/y/z", "overwrite": true}),
    );
    assert!(why.contains("are one file here"), "{why}");
    assert!(
        bench
            .why("move_file", json!({"from": "same", "to": "same"}))
            .contains("one file")
    );
}

#[tokio::test]
async fn a_deleted_file_is_kept_and_put_back_as_it_was() {
    let bench = Bench::new();
    let path = bench.put("image", b"\x89PNG\0\0");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    let args = json!({"path": "image"});
    let plan = bench.prepare("delete_file", args.clone()).unwrap();
    assert!(
        diff(&plan).contains("(a binary file of 6 bytes, which is not shown, sha256 "),
        "{}",
        diff(&plan)
    );
    bench.call("delete_file", args).await;
    assert!(bench.files().is_empty());
    let [key] = bench.done().try_into().unwrap();
    // Somebody made another file of that name meanwhile.
    bench.put("image", "mine");
    assert!(
        bench
            .undo(&key)
            .unwrap_err()
            .contains("was changed by somebody else")
    );
    assert_eq!(text(&path), "mine");
    std::fs::remove_file(&path).unwrap();
    bench.undo(&key).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"\x89PNG\0\0");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    // A later write in place changes nothing that is kept.
    assert!(
        bench
            .undo("unknown")
            .unwrap_err()
            .contains("nothing is kept")
    );
}

#[tokio::test]
async fn settling_leaves_alone_what_somebody_else_wrote() {
    let bench = Bench::new();
    bench.put("a", "one\n");
    bench.put("b", "two\n");
    bench.call("edit_file", edit("a", "one", "1")).await;
    let journal = bench.hidden.join("file_changes");
    let [key] = bench.done().try_into().unwrap();
    // As if the process had died before it was said that it happened.
    std::fs::rename(
        journal.join("done").join(&key),
        journal.join("open").join(&key),
    )
    .unwrap();
    recover(&journal, |_| Vec::new()).unwrap();
    assert_eq!(
        bench.done().first(),
        Some(&key),
        "it is whole, so it happened"
    );
    std::fs::rename(
        journal.join("done").join(&key),
        journal.join("open").join(&key),
    )
    .unwrap();
    bench.put("a", "mine\n");
    recover(&journal, |_| Vec::new()).unwrap();
    assert_eq!(text(&bench.workspace.join("a")), "mine\n");
    assert!(bench.done().is_empty());
    assert!(
        journal.join("open").join(&key).exists(),
        "the question stays"
    );
}

#[tokio::test]
async fn what_is_kept_goes_when_it_is_old_unless_a_look_may_ask_for_it() {
    let bench = Bench::new();
    bench.put("a", "one\n");
    bench.call("delete_file", json!({"path": "a"})).await;
    let journal = bench.hidden.join("file_changes");
    let [key] = bench.done().try_into().unwrap();
    assert_eq!(forget(&journal, Timestamp(1), |_| false).unwrap(), 0);
    let late = Timestamp(i64::MAX);
    assert_eq!(forget(&journal, late, |one| one == key).unwrap(), 0);
    assert_eq!(forget(&journal, late, |_| false).unwrap(), 1);
    assert!(bench.undo(&key).is_err());
}
