//! The example of a configuration in `docs/example.toml` loads, holds the defaults, and names every setting.

use leverframe::config::environment::Environment;
use leverframe::config::file::ConfigFile;
use leverframe::config::flags::Flags;
use leverframe::config::layers::{load, load_console};
use leverframe::protocol::budget::Limit;
use leverframe::protocol::enums::Risk;
use leverframe::runtime::start;

const EXAMPLE: &str = include_str!("../../../docs/example.toml");

#[test]
fn the_configuration_example_loads() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("etc/config.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, EXAMPLE).unwrap();
    let environment: Environment = [
        ("HOME", home.path().to_str().unwrap()),
        ("ANTHROPIC_API_KEY", "not-a-key"),
        ("TELEGRAM_BOT_TOKEN", "not-a-token"),
        ("TRACKER_TOKEN", "not-a-token"),
    ]
    .into_iter()
    .collect();
    let flags = Flags {
        config: Some(file),
        data_dir: Some(home.path().join("data")),
        ..Flags::default()
    };
    let empty = home.path().join("empty/config.toml");
    std::fs::create_dir_all(empty.parent().unwrap()).unwrap();
    std::fs::write(&empty, "").unwrap();
    let elsewhere = Flags {
        config: Some(empty),
        ..flags.clone()
    };
    let tools = start::tool_names();
    let settings = load(&flags, &environment, tools).unwrap_or_else(|error| panic!("{error}"));

    assert_eq!(settings.model, "local/qwen3");
    assert_eq!(
        settings.channels["team"].workspace,
        home.path().join("bots/team")
    );
    assert_eq!(settings.tool_risk["execute_command"], Risk::High);

    // Where the example writes down a default, it is the default.
    let plain = load(
        &elsewhere,
        &[("HOME", home.path().to_str().unwrap())]
            .into_iter()
            .collect(),
        tools,
    )
    .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(settings.approvals, plain.approvals);
    assert_eq!(settings.budgets, plain.budgets);
    assert_eq!(settings.engine, plain.engine);
    assert_eq!(settings.log_filter, plain.log_filter);
    // A console on it needs no key.
    let keyless: Environment = std::iter::once(("HOME", home.path().to_str().unwrap())).collect();
    let [console, unset] = [&flags, &elsewhere]
        .map(|flags| load_console(flags, &keyless).unwrap_or_else(|error| panic!("{error}")));
    assert_eq!(
        (&console.theme, &console.keymap),
        (&unset.theme, &unset.keymap)
    );
    let (team, desk) = (&settings.channels["team"], &plain.channels["desk"]);
    assert_eq!(team.autonomy, desk.autonomy);
    assert_eq!(team.chat_max_risk, desk.chat_max_risk);
    assert_eq!(team.max_wait_seconds, desk.max_wait_seconds);
    assert_eq!(team.require_mention, desk.require_mention);
    assert_eq!(team.session_scope, desk.session_scope);
    assert_eq!(team.reply_style, desk.reply_style);
    assert_eq!(team.max_queue, desk.max_queue);
    let (local, openai) = (&settings.providers["local"], &plain.providers["openai"]);
    assert_eq!(local.max_output_tokens, openai.max_output_tokens);
    assert_eq!(local.context_window, openai.context_window);
    assert_eq!(local.max_concurrent, openai.max_concurrent);
    assert_eq!(local.idle_timeout_seconds, openai.idle_timeout_seconds);
    assert_eq!(
        local.request_timeout_seconds,
        openai.request_timeout_seconds
    );
    assert_eq!(
        local.connect_timeout_seconds,
        openai.connect_timeout_seconds
    );
    assert_eq!(
        local.first_byte_timeout_seconds,
        openai.first_byte_timeout_seconds
    );
}

/// Names of a table's fields as `Debug` prints them, so that a new one cannot be forgotten here.
fn fields(debug: &str) -> Vec<String> {
    let mut depth = 0_i32;
    let mut names = Vec::new();
    for line in debug.lines() {
        let text = line.trim();
        if depth == 1
            && let Some((name, _)) = text.split_once(": ")
        {
            names.push(name.to_owned());
        }
        depth += i32::try_from(text.matches(['{', '(', '[']).count()).unwrap();
        depth -= i32::try_from(text.matches(['}', ')', ']']).count()).unwrap();
    }
    names
}

#[test]
fn the_configuration_example_names_every_setting() {
    use leverframe::config::file as tables;
    let written = |name: &str| {
        EXAMPLE.lines().any(|line| {
            let line = line.trim_start_matches("# ").trim();
            line.starts_with(&format!("{name} =")) || line.starts_with(&format!("{name}."))
        }) || EXAMPLE.contains(&format!("[{name}]"))
            || EXAMPLE.contains(&format!("[{name}."))
            || EXAMPLE.contains(&format!(".{name}]"))
            || EXAMPLE.contains(&format!("or {name}"))
            || EXAMPLE.contains(&format!(", {name}"))
            || EXAMPLE.contains(&format!(": {name}"))
    };
    let every = [
        format!("{:#?}", ConfigFile::default()),
        format!("{:#?}", tables::ModelTable::default()),
        format!("{:#?}", tables::ProviderTable::default()),
        format!("{:#?}", tables::ChannelTable::default()),
        format!("{:#?}", tables::HookTable::default()),
        format!("{:#?}", tables::ApprovalsTable::default()),
        format!("{:#?}", tables::BudgetsTable::default()),
        format!("{:#?}", tables::EngineTable::default()),
        format!("{:#?}", tables::ConsoleTable::default()),
        format!("{:#?}", leverframe::config::log::LogTable::default()),
        format!("{:#?}", leverframe::config::backup::BackupTable::default()),
        format!("{:#?}", leverframe::config::server::ServerTable::default()),
        format!(
            "{:#?}",
            leverframe::config::telemetry::TelemetryTable::default()
        ),
        format!("{:#?}", Limit::default()),
        format!("{:#?}", tables::RetentionTable::default()),
        format!("{:#?}", tables::ResponseCacheTable::default()),
        format!("{:#?}", tables::MemoryTable::default()),
        format!("{:#?}", tables::HygieneTable::default()),
        format!("{:#?}", tables::EmbeddingsTable::default()),
        format!("{:#?}", tables::McpTable::default()),
        format!("{:#?}", tables::McpToolTable::default()),
    ];
    let names: Vec<String> = every.iter().flat_map(|table| fields(table)).collect();
    assert!(names.len() > 50, "{names:?}");
    for name in names {
        assert!(written(&name), "docs/example.toml does not show `{name}`");
    }
}
