//! The outside world of one schedule: people, their messages, the platform, the tool's own ledger.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;

use serde_json::Value;

use crate::crash_points::scenario::{SCRIPT, SCRIPT_AFTER, SCRIPT_BEFORE, Scenario};
use crate::support::daemon::{Daemon, Home};
use crate::support::fake_telegram::FakeTelegram;
use crate::support::fake_telegram::state::User;

/// Ben's chat.
pub const BEN: i64 = 100;
/// Bea's chat: what she asks for mostly needs an approval.
pub const BEA: i64 = 101;
/// Anna's chat: she owns the bot and is shown the cards.
pub const ANNA: i64 = 200;
/// The idempotency key of the API's client.
pub const API_KEY: &str = "the-same-key-again";

/// Everything that outlives daemons.
pub struct World {
    /// The platform.
    pub telegram: FakeTelegram,
    /// Configuration, data, workspaces.
    pub home: Home,
    /// What happens in it.
    pub scenario: Scenario,
    token: String,
    /// What people wrote, as the platform told it.
    written: Mutex<Vec<Value>>,
}

impl World {
    /// A world in which nothing has been started.
    pub fn new(scenario: Scenario) -> Self {
        let telegram = FakeTelegram::start();
        let home = Home::new(&format!(
            "[model]\ndefault = \"scripted/demo\"\nallow_scripted_on_channels = true\n\n\
             [channels.team]\nkind = \"telegram\"\ntoken_env = \"TEAM_TOKEN\"\napi_base = \"{}\"\n\
             autonomy = \"semi_auto\"\nchat_max_risk = \"critical\"\npause_after_denials = 0\npause_after_turns = 0\nallowed_users = [\"{BEN}\", \"{BEA}\"]\n\n\
             [people.anna]\nids = [\"telegram:{ANNA}\"]\nrole = \"owner\"\n\n{}",
            telegram.url(),
            scenario.settings()
        ));
        if scenario == Scenario::Changed {
            let workspace = home.workspace("team");
            std::fs::create_dir_all(&workspace).expect("the workspace");
            std::fs::write(workspace.join(SCRIPT), SCRIPT_BEFORE).expect("the script");
        }
        telegram.change(|state| state.know_chat(ANNA));
        let token = telegram.state().token.clone();
        Self {
            telegram,
            home,
            scenario,
            token,
            written: Mutex::default(),
        }
    }

    /// People write. The platform keeps it until somebody fetches it.
    pub fn people_write(&self) {
        for message in self.scenario.messages() {
            if let Some(chat) = message.chat {
                let name = if chat == BEN { "Ben" } else { "Bea" };
                self.telegram
                    .user_says(chat, &User::new(chat, name), &message.text);
            }
        }
        let pending = self.telegram.state().pending.clone();
        *self.written.lock().unwrap() = pending.into_iter().map(|(_, update)| update).collect();
    }

    /// What happens while no daemon runs.
    pub fn meanwhile(&self) {
        if self.scenario == Scenario::Changed {
            let script = self.home.workspace("team").join(SCRIPT);
            std::fs::write(script, SCRIPT_AFTER).expect("the script");
        }
    }

    /// Whether the script is not what it was at first.
    pub fn script_changed(&self) -> bool {
        std::fs::read_to_string(self.home.workspace("team").join(SCRIPT))
            .is_ok_and(|text| text != SCRIPT_BEFORE)
    }

    /// The platform tells everything once more under new numbers, as it now and then does after a broken
    /// connection.
    pub fn tell_again(&self) {
        for update in self.written.lock().unwrap().iter() {
            self.telegram.raw_update(update.clone());
        }
    }

