//! Tools that a server offers.

use leverframe::mcp::client::offer::ToolList;
use serde_json::json;

#[test]
fn one_bad_tool_leaves_the_others() {
    let list = ToolList::new(
        vec![
            json!({"name": "b", "inputSchema": {"type": "object"}}),
            json!({"name": "a", "inputSchema": {"$ref": "https://evil.example/"}}),
            json!({"name": "c"}),
            json!({"name": "d", "inputSchema": {"type": "string"}}),
            json!({"name": "e", "inputSchema": {"properties": {"x\u{200b}": {}}}}),
            json!({"name": "b", "description": "another", "inputSchema": {}}),
            json!({"title": "nameless"}),
            json!({"name": "f", "description": "x\u{202e}y", "inputSchema": {}, "annotations": {"readOnlyHint": true, "destructiveHint": true}}),
        ],
        Vec::new(),
    );
    assert_eq!(list.tools.keys().collect::<Vec<_>>(), ["b", "f"]);
    assert_eq!(
        list.invalid.keys().collect::<Vec<_>>(),
        ["a", "c", "d", "e"]
    );
    assert!(list.odd["f"].contains("nobody sees") && list.odd["f"].contains("destroy"));
    assert_eq!(list.warnings.len(), 2);
    assert_eq!(list.tools["b"].description, "");
}
