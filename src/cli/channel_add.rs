//! `leverframe channels add`: writes a channel into the configuration file, and asks its platform about it.
//!
//! No secret is written, only where it is.

use crate::cli::channel_arguments::AddChannelArguments;
use crate::cli::config_file;
use crate::cli::doctor::print_findings;
use crate::cli::exit::Failure;
use crate::cli::init_questions::{self as questions, Reply};
use crate::cli::mcp::{absolute, pairs};
use crate::cli::terminal::{Format, Terminal, attended, cell};
use crate::config::edit::{NewChannel, add_channel};
use crate::config::environment::Environment;
use crate::config::file::ChannelPlatform;
use crate::config::flags::Flags;
use crate::config::platforms::{SecretNeed, secrets_of};
use crate::config::settings::Paths;
use crate::config::template::STARTER_AUTO_APPROVE;
use crate::protocol::doctor::Standing;
use crate::protocol::enums::ChannelKind;
use crate::runtime::channels;

/// Writes the channel, after asking a person for what the arguments leave open.
pub async fn run(
    terminal: &mut Terminal<'_>,
    format: Format,
    flags: &Flags,
    paths: &Paths,
    mut arguments: AddChannelArguments,
) -> Result<(), Failure> {
    if arguments.manifest {
        let manifest = channels::slack_manifest(&arguments.name);
        return terminal.line(&format!("{manifest:#}"));
    }
    let environment = Environment::capture();
    let asks = attended(terminal, format);
    let Some(platform) = platform(terminal, asks, arguments.kind)? else {
        return Ok(());
    };
    let kind = platform.kind();
    let (plain, passed): (Vec<String>, Vec<String>) = std::mem::take(&mut arguments.env)
        .into_iter()
        .partition(|one| one.contains('='));
    let starter = STARTER_AUTO_APPROVE.iter().map(|tool| (*tool).to_owned());
    let paths_of = |given: &[String]| given.iter().map(|path| absolute(path)).collect();
    let mut channel = NewChannel {
        kind: platform.as_str(),
        texts: Vec::new(),
        lists: vec![
            ("command", std::mem::take(&mut arguments.command)),
            ("environment_env", passed),
            ("read", paths_of(&arguments.read)),
            ("write", paths_of(&arguments.write)),
            ("allowed_users", arguments.allowed_users.clone()),
            ("auto_approve", starter.collect()),
        ],
        environment: pairs("--env", &plain)?,
    };
    if kind == ChannelKind::Matrix && arguments.api_base.is_none() && asks {
        arguments.api_base = homeserver(terminal)?;
    }
    for need in secrets_of(kind) {
        let place = match given(&arguments, need) {
            Some(place) => place,
            None if asks => match secret(terminal, &environment, need)? {
                Some(place) => place,
                None => return Err(Failure::Usage("nothing is written".to_owned())),
            },
            None => {
                let option = need.key.replace('_', "-");
                return Err(Failure::Usage(format!(
                    "say where the {} is: --{option}-env VARIABLE or --{option}-file FILE. {}",
                    need.key, need.source
                )));
            }
        };
        channel.texts.push(place);
    }
    let addresses = [
        ("api_base", arguments.api_base),
        ("callback_url", arguments.callback_url),
        ("webhook_url", arguments.webhook_url),
    ];
    for (key, value) in addresses {
        if let Some(value) = value {
            channel.texts.push((key.to_owned(), value));
        }
    }
    let name = &arguments.name;
    let old = config_file::read(&paths.config_file)?;
    let new = add_channel(&old, name, &channel).map_err(Failure::Usage)?;
    config_file::replace(&paths.config_file, &old, &new, flags)?;
    terminal.line(&format!(
        "wrote [channels.{name}] into {}",
        paths.config_file.display()
    ))?;
    if !arguments.no_check {
        check(terminal, format, flags, &environment, name).await?;
    }
    terminal.note(&format!(
        "The daemon connects it at its next start; then `leverframe channels test {name}` sends a message. \
         Who writes to it is told a code: `leverframe channels pairings` lists them."
    ))
}

