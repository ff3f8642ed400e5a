//! The calls of the REST interface: what the real servers accept, and what they refuse in their words.

use std::time::Instant;

use serde_json::{Value, json};

use crate::support::fake_discord::http::{Request, refusal};
use crate::support::fake_discord::state::{GUILD, State};

/// Longest text of a message, in code points; of one that is made of components.
const MAX_CONTENT: usize = 2_000;
const MAX_COMPONENTS_TEXT: usize = 4_000;
const OF_COMPONENTS: u64 = 1 << 15;
/// What a message may have.
const FIELDS: &[&str] = &[
    "content",
    "nonce",
    "enforce_nonce",
    "flags",
    "allowed_mentions",
    "message_reference",
    "components",
    "attachments",
    "tts",
    "embeds",
    "embed",
    "sticker_ids",
];

/// A status, further headers and a body.
pub type Answer = (u16, Vec<(String, String)>, Value);

/// The name of a call, for faults and the ledger.
pub fn route(request: &Request) -> &'static str {
    let path: Vec<&str> = request.path.split('/').skip(3).collect();
    match (request.method.as_str(), path.as_slice()) {
        ("GET", ["users", "@me"]) => "me",
        ("GET", ["users", "@me", "guilds"]) => "guilds",
        ("POST", ["users", "@me", "channels"]) => "direct",
        ("GET", ["applications", "@me"] | ["oauth2", "applications", "@me"]) => "application",
        ("GET", ["gateway", "bot"]) => "gateway",
        ("GET" | "PUT", ["applications", _, "commands"]) => "commands",
        ("POST", ["channels", _, "messages"]) => "send",
        ("GET", ["channels", _, "messages"]) => "history",
        ("GET", ["channels", _, "messages", _]) => "message",
        ("PATCH", ["channels", _, "messages", _]) => "edit",
        ("DELETE", ["channels", _, "messages", _]) => "delete",
        ("POST", ["channels", _, "typing"]) => "typing",
        ("GET", ["channels", _]) => "channel",
        ("POST", ["interactions", _, _, "callback"]) => "callback",
        ("GET", ["guilds", _, "channels"]) => "channels",
        ("GET", ["guilds", _, "threads", "active"]) => "threads",
        _ => "unknown",
    }
}

/// Carries a call out.
pub fn call(state: &mut State, request: &Request) -> Answer {
    if !request.path.starts_with("/api/v10/") {
        return plain(404, refusal(0, "404: Not Found"));
    }
    let route = route(request);
    // The token of an interaction is in its path, and whoever has it is asked for nothing more.
    if route != "callback" && !request.user_agent.starts_with("DiscordBot (") {
        let said = format!("{} without the user agent of a bot", request.path);
        state.violations.push(said);
    }
    if route != "callback" && request.authorization != format!("Bot {}", state.token) {
        return plain(401, refusal(0, "401: Unauthorized"));
    }
    if request.is_malformed {
        return plain(
            400,
            refusal(50_109, "The request body contains invalid JSON."),
        );
    }
    let ids: Vec<u64> = request
        .path
        .split('/')
        .filter_map(|part| part.parse().ok())
        .collect();
    let (first, second) = (ids.first().copied(), ids.get(1).copied());
    match route {
        "me" => plain(200, state.bot.json()),
        "guilds" => servers(state, &request.query),
        "application" => {
            let flags = if state.message_content { 1 << 19 } else { 0 };
            plain(
                200,
                json!({
                    "id": state.application.to_string(), "name": "Lever", "flags": flags, "description": "",
                    "icon": null, "bot_public": true, "bot_require_code_grant": false, "verify_key": "00",
                    "owner": state.bot.json(), "team": null, "summary": "",
                }),
            )
        }
        "direct" => {
            let person = request.body["recipient_id"]
                .as_str()
                .and_then(|id| id.parse().ok());
            match person.filter(|person| state.people.contains(person)) {
                Some(person) => {
                    let channel = State::direct_of(person);
                    state.know_direct(channel);
                    plain(
                        200,
                        json!({ "id": channel.to_string(), "type": 1, "recipients": [] }),
                    )
                }
                None => plain(400, refusal(50_033, "Invalid Recipient(s)")),
            }
        }
        "gateway" => plain(
            200,
            json!({
                "url": state.url.replace("http://", "ws://"), "shards": state.shards,
                "session_start_limit": {
                    "total": 1000, "remaining": state.starts_left, "reset_after": state.starts_reset_ms,
                    "max_concurrency": 1,
                },
            }),
        ),
        "commands" if request.method == "PUT" => set_commands(state, &request.body),
        "commands" => plain(200, json!(state.commands)),
        "channels" if first != Some(GUILD) => plain(200, json!([])),
        "channels" => plain(200, json!(state.guild_channels())),
        "threads" => plain(200, json!({ "threads": [], "members": [] })),
        "callback" => callback(state, request, first.unwrap_or(0)),
        "unknown" => {
            let said = format!("{} {} is not known here", request.method, request.path);
            state.violations.push(said);
            plain(404, refusal(0, "404: Not Found"))
        }
        _ => {
            let channel = first.unwrap_or(0);
            let Some((name, in_server)) = state.channels.get(&channel).cloned() else {
                return plain(404, refusal(10_003, "Unknown Channel"));
            };
            match route {
                "channel" => plain(
                    200,
                    json!({ "id": channel.to_string(), "type": u8::from(!in_server), "name": name }),
                ),
                "typing" => plain(204, Value::Null),
                "send" => send(state, channel, request),
                "history" if state.broken == Some(channel) => plain(500, Value::Null),
                "history" => history(state, channel, &request.query),
                _ => message(state, channel, second.unwrap_or(0), request, route),
            }
        }
    }
}

