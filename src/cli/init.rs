//! `leverframe init`: writes a commented configuration file. Never replaces one that exists without
//! `--force`, and never writes a secret into it, only where the secret is.

use std::net::ToSocketAddrs as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::time::Duration;

use crate::cli::arguments::InitArguments;
use crate::cli::channel_questions::{self, ChannelDraft};
use crate::cli::config_file;
use crate::cli::exit::{Failure, usage};
use crate::cli::init_channels::{self, Outcome, any_model, given_channel, given_owner};
use crate::cli::init_offer::{self, GivenModel};
use crate::cli::init_questions::{self as questions, Reply};
use crate::cli::terminal::{Attendance, Terminal, cell};
use crate::client::remote::target::host_and_port;
use crate::config::environment::Environment;
use crate::config::providers;
use crate::config::template::{
    InitChoices, ModelChoice, OwnerChoice, SecretChoice, ToldChoice, render_template,
};
use crate::protocol::enums::ChannelKind;

/// Time to reach a server.
const REACH: Duration = Duration::from_secs(3);

/// What comes after `init`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterInit {
    /// Nothing.
    End,
    /// The person wants the console now.
    Start,
}

/// What is asked, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Model,
    Channels,
    Write,
}

/// Writes the file after asking what the flags leave open (on a terminal, without `--yes`).
pub async fn run(
    terminal: &mut Terminal<'_>,
    file: &Path,
    arguments: &InitArguments,
    model: Option<&str>,
    environment: &Environment,
) -> Result<AfterInit, Failure> {
    if file.exists() && !arguments.force {
        return Err(usage!(
            "{} exists already: edit it, or replace it with --force",
            file.display()
        ));
    }
    let model = model.map(str::to_owned);
    if terminal.attended == Attendance::Person && !arguments.yes {
        return ask(terminal, file, arguments, model, environment).await;
    }
    let channels: Vec<ChannelDraft> = given_channel(arguments)?.into_iter().collect();
    let choices = choices(arguments, model, None, &channels)?;
    check(terminal, &choices, environment)?;
    write_choices(terminal, file, &choices)?;
    finish(terminal)?;
    Ok(AfterInit::End)
}

fn write_choices(
    terminal: &mut Terminal<'_>,
    file: &Path,
    choices: &InitChoices,
) -> Result<(), Failure> {
    if let Some(directory) = file.parent() {
        let mut builder = std::fs::DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(directory);
        made.map_err(|error| usage!("{} cannot be made: {error}", directory.display()))?;
    }
    // It loads, or nothing is written. The model may get its key later.
    config_file::replace(file, "", &render_template(choices), &any_model())?;
    terminal.line(&format!("wrote {}", file.display()))
}

fn finish(terminal: &mut Terminal<'_>) -> Result<(), Failure> {
    terminal.note("`leverframe channels add NAME` connects another platform")?;
    terminal.note("`leverframe` opens the console, `leverframe --daemon` runs without one")
}

/// Asks one question after the other; `<` goes back to the one before.
async fn ask(
    terminal: &mut Terminal<'_>,
    file: &Path,
    given: &InitArguments,
    model: Option<String>,
    environment: &Environment,
) -> Result<AfterInit, Failure> {
    let mut chosen = None;
    let mut channels: Vec<ChannelDraft> = given_channel(given)?.into_iter().collect();
    let from_flags = channels.len();
    let mut step = Step::Model;
    terminal.note("`<` goes back to the previous question.")?;
    loop {
        let outcome = match step {
            Step::Model => {
                match ask_for_model(terminal, given, model.as_deref(), environment).await? {
                    Reply::Back => {
                        terminal.note("this is the first question")?;
                        continue;
                    }
                    Reply::Answer(answer) => {
                        chosen = answer;
                        Outcome::Answered
                    }
                }
            }
            Step::Channels => init_channels::ask(terminal, environment, &mut channels, from_flags)?,
            Step::Write => {
                let choices = choices(given, model.clone(), chosen.clone(), &channels)?;
                match ask_to_write(terminal, file, &choices, environment)? {
                    Some(after) => {
                        init_channels::prove(terminal, file, &choices, environment).await?;
                        finish(terminal)?;
                        return Ok(after);
                    }
                    None => Outcome::Back,
                }
            }
        };
        step = match (step, outcome) {
            (Step::Model, Outcome::Answered) | (Step::Write, Outcome::Back) => Step::Channels,
            (Step::Channels | Step::Write, Outcome::Answered) => Step::Write,
            (Step::Channels | Step::Model, Outcome::Back) => Step::Model,
        };
    }
}

