//! The real daemon between a client, a chat platform and a tool; power is lost everywhere. What the outside saw is in
//! the same trace: answers and requests as bytes on sockets, the tool as a program that was started.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::power_loss::examine::{Found, scratch};
use crate::power_loss::replay::{Expectation, Outcome, Plan, Witness, replay};
use crate::power_loss::store_run::Recorded;
use crate::power_loss::trace::{Call, Reader, Scope};
use crate::power_loss::{seed, strace};
use crate::support::daemon::{Daemon, Home};
use crate::support::fake_telegram::FakeTelegram;
use crate::support::fake_telegram::state::User;
use crate::support::record::fact;

/// Asks for something that needs an approval.
const BEN: i64 = 100;
/// Owns the bot and is shown the cards.
const ANNA: i64 = 200;
const ASKED: &str = "TOOL:execute_command{\"argv\":[\"sh\",\"-c\",\"echo ran >> ledger.txt\"]}\nSAY:the command ran";
const ANSWER: &str = "the command ran";
const LEDGER: &str = "ledger.txt";

/// Something outside that cannot be taken back.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Seen {
    /// A client was told that its message is taken.
    Accepted(String),
    /// A client was told that an approval is decided.
    Decided(String),
    /// The platform was told that Ben's message arrived.
    Acknowledged,
    /// The platform was given a message of this class.
    Sent(&'static str),
    /// The command was started.
    Ran,
}

impl Seen {
    /// Why an image does not fit it.
    fn is_missing(&self, found: &Found) -> Option<String> {
        let rows = &found.rows;
        let holds = match self {
            Self::Accepted(id) => rows.continuations.iter().any(|(known, _)| known == id),
            Self::Decided(id) => rows
                .approvals
                .iter()
                .any(|(known, state)| known == id && state != "pending"),
            Self::Acknowledged => rows.continuations.iter().any(|(_, text)| text == ASKED),
            Self::Sent(class) => rows.begun.iter().any(|(known, text)| {
                known == class && (*class != "final" || text.ends_with(ANSWER))
            }),
            Self::Ran => {
                found.raw.attempts > 0
                    && rows.approvals.iter().any(|(_, state)| state == "consumed")
            }
        };
        (!holds).then(|| format!("{self:?} is not known any more"))
    }
}

/// What the outside saw so far.
struct Outside {
    /// Number of Ben's update on the platform.
    update: i64,
    /// Bytes of each connection that make no whole message yet.
    open: BTreeMap<String, Vec<u8>>,
    seen: BTreeSet<Seen>,
}

/// The first line and the body of a message, once it is whole; the bytes behind it stay.
fn message(bytes: &mut Vec<u8>) -> Option<(String, Value)> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let length: usize = head
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.trim().parse().ok())
        .unwrap_or(0);
    if bytes.len() < end + length {
        return None;
    }
    let body = serde_json::from_slice(&bytes[end..end + length]).unwrap_or(Value::Null);
    bytes.drain(..end + length);
    Some((head.lines().next().unwrap_or_default().to_owned(), body))
}

impl Outside {
    fn heard(&mut self, first: &str, body: &Value) -> Vec<Seen> {
        let mut seen = Vec::new();
        if first.starts_with("HTTP/1.1 2") {
            if let Some(id) = body["continuation_id"].as_str() {
                seen.push(Seen::Accepted(id.to_owned()));
            }
            if let (Some(id), Some(state)) = (body["id"].as_str(), body["state"].as_str())
                && id.starts_with("apr_")
                && state != "pending"
            {
                seen.push(Seen::Decided(id.to_owned()));
            }
        }
        if first.starts_with("POST /bot") {
            if first.contains("/getUpdates ")
                && body["offset"]
                    .as_i64()
                    .is_some_and(|offset| offset > self.update)
            {
                seen.push(Seen::Acknowledged);
            }
            if first.contains("/sendMessage ") {
                if body["text"]
                    .as_str()
                    .is_some_and(|text| text.contains(ANSWER) && !text.contains("TOOL"))
                {
                    seen.push(Seen::Sent("final"));
                } else if !body["reply_markup"].is_null() {
                    seen.push(Seen::Sent("approval_card"));
                }
            }
        }
        seen
    }
}

impl Witness for Outside {
    fn began(&mut self, call: &Call) -> bool {
        let before = self.seen.len();
        match call {
            Call::Send { socket, data } => {
                let mut bytes = self.open.remove(socket).unwrap_or_default();
                bytes.extend(data);
                while let Some((first, body)) = message(&mut bytes) {
                    let seen = self.heard(&first, &body);
                    self.seen.extend(seen);
                }
                self.open.insert(socket.clone(), bytes);
            }
            Call::Execute { arguments }
                if arguments.iter().any(|argument| argument.contains(LEDGER)) =>
            {
                self.seen.insert(Seen::Ran);
            }
            _ => {}
        }
        self.seen.len() > before
    }

    fn expects(&self) -> Expectation {
        let seen = self.seen.clone();
        Arc::new(move |found| {
            seen.iter()
                .filter_map(|seen| seen.is_missing(found))
                .collect()
        })
    }
}

/// The process that the tracer watches: it holds the lock of its data directory.
fn watched(home: &Home) -> rustix::process::Pid {
    let text = std::fs::read_to_string(home.data().join("leverframe.lock")).unwrap();
    let number = text.split_whitespace().nth(1).unwrap().parse().unwrap();
    rustix::process::Pid::from_raw(number).unwrap()
}

