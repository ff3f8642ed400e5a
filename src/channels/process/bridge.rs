//! The bridge of one program: starts it, greets it, and takes what it says in until it ends or is to stop.
//!
//! No item is acknowledged before it is durable, and none passes one that could not be stored. No program outlives its
//! run.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::channels::channel::{Bridge, ChannelError, stored_cursor};
use crate::channels::health::HealthLog;
use crate::channels::pacing::{Pacing, PacingLimits};
use crate::channels::process::decode;
use crate::channels::process::greeting::{failed, greet};
use crate::channels::process::inbound::{Intake, ToStore};
use crate::channels::process::lines::Lines;
use crate::channels::process::look;
use crate::channels::process::outbound::ProcessPlatform;
use crate::channels::process::reader::{End, Reader};
use crate::channels::process::session::Session;
use crate::channels::process::times::ProcessTimes;
use crate::channels::process::wire::{BridgeMessage, Capabilities, Hello, MAX_LINE, MAX_UNACKED};
use crate::channels::serve;
use crate::channels::sync::lock;
use crate::client::channel_port::ChannelPort;
use crate::client::program::{LogLine, ProgramError, ProgramPipes, ProgramStarter, RunningProgram};
use crate::clock::Clock;
use crate::protocol::bridge::{Delivery, Outbound};
use crate::protocol::channel::ChannelCapabilities;
use crate::protocol::doctor::Finding;
use crate::protocol::enums::ChannelKind;
use crate::text::untrusted::limit_line;

/// How long a program whose pipe is closed may take until its exit status is known.
const STATUS: Duration = Duration::from_secs(1);

/// The bridge of one channel of kind `process`.
pub struct ProcessBridge {
    name: String,
    program: Arc<dyn ProgramStarter>,
    clock: Clock,
    times: ProcessTimes,
    /// What the last hello said; before the first, what a platform can do at least.
    known: Mutex<Capabilities>,
    /// Outlives a run: the platform's limits do too.
    pacing: Arc<Pacing>,
    live: Mutex<Option<Live>>,
}

/// The run of now.
#[derive(Clone)]
struct Live {
    session: Arc<Session>,
    platform: Arc<ProcessPlatform>,
    hello: Hello,
}

/// The newest line that a program wrote for people.
#[derive(Clone, Default)]
struct LastLine(Arc<Mutex<Option<String>>>);

impl LastLine {
    fn behind(&self, text: &str) -> String {
        match &*lock(&self.0) {
            Some(line) => format!("{text} (its last line: {line})"),
            None => text.to_owned(),
        }
    }
}

impl ProcessBridge {
    /// A bridge for the channel `name`; starts its program when run.
    pub fn new(
        name: &str,
        program: Arc<dyn ProgramStarter>,
        clock: Clock,
        times: ProcessTimes,
    ) -> Self {
        Self {
            name: name.to_owned(),
            program,
            clock,
            times,
            known: Mutex::default(),
            pacing: Arc::new(Pacing::new(PacingLimits {
                typing: Duration::from_secs(4),
                progress: 2,
                overall: Duration::from_millis(1),
                burst: 64,
            })),
            live: Mutex::default(),
        }
    }

    fn live(&self) -> Option<Live> {
        let live = lock(&self.live);
        live.clone()
            .filter(|live| !live.session.closed.is_cancelled())
    }

    fn set_live(&self, live: Option<Live>) {
        *lock(&self.live) = live;
    }

    fn log(&self, last: &LastLine) -> LogLine {
        let (channel, last) = (self.name.clone(), last.clone());
        Arc::new(move |line: &str| {
            tracing::info!(channel, line, "output of a bridge's program");
            *lock(&last.0) = Some(line.to_owned());
        })
    }

