//! `leverframe service install`, `uninstall` and `status`: the unit with which systemd runs the daemon.
//!
//! Nothing is written that was not shown and that systemd's own check refuses. Files beside the unit (drop-ins) are never
//! changed, and systemd itself is not told anything: the commands for that are printed.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Args, Subcommand};
use serde::Serialize;

use crate::cli::config_file;
use crate::cli::exit::{Failure, usage};
use crate::cli::service_unit::{MARK, Manager, Service, UNIT, text};
use crate::cli::temporary_directory::TemporaryDirectory;
use crate::cli::terminal::{Format, Terminal, cell};
use crate::config::environment::Environment;
use crate::config::flags::Flags;

/// Where systemd says that it runs.
const RUNNING: &str = "run/systemd/system";
/// Whom the unit of the system runs as.
const ACCOUNT: &str = "leverframe";

/// Said where a person does not want what would be done.
const REFUSED: &str = "nothing is changed";

/// `service`.
#[derive(Debug, Subcommand)]
pub enum ServiceCommands {
    /// Install the systemd unit of the daemon; shows it and asks
    Install(InstallArguments),
    /// Remove the unit; drop-ins, configuration and data stay
    Uninstall(UninstallArguments),
    /// Show the installed units and their state in systemd
    Status(PlaceArguments),
}

/// Which service.
#[derive(Debug, Clone, Args)]
pub struct PlaceArguments {
    /// A user service; the default unless you are root
    #[arg(long, conflicts_with = "system")]
    pub user: bool,
    /// A hardened system service with its own account
    #[arg(long)]
    pub system: bool,
    /// Directory of another system (an image) in place of this one
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
}

/// `service install`.
#[derive(Debug, Clone, Args)]
pub struct InstallArguments {
    /// Which service
    #[command(flatten)]
    pub place: PlaceArguments,
    /// Only print the unit; writes nothing
    #[arg(long)]
    pub print: bool,
    /// Path of the program in the unit; this program by default
    #[arg(long, value_name = "FILE")]
    pub program: Option<PathBuf>,
    /// Loopback address that the daemon listens on
    #[arg(
        long = "address",
        value_name = "ADDR",
        default_value = "127.0.0.1:8787"
    )]
    pub address: String,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
}

/// `service uninstall`.
#[derive(Debug, Clone, Args)]
pub struct UninstallArguments {
    /// Which service
    #[command(flatten)]
    pub place: PlaceArguments,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
}

/// A unit as it is.
#[derive(Debug, Serialize)]
struct UnitStatus {
    /// The file.
    file: String,
    /// Whether it is there.
    installed: bool,
    /// Whether this program wrote it.
    ours: bool,
    /// Files that change it.
    drop_ins: Vec<String>,
    /// What systemd says of it: `active`, `failed`; none = it was not asked.
    active: Option<String>,
    /// Whether it starts by itself: `enabled`, `disabled`; none = systemd was not asked.
    enabled: Option<String>,
}

impl PlaceArguments {
    fn manager(&self) -> Manager {
        if self.system || (!self.user && rustix::process::geteuid().is_root()) {
            Manager::System
        } else {
            Manager::User
        }
    }

    /// Where a path of the system lies.
    fn under_root(&self, path: &str) -> PathBuf {
        let root = self.root.as_deref().unwrap_or(Path::new("/"));
        root.join(path.trim_start_matches('/'))
    }

    fn file(&self, environment: &Environment) -> Result<PathBuf, Failure> {
        match self.manager() {
            Manager::System => Ok(self.under_root("etc/systemd/system").join(UNIT)),
            Manager::User => {
                let directories = environment.directories().ok_or_else(|| {
                    Failure::usage(
                        "HOME is not an absolute path: the directory of your units is not known",
                    )
                })?;
                let inside = directories.config.join("systemd/user").join(UNIT);
                Ok(match &self.root {
                    Some(_) => self.under_root(&inside.to_string_lossy()),
                    None => inside,
                })
            }
        }
    }
}

/// Carries out a subcommand.
pub fn run(
    terminal: &mut Terminal<'_>,
    flags: &Flags,
    environment: &Environment,
    command: ServiceCommands,
) -> Result<(), Failure> {
    match command {
        ServiceCommands::Install(given) => install(terminal, flags, environment, &given),
        ServiceCommands::Uninstall(given) => uninstall(terminal, environment, &given),
        ServiceCommands::Status(place) => status(terminal, environment, &place),
    }
}

