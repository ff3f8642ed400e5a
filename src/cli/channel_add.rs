//! `leverframe channels add`: writes a channel into the configuration file, and asks its platform about it.
//!
//! No secret is written, only where it is.

use crate::cli::channel_arguments::AddChannelArguments;
use crate::cli::channel_questions::{self, ChannelDraft};
use crate::cli::config_file;
use crate::cli::doctor::print_findings;
use crate::cli::exit::{Failure, usage};
use crate::cli::init_questions::Reply;
use crate::cli::terminal::{Terminal, cell};
use crate::config::edit::add_channel;
use crate::config::environment::Environment;
use crate::config::file::ChannelPlatform;
use crate::config::flags::Flags;
use crate::config::settings::Paths;
use crate::protocol::doctor::Standing;
use crate::runtime::channels;

/// Writes the channel, after asking a person for what the arguments leave open.
pub async fn run(
    terminal: &mut Terminal<'_>,
    flags: &Flags,
    paths: &Paths,
    arguments: AddChannelArguments,
) -> Result<(), Failure> {
    if arguments.manifest {
        let manifest = channels::slack_manifest(&arguments.name);
        return terminal.line(&format!("{manifest:#}"));
    }
    let environment = Environment::capture();
    let is_checked = !arguments.no_check;
    let draft = described(terminal, &environment, arguments)?;
    let channel = draft.channel()?;
    for note in channel_questions::missing(&channel, &environment) {
        terminal.note(&note)?;
    }
    let name = &draft.arguments.name;
    let old = config_file::read(&paths.config_file)?;
    let new = add_channel(&old, name, &channel).map_err(Failure::Usage)?;
    config_file::replace(&paths.config_file, &old, &new, flags)?;
    terminal.line(&format!(
        "wrote [channels.{name}] into {}",
        paths.config_file.display()
    ))?;
    if is_checked && !is_set_up(terminal, flags, &environment, name).await? {
        return Err(Failure::Ended(format!(
            "{} is written, but not set up yet; fix the failed checks, then `leverframe channels test {0}`",
            cell(name)
        )));
    }
    terminal.note(&format!(
        "The daemon connects it at its next start; then `leverframe channels test {name}` sends a message. \
         Unknown senders get a code: `leverframe channels pairings` lists them."
    ))
}

/// The channel of the arguments; a person is asked for what they leave open.
fn described(
    terminal: &mut Terminal<'_>,
    environment: &Environment,
    arguments: AddChannelArguments,
) -> Result<ChannelDraft, Failure> {
    let words: Vec<&str> = ChannelPlatform::ALL
        .iter()
        .map(|one| one.as_str())
        .collect();
    let words = words.join(", ");
    let nothing = || Failure::usage("nothing is written");
    if !terminal.is_attended() {
        let platform = arguments.kind;
        let platform = platform.ok_or_else(|| usage!("say --kind: one of {words}"))?;
        return Ok(ChannelDraft::new(platform, arguments));
    }
    let platform = match arguments.kind {
        Some(platform) => platform,
        None => {
            let question = format!("Platform ({words}):");
            match channel_questions::platform(terminal, &question, false)? {
                Reply::Answer(Some(platform)) => platform,
                Reply::Answer(None) | Reply::Back => return Err(nothing()),
            }
        }
    };
    let mut draft = ChannelDraft::new(platform, arguments);
    match draft.ask(terminal, environment, &|_| false)? {
        Reply::Answer(()) => Ok(draft),
        Reply::Back => Err(nothing()),
    }
}

/// Asks the platform of a channel that is in the file, and prints what it says. False: something does not work.
pub async fn is_set_up(
    terminal: &mut Terminal<'_>,
    flags: &Flags,
    environment: &Environment,
    name: &str,
) -> Result<bool, Failure> {
    match channels::check(flags, environment, name).await {
        Ok(findings) => {
            print_findings(terminal, &findings)?;
            Ok(!findings.iter().any(|one| one.verdict == Standing::Fail))
        }
        Err(error) => {
            let why = cell(&format!("{error:#}"));
            terminal.note(&format!("the platform was not checked: {why}"))?;
            Ok(true)
        }
    }
}