    /// Talks to a program until it ends or is to stop.
    async fn talk(
        &self,
        port: &Arc<dyn ChannelPort>,
        program: &mut dyn RunningProgram,
        pipes: ProgramPipes,
        shutdown: &CancellationToken,
    ) -> Result<(), ChannelError> {
        let ProgramPipes { mut input, output } = pipes;
        let mut lines = Lines::new(output, MAX_LINE);
        let hello = tokio::select! {
            biased;
            () = shutdown.cancelled() => return Ok(()),
            hello = greet(&self.name, &mut input, &mut lines, self.times.hello) => match hello {
                Ok(hello) => hello,
                Err(ChannelError::Transient { detail, retry_after }) => {
                    let detail = with_status(detail, program).await;
                    return Err(ChannelError::Transient { detail, retry_after });
                }
                Err(error) => return Err(error),
            },
        };
        let capabilities = hello.capabilities.clone();
        *lock(&self.known) = capabilities.clone();
        port.set_capabilities(self.capabilities());
        let cursor = stored_cursor(port.as_ref()).await?;
        let (account, name) = (hello.account.id.clone(), account_name(&hello));
        let health = Arc::new(HealthLog::new(Arc::clone(port), self.clock.clone()));
        let stop = shutdown.child_token();
        let (session, queue) = Session::new(capabilities, stop.clone());
        let session = Arc::new(session);
        let writing = Arc::clone(&session);
        let mut writing =
            AbortOnDropHandle::new(tokio::spawn(
                async move { writing.write(queue, input).await },
            ));
        let cursor = decode::position(cursor.as_deref(), &account);
        session.tell(&BridgeMessage::Welcome { cursor }).await;
        let platform = Arc::new(ProcessPlatform {
            session: Arc::clone(&session),
            port: Arc::clone(port),
            health: Arc::clone(&health),
            pacing: Arc::clone(&self.pacing),
        });
        self.set_live(Some(Live {
            session: Arc::clone(&session),
            platform: Arc::clone(&platform),
            hello,
        }));
        let (items, to_store) = mpsc::channel::<ToStore>(MAX_UNACKED);
        let intake = Intake {
            port: Arc::clone(port),
            health: Arc::clone(&health),
            session: Arc::clone(&session),
            account: account.clone(),
        };
        let _intake = AbortOnDropHandle::new(tokio::spawn(intake.run(to_store)));
        let heard = Arc::new(Mutex::new(Instant::now()));
        let reader = Reader {
            session: Arc::clone(&session),
            name,
            health,
            items,
            account,
            heard: Arc::clone(&heard),
        };
        let mut reading = AbortOnDropHandle::new(tokio::spawn(reader.run(lines)));
        let watching = async {
            let end = tokio::select! {
                biased;
                () = shutdown.cancelled() => None,
                end = &mut reading => Some(end.unwrap_or(End::Ended)),
                why = &mut writing => Some(End::Broken(why.unwrap_or_else(|error| error.to_string()))),
                why = self.keep_alive(&session, &heard) => Some(End::Broken(why)),
            };
            if end.is_some() {
                session.closed.cancel();
            }
            stop.cancel();
            end
        };
        let (end, ()) = tokio::join!(
            watching,
            serve::run(Arc::clone(port), platform, stop.clone())
        );
        self.set_live(None);
        match end {
            None => {
                session.tell(&BridgeMessage::Shutdown).await;
                // Until it ends. Dropping the tasks then closes its input.
                let _ = tokio::time::timeout(self.times.shutdown, &mut reading).await;
                session.closed.cancel();
                Ok(())
            }
            Some(End::Ended) => {
                let detail = with_status("its program ended".to_owned(), program).await;
                Err(ChannelError::transient(detail))
            }
            Some(End::Broken(why)) => Err(ChannelError::transient(why)),
            Some(End::Failed { detail, fix }) => Err(failed(&detail, &fix)),
        }
    }

    /// Pings the program. Says why, when it answers no more.
    async fn keep_alive(&self, session: &Session, heard: &Mutex<Instant>) -> String {
        let mut ticks = tokio::time::interval(self.times.ping);
        let mut id = 0;
        loop {
            ticks.tick().await;
            let silent = lock(heard).elapsed();
            if silent >= self.times.silence {
                return format!(
                    "its program answered no ping for {} s: it hangs",
                    silent.as_secs()
                );
            }
            id += 1;
            session.tell(&BridgeMessage::Ping { id }).await;
        }
    }
}

/// What the platform calls us.
fn account_name(hello: &Hello) -> String {
    let name = if hello.account.display.is_empty() {
        &hello.account.id
    } else {
        &hello.account.display
    };
    limit_line(name, 80)
}

async fn with_status(detail: String, program: &mut dyn RunningProgram) -> String {
    match tokio::time::timeout(STATUS, program.wait()).await {
        Ok(status) => format!("{detail} ({status})"),
        Err(_) => detail,
    }
}

fn of_program(error: ProgramError) -> ChannelError {
    match error {
        ProgramError::Settings(why) => ChannelError::fatal("its program cannot run", why),
        ProgramError::System(why) => ChannelError::transient(why),
    }
}

#[async_trait]
impl Bridge for ProcessBridge {
    fn kind(&self) -> ChannelKind {
        ChannelKind::Process
    }

    fn capabilities(&self) -> ChannelCapabilities {
        decode::capabilities(&lock(&self.known))
    }

    async fn look_up(&self, part: &Outbound) -> Delivery {
        match self.live() {
            Some(live) => live.platform.look_up(part).await,
            None => Delivery::Unclear {
                detail: "its program does not run".to_owned(),
            },
        }
    }

    async fn check(&self) -> Vec<Finding> {
        let about = format!("channel {}", self.name);
        let live = self.live();
        let hello = live.as_ref().map(|live| &live.hello);
        look::findings(&about, self.program.as_ref(), hello, self.times).await
    }

    async fn run(
        &self,
        port: Arc<dyn ChannelPort>,
        shutdown: CancellationToken,
    ) -> Result<(), ChannelError> {
        let last = LastLine::default();
        let starting = self.program.start(self.log(&last));
        let (mut program, pipes) = tokio::select! {
            biased;
            () = shutdown.cancelled() => return Ok(()),
            started = starting => started.map_err(of_program)?,
        };
        let ended = self.talk(&port, program.as_mut(), pipes, &shutdown).await;
        program.end().await;
        match ended {
            Err(ChannelError::Transient {
                detail,
                retry_after,
            }) => Err(ChannelError::Transient {
                detail: last.behind(&detail),
                retry_after,
            }),
            ended => ended,
        }
    }
}
