//! What a reload changes: which settings of a configuration that was read again come into use while the engine runs,
//! and which wait for a restart.
//!
//! Nothing here reads a file or touches the engine. Each setting is named, so that a new one cannot be forgotten.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::config::platform::PlatformSettings;
use crate::config::server::ListenerLimits;
use crate::config::settings::{
    ChannelSettings, EngineSettings, MemorySettings, ProviderSettings, Settings, Source,
};
use crate::protocol::configuration::SettingChange;
use crate::protocol::enums::ReloadEffect;

/// The keys of a channel that become part of its stored policy.
const POLICY_KEYS: [&str; 4] = ["autonomy", "auto_approve", "block", "always_ask"];

/// What follows from a configuration that was read again.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The settings to go by: those that need a restart are as they were.
    pub settings: Settings,
    /// What differs from the settings in use, by key.
    pub changes: Vec<SettingChange>,
}

/// Compares a configuration that was read again with the one in use.
pub fn plan(running: &Settings, mut loaded: Settings) -> Plan {
    let mut pins = Pins::default();
    let Settings {
        // The command line and the environment give these, and both are as they were.
        paths: _,
        demo: _,
        source: _,
        instance,
        // These come into use at once.
        model: _,
        fallback: _,
        providers: _,
        tables: _,
        people: _,
        approvals: _,
        escalation: _,
        budgets: _,
        retention: _,
        backup: _,
        hygiene: _,
        attachments: _,
        datasets: _,
        transcription: _,
        tool_risk: _,
        key_files: _,
        mcp: _,
        mcp_secrets: _,
        channels,
        engine,
        memory,
        response_cache,
        hooks,
        skills,
        fetch,
        bash,
        python,
        http_tools,
        listen,
        tls,
        listener_limits,
        log_filter,
        log_json,
        log_file,
        telemetry,
    } = running;
    loaded.paths = running.paths.clone();
    pins.pin("instance", instance, &mut loaded.instance);
    pins.pin("hooks", hooks, &mut loaded.hooks);
    pins.pin("skills", skills, &mut loaded.skills);
    pins.pin("tools.http_fetch", fetch, &mut loaded.fetch);
    pins.pin("tools.bash", bash, &mut loaded.bash);
    pins.pin("tools.python", python, &mut loaded.python);
    // The registry of tools is made at the start.
    let names: BTreeSet<&String> = http_tools.keys().chain(loaded.http_tools.keys()).collect();
    for name in names {
        if http_tools.get(name) != loaded.http_tools.get(name) {
            pins.keys.push(format!("tools.{name}"));
        }
    }
    loaded.http_tools.clone_from(http_tools);
    pins.pin("server.listen", listen, &mut loaded.listen);
    pins.pin("server.tls", tls, &mut loaded.tls);
    pin_listener(&mut pins, listener_limits, &mut loaded.listener_limits);
    pins.pin("log.filter", log_filter, &mut loaded.log_filter);
    pins.pin("log.json", log_json, &mut loaded.log_json);
    pins.pin("log.file", &log_file.path, &mut loaded.log_file.path);
    let bytes = &mut loaded.log_file.max_bytes;
    pins.pin("log.max_mib", &log_file.max_bytes, bytes);
    pins.pin("log.keep", &log_file.keep, &mut loaded.log_file.keep);
    pins.pin("telemetry", telemetry, &mut loaded.telemetry);
    pins.pin("response_cache", response_cache, &mut loaded.response_cache);
    pin_engine(&mut pins, engine, &mut loaded.engine);
    pin_memory(&mut pins, memory, &mut loaded.memory);
    pin_channels(&mut pins, channels, &mut loaded.channels);
    let mut changes = written(&running.source, &loaded.source, &pins);
    changes.extend(unwritten(running, &loaded, &pins, &changes));
    changes.sort_by(|one, other| one.key.cmp(&other.key));
    // What waits for a restart differs at the next reload too.
    for change in &changes {
        if change.effect == ReloadEffect::Restart {
            match &change.before {
                Some(before) => loaded
                    .source
                    .values
                    .insert(change.key.clone(), before.clone()),
                None => loaded.source.values.remove(&change.key),
            };
        }
    }
    Plan {
        settings: loaded,
        changes,
    }
}

