//! What could answer, offered by name: keys in the environment, model servers on this machine, and any server whose
//! address a person gives. Nothing is used without a yes, and a key goes only to the server that it was named for.

use crate::cli::exit::Failure;
use crate::cli::init_questions::{self as questions, Reply};
use crate::cli::terminal::{Terminal, cell};
use crate::client::remote::target::host_and_port;
use crate::config::environment::Environment;
use crate::config::providers;
use crate::config::settings::Secret;
use crate::config::template::{ModelChoice, SecretChoice, ToldChoice};
use crate::protocol::models::{FoundModel, FoundServer};
use crate::runtime::models::{self, ModelList};

/// Models of one server that are listed.
const LISTED: usize = 20;

/// Model ids to begin with, by provider.
const SUGGESTED: &[(&str, &str)] = &[
    ("anthropic", "claude-sonnet-5-5"),
    ("gemini", "gemini-3.5-flash"),
    ("openai", "gpt-5.4-mini"),
];

/// What the flags say of the model.
#[derive(Default)]
pub struct GivenModel {
    /// Name of the provider.
    pub provider: Option<String>,
    /// Address of its server.
    pub base_url: Option<String>,
    /// Variable that holds its key.
    pub key_variable: Option<String>,
    /// Model id.
    pub model: Option<String>,
}

/// What the first question was answered by.
enum Pick {
    Scripted,
    Address,
    Offer(usize),
}

/// Where a model is.
enum Address {
    Scripted,
    Predeclared(String),
    Server(String),
}

enum Offer {
    Key {
        provider: &'static str,
        variable: &'static str,
    },
    OpenRouter,
    Server(FoundServer),
}

const OPENROUTER_KEY: &str = "OPENROUTER_API_KEY";

/// Lists what was found and asks which; an address can be given in place of all.
pub async fn ask_model(
    terminal: &mut Terminal<'_>,
    environment: &Environment,
) -> Result<Reply<ModelChoice>, Failure> {
    let offers = offers(terminal, environment).await?;
    if offers.is_empty() {
        terminal.note("No key in the environment, and no model server on this machine.")?;
        return ask_address(terminal, environment, &GivenModel::default()).await;
    }
    loop {
        terminal.note("What could answer:")?;
        for (number, offer) in offers.iter().enumerate() {
            terminal.note(&format!("  {}  {}", number + 1, described(offer)))?;
        }
        let question = "Which one? (its number; `other` to name an address; empty: the scripted model, which is no LLM)";
        let picked = questions::ask(terminal, question, |answer| match answer {
            "" => Ok(Pick::Scripted),
            "other" => Ok(Pick::Address),
            _ => match answer.parse::<usize>() {
                Ok(number) if (1..=offers.len()).contains(&number) => Ok(Pick::Offer(number - 1)),
                Ok(_) | Err(_) => Err(format!("there is no number {}", cell(answer))),
            },
        })?;
        let reply = match picked {
            Reply::Back => return Ok(Reply::Back),
            Reply::Answer(Pick::Scripted) => Reply::Answer(ModelChoice::Scripted),
            Reply::Answer(Pick::Address) => {
                ask_address(terminal, environment, &GivenModel::default()).await?
            }
            Reply::Answer(Pick::Offer(at)) => match offers.get(at) {
                Some(offer) => take(terminal, offer)?,
                None => Reply::Back,
            },
        };
        match reply {
            Reply::Back => {}
            answer @ Reply::Answer(_) => return Ok(answer),
        }
    }
}

async fn offers(
    terminal: &mut Terminal<'_>,
    environment: &Environment,
) -> Result<Vec<Offer>, Failure> {
    let mut offers: Vec<Offer> = providers::predeclared()
        .filter_map(|(provider, variables)| {
            let variable = variables
                .iter()
                .find(|variable| environment.get(variable).is_some())?;
            Some(Offer::Key { provider, variable })
        })
        .collect();
    if environment.get(OPENROUTER_KEY).is_some() {
        offers.push(Offer::OpenRouter);
    }
    let (servers, words) = models::find(environment).await;
    offers.extend(servers.into_iter().map(Offer::Server));
    for word in words {
        terminal.note(&format!("note: {}", cell(&word)))?;
    }
    Ok(offers)
}

