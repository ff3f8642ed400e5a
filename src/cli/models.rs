//! `leverframe models list|test|discover`: through the running daemon, or on its own where none runs.

use std::time::Duration;

use crate::cli::arguments::ModelCommands;
use crate::cli::connect;
use crate::cli::exit::{Failure, usage};
use crate::cli::find::{self, submit};
use crate::cli::table;
use crate::cli::terminal::{Attendance, Cli, Format, Terminal, cell};
use crate::client::console_client::ConsoleClient;
use crate::client::remote::connection::Limits;
use crate::config::environment::Environment;
use crate::config::flags::Flags;
use crate::protocol::models::{
    CheckVerdict, Discovery, KeyState, ModelEntry, ModelPrice, ModelTest, ProviderModels,
};
use crate::protocol::problem::Problem;
use crate::protocol::request::{DiscoverModels, ListModels, TestModel};
use crate::runtime::{alone, models};

/// Time a daemon has for a test: a model may have to be loaded.
const TEST_TIME: Duration = Duration::from_secs(600);

/// Who answers.
enum Source<'a> {
    Client(&'a dyn ConsoleClient),
    Files(&'a Flags, &'a Environment),
}

/// Carries out the subcommand. `flags.model` names the model where the subcommand does not.
pub async fn run(
    terminal: &mut Terminal<'_>,
    flags: &Flags,
    environment: &Environment,
    data_dir: &std::path::Path,
    command: ModelCommands,
) -> Result<(), Failure> {
    let limits = Limits {
        request: TEST_TIME,
        ..Limits::default()
    };
    let model = flags.model.as_deref();
    match connect::daemon_within(data_dir, limits).await {
        Ok(client) => through(&mut terminal.with(&client), model, command).await,
        Err(Failure::NothingRunning(_)) => {
            let files = Source::Files(flags, environment);
            carry_out(&files, terminal, model, command).await
        }
        Err(other) => Err(other),
    }
}

/// The same through an engine that is known already.
pub async fn through(
    cli: &mut Cli<'_>,
    model: Option<&str>,
    command: ModelCommands,
) -> Result<(), Failure> {
    carry_out(
        &Source::Client(cli.client),
        &mut cli.terminal,
        model,
        command,
    )
    .await
}

async fn carry_out(
    source: &Source<'_>,
    terminal: &mut Terminal<'_>,
    model: Option<&str>,
    command: ModelCommands,
) -> Result<(), Failure> {
    match command {
        ModelCommands::List => show(terminal, &source.list().await?),
        ModelCommands::Test { name, yes } => {
            let model = name.or_else(|| model.map(str::to_owned));
            test(terminal, source, model, yes).await
        }
        ModelCommands::Discover => terminal.show(&source.discover().await?, found),
    }
}

impl Source<'_> {
    async fn list(&self) -> Result<Vec<ProviderModels>, Failure> {
        match self {
            Self::Client(client) => {
                let page = client.call(ListModels {}).await?;
                Ok(page.items)
            }
            Self::Files(flags, environment) => Ok(models::list(flags, environment)?),
        }
    }

    async fn discover(&self) -> Result<Discovery, Failure> {
        match self {
            Self::Client(client) => submit(*client, DiscoverModels {}).await,
            Self::Files(flags, environment) => Ok(models::look(flags, environment).await?),
        }
    }

    async fn test(&self, model: Option<String>) -> Result<ModelTest, Failure> {
        match self {
            Self::Client(client) => submit(*client, TestModel { model }).await,
            Self::Files(flags, environment) => {
                let test = find::envelope(TestModel { model }, None);
                Ok(alone::handle(flags, environment, test).await?)
            }
        }
    }
}

fn show(terminal: &mut Terminal<'_>, providers: &[ProviderModels]) -> Result<(), Failure> {
    if terminal.format == Format::Json {
        return providers.iter().try_for_each(|item| terminal.json(item));
    }
    let rows: Vec<Vec<String>> = providers.iter().map(provider_row).collect();
    let heads = ["PROVIDER", "KIND", "KEY", "ADDRESS"];
    table::print(terminal, &heads, &rows, "no providers")?;
    terminal.line("")?;
    let rows: Vec<Vec<String>> = providers
        .iter()
        .flat_map(|provider| &provider.models)
        .map(model_row)
        .collect();
    let heads = [
        "MODEL",
        "USED FOR",
        "WINDOW",
        "OUTPUT",
        "TOOLS",
        "PARALLEL",
        "REASONS",
        "CACHE",
        "IN/OUT $/M",
        "PRICE OF",
        "FROM",
    ];
    table::print(terminal, &heads, &rows, "the configuration names no model")
}

fn found(terminal: &mut Terminal<'_>, found: &Discovery) -> Result<(), Failure> {
    for offered in &found.servers {
        let server = &offered.server;
        let known = match &offered.provider {
            Some(name) => format!("configured as {}", cell(name)),
            None => "not configured".to_owned(),
        };
        let count = match server.models.len() {
            1 => "1 model".to_owned(),
            many => format!("{many} models"),
        };
        terminal.line(&format!(
            "{} at {}: {count}, {known}",
            cell(&server.title),
            cell(&server.base_url)
        ))?;
        for line in offered.config.lines() {
            terminal.line(&format!("    {}", cell(line)))?;
        }
    }
    for note in &found.notes {
        terminal.note(&format!("note: {}", cell(note)))?;
    }
    if found.servers.is_empty() {
        return terminal.line("no model server answers on this machine");
    }
    terminal.note("add these lines to the configuration; they take effect at the next start")
}

