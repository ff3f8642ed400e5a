//! `leverframe channels add`: the table in the file, and what the platform says.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::support::daemon::Home;
use crate::support::fake_telegram::{FakeTelegram, TOKEN};
use crate::support::pty::Pty;
use crate::take_overs::daemon::cli;

fn file(home: &Home) -> String {
    std::fs::read_to_string(home.path().join("config/config.toml")).unwrap()
}

/// A file of mode 0600 with a secret.
fn secret(home: &Home, name: &str, value: &str) -> PathBuf {
    let path = home.path().join("config").join(name);
    std::fs::write(&path, value).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    path
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bot_is_written_and_its_platform_asked() {
    let telegram = FakeTelegram::start();
    let home = Home::new("# mine\n[model]\nallow_scripted_on_channels = true\n");
    let good = secret(&home, "good", TOKEN);
    let add = |name: &'static str, file: &PathBuf| {
        let words = [
            "channels",
            "add",
            name,
            "--kind",
            "telegram",
            "--token-file",
            file.to_str().unwrap(),
            "--api-base",
            telegram.url(),
            "--allow",
            "4242",
        ];
        words.map(str::to_owned)
    };
    let words = add("team", &good);
    let (status, text) = cli(&home, &words.each_ref().map(String::as_str)).await;
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("token") && text.contains("of @"), "{text}");
    let written = file(&home);
    assert!(written.starts_with("# mine\n"), "{written}");
    assert!(written.contains("[channels.team]\nkind = \"telegram\"\ntoken_file = "));
    assert!(written.contains("allowed_users = [\"4242\"]"), "{written}");
    assert!(!written.contains(TOKEN), "{written}");
    assert!(telegram.calls("getUpdates").is_empty(), "it only asks");

    let (status, text) = cli(&home, &words.each_ref().map(String::as_str)).await;
    assert_eq!(status, Some(2), "{text}");
    assert!(text.contains("there is a channel `team` already"), "{text}");
    assert_eq!(file(&home), written);

    let wrong = secret(&home, "wrong", "123:another-token-that-nobody-knows");
    let words = add("second", &wrong);
    let (status, text) = cli(&home, &words.each_ref().map(String::as_str)).await;
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("does not know this bot token"), "{text}");
    assert!(text.contains("not set up yet"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_missing_is_named_with_where_to_get_it_and_nothing_is_written() {
    let home = Home::new("");
    let before = file(&home);
    for (words, says) in [
        (&["--kind", "telegram"][..], "@BotFather"),
        (&["--kind", "slack", "--token-env", "A"], "--app-token-env"),
        (&["--kind", "webhook"], "openssl rand"),
        (&["--kind", "matrix", "--token-env", "A"], "homeserver"),
        (&["--kind", "process"], "command ="),
        (&[], "say --kind"),
        (&["--kind", "fax"], "expected one of telegram"),
    ] {
        let mut all = vec!["channels", "add", "new"];
        all.extend_from_slice(words);
        let (status, text) = cli(&home, &all).await;
        assert_eq!(status, Some(2), "{words:?}: {text}");
        assert!(text.contains(says), "{words:?}: {text}");
        assert_eq!(file(&home), before, "{words:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_gets_its_paths_and_variables() {
    let home = Home::new("[model]\nallow_scripted_on_channels = true\n");
    let words = [
        "channels",
        "add",
        "irc",
        "--kind",
        "process",
        "--env",
        "NICK=lever",
        "--env",
        "PASSWORD",
        "--read",
        "/opt/bridges",
        "--write",
        "/srv/logs",
        "--no-check",
        "--",
        "/usr/bin/python3",
        "/opt/bridges/irc.py",
    ];
    let (status, text) = cli(&home, &words).await;
    assert_eq!(status, Some(0), "{text}");
    let written = file(&home);
    for line in [
        "command = [\"/usr/bin/python3\", \"/opt/bridges/irc.py\"]",
        "environment_env = [\"PASSWORD\"]",
        "read = [\"/opt/bridges\"]",
        "write = [\"/srv/logs\"]",
        "environment = { NICK = \"lever\" }",
    ] {
        assert!(written.contains(line), "{line}: {written}");
    }
}

#[test]
fn a_person_is_asked_for_what_the_arguments_leave_open() {
    let home = Home::new("[model]\nallow_scripted_on_channels = true\n");
    let add = |words: &[&str]| {
        let mut command = home.command();
        command.args(["channels", "add"]).args(words);
        command.env("SHOP_SECRET", "a secret of forty-two characters, at least");
        Pty::start(&command, 120, 40)
    };
    let before = file(&home);
    let mut pty = add(&["shop"]);
    pty.see("Platform (telegram");
    pty.send("<\r");
    pty.see("nothing is written");
    assert_eq!(pty.wait_exit(), Some(2));
    assert_eq!(file(&home), before);

    let mut pty = add(&["shop"]);
    for (see, say) in [
        ("Platform (telegram", "fax"),
        ("expected one of telegram", "webhook"),
        ("openssl rand", "a secret"),
        ("that is not the name of a variable", "<"),
    ] {
        pty.see(see);
        pty.send(&format!("{say}\r"));
    }
    pty.see("nothing is written");
    assert_eq!(pty.wait_exit(), Some(2));

    let mut pty = add(&["shop", "--kind", "webhook"]);
    for (see, say) in [
        ("openssl rand", "$SHOP_SECRET"),
        ("Address that gets what the agent says", "shop.example"),
        ("begins with https://", ""),
        ("Id of who may write", "<"),
        (
            "Address that gets what the agent says",
            "https://shop.example/agent",
        ),
        ("Id of who may write", "ada"),
    ] {
        pty.see(see);
        pty.send(&format!("{say}\r"));
    }
    pty.see("channels pairings");
    assert_eq!(pty.wait_exit(), Some(0));
    let written = file(&home);
    for line in [
        "secret_env = \"SHOP_SECRET\"",
        "callback_url = \"https://shop.example/agent\"",
        "allowed_users = [\"ada\"]",
    ] {
        assert!(written.contains(line), "{line}: {written}");
    }
}
