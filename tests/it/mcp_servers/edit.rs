//! `mcp add` and `mcp remove` edit the file in place.

use crate::support::daemon::Home;
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
