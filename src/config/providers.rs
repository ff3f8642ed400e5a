//! Model providers: the predeclared ones and those of the file. A key in the environment makes a provider
//! available; nothing here chooses one.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

use crate::config::error::{ConfigError, Fault};
use crate::config::file::ProviderTable;
use crate::config::inputs::{Inputs, Section, field, parameters};
use crate::config::model_tables::{EFFORT_EXPECTED, OUTPUT, PRICE_EXPECTED, WINDOW, is_effort};
use crate::config::secrets::SecretSource;
use crate::config::settings::{ModelTuning, ProviderKind, ProviderSettings, Secret};
use crate::protocol::options::ModelParameters;

/// What is used when nothing is configured.
pub const SCRIPTED_MODEL: &str = "scripted/demo";

/// Name of the provider that is always there.
pub const SCRIPTED: &str = "scripted";
/// Name of the Ollama server of this machine.
const OLLAMA: &str = "ollama";

/// A provider that needs no table in the file.
struct BuiltinProvider {
    name: &'static str,
    kind: ProviderKind,
    base_url: &'static str,
    base_url_variable: &'static str,
    /// Usual names of its key, the first that is set counts; none where the server wants no key.
    key_variables: &'static [&'static str],
}

const KNOWN: &[BuiltinProvider] = &[
    BuiltinProvider {
        name: "openai",
        kind: ProviderKind::OpenAiChat,
        base_url: "https://api.openai.com/v1",
        base_url_variable: "OPENAI_BASE_URL",
        key_variables: &["OPENAI_API_KEY"],
    },
    BuiltinProvider {
        name: "anthropic",
        kind: ProviderKind::Anthropic,
        base_url: "https://api.anthropic.com",
        base_url_variable: "ANTHROPIC_BASE_URL",
        key_variables: &["ANTHROPIC_API_KEY"],
    },
    BuiltinProvider {
        name: "gemini",
        kind: ProviderKind::Gemini,
        base_url: "https://generativelanguage.googleapis.com",
        base_url_variable: "GOOGLE_GEMINI_BASE_URL",
        key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    },
    BuiltinProvider {
        name: OLLAMA,
        kind: ProviderKind::Ollama,
        base_url: "http://127.0.0.1:11434",
        base_url_variable: "OLLAMA_HOST",
        key_variables: &[],
    },
];

/// The environment variable in which people usually keep the key of a predeclared provider; none where it has no key.
pub fn key_variable(name: &str) -> Option<&'static str> {
    KNOWN
        .iter()
        .find(|known| known.name == name)
        .and_then(|known| known.key_variables.first().copied())
}

/// Every provider that a model can name.
pub fn resolve(inputs: &Inputs<'_>) -> Result<BTreeMap<String, ProviderSettings>, ConfigError> {
    let mut providers = BTreeMap::new();
    let scripted = ProviderTable::default();
    let scripted = settings(
        inputs,
        SCRIPTED,
        &scripted,
        ProviderKind::Scripted,
        String::new(),
        None,
    )?;
    providers.insert(SCRIPTED.to_owned(), scripted);
    if inputs.flags.demo {
        return Ok(providers);
    }
    let config = inputs.config();
    for known in KNOWN {
        if !config.providers.contains_key(known.name) {
            let provider = resolve_one(inputs, known.name, &ProviderTable::default())?;
            providers.insert(known.name.to_owned(), provider);
        }
    }
    for (name, table) in &config.providers {
        check_name(inputs, name)?;
        providers.insert(name.clone(), resolve_one(inputs, name, table)?);
    }
    Ok(providers)
}

/// Whether a model can be used: `<provider>/<model>` of a provider that exists and has its key. Returns
/// the kind of the provider.
pub fn usable(
    model: &str,
    providers: &BTreeMap<String, ProviderSettings>,
    fault: &dyn Fn(String) -> Fault,
) -> Result<ProviderKind, ConfigError> {
    let split = model
        .split_once('/')
        .filter(|(p, m)| !p.is_empty() && !m.trim().is_empty());
    let Some((name, _)) = split else {
        let fault = fault(format!("`{model}` does not name a provider and a model"));
        let expected = format!("<provider>/<model>, for example {SCRIPTED_MODEL}");
        return Err(fault.expected(expected).into());
    };
    let names = providers.keys().map(String::as_str);
    let Some(provider) = providers.get(name) else {
        let list = names.clone().collect::<Vec<_>>().join(", ");
        let fault = fault(format!("there is no provider `{name}`")).nearest(name, names);
        let step = format!("Declare it under [providers.{name}]");
        return Err(fault
            .expected(format!("one of {list}"))
            .next_step(step)
            .into());
    };
    if let Some(variable) = missing_key(provider) {
        let fault = fault(format!("the provider `{name}` has no key"));
        let step = format!(
            "Set {variable}, or api_key_env, api_key_file or api_key_command under [providers.{name}]"
        );
        return Err(fault.next_step(step).into());
    }
    Ok(provider.kind)
}

