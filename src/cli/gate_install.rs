//! `leverframe gate install`, `uninstall` and `status`: the hooks in the settings files of other programs.
//!
//! Nothing is written that was not shown, into no file that changed since, and what was written is read again.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use crate::cli::config_file::{confirm, show_change, swap};
use crate::cli::connect::socket;
use crate::cli::exit::{Failure, usage};
use crate::cli::gate_places::{notes, settings_file};
use crate::cli::gate_settings as settings;
use crate::cli::terminal::{Format, Terminal, cell};
use crate::config::agent_hooks::{Hook, QUESTION, hook_events, hooks};
use crate::config::environment::Environment;
use crate::config::paths::locate;
use crate::protocol::enums::ExternalAgent;

/// `gate install`.
#[derive(Debug, Clone, Args)]
pub struct InstallArguments {
    /// claude, codex or gemini
    pub agent: ExternalAgent,
    /// Use the settings of this project in place of your own
    #[arg(long, value_name = "DIR")]
    pub project: Option<PathBuf>,
    /// Only print the settings; writes nothing
    #[arg(long)]
    pub print: bool,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
}

/// `gate uninstall`.
#[derive(Debug, Clone, Args)]
pub struct UninstallArguments {
    /// claude, codex or gemini
    pub agent: ExternalAgent,
    /// Use the settings of this project in place of your own
    #[arg(long, value_name = "DIR")]
    pub project: Option<PathBuf>,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
}

/// Writes the hooks.
pub fn install(
    terminal: &mut Terminal<'_>,
    environment: &Environment,
    data_dir: Option<PathBuf>,
    given: &InstallArguments,
) -> Result<(), Failure> {
    let agent = given.agent;
    let file = settings_file(agent, given.project.as_deref(), environment)?;
    let program = std::env::current_exe()
        .map_err(|error| usage!("where this program lies is not known: {error}"))?;
    let hooks = hooks(agent, &program, data_dir.as_deref(), environment, QUESTION)
        .map_err(Failure::Usage)?;
    if given.print {
        let text =
            settings::install(None, agent, &hooks).map_err(|problem| named(&file, problem))?;
        terminal.line(text.trim_end())?;
        return terminal.note(&format!(
            "for {}; nothing is written",
            cell(&file.display().to_string())
        ));
    }
    let old = read(&file)?;
    let new = settings::install(old.as_deref(), agent, &hooks)
        .map_err(|problem| named(&file, problem))?;
    let changed = write(terminal, &file, old.as_deref(), Some(&new), given.yes)?;
    let found = settings::installed(&read(&file)?.unwrap_or_default(), agent);
    if found.map_err(|problem| named(&file, problem))? != hooks {
        return Err(usage!(
            "{} does not hold the hooks after they were written: something else writes it; run this again",
            file.display()
        ));
    }
    let count = hooks.len();
    let shown = cell(&file.display().to_string());
    terminal.line(&if changed {
        format!("{count} hooks of {} are in {shown}", agent.product())
    } else {
        format!(
            "{count} hooks of {} are in {shown} already; nothing changed",
            agent.product()
        )
    })?;
    for note in notes(agent, given.project.as_deref(), environment) {
        terminal.note(&cell(&note))?;
    }
    if !runs(data_dir.as_deref(), environment) {
        terminal.note("no daemon runs: every call is denied until `leverframe --daemon` does")?;
    }
    terminal.note(&next_step(agent, given.project.is_some()))
}

/// Takes the hooks out again.
pub fn uninstall(
    terminal: &mut Terminal<'_>,
    environment: &Environment,
    given: &UninstallArguments,
) -> Result<(), Failure> {
    let agent = given.agent;
    let file = settings_file(agent, given.project.as_deref(), environment)?;
    let shown = cell(&file.display().to_string());
    let nothing = format!("no hooks of Leverframe are in {shown}");
    let Some(old) = read(&file)? else {
        return terminal.line(&nothing);
    };
    let before = settings::installed(&old, agent).map_err(|problem| named(&file, problem))?;
    if before.is_empty() {
        return terminal.line(&nothing);
    }
    let new = settings::uninstall(&old, agent).map_err(|problem| named(&file, problem))?;
    write(terminal, &file, Some(&old), new.as_deref(), given.yes)?;
    terminal.line(&format!("removed {} hooks from {shown}", before.len()))?;
    terminal.note(&format!(
        "Leverframe no longer decides calls of {}",
        agent.product()
    ))
}

/// Where hooks are, and what switches them off.
pub fn status(
    terminal: &mut Terminal<'_>,
    environment: &Environment,
    project: Option<&Path>,
) -> Result<(), Failure> {
    for agent in ExternalAgent::ALL {
        let places = std::iter::once(None).chain(project.map(Some));
        for place in places {
            let file = settings_file(*agent, place, environment)?;
            let (state, programs) = match state(&file, *agent) {
                Ok(known) => known,
                Err(problem) => (problem.to_string(), Vec::new()),
            };
            let notes = if programs.is_empty() {
                Vec::new()
            } else {
                notes(*agent, place, environment)
            };
            match terminal.format {
                Format::Json => terminal.json(&json!({
                    "agent": agent.as_str(),
                    "file": file.display().to_string(),
                    "state": state,
                    "programs": programs,
                    "notes": notes,
                }))?,
                Format::Human => {
                    let file = cell(&file.display().to_string());
                    terminal.line(&format!("{:<12} {}  {file}", agent.product(), cell(&state)))?;
                    for note in notes {
                        terminal.line(&format!("{:12} {}", "", cell(&note)))?;
                    }
                }
            }
        }
    }
    Ok(())
}