    /// Starts the daemon, with a crash point armed or not and a rule switched off or not; none when it ended before it listened.
    pub fn start(&self, crash: Option<&str>, mutant: Option<&str>) -> Option<Daemon> {
        let mut environment = vec![("TEAM_TOKEN", self.token.as_str())];
        if let Some(mutant) = mutant {
            environment.push(("LEVERFRAME_MUTANT", mutant));
        }
        if let Some(crash) = crash {
            environment.push(("LEVERFRAME_CRASH", crash));
        }
        self.home.try_daemon_with(&environment)
    }

    /// The tool's own ledger: what commands have really done, in order.
    pub fn effects(&self) -> Vec<String> {
        std::fs::read_to_string(self.home.workspace("team").join("ledger.txt")).map_or_else(
            |_| Vec::new(),
            |text| text.lines().map(str::to_owned).collect(),
        )
    }

    /// Texts of the messages that the platform ever showed in a chat, as first sent, in order.
    pub fn shown(&self, chat: i64) -> Vec<String> {
        let calls = self.telegram.calls("sendMessage");
        calls
            .iter()
            .filter(|call| call.accepted && call.result["chat"]["id"] == chat)
            .map(|call| call.result["text"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    /// Edits that the platform carried out in a chat.
    pub fn edits(&self, chat: i64) -> usize {
        let calls = self.telegram.calls("editMessageText");
        calls
            .iter()
            .filter(|call| call.accepted && call.result["chat"]["id"] == chat)
            .count()
    }

    /// The platform's ledger, one short line a call.
    pub fn story(&self) -> String {
        let short = |value: &Value| -> String {
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            text.chars().take(70).collect()
        };
        let calls = self.telegram.ledger();
        let lines: Vec<String> = calls
            .iter()
            .map(|call| {
                let about: Vec<String> = ["chat_id", "message_id", "offset", "text"]
                    .iter()
                    .filter_map(|name| Some(format!("{name} {:?}", short(call.params.get(*name)?))))
                    .collect();
                let buttons = if call.params.contains_key("reply_markup") {
                    " with buttons"
                } else {
                    ""
                };
                let ended = if call.accepted { "" } else { " REFUSED" };
                format!("{} {}{buttons}{ended}", call.method, about.join(" "))
            })
            .collect();
        lines.join("\n")
    }

    /// Whether a process of this world, other than the daemon, is alive: a tool that a crash left behind.
    pub fn has_strays(&self, daemon: u32) -> bool {
        let home = self.home.path();
        let mentions = |pid: u32| {
            let proc = Path::new("/proc").join(pid.to_string());
            let home_text = home.to_string_lossy();
            let argued = std::fs::read(proc.join("cmdline"))
                .is_ok_and(|line| String::from_utf8_lossy(&line).contains(home_text.as_ref()));
            argued || std::fs::read_link(proc.join("cwd")).is_ok_and(|cwd| cwd.starts_with(home))
        };
        std::fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
            .any(|pid| pid != daemon && pid != std::process::id() && mentions(pid))
    }

    /// Files in which the bot's token can be read, of everything the daemon wrote.
    pub fn leaks(&self) -> Vec<String> {
        let secret = self.token.split(':').nth(1).unwrap_or(&self.token);
        let mut leaks = Vec::new();
        let mut open = vec![self.home.data(), self.home.workspace("team")];
        let mut files: BTreeSet<_> = [self.home.path().join("stderr.log")].into();
        while let Some(dir) = open.pop() {
            for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    open.push(path);
                } else {
                    files.insert(path);
                }
            }
        }
        for file in files {
            if let Ok(bytes) = std::fs::read(&file)
                && bytes
                    .windows(secret.len())
                    .any(|window| window == secret.as_bytes())
            {
                leaks.push(file.display().to_string());
            }
        }
        leaks
    }
}

/// The platform's chat of a conversation key.
pub fn chat_of(conversation: &Value) -> i64 {
    let key = conversation.as_str().unwrap_or_default();
    let chat = key.split(['#', '/']).next().unwrap_or_default();
    chat.parse()
        .unwrap_or_else(|_| panic!("`{key}` is not a conversation of the fake platform"))
}
