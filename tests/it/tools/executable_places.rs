//! Places from which git, editors, shells and agents run programs: tools never write them, and what a
//! program leaves there is set aside before anybody runs it.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use leverframe::tools::guard::Guard;
use leverframe::tools::tool::{EffectDisposition, PrepareError};
use serde_json::json;

use crate::tools::harness::{Bench, confined, text};

/// A person's git in a directory, with nothing of this machine's configuration. `None` where git is missing.
fn git(directory: &Path, arguments: &[&str]) -> Option<std::process::Output> {
    Command::new("git")
        .args(arguments)
        .current_dir(directory)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", directory)
        .env("GIT_CEILING_DIRECTORIES", directory.parent().unwrap())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_AUTHOR_NAME", "a")
        .env("GIT_AUTHOR_EMAIL", "a@example.org")
        .env("GIT_COMMITTER_NAME", "a")
        .env("GIT_COMMITTER_EMAIL", "a@example.org")
        .output()
        .inspect_err(|error| eprintln!("SKIPPED, NOT PASSED: no git: {error}"))
        .ok()
}

/// What a program does to the repository of the workspace, and the place that it must lose.
struct Attack {
    name: &'static str,
    script: &'static str,
    /// Where the person then works.
    directory: &'static str,
    place: &'static str,
}

/// `EVIL` is replaced by the path of a script that makes the file `owned`.
const ATTACKS: [Attack; 9] = [
    Attack {
        name: "commondir",
        script: "cp -r .git other; printf '[core]\\n\\tfsmonitor = EVIL\\n' >> other/config; echo ../other > .git/commondir",
        directory: ".",
        place: ".git/commondir",
    },
    Attack {
        name: "hooks",
        script: "mkdir .git/hooks; cp EVIL .git/hooks/post-index-change; cp EVIL .git/hooks/post-checkout",
        directory: ".",
        place: ".git/hooks",
    },
    Attack {
        name: "config.worktree",
        script: "printf '[core]\\n\\tfsmonitor = EVIL\\n' > .git/config.worktree",
        directory: ".",
        place: ".git/config.worktree",
    },
    Attack {
        name: "hooks of a submodule",
        script: "mkdir -p .git/modules/deep/er/hooks; cp EVIL .git/modules/deep/er/hooks/post-checkout",
        directory: ".",
        place: ".git/modules/deep/er/hooks",
    },
    Attack {
        name: "a new repository",
        script: "mkdir -p sub/.git/objects sub/.git/refs; echo 'ref: refs/heads/x' > sub/.git/HEAD; printf '[core]\\n\\tfsmonitor = EVIL\\n' > sub/.git/config",
        directory: "sub",
        place: "sub/.git",
    },
    Attack {
        name: "a repository in the place of one that was moved away",
        script: "mv inner moved; mkdir -p inner/.git/objects inner/.git/refs; echo 'ref: refs/heads/x' > inner/.git/HEAD; printf '[core]\\n\\tfsmonitor = EVIL\\n' > inner/.git/config",
        directory: "inner",
        place: "inner/.git",
    },
    Attack {
        name: "a file that points to a repository",
        script: "mkdir sub; cp -r .git sub/x; printf '[core]\\n\\tfsmonitor = EVIL\\n\\tworktree = ..\\n' >> sub/x/config; echo 'gitdir: x' > sub/.git",
        directory: "sub",
        place: "sub/.git",
    },
    Attack {
        name: "a bare repository",
        script: "mkdir -p sub/x/objects sub/x/refs; echo 'ref: refs/heads/x' > sub/x/HEAD; printf '[core]\\n\\tworktree = .\\n\\tfsmonitor = EVIL\\n' > sub/x/config",
        directory: "sub/x",
        place: "sub/x/HEAD",
    },
    Attack {
        name: "a repository in a directory that cannot be read",
        script: "mkdir -p sub/.git/objects sub/.git/refs; echo 'ref: refs/heads/x' > sub/.git/HEAD; printf '[core]\\n\\tfsmonitor = EVIL\\n' > sub/.git/config; chmod 077 sub",
        directory: "sub",
        place: "sub/.git",
    },
];

