//! Which layer wins, and the defaults.

use std::net::SocketAddr;

use leverframe::config::settings::{ProviderKind, ReplyStyle, SelfApproval, SessionScope};
use leverframe::protocol::enums::{Autonomy, ChannelKind, Risk, Role};

use crate::config_files::Case;

#[test]
fn defaults() {
    let case = Case::without_file();
    let settings = case.settings();
    assert_eq!(settings.model, "scripted/demo");
    let names: Vec<&str> = settings.channels.keys().map(String::as_str).collect();
    assert_eq!(names, ["api", "cli", "desk", "gate", "mcp", "routine"]);
    for (name, channel) in &settings.channels {
        let autonomy = match name.as_str() {
            "gate" => Autonomy::SemiAuto,
            _ => Autonomy::Supervised,
        };
        assert_eq!(channel.autonomy, autonomy, "{name}");
        assert!(channel.auto_approve.is_empty() && channel.allowed_users.is_empty());
        assert_eq!((channel.max_wait_seconds, channel.max_queue), (600, 10));
        assert_eq!(channel.chat_max_risk, Risk::Medium);
        let workspace = format!(".local/share/leverframe-workspaces/{name}");
        assert_eq!(channel.workspace, case.home().join(workspace));
    }
    let budgets = settings.budgets.turn;
    assert_eq!((budgets.max_steps, budgets.max_tool_calls), (8, 16));
    assert_eq!(
        (budgets.max_active_ms, budgets.max_tokens),
        (120_000, 100_000)
    );
    let approvals = &settings.approvals;
    assert_eq!(approvals.self_approval, SelfApproval::Console);
    assert_eq!(
        (approvals.life_seconds, approvals.high_risk_life_seconds),
        (86_400, 14_400)
    );
    assert_eq!(
        approvals.approve_grace_seconds, 0,
        "what is allowed starts at once"
    );
    assert_eq!(
        (
            approvals.max_pending_per_session,
            approvals.max_pending_per_channel
        ),
        (5, 50)
    );
    let engine = settings.engine;
    assert_eq!(
        (
            engine.max_running,
            engine.max_model_attempts,
            engine.history_exchanges,
            engine.shutdown_grace_seconds,
            engine.run_growth_mib
        ),
        (16, 3, 6, 20, 1024)
    );
    assert_eq!(settings.listen, None);
    assert_eq!(settings.log_filter, "info");
    assert!(!settings.log_json && !settings.demo);
}

#[test]
fn the_file_of_the_contract() {
    let case = Case::new(
        r#"
[model]
default = "local/some-model"
[providers.local]
kind = "openai-chat"
base_url = "http://127.0.0.1:8080/v1/"
api_key_env = "OPENAI_API_KEY"
[channels.team]
kind = "telegram"
token_env = "TELEGRAM_BOT_TOKEN"
api_base = "https://api.telegram.org"
autonomy = "supervised"
auto_approve = []
block = []
always_ask = []
allowed_users = ["123456"]
allowed_chats = ["-100123"]
approval_to = ["anna"]
chat_max_risk = "medium"
max_wait_seconds = 600
workspace = "~/bots/team"
[people.anna]
ids = ["telegram:123456", "discord:42"]
role = "owner"
[approvals]
self_approval = "console"
[tools.write_file]
risk = "critical"
"#,
    )
    .env("OPENAI_API_KEY", "sk-local\n")
    .env("TELEGRAM_BOT_TOKEN", "123:abc");
    let settings = case.settings();
    assert_eq!(settings.model, "local/some-model");
    let local = &settings.providers["local"];
    assert_eq!(
        (local.kind, local.base_url.as_str()),
        (ProviderKind::OpenAiChat, "http://127.0.0.1:8080/v1")
    );
    assert_eq!(local.api_key.as_ref().unwrap().expose(), "sk-local");
    let team = &settings.channels["team"];
    assert_eq!(team.kind, ChannelKind::Telegram);
    assert_eq!(team.platform.token.as_ref().unwrap().expose(), "123:abc");
    assert_eq!(team.workspace, case.home().join("bots/team"));
    assert_eq!(
        (team.session_scope, team.reply_style),
        (SessionScope::Chat, ReplyStyle::Progress)
    );
    assert_eq!(team.approval_to, ["anna"]);
    assert_eq!(settings.people["anna"].role, Role::Owner);
    assert_eq!(settings.tool_risk["write_file"], Risk::Critical);
    let shown = format!("{settings:?}");
    assert!(
        !shown.contains("sk-local") && !shown.contains("123:abc"),
        "Debug prints a secret"
    );
}

