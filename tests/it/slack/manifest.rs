//! What the manifest asks for.

use leverframe::channels::slack::manifest::{COMMAND, EVENTS, SCOPES, manifest, missing};

#[test]
fn the_manifest_asks_for_what_the_bridge_needs() {
    let made = manifest("lever");
    assert_eq!(made["features"]["slash_commands"][0]["command"], COMMAND);
    let scopes = made["oauth_config"]["scopes"]["bot"].as_array().unwrap();
    assert_eq!(scopes.len(), SCOPES.len());
    assert_eq!(made["settings"]["socket_mode_enabled"], true);
    // Each event of a message needs the history scope of its kind of channel.
    for event in EVENTS
        .iter()
        .filter_map(|event| event.strip_prefix("message."))
    {
        let scope = format!("{event}:history");
        assert!(scopes.iter().any(|one| *one == scope.as_str()), "{scope}");
    }
}

#[test]
fn each_missing_scope_is_named() {
    let all: Vec<String> = SCOPES.iter().map(|scope| scope.name.to_owned()).collect();
    assert!(missing(&all).is_empty());
    let names: Vec<&str> = missing(&all[2..]).iter().map(|scope| scope.name).collect();
    assert_eq!(names, ["chat:write", "app_mentions:read"]);
}
