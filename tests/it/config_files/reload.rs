//! What a reload changes, from two readings of a configuration.

use std::os::unix::fs::PermissionsExt as _;

use leverframe::config::reload::{Plan, plan};
use leverframe::config::settings::Settings;
use leverframe::protocol::enums::ReloadEffect;

use crate::config_files::Case;

/// A file that becomes another one, and what follows.
fn reloaded(before: &str, after: &str) -> (Settings, Plan) {
    let case = Case::new(before);
    let running = case.settings();
    std::fs::write(case.file(), after).unwrap();
    let plan = plan(&running, case.settings());
    (running, plan)
}

/// Key and effect of every change.
fn effects(plan: &Plan) -> Vec<(&str, ReloadEffect)> {
    let changes = plan.changes.iter();
    changes
        .map(|change| (change.key.as_str(), change.effect))
        .collect()
}

#[test]
fn the_same_file_changes_nothing() {
    let text = "[approvals]\nlife_seconds = 600\n";
    let (running, plan) = reloaded(text, text);
    assert_eq!(plan.changes, []);
    assert_eq!(plan.settings, running);
}

#[test]
fn what_can_change_changes_and_the_rest_waits() {
    let before = "instance = \"one\"\n[approvals]\nlife_seconds = 600\n[budgets]\nmax_steps = 5\n\
                  [engine]\nmax_running = 3\n[console]\ntheme = \"light\"\n[channels.desk]\nautonomy = \"supervised\"\n";
    let after = "instance = \"two\"\n[approvals]\nlife_seconds = 900\n\
                 [engine]\nmax_running = 4\nhistory_exchanges = 9\n[console]\ntheme = \"dark\"\n\
                 [channels.desk]\nautonomy = \"full\"\nblock = [\"write_file\"]\nmax_queue = 7\n";
    let (running, plan) = reloaded(before, after);
    assert_eq!(
        effects(&plan),
        [
            ("approvals.life_seconds", ReloadEffect::Now),
            ("budgets.max_steps", ReloadEffect::Now),
            ("channels.desk.autonomy", ReloadEffect::Policy),
            ("channels.desk.block", ReloadEffect::Policy),
            ("channels.desk.max_queue", ReloadEffect::Now),
            ("console.theme", ReloadEffect::NextConsole),
            ("engine.history_exchanges", ReloadEffect::Now),
            ("engine.max_running", ReloadEffect::Restart),
            ("instance", ReloadEffect::Restart),
        ]
    );
    let steps = &plan.changes[1];
    assert_eq!((steps.before.as_deref(), &steps.after), (Some("5"), &None));
    let now = &plan.settings;
    assert_eq!(now.approvals.life_seconds, 900);
    assert_eq!(now.budgets.turn.max_steps, 8);
    assert_eq!(now.engine.history_exchanges, 9);
    assert_eq!(now.channels["desk"].max_queue, 7);
    assert_eq!(now.engine.max_running, running.engine.max_running);
    assert_eq!(now.instance, "one");
}

#[test]
fn what_waits_is_told_until_the_restart_and_no_longer_when_it_is_taken_back() {
    let (before, after) = ("instance = \"one\"\n", "instance = \"two\"\n");
    let case = Case::new(before);
    let running = case.settings();
    std::fs::write(case.file(), after).unwrap();
    let first = plan(&running, case.settings());
    let second = plan(&first.settings, case.settings());
    assert_eq!(second.changes, first.changes);
    std::fs::write(case.file(), before).unwrap();
    assert_eq!(plan(&second.settings, case.settings()).changes, []);
}

#[test]
fn channels_that_come_or_go_wait_for_a_restart() {
    let telegram = "[model]\nallow_scripted_on_channels = true\n[channels.NAME]\nkind = \"telegram\"\ntoken_env = \"T\"\n";
    let case = Case::new(&telegram.replace("NAME", "one")).env("T", "1:a");
    let running = case.settings();
    std::fs::write(case.file(), telegram.replace("NAME", "two")).unwrap();
    let plan = plan(&running, case.settings());
    assert_eq!(
        effects(&plan),
        [
            ("channels.one.kind", ReloadEffect::Restart),
            ("channels.one.token_env", ReloadEffect::Restart),
            ("channels.two.kind", ReloadEffect::Restart),
            ("channels.two.token_env", ReloadEffect::Restart),
        ]
    );
    assert_eq!(plan.settings.channels, running.channels);
}

