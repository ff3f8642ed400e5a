//! `leverframe gate AGENT`: a call runs after a clear word of the daemon, and after nothing else.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};

use crate::gate::stub::{QUESTION, Reply, SHORT, Stub, answer, ask, finish, spawn, verdict};
use crate::support::fake_http::{FakeHttp, Reply as HttpReply};

const ALLOW: &str = r#"{"hookSpecificOutput": {"hookEventName":"PreToolUse", "permissionDecision":"allow","updatedInput":{"n":1.0e3}}}"#;

#[test]
fn an_allow_goes_on_as_it_came() {
    let stub = Stub::start(|_| verdict("allow", ALLOW));
    let end = ask(&["claude"], Some(&stub.address()), QUESTION);
    assert_eq!(
        (end.status, end.out.as_str(), end.err.as_str()),
        (Some(0), format!("{ALLOW}\n").as_str(), "")
    );
    let seen = stub.seen();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].first_line(), "POST /v1/gate/claude HTTP/1.1");
    assert_eq!(seen[0].body, QUESTION);
    assert_eq!(seen[0].header("idempotency-key").len(), 32);
    // The daemon is on this machine.
    assert_eq!(seen[0].header("leverframe-host"), "");
    let wait = seen[0].header("prefer").strip_prefix("wait=").unwrap();
    let wait: u64 = wait.parse().unwrap();
    assert!((570..=580).contains(&wait), "{wait}");
}

#[test]
fn each_process_has_a_key_of_its_own() {
    let stub = Stub::start(|_| verdict("allow", "{}"));
    for _ in 0..2 {
        ask(&["codex"], Some(&stub.address()), QUESTION);
    }
    let seen = stub.seen();
    assert_ne!(
        seen[0].header("idempotency-key"),
        seen[1].header("idempotency-key")
    );
}

