//! `[mcp.NAME]`: servers of the Model Context Protocol.
//!
//! Nothing here starts a program or reaches a host, and no secret is written in the file.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::config::error::ConfigError;
use crate::config::file::{McpTable, McpToolTable};
use crate::config::headers;
use crate::config::inputs::{Inputs, Section, field, given_keys};
use crate::config::mcp::{
    McpAddress, McpLogin, McpPlace, McpServerSettings, McpToolSettings, is_server_name,
};
use crate::config::program::ProgramSettings;
use crate::config::programs::{self, program_keys};
use crate::config::providers::{is_near, web_address};
use crate::config::secrets::SecretSource;
use crate::config::settings::{McpSecrets, Secret};
use crate::protocol::enums::{Access, Effect};
use crate::protocol::mcp::MCP_PREFIX;

/// Most servers.
const MAX_SERVERS: usize = 100;
/// Most entries of a list, and parts of a command.
const MAX_ENTRIES: usize = 1000;
/// What a name is.
const NAME: &str = "1 to 32 of a-z, 0-9, _ and -, with no _ at an end and no __";

/// Every server of the file, and the secrets of all of them.
pub fn resolve(
    inputs: &Inputs<'_>,
) -> Result<(BTreeMap<String, McpServerSettings>, McpSecrets), ConfigError> {
    let config = inputs.config();
    let mut secrets = McpSecrets::default();
    let mut servers = BTreeMap::new();
    if config.mcp.len() > MAX_SERVERS {
        let fault = inputs.fault(&["mcp"], "too many servers");
        return Err(fault.expected(format!("at most {MAX_SERVERS}")).into());
    }
    for (name, table) in &config.mcp {
        let keys = ["mcp", name];
        let section = Section::new(inputs, &keys, table);
        servers.insert(name.clone(), section.server(&mut secrets)?);
    }
    Ok((servers, secrets))
}

