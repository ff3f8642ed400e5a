//! `mcp import` reads what other hosts write, and copies no secret.

use serde_json::Value;

use crate::support::daemon::Home;
use crate::take_overs::daemon::cli;

/// As a desktop client writes it.
const DESKTOP: &str = r#"{
  "mcpServers": {
    "filesystem": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/srv/share"]},
    "GitHub": {"command": "docker", "args": ["run", "-i", "--rm", "-e", "GITHUB_PERSONAL_ACCESS_TOKEN", "ghcr.io/github/github-mcp-server"],
               "env": {"GITHUB_PERSONAL_ACCESS_TOKEN": "ghp_abcdefghijklmnopqrstuvwxyz0123456789", "LOG_LEVEL": "debug"}},
    "brave search": {"command": "/opt/brave/server", "env": {"BRAVE_API_KEY": "BSAabcdefgh"}, "cwd": "/opt/brave"},
    "leaky": {"command": "server", "args": ["--api-key", "sk-proj-abcdefghijklmnop123456"]},
    "off": {"command": "server", "disabled": true}
  }
}"#;

/// As an editor writes it: with comments, trailing commas and inputs.
const EDITOR: &str = r#"{
  // Asked for once.
  "inputs": [{"id": "token", "type": "promptString", "password": true}],
  "servers": {
    "tracker": {
      "type": "http",
      "url": "https://tracker.example.org/mcp", /* the new one */
      "headers": {"Authorization": "Bearer ${input:token}", "X-Team": "ops // dev"},
    },
    "old": {"type": "sse", "url": "https://old.example.org/sse"},
    "query": {"url": "https://q.example.org/mcp?api_key=abcdef"},
    "local": {"type": "stdio", "command": "uvx", "args": ["mcp-server-time"], "env": {"TZ_NAME": "${env:TZ_NAME}"}},
    "nothing": {},
  },
}"#;

async fn import(text: &str, more: &[&str]) -> (Option<i32>, Vec<Value>, String, String) {
    let home = Home::new("# mine\n[mcp.local]\ncommand = [\"server\"]\n");
    let file = home.path().join("theirs.json");
    std::fs::write(&file, text).unwrap();
    let mut words = vec!["--json", "mcp", "import", file.to_str().unwrap()];
    words.extend(more);
    let (status, said) = cli(&home, &words).await;
    let rows = said
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let rows: Vec<Value> = rows.collect();
    let now = std::fs::read_to_string(home.path().join("config/config.toml")).unwrap();
    (status, rows, now, said)
}

fn row<'a>(rows: &'a [Value], original: &str) -> &'a Value {
    let found = rows.iter().find(|row| row["original"] == original);
    found.unwrap_or_else(|| panic!("{original}: {rows:#?}"))
}

#[tokio::test]
async fn servers_of_a_desktop_client_come_over_without_their_secrets() {
    let (status, rows, now, said) = import(DESKTOP, &[]).await;
    assert_eq!(status, Some(0), "{said}");
    assert!(now.starts_with("# mine\n"), "{now}");
    for secret in ["ghp_", "BSAabcdefgh", "sk-proj"] {
        assert!(!now.contains(secret) && !said.contains(secret), "{secret}");
    }
    for part in [
        "[mcp.filesystem]\ncommand = [\"npx\", \"-y\", \"@modelcontextprotocol/server-filesystem\", \"/srv/share\"]\nnetwork = true\n",
        "[mcp.github]\n",
        "environment = { LOG_LEVEL = \"debug\" }\nenvironment_env = [\"GITHUB_PERSONAL_ACCESS_TOKEN\"]\n",
        "[mcp.brave-search]\ncommand = [\"/opt/brave/server\"]\ndirectory = \"/opt/brave\"\nenvironment_env = [\"BRAVE_API_KEY\"]\n",
    ] {
        assert!(now.contains(part), "{part}: {now}");
    }
    assert!(
        !now.contains("leaky") && !now.contains("[mcp.off]"),
        "{now}"
    );
    assert!(
        row(&rows, "leaky")["problem"]
            .as_str()
            .unwrap()
            .contains("argument 2 holds a secret")
    );
    assert!(
        row(&rows, "off")["problem"]
            .as_str()
            .unwrap()
            .contains("switched off")
    );
    let notes = row(&rows, "GitHub")["notes"].to_string();
    assert!(
        notes.contains("set GITHUB_PERSONAL_ACCESS_TOKEN") && notes.contains("sandbox = false"),
        "{notes}"
    );
}

#[tokio::test]
async fn servers_of_an_editor_come_over_with_comments_and_placeholders() {
    let (status, rows, now, said) = import(EDITOR, &[]).await;
    assert_eq!(status, Some(0), "{said}");
    let table = "[mcp.tracker]\nurl = \"https://tracker.example.org/mcp\"\n\
                 headers = { Authorization = \"Bearer {secret}\", X-Team = \"ops // dev\" }\nsecret_env = \"TRACKER_SECRET\"\n";
    assert!(now.contains(table), "{now}");
    for (name, why) in [
        ("old", "SSE"),
        ("query", "holds a secret"),
        ("local", "already"),
        ("nothing", "neither `command` nor `url`"),
    ] {
        let problem = row(&rows, name)["problem"].as_str().unwrap();
        assert!(problem.contains(why), "{name}: {problem}");
        assert_eq!(row(&rows, name)["written"], false);
    }
    assert!(!now.contains("abcdef"), "{now}");
}

#[tokio::test]
async fn a_preview_and_a_choice_of_entries_write_no_more_than_they_say() {
    let (status, rows, now, said) = import(DESKTOP, &["--preview"]).await;
    assert_eq!((status, rows.len()), (Some(0), 5), "{said}");
    assert!(!now.contains("filesystem"), "{now}");
    let (status, rows, now, said) = import(DESKTOP, &["--only", "filesystem"]).await;
    assert_eq!((status, rows.len()), (Some(0), 1), "{said}");
    assert!(
        now.contains("[mcp.filesystem]") && !now.contains("github"),
        "{now}"
    );
    for (text, part) in [
        ("{", "is not JSON: line 1"),
        ("{\"a\": 1}", "mcpServers"),
        ("{\"mcpServers\": {}}", "is empty"),
    ] {
        let (status, _, _, said) = import(text, &[]).await;
        assert!(status == Some(2) && said.contains(part), "{text}: {said}");
    }
}