fn plain(status: u16, body: Value) -> Answer {
    (status, Vec::new(), body)
}

fn invalid(field: &str, words: &str) -> Value {
    let mut errors = json!({ "_errors": [{ "code": "INVALID", "message": words }] });
    for name in field.rsplit('.') {
        errors = json!({ name: errors });
    }
    json!({ "code": 50_035, "message": "Invalid Form Body", "errors": errors })
}

/// What is wrong with a message.
fn wrong(state: &mut State, body: &Value, has_files: bool, is_new: bool) -> Option<Value> {
    for name in body
        .as_object()
        .into_iter()
        .flat_map(|fields| fields.keys())
    {
        if !FIELDS.contains(&name.as_str()) {
            state
                .violations
                .push(format!("a message with the field {name}"));
        }
    }
    let content = body["content"].as_str().unwrap_or_default();
    if content.chars().count() > MAX_CONTENT {
        return Some(invalid("content", "Must be 2000 or fewer in length."));
    }
    let nonce = &body["nonce"];
    if nonce.as_str().is_some_and(|nonce| nonce.len() > 25) {
        return Some(invalid("nonce", "Must be 25 or fewer in length."));
    }
    let components = body["components"].as_array().cloned().unwrap_or_default();
    if body["flags"].as_u64().unwrap_or(0) & OF_COMPONENTS != 0 {
        if !content.is_empty() || body.get("embeds").is_some() {
            return Some(invalid(
                "content",
                "The 'content' field cannot be used when using MessageFlags.IS_COMPONENTS_V2",
            ));
        }
        let of_text = components.iter().filter(|one| one["type"] == 10);
        let length: usize = of_text
            .map(|one| {
                one["content"]
                    .as_str()
                    .map_or(0, |text| text.chars().count())
            })
            .sum();
        if components.is_empty() || length == 0 {
            return Some(refusal(50_006, "Cannot send an empty message"));
        }
        if length > MAX_COMPONENTS_TEXT {
            return Some(invalid(
                "components",
                "The maximum total content size is 4000",
            ));
        }
    } else {
        if components.iter().any(|one| one["type"] != 1) {
            return Some(invalid(
                "components.0",
                "Value of field \"type\" must be one of (1,).",
            ));
        }
        if is_new && content.trim().is_empty() && !has_files && body.get("embeds").is_none() {
            return Some(refusal(50_006, "Cannot send an empty message"));
        }
    }
    let rows: Vec<&Value> = components.iter().filter(|one| one["type"] == 1).collect();
    if rows.len() > 5 {
        return Some(invalid("components", "Must be 5 or fewer in length."));
    }
    for row in rows {
        let buttons = row["components"].as_array().cloned().unwrap_or_default();
        if !(1..=5).contains(&buttons.len()) {
            return Some(invalid(
                "components.0.components",
                "Must be between 1 and 5 in length.",
            ));
        }
        for button in buttons {
            let length = |name: &str| button[name].as_str().map_or(0, |text| text.chars().count());
            if !(1..=100).contains(&length("custom_id")) {
                return Some(invalid(
                    "components.0.components.0.custom_id",
                    "Must be between 1 and 100 in length.",
                ));
            }
            if length("label") > 80 {
                return Some(invalid(
                    "components.0.components.0.label",
                    "Must be 80 or fewer in length.",
                ));
            }
        }
    }
    None
}

