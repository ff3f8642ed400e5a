//! The methods of the Web API that the bridge calls, as strict as the real ones.

use serde_json::{Value, json};

use crate::support::fake_slack::BOT;
use crate::support::fake_slack::http::Request;
use crate::support::fake_slack::message::{Channel, File};
use crate::support::fake_slack::state::State;

/// Methods that take a form only, beside those that take JSON too.
const FORM_ONLY: &[&str] = &[
    "conversations.history",
    "conversations.replies",
    "conversations.info",
    "users.info",
    "files.info",
    "bots.info",
];

/// Parameters that a method knows.
const KNOWN: &[(&str, &[&str])] = &[
    ("api.test", &[]),
    ("auth.test", &[]),
    ("apps.connections.open", &[]),
    (
        "assistant.threads.setStatus",
        &["channel_id", "thread_ts", "status"],
    ),
    ("bots.info", &["bot"]),
    ("chat.delete", &["channel", "ts"]),
    (
        "chat.postEphemeral",
        &["channel", "user", "text", "thread_ts"],
    ),
    (
        "chat.postMessage",
        &[
            "channel",
            "text",
            "blocks",
            "thread_ts",
            "metadata",
            "unfurl_links",
            "unfurl_media",
            "parse",
            "link_names",
        ],
    ),
    (
        "chat.update",
        &[
            "channel",
            "ts",
            "text",
            "blocks",
            "metadata",
            "parse",
            "link_names",
        ],
    ),
    (
        "conversations.history",
        &[
            "channel",
            "oldest",
            "latest",
            "limit",
            "cursor",
            "include_all_metadata",
            "inclusive",
        ],
    ),
    ("conversations.info", &["channel"]),
    ("conversations.open", &["users"]),
    (
        "conversations.replies",
        &[
            "channel",
            "ts",
            "oldest",
            "latest",
            "limit",
            "cursor",
            "include_all_metadata",
        ],
    ),
    ("files.info", &["file"]),
    ("files.getUploadURLExternal", &["filename", "length"]),
    (
        "files.completeUploadExternal",
        &["files", "channel_id", "thread_ts", "blocks"],
    ),
    ("users.info", &["user"]),
];

fn word(word: &str) -> Value {
    json!({ "error": word })
}

/// Carries a call out, or says why not.
pub fn call(
    state: &mut State,
    method: &str,
    request: &Request,
    params: &Value,
) -> Result<Value, Value> {
    let Some((_, known)) = KNOWN.iter().find(|(name, _)| *name == method) else {
        return Err(word("unknown_method"));
    };
    if request.method != "POST" {
        state
            .violations
            .push(format!("{method} by {}", request.method));
    }
    if request.is_json() && FORM_ONLY.contains(&method) {
        state.violations.push(format!("{method} takes no JSON"));
        return Err(word("invalid_arguments"));
    }
    for name in params.as_object().unwrap().keys() {
        if !known.contains(&name.as_str()) {
            state.violations.push(format!("{method} knows no `{name}`"));
        }
    }
    let given = request
        .header("authorization")
        .and_then(|value| value.strip_prefix("Bearer "))
        .unwrap_or_default();
    if method == "apps.connections.open" {
        return open_connection(state, given);
    }
    if given != state.bot_token {
        return Err(word(if given.starts_with("xapp-") {
            "not_allowed_token_type"
        } else {
            "invalid_auth"
        }));
    }
    needs(state, method, params)?;
    carry_out(state, method, params)
}

fn open_connection(state: &mut State, given: &str) -> Result<Value, Value> {
    if given != state.app_token {
        return Err(word(if given == state.bot_token {
            "not_allowed_token_type"
        } else {
            "invalid_auth"
        }));
    }
    if !state
        .app_scopes
        .iter()
        .any(|scope| scope == "connections:write")
    {
        return Err(
            json!({ "error": "missing_scope", "needed": "connections:write", "provided": "" }),
        );
    }
    let ticket = format!("ticket-{}", state.number());
    let url = format!("ws://{}/link?ticket={ticket}&app_id=A0001", state.address);
    state.tickets.insert(ticket);
    Ok(json!({ "url": url }))
}