/// Asks what the flags leave open: the address first, then its key where the server wants one, then one of the models that
/// the server lists.
pub async fn ask_address(
    terminal: &mut Terminal<'_>,
    environment: &Environment,
    given: &GivenModel,
) -> Result<Reply<ModelChoice>, Failure> {
    let asked = given.base_url.is_none() && !given.provider.as_deref().is_some_and(is_predeclared);
    loop {
        let address = match address(terminal, given, asked)? {
            Reply::Back => return Ok(Reply::Back),
            Reply::Answer(address) => address,
        };
        let reply = match address {
            Address::Scripted => Reply::Answer(ModelChoice::Scripted),
            Address::Predeclared(provider) => {
                let suggested = SUGGESTED.iter().find(|(of, _)| *of == provider);
                let model = match &given.model {
                    Some(model) => Reply::Answer(model.clone()),
                    None => model_id(terminal, suggested.map(|(_, model)| *model))?,
                };
                named(model, &provider)
            }
            Address::Server(base_url) => server(terminal, environment, given, &base_url).await?,
        };
        match reply {
            Reply::Back if asked => {}
            Reply::Back => return Ok(Reply::Back),
            answer @ Reply::Answer(_) => return Ok(answer),
        }
    }
}

fn address(
    terminal: &mut Terminal<'_>,
    given: &GivenModel,
    asked: bool,
) -> Result<Reply<Address>, Failure> {
    if let Some(base_url) = &given.base_url {
        return Ok(Reply::Answer(Address::Server(base_url.clone())));
    }
    if let Some(provider) = given.provider.as_ref().filter(|_| !asked) {
        return Ok(Reply::Answer(Address::Predeclared(provider.clone())));
    }
    let known: Vec<&str> = providers::predeclared().map(|(name, _)| name).collect();
    let known = known.join(", ");
    let named = given.provider.is_some();
    let question = if named {
        "Address of its server, for example http://127.0.0.1:8080/v1:".to_owned()
    } else {
        format!(
            "Address of a model server, for example http://127.0.0.1:8080/v1, or one of {known} (empty: the scripted \
             model):"
        )
    };
    questions::ask(terminal, &question, |answer| {
        if answer.is_empty() && !named {
            return Ok(Address::Scripted);
        }
        if !named && is_predeclared(answer) {
            return Ok(Address::Predeclared(answer.to_owned()));
        }
        match host_and_port(answer) {
            Some(_) => Ok(Address::Server(answer.to_owned())),
            None => Err(format!(
                "`{}` is no address: an address begins with http:// or https://",
                cell(answer)
            )),
        }
    })
}

/// A model of a server that somebody named: asks the server for its models, and the person for what it does not say.
async fn server(
    terminal: &mut Terminal<'_>,
    environment: &Environment,
    given: &GivenModel,
    base_url: &str,
) -> Result<Reply<ModelChoice>, Failure> {
    let shown = cell(base_url);
    let mut key = given.key_variable.clone();
    let mut listed = ModelList::Unlisted;
    if given.model.is_none() {
        listed = list_at(base_url, key.as_deref(), environment).await;
    }
    let wants = match listed {
        ModelList::Server(_) => false,
        ModelList::Unauthorized => {
            terminal.note(&format!("{shown} wants a key"))?;
            true
        }
        ModelList::Closed => {
            terminal.note(&format!(
                "note: {shown} cannot be reached now, so its models are not listed (`<`: another address)"
            ))?;
            true
        }
        ModelList::Unlisted => {
            if given.model.is_none() {
                terminal.note(&format!("note: {shown} lists no models"))?;
            }
            true
        }
    };
    if wants && key.is_none() {
        let question = "Variable that holds its key (empty: it wants none):";
        match questions::ask(terminal, question, |answer| {
            questions::variable(answer, environment, None)
        })? {
            Reply::Back => return Ok(Reply::Back),
            Reply::Answer(variable) => key = variable,
        }
        if given.model.is_none() && key.is_some() {
            listed = list_at(base_url, key.as_deref(), environment).await;
            if listed == ModelList::Unauthorized {
                terminal.note(&format!(
                    "note: {shown} does not take that key, or the variable is not set here"
                ))?;
            }
        }
    }
    let reply = match listed {
        ModelList::Server(found) => of_server(terminal, &found)?,
        ModelList::Unauthorized | ModelList::Closed | ModelList::Unlisted => {
            let model = match &given.model {
                Some(model) => Reply::Answer(model.clone()),
                None => model_id(terminal, None)?,
            };
            match model {
                Reply::Back => Reply::Back,
                Reply::Answer(model) => Reply::Answer(ModelChoice::Server {
                    provider: models::provider_name(base_url),
                    model,
                    kind: "openai-chat",
                    base_url: base_url.to_owned(),
                    key: None,
                    told: ToldChoice::default(),
                }),
            }
        }
    };
    Ok(with_given(reply, given, key))
}

