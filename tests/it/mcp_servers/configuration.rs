//! `[mcp.NAME]`: what is taken, and what each fault says.

use std::time::Duration;

use leverframe::config::environment::Environment;
use leverframe::config::flags::Flags;
use leverframe::config::layers::load;
use leverframe::config::mcp::McpPlace;
use leverframe::config::settings::Settings;
use leverframe::runtime::start::tool_names;

fn read(text: &str) -> Result<Settings, String> {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("etc/config.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, text).unwrap();
    let environment: Environment = [
        ("HOME", home.path().to_str().unwrap()),
        ("TOKEN", "s3cret-value"),
    ]
    .into_iter()
    .collect();
    let flags = Flags {
        config: Some(file),
        data_dir: Some(home.path().join("data")),
        ..Flags::default()
    };
    load(&flags, &environment, tool_names()).map_err(|error| error.to_string())
}

#[test]
fn a_program_and_an_address_are_read_with_their_defaults() {
    let settings = read(
        "[mcp.files]\ncommand = [\"server\", \"/srv\"]\nenvironment = { LOG = \"info\" }\nenvironment_env = [\"TOKEN\", \"UNSET\"]\n\
         [mcp.web]\nurl = \"https://example.org/mcp/\"\nheaders = { Authorization = \"Bearer {secret}\" }\nsecret_env = \"TOKEN\"\n",
    )
    .unwrap();
    let files = &settings.mcp["files"];
    let McpPlace::Program(program) = &files.place else {
        panic!("{files:?}")
    };
    assert!(program.sandbox && !program.network && program.write.is_empty());
    let names: Vec<&str> = program.environment.keys().map(String::as_str).collect();
    assert_eq!(names, ["LOG", "TOKEN"]);
    assert_eq!(
        (files.trusted, files.keep),
        (false, Duration::from_secs(600))
    );
    assert_eq!(
        (files.idle_timeout, files.max_duration),
        (Duration::from_secs(60), Duration::from_secs(900))
    );
    let McpPlace::Address(address) = &settings.mcp["web"].place else {
        panic!("no address")
    };
    assert_eq!(
        address.headers["Authorization"].expose(),
        "Bearer s3cret-value"
    );
    // The redactor learns secrets, and no plain values.
    let secrets: Vec<&str> = settings.secrets().map(|secret| secret.expose()).collect();
    assert_eq!(secrets, ["s3cret-value", "s3cret-value"]);
    assert_eq!(
        settings.mcp_secrets.missing,
        [("files".to_owned(), "UNSET".to_owned())]
    );
    assert!(!format!("{settings:?}").contains("s3cret"));
}

#[test]
fn each_fault_names_the_key_what_was_expected_and_the_next_step() {
    let one = "[mcp.one]\ncommand = [\"server\"]\n";
    let cases: &[(&str, &[&str])] = &[
        (
            "[mcp.One]\ncommand = [\"x\"]\n",
            &["mcp.One", "1 to 32 of a-z"],
        ),
        ("[mcp.a__b]\ncommand = [\"x\"]\n", &["mcp.a__b", "no __"]),
        (
            "[mcp.one]\n",
            &["mcp.one", "no address and no program", "command"],
        ),
        (
            "[mcp.one]\ncommand = [\"x\"]\nurl = \"https://a\"\n",
            &["mcp.one.url", "not both"],
        ),
        (
            "[mcp.one]\ncommand = []\n",
            &["mcp.one.command", "names no program"],
        ),
        (
            "[mcp.one]\nurl = \"ftp://a\"\n",
            &["mcp.one.url", "https://"],
        ),
        (
            "[mcp.one]\nurl = \"http://example.org/mcp\"\n",
            &["mcp.one.url", "plain http"],
        ),
        (
            "[mcp.one]\nurl = \"https://u:p@example.org\"\n",
            &["mcp.one.url", "user name or password"],
        ),
        (
            "[mcp.one]\nurl = \"https://a/mcp\"\nnetwork = true\n",
            &["mcp.one.network", "no such setting"],
        ),
        (
            "[mcp.one]\nurl = \"https://a/mcp\"\nheaders = { Authorization = \"Bearer abc\" }\n",
            &["mcp.one.headers", "plain text", "{secret}"],
        ),
        (
            "[mcp.one]\nurl = \"https://a/mcp\"\nheaders = { X = \"{secret}\" }\n",
            &["mcp.one.headers", "secret_env"],
        ),
        (
            "[mcp.one]\ncommand = [\"x\"]\nenvironment = { API_KEY = \"abc\" }\n",
            &["mcp.one.environment", "plain text", "environment_env"],
        ),
        (
            "[mcp.one]\ncommand = [\"x\"]\nwrite = [\"/\"]\n",
            &["mcp.one.write", "data directory"],
        ),
        (
            "[mcp.one]\ncommand = [\"x\"]\ntimeout_seconds = 100\nmax_seconds = 50\n",
            &["mcp.one.timeout_seconds", "max_seconds"],
        ),
        (
            "[mcp.one]\ncommand = [\"x\"]\n[mcp.one.tools.t]\neffect = \"keyed\"\n",
            &["mcp.one.tools.t.key_argument", "keyed"],
        ),
        (
            "[mcp.one]\ncommand = [\"x\"]\n[mcp.one.tools.t]\ncache_seconds = 5\n",
            &["mcp.one.tools.t.cache_seconds", "read_local"],
        ),
        (
            "[channels.api]\nmcp = [\"on\"]\n[mcp.one]\ncommand = [\"x\"]\n",
            &["channels.api.mcp", "no server `on`", "one"],
        ),
    ];
    for (text, parts) in cases {
        let fault = read(text).unwrap_err();
        for part in *parts {
            assert!(fault.contains(part), "{part}: {fault}");
        }
        assert!(!fault.contains("Bearer abc"), "{fault}");
    }
    for (entry, fault) in [
        ("mcp__*", Some("every server")),
        ("mcp_*", Some("every server")),
        ("mcp__o*", Some("every server")),
        ("mcp__other__*", Some("mcp__SERVER__TOOL")),
        ("mcp__one__*", None),
        ("mcp__one__not_seen_yet", None),
        ("find_tools", None),
    ] {
        let read = read(&format!(
            "[channels.api]\nauto_approve = [\"{entry}\"]\n{one}"
        ));
        match (fault, read) {
            (Some(part), Err(fault)) => assert!(fault.contains(part), "{entry}: {fault}"),
            (None, Ok(settings)) => assert_eq!(settings.channels["api"].auto_approve, [entry]),
            (_, read) => panic!("{entry}: {read:?}"),
        }
    }
    // Stricter lists may cover all of them.
    for list in ["block", "always_ask"] {
        read(&format!("[channels.api]\n{list} = [\"mcp__*\"]\n{one}")).unwrap();
    }
    let settings = read(&format!(
        "[tools.mcp__one__pay]\nrisk = \"critical\"\n{one}"
    ))
    .unwrap();
    assert!(settings.tool_risk.contains_key("mcp__one__pay"));
}
