//! `leverframe init`: writes a commented configuration file. Never replaces one that exists without
//! `--force`, and never writes a secret into it, only where the secret is.

use std::io::Write as _;
use std::net::ToSocketAddrs as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::Duration;

use crate::cli::arguments::InitArguments;
use crate::cli::exit::Failure;
use crate::cli::init_offer::{self, Pick};
use crate::cli::terminal::{Attendance, Terminal, cell};
use crate::client::remote::target::host_and_port;
use crate::config::environment::Environment;
use crate::config::providers;
use crate::config::template::{
    InitChoices, ModelChoice, OwnerChoice, SecretChoice, TelegramChoice, ToldChoice,
    render_template,
};
use crate::protocol::words::Autonomy;

/// Time to reach a server.
const REACH: Duration = Duration::from_secs(3);

/// Writes the file after asking what the flags leave open (on a terminal, without `--yes`).
pub async fn run(
    terminal: &mut Terminal<'_>,
    file: &Path,
    arguments: &InitArguments,
    model: Option<&str>,
    environment: &Environment,
) -> Result<(), Failure> {
    if file.exists() && !arguments.force {
        return Err(Failure::Usage(format!(
            "{} exists already: edit it, or replace it with --force",
            file.display()
        )));
    }
    let mut arguments = arguments.clone();
    let mut model = model.map(str::to_owned);
    let mut chosen = None;
    if terminal.attended == Attendance::Person && !arguments.yes {
        let open = arguments.provider.is_none() && arguments.base_url.is_none() && model.is_none();
        let typed = if open {
            match init_offer::offer(terminal, environment).await? {
                Pick::Model(found) => {
                    chosen = Some(found);
                    false
                }
                Pick::Typed => true,
            }
        } else {
            true
        };
        if typed {
            ask_model(terminal, &mut arguments, &mut model)?;
        }
        ask(terminal, &mut arguments)?;
    }
    let choices = choices(&arguments, model, chosen)?;
    check(terminal, &choices, environment)?;
    write(file, &render_template(&choices)).map_err(|error| {
        Failure::Usage(format!("{} cannot be written: {error}", file.display()))
    })?;
    terminal.line(&format!("wrote {}", file.display()))?;
    terminal.note("`leverframe` opens the console, `leverframe --daemon` runs without one")
}

fn fill(
    terminal: &mut Terminal<'_>,
    slot: &mut Option<String>,
    question: &str,
) -> Result<(), Failure> {
    if slot.is_none() {
        let answer = terminal.ask(question)?;
        *slot = Some(answer).filter(|answer| !answer.is_empty());
    }
    Ok(())
}

fn ask_model(
    terminal: &mut Terminal<'_>,
    arguments: &mut InitArguments,
    model: &mut Option<String>,
) -> Result<(), Failure> {
    fill(
        terminal,
        &mut arguments.provider,
        "Model provider (a predeclared one as openai, or a name of your own; empty: the scripted model):",
    )?;
    if let Some(provider) = arguments.provider.clone() {
        fill(terminal, model, "Model id:")?;
        if !is_predeclared(&provider) {
            fill(
                terminal,
                &mut arguments.base_url,
                "Base URL, for example http://127.0.0.1:8080/v1:",
            )?;
            fill(
                terminal,
                &mut arguments.api_key_env,
                "Variable that holds its key (empty: it wants none):",
            )?;
        }
    }
    Ok(())
}

fn ask(terminal: &mut Terminal<'_>, arguments: &mut InitArguments) -> Result<(), Failure> {
    if arguments.telegram_token_file.is_none() {
        fill(
            terminal,
            &mut arguments.telegram_token_env,
            "Variable that holds a Telegram bot token (empty: no Telegram):",
        )?;
    }
    if arguments.telegram_token_env.is_some() || arguments.telegram_token_file.is_some() {
        fill(
            terminal,
            &mut arguments.owner_id,
            "Your numeric Telegram id (empty: none yet):",
        )?;
    }
    Ok(())
}

