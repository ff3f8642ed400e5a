//! Whether a bot's account is set up as it must be. Nothing here changes anything at Telegram.

use serde_json::{Value, json};

use crate::channels::channel::ChannelError;
use crate::channels::http::CallError;
use crate::channels::telegram::api::Api;
use crate::channels::telegram::webhook;
use crate::protocol::doctor::{Finding, Standing};
use crate::text::untrusted::reveal_line;

/// A finding for what ends a bridge.
pub fn failure(about: &str, error: &ChannelError) -> Finding {
    let (detail, fix) = match error {
        ChannelError::Fatal { detail, fix } => (detail.clone(), Some(fix.clone())),
        ChannelError::Transient { detail, .. } => (detail.clone(), None),
    };
    Finding {
        verdict: Standing::Fail,
        about: about.to_owned(),
        detail,
        fix,
    }
}

/// What Telegram says of the bot `api` is for.
pub async fn findings(api: &Api, channel: &str, webhook_url: Option<&str>) -> Vec<Finding> {
    let me = match api.call("getMe", &json!({})).await {
        Ok(me) => me,
        Err(error) => return vec![token(&error)],
    };
    let name = me.get("username").and_then(Value::as_str).unwrap_or("?");
    let mut findings = vec![finding(
        Standing::Ok,
        "token",
        format!("of @{}", reveal_line(name)),
        None,
    )];
    let reads_all = me
        .get("can_read_all_group_messages")
        .and_then(Value::as_bool)
        .unwrap_or(false);
    findings.push(if reads_all {
        finding(
            Standing::Ok,
            "groups",
            "the bot sees every message of its groups".to_owned(),
            None,
        )
    } else {
        finding(
            Standing::Ok,
            "groups",
            "privacy mode is on: the bot sees commands, mentions and replies".to_owned(),
            Some("to let it see every message of a group: @BotFather, /setprivacy, Disable"),
        )
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
        } => finding(
            Standing::Fail,
            "token",
            "Telegram does not know this bot token".to_owned(),
            Some(
                "copy it from @BotFather, /mybots, API Token (and check api_base too, if you set it)",
            ),
        ),
        CallError::Refused { .. }
        | CallError::NotSent { .. }
        | CallError::Lost { .. }
        | CallError::Server { .. }
        | CallError::Limited { .. } => finding(
            Standing::Fail,
            "platform",
            error.to_string(),
            Some("check the network of this machine, and try again"),
        ),
    }
}

/// Who gets the updates.
fn updates(api: &Api, info: &Value, channel: &str, webhook_url: Option<&str>) -> Finding {
    let set = info.get("url").and_then(Value::as_str).unwrap_or_default();
    let waiting = info
        .get("pending_update_count")
        .and_then(Value::as_u64)
        .unwrap_or(0);
    let wanted = webhook_url.map(|base| webhook::address(base, channel));
    let problem = info.get("last_error_message").and_then(Value::as_str);
    match (wanted, set) {
        (None, "") => finding(
            Standing::Ok,
            "updates",
            format!("asked for; {waiting} wait"),
            None,
        ),
        (None, _) => finding(
            Standing::Warn,
            "updates",
            "a webhook is set, by another program or an earlier configuration".to_owned(),
            Some("the channel removes it at its start; stop the other program first"),
        ),
        (Some(wanted), set) if wanted == set => match problem.filter(|_| waiting > 0) {
            None => finding(
                Standing::Ok,
                "updates",
                format!("sent to {wanted}; {waiting} wait"),
                None,
            ),
            Some(problem) => finding(
                Standing::Fail,
                "updates",
                format!("Telegram cannot deliver {waiting}: {}", api.scrub(problem)),
                Some("check that webhook_url leads to this daemon over HTTPS"),
            ),
        },
        (Some(wanted), _) => finding(
            Standing::Warn,
            "updates",
            format!("not yet sent to {wanted}"),
            Some("the channel tells Telegram when it starts"),
        ),
    }
}

fn finding(verdict: Standing, about: &str, detail: String, fix: Option<&str>) -> Finding {
    Finding {
        verdict,
        about: about.to_owned(),
        detail,
        fix: fix.map(str::to_owned),
    }
}