#[test]
fn a_channel_that_is_gone_holds_no_channel_back_whose_name_begins_the_same() {
    let table = "[model]\nallow_scripted_on_channels = true\n[channels.one]\nkind = \"telegram\"\ntoken_env = \"T\"\n\
                 [channels.one_more]\nkind = \"telegram\"\ntoken_env = \"U\"\nmax_queue = 3\n";
    let (gone, _) = table.split_once("[channels.one]").unwrap();
    let (_, stays) = table.split_once("[channels.one_more]").unwrap();
    let case = Case::new(table).env("T", "1:a").env("U", "2:b");
    let running = case.settings();
    let after = format!("{gone}[channels.one_more]{}", stays.replace("= 3", "= 4"));
    std::fs::write(case.file(), after).unwrap();
    let plan = plan(&running, case.settings());
    let effects = effects(&plan);
    assert!(
        effects.contains(&("channels.one_more.max_queue", ReloadEffect::Now)),
        "{effects:?}"
    );
    assert_eq!(plan.settings.channels["one_more"].max_queue, 4);
}

#[test]
fn the_limits_of_the_listener_wait_for_a_restart() {
    let before = "[server]\nmax_connections = 100\n";
    let after = "[server]\nmax_connections = 200\nmax_connections_per_principal = 20\nrequests_per_minute = 0\n";
    let (running, plan) = reloaded(before, after);
    assert_eq!(
        effects(&plan),
        [
            ("server.max_connections", ReloadEffect::Restart),
            (
                "server.max_connections_per_principal",
                ReloadEffect::Restart
            ),
            ("server.requests_per_minute", ReloadEffect::Restart),
        ]
    );
    assert_eq!(plan.settings.listener_limits, running.listener_limits);
}

#[test]
fn another_content_of_a_key_file_is_a_change_though_the_file_says_the_same() {
    let case = Case::new("");
    let key = case.file().with_file_name("key");
    std::fs::write(&key, "sk-one").unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let text = format!("[providers.openai]\napi_key_file = \"{}\"\n", key.display());
    std::fs::write(case.file(), text).unwrap();
    let running = case.settings();
    std::fs::write(&key, "sk-two").unwrap();
    let plan = plan(&running, case.settings());
    assert_eq!(
        effects(&plan),
        [("providers.openai.api_key", ReloadEffect::Now)]
    );
    let change = &plan.changes[0];
    assert_eq!((&change.before, &change.after), (&None, &None));
    let secret = plan.settings.providers["openai"].api_key.clone().unwrap();
    assert_eq!(secret.expose(), "sk-two");
}

#[test]
fn a_second_reload_finds_just_what_waits_for_a_restart() {
    // Each table of the example alone, and each but one: whatever differs, one reload takes all of it that it can.
    let example = include_str!("../../../docs/example.toml");
    let tables = [
        "[approvals]",
        "[budgets.day]",
        "[engine]",
        "[retention]",
        "[response_cache]",
        "[memory]",
        "[memory.hygiene]",
    ];
    let mut texts = vec![String::new()];
    for table in tables {
        let from = example
            .find(&format!("\n{table}"))
            .unwrap_or_else(|| panic!("{table}"));
        let rest = &example[from + 1..];
        let end = rest[1..].find("\n[").map_or(rest.len(), |end| end + 1);
        texts.push(rest[..end].replace(" = 1", " = 2"));
        texts.push(rest[..end].to_owned());
    }
    let mut waiting = 0;
    for before in &texts {
        for after in &texts {
            let case = Case::new(before);
            let running = case.settings();
            std::fs::write(case.file(), after).unwrap();
            let first = plan(&running, case.settings());
            let second = plan(&first.settings, case.settings());
            let restart = first
                .changes
                .iter()
                .filter(|change| change.effect == ReloadEffect::Restart);
            let restart: Vec<_> = restart.cloned().collect();
            waiting += restart.len();
            assert_eq!(second.changes, restart, "{before}\n---\n{after}");
            assert_eq!(second.settings, first.settings, "{before}\n---\n{after}");
        }
    }
    assert!(waiting > 0);
}