#[test]
fn only_the_hook_that_knows_the_word_is_told_that_the_decision_comes_later() {
    let stub = Stub::start(|_| verdict("defer", r#"{"a":1}"#));
    let end = ask(&["claude"], Some(&stub.address()), QUESTION);
    assert_eq!((end.status, end.out.as_str()), (Some(0), "{\"a\":1}\n"));
    for agent in ["codex", "gemini"] {
        ask(&[agent], Some(&stub.address()), QUESTION).denies("a person decides later");
    }
    let permission = br#"{"hook_event_name":"PermissionRequest","tool_name":"Bash"}"#;
    let end = ask(&["claude"], Some(&stub.address()), permission);
    end.denies("a person decides later");
}

#[test]
fn a_deny_has_its_reason_in_one_line() {
    let body = r#"{"hookSpecificOutput":{"permissionDecision":"deny"}}"#;
    let reason = "no%20%22rm%22%0Ahere%1B%5B2J%20%C3%A9";
    let headers = [
        ("Leverframe-Verdict", "deny"),
        ("Leverframe-Reason", reason),
    ];
    let stub = Stub::start(move |_| answer(200, &headers, body));
    let end = ask(&["claude"], Some(&stub.address()), QUESTION);
    end.denies("no \"rm\"");
    assert_eq!(end.out, format!("{body}\n"));
    assert!(
        end.err.contains('é') && !end.err.contains('\u{1b}'),
        "{end:?}"
    );
}

#[test]
fn whatever_is_no_clear_word_is_a_deny() {
    let problem =
        r#"{"kind":"forbidden","title":"not permitted","detail":"the token may not ask"}"#;
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(1024 * 1024));
    let raw = |text: &str| Reply::Raw(text.as_bytes().to_vec());
    let cases = [
        (answer(500, &[], "{}"), "500"),
        (answer(503, &[("Leverframe-Verdict", "allow")], "{}"), "503"),
        (answer(403, &[], problem), "the token may not ask"),
        (answer(302, &[("Leverframe-Verdict", "allow")], "{}"), "302"),
        (answer(200, &[], ALLOW), "no verdict"),
        (verdict("ALLOW", ALLOW), "no verdict"),
        (verdict("ask", ALLOW), "no verdict"),
        (verdict("noted", "{}"), "for a report"),
        (verdict("allow", ""), "no JSON object"),
        (verdict("allow", "[]"), "no JSON object"),
        (verdict("allow", "{\"a\":"), "no JSON object"),
        (verdict("allow", &long), "1 MiB"),
        (
            raw("HTTP/1.1 200 OK\r\nLeverframe-Verdict: allow\r\ncontent-length: 2\r\n\r\n{}"),
            "without the header",
        ),
    ];
    for (reply, why) in cases {
        let given = reply.clone();
        let stub = Stub::start(move |_| given.clone());
        let end = ask(&["claude"], Some(&stub.address()), QUESTION);
        end.denies(why);
        assert_eq!(stub.seen().len(), 1, "asked again after {reply:?}");
    }
}

#[test]
fn junk_and_half_an_answer_are_denies_in_the_end() {
    let raw = |text: &str| Reply::Raw(text.as_bytes().to_vec());
    let half = "HTTP/1.1 200 OK\r\nleverframe-protocol: 2\r\nLeverframe-Verdict: allow\r\ncontent-length: 99\r\n\r\n{}";
    for reply in [raw("\0\u{1}not http"), raw(half), Reply::Close, Reply::Hang] {
        let given = reply.clone();
        let stub = Stub::start(move |_| given.clone());
        let end = ask(&["claude", "--wait", "1"], Some(&stub.address()), QUESTION);
        end.denies("Leverframe denies this call: ");
    }
}

#[test]
fn a_lost_question_is_asked_again_under_its_key() {
    let stub = Stub::start(|number| match number {
        0 | 1 => Reply::Close,
        _ => verdict("allow", "{}"),
    });
    let end = ask(&["gemini"], Some(&stub.address()), QUESTION);
    assert_eq!((end.status, end.out.as_str()), (Some(0), "{}\n"));
    let seen = stub.seen();
    assert_eq!(seen.len(), 3);
    let first = seen[0].header("idempotency-key");
    assert!(
        seen.iter()
            .all(|one| one.header("idempotency-key") == first)
    );
    assert!(seen.iter().all(|one| one.body == QUESTION));
}

#[test]
fn nobody_decides_in_time() {
    let stub = Stub::start(|_| Reply::Hang);
    let end = ask(&["claude", "--wait=1"], Some(&stub.address()), QUESTION);
    end.denies("nobody decided before the deadline");
}

#[test]
fn no_daemon_is_a_deny_that_says_what_to_do() {
    let home = tempfile::tempdir().unwrap();
    let missing = format!("unix:{}/none.sock", home.path().display());
    // A socket that nobody listens on any more.
    let dead = home.path().join("dead.sock");
    drop(std::os::unix::net::UnixListener::bind(&dead).unwrap());
    let dead = format!("unix:{}", dead.display());
    for gate in [Some(missing.as_str()), Some(dead.as_str()), None] {
        let child = spawn(&["claude", "--wait", "1"], gate, home.path());
        finish(child, QUESTION).denies("`leverframe --daemon` starts one");
    }
}

#[test]
fn a_daemon_that_starts_again_is_found() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    std::fs::create_dir(&data).unwrap();
    let words = ["claude", "--data-dir", data.to_str().unwrap()];
    let mut child = spawn(&words, None, home.path());
    // Its question is there before the daemon is.
    let mut input = child.stdin.take().unwrap();
    input.write_all(QUESTION).unwrap();
    drop(input);
    let stub = Stub::start(|_| verdict("allow", "{}"));
    std::os::unix::fs::symlink(stub.socket(), data.join("leverframe.sock")).unwrap();
    stub.wait(1);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_call_that_is_too_long_is_read_and_denied() {
    let call = |length: usize| {
        let start = br#"{"hook_event_name":"PreToolUse","x":""#;
        let mut call = start.to_vec();
        call.resize(length - 2, b'x');
        call.extend_from_slice(b"\"}");
        call
    };
    let stub = Stub::start(|_| verdict("allow", "{}"));
    // `finish` checks that all of it could be written.
    let end = ask(&["codex"], Some(&stub.address()), &call(4 * 1024 * 1024));
    end.denies("256 KiB");
    let end = ask(&["codex"], Some(&stub.address()), &call(17 * 1024 * 1024));
    end.denies("16 MiB");
    let end = ask(&["codex"], Some(&stub.address()), &call(256 * 1024 + 1));
    end.denies("256 KiB");
    assert_eq!(stub.seen().len(), 0);
    let longest = call(256 * 1024);
    let end = ask(&["codex"], Some(&stub.address()), &longest);
    assert_eq!(end.status, Some(0), "{end:?}");
    assert_eq!(stub.seen()[0].body, longest);
}

#[test]
fn a_report_that_is_too_long_loses_the_ends_of_its_texts() {
    let stub = Stub::start(|_| verdict("noted", "{}"));
    let report = |response: serde_json::Value| {
        serde_json::json!({
            "hook_event_name": "PostToolUse", "tool_use_id": "t1",
            "tool_input": { "content": "é".repeat(40_000) }, "tool_response": response,
        })
    };
    let many: Vec<String> = (0..200).map(|_| "z".repeat(15_000)).collect();
    let long =
        report(serde_json::json!({ "stdout": "é".repeat(1_000_000), "lines": [1, "short"] }));
    for sent in [&long, &report(serde_json::json!(many))] {
        let end = ask(
            &["claude"],
            Some(&stub.address()),
            sent.to_string().as_bytes(),
        );
        assert_eq!((end.status, end.err.as_str()), (Some(0), ""));
    }
    let seen: Vec<serde_json::Value> = stub
        .seen()
        .iter()
        .inspect(|one| assert!(one.body.len() <= 256 * 1024, "{}", one.body.len()))
        .map(|one| serde_json::from_slice(&one.body).unwrap())
        .collect();
    assert!(
        seen.iter()
            .all(|one| one["tool_input"] == long["tool_input"])
    );
    assert_eq!(
        seen[0]["tool_response"]["lines"],
        long["tool_response"]["lines"]
    );
    let cut = seen[0]["tool_response"]["stdout"].as_str().unwrap();
    assert!(cut.starts_with("éé") && cut.ends_with('…') && cut.len() < 17_000);
    assert!(seen[1].get("tool_response").is_none());
}

#[test]
fn input_that_is_no_call_is_a_deny() {
    let stub = Stub::start(|_| verdict("allow", "{}"));
    let deep = "[".repeat(10_000);
    let inputs: [&[u8]; 8] = [
        b"",
        b"null",
        b"{}",
        b"[1]",
        b"{\"hook_event_name\":1}",
        b"{\"hook_event_name\":\"PostToolUse\",\"hook_event_name\":\"PreToolUse\"}",
        b"\xff\xfe{}",
        deep.as_bytes(),
    ];
    for agent in ["claude", "codex", "gemini"] {
        for input in inputs {
            ask(&[agent], Some(&stub.address()), input).denies("no call of a hook");
        }
    }
    assert_eq!(stub.seen().len(), 0);
}

#[test]
fn wrong_words_are_a_deny() {
    let stub = Stub::start(|_| verdict("allow", "{}"));
    let cases: [&[&str]; 5] = [
        &["claude", "--wait", "0"],
        &["claude", "--wait", "soon"],
        &["claude", "--wait"],
        &["claude", "--yes"],
        &["claude", "more"],
    ];
    let long = vec![b' '; 1024 * 1024];
    for words in cases {
        ask(words, Some(&stub.address()), QUESTION).denies("Leverframe denies this call");
        // Even then all of it is read.
        ask(words, Some(&stub.address()), &long).denies("Leverframe denies this call");
    }
    assert_eq!(stub.seen().len(), 0);
}

#[test]
fn a_signal_ends_the_wait_as_a_deny() {
    let home = tempfile::tempdir().unwrap();
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let stub = Stub::start(|_| Reply::Hang);
        let address = stub.address();
        let child = spawn(&["claude"], Some(&address), home.path());
        let pid = Pid::from_child(&child);
        let waits = std::thread::spawn(move || finish(child, QUESTION));
        stub.wait(1);
        kill_process(pid, signal).unwrap();
        waits.join().unwrap().denies("ended the wait");
    }
}

