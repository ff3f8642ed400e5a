//! One isolated task per account: restarts with backoff, stops on what only a person can mend.
//!
//! No failure of one bridge — an error, a panic, an end without reason — reaches another bridge or
//! the engine, and no loop of failures runs faster than the floor of [`Backoff`].

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::channels::channel::{Bridge, ChannelError};
use crate::channels::sync::{or_never, unless_stopped};
use crate::client::channel_port::ChannelPort;
use crate::clock::backoff::{doubled, jitter};
use crate::protocol::bridge::Delivery;
use crate::protocol::doctor::Finding;
use crate::protocol::enums::ChannelState;
use crate::protocol::ids::OutboxId;

/// Longest look at the platform.
const LOOK_UP_LIMIT: Duration = Duration::from_secs(30);
/// Longest check of an account.
const CHECK_LIMIT: Duration = Duration::from_secs(30);
/// Rest after looks could not go on.
const LOOK_UP_REST: Duration = Duration::from_secs(1);

/// How long to wait before the next run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// Shortest wait, and the base that doubles.
    pub floor: Duration,
    /// Longest wait, unless the platform asked for more.
    pub ceiling: Duration,
    /// A run that was connected starts the doubling anew when it and the wait before it lasted this long.
    pub stable_after: Duration,
    /// How long a stopping bridge may finish what it began before its task is ended.
    pub stop_grace: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            floor: Duration::from_secs(1),
            ceiling: Duration::from_mins(1),
            stable_after: Duration::from_secs(30),
            stop_grace: Duration::from_secs(10),
        }
    }
}

impl Backoff {
    /// The wait before attempt `failures + 1`: the doubled base within floor and ceiling, spread over
    /// its upper half by `jitter` (0..1), and never less than the platform asked for.
    pub fn delay(&self, failures: u32, jitter: f64, asked: Option<Duration>) -> Duration {
        let half = doubled(self.floor, failures.saturating_add(1), self.ceiling) / 2;
        (half + half.mul_f64(jitter))
            .max(self.floor)
            .max(asked.unwrap_or_default())
    }

    /// The failures in a row before a run that ended `since` after the one before it. The wait counts: a connection
    /// that breaks once a minute would else be away for most of that minute, for ever.
    pub fn failures_before(&self, failures: u32, was_connected: bool, since: Duration) -> u32 {
        if was_connected && since >= self.stable_after {
            0
        } else {
            failures
        }
    }
}

/// How one run of a bridge ended.
enum RunEnd {
    Shutdown,
    Paused,
    Failed(ChannelError),
}

/// What ended a wait between runs.
enum Woken {
    Shutdown,
    Paused,
    Resumed,
    TimeUp,
}

/// Starts the task of one account. It ends only after `shutdown`.
pub fn spawn(
    bridge: Box<dyn Bridge>,
    port: Arc<dyn ChannelPort>,
    backoff: Backoff,
    shutdown: CancellationToken,
) -> JoinHandle<()> {
    tokio::spawn(supervise(Arc::from(bridge), port, backoff, shutdown))
}