/// In words, and the programs that the hooks run.
fn state(file: &Path, agent: ExternalAgent) -> Result<(String, Vec<String>), Failure> {
    let Some(text) = read(file)? else {
        return Ok(("not installed".to_owned(), Vec::new()));
    };
    let found = settings::installed(&text, agent).map_err(|problem| named(file, problem))?;
    let mut programs: Vec<String> = found
        .iter()
        .filter_map(|hook| program_of(&hook.command, agent))
        .collect();
    programs.sort();
    programs.dedup();
    // The first one is called before each call.
    let asks = |hook: &Hook| {
        hook_events(agent)
            .first()
            .is_some_and(|one| one.name == hook.event)
    };
    let missing = programs
        .iter()
        .find(|program| !Path::new(program).is_file());
    let state = if found.is_empty() {
        "not installed".to_owned()
    } else if let Some(missing) = missing {
        format!("installed, but {missing} is not there: every call is denied; install again")
    } else if !found.iter().any(asks) {
        "only reports: the hook that asks is gone; install again".to_owned()
    } else if found.len() < hook_events(agent).len() {
        format!(
            "installed in part ({} of {} hooks); install again",
            found.len(),
            hook_events(agent).len()
        )
    } else {
        "installed".to_owned()
    };
    Ok((state, programs))
}

/// Whether anybody would answer the hooks.
fn runs(data_dir: Option<&Path>, environment: &Environment) -> bool {
    locate(None, data_dir, environment).is_ok_and(|(paths, _)| {
        std::os::unix::net::UnixStream::connect(socket(&paths.data_dir)).is_ok()
    })
}

/// Writes the hooks into the settings below the `HOME` of `environment`, without asking: for a test. `limits` are the
/// seconds that a question may take, in place of those that an installation has.
pub fn write_hooks(
    agent: ExternalAgent,
    program: &Path,
    data_dir: &Path,
    environment: &Environment,
    limits: Option<(u64, u64)>,
) -> Result<(), Failure> {
    let limits = limits.unwrap_or(QUESTION);
    let hooks =
        hooks(agent, program, Some(data_dir), environment, limits).map_err(Failure::Usage)?;
    let file = settings_file(agent, None, environment)?;
    let text = settings::install(read(&file)?.as_deref(), agent, &hooks)
        .map_err(|problem| named(&file, problem))?;
    std::fs::write(&file, text).map_err(|error| Failure::at(&file, error))
}

/// Whether hooks of ours are in the person's own settings of a program.
pub fn is_installed(agent: ExternalAgent, environment: &Environment) -> bool {
    let text = settings_file(agent, None, environment).and_then(|file| read(&file));
    let text = text.ok().flatten();
    text.is_some_and(|text| settings::installed(&text, agent).is_ok_and(|found| !found.is_empty()))
}

/// The program that a hook of ours runs.
fn program_of(command: &str, agent: ExternalAgent) -> Option<String> {
    let (start, _) = command.split_once(&format!(" gate {agent}"))?;
    let quoted = start
        .strip_suffix('\'')
        .and_then(|start| start.rsplit_once(" '"));
    let word = quoted.or_else(|| start.rsplit_once(' '));
    word.map(|(_, program)| program.to_owned())
}

fn read(file: &Path) -> Result<Option<String>, Failure> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(usage!("{}: {error}", file.display())),
    }
}

fn named(file: &Path, problem: settings::SettingsError) -> Failure {
    let settings::SettingsError { line, problem } = problem;
    usage!("{}:{line}: {problem}; nothing is written", file.display())
}

/// Shows the difference, asks, and writes. Says whether there was one.
fn write(
    terminal: &mut Terminal<'_>,
    file: &Path,
    old: Option<&str>,
    new: Option<&str>,
    yes: bool,
) -> Result<bool, Failure> {
    let (before, after) = (old.unwrap_or_default(), new.unwrap_or_default());
    if old == new {
        return Ok(false);
    }
    let name = file.display().to_string();
    show_change(terminal, file, before, after)?;
    confirm(terminal, "Write this? [y/N]", yes, "nothing is written")?;
    let unchanged = |file: &Path| {
        if read(file)?.as_deref() == old {
            return Ok(());
        }
        let file = file.display();
        Err(usage!(
            "{file} changed meanwhile; nothing is written: run this again"
        ))
    };
    match new {
        Some(new) => swap(file, new, |_, file| unchanged(file))?,
        None => {
            unchanged(file)?;
            let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
            std::fs::remove_file(&file).map_err(|error| Failure::at(&file, error))?;
        }
    }
    if read(file)?.as_deref() == new {
        return Ok(true);
    }
    Err(usage!(
        "{name} does not hold what was written: something else writes it"
    ))
}

/// What a person has to do, or to know, before calls are judged.
fn next_step(agent: ExternalAgent, project: bool) -> String {
    let words = match agent {
        ExternalAgent::Claude => "sessions that run read their hooks at the next start",
        ExternalAgent::Codex => {
            "Codex skips new and changed hooks without a word until you trust them: start `codex`, enter /hooks and trust them"
        }
        ExternalAgent::Gemini => {
            "Gemini CLI runs hooks in trusted folders only, and none with --acp: what it does there is not judged"
        }
    };
    let shared = match agent {
        ExternalAgent::Codex | ExternalAgent::Gemini if project => {
            "\nthe file names a path of this machine: keep it out of the repository"
        }
        ExternalAgent::Claude | ExternalAgent::Codex | ExternalAgent::Gemini => "",
    };
    format!("{words}{shared}")
}
