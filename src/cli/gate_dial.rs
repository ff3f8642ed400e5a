//! The way of one hook's question to the daemon and back, over its socket or HTTP.

use std::path::Path;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Method, StatusCode};
use serde_json::{Map, Value};
use tokio::time::{Instant, sleep};

use crate::cli::connect;
use crate::cli::known_hosts::KnownHosts;
use crate::client::remote::connection::{Limits, RemoteClient};
use crate::client::remote::target::{Address, Target};
use crate::client::remote::trust::Trust;
use crate::config::environment::Environment;
use crate::config::paths::locate;
use crate::config::secrets::read_private_file;
use crate::protocol::enums::{ExternalAgent, GateVerdict};
use crate::protocol::hex::hex;
use crate::protocol::problem::{Problem, ProblemKind};

/// Longest answer that is read, in bytes: an edited call, and the words around it.
const MAX_ANSWER: usize = 1024 * 1024;
/// The first pause before the daemon is dialled again, and the longest.
const PAUSE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));
/// Names a unix socket, or a file that holds an address and a token.
const VARIABLE: &str = "LEVERFRAME_GATE";

/// What the daemon said.
pub struct Answer {
    /// In a word.
    pub verdict: GateVerdict,
    /// Why, of a call that is denied.
    pub reason: Option<String>,
    /// In the words of the program: a JSON object.
    pub body: String,
}

/// Why a dial brought no answer.
enum Miss {
    /// Nobody took the connection.
    Away(String),
    /// The connection broke. The daemon may know the question.
    Lost(String),
    /// It is over.
    Refused(String),
}

/// Dials until there is an answer: a daemon that starts again finds the same question under the same key. Somebody else
/// sets the limit.
pub async fn dial_until_answered(
    agent: ExternalAgent,
    call: &[u8],
    data_dir: Option<&Path>,
    deadline: Instant,
    reach: Instant,
) -> Result<Answer, String> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| format!("no random numbers: {error}"))?;
    let key = hex(&random);
    let environment = Environment::capture();
    let (mut known, mut pause) = (false, PAUSE.0);
    loop {
        match dial(agent, call, data_dir, &environment, &key, deadline).await {
            Ok(answer) => return Ok(answer),
            Err(Miss::Refused(problem)) => return Err(problem),
            Err(Miss::Away(problem)) => {
                let until = if known { deadline } else { reach.min(deadline) };
                if Instant::now() + pause >= until {
                    return Err(problem);
                }
            }
            Err(Miss::Lost(problem)) if Instant::now() + pause >= deadline => return Err(problem),
            Err(Miss::Lost(_)) => known = true,
        }
        sleep(pause).await;
        pause = (pause * 2).min(PAUSE.1);
    }
}

async fn dial(
    agent: ExternalAgent,
    call: &[u8],
    data_dir: Option<&Path>,
    environment: &Environment,
    key: &str,
    deadline: Instant,
) -> Result<Answer, Miss> {
    let target = target(data_dir, environment).map_err(Miss::Refused)?;
    let elsewhere = !matches!(target, Target::Unix(_));
    let refused = |problem: Problem| {
        let hint = problem
            .hint
            .map(|hint| format!("; {hint}"))
            .unwrap_or_default();
        Miss::Refused(format!("{}{hint}", problem.detail))
    };
    let client = RemoteClient::new(target, Limits::default()).map_err(refused)?;
    let left = deadline.saturating_duration_since(Instant::now());
    let seconds = left.as_secs().max(1);
    let mut request = client
        .request(Method::POST, &format!("v1/gate/{agent}"), &[])
        .map_err(refused)?
        .header(CONTENT_TYPE, "application/json")
        .header("Idempotency-Key", key)
        .header("Prefer", format!("wait={seconds}"));
    if elsewhere && let Some(host) = host() {
        request = request.header("Leverframe-Host", host);
    }
    let sent = request.body(call.to_vec()).send().await;
    let response = sent.map_err(|error| {
        let problem = client.unreachable(&error);
        let hint = problem
            .hint
            .map(|hint| format!("; {hint}"))
            .unwrap_or_default();
        let words = format!("{}{hint}", problem.detail);
        if error.is_connect() {
            Miss::Away(words)
        } else if error.is_builder() {
            Miss::Refused(words)
        } else {
            Miss::Lost(words)
        }
    })?;
    let is_unavailable = response.status() == StatusCode::SERVICE_UNAVAILABLE;
    let accepted = client.accept(response).await;
    let mut response = accepted.map_err(|problem| {
        // It stops. The one that starts next knows the question.
        if is_unavailable && problem.kind == ProblemKind::Unavailable {
            Miss::Lost(problem.detail)
        } else {
            refused(problem)
        }
    })?;
    let (verdict, reason) = said(response.headers()).map_err(Miss::Refused)?;
    let mut body = Vec::new();
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(|error| Miss::Lost(error.to_string()))?
    {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_ANSWER {
            return Err(Miss::Refused(
                "the daemon's answer is longer than 1 MiB".to_owned(),
            ));
        }
    }
    // It goes on as it came: another text of the same numbers is another text.
    match (
        serde_json::from_slice::<Map<String, Value>>(&body),
        String::from_utf8(body),
    ) {
        (Ok(_), Ok(body)) => Ok(Answer {
            verdict,
            reason,
            body,
        }),
        _ => Err(Miss::Refused(
            "the daemon's answer is no JSON object".to_owned(),
        )),
    }
}

