//! The bridge of one Slack app: who we are there, then receiving, catching up and sending side by side.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::channels::channel::{Bridge, ChannelError, stored_cursor, usable_token};
use crate::channels::fields::text_at;
use crate::channels::health::HealthLog;
use crate::channels::http::{CallError, HttpTimes};
use crate::channels::pacing::{Pacing, PacingLimits};
use crate::channels::serve;
use crate::channels::slack::api::Api;
use crate::channels::slack::catch_up::{self, CatchUp};
use crate::channels::slack::check;
use crate::channels::slack::deliver::{Deliverer, Rates};
use crate::channels::slack::directory::Directory;
use crate::channels::slack::intake::Intake;
use crate::channels::slack::look_up::LookUp;
use crate::channels::slack::manifest::APPS;
use crate::channels::slack::me::Me;
use crate::channels::slack::memory::Memory;
use crate::channels::slack::position::Position;
use crate::channels::slack::receive::{self, Receiver, SocketTimes, broken};
use crate::channels::sync::lock;
use crate::client::channel_port::ChannelPort;
use crate::clock::Clock;
use crate::config::secret::Secret;
use crate::protocol::bridge::{Delivery, Outbound};
use crate::protocol::channel::{ChannelCapabilities, LengthUnit, SendIdempotency};
use crate::protocol::doctor::Finding;
use crate::protocol::enums::ChannelKind;

/// Times and rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlackOptions {
    /// Of calls.
    pub http: HttpTimes,
    /// Of sockets.
    pub socket: SocketTimes,
    /// Between calls for what was said while away.
    pub catch_up: Duration,
    /// The first rest after such a call failed.
    pub catch_up_rest: Duration,
    /// How long after its end a send may still arrive: its connection is given up before that.
    pub settle: Duration,
    /// Rates of messages.
    pub rates: Rates,
    /// Rates of everything.
    pub pacing: PacingLimits,
}

impl Default for SlackOptions {
    fn default() -> Self {
        Self {
            http: HttpTimes::default(),
            socket: SocketTimes {
                connect: Duration::from_secs(15),
                ping: Duration::from_secs(15),
                stale: Duration::from_secs(40),
            },
            catch_up: Duration::from_millis(1_300),
            catch_up_rest: Duration::from_secs(2),
            settle: Duration::from_secs(25),
            rates: Rates {
                channel: Duration::from_secs(1),
                updates: Duration::from_millis(1_300),
            },
            pacing: PacingLimits {
                typing: Duration::from_secs(20),
                progress: 2,
                overall: Duration::from_millis(50),
                burst: 10,
            },
        }
    }
}

/// One app in one workspace.
pub struct SlackBridge {
    name: String,
    api_base: String,
    token: Option<Secret>,
    app_token: Option<Secret>,
    clock: Clock,
    options: SlackOptions,
    born: Instant,
    /// These outlive a reconnect: the platform's limits and names do too.
    pacing: Arc<Pacing>,
    memory: Arc<Memory>,
    directory: Arc<Directory>,
    me: Mutex<Option<Me>>,
    /// Sockets that a run holds now.
    sockets: AtomicU32,
    /// Whether Slack said in this run, or in the last one, who we are.
    answered: AtomicBool,
}

impl SlackBridge {
    /// A bridge for the channel `name`; connects when run. Without its tokens every run fails with the fix.
    pub fn new(
        name: &str,
        api_base: &str,
        (token, app_token): (Option<Secret>, Option<Secret>),
        clock: Clock,
        options: SlackOptions,
    ) -> Self {
        Self {
            name: name.to_owned(),
            api_base: api_base.to_owned(),
            token,
            app_token,
            clock,
            options,
            born: Instant::now(),
            pacing: Arc::new(Pacing::new(options.pacing)),
            memory: Arc::default(),
            directory: Arc::default(),
            me: Mutex::new(None),
            sockets: AtomicU32::new(0),
            answered: AtomicBool::new(false),
        }
    }

