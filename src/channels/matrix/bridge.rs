//! The bridge of one Matrix account: who we are there, then syncing, sending and typing side by side.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::channels::channel::{Bridge, ChannelError, stored_cursor, usable_token};
use crate::channels::health::HealthLog;
use crate::channels::http::{CallError, HttpTimes};
use crate::channels::matrix::api::Api;
use crate::channels::matrix::check;
use crate::channels::matrix::deliver::{Deliverer, Intervals};
use crate::channels::matrix::events::Me;
use crate::channels::matrix::joins::Joins;
use crate::channels::matrix::lookup::{FailedReads, Targets};
use crate::channels::matrix::rooms::Rooms;
use crate::channels::matrix::sync;
use crate::channels::matrix::syncer::Syncer;
use crate::channels::pacing::{Pacing, PacingLimits};
use crate::channels::serve;
use crate::channels::sync::unless_stopped;
use crate::client::channel_port::ChannelPort;
use crate::clock::Clock;
use crate::config::secret::Secret;
use crate::protocol::channel::{ChannelCapabilities, LengthUnit, SendIdempotency};
use crate::protocol::doctor::Finding;
use crate::protocol::enums::ChannelKind;

/// How long a homeserver surely knows the key of a send. Synapse keeps them for a day.
const KEY_WINDOW: Duration = Duration::from_hours(20);

/// Times and rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatrixOptions {
    /// How long the homeserver may hold a sync.
    pub hold: Duration,
    /// How long after that an answer is still waited for: a connection may be dead without anybody having ended it.
    pub margin: Duration,
    /// Of other calls.
    pub http: HttpTimes,
    /// Rates of the account.
    pub pacing: PacingLimits,
    /// Rates of one room.
    pub intervals: Intervals,
    /// Rest before each page of missed messages.
    pub page_rest: Duration,
}

impl Default for MatrixOptions {
    fn default() -> Self {
        Self {
            hold: Duration::from_secs(30),
            margin: Duration::from_secs(15),
            http: HttpTimes::default(),
            // What is more than a homeserver allows, it says, and how long to wait.
            pacing: PacingLimits {
                typing: Duration::from_secs(5),
                progress: 1,
                overall: Duration::from_millis(100),
                burst: 10,
            },
            intervals: Intervals {
                send: Duration::from_millis(500),
                edit: Duration::from_millis(2_500),
            },
            page_rest: Duration::from_millis(100),
        }
    }
}

/// One account at a homeserver.
pub struct MatrixBridge {
    name: String,
    api_base: String,
    token: Option<Secret>,
    clock: Clock,
    options: MatrixOptions,
    /// Outlives a reconnect: the homeserver's limits do too.
    pacing: Arc<Pacing>,
    rooms: Arc<Rooms>,
    failed: Arc<FailedReads>,
}

impl MatrixBridge {
    /// A bridge for the channel `name`; connects when run. Without a token every run fails with the fix.
    pub fn new(
        name: &str,
        api_base: &str,
        token: Option<Secret>,
        clock: Clock,
        options: MatrixOptions,
    ) -> Self {
        Self {
            name: name.to_owned(),
            api_base: api_base.to_owned(),
            token,
            clock,
            options,
            pacing: Arc::new(Pacing::new(options.pacing)),
            rooms: Arc::default(),
            failed: Arc::default(),
        }
    }

    fn connect(&self) -> Result<Api, ChannelError> {
        let token = usable_token(
            self.token.as_ref(),
            // Anything else could not stand in a header.
            |byte| byte.is_ascii_graphic(),
            || {
                ChannelError::fatal(
                    format!("channel `{}` has no access token", self.name),
                    "log the bot's account in (POST /_matrix/client/v3/login, the guide shows how) and let `token_env`, \
                     `token_file` or `token_command` give its access token",
                )
            },
            || {
                ChannelError::fatal(
                    "the access token has invalid characters",
                    "check that the whole token was copied, and nothing else",
                )
            },
        )?;
        Api::new(&self.api_base, token, self.options.http)
            .map_err(|error| ChannelError::no_client(&self.api_base, &error))
    }

