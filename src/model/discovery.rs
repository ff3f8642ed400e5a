//! Model servers on this machine: which of the usual ones answers, and what it says of itself.
//!
//! Only loopback addresses are asked, only when somebody wants to know, each for at most [`LIMIT`]. A server counts only
//! when it answers in its own shape: other programs listen on the same ports.

pub mod candidate;
pub mod servers;

use std::net::IpAddr;

use futures_util::future::join_all;
use reqwest::Url;

use crate::clock::Timestamp;
use crate::config::environment::Environment;
use crate::config::settings::Settings;
use crate::config::template::{self, ToldChoice};
use crate::model::discovery::candidate::{Candidate, LIMIT, ServerKind, Verdict};
use crate::model::http::is_loopback_address;
use crate::protocol::models::{Discovery, FoundServer, OfferedServer};

/// Models of a server that its lines for the configuration name.
const NAMED: usize = 5;
/// The usual places, and what `OLLAMA_HOST` says of one.
pub fn usual(environment: &Environment) -> Vec<Candidate> {
    if let Some(given) = in_place_of_usual(environment) {
        return given;
    }
    let ollama = environment
        .get("OLLAMA_HOST")
        .and_then(ollama_root)
        .unwrap_or_else(|| "http://127.0.0.1:11434".to_owned());
    let at = |kind, root: &str| Candidate {
        kind,
        root: root.to_owned(),
    };
    vec![
        at(ServerKind::Ollama, &ollama),
        at(ServerKind::LmStudio, "http://127.0.0.1:1234"),
        at(ServerKind::LlamaCpp, "http://127.0.0.1:8080"),
        at(ServerKind::Vllm, "http://127.0.0.1:8000"),
    ]
}

#[cfg(feature = "test-hooks")]
fn in_place_of_usual(environment: &Environment) -> Option<Vec<Candidate>> {
    let list = environment.test_servers()?;
    let candidates = list.split(',').filter_map(|item| {
        let (name, root) = item.split_once('=')?;
        Some(Candidate {
            kind: ServerKind::from_name(name)?,
            root: root.to_owned(),
        })
    });
    Some(candidates.collect())
}

#[cfg(not(feature = "test-hooks"))]
fn in_place_of_usual(_environment: &Environment) -> Option<Vec<Candidate>> {
    None
}

/// The address that `OLLAMA_HOST` means: a scheme, a port, or both may be missing. An address to listen on everywhere is
/// reached on loopback.
pub fn ollama_root(given: &str) -> Option<String> {
    let given = given.trim().trim_matches(['"', '\'']);
    let (scheme, rest) = given.split_once("://").unwrap_or(("http", given));
    let rest = rest.split('/').next().unwrap_or_default();
    let rest = if rest.parse::<std::net::Ipv6Addr>().is_ok() {
        format!("[{rest}]")
    } else if rest.is_empty() || rest.starts_with(':') {
        format!("127.0.0.1{rest}")
    } else {
        rest.to_owned()
    };
    let mut url = Url::parse(&format!("{scheme}://{rest}")).ok()?;
    if !matches!(url.scheme(), "http" | "https") {
        return None;
    }
    // A port that is the scheme's own is left out by the parser: that one was given too.
    let named = rest
        .rsplit_once(':')
        .is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if !named && !given.contains("://") {
        url.set_port(Some(11434)).ok()?;
    }
    let everywhere = url
        .host_str()
        .and_then(|host| host.trim_matches(['[', ']']).parse::<IpAddr>().ok())
        .is_some_and(|address| address.is_unspecified());
    if everywhere {
        url.set_host(Some("127.0.0.1")).ok()?;
    }
    Some(url.as_str().trim_end_matches('/').to_owned())
}

/// The model servers that answer on this machine, and what else is worth a word.
pub async fn find(environment: &Environment) -> (Vec<FoundServer>, Vec<String>) {
    let candidates = usual(environment);
    let verdicts = probe(&candidates).await;
    let mut servers = Vec::new();
    let mut words = Vec::new();
    for (candidate, verdict) in candidates.iter().zip(verdicts) {
        let Candidate { kind, root } = candidate;
        match verdict {
            Verdict::Found(server) => servers.push(server),
            Verdict::Closed | Verdict::Other => {}
            Verdict::Slow => words.push(format!(
                "{root}: something listens there and does not answer within {} ms, so it is not offered as {}",
                LIMIT.as_millis(),
                kind.title()
            )),
            Verdict::Elsewhere => words.push(format!(
                "{root} is not on this machine, so it was not asked; name it with --base-url"
            )),
        }
    }
    (servers, words)
}

/// The same beside a configuration: which provider is at each server, and what would declare it.
pub async fn look(settings: &Settings, environment: &Environment, at: Timestamp) -> Discovery {
    let (servers, notes) = find(environment).await;
    let servers = servers
        .into_iter()
        .map(|server| offered(settings, server))
        .collect();
    Discovery { at, servers, notes }
}

fn offered(settings: &Settings, server: FoundServer) -> OfferedServer {
    // One server has several names on its own machine.
    let address = |url: &str| {
        url.trim_end_matches('/')
            .replace("://localhost", "://127.0.0.1")
            .replace("://[::1]", "://127.0.0.1")
    };
    let here = address(&server.base_url);
    let provider = settings
        .providers
        .iter()
        .find(|(_, provider)| address(&provider.base_url) == here)
        .map(|(name, _)| name.clone());
    let models: Vec<(&str, ToldChoice)> = server
        .models
        .iter()
        .take(NAMED)
        .map(|model| {
            let told = ToldChoice {
                tools: model.tools,
                context_window: model.context_window,
            };
            (model.id.as_str(), told)
        })
        .collect();
    let config = match &provider {
        // A second table of that name would be refused, or replace what is declared.
        Some(name) => template::server_models(name, &models),
        None => {
            let name = free_name(settings, &server.name);
            template::server_table(&name, &server.kind, &server.base_url, &models)
        }
    };
    OfferedServer {
        server,
        provider,
        config,
    }
}

/// A name that no configured provider has.
fn free_name(settings: &Settings, name: &str) -> String {
    let local = format!("{name}-local");
    let numbered = (2_u32..).map(|number| format!("{local}-{number}"));
    [name.to_owned(), local.clone()]
        .into_iter()
        .chain(numbered)
        .find(|name| !settings.providers.contains_key(name))
        .unwrap_or(local)
}

/// Asks all of them at once.
pub async fn probe(candidates: &[Candidate]) -> Vec<Verdict> {
    join_all(candidates.iter().map(probe_one)).await
}

async fn probe_one(candidate: &Candidate) -> Verdict {
    if !is_loopback_address(&candidate.root) {
        return Verdict::Elsewhere;
    }
    match tokio::time::timeout(LIMIT, servers::look(candidate)).await {
        Ok(verdict) => verdict,
        Err(_) => Verdict::Slow,
    }
}
