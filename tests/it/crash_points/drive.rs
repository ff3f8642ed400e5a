//! From a start to the point where nothing is left to do, or to the end of the process.

use std::os::unix::process::ExitStatusExt as _;
use std::time::{Duration, Instant};

use crate::crash_points::checks;
use crate::crash_points::operator::{Look, Operator};
use crate::crash_points::scenario::Scenario;
use crate::crash_points::world::World;
use crate::support::daemon::Daemon;

/// How long a daemon may take until everything is done, and how long nothing may change meanwhile.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    whole: Duration,
    still: Duration,
}

impl Patience {
    /// With a daemon that is taken to be right, on a busy machine.
    pub const LONG: Self = Self {
        whole: Duration::from_secs(40),
        still: Duration::from_secs(40),
    };
    /// With one that has a rule switched off: that it gets stuck is what is looked for.
    pub const SHORT: Self = Self {
        whole: Duration::from_secs(15),
        still: Duration::from_secs(4),
    };
}

/// Between two looks.
const PACE: Duration = Duration::from_millis(50);

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
    /// The rule that all daemons of this world have switched off.
    mutant: Option<&'static str>,
    patience: Patience,
}

impl Run {
    /// People have written; nothing has been started.
    pub fn new(scenario: Scenario, mutant: Option<&'static str>, patience: Patience) -> Self {
        let world = World::new(scenario);
        world.people_write();
        Self {
            world,
            operator: Operator::new(scenario),
            mutant,
            patience,
        }
    }

    /// Starts a daemon; none when it ended before it listened.
    pub fn start(&self, crash: Option<&str>) -> Option<Daemon> {
        // The operator reads from the platform what happened, so what the daemon before sent must have happened.
        self.world.telegram.settle();
        self.world.start(crash, self.mutant)
    }

    fn wrong(&mut self, what: impl Into<String>) {
        self.operator.violations.insert(what.into());
    }

    /// Starts a daemon with this point armed and works with it until it dies of it or is done.
    pub async fn until_crash(&mut self, crash: &str) -> (End, Option<Daemon>) {
        match self.start(Some(crash)) {
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
        let mut last = (String::new(), began);
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
                    if what != last.0 {
                        last = (what, Instant::now());
                    }
                    if began.elapsed() > self.patience.whole
                        || last.1.elapsed() > self.patience.still
                    {
                        self.wrong(format!("never done:\n{}", last.0));
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
        self.world.meanwhile();
        match self.start(None) {
            None => self.wrong("did not start again"),
            Some(mut daemon) => {
                let mut end = self.work(&mut daemon, None).await;
                if end == End::Quiet && self.operator.violations.is_empty() {
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
        if self.mutant.is_some() && !self.operator.violations.is_empty() {
            // Found already; one that is stuck may not end by itself.
            daemon.kill();
            return;
        }
        let status = daemon.terminate();
        if !status.success() {
            self.wrong(format!("SIGTERM: {status}"));
        }
    }

    /// Everything that is wrong, with what is needed to understand it; none when nothing is.
    pub async fn verdict(mut self) -> Option<String> {
        let found = checks::check(&self.world, &self.operator).await;
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
