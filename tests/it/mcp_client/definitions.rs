//! Names, digests and classes of servers' tools.

use leverframe::config::mcp::McpToolSettings;
use leverframe::protocol::enums::{Access, Effect};
use leverframe::protocol::mcp::{McpClaims, McpToolDefinition};
use leverframe::tools::mcp::{classify, definition_sha256, exposed_name};
use proptest::prelude::*;
use serde_json::json;

fn claims(
    read_only: Option<bool>,
    destructive: Option<bool>,
    idempotent: Option<bool>,
    open_world: Option<bool>,
) -> McpClaims {
    McpClaims {
        read_only,
        destructive,
        idempotent,
        open_world,
    }
}

#[test]
fn a_plain_name_stands_behind_its_server() {
    assert_eq!(exposed_name("git", "git_log").unwrap(), "mcp__git__git_log");
    assert_eq!(
        exposed_name("home-assistant", "Turn-On").unwrap(),
        "mcp__home-assistant__Turn-On"
    );
}

#[test]
fn names_that_pretend_are_refused_or_marked() {
    for bad in [
        "",
        "a b",
        "caf\u{e9}",
        "a\u{202e}b",
        "p\u{430}y",
        "a/b",
        "a\nb",
    ] {
        assert!(exposed_name("git", bad).is_err(), "{bad:?}");
    }
    assert!(exposed_name("git", &"x".repeat(300)).is_err());
    // A name that looks like a tool of another server keeps its own server, and shows that it was changed.
    let other = exposed_name("git", "mcp__files__delete").unwrap();
    assert!(other.starts_with("mcp__git__mcp_files_delete_"), "{other}");
    // A dot and a `_` are two names.
    assert_ne!(exposed_name("git", "a.b"), exposed_name("git", "a_b"));
    for server in ["", "a__b", "_a", "a_", "a.b", "a b", &"s".repeat(33)] {
        assert!(exposed_name(server, "x").is_err(), "{server:?}");
    }
}

#[test]
fn two_long_names_with_one_beginning_stay_two() {
    let (one, two) = (
        format!("{}1", "x".repeat(100)),
        format!("{}2", "x".repeat(100)),
    );
    let (one, two) = (
        exposed_name("git", &one).unwrap(),
        exposed_name("git", &two).unwrap(),
    );
    assert_eq!((one.len(), two.len()), (64, 64));
    assert_ne!(one, two);
}

fn definition() -> McpToolDefinition {
    McpToolDefinition {
        name: "add".to_owned(),
        title: None,
        description: "Adds.".to_owned(),
        input_schema: json!({"type": "object", "properties": {"a": {"description": "one"}, "b": {}}}),
        output_schema: None,
        claims: McpClaims::default(),
    }
}

#[test]
fn every_field_of_a_definition_is_in_its_digest() {
    let whole = definition_sha256(&definition());
    assert_eq!(whole.len(), 64);
    let changed: [fn(&mut McpToolDefinition); 8] = [
        |d| d.name = "sub".to_owned(),
        |d| d.title = Some("Add".to_owned()),
        |d| d.description.push('\u{200b}'),
        |d| d.input_schema["properties"]["a"]["description"] = json!("two"),
        |d| d.output_schema = Some(json!({})),
        |d| d.claims.read_only = Some(true),
        |d| d.claims.read_only = Some(false),
        |d| d.claims.open_world = Some(false),
    ];
    for change in changed {
        let mut other = definition();
        change(&mut other);
        assert_ne!(definition_sha256(&other), whole, "{other:?}");
    }
    // The order of keys says nothing.
    let mut same = definition();
    same.input_schema =
        json!({"properties": {"b": {}, "a": {"description": "one"}}, "type": "object"});
    assert_eq!(definition_sha256(&same), whole);
}

#[test]
fn claims_count_only_where_the_server_is_trusted() {
    let reads = claims(Some(true), None, None, Some(false));
    assert_eq!(
        classify(None, &reads, false),
        (Access::Unknown, Effect::NonIdempotent)
    );
    assert_eq!(
        classify(None, &reads, true),
        (Access::ReadLocal, Effect::ReadOnly)
    );
}

#[test]
fn what_is_not_claimed_or_contradicts_is_harmful() {
    let of = |claims: McpClaims| classify(None, &claims, true);
    assert_eq!(
        of(McpClaims::default()),
        (Access::Send, Effect::NonIdempotent)
    );
    assert_eq!(
        of(claims(Some(true), Some(true), None, Some(false))).0,
        Access::Write
    );
    assert_eq!(of(claims(Some(true), None, None, None)).0, Access::ReadOpen);
    assert_eq!(
        of(claims(None, Some(false), Some(true), Some(false))),
        (Access::WriteAdditive, Effect::Idempotent)
    );
}

#[test]
fn what_the_operator_says_stands_above_the_claims() {
    let own = McpToolSettings {
        access: Some(Access::Write),
        ..McpToolSettings::default()
    };
    let reads = claims(Some(true), None, None, Some(false));
    assert_eq!(
        classify(Some(&own), &reads, true),
        (Access::Write, Effect::NonIdempotent)
    );
    let own = McpToolSettings {
        access: Some(Access::Send),
        effect: Some(Effect::Keyed),
        ..McpToolSettings::default()
    };
    assert_eq!(
        classify(Some(&own), &reads, false),
        (Access::Send, Effect::Keyed)
    );
}

proptest! {
    #[test]
    fn every_name_that_is_given_can_be_called(server in "[a-z0-9-]{1,12}(_[a-z0-9-]{1,6})?", tool in "[A-Za-z0-9_.-]{1,128}") {
        let name = exposed_name(&server, &tool).unwrap();
        prop_assert!(name.len() <= 64);
        prop_assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'));
        let prefix = format!("mcp__{server}__");
        prop_assert!(name.starts_with(&prefix), "{}", name);
    }

    #[test]
    fn any_text_gets_a_name_or_a_reason(server in ".{0,40}", tool in ".{0,200}") {
        if let Ok(name) = exposed_name(&server, &tool) {
            prop_assert!(name.len() <= 64 && name.is_ascii());
        }
    }

    #[test]
    fn two_tools_never_share_a_name(a in "[a-z_]{1,6}", x in "[a-z_.]{1,80}", b in "[a-z_]{1,6}", y in "[a-z_.]{1,80}") {
        if let (Ok(one), Ok(two)) = (exposed_name(&a, &x), exposed_name(&b, &y)) {
            prop_assert_eq!(one == two, (a, x) == (b, y));
        }
    }

    #[test]
    fn no_claim_is_more_harmless_than_silence_without_trust(r in any::<Option<bool>>(), d in any::<Option<bool>>(), i in any::<Option<bool>>(), o in any::<Option<bool>>()) {
        let given = claims(r, d, i, o);
        prop_assert_eq!(classify(None, &given, false), (Access::Unknown, Effect::NonIdempotent));
        let (access, effect) = classify(None, &given, true);
        let reads = matches!(access, Access::ReadLocal | Access::ReadOpen);
        prop_assert_eq!(reads, r == Some(true) && d != Some(true));
        prop_assert_eq!(effect == Effect::ReadOnly, reads);
        if matches!(access, Access::ReadLocal | Access::WriteAdditive | Access::Write) {
            prop_assert_eq!(o, Some(false));
        }
    }
}
