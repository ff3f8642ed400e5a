//! A bot, people, a system that takes webhooks, and a server of ntfy.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::stories::bot;
use crate::support::daemon::{DEADLINE, Daemon, Home};
use crate::support::fake_http::{FakeHttp, Reply, Request};
use crate::support::fake_telegram::FakeTelegram;

/// Chats: whoever asks, and those who decide.
pub const ASKS: i64 = 100;
pub const ANNA: i64 = 200;
pub const CLEO: i64 = 300;

/// The secret of the webhook channel.
pub const SECRET: &str = "a secret of forty-two characters, at least";

/// A bot whose questions go to anna at first; these are the steps. `hours` are lines of cleo.
pub fn home(telegram: &FakeTelegram, steps: &str, hours: &str, more: &str) -> Home {
    bot::home(
        telegram,
        "allowed_users = [\"100\"]\napproval_to = [\"anna\"]\nescalation = \"night\"",
        &format!(
            "[people.anna]\nids = [\"telegram:{ANNA}\"]\nrole = \"owner\"\n\n\
             [people.cleo]\nids = [\"telegram:{CLEO}\"]\nrole = \"approver\"\n{hours}\n\n\
             [escalation.night]\nsteps = [{steps}]\n{more}\n"
        ),
    )
}

pub fn start(home: &Home, telegram: &FakeTelegram, environment: &[(&str, &str)]) -> Daemon {
    let mut all = vec![("PAGER_SECRET", SECRET)];
    all.extend(environment);
    bot::start(home, telegram, &[ASKS, ANNA, CLEO], &all)
}

/// What a server got: key, headers and body of each request.
pub type Got = Arc<Mutex<Vec<Request>>>;

/// A server that answers with these, then with success.
pub fn server(answers: Vec<Reply>) -> (FakeHttp, Got) {
    let got: Got = Arc::default();
    let (seen, answers) = (Arc::clone(&got), Mutex::new(answers));
    let http = FakeHttp::start(move |request: &Request| {
        seen.lock().unwrap().push(request.clone());
        let mut answers = answers.lock().unwrap();
        if answers.is_empty() {
            Reply::Json(200, json!({}))
        } else {
            answers.remove(0)
        }
    });
    (http, got)
}

/// Waits until a server got something of this kind; all that it got.
pub async fn until(got: &Got, what: &str, is_it: impl Fn(&[Request]) -> bool) -> Vec<Request> {
    let end = Instant::now() + DEADLINE;
    loop {
        let all = got.lock().unwrap().clone();
        if is_it(&all) {
            return all;
        }
        assert!(Instant::now() < end, "no {what}: {all:#?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The approval once its escalation is so.
pub async fn escalated(
    daemon: &Daemon,
    id: &Value,
    what: &str,
    is_it: impl Fn(&Value) -> bool,
) -> Value {
    let path = format!("/v1/approvals/{}", id.as_str().unwrap());
    daemon
        .wait(&path, what, |approval| is_it(&approval["escalation"]))
        .await
}

/// The outcomes of the steps so far.
pub fn outcomes(escalation: &Value) -> Vec<&str> {
    let steps = escalation["steps"].as_array().into_iter().flatten();
    steps
        .map(|step| step["outcome"].as_str().unwrap())
        .collect()
}