fn pin_listener(pins: &mut Pins, running: &ListenerLimits, loaded: &mut ListenerLimits) {
    let ListenerLimits {
        connections,
        connections_per_principal,
        requests_per_minute,
    } = running;
    pins.pin(
        "server.max_connections",
        connections,
        &mut loaded.connections,
    );
    pins.pin(
        "server.max_connections_per_principal",
        connections_per_principal,
        &mut loaded.connections_per_principal,
    );
    pins.pin(
        "server.requests_per_minute",
        requests_per_minute,
        &mut loaded.requests_per_minute,
    );
}

fn pin_engine(pins: &mut Pins, running: &EngineSettings, loaded: &mut EngineSettings) {
    let EngineSettings {
        max_running,
        run_growth_mib,
        one_tool_per_step: _,
        max_model_attempts: _,
        history_exchanges: _,
        history_share: _,
        shutdown_grace_seconds: _,
    } = running;
    pins.pin("engine.max_running", max_running, &mut loaded.max_running);
    pins.pin(
        "engine.run_growth_mib",
        run_growth_mib,
        &mut loaded.run_growth_mib,
    );
}

fn pin_memory(pins: &mut Pins, running: &MemorySettings, loaded: &mut MemorySettings) {
    let MemorySettings {
        embeddings,
        compaction: _,
        compaction_model: _,
        compaction_share: _,
        compaction_exchanges: _,
    } = running;
    pins.pin("memory.embeddings", embeddings, &mut loaded.embeddings);
}

/// A channel that came or went, and what a channel's bridge is made of, wait for a restart.
fn pin_channels(
    pins: &mut Pins,
    running: &BTreeMap<String, ChannelSettings>,
    loaded: &mut BTreeMap<String, ChannelSettings>,
) {
    let known: BTreeSet<&String> = running.keys().collect();
    loaded.retain(|name, _| {
        let stays = known.contains(name);
        if !stays {
            pins.keys.push(format!("channels.{name}"));
        }
        stays
    });
    for (name, running) in running {
        match loaded.get_mut(name) {
            Some(loaded) => pin_channel(pins, name, running, loaded),
            None => {
                pins.keys.push(format!("channels.{name}"));
                loaded.insert(name.clone(), running.clone());
            }
        }
    }
}

/// The keys that describe the program of a bridge.
const PROGRAM_KEYS: &[&str] = &[
    "command",
    "directory",
    "environment",
    "read",
    "write",
    "network",
    "sandbox",
];

fn pin_channel(
    pins: &mut Pins,
    name: &str,
    running: &ChannelSettings,
    loaded: &mut ChannelSettings,
) {
    let ChannelSettings {
        kind,
        // It follows from the name and the kind.
        id_prefix: _,
        platform,
        workspace,
        response_cache,
        tool_cache,
        // These come into use at once.
        autonomy: _,
        permanent_full: _,
        taint_guard_in_full: _,
        auto_approve: _,
        block: _,
        always_ask: _,
        allowed_users: _,
        allowed_chats: _,
        approval_to: _,
        approvers: _,
        two_people: _,
        escalation: _,
        chat_max_risk: _,
        max_wait_seconds: _,
        model: _,
        fallback: _,
        fixed_model: _,
        note: _,
        skills: _,
        mcp: _,
        parameters: _,
        require_mention: _,
        session_scope: _,
        reply_style: _,
        citations: _,
        max_queue: _,
        budget: _,
        pairing: _,
        floods: _,
        quiet_hours: _,
    } = running;
    let key = |field: &str| format!("channels.{name}.{field}");
    // The engine follows links in a workspace's path before it uses it.
    loaded.workspace = canonical(&loaded.workspace);
    pins.pin(key("kind"), kind, &mut loaded.kind);
    pin_platform(pins, &key, platform, &mut loaded.platform);
    pins.pin(key("workspace"), workspace, &mut loaded.workspace);
    pins.pin(
        key("response_cache"),
        response_cache,
        &mut loaded.response_cache,
    );
    pins.pin(key("tool_cache"), tool_cache, &mut loaded.tool_cache);
}