#[test]
fn reports_never_hold_the_program_up() {
    let post = br#"{"session_id":"s1","hook_event_name":"PostToolUse","tool_name":"Bash"}"#;
    let after = br#"{"session_id":"s1","hook_event_name":"AfterTool","tool_name":"x"}"#;
    let noted = Stub::start(|_| verdict("noted", "{}"));
    let end = ask(&["claude"], Some(&noted.address()), post);
    assert_eq!(
        (end.status, end.out.as_str(), end.err.as_str()),
        (Some(0), "{}\n", "")
    );
    let fails = [answer(500, &[], "no"), Reply::Close, Reply::Hang];
    for reply in fails {
        let stub = Stub::start(move |_| reply.clone());
        for (agent, input) in [("claude", &post[..]), ("codex", post), ("gemini", after)] {
            let started = Instant::now();
            let end = ask(&[agent], Some(&stub.address()), input);
            assert_eq!((end.status, end.out.as_str()), (Some(0), ""), "{end:?}");
            assert!(end.err.contains("cannot report"), "{end:?}");
            assert!(started.elapsed() < SHORT);
        }
    }
    let nobody = ask(&["claude"], Some("unix:/nonexistent/s.sock"), post);
    assert_eq!((nobody.status, nobody.out.as_str()), (Some(0), ""));
}