fn provider_row(provider: &ProviderModels) -> Vec<String> {
    let key = match (provider.key, &provider.key_from) {
        (KeyState::Present, Some(from)) => format!("present ({})", cell(from)),
        (KeyState::Missing, Some(from)) => format!("missing ({})", cell(from)),
        (state, _) => state.as_str().to_owned(),
    };
    vec![
        cell(&provider.provider),
        cell(&provider.kind),
        key,
        if provider.address.is_empty() {
            "built in, no LLM".to_owned()
        } else {
            cell(&provider.address)
        },
    ]
}

fn known(flag: Option<bool>) -> String {
    match flag {
        Some(true) => "yes",
        Some(false) => "no",
        None => "unknown",
    }
    .to_owned()
}

fn model_row(model: &ModelEntry) -> Vec<String> {
    let profile = &model.profile;
    let used = if model.used_for.is_empty() {
        "-".to_owned()
    } else {
        cell(&model.used_for.join(", "))
    };
    let reasons = match (profile.reasoning, &profile.effort) {
        (true, Some(effort)) => format!("yes ({})", cell(effort)),
        (true, None) => "yes".to_owned(),
        (false, _) => "no".to_owned(),
    };
    let (price, of) = match &model.price {
        Some(price) => (price_words(price), price_of(price)),
        None => ("n/a".to_owned(), "-".to_owned()),
    };
    let mut source = cell(&profile.source);
    if let Some(note) = &model.note {
        source = format!("{source}; {}", cell(note));
    }
    vec![
        cell(&model.model),
        used,
        profile.context_window.to_string(),
        profile.max_output_tokens.to_string(),
        known(profile.tools),
        known(profile.parallel_tool_calls),
        reasons,
        cell(&profile.prompt_cache),
        price,
        of,
        source,
    ]
}

fn price_words(price: &ModelPrice) -> String {
    if price.input == 0.0 && price.output == 0.0 {
        return "free".to_owned();
    }
    let limit = price
        .max_input
        .map_or_else(String::new, |most| format!(" up to {most} in"));
    format!("{}/{}{limit}", price.input, price.output)
}

fn price_of(price: &ModelPrice) -> String {
    cell(price.as_of.as_deref().unwrap_or(&price.source))
}

async fn test(
    terminal: &mut Terminal<'_>,
    source: &Source<'_>,
    model: Option<String>,
    yes: bool,
) -> Result<(), Failure> {
    let providers = source.list().await?;
    let name = match model {
        Some(model) => model,
        None => default_model(&providers)?,
    };
    let provider = name
        .split_once('/')
        .and_then(|(of, _)| providers.iter().find(|provider| provider.provider == of));
    // A provider that does not exist is refused by the test itself, with what there is.
    if let Some(provider) = provider
        && !yes
        && costs(provider, &name)
    {
        confirm(terminal, provider, &name)?;
    }
    let test = source.test(Some(name)).await?;
    terminal.show(&test, print)?;
    if !test.failed() {
        return Ok(());
    }
    let failed: Vec<&str> = test
        .checks
        .iter()
        .filter(|check| check.verdict == CheckVerdict::No)
        .map(|check| check.check.as_str())
        .collect();
    Err(Failure::Ended(format!(
        "{}: no {}",
        test.model,
        failed.join(", no ")
    )))
}

fn default_model(providers: &[ProviderModels]) -> Result<String, Failure> {
    providers
        .iter()
        .flat_map(|provider| &provider.models)
        .find(|model| model.used_for.iter().any(|what| what == "default"))
        .map(|model| model.model.clone())
        .ok_or_else(|| Problem::internal("no model is the default one").into())
}

/// Whether asking may cost money: nothing on this machine does, unless it only hands the call on.
fn costs(provider: &ProviderModels, name: &str) -> bool {
    let elsewhere = name.ends_with(":cloud") || name.ends_with("-cloud");
    !provider.local || elsewhere
}

fn confirm(
    terminal: &mut Terminal<'_>,
    provider: &ProviderModels,
    name: &str,
) -> Result<(), Failure> {
    let what = format!(
        "this makes 3 or 4 small calls to {} ({}), which cost money",
        cell(name),
        cell(&provider.address)
    );
    match terminal.attended {
        Attendance::Script => Err(usage!("{what}: confirm with --yes if there is no terminal")),
        Attendance::Person => {
            let answer = terminal.ask(&format!("{what}. Go on? [y/N]"))?;
            if matches!(answer.as_str(), "y" | "Y" | "yes") {
                Ok(())
            } else {
                Err(Failure::ended("nothing was sent"))
            }
        }
    }
}

fn print(terminal: &mut Terminal<'_>, test: &ModelTest) -> Result<(), Failure> {
    for check in &test.checks {
        terminal.line(&format!(
            "{:<7}  {:<14}  {}",
            check.verdict.as_str(),
            cell(&check.check),
            cell(&check.detail)
        ))?;
    }
    let cost = match test.usage.cost_usd {
        Some(cost) if cost > 0.0 => format!("${cost:.4}"),
        Some(_) => "no cost".to_owned(),
        None => "price n/a".to_owned(),
    };
    terminal.line(&format!(
        "{}: {} calls, {} tokens in, {} out, {cost}, {} ms",
        cell(&test.model),
        test.calls,
        test.usage.input_tokens,
        test.usage.output_tokens,
        test.took_ms
    ))
}
