//! The lines that are installed let nothing through whatever becomes of the caller, in the shell that runs them.

use std::io::Write as _;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::gate::stub::{QUESTION, Reply, Stub, program, verdict};

/// The line of the question, as `gate install --print` writes it.
fn line(agent: &str, path: &str) -> String {
    let printed = Command::new(program())
        .env_clear()
        .env("PATH", path)
        .env("HOME", "/nonexistent")
        .args(["gate", "install", agent, "--print"])
        .output()
        .unwrap();
    assert!(printed.status.success(), "{printed:?}");
    let text = String::from_utf8(printed.stdout).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let groups = value["hooks"].as_object().unwrap().values().next().unwrap();
    groups[0]["hooks"][0]["command"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// What the program sees: status, standard error, and whether it could write everything.
fn run(
    line: &str,
    gate: &str,
    input: &[u8],
    during: impl FnOnce(Pid),
) -> (Option<i32>, String, bool) {
    let mut child = Command::new("/bin/sh")
        .args(["-c", line])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", "/nonexistent")
        .env("LEVERFRAME_GATE", gate)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writes = std::thread::spawn(move || stdin.write_all(&input).is_ok());
    during(Pid::from_child(&child));
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    (output.status.code(), err, writes.join().unwrap())
}

/// The process that asks, below the shell.
fn caller(below: Pid) -> Option<Pid> {
    let children = |pid: Pid| -> Vec<Pid> {
        let file = format!("/proc/{0}/task/{0}/children", pid.as_raw_nonzero());
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let pids = text
            .split_whitespace()
            .filter_map(|word| Pid::from_raw(word.parse().ok()?));
        pids.collect()
    };
    let name = |pid: Pid| {
        std::fs::read_to_string(format!("/proc/{}/comm", pid.as_raw_nonzero())).unwrap_or_default()
    };
    let mut all = children(below);
    while let Some(pid) = all.pop() {
        if name(pid).starts_with("leverframe") {
            return Some(pid);
        }
        all.extend(children(pid));
    }
    None
}

#[test]
fn a_clear_word_goes_through_them() {
    let perl = without_timeout();
    for path in ["/usr/bin:/bin", perl.path().to_str().unwrap()] {
        let line = line("claude", path);
        let allows = Stub::start(|_| verdict("allow", "{}"));
        let (status, err, _) = run(&line, &allows.address(), QUESTION, |_| {});
        assert_eq!((status, err.as_str()), (Some(0), ""), "{line}");
        let denies = Stub::start(|_| verdict("deny", "{}"));
        let (status, err, _) = run(&line, &denies.address(), QUESTION, |_| {});
        assert_eq!(status, Some(2), "{line}: {err}");
    }
}

#[test]
fn a_caller_that_is_killed_lets_nothing_through() {
    for agent in ["claude", "codex", "gemini"] {
        let stub = Stub::start(|_| Reply::Hang);
        let line = line(agent, "/usr/bin:/bin");
        let (status, err, written) = run(&line, &stub.address(), QUESTION, |shell| {
            stub.wait(1);
            kill_process(caller(shell).expect("a caller"), Signal::KILL).unwrap();
        });
        assert_eq!(status, Some(2), "{err}");
        assert!(err.contains("did not allow") && written, "{err}");
    }
}

#[test]
fn a_caller_that_is_missing_or_hangs_lets_nothing_through() {
    let program = program();
    let program = program.to_str().unwrap();
    // More than a pipe holds: a program that cannot write it lets the call go on.
    let long = vec![b' '; 1024 * 1024];
    let perl = without_timeout();
    for path in ["/usr/bin:/bin", perl.path().to_str().unwrap()] {
        let line = line("codex", path);
        assert!(line.contains(program), "{line}");
        let missing = line.replace(program, "/nonexistent/leverframe");
        let (status, err, written) = run(&missing, "unix:/nonexistent", &long, |_| {});
        assert_eq!(status, Some(2), "{missing}: {err}");
        assert!(err.contains("did not allow") && written, "{err}");
        // `yes` never ends and reads nothing; the guard ends it.
        let hangs = line
            .replace(program, "/usr/bin/yes >/dev/null")
            .replace("590", "1");
        let (status, err, written) = run(&hangs, "unix:/nonexistent", &long, |_| {});
        assert_eq!(status, Some(2), "{hangs}: {err}");
        assert!(err.contains("did not allow") && written, "{err}");
    }
}

/// A path with Perl on it and without `timeout`, as on macOS.
fn without_timeout() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/usr/bin/perl", dir.path().join("perl")).unwrap();
    dir
}
