//! Servers as other hosts write them down, as tables of our configuration. Pure.
//!
//! No value that looks like a secret gets into the result: what holds one is passed on by its name, or left out.

use serde_json::{Map, Value};

use crate::config::edit::NewServer;
use crate::config::headers::holds_credential;
use crate::config::mcp::is_server_name;

/// Where hosts keep their servers in such a file.
const PLACES: [&[&str]; 4] = [
    &["mcpServers"],
    &["servers"],
    &["mcp", "servers"],
    &["context_servers"],
];
/// Programs that fetch what they run.
const FETCHING: [&str; 6] = ["npx", "uvx", "bunx", "pnpm", "pipx", "deno"];
/// Beginnings of values that are keys of well-known services.
const KEYS: [&str; 10] = [
    "sk-",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xox",
    "AIza",
    "AKIA",
    "eyJ",
];

/// One entry of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name there.
    pub original: String,
    /// Its name here.
    pub name: String,
    /// The server; else why it is left out.
    pub server: Result<NewServer, String>,
    /// What a person has to know or do.
    pub notes: Vec<String>,
}

/// The entries of a file of another host. The error says why there are none.
pub fn entries(text: &str) -> Result<Vec<Entry>, String> {
    let json: Value = serde_json::from_str(&plain_json(text)).map_err(|error| {
        format!(
            "is not JSON: line {}, column {}",
            error.line(),
            error.column()
        )
    })?;
    let found = PLACES.iter().find_map(|place| {
        let mut at = &json;
        for key in *place {
            at = at.get(key)?;
        }
        at.as_object()
    });
    let found = found.ok_or_else(|| {
        let places: Vec<String> = PLACES
            .iter()
            .map(|place| format!("`{}`", place.join(".")))
            .collect();
        format!(
            "has no servers: expected an object at {}",
            places.join(", ")
        )
    })?;
    if found.is_empty() {
        return Err("has no servers: the object is empty".to_owned());
    }
    let mut taken = Vec::new();
    let entries = found.iter().map(|(original, value)| {
        let mut notes = Vec::new();
        let name = our_name(original);
        let server = match value.as_object() {
            _ if !is_server_name(&name) => Err("it makes no valid name".to_owned()),
            _ if taken.contains(&name) => Err(format!("another entry is called `{name}` here")),
            Some(entry) => server(&name, entry, &mut notes),
            None => Err("is no object".to_owned()),
        };
        if name != *original && server.is_ok() {
            notes.push(format!("is called `{name}` here"));
        }
        taken.push(name.clone());
        Entry {
            original: original.clone(),
            name,
            server,
            notes,
        }
    });
    Ok(entries.collect())
}

/// Small letters, digits, `-` and single `_` alone.
fn our_name(original: &str) -> String {
    let mut name = String::new();
    for c in original.to_lowercase().chars() {
        let c = if c.is_ascii_alphanumeric() || c == '_' {
            c
        } else {
            '-'
        };
        let doubled = matches!(c, '-' | '_') && name.ends_with(['-', '_']);
        if !doubled {
            name.push(c);
        }
    }
    let name: String = name.trim_matches(['-', '_']).chars().take(32).collect();
    name.trim_end_matches(['-', '_']).to_owned()
}

fn texts(entry: &Map<String, Value>, key: &str) -> Vec<String> {
    let items = entry.get(key).and_then(Value::as_array);
    let items = items.into_iter().flatten();
    items
        .map(|item| {
            item.as_str()
                .map_or_else(|| item.to_string(), str::to_owned)
        })
        .collect()
}

