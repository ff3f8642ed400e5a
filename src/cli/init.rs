//! `leverframe init`: writes a commented configuration file. Never replaces one that exists without
//! `--force`, and never writes a secret into it, only where the secret is.

use std::io::Write as _;
use std::net::ToSocketAddrs as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::Duration;

use crate::cli::arguments::InitArguments;
use crate::cli::exit::Failure;
use crate::cli::init_offer::{self, GivenModel};
use crate::cli::init_questions::{self as questions, Reply};
use crate::cli::terminal::{Attendance, Terminal, cell};
use crate::client::remote::target::host_and_port;
use crate::config::environment::Environment;
use crate::config::providers;
use crate::config::template::{
    InitChoices, ModelChoice, OwnerChoice, SecretChoice, TelegramChoice, ToldChoice,
    render_template,
};
use crate::protocol::enums::Autonomy;

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

/// How a step went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// The flags or the answers before leave nothing to ask.
    Skipped,
    /// The person answered.
    Answered,
    /// The person wants the question before.
    Back,
}

/// A question, in the order in which they are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Model,
    BotToken,
    Owner,
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
        return Err(Failure::Usage(format!(
            "{} exists already: edit it, or replace it with --force",
            file.display()
        )));
    }
    let model = model.map(str::to_owned);
    if terminal.attended == Attendance::Person && !arguments.yes {
        return ask(terminal, file, arguments, model, environment).await;
    }
    let choices = choices(arguments, model, None)?;
    check(terminal, &choices, environment)?;
    finish(terminal, file, &choices)?;
    Ok(AfterInit::End)
}

fn finish(terminal: &mut Terminal<'_>, file: &Path, choices: &InitChoices) -> Result<(), Failure> {
    write(file, &render_template(choices)).map_err(|error| {
        Failure::Usage(format!("{} cannot be written: {error}", file.display()))
    })?;
    terminal.line(&format!("wrote {}", file.display()))?;
    terminal.note(
        "`leverframe channels add NAME` connects Discord, Slack, Matrix, webhooks and more",
    )?;
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
    let mut answers = given.clone();
    let mut chosen = None;
    let mut asked: Vec<Step> = Vec::new();
    let mut step = Step::Model;
    terminal.note("`<` goes back to the question before.")?;
    loop {
        let outcome = match step {
            Step::Model => {
                let reply = ask_for_model(terminal, given, model.as_deref(), environment).await?;
                keep(reply, &mut chosen)
            }
            Step::BotToken if given.telegram_token_env.is_some() => Outcome::Skipped,
            Step::BotToken if given.telegram_token_file.is_some() => Outcome::Skipped,
            Step::BotToken => {
                let question = "Variable that holds the token of a Telegram bot, from @BotFather (empty: no Telegram):";
                let shape: Option<fn(&str) -> bool> = Some(questions::is_bot_token);
                let reply = questions::ask(terminal, question, |answer| {
                    questions::variable(answer, environment, shape)
                })?;
                keep(reply, &mut answers.telegram_token_env)
            }
            Step::Owner if given.owner_id.is_some() => Outcome::Skipped,
            Step::Owner
                if answers.telegram_token_env.is_none()
                    && answers.telegram_token_file.is_none() =>
            {
                Outcome::Skipped
            }
            Step::Owner => {
                let question = "Your numeric Telegram id (empty: none yet):";
                let reply = questions::ask(terminal, question, questions::telegram_id)?;
                keep(reply, &mut answers.owner_id)
            }
            Step::Write => {
                let choices = choices(&answers, model.clone(), chosen.clone())?;
                if let Some(after) = ask_to_write(terminal, file, &choices, environment)? {
                    return Ok(after);
                }
                Outcome::Back
            }
        };
        if outcome == Outcome::Back {
            match asked.pop() {
                Some(before) => step = before,
                None => terminal.note("this is the first question")?,
            }
            continue;
        }
        if outcome == Outcome::Answered {
            asked.push(step);
        }
        step = match step {
            Step::Model => Step::BotToken,
            Step::BotToken => Step::Owner,
            Step::Owner | Step::Write => Step::Write,
        };
    }
}

