//! `[mcp.NAME]`: servers of the Model Context Protocol.
//!
//! Nothing here starts a program or reaches a host, and no secret is written in the file.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::config::error::{ConfigError, Fault};
use crate::config::file::{McpTable, McpToolTable};
use crate::config::headers;
use crate::config::inputs::{Inputs, number};
use crate::config::mcp::{
    McpAddress, McpLogin, McpPlace, McpServerSettings, McpToolSettings, is_server_name,
};
use crate::config::program::ProgramSettings;
use crate::config::programs::{self, ProgramKeys};
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
        let mut reader = Reader {
            inputs,
            name,
            table,
            secrets: &mut secrets,
        };
        servers.insert(name.clone(), reader.server()?);
    }
    Ok((servers, secrets))
}

/// One table, as its faults are told.
struct Reader<'a> {
    inputs: &'a Inputs<'a>,
    name: &'a str,
    table: &'a McpTable,
    secrets: &'a mut McpSecrets,
}

impl Reader<'_> {
    fn fault(&self, key: &str, problem: impl Into<String>) -> Fault {
        self.inputs.fault(&["mcp", self.name, key], problem)
    }

    fn number(
        &self,
        key: &str,
        given: Option<u64>,
        default: u64,
        most: u64,
    ) -> Result<u64, ConfigError> {
        number(
            self.inputs,
            &["mcp", self.name, key],
            given,
            default,
            1..=most,
        )
    }

    fn server(&mut self) -> Result<McpServerSettings, ConfigError> {
        let table = self.table;
        if !is_server_name(self.name) {
            let fault = self
                .inputs
                .fault(&["mcp", self.name], "is not a name for a server");
            return Err(fault.expected(NAME).into());
        }
        let place = match (&table.command, &table.url) {
            (Some(_), Some(_)) => {
                let fault = self.fault("url", "a server is a program or an address, not both");
                return Err(fault.next_step("Keep `command` or `url`").into());
            }
            (None, None) => {
                let fault = self
                    .inputs
                    .fault(&["mcp", self.name], "has no address and no program");
                let expected = "command = [\"program\", …] or url = \"https://…\"";
                return Err(fault.expected(expected).into());
            }
            (Some(command), None) => McpPlace::Program(self.program(command)?),
            (None, Some(url)) => McpPlace::Address(self.address(url)?),
        };
        let timeout = self.number("timeout_seconds", table.timeout_seconds, 60, 3600)?;
        let most = self.number("max_seconds", table.max_seconds, 900, 24 * 3600)?;
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
        let kib = self.number(
            "max_result_kib",
            table.max_result_kib.map(|kib| kib as u64),
            256,
            1024,
        )?;
        Ok(McpServerSettings {
            place,
            trusted: table.trusted.unwrap_or(false),
            tools,
            allow: self.entries("allow", table.allow.as_deref())?,
            block: self.entries("block", table.block.as_deref())?,
            idle_timeout: Duration::from_secs(timeout),
            max_duration: Duration::from_secs(most),
            keep: Duration::from_secs(
                60 * self.number("idle_minutes", table.idle_minutes, 10, 24 * 60)?,
            ),
            max_result_bytes: usize::try_from(kib * 1024).unwrap_or(usize::MAX),
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

    fn program(&mut self, command: &[String]) -> Result<ProgramSettings, ConfigError> {
        let table = self.table;
        self.only(
            "command",
            &[
                ("headers", table.headers.is_some()),
                ("secret_env", table.secret_env.is_some()),
                ("secret_file", table.secret_file.is_some()),
                ("secret_command", table.secret_command.is_some()),
                ("login", table.login.is_some()),
                ("client_id", table.client_id.is_some()),
                ("scopes", table.scopes.is_some()),
            ],
        )?;
        let keys = ProgramKeys {
            command,
            directory: table.directory.as_deref(),
            environment: table.environment.as_ref(),
            environment_env: table.environment_env.as_deref(),
            environment_files: table.environment_files.as_ref(),
            read: table.read.as_deref(),
            write: table.write.as_deref(),
            network: table.network,
            sandbox: table.sandbox,
        };
        let program = programs::resolve(self.inputs, &["mcp", self.name], keys)?;
        self.secrets.values.extend(program.secrets.iter().cloned());
        let missing = program.missing.iter().cloned();
        let missing = missing.map(|variable| (self.name.to_owned(), variable));
        self.secrets.missing.extend(missing);
        Ok(program)
    }

    fn address(&mut self, url: &str) -> Result<McpAddress, ConfigError> {
        let table = self.table;
        self.only(
            "url",
            &[
                ("directory", table.directory.is_some()),
                ("environment", table.environment.is_some()),
                ("environment_env", table.environment_env.is_some()),
                ("environment_files", table.environment_files.is_some()),
                ("read", table.read.is_some()),
                ("write", table.write.is_some()),
                ("network", table.network.is_some()),
                ("sandbox", table.sandbox.is_some()),
            ],
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
        let headers = self.headers(login)?;
        let directory = self.inputs.paths.data_dir.join("mcp");
        Ok(McpAddress {
            url,
            headers,
            login: login.then(|| McpLogin {
                file: directory.join(format!("{}.login.json", self.name)),
                client_id: table.client_id.clone(),
                scopes: table.scopes.clone().unwrap_or_default(),
            }),
        })
    }

    fn headers(&mut self, login: bool) -> Result<BTreeMap<String, Secret>, ConfigError> {
        let table = self.table;
        let mut names = table.headers.iter().flatten().map(|(name, _)| name);
        if login && names.any(|name| name.eq_ignore_ascii_case("authorization")) {
            let fault = self.fault("headers", "`Authorization` comes from the login");
            return Err(fault.next_step("Keep `login` or the header").into());
        }
        let source = SecretSource {
            env: table.secret_env.as_deref(),
            file: table.secret_file.as_deref(),
            command: table.secret_command.as_deref(),
        };
        let place = ["mcp", self.name];
        let found = headers::resolve(self.inputs, &place, table.headers.as_ref(), source)?;
        self.secrets.values.extend(found.secret);
        Ok(found.headers)
    }

    fn tool(&self, tool: &str, own: &McpToolTable) -> Result<McpToolSettings, ConfigError> {
        let keys = |key| ["mcp", self.name, "tools", tool, key];
        let fault = |key, problem: &str| self.inputs.fault(&keys(key), problem);
        let effect = own.effect;
        if own.key_argument.is_some() != (effect == Some(Effect::Keyed)) {
            let fault = fault(
                "key_argument",
                "goes with effect = \"keyed\", and that with it",
            );
            let expected = "effect = \"keyed\" and key_argument = \"name of the argument\"";
            return Err(fault.expected(expected).into());
        }
        if own.probe.is_some() != (effect == Some(Effect::Reconcilable)) {
            let fault = fault(
                "probe",
                "goes with effect = \"reconcilable\", and that with it",
            );
            let expected = "effect = \"reconcilable\" and probe = \"tool that looks\"";
            return Err(fault.expected(expected).into());
        }
        let seconds = number(
            self.inputs,
            &keys("cache_seconds"),
            own.cache_seconds,
            0,
            0..=24 * 3600,
        )?;
        let reads = matches!(own.access, Some(Access::ReadLocal | Access::ReadOpen));
        if seconds > 0 && !reads {
            let fault = fault("cache_seconds", "only results of read calls can be cached");
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
