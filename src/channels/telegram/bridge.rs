//! The bridge of one Telegram bot: who we are there, then polling, sending and typing side by side.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::channels::channel::{Bridge, ChannelError, stored_cursor, usable_token};
use crate::channels::health::HealthLog;
use crate::channels::http::{CallError, HttpTimes};
use crate::channels::menu::{self, Menu};
use crate::channels::pacing::{Pacing, PacingLimits};
use crate::channels::serve;
use crate::channels::sync::unless_stopped;
use crate::channels::telegram::api::Api;
use crate::channels::telegram::check;
use crate::channels::telegram::deliver::{Deliverer, Intervals};
use crate::channels::telegram::inbound::{self, Poller};
use crate::channels::telegram::updates::Me;
use crate::channels::telegram::webhook;
use crate::client::channel_port::ChannelPort;
use crate::client::webhooks::Webhooks;
use crate::clock::Clock;
use crate::config::settings::Secret;
use crate::protocol::channel::{ChannelCapabilities, LengthUnit, SendIdempotency};
use crate::protocol::doctor::Finding;
use crate::protocol::enums::ChannelKind;
use crate::protocol::slash::SlashCommand;

/// Times and rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TelegramOptions {
    /// How long the server may hold a poll; whole seconds.
    pub poll_timeout: Duration,
    /// Of calls that are no polls.
    pub http: HttpTimes,
    /// Base of the wait after another poller was noticed.
    pub conflict_delay: Duration,
    /// Between calls for one chat.
    pub intervals: Intervals,
    /// Rates beside that.
    pub pacing: PacingLimits,
}

impl Default for TelegramOptions {
    fn default() -> Self {
        Self {
            poll_timeout: Duration::from_secs(50),
            http: HttpTimes::default(),
            conflict_delay: Duration::from_secs(2),
            intervals: Intervals::default(),
            pacing: PacingLimits {
                typing: Duration::from_secs(4),
                progress: 2,
                overall: Duration::from_millis(40),
                burst: 10,
            },
        }
    }
}

/// One bot account.
pub struct TelegramBridge {
    name: String,
    api_base: String,
    token: Option<Secret>,
    webhook_url: Option<String>,
    webhooks: Webhooks,
    clock: Clock,
    options: TelegramOptions,
    /// Outlives a reconnect: the platform's limits do too.
    pacing: Arc<Pacing>,
    moved: Arc<Mutex<HashMap<i64, i64>>>,
    menu: Menu,
    /// Whether Telegram said in this run, or in the last one, who we are.
    answered: AtomicBool,
}

impl TelegramBridge {
    /// A bridge for the channel `name`; connects when run. Without a token every run fails with the fix.
    pub fn new(
        name: &str,
        api_base: &str,
        token: Option<Secret>,
        clock: Clock,
        options: TelegramOptions,
    ) -> Self {
        Self {
            name: name.to_owned(),
            api_base: api_base.to_owned(),
            token,
            webhook_url: None,
            webhooks: Webhooks::default(),
            clock,
            options,
            pacing: Arc::new(Pacing::new(options.pacing)),
            moved: Arc::default(),
            menu: Menu::default(),
            answered: AtomicBool::new(false),
        }
    }

    /// The same bridge, to which Telegram sends updates at this address in place of being asked.
    pub fn with_webhook(mut self, url: Option<String>, webhooks: Webhooks) -> Self {
        self.webhook_url = url;
        self.webhooks = webhooks;
        self
    }

    fn connect(&self) -> Result<(Api, Secret), ChannelError> {
        let token = usable_token(
            self.token.as_ref(),
            // Anything else would change the path of every request.
            |byte| byte.is_ascii_alphanumeric() || b":_-".contains(&byte),
            || {
                ChannelError::fatal(
                    format!("channel `{}` has no bot token", self.name),
                    "let its `token_env`, `token_file` or `token_command` give the one from @BotFather",
                )
            },
            || {
                ChannelError::fatal(
                    "the bot token has invalid characters",
                    "check the token from @BotFather: digits, a colon, then letters, digits, `_` and `-`",
                )
            },
        )?;
        match Api::new(&self.api_base, token.clone(), self.options.http) {
            Ok(api) => Ok((api, token)),
            Err(error) => Err(ChannelError::no_client(&self.api_base, &error)),
        }
    }

    fn deliverer(
        &self,
        api: &Api,
        port: &Arc<dyn ChannelPort>,
        health: &Arc<HealthLog>,
    ) -> Arc<Deliverer> {
        Arc::new(Deliverer {
            api: api.clone(),
            port: Arc::clone(port),
            health: Arc::clone(health),
            pacing: Arc::clone(&self.pacing),
            intervals: self.options.intervals,
            moved: Arc::clone(&self.moved),
        })
    }

    /// Asks who we are and makes the account ready for polling.
    async fn introduce(&self, api: &Api) -> Result<Me, ChannelError> {
        let answer = api
            .call("getMe", &json!({}))
            .await
            .map_err(|error| inbound::broken(&error))?;
        match (answer["id"].as_i64(), answer["username"].as_str()) {
            (Some(id), Some(username)) => Ok(Me {
                id,
                username: username.to_owned(),
            }),
            _ => Err(ChannelError::transient(
                "Telegram's answer does not say who we are",
            )),
        }
    }

