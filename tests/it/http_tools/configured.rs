//! What the configuration says of tools that speak HTTP.

use crate::support::daemon::Home;

/// What a daemon says that does not start.
fn refusal(config: &str) -> String {
    let home = Home::new(config);
    let output = home.command().arg("--daemon").output().expect("it ends");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[tokio::test]
async fn without_its_table_there_is_no_such_tool() {
    let daemon_of = |config: &str| {
        let home = Home::new(config);
        let daemon = home.daemon();
        (home, daemon)
    };
    let (_home, daemon) = daemon_of("");
    let names = |tools: &serde_json::Value| tools["items"].to_string();
    assert!(!names(&daemon.get("/v1/tools").await).contains("http_fetch"));
    let (_home, daemon) =
        daemon_of("[tools.http_fetch]\n[channels.api]\nalways_ask = [\"http_fetch\"]\n");
    assert!(names(&daemon.get("/v1/tools").await).contains("http_fetch"));
}

#[test]
fn a_setting_that_cannot_be_used_is_named() {
    for (config, says) in [
        (
            "[tools.http_fetch]\nallow = [\"*\"]\n",
            "tools.http_fetch.allow: `*` would list every host",
        ),
        (
            "[tools.http_fetch]\nallow = [\"https://docs.rs\"]\n",
            "`https://docs.rs` is no host",
        ),
        (
            "[tools.http_fetch]\ndeny = [\"docs.rs:443\"]\n",
            "`docs.rs:443` is no host",
        ),
        (
            "[tools.http_fetch]\nports = [0]\n",
            "tools.http_fetch.ports: 0 is no port",
        ),
        (
            "[tools.http_fetch]\ntimeout_seconds = 0\n",
            "a number from 1 to 600",
        ),
        (
            "[tools.write_file]\nmax_kib = 3\n",
            "tools.write_file.max_kib: `write_file` has no such setting",
        ),
        (
            "[tools.http_fetch]\ncache_seconds = 90000\n",
            "a number from 0 to 86400",
        ),
        (
            "[tools.x]\nkind = \"http\"\ndescription = \"d\"\nmethod = \"POST\"\nurl = \"https://a.example/x\"\ncache_seconds = 5\n",
            "does more than read",
        ),
        (
            "[tools.write_file]\n",
            "tools.write_file: `risk` is missing",
        ),
        ("[tools.http_fech]\n", "did you mean"),
        (
            "[channels.api]\nauto_approve = [\"http_fetch\"]\n",
            "there is no tool `http_fetch`",
        ),
    ] {
        let said = refusal(config);
        assert!(said.contains(says), "{config}: {said}");
    }
}
