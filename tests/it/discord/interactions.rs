//! The menu of commands.

use leverframe::channels::discord::interactions::menu;
use leverframe::protocol::slash::SlashCommand;
use serde_json::json;

#[test]
fn the_menu_is_what_discord_takes() {
    let menu = menu();
    let commands = menu.as_array().unwrap();
    assert_eq!(commands.len(), SlashCommand::ALL.len());
    for command in commands {
        let name = command["name"].as_str().unwrap();
        assert!((1..=32).contains(&name.len()) && name.chars().all(|c| c.is_ascii_lowercase()));
        for described in [
            &command["description"],
            &command["options"][0]["description"],
        ] {
            let length = described.as_str().map_or(1, |text| text.chars().count());
            assert!((1..=100).contains(&length), "{command}");
        }
    }
    let named = |name: &str| commands.iter().find(|c| c["name"] == name).unwrap();
    assert_eq!(named("deny")["options"][0]["required"], true);
    assert_eq!(named("cancel")["options"][0]["required"], false);
    assert_eq!(named("help")["options"], json!([]));
}
