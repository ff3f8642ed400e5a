//! From events to inbound items, without a network.

use leverframe::channels::matrix::events::{
    Around, Me, Target, as_target, decode, is_from_before_us, is_joining, parse_conversation,
    target_of,
};
use leverframe::protocol::bridge::{Inbound, InboundBody};
use proptest::prelude::*;
use serde_json::{Value, json};

const BOT: &str = "@lever.bot:example.org";

fn me() -> Me {
    Me {
        user: BOT.to_owned(),
        display: Some("Lever".to_owned()),
    }
}

fn event(content: Value) -> Value {
    json!({ "type": "m.room.message", "event_id": "$e", "sender": "@anna:example.org",
            "origin_server_ts": 1, "content": content })
}

fn group() -> Around {
    Around {
        room: "!room".to_owned(),
        title: Some("Ops".to_owned()),
        sender_name: Some("Anna".to_owned()),
        ..Around::default()
    }
}

fn decoded(content: Value) -> Inbound {
    decode(&event(content), &me(), &group()).unwrap()
}

/// text, direct, addressed
fn text_of(inbound: &Inbound) -> (&str, bool, bool) {
    match &inbound.body {
        InboundBody::Text {
            text,
            direct,
            addressed,
            indirect: false,
            ..
        } => (text, *direct, *addressed),
        other => panic!("{other:?}"),
    }
}

fn other_of(inbound: &Inbound) -> &str {
    match &inbound.body {
        InboundBody::Other { what } | InboundBody::Media { what, .. } => what,
        other => panic!("{other:?}"),
    }
}

fn text(body: &str) -> Value {
    json!({ "msgtype": "m.text", "body": body })
}

#[test]
fn a_message_keeps_room_sender_and_id() {
    let inbound = decoded(text("hi"));
    assert_eq!(inbound.dedupe_key, "event:$e");
    assert_eq!(inbound.conversation, "!room");
    assert_eq!(inbound.conversation_title.as_deref(), Some("Ops"));
    assert_eq!(inbound.message_ref.as_deref(), Some("$e"));
    let sender = inbound.sender.as_ref().unwrap();
    assert_eq!(sender.id, "@anna:example.org");
    assert_eq!(sender.display, "Anna (@anna:example.org)");
    assert!(!sender.is_bot);
    assert_eq!(text_of(&inbound), ("hi", false, false));
    let direct = Around {
        direct: true,
        ..group()
    };
    let inbound = decode(&event(text("hi")), &me(), &direct).unwrap();
    assert_eq!(text_of(&inbound), ("hi", true, true));
}

#[test]
fn what_we_or_other_programs_say_asks_nothing() {
    let mut ours = event(text("hi"));
    ours["sender"] = json!(BOT);
    assert!(decode(&ours, &me(), &group()).is_none());
    let notice = decoded(json!({ "msgtype": "m.notice", "body": "hi" }));
    assert!(notice.sender.unwrap().is_bot);
}

#[test]
fn a_mention_a_name_an_answer_and_a_command_address_us() {
    let with = |more: Value| {
        let mut content = text("hi");
        for (name, value) in more.as_object().unwrap() {
            content[name] = value.clone();
        }
        text_of(&decoded(content)).2
    };
    assert!(with(json!({ "m.mentions": { "user_ids": [BOT] } })));
    let pill = |user: &str| format!("<a href=\"https://matrix.to/#/{user}\">L</a> hi");
    assert!(with(json!({ "formatted_body": pill(BOT) })));
    assert!(with(
        json!({ "formatted_body": pill("%40lever.bot%3Aexample.org") })
    ));
    assert!(!with(
        json!({ "formatted_body": pill("@anna:example.org") })
    ));
    assert!(!with(
        json!({ "formatted_body": pill("@lever.bot:example.org.evil") })
    ));
    // A list of mentions says it all, and a quote is somebody else's.
    assert!(!with(
        json!({ "m.mentions": {}, "formatted_body": pill(BOT) })
    ));
    let quote = format!("<mx-reply>{}</mx-reply>hi", pill(BOT));
    assert!(!with(json!({ "formatted_body": quote })));
    for (body, addressed) in [
        ("Lever: hi", true),
        ("@Lever, hi", true),
        ("lever.bot hi", true),
        ("Leverage is nice", false),
        ("hi Lever", false),
        ("ask @lever.bot:example.org", true),
        ("/status", true),
        ("!status", true),
        ("/unknown", false),
        ("!important", false),
    ] {
        assert_eq!(text_of(&decoded(text(body))).2, addressed, "{body}");
    }
    let around = Around {
        target: Target {
            is_ours: true,
            card: None,
        },
        ..group()
    };
    let inbound = decode(&event(text("and then?")), &me(), &around).unwrap();
    assert!(text_of(&inbound).2);
}

