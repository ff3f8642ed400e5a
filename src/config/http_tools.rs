//! `[tools.NAME] kind = "http"`: tools that are a request to a service, declared in the file.
//!
//! No parameter reaches the scheme, host or port of a request, and no secret is written in the file.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Value, json};

use crate::config::error::ConfigError;
use crate::config::file::{ToolKind, ToolTable};
use crate::config::headers::check_header;
use crate::config::inputs::{Inputs, Section, field, given_keys};
use crate::config::placeholders::{Placeholders, SECRET, is_name};
use crate::config::secret::Secret;
use crate::config::secrets::SecretSource;
use crate::config::settings::{HttpBody, HttpToolSettings};
use crate::config::tools::cache;
use crate::protocol::enums::{Access, Effect};

/// Methods that can be declared; the first two only read.
const METHODS: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
/// The header of an idempotency key, where none is named.
const KEY_HEADER: &str = "Idempotency-Key";
/// Longest description, in bytes.
const MAX_DESCRIPTION: usize = 1024;
/// How deep a body can nest.
const MAX_DEPTH: usize = 16;

/// Every tool that the file declares.
pub fn resolve(inputs: &Inputs<'_>) -> Result<BTreeMap<String, HttpToolSettings>, ConfigError> {
    let config = inputs.config();
    let mut tools = BTreeMap::new();
    for (name, table) in &config.tools {
        if table.kind == Some(ToolKind::Http) {
            let keys = ["tools", name];
            let section = Section::new(inputs, &keys, table);
            tools.insert(name.clone(), section.tool()?);
        }
    }
    Ok(tools)
}

