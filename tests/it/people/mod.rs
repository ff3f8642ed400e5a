//! Who may do what: named tokens, people on every surface, and who decides.

// Helpers of a suite fail the test by panicking.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod approvers;
mod console;
mod surfaces;
mod tokens;
mod two_people;
mod who_decides;

use std::process::Output;

use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Home, client};

/// Anna is an owner and the user who runs the tests, Ben approves, Cleo only talks.
pub fn people() -> String {
    let uid = rustix::process::getuid().as_raw();
    format!(
        "[people.anna]\nids = [\"telegram:200\", \"unix:{uid}\"]\nrole = \"owner\"\n\n\
         [people.ben]\nids = [\"telegram:300\"]\nrole = \"approver\"\n\n\
         [people.cleo]\nids = [\"telegram:100\"]\nrole = \"user\"\n\n"
    )
}

/// A command of the binary in this home.
pub fn run(home: &Home, words: &[&str]) -> Output {
    home.command().args(words).output().expect("it runs")
}

/// A token of these scopes, made on the command line.
pub fn token(home: &Home, name: &str, more: &[&str]) -> String {
    let output = run(home, &[&["token", "create", name][..], more].concat());
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A request with a token: the status and the answer.
pub async fn with(
    daemon: &Daemon,
    token: &str,
    method: &str,
    path: &str,
    body: Option<Value>,
) -> (u16, Value) {
    let method = method.parse().unwrap();
    let mut request = client()
        .request(method, format!("{}{path}", daemon.base))
        .bearer_auth(token);
    if let Some(body) = body {
        request = request.json(&body);
    }
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let text = response.text().await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or(Value::Null))
}

/// Decides over HTTP with a token.
pub async fn decides(
    daemon: &Daemon,
    token: &str,
    approval: &Value,
    decision: &str,
) -> (u16, Value) {
    let path = format!(
        "/v1/approvals/{}/decision",
        approval["id"].as_str().unwrap()
    );
    let body = json!({ "decision": decision, "digest": approval["digest"] });
    with(daemon, token, "POST", &path, Some(body)).await
}

/// Rows of the audit with this action, the newest first.
pub async fn audit(daemon: &Daemon, action: &str) -> Vec<Value> {
    let rows = daemon.get(&format!("/v1/audit?action={action}")).await;
    rows["items"].as_array().unwrap().clone()
}
