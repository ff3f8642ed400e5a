//! What a model sees of a result.

use leverframe::mcp::client::result::read;
use serde_json::json;

#[test]
fn everything_but_text_is_named() {
    let read = read(
        &json!({"content": [
            {"type": "text", "text": "one"},
            {"type": "image", "data": "AAAAAAAA", "mimeType": "image/png"},
            {"type": "resource_link", "uri": "file:///etc/shadow", "name": "s"},
            {"type": "resource", "resource": {"uri": "x:1", "text": "inside"}},
            {"type": "video"},
        ]}),
        None,
    );
    let lines: Vec<&str> = read.text.lines().collect();
    assert_eq!(lines[0], "one");
    assert_eq!(lines[1], "[image, image/png, 6 bytes: not shown]");
    assert_eq!(lines[2], "[link to file:///etc/shadow (s): not fetched]");
    assert_eq!(lines[3..5], ["[resource x:1]", "inside"]);
    assert!(lines[5].contains("video"));
    assert!(!read.is_error);
}

#[test]
fn a_structured_result_is_shown_once_and_only_where_it_fits() {
    let schema =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let said =
        json!({"content": [{"type": "text", "text": "{\"n\":1}"}], "structuredContent": {"n": 1}});
    let once = read(&said, Some(&schema));
    assert_eq!(once.text, "{\"n\":1}");
    assert_eq!(once.structured, Some(json!({"n": 1})));
    let unsaid = read(
        &json!({"content": [], "structuredContent": {"n": 2}}),
        Some(&schema),
    );
    assert!(unsaid.text.contains("\"n\": 2"));
    let wrong =
        json!({"content": [{"type": "text", "text": "t"}], "structuredContent": {"n": "x"}});
    let wrong = read(&wrong, Some(&schema));
    assert!(
        wrong
            .text
            .starts_with("t\n[the structured result does not fit")
    );
    assert_eq!(wrong.structured, None);
}
