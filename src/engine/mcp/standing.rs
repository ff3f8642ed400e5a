//! How what a tool server offers stands to what is trusted of it. Pure: no clock, no database, no connection.
//!
//! No tool is callable whose definition or server differs from what an operator trusts.

use std::fmt::Write as _;

use similar::TextDiff;

use crate::config::mcp::McpServerSettings;
use crate::protocol::enums::McpToolState;
use crate::protocol::mcp::{McpClaims, McpIdentity, McpToolDefinition};
use crate::store::queries::tool_servers::{PinnedDefinition, ServerTool, ToolServer};
use crate::tools::canonical::digest;
use crate::tools::mcp::identity_place;

/// Names of tools that one sentence has at most.
const NAMED: usize = 12;
/// Longest difference, in bytes.
const MAX_DIFF: usize = 512 * 1024;

/// Over all that a server offers and can be trusted: who it is, and the digest of each definition.
pub fn offer_digest<'a>(
    identity: &McpIdentity,
    usable: impl Iterator<Item = (&'a str, &'a str)>,
    has_resources: bool,
) -> String {
    let mut parts = vec![identity.name.as_str(), identity.place.as_str()];
    let resources = if has_resources { "resources" } else { "" };
    parts.push(resources);
    for (name, sha256) in usable {
        parts.extend([name, sha256]);
    }
    digest(&parts)
}

/// Whether a server is another one than the one that is trusted: by what it says, or by what the configuration says now.
pub fn identity_changed(server: &ToolServer, settings: &McpServerSettings) -> bool {
    let Some(trust) = &server.trust else {
        return false;
    };
    let offered = server.offer.as_ref();
    offered.is_none_or(|offer| !offer.identity.is_same(&trust.identity))
        || trust.identity.place != identity_place(settings)
}

/// How a tool stands to what is trusted.
pub fn state_of(tool: &ServerTool, changed: bool, settings: &McpServerSettings) -> McpToolState {
    match (&tool.trusted, &tool.offered) {
        (_, _) if settings.blocks(&tool.name) => McpToolState::Blocked,
        (_, None) if tool.problem.is_some() => McpToolState::Invalid,
        (_, None) => McpToolState::Missing,
        (None, Some(_)) => McpToolState::New,
        (Some(trusted), Some(offered)) if trusted.sha256 == offered.sha256 && !changed => {
            McpToolState::Trusted
        }
        (Some(_), Some(_)) => McpToolState::Changed,
    }
}

/// Whether an operator has to look before agents get a tool in this state (again).
pub fn needs_review(state: McpToolState) -> bool {
    match state {
        McpToolState::New
        | McpToolState::Changed
        | McpToolState::Missing
        | McpToolState::Invalid => true,
        McpToolState::Trusted | McpToolState::Blocked => false,
    }
}

/// The definitions that agents get.
pub fn callable<'a>(
    server: &'a ToolServer,
    settings: &'a McpServerSettings,
) -> impl Iterator<Item = &'a PinnedDefinition> {
    let changed = identity_changed(server, settings);
    let trusted = server.trust.is_some();
    let tools = server
        .tools
        .iter()
        .filter(move |tool| trusted && state_of(tool, changed, settings) == McpToolState::Trusted);
    tools.filter_map(|tool| tool.trusted.as_ref())
}