async fn one_of_everything(telegram: &FakeTelegram, daemon: &Daemon) {
    let session = daemon.session().await;
    let continuation = daemon.send(&session, "SAY:answered over HTTP").await;
    daemon.wait_state(&continuation, "completed").await;
    let approval = daemon.wait_approval().await;
    telegram.wait_blocking("the card in Anna's chat", |state| {
        state.messages.iter().any(|message| message.chat == ANNA)
    });
    let (status, body) = daemon.decide(&approval, "approve").await;
    assert_eq!(status, 200, "{body}");
    telegram.wait_blocking("the answer in the chat", |state| {
        state
            .messages
            .iter()
            .any(|message| message.chat == BEN && message.text.contains(ANSWER))
    });
    daemon
        .wait(
            "/v1/outbox?state=sent",
            "the answer recorded as sent",
            |body| body.to_string().contains(ANSWER),
        )
        .await;
}

/// One of everything, then power is lost everywhere; with what the outside saw.
async fn live(mutant: Option<&str>, plan: Plan) -> (Recorded, Outcome, BTreeSet<Seen>) {
    let telegram = FakeTelegram::start();
    let home = Home::new(&format!(
        "[model]\ndefault = \"scripted/demo\"\nallow_scripted_on_channels = true\n\n\
         [channels.team]\nkind = \"telegram\"\ntoken_env = \"TEAM_TOKEN\"\napi_base = \"{}\"\n\
         autonomy = \"semi_auto\"\nchat_max_risk = \"critical\"\nallowed_users = [\"{BEN}\"]\n\n\
         [people.anna]\nids = [\"telegram:{ANNA}\"]\nrole = \"owner\"\n",
        telegram.url()
    ));
    telegram.change(|state| state.know_chat(ANNA));
    telegram.user_says(BEN, &User::new(BEN, "Ben"), ASKED);
    let update = telegram.state().pending.back().expect("it waits").0;
    let token = telegram.state().token.clone();
    let dir = scratch();
    let trace = dir.path().join("daemon");
    let mut environment = vec![("TEAM_TOKEN", token.as_str())];
    if let Some(rule) = mutant {
        environment.push(("LEVERFRAME_MUTANT", rule));
    }
    let words = strace::words(&trace, &[]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut daemon = home.daemon_through(&words, &environment);
    one_of_everything(&telegram, &daemon).await;
    rustix::process::kill_process(watched(&home), rustix::process::Signal::TERM).unwrap();
    let status = daemon.wait_exit().expect("it ends after SIGTERM");
    assert!(status.success(), "{status}: {}", home.log());

    let text = std::fs::read_to_string(&trace).unwrap();
    let journal = dir.path().join("none");
    let inside = home.data();
    let scope = Scope {
        root: home.path(),
        inside: &inside,
        journal: &journal,
    };
    let mut reader = Reader::default();
    reader.process(&text, &scope).unwrap();
    let records = reader.finish(&scope).unwrap();
    let mut outside = Outside {
        update,
        open: BTreeMap::new(),
        seen: BTreeSet::new(),
    };
    let outcome = replay(&records, home.path(), Path::new("data"), &mut outside, plan);
    let seen = outside.seen;
    let recorded = Recorded {
        dir,
        root: home.path().to_owned(),
        journal,
        records,
        lives: Vec::new(),
    };
    (recorded, outcome, seen)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_outside_saw_survives_the_loss_of_power() {
    if !strace::available() {
        return;
    }
    let plan = Plan {
        seed: seed(),
        images: 100,
        one_is_enough: false,
    };
    let (recorded, outcome, seen) = live(None, plan).await;
    outcome.assert_sound(recorded);
    // Otherwise the trace was not understood, and nothing was compared.
    let is_seen = |wanted: fn(&Seen) -> bool| seen.iter().any(wanted);
    for (what, is_there) in [
        (
            "an accepted message",
            is_seen(|seen| matches!(seen, Seen::Accepted(_))),
        ),
        (
            "a decision",
            is_seen(|seen| matches!(seen, Seen::Decided(_))),
        ),
        (
            "an acknowledged update",
            is_seen(|seen| *seen == Seen::Acknowledged),
        ),
        (
            "a card",
            is_seen(|seen| *seen == Seen::Sent("approval_card")),
        ),
        ("an answer", is_seen(|seen| *seen == Seen::Sent("final"))),
        ("the command", is_seen(|seen| *seen == Seen::Ran)),
    ] {
        assert!(is_there, "the trace does not show {what}: {seen:?}");
    }
    fact(
        "power-loss",
        "daemon",
        &json!({
            "trace_calls": outcome.calls,
            "crash_points": outcome.points,
            "images": outcome.opened,
            "violations": outcome.violations.len(),
            "seen_outside": seen.len(),
        }),
    );
}

/// The same outside, with a daemon that answers before the sync: what it saw is missing in some image.
#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_answers_before_the_sync_is_caught() {
    if !strace::available() {
        return;
    }
    let plan = Plan {
        seed: seed(),
        images: 0,
        one_is_enough: true,
    };
    let (_recorded, outcome, _) = live(Some("fsync_before_effect"), plan).await;
    let first = outcome.violations.first().expect("a violation");
    assert!(first.1.contains("is not known any more"), "{}", first.1);
}
