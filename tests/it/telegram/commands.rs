//! One table of commands: what the menu offers is what is heard in a group and what is carried out.

use leverframe::channels::channel::{Bridge, ChannelError};
use leverframe::channels::telegram::updates::{Me, decode};
use leverframe::protocol::bridge::InboundBody;
use leverframe::protocol::slash::SlashCommand;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::telegram::port::{TestPort, bridge_at, connected, options};

#[test]
fn every_command_is_meant_for_us_in_a_group_without_our_name() {
    let me = Me {
        id: 42,
        username: "lever_test_bot".to_owned(),
    };
    for command in SlashCommand::ALL {
        let update = json!({"update_id": 1, "message": {
            "message_id": 7, "date": 1, "text": format!("/{command} now"),
            "from": {"id": 9, "is_bot": false, "first_name": "Ada"},
            "chat": {"id": -100, "type": "group", "title": "Team"},
        }});
        let inbound = decode(&update, &me).unwrap().inbound;
        assert!(
            matches!(
                inbound.body,
                InboundBody::Text {
                    addressed: true,
                    ..
                }
            ),
            "/{command}: {:?}",
            inbound.body
        );
    }
}

#[tokio::test]
async fn the_menu_is_the_table() {
    let (fake, _port, running) = connected().await;
    let menu = fake.state().commands.clone();
    let expected: Vec<Value> = SlashCommand::ALL
        .iter()
        .map(|command| json!({"command": command.as_str(), "description": command.menu_text()}))
        .collect();
    assert_eq!(menu, expected);
    running.stop().await;
}

#[tokio::test]
async fn a_bot_without_a_token_is_told_of_keys_that_are_taken() {
    let bridge = bridge_at("http://127.0.0.1:1", "", options());
    let ended = bridge.run(TestPort::new(), CancellationToken::new()).await;
    let Err(ChannelError::Fatal { fix, .. }) = ended else {
        panic!("{ended:?}");
    };
    assert!(
        fix.contains("`token_env`") && !fix.contains("`token`"),
        "{fix}"
    );
}