/// The choices behind the flags and answers.
fn choices(
    arguments: &InitArguments,
    model: Option<String>,
    chosen: Option<ModelChoice>,
) -> Result<InitChoices, Failure> {
    let owner = arguments
        .owner_id
        .as_ref()
        .map(|id| id.strip_prefix("telegram:").unwrap_or(id).to_owned());
    if let Some(id) = &owner
        && (id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_digit()))
    {
        return Err(Failure::Usage(format!(
            "--owner-id `{}` is not a numeric Telegram id (a name can be taken over, an id cannot)",
            cell(id)
        )));
    }
    let token = match (
        &arguments.telegram_token_env,
        &arguments.telegram_token_file,
    ) {
        (Some(name), _) => Some(SecretChoice::Env(name.clone())),
        (None, Some(file)) => Some(SecretChoice::File(file.clone())),
        (None, None) => None,
    };
    Ok(InitChoices {
        model: match chosen {
            Some(found) => found,
            None => model_choice(arguments, model)?,
        },
        telegram: token.map(|token| TelegramChoice {
            name: "telegram".to_owned(),
            token,
            allowed_users: owner.iter().cloned().collect(),
            autonomy: Autonomy::Supervised,
        }),
        owner: owner.map(|id| OwnerChoice {
            name: "owner".to_owned(),
            ids: vec![format!("telegram:{id}")],
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
        (Some(_), None, None) | (_, Some(_), None) => Err(Failure::Usage(
            "name the model too: --model MODEL".to_owned(),
        )),
    }
}

/// A model that needs no table of its own; any other must say where it is, or the file would not load.
fn predeclared(model: String) -> Result<ModelChoice, Failure> {
    let provider = model.split('/').next().unwrap_or_default();
    if model.contains('/') && (is_predeclared(provider) || provider == providers::SCRIPTED) {
        return Ok(ModelChoice::Named { model });
    }
    Err(Failure::Usage(format!(
        "`{}`: openai/…, anthropic/…, gemini/… and ollama/… are known; for another server give --base-url, for example \
         --provider local --base-url http://127.0.0.1:8080/v1 --model MODEL",
        cell(&model)
    )))
}

/// Whether a provider needs no table of its own.
fn is_predeclared(name: &str) -> bool {
    providers::predeclared().any(|(known, _)| known == name)
}

/// Says what is missing or cannot be reached. None of it stops the file from being written.
fn check(
    terminal: &mut Terminal<'_>,
    choices: &InitChoices,
    environment: &Environment,
) -> Result<(), Failure> {
    if let ModelChoice::Server { base_url, key, .. } = &choices.model {
        reach(terminal, base_url)?;
        if let Some(key) = key {
            secret(terminal, key, environment)?;
        }
    }
    if let Some(telegram) = &choices.telegram {
        secret(terminal, &telegram.token, environment)?;
        reach(terminal, "https://api.telegram.org")?;
    }
    Ok(())
}

fn secret(
    terminal: &mut Terminal<'_>,
    choice: &SecretChoice,
    environment: &Environment,
) -> Result<(), Failure> {
    match choice {
        SecretChoice::Env(name) if environment.get(name).is_none() => terminal.note(&format!(
            "note: the variable {} is not set here; set it before starting",
            cell(name)
        )),
        SecretChoice::File(file) if !Path::new(file).exists() => terminal.note(&format!(
            "note: {} does not exist yet; make it with mode 0600 before starting",
            cell(file)
        )),
        SecretChoice::Env(_) | SecretChoice::File(_) => Ok(()),
    }
}

fn reach(terminal: &mut Terminal<'_>, base_url: &str) -> Result<(), Failure> {
    let shown = cell(base_url);
    let Some((host, port)) = host_and_port(base_url) else {
        return Err(Failure::Usage(format!(
            "--base-url `{shown}` is not an http(s) URL"
        )));
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

/// Writes the whole file or nothing, readable by its owner only.
fn write(file: &Path, text: &str) -> std::io::Result<()> {
    if let Some(dir) = file.parent() {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(dir)?;
    }
    let draft = file.with_extension("toml.new");
    let mut out = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&draft)?;
    out.write_all(text.as_bytes())?;
    out.sync_all()?;
    std::fs::rename(&draft, file)
}
