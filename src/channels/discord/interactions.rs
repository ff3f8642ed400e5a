//! The menu of commands, and answers to buttons and commands within three seconds.
//!
//! An answer is decorative: no answer is given before its action is durable.

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};

use crate::channels::discord::api::{Api, Route};
use crate::channels::discord::events::Interaction;
use crate::channels::discord::limits::UNBOUND;
use crate::channels::discord::render::{MAX_MESSAGE, SUPPRESS_EMBEDS};
use crate::channels::health::HealthLog;
use crate::channels::http::CallError;
use crate::protocol::slash::SlashCommand;
use crate::text::discord::escaped;

/// Longest description of a command, in characters.
const MAX_DESCRIPTION: usize = 100;
/// The name of what follows a command.
const ARGUMENT: &str = "text";
/// `flags` of a message that only one person sees.
const EPHEMERAL: u64 = 1 << 6;
/// Answer with a message; and say that the message with the button changes later.
const WITH_MESSAGE: u8 = 4;
const DEFERRED_UPDATE: u8 = 6;

/// The menu of commands.
pub fn menu() -> Value {
    SlashCommand::ALL
        .iter()
        .map(|command| {
            let description = |text: &str| text.chars().take(MAX_DESCRIPTION).collect::<String>();
            let options = match command.arguments() {
                "" => json!([]),
                arguments => json!([{
                    "type": 3, "name": ARGUMENT, "description": description(arguments),
                    "required": !arguments.starts_with('['),
                }]),
            };
            json!({
                "type": 1,
                "name": command.as_str(),
                "description": description(command.summary()),
                "options": options,
            })
        })
        .collect()
}

/// Sets the menu of commands.
pub async fn set_menu(api: &Api, application: u64) -> Result<Value, CallError> {
    let path = format!("/applications/{application}/commands");
    let route = Route::new(Method::PUT, path, "PUT commands");
    api.call(&route, &menu()).await
}

/// Answers an interaction. `feedback`: a few words for whoever did it.
pub async fn answer(
    api: Api,
    health: Arc<HealthLog>,
    interaction: Interaction,
    feedback: Option<String>,
) {
    let words = match (&interaction.command, feedback) {
        (_, Some(feedback)) => Some(feedback),
        // What it leads to comes as a message.
        (Some(command), None) => Some(command.clone()),
        (None, None) => None,
    };
    let body = match words {
        Some(words) => json!({ "type": WITH_MESSAGE, "data": {
            "content": escaped(&words).chars().take(MAX_MESSAGE).collect::<String>(),
            "flags": EPHEMERAL | SUPPRESS_EMBEDS,
            "allowed_mentions": { "parse": [] },
        } }),
        None => json!({ "type": DEFERRED_UPDATE }),
    };
    let path = format!(
        "/interactions/{}/{}/callback",
        interaction.id, interaction.token
    );
    let route = Route::new(Method::POST, path, UNBOUND).about(interaction.id);
    match api.call(&route, &body).await {
        Err(error @ CallError::Refused { .. }) => {
            // Too late: an answer all the same.
            tracing::debug!(%error, "answered an interaction too late");
        }
        answer => health.optional("the answer to a click", &answer),
    }
}
