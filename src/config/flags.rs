//! The flags of the command line that change settings. Nothing here reads them.

use std::path::PathBuf;

/// The flags of the command line that change settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flags {
    /// `--config`.
    pub config: Option<PathBuf>,
    /// `--data-dir`.
    pub data_dir: Option<PathBuf>,
    /// `--listen`.
    pub listen: Option<String>,
    /// `--theme`.
    pub theme: Option<String>,
    /// `--keymap`.
    pub keymap: Option<String>,
    /// `--model`.
    pub model: Option<String>,
    /// `--demo`: no file, no keys, scripted channels. The caller sets `data_dir` to a temporary one.
    pub demo: bool,
}
