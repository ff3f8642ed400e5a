//! From updates to inbound items, without a network.

use leverframe::channels::telegram::updates::{Me, Update, decode, parse_conversation};
use leverframe::protocol::bridge::InboundBody;
use proptest::prelude::*;
use serde_json::{Value, json};

fn me() -> Me {
    Me {
        id: 123_456_789,
        username: "lever_test_bot".to_owned(),
    }
}

fn message(extra: Value) -> Value {
    let mut message = json!({
        "message_id": 7, "date": 1, "from": {"id": 42, "is_bot": false, "first_name": "Ada", "last_name": "L", "username": "ada"},
        "chat": {"id": -100, "type": "group", "title": "Team"},
    });
    for (name, value) in extra.as_object().unwrap() {
        message[name] = value.clone();
    }
    message
}

fn decoded(extra: Value) -> Update {
    decode(&json!({"update_id": 5, "message": message(extra)}), &me()).unwrap()
}

/// text, direct, addressed, indirect
fn text_of(update: &Update) -> (&str, bool, bool, bool) {
    match &update.inbound.body {
        InboundBody::Text {
            text,
            direct,
            addressed,
            indirect,
            ..
        } => (text, *direct, *addressed, *indirect),
        other => panic!("{other:?}"),
    }
}

fn other_of(update: &Update) -> &str {
    match &update.inbound.body {
        InboundBody::Other { what } | InboundBody::Media { what, .. } => what,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_message_keeps_chat_sender_and_position() {
    let update = decoded(json!({"text": "hi"}));
    let inbound = &update.inbound;
    assert_eq!(inbound.dedupe_key, "msg:-100:7");
    assert_eq!(inbound.cursor, Some(format!("{}:6", me().id)));
    assert_eq!(inbound.conversation, "-100");
    assert_eq!(inbound.conversation_title.as_deref(), Some("Team"));
    assert_eq!(inbound.message_ref.as_deref(), Some("7"));
    let sender = inbound.sender.as_ref().unwrap();
    assert_eq!(
        (sender.id.as_str(), sender.display.as_str(), sender.is_bot),
        ("42", "Ada L (@ada)", false)
    );
    assert_eq!(text_of(&update), ("hi", false, false, false));
}

#[test]
fn who_is_addressed() {
    let addressed = |extra| {
        let update = decoded(extra);
        let (_, _, addressed, _) = text_of(&update);
        addressed
    };
    // The emoji before the mention counts two units, not one character.
    let mention = json!([{"type": "mention", "offset": 3, "length": 15}]);
    assert!(addressed(
        json!({"text": "🦀 @Lever_Test_Bot hi", "entities": mention})
    ));
    assert!(
        !addressed(json!({"text": "🦀 @Lever_Test_Bot hi"})),
        "text alone is no mention"
    );
    assert!(!addressed(
        json!({"text": "🦀 @lever_test_bat hi", "entities": mention})
    ));
    assert!(!addressed(
        json!({"text": "x", "entities": [{"type": "mention", "offset": 5, "length": 99}]})
    ));
    assert!(addressed(
        json!({"text": "x", "entities": [{"type": "text_mention", "offset": 0, "length": 1, "user": {"id": 123_456_789}}]})
    ));
    assert!(addressed(
        json!({"text": "yes", "reply_to_message": {"from": {"id": 123_456_789}}})
    ));
    assert!(!addressed(
        json!({"text": "yes", "reply_to_message": {"from": {"id": 43}}})
    ));
    assert!(addressed(
        json!({"text": "hm", "chat": {"id": 42, "type": "private"}})
    ));
    assert!(addressed(
        json!({"caption": "@lever_test_bot see", "photo": [{}], "caption_entities": [{"type": "mention", "offset": 0, "length": 15}]})
    ));
}

#[test]
fn commands_lose_our_name_and_those_for_others_are_not_ours() {
    let update = decoded(json!({"text": "/approve@Lever_Test_Bot K7Q2MX\nnow"}));
    assert_eq!(
        text_of(&update),
        ("/approve K7Q2MX\nnow", false, true, false)
    );
    let update = decoded(json!({"text": "/status"}));
    assert_eq!(text_of(&update), ("/status", false, true, false));
    let update = decoded(json!({"text": "/weather Basel"}));
    assert_eq!(text_of(&update), ("/weather Basel", false, false, false));
    let update = decoded(json!({"text": "/etc/hosts is broken"}));
    assert_eq!(
        text_of(&update),
        ("/etc/hosts is broken", false, false, false)
    );
    assert_eq!(
        other_of(&decoded(json!({"text": "/approve@another_bot K7Q2MX"}))),
        "a command for another bot"
    );
}

#[test]
fn words_of_others_and_later_words_are_indirect() {
    for extra in [
        json!({"text": "/approve X", "forward_origin": {"type": "user"}}),
        json!({"text": "/approve X", "forward_date": 1}),
        json!({"text": "/approve X", "quote": {"text": "x"}}),
        json!({"text": "/approve X", "external_reply": {}}),
        json!({"text": "/approve X", "via_bot": {"id": 1}}),
        json!({"text": "/approve X", "edit_date": 3}),
    ] {
        assert!(text_of(&decoded(extra.clone())).3, "{extra}");
    }
    let edited = decode(
        &json!({"update_id": 5, "edited_message": message(json!({"text": "/approve X", "edit_date": 9}))}),
        &me(),
    )
    .unwrap();
    assert_eq!(edited.inbound.dedupe_key, "edit:-100:7:9");
    assert_eq!(
        edited.inbound.body,
        InboundBody::Other {
            what: "an edit of a message".to_owned()
        },
        "an edit orders nothing"
    );
}

#[test]
fn who_hides_behind_a_chat_is_nobody() {
    let anonymous = decoded(json!({
        "text": "/approve X", "sender_chat": {"id": -100, "type": "supergroup"},
        "from": {"id": 1_087_968_824, "is_bot": true, "first_name": "Group", "username": "GroupAnonymousBot"},
    }));
    assert_eq!(anonymous.inbound.sender, None);
    let nobody = decode(
        &json!({"update_id": 5, "message": {"message_id": 1, "chat": {"id": 3}, "text": "x"}}),
        &me(),
    )
    .unwrap();
    assert_eq!(nobody.inbound.sender, None);
    let unsaid = decoded(json!({"text": "x", "from": {"id": 9}}));
    assert!(
        unsaid.inbound.sender.unwrap().is_bot,
        "not said to be a person: decides nothing"
    );
}

#[test]
fn topics_are_conversations_and_reply_chains_are_not() {
    let topic = decoded(json!({"text": "x", "message_thread_id": 12, "is_topic_message": true}));
    assert_eq!(topic.inbound.conversation, "-100/12");
    let chain = decoded(json!({"text": "x", "message_thread_id": 12}));
    assert_eq!(chain.inbound.conversation, "-100");
    assert_eq!(parse_conversation("-100/12"), Some((-100, Some(12))));
    assert_eq!(parse_conversation("-100"), Some((-100, None)));
    assert_eq!(parse_conversation("desk"), None);
    assert_eq!(parse_conversation("1/x"), None);
}

#[test]
fn what_has_no_text_is_named() {
    assert_eq!(other_of(&decoded(json!({"sticker": {}}))), "a sticker");
    assert!(
        other_of(&decoded(
            json!({"migrate_to_chat_id": -1_000_000_000_100_i64})
        ))
        .contains("-1000000000100")
    );
    assert_eq!(
        text_of(&decoded(json!({"photo": [{}], "caption": "look"}))).0,
        "look"
    );
    let member = decode(&json!({"update_id": 1, "my_chat_member": {"chat": {"id": 4}, "new_chat_member": {"status": "kicked"}}}), &me()).unwrap();
    assert_eq!(member.inbound.dedupe_key, "update:1");
    assert!(other_of(&member).contains("kicked"));
}

#[test]
fn an_update_without_id_is_none() {
    assert!(decode(&json!({"message": message(json!({"text": "x"}))}), &me()).is_none());
    assert!(decode(&json!("x"), &me()).is_none());
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        "[/@]{0,2}[a-z_]{0,9}(@lever_test_bot)?[ 🦀]{0,3}".prop_map(Value::from),
    ];
    let names = prop::sample::select(vec![
        "id",
        "chat",
        "from",
        "text",
        "caption",
        "entities",
        "type",
        "offset",
        "length",
        "user",
        "message",
        "data",
        "message_id",
        "date",
        "sender_chat",
        "reply_to_message",
        "title",
        "message_thread_id",
        "is_topic_message",
        "edit_date",
        "is_bot",
        "first_name",
    ]);
    leaf.prop_recursive(5, 60, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(names.clone().prop_map(str::to_owned), inner, 0..8)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn every_update_with_an_id_becomes_one_item_with_the_position_after_it(
        id in 0_i64..i64::MAX,
        kind in prop::sample::select(vec!["message", "edited_message", "callback_query", "my_chat_member", "zzz"]),
        body in any_json(),
    ) {
        let update = decode(&json!({"update_id": id, kind: body}), &me()).unwrap();
        prop_assert_eq!(update.inbound.cursor, Some(format!("{}:{}", me().id, id + 1)));
        prop_assert!(!update.inbound.dedupe_key.is_empty());
    }
}