fn server(
    name: &str,
    entry: &Map<String, Value>,
    notes: &mut Vec<String>,
) -> Result<NewServer, String> {
    let is_off = entry.get("disabled").and_then(Value::as_bool) == Some(true)
        || entry.get("enabled").and_then(Value::as_bool) == Some(false);
    if is_off {
        return Err("is switched off there".to_owned());
    }
    // Some hosts nest program and arguments.
    let nested = entry.get("command").and_then(Value::as_object);
    let of = nested.unwrap_or(entry);
    let program = of
        .get("command")
        .or_else(|| of.get("path"))
        .and_then(Value::as_str);
    let url = ["url", "serverUrl", "httpUrl"];
    let url = url.iter().find_map(|key| entry.get(*key)?.as_str());
    let kind = ["type", "transport"];
    let kind = kind.iter().find_map(|key| entry.get(*key)?.as_str());
    match (program, url, kind) {
        (None, Some(_), Some("sse")) => Err(
            "uses the old SSE transport, which Leverframe lacks; many such servers also have /mcp"
                .to_owned(),
        ),
        (None, Some(url), _) => address(name, url, entry, notes),
        (Some(program), _, _) => {
            let mut command = vec![program.to_owned()];
            command.extend(texts(of, "args"));
            self::program(command, of, entry, notes)
        }
        (None, None, _) => Err("has neither `command` nor `url`".to_owned()),
    }
}

fn program(
    command: Vec<String>,
    of: &Map<String, Value>,
    entry: &Map<String, Value>,
    notes: &mut Vec<String>,
) -> Result<NewServer, String> {
    for (at, part) in command.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| command.get(at));
        let named = before.is_some_and(|before| before.starts_with('-') && names_secret(before));
        let (key, value) = part.split_once(['=', ':']).unwrap_or(("", part));
        let holds = (named && !part.starts_with('-') && !is_reference(part))
            || (names_secret(key) && !value.trim().is_empty() && !is_reference(value.trim()))
            || looks_secret(part);
        if holds {
            return Err(format!(
                "argument {at} holds a secret, which a command cannot hide; give it to the program in a variable"
            ));
        }
        if part.contains("${") {
            return Err(format!(
                "argument {at} has a placeholder of that host; write its value"
            ));
        }
    }
    let mut server = NewServer {
        command,
        ..NewServer::default()
    };
    let directory = entry.get("cwd").and_then(Value::as_str);
    match directory {
        Some(directory) if directory.contains("${") => {
            notes.push(
                "its working directory has a placeholder of that host and is left out".to_owned(),
            );
        }
        directory => server.directory = directory.map(str::to_owned),
    }
    for variables in [of.get("env"), entry.get("env")] {
        for (name, value) in variables.and_then(Value::as_object).into_iter().flatten() {
            let value = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            if server.environment_env.contains(name) {
                continue;
            }
            if is_reference(&value) || names_secret(name) || looks_secret(&value) {
                notes.push(format!(
                    "set {name} in the environment of the daemon: its value is not written into the file"
                ));
                server.environment_env.push(name.clone());
            } else {
                server.environment.insert(name.clone(), value);
            }
        }
    }
    if entry.contains_key("envFile") {
        notes.push("its file of variables is not read; name them in environment_env".to_owned());
    }
    let first = server
        .command
        .first()
        .map(String::as_str)
        .unwrap_or_default();
    let base = first.rsplit('/').next().unwrap_or(first);
    if FETCHING.contains(&base) {
        server.network = true;
        notes.push(format!(
            "{base} fetches what it runs, so it gets the network"
        ));
    } else if base == "docker" || base == "podman" {
        notes.push(format!(
            "{base} cannot work in the sandbox: set sandbox = false if you trust it that much"
        ));
    } else {
        notes.push(
            "it runs in the sandbox without network: see read, write and network if it needs more"
                .to_owned(),
        );
    }
    Ok(server)
}