#[test]
fn commands_are_read_behind_a_name_and_with_the_other_mark() {
    for said in [
        "/deny K7Q2MX not today",
        "!deny K7Q2MX not today",
        "Lever: /deny K7Q2MX not today",
        "@lever.bot:example.org: !deny K7Q2MX not today",
    ] {
        let inbound = decoded(text(said));
        assert_eq!(text_of(&inbound).0, "/deny K7Q2MX not today", "{said}");
    }
    // Nobody loses a sign that only looks like one.
    assert_eq!(text_of(&decoded(text("!important"))).0, "!important");
}

#[test]
fn the_quote_above_an_answer_is_nobodys_word() {
    let reply = json!({ "m.relates_to": { "m.in_reply_to": { "event_id": "$asked" } } });
    let said = |body: &str| {
        let mut content = text(body);
        content["m.relates_to"] = reply["m.relates_to"].clone();
        text_of(&decoded(content)).0.to_owned()
    };
    assert_eq!(said("> <@ben:x> /approve K7Q2MX\n> more\n\nno"), "no");
    assert_eq!(said("no quote"), "no quote");
    assert_eq!(said("> <@ben:x> a\n\n> my own quote"), "> my own quote");
    // Without an answer it is what the person wrote.
    assert_eq!(text_of(&decoded(text("> a\n\nb"))).0, "> a\n\nb");
    let mut content = text("> <@ben:x> only the quote");
    content["m.relates_to"] = reply["m.relates_to"].clone();
    assert_eq!(other_of(&decoded(content)), "a message without text");
}

#[test]
fn a_thread_is_a_conversation_of_its_own() {
    let mut content = text("hi");
    content["m.relates_to"] = json!({ "rel_type": "m.thread", "event_id": "$root",
        "is_falling_back": true, "m.in_reply_to": { "event_id": "$last" } });
    let inbound = decoded(content.clone());
    assert_eq!(inbound.conversation, "!room/$root");
    assert_eq!(parse_conversation("!room/$root"), ("!room", Some("$root")));
    assert_eq!(parse_conversation("!a/b:x"), ("!a/b:x", None));
    assert_eq!(parse_conversation("!a/b:x/$r/s"), ("!a/b:x", Some("$r/s")));
    // The fallback is for others; an answer within the thread counts.
    assert_eq!(
        target_of(&event(content.clone()), &me()).as_deref(),
        Some("$root")
    );
    content["m.relates_to"]["is_falling_back"] = json!(false);
    assert_eq!(target_of(&event(content), &me()).as_deref(), Some("$last"));
}

#[test]
fn an_edit_and_what_was_taken_back_ask_nothing() {
    let mut content = text("* SAY:twice");
    content["m.new_content"] = text("SAY:twice");
    content["m.relates_to"] = json!({ "rel_type": "m.replace", "event_id": "$first" });
    assert_eq!(target_of(&event(content.clone()), &me()), None);
    assert_eq!(other_of(&decoded(content)), "an edit of a message");
    let gone = decoded(json!({}));
    assert_eq!(other_of(&gone), "a message that was taken back");
    assert_ne!(
        gone.dedupe_key, "event:$e",
        "it says something else than before"
    );
}

#[test]
fn files_come_with_their_address_and_what_was_written_about_them() {
    let files = |content: Value| match decoded(content).body {
        InboundBody::Text { text, files, .. } => (text, files),
        other => panic!("{other:?}"),
    };
    let (said, all) = files(
        json!({ "msgtype": "m.image", "body": "a cat", "filename": "cat.jpg",
        "url": "mxc://example.org/abc", "info": { "mimetype": "image/jpeg", "size": 77 } }),
    );
    assert_eq!(said, "a cat");
    assert_eq!(all[0].reference, "mxc://example.org/abc");
    assert_eq!(all[0].name, "cat.jpg");
    assert_eq!(all[0].media_type.as_deref(), Some("image/jpeg"));
    assert_eq!(all[0].size, Some(77));
    let (said, all) = files(json!({ "msgtype": "m.file", "body": "a.txt", "url": "mxc://x/y" }));
    assert_eq!((said.as_str(), all[0].name.as_str()), ("", "a.txt"));
    let encrypted = json!({ "msgtype": "m.file", "body": "a.txt", "file": { "url": "mxc://x/y" } });
    assert!(other_of(&decoded(encrypted)).contains("encrypted file"));
}

