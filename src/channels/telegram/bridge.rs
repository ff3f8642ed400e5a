//! The bridge of one Telegram bot: who we are there, then polling, sending and typing side by side.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::channels::channel::{Bridge, ChannelError};
use crate::channels::health::HealthLog;
use crate::channels::http::{CallError, HttpTimes};
use crate::channels::pacing::{Pacing, PacingLimits};
use crate::channels::serve;
use crate::channels::telegram::api::Api;
use crate::channels::telegram::check;
use crate::channels::telegram::deliver::{Deliverer, Intervals};
use crate::channels::telegram::inbound::{self, Poller};
use crate::channels::telegram::updates::Me;
use crate::channels::telegram::webhook;
use crate::client::channel_port::ChannelPort;
use crate::client::webhooks::Webhooks;
use crate::clock::Clock;
use crate::clock::backoff::doubled;
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

/// The first and the longest wait before the menu is tried again.
const MENU_REST: Duration = Duration::from_secs(5);
const MENU_LONGEST_REST: Duration = Duration::from_mins(30);

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
    menu_set: AtomicBool,
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
            menu_set: AtomicBool::new(false),
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
        let Some(token) = self
            .token
            .clone()
            .filter(|token| !token.expose().is_empty())
        else {
            return Err(ChannelError::Fatal {
                detail: format!("channel `{}` has no bot token", self.name),
                fix: "let its `token_env`, `token_file` or `token_command` give the one from @BotFather".to_owned(),
            });
        };
        // Anything else in a token would change the path of every request.
        if !token
            .expose()
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b':' | b'_' | b'-'))
        {
            return Err(ChannelError::Fatal {
                detail: "the bot token has invalid characters".to_owned(),
                fix: "check the token from @BotFather: digits, a colon, then letters, digits, `_` and `-`".to_owned(),
            });
        }
        Api::new(&self.api_base, token.clone(), self.options.http)
            .map(|api| (api, token))
            .map_err(|error| ChannelError::Fatal {
                detail: format!("no HTTP client for {}: {error}", self.api_base),
                fix: "check api_base, and that this machine has CA certificates".to_owned(),
            })
    }

    fn deliverer(
        &self,
        api: &Api,
        port: &Arc<dyn ChannelPort>,
        health: &Arc<HealthLog>,
    ) -> Arc<Deliverer> {
        Arc::new(Deliverer::new(
            api.clone(),
            Arc::clone(port),
            Arc::clone(health),
            Arc::clone(&self.pacing),
            self.options.intervals,
            Arc::clone(&self.moved),
        ))
    }

    /// Asks who we are and makes the account ready for polling.
    async fn introduce(&self, api: &Api) -> Result<Me, ChannelError> {
        let answer = api
            .call("getMe", &json!({}))
            .await
            .map_err(|error| inbound::broken(&error))?;
        let me = answer
            .get("id")
            .and_then(Value::as_i64)
            .zip(answer.get("username").and_then(Value::as_str))
            .map(|(id, username)| Me {
                id,
                username: username.to_owned(),
            })
            .ok_or_else(|| ChannelError::Transient {
                detail: "Telegram's answer does not say who we are".to_owned(),
                retry_after: None,
            })?;
        Ok(me)
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
                let registered = webhook::register(api, token, &address).await;
                match registered {
                    Ok(()) => health.received(0),
                    Err(CallError::Refused {
                        code: 400, detail, ..
                    }) => {
                        return Err(ChannelError::Fatal {
                            detail: format!("Telegram does not take {address}: {detail}"),
                            fix: "set webhook_url to an HTTPS address that leads to this daemon"
                                .to_owned(),
                        });
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
        if self.menu_set.load(Ordering::Relaxed) {
            return true;
        }
        let commands: Vec<Value> = SlashCommand::ALL
            .iter()
            .map(|command| {
                json!({ "command": command.as_str(), "description": command.menu_text() })
            })
            .collect();
        let answer = api
            .call("setMyCommands", &json!({ "commands": commands }))
            .await;
        let settled = matches!(answer, Ok(_) | Err(CallError::Refused { .. }));
        self.menu_set.store(answer.is_ok(), Ordering::Relaxed);
        if let Err(error) = &answer {
            tracing::warn!(channel = %self.name, %error, "the command menu was not set");
        }
        health.optional("setMyCommands", &answer);
        settled
    }

    /// Tries again to set a menu that could not be set, ever more rarely.
    async fn mend_menu(&self, api: &Api, health: &HealthLog) {
        let mut failures: u32 = 0;
        while !self.menu_set.load(Ordering::Relaxed) {
            failures = failures.saturating_add(1);
            tokio::time::sleep(doubled(MENU_REST, failures, MENU_LONGEST_REST)).await;
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
            Err(error) => return vec![check::failure("token", &error)],
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
        let me = tokio::select! {
            biased;
            () = shutdown.cancelled() => return Ok(()),
            me = self.introduce(&api) => me?,
        };
        self.answered.store(true, Ordering::Relaxed);
        health.known_as(format!("@{}", me.username));
        // Before Telegram hears of the address.
        let requests = self
            .webhook_url
            .as_ref()
            .map(|_| self.webhooks.open(&self.name));
        tokio::select! {
            biased;
            () = shutdown.cancelled() => return Ok(()),
            prepared = self.prepare(&api, &token, &health) => prepared?,
        }
        let state = port
            .account_state()
            .await
            .map_err(|problem| ChannelError::Transient {
                detail: format!("the channel's state cannot be read: {problem}"),
                retry_after: None,
            })?;
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
                    webhook::run(&poller, &token, state.cursor, requests, stop.clone()).await
                }
                None => inbound::run(&poller, state.cursor, stop.clone()).await,
            };
            stop.cancel();
            ended
        };
        let menu = async {
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                () = self.mend_menu(&api, &health) => {}
            }
        };
        let (ended, (), ()) = tokio::join!(
            polling,
            serve::run(Arc::clone(&port), deliverer, stop.clone()),
            menu
        );
        ended
    }
}