    /// Asks who we are. Nothing is synced before that: we would answer ourselves.
    async fn introduce(&self, api: &Api, health: &HealthLog) -> Result<Me, ChannelError> {
        let answer = api.whoami().await.map_err(|error| match &error {
            CallError::Refused {
                code: 404, detail, ..
            } => ChannelError::fatal(
                format!("there is no Matrix homeserver at {}: {detail}", self.api_base),
                "let api_base be the homeserver's address; https://SERVER/.well-known/matrix/client says it as `base_url`",
            ),
            _ => sync::broken(&error),
        })?;
        let Some(user) = answer["user_id"].as_str() else {
            let detail = "the homeserver's answer does not say who we are";
            return Err(ChannelError::transient(detail));
        };
        let display = api.display_name(user).await;
        health.optional("profile", &display);
        let direct = api.account_data(user, None, "m.direct").await;
        health.optional("m.direct", &direct);
        if let Ok(Some(direct)) = &direct {
            self.rooms.mark_direct(direct);
        }
        Ok(Me {
            user: user.to_owned(),
            display: display.ok().flatten(),
        })
    }
}

#[async_trait]
impl Bridge for MatrixBridge {
    fn kind(&self) -> ChannelKind {
        ChannelKind::Matrix
    }

    fn capabilities(&self) -> ChannelCapabilities {
        ChannelCapabilities {
            // An event has 65 536 bytes at most, and holds a text twice: with and without its markup.
            max_length: 24_000,
            unit: LengthUnit::Bytes,
            edits: true,
            buttons: false,
            typing: true,
            idempotency: SendIdempotency::NativeKey {
                window_ms: u64::try_from(KEY_WINDOW.as_millis()).ok(),
            },
        }
    }

    async fn check(&self) -> Vec<Finding> {
        match self.connect() {
            Ok(api) => check::findings(&api, &self.name, &self.api_base).await,
            Err(error) => vec![error.finding(&format!("channel {}", self.name), None)],
        }
    }

    async fn run(
        &self,
        port: Arc<dyn ChannelPort>,
        shutdown: CancellationToken,
    ) -> Result<(), ChannelError> {
        let api = self.connect()?;
        port.set_capabilities(self.capabilities());
        let health = Arc::new(HealthLog::new(Arc::clone(&port), self.clock.clone()));
        let introducing = self.introduce(&api, &health);
        let Some(me) = unless_stopped(&shutdown, introducing).await else {
            return Ok(());
        };
        let me = me?;
        health.known_as(me.user.clone());
        let cursor = stored_cursor(port.as_ref()).await?;
        let stop = shutdown.child_token();
        // Joins go on by themselves until then.
        let _ending = stop.clone().drop_guard();
        let deliverer = Arc::new(Deliverer {
            api: api.clone(),
            port: Arc::clone(&port),
            health: Arc::clone(&health),
            me: me.clone(),
            rooms: Arc::clone(&self.rooms),
            pacing: Arc::clone(&self.pacing),
            intervals: self.options.intervals,
            was_limited: AtomicBool::new(false),
            typed: Mutex::default(),
            opening: tokio::sync::Mutex::default(),
        });
        let syncer = Syncer {
            api: api.clone(),
            port: Arc::clone(&port),
            joins: Joins::new(
                api.clone(),
                Arc::clone(&port),
                Arc::clone(&health),
                stop.clone(),
            ),
            health,
            targets: Targets::new(api, me.clone(), Arc::clone(&self.failed)),
            me,
            rooms: Arc::clone(&self.rooms),
            hold: self.options.hold,
            margin: self.options.margin,
            page_rest: self.options.page_rest,
            failed: Arc::clone(&self.failed),
        };
        let Some(begun) = sync::begin(&syncer, &stop).await? else {
            return Ok(());
        };
        let (ended, ()) = tokio::join!(
            sync::run(&syncer, cursor, begun, stop.clone()),
            // Only now: what is sent needs to know which rooms there are.
            serve::run(port, deliverer, stop.clone()),
        );
        ended
    }
}