async fn list_at(base_url: &str, variable: Option<&str>, environment: &Environment) -> ModelList {
    let key = variable.and_then(|name| environment.secret(name));
    models::list_at(base_url, key.map(Secret::new).as_ref()).await
}

/// The choice under the name that the flags give its provider, and with its key.
fn with_given(
    reply: Reply<ModelChoice>,
    given: &GivenModel,
    variable: Option<String>,
) -> Reply<ModelChoice> {
    match reply {
        Reply::Answer(ModelChoice::Server {
            provider,
            model,
            kind,
            base_url,
            told,
            ..
        }) => {
            let provider = given.provider.clone().unwrap_or(provider);
            Reply::Answer(ModelChoice::Server {
                model: model
                    .strip_prefix(&format!("{provider}/"))
                    .map_or_else(|| model.clone(), str::to_owned),
                provider,
                kind,
                base_url,
                key: variable.map(SecretChoice::Env),
                told,
            })
        }
        other => other,
    }
}

/// Whether a provider needs no table of its own.
pub fn is_predeclared(name: &str) -> bool {
    providers::predeclared().any(|(known, _)| known == name)
}

fn described(offer: &Offer) -> String {
    match offer {
        Offer::Key { provider, variable } => {
            format!("{provider:<10}  the key in {variable} (calls cost money)")
        }
        Offer::OpenRouter => {
            format!(
                "{:<10}  the key in {OPENROUTER_KEY} (calls cost money)",
                "openrouter"
            )
        }
        Offer::Server(server) => {
            let count = match server.models.len() {
                0 => "no model yet".to_owned(),
                1 => "1 model".to_owned(),
                many => format!("{many} models"),
            };
            let names: Vec<String> = server.models.iter().take(3).map(label).collect();
            format!(
                "{:<10}  {} at {}, {count}{}{}",
                cell(&server.name),
                cell(&server.title),
                cell(&server.base_url),
                if names.is_empty() { "" } else { ": " },
                names.join(", ")
            )
        }
    }
}

fn label(model: &FoundModel) -> String {
    let mut text = cell(&model.id);
    if model.elsewhere {
        text.push_str(" (runs in the cloud, not here)");
    }
    if model.tools == Some(false) {
        text.push_str(" (no tools)");
    }
    text
}

