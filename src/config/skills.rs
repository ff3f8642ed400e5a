//! `[skills]`: folders of skills, and whether the AGENTS.md of workspaces counts.

use crate::config::error::ConfigError;
use crate::config::inputs::Inputs;
use crate::config::settings::SkillSettings;

/// Most folders.
const MAX_FOLDERS: usize = 50;

/// The settings.
pub fn resolve(inputs: &Inputs<'_>) -> Result<SkillSettings, ConfigError> {
    let table = &inputs.config().skills;
    let given = table.folders.as_deref().unwrap_or_default();
    let fault = |problem: &str| inputs.fault(&["skills", "folders"], problem);
    if given.len() > MAX_FOLDERS {
        return Err(fault("too many folders").expected("at most 50").into());
    }
    if given.iter().any(|path| path.trim().is_empty()) {
        return Err(fault("a folder has no name").expected("paths").into());
    }
    Ok(SkillSettings {
        folders: given.iter().map(|path| inputs.path(path)).collect(),
        instructions: table.instructions.unwrap_or(true),
    })
}
