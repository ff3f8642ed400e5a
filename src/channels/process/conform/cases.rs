//! What each case does. Each starts the program anew, where its account stands.

use std::collections::HashSet;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::channels::process::conform::lab::Lab;
use crate::channels::process::conform::peer::{CONVERSATION, Peer};
use crate::channels::process::wire::{
    BridgeMessage, Idempotency, MAX_UNACKED, ProgramMessage, TextFormat, VERSION,
};
use crate::protocol::bridge::CardButton;
use crate::text::chunk::length;

/// A version that nobody speaks.
const STRANGE_VERSION: u32 = 9_999;
/// Longest end of a program that was told to end.
const END: Duration = Duration::from_secs(3);
/// Longest text that is tried, in units of the platform.
const LONG: usize = 20_000;
/// How often an item is looked for in a row of those delivered again.
const MANY: usize = 3;

/// Why a case is left out; none = it was tried.
pub type SkipReason = Option<&'static str>;

pub async fn hello(lab: &Lab<'_>) -> Result<SkipReason, String> {
    let mut peer = Peer::started(lab, VERSION).await?;
    let hello = peer.take_hello().await?;
    if hello.protocol != VERSION {
        return Err(format!("a hello of version {}", hello.protocol));
    }
    peer.acks = false;
    peer.pong().await?;
    if peer.has_item() {
        return Err("an item before `welcome`".to_owned());
    }
    Ok(None)
}

pub async fn version(lab: &Lab<'_>) -> Result<SkipReason, String> {
    let mut peer = Peer::started(lab, STRANGE_VERSION).await?;
    let said = tokio::time::timeout(END, async {
        loop {
            match peer.read().await? {
                Some(ProgramMessage::Hello(hello)) => return Ok(Some(hello.protocol)),
                Some(_) => {}
                None => return Ok::<_, String>(None),
            }
        }
    });
    match said.await {
        Ok(Ok(None)) => Ok(None),
        Ok(Ok(Some(version))) if version != STRANGE_VERSION => Ok(None),
        Ok(Ok(Some(version))) => Err(format!("a hello of version {version}")),
        Ok(Err(why)) => Err(why),
        Err(_) => Err("it runs on and says nothing".to_owned()),
    }
}

pub async fn garbage(lab: &Lab<'_>) -> Result<SkipReason, String> {
    let mut peer = Peer::new(lab).await?;
    let long = "x".repeat(100_000);
    for line in [
        "this is no JSON",
        "[1, 2]",
        "",
        "{\"no\": \"type\"}",
        "{\"type\": \"from_the_future\", \"id\": 1, \"new\": {\"deep\": []}}",
        &long,
    ] {
        peer.write(format!("{line}\n").as_bytes()).await?;
    }
    peer.pong().await?;
    Ok(None)
}

pub async fn echo(lab: &Lab<'_>) -> Result<SkipReason, String> {
    let mut peer = Peer::new(lab).await?;
    let message = peer.echo(&lab.text("hello")).await?;
    if message.item.conversation != CONVERSATION {
        return Err(format!(
            "a message of the conversation `{}`",
            message.item.conversation
        ));
    }
    match message.item.sender {
        Some(sender) if !sender.bot => Ok(None),
        Some(_) => Err("a message of a bot: nobody is answered".to_owned()),
        None => Err("a message without sender".to_owned()),
    }
}

