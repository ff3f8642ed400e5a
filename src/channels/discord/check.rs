//! Whether an account is set up as it must be. It only reads.

use reqwest::Method;
use serde_json::Value;

use crate::channels::discord::account::{application, introduce};
use crate::channels::discord::api::{Api, Route};
use crate::channels::discord::events::Me;
use crate::channels::discord::gateway;
use crate::channels::discord::session::{self, INTENT_FIX, SERVERS_FIX};
use crate::channels::fields::{list_at, text_at};
use crate::channels::http::CallError;
use crate::protocol::doctor::Finding;
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
        Err(error) => return vec![failed("token", &error)],
    };
    let mut findings = vec![
        Finding::ok(
            "token",
            format!("the bot is @{} ({})", reveal_line(&me.username), me.id),
        ),
        intent(api).await,
    ];
    findings.extend(connection(api).await);
    findings.extend([menu(api, &me).await, servers(api, &me).await]);
    findings
}

/// What to do about a fault that may pass.
pub const PASSING: &str =
    "check the network, api_base and https://discordstatus.com, then test again";

/// A call that ends the check.
fn failed(about: &str, error: &CallError) -> Finding {
    gateway::broken(error).finding(about, Some(PASSING))
}

async fn intent(api: &Api) -> Finding {
    const ABOUT: &str = "message content";
    match application(api).await {
        Err(error) => failed(ABOUT, &error),
        Ok(application) => match application["flags"].as_u64() {
            Some(flags) if flags & MESSAGE_CONTENT != 0 => {
                Finding::ok(ABOUT, "the bot may read what people write")
            }
            Some(_) => Finding::fail(
                ABOUT,
                "the bot lacks the message content intent, so Discord refuses its connection (4014)",
                INTENT_FIX,
            ),
            None => Finding::warn(
                ABOUT,
                "Discord does not say whether the bot may read what people write",
                INTENT_FIX,
            ),
        },
    }
}

/// What Discord says of connections: how many sessions may be begun, and how many shards it wants.
async fn connection(api: &Api) -> Vec<Finding> {
    let route = Route::new(Method::GET, "/gateway/bot", "GET gateway");
    let answer = match api.get(&route).await {
        Ok(answer) => answer,
        Err(error) => return vec![failed(SESSIONS, &error)],
    };
    let shards =
        session::shard_advice(&answer).map(|advice| Finding::warn("shards", advice, SERVERS_FIX));
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
        return Finding::ok(SESSIONS, detail);
    }
    let hours = number("reset_after").div_ceil(3_600_000);
    let fix = format!(
        "look for another program that uses this token; Discord resets the count within {hours} h"
    );
    if left == 0 {
        Finding::fail(SESSIONS, detail, fix)
    } else {
        Finding::warn(SESSIONS, detail, fix)
    }
}

async fn menu(api: &Api, me: &Me) -> Finding {
    const ABOUT: &str = "command menu";
    let path = format!("/applications/{}/commands", me.application);
    match api
        .get(&Route::new(Method::GET, path, "GET commands"))
        .await
    {
        Ok(commands) => {
            let count = list_at(&commands, "").len();
            Finding::ok(
                ABOUT,
                format!("{count} commands are set; the channel sets its own when it connects"),
            )
        }
        Err(error @ CallError::Refused { .. }) => Finding::warn(
            ABOUT,
            format!("the bot may not have a menu of commands: {error}"),
            "invite it again with the scopes `bot` and `applications.commands`",
        ),
        Err(error) => failed(ABOUT, &error),
    }
}

async fn servers(api: &Api, me: &Me) -> Finding {
    const ABOUT: &str = "servers";
    let route = Route::new(Method::GET, "/users/@me/guilds?limit=200", "GET guilds");
    let servers = match api.get(&route).await {
        Ok(servers) => servers,
        Err(error) => return failed(ABOUT, &error),
    };
    let names: Vec<&str> = list_at(&servers, "")
        .iter()
        .filter_map(|server| text_at(server, "/name"))
        .collect();
    if names.is_empty() {
        return Finding::warn(
            ABOUT,
            "the bot is in no server, so nobody can write to it",
            format!(
                "invite it: https://discord.com/oauth2/authorize?client_id={}&scope=bot+applications.commands&permissions=274878008320",
                me.application
            ),
        );
    }
    let shown: Vec<String> = names
        .iter()
        .take(5)
        .map(|name| reveal_line(name).into_owned())
        .collect();
    Finding::ok(
        ABOUT,
        format!("{} servers: {}", names.len(), shown.join(", ")),
    )
}