    /// Tells Telegram where to send updates, or takes a webhook away, and sets the command menu. Messages come and go without either: a webhook that is still
    /// there shows as a conflict of the poll, and the commands work without a menu.
    async fn prepare(
        &self,
        api: &Api,
        token: &Secret,
        health: &HealthLog,
    ) -> Result<(), ChannelError> {
        match &self.webhook_url {
            Some(base) => {
                let address = webhook::address(base, &self.name);
                match webhook::register(api, token, &address).await {
                    Ok(()) => health.received(0),
                    Err(CallError::Refused {
                        code: 400, detail, ..
                    }) => {
                        return Err(ChannelError::fatal(
                            format!("Telegram does not take {address}: {detail}"),
                            "set webhook_url to an HTTPS address that leads to this daemon",
                        ));
                    }
                    Err(error) => return Err(inbound::broken(&error)),
                }
            }
            None => {
                // What waits there is not dropped: people wrote it while we were away.
                let params = json!({ "drop_pending_updates": false });
                let webhook = api.call("deleteWebhook", &params).await;
                health.optional("deleteWebhook", &webhook);
            }
        }
        self.set_menu(api, health).await;
        Ok(())
    }

    /// Sets the command menu once; whether that is settled, for good or by a refusal.
    async fn set_menu(&self, api: &Api, health: &HealthLog) -> bool {
        const METHOD: &str = "setMyCommands";
        let commands: Vec<Value> = SlashCommand::ALL
            .iter()
            .map(|command| {
                json!({ "command": command.as_str(), "description": command.menu_text() })
            })
            .collect();
        let params = json!({ "commands": commands });
        let call = api.call(METHOD, &params);
        self.menu.set(&self.name, health, METHOD, call).await
    }

    /// Tries again to set a menu that could not be set, ever more rarely.
    async fn mend_menu(&self, api: &Api, health: &HealthLog) {
        let mut failures: u32 = 0;
        while !self.menu.is_set() {
            failures = failures.saturating_add(1);
            menu::rest(failures).await;
            if self.set_menu(api, health).await {
                break;
            }
        }
    }
}

#[async_trait]
impl Bridge for TelegramBridge {
    fn kind(&self) -> ChannelKind {
        ChannelKind::Telegram
    }

    fn capabilities(&self) -> ChannelCapabilities {
        ChannelCapabilities {
            // Telegram's limit is 4 096 after its own parsing; the rest is for markup that counts.
            max_length: 4_000,
            unit: LengthUnit::Utf16,
            edits: true,
            buttons: true,
            typing: true,
            idempotency: SendIdempotency::None,
        }
    }

    async fn check(&self) -> Vec<Finding> {
        let (api, _) = match self.connect() {
            Ok(connected) => connected,
            Err(error) => return vec![error.finding("token", None)],
        };
        check::findings(&api, &self.name, self.webhook_url.as_deref()).await
    }

    /// A message needs no poll.
    async fn send(
        &self,
        port: Arc<dyn ChannelPort>,
        stop: CancellationToken,
    ) -> Result<(), ChannelError> {
        if !self.answered.load(Ordering::Relaxed) {
            stop.cancelled().await;
            return Ok(());
        }
        let (api, _) = self.connect()?;
        let health = Arc::new(HealthLog::new(Arc::clone(&port), self.clock.clone()));
        let deliverer = self.deliverer(&api, &port, &health);
        serve::run_without_receiving(port, deliverer, stop).await;
        Ok(())
    }

    async fn run(
        &self,
        port: Arc<dyn ChannelPort>,
        shutdown: CancellationToken,
    ) -> Result<(), ChannelError> {
        self.answered.store(false, Ordering::Relaxed);
        let (api, token) = self.connect()?;
        port.set_capabilities(self.capabilities());
        let health = Arc::new(HealthLog::new(Arc::clone(&port), self.clock.clone()));
        let Some(me) = unless_stopped(&shutdown, self.introduce(&api)).await else {
            return Ok(());
        };
        let me = me?;
        self.answered.store(true, Ordering::Relaxed);
        health.known_as(format!("@{}", me.username));
        // Before Telegram hears of the address.
        let requests = self
            .webhook_url
            .as_ref()
            .map(|_| self.webhooks.open(&self.name));
        let preparing = self.prepare(&api, &token, &health);
        match unless_stopped(&shutdown, preparing).await {
            Some(prepared) => prepared?,
            None => return Ok(()),
        }
        let cursor = stored_cursor(port.as_ref()).await?;
        let deliverer = self.deliverer(&api, &port, &health);
        let poller = Poller {
            api: api.clone(),
            port: Arc::clone(&port),
            health: Arc::clone(&health),
            me,
            poll_timeout: self.options.poll_timeout,
            conflict_delay: self.options.conflict_delay,
        };
        let stop = shutdown.child_token();
        let polling = async {
            let ended = match requests {
                Some(requests) => {
                    webhook::run(&poller, &token, cursor, requests, stop.clone()).await
                }
                None => inbound::run(&poller, cursor, stop.clone()).await,
            };
            stop.cancel();
            ended
        };
        let (ended, (), _) = tokio::join!(
            polling,
            serve::run(Arc::clone(&port), deliverer, stop.clone()),
            unless_stopped(&stop, self.mend_menu(&api, &health)),
        );
        ended
    }
}