/// The model that the person chooses; an answer of none where the flags say all.
async fn ask_for_model(
    terminal: &mut Terminal<'_>,
    given: &InitArguments,
    model: Option<&str>,
    environment: &Environment,
) -> Result<Reply<Option<ModelChoice>>, Failure> {
    let reply = match (&given.provider, &given.base_url, model) {
        (None, None, None) => init_offer::ask_model(terminal, environment).await?,
        (None, None, Some(_)) => return Ok(Reply::Answer(None)),
        (Some(_), _, _) | (_, Some(_), _) => {
            let given = GivenModel {
                provider: given.provider.clone(),
                base_url: given.base_url.clone(),
                key_variable: given.api_key_env.clone(),
                model: model.map(str::to_owned),
            };
            init_offer::ask_address(terminal, environment, &given).await?
        }
    };
    Ok(match reply {
        Reply::Back => Reply::Back,
        Reply::Answer(choice) => Reply::Answer(Some(choice)),
    })
}

/// Shows what the file will say, writes it after a yes, and offers to start. None: the person goes back.
fn ask_to_write(
    terminal: &mut Terminal<'_>,
    file: &Path,
    choices: &InitChoices,
    environment: &Environment,
) -> Result<Option<AfterInit>, Failure> {
    for line in summary(choices) {
        terminal.note(&line)?;
    }
    let complete = check(terminal, choices, environment)?;
    let question = if complete {
        "Write this and start the console now? [Y/n; n only writes, q writes nothing]"
    } else {
        // What it needs is missing: a start would only end with that.
        "Write this? [Y/q; q writes nothing]"
    };
    let after = loop {
        // Without anybody to answer, the answers before count.
        let Some(answer) = terminal.ask_if_open(question)? else {
            break AfterInit::End;
        };
        match answer.to_ascii_lowercase().as_str() {
            "<" => return Ok(None),
            "" | "y" | "yes" if complete => break AfterInit::Start,
            "" | "y" | "yes" | "n" | "no" => break AfterInit::End,
            "q" => return Err(Failure::usage("nothing is written")),
            _ => terminal.note("answer y, n, q, or `<` to go back")?,
        }
    };
    match write_choices(terminal, file, choices) {
        Ok(()) => Ok(Some(after)),
        // What was answered is not lost by it.
        Err(Failure::Usage(why)) => {
            for line in why.lines() {
                terminal.note(&cell(line))?;
            }
            Ok(None)
        }
        Err(other) => Err(other),
    }
}

/// What the file will say, a line a choice.
fn summary(choices: &InitChoices) -> Vec<String> {
    let model = match &choices.model {
        ModelChoice::Scripted => "the scripted model, which is no LLM".to_owned(),
        ModelChoice::Named { model } => model.clone(),
        ModelChoice::Server {
            provider,
            model,
            base_url,
            ..
        } => format!("{provider}/{model} at {base_url}"),
    };
    let mut lines = vec![format!("  model     {}", cell(&model))];
    for (name, channel) in &choices.channels {
        let answers = if channel
            .lists
            .iter()
            .any(|(key, ids)| *key == "allowed_users" && !ids.is_empty())
        {
            "answers you"
        } else {
            "answers nobody until you let people in"
        };
        let place = if name == channel.kind {
            String::new()
        } else {
            format!(" on {}", channel.kind)
        };
        lines.push(format!("  channel   {name}{place}: {answers}"));
    }
    if choices.channels.is_empty() {
        lines.push("  channel   none".to_owned());
    }
    lines
}

/// The choices behind the flags and answers.
fn choices(
    arguments: &InitArguments,
    model: Option<String>,
    chosen: Option<ModelChoice>,
    drafts: &[ChannelDraft],
) -> Result<InitChoices, Failure> {
    let given = given_owner(arguments)?.map(|id| format!("telegram:{id}"));
    let mut ids: Vec<String> = given.into_iter().collect();
    let mut channels = Vec::new();
    for draft in drafts {
        let kind = draft.kind();
        // Who writes there is a claim, and nobody gets a role by that.
        if !matches!(kind, ChannelKind::Webhook | ChannelKind::Process) {
            let users = draft.arguments.allowed_users.iter();
            ids.extend(users.map(|id| format!("{kind}:{id}")));
        }
        channels.push((draft.arguments.name.clone(), draft.channel()?));
    }
    ids.sort_unstable();
    ids.dedup();
    Ok(InitChoices {
        model: match chosen {
            Some(found) => found,
            None => model_choice(arguments, model)?,
        },
        channels,
        owner: (!ids.is_empty()).then(|| OwnerChoice {
            name: "owner".to_owned(),
            ids,
        }),
    })
}

