//! Editing the configuration file in place. Comments, order and whatever else is written there stay as they are.
//!
//! Nothing here reads or writes a file.

use std::collections::BTreeMap;

use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, Value};

/// A server to be written into the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewServer {
    /// Program and arguments; empty = it is reached at `url`.
    pub command: Vec<String>,
    /// Working directory.
    pub directory: Option<String>,
    /// Plain variables.
    pub environment: BTreeMap<String, String>,
    /// Variables that are passed on.
    pub environment_env: Vec<String>,
    /// What the program reads.
    pub read: Vec<String>,
    /// What the program changes.
    pub write: Vec<String>,
    /// Whether the program has the network.
    pub network: bool,
    /// Address.
    pub url: Option<String>,
    /// Headers.
    pub headers: BTreeMap<String, String>,
    /// Variable that holds the secret of the headers.
    pub secret_env: Option<String>,
    /// File that holds the secret of the headers.
    pub secret_file: Option<String>,
    /// Whether the server wants a login.
    pub login: bool,
    /// Whether what it claims counts.
    pub trusted: bool,
}

/// The text with a table for a server behind everything else. The error says why there is none.
pub fn add_server(text: &str, name: &str, server: &NewServer) -> Result<String, String> {
    add(text, "mcp", "server", name, table(server))
}

/// The text with a table behind everything else, under `key`, whose tables are each a `noun`.
fn add(text: &str, key: &str, noun: &str, name: &str, table: Table) -> Result<String, String> {
    let mut document = parse(text)?;
    let tables = document.entry(key).or_insert_with(|| {
        let mut table = Table::new();
        // Only the tables in it are written.
        table.set_implicit(true);
        Item::Table(table)
    });
    let tables = tables
        .as_table_like_mut()
        .ok_or_else(|| format!("`{key}` is no table; write `[{key}.NAME]`"))?;
    if tables.contains_key(name) {
        return Err(format!(
            "there is a {noun} `{name}` already; remove it first, or take another name"
        ));
    }
    tables.insert(name, Item::Table(table));
    Ok(document.to_string())
}

/// A channel to be written into the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewChannel {
    /// Its kind, as the file spells it.
    pub kind: &'static str,
    /// Keys with one text, in the order in which they are written.
    pub texts: Vec<(String, String)>,
    /// Keys with a list, in the order in which they are written; an empty list is left out.
    pub lists: Vec<(&'static str, Vec<String>)>,
    /// Plain variables of the program of a bridge.
    pub environment: BTreeMap<String, String>,
}

/// The text with a table for a channel behind everything else. The error says why there is none.
pub fn add_channel(text: &str, name: &str, channel: &NewChannel) -> Result<String, String> {
    add(text, "channels", "channel", name, channel_table(channel))
}

/// The table of a channel by itself.
pub fn channel_text(name: &str, channel: &NewChannel) -> String {
    let mut tables = Table::new();
    tables.set_implicit(true);
    tables.insert(name, Item::Table(channel_table(channel)));
    let mut document = DocumentMut::new();
    document.insert("channels", Item::Table(tables));
    document.to_string().trim_start().to_owned()
}

fn channel_table(channel: &NewChannel) -> Table {
    let mut table = Table::new();
    table.decor_mut().set_prefix("\n");
    table.insert("kind", Item::Value(Value::from(channel.kind)));
    for (key, value) in &channel.texts {
        table.insert(key, Item::Value(Value::from(value.as_str())));
    }
    for (key, items) in &channel.lists {
        if let Some(value) = list(items) {
            table.insert(key, Item::Value(value));
        }
    }
    if let Some(value) = map(&channel.environment) {
        table.insert("environment", Item::Value(value));
    }
    table
}

/// The text without the table of a server, its tools and the comment right above it. The error says why there is none.
pub fn remove_server(text: &str, name: &str) -> Result<String, String> {
    let mut document = parse(text)?;
    let servers = document.get_mut("mcp").and_then(Item::as_table_like_mut);
    let removed = servers.and_then(|servers| servers.remove(name));
    match removed {
        Some(_) => Ok(document.to_string()),
        None => Err(format!("there is no server `{name}` in the file")),
    }
}

fn parse(text: &str) -> Result<DocumentMut, String> {
    // The parser's message could quote a secret.
    text.parse()
        .map_err(|_| "the file is not valid TOML; `leverframe doctor` names the place".to_owned())
}

fn table(server: &NewServer) -> Table {
    let mut table = Table::new();
    table.decor_mut().set_prefix("\n");
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            table.insert(key, Item::Value(value));
        }
    };
    put("command", list(&server.command));
    put("url", server.url.as_deref().map(Value::from));
    put("directory", server.directory.as_deref().map(Value::from));
    put("environment", map(&server.environment));
    put("environment_env", list(&server.environment_env));
    put("read", list(&server.read));
    put("write", list(&server.write));
    put("network", server.network.then(|| Value::from(true)));
    put("headers", map(&server.headers));
    put("secret_env", server.secret_env.as_deref().map(Value::from));
    put(
        "secret_file",
        server.secret_file.as_deref().map(Value::from),
    );
    put("login", server.login.then(|| Value::from(true)));
    put("trusted", server.trusted.then(|| Value::from(true)));
    table
}

fn list(items: &[String]) -> Option<Value> {
    let array: Array = items.iter().map(String::as_str).collect();
    (!items.is_empty()).then_some(Value::Array(array))
}

fn map(entries: &BTreeMap<String, String>) -> Option<Value> {
    let table: InlineTable = entries
        .iter()
        .map(|(name, value)| (name.as_str(), Value::from(value.as_str())))
        .collect();
    (!entries.is_empty()).then_some(Value::InlineTable(table))
}