#[tokio::test]
async fn what_a_program_leaves_for_git_never_runs() {
    for attack in ATTACKS {
        let Some(bench) = confined() else { return };
        let evil = bench.put("evil", "#!/bin/sh\ntouch \"${0%/evil}/owned\" OWNED\n");
        std::fs::set_permissions(&evil, std::fs::Permissions::from_mode(0o755)).unwrap();
        for directory in ["", "inner"] {
            let directory = bench.workspace.join(directory);
            std::fs::create_dir_all(&directory).unwrap();
            if git(&directory, &["init", "-q", "--template="]).is_none() {
                return;
            }
            git(&directory, &["config", "extensions.worktreeConfig", "true"]).unwrap();
            git(&directory, &["commit", "-q", "--allow-empty", "-m", "x"]).unwrap();
        }
        let script = attack.script.replace("EVIL", evil.to_str().unwrap());
        let outcome = bench
            .call("execute_command", json!({"script": script}))
            .await;
        let content = &outcome.content;
        assert!(
            content.starts_with("exit status 0"),
            "{}: {content}",
            attack.name
        );
        assert!(
            content.contains(&format!("[{} is now named ", attack.place)),
            "{}: {content}",
            attack.name
        );
        assert!(!content.contains("DANGER"), "{}: {content}", attack.name);
        assert!(
            bench
                .workspace
                .join(attack.place)
                .symlink_metadata()
                .is_err(),
            "{}",
            attack.name
        );
        let directory = bench.workspace.join(attack.directory);
        for arguments in [&["status"][..], &["checkout", "-q", "-b", "y"]] {
            git(&directory, arguments).unwrap();
        }
        let owned = std::fs::read_dir(&directory)
            .unwrap()
            .chain(std::fs::read_dir(&bench.workspace).unwrap());
        assert!(
            owned
                .flatten()
                .all(|entry| !entry.file_name().eq_ignore_ascii_case("owned")),
            "{}: the program's code ran",
            attack.name
        );
    }
}

#[tokio::test]
async fn new_settings_of_editors_and_agents_are_set_aside_and_named() {
    let Some(bench) = confined() else { return };
    let script = "mkdir -p a/.vscode .claude/.git; echo x > a/.vscode/tasks.json; echo x > .envrc; \
                  echo x > t.code-workspace; ln -s a .idea; echo fine > a/file; mkdir .github; echo seen";
    let content = bench
        .call("execute_command", json!({"script": script}))
        .await
        .content;
    for place in [
        "a/.vscode",
        ".claude",
        ".claude/.git",
        ".envrc",
        "t.code-workspace",
        ".idea",
    ] {
        assert!(
            content.contains(&format!("[{place} is now named ")),
            "{place}: {content}"
        );
        assert!(
            bench.workspace.join(place).symlink_metadata().is_err(),
            "{place}"
        );
    }
    assert!(content.ends_with("seen\n"), "{content}");
    assert_eq!(text(&bench.workspace.join("a/file")), "fine\n");
    assert!(bench.workspace.join(".github").exists());
    // Nothing is lost: it is all there under the new names.
    let kept = std::fs::read_dir(bench.workspace.join("a"))
        .unwrap()
        .flatten()
        .find(|entry| {
            entry
                .file_name()
                .to_string_lossy()
                .starts_with(".vscode.set-aside-")
        })
        .unwrap();
    assert_eq!(text(&kept.path().join("tasks.json")), "x\n");
    // And it is old news to the next run.
    let again = bench
        .call("execute_command", json!({"script": "echo again"}))
        .await
        .content;
    assert!(!again.contains("set aside"), "{again}");
}

