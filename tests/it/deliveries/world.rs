//! A platform with a ledger, a home, and a daemon that answers on the one from the other.

use serde_json::Value;

use crate::support::daemon::{Daemon, Home};
use crate::support::fake_platform::FakePlatform;

/// Words of the long answer: enough for two parts.
const WORDS: usize = 150;

/// What outlives daemons.
pub struct World {
    pub platform: FakePlatform,
    pub home: Home,
}

impl World {
    /// A platform that offers this (`native`, `native-1`, `reconcile`, `none`).
    pub fn new(offers: &str) -> Self {
        let platform = FakePlatform::start(offers.starts_with("native"));
        let home = Home::new(&format!(
            "[model]\ndefault = \"scripted/demo\"\nallow_scripted_on_channels = true\n\n\
             [channels.team]\nkind = \"scripted\"\napi_base = \"{}\"\nallowed_users = [\"ben\"]\n",
            platform.api_base(offers)
        ));
        Self { platform, home }
    }

    /// Ben asks for an answer of two parts.
    pub fn ask_long(&self) {
        let words: Vec<String> = (0..WORDS).map(|n| format!("word{n:04}")).collect();
        self.platform
            .say("room", "ben", &format!("SAY:{}", words.join(" ")));
    }

    /// Ben asks for a short answer.
    pub fn ask(&self, text: &str) {
        self.platform.say("room", "ben", text);
    }

    pub fn daemon(&self, crash: Option<&str>) -> Daemon {
        match crash {
            Some(crash) => self.home.daemon_with(&[("LEVERFRAME_CRASH", crash)]),
            None => self.home.daemon(),
        }
    }

    /// What is wrong with what people saw: every key once, the parts in order, `parts` in all.
    pub fn wrong(&self, parts: usize) -> Vec<String> {
        let visible = self.platform.visible();
        let mut wrong = Vec::new();
        for seen in &visible {
            let times = visible.iter().filter(|other| other.key == seen.key).count();
            if times != 1 {
                wrong.push(format!("{} was seen {times} times", seen.key));
            }
            if seen.conversation != "room" {
                wrong.push(format!("{} went to {}", seen.key, seen.conversation));
            }
        }
        if visible.len() != parts {
            wrong.push(format!("{} messages, not {parts}", visible.len()));
        }
        if !visible.is_sorted_by_key(|seen| seen.text.clone()) {
            wrong.push("the parts are out of order".to_owned());
        }
        wrong
    }
}

fn answers(list: &Value) -> Vec<&Value> {
    list["items"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|item| item["class"] == "final")
        .collect()
}

/// Waits until the answer's parts are in these states, in order of parts.
pub async fn wait_parts(daemon: &Daemon, states: &[&str]) -> Vec<Value> {
    let list = daemon
        .wait("/v1/outbox", &format!("parts {states:?}"), |body| {
            let mut items = answers(body);
            items.sort_by_key(|item| item["part"].as_u64());
            let now: Vec<&str> = items
                .iter()
                .map(|item| item["state"].as_str().expect("a state"))
                .collect();
            now == states
        })
        .await;
    let mut items: Vec<Value> = answers(&list).into_iter().cloned().collect();
    items.sort_by_key(|item| item["part"].as_u64());
    items
}