fn install(
    terminal: &mut Terminal<'_>,
    flags: &Flags,
    environment: &Environment,
    given: &InstallArguments,
) -> Result<(), Failure> {
    let place = &given.place;
    let manager = place.manager();
    let program = program(given)?;
    let unit = text(
        manager,
        &Service {
            program: &program,
            listen: &given.address,
            places: places(manager, flags)?,
        },
    );
    if given.print {
        return terminal.line(unit.trim_end());
    }
    if place.root.is_none() && !Path::new("/").join(RUNNING).exists() {
        terminal.line(unit.trim_end())?;
        return Err(Failure::ended(
            "systemd does not run here, so nothing is written; the unit above is for another machine, here start \
             `leverframe --daemon` with what starts other programs",
        ));
    }
    if manager == Manager::System && !place.under_root("").join("usr").exists() {
        return Err(usage!(
            "{} is no root of a system",
            place.under_root("").display()
        ));
    }
    let file = place.file(environment)?;
    verify(terminal, manager, &unit)?;
    let old = config_file::read(&file)?;
    if old == unit {
        terminal.line(&format!("{} is as it must be", shown(&file)))?;
    } else {
        if !old.is_empty() && !old.starts_with(MARK) {
            return Err(usage!(
                "{} was not written by this command: move it away first, or keep it and use a drop-in",
                file.display()
            ));
        }
        config_file::show_change(terminal, &file, &old, &unit)?;
        config_file::confirm(terminal, "Write this? [y/N]", given.yes, REFUSED)?;
        config_file::swap(&file, &unit, |_, file| {
            if config_file::read(file)? == old {
                return Ok(());
            }
            Err(usage!(
                "{} changed meanwhile; nothing is written: run this again",
                file.display()
            ))
        })?;
        readable(&file)?;
        terminal.line(&format!("{} is written", shown(&file)))?;
    }
    for drop_in in drop_ins(&file) {
        terminal.note(&format!("a drop-in changes it: {}", cell(&drop_in)))?;
    }
    for step in next_steps(manager, place, environment) {
        terminal.note(&step)?;
    }
    Ok(())
}

/// The unit holds no secret, and systemd warns of one that only root can read.
fn readable(file: &Path) -> Result<(), Failure> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o644))
        .map_err(|error| Failure::at(file, error))
}

fn shown(file: &Path) -> String {
    cell(&file.display().to_string())
}

/// The program of the unit.
fn program(given: &InstallArguments) -> Result<PathBuf, Failure> {
    let program = match &given.program {
        Some(named) => named.clone(),
        None => std::env::current_exe().map_err(|error| {
            usage!("where this program lies is not known ({error}): name it with --program")
        })?,
    };
    if !program.is_absolute() {
        return Err(usage!(
            "--program {}: expected an absolute path",
            program.display()
        ));
    }
    let hidden = ["/home", "/root", "/run/user", "/tmp", "/var/tmp"];
    if given.place.manager() == Manager::System
        && hidden.iter().any(|hidden| program.starts_with(hidden))
    {
        return Err(usage!(
            "{} lies where a service of the system does not look: install it first \
             (`install -m755 {} /usr/local/bin/leverframe`), or name it with --program",
            program.display(),
            program.display()
        ));
    }
    Ok(program)
}

/// Arguments for the places that were named.
fn places(manager: Manager, flags: &Flags) -> Result<Vec<String>, Failure> {
    let mut words = Vec::new();
    for (option, path) in [("--config", &flags.config), ("--data-dir", &flags.data_dir)] {
        let Some(path) = path else { continue };
        if manager == Manager::System {
            return Err(usage!(
                "{option} does not go with a service of the system: its configuration is /etc/leverframe/config.toml and \
                 its data directory /var/lib/leverframe; a drop-in changes that"
            ));
        }
        let path = std::path::absolute(path).map_err(|error| Failure::at(path, error))?;
        words.push(option.to_owned());
        words.push(path.to_string_lossy().into_owned());
    }
    Ok(words)
}

