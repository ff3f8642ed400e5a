//! What `leverframe init` writes loads again.

use leverframe::config::edit::NewChannel;
use leverframe::config::template::{
    InitChoices, ModelChoice, OwnerChoice, STARTER_AUTO_APPROVE, SecretChoice, ToldChoice,
    render_template,
};
use leverframe::protocol::enums::{Autonomy, ChannelKind, Role};

use crate::config_files::Case;

/// Commented settings switched on: a line that starts with `# ` and looks like TOML.
fn uncommented(text: &str) -> String {
    let switched = text.lines().map(|line| match line.strip_prefix("# ") {
        Some(rest)
            if rest.starts_with('[')
                || rest
                    .split_once(" = ")
                    .is_some_and(|(key, _)| !key.contains(' ')) =>
        {
            rest
        }
        _ => line,
    });
    switched.collect::<Vec<_>>().join("\n")
}

fn channel(kind: &'static str, key: &str, place: &str) -> NewChannel {
    let starter = STARTER_AUTO_APPROVE.iter().map(|tool| (*tool).to_owned());
    NewChannel {
        kind,
        texts: vec![(key.to_owned(), place.to_owned())],
        lists: vec![
            ("allowed_users", vec!["123456".to_owned()]),
            ("auto_approve", starter.collect()),
        ],
        ..NewChannel::default()
    }
}

fn full() -> InitChoices {
    InitChoices {
        model: ModelChoice::Server {
            provider: "local".to_owned(),
            model: "llama \"3\"".to_owned(),
            kind: "openai-chat",
            base_url: "http://127.0.0.1:8080/v1".to_owned(),
            key: Some(SecretChoice::Env("LOCAL_KEY".to_owned())),
            told: ToldChoice {
                tools: Some(false),
                context_window: Some(16_384),
            },
        },
        channels: vec![
            (
                "team".to_owned(),
                channel("telegram", "token_env", "TELEGRAM_BOT_TOKEN"),
            ),
            (
                "guild".to_owned(),
                channel("discord", "token_env", "DISCORD_BOT_TOKEN"),
            ),
        ],
        owner: Some(OwnerChoice {
            name: "Anna Ö".to_owned(),
            ids: vec!["telegram:123456".to_owned()],
        }),
    }
}

#[test]
fn every_choice_loads_as_chosen() {
    let text = render_template(&full());
    let settings = Case::new(&text)
        .env("LOCAL_KEY", "sk-x")
        .env("TELEGRAM_BOT_TOKEN", "1:a")
        .env("DISCORD_BOT_TOKEN", "d")
        .settings();
    assert_eq!(settings.model, "local/llama \"3\"");
    assert_eq!(
        settings.providers["local"].base_url,
        "http://127.0.0.1:8080/v1"
    );
    let told = &settings.providers["local"].tuning.models["llama \"3\""];
    assert_eq!(
        (told.tools, told.context_window),
        (Some(false), Some(16_384))
    );
    let team = &settings.channels["team"];
    assert_eq!(team.autonomy, Autonomy::Supervised);
    assert_eq!(settings.channels["guild"].kind, ChannelKind::Discord);
    assert_eq!(team.auto_approve, STARTER_AUTO_APPROVE);
    assert_eq!(team.allowed_users, ["123456"]);
    assert_eq!(settings.people["Anna Ö"].role, Role::Owner);
}

#[test]
fn the_bare_template_and_the_named_model_load() {
    Case::new(&render_template(&InitChoices::default())).settings();
    let choices = InitChoices {
        model: ModelChoice::Named {
            model: "anthropic/some-model".to_owned(),
        },
        ..InitChoices::default()
    };
    let case = Case::new(&render_template(&choices)).env("ANTHROPIC_API_KEY", "sk-ant");
    assert_eq!(case.settings().model, "anthropic/some-model");
}

#[test]
fn a_token_file_loads() {
    let mut choices = full();
    choices.channels = vec![(
        "team".to_owned(),
        channel("telegram", "token_file", "~/token"),
    )];
    let case = Case::new(&render_template(&choices)).env("LOCAL_KEY", "sk-x");
    std::fs::write(case.home().join("token"), "1:a\n").unwrap();
    let closed = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(case.home().join("token"), closed).unwrap();
    assert_eq!(
        case.settings().channels["team"]
            .platform
            .token
            .as_ref()
            .unwrap()
            .expose(),
        "1:a"
    );
}

#[test]
fn the_commented_settings_are_right_too() {
    let text = uncommented(&render_template(&InitChoices::default()));
    assert!(
        text.contains("\n[channels.team]") && text.contains("\nmax_steps = 8"),
        "{text}"
    );
    let case = Case::new(&text.replace("<model>\"", "m\""))
        .env("TELEGRAM_BOT_TOKEN", "1:a")
        .env("ANTHROPIC_API_KEY", "sk-ant")
        .env("OPENAI_API_KEY", "sk-o");
    let settings = case.settings();
    assert_eq!(settings.budgets.turn.max_steps, 8);
    assert_eq!(settings.channels["team"].allowed_users, ["123456"]);
}