pub async fn characters(lab: &Lab<'_>) -> Result<SkipReason, String> {
    let mut peer = Peer::new(lab).await?;
    let text = format!(
        "{}: Grüße, 你好, 👩‍👩‍👧‍👦 🇩🇪 e\u{301}, \"quoted\" \\ back <b>&amp;</b>\nsecond line\t🏳️‍🌈",
        lab.text("characters")
    );
    // As many writers do it: everything beyond ASCII as escapes, and what is beyond the first plane as a pair of them.
    let line = BridgeMessage::Send {
        id: 1_000_001,
        key: text.clone(),
        conversation: CONVERSATION.to_owned(),
        text: text.clone(),
        format: TextFormat::Plain,
        reply_to: None,
    }
    .line();
    let line = String::from_utf8(line).map_err(|error| error.to_string())?;
    let mut escaped = String::new();
    for c in line.chars() {
        if c.is_ascii() {
            escaped.push(c);
        } else {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                escaped.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    peer.write(escaped.as_bytes()).await?;
    peer.heard(&text).await?;
    // Some readers of lines take these for ends of lines.
    let ends = format!("{} a\u{2028}b\u{2029}c\u{85}d\re", lab.text("ends"));
    peer.echo(&ends).await?;
    Ok(None)
}

pub async fn long_text(lab: &Lab<'_>) -> Result<SkipReason, String> {
    let mut peer = Peer::new(lab).await?;
    let Some(hello) = peer.hello.clone() else {
        return Err("no hello".to_owned());
    };
    let (most, unit) = (
        hello.capabilities.max_length.min(LONG),
        hello.capabilities.unit,
    );
    let mut text = lab.text("long");
    while length(&text, unit) + length(" wörd", unit) <= most {
        text.push_str(" wörd");
    }
    while length(&text, unit) < most {
        text.push('.');
    }
    peer.sent(&text).await?;
    // A platform may have made several messages of it.
    let mut whole = String::new();
    while whole != text {
        let piece = peer
            .expect("rest of the text", |message| match message {
                ProgramMessage::Message(message)
                    if text[whole.len()..].starts_with(&message.text) =>
                {
                    Some(message.text.clone())
                }
                _ => None,
            })
            .await?;
        if piece.is_empty() {
            return Err("a message without text".to_owned());
        }
        whole.push_str(&piece);
    }
    Ok(None)
}

pub async fn order_of_acks(lab: &Lab<'_>) -> Result<SkipReason, String> {
    let mut peer = Peer::new(lab).await?;
    peer.acks = false;
    let mut items = Vec::new();
    for _ in 0..MANY {
        items.push(peer.echo(&lab.text("in order")).await?.item);
    }
    let last = items.last().and_then(|item| item.cursor.clone());
    for item in items.into_iter().rev() {
        peer.ack(item.key).await?;
    }
    // One that never was.
    peer.ack("no such key".to_owned()).await?;
    lab.move_to(last);
    peer.acks = true;
    peer.echo(&lab.text("after acks")).await?;
    Ok(None)
}

pub async fn late_acks(lab: &Lab<'_>) -> Result<SkipReason, String> {
    let mut peer = Peer::new(lab).await?;
    peer.acks = false;
    for _ in 1..MAX_UNACKED {
        peer.sent(&lab.text("unacked")).await?;
    }
    let last = peer.echo(&lab.text("unacked")).await?;
    lab.move_to(last.item.cursor);
    peer.pong().await?;
    Ok(None)
}

pub async fn redelivery(lab: &Lab<'_>) -> Result<SkipReason, String> {
    let mut peer = Peer::new(lab).await?;
    let before = peer.echo(&lab.text("before")).await?;
    if before.item.cursor.is_none() {
        return Ok(Some("its items have no cursor"));
    }
    let cursor = before.item.cursor;
    peer.acks = false;
    let mut texts = Vec::new();
    let mut keys = Vec::new();
    for _ in 0..MANY {
        let text = lab.text("again");
        keys.push(peer.echo(&text).await?.item.key);
        texts.push(text);
    }
    if keys.iter().collect::<HashSet<_>>().len() < keys.len() {
        return Err("two items with one key".to_owned());
    }
    // The first one is acknowledged, and its cursor lost: it comes again, and its key says so.
    if let Some(first) = keys.first() {
        peer.ack(first.clone()).await?;
    }
    peer.kill().await?;
    let mut peer = Peer::welcomed(lab, cursor).await?;
    for (text, key) in texts.iter().zip(&keys) {
        let message = peer
            .expect("item after the cursor", |message| match message {
                ProgramMessage::Message(message) => Some(message.clone()),
                _ => None,
            })
            .await?;
        if message.text != *text {
            return Err(format!("`{}` in place of `{text}`", message.text));
        }
        if message.item.key != *key {
            return Err(format!("the key `{}` became `{}`", key, message.item.key));
        }
    }
    Ok(None)
}

pub async fn native_key(lab: &Lab<'_>) -> Result<SkipReason, String> {
    let mut peer = Peer::new(lab).await?;
    if !peer.claims(|said| said.idempotency == Idempotency::NativeKey) {
        return Ok(Some("it keeps no keys"));
    }
    let text = lab.text("once");
    peer.echo(&text).await?;
    peer.kill().await?;
    let mut peer = Peer::new(lab).await?;
    peer.sent(&text).await?;
    // What comes later is there.
    peer.echo(&lab.text("after once")).await?;
    if peer.has_kept(&text) {
        return Err("a second message of the same key".to_owned());
    }
    Ok(None)
}

pub async fn look_up(lab: &Lab<'_>) -> Result<SkipReason, String> {
    let mut peer = Peer::new(lab).await?;
    if !peer.claims(|said| said.idempotency == Idempotency::Reconcile) {
        return Ok(Some("it cannot look"));
    }
    let text = lab.text("looked up");
    peer.echo(&text).await?;
    peer.kill().await?;
    let mut peer = Peer::new(lab).await?;
    for (key, expected) in [
        (format!("key of {text}"), "sent"),
        ("never sent".to_owned(), "not_sent"),
    ] {
        let answer = peer
            .ask(|id| BridgeMessage::LookUp {
                id,
                key,
                conversation: CONVERSATION.to_owned(),
            })
            .await?;
        answered_with(&answer, expected)?;
    }
    Ok(None)
}

pub async fn answered(lab: &Lab<'_>, expected: &str) -> Result<SkipReason, String> {
    let mut peer = Peer::new(lab).await?;
    let text = format!("conform: {expected}");
    let answer = peer.send(&lab.text(&text), &text).await?;
    if answer.kind() == expected {
        Ok(None)
    } else {
        Err(format!("`{}`", answer.kind()))
    }
}

pub async fn edits(lab: &Lab<'_>) -> Result<SkipReason, String> {
    let mut peer = Peer::new(lab).await?;
    if !peer.claims(|capabilities| capabilities.edits) {
        return Ok(Some("it has no `edits`"));
    }
    let text = lab.text("to be edited");
    let mut refs = peer.sent(&text).await?;
    peer.heard(&text).await?;
    let message_ref = refs.remove(0);
    let conversation = || CONVERSATION.to_owned();
    let edit = |id| BridgeMessage::Edit {
        id,
        conversation: conversation(),
        message_ref: message_ref.clone(),
        text: "edited".to_owned(),
        format: TextFormat::Plain,
    };
    let update = |id| BridgeMessage::CardUpdate {
        id,
        conversation: conversation(),
        message_ref: message_ref.clone(),
        text: "settled".to_owned(),
    };
    let delete = |id| BridgeMessage::Delete {
        id,
        conversation: conversation(),
        message_ref: message_ref.clone(),
    };
    for (what, answer) in [
        ("edit", peer.ask(edit).await?),
        ("card_update", peer.ask(update).await?),
        ("delete", peer.ask(delete).await?),
    ] {
        if answer.kind() != "sent" {
            return Err(format!("`{what}` is answered with `{}`", answer.kind()));
        }
    }
    Ok(None)
}

pub async fn buttons(lab: &Lab<'_>) -> Result<SkipReason, String> {
    let mut peer = Peer::new(lab).await?;
    if !peer.claims(|capabilities| capabilities.buttons) {
        return Ok(Some("it has no `buttons`"));
    }
    let text = lab.text("May it run?");
    let token = lab.text("token").replace(' ', "-");
    let button = |label: &str, token: &str| CardButton {
        label: label.to_owned(),
        token: token.to_owned(),
    };
    let buttons = vec![button("Allow", &token), button("Deny", "other")];
    let answer = peer
        .ask(|id| BridgeMessage::Card {
            id,
            key: text.clone(),
            conversation: CONVERSATION.to_owned(),
            text,
            buttons,
        })
        .await?;
    answered_with(&answer, "sent")?;
    peer.expect("`click` with the token of the first button", |message| {
        matches!(message, ProgramMessage::Click { token: of, .. } if *of == token).then_some(())
    })
    .await?;
    Ok(None)
}

pub async fn files(lab: &Lab<'_>) -> Result<SkipReason, String> {
    let mut peer = Peer::new(lab).await?;
    if !peer.claims(|capabilities| capabilities.files) {
        return Ok(Some("it has no `files`"));
    }
    let content: Vec<u8> = (0..=255).cycle().take(70_000).collect();
    let key = lab.text("file");
    let data = BASE64.encode(&content);
    let answer = peer
        .ask(|id| BridgeMessage::File {
            id,
            key,
            conversation: CONVERSATION.to_owned(),
            name: "data.bin".to_owned(),
            media_type: "application/octet-stream".to_owned(),
            data,
            reply_to: None,
        })
        .await?;
    answered_with(&answer, "sent")?;
    let reference = peer
        .expect("message with the file", |message| match message {
            ProgramMessage::Message(message) => {
                message.files.first().map(|file| file.reference.clone())
            }
            _ => None,
        })
        .await?;
    let fetch = |id| BridgeMessage::Fetch {
        id,
        reference,
        max_bytes: 1 << 20,
    };
    match peer.ask(fetch).await? {
        ProgramMessage::Fetched { data, .. } if BASE64.decode(&data).as_ref() == Ok(&content) => {
            Ok(None)
        }
        ProgramMessage::Fetched { .. } => Err("other bytes".to_owned()),
        other => Err(format!("`{}` in place of `fetched`", other.kind())),
    }
}

pub async fn typing(lab: &Lab<'_>) -> Result<SkipReason, String> {
    let mut peer = Peer::new(lab).await?;
    peer.tell(&BridgeMessage::Typing {
        conversation: CONVERSATION.to_owned(),
    })
    .await?;
    peer.pong().await?;
    Ok(None)
}

pub async fn shutdown(lab: &Lab<'_>) -> Result<SkipReason, String> {
    let mut peer = Peer::new(lab).await?;
    peer.pong().await?;
    peer.tell(&BridgeMessage::Shutdown).await?;
    let status = peer.ended(END).await?;
    if status == "exit status: 0" {
        Ok(None)
    } else {
        Err(status)
    }
}

pub async fn closed_input(lab: &Lab<'_>) -> Result<SkipReason, String> {
    let mut peer = Peer::new(lab).await?;
    peer.pong().await?;
    peer.close_input();
    peer.ended(END).await?;
    Ok(None)
}

fn answered_with(answer: &ProgramMessage, expected: &str) -> Result<(), String> {
    match answer.kind() {
        kind if kind == expected => Ok(()),
        kind => Err(format!("`{kind}` in place of `{expected}`")),
    }
}
