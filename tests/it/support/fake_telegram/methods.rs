//! The methods of the Bot API that the fake has, as strict as the real ones.

use serde_json::{Map, Value, json};

use crate::support::fake_telegram::html;
use crate::support::fake_telegram::http::Request;
use crate::support::fake_telegram::state::{BotMessage, State};

/// A refusal: code, description, `parameters`.
pub type Refusal = (u16, String, Option<Value>);

/// Largest file that bots can download.
const LARGEST_DOWNLOAD: usize = 20 * 1024 * 1024;

fn bad(description: impl Into<String>) -> Refusal {
    (400, format!("Bad Request: {}", description.into()), None)
}

/// The parameters each method has. Anything else is a mistake of the client.
fn known(method: &str) -> Option<&'static [&'static str]> {
    Some(match method {
        "getMe" => &[],
        "getFile" => &["file_id"],
        "deleteWebhook" => &["drop_pending_updates"],
        "setWebhook" => &[
            "url",
            "secret_token",
            "allowed_updates",
            "max_connections",
            "drop_pending_updates",
        ],
        "getWebhookInfo" => &[],
        "setMyCommands" => &["commands", "scope", "language_code"],
        "getUpdates" => &["offset", "limit", "timeout", "allowed_updates"],
        "sendMessage" => &[
            "chat_id",
            "message_thread_id",
            "text",
            "parse_mode",
            "entities",
            "link_preview_options",
            "disable_notification",
            "protect_content",
            "reply_parameters",
            "reply_markup",
        ],
        "editMessageText" => &[
            "chat_id",
            "message_id",
            "text",
            "parse_mode",
            "entities",
            "link_preview_options",
            "reply_markup",
        ],
        "answerCallbackQuery" => &[
            "callback_query_id",
            "text",
            "show_alert",
            "url",
            "cache_time",
        ],
        "sendChatAction" => &["chat_id", "message_thread_id", "action"],
        "deleteMessage" => &["chat_id", "message_id"],
        "sendDocument" => &[
            "chat_id",
            "message_thread_id",
            "reply_parameters",
            "document",
            "document.name",
        ],
        "sendPhoto" => &[
            "chat_id",
            "message_thread_id",
            "reply_parameters",
            "photo",
            "photo.name",
        ],
        "sendVoice" => &[
            "chat_id",
            "message_thread_id",
            "reply_parameters",
            "voice",
            "voice.name",
        ],
        _ => return None,
    })
}

/// Whether the method exists, noting what no correct client asks.
pub fn check(state: &mut State, method: &str, request: &Request) -> Result<(), Refusal> {
    let Some(names) = known(method) else {
        state.violations.push(format!("unknown method {method}"));
        return Err((404, "Not Found".to_owned(), None));
    };
    for name in request.params.keys() {
        if !names.contains(&name.as_str()) {
            state
                .violations
                .push(format!("{method}: unknown parameter {name}"));
        }
    }
    Ok(())
}

/// Everything but `getUpdates`, which waits.
pub fn call(state: &mut State, method: &str, request: &Request) -> Result<Value, Refusal> {
    let params = Params { request, method };
    match method {
        "getMe" => Ok(json!({
            "id": state.bot_id, "is_bot": true, "first_name": "Lever", "username": state.username,
            "can_join_groups": true, "can_read_all_group_messages": false,
            "supports_inline_queries": false, "can_connect_to_business": false,
            "has_main_web_app": false,
        })),
        "getFile" => {
            let id = params.text(state, "file_id")?.unwrap_or_default();
            let Some(content) = state.files.get(&id) else {
                return Err(bad("wrong file_id or the file is temporarily unavailable"));
            };
            if content.len() > LARGEST_DOWNLOAD {
                return Err(bad("file is too big"));
            }
            Ok(json!({
                "file_id": id, "file_unique_id": format!("u{id}"), "file_size": content.len(),
                "file_path": format!("documents/{id}.bin"),
            }))
        }
        "deleteWebhook" => {
            if params.flag(state, "drop_pending_updates")? == Some(true) {
                state.pending.clear();
            }
            state.webhook = None;
            Ok(json!(true))
        }
        "setWebhook" => {
            let url = params.text(state, "url")?.unwrap_or_default();
            if !url.starts_with("https://") {
                return Err(bad(
                    "bad webhook: an HTTPS URL must be provided for webhook",
                ));
            }
            state.webhook_secret = params.text(state, "secret_token")?;
            state.webhook = Some(url);
            Ok(json!(true))
        }
        "getWebhookInfo" => Ok(json!({
            "url": state.webhook.clone().unwrap_or_default(),
            "has_custom_certificate": false,
            "pending_update_count": state.pending.len(),
        })),
        "setMyCommands" => set_my_commands(state, &params),
        "sendMessage" => send_message(state, &params),
        "sendDocument" => send_file(state, &params, "document"),
        "sendPhoto" => send_file(state, &params, "photo"),
        "sendVoice" => send_file(state, &params, "voice"),
        "editMessageText" => edit_message_text(state, &params),
        "deleteMessage" => delete_message(state, &params),
        "answerCallbackQuery" => answer_callback_query(state, &params),
        "sendChatAction" => {
            let chat = params.chat(state)?;
            state.reachable(chat)?;
            const ACTIONS: &[&str] = &[
                "typing",
                "upload_photo",
                "record_video",
                "upload_video",
                "record_voice",
                "upload_voice",
                "upload_document",
                "choose_sticker",
                "find_location",
            ];
            let action = params.text(state, "action")?;
            if !action.is_some_and(|action| ACTIONS.contains(&action.as_str())) {
                return Err(bad("wrong parameter action in request"));
            }
            Ok(json!(true))
        }
        _ => Err((404, "Not Found".to_owned(), None)),
    }
}

