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
    let providers = config.providers.iter().map(|(name, table)| {
        (
            ["providers", name.as_str(), "api_key_file"],
            &table.api_key_file,
        )
    });
    let tokens = config
        .channels
        .iter()
        .map(|(name, table)| (["channels", name.as_str(), "token_file"], &table.token_file));
    let tools = config
        .tools
        .iter()
        .map(|(name, table)| (["tools", name, "secret_file"], &table.secret_file));
    let servers = config
        .mcp
        .iter()
        .map(|(name, table)| (["mcp", name, "secret_file"], table.secret_file.as_ref()));
    let variables = config.mcp.iter().flat_map(|(name, table)| {
        let files = table.environment_files.iter().flat_map(BTreeMap::values);
        files.map(move |file| (["mcp", name.as_str(), "environment_files"], Some(file)))
    });
    let tls = config.server.tls.iter();
    let certificates = tls.map(|table| (["server", "tls", "key"], Some(&table.key)));
    let mut files = Vec::new();
    let named = providers
        .chain(tokens)
        .chain(tools)
        .map(|(keys, given)| (keys, given.as_ref()));
    for (keys, given) in named.chain(servers).chain(variables).chain(certificates) {
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
