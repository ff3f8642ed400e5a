//! Rules of the real binary on commands: what an allowing one covers, and what a forbidding one stops.

use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Home};

const FULL: &str = "[channels.api]\nautonomy = \"full\"\npermanent_full = true\n";

async fn add(daemon: &Daemon, rule: Value) -> Value {
    let (status, made) = daemon.request("POST", "/v1/rules", Some(rule)).await;
    assert_eq!(status, 201, "{made}");
    made
}

/// What would happen to a command, and whether it is sandboxed here.
async fn verdict(daemon: &Daemon, args: &Value) -> (String, Value) {
    let args = args
        .to_string()
        .bytes()
        .fold(String::new(), |text, byte| format!("{text}%{byte:02x}"));
    let path = format!("/v1/rules/test?tool=execute_command&args={args}&channel=api");
    let test = daemon.get(&path).await;
    let word = test["verdict"]["decision"].as_str().unwrap().to_owned();
    (word, test)
}

/// Whether programs are confined on this machine; else every command asks, which is said aloud.
async fn confined(daemon: &Daemon) -> bool {
    let (_, test) = verdict(daemon, &json!({ "argv": ["true"] })).await;
    let confined = test["risk"] != "critical";
    if !confined {
        eprintln!("SKIPPED, NOT PASSED: no sandbox on this machine");
    }
    confined
}