/// The message shows the kind, the name and the content of the file.
fn send_file(state: &mut State, params: &Params<'_>, field: &str) -> Result<Value, Refusal> {
    let chat = params.chat(state)?;
    state.reachable(chat)?;
    let content = params.text(state, field)?.unwrap_or_default();
    let name = params.text(state, &format!("{field}.name"))?;
    let Some(name) = name.filter(|_| !content.is_empty()) else {
        return Err(bad("there is no file in the request"));
    };
    let message = BotMessage {
        chat,
        message_id: state.next_message_id(chat),
        thread: params.int(state, "message_thread_id")?,
        text: format!("<{field} {name}: {content}>"),
        entities: Vec::new(),
        keyboard: Vec::new(),
        reply_to: None,
        edits: 0,
    };
    let shown = state.message_json(&message);
    state.messages.push(message);
    Ok(shown)
}

fn set_my_commands(state: &mut State, params: &Params<'_>) -> Result<Value, Refusal> {
    let Some(Value::Array(commands)) = params.json(state, "commands")? else {
        return Err(bad("parameter \"commands\" is required"));
    };
    if commands.len() > 100 {
        return Err(bad("BOT_COMMANDS_TOO_MUCH"));
    }
    for command in &commands {
        let name = command["command"].as_str().unwrap_or_default();
        let good = (1..=32).contains(&name.len())
            && name
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        if !good {
            return Err(bad("BOT_COMMAND_INVALID"));
        }
        let description = command["description"].as_str().unwrap_or_default();
        if !(1..=256).contains(&description.chars().count()) {
            return Err(bad("BOT_COMMAND_DESCRIPTION_INVALID"));
        }
    }
    state.commands = commands;
    Ok(json!(true))
}

fn send_message(state: &mut State, params: &Params<'_>) -> Result<Value, Refusal> {
    let chat = params.chat(state)?;
    state.reachable(chat)?;
    let thread = params.int(state, "message_thread_id")?;
    if let Some(thread) = thread
        && !state.topics.contains(&(chat, thread))
    {
        return Err(bad("message thread not found"));
    }
    let (text, entities) = content(state, params)?;
    params.check_preview(state)?;
    let keyboard = keyboard(state, params)?;
    let mut reply_to = None;
    if let Some(reply) = params.json(state, "reply_parameters")? {
        let Some(id) = reply["message_id"].as_i64() else {
            return Err(bad("can't parse reply parameters: message_id is required"));
        };
        if state.has_message(chat, id) {
            reply_to = Some(id);
        } else if reply["allow_sending_without_reply"] != json!(true) {
            return Err(bad("message to be replied not found"));
        }
    }
    let message_id = state.next_message_id(chat);
    let message = BotMessage {
        chat,
        message_id,
        thread,
        text,
        entities,
        keyboard,
        reply_to,
        edits: 0,
    };
    let shown = state.message_json(&message);
    state.messages.push(message);
    Ok(shown)
}

fn edit_message_text(state: &mut State, params: &Params<'_>) -> Result<Value, Refusal> {
    let chat = params.chat(state)?;
    state.reachable(chat)?;
    let message_id = params
        .int(state, "message_id")?
        .ok_or_else(|| bad("message identifier is not specified"))?;
    let (text, entities) = content(state, params)?;
    params.check_preview(state)?;
    let keyboard = keyboard(state, params)?;
    let Some(at) = state
        .messages
        .iter()
        .position(|message| message.chat == chat && message.message_id == message_id)
    else {
        return Err(if state.has_message(chat, message_id) {
            bad("message can't be edited")
        } else {
            bad("message to edit not found")
        });
    };
    let message = &mut state.messages[at];
    if message.text == text && message.entities == entities && message.keyboard == keyboard {
        return Err(bad(
            "message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message",
        ));
    }
    message.text = text;
    message.entities = entities;
    message.keyboard = keyboard;
    message.edits += 1;
    let message = message.clone();
    Ok(state.message_json(&message))
}

fn delete_message(state: &mut State, params: &Params<'_>) -> Result<Value, Refusal> {
    let chat = params.chat(state)?;
    state.reachable(chat)?;
    let message_id = params
        .int(state, "message_id")?
        .ok_or_else(|| bad("message identifier is not specified"))?;
    let before = state.messages.len();
    state
        .messages
        .retain(|message| message.chat != chat || message.message_id != message_id);
    if state.messages.len() == before {
        return Err(bad("message to delete not found"));
    }
    Ok(json!(true))
}

