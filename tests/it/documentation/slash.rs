//! The page of the commands in a chat.

use leverframe::protocol::slash::SlashCommand;

use crate::documentation::markdown::{Page, code, prose};

/// The whole page.
pub fn page() -> String {
    let mut page = Page::new("Commands in the chat");
    page.paragraph("[In the chat](../guide/chat.md) says who can use them and what protects them.");
    let rows: Vec<[String; 2]> = SlashCommand::ALL
        .iter()
        .map(|command| [code(&command.usage()), prose(command.summary())])
        .collect();
    page.table(["command", "meaning"], &rows);
    page.finish()
}
