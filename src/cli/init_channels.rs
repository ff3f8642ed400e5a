//! The channels of `init`: one platform after the other, with the questions of `channels add`.
//!
//! Nothing here writes a file.

use std::path::Path;

use crate::cli::arguments::InitArguments;
use crate::cli::channel_add::is_set_up;
use crate::cli::channel_arguments::AddChannelArguments;
use crate::cli::channel_questions::{self, ChannelDraft};
use crate::cli::exit::{Failure, usage};
use crate::cli::init_questions::{self as questions, Reply};
use crate::cli::terminal::Terminal;
use crate::config::environment::Environment;
use crate::config::file::ChannelPlatform;
use crate::config::flags::Flags;
use crate::config::template::InitChoices;
use crate::protocol::enums::ChannelKind;

/// How a step went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The person answered.
    Answered,
    /// The person wants the question before.
    Back,
}

/// The Telegram bot of the flags.
pub fn given_channel(given: &InitArguments) -> Result<Option<ChannelDraft>, Failure> {
    let (env, file) = (&given.telegram_token_env, &given.telegram_token_file);
    if env.is_none() && file.is_none() {
        return Ok(None);
    }
    let arguments = AddChannelArguments {
        name: ChannelKind::Telegram.as_str().to_owned(),
        token_env: env.clone(),
        token_file: file.clone(),
        allowed_users: given_owner(given)?.into_iter().collect(),
        ..AddChannelArguments::default()
    };
    Ok(Some(ChannelDraft::new(
        ChannelPlatform::Telegram,
        arguments,
    )))
}

/// The Telegram id of the flags.
pub fn given_owner(given: &InitArguments) -> Result<Option<String>, Failure> {
    let owner = given.owner_id.as_deref().map(questions::telegram_id);
    let owner = owner.transpose();
    let owner = owner.map_err(|wrong| usage!("--owner-id {wrong}"))?;
    Ok(owner.flatten())
}

/// Asks for one platform after the other, until the person wants no more. What the flags gave cannot be taken away.
pub fn ask(
    terminal: &mut Terminal<'_>,
    environment: &Environment,
    channels: &mut Vec<ChannelDraft>,
    from_flags: usize,
) -> Result<Outcome, Failure> {
    let words: Vec<&str> = ChannelPlatform::ALL
        .iter()
        .map(|one| one.as_str())
        .collect();
    let words = words.join(", ");
    loop {
        let count = channels.len();
        if let Some((last, others)) = channels.split_last_mut()
            && !last.is_complete()
        {
            let taken = |name: &str| others.iter().any(|one| one.arguments.name == name);
            match last.ask(terminal, environment, &taken)? {
                Reply::Answer(()) => {}
                Reply::Back if count > from_flags => drop(channels.pop()),
                Reply::Back => return Ok(Outcome::Back),
            }
            continue;
        }
        let question = if count == 0 {
            format!("Platform to connect ({words}; empty: none):")
        } else {
            format!("Another platform ({words}; empty: no more):")
        };
        match channel_questions::platform(terminal, &question, true)? {
            Reply::Answer(None) => return Ok(Outcome::Answered),
            Reply::Answer(Some(platform)) => {
                channels.push(ChannelDraft::new(platform, AddChannelArguments::default()));
            }
            Reply::Back => {
                let is_open = channels.last_mut().is_some_and(ChannelDraft::reopen);
                if !is_open {
                    return Ok(Outcome::Back);
                }
            }
        }
    }
}

/// Flags with which a file is looked at for all but its model.
pub fn any_model() -> Flags {
    Flags {
        // One that wants no key.
        model: Some("ollama/any".to_owned()),
        ..Flags::default()
    }
}

/// Asks the platform of each channel whose secrets are here.
pub async fn prove(
    terminal: &mut Terminal<'_>,
    file: &Path,
    choices: &InitChoices,
    environment: &Environment,
) -> Result<(), Failure> {
    let flags = Flags {
        config: Some(file.to_owned()),
        ..any_model()
    };
    for (name, channel) in &choices.channels {
        if !channel_questions::missing(channel, environment).is_empty() {
            terminal.note(&format!(
                "{name}: not asked yet; `leverframe channels test {name}` asks once the daemon runs"
            ))?;
            continue;
        }
        terminal.note(&format!("{name}: asking the platform"))?;
        if !is_set_up(terminal, &flags, environment, name).await? {
            terminal.note(&format!(
                "{name} is not set up yet; fix the failed checks, then `leverframe channels test {name}`"
            ))?;
        }
    }
    Ok(())
}
