//! What a channel needs to reach its platform: tokens, addresses, the program of a bridge.
//!
//! Nothing here connects, and a key that the kind does not have is an error: somebody relies on it.

use crate::config::error::ConfigError;
use crate::config::file::ChannelTable;
use crate::config::inputs::{Inputs, Section, given_keys};
use crate::config::platform::PlatformSettings;
use crate::config::program::ProgramSettings;
use crate::config::programs::{self, ProgramKeys, program_keys};
use crate::config::providers::web_address;
use crate::config::secret::Secret;
use crate::config::secrets::SecretSource;
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
    let keys = ["channels", name];
    Section::new(inputs, &keys, table).platform(kind)
}

impl Section<'_, ChannelTable> {
    fn platform(&self, kind: ChannelKind) -> Result<PlatformSettings, ConfigError> {
        let table = self.table;
        self.only_own_keys(kind)?;
        let (mut token, mut app_token, mut secret) = (None, None, None);
        for need in secrets_of(kind) {
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
            api_base: self.api_base(kind)?,
            callback_url: self.web_address("callback_url", table.callback_url.as_deref())?,
            webhook_url: self.web_address("webhook_url", table.webhook_url.as_deref())?,
            program: self.bridge_program(kind)?,
        })
    }

    /// Refuses keys that only other kinds have.
    fn only_own_keys(&self, kind: ChannelKind) -> Result<(), ConfigError> {
        use ChannelKind::{Discord, Matrix, Process, Slack, Telegram, Webhook};
        const WITH_TOKEN: &[ChannelKind] = &[Telegram, Discord, Slack, Matrix];
        const CLAIMING: &[ChannelKind] = &[Webhook, Process];
        let table = self.table;
        /// Keys, each with whether the table has it, and the kinds that know them.
        type KeysOfKinds<'a> = (&'a [(&'a str, bool)], &'a [ChannelKind]);
        let keys: [KeysOfKinds<'_>; 6] = [
            (
                &given_keys!(table: token_env, token_file, token_command),
                WITH_TOKEN,
            ),
            (
                &given_keys!(table: app_token_env, app_token_file, app_token_command),
                &[Slack],
            ),
            (
                &given_keys!(table: secret_env, secret_file, secret_command, callback_url),
                &[Webhook],
            ),
            (&given_keys!(table: webhook_url), &[Telegram]),
            (
                &given_keys!(table:
                    command, directory, environment, environment_env, environment_files, read, write, network, sandbox),
                &[Process],
            ),
            (&given_keys!(table: senders), CLAIMING),
        ];
        let foreign = keys
            .into_iter()
            .filter(|(_, kinds)| !kinds.contains(&kind))
            .find_map(|(keys, kinds)| Some((keys.iter().find(|(_, given)| *given)?.0, kinds)));
        match foreign {
            Some((key, kinds)) => {
                let words: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
                let problem = format!("a channel of kind {kind} has no such setting");
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
        let source = SecretSource::of(match need.key {
            "app_token" => [
                &table.app_token_env,
                &table.app_token_file,
                &table.app_token_command,
            ],
            "secret" => [&table.secret_env, &table.secret_file, &table.secret_command],
            _ => [&table.token_env, &table.token_file, &table.token_command],
        });
        let key = need.key;
        let read = self.secret(key, source)?;
        read.ok_or_else(|| {
            let fault = self.fault_of_table(format!("has no {key}"));
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

    fn api_base(&self, kind: ChannelKind) -> Result<String, ConfigError> {
        let default = match kind {
            ChannelKind::Telegram => "https://api.telegram.org",
            ChannelKind::Discord => "https://discord.com/api/v10",
            ChannelKind::Slack => "https://slack.com/api",
            ChannelKind::Matrix => {
                if self.table.api_base.is_none() {
                    let fault = self.fault_of_table("has no `api_base`");
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
        let given = self.web_address("api_base", self.table.api_base.as_deref())?;
        Ok(given.unwrap_or_else(|| default.to_owned()))
    }

    fn web_address(&self, key: &str, given: Option<&str>) -> Result<Option<String>, ConfigError> {
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

    fn bridge_program(&self, kind: ChannelKind) -> Result<Option<ProgramSettings>, ConfigError> {
        if kind != ChannelKind::Process {
            return Ok(None);
        }
        let table = self.table;
        let Some(command) = &table.command else {
            let fault = self.fault_of_table("has no `command`");
            return Err(fault
                .expected("command = [\"program\", \"argument\", …]")
                .into());
        };
        let keys = ProgramKeys {
            // A bridge that reaches no platform is none.
            network: table.network.or(Some(true)),
            ..program_keys!(table, command)
        };
        programs::resolve(self.inputs, self.keys, keys).map(Some)
    }
}