/// Has systemd's own check read the unit.
fn verify(terminal: &mut Terminal<'_>, manager: Manager, unit: &str) -> Result<(), Failure> {
    let folder = TemporaryDirectory::new("unit")?;
    let file = folder.path.join(UNIT);
    // The program may lie in a root that is not this one; what is checked is the unit.
    let checked = unit
        .lines()
        .map(|line| {
            if line.starts_with("ExecStart=") {
                "ExecStart=/bin/true"
            } else {
                line
            }
        })
        .collect::<Vec<_>>()
        .join("\n");
    std::fs::write(&file, checked).map_err(|error| Failure::at(&file, error))?;
    let said = Command::new("systemd-analyze")
        .args([manager.option(), "verify", "--man=no"])
        // For a check of a person's unit it wants one, and a login by su has none.
        .env("XDG_RUNTIME_DIR", &folder.path)
        .arg(&file)
        .output();
    match said {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(Failure::Ended(format!(
            "systemd refuses the unit, so nothing is written: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        ))),
        Err(_) => terminal.note("systemd-analyze is missing: the unit is not checked"),
    }
}

/// Files that change the unit, sorted.
fn drop_ins(file: &Path) -> Vec<String> {
    let mut folder = file.as_os_str().to_owned();
    folder.push(".d");
    let entries = std::fs::read_dir(PathBuf::from(folder))
        .into_iter()
        .flatten();
    let mut found: Vec<String> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "conf"))
        .map(|path| path.display().to_string())
        .collect();
    found.sort();
    found
}

fn next_steps(manager: Manager, place: &PlaceArguments, environment: &Environment) -> Vec<String> {
    let mut steps = Vec::new();
    let systemctl = manager.systemctl();
    match manager {
        Manager::System => {
            let accounts = std::fs::read_to_string(place.under_root("etc/passwd"));
            let line = format!("{ACCOUNT}:");
            if !accounts.is_ok_and(|text| text.lines().any(|one| one.starts_with(&line))) {
                steps.push(format!(
                    "next: useradd --system --home-dir /var/lib/{ACCOUNT} --shell /usr/sbin/nologin {ACCOUNT}"
                ));
            }
            if !place.under_root("etc/leverframe/config.toml").exists() {
                steps.push(
                    "next: leverframe init --config /etc/leverframe/config.toml   (keys go into /etc/leverframe/secrets.env, \
                     mode 0600)"
                        .to_owned(),
                );
            }
        }
        Manager::User => {
            let file = environment
                .directories()
                .map(|found| found.config.join("leverframe/secrets.env"));
            if let Some(file) = file.filter(|file| !file.exists()) {
                steps.push(format!(
                    "keys go into {} (mode 0600), one NAME=value a line",
                    shown(&file)
                ));
            }
        }
    }
    steps.push(format!(
        "next: {systemctl} daemon-reload && {systemctl} enable --now leverframe"
    ));
    if manager == Manager::User {
        steps.push("then: loginctl enable-linger   (the service outlives your login)".to_owned());
    }
    steps
}

fn uninstall(
    terminal: &mut Terminal<'_>,
    environment: &Environment,
    given: &UninstallArguments,
) -> Result<(), Failure> {
    let place = &given.place;
    let manager = place.manager();
    let file = place.file(environment)?;
    let old = config_file::read(&file)?;
    if old.is_empty() {
        return terminal.line(&format!("there is no {}", shown(&file)));
    }
    if !old.starts_with(MARK) {
        return Err(usage!(
            "{} was not written by this command: it stays",
            file.display()
        ));
    }
    let systemctl = manager.systemctl();
    if is_enabled(&file) {
        return Err(usage!(
            "systemd starts {UNIT} by itself: run `{systemctl} disable --now leverframe` first"
        ));
    }
    let question = format!("Remove {}? [y/N]", shown(&file));
    config_file::confirm(terminal, &question, given.yes, REFUSED)?;
    std::fs::remove_file(&file).map_err(|error| Failure::at(&file, error))?;
    terminal.line(&format!("{} is removed", shown(&file)))?;
    for drop_in in drop_ins(&file) {
        terminal.note(&format!("this stays: {}", cell(&drop_in)))?;
    }
    terminal.note("configuration and data stay")?;
    terminal.note(&format!("next: {systemctl} daemon-reload"))
}

/// Whether a target wants the unit.
fn is_enabled(file: &Path) -> bool {
    let entries = file
        .parent()
        .and_then(|folder| std::fs::read_dir(folder).ok());
    entries.into_iter().flatten().flatten().any(|entry| {
        let wants = entry.path();
        wants.extension().is_some_and(|ending| ending == "wants")
            && std::fs::symlink_metadata(wants.join(UNIT)).is_ok()
    })
}

fn status(
    terminal: &mut Terminal<'_>,
    environment: &Environment,
    place: &PlaceArguments,
) -> Result<(), Failure> {
    let manager = place.manager();
    let file = place.file(environment)?;
    let text = config_file::read(&file)?;
    let asked = place.root.is_none() && Path::new("/").join(RUNNING).exists();
    let found = UnitStatus {
        installed: !text.is_empty(),
        ours: text.starts_with(MARK),
        drop_ins: drop_ins(&file),
        active: asked.then(|| ask_systemd(manager, "is-active")).flatten(),
        enabled: asked.then(|| ask_systemd(manager, "is-enabled")).flatten(),
        file: file.display().to_string(),
    };
    if terminal.format == Format::Json {
        return terminal.json(&found);
    }
    if !found.installed {
        return terminal.line(&format!(
            "there is no {}: `leverframe service install {}` writes it",
            shown(&file),
            manager.option()
        ));
    }
    let whose = if found.ours {
        "written by `leverframe service install`"
    } else {
        "written by somebody else"
    };
    terminal.line(&format!("{}  {whose}", shown(&file)))?;
    for drop_in in &found.drop_ins {
        terminal.line(&format!("changed by {}", cell(drop_in)))?;
    }
    match (&found.active, &found.enabled) {
        (Some(active), Some(enabled)) => {
            terminal.line(&format!("{}, {}", cell(active), cell(enabled)))
        }
        _ => terminal.line("systemd does not run here"),
    }
}

/// One word of systemd.
fn ask_systemd(manager: Manager, question: &str) -> Option<String> {
    let output = Command::new("systemctl")
        .args([manager.option(), question, UNIT])
        .output()
        .ok()?;
    let word = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    Some(if word.is_empty() {
        "unknown".to_owned()
    } else {
        word
    })
}
