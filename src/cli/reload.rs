//! `leverframe reload`.

use crate::cli::exit::Failure;
use crate::cli::terminal::{Cli, Terminal, cell};
use crate::protocol::configuration::{ConfigurationReload, SettingChange};
use crate::protocol::enums::ReloadEffect;
use crate::protocol::request::ReloadConfiguration;

/// Has the daemon read its configuration again, or compare it.
pub async fn run(cli: &mut Cli<'_>, preview: bool) -> Result<(), Failure> {
    cli.submit(ReloadConfiguration { preview }, show).await
}

fn show(terminal: &mut Terminal<'_>, report: &ConfigurationReload) -> Result<(), Failure> {
    if report.changes.is_empty() {
        return terminal.line(&format!(
            "{} matches the settings in use: nothing changed",
            cell(&report.file)
        ));
    }
    for effect in ReloadEffect::ALL {
        let of_effect = || report.changes.iter().filter(|c| c.effect == *effect);
        if of_effect().next().is_none() {
            continue;
        }
        terminal.line(heading(*effect, report.preview))?;
        for change in of_effect() {
            terminal.line(&format!("  {}", line(change)))?;
        }
    }
    if report.preview {
        return terminal.line("nothing was changed");
    }
    Ok(())
}

const fn heading(effect: ReloadEffect, preview: bool) -> &'static str {
    match (effect, preview) {
        (ReloadEffect::Now, false) => "in use now:",
        (ReloadEffect::Now, true) => "would come into use at once:",
        (ReloadEffect::Policy, false) => {
            "policy: stricter settings apply now, looser ones wait in the Queue:"
        }
        (ReloadEffect::Policy, true) => {
            "policy: stricter settings would apply at once, looser ones would wait in the Queue:"
        }
        (ReloadEffect::NextConsole, _) => "in consoles that are opened from now on:",
        (ReloadEffect::Restart, _) => "needs a restart:",
    }
}

fn line(change: &SettingChange) -> String {
    let key = cell(&change.key);
    match (&change.before, &change.after) {
        (None, None) => format!("{key}: other content"),
        (None, Some(after)) => format!("{key} = {} (not set before)", cell(after)),
        (Some(before), None) => format!("{key}: not set any more, before {}", cell(before)),
        (Some(before), Some(after)) => format!("{key}: {} -> {}", cell(before), cell(after)),
    }
}