    fn connect(&self) -> Result<Api, ChannelError> {
        let bot = self.usable(
            self.token.as_ref(),
            ("token", "xoxb-…"),
            "OAuth & Permissions → Bot User OAuth Token",
        )?;
        let app = self.usable(
            self.app_token.as_ref(),
            ("app_token", "xapp-…"),
            "Basic Information → App-Level Tokens, with the scope connections:write",
        )?;
        if bot.expose().starts_with("xapp-") || app.expose().starts_with("xoxb-") {
            return Err(ChannelError::fatal(
                format!(
                    "channel `{}` has its two tokens the wrong way round",
                    self.name
                ),
                "`token` is the bot token (xoxb-…), `app_token` the app-level one (xapp-…)",
            ));
        }
        Api::new(&self.api_base, bot, app, self.options.http)
            .map_err(|error| ChannelError::no_client(&self.api_base, &error))
    }

    fn usable(
        &self,
        token: Option<&Secret>,
        (key, looks): (&str, &str),
        place: &str,
    ) -> Result<Secret, ChannelError> {
        usable_token(
            token,
            |byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte),
            || {
                ChannelError::fatal(
                    format!("channel `{}` has no {key}", self.name),
                    format!(
                        "let its `{key}_env`, `{key}_file` or `{key}_command` give the one ({looks}) from {APPS} → your \
                         app → {place}"
                    ),
                )
            },
            || {
                ChannelError::fatal(
                    format!("the {key} has invalid characters"),
                    format!("copy it again from {APPS} → your app → {place}"),
                )
            },
        )
    }

    /// Asks who we are.
    async fn introduce(&self, api: &Api) -> Result<Me, ChannelError> {
        let (said, _) = api
            .whoami()
            .await
            .map_err(|error| broken(&error, "token"))?;
        let me = me(&said)
            .ok_or_else(|| ChannelError::transient("Slack's answer does not say who we are"))?;
        *lock(&self.me) = Some(me.clone());
        Ok(me)
    }

    /// Who sends, and where a refused token shows.
    fn deliverer(
        &self,
        api: &Api,
        port: &Arc<dyn ChannelPort>,
        health: &Arc<HealthLog>,
    ) -> (Arc<Deliverer>, watch::Receiver<Option<CallError>>) {
        let (token_refused, refusals) = watch::channel(None);
        let deliverer = Arc::new(Deliverer {
            api: api.clone(),
            port: Arc::clone(port),
            health: Arc::clone(health),
            pacing: Arc::clone(&self.pacing),
            memory: Arc::clone(&self.memory),
            rates: self.options.rates,
            token_refused,
        });
        (deliverer, refusals)
    }

    fn known_me(&self) -> Option<Me> {
        lock(&self.me).clone()
    }
}

fn me(said: &serde_json::Value) -> Option<Me> {
    Some(Me {
        team: text_at(said, "/team_id")?.to_owned(),
        user: text_at(said, "/user_id")?.to_owned(),
        bot: text_at(said, "/bot_id").map(str::to_owned),
        name: text_at(said, "/user").unwrap_or("bot").to_owned(),
    })
}

#[async_trait]
impl Bridge for SlackBridge {
    fn kind(&self) -> ChannelKind {
        ChannelKind::Slack
    }

    fn capabilities(&self) -> ChannelCapabilities {
        ChannelCapabilities {
            // Slack cuts a message of more than 4 000 characters in two; the rest is for markup that counts.
            max_length: 3_900,
            unit: LengthUnit::Chars,
            edits: true,
            buttons: true,
            typing: true,
            idempotency: SendIdempotency::Reconcile,
        }
    }

    async fn check(&self) -> Vec<Finding> {
        match self.connect() {
            Ok(api) => {
                let own = self.sockets.load(Ordering::Relaxed);
                check::check(&api, self.options.socket, own).await
            }
            Err(error) => vec![error.finding("tokens", Some(check::PASSING))],
        }
    }

