//! Where the settings of agents of other makers are, and what in them keeps hooks from running. Writes nothing.

use std::path::{Path, PathBuf};

use crate::cli::exit::{Failure, usage};
use crate::cli::gate_settings as settings;
use crate::config::environment::Environment;
use crate::protocol::enums::ExternalAgent;

/// Where a program's settings are. A project's are those that a person keeps out of the repository, where the program
/// has such a file: the hooks name a path of this machine.
pub fn settings_file(
    agent: ExternalAgent,
    project: Option<&Path>,
    environment: &Environment,
) -> Result<PathBuf, Failure> {
    if let Some(project) = project {
        if !project.is_dir() {
            return Err(usage!("--project {}: no such directory", project.display()));
        }
        let project = project
            .canonicalize()
            .map_err(|error| usage!("--project {}: {error}", project.display()))?;
        return Ok(project.join(match agent {
            ExternalAgent::Claude => ".claude/settings.local.json",
            ExternalAgent::Codex => ".codex/hooks.json",
            ExternalAgent::Gemini => ".gemini/settings.json",
        }));
    }
    let (variable, folder, file) = match agent {
        ExternalAgent::Claude => ("CLAUDE_CONFIG_DIR", ".claude", "settings.json"),
        ExternalAgent::Codex => ("CODEX_HOME", ".codex", "hooks.json"),
        ExternalAgent::Gemini => ("", ".gemini", "settings.json"),
    };
    let own = environment.path(variable);
    let folder = own.or_else(|| environment.home().map(|home| home.join(folder)));
    folder
        .map(|folder| folder.join(file))
        .ok_or_else(|| Failure::usage("HOME is not set: the settings are not found; use --project"))
}

/// Settings that keep the hooks from running, each with its place.
pub fn notes(
    agent: ExternalAgent,
    project: Option<&Path>,
    environment: &Environment,
) -> Vec<String> {
    let mut found = Vec::new();
    let home = environment.home().unwrap_or_default();
    let own = settings_file(agent, None, environment).ok();
    let project = |file: &str| project.map(|project| project.join(file));
    match agent {
        ExternalAgent::Claude => {
            let managed = [
                "/etc/claude-code/managed-settings.json",
                "/Library/Application Support/ClaudeCode/managed-settings.json",
            ]
            .map(PathBuf::from);
            let others = [
                own,
                project(".claude/settings.json"),
                project(".claude/settings.local.json"),
            ];
            for file in managed.iter().chain(others.iter().flatten()) {
                note_flag(&mut found, file, &["disableAllHooks"], true, "no hook runs");
            }
            for file in &managed {
                note_flag(
                    &mut found,
                    file,
                    &["allowManagedHooksOnly"],
                    true,
                    "only hooks of the managed settings run",
                );
            }
        }
        ExternalAgent::Codex => {
            let folder = own
                .as_deref()
                .and_then(Path::parent)
                .map(|folder| folder.join("config.toml"));
            for file in [folder, project(".codex/config.toml")]
                .into_iter()
                .flatten()
            {
                note_toml(&mut found, &file);
            }
            note_toml(&mut found, Path::new("/etc/codex/requirements.toml"));
        }
        ExternalAgent::Gemini => {
            let system = Some(PathBuf::from("/etc/gemini-cli/settings.json"));
            let others = [
                system,
                Some(home.join(".gemini/settings.json")),
                project(".gemini/settings.json"),
            ];
            for file in others.iter().flatten() {
                for path in [
                    &["hooksConfig", "enabled"],
                    &["hooks", "enabled"],
                    &["tools", "enableHooks"],
                ] {
                    note_flag(&mut found, file, path, false, "no hook runs");
                }
            }
        }
    }
    found
}

fn note_flag(found: &mut Vec<String>, file: &Path, path: &[&str], bad: bool, effect: &str) {
    let Ok(text) = std::fs::read_to_string(file) else {
        return;
    };
    if let Ok(Some((value, line))) = settings::flag(&text, path)
        && value == bad
    {
        let key = path.join(".");
        found.push(format!(
            "{}:{line}: `{key}` is {value}: {effect}",
            file.display()
        ));
    }
}

fn note_toml(found: &mut Vec<String>, file: &Path) {
    let Some(document) = std::fs::read_to_string(file)
        .ok()
        .and_then(|text| text.parse::<toml_edit::DocumentMut>().ok())
    else {
        return;
    };
    let file = file.display();
    for key in ["hooks", "codex_hooks"] {
        let off = document
            .get("features")
            .and_then(|features| features.get(key)?.as_bool());
        if off == Some(false) {
            found.push(format!("{file}: `features.{key}` is false: no hook runs"));
        }
    }
    let managed = document
        .get("allow_managed_hooks_only")
        .and_then(toml_edit::Item::as_bool);
    if managed == Some(true) {
        found.push(format!(
            "{file}: `allow_managed_hooks_only` is true: only managed hooks run"
        ));
    }
    let own = document
        .get("hooks")
        .and_then(|hooks| hooks.as_table_like());
    if own.is_some_and(|own| own.iter().any(|(key, _)| key != "state")) {
        found.push(format!(
            "{file}: has hooks too: Codex runs both, and warns of it at its start"
        ));
    }
}