#[test]
fn flags_before_environment_before_file() {
    let text = "[model]\ndefault = \"scripted/file\"\n[log]\nfilter = \"warn\"\n[console]\ntheme = \"a\"\n[server]\nlisten = \"127.0.0.1:1\"\n";
    let file = Case::new(text);
    assert_eq!(file.settings().model, "scripted/file");
    assert_eq!(file.settings().log_filter, "warn");
    assert_eq!(file.console().theme, "a");
    let variable = Case::new(text)
        .env("LEVERFRAME_MODEL", "scripted/variable")
        .env("LEVERFRAME_LOG", "debug");
    assert_eq!(variable.settings().model, "scripted/variable");
    assert_eq!(variable.settings().log_filter, "debug");
    let flag = variable.flags(|flags| {
        flags.model = Some("scripted/flag".to_owned());
        flags.theme = Some("b".to_owned());
        flags.listen = Some("localhost:0".to_owned());
    });
    let settings = flag.settings();
    assert_eq!(settings.model, "scripted/flag");
    assert_eq!(flag.console().theme, "b");
    assert_eq!(settings.listen, Some(SocketAddr::from(([127, 0, 0, 1], 0))));
}

/// A file of before the name changed.
#[test]
fn the_old_name_of_the_grace_is_taken() {
    for name in ["approve_grace_seconds", "undo_seconds"] {
        let case = Case::new(&format!("[approvals]\n{name} = 4\n"));
        assert_eq!(case.settings().approvals.approve_grace_seconds, 4, "{name}");
    }
}

#[test]
fn channel_variables() {
    let text = "[channels.api]\nautonomy = \"full\"\nauto_approve = [\"read_file\"]\nmax_wait_seconds = 5\n";
    let settings = Case::new(text)
        .env("LEVERFRAME_CHANNEL_API_AUTONOMY", "semi_auto")
        .env(
            "LEVERFRAME_CHANNEL_API_AUTO_APPROVE",
            "list_files, search_files,",
        )
        .env("LEVERFRAME_CHANNEL_API_BLOCK", "write_*")
        .env("LEVERFRAME_CHANNEL_API_MAX_WAIT_SECONDS", "7")
        .env("LEVERFRAME_CHANNEL_DESK_AUTO_APPROVE", "")
        .settings();
    let api = &settings.channels["api"];
    assert_eq!(api.autonomy, Autonomy::SemiAuto);
    assert_eq!(api.auto_approve, ["list_files", "search_files"]);
    assert_eq!(api.block, ["write_*"]);
    assert_eq!(api.max_wait_seconds, 7);
    assert_eq!(settings.channels["desk"].autonomy, Autonomy::Supervised);
}

#[test]
fn an_empty_variable_empties_a_list() {
    let text = "[channels.api]\nauto_approve = [\"read_file\"]\n";
    let case = Case::new(text).env("LEVERFRAME_CHANNEL_API_AUTO_APPROVE", "");
    assert!(case.settings().channels["api"].auto_approve.is_empty());
}

#[test]
fn names_with_a_hyphen_are_found_and_clashes_refused() {
    let channel = |name: &str| {
        format!("[channels.{name}]\nkind = \"telegram\"\ntoken_command = \"echo 1:a\"\n")
    };
    let head = "[model]\nallow_scripted_on_channels = true\n";
    let one = Case::new(&format!("{head}{}", channel("my-team")))
        .env("LEVERFRAME_CHANNEL_MY_TEAM_AUTONOMY", "full");
    assert_eq!(one.settings().channels["my-team"].autonomy, Autonomy::Full);
    let two = Case::new(&format!(
        "{head}{}{}",
        channel("my-team"),
        channel("my_team")
    ))
    .env("LEVERFRAME_CHANNEL_MY_TEAM_AUTONOMY", "full");
    assert!(two.error().to_string().contains("fits two channels"));
}