    async fn look_up(&self, part: &Outbound) -> Delivery {
        let unclear = |detail: String| Delivery::Unclear { detail };
        let api = match self.connect() {
            Ok(api) => api,
            Err(error) => return unclear(error.to_string()),
        };
        let me = match self.known_me() {
            Some(me) => me,
            None => match self.introduce(&api).await {
                Ok(me) => me,
                Err(error) => return unclear(error.to_string()),
            },
        };
        let look = LookUp {
            api: &api,
            me: &me,
            memory: &self.memory,
            born: self.born,
            settle: self.options.settle,
            clock: &self.clock,
        };
        look.look(part).await
    }

    /// The Web API needs no socket.
    async fn send(
        &self,
        port: Arc<dyn ChannelPort>,
        stop: CancellationToken,
    ) -> Result<(), ChannelError> {
        if !self.answered.load(Ordering::Relaxed) {
            stop.cancelled().await;
            return Ok(());
        }
        let api = self.connect()?;
        let health = Arc::new(HealthLog::new(Arc::clone(&port), self.clock.clone()));
        let (deliverer, mut refusals) = self.deliverer(&api, &port, &health);
        let sending_stop = stop.child_token();
        let mut sending = std::pin::pin!(serve::run_without_receiving(
            port,
            deliverer,
            sending_stop.clone()
        ));
        tokio::select! {
            () = &mut sending => Ok(()),
            error = refused(&mut refusals) => {
                sending_stop.cancel();
                sending.await;
                Err(broken(&error, "token"))
            }
        }
    }

    async fn run(
        &self,
        port: Arc<dyn ChannelPort>,
        shutdown: CancellationToken,
    ) -> Result<(), ChannelError> {
        self.answered.store(false, Ordering::Relaxed);
        let api = self.connect()?;
        port.set_capabilities(self.capabilities());
        let health = Arc::new(HealthLog::new(Arc::clone(&port), self.clock.clone()));
        health.connecting();
        let begin = async {
            let me = self.introduce(&api).await?;
            self.answered.store(true, Ordering::Relaxed);
            health.known_as(format!("@{}", me.name));
            let cursor = stored_cursor(port.as_ref()).await?;
            let opened = receive::open(&api, self.options.socket).await?;
            Ok::<_, ChannelError>((me, cursor, opened))
        };
        let (me, cursor, opened) = tokio::select! {
            biased;
            () = shutdown.cancelled() => return Ok(()),
            begun = begin => begun?,
        };
        let mut position = Position::stored(cursor.as_deref(), &me.account());
        let gaps = position.hold_all();
        let intake = Arc::new(Intake::new(
            api.clone(),
            Arc::clone(&self.directory),
            (Arc::clone(&port), Arc::clone(&health)),
            me.account(),
            position,
        ));
        let catch_up = CatchUp {
            api: api.clone(),
            intake: Arc::clone(&intake),
            health: Arc::clone(&health),
            me: me.clone(),
            interval: self.options.catch_up,
            rest: self.options.catch_up_rest,
        };
        let (deliverer, mut refusals) = self.deliverer(&api, &port, &health);
        let receiver = Receiver {
            api,
            intake,
            health,
            me,
            times: self.options.socket,
        };
        let stop = shutdown.child_token();
        let receiving = async {
            self.sockets.store(1, Ordering::Relaxed);
            let mut run = std::pin::pin!(receive::run(&receiver, opened, stop.clone()));
            let ended = tokio::select! {
                ended = &mut run => ended,
                error = refused(&mut refusals) => {
                    stop.cancel();
                    // Its sockets end with a word, or Slack would count them for a while.
                    run.await.and(Err(broken(&error, "token")))
                }
            };
            self.sockets.store(0, Ordering::Relaxed);
            stop.cancel();
            ended
        };
        let (ended, (), ()) = tokio::join!(
            receiving,
            catch_up::run(&catch_up, gaps, stop.clone()),
            serve::run(port, deliverer, stop.clone()),
        );
        ended
    }
}

/// Waits until Slack refuses the bot token.
async fn refused(refusals: &mut watch::Receiver<Option<CallError>>) -> CallError {
    loop {
        if let Some(error) = refusals.borrow_and_update().clone() {
            return error;
        }
        if refusals.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