/// The usual variable of a key that a provider cannot do without and does not have.
pub fn missing_key(provider: &ProviderSettings) -> Option<&'static str> {
    let known = KNOWN
        .iter()
        .find(|known| known.base_url == provider.base_url)?;
    known
        .key_variables
        .first()
        .copied()
        .filter(|_| provider.api_key.is_none())
}

/// The predeclared providers: name and usual variables of the key, where it wants one.
pub fn predeclared() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    KNOWN.iter().map(|known| (known.name, known.key_variables))
}

fn check_name(inputs: &Inputs<'_>, name: &str) -> Result<(), ConfigError> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c);
    if (1..=32).contains(&name.len()) && name.chars().all(plain) {
        return Ok(());
    }
    let fault = inputs.fault(&["providers", name], "is not a name for a provider");
    Err(fault.expected("1 to 32 of a-z, 0-9, _ and -").into())
}

fn resolve_one(
    inputs: &Inputs<'_>,
    name: &str,
    table: &ProviderTable,
) -> Result<ProviderSettings, ConfigError> {
    let known = KNOWN.iter().find(|known| known.name == name);
    let declared = table.kind;
    let by_name = match name {
        SCRIPTED => Some(ProviderKind::Scripted),
        _ => known.map(|known| known.kind),
    };
    let Some(kind) = declared.or(by_name) else {
        let fault = inputs.fault(&["providers", name], "`kind` is missing");
        let fault = fault.expected("kind = \"openai-chat\", \"openai-responses\", \"anthropic\", \"gemini\", \"ollama\" or \"scripted\"");
        return Err(fault.into());
    };
    if kind == ProviderKind::Scripted || name == SCRIPTED {
        if kind != ProviderKind::Scripted {
            let fault = inputs.fault(
                &["providers", name, "kind"],
                "this name is the built-in model",
            );
            return Err(fault.next_step("Give the provider another name").into());
        }
        return settings(inputs, name, table, kind, String::new(), None);
    }
    // Ollama's address is that of its native API: a table of that name and another kind means its /v1.
    let known = known.filter(|known| known.name != OLLAMA || kind == known.kind);
    let from_environment = known.and_then(|known| inputs.environment.get(known.base_url_variable));
    let host = from_environment
        .filter(|_| kind == ProviderKind::Ollama)
        .map(ollama_address);
    let base_url = host
        .as_deref()
        .or(from_environment)
        .or(table.base_url.as_deref())
        .or(known.map(|known| known.base_url))
        .or(match kind {
            ProviderKind::Anthropic => Some("https://api.anthropic.com"),
            ProviderKind::OpenAiResponses => Some("https://api.openai.com/v1"),
            ProviderKind::Gemini => Some("https://generativelanguage.googleapis.com"),
            ProviderKind::Ollama => Some("http://127.0.0.1:11434"),
            ProviderKind::OpenAiChat | ProviderKind::Scripted => None,
        });
    let Some(base_url) = base_url else {
        let fault = inputs.fault(&["providers", name], "`base_url` is missing");
        let step = "Add base_url = \"http://127.0.0.1:8080/v1\", or where the server is";
        return Err(fault.next_step(step).into());
    };
    let base_url = web_address(base_url).map_err(|problem| {
        match (from_environment, known) {
            (Some(_), Some(known)) => Fault::new(
                crate::config::error::ConfigLocation::Environment(
                    known.base_url_variable.to_owned(),
                ),
                problem,
            ),
            (_, _) => inputs.fault(&["providers", name, "base_url"], problem),
        }
        .expected("a URL, for example http://127.0.0.1:8080/v1")
    })?;
    // A service's own address wants the service's own key, whatever the provider is called here.
    let keyed = known.or_else(|| KNOWN.iter().find(|known| known.base_url == base_url));
    let key = api_key(inputs, name, table, keyed)?;
    let from = key.as_ref().map(|_| key_from(table, keyed));
    let mut provider = settings(inputs, name, table, kind, base_url, key)?;
    provider.tuning.key_from = from;
    Ok(provider)
}

/// Where a key that was found comes from, for people.
fn key_from(table: &ProviderTable, known: Option<&BuiltinProvider>) -> String {
    match (
        &table.api_key_env,
        &table.api_key_file,
        &table.api_key_command,
    ) {
        (Some(name), _, _) => name.clone(),
        (None, Some(file), _) => format!("the file {file}"),
        (None, None, Some(_)) => "api_key_command".to_owned(),
        (None, None, None) => {
            known.map_or_else(String::new, |known| known.key_variables.join(" or "))
        }
    }
}

fn api_key(
    inputs: &Inputs<'_>,
    name: &str,
    table: &ProviderTable,
    known: Option<&BuiltinProvider>,
) -> Result<Option<Secret>, ConfigError> {
    let source = SecretSource::of([
        &table.api_key_env,
        &table.api_key_file,
        &table.api_key_command,
    ]);
    if source.count() == 0 {
        // The usual name of the key: used where it is set, missed only when the provider is.
        let variables = known.map(|known| known.key_variables).unwrap_or_default();
        let mut values = variables
            .iter()
            .filter_map(|name| inputs.environment.get(name));
        let value = values.next();
        return Ok(value.map(|value| Secret::new(value.trim())));
    }
    Section::new(inputs, &["providers", name], table).secret("api_key", source)
}