#[test]
fn wrong_channel_variables_are_errors() {
    for (name, value, part) in [
        (
            "LEVERFRAME_CHANNEL_API_AUTONOMY",
            "ful",
            "did you mean `full`?",
        ),
        (
            "LEVERFRAME_CHANNEL_API_MAX_WAIT_SECONDS",
            "soon",
            "a whole number",
        ),
        ("LEVERFRAME_CHANNEL_API_BLOCK", "bsh", "no tool `bsh`"),
        (
            "LEVERFRAME_CHANNEL_APY_BLOCK",
            "write_file",
            "did you mean `LEVERFRAME_CHANNEL_API_BLOCK`?",
        ),
    ] {
        let error = Case::new("").env(name, value).error().to_string();
        assert!(
            error.contains(&format!("environment variable {name}: ")) && error.contains(part),
            "{error}"
        );
    }
}

#[test]
fn a_key_makes_a_provider_available_but_chooses_nothing() {
    let case = Case::new("")
        .env("ANTHROPIC_API_KEY", "sk-ant-x")
        .env("OPENAI_BASE_URL", "http://127.0.0.1:9/v1/");
    let settings = case.settings();
    assert_eq!(settings.model, "scripted/demo");
    assert_eq!(
        settings.providers["anthropic"]
            .api_key
            .as_ref()
            .unwrap()
            .expose(),
        "sk-ant-x"
    );
    assert_eq!(
        settings.providers["openai"].base_url,
        "http://127.0.0.1:9/v1"
    );
    // A server of one's own may want no key.
    let named = case.flags(|flags| flags.model = Some("openai/x".to_owned()));
    assert_eq!(named.settings().model, "openai/x");
}

#[test]
fn gemini_and_ollama_are_known() {
    for (variable, second) in [
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        ("GOOGLE_API_KEY", "X"),
    ] {
        let case = Case::new("").env(variable, "g-1 ").env(second, "g-2");
        let settings = case.settings();
        assert_eq!(settings.model, "scripted/demo", "a key chooses nothing");
        let gemini = &settings.providers["gemini"];
        assert_eq!(gemini.kind, ProviderKind::Gemini);
        assert_eq!(gemini.api_key.as_ref().unwrap().expose(), "g-1");
        assert_eq!(gemini.base_url, "https://generativelanguage.googleapis.com");
    }
    let case = Case::new("").flags(|flags| flags.model = Some("ollama/qwen3".to_owned()));
    let settings = case.settings();
    let ollama = &settings.providers["ollama"];
    assert_eq!(ollama.kind, ProviderKind::Ollama);
    assert!(ollama.api_key.is_none(), "it wants no key");
    assert_eq!(ollama.base_url, "http://127.0.0.1:11434");
    assert_eq!(
        ollama.context_window, 16_384,
        "the server reserves memory for it"
    );
    // A file of one's own may say where another one is, or that a server of this kind has another name.
    let case = Case::new("[providers.gpu]\nkind = \"ollama\"\nbase_url = \"http://gpu:11434/\"\n");
    assert_eq!(
        case.settings().providers["gpu"].base_url,
        "http://gpu:11434"
    );
}

#[test]
fn ollama_host_is_read_as_ollama_writes_it() {
    for (given, address) in [
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:8080", "http://127.0.0.1:8080"),
        (":8080", "http://127.0.0.1:8080"),
        ("gpu", "http://gpu:11434"),
        ("gpu:1234", "http://gpu:1234"),
        ("\"gpu:1234\"", "http://gpu:1234"),
        ("http://gpu:1234/", "http://gpu:1234"),
        ("https://gpu.example.org", "https://gpu.example.org"),
        (
            "https://gpu.example.org/ollama",
            "https://gpu.example.org/ollama",
        ),
        ("http://0.0.0.0:11434", "http://127.0.0.1:11434"),
        ("[::]:8080", "http://[::1]:8080"),
        ("::1", "http://[::1]:11434"),
        ("[fd00::1]", "http://[fd00::1]:11434"),
    ] {
        let settings = Case::new("").env("OLLAMA_HOST", given).settings();
        assert_eq!(settings.providers["ollama"].base_url, address, "{given}");
    }
    // Its native address is of no use to a table that means the compatible one.
    let file =
        "[providers.ollama]\nkind = \"openai-chat\"\nbase_url = \"http://127.0.0.1:11434/v1\"\n";
    let settings = Case::new(file).env("OLLAMA_HOST", "gpu").settings();
    assert_eq!(
        settings.providers["ollama"].base_url,
        "http://127.0.0.1:11434/v1"
    );
    let error = Case::new("")
        .env("OLLAMA_HOST", "ftp://gpu")
        .error()
        .to_string();
    assert!(
        error.contains("environment variable OLLAMA_HOST: "),
        "{error}"
    );
}