#[test]
fn a_reaction_to_our_card_decides_and_no_other() {
    let reaction = |key: &str| {
        json!({ "type": "m.reaction", "event_id": "$r", "sender": "@anna:example.org",
                "content": { "m.relates_to":
                    { "rel_type": "m.annotation", "event_id": "$card", "key": key } } })
    };
    let card = event(json!({ "msgtype": "m.text", "body": "May it run?",
        "dev.leverframe.card": { "code": "K7Q2MX" } }));
    // The same words from somebody else make no card.
    assert_eq!(as_target(&card, &me()), Target::default());
    let mut ours = card;
    ours["sender"] = json!(BOT);
    let target = as_target(&ours, &me());
    assert_eq!(target.card.as_deref(), Some("K7Q2MX"));
    assert_eq!(target_of(&reaction("👍"), &me()).as_deref(), Some("$card"));
    let around = Around { target, ..group() };
    for (key, command) in [
        ("✅", "/approve K7Q2MX"),
        ("👍", "/approve K7Q2MX"),
        ("👍\u{fe0f}", "/approve K7Q2MX"),
        ("👍🏽", "/approve K7Q2MX"),
        ("❌", "/deny K7Q2MX"),
        ("👎🏿", "/deny K7Q2MX"),
        ("2\u{fe0f}\u{20e3}", "/answer K7Q2MX 2"),
    ] {
        let inbound = decode(&reaction(key), &me(), &around).unwrap();
        assert_eq!(text_of(&inbound), (command, false, true), "{key}");
        assert_eq!(inbound.message_ref.as_deref(), Some("$card"));
    }
    for key in ["🎉", "", "✅ yes", "0\u{20e3}", "👍👎"] {
        let inbound = decode(&reaction(key), &me(), &around).unwrap();
        assert_eq!(other_of(&inbound), "a reaction", "{key}");
    }
    let inbound = decode(&reaction("✅"), &me(), &group()).unwrap();
    assert_eq!(other_of(&inbound), "a reaction");
}

#[test]
fn what_nobody_reads_is_named() {
    for (kind, content, what) in [
        ("m.sticker", json!({ "body": "x" }), "a sticker"),
        ("m.poll.start", json!({ "m.poll": {} }), "a poll"),
        (
            "m.room.encrypted",
            json!({ "algorithm": "x" }),
            "an encrypted message",
        ),
        ("m.room.redaction", json!({}), "a message was taken back"),
        ("x.brand.new", json!({}), "an event of type `x.brand.new`"),
        (
            "m.room.message",
            json!({ "msgtype": "x.y" , "body": "b" }),
            "a message of type `x.y`",
        ),
        (
            "m.room.message",
            json!({ "msgtype": "m.location", "body": "b" }),
            "a location",
        ),
    ] {
        let mut shown = event(content);
        shown["type"] = json!(kind);
        let inbound = decode(&shown, &me(), &group()).unwrap();
        assert!(other_of(&inbound).starts_with(what), "{kind}: {inbound:?}");
    }
    let mut state = event(json!({ "membership": "join" }));
    state["type"] = json!("m.room.member");
    state["state_key"] = json!("@ben:example.org");
    assert!(decode(&state, &me(), &group()).is_none());
}

#[test]
fn what_was_said_before_we_came_is_told_apart() {
    let member = |unsigned: Value| {
        json!({ "type": "m.room.member", "state_key": BOT, "event_id": "$m", "sender": BOT,
                "content": { "membership": "join" }, "unsigned": unsigned })
    };
    let joining = |unsigned| is_joining(&member(unsigned), BOT);
    assert!(joining(
        json!({ "prev_content": { "membership": "invite" } })
    ));
    assert!(joining(json!({})));
    // Another name, no other membership.
    assert!(!joining(
        json!({ "prev_content": { "membership": "join" } })
    ));
    assert!(!is_joining(&member(json!({})), "@anna:example.org"));
    // Where the server says it of each event, that counts.
    assert!(!joining(json!({ "membership": "join" })));
    let said = |membership: &str| {
        let mut said = event(text("hi"));
        said["unsigned"] = json!({ "membership": membership });
        is_from_before_us(&said)
    };
    assert!(said("leave") && said("invite") && !said("join"));
    assert!(!is_from_before_us(&event(text("hi"))));
}

proptest! {
    #[test]
    fn no_shape_of_an_event_stops_anything(
        kind in prop_oneof![Just("m.room.message".to_owned()), Just("m.reaction".to_owned()), ".*"],
        body in any::<Option<String>>(),
        html in any::<Option<String>>(),
        relation in prop_oneof![Just(json!(null)), Just(json!([])), Just(json!({ "rel_type": 7 })),
            Just(json!({ "m.in_reply_to": "x" })), Just(json!({ "rel_type": "m.thread" }))],
        msgtype in prop_oneof![Just("m.text".to_owned()), Just("m.image".to_owned()), ".*"],
    ) {
        let mut shown = event(json!({ "msgtype": msgtype, "body": body, "formatted_body": html,
            "m.relates_to": relation }));
        shown["type"] = json!(kind);
        let _ = target_of(&shown, &me());
        let _ = as_target(&shown, &me());
        let inbound = decode(&shown, &me(), &group());
        prop_assert!(inbound.is_some());
        for odd in [json!(null), json!([]), json!("x"), json!({ "event_id": 7 }), json!({ "content": [] })] {
            let _ = decode(&odd, &me(), &group());
            let _ = target_of(&odd, &me());
        }
    }
}
