//! What could answer, offered by name: keys in the environment and model servers on this machine. Nothing is used without
//! a yes, and no key is read here, only whether there is one.

use crate::cli::exit::Failure;
use crate::cli::terminal::{Terminal, cell};
use crate::config::environment::Environment;
use crate::config::providers;
use crate::config::template::{ModelChoice, SecretChoice, ToldChoice};
use crate::protocol::models::{FoundModel, FoundServer};
use crate::runtime::models;

/// Models of one server that are listed.
const LISTED: usize = 20;

/// Model ids to begin with, by provider.
const SUGGESTED: &[(&str, &str)] = &[
    ("anthropic", "claude-sonnet-5-5"),
    ("gemini", "gemini-3.5-flash"),
    ("openai", "gpt-5.4-mini"),
];

/// What was picked.
pub enum Pick {
    /// One of what was found, or the scripted model.
    Model(ModelChoice),
    /// Something that is to be typed.
    Typed,
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

/// Lists what was found and asks which.
pub async fn offer(
    terminal: &mut Terminal<'_>,
    environment: &Environment,
) -> Result<Pick, Failure> {
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
    if offers.is_empty() {
        terminal.note("No key in the environment, and no model server on this machine.")?;
        return Ok(Pick::Typed);
    }
    terminal.note("What could answer:")?;
    for (number, offer) in offers.iter().enumerate() {
        terminal.note(&format!("  {}  {}", number + 1, described(offer)))?;
    }
    let question =
        "Which one? (its number; `other` to name one; empty: the scripted model, which is no LLM)";
    // Wrong answers end: a script that pipes nonsense must not be asked for ever.
    for _ in 0..3 {
        let answer = terminal.ask(question)?;
        match answer.as_str() {
            "" => return Ok(Pick::Model(ModelChoice::Scripted)),
            "other" => return Ok(Pick::Typed),
            _ => {}
        }
        let number = answer.parse::<usize>().ok();
        if let Some(offer) = number.and_then(|number| offers.get(number.checked_sub(1)?)) {
            return take(terminal, offer);
        }
        terminal.note(&format!("there is no number {}", cell(&answer)))?;
    }
    Err(Failure::Usage("nothing was picked".to_owned()))
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

fn take(terminal: &mut Terminal<'_>, offer: &Offer) -> Result<Pick, Failure> {
    match offer {
        Offer::Key { provider, variable } => {
            if !agreed(terminal, variable)? {
                return Ok(Pick::Model(ModelChoice::Scripted));
            }
            let suggested = SUGGESTED
                .iter()
                .find(|(of, _)| of == provider)
                .map(|(_, model)| *model);
            let model = model_id(terminal, suggested)?;
            Ok(Pick::Model(ModelChoice::Named {
                model: format!("{provider}/{model}"),
            }))
        }
        Offer::OpenRouter => {
            if !agreed(terminal, OPENROUTER_KEY)? {
                return Ok(Pick::Model(ModelChoice::Scripted));
            }
            Ok(Pick::Model(ModelChoice::Server {
                provider: "openrouter".to_owned(),
                model: model_id(terminal, None)?,
                kind: "openai-chat",
                base_url: "https://openrouter.ai/api/v1".to_owned(),
                key: Some(SecretChoice::Env(OPENROUTER_KEY.to_owned())),
                told: ToldChoice::default(),
            }))
        }
        Offer::Server(server) => of_server(terminal, server),
    }
}

fn agreed(terminal: &mut Terminal<'_>, variable: &str) -> Result<bool, Failure> {
    let answer = terminal.ask(&format!(
        "Use the key in {variable}? Every answer costs money. [y/N]"
    ))?;
    let yes = matches!(answer.as_str(), "y" | "Y" | "yes");
    if !yes {
        terminal.note("not used; the scripted model answers")?;
    }
    Ok(yes)
}

fn model_id(terminal: &mut Terminal<'_>, suggested: Option<&str>) -> Result<String, Failure> {
    let question = suggested.map_or_else(
        || "Model id:".to_owned(),
        |model| format!("Model id (empty: {model}):"),
    );
    let answer = terminal.ask(&question)?;
    match (answer.is_empty(), suggested) {
        (false, _) => Ok(answer),
        (true, Some(model)) => Ok(model.to_owned()),
        (true, None) => Err(Failure::Usage("no model was named".to_owned())),
    }
}

fn of_server(terminal: &mut Terminal<'_>, server: &FoundServer) -> Result<Pick, Failure> {
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
    let answer = terminal.ask(&question)?;
    let picked = match answer.parse::<usize>() {
        Ok(number) => server.models.get(number.wrapping_sub(1)),
        Err(_) if answer.is_empty() => server.models.first(),
        Err(_) => server.models.iter().find(|model| model.id == answer),
    };
    let (id, told) = match picked {
        Some(model) => {
            if model.tools == Some(false) {
                let note = "note: the server's list has no tools for {}: they will be withheld";
                terminal.note(&note.replace("{}", &cell(&model.id)))?;
            }
            let told = ToldChoice {
                tools: model.tools,
                context_window: model.context_window,
            };
            (model.id.clone(), told)
        }
        None if answer.is_empty() || answer.parse::<usize>().is_ok() => {
            return Err(Failure::Usage("no such model was offered".to_owned()));
        }
        None => (answer, ToldChoice::default()),
    };
    // The kinds that discovery names are the file's own words.
    let kind = if server.kind == "ollama" {
        "ollama"
    } else {
        "openai-chat"
    };
    Ok(Pick::Model(ModelChoice::Server {
        provider: server.name.clone(),
        model: id,
        kind,
        base_url: server.base_url.clone(),
        key: None,
        told,
    }))
}