fn model_choice(arguments: &InitArguments, model: Option<String>) -> Result<ModelChoice, Failure> {
    match (&arguments.provider, &arguments.base_url, model) {
        (None, None, None) => Ok(ModelChoice::Scripted),
        (None, None, Some(model)) => predeclared(model),
        (Some(provider), None, Some(model)) => {
            let prefix = format!("{provider}/");
            let model = if model.starts_with(&prefix) {
                model
            } else {
                format!("{prefix}{model}")
            };
            predeclared(model)
        }
        (provider, Some(base_url), Some(model)) => {
            let provider = provider.clone().unwrap_or_else(|| "local".to_owned());
            let model = model
                .strip_prefix(&format!("{provider}/"))
                .map_or(model.clone(), str::to_owned);
            Ok(ModelChoice::Server {
                key: arguments.api_key_env.clone().map(SecretChoice::Env),
                provider,
                model,
                kind: "openai-chat",
                base_url: base_url.clone(),
                told: ToldChoice::default(),
            })
        }
        (Some(_), None, None) | (_, Some(_), None) => {
            Err(Failure::usage("name the model too: --model MODEL"))
        }
    }
}

/// A model that needs no table of its own; any other must say where it is, or the file would not load.
fn predeclared(model: String) -> Result<ModelChoice, Failure> {
    let provider = model.split('/').next().unwrap_or_default();
    if model.contains('/')
        && (init_offer::is_predeclared(provider) || provider == providers::SCRIPTED)
    {
        return Ok(ModelChoice::Named { model });
    }
    Err(usage!(
        "`{}`: openai/…, anthropic/…, gemini/… and ollama/… are known; for another server give --base-url, for example \
         --provider local --base-url http://127.0.0.1:8080/v1 --model MODEL",
        cell(&model)
    ))
}

/// Says what is missing or cannot be reached, and whether every secret is there. None of it stops the file from being
/// written.
fn check(
    terminal: &mut Terminal<'_>,
    choices: &InitChoices,
    environment: &Environment,
) -> Result<bool, Failure> {
    let mut missing = Vec::new();
    match &choices.model {
        ModelChoice::Scripted if choices.channels.is_empty() => {}
        ModelChoice::Scripted => missing.push(
            "note: the scripted model does not answer on platforms; set a model under [model] before you start"
                .to_owned(),
        ),
        ModelChoice::Named { model } => {
            let provider = model.split('/').next().unwrap_or_default();
            let keys = providers::predeclared().find(|(name, _)| *name == provider);
            let keys = keys.map_or(&[] as &[&str], |(_, keys)| keys);
            if let Some(usual) = keys.first()
                && keys.iter().all(|key| environment.get(key).is_none())
            {
                missing.extend(questions::missing_variable(usual, environment));
            }
        }
        ModelChoice::Server { base_url, key, .. } => {
            reach(terminal, base_url)?;
            match key {
                Some(SecretChoice::Env(name)) => {
                    missing.extend(questions::missing_variable(name, environment));
                }
                Some(SecretChoice::File(file)) => missing.extend(questions::missing_file(file)),
                None => {}
            }
        }
    }
    for (_, channel) in &choices.channels {
        missing.extend(channel_questions::missing(channel, environment));
    }
    for note in &missing {
        terminal.note(note)?;
    }
    Ok(missing.is_empty())
}

fn reach(terminal: &mut Terminal<'_>, base_url: &str) -> Result<(), Failure> {
    let shown = cell(base_url);
    let Some((host, port)) = host_and_port(base_url) else {
        return Err(usage!("--base-url `{shown}` is not an http(s) URL"));
    };
    let reached = (host.as_str(), port)
        .to_socket_addrs()
        .and_then(|mut addresses| {
            let address = addresses
                .next()
                .ok_or_else(|| std::io::Error::other("the name has no address"))?;
            std::net::TcpStream::connect_timeout(&address, REACH)
        });
    match reached {
        Ok(_) => terminal.note(&format!("reached {shown}")),
        Err(error) => terminal.note(&format!("note: {shown} cannot be reached now: {error}")),
    }
}
