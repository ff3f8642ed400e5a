//! The bridge of one Discord bot: who we are there, then the gateway and the outbox side by side.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::channels::channel::{Bridge, ChannelError, stored_cursor, usable_token};
use crate::channels::discord::account::introduce;
use crate::channels::discord::api::Api;
use crate::channels::discord::check;
use crate::channels::discord::connection::{Gateway, Memory};
use crate::channels::discord::deliver::Deliverer;
use crate::channels::discord::gateway;
use crate::channels::discord::interactions;
use crate::channels::discord::limits::Limits;
use crate::channels::discord::message::MAX_SOURCE;
use crate::channels::discord::session::TOKEN_FIX;
use crate::channels::health::HealthLog;
use crate::channels::http::HttpTimes;
use crate::channels::menu::{self, Menu};
use crate::channels::pacing::{Pacing, PacingLimits};
use crate::channels::serve;
use crate::channels::sync::unless_stopped;
use crate::client::channel_port::ChannelPort;
use crate::clock::Clock;
use crate::config::settings::Secret;
use crate::protocol::channel::{ChannelCapabilities, LengthUnit, SendIdempotency};
use crate::protocol::doctor::Finding;
use crate::protocol::enums::ChannelKind;

/// Times and rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiscordOptions {
    /// Of calls, and to connect to the gateway.
    pub http: HttpTimes,
    /// Between calls for one channel; Discord's own limits hold besides.
    pub interval: Duration,
    /// Rates.
    pub pacing: PacingLimits,
}

impl Default for DiscordOptions {
    fn default() -> Self {
        Self {
            http: HttpTimes::default(),
            // Five messages in five seconds is what Discord takes of a channel.
            interval: Duration::from_millis(1_000),
            pacing: PacingLimits {
                // An indicator lasts ten seconds.
                typing: Duration::from_secs(8),
                progress: 2,
                // Fifty calls a second are allowed in all.
                overall: Duration::from_millis(25),
                burst: 10,
            },
        }
    }
}

/// How long Discord knows the key of a message. It says "a few minutes", so less is counted on.
const KEY_WINDOW: Duration = Duration::from_secs(90);

/// One bot account.
pub struct DiscordBridge {
    name: String,
    api_base: String,
    token: Option<Secret>,
    clock: Clock,
    options: DiscordOptions,
    /// These outlive a reconnect: the platform's limits do too.
    pacing: Arc<Pacing>,
    limits: Arc<Limits>,
    memory: Arc<Mutex<Memory>>,
    direct: Arc<Mutex<HashMap<String, String>>>,
    menu: Menu,
    /// Whether Discord said in this run, or in the last one, who we are.
    answered: AtomicBool,
}

impl DiscordBridge {
    /// A bridge for the channel `name`; connects when run. Without a token every run fails with the fix.
    pub fn new(
        name: &str,
        api_base: &str,
        token: Option<Secret>,
        clock: Clock,
        options: DiscordOptions,
    ) -> Self {
        Self {
            name: name.to_owned(),
            api_base: api_base.to_owned(),
            token,
            clock,
            options,
            pacing: Arc::new(Pacing::new(options.pacing)),
            limits: Arc::default(),
            memory: Arc::default(),
            direct: Arc::default(),
            menu: Menu::default(),
            answered: AtomicBool::new(false),
        }
    }

    fn api(&self) -> Result<Api, ChannelError> {
        let token = usable_token(
            self.token.as_ref(),
            // Anything else would change the header of every request.
            |byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte),
            || {
                ChannelError::fatal(
                    format!("channel `{}` has no bot token", self.name),
                    TOKEN_FIX,
                )
            },
            || {
                ChannelError::fatal(
                    "the bot token has invalid characters (leave out the word `Bot`)",
                    TOKEN_FIX,
                )
            },
        )?;
        let limits = Arc::clone(&self.limits);
        Api::new(&self.api_base, token, limits, self.options.http)
            .map_err(|error| ChannelError::no_client(&self.api_base, &error))
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
            interval: self.options.interval,
            direct: Arc::clone(&self.direct),
        })
    }

    /// Sets the menu of commands, and tries again where it could not be set.
    async fn keep_menu(&self, api: &Api, application: u64, health: &HealthLog) {
        let mut failures: u32 = 0;
        loop {
            let call = interactions::set_menu(api, application);
            let method = "the menu of commands";
            if self.menu.set(&self.name, health, method, call).await {
                break;
            }
            failures = failures.saturating_add(1);
            menu::rest(failures).await;
        }
    }
}

#[async_trait]
impl Bridge for DiscordBridge {
    fn kind(&self) -> ChannelKind {
        ChannelKind::Discord
    }

    fn capabilities(&self) -> ChannelCapabilities {
        ChannelCapabilities {
            // Discord's limit is 2 000 as it is sent; the rest is for markup, which counts.
            max_length: MAX_SOURCE,
            unit: LengthUnit::Chars,
            edits: true,
            buttons: true,
            typing: true,
            idempotency: SendIdempotency::NativeKey {
                window_ms: u64::try_from(KEY_WINDOW.as_millis()).ok(),
            },
        }
    }

    async fn check(&self) -> Vec<Finding> {
        match self.api() {
            Ok(api) => check::run(&api).await,
            Err(error) => vec![error.finding("token", Some(check::PASSING))],
        }
    }

    /// Messages go over the REST interface, which needs no gateway.
    async fn send(
        &self,
        port: Arc<dyn ChannelPort>,
        stop: CancellationToken,
    ) -> Result<(), ChannelError> {
        if !self.answered.load(Ordering::Relaxed) {
            stop.cancelled().await;
            return Ok(());
        }
        let api = self.api()?;
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
        let api = self.api()?;
        port.set_capabilities(self.capabilities());
        let health = Arc::new(HealthLog::new(Arc::clone(&port), self.clock.clone()));
        health.connecting();
        let Some(me) = unless_stopped(&shutdown, introduce(&api)).await else {
            return Ok(());
        };
        let me = me.map_err(|error| gateway::broken(&error))?;
        self.answered.store(true, Ordering::Relaxed);
        let cursor = stored_cursor(port.as_ref()).await?;
        let deliverer = self.deliverer(&api, &port, &health);
        let gateway = Gateway {
            api: api.clone(),
            port: Arc::clone(&port),
            health: Arc::clone(&health),
            me: me.clone(),
            connect_timeout: self.options.http.connect,
            memory: Arc::clone(&self.memory),
        };
        let stop = shutdown.child_token();
        let receiving = async {
            let ended = gateway::run(&gateway, cursor, stop.clone()).await;
            stop.cancel();
            ended
        };
        let menu = self.keep_menu(&api, me.application, &health);
        let sending = serve::run(Arc::clone(&port), deliverer, stop.clone());
        let (ended, _, ()) = tokio::join!(receiving, unless_stopped(&stop, menu), sending);
        ended
    }
}
