//! Which tools of servers a request has, and finding the others by words.
//!
//! A request never grows with the number of tools that servers have: beyond a few it holds one tool that finds them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use crate::config::settings::ChannelSettings;
use crate::engine::context::prefix::Prefix;
use crate::engine::core::Engine;
use crate::engine::mcp::state::{AllServers, OfferedTool, has_server};
use crate::model::request::ToolDefinition;
use crate::protocol::ids::SessionId;
use crate::protocol::mcp::{FIND_TOOLS, READ_RESOURCE};
use crate::store::error::StoreError;
use crate::tools::output::first;

/// Most tools of servers that requests of a channel have without searching.
const MOST_OFFERED: usize = 40;
/// Most found tools that requests of a session have, the newest.
const MOST_FOUND: usize = 40;
/// Tools that one search gives where nobody says how many.
const USUAL: usize = 5;
/// Most tools that one search gives.
pub const MOST_RESULTS: usize = 20;
/// Longest schema in an answer, in bytes. Requests hold the whole one.
const MAX_SCHEMA: usize = 4 * 1024;
/// What stands before the names in an answer; later requests read them from there.
const FOUND: &str = "Found: ";

/// The tools of servers that a channel gets, by name.
fn of_channel<'a>(
    servers: &'a AllServers,
    channel: &'a ChannelSettings,
) -> impl Iterator<Item = (&'a str, &'a OfferedTool)> {
    let servers = servers.iter().filter(|(name, _)| has_server(channel, name));
    servers.flat_map(|(_, server)| {
        server
            .tools
            .iter()
            .map(|(name, tool)| (name.as_str(), tool))
    })
}

/// A prefix with what the requests of a session have of the tools of servers.
pub async fn extend(
    engine: &Engine,
    channel: &str,
    session: SessionId,
    prefix: &Arc<Prefix>,
) -> Result<Arc<Prefix>, StoreError> {
    let servers = engine.servers.offered();
    let Some(settings) = engine.settings.channels.get(channel) else {
        return Ok(Arc::clone(prefix));
    };
    let tools: BTreeMap<&str, &OfferedTool> = of_channel(&servers, settings).collect();
    let mut chosen: Vec<&OfferedTool> = Vec::new();
    let hidden = tools.len() > MOST_OFFERED;
    if hidden {
        let found = engine
            .store
            .read(move |rows| rows.found_tools(session))
            .await?;
        chosen.extend(tools.values().copied().filter(|tool| tool.always));
        let found = found_names(&found);
        let found = found.iter().filter_map(|name| tools.get(name.as_str()));
        chosen.extend(found.copied().filter(|tool| !tool.always));
    } else {
        chosen.extend(tools.values().copied());
    }
    let has_resources = servers
        .iter()
        .any(|(name, server)| server.has_resources && has_server(settings, name));
    let registry = engine.tools();
    let own = [(FIND_TOOLS, hidden), (READ_RESOURCE, has_resources)];
    let own = own.into_iter().filter(|(_, wanted)| *wanted);
    let mut more: Vec<ToolDefinition> = own
        .filter_map(|(name, _)| registry.get(name))
        .map(|tool| ToolDefinition {
            name: tool.spec().name.to_string(),
            description: tool.spec().description.to_string(),
            input_schema: tool.spec().input_schema.clone(),
        })
        .collect();
    more.extend(chosen.into_iter().map(|tool| tool.definition.clone()));
    if more.is_empty() {
        return Ok(Arc::clone(prefix));
    }
    Ok(Arc::new(prefix.with_tools(more)))
}

/// The tools that a session has found, in the order in which they came, from the answers it got. The newest stay.
fn found_names(answers: &[String]) -> Vec<String> {
    let names = answers.iter().filter_map(|answer| {
        let line = answer.lines().next()?.strip_prefix(FOUND)?;
        Some(line.split(", "))
    });
    let mut seen = BTreeSet::new();
    let mut found: Vec<String> = Vec::new();
    for name in names.flatten() {
        if seen.insert(name) {
            found.push(name.to_owned());
        }
    }
    found.split_off(found.len().saturating_sub(MOST_FOUND))
}

