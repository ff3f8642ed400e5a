//! `[tools.NAME]`: the least risk of tools, and the tools that exist where the file has their table.
//!
//! Nothing here reaches a host or runs a program; whether a name leads to a host is looked at in each call.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::config::error::{ConfigError, Fault};
use crate::config::file::ToolTable;
use crate::config::inputs::{Inputs, Section, field, given_keys, names_server_tool};
use crate::config::settings::{BashSettings, FetchSettings, PythonSettings};
use crate::protocol::dataset::LOAD_DATASET;
use crate::protocol::enums::Risk;
use crate::protocol::rule::{BASH, FETCH, PYTHON};
use crate::protocol::skill::LOAD_SKILL;

/// Most entries of a list of hosts.
const MAX_HOSTS: usize = 1000;
/// Longest time that a result may be given again: a day.
const MAX_CACHE_SECONDS: u64 = 24 * 3600;
/// Built-in tools that exist where the file has their table, and the keys of each beside `risk`.
const ADDED: [(&str, &[&str]); 3] = [
    (
        FETCH,
        &[
            "allow",
            "deny",
            "private",
            "ports",
            "timeout_seconds",
            "max_kib",
            "cache_seconds",
        ],
    ),
    (BASH, &["idle_minutes", "max_shells"]),
    (PYTHON, &["executable", "idle_minutes", "max_interpreters"]),
];
/// Keys that no declared tool has.
const OF_BUILT_IN: [&str; 8] = [
    "allow",
    "deny",
    "private",
    "ports",
    "executable",
    "idle_minutes",
    "max_shells",
    "max_interpreters",
];

/// Names of the tools that exist with this file: those that always do, and those that it adds.
pub fn names(inputs: &Inputs<'_>) -> Vec<String> {
    let config = inputs.config();
    let always = inputs.tools.iter().map(|name| (*name).to_owned());
    let mut names: Vec<String> = always.collect();
    for (name, table) in &config.tools {
        if adds(name, table) && !names.contains(name) {
            names.push(name.clone());
        }
    }
    if config.tools.contains_key(PYTHON) {
        names.push(LOAD_DATASET.to_owned());
    }
    if config
        .skills
        .folders
        .as_ref()
        .is_some_and(|folders| !folders.is_empty())
    {
        names.push(LOAD_SKILL.to_owned());
    }
    names
}

/// Whether a table adds a tool.
fn adds(name: &str, table: &ToolTable) -> bool {
    is_added(name) || table.kind.is_some()
}

/// Whether a built-in tool exists only where the file has its table.
pub fn is_added(name: &str) -> bool {
    ADDED.iter().any(|(added, _)| *added == name)
}

/// The least risk of tools, by name.
pub fn risks(inputs: &Inputs<'_>) -> Result<BTreeMap<String, Risk>, ConfigError> {
    let config = inputs.config();
    let mut risks = BTreeMap::new();
    for (name, table) in &config.tools {
        let fault = |problem| inputs.fault(&["tools", name], problem);
        let of_server = names_server_tool(inputs, name, &fault)?;
        if !of_server && !inputs.tools.contains(&name.as_str()) {
            let fault = inputs.fault(&["tools", name], format!("there is no tool `{name}`"));
            let fault = fault.nearest(
                name,
                inputs
                    .tools
                    .iter()
                    .copied()
                    .chain(ADDED.map(|(added, _)| added)),
            );
            return Err(fault
                .expected(format!("one of {}", inputs.tools.join(", ")))
                .into());
        }
        if table.kind.is_some() && (is_added(name) || inputs.built_in.contains(&name.as_str())) {
            let problem = format!("`{name}` is built in and cannot be declared");
            let fault = inputs.fault(&["tools", name, "kind"], problem);
            return Err(fault.next_step("Give your tool another name").into());
        }
        if let Some(key) = foreign_key(name, table) {
            let problem = format!("`{name}` has no such setting");
            let fault = inputs.fault(&["tools", name, key], problem);
            return Err(fault.expected(expected_keys(name, table)).into());
        }
        if !adds(name, table) && table.risk.is_none() {
            let fault = inputs.fault(&["tools", name], "`risk` is missing");
            return Err(fault.expected("low, medium, high or critical").into());
        }
        risks.extend(table.risk.map(|risk| (name.clone(), risk)));
    }
    Ok(risks)
}

/// The keys of a table beside `kind` and `risk`.
fn keys(table: &ToolTable) -> Vec<&'static str> {
    let keys = given_keys!(table:
        allow, deny, private, ports, executable, idle_minutes, max_shells, max_interpreters, timeout_seconds, max_kib,
        cache_seconds, description, method, url, query, headers, body, parameters, optional, access, effect, key_header,
        key_seconds, secret_env, secret_file, secret_command, result, trusted);
    let given = keys.into_iter().filter(|(_, given)| *given);
    given.map(|(key, _)| key).collect()
}

/// The keys that a built-in tool has beside `risk`.
fn own_keys(name: &str) -> &'static [&'static str] {
    let added = ADDED.iter().find(|(added, _)| *added == name);
    added.map_or(&[], |(_, keys)| keys)
}