/// Asks the platform, where the secrets are here.
async fn check(
    terminal: &mut Terminal<'_>,
    format: Format,
    flags: &Flags,
    environment: &Environment,
    name: &str,
) -> Result<(), Failure> {
    let findings = match channels::check(flags, environment, name).await {
        Ok(findings) => findings,
        Err(error) => {
            return terminal.note(&format!(
                "the platform was not asked: {}",
                cell(&format!("{error:#}"))
            ));
        }
    };
    print_findings(terminal, format, &findings)?;
    if findings.iter().any(|one| one.verdict == Standing::Fail) {
        return Err(Failure::Ended(format!(
            "{} is written and not set up yet; mend what failed, then `leverframe channels test {0}`",
            cell(name)
        )));
    }
    Ok(())
}

fn platform(
    terminal: &mut Terminal<'_>,
    asks: bool,
    given: Option<ChannelPlatform>,
) -> Result<Option<ChannelPlatform>, Failure> {
    if given.is_some() {
        return Ok(given);
    }
    let words: Vec<&str> = ChannelPlatform::ALL
        .iter()
        .map(|one| one.as_str())
        .collect();
    let words = words.join(", ");
    if !asks {
        return Err(Failure::Usage(format!("say --kind: one of {words}")));
    }
    let question = format!("Platform ({words}):");
    let reply = questions::ask(terminal, &question, |answer| {
        ChannelPlatform::ALL
            .iter()
            .find(|one| one.as_str() == answer)
            .copied()
            .ok_or_else(|| format!("one of {words}"))
    })?;
    match reply {
        Reply::Answer(platform) => Ok(Some(platform)),
        Reply::Back => Ok(None),
    }
}

fn homeserver(terminal: &mut Terminal<'_>) -> Result<Option<String>, Failure> {
    let question = "Address of the homeserver, for example https://matrix.org:";
    let reply = questions::ask(terminal, question, |answer| {
        if answer.starts_with("https://") || answer.starts_with("http://") {
            Ok(answer.to_owned())
        } else {
            Err("an address that begins with https://".to_owned())
        }
    })?;
    match reply {
        Reply::Answer(address) => Ok(Some(address)),
        Reply::Back => Ok(None),
    }
}

/// Key and value of a secret that the arguments say the place of.
fn given(arguments: &AddChannelArguments, need: &SecretNeed) -> Option<(String, String)> {
    let (env, file) = match need.key {
        "app_token" => (&arguments.app_token_env, &arguments.app_token_file),
        "secret" => (&arguments.secret_env, &arguments.secret_file),
        _ => (&arguments.token_env, &arguments.token_file),
    };
    let key = |suffix: &str| format!("{}{suffix}", need.key);
    match (env, file) {
        (Some(name), _) => Some((key("_env"), name.clone())),
        (None, Some(file)) => Some((key("_file"), file.clone())),
        (None, None) => None,
    }
}

/// Asks for the variable of a secret, saying where to get it.
fn secret(
    terminal: &mut Terminal<'_>,
    environment: &Environment,
    need: &SecretNeed,
) -> Result<Option<(String, String)>, Failure> {
    terminal.note(&format!("{}.", need.source))?;
    let question = format!(
        "Variable that holds the {} (empty: {}):",
        need.key.replace('_', " "),
        need.variable
    );
    let reply = questions::ask(terminal, &question, |answer| {
        questions::variable(answer, environment, None)
    })?;
    match reply {
        Reply::Answer(name) => {
            let name = name.unwrap_or_else(|| need.variable.to_owned());
            if environment.get(&name).is_none() {
                terminal.note(&format!(
                    "note: the variable {} is not set here; set it before starting",
                    cell(&name)
                ))?;
            }
            Ok(Some((format!("{}_env", need.key), name)))
        }
        Reply::Back => Ok(None),
    }
}
