//! Schemas that are taken and refused.

use leverframe::mcp::client::schema::check;
use serde_json::{Value, json};

fn why(schema: Value) -> String {
    check("it", &schema).expect_err("is refused")
}

#[test]
fn a_plain_schema_and_one_with_parts_of_its_own_are_taken() {
    check(
        "it",
        &json!({"type": "object", "properties": {"a": {"type": "string"}}}),
    )
    .expect("plain");
    let parts = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}, "b": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"type": "string"}}});
    check("it", &parts).expect("parts");
}

#[test]
fn references_that_lead_out_or_in_a_circle_are_refused() {
    assert!(why(json!({"$ref": "https://evil.example/s.json"})).contains("nothing is fetched"));
    assert!(why(json!({"$ref": "file:///etc/passwd"})).contains("nothing is fetched"));
    assert!(why(json!({"properties": {"a": {"$ref": "#"}}})).contains("itself"));
    let circle = json!({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}}});
    assert!(why(circle).contains("itself"));
    assert!(why(json!({"$ref": "#/$defs/none"})).contains("not in it"));
}

#[test]
fn references_that_multiply_are_refused() {
    let mut parts = serde_json::Map::new();
    for level in 0..20 {
        let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
        parts.insert(
            format!("l{level}"),
            json!({"allOf": [next, next, next, next]}),
        );
    }
    parts.insert("l20".to_owned(), json!({"type": "string"}));
    assert!(why(json!({"$ref": "#/$defs/l0", "$defs": parts})).contains("too large"));
}

#[test]
fn large_and_deep_schemas_are_refused() {
    let branches: Vec<Value> = (0..20_000).map(|n| json!({"const": n})).collect();
    assert!(why(json!({"oneOf": branches})).contains("bytes"));
    let mut deep = json!({});
    for _ in 0..40 {
        deep = json!({"items": deep});
    }
    assert!(why(deep).contains("deeper"));
}