#[tokio::test]
async fn what_is_there_is_read_only_at_any_depth() {
    let Some(bench) = confined() else { return };
    for path in [
        "a/b/.git/config",
        "a/b/.git/hooks/x",
        "a/b/.git/info/attributes",
        ".git/modules/m/config",
        "bare/config",
        "bare/HEAD",
        "bare/objects/x",
        "bare/refs/x",
        "c/.vscode/tasks.json",
        ".envrc",
        "linked/real",
        "file/.git",
    ] {
        bench.put(path, "as it was");
    }
    symlink("linked/real", bench.workspace.join(".mcp.json")).unwrap();
    let script = "for f in a/b/.git/config a/b/.git/hooks/x a/b/.git/info/attributes .git/modules/m/config bare/config \
                  c/.vscode/tasks.json .envrc linked/real file/.git; do echo evil > $f; rm -f $f; mv $f away; done; \
                  mv c/.vscode gone; echo more > a/b/.git/HEAD; echo finished";
    let content = bench
        .call("execute_command", json!({"script": script}))
        .await
        .content;
    assert!(content.contains("finished"), "{content}");
    for path in [
        "a/b/.git/config",
        "a/b/.git/hooks/x",
        "a/b/.git/info/attributes",
        ".git/modules/m/config",
        "bare/config",
        "c/.vscode/tasks.json",
        ".envrc",
        "linked/real",
        "file/.git",
    ] {
        assert_eq!(text(&bench.workspace.join(path)), "as it was", "{path}");
    }
    assert!(!content.contains("set aside"), "{content}");
}

#[tokio::test]
async fn ordinary_work_with_git_goes_on() {
    let Some(bench) = confined() else { return };
    if git(&bench.workspace, &["init", "-q"]).is_none() {
        return;
    }
    let script = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; \
                  echo x > file; git add file; git commit -q -m one && git checkout -q -b config && git tag hooks && \
                  git log --oneline | wc -l";
    let content = bench
        .call("execute_command", json!({"script": script}))
        .await
        .content;
    assert!(
        content.starts_with("exit status 0") && content.ends_with("\n1\n"),
        "{content}"
    );
    assert!(!content.contains("set aside"), "{content}");
    let log = git(&bench.workspace, &["log", "--format=%s"]).unwrap();
    assert_eq!(String::from_utf8_lossy(&log.stdout), "one\n");
}

#[tokio::test]
async fn what_cannot_be_protected_stops_the_program_before_it_starts() {
    let Some(bench) = confined() else { return };
    for index in 0..=500 {
        bench.put(&format!("d{index}/.envrc"), "x");
    }
    let outcome = bench
        .call("execute_command", json!({"script": "touch started"}))
        .await;
    assert_eq!(outcome.disposition, EffectDisposition::ConfirmedNoEffect);
    assert!(
        outcome.content.contains("500 places"),
        "{}",
        outcome.content
    );
    assert!(!bench.workspace.join("started").exists());
}

#[test]
fn tools_never_write_there() {
    let bench = Bench::new();
    bench.put("bare/HEAD", "x");
    bench.put("bare/objects/x", "x");
    bench.put("bare/refs/x", "x");
    bench.put("almost/HEAD", "x");
    bench.put("almost/objects/x", "x");
    bench.put("config", "the workspace's own");
    let guard = Guard::of(bench.workspace.clone(), vec![bench.hidden.clone()]);
    for path in [
        ".envrc",
        "a/b/.vscode/tasks.json",
        ".idea/workspace.xml",
        ".claude/settings.json",
        ".Cursor/mcp.json",
        "x.code-workspace",
        ".git/commondir",
        ".git/config.worktree",
        ".git/info/attributes",
        ".git/worktrees/w/config.worktree",
        ".git/modules/a/b/hooks/x",
        ".git",
        "bare/config",
        "bare/hooks/post-checkout",
        "bare/info/attributes",
        "almost/refs/heads/x",
        "almost/commondir",
    ] {
        let refused = guard.writable(path);
        assert!(
            matches!(&refused, Err(PrepareError::Guarded(why)) if why.contains("ask a person")),
            "{path}: {refused:?}"
        );
    }
    for path in [
        ".github/workflows/x.yml",
        ".gitignore",
        "config",
        "src/hooks/x.rs",
        "HEAD",
        "refs/x",
        "bare/description",
        ".git/refs/heads/config",
        ".git/HEAD",
        "almost/config",
        "vscode/x",
    ] {
        assert!(guard.writable(path).is_ok(), "{path}");
    }
}
