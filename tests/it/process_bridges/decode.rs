//! Lines of a program become items of its account.

use leverframe::channels::process::decode::{Line, inbound, line, position};
use leverframe::protocol::bridge::{InboundBody, escape_conversation, unescape_conversation};

fn why(text: &str) -> (String, Option<(String, Option<String>)>) {
    match line(text.as_bytes()) {
        Line::Unfit { why, item } => (why, item),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_no_message_is_told_as_that() {
    assert!(why("Connecting…").0.contains("`Connecting…`"));
    assert!(why("[1]").0.contains("no `type`"));
    assert!(why("{\"type\":\"message\"").0.contains("no JSON"));
    assert_eq!(line(b"  \r"), Line::Blank);
    assert_eq!(
        line(br#"{"type":"dance","id":1}"#),
        Line::Unknown("dance".to_owned())
    );
}

#[test]
fn an_item_that_does_not_fit_keeps_its_key_and_cursor() {
    let (why, item) = why(r#"{"type":"message","key":"a","cursor":"7","text":5}"#);
    assert!(why.contains("`message`"), "{why}");
    assert_eq!(item, Some(("a".to_owned(), Some("7".to_owned()))));
    let long = format!(
        r#"{{"type":"click","key":"{}","token":"t"}}"#,
        "k".repeat(600)
    );
    assert!(matches!(
        line(long.as_bytes()),
        Line::Unfit { item: None, .. }
    ));
}

#[test]
fn a_message_becomes_an_item_of_its_account() {
    let text = r##"{"type":"message","key":"k","cursor":"9","conversation":"#a%b","text":"hi","direct":true,
        "sender":{"id":"ada"},"new":1}"##
        .replace('\n', " ");
    let Line::Message(message) = line(text.as_bytes()) else {
        panic!("{:?}", line(text.as_bytes()));
    };
    let (key, inbound) = inbound("me", *message).unwrap();
    assert_eq!((key.as_str(), inbound.dedupe_key.as_str()), ("k", "k"));
    assert_eq!(inbound.conversation, "%23a%25b");
    assert_eq!(unescape_conversation(&inbound.conversation), "#a%b");
    assert_eq!(inbound.sender.unwrap().display, "ada");
    let InboundBody::Text { addressed, .. } = inbound.body else {
        panic!("{:?}", inbound.body);
    };
    assert!(addressed);
    let cursor = inbound.cursor.as_deref();
    assert_eq!(position(cursor, "me").as_deref(), Some("9"));
    assert_eq!(position(cursor, "other"), None);
    assert_eq!(position(Some("7"), "me"), None);
}

#[test]
fn conversations_come_back_as_they_were() {
    for platform in ["#lever", "%23", "%2523#%", "a/b", "&x"] {
        let key = escape_conversation(platform);
        assert!(!key.contains('#'));
        assert_eq!(unescape_conversation(&key), platform);
    }
}
