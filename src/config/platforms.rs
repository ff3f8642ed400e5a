//! What a channel needs to reach its platform: tokens, addresses, the program of a bridge.
//!
//! Nothing here connects, and a key that the kind does not have is an error: somebody relies on it.

use crate::config::error::{ConfigError, Fault};
use crate::config::file::ChannelTable;
use crate::config::inputs::Inputs;
use crate::config::platform::PlatformSettings;
use crate::config::program::ProgramSettings;
use crate::config::programs::{self, ProgramKeys};
use crate::config::providers::web_address;
use crate::config::secret::Secret;
use crate::config::secrets::{self, SecretSource};
use crate::protocol::enums::ChannelKind;

/// A secret that a kind of channel cannot do without.
#[derive(Debug)]
pub struct SecretNeed {
    /// The key without `_env`, `_file` and `_command`.
    pub key: &'static str,
    /// An example of `KEY_env`.
    pub variable: &'static str,
    /// Where a person gets it.
    pub source: &'static str,
}

/// The secrets that a kind of channel cannot do without.
pub fn secrets_of(kind: ChannelKind) -> &'static [&'static SecretNeed] {
    match kind {
        ChannelKind::Telegram => &[&TELEGRAM_TOKEN],
        ChannelKind::Discord => &[&DISCORD_TOKEN],
        ChannelKind::Slack => &[&SLACK_TOKEN, &SLACK_APP_TOKEN],
        ChannelKind::Matrix => &[&MATRIX_TOKEN],
        ChannelKind::Webhook => &[&WEBHOOK_SECRET],
        ChannelKind::Process
        | ChannelKind::Desk
        | ChannelKind::Api
        | ChannelKind::Mcp
        | ChannelKind::Cli
        | ChannelKind::Gate
        | ChannelKind::Routine
        | ChannelKind::Scripted => &[],
    }
}

const TELEGRAM_TOKEN: SecretNeed = SecretNeed {
    key: "token",
    variable: "TELEGRAM_BOT_TOKEN",
    source: "Get one from @BotFather",
};
const DISCORD_TOKEN: SecretNeed = SecretNeed {
    key: "token",
    variable: "DISCORD_BOT_TOKEN",
    source: "Get one at https://discord.com/developers/applications, Bot, Reset Token",
};
const SLACK_TOKEN: SecretNeed = SecretNeed {
    key: "token",
    variable: "SLACK_BOT_TOKEN",
    source: "Get it (xoxb-…) at https://api.slack.com/apps, OAuth & Permissions",
};
const SLACK_APP_TOKEN: SecretNeed = SecretNeed {
    key: "app_token",
    variable: "SLACK_APP_TOKEN",
    source: "Get one (xapp-…) with connections:write at https://api.slack.com/apps, Basic Information",
};
const MATRIX_TOKEN: SecretNeed = SecretNeed {
    key: "token",
    variable: "MATRIX_ACCESS_TOKEN",
    source: "Log the bot's account in and take its access token",
};
const WEBHOOK_SECRET: SecretNeed = SecretNeed {
    key: "secret",
    variable: "WEBHOOK_SECRET",
    source: "Make a long random one, for example with `openssl rand -hex 32`",
};

/// Resolves what the table of a channel says about its platform.
///
/// # Errors
/// What is missing or does not belong there, with where to get it.
pub fn resolve(
    inputs: &Inputs<'_>,
    name: &str,
    kind: ChannelKind,
    table: &ChannelTable,
) -> Result<PlatformSettings, ConfigError> {
    Reader {
        inputs,
        name,
        kind,
        table,
    }
    .platform()
}

struct Reader<'a> {
    inputs: &'a Inputs<'a>,
    name: &'a str,
    kind: ChannelKind,
    table: &'a ChannelTable,
}