fn address(
    name: &str,
    url: &str,
    entry: &Map<String, Value>,
    notes: &mut Vec<String>,
) -> Result<NewServer, String> {
    let query = url
        .split_once('?')
        .map(|(_, query)| query)
        .unwrap_or_default();
    let secret = query.split('&').any(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        names_secret(key) || looks_secret(value)
    });
    if secret || url.contains("${") {
        return Err(
            "its address holds a secret or a placeholder; write it with a header".to_owned(),
        );
    }
    let mut server = NewServer {
        url: Some(url.to_owned()),
        ..NewServer::default()
    };
    let headers = entry.get("headers").or_else(|| {
        entry
            .get("requestInit")
            .and_then(|init| init.get("headers"))
    });
    let variable = format!("{}_SECRET", name.to_uppercase().replace('-', "_"));
    for (header, value) in headers.and_then(Value::as_object).into_iter().flatten() {
        let value = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        if !(names_secret(header) || looks_secret(&value) || value.contains("${")) {
            server.headers.insert(header.clone(), value);
            continue;
        }
        if server.secret_env.is_some() {
            return Err(format!(
                "two of its headers hold secrets (`{header}` is one), and a server has one"
            ));
        }
        let scheme = value.split_once(' ').map(|(scheme, _)| scheme);
        let scheme = scheme.filter(|scheme| scheme.chars().all(|c| c.is_ascii_alphabetic()));
        let text = scheme.map_or_else(
            || "{secret}".to_owned(),
            |scheme| format!("{scheme} {{secret}}"),
        );
        notes.push(format!(
            "set {variable} in the environment of the daemon to the secret of its header {header}"
        ));
        server.headers.insert(header.clone(), text);
        server.secret_env = Some(variable.clone());
    }
    if server.headers.is_empty() {
        notes.push("if it wants a login: set login = true, then `leverframe mcp login`".to_owned());
    }
    Ok(server)
}

fn names_secret(name: &str) -> bool {
    let name = name.trim().trim_start_matches('-');
    let lower = name.to_ascii_lowercase();
    holds_credential(name)
        || [
            "pat",
            "pwd",
            "passwd",
            "apikey",
            "auth",
            "bearer",
            "credentials",
        ]
        .iter()
        .any(|word| {
            lower == *word
                || lower.ends_with(&format!("_{word}"))
                || lower.ends_with(&format!("-{word}"))
        })
}

/// Whether a value stands for one that the other host finds elsewhere: `${NAME}`, `${input:id}`, `$NAME`.
fn is_reference(value: &str) -> bool {
    let name = value.strip_prefix('$').unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    value.contains("${") || (!name.is_empty() && name.chars().all(plain))
}

/// Whether a value looks like a key: by its beginning, or long and of letters and digits without a word in it.
fn looks_secret(value: &str) -> bool {
    let value = value.trim();
    let value = value.strip_prefix("Bearer ").unwrap_or(value);
    if KEYS.iter().any(|begin| value.starts_with(begin)) && value.len() >= 12 {
        return true;
    }
    let token = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let digits = value.chars().filter(char::is_ascii_digit).count();
    let letters = value.chars().filter(char::is_ascii_alphabetic).count();
    value.len() >= 24 && value.chars().all(token) && digits >= 4 && letters >= 4
}

/// JSON without the comments and trailing commas that some hosts permit. What stands in text stays.
fn plain_json(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    let mut in_text = false;
    while let Some(c) = rest.next() {
        match (in_text, c, rest.peek()) {
            (true, '\\', Some(_)) => {
                out.push(c);
                out.extend(rest.next());
                continue;
            }
            (true, '"', _) => in_text = false,
            (false, '"', _) => in_text = true,
            (false, '/', Some('/')) => {
                while rest.next_if(|c| *c != '\n').is_some() {}
                continue;
            }
            (false, '/', Some('*')) => {
                rest.next();
                let mut before = ' ';
                for c in rest.by_ref() {
                    if c == '\n' {
                        // Places in errors stay right.
                        out.push(c);
                    }
                    if before == '*' && c == '/' {
                        break;
                    }
                    before = c;
                }
                continue;
            }
            (false, '}' | ']', _) => {
                let kept = out.trim_end();
                if kept.ends_with(',') {
                    let comma = kept.len() - 1;
                    out.replace_range(comma..=comma, " ");
                }
            }
            _ => {}
        }
        out.push(c);
    }
    out
}

/// What is in an entry, for people: the program or the address.
pub fn place(server: &NewServer) -> String {
    match &server.url {
        Some(url) => url.clone(),
        None => server.command.join(" "),
    }
}