/// Refuses a call for which a scope is missing.
fn needs(state: &State, method: &str, params: &Value) -> Result<(), Value> {
    let channel = params["channel"].as_str().unwrap_or_default();
    let scope = match method {
        "chat.postMessage"
        | "chat.update"
        | "chat.delete"
        | "chat.postEphemeral"
        | "assistant.threads.setStatus" => "chat:write",
        "conversations.history" | "conversations.replies" if channel.starts_with('D') => {
            "im:history"
        }
        "conversations.history" | "conversations.replies" => "channels:history",
        "conversations.info" if channel.starts_with('D') => "im:read",
        "conversations.info" => "channels:read",
        "conversations.open" => "im:write",
        "users.info" | "bots.info" => "users:read",
        "files.info" => "files:read",
        "files.getUploadURLExternal" | "files.completeUploadExternal" => "files:write",
        _ => return Ok(()),
    };
    if state.has_scope(scope) {
        return Ok(());
    }
    Err(json!({ "error": "missing_scope", "needed": scope, "provided": state.scopes.join(",") }))
}

fn carry_out(state: &mut State, method: &str, params: &Value) -> Result<Value, Value> {
    let text = |name: &str| params[name].as_str().unwrap_or_default().to_owned();
    match method {
        "api.test" => Ok(json!({})),
        "auth.test" => Ok(json!({
            "url": "https://test.slack.com/", "team": "Test", "user": "lever", "team_id": "T0001",
            "user_id": BOT, "bot_id": "B0BOT", "is_enterprise_install": false,
        })),
        "bots.info" => Ok(json!({ "bot": { "id": "B0BOT", "app_id": "A0001", "name": "lever" } })),
        "users.info" => {
            let name = state
                .users
                .get(&text("user"))
                .ok_or(word("user_not_found"))?;
            Ok(
                json!({ "user": { "id": text("user"), "name": name.to_lowercase(), "is_bot": false,
                "profile": { "display_name": name, "real_name": name } } }),
            )
        }
        "conversations.info" => {
            let channel = state
                .channels
                .get(&text("channel"))
                .ok_or(word("channel_not_found"))?;
            Ok(json!({ "channel": { "id": text("channel"), "name": channel.name } }))
        }
        "conversations.open" => {
            let user = text("users");
            if !state.users.contains_key(&user) {
                return Err(word("user_not_found"));
            }
            let direct = state
                .directs
                .entry(user.clone())
                .or_insert_with(|| format!("D{user}"))
                .clone();
            let channel = Channel {
                name: String::new(),
                joined: true,
                archived: false,
            };
            state.channels.entry(direct.clone()).or_insert(channel);
            Ok(json!({ "channel": { "id": direct } }))
        }
        "chat.postMessage" => {
            let channel = writable(state, &text("channel"))?;
            check_message(state, params, 40_000)?;
            let mut message = json!({ "text": params["text"] });
            for field in ["blocks", "thread_ts", "metadata"] {
                if !params[field].is_null() {
                    message[field] = params[field].clone();
                }
            }
            let ts = state.bot_writes(&channel, message.clone());
            Ok(json!({ "channel": channel, "ts": ts, "message": message }))
        }
        "chat.postEphemeral" => {
            let channel = writable(state, &text("channel"))?;
            state.ephemeral.push((channel, text("user"), text("text")));
            Ok(json!({ "message_ts": "1.000000" }))
        }
        "chat.update" => {
            let channel = writable(state, &text("channel"))?;
            check_message(state, params, 4_000)?;
            let message = state
                .message_mut(&channel, &text("ts"))
                .ok_or(word("message_not_found"))?;
            if message["user"] != BOT {
                return Err(word("cant_update_message"));
            }
            message["text"] = params["text"].clone();
            message["blocks"] = params["blocks"].clone();
            message["metadata"] = params["metadata"].clone();
            message["edits"] = json!(message["edits"].as_u64().unwrap_or(0) + 1);
            let changed = message.clone();
            state.push_event(&json!({
                "type": "message", "subtype": "message_changed", "channel": channel, "hidden": true,
                "message": changed, "ts": "1.000000", "event_ts": "1.000000",
            }));
            Ok(json!({ "channel": channel, "ts": text("ts") }))
        }
        "chat.delete" => {
            let channel = writable(state, &text("channel"))?;
            let before = state.messages.len();
            state.messages.retain(|(place, message)| {
                *place != channel || message["ts"] != params["ts"] || message["user"] != BOT
            });
            if state.messages.len() == before {
                return Err(word("message_not_found"));
            }
            Ok(json!({}))
        }
        "conversations.history" | "conversations.replies" => history(state, params),
        "assistant.threads.setStatus" => {
            state.statuses.push((text("channel_id"), text("thread_ts")));
            Ok(json!({}))
        }
        "files.info" => {
            let file = state
                .file_json(&text("file"))
                .ok_or(word("file_not_found"))?;
            Ok(json!({ "file": file }))
        }
        "files.getUploadURLExternal" => {
            let length: usize = match params["length"].as_str().map(str::parse) {
                Some(Ok(length)) if length > 0 => length,
                _ => return Err(word("invalid_arguments")),
            };
            let id = format!("F{}", state.number());
            state
                .uploads
                .insert(id.clone(), (text("filename"), length, None));
            let url = format!("http://{}/upload/{id}", state.address);
            Ok(json!({ "upload_url": url, "file_id": id }))
        }
        "files.completeUploadExternal" => complete_upload(state, params),
        _ => Err(word("unknown_method")),
    }
}

