//! Whether a program can serve a channel: where it runs, whether it says hello, and the health it reports.
//!
//! A program that runs already is not started a second time: two of them would be two consumers of one account.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;

use crate::channels::process::decode::{self, Line};
use crate::channels::process::greeting::greet;
use crate::channels::process::lines::Lines;
use crate::channels::process::times::ProcessTimes;
use crate::channels::process::wire::{
    BridgeMessage, Hello, MAX_LINE, ProgramMessage, ProgramState,
};
use crate::client::program::ProgramStarter;
use crate::protocol::doctor::Finding;
use crate::text::untrusted::limit_line;

/// Longest wait for how the platform is.
const HEALTH: Duration = Duration::from_secs(10);
/// Cells of a program's words.
const SAID: usize = 300;

/// What there is to say. `running`: what the program said of itself that runs now.
pub async fn findings(
    about: &str,
    program: &dyn ProgramStarter,
    running: Option<&Hello>,
    times: ProcessTimes,
) -> Vec<Finding> {
    let mut found = Vec::new();
    match program.look().await {
        Ok(place) if place == "unsandboxed" => found.push(Finding::warn(
            about,
            "its program runs without a sandbox",
            "leave `sandbox` out, and name what it reads in `read`",
        )),
        Ok(place) => found.push(Finding::ok(
            about,
            format!("its program is there; confined by {place}"),
        )),
        Err(error) => {
            return vec![Finding::fail(
                about,
                "its program cannot run",
                error.to_string(),
            )];
        }
    }
    if let Some(hello) = running {
        found.push(Finding::ok(about, format!("it runs: {}", who(hello))));
        return found;
    }
    match tried(program, times).await {
        Ok((hello, health)) => {
            found.push(Finding::ok(
                about,
                format!("it said hello: {}", who(&hello)),
            ));
            found.push(match health {
                Some((ProgramState::Connected, _, _)) => Finding::ok(about, "its platform answers"),
                Some((ProgramState::Degraded, detail, _)) => Finding::warn(
                    about,
                    format!("it says: {}", limit_line(&detail, SAID)),
                    "check that this machine reaches the platform",
                ),
                Some((ProgramState::Failed, detail, fix)) => Finding::fail(
                    about,
                    format!("it says: {}", limit_line(&detail, SAID)),
                    limit_line(&fix, SAID),
                ),
                None => Finding::warn(
                    about,
                    format!(
                        "the program did not report its health within {} s",
                        HEALTH.as_secs()
                    ),
                    "the program must send `health`, or answer `ping`",
                ),
            });
        }
        Err(why) => found.push(Finding::fail(
            about,
            why,
            "try it with `leverframe channels conform -- COMMAND`",
        )),
    }
    found
}

fn who(hello: &Hello) -> String {
    let account = &hello.account;
    let name = if account.display.is_empty() {
        &account.id
    } else {
        &account.display
    };
    limit_line(&format!("{} {} as {name}", hello.name, hello.version), SAID)
}

type Health = (ProgramState, String, String);

/// Starts the program for a moment. It takes nothing from its platform: it gets no welcome before it said how it is.
async fn tried(
    program: &dyn ProgramStarter,
    times: ProcessTimes,
) -> Result<(Hello, Option<Health>), String> {
    let started = program.start(Arc::new(|_: &str| {})).await;
    let (process, mut pipes) = started.map_err(|error| error.to_string())?;
    let mut lines = Lines::new(pipes.output, MAX_LINE);
    let greeted = greet("check", &mut pipes.input, &mut lines, times.hello).await;
    let result = match greeted {
        Ok(hello) => {
            let ping = BridgeMessage::Ping { id: 1 };
            let _ = pipes.input.write_all(&ping.line()).await;
            let _ = pipes.input.flush().await;
            let waiting = async {
                loop {
                    let line = lines.next().await.ok()??;
                    let Line::Message(message) = decode::line(&line) else {
                        continue;
                    };
                    if let ProgramMessage::Health { state, detail, fix } = *message {
                        return Some((state, detail, fix));
                    } else if let ProgramMessage::Pong { .. } = *message {
                        return Some((ProgramState::Connected, String::new(), String::new()));
                    }
                }
            };
            let health = tokio::time::timeout(HEALTH, waiting).await;
            Ok((hello, health.ok().flatten()))
        }
        Err(error) => Err(error.to_string()),
    };
    let _ = pipes.input.write_all(&BridgeMessage::Shutdown.line()).await;
    drop(pipes.input);
    process.end().await;
    result
}
