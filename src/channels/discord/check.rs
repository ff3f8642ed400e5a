//! Whether an account is set up as it must be. It only reads.

use reqwest::Method;
use serde_json::Value;

use crate::channels::channel::ChannelError;
use crate::channels::discord::account::{application, introduce};
use crate::channels::discord::api::{Api, Route};
use crate::channels::discord::events::Me;
use crate::channels::discord::fields::{list, text};
use crate::channels::discord::gateway;
use crate::channels::discord::session::{self, INTENT_FIX, SERVERS_FIX};
use crate::channels::http::CallError;
use crate::protocol::doctor::{Finding, Standing};
use crate::text::untrusted::reveal_line;

/// Bits of `flags` that let an application read what people write: for large bots, and for all.
const MESSAGE_CONTENT: u64 = 1 << 18 | 1 << 19;
/// Fewer sessions than this are left for the day: something connects over and over.
const FEW_SESSIONS: u64 = 50;
const SESSIONS: &str = "gateway sessions";

/// Looks at everything that can be asked.
pub async fn run(api: &Api) -> Vec<Finding> {
    let me = match introduce(api).await {
        Ok(me) => me,
        Err(error) => return vec![failed("token", &gateway::broken(&error))],
    };
    let mut findings = vec![
        found(
            Standing::Ok,
            "token",
            format!("the bot is @{} ({})", reveal_line(&me.username), me.id),
            None,
        ),
        intent(api).await,
    ];
    findings.extend(connection(api).await);
    findings.extend([menu(api, &me).await, servers(api, &me).await]);
    findings
}

/// A fact that ends the check.
pub fn failed(about: &str, error: &ChannelError) -> Finding {
    let (detail, fix) = match error {
        ChannelError::Fatal { detail, fix } => (detail.clone(), fix.clone()),
        ChannelError::Transient { detail, .. } => (
            detail.clone(),
            "check the network, api_base and https://discordstatus.com, then test again".to_owned(),
        ),
    };
    found(Standing::Fail, about, detail, Some(fix))
}

async fn intent(api: &Api) -> Finding {
    const ABOUT: &str = "message content";
    match application(api).await {
        Err(error) => failed(ABOUT, &gateway::broken(&error)),
        Ok(application) => match application.get("flags").and_then(Value::as_u64) {
            Some(flags) if flags & MESSAGE_CONTENT != 0 => found(
                Standing::Ok,
                ABOUT,
                "the bot may read what people write".to_owned(),
                None,
            ),
            Some(_) => found(
                Standing::Fail,
                ABOUT,
                "the bot lacks the message content intent, so Discord refuses its connection (4014)"
                    .to_owned(),
                Some(INTENT_FIX.to_owned()),
            ),
            None => found(
                Standing::Warn,
                ABOUT,
                "Discord does not say whether the bot may read what people write".to_owned(),
                Some(INTENT_FIX.to_owned()),
            ),
        },
    }
}

/// What Discord says of connections: how many sessions may be begun, and how many shards it wants.
async fn connection(api: &Api) -> Vec<Finding> {
    let route = Route::new(Method::GET, "/gateway/bot", "GET gateway");
    let answer = match api.get(&route).await {
        Ok(answer) => answer,
        Err(error) => return vec![failed(SESSIONS, &gateway::broken(&error))],
    };
    let advice = session::shard_advice(&answer);
    let shards = advice.map(|advice| {
        let fix = Some(SERVERS_FIX.to_owned());
        found(Standing::Warn, "shards", advice, fix)
    });
    [sessions(&answer)].into_iter().chain(shards).collect()
}

fn sessions(answer: &Value) -> Finding {
    let number = |name: &str| {
        answer
            .pointer(&format!("/session_start_limit/{name}"))
            .and_then(Value::as_u64)
            .unwrap_or(0)
    };
    let (left, total) = (number("remaining"), number("total"));
    let detail = format!("{left} of {total} session starts are left today");
    if left >= FEW_SESSIONS {
        return found(Standing::Ok, SESSIONS, detail, None);
    }
    let hours = number("reset_after").div_ceil(3_600_000);
    let verdict = if left == 0 {
        Standing::Fail
    } else {
        Standing::Warn
    };
    let fix = format!(
        "look for another program that uses this token; Discord resets the count within {hours} h"
    );
    found(verdict, SESSIONS, detail, Some(fix))
}

async fn menu(api: &Api, me: &Me) -> Finding {
    const ABOUT: &str = "command menu";
    let path = format!("/applications/{}/commands", me.application);
    match api
        .get(&Route::new(Method::GET, path, "GET commands"))
        .await
    {
        Ok(commands) => {
            let count = list(&commands, "").len();
            found(
                Standing::Ok,
                ABOUT,
                format!("{count} commands are set; the channel sets its own when it connects"),
                None,
            )
        }
        Err(error @ CallError::Refused { .. }) => found(
            Standing::Warn,
            ABOUT,
            format!("the bot may not have a menu of commands: {error}"),
            Some("invite it again with the scopes `bot` and `applications.commands`".to_owned()),
        ),
        Err(error) => failed(ABOUT, &gateway::broken(&error)),
    }
}

async fn servers(api: &Api, me: &Me) -> Finding {
    const ABOUT: &str = "servers";
    let route = Route::new(Method::GET, "/users/@me/guilds?limit=200", "GET guilds");
    let servers = match api.get(&route).await {
        Ok(servers) => servers,
        Err(error) => return failed(ABOUT, &gateway::broken(&error)),
    };
    let names: Vec<&str> = list(&servers, "")
        .iter()
        .filter_map(|server| text(server, "/name"))
        .collect();
    if names.is_empty() {
        return found(
            Standing::Warn,
            ABOUT,
            "the bot is in no server, so nobody can write to it".to_owned(),
            Some(format!(
                "invite it: https://discord.com/oauth2/authorize?client_id={}&scope=bot+applications.commands&permissions=274878008320",
                me.application
            )),
        );
    }
    let shown: Vec<String> = names
        .iter()
        .take(5)
        .map(|name| reveal_line(name).into_owned())
        .collect();
    found(
        Standing::Ok,
        ABOUT,
        format!("{} servers: {}", names.len(), shown.join(", ")),
        None,
    )
}

fn found(verdict: Standing, about: &str, detail: String, fix: Option<String>) -> Finding {
    Finding {
        verdict,
        about: about.to_owned(),
        detail,
        fix,
    }
}
