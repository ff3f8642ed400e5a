//! Reading the configuration again while everything goes on. A configuration with any fault changes nothing.

use std::sync::Arc;

use serde_json::json;

use crate::config::environment::Environment;
use crate::config::layers;
use crate::config::reload::{Plan, plan};
use crate::config::settings::Settings;
use crate::config::tools::is_added;
use crate::engine::caller::Caller;
use crate::engine::core::Engine;
use crate::engine::handle::channels;
use crate::engine::mcp;
use crate::engine::views::{announce_channel, announce_engine};
use crate::model::registry::Models;
use crate::protocol::configuration::{ConfigurationReload, SettingChange};
use crate::protocol::enums::ReloadEffect;
use crate::protocol::problem::{Problem, ProblemKind};
use crate::store::commands::record_audit::RecordAudit;
use crate::text::redact::Redactor;
use crate::tools::tool::{BUILT_IN, Tool};

/// Reads it, and applies what needs no restart; with `preview` it only compares.
pub async fn reload(
    engine: &Engine,
    caller: &Caller,
    preview: bool,
) -> Result<ConfigurationReload, Problem> {
    let _only = engine.maintenance.reload().await;
    // Another reload may have ended while this one waited.
    let engine = engine.current();
    if engine.settings.demo {
        return Err(
            Problem::not_offered("no configuration", "the demo has no configuration file")
                .hint("`leverframe init` writes one"),
        );
    }
    let file = &engine.settings.paths.config_file;
    if !engine.settings.source.values.is_empty() && !file.exists() {
        // Without a file everything would fall back to its default.
        return Err(
            Problem::invalid(format!("{} no longer exists", file.display()))
                .hint("the previous configuration stays in use"),
        );
    }
    let loaded = load(&engine).await?;
    for secret in loaded.secrets() {
        engine.redactor.register(secret.expose());
    }
    let Plan { settings, changes } = plan(&engine.settings, loaded);
    let report = ConfigurationReload {
        preview,
        file: settings.paths.config_file.display().to_string(),
        changes: changes
            .into_iter()
            .map(|change| shown(change, &engine.redactor))
            .collect(),
    };
    let models = models(&engine, &settings)?;
    if !preview {
        engine.backups.configuration_changed();
    }
    let waits = |change: &SettingChange| change.effect == ReloadEffect::Restart;
    if preview || report.changes.iter().all(waits) {
        return Ok(report);
    }
    let keys = report.changes.iter();
    let keys = keys.map(|change| json!({ "key": change.key, "effect": change.effect }));
    let record = RecordAudit {
        action: "configuration.reloaded",
        by: caller.reference(),
        channel: None,
        subject: "engine".to_owned(),
        detail: json!({ "file": report.file, "changes": keys.collect::<Vec<_>>() }),
    };
    channels::ensure(&engine, &settings).await?;
    engine.write(record).await?;
    engine.configure(settings, models);
    if let Err(problem) = mcp::reconfigure(&engine.current(), &engine.settings).await {
        tracing::error!(%problem, "cannot use the tool servers of the new configuration");
    }
    for change in &report.changes {
        tracing::info!(key = %change.key, effect = %change.effect, by = %caller.actor.label(), "setting changed");
    }
    tell(&engine.current()).await;
    Ok(report)
}

/// The configuration as its files say it now. Reads files and runs the commands that print keys.
async fn load(engine: &Engine) -> Result<Settings, Problem> {
    let flags = engine.settings.source.flags.clone();
    // What the file adds is found in the file.
    let always = |tool: &&Arc<dyn Tool>| tool.source() == BUILT_IN && !is_added(&tool.spec().name);
    let tools: Vec<String> = engine
        .tools()
        .all()
        .filter(always)
        .map(|tool| tool.spec().name.to_string())
        .collect();
    let loading = tokio::task::spawn_blocking(move || {
        let environment = Environment::capture();
        let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
        layers::load(&flags, &environment, &tools)
            .map_err(|_| layers::faults(&flags, &environment, &tools))
    });
    let loaded = loading
        .await
        .map_err(|error| Problem::internal(format!("reading the configuration: {error}")))?;
    loaded.map_err(|faults| {
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        Problem::new(
            ProblemKind::Invalid,
            "the configuration cannot be used",
            engine.redactor.redact(&faults.join("\n")),
        )
        .hint("the previous configuration stays in use")
    })
}

/// Providers of other settings; those in use where nothing about them changed, with what they know of their servers.
fn models(engine: &Engine, settings: &Settings) -> Result<Models, Problem> {
    let running = &engine.settings;
    let is_same = running.providers == settings.providers
        && running.tables == settings.tables
        && running.transcription == settings.transcription;
    if is_same {
        return Ok(Models::clone(&engine.models));
    }
    let models = engine.models.renewed(settings).map_err(|error| {
        Problem::invalid(error.to_string()).hint("the previous configuration stays in use")
    })?;
    Ok(models.redacting(&engine.redactor))
}

/// A command may hold a secret, so its words are not shown.
fn shown(change: SettingChange, redactor: &Redactor) -> SettingChange {
    let is_command = change.key.ends_with("_command");
    let value = |value: Option<String>| {
        value.map(|value| {
            if is_command {
                "(a command)".to_owned()
            } else {
                redactor.redact(&value).into_owned()
            }
        })
    };
    SettingChange {
        before: value(change.before),
        after: value(change.after),
        ..change
    }
}

/// Consoles see what follows, and deadlines and reminders go by the new times.
async fn tell(engine: &Engine) {
    engine.scheduler.deadlines_changed();
    for channel in engine.settings.channels.keys() {
        announce_channel(engine, channel).await;
    }
    announce_engine(engine).await;
}
