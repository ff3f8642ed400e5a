//! `mcp add` and `mcp remove` edit the file in place.

use crate::mcp_servers::scripted::{Scripted, states, tool};
use crate::support::daemon::Home;
use crate::support::pty::Pty;
use crate::take_overs::daemon::cli;

const TEXT: &str = "# My bot.\ninstance = \"mine\" # of Anna\n\n[channels.api] # programs\nautonomy = \"supervised\"\n\n\
                    # The old one.\n[mcp.old]\ncommand = [\"server\"] # as it is\n\n[mcp.old.tools.t]\naccess = \"write\"\n\n\
                    [log]\nfilter = \"info\" # plenty\n";

fn text(home: &Home) -> String {
    std::fs::read_to_string(home.path().join("config/config.toml")).unwrap()
}

#[tokio::test]
async fn add_and_remove_keep_comments_order_and_all_else() {
    let home = Home::new(TEXT);
    let words = [
        "mcp",
        "add",
        "files",
        "--env",
        "LOG=info",
        "--env",
        "FILES_TOKEN",
        "--write",
        "/srv/share",
        "--network",
        "--",
        "npx",
        "-y",
        "server files",
        "/srv/share",
    ];
    let (status, said) = cli(&home, &words).await;
    assert_eq!(status, Some(0), "{said}");
    assert!(
        said.contains("leverframe reload") && said.contains("mcp trust files"),
        "{said}"
    );
    let now = text(&home);
    for line in TEXT.lines() {
        assert!(now.contains(line), "{line}: {now}");
    }
    let table = "[mcp.files]\ncommand = [\"npx\", \"-y\", \"server files\", \"/srv/share\"]\n\
                 environment = { LOG = \"info\" }\nenvironment_env = [\"FILES_TOKEN\"]\nwrite = [\"/srv/share\"]\nnetwork = true\n";
    assert!(now.contains(table), "{now}");
    let (status, said) = cli(&home, &["mcp", "add", "files", "--", "x"]).await;
    assert!(status == Some(2) && said.contains("already"), "{said}");
    let (status, said) = cli(&home, &["mcp", "remove", "files"]).await;
    assert_eq!(status, Some(0), "{said}");
    assert_eq!(text(&home).trim_end(), TEXT.trim_end());
    let (status, _) = cli(&home, &["mcp", "remove", "old"]).await;
    assert_eq!(status, Some(0));
    let now = text(&home);
    assert!(
        !now.contains("old") && now.contains("# My bot.") && now.contains("# plenty"),
        "{now}"
    );
    let (status, said) = cli(&home, &["mcp", "remove", "old"]).await;
    assert!(
        status == Some(2) && said.contains("no server `old`"),
        "{said}"
    );
}

#[tokio::test]
async fn what_could_not_be_used_is_not_written() {
    let home =
        Home::new("[channels.api]\nmcp = [\"files\"]\n\n[mcp.files]\ncommand = [\"server\"]\n");
    let before = text(&home);
    for (words, part) in [
        (
            &["mcp", "add", "web", "--url", "http://example.org/mcp"][..],
            "plain http",
        ),
        (
            &[
                "mcp",
                "add",
                "web",
                "--url",
                "https://a/mcp",
                "--header",
                "Authorization=Bearer abc",
            ],
            "plain text",
        ),
        (
            &["mcp", "add", "Web", "--url", "https://a/mcp"],
            "not a name",
        ),
        (&["mcp", "add", "web"], "--url"),
        (
            &["mcp", "add", "web", "--env", "API_KEY=abc", "--", "x"],
            "plain text",
        ),
        (&["mcp", "remove", "files"], "no server `files`"),
    ] {
        let (status, said) = cli(&home, words).await;
        assert_eq!(status, Some(2), "{words:?}: {said}");
        assert!(said.contains(part), "{words:?}: {said}");
        assert!(!said.contains("Bearer abc"), "{said}");
        assert_eq!(text(&home), before, "{words:?}");
    }
    let left = std::fs::read_dir(home.path().join("config"))
        .unwrap()
        .count();
    assert_eq!(left, 1, "no draft stays");
    let words = [
        "mcp",
        "add",
        "web",
        "--url",
        "https://a.example/mcp",
        "--header",
        "Authorization=Bearer {secret}",
        "--secret-env",
        "WEB_TOKEN",
        "--trusted",
    ];
    let (status, said) = cli(&home, &words).await;
    assert_eq!(status, Some(0), "{said}");
    assert!(
        text(&home).contains("secret_env = \"WEB_TOKEN\"\ntrusted = true\n"),
        "{}",
        text(&home)
    );
}

/// A terminal in which somebody adds the scripted server `one`.
fn adding(home: &Home) -> Pty {
    let dir = home.path().join("servers/one");
    let mut command = home.command();
    command.args(["mcp", "add", "one", "--read"]).arg(&dir);
    command.arg("--write").arg(&dir).args(["--", "/bin/sh"]);
    command.arg(dir.join("server.sh")).arg(&dir);
    Pty::start(&command, 120, 40)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_connects_and_trusts_what_they_add_at_once() {
    let home = Home::new("");
    let _scripted = Scripted::new(&home, "one", &[tool("note", "Writes a note.")]);
    // Without a daemon there is nothing to offer.
    let mut alone = adding(&home);
    alone.see("leverframe reload");
    assert_eq!(alone.wait_exit(), Some(0));
    let (status, said) = cli(&home, &["mcp", "remove", "one"]).await;
    assert_eq!(status, Some(0), "{said}");

    let daemon = home.daemon();
    let mut pty = adding(&home);
    pty.see("Connect it now");
    pty.send("yes\r");
    pty.see("mcp__one__note");
    pty.see("Type yes to trust them");
    // Anything else is a no.
    pty.send("y\r");
    pty.see("Nothing was trusted");
    assert_eq!(pty.wait_exit(), Some(0));
    let review = daemon.get("/v1/mcp/servers/one").await;
    assert_eq!(states(&review), [("note".to_owned(), "new".to_owned())]);

    let (status, said) = cli(&home, &["mcp", "remove", "one"]).await;
    assert_eq!(status, Some(0), "{said}");
    let (status, said) = cli(&home, &["reload"]).await;
    assert_eq!(status, Some(0), "{said}");
    let mut pty = adding(&home);
    pty.see("Connect it now");
    pty.send("yes\r");
    pty.see("Type yes to trust them");
    pty.send("yes\r");
    pty.see("agents get 1 tool");
    assert_eq!(pty.wait_exit(), Some(0));
    let review = daemon.get("/v1/mcp/servers/one").await;
    assert_eq!(states(&review), [("note".to_owned(), "trusted".to_owned())]);
    // A no to the first question writes the table and asks the daemon nothing.
    let (status, said) = cli(&home, &["mcp", "remove", "one"]).await;
    assert_eq!(status, Some(0), "{said}");
    let (status, said) = cli(&home, &["reload"]).await;
    assert_eq!(status, Some(0), "{said}");
    let mut pty = adding(&home);
    pty.see("Connect it now");
    pty.send("\r");
    pty.see("leverframe reload");
    assert_eq!(pty.wait_exit(), Some(0));
    assert!(text(&home).contains("[mcp.one]"), "{}", text(&home));
    let review = daemon.get("/v1/mcp/servers/one").await;
    let problem = review["problem"].as_str().unwrap();
    assert!(
        problem.contains("the configuration does not have it"),
        "{review}"
    );
}