impl Section<'_, ToolTable> {
    fn placeholders(&self, key: &str, text: &str) -> Result<Placeholders, ConfigError> {
        Placeholders::parse(text).map_err(|problem| self.fault(key, problem).into())
    }

    fn tool(&self) -> Result<HttpToolSettings, ConfigError> {
        let table = self.table;
        let name = self.name();
        let simple = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if name.is_empty() || name.len() > 64 || !name.chars().all(simple) {
            let fault = self.fault_of_table("models cannot call this name");
            return Err(fault
                .expected("1 to 64 small letters, digits and `_`")
                .into());
        }
        let description = table.description.clone().unwrap_or_default();
        if description.trim().is_empty() || description.len() > MAX_DESCRIPTION {
            let problem = "is empty or too long";
            let expected = format!("1 to {MAX_DESCRIPTION} bytes: models choose tools by it");
            return Err(self.fault("description", problem).expected(expected).into());
        }
        let method = table
            .method
            .clone()
            .unwrap_or_else(|| METHODS[0].to_owned());
        let Some(position) = METHODS.iter().position(|known| *known == method) else {
            let fault = self.fault("method", format!("`{method}` is no method"));
            return Err(fault.expected(METHODS.join(", ")).into());
        };
        let reads = position < 2;
        let (access, effect) = self.classes(&method, reads)?;
        let (origin, path) = self.address()?;
        let query = self.texts("query", table.query.as_ref())?;
        let headers = self.texts("headers", table.headers.as_ref())?;
        self.check_headers(&headers)?;
        let body = match &table.body {
            Some(_) if reads => {
                let fault = self.fault("body", format!("{method} takes no body"));
                return Err(fault.next_step("Set `method`, or leave `body` out").into());
            }
            Some(body) => {
                let json = serde_json::to_value(body).unwrap_or_default();
                Some(self.body(&json, 0)?)
            }
            None => None,
        };
        let (schema, optional) = self.schema()?;
        let mut used: BTreeSet<&str> = path.names().collect();
        if let Some(name) = used.iter().find(|name| optional.contains(**name)) {
            let fault = self.fault(
                "url",
                format!("`{{{name}}}` is optional, and a path needs all of its parts"),
            );
            return Err(fault.next_step("Take it off `optional`").into());
        }
        let texts = query.iter().chain(&headers).map(|(_, text)| text);
        used.extend(texts.clone().flat_map(Placeholders::names));
        let in_body: Vec<&Placeholders> = body.iter().flat_map(HttpBody::texts).collect();
        used.extend(in_body.iter().flat_map(|text| text.names()));
        for text in texts.chain(in_body.iter().copied()) {
            let gap = text.names().find(|name| optional.contains(*name));
            if let Some(name) = gap.filter(|_| text.only().is_none()) {
                let fault = self.fault("optional", format!("`{name}` has other text beside it"));
                let expected = "only parameters that are a whole value: \"{name}\"";
                return Err(fault.expected(expected).into());
            }
        }
        let secret = self.used_secret(used.contains(SECRET))?;
        self.check_names(&schema, &used)?;
        Ok(HttpToolSettings {
            description,
            method,
            origin,
            path,
            query,
            headers,
            body,
            schema,
            access,
            effect,
            key: self.key(effect)?,
            secret,
            result: self.result()?,
            trusted: table.trusted.unwrap_or(false),
            timeout_seconds: self.number(field!(table.timeout_seconds), 30, 1..=600)?,
            max_kib: self.number(field!(table.max_kib), 1024, 1..=16 * 1024)?,
            cache: self.cache_time(access, effect)?,
        })
    }

    fn cache_time(&self, access: Access, effect: Effect) -> Result<Option<Duration>, ConfigError> {
        let cache = cache(self)?;
        let only_reads = access == Access::ReadOpen && effect == Effect::ReadOnly;
        if cache.is_some() && !only_reads {
            let problem = "a call of this tool does more than read, so its result cannot be cached";
            let fault = self.fault("cache_seconds", problem);
            return Err(fault.next_step("Leave `cache_seconds` out").into());
        }
        Ok(cache)
    }

    /// What a call touches, and what recovery may assume of it.
    fn classes(&self, method: &str, reads: bool) -> Result<(Access, Effect), ConfigError> {
        let default = if reads {
            Access::ReadOpen
        } else {
            Access::Send
        };
        let access = self.table.access.unwrap_or(default);
        match access {
            Access::ReadLocal
            | Access::ReadOpen
            | Access::WriteAdditive
            | Access::Write
            | Access::Send => {}
            Access::Exec | Access::Unknown => {
                let fault = self.fault("access", format!("a request is no `{access}`"));
                let expected = "read_local, read_open, write_additive, write or send";
                return Err(fault.expected(expected).into());
            }
        }
        let default = match method {
            _ if reads => Effect::ReadOnly,
            "PUT" | "DELETE" => Effect::Idempotent,
            _ => Effect::NonIdempotent,
        };
        let effect = self.table.effect.unwrap_or(default);
        if effect == Effect::Reconcilable {
            let fault = self.fault(
                "effect",
                "the engine cannot verify whether a declared request happened",
            );
            let expected = "read_only, idempotent, keyed or non_idempotent";
            return Err(fault.expected(expected).into());
        }
        Ok((access, effect))
    }

    /// Scheme, host and port, as they are; and path and query, with placeholders.
    fn address(&self) -> Result<(String, Placeholders), ConfigError> {
        let url = self.table.url.as_deref().unwrap_or_default().trim();
        let expected = "http:// or https://, a host, and a path: `https://host/items/{id}`";
        let wrong = |problem: &str| self.fault("url", problem).expected(expected);
        let Some((scheme, rest)) = url
            .split_once("://")
            .filter(|(s, _)| matches!(*s, "http" | "https"))
        else {
            return Err(wrong("is no address").into());
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (host, path) = rest.split_at(end);
        if host.contains(['{', '}']) {
            return Err(wrong("a parameter would choose the host").into());
        }
        let simple = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
        if host.is_empty() || !host.chars().all(simple) {
            return Err(wrong("has no plain host (no user name, no password, no space)").into());
        }
        if path.contains('#') {
            return Err(wrong("has a fragment, which no server gets").into());
        }
        if path
            .chars()
            .any(|c| c.is_whitespace() || c.is_control() || !c.is_ascii())
        {
            return Err(wrong("has a space or a character that is written with %").into());
        }
        let path = if path.starts_with('/') {
            path.to_owned()
        } else {
            format!("/{path}")
        };
        let path = self.placeholders("url", &path)?;
        Ok((format!("{scheme}://{}", host.to_ascii_lowercase()), path))
    }

    fn texts(
        &self,
        key: &str,
        given: Option<&BTreeMap<String, String>>,
    ) -> Result<Vec<(String, Placeholders)>, ConfigError> {
        let entries = given.into_iter().flatten();
        entries
            .map(|(name, text)| Ok((name.clone(), self.placeholders(key, text)?)))
            .collect()
    }

    fn check_headers(&self, headers: &[(String, Placeholders)]) -> Result<(), ConfigError> {
        for (name, text) in headers {
            let fault = |problem| self.fault("headers", problem);
            check_header(name, text.names().next().is_some(), &fault)?;
        }
        Ok(())
    }

    fn body(&self, value: &Value, depth: usize) -> Result<HttpBody, ConfigError> {
        if depth > MAX_DEPTH {
            return Err(self
                .fault("body", format!("nests deeper than {MAX_DEPTH}"))
                .into());
        }
        Ok(match value {
            Value::String(text) => HttpBody::Text(self.placeholders("body", text)?),
            Value::Array(items) => {
                let items = items.iter().map(|item| self.body(item, depth + 1));
                HttpBody::Array(items.collect::<Result<_, _>>()?)
            }
            Value::Object(map) => {
                let members = map
                    .iter()
                    .map(|(name, item)| Ok((name.clone(), self.body(item, depth + 1)?)));
                HttpBody::Object(members.collect::<Result<_, ConfigError>>()?)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => HttpBody::Json(value.clone()),
        })
    }

    /// The schema of the arguments, and the names of those that may be left out.
    fn schema(&self) -> Result<(Value, BTreeSet<String>), ConfigError> {
        let given = self.table.parameters.clone().unwrap_or_default();
        let optional: BTreeSet<String> = self.table.optional.iter().flatten().cloned().collect();
        for name in given.keys() {
            if !is_name(name) || name == SECRET {
                let fault = self.fault("parameters", format!("`{name}` cannot be a parameter"));
                let expected = "letters, digits and `_`, and not `secret`";
                return Err(fault.expected(expected).into());
            }
            if !given[name].is_table() {
                let fault = self.fault("parameters", format!("`{name}` has no schema"));
                return Err(fault.expected("a table: { type = \"string\" }").into());
            }
        }
        if let Some(name) = optional.iter().find(|name| !given.contains_key(*name)) {
            let fault = self.fault("optional", format!("there is no parameter `{name}`"));
            return Err(fault.nearest(name, given.keys().map(String::as_str)).into());
        }
        let required: Vec<&String> = given
            .keys()
            .filter(|name| !optional.contains(*name))
            .collect();
        let schema = json!({
            "type": "object",
            "properties": serde_json::to_value(&given).unwrap_or_default(),
            "required": required,
            "additionalProperties": false
        });
        if let Err(error) = jsonschema::validator_for(&schema) {
            let fault = self.fault("parameters", format!("are no JSON Schema: {error}"));
            return Err(fault.expected("a JSON Schema for each parameter").into());
        }
        Ok((schema, optional))
    }

    /// Each placeholder is a parameter, and each parameter is somewhere.
    fn check_names(&self, schema: &Value, used: &BTreeSet<&str>) -> Result<(), ConfigError> {
        let known: Vec<&str> = schema["properties"]
            .as_object()
            .into_iter()
            .flat_map(|map| map.keys().map(String::as_str))
            .collect();
        for name in used.iter().filter(|name| **name != SECRET) {
            if !known.contains(name) {
                let fault = self.fault("parameters", format!("`{{{name}}}` is no parameter"));
                let fault = fault.nearest(name, known.iter().copied());
                return Err(fault
                    .expected(format!(
                        "a schema: parameters.{name} = {{ type = \"string\" }}"
                    ))
                    .into());
            }
        }
        match known.iter().find(|name| !used.contains(**name)) {
            Some(name) => {
                let fault = self.fault("parameters", format!("`{name}` is used nowhere"));
                let expected = format!("`{{{name}}}` in url, query, headers or body");
                Err(fault.expected(expected).into())
            }
            None => Ok(()),
        }
    }

    fn used_secret(&self, used: bool) -> Result<Option<Secret>, ConfigError> {
        let source = SecretSource::of([
            &self.table.secret_env,
            &self.table.secret_file,
            &self.table.secret_command,
        ]);
        match (used, source.count()) {
            (true, 0) => {
                let fault = self.fault(
                    "secret_env",
                    "`{secret}` is used, and nothing says where it is",
                );
                Err(fault
                    .expected("secret_env, secret_file or secret_command")
                    .into())
            }
            (false, 1..) => {
                let fault = self.fault_of_table("the secret is used nowhere");
                Err(fault
                    .expected("`{secret}` in headers, query, url or body")
                    .into())
            }
            _ => self.secret("secret", source),
        }
    }

    /// The header of the idempotency key, and how long the service remembers it.
    fn key(&self, effect: Effect) -> Result<Option<(String, Duration)>, ConfigError> {
        let table = self.table;
        let given = given_keys!(table: key_header, key_seconds);
        if effect != Effect::Keyed {
            return match given.iter().find(|(_, given)| *given) {
                Some((key, _)) => {
                    let fault = self.fault(key, format!("the tool is {effect} and sends no key"));
                    Err(fault.expected("effect = \"keyed\"").into())
                }
                None => Ok(None),
            };
        }
        let header = table.key_header.clone();
        let header = header.unwrap_or_else(|| KEY_HEADER.to_owned());
        self.check_headers(&[(
            header.clone(),
            Placeholders::parse("{key}").unwrap_or_default(),
        )])?;
        // A day is what most services promise; a run that begins late must still arrive in time.
        let seconds = self.number(field!(table.key_seconds), 23 * 3600, 1..=365 * 86_400)?;
        Ok(Some((header, Duration::from_secs(seconds))))
    }

    fn result(&self) -> Result<Option<String>, ConfigError> {
        let pointer = self.table.result.clone();
        if let Some(pointer) = pointer.as_deref().filter(|text| !text.starts_with('/')) {
            let fault = self.fault("result", format!("`{pointer}` is no JSON pointer"));
            return Err(fault.expected("`/` and names: `/data/items/0`").into());
        }
        Ok(pointer)
    }
}
