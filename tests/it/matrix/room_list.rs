//! What is known of each room.

use std::collections::HashSet;

use leverframe::channels::matrix::rooms::Rooms;
use serde_json::{Value, json};

fn state(kind: &str, key: &str, content: Value) -> Value {
    json!({ "type": kind, "state_key": key, "content": content })
}

fn pair(events: &[Value]) -> Value {
    json!({ "summary": { "m.joined_member_count": 2, "m.invited_member_count": 0 },
            "state": { "events": events } })
}

#[test]
fn a_room_is_direct_while_two_are_in_it_or_the_account_says_so() {
    let rooms = Rooms::default();
    rooms.replace(&json!({ "!a": pair(&[]), "!b": {
        "summary": { "m.joined_member_count": 3 } } }));
    assert!(rooms.is_direct("!a"));
    assert!(!rooms.is_direct("!b"));
    assert!(!rooms.is_direct("!unknown"));
    // What is not said has not changed.
    rooms.apply("!a", &json!({ "summary": {} }));
    assert!(rooms.is_direct("!a"));
    rooms.apply("!a", &json!({ "summary": { "m.invited_member_count": 1 } }));
    assert!(!rooms.is_direct("!a"), "somebody else is about to read it");
    rooms.mark_direct(&json!({ "@anna:x": ["!b"] }));
    assert!(rooms.is_direct("!b"));
}

#[test]
fn a_title_is_the_name_the_address_or_who_is_there() {
    let rooms = Rooms::default();
    let title = || rooms.room("!a").and_then(|room| room.title());
    rooms.apply("!a", &json!({ "summary": { "m.heroes": ["@anna:x"] } }));
    assert_eq!(title().as_deref(), Some("@anna:x"));
    let name = state("m.room.member", "@anna:x", json!({ "displayname": "Anna" }));
    rooms.apply("!a", &json!({ "timeline": { "events": [name] } }));
    assert_eq!(title().as_deref(), Some("Anna"));
    let alias = state("m.room.canonical_alias", "", json!({ "alias": "#ops:x" }));
    rooms.apply("!a", &json!({ "state": { "events": [alias] } }));
    assert_eq!(title().as_deref(), Some("#ops:x"));
    let name = state("m.room.name", "", json!({ "name": "Ops" }));
    rooms.apply("!a", &json!({ "state": { "events": [name] } }));
    assert_eq!(title().as_deref(), Some("Ops"));
}

#[test]
fn whoever_takes_another_name_has_it_also_in_a_room_with_more_people_than_names_are_kept() {
    let rooms = Rooms::default();
    let named = |n: u32, name: &str| {
        let user = format!("@u{n}:x");
        state("m.room.member", &user, json!({ "displayname": name }))
    };
    let all: Vec<Value> = (0..2_100).map(|n| named(n, "before")).collect();
    rooms.apply("!a", &json!({ "state": { "events": all } }));
    let name_of = |user: &str| rooms.room("!a").and_then(|room| room.name_of(user));
    assert_eq!(name_of("@u7:x").as_deref(), Some("before"));
    assert_eq!(name_of("@u2099:x"), None, "no more than 2 000 are kept");
    rooms.apply(
        "!a",
        &json!({ "timeline": { "events": [named(7, "after")] } }),
    );
    assert_eq!(name_of("@u7:x").as_deref(), Some("after"));
    // A gap that is read back later shows what was before, the newest first.
    let mut newer = HashSet::from(["@u7:x".to_owned()]);
    let page = json!({ "chunk": [named(8, "newer"), named(8, "older"), named(7, "before")],
                       "state": [named(8, "oldest"), named(9, "by state")] });
    rooms.learn_names("!a", &page, &mut newer);
    let page = json!({ "chunk": [named(9, "long ago")] });
    rooms.learn_names("!a", &page, &mut newer);
    assert_eq!(name_of("@u7:x").as_deref(), Some("after"));
    assert_eq!(name_of("@u8:x").as_deref(), Some("newer"));
    assert_eq!(name_of("@u9:x").as_deref(), Some("by state"));
    let left = state("m.room.member", "@u7:x", json!({ "membership": "leave" }));
    rooms.apply(
        "!a",
        &json!({ "timeline": { "events": [left, named(2_099, "new")] } }),
    );
    assert_eq!(name_of("@u7:x"), None);
    assert_eq!(name_of("@u2099:x").as_deref(), Some("new"));
}

#[test]
fn an_upgraded_room_lives_on_once_we_are_in_its_successor() {
    let rooms = Rooms::default();
    let tombstone = state(
        "m.room.tombstone",
        "",
        json!({ "replacement_room": "!new" }),
    );
    rooms.apply("!old", &json!({ "timeline": { "events": [tombstone] } }));
    assert_eq!(rooms.current("!old"), "!old");
    assert!(rooms.awaited().contains_key("!new"));
    rooms.apply("!new", &json!({}));
    assert_eq!(rooms.current("!old"), "!new");
    assert!(rooms.awaited().is_empty());
    // Two that name each other end nowhere, and end.
    let back = state(
        "m.room.tombstone",
        "",
        json!({ "replacement_room": "!old" }),
    );
    rooms.apply("!new", &json!({ "timeline": { "events": [back] } }));
    rooms.current("!old");
}

#[test]
fn direct_messages_go_where_they_can_be_answered() {
    let rooms = Rooms::default();
    let encryption = state("m.room.encryption", "", json!({}));
    let hero = |user: &str, events: &[Value]| {
        let mut section = pair(events);
        section["summary"]["m.heroes"] = json!([user]);
        section
    };
    rooms.replace(&json!({
        "!secret": hero("@anna:x", &[encryption]),
        "!ben": hero("@ben:x", &[]),
        "!named": pair(&[state("m.room.name", "", json!({ "name": "x" }))]),
    }));
    assert_eq!(
        rooms.direct_candidates("@ben:x").certain.as_deref(),
        Some("!ben")
    );
    let anna = rooms.direct_candidates("@anna:x");
    assert_eq!(anna.certain, None);
    assert_eq!(anna.possible, ["!named"]);
    rooms.made("@anna:x", "!fresh");
    let anna = rooms.direct_candidates("@anna:x");
    assert_eq!(anna.certain.as_deref(), Some("!fresh"));
    assert_eq!(rooms.count(), (3, 1));
}