/// What a person is asked about a server; none = everything that can be trusted is trusted.
pub fn question(server: &ToolServer, settings: &McpServerSettings) -> Option<String> {
    let offer = server.offer.as_ref()?;
    let changed = identity_changed(server, settings);
    let of = |wanted: McpToolState| {
        let tools = server.tools.iter();
        let names = tools.filter(|tool| state_of(tool, changed, settings) == wanted);
        names.map(|tool| tool.name.as_str()).collect::<Vec<_>>()
    };
    let (new, altered, gone) = (
        of(McpToolState::New),
        of(McpToolState::Changed),
        of(McpToolState::Missing),
    );
    // What became unusable after it was trusted is news; what never could be used is not.
    let invalid: Vec<&str> = (server.tools.iter())
        .filter(|tool| tool.trusted.is_some())
        .filter(|tool| state_of(tool, changed, settings) == McpToolState::Invalid)
        .map(|tool| tool.name.as_str())
        .collect();
    let nothing = new.is_empty() && altered.is_empty() && gone.is_empty() && invalid.is_empty();
    let trusts_resources = server
        .trust
        .as_ref()
        .is_some_and(|trust| trust.has_resources);
    let resources = offer.has_resources && !trusts_resources;
    if nothing && !changed && !resources {
        return None;
    }
    let identity = &offer.identity;
    let mut text = format!(
        "`{}` says that it is {} {}, at: {}.",
        server.name, identity.name, identity.version, identity.place
    );
    match &server.trust {
        None => text.push_str(" Nobody trusts it yet."),
        Some(trust) if changed => {
            let before = &trust.identity;
            let _ = write!(
                text,
                " ANOTHER SERVER than the trusted one, which was {} at: {}.",
                before.name, before.place
            );
        }
        Some(_) => {}
    }
    for (word, names) in [
        ("new", new),
        ("changed", altered),
        ("gone", gone),
        ("no longer usable", invalid),
    ] {
        if let Some(list) = named(&names) {
            let _ = write!(text, " {} {word}: {list}.", names.len());
        }
    }
    if resources {
        text.push_str(" It has resources, which agents could read.");
    }
    if !settings.trusted {
        text.push_str(" What it claims about its tools does not count.");
    }
    Some(text)
}

fn named(names: &[&str]) -> Option<String> {
    let shown = names.get(..NAMED).unwrap_or(names);
    let more = names.len() - shown.len();
    match (names.is_empty(), more) {
        (true, _) => None,
        (false, 0) => Some(shown.join(", ")),
        (false, more) => Some(format!("{} and {more} more", shown.join(", "))),
    }
}

/// Difference from what is trusted to what the server offers.
pub fn difference(server: &ToolServer, settings: &McpServerSettings) -> String {
    let mut diff = String::new();
    let before = server.trust.as_ref().map(|trust| &trust.identity);
    let after = server.offer.as_ref().map(|offer| &offer.identity);
    let same = before
        .zip(after)
        .is_some_and(|(before, after)| before.is_same(after));
    if !same {
        let text = |identity: Option<&McpIdentity>| identity.map(identity_text).unwrap_or_default();
        compare(&mut diff, &server.name, &text(before), &text(after));
    }
    for tool in &server.tools {
        if settings.blocks(&tool.name) {
            continue;
        }
        let text = |pinned: Option<&PinnedDefinition>| {
            let definition = pinned.map(|pinned| &pinned.definition);
            definition.map(definition_text).unwrap_or_default()
        };
        let (old, new) = (text(tool.trusted.as_ref()), text(tool.offered.as_ref()));
        if old != new {
            let name = format!("{}/{}", server.name, tool.name);
            compare(&mut diff, &name, &old, &new);
        }
    }
    let whole = diff.len();
    if whole > MAX_DIFF {
        diff.truncate(diff.floor_char_boundary(MAX_DIFF));
        let left_out = whole - diff.len();
        let _ = write!(diff, "\n[… {left_out} of {whole} bytes left out …]\n");
    }
    diff
}

fn compare(diff: &mut String, name: &str, old: &str, new: &str) {
    let changes = TextDiff::from_lines(old, new);
    let _ = write!(diff, "{}", changes.unified_diff().header(name, name));
}

fn identity_text(identity: &McpIdentity) -> String {
    format!("name: {}\nplace: {}\n", identity.name, identity.place)
}

/// What a definition says, for people.
fn definition_text(definition: &McpToolDefinition) -> String {
    let mut text = format!("tool: {}\n", definition.name);
    if let Some(title) = &definition.title {
        let _ = writeln!(text, "title: {title}");
    }
    text.push_str("description:\n");
    for line in definition.description.lines() {
        let _ = writeln!(text, "  {line}");
    }
    let _ = writeln!(text, "claims: {}", definition.claims.text());
    let schemas = [
        ("arguments", Some(&definition.input_schema)),
        ("results", definition.output_schema.as_ref()),
    ];
    for (name, schema) in schemas {
        let json = schema.and_then(|schema| serde_json::to_string_pretty(schema).ok());
        if let Some(json) = json {
            let _ = writeln!(text, "{name}: {json}");
        }
    }
    text
}

/// What stands for the definition of a tool of which only the name is known.
pub fn without_definition(name: &str) -> McpToolDefinition {
    McpToolDefinition {
        name: name.to_owned(),
        title: None,
        description: String::new(),
        input_schema: serde_json::json!({}),
        output_schema: None,
        claims: McpClaims::default(),
    }
}
