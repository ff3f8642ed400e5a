//! The files that hold keys and tokens: none of them lies where tools read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::config::error::ConfigError;
use crate::config::inputs::Inputs;
use crate::config::paths;
use crate::config::settings::{ChannelSettings, KeyFile};

/// Every key file the configuration names; refused where a workspace contains one.
pub fn resolve(
    inputs: &Inputs<'_>,
    channels: &BTreeMap<String, ChannelSettings>,
) -> Result<Vec<KeyFile>, ConfigError> {
    let config = inputs.config();
    let mut named: Vec<(Vec<&str>, Option<&String>)> = Vec::new();
    for (name, table) in &config.providers {
        let keys = vec!["providers", name, "api_key_file"];
        named.push((keys, table.api_key_file.as_ref()));
    }
    for (name, table) in &config.channels {
        for (key, given) in [
            ("token_file", &table.token_file),
            ("app_token_file", &table.app_token_file),
            ("secret_file", &table.secret_file),
        ] {
            named.push((vec!["channels", name, key], given.as_ref()));
        }
        for file in table.environment_files.iter().flat_map(BTreeMap::values) {
            let keys = vec!["channels", name, "environment_files"];
            named.push((keys, Some(file)));
        }
    }
    for (name, table) in &config.tools {
        let keys = vec!["tools", name, "secret_file"];
        named.push((keys, table.secret_file.as_ref()));
    }
    for (name, table) in &config.mcp {
        let keys = vec!["mcp", name, "secret_file"];
        named.push((keys, table.secret_file.as_ref()));
        for file in table.environment_files.iter().flat_map(BTreeMap::values) {
            named.push((vec!["mcp", name, "environment_files"], Some(file)));
        }
    }
    for (name, table) in &config.escalation {
        for step in &table.steps {
            let keys = vec!["escalation", name, "steps"];
            named.push((keys, step.token_file.as_ref()));
        }
    }
    let of_collector = config.telemetry.secret_file.as_ref();
    named.push((vec!["telemetry", "secret_file"], of_collector));
    if let Some(table) = &config.server.tls {
        named.push((vec!["server", "tls", "key"], Some(&table.key)));
    }
    let mut files = Vec::new();
    for (keys, given) in named {
        let Some(given) = given else { continue };
        let path = inputs.path(given);
        if let Some((name, workspace)) = workspace_around(&path, channels) {
            let problem = format!(
                "{} lies in the workspace {} of channel `{name}`, where tools read it",
                path.display(),
                workspace.display()
            );
            let fault = inputs.fault(&keys, problem);
            let step = "Move it beside the configuration file, for example";
            return Err(fault
                .expected("a file outside every workspace")
                .next_step(step)
                .into());
        }
        files.push(KeyFile {
            key: keys.join("."),
            path,
        });
    }
    Ok(files)
}

/// The channel whose workspace contains a file, by name or by where its links lead.
pub fn workspace_around<'a>(
    file: &Path,
    channels: &'a BTreeMap<String, ChannelSettings>,
) -> Option<(&'a str, &'a PathBuf)> {
    let real = paths::resolved(file);
    channels.iter().find_map(|(name, channel)| {
        let workspace = &channel.workspace;
        let inside = file.starts_with(workspace) || real.starts_with(paths::resolved(workspace));
        inside.then_some((name.as_str(), workspace))
    })
}
