//! A daemon with one Telegram channel, `team`, and what its chats were told.

use crate::support::daemon::{Daemon, Home};
use crate::support::fake_telegram::FakeTelegram;
use crate::support::fake_telegram::state::{BotMessage, User};

/// A message whose write must be approved.
pub const WRITE: &str =
    "TOOL:write_file{\"path\":\"note.txt\",\"content\":\"hi\\n\"}\nSAY:all done";

/// A home whose channel has these lines; `rest` are further tables.
pub fn home(telegram: &FakeTelegram, channel: &str, rest: &str) -> Home {
    Home::new(&format!(
        "[model]\ndefault = \"scripted/demo\"\nallow_scripted_on_channels = true\n\n\
         [channels.team]\nkind = \"telegram\"\ntoken_env = \"TEAM_TOKEN\"\napi_base = \"{}\"\n\
         {channel}\n\n{rest}\n",
        telegram.url()
    ))
}

/// Starts it. A bot can write only to people who once wrote to it: these did.
pub fn start(
    home: &Home,
    telegram: &FakeTelegram,
    chats: &[i64],
    environment: &[(&str, &str)],
) -> Daemon {
    telegram.change(|state| chats.iter().for_each(|chat| state.know_chat(*chat)));
    let token = telegram.state().token.clone();
    let mut all = vec![("TEAM_TOKEN", token.as_str())];
    all.extend(environment);
    home.daemon_with(&all)
}

/// Who asks.
pub fn ben() -> User {
    User::new(100, "Ben")
}

/// Who decides.
pub fn anna() -> User {
    User::new(200, "Anna")
}

/// The message of a chat that shows this text, once it is there.
pub async fn shown(telegram: &FakeTelegram, chat: i64, text: &str) -> BotMessage {
    let is_it = |m: &&BotMessage| m.chat == chat && m.text.contains(text);
    telegram
        .wait_until(text, |state| state.messages.iter().any(|m| is_it(&m)))
        .await;
    let messages = telegram.messages(chat);
    messages.iter().find(is_it).expect("it was there").clone()
}

/// A command of the binary in this home: whether it succeeded, and what it printed.
pub async fn cli(home: &Home, words: &[&str]) -> (bool, String) {
    let mut command = home.command();
    command.args(words);
    let output = tokio::task::spawn_blocking(move || command.output())
        .await
        .unwrap()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.success(), text)
}