/// What an agent reads that looks for tools of servers; else why nothing was found.
pub fn search(
    engine: &Engine,
    channel: &str,
    query: &str,
    limit: Option<usize>,
) -> Result<String, String> {
    let settings = engine
        .channel(channel)
        .map_err(|problem| problem.to_string())?;
    let servers = engine.servers.offered();
    let tools: Vec<(&str, &OfferedTool)> = of_channel(&servers, settings).collect();
    let limit = limit.unwrap_or(USUAL).clamp(1, MOST_RESULTS);
    let found = ranked(&tools, query, limit);
    if found.is_empty() {
        return Err(format!(
            "none of {} tools has these words; try others, or fewer",
            tools.len()
        ));
    }
    let names: Vec<&str> = found.iter().map(|(name, _)| *name).collect();
    let mut text = format!(
        "{FOUND}{}\nYou can call them from your next answer on.\n",
        names.join(", ")
    );
    for (name, tool) in found {
        let schema = tool.definition.input_schema.to_string();
        let shown = first(&schema, MAX_SCHEMA);
        let more = if shown.len() < schema.len() {
            " …"
        } else {
            ""
        };
        let about = &tool.definition.description;
        let _ = write!(text, "\n{name}: {about}\narguments: {shown}{more}\n");
    }
    Ok(text)
}

/// The tools that fit best, best first; those that have none of the words are left out.
fn ranked<'a>(
    tools: &[(&'a str, &'a OfferedTool)],
    query: &str,
    limit: usize,
) -> Vec<(&'a str, &'a OfferedTool)> {
    let wanted: BTreeSet<String> = words(query).collect();
    let texts: Vec<[BTreeSet<String>; 3]> = tools
        .iter()
        .map(|(name, tool)| {
            let about = tool.definition.description.as_str();
            [*name, tool.title.as_str(), about].map(|text| words(text).collect())
        })
        .collect();
    let mut scores = vec![0.0_f64; tools.len()];
    for word in &wanted {
        let fits: Vec<f64> = texts.iter().map(|texts| fit(texts, word)).collect();
        let having = fits.iter().filter(|fit| **fit > 0.0).count();
        if having == 0 {
            continue;
        }
        // A word that few tools have says more.
        let weight = (1.0 + tools.len() as f64 / having as f64).ln();
        for (score, fit) in scores.iter_mut().zip(fits) {
            *score += fit * weight;
        }
    }
    let mut found: Vec<(f64, (&str, &OfferedTool))> = scores
        .into_iter()
        .zip(tools.iter().copied())
        .filter(|(score, _)| *score > 0.0)
        .collect();
    found.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.0.cmp(other.1.0)));
    found.truncate(limit);
    found.into_iter().map(|(_, tool)| tool).collect()
}

/// How well a word fits name, title and description: whole words before beginnings, the name before the rest.
fn fit(texts: &[BTreeSet<String>; 3], word: &str) -> f64 {
    const WEIGHTS: [f64; 3] = [4.0, 3.0, 1.0];
    let fits = texts.iter().zip(WEIGHTS).map(|(words, weight)| {
        let begins = |other: &String| {
            let shorter = other.len().min(word.len());
            shorter >= 3 && (other.starts_with(word) || word.starts_with(other.as_str()))
        };
        let near = |other: &String| strsim::jaro_winkler(other, word) > 0.92;
        if words.contains(word) {
            weight
        } else if words.iter().any(begins) {
            weight * 0.6
        } else if word.len() >= 5 && words.iter().any(near) {
            weight * 0.3
        } else {
            0.0
        }
    });
    fits.sum()
}

/// The words of a text in lower case; `createIssue` and `create_issue` have two.
fn words(text: &str) -> impl Iterator<Item = String> {
    let mut split = String::with_capacity(text.len() + 8);
    let mut before = ' ';
    for c in text.chars() {
        if c.is_uppercase() && before.is_lowercase() {
            split.push(' ');
        }
        split.push(if c.is_alphanumeric() { c } else { ' ' });
        before = c;
    }
    let words: Vec<String> = split
        .split_whitespace()
        .map(str::to_lowercase)
        .filter(|word| word != "mcp")
        .collect();
    words.into_iter()
}