/// The channel, if the bot may write there. A user stands for nothing here: Slack takes one only for new messages.
fn writable(state: &State, channel: &str) -> Result<String, Value> {
    match state.channels.get(channel) {
        None => Err(word("channel_not_found")),
        Some(found) if found.archived => Err(word("is_archived")),
        Some(found) if !found.joined => Err(word("not_in_channel")),
        Some(_) => Ok(channel.to_owned()),
    }
}

fn check_message(state: &mut State, params: &Value, max_text: usize) -> Result<(), Value> {
    let text = params["text"].as_str().unwrap_or_default();
    let blocks = params["blocks"].as_array().cloned().unwrap_or_default();
    if text.is_empty() && blocks.is_empty() {
        return Err(word("no_text"));
    }
    if text.chars().count() > max_text {
        return Err(word("msg_too_long"));
    }
    if blocks.is_empty() && text.chars().count() > 4_000 {
        state
            .violations
            .push("a message that Slack would cut in two".to_owned());
    }
    let all = format!("{text}{}", json!(blocks));
    if all.contains("<!") || all.contains("<@") || all.contains("<#") {
        state
            .violations
            .push(format!("a message that mentions: {all}"));
    }
    if params["parse"] != "none" || params["link_names"] != false {
        state
            .violations
            .push("a message whose names Slack would look for".to_owned());
    }
    let metadata = &params["metadata"];
    if metadata["event_type"].as_str().is_none() || !metadata["event_payload"].is_object() {
        state
            .violations
            .push("a message without metadata".to_owned());
    }
    check_blocks(&blocks)
}

fn check_blocks(blocks: &[Value]) -> Result<(), Value> {
    let invalid = |what: &str| json!({ "error": "invalid_blocks", "response_metadata": { "messages": [format!("[ERROR] {what}")] } });
    if blocks.len() > 50 {
        return Err(invalid("no more than 50 items allowed"));
    }
    if json!(blocks).to_string().chars().count() > 13_200 {
        return Err(word("msg_blocks_too_long"));
    }
    for block in blocks {
        let text = block["text"]["text"].as_str().unwrap_or_default();
        match block["type"].as_str() {
            Some("section") if text.is_empty() || text.chars().count() > 3_000 => {
                return Err(invalid("must be less than 3001 characters"));
            }
            Some("section") => {}
            Some("actions") => {
                let elements = block["elements"].as_array().cloned().unwrap_or_default();
                let mut ids: Vec<&str> = elements
                    .iter()
                    .map(|one| one["action_id"].as_str().unwrap_or_default())
                    .collect();
                ids.sort_unstable();
                ids.dedup();
                if elements.is_empty() || elements.len() > 25 || ids.len() != elements.len() {
                    return Err(invalid("elements"));
                }
                for one in &elements {
                    let length =
                        |value: &Value| value.as_str().map_or(0, |text| text.chars().count());
                    if !(1..=75).contains(&length(&one["text"]["text"]))
                        || one["text"]["type"] != "plain_text"
                        || !(1..=255).contains(&length(&one["action_id"]))
                        || length(&one["value"]) > 2_000
                    {
                        return Err(invalid("a button"));
                    }
                }
            }
            _ => return Err(invalid("unsupported type")),
        }
    }
    Ok(())
}

