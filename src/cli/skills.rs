//! `leverframe skills list|show|trust|distrust`: what agents are taught, and which of it an operator trusts.

use clap::Subcommand;

use crate::cli::exit::Failure;
use crate::cli::find::submit;
use crate::cli::list;
use crate::cli::terminal::{Cli, Terminal, cell};
use crate::protocol::enums::SkillState;
use crate::protocol::request::{DistrustSkill, GetSkill, ListSkills, TrustSkill};
use crate::protocol::skill::{Skill, SkillReview};
use crate::text::untrusted::{limit_line, reveal_line};

/// `skills`.
#[derive(Debug, Subcommand)]
pub enum SkillCommands {
    /// List instructions of workspaces and skills, and show which are trusted
    List,
    /// Show a skill, and how its files differ from the trusted version
    Show {
        /// Its name, or `instructions:` and a channel
        name: String,
    },
    /// Trust a skill's current files: agents get it from the next answer on
    Trust {
        /// Its name, or `instructions:` and a channel
        name: String,
        /// Do not ask; trust the files if they still have this digest, as `show` prints it
        #[arg(long, value_name = "SHA256")]
        sha256: Option<String>,
    },
    /// Stop trusting a skill: agents no longer get it
    Distrust {
        /// Its name, or `instructions:` and a channel
        name: String,
    },
}

/// Columns of a path or a problem.
const WIDTH: usize = 160;

/// Runs one of them.
pub async fn run(command: SkillCommands, cli: &mut Cli<'_>) -> Result<(), Failure> {
    match command {
        SkillCommands::List => list::run(cli, ListSkills {}, false).await,
        SkillCommands::Show { name } => cli.query(GetSkill { name }, show_review).await,
        SkillCommands::Trust { name, sha256 } => {
            let sha256 = match sha256 {
                Some(sha256) => sha256,
                None => read_first(cli, &name).await?,
            };
            done(
                &mut cli.terminal,
                &submit(cli.client, TrustSkill { name, sha256 }).await?,
            )
        }
        SkillCommands::Distrust { name } => done(
            &mut cli.terminal,
            &submit(cli.client, DistrustSkill { name }).await?,
        ),
    }
}

/// Shows what would be trusted and asks; the digest of what was shown.
async fn read_first(cli: &mut Cli<'_>, name: &str) -> Result<String, Failure> {
    let review = cli
        .client
        .call(GetSkill {
            name: name.to_owned(),
        })
        .await?;
    cli.terminal.show(&review, show_review)?;
    let Some(sha256) = review.skill.sha256 else {
        return Err(Failure::Ended(format!(
            "{}: there is nothing that could be trusted",
            cell(name)
        )));
    };
    if !cli.terminal.is_attended() {
        cli.terminal.note(&format!(
            "Nothing was trusted: add --sha256 {sha256} to trust these files."
        ))?;
        return Err(Failure::Waiting);
    }
    let typed = cli
        .terminal
        .ask("Agents follow this text. Type yes to trust it:")?;
    if typed.trim() != "yes" {
        cli.terminal.note("Nothing was trusted.")?;
        return Err(Failure::Waiting);
    }
    Ok(sha256)
}

fn done(terminal: &mut Terminal<'_>, skill: &Skill) -> Result<(), Failure> {
    terminal.show(skill, show)
}

fn show(terminal: &mut Terminal<'_>, skill: &Skill) -> Result<(), Failure> {
    let state = match skill.state {
        SkillState::Trusted => "agents get it",
        SkillState::New => "nobody trusts it yet: agents do not get it",
        SkillState::Changed => "its files changed since: agents get what was trusted",
        SkillState::Missing if skill.trusted_sha256.is_some() => {
            "its files are gone: agents get what was trusted"
        }
        SkillState::Missing => "its files are gone, and it is not trusted",
        SkillState::Invalid => "its files cannot be used",
    };
    terminal.line(&format!("{}  {}: {state}", cell(&skill.name), skill.state))?;
    let trusted = match (&skill.trusted_at, &skill.trusted_by) {
        (Some(at), Some(by)) => Some(format!("by {} at {at}", cell(by))),
        (Some(_) | None, _) => None,
    };
    let text = |text: &str| limit_line(text, WIDTH);
    for (name, value) in [
        (
            "about",
            Some(text(&skill.description)).filter(|text| !text.is_empty()),
        ),
        ("path", skill.path.as_deref().map(text)),
        ("problem", skill.problem.as_deref().map(text)),
        (
            "files",
            (skill.files > 0).then(|| format!("{}, {} bytes", skill.files, skill.bytes)),
        ),
        ("digest", skill.sha256.clone()),
        ("trusted", trusted),
        (
            "trusted digest",
            skill
                .trusted_sha256
                .clone()
                .filter(|_| skill.state != SkillState::Trusted),
        ),
    ] {
        if let Some(value) = value {
            terminal.line(&format!("{name:<15} {value}"))?;
        }
    }
    Ok(())
}

fn show_review(terminal: &mut Terminal<'_>, review: &SkillReview) -> Result<(), Failure> {
    show(terminal, &review.skill)?;
    for path in &review.binary {
        terminal.line(&format!("no text, differs {}", limit_line(path, WIDTH)))?;
    }
    for line in review.diff.lines() {
        terminal.line(&reveal_line(line))?;
    }
    Ok(())
}
