//! From a start to the point where nothing is left to do, or to the end of the process.

use std::os::unix::process::ExitStatusExt as _;
use std::time::{Duration, Instant};

use crate::crash_points::checks;
use crate::crash_points::operator::{Approves, Look, Operator};
use crate::crash_points::world::World;
use crate::support::daemon::Daemon;

/// Longest time from a start until everything is done.
const QUIET_WITHIN: Duration = Duration::from_secs(40);
/// Between two looks.
const PACE: Duration = Duration::from_millis(25);

/// How a daemon's life went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It was killed, by itself or by us.
    Killed,
    /// Everything is done, and it still runs.
    Quiet,
}

/// One world with its operator, over several daemons.
pub struct Run {
    /// The outside.
    pub world: World,
    /// The person and the client.
    pub operator: Operator,
}

impl Run {
    /// People have written; nothing has been started.
    pub fn new(approves: Approves) -> Self {
        let world = World::new();
        world.people_write();
        Self {
            world,
            operator: Operator::new(approves),
        }
    }

    fn wrong(&mut self, what: impl Into<String>) {
        self.operator.violations.insert(what.into());
    }

    /// Starts a daemon with this point armed and works with it until it dies of it or is done.
    pub async fn until_crash(&mut self, crash: &str) -> (End, Option<Daemon>) {
        match self.world.start(Some(crash)) {
            None => (End::Killed, None),
            Some(mut daemon) => {
                let end = self.work(&mut daemon, None).await;
                (end, Some(daemon))
            }
        }
    }

    /// Works with a daemon until it is gone or done; with a time, kills it then.
    pub async fn work(&mut self, daemon: &mut Daemon, kill_after: Option<Duration>) -> End {
        self.operator.new_daemon();
        let began = Instant::now();
        loop {
            let looked = match kill_after {
                None => self.operator.look(&self.world, daemon).await,
                Some(after) => {
                    let left = after.saturating_sub(began.elapsed());
                    let look = self.operator.look(&self.world, daemon);
                    match tokio::time::timeout(left, look).await {
                        Ok(looked) => looked,
                        Err(_) => {
                            daemon.kill();
                            return End::Killed;
                        }
                    }
                }
            };
            match looked {
                Ok(Look::Quiet) => return End::Quiet,
                Ok(Look::Busy(what)) => {
                    if began.elapsed() > QUIET_WITHIN {
                        self.wrong(format!("never done:\n{what}"));
                        return End::Quiet;
                    }
                }
                Err(error) => {
                    match daemon.wait_exit() {
                        Some(status) if status.signal() == Some(9) => {}
                        Some(status) => self.wrong(format!("ended with {status}: {error}")),
                        None => self.wrong(format!("does not answer, but runs: {error}")),
                    }
                    return End::Killed;
                }
            }
            tokio::time::sleep(PACE).await;
        }
    }

    /// After a death: a daemon without a crash point finishes everything, then hears everything once more, and
    /// is ended as a person would.
    pub async fn finish(&mut self) {
        match self.world.start(None) {
            None => self.wrong("did not start again"),
            Some(mut daemon) => {
                let mut end = self.work(&mut daemon, None).await;
                if end == End::Quiet {
                    // Only now: told again before, a message that was lost would not be missed.
                    self.world.tell_again();
                    end = self.work(&mut daemon, None).await;
                }
                if end == End::Killed {
                    self.wrong("died without a crash point");
                }
                self.stop(&mut daemon);
            }
        }
    }

    /// SIGTERM; everything must be on disk after it.
    pub fn stop(&mut self, daemon: &mut Daemon) {
        let status = daemon.terminate();
        if !status.success() {
            self.wrong(format!("SIGTERM: {status}"));
        }
    }

    /// Everything that is wrong, with what is needed to understand it; none when nothing is.
    pub async fn verdict(mut self) -> Option<String> {
        let found = checks::check(&self.world, self.operator.blind_cards).await;
        self.operator.violations.extend(found);
        if self.operator.violations.is_empty() {
            return None;
        }
        let violations: Vec<String> = self
            .operator
            .violations
            .iter()
            .map(|violation| format!("- {violation}"))
            .collect();
        let log = self.world.home.log();
        let tail: Vec<&str> = log.lines().rev().take(40).collect();
        let tail: Vec<&str> = tail.into_iter().rev().collect();
        Some(format!(
            "{}\n--- the platform\n{}\n--- the log\n{}",
            violations.join("\n"),
            self.world.story(),
            tail.join("\n")
        ))
    }
}