/// Messages of a channel, the newest first; of a thread, the oldest first, behind the one that began it.
fn history(state: &State, params: &Value) -> Result<Value, Value> {
    let channel = params["channel"].as_str().unwrap_or_default();
    match state.channels.get(channel) {
        None => return Err(word("channel_not_found")),
        Some(found) if !found.joined => return Err(word("not_in_channel")),
        Some(_) => {}
    }
    let number = |text: &str| text.replace('.', "").parse::<u64>().unwrap_or(0);
    let oldest = params["oldest"].as_str().map_or(0, number);
    let latest = params["latest"].as_str().map_or(u64::MAX, number);
    let inclusive = matches!(params["inclusive"].as_str(), Some("true" | "1"));
    let thread = params["ts"].as_str();
    let mut found: Vec<&Value> = state
        .messages
        .iter()
        .filter(|(place, _)| place == channel)
        .map(|(_, message)| message)
        .filter(|message| {
            let root = message["thread_ts"]
                .as_str()
                .filter(|root| message["ts"] != **root);
            match thread {
                Some(thread) => root == Some(thread) || message["ts"] == thread,
                None => root.is_none() || message["subtype"] == "thread_broadcast",
            }
        })
        .filter(|message| {
            let at = number(message["ts"].as_str().unwrap());
            thread.is_some_and(|thread| message["ts"] == thread)
                || at > oldest && (at < latest || inclusive && at == latest)
        })
        .collect();
    if thread.is_some() && found.is_empty() {
        return Err(word("thread_not_found"));
    }
    if thread.is_none() {
        found.reverse();
    }
    let asked = matches!(params["include_all_metadata"].as_str(), Some("true" | "1"));
    let all_metadata = asked && !state.hides_metadata;
    let limit = params["limit"]
        .as_str()
        .and_then(|text| text.parse().ok())
        .unwrap_or(100);
    let size = state.page.min(limit);
    let from: usize = params["cursor"]
        .as_str()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    let threads = state.threads(channel);
    let page = found.iter().skip(from).take(size).map(|message| {
        let mut shown = (*message).clone();
        if !all_metadata {
            shown.as_object_mut().unwrap().remove("metadata");
        }
        if let Some((count, newest)) = message["ts"].as_str().and_then(|ts| threads.get(ts)) {
            shown["thread_ts"] = message["ts"].clone();
            shown["reply_count"] = json!(count);
            shown["latest_reply"] = json!(newest);
        }
        shown
    });
    let page: Vec<Value> = page.collect();
    let more = from + size < found.len();
    let next = if more {
        (from + size).to_string()
    } else {
        String::new()
    };
    Ok(json!({ "messages": page, "has_more": more, "response_metadata": { "next_cursor": next } }))
}

fn complete_upload(state: &mut State, params: &Value) -> Result<Value, Value> {
    let channel = writable(state, params["channel_id"].as_str().unwrap_or_default())?;
    check_blocks(params["blocks"].as_array().map_or(&[][..], Vec::as_slice))?;
    let mut shared = Vec::new();
    for file in params["files"].as_array().into_iter().flatten() {
        let id = file["id"].as_str().unwrap_or_default().to_owned();
        let Some((name, _, Some(content))) = state.uploads.remove(&id) else {
            return Err(word("file_not_found"));
        };
        let kept = File {
            name,
            media_type: "application/octet-stream".to_owned(),
            content,
        };
        state.files.insert(id.clone(), kept);
        shared.push(state.file_json(&id).unwrap());
    }
    let mut message = json!({ "text": "", "files": shared, "blocks": params["blocks"] });
    if !params["thread_ts"].is_null() {
        message["thread_ts"] = params["thread_ts"].clone();
    }
    state.bot_writes(&channel, message);
    Ok(json!({ "files": shared }))
}