fn said(headers: &HeaderMap) -> Result<(GateVerdict, Option<String>), String> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let verdict = header("leverframe-verdict").and_then(|word| word.parse().ok());
    let verdict = verdict.ok_or("the daemon's answer has no verdict: update both")?;
    let reason = header("leverframe-reason")
        .map(|reason| percent_decode_str(reason).decode_utf8_lossy().into_owned())
        .filter(|reason| !reason.trim().is_empty());
    Ok((verdict, reason))
}

/// The daemon: that of `--data-dir`, else what the variable names, else that of the platform's data directory.
fn target(data_dir: Option<&Path>, environment: &Environment) -> Result<Target, String> {
    if let (None, Some(named)) = (data_dir, environment.get(VARIABLE)) {
        if named.starts_with("unix:") {
            return unix_target(named);
        }
        if named.contains("://") {
            return Err(format!(
                "{VARIABLE} holds an address that needs a token: name a file (mode 0600) with both on one line"
            ));
        }
        let line = read_private_file(Path::new(named)).map_err(|error| error.to_string())?;
        let mut words = line.expose().split_whitespace();
        let (address, token) = (words.next().unwrap_or_default(), words.next());
        return match (address.parse::<Address>(), token) {
            (Ok(Address::Http(base)), Some(token)) => {
                let (paths, _) =
                    locate(None, None, environment).map_err(|error| error.to_string())?;
                let known = KnownHosts::read(&paths.data_dir).map_err(|error| error.to_string())?;
                let pin = known.of(&base);
                let mut target = Target::of(base, token.to_owned());
                target.set_trust(Trust {
                    pin,
                    identity: None,
                });
                Ok(target)
            }
            (Ok(Address::Http(_)), None) => Err(format!("{named} has no token behind the address")),
            (Ok(Address::Unix(path)), _) => Ok(Target::Unix(path)),
            (Ok(Address::Ssh(_)), _) => Err(format!(
                "{named}: a hook opens no tunnel; name an https address"
            )),
            (Err(problem), _) => Err(format!("{named}: {problem}")),
        };
    }
    let (paths, _) = locate(None, data_dir, environment).map_err(|error| error.to_string())?;
    Ok(Target::Unix(connect::socket(&paths.data_dir)))
}

fn unix_target(address: &str) -> Result<Target, String> {
    match address.parse::<Address>() {
        Ok(Address::Unix(path)) => Ok(Target::Unix(path)),
        Ok(Address::Http(_) | Address::Ssh(_)) => Err(format!("{VARIABLE} names no socket")),
        Err(problem) => Err(format!("{VARIABLE}: {problem}")),
    }
}

/// The name of this machine, where it fits a header.
fn host() -> Option<String> {
    let name = rustix::system::uname();
    let name = name.nodename().to_str().ok()?.to_owned();
    let fits = |c: char| c.is_ascii_graphic();
    (!name.is_empty() && name.len() <= 253 && name.chars().all(fits)).then_some(name)
}