fn send(state: &mut State, channel: u64, request: &Request) -> Answer {
    let (most, window) = state.send_limit;
    let now = Instant::now();
    let sends = state.sends.entry(channel).or_default();
    while sends
        .front()
        .is_some_and(|at| now.duration_since(*at) >= window)
    {
        sends.pop_front();
    }
    let reset = sends.front().map_or(window, |first| {
        window.saturating_sub(now.duration_since(*first))
    });
    let is_over = sends.len() >= most as usize;
    if !is_over {
        sends.push_back(now);
    }
    let left = most as usize - sends.len();
    let headers = vec![
        ("X-RateLimit-Limit".to_owned(), most.to_string()),
        ("X-RateLimit-Remaining".to_owned(), left.to_string()),
        (
            "X-RateLimit-Reset-After".to_owned(),
            format!("{:.3}", reset.as_secs_f64()),
        ),
        (
            "X-RateLimit-Bucket".to_owned(),
            "80c17d2f203122d936070c88c8d10f33".to_owned(),
        ),
    ];
    if is_over {
        let body = json!({
            "message": "You are being rate limited.", "retry_after": reset.as_secs_f64(), "global": false,
        });
        return (429, headers, body);
    }
    let body = &request.body;
    if let Some(wrong) = wrong(state, body, !request.files.is_empty(), true) {
        return (400, headers, wrong);
    }
    let nonce = body["nonce"]
        .as_str()
        .map(str::to_owned)
        .or_else(|| body["nonce"].as_u64().map(|nonce| nonce.to_string()));
    let is_enforced = body["enforce_nonce"] == true;
    if let Some(nonce) = nonce.as_ref().filter(|_| is_enforced)
        && let Some(known) = state.nonces.get(nonce)
        && let Some(message) = state.messages.iter().find(|message| message.id == *known)
    {
        return (200, headers, message.json.clone());
    }
    let mut extra = json!({ "content": body["content"].as_str().unwrap_or_default() });
    extra["components"] = body.get("components").cloned().unwrap_or(json!([]));
    extra["flags"] = json!(body["flags"].as_u64().unwrap_or(0));
    if let Some(nonce) = &nonce {
        extra["nonce"] = json!(nonce);
    }
    let reference = &body["message_reference"]["message_id"];
    if !reference.is_null() {
        let wanted = reference.to_string().replace('"', "");
        let answered = state
            .messages
            .iter()
            .find(|message| message.id.to_string() == wanted && message.channel == channel);
        match answered {
            Some(answered) => {
                extra["type"] = json!(19);
                extra["message_reference"] =
                    json!({ "type": 0, "message_id": wanted, "channel_id": channel.to_string() });
                extra["referenced_message"] = answered.json.clone();
            }
            None if body["message_reference"]["fail_if_not_exists"] == false => {}
            None => {
                let wrong = invalid("message_reference", "Unknown message");
                return (400, headers, wrong);
            }
        }
    }
    let files: Vec<Value> = request
        .files
        .iter()
        .map(|(name, content)| {
            let id = state.next_id();
            state.files.insert(id, content.clone());
            json!({ "id": id.to_string(), "filename": name, "size": content.len(), "url": format!("{}/cdn/{id}", state.url), "proxy_url": "" })
        })
        .collect();
    extra["attachments"] = json!(files);
    let bot = state.bot.clone();
    let message = state.message(channel, &bot, &extra);
    if let Some(nonce) = nonce {
        state.nonces.insert(nonce, message.id);
    }
    let event = state.event_of(&message);
    state.push("MESSAGE_CREATE", &event);
    (200, headers, message.json)
}

/// A number of a query.
fn number(query: &str, name: &str) -> Option<u64> {
    query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .find(|(given, _)| *given == name)
        .and_then(|(_, value)| value.parse().ok())
}

fn servers(state: &State, query: &str) -> Answer {
    let limit = number(query, "limit").unwrap_or(200).min(200) as usize;
    let after = number(query, "after").unwrap_or(0);
    let found: Vec<Value> = (GUILD - state.empty_servers..=GUILD)
        .filter(|id| *id > after)
        .take(limit.min(state.servers_page))
        .map(|id| json!({ "id": id.to_string(), "name": "Test server" }))
        .collect();
    plain(200, json!(found))
}