#[test]
fn the_responses_api_of_openai_takes_the_same_key() {
    let key = |name: &str, file: &str| {
        let case = Case::new(file).env("OPENAI_API_KEY", "sk-same");
        let provider = case.settings().providers[name].clone();
        assert_eq!(provider.kind, ProviderKind::OpenAiResponses);
        let key = provider.api_key.map(|key| key.expose().to_owned());
        (provider.base_url, key)
    };
    let own = (
        "https://api.openai.com/v1".to_owned(),
        Some("sk-same".to_owned()),
    );
    let kind = "kind = \"openai-responses\"\n";
    assert_eq!(key("openai", &format!("[providers.openai]\n{kind}")), own);
    assert_eq!(key("gpt", &format!("[providers.gpt]\n{kind}")), own);
    // Another server never gets it by itself.
    let elsewhere = format!("[providers.local]\n{kind}base_url = \"http://127.0.0.1:9/v1\"\n");
    assert_eq!(
        key("local", &elsewhere),
        ("http://127.0.0.1:9/v1".to_owned(), None)
    );
    let keyless = Case::new(&format!(
        "[model]\ndefault = \"gpt/x\"\n[providers.gpt]\n{kind}"
    ));
    let error = keyless.error().to_string();
    assert!(
        error.contains("`gpt` has no key") && error.contains("OPENAI_API_KEY"),
        "{error}"
    );
}

#[test]
fn the_demo_ignores_file_and_keys() {
    let case = Case::new("this is not = = toml")
        .env("ANTHROPIC_API_KEY", "sk-ant-x")
        .env("LEVERFRAME_MODEL", "nobody/x");
    let case = case.flags(|flags| {
        flags.demo = true;
        flags.data_dir = Some("/tmp/leverframe-demo-x/data".into());
    });
    let settings = case.settings();
    assert!(settings.demo);
    assert_eq!(settings.model, "scripted/demo");
    assert_eq!(settings.providers.keys().collect::<Vec<_>>(), ["scripted"]);
    let scripted: Vec<_> = settings
        .channels
        .values()
        .filter(|c| c.kind == ChannelKind::Scripted)
        .collect();
    assert_eq!(scripted.len(), 3);
    assert!(
        scripted
            .iter()
            .all(|channel| channel.autonomy == Autonomy::SemiAuto)
    );
}

#[test]
fn directories_by_flag_variable_and_platform() {
    let case = Case::new("");
    let paths = case.settings().paths;
    let data = case.home().join(".local/share/leverframe");
    assert_eq!(paths.data_dir, data);
    assert_eq!(paths.config_file, case.file());
    assert_eq!(paths.runtime_dir, None);
    let case = case.env("LEVERFRAME_DATA_DIR", "~/d/../e");
    assert_eq!(case.settings().paths.data_dir, case.home().join("e"));
    let case = case.flags(|flags| flags.data_dir = Some("/y".into()));
    assert_eq!(case.settings().paths.data_dir, std::path::Path::new("/y"));
}

#[test]
fn a_named_file_may_lie_beside_the_default_workspaces() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("my.toml"), "").unwrap();
    let case = Case::without_file().flags(|flags| {
        flags.config = Some(dir.path().join("my.toml"));
        flags.data_dir = Some(dir.path().join("data"));
    });
    assert_eq!(
        case.settings().channels["api"].workspace,
        dir.path().join("data-workspaces/api")
    );
    for workspace in [".", "themes/x", "my.toml"] {
        std::fs::write(
            dir.path().join("my.toml"),
            format!("[channels.api]\nworkspace = \"{workspace}\"\n"),
        )
        .unwrap();
        assert!(case.error().to_string().contains("overlaps"), "{workspace}");
    }
}