/// A key that the table has and its tool has not.
fn foreign_key(name: &str, table: &ToolTable) -> Option<&'static str> {
    let declared = table.kind.is_some();
    let is_foreign = |key: &&str| {
        if declared {
            OF_BUILT_IN.contains(key)
        } else {
            !own_keys(name).contains(key)
        }
    };
    keys(table).into_iter().find(is_foreign)
}

fn expected_keys(name: &str, table: &ToolTable) -> String {
    match own_keys(name) {
        _ if table.kind.is_some() => {
            "keys of a declared tool, not those of a built-in one".to_owned()
        }
        [] => "only `risk`, or `kind = \"http\"` to declare a tool".to_owned(),
        keys => format!("{} and risk", keys.join(", ")),
    }
}

/// How `bash` is configured; none = there is no such tool.
pub fn bash(inputs: &Inputs<'_>) -> Result<Option<BashSettings>, ConfigError> {
    let config = inputs.config();
    let Some(table) = config.tools.get(BASH) else {
        return Ok(None);
    };
    let section = Section::new(inputs, &["tools", BASH], table);
    Ok(Some(BashSettings {
        idle_minutes: section.number(field!(table.idle_minutes), 10, 1..=60)?,
        max_shells: section.number(field!(table.max_shells), 8, 1..=64)?,
    }))
}

/// How `http_fetch` is configured; none = there is no such tool.
pub fn fetch(inputs: &Inputs<'_>) -> Result<Option<FetchSettings>, ConfigError> {
    let config = inputs.config();
    let Some(table) = config.tools.get(FETCH) else {
        return Ok(None);
    };
    let section = Section::new(inputs, &["tools", FETCH], table);
    let deny = hosts(&section, "deny", table.deny.as_deref())?;
    let allow = hosts(&section, "allow", table.allow.as_deref())?;
    let private = hosts(&section, "private", table.private.as_deref())?;
    for (key, hosts) in [("allow", &allow), ("private", &private)] {
        if hosts.iter().any(|host| host == "*") {
            let fault = section.fault(key, "`*` would list every host");
            return Err(fault.expected("hosts, or `*.` and a domain").into());
        }
    }
    let ports = table.ports.clone().unwrap_or_default();
    if ports.contains(&0) {
        let fault = section.fault("ports", "0 is no port");
        return Err(fault.expected("numbers from 1 to 65535").into());
    }
    Ok(Some(FetchSettings {
        allow,
        deny,
        private,
        ports,
        timeout_seconds: section.number(field!(table.timeout_seconds), 30, 1..=600)?,
        max_kib: section.number(field!(table.max_kib), 2048, 1..=16 * 1024)?,
        cache: cache(&section)?,
    }))
}

/// How long results of a tool may be given again.
pub fn cache(section: &Section<'_, ToolTable>) -> Result<Option<Duration>, ConfigError> {
    let table = section.table;
    let seconds = section.number(field!(table.cache_seconds), 0, 0..=MAX_CACHE_SECONDS)?;
    Ok((seconds > 0).then(|| Duration::from_secs(seconds)))
}

/// How `python` is configured; none = there is no such tool.
pub fn python(inputs: &Inputs<'_>) -> Result<Option<PythonSettings>, ConfigError> {
    let config = inputs.config();
    let Some(table) = config.tools.get(PYTHON) else {
        return Ok(None);
    };
    let section = Section::new(inputs, &["tools", PYTHON], table);
    let executable = table.executable.as_ref().map(PathBuf::from);
    if let Some(path) = executable.as_ref().filter(|path| !path.is_absolute()) {
        let problem = format!("`{}` is no absolute path", path.display());
        let fault = section.fault("executable", problem);
        return Err(fault.expected("a path as /usr/bin/python3").into());
    }
    Ok(Some(PythonSettings {
        executable,
        idle_minutes: section.number(field!(table.idle_minutes), 10, 1..=24 * 60)?,
        max_interpreters: section.number(field!(table.max_interpreters), 8, 1..=64)?,
    }))
}

/// A list of hosts in lower case, each of which can be compared.
fn hosts(
    section: &Section<'_, ToolTable>,
    key: &str,
    given: Option<&[String]>,
) -> Result<Vec<String>, ConfigError> {
    let given = given.unwrap_or_default();
    let fault = |problem: String| -> Fault {
        section
            .fault(key, problem)
            .expected("hosts without scheme, port and path: `example.org`, or `*.example.org` for all below it")
    };
    if given.len() > MAX_HOSTS {
        return Err(fault(format!("more than {MAX_HOSTS} entries")).into());
    }
    let simple = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | ':');
    let mut hosts = Vec::new();
    for entry in given {
        let host = entry.trim().trim_end_matches('.').to_ascii_lowercase();
        let name = host.strip_prefix("*.").unwrap_or(&host);
        let is_port = name.matches(':').count() == 1;
        let good = !name.is_empty() && name.chars().all(simple) && !is_port;
        if host != "*" && !good {
            return Err(fault(format!("`{entry}` is no host")).into());
        }
        hosts.push(host);
    }
    Ok(hosts)
}
