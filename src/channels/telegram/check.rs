//! Whether a bot's account is set up as it must be. Nothing here changes anything at Telegram.

use serde_json::{Value, json};

use crate::channels::http::CallError;
use crate::channels::telegram::api::Api;
use crate::channels::telegram::webhook;
use crate::protocol::doctor::Finding;
use crate::text::untrusted::reveal_line;

/// What Telegram says of the bot `api` is for.
pub async fn findings(api: &Api, channel: &str, webhook_url: Option<&str>) -> Vec<Finding> {
    let me = match api.call("getMe", &json!({})).await {
        Ok(me) => me,
        Err(error) => return vec![token(&error)],
    };
    let name = me["username"].as_str().unwrap_or("?");
    let mut findings = vec![Finding::ok("token", format!("of @{}", reveal_line(name)))];
    let reads_all = me["can_read_all_group_messages"].as_bool().unwrap_or(false);
    findings.push(if reads_all {
        Finding::ok("groups", "the bot sees every message of its groups")
    } else {
        let fix = "to let it see every message of a group: @BotFather, /setprivacy, Disable";
        Finding {
            fix: Some(fix.to_owned()),
            ..Finding::ok(
                "groups",
                "privacy mode is on: the bot sees commands, mentions and replies",
            )
        }
    });
    if let Ok(info) = api.call("getWebhookInfo", &json!({})).await {
        findings.push(updates(api, &info, channel, webhook_url));
    }
    findings
}

fn token(error: &CallError) -> Finding {
    match error {
        CallError::Refused {
            code: 401 | 404, ..
        } => Finding::fail(
            "token",
            "Telegram does not know this bot token",
            "copy it from @BotFather, /mybots, API Token (and check api_base too, if you set it)",
        ),
        CallError::Refused { .. }
        | CallError::NotSent { .. }
        | CallError::Lost { .. }
        | CallError::Server { .. }
        | CallError::Limited { .. } => Finding::fail(
            "platform",
            error.to_string(),
            "check the network of this machine, and try again",
        ),
    }
}

/// Who gets the updates.
fn updates(api: &Api, info: &Value, channel: &str, webhook_url: Option<&str>) -> Finding {
    let set = info["url"].as_str().unwrap_or_default();
    let waiting = info["pending_update_count"].as_u64().unwrap_or(0);
    let wanted = webhook_url.map(|base| webhook::address(base, channel));
    let problem = info["last_error_message"].as_str();
    match (wanted, set) {
        (None, "") => Finding::ok("updates", format!("asked for; {waiting} wait")),
        (None, _) => Finding::warn(
            "updates",
            "a webhook is set, by another program or an earlier configuration",
            "the channel removes it at its start; stop the other program first",
        ),
        (Some(wanted), set) if wanted == set => match problem.filter(|_| waiting > 0) {
            None => Finding::ok("updates", format!("sent to {wanted}; {waiting} wait")),
            Some(problem) => Finding::fail(
                "updates",
                format!("Telegram cannot deliver {waiting}: {}", api.scrub(problem)),
                "check that webhook_url leads to this daemon over HTTPS",
            ),
        },
        (Some(wanted), _) => Finding::warn(
            "updates",
            format!("not yet sent to {wanted}"),
            "the channel tells Telegram when it starts",
        ),
    }
}
