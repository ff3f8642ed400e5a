//! Updates that Telegram sends to us: one after the other, each answered once it is durable.
//!
//! Nothing is taken from a request without the secret that we gave Telegram for it.

use std::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::channels::channel::ChannelError;
use crate::channels::http::CallError;
use crate::channels::telegram::api::Api;
use crate::channels::telegram::inbound::{self, ALLOWED_UPDATES, BatchProgress, Poller};
use crate::channels::telegram::position;
use crate::client::webhooks::{WEBHOOK_PATH, WebhookAnswer, WebhookRequest};
use crate::config::secret::Secret;
use crate::protocol::hex::{from_hex, hex};

/// Header that Telegram repeats our secret in.
const SECRET_HEADER: &str = "x-telegram-bot-api-secret-token";
/// What the secret is made from beside the token.
const PURPOSE: &[u8] = b"leverframe webhook of telegram";
/// Between two looks at what Telegram says of its deliveries: nothing else tells that it cannot reach us.
const LOOK: Duration = Duration::from_mins(1);

/// Where Telegram sends the updates of a channel.
pub fn address(base: &str, channel: &str) -> String {
    format!("{}{WEBHOOK_PATH}{channel}", base.trim_end_matches('/'))
}

/// The secret of a bot's requests: always the same for a token, and no way back to the token.
fn mac(token: &Secret) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(token.expose().as_bytes()).ok()?;
    mac.update(PURPOSE);
    Some(mac)
}

/// Tells Telegram where to send updates. One at a time, so that they keep their order.
///
/// # Errors
/// How the call ended.
pub async fn register(api: &Api, token: &Secret, address: &str) -> Result<(), CallError> {
    let secret = mac(token).map(|mac| hex(&mac.finalize().into_bytes()));
    let params = json!({
        "url": address,
        "secret_token": secret,
        "allowed_updates": ALLOWED_UPDATES,
        "max_connections": 1,
        "drop_pending_updates": false,
    });
    api.call("setWebhook", &params).await.map(|_| ())
}

/// Takes updates until `stop`.
pub async fn run(
    poller: &Poller,
    token: &Secret,
    cursor: Option<String>,
    mut requests: mpsc::Receiver<WebhookRequest>,
    stop: CancellationToken,
) -> Result<(), ChannelError> {
    let mut position = position::position(cursor.as_deref(), poller.me.id);
    let answers = TaskTracker::new();
    let mut looks = tokio::time::interval(LOOK);
    let mut ended = Ok(());
    loop {
        let request = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            request = requests.recv() => match request {
                Some(request) => request,
                // Another run of this channel took over.
                None => {
                    stop.cancelled().await;
                    break;
                }
            },
            _ = looks.tick() => {
                if let Err(error) = look(poller).await {
                    ended = Err(error);
                    break;
                }
                continue;
            }
        };
        let genuine = request
            .headers
            .get(SECRET_HEADER)
            .and_then(|given| from_hex::<32>(given))
            .zip(mac(token))
            .is_some_and(|(given, mac)| mac.verify_slice(&given).is_ok());
        let update = serde_json::from_slice::<Value>(&request.body).ok();
        let answer = match update {
            // Strangers knock at every public address: nothing of that is about the bot.
            _ if !genuine => {
                tracing::debug!("refused a request without Telegram's secret");
                answer(401)
            }
            // It would come again for ever.
            None => answer(200),
            Some(update) => {
                poller.health.received(1);
                match inbound::take_in(poller, &[update], &mut position, &answers).await {
                    BatchProgress::All | BatchProgress::NothingWithId => answer(200),
                    BatchProgress::NotAll(problem) => {
                        tracing::warn!(%problem, "cannot store an update; Telegram sends it again");
                        poller.health.cannot_store("Telegram", &problem);
                        answer(503)
                    }
                }
            }
        };
        drop(request.answer.send(answer));
    }
    answers.close();
    answers.wait().await;
    ended
}

/// Asks Telegram how its deliveries go. The error is for what no further try mends.
async fn look(poller: &Poller) -> Result<(), ChannelError> {
    let info = match poller.api.call("getWebhookInfo", &json!({})).await {
        Ok(info) => info,
        Err(error) => match inbound::broken(&error) {
            fatal @ ChannelError::Fatal { .. } => return Err(fatal),
            ChannelError::Transient { detail, .. } => {
                poller.health.receive_failing(detail);
                return Ok(());
            }
        },
    };
    let waiting = info["pending_update_count"].as_u64().unwrap_or(0);
    let error = info["last_error_message"].as_str();
    match error.filter(|_| waiting > 0) {
        Some(error) => poller.health.receive_failing(format!(
            "Telegram cannot deliver {waiting} updates: {}; check that webhook_url leads here over HTTPS",
            poller.api.scrub(error)
        )),
        None => poller.health.received(0),
    }
    Ok(())
}

fn answer(status: u16) -> WebhookAnswer {
    WebhookAnswer {
        status,
        retry_after: None,
        body: Value::Null,
    }
}
