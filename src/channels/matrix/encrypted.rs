//! Encrypted rooms: the bot tells each room once that it cannot read it. The homeserver keeps which rooms were told.

use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::channels::health::HealthLog;
use crate::channels::http::CallError;
use crate::channels::matrix::api::Api;
use crate::channels::matrix::content::{self, Kind};
use crate::protocol::hex::hex;

/// Where our account keeps that a room was told.
const TOLD: &str = "dev.leverframe.told";
/// What it is told.
const WORDS: &str =
    "I cannot read encrypted rooms. Please write to me in a room without encryption.";

/// Tells a room, unless it was told before. What goes wrong is tried again at the next message that cannot be read.
pub async fn tell(api: &Api, health: &HealthLog, user: &str, room: &str) {
    let told = tell_once(api, health, user, room).await;
    health.optional("the word to an encrypted room", &told);
}

async fn tell_once(api: &Api, health: &HealthLog, user: &str, room: &str) -> Result<(), CallError> {
    if api.account_data(user, Some(room), TOLD).await?.is_some() {
        return Ok(());
    }
    // The same key each time: after a crash before the mark, the server shows no second one.
    let key = hex(&Sha256::digest(format!("encrypted {room}")));
    let content = content::message(&content::markdown(WORDS), Kind::Notice);
    api.send(room, "m.room.message", &key, &content).await?;
    let note = format!("`{room}` is encrypted: the bot cannot read it, and said so there");
    health.note("an encrypted room", Some(note));
    let told = json!({ "encrypted": true });
    api.put_account_data(user, room, TOLD, &told).await
}