impl Reader<'_> {
    fn fault(&self, key: &str, problem: impl Into<String>) -> Fault {
        self.inputs.fault(&["channels", self.name, key], problem)
    }

    fn platform(&self) -> Result<PlatformSettings, ConfigError> {
        let table = self.table;
        self.only_own_keys()?;
        let (mut token, mut app_token, mut secret) = (None, None, None);
        for need in secrets_of(self.kind) {
            let slot = match need.key {
                "app_token" => &mut app_token,
                "secret" => &mut secret,
                _ => &mut token,
            };
            *slot = Some(self.needs(need)?);
        }
        Ok(PlatformSettings {
            token,
            app_token,
            secret,
            api_base: self.api_base()?,
            callback_url: self.address("callback_url", table.callback_url.as_deref())?,
            webhook_url: self.address("webhook_url", table.webhook_url.as_deref())?,
            program: self.program()?,
        })
    }

    /// Refuses keys that only other kinds have.
    fn only_own_keys(&self) -> Result<(), ConfigError> {
        use ChannelKind::{Discord, Matrix, Process, Slack, Telegram, Webhook};
        const WITH_TOKEN: &[ChannelKind] = &[Telegram, Discord, Slack, Matrix];
        const CLAIMING: &[ChannelKind] = &[Webhook, Process];
        let table = self.table;
        let keys: &[(&str, bool, &[ChannelKind])] = &[
            ("token_env", table.token_env.is_some(), WITH_TOKEN),
            ("token_file", table.token_file.is_some(), WITH_TOKEN),
            ("token_command", table.token_command.is_some(), WITH_TOKEN),
            ("app_token_env", table.app_token_env.is_some(), &[Slack]),
            ("app_token_file", table.app_token_file.is_some(), &[Slack]),
            (
                "app_token_command",
                table.app_token_command.is_some(),
                &[Slack],
            ),
            ("secret_env", table.secret_env.is_some(), &[Webhook]),
            ("secret_file", table.secret_file.is_some(), &[Webhook]),
            ("secret_command", table.secret_command.is_some(), &[Webhook]),
            ("callback_url", table.callback_url.is_some(), &[Webhook]),
            ("webhook_url", table.webhook_url.is_some(), &[Telegram]),
            ("command", table.command.is_some(), &[Process]),
            ("directory", table.directory.is_some(), &[Process]),
            ("environment", table.environment.is_some(), &[Process]),
            (
                "environment_env",
                table.environment_env.is_some(),
                &[Process],
            ),
            (
                "environment_files",
                table.environment_files.is_some(),
                &[Process],
            ),
            ("read", table.read.is_some(), &[Process]),
            ("write", table.write.is_some(), &[Process]),
            ("network", table.network.is_some(), &[Process]),
            ("sandbox", table.sandbox.is_some(), &[Process]),
            ("senders", table.senders.is_some(), CLAIMING),
        ];
        let foreign = keys
            .iter()
            .find(|(_, given, kinds)| *given && !kinds.contains(&self.kind));
        match foreign {
            Some((key, _, kinds)) => {
                let words: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
                let problem = format!("a channel of kind {} has no such setting", self.kind);
                let fault = self.fault(key, problem);
                Err(fault
                    .expected(format!("only on channels of kind {}", words.join(", ")))
                    .next_step(format!("Leave `{key}` out"))
                    .into())
            }
            None => Ok(()),
        }
    }

    fn needs(&self, need: &SecretNeed) -> Result<Secret, ConfigError> {
        let table = self.table;
        let source = match need.key {
            "app_token" => [
                &table.app_token_env,
                &table.app_token_file,
                &table.app_token_command,
            ],
            "secret" => [&table.secret_env, &table.secret_file, &table.secret_command],
            _ => [&table.token_env, &table.token_file, &table.token_command],
        };
        let [env, file, command] = source.map(Option::as_deref);
        let source = SecretSource { env, file, command };
        let key = need.key;
        let fault = |suffix: &str, problem: String| self.fault(&format!("{key}{suffix}"), problem);
        let read = secrets::read(
            source,
            self.inputs.environment,
            &self.inputs.paths.config_dir,
            &fault,
        )?;
        read.ok_or_else(|| {
            let fault = self
                .inputs
                .fault(&["channels", self.name], format!("has no {key}"));
            let variable = need.variable;
            fault
                .expected(format!(
                    "{key}_env = \"{variable}\", {key}_file or {key}_command"
                ))
                .next_step(format!(
                    "{} and set the variable, or use {key}_file",
                    need.source
                ))
                .into()
        })
    }

    fn api_base(&self) -> Result<String, ConfigError> {
        let default = match self.kind {
            ChannelKind::Telegram => "https://api.telegram.org",
            ChannelKind::Discord => "https://discord.com/api/v10",
            ChannelKind::Slack => "https://slack.com/api",
            ChannelKind::Matrix => {
                if self.table.api_base.is_none() {
                    let fault = self
                        .inputs
                        .fault(&["channels", self.name], "has no `api_base`");
                    return Err(fault
                        .expected("the homeserver, for example api_base = \"https://matrix.org\"")
                        .into());
                }
                ""
            }
            ChannelKind::Webhook
            | ChannelKind::Process
            | ChannelKind::Desk
            | ChannelKind::Api
            | ChannelKind::Mcp
            | ChannelKind::Cli
            | ChannelKind::Gate
            | ChannelKind::Routine
            | ChannelKind::Scripted => "",
        };
        let given = self.address("api_base", self.table.api_base.as_deref())?;
        Ok(given.unwrap_or_else(|| default.to_owned()))
    }

    fn address(&self, key: &str, given: Option<&str>) -> Result<Option<String>, ConfigError> {
        given
            .map(|url| {
                web_address(url).map_err(|problem| {
                    self.fault(key, problem)
                        .expected("a URL, for example https://api.telegram.org")
                        .into()
                })
            })
            .transpose()
    }

    fn program(&self) -> Result<Option<ProgramSettings>, ConfigError> {
        if self.kind != ChannelKind::Process {
            return Ok(None);
        }
        let table = self.table;
        let Some(command) = &table.command else {
            let fault = self
                .inputs
                .fault(&["channels", self.name], "has no `command`");
            return Err(fault
                .expected("command = [\"program\", \"argument\", …]")
                .into());
        };
        let keys = ProgramKeys {
            command,
            directory: table.directory.as_deref(),
            environment: table.environment.as_ref(),
            environment_env: table.environment_env.as_deref(),
            environment_files: table.environment_files.as_ref(),
            read: table.read.as_deref(),
            write: table.write.as_deref(),
            // A bridge that reaches no platform is none.
            network: table.network.or(Some(true)),
            sandbox: table.sandbox,
        };
        programs::resolve(self.inputs, &["channels", self.name], keys).map(Some)
    }
}