fn history(state: &State, channel: u64, query: &str) -> Answer {
    let limit = number(query, "limit").unwrap_or(50).min(100) as usize;
    let after = number(query, "after").unwrap_or(0);
    let mut found: Vec<Value> = state
        .messages
        .iter()
        .filter(|message| message.channel == channel && message.id > after && !message.deleted)
        .take(limit)
        .map(|message| message.json.clone())
        .collect();
    // The newest first.
    found.reverse();
    plain(200, json!(found))
}

fn message(state: &mut State, channel: u64, id: u64, request: &Request, route: &str) -> Answer {
    let find = |state: &State| {
        state
            .messages
            .iter()
            .position(|message| message.id == id && message.channel == channel && !message.deleted)
    };
    let Some(at) = find(state) else {
        return plain(404, refusal(10_008, "Unknown Message"));
    };
    match route {
        "message" => plain(200, state.messages[at].json.clone()),
        "delete" => {
            state.messages[at].deleted = true;
            let mut event = json!({ "id": id.to_string(), "channel_id": channel.to_string() });
            if !state.is_direct(channel) {
                event["guild_id"] = json!(GUILD.to_string());
            }
            state.push("MESSAGE_DELETE", &event);
            plain(204, Value::Null)
        }
        _ => {
            if !state.messages[at].by_bot {
                let words = "Cannot edit a message authored by another user";
                return plain(403, refusal(50_005, words));
            }
            if let Some(wrong) = wrong(state, &request.body, false, false) {
                return plain(400, wrong);
            }
            let message = &mut state.messages[at];
            for name in ["content", "components", "flags"] {
                if let Some(value) = request.body.get(name) {
                    message.json[name] = value.clone();
                }
            }
            message.json["edited_timestamp"] = json!("2026-11-26T09:00:01.000000+00:00");
            message.edits += 1;
            let message = message.clone();
            let event = state.event_of(&message);
            state.push("MESSAGE_UPDATE", &event);
            plain(200, message.json)
        }
    }
}

fn set_commands(state: &mut State, body: &Value) -> Answer {
    let Some(commands) = body.as_array() else {
        return plain(400, invalid("_", "Only lists are allowed."));
    };
    for command in commands {
        let length = |text: &Value| text.as_str().map_or(0, |text| text.chars().count());
        let name = command["name"].as_str().unwrap_or_default();
        let is_name = (1..=32).contains(&name.len())
            && name
                .chars()
                .all(|c| c.is_ascii_lowercase() || c == '-' || c == '_');
        let options = command["options"].as_array().cloned().unwrap_or_default();
        let described = std::iter::once(command)
            .chain(&options)
            .all(|one| (1..=100).contains(&length(&one["description"])));
        if !is_name || !described {
            return plain(400, invalid("0.name", "Command name is invalid"));
        }
    }
    state.commands.clone_from(commands);
    plain(200, body.clone())
}

fn callback(state: &mut State, request: &Request, id: u64) -> Answer {
    let token = request.path.split('/').nth(5).unwrap_or_default();
    let known = state.interactions.get(&id).cloned();
    let Some(interaction) = known.filter(|one| one.token == token) else {
        return plain(404, refusal(10_062, "Unknown interaction"));
    };
    if interaction.at.elapsed().as_secs_f64() > 3.0 {
        return plain(404, refusal(10_062, "Unknown interaction"));
    }
    if interaction.answer.is_some() {
        let words = "Interaction has already been acknowledged.";
        return plain(400, refusal(40_060, words));
    }
    let kind = request.body["type"].as_u64().unwrap_or(0);
    if !matches!(kind, 4..=7) {
        return plain(
            400,
            invalid(
                "type",
                "Value must be one of {1, 4, 5, 6, 7, 8, 9, 10, 12}.",
            ),
        );
    }
    if let Some(one) = state.interactions.get_mut(&id) {
        one.answer = Some(request.body.clone());
    }
    if request.query.contains("with_response") {
        return plain(
            200,
            json!({ "interaction": { "id": id.to_string(), "type": 3, "response_message_loading": false, "response_message_ephemeral": false } }),
        );
    }
    plain(204, Value::Null)
}
