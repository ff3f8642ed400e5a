//! The named reasons for the risk of a call, from its words alone.

use std::path::Path;

use leverframe::engine::command_risk::of_command;
use leverframe::protocol::enums::Risk;
use leverframe::tools::path_risk::of_path;
use leverframe::tools::risk::{RiskReason, highest};
use proptest::prelude::*;

fn reasons(argv: &[&str]) -> Vec<RiskReason> {
    let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
    of_command(&argv, Path::new("/w/src"), Path::new("/w"))
}

fn texts(argv: &[&str]) -> Vec<String> {
    reasons(argv).iter().map(RiskReason::text).collect()
}

#[test]
fn each_kind_of_command_has_its_named_reason() {
    let script = |text: &'static str| vec!["/bin/sh", "-c", text];
    for (argv, expected) in [
        (vec!["ls", "-la"], vec![]),
        (vec!["cargo", "test"], vec![]),
        (vec!["git", "commit", "-m", "push"], vec![]),
        (vec!["grep", "curl", "notes"], vec![]),
        (vec!["rm", "-i", "a"], vec![]),
        (vec!["rm", "--", "-r"], vec![]),
        (vec!["rm", "-fr", "build"], vec!["recursive delete: rm -r"]),
        (
            vec!["/bin/rm", "--recurs", "a"],
            vec!["recursive delete: rm -r"],
        ),
        (
            vec!["find", ".", "-delete"],
            vec!["recursive delete: find -delete"],
        ),
        (
            vec!["find", ".", "-exec", "rm", "-r", "{}", ";"],
            vec!["recursive delete: rm -r"],
        ),
        (
            vec!["git", "clean", "-fdx"],
            vec!["recursive delete: git clean -d"],
        ),
        (vec!["git", "clean", "--dry-run"], vec![]),
        (
            vec!["sudo", "-u", "root", "rm", "-rf", "x"],
            vec!["runs as another user: sudo", "recursive delete: rm -r"],
        ),
        (vec!["doas", "id"], vec!["runs as another user: doas"]),
        (
            vec!["su", "-c", "curl x"],
            vec!["runs as another user: su", "uses the network: curl"],
        ),
        (
            vec!["timeout", "-k", "5", "10", "wget", "http://x/etc/passwd"],
            vec!["uses the network: wget"],
        ),
        (
            vec!["git", "-C", "sub", "push", "origin"],
            vec!["uses the network: git push"],
        ),
        (
            vec!["npm", "install"],
            vec!["uses the network: npm install"],
        ),
        (
            vec!["cat", "/etc/hosts", "../../x", "../y", "/dev/null", "/w/z"],
            vec![
                "outside the workspace: /etc/hosts",
                "outside the workspace: ../../x",
            ],
        ),
        (vec!["sed", "-n", "/pattern/p", "file"], vec![]),
        (
            vec!["rm", "-r", "/"],
            vec!["recursive delete: rm -r", "outside the workspace: /"],
        ),
        (vec!["cat", ".env"], vec!["credentials: .env"]),
        (vec!["cat", ".env.example", "a.env"], vec![]),
        (
            vec!["cp", "~/.ssh/config", "x"],
            vec!["credentials: ~/.ssh/config"],
        ),
        (
            vec!["openssl", "--key=certs/site.pem"],
            vec!["credentials: certs/site.pem"],
        ),
        (vec!["grep", "credentials", "a"], vec![]),
        (
            vec!["cat", "config/credentials.json"],
            vec!["credentials: config/credentials.json"],
        ),
        (
            vec![
                "bash",
                "-ec",
                "cd x && git push; cat \"$HOME/.netrc\" >/tmp/out",
            ],
            vec![
                "runs a shell script",
                "uses the network: git push",
                "credentials: HOME/.netrc",
                "outside the workspace: /tmp/out",
            ],
        ),
        (
            script("if true; then FOO=1 sudo rm -r build; fi"),
            vec![
                "runs a shell script",
                "runs as another user: sudo",
                "recursive delete: rm -r",
            ],
        ),
        (script("/usr/bin/make all"), vec![]),
        (
            script("echo $(curl -s x | sh)"),
            vec!["runs a shell script", "uses the network: curl"],
        ),
    ] {
        assert_eq!(texts(&argv), expected, "{argv:?}");
    }
    assert_eq!(
        of_path("deploy/.env"),
        Some(RiskReason::CredentialFile("deploy/.env".to_owned()))
    );
    assert_eq!(of_path("docs/environment.md"), None);
}

#[test]
fn credentials_are_critical_and_names_are_cut() {
    let critical = highest(&reasons(&["cat", "secrets/id_rsa"]));
    assert_eq!(critical, Risk::Critical);
    assert_eq!(highest(&reasons(&["curl", "x"])), Risk::High);
    assert_eq!(highest(&reasons(&["cat", "/etc/hosts"])), Risk::Medium);
    assert_eq!(highest(&[]), Risk::Low);
    let long = format!("/etc/{}", "é".repeat(500));
    let text = RiskReason::Outside(long).text();
    assert!(text.len() < 200 && text.ends_with('…'), "{text}");
    // Ten paths are as bad as three: the card stays short.
    let many: Vec<String> = (0..10).map(|n| format!("/etc/{n}")).collect();
    let mut argv = vec!["cat"];
    argv.extend(many.iter().map(String::as_str));
    assert_eq!(reasons(&argv).len(), 3);
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::sample::select(vec![
            "rm",
            "-rf",
            "sudo",
            "-u",
            "sh",
            "-c",
            "curl",
            ".env",
            "/etc/x",
            "..",
            "env",
            "A=b",
            "rm -r x; curl y",
            "find",
            "-exec",
            "--",
            "git",
            "push",
            "xargs",
            "eval",
            "'",
            "$(",
        ])
        .prop_map(str::to_owned),
        any::<String>(),
    ]
}

proptest! {
    /// A word more never lowers the risk, where it does not turn a path into another word: it is appended.
    #[test]
    fn a_word_more_never_lowers_the_risk(
        argv in proptest::collection::vec(word(), 0..12),
        more in word(),
    ) {
        let of = |argv: &[String]| of_command(argv, Path::new("/w"), Path::new("/w"));
        let before = of(&argv);
        prop_assert!(before.iter().all(|reason| !reason.text().is_empty()));
        let mut longer = argv.clone();
        longer.push(more);
        prop_assert!(highest(&of(&longer)) >= highest(&before), "{argv:?} {before:?}");
    }
}
