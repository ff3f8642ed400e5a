//! Whether an app is set up as it must be: both tokens, scopes, Socket Mode, and who else listens.
//!
//! Reads only. The socket that it opens is closed as soon as it is ready; what Slack would give it comes again.

use serde_json::Value;

use crate::channels::fields::text_at;
use crate::channels::http::CallError;
use crate::channels::slack::api::Api;
use crate::channels::slack::manifest::{self, APPS, Scope};
use crate::channels::slack::receive::{self, SocketTimes, broken, others_hold};
use crate::protocol::doctor::Finding;
use crate::text::untrusted::limit_line;

/// What to do about a fault that may pass.
pub const PASSING: &str = "try again later; status.slack.com says whether Slack works";

/// Asks Slack. `own` = sockets that this process holds now.
pub async fn check(api: &Api, times: SocketTimes, own: u32) -> Vec<Finding> {
    let mut findings = Vec::new();
    let (me, app) = match api.whoami().await {
        Ok((me, scopes)) => {
            findings.push(known(&me));
            findings.extend(of_scopes(scopes.as_deref()));
            let app = app_of(api, &me).await;
            (Some(me), app)
        }
        Err(error) => {
            findings.push(broken(&error, "token").finding("bot token", Some(PASSING)));
            (None, None)
        }
    };
    findings.extend(of_socket(api, times, own, app.as_deref()).await);
    if me
        .as_ref()
        .is_some_and(|me| me["is_enterprise_install"] == true)
    {
        findings.push(Finding::warn(
            "installation",
            "the app is installed for a whole organisation",
            "install it for one workspace: the channel supports only one",
        ));
    }
    findings
}

fn known(me: &Value) -> Finding {
    let shown = |place: &str| limit_line(text_at(me, place).unwrap_or("?"), 60);
    Finding::ok(
        "bot token",
        format!(
            "the bot is @{} ({}) in the workspace {} ({})",
            shown("/user"),
            shown("/user_id"),
            shown("/team"),
            shown("/team_id")
        ),
    )
}

fn of_scopes(scopes: Option<&[String]>) -> Vec<Finding> {
    let Some(scopes) = scopes else {
        return vec![Finding::warn(
            "scopes",
            "Slack does not say which scopes the bot token has",
            format!("compare them at {APPS} → your app → OAuth & Permissions"),
        )];
    };
    let missing = manifest::missing(scopes);
    if missing.is_empty() {
        let all = manifest::SCOPES.len();
        return vec![Finding::ok(
            "scopes",
            format!("the bot token has all {all} scopes"),
        )];
    }
    missing.into_iter().map(without).collect()
}

fn without(scope: Scope) -> Finding {
    let finding = if scope.optional {
        Finding::warn
    } else {
        Finding::fail
    };
    finding(
        format!("scope {}", scope.name),
        format!("the bot token lacks {}: {}", scope.name, scope.without),
        format!(
            "add it at {APPS} → your app → OAuth & Permissions → Bot Token Scopes, then install the app again"
        ),
    )
}

/// The app that the bot token belongs to, where Slack tells.
async fn app_of(api: &Api, me: &Value) -> Option<String> {
    if let Some(app) = text_at(me, "/app_id") {
        return Some(app.to_owned());
    }
    let bot = text_at(me, "/bot_id")?;
    let said: Result<Value, CallError> = api.call_form("bots.info", &[("bot", bot)]).await;
    said.ok()
        .and_then(|said| text_at(&said, "/bot/app_id").map(str::to_owned))
}

async fn of_socket(api: &Api, times: SocketTimes, own: u32, bot_app: Option<&str>) -> Vec<Finding> {
    let opened = match receive::open(api, times).await {
        Ok(opened) => opened,
        Err(error) => return vec![error.finding("app token", Some(PASSING))],
    };
    let (connections, app) = (opened.connections, opened.app.clone());
    opened.close().await;
    let mut findings = vec![Finding::ok(
        "app token",
        "it opens connections, and Socket Mode is on",
    )];
    let others = connections.saturating_sub(own + 1);
    if others > 0 {
        findings.push(Finding::warn(
            "connections",
            others_hold(others),
            "stop other instances, or give each an app of its own; stale sockets close on their own",
        ));
    }
    if let (Some(of_socket), Some(of_bot)) = (app.as_deref(), bot_app)
        && of_socket != of_bot
    {
        findings.push(Finding::fail(
            "tokens",
            format!(
                "the tokens belong to two apps: `token` to {}, `app_token` to {}",
                limit_line(of_bot, 40),
                limit_line(of_socket, 40)
            ),
            format!("take both from the same app at {APPS}"),
        ));
    }
    findings
}