/// Runs one account until `shutdown`.
pub async fn supervise(
    bridge: Arc<dyn Bridge>,
    port: Arc<dyn ChannelPort>,
    backoff: Backoff,
    shutdown: CancellationToken,
) {
    port.set_capabilities(bridge.capabilities());
    // Checks only read: they work while the channel is paused or failed, and end with it.
    let _checking = {
        let (bridge, port) = (Arc::clone(&bridge), Arc::clone(&port));
        AbortOnDropHandle::new(tokio::spawn(async move {
            check(bridge.as_ref(), port.as_ref()).await;
        }))
    };
    let mut failures = 0;
    let mut last_end = Instant::now();
    let mut again = false;
    let Some(mut paused) = paused_at_start(&port, &backoff, &shutdown).await else {
        return;
    };
    loop {
        if paused {
            port.health().announce(
                ChannelState::Paused,
                Some("paused by an operator; resume the channel to connect it".to_owned()),
            );
            match wait(&port, &shutdown, None).await {
                Woken::Shutdown => return,
                Woken::Resumed => {
                    paused = false;
                    failures = 0;
                }
                Woken::Paused | Woken::TimeUp => {}
            }
            continue;
        }
        if !again {
            port.health().announce(ChannelState::Starting, None);
        }
        port.health().begin_run(again);
        again = true;
        let mut end = run_once(&bridge, &port, &backoff, &shutdown).await;
        let woken = loop {
            match end {
                RunEnd::Shutdown => return,
                RunEnd::Paused => break Woken::Paused,
                RunEnd::Failed(ChannelError::Fatal { detail, fix }) => {
                    tracing::error!(channel = port.channel(), %detail, %fix, "channel failed");
                    port.health().announce(
                        ChannelState::Failed,
                        Some(format!(
                            "{detail}: {fix}; then resume the channel (restart, if the configuration changed)"
                        )),
                    );
                    failures = 0;
                    break wait(&port, &shutdown, None).await;
                }
                RunEnd::Failed(ChannelError::Transient {
                    detail,
                    retry_after,
                }) => {
                    let since = last_end.elapsed();
                    last_end = Instant::now();
                    failures = backoff.failures_before(failures, port.health().was_well(), since);
                    let delay = backoff.delay(failures, jitter(), retry_after);
                    failures = failures.saturating_add(1);
                    tracing::warn!(channel = port.channel(), %detail, delay_ms = delay.as_millis() as u64, "channel disconnected");
                    port.health().announce(
                        ChannelState::Degraded,
                        Some(format!("{detail}; trying again in {}", seconds(delay))),
                    );
                    match send_between(&bridge, &port, &backoff, &shutdown, delay).await {
                        Ok(woken) => break woken,
                        Err(error) => end = RunEnd::Failed(error),
                    }
                }
            }
        };
        match woken {
            Woken::Shutdown => return,
            Woken::Paused => paused = true,
            Woken::Resumed | Woken::TimeUp => {}
        }
    }
}

/// Whether the account was paused before; none = shut down while asking.
async fn paused_at_start(
    port: &Arc<dyn ChannelPort>,
    backoff: &Backoff,
    shutdown: &CancellationToken,
) -> Option<bool> {
    let mut failures = 0;
    loop {
        let problem = match unless_stopped(shutdown, port.account_state()).await? {
            Ok(state) => return Some(state.paused),
            Err(problem) => problem,
        };
        port.health().announce(
            ChannelState::Degraded,
            Some(format!("the channel's state cannot be read: {problem}")),
        );
        let delay = backoff.delay(failures, jitter(), None);
        failures = failures.saturating_add(1);
        unless_stopped(shutdown, tokio::time::sleep(delay)).await?;
    }
}

/// Waits between runs. Without a limit only the operator or the shutdown ends it.
async fn wait(
    port: &Arc<dyn ChannelPort>,
    shutdown: &CancellationToken,
    limit: Option<Duration>,
) -> Woken {
    let time_up = or_never(limit.map(tokio::time::sleep));
    tokio::select! {
        biased;
        () = shutdown.cancelled() => Woken::Shutdown,
        paused = port.pause_changed() => if paused { Woken::Paused } else { Woken::Resumed },
        () = time_up => Woken::TimeUp,
    }
}

/// Waits between runs while the bridge sends what it can. An error: the bridge may not send, until a person mends it.
async fn send_between(
    bridge: &Arc<dyn Bridge>,
    port: &Arc<dyn ChannelPort>,
    backoff: &Backoff,
    shutdown: &CancellationToken,
    delay: Duration,
) -> Result<Woken, ChannelError> {
    let stop = CancellationToken::new();
    let mut task = {
        let (bridge, port, stop) = (Arc::clone(bridge), Arc::clone(port), stop.clone());
        AbortOnDropHandle::new(tokio::spawn(async move { bridge.send(port, stop).await }))
    };
    let mut waiting = std::pin::pin!(wait(port, shutdown, Some(delay)));
    let woken = tokio::select! {
        biased;
        woken = &mut waiting => woken,
        ended = &mut task => {
            return match ended {
                Ok(Err(error @ ChannelError::Fatal { .. })) => Err(error),
                // A panic, or nothing that can be sent now: the next run comes all the same.
                Ok(Ok(()) | Err(ChannelError::Transient { .. })) | Err(_) => Ok(waiting.await),
            };
        }
    };
    stop.cancel();
    match woken {
        Woken::Shutdown | Woken::Paused => finish(&mut task, backoff.stop_grace).await,
        // As at the end of a run: no send is cut off in the middle, because nobody would know how it ended.
        Woken::Resumed | Woken::TimeUp => {
            tokio::select! {
                biased;
                () = shutdown.cancelled() => {
                    finish(&mut task, backoff.stop_grace).await;
                    return Ok(Woken::Shutdown);
                }
                _ = &mut task => {}
            }
        }
    }
    Ok(woken)
}