/// A base URL without a slash at its end. Credentials in it would end up in logs: refused.
pub fn web_address(url: &str) -> Result<String, String> {
    let url = url.trim().trim_end_matches('/');
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"))
        .ok_or("does not start with http:// or https://")?;
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if host.contains('@') {
        return Err("holds a user name or password".to_owned());
    }
    if host.is_empty() || url.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err("has no host, or a space in it".to_owned());
    }
    Ok(url.to_owned())
}

/// Whether an address of `http://` leads to this machine or a private network, as far as its text tells.
pub fn is_near(url: &str) -> bool {
    let rest = url.strip_prefix("http://").unwrap_or(url);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => address.is_loopback() || address.is_private(),
        Ok(IpAddr::V6(address)) => {
            let local = |address: Ipv6Addr| (address.segments()[0] & 0xfe00) == 0xfc00;
            address.is_loopback() || local(address)
        }
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// Where a client finds the server that `OLLAMA_HOST` describes: Ollama reads the same variable for the address it
/// listens on, without a scheme, without a port, or as every address of the machine.
fn ollama_address(host: &str) -> String {
    let host = host.trim().trim_matches(['"', '\'']).trim_end_matches('/');
    let (scheme, place) = host.split_once("://").unwrap_or(("http", host));
    let (name, port) = match place.rsplit_once(':') {
        // An IPv6 address alone ends in a group, not in a port.
        Some((name, port)) if !name.contains(':') || name.ends_with(']') => (name, Some(port)),
        Some(_) | None => (place, None),
    };
    let name = match name.trim_matches(['[', ']']) {
        "" | "0.0.0.0" => "127.0.0.1".to_owned(),
        "::" => "[::1]".to_owned(),
        address if address.contains(':') => format!("[{address}]"),
        name => name.to_owned(),
    };
    match port {
        Some(port) => format!("{scheme}://{name}:{port}"),
        // As Ollama's own client does it: a scheme brings its port.
        None if host.contains("://") => format!("{scheme}://{name}"),
        None => format!("{scheme}://{name}:11434"),
    }
}

fn settings(
    inputs: &Inputs<'_>,
    name: &str,
    table: &ProviderTable,
    kind: ProviderKind,
    base_url: String,
    api_key: Option<Secret>,
) -> Result<ProviderSettings, ConfigError> {
    let (window, output) = match kind {
        ProviderKind::Anthropic => (200_000, 8192),
        // The server reserves memory for all of it.
        ProviderKind::Ollama => (16_384, 4096),
        ProviderKind::OpenAiChat
        | ProviderKind::OpenAiResponses
        | ProviderKind::Gemini
        | ProviderKind::Scripted => (128_000, 4096),
    };
    let keys = ["providers", name];
    let section = Section::new(inputs, &keys, table);
    let seconds = |field, default| section.number(field, default, 1..=3600);
    for (model, rates) in &table.prices {
        if let Some(field) = rates.wrong() {
            let keys = ["providers", name, "prices", model, field];
            let fault = inputs.fault(&keys, "is not a price");
            return Err(fault.expected(PRICE_EXPECTED).into());
        }
    }
    for (model, patch) in &table.models {
        if let Some((field, problem, expected)) = patch.wrong() {
            let fault = inputs.fault(&["providers", name, "models", model, field], problem);
            return Err(fault.expected(expected).into());
        }
        let keys = ["providers", name, "models", model];
        parameters(inputs, &keys, patch.parameters())?;
    }
    if table.effort.as_deref().is_some_and(|word| !is_effort(word)) {
        let fault = section.fault("effort", "is not a word for an effort");
        return Err(fault.expected(EFFORT_EXPECTED).into());
    }
    Ok(ProviderSettings {
        kind,
        base_url,
        api_key,
        api_version: table.api_version.clone(),
        connect_timeout_seconds: seconds(field!(table.connect_timeout_seconds), 10)?,
        first_byte_timeout_seconds: seconds(field!(table.first_byte_timeout_seconds), 120)?,
        idle_timeout_seconds: seconds(field!(table.idle_timeout_seconds), 60)?,
        request_timeout_seconds: section.number(
            field!(table.request_timeout_seconds),
            600,
            0..=86_400,
        )?,
        max_output_tokens: section.number(field!(table.max_output_tokens), output, OUTPUT)?,
        context_window: section.number(field!(table.context_window), window, WINDOW)?,
        max_concurrent: section.number(field!(table.max_concurrent), 4, 1..=1000)?,
        prices: table.prices.clone(),
        tuning: ModelTuning {
            context_window: table.context_window,
            max_output_tokens: table.max_output_tokens,
            effort: table.effort.clone(),
            parameters: parameters(
                inputs,
                &keys,
                ModelParameters {
                    temperature: table.temperature,
                    top_p: table.top_p,
                    tool_choice: table.tool_choice.clone(),
                },
            )?,
            models: table.models.clone(),
            free: table.free,
            key_from: None,
        },
    })
}