#[test]
fn an_event_that_nobody_knows_asks() {
    let stub = Stub::start(|_| answer(400, &[], "{}"));
    let event = br#"{"hook_event_name":"BeforeEverything"}"#;
    ask(&["claude"], Some(&stub.address()), event).denies("400");
    let notice = br#"{"hook_event_name":"Notification"}"#;
    let end = ask(&["claude"], Some(&stub.address()), notice);
    assert_eq!((end.status, end.out.as_str()), (Some(0), ""), "{end:?}");
    let permission = br#"{"hook_event_name":"PermissionRequest","tool_name":"Bash"}"#;
    let end = ask(&["codex"], Some(&stub.address()), permission);
    end.denies("400");
    assert!(end.out.contains("\"behavior\":\"deny\""), "{end:?}");
}

#[test]
fn a_file_names_a_machine_and_its_token() {
    let server = FakeHttp::start(|request| {
        let knows = request.authorization == "Bearer sesame"
            && request.path == "/v1/gate/claude"
            && request.headers.contains_key("leverframe-host");
        let verdict = if knows { "allow" } else { "deny" };
        HttpReply::Raw(
            format!(
                "HTTP/1.1 200 OK\r\nleverframe-protocol: 2\r\nleverframe-verdict: {verdict}\r\ncontent-length: 2\r\n\r\n{{}}"
            )
            .into_bytes(),
        )
    });
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("gate");
    let mode = |bits| std::fs::set_permissions(&file, PermissionsExt::from_mode(bits)).unwrap();
    std::fs::write(&file, format!("{} sesame\n", server.url())).unwrap();
    mode(0o600);
    let gate = file.to_str().unwrap();
    let end = ask(&["claude"], Some(gate), QUESTION);
    assert_eq!(end.status, Some(0), "{end:?}");
    // Others may read it.
    mode(0o644);
    ask(&["claude"], Some(gate), QUESTION).denies("chmod 600");
    mode(0o600);
    std::fs::write(&file, server.url()).unwrap();
    ask(&["claude"], Some(gate), QUESTION).denies("no token");
    std::fs::write(&file, "http://example.org sesame").unwrap();
    ask(&["claude"], Some(gate), QUESTION).denies("unencrypted");
    ask(&["claude"], Some("https://example.org"), QUESTION).denies("name a file");
}