/// One run in a task of its own, so that a panic ends only that task.
async fn run_once(
    bridge: &Arc<dyn Bridge>,
    port: &Arc<dyn ChannelPort>,
    backoff: &Backoff,
    shutdown: &CancellationToken,
) -> RunEnd {
    let stop = shutdown.child_token();
    // The bridge must not outlive this task when this task itself is dropped.
    let mut task = {
        let (bridge, port, stop) = (Arc::clone(bridge), Arc::clone(port), stop.clone());
        AbortOnDropHandle::new(tokio::spawn(async move { bridge.run(port, stop).await }))
    };
    // Looks only read: they end with the run, whatever they are at.
    let _looking = {
        let (bridge, port) = (Arc::clone(bridge), Arc::clone(port));
        AbortOnDropHandle::new(tokio::spawn(async move {
            look_up(bridge.as_ref(), port.as_ref()).await;
        }))
    };
    loop {
        tokio::select! {
            biased;
            () = shutdown.cancelled() => {
                finish(&mut task, backoff.stop_grace).await;
                return RunEnd::Shutdown;
            }
            paused = port.pause_changed() => {
                if paused {
                    stop.cancel();
                    finish(&mut task, backoff.stop_grace).await;
                    return RunEnd::Paused;
                }
            }
            ended = &mut task => {
                return RunEnd::Failed(match ended {
                    Ok(Ok(())) => ChannelError::transient("the bridge ended without a reason"),
                    Ok(Err(error)) => error,
                    // The payload of a panic is not shown: it could quote outside text or a secret.
                    Err(_) => ChannelError::transient(
                        "the bridge stopped on a defect of Leverframe (a panic; see the log)",
                    ),
                });
            }
        }
    }
}

/// Answers who asks whether the account is set up as it must be.
async fn check(bridge: &dyn Bridge, port: &dyn ChannelPort) {
    loop {
        let request = port.next_check().await;
        let findings = tokio::time::timeout(CHECK_LIMIT, bridge.check()).await;
        let findings = findings.unwrap_or_else(|_| {
            vec![Finding::fail(
                "platform",
                format!("no answer within {} s", CHECK_LIMIT.as_secs()),
                "check the network, and try again",
            )]
        });
        // Nobody waits any more: fine.
        let _ = request.send(findings);
    }
}

/// Once the bridge is connected, asks the platform about every send that nobody knows the end of; each once a run.
async fn look_up(bridge: &dyn Bridge, port: &dyn ChannelPort) {
    port.health().connected().await;
    let mut asked: HashMap<OutboxId, u32> = HashMap::new();
    loop {
        let part = match port.next_look_up(&asked).await {
            Ok(part) => part,
            Err(problem) => {
                tracing::debug!(%problem, "cannot read the sends with an unknown outcome");
                tokio::time::sleep(LOOK_UP_REST).await;
                continue;
            }
        };
        asked.insert(part.id, part.attempts);
        let delivery = tokio::time::timeout(LOOK_UP_LIMIT, bridge.look_up(&part))
            .await
            .unwrap_or_else(|_| Delivery::Unclear {
                detail: format!("no answer within {} s", LOOK_UP_LIMIT.as_secs()),
            });
        if let Err(problem) = port.end_look_up(part.id, part.attempts, delivery).await {
            tracing::warn!(id = %part.id, %problem, "cannot record the answer of the platform about a send");
            asked.remove(&part.id);
            tokio::time::sleep(LOOK_UP_REST).await;
        }
    }
}

/// Lets a stopping bridge finish what it began, then ends it.
async fn finish(task: &mut AbortOnDropHandle<Result<(), ChannelError>>, grace: Duration) {
    if tokio::time::timeout(grace, &mut *task).await.is_err() {
        task.abort();
        let _ = task.await;
    }
}

fn seconds(delay: Duration) -> String {
    format!("{:.0} s", delay.as_secs_f64().ceil())
}