fn take(terminal: &mut Terminal<'_>, offer: &Offer) -> Result<Reply<ModelChoice>, Failure> {
    let (variable, provider) = match offer {
        Offer::Server(server) => return of_server(terminal, server),
        Offer::Key { provider, variable } => (*variable, *provider),
        Offer::OpenRouter => (OPENROUTER_KEY, "openrouter"),
    };
    let question = format!("Use the key in {variable}? Every answer costs money. [y/N]");
    match questions::ask(terminal, &question, questions::yes_or_no)? {
        Reply::Back => return Ok(Reply::Back),
        Reply::Answer(Some(true)) => {}
        Reply::Answer(Some(false) | None) => {
            terminal.note("not used; the scripted model answers")?;
            return Ok(Reply::Answer(ModelChoice::Scripted));
        }
    }
    let suggested = SUGGESTED.iter().find(|(of, _)| *of == provider);
    let model = model_id(terminal, suggested.map(|(_, model)| *model))?;
    Ok(match (offer, model) {
        (Offer::OpenRouter, Reply::Answer(model)) => Reply::Answer(ModelChoice::Server {
            provider: provider.to_owned(),
            model,
            kind: "openai-chat",
            base_url: "https://openrouter.ai/api/v1".to_owned(),
            key: Some(SecretChoice::Env(OPENROUTER_KEY.to_owned())),
            told: ToldChoice::default(),
        }),
        (Offer::Key { .. } | Offer::Server(_), model) => named(model, provider),
        (Offer::OpenRouter, Reply::Back) => Reply::Back,
    })
}

/// A model of a predeclared provider.
fn named(model: Reply<String>, provider: &str) -> Reply<ModelChoice> {
    match model {
        Reply::Back => Reply::Back,
        Reply::Answer(model) => {
            let id = model
                .strip_prefix(&format!("{provider}/"))
                .unwrap_or(&model);
            Reply::Answer(ModelChoice::Named {
                model: format!("{provider}/{id}"),
            })
        }
    }
}

fn model_id(
    terminal: &mut Terminal<'_>,
    suggested: Option<&str>,
) -> Result<Reply<String>, Failure> {
    let question = suggested.map_or_else(
        || "Model id:".to_owned(),
        |model| format!("Model id (empty: {model}):"),
    );
    questions::ask(terminal, &question, |answer| {
        match (answer.is_empty(), suggested) {
            (false, _) => Ok(answer.to_owned()),
            (true, Some(model)) => Ok(model.to_owned()),
            (true, None) => Err("a model id is needed, as the server names it".to_owned()),
        }
    })
}

fn of_server(
    terminal: &mut Terminal<'_>,
    server: &FoundServer,
) -> Result<Reply<ModelChoice>, Failure> {
    for (number, model) in server.models.iter().take(LISTED).enumerate() {
        terminal.note(&format!("  {}  {}", number + 1, label(model)))?;
    }
    if server.models.len() > LISTED {
        let more = server.models.len() - LISTED;
        terminal.note(&format!("  and {more} more, by their id"))?;
    }
    let first = server.models.first().map(|model| model.id.as_str());
    let question = first.map_or_else(
        || {
            format!(
                "{} has no model yet. Id of the one it will have:",
                cell(&server.title)
            )
        },
        |first| format!("Which model? (its number or id; empty: {})", cell(first)),
    );
    let picked = questions::ask(terminal, &question, |answer| {
        let known = match answer.parse::<usize>() {
            Ok(number) => server.models.get(number.wrapping_sub(1)),
            Err(_) if answer.is_empty() => server.models.first(),
            Err(_) => server.models.iter().find(|model| model.id == answer),
        };
        match known {
            Some(model) => Ok((model.id.clone(), Some(model))),
            None if answer.is_empty() => Err("a model id is needed".to_owned()),
            None if answer.parse::<usize>().is_ok() => {
                Err(format!("there is no number {}", cell(answer)))
            }
            None => Ok((answer.to_owned(), None)),
        }
    })?;
    let Reply::Answer((id, model)) = picked else {
        return Ok(Reply::Back);
    };
    if let Some(model) = model.filter(|model| model.tools == Some(false)) {
        let note = "note: the server's list has no tools for {}: they will be withheld";
        terminal.note(&note.replace("{}", &cell(&model.id)))?;
    }
    // The kinds that discovery names are the file's own words.
    let kind = if server.kind == "ollama" {
        "ollama"
    } else {
        "openai-chat"
    };
    Ok(Reply::Answer(ModelChoice::Server {
        provider: server.name.clone(),
        model: id,
        kind,
        base_url: server.base_url.clone(),
        key: None,
        told: model.map_or_else(ToldChoice::default, |model| ToldChoice {
            tools: model.tools,
            context_window: model.context_window,
        }),
    }))
}