fn pin_platform(
    pins: &mut Pins,
    key: &dyn Fn(&str) -> String,
    running: &PlatformSettings,
    loaded: &mut PlatformSettings,
) {
    let PlatformSettings {
        token,
        app_token,
        secret,
        api_base,
        callback_url,
        webhook_url,
        program,
    } = running;
    pins.pin(key("token"), token, &mut loaded.token);
    pins.pin(key("app_token"), app_token, &mut loaded.app_token);
    pins.pin(key("secret"), secret, &mut loaded.secret);
    pins.pin(key("api_base"), api_base, &mut loaded.api_base);
    pins.pin(key("callback_url"), callback_url, &mut loaded.callback_url);
    pins.pin(key("webhook_url"), webhook_url, &mut loaded.webhook_url);
    if *program != loaded.program {
        pins.keys
            .extend(PROGRAM_KEYS.iter().map(|field| key(field)));
        loaded.program.clone_from(program);
    }
}

/// Settings that stay as they are until a restart.
#[derive(Default)]
struct Pins {
    /// Beginnings of the keys that say them.
    keys: Vec<String>,
}

impl Pins {
    fn pin<T: Clone + PartialEq>(&mut self, key: impl Into<String>, running: &T, loaded: &mut T) {
        if running != loaded {
            self.keys.push(key.into());
            loaded.clone_from(running);
        }
    }

    /// Whether a key of the file says one of them: `channels.team.token_file` says `channels.team.token`.
    fn hold(&self, key: &str) -> bool {
        self.keys.iter().any(|pin| says(key, pin))
    }
}

/// Whether a key of the file says a setting. `channels.one_more.kind` is not of the channel `one`.
fn says(key: &str, setting: &str) -> bool {
    key.strip_prefix(setting).is_some_and(|rest| {
        rest.is_empty() || rest.starts_with('.') || (rest.starts_with('_') && !rest.contains('.'))
    })
}

/// What the file says otherwise than before.
fn written(before: &Source, after: &Source, pins: &Pins) -> Vec<SettingChange> {
    let keys: BTreeSet<&String> = before.values.keys().chain(after.values.keys()).collect();
    keys.into_iter()
        .filter(|key| before.values.get(*key) != after.values.get(*key))
        .map(|key| SettingChange {
            key: key.clone(),
            before: before.values.get(key).cloned(),
            after: after.values.get(key).cloned(),
            effect: effect(key, pins),
        })
        .collect()
}

fn effect(key: &str, pins: &Pins) -> ReloadEffect {
    if pins.hold(key) {
        return ReloadEffect::Restart;
    }
    let mut words = key.split('.');
    match (words.next(), words.nth(1)) {
        (Some("console"), _) => ReloadEffect::NextConsole,
        (Some("channels"), Some(field)) if POLICY_KEYS.contains(&field) => ReloadEffect::Policy,
        (_, _) => ReloadEffect::Now,
    }
}

/// What differs though the file says the same: the content of files that it names, and what commands print.
fn unwritten(
    running: &Settings,
    loaded: &Settings,
    pins: &Pins,
    written: &[SettingChange],
) -> Vec<SettingChange> {
    let key_of = |settings: &Settings, name: &str| {
        let provider: Option<&ProviderSettings> = settings.providers.get(name);
        provider.and_then(|provider| provider.api_key.clone())
    };
    let providers = running.providers.keys();
    let keys = providers
        .filter(|name| loaded.providers.contains_key(*name))
        .filter(|name| key_of(running, name) != key_of(loaded, name))
        .map(|name| (format!("providers.{name}.api_key"), ReloadEffect::Now));
    let servers = (running.mcp.iter())
        .filter(|(name, server)| {
            let now = loaded.mcp.get(*name);
            now.is_some_and(|now| now != *server)
        })
        .map(|(name, _)| (format!("mcp.{name}"), ReloadEffect::Now))
        .filter(|(key, _)| {
            !written
                .iter()
                .any(|change| change.key.starts_with(&format!("{key}.")))
        });
    let tables = [
        (
            "model.profiles_file",
            running.tables.profiles != loaded.tables.profiles,
        ),
        (
            "model.prices_file",
            running.tables.prices != loaded.tables.prices,
        ),
    ];
    let tables = tables
        .into_iter()
        .filter(|(_, differs)| *differs)
        .map(|(key, _)| (key.to_owned(), ReloadEffect::Now));
    let pinned = pins
        .keys
        .iter()
        .map(|key| (key.clone(), ReloadEffect::Restart));
    keys.chain(tables)
        .chain(servers)
        .chain(pinned)
        .filter(|(key, _)| !written.iter().any(|change| says(&change.key, key)))
        .map(|(key, effect)| SettingChange {
            key,
            before: None,
            after: None,
            effect,
        })
        .collect()
}

fn canonical(path: &std::path::Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