impl Section<'_, McpTable> {
    fn server(&self, secrets: &mut McpSecrets) -> Result<McpServerSettings, ConfigError> {
        let table = self.table;
        if !is_server_name(self.name()) {
            let fault = self.fault_of_table("is not a name for a server");
            return Err(fault.expected(NAME).into());
        }
        let place = match (&table.command, &table.url) {
            (Some(_), Some(_)) => {
                let fault = self.fault("url", "a server is a program or an address, not both");
                return Err(fault.next_step("Keep `command` or `url`").into());
            }
            (None, None) => {
                let fault = self.fault_of_table("has no address and no program");
                let expected = "command = [\"program\", …] or url = \"https://…\"";
                return Err(fault.expected(expected).into());
            }
            (Some(command), None) => McpPlace::Program(self.program(command, secrets)?),
            (None, Some(url)) => McpPlace::Address(self.address(url, secrets)?),
        };
        let timeout = self.number(field!(table.timeout_seconds), 60, 1..=3600)?;
        let most = self.number(field!(table.max_seconds), 900, 1..=24 * 3600)?;
        if timeout > most {
            let problem = format!("{timeout} s without an answer is longer than a whole call");
            let fault = self.fault("timeout_seconds", problem);
            return Err(fault
                .expected(format!("at most max_seconds = {most}"))
                .into());
        }
        let mut tools = BTreeMap::new();
        for (tool, own) in &table.tools {
            tools.insert(tool.clone(), self.tool(tool, own)?);
        }
        let kib = self.number(field!(table.max_result_kib), 256, 1..=1024)?;
        Ok(McpServerSettings {
            place,
            trusted: table.trusted.unwrap_or(false),
            tools,
            allow: self.entries("allow", table.allow.as_deref())?,
            block: self.entries("block", table.block.as_deref())?,
            idle_timeout: Duration::from_secs(timeout),
            max_duration: Duration::from_secs(most),
            keep: Duration::from_secs(
                60 * self.number(field!(table.idle_minutes), 10, 1..=24 * 60)?,
            ),
            max_result_bytes: kib * 1024,
        })
    }

    /// Names of tools, or beginnings of names with `*`.
    fn entries(&self, key: &str, given: Option<&[String]>) -> Result<Vec<String>, ConfigError> {
        let given = given.unwrap_or_default();
        let wrong = |entry: &&String| {
            let name = entry.strip_suffix('*').unwrap_or(entry);
            entry.is_empty() || name.contains('*') || entry.starts_with(MCP_PREFIX)
        };
        if given.len() > MAX_ENTRIES {
            return Err(self
                .fault(key, format!("more than {MAX_ENTRIES} entries"))
                .into());
        }
        match given.iter().find(wrong) {
            Some(entry) => {
                let fault = self.fault(key, format!("`{entry}` is no tool of the server"));
                let expected = "names as the server gives them, or a beginning and `*`";
                Err(fault.expected(expected).into())
            }
            None => Ok(given.to_vec()),
        }
    }

    /// Refuses keys that only the other kind of server has.
    fn only(&self, kind: &str, foreign: &[(&str, bool)]) -> Result<(), ConfigError> {
        match foreign.iter().find(|(_, given)| *given) {
            Some((key, _)) => {
                let fault = self.fault(key, format!("a server with `{kind}` has no such setting"));
                Err(fault.next_step(format!("Leave `{key}` out")).into())
            }
            None => Ok(()),
        }
    }

    fn program(
        &self,
        command: &[String],
        secrets: &mut McpSecrets,
    ) -> Result<ProgramSettings, ConfigError> {
        let table = self.table;
        self.only(
            "command",
            &given_keys!(table:
                headers, secret_env, secret_file, secret_command, login, client_id, scopes),
        )?;
        let keys = program_keys!(table, command);
        let program = programs::resolve(self.inputs, self.keys, keys)?;
        secrets.values.extend(program.secrets.iter().cloned());
        let missing = program.missing.iter().cloned();
        let missing = missing.map(|variable| (self.name().to_owned(), variable));
        secrets.missing.extend(missing);
        Ok(program)
    }

    fn address(&self, url: &str, secrets: &mut McpSecrets) -> Result<McpAddress, ConfigError> {
        let table = self.table;
        self.only(
            "url",
            &given_keys!(table:
                directory, environment, environment_env, environment_files, read, write, network, sandbox),
        )?;
        let url = web_address(url).map_err(|problem| {
            self.fault("url", problem)
                .expected("the address of the server: `https://host/mcp`")
        })?;
        if url.starts_with("http://") && !is_near(&url) {
            let fault = self.fault(
                "url",
                "plain http sends everything unencrypted to another host",
            );
            let expected = "https://, or http:// to this machine or a private network";
            return Err(fault.expected(expected).into());
        }
        let login = table.login.unwrap_or(false);
        if !login && (table.client_id.is_some() || table.scopes.is_some()) {
            let fault = self.fault("client_id", "applies only to a login");
            return Err(fault.expected("login = true").into());
        }
        let headers = self.headers(login, secrets)?;
        let directory = self.inputs.paths.data_dir.join("mcp");
        Ok(McpAddress {
            url,
            headers,
            login: login.then(|| McpLogin {
                file: directory.join(format!("{}.login.json", self.name())),
                client_id: table.client_id.clone(),
                scopes: table.scopes.clone().unwrap_or_default(),
            }),
        })
    }

    fn headers(
        &self,
        login: bool,
        secrets: &mut McpSecrets,
    ) -> Result<BTreeMap<String, Secret>, ConfigError> {
        let table = self.table;
        let mut names = table.headers.iter().flatten().map(|(name, _)| name);
        if login && names.any(|name| name.eq_ignore_ascii_case("authorization")) {
            let fault = self.fault("headers", "`Authorization` comes from the login");
            return Err(fault.next_step("Keep `login` or the header").into());
        }
        let source =
            SecretSource::of([&table.secret_env, &table.secret_file, &table.secret_command]);
        let found = headers::resolve(self.inputs, self.keys, table.headers.as_ref(), source)?;
        secrets.values.extend(found.secret);
        Ok(found.headers)
    }

    fn tool(&self, tool: &str, own: &McpToolTable) -> Result<McpToolSettings, ConfigError> {
        let keys = [self.keys, &["tools", tool]].concat();
        let section = Section::new(self.inputs, &keys, own);
        let effect = own.effect;
        if own.key_argument.is_some() != (effect == Some(Effect::Keyed)) {
            let fault = section.fault(
                "key_argument",
                "goes with effect = \"keyed\", and that with it",
            );
            let expected = "effect = \"keyed\" and key_argument = \"name of the argument\"";
            return Err(fault.expected(expected).into());
        }
        if own.probe.is_some() != (effect == Some(Effect::Reconcilable)) {
            let fault = section.fault(
                "probe",
                "goes with effect = \"reconcilable\", and that with it",
            );
            let expected = "effect = \"reconcilable\" and probe = \"tool that looks\"";
            return Err(fault.expected(expected).into());
        }
        let seconds = section.number(field!(own.cache_seconds), 0, 0..=24 * 3600)?;
        let reads = matches!(own.access, Some(Access::ReadLocal | Access::ReadOpen));
        if seconds > 0 && !reads {
            let fault = section.fault("cache_seconds", "only results of read calls can be cached");
            let expected = "access = \"read_local\" or \"read_open\" beside it";
            return Err(fault.expected(expected).into());
        }
        Ok(McpToolSettings {
            access: own.access,
            effect,
            cache: (seconds > 0).then(|| Duration::from_secs(seconds)),
            always_offered: own.always_offered.unwrap_or(false),
            key_argument: own.key_argument.clone(),
            probe: own.probe.clone(),
        })
    }
}