fn put(home: &Home, path: &str, content: &str) {
    let path = home.workspace("api").join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

fn program(home: &Home, path: &str, content: &str) {
    put(home, path, content);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(home.workspace("api").join(path), mode).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_allowing_rule_covers_the_directory_it_was_made_for_and_no_other() {
    let home = Home::new("");
    put(&home, "Makefile", "test:\n\ttouch good\n");
    put(&home, "evil/Makefile", "test:\n\ttouch bad\n");
    std::os::unix::fs::symlink("evil", home.workspace("api").join("linked")).unwrap();
    let daemon = home.daemon();
    if !confined(&daemon).await {
        return;
    }
    let rule = json!({ "tool": "execute_command", "matcher": "exact", "value": "make test" });
    add(&daemon, rule).await;
    let call = |cwd: Option<&str>| match cwd {
        None => json!({ "argv": ["make", "test"] }),
        Some(cwd) => json!({ "argv": ["make", "test"], "cwd": cwd }),
    };
    let root = home.workspace("api").canonicalize().unwrap();
    for cwd in [
        None,
        Some("."),
        Some("evil/.."),
        Some(root.to_str().unwrap()),
    ] {
        let (word, test) = verdict(&daemon, &call(cwd)).await;
        assert_eq!(word, "allow", "{cwd:?}: {test}");
    }
    for cwd in ["evil", "./evil", "linked"] {
        let (word, test) = verdict(&daemon, &call(Some(cwd))).await;
        assert_eq!(word, "ask", "{cwd}: {test}");
        assert_eq!(test["matching"], json!([]), "{test}");
    }
    // The same in a turn: the call waits and nothing was made.
    let text = "TOOL:execute_command{\"argv\":[\"make\",\"test\"],\"cwd\":\"evil\"}\nSAY:done";
    let session = daemon.session().await;
    daemon.send(&session, text).await;
    let asked = daemon.wait_approval().await;
    assert!(!home.workspace("api").join("evil/bad").exists());

    // The rule that is made with the answer covers the directory that was seen.
    let decision = json!({ "decision": "approve", "digest": asked["digest"],
        "rule": { "field": "argv", "matcher": "exact", "value": "make test" } });
    let path = format!("/v1/approvals/{}/decision", asked["id"].as_str().unwrap());
    let (status, decided) = daemon.request("POST", &path, Some(decision)).await;
    assert_eq!(status, 200, "{decided}");
    let made = daemon.get("/v1/rules").await["items"][0].clone();
    assert_eq!(made["cwd"], "evil", "{made}");
    let program = made["executable"].as_str().unwrap();
    assert!(program.ends_with("/make"), "{made}");
    assert_eq!(verdict(&daemon, &call(Some("evil"))).await.0, "allow");
    // The same name that leads elsewhere later is not what was seen.
    let (evil, root) = (root.join("evil"), root.join("other"));
    std::fs::rename(&evil, &root).unwrap();
    std::os::unix::fs::symlink("other", &evil).unwrap();
    assert_eq!(verdict(&daemon, &call(Some("evil"))).await.0, "ask");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_allowing_rule_covers_the_program_that_was_seen() {
    let home = Home::new("");
    program(&home, "run.sh", "#!/bin/sh\necho good\n");
    program(&home, "other.sh", "#!/bin/sh\necho bad\n");
    let daemon = home.daemon();
    if !confined(&daemon).await {
        return;
    }
    let rule = json!({ "tool": "execute_command", "matcher": "exact", "value": "./run.sh" });
    add(&daemon, rule).await;
    let call = json!({ "argv": ["./run.sh"] });
    assert_eq!(verdict(&daemon, &call).await.0, "allow");
    let path = home.workspace("api").join("run.sh");
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("other.sh", &path).unwrap();
    let (word, test) = verdict(&daemon, &call).await;
    assert_eq!(word, "ask", "{test}");

    // A rule that names another program than its words lead to covers nothing.
    let rule = json!({ "tool": "execute_command", "matcher": "exact", "value": "true", "executable": "/usr/bin/make" });
    let made = add(&daemon, rule).await;
    let (word, test) = verdict(&daemon, &json!({ "argv": ["true"] })).await;
    assert_eq!(word, "ask", "{made} {test}");
    // What forbids has no such bounds.
    let rule = json!({ "tool": "execute_command", "matcher": "exact", "value": "true", "verdict": "deny", "cwd": "sub" });
    let (status, refused) = daemon.request("POST", "/v1/rules", Some(rule)).await;
    assert_eq!(status, 400, "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_says_that_it_does_not_bind_what_files_say() {
    let home = Home::new("");
    let _daemon = home.daemon();
    let add = [
        "rules",
        "add",
        "execute_command",
        "--exact",
        "make test",
        "--cwd",
        "sub",
    ];
    let said = |words: &[&str]| {
        let output = home.command().args(words).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let made = said(&add);
    assert!(made.contains("`make test` in `sub` with `/"), "{made}");
    let id = made.split_whitespace().next().unwrap();
    let shown = said(&["rules", "show", id]);
    assert!(shown.contains("covers    in `sub`, program `/"), "{shown}");
    assert!(
        shown.contains("the content of files it runs is not bound"),
        "{shown}"
    );
    assert!(made.contains("not bound"), "{made}");
    let preview = said(&[&add[..], &["--preview"]].concat());
    assert!(preview.contains("not bound"), "{preview}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forbidden_program_does_not_run_under_another_name_or_through_a_wrapper() {
    let home = Home::new(FULL);
    program(&home, "tool", "#!/bin/sh\nrm -r keep\n");
    put(&home, "keep/a", "x");
    std::os::unix::fs::symlink("/usr/bin/cat", home.workspace("api").join("cat")).unwrap();
    let daemon = home.daemon();
    if !confined(&daemon).await {
        return;
    }
    let rule =
        json!({ "tool": "execute_command", "matcher": "prefix", "value": "rm", "verdict": "deny" });
    add(&daemon, rule).await;
    let argv = |words: &[&str]| json!({ "argv": words });
    for denied in [
        argv(&["rm", "keep/a"]),
        argv(&["/usr/bin/rm", "keep/a"]),
        argv(&["/bin/rm", "keep/a"]),
        argv(&["env", "rm", "keep/a"]),
        argv(&["/usr/bin/env", "-i", "-u", "HOME", "X=1", "rm", "keep/a"]),
        argv(&[
            "env", "nice", "-n", "5", "timeout", "-k", "1", "5", "rm", "keep/a",
        ]),
        argv(&["xargs", "-0", "-n1", "rm"]),
        argv(&["nohup", "rm", "keep/a"]),
        argv(&["setsid", "-w", "/bin/rm", "keep/a"]),
        argv(&["stdbuf", "-oL", "rm", "keep/a"]),
        argv(&["sh", "-c", "rm keep/a"]),
        argv(&["bash", "-c", "exec rm keep/a"]),
        json!({ "script": "rm -r keep" }),
        json!({ "script": "echo a | cat && rm -r keep" }),
    ] {
        let (word, test) = verdict(&daemon, &denied).await;
        // A wrapper that is not installed cannot run at all.
        let nowhere = test["risk"].is_null();
        assert!(word == "deny", "{denied}: {test}");
        assert!(
            nowhere || test["verdict"]["rule"].as_str().unwrap().contains("rul_"),
            "{denied}: {test}"
        );
    }
    for asks in [
        json!({ "script": "rm -r $X" }),
        json!({ "script": "echo *" }),
        argv(&["sh", "-c", "cd keep && rm a"]),
        argv(&["sh", "-c", "$CMD keep"]),
        argv(&["find", ".", "-exec", "rm", "{}", ";"]),
        argv(&["env", "--split-string=rm keep/a"]),
        argv(&["env", "--unknown", "rm"]),
        argv(&["./tool"]),
        // What it runs comes with its input, or in another directory.
        argv(&["xargs", "-I", "cat", "cat"]),
        argv(&["xargs", "env"]),
        argv(&["xargs", "find", "keep"]),
        argv(&["env", "-C", "keep", "./cat"]),
        argv(&["env", "LD_PRELOAD=./x.so", "cat", "keep/a"]),
        argv(&["/bin/sh", "-lc", "echo a"]),
        argv(&["make", "clean"]),
        argv(&["git", "-c", "alias.x=!rm keep/a", "x"]),
    ] {
        let (word, test) = verdict(&daemon, &asks).await;
        assert_eq!(word, "ask", "{asks}: {test}");
        assert!(
            test["verdict"]["rule"].as_str().unwrap().contains("rul_"),
            "{asks}: {test}"
        );
    }
    for runs in [
        argv(&["ls", "rm"]),
        argv(&["cat", "keep/a"]),
        argv(&["env", "LANG=C", "wc", "keep/a"]),
        argv(&["find", ".", "-name", "rm"]),
        argv(&["cp", "keep/a", "b"]),
        argv(&["xargs", "-0", "cat"]),
        argv(&["sh", "-c", "cat keep/a"]),
        json!({ "script": "echo hello && cat keep/a 2>/dev/null" }),
    ] {
        let (word, test) = verdict(&daemon, &runs).await;
        assert_eq!(word, "allow", "{runs}: {test}");
    }
    // In turns: refused, and asked.
    let session = daemon.session().await;
    let text = "TOOL:execute_command{\"argv\":[\"env\",\"rm\",\"-r\",\"keep\"]}\nSAY:done";
    let end = daemon.send(&session, text).await;
    let done = daemon.wait_state(&end, "completed").await;
    assert_eq!(done["tool_calls"][0]["state"], "blocked", "{done}");
    let text = "TOOL:execute_command{\"script\":\"rm -r $KEPT\"}\nSAY:done";
    daemon.send(&session, text).await;
    daemon.wait_approval().await;
    assert!(home.workspace("api").join("keep/a").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn forbidden_words_are_found_behind_options_and_a_rule_on_a_path_of_a_program() {
    let home = Home::new(FULL);
    let daemon = home.daemon();
    if !confined(&daemon).await {
        return;
    }
    let deny = |value: &str| json!({ "tool": "execute_command", "matcher": "prefix", "value": value, "verdict": "deny" });
    add(&daemon, deny("/usr/bin/touch")).await;
    add(&daemon, deny("cp -r")).await;
    let argv = |words: &[&str]| json!({ "argv": words });
    for (call, word) in [
        (argv(&["touch", "a"]), "deny"),
        (argv(&["/bin/touch", "a"]), "deny"),
        (argv(&["nice", "touch", "a"]), "deny"),
        (argv(&["cp", "-r", "a", "b"]), "deny"),
        (argv(&["/bin/cp", "-r", "a", "b"]), "deny"),
        // The same said otherwise cannot be told apart: a person is asked.
        (argv(&["cp", "-a", "-r", "a", "b"]), "ask"),
        (argv(&["mkdir", "a"]), "allow"),
    ] {
        let (said, test) = verdict(&daemon, &call).await;
        assert_eq!(said, word, "{call}: {test}");
    }
}