fn answer_callback_query(state: &mut State, params: &Params<'_>) -> Result<Value, Refusal> {
    let id = params.text(state, "callback_query_id")?.unwrap_or_default();
    if params
        .text(state, "text")?
        .is_some_and(|text| text.chars().count() > 200)
    {
        return Err(bad("MESSAGE_TOO_LONG"));
    }
    if !state.open_callbacks.remove(&id) {
        return Err(bad(
            "query is too old and response timeout expired or query ID is invalid",
        ));
    }
    Ok(json!(true))
}

/// Text and entities of a send or an edit, checked.
fn content(state: &mut State, params: &Params<'_>) -> Result<(String, Vec<Value>), Refusal> {
    let text = params.text(state, "text")?.unwrap_or_default();
    let (text, entities) = match params.text(state, "parse_mode")?.as_deref() {
        None => (text, Vec::new()),
        Some("HTML") => {
            let parsed = html::parse(&text)
                .map_err(|error| bad(format!("can't parse entities: {error}")))?;
            (parsed.text, parsed.entities)
        }
        Some(_) => return Err(bad("unsupported parse_mode")),
    };
    if text.trim().is_empty() {
        return Err(bad("message text is empty"));
    }
    if text.encode_utf16().count() > 4096 {
        return Err(bad("message is too long"));
    }
    Ok((text, entities))
}

fn keyboard(state: &mut State, params: &Params<'_>) -> Result<Vec<Vec<Value>>, Refusal> {
    let Some(markup) = params.json(state, "reply_markup")? else {
        return Ok(Vec::new());
    };
    let Some(rows) = markup["inline_keyboard"].as_array() else {
        return Err(bad("object expected as reply markup"));
    };
    let mut keyboard = Vec::new();
    for row in rows {
        let Some(buttons) = row.as_array() else {
            return Err(bad("can't parse inline keyboard: Array of Arrays expected"));
        };
        for button in buttons {
            if button["text"].as_str().is_none_or(str::is_empty) {
                return Err(bad("can't parse inline keyboard button: Text is required"));
            }
            match (&button["callback_data"], &button["url"]) {
                (Value::String(data), _) if (1..=64).contains(&data.len()) => {}
                (Value::String(_), _) => return Err(bad("BUTTON_DATA_INVALID")),
                (_, Value::String(_)) => {}
                _ => {
                    return Err(bad(
                        "can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard",
                    ));
                }
            }
        }
        if !buttons.is_empty() {
            keyboard.push(buttons.clone());
        }
    }
    Ok(keyboard)
}

/// Typed access. JSON bodies need the right JSON types; forms carry everything as text.
pub struct Params<'a> {
    pub request: &'a Request,
    pub method: &'a str,
}

impl Params<'_> {
    fn wrong(&self, state: &mut State, name: &str) -> Refusal {
        state
            .violations
            .push(format!("{}: {name} has the wrong type", self.method));
        bad(format!("field \"{name}\" must be of another type"))
    }

    fn given(&self) -> &Map<String, Value> {
        &self.request.params
    }

    pub fn int(&self, state: &mut State, name: &str) -> Result<Option<i64>, Refusal> {
        match self.given().get(name) {
            None => Ok(None),
            Some(Value::String(text)) if self.request.textual => {
                text.parse().map(Some).map_err(|_| self.wrong(state, name))
            }
            Some(value) => value
                .as_i64()
                .map(Some)
                .ok_or_else(|| self.wrong(state, name)),
        }
    }

    fn flag(&self, state: &mut State, name: &str) -> Result<Option<bool>, Refusal> {
        match self.given().get(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(Value::String(text)) if self.request.textual => text
                .to_lowercase()
                .parse()
                .map(Some)
                .map_err(|_| self.wrong(state, name)),
            Some(_) => Err(self.wrong(state, name)),
        }
    }

    fn text(&self, state: &mut State, name: &str) -> Result<Option<String>, Refusal> {
        match self.given().get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(self.wrong(state, name)),
        }
    }

    pub fn json(&self, state: &mut State, name: &str) -> Result<Option<Value>, Refusal> {
        match self.given().get(name) {
            None => Ok(None),
            Some(Value::String(text)) if self.request.textual => serde_json::from_str(text)
                .map(Some)
                .map_err(|_| self.wrong(state, name)),
            Some(value @ (Value::Object(_) | Value::Array(_))) => Ok(Some(value.clone())),
            Some(_) => Err(self.wrong(state, name)),
        }
    }

    fn chat(&self, state: &mut State) -> Result<i64, Refusal> {
        self.int(state, "chat_id")?
            .ok_or_else(|| bad("chat_id is empty"))
    }

    fn check_preview(&self, state: &mut State) -> Result<(), Refusal> {
        match self.json(state, "link_preview_options")? {
            None | Some(Value::Object(_)) => Ok(()),
            Some(_) => Err(self.wrong(state, "link_preview_options")),
        }
    }
}