/// Puts an answer into its place.
fn keep<T>(reply: Reply<Option<T>>, slot: &mut Option<T>) -> Outcome {
    match reply {
        Reply::Back => Outcome::Back,
        Reply::Answer(answer) => {
            *slot = answer;
            Outcome::Answered
        }
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
    // Without anybody to answer, the answers before count.
    let mut after = (AfterInit::End, true);
    for _ in 0..3 {
        let Some(answer) = terminal.ask_if_open(question)? else {
            break;
        };
        after = match answer.to_ascii_lowercase().as_str() {
            "<" => return Ok(None),
            "" | "y" | "yes" if complete => (AfterInit::Start, true),
            "" | "y" | "yes" | "n" | "no" => (AfterInit::End, true),
            "q" => (AfterInit::End, false),
            _ => {
                terminal.note("answer y, n, q, or `<` to go back")?;
                continue;
            }
        };
        break;
    }
    if !after.1 {
        return Err(Failure::Usage("nothing is written".to_owned()));
    }
    finish(terminal, file, choices)?;
    Ok(Some(after.0))
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
    let telegram = match &choices.telegram {
        Some(_) if choices.owner.is_some() => "a bot that answers you",
        Some(_) => "a bot that answers nobody until you let people in",
        None => "none",
    };
    vec![
        format!("  model     {}", cell(&model)),
        format!("  Telegram  {telegram}"),
    ]
}

/// The choices behind the flags and answers.
fn choices(
    arguments: &InitArguments,
    model: Option<String>,
    chosen: Option<ModelChoice>,
) -> Result<InitChoices, Failure> {
    let owner = arguments.owner_id.as_deref().map(questions::telegram_id);
    let owner = owner
        .transpose()
        .map_err(|wrong| Failure::Usage(format!("--owner-id {wrong}")))?
        .flatten();
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
    if model.contains('/')
        && (init_offer::is_predeclared(provider) || provider == providers::SCRIPTED)
    {
        return Ok(ModelChoice::Named { model });
    }
    Err(Failure::Usage(format!(
        "`{}`: openai/…, anthropic/…, gemini/… and ollama/… are known; for another server give --base-url, for example \
         --provider local --base-url http://127.0.0.1:8080/v1 --model MODEL",
        cell(&model)
    )))
}

/// Says what is missing or cannot be reached, and whether every secret is there. None of it stops the file from being
/// written.
fn check(
    terminal: &mut Terminal<'_>,
    choices: &InitChoices,
    environment: &Environment,
) -> Result<bool, Failure> {
    let mut complete = true;
    match &choices.model {
        ModelChoice::Scripted => {}
        ModelChoice::Named { model } => {
            let provider = model.split('/').next().unwrap_or_default();
            let keys = providers::predeclared().find(|(name, _)| *name == provider);
            let keys = keys.map_or(&[] as &[&str], |(_, keys)| keys);
            if let Some(usual) = keys.first()
                && keys.iter().all(|key| environment.get(key).is_none())
            {
                complete = secret(
                    terminal,
                    &SecretChoice::Env((*usual).to_owned()),
                    environment,
                )?;
            }
        }
        ModelChoice::Server { base_url, key, .. } => {
            reach(terminal, base_url)?;
            if let Some(key) = key {
                complete = secret(terminal, key, environment)?;
            }
        }
    }
    if let Some(telegram) = &choices.telegram {
        complete &= secret(terminal, &telegram.token, environment)?;
        reach(terminal, "https://api.telegram.org")?;
    }
    Ok(complete)
}

/// Whether a secret is where the file will say; a note where it is not.
fn secret(
    terminal: &mut Terminal<'_>,
    choice: &SecretChoice,
    environment: &Environment,
) -> Result<bool, Failure> {
    let missing = match choice {
        SecretChoice::Env(name) if environment.get(name).is_none() => format!(
            "note: the variable {} is not set here; set it before starting",
            cell(name)
        ),
        SecretChoice::File(file) if !Path::new(file).exists() => format!(
            "note: {} does not exist yet; make it with mode 0600 before starting",
            cell(file)
        ),
        SecretChoice::Env(_) | SecretChoice::File(_) => return Ok(true),
    };
    terminal.note(&missing)?;
    Ok(false)
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
