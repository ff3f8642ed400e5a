//! A person at the controls, and a client of the API: both go on as long as anything waits for them.
//!
//! The operator answers truthfully: what happened is read from the ledgers of the tool and of the platform,
//! never from the daemon.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::crash_points::scenario::{API_CONVERSATION, Message, Scenario, Word};
use crate::crash_points::world::{ANNA, API_KEY, World, chat_of};
use crate::support::daemon::Daemon;
use crate::support::fake_telegram::state::User;

/// What is remembered between daemons.
pub struct Operator {
    scenario: Scenario,
    messages: Vec<Message>,
    /// Codes of the cards whose button was pressed.
    pressed: BTreeSet<String>,
    /// Whether an approval of a call was ever given (or tried to be).
    approved: BTreeSet<String>,
    /// The API client's continuation, once it was told.
    accepted: Option<String>,
    /// Whether the client has had an answer from this daemon.
    sent_here: bool,
    /// Cards that were said to be delivered.
    pub blind_cards: usize,
    /// Parts that were dropped though the platform had shown them.
    pub dropped_after_showing: BTreeSet<String>,
    /// The ledger's length when a call was given up: nothing may run after it.
    pub given_up_at: Option<usize>,
    /// What must never happen, seen on the way.
    pub violations: BTreeSet<String>,
}

/// What a look at the daemon showed.
#[derive(Debug, PartialEq, Eq)]
pub enum Look {
    /// Something still moves or was just answered; with what it was.
    Busy(String),
    /// Nothing is left to do.
    Quiet,
}

fn items(list: &Value) -> &[Value] {
    list["items"].as_array().map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

/// The line that a call's command writes into the tool's ledger.
fn label(approval: &Value) -> String {
    let args = approval["args"].to_string();
    match args.split_once("echo ") {
        Some((_, rest)) => rest.split(' ').next().unwrap_or_default().to_owned(),
        // A script of the workspace; what it wrote before it was changed.
        None => "ran".to_owned(),
    }
}

impl Operator {
    /// One who has seen nothing yet.
    pub fn new(scenario: Scenario) -> Self {
        Self {
            scenario,
            messages: scenario.messages(),
            pressed: BTreeSet::new(),
            approved: BTreeSet::new(),
            accepted: None,
            sent_here: false,
            blind_cards: 0,
            dropped_after_showing: BTreeSet::new(),
            given_up_at: None,
            violations: BTreeSet::new(),
        }
    }

    /// A daemon was started again: the client does not know whether the one before got its message.
    pub fn new_daemon(&mut self) {
        self.sent_here = false;
    }

    fn wrong(&mut self, what: String) {
        self.violations.insert(what);
    }

    /// One look, with an answer to everything that asks. An error when the daemon is gone.
    pub async fn look(&mut self, world: &World, daemon: &Daemon) -> Result<Look, reqwest::Error> {
        let from_api = self.messages.iter().find(|message| message.chat.is_none());
        if let Some(text) = from_api.map(|message| message.text.clone())
            && !self.sent_here
        {
            self.send_over_http(daemon, &text).await?;
        }
        let mut busy: Vec<String> = Vec::new();
        let engine = self.get(daemon, "/v1/snapshot").await?["engine"].clone();
        if engine["quarantine"] == true {
            self.wrong("quarantined, though nothing was restored".to_owned());
        }
        if !engine["held_since"].is_null() {
            // After several crashes in a row it starts held; a person lets it go on.
            let path = "/v1/emergency-stop/release";
            let (status, answer) = self.post(daemon, path, json!({ "waiting": "all" })).await?;
            busy.push(format!("release: {status} {answer}"));
        }
        // In the order in which work moves on, so that nothing slips past between two lists.
        let waiting = world.telegram.state().pending.len();
        if waiting > 0 {
            busy.push(format!("{waiting} updates are not confirmed"));
        }
        let continuations = self.get(daemon, "/v1/continuations?limit=100").await?;
        let all = items(&continuations);
        for continuation in all {
            match text(continuation, "state") {
                "completed" | "failed" | "cancelled" | "expired" => {}
                state if self.scenario.cancels(state, world.effects().len()) => {
                    busy.push(self.cancel(world, daemon, continuation).await?);
                }
                "interrupted" => busy.push(self.resume(daemon, continuation).await?),
                state => busy.push(format!("{} is {state}", text(continuation, "id"))),
            }
        }
        if all.len() < self.messages.len() {
            let written = self.messages.len();
            busy.push(format!("{} of {written} messages are known", all.len()));
        }
        let approvals = self.get(daemon, "/v1/approvals?state=pending").await?;
        for approval in items(&approvals) {
            let parked = all.iter().any(|continuation| {
                continuation["id"] == approval["continuation_id"]
                    && continuation["state"] == "awaiting_approval"
            });
            busy.push(self.decide(world, daemon, approval, parked).await?);
        }
        // The list and the ledger are compared, so they must be of the same moment.
        let calls_before = world.telegram.ledger().len();
        let outbox = self.get(daemon, "/v1/outbox?limit=500").await?;
        let still = world.telegram.ledger().len() == calls_before;
        for item in items(&outbox) {
            match text(item, "state") {
                "unknown" if still => {
                    let asked: Vec<&Value> = items(&approvals)
                        .iter()
                        .filter(|approval| approval["kind"] == "resend")
                        .collect();
                    busy.push(
                        self.resolve_delivery(world, daemon, item, &outbox, &asked)
                            .await?,
                    );
                }
                "unknown" => busy.push(format!("to be resolved: {item}")),
                "pending" | "sending" => busy.push(format!("to be sent: {item}")),
                "failed" => self.wrong(format!("a delivery failed: {item}")),
                _ => {}
            }
        }
        if busy.is_empty()
            && self.scenario == Scenario::Compact
            && let Some(first) = all.first()
        {
            busy.extend(self.compact(daemon, text(first, "session_id")).await?);
        }
        Ok(if busy.is_empty() {
            Look::Quiet
        } else {
            Look::Busy(busy.join("\n"))
        })
    }

    /// Waits for a compaction that is under way, and asks for one where none came by itself.
    async fn compact(
        &mut self,
        daemon: &Daemon,
        session: &str,
    ) -> Result<Option<String>, reqwest::Error> {
        let list = self.get(daemon, "/v1/compactions").await?;
        if items(&list).iter().any(|item| item["state"] == "running") {
            return Ok(Some("a compaction is under way".to_owned()));
        }
        let session = format!("/v1/sessions/{session}");
        let covered = self.get(daemon, &session).await?["memory"]["covered_turns"].clone();
        if covered != 0 {
            return Ok(None);
        }
        let path = format!("{session}/compact");
        let (status, answer) = self.post(daemon, &path, json!({})).await?;
        Ok(Some(format!("to be compacted: {status} {answer}")))
    }

    async fn get(&mut self, daemon: &Daemon, path: &str) -> Result<Value, reqwest::Error> {
        let (status, body) = daemon.try_request("GET", path, None).await?;
        if status != 200 {
            self.wrong(format!("GET {path}: {status} {body}"));
        }
        Ok(body)
    }

    async fn post(
        &mut self,
        daemon: &Daemon,
        path: &str,
        body: Value,
    ) -> Result<(u16, Value), reqwest::Error> {
        let (status, answer) = daemon.try_request("POST", path, Some(body)).await?;
        if status >= 500 {
            self.wrong(format!("POST {path}: {status} {answer}"));
        }
        Ok((status, answer))
    }

    /// The client's message, under the same key however often it is sent.
    async fn send_over_http(
        &mut self,
        daemon: &Daemon,
        message: &str,
    ) -> Result<(), reqwest::Error> {
        // The same conversation is the same session, so opening it again is harmless.
        let body = json!({ "conversation": API_CONVERSATION });
        let (status, session) = self.post(daemon, "/v1/sessions", body).await?;
        if !(200..300).contains(&status) {
            self.wrong(format!("opening a session: {status} {session}"));
            return Ok(());
        }
        let path = format!("/v1/sessions/{}/messages", text(&session, "id"));
        let body = json!({ "text": message });
        let (status, answer) = daemon.try_post_keyed(&path, API_KEY, body).await?;
        let id = text(&answer, "continuation_id").to_owned();
        if !matches!(status, 200 | 202) || id.is_empty() {
            self.wrong(format!("the client's message: {status} {answer}"));
            return Ok(());
        }
        self.sent_here = true;
        match &self.accepted {
            Some(before) if *before != id => {
                let what = format!("the same key gave {before} and then {id}");
                self.wrong(what);
            }
            Some(_) => {}
            None => self.accepted = Some(id),
        }
        Ok(())
    }

    async fn decide(
        &mut self,
        world: &World,
        daemon: &Daemon,
        approval: &Value,
        parked: bool,
    ) -> Result<String, reqwest::Error> {
        let call = text(approval, "tool_call_id").to_owned();
        let mut body = json!({ "digest": approval["digest"] });
        let decision = match text(approval, "kind") {
            "execute" => {
                let label = label(approval);
                let done = world.effects().contains(&label);
                if !self.approved.contains(&call) && done {
                    self.wrong(format!("ran before its approval: {approval}"));
                }
                match self.scenario.word(approval, world.script_changed()) {
                    Word::Approve => {
                        self.approved.insert(call);
                        "approve"
                    }
                    Word::Press => {
                        let pressed = self.press(world, text(approval, "short_code"));
                        if pressed {
                            self.approved.insert(call);
                        }
                        return Ok(format!("Anna's press ({pressed}): {approval}"));
                    }
                    Word::Deny => "deny",
                    // A turn that is stopped first never parks, and the schedule dies where it parks.
                    Word::DenyAndStop if !parked => {
                        return Ok(format!("not parked yet: {}", approval["id"]));
                    }
                    Word::DenyAndStop => "deny_and_stop",
                    Word::Edit => {
                        body["args"] = json!({ "argv": ["sh", "-c", "echo edited >> ledger.txt"] });
                        "edit"
                    }
                    Word::Wait => return Ok(format!("nobody decides: {}", approval["id"])),
                }
            }
            "resolve_unknown" => {
                if world.has_strays(daemon.pid()) {
                    return Ok("a tool of the daemon before is still there".to_owned());
                }
                let effects = world.effects();
                if self.scenario == Scenario::GiveUp {
                    self.given_up_at = Some(effects.len());
                    "give_up"
                } else if effects.contains(&label(approval)) {
                    "happened"
                } else {
                    "run_again"
                }
            }
            // Answered together with the delivery it is about.
            "resend" => return Ok(format!("to be resolved: {approval}")),
            other => {
                self.wrong(format!("an approval of kind {other}: {approval}"));
                return Ok(format!("unexpected: {approval}"));
            }
        };
        body["decision"] = json!(decision);
        if approval["risk"] == "critical" {
            body["confirm_code"] = approval["short_code"].clone();
        }
        let path = format!("/v1/approvals/{}/decision", text(approval, "id"));
        let (status, answer) = self.post(daemon, &path, body).await?;
        if status != 200 {
            self.wrong(format!("{decision}: {status} {answer}"));
        }
        Ok(format!("{decision}: {}", text(approval, "id")))
    }

    /// Anna presses the button of the card with this code, if she has it and did not do so before.
    fn press(&mut self, world: &World, code: &str) -> bool {
        let cards = world.telegram.messages(ANNA);
        let card = cards
            .iter()
            .find(|card| !card.keyboard.is_empty() && card.text.contains(code));
        if let Some(card) = card
            && self.pressed.insert(code.to_owned())
        {
            let anna = User::new(ANNA, "Anna");
            world
                .telegram
                .user_clicks(ANNA, card.message_id, "Allow once", &anna);
        }
        self.pressed.contains(code)
    }

    /// Whether the part arrived is read from the platform: it is the only one in its conversation whose end
    /// nobody recorded, so it arrived when the platform carried out one more call than are known as sent.
    async fn resolve_delivery(
        &mut self,
        world: &World,
        daemon: &Daemon,
        item: &Value,
        outbox: &Value,
        asked: &[&Value],
    ) -> Result<String, reqwest::Error> {
        let chat = chat_of(&item["conversation"]);
        let is_edit = |item: &Value| item["class"] == "card_update";
        let mut others = items(outbox)
            .iter()
            .filter(|other| other["id"] != item["id"]);
        if others.any(|other| {
            other["conversation"] == item["conversation"]
                && matches!(text(other, "state"), "sending" | "unknown")
        }) {
            return Ok(format!("another one is under way in the same chat: {item}"));
        }
        let known = items(outbox)
            .iter()
            .filter(|other| {
                other["conversation"] == item["conversation"]
                    && other["state"] == "sent"
                    && is_edit(other) == is_edit(item)
            })
            .count();
        let real = if is_edit(item) {
            world.edits(chat)
        } else {
            world.shown(chat).len()
        };
        // What is sent while this counts is counted on one side only.
        if self.get(daemon, "/v1/outbox?limit=500").await? != *outbox {
            return Ok(format!("other deliveries moved meanwhile: {item}"));
        }
        if real < known || real > known + 1 {
            self.wrong(format!(
                "{real} calls were carried out in chat {chat} and {known} are recorded, before anybody answered: {item}"
            ));
        }
        let resolution = match (self.scenario, real > known) {
            (Scenario::Drop, shown) if item["class"] == "final" => {
                if shown {
                    self.dropped_after_showing
                        .insert(text(item, "id").to_owned());
                }
                "drop"
            }
            (_, true) => "sent",
            (_, false) => "send_again",
        };
        if resolution == "sent" && item["class"] == "approval_card" {
            self.blind_cards += 1;
        }
        // Both ways of answering are taken: the question, where it is clear which one it is, and the list.
        let (path, body) = match asked {
            [question] if item["class"] == "final" && self.scenario != Scenario::ReplyFromList => (
                format!("/v1/approvals/{}/decision", text(question, "id")),
                json!({ "decision": resolution, "digest": question["digest"] }),
            ),
            _ => (
                format!("/v1/outbox/{}/resolution", text(item, "id")),
                json!({ "resolution": resolution }),
            ),
        };
        let (status, answer) = self.post(daemon, &path, body).await?;
        if status != 200 {
            self.wrong(format!("{resolution}: {status} {answer}"));
        }
        Ok(format!("{resolution}: {item}"))
    }

    async fn cancel(
        &mut self,
        world: &World,
        daemon: &Daemon,
        continuation: &Value,
    ) -> Result<String, reqwest::Error> {
        if world.has_strays(daemon.pid()) && text(continuation, "state") == "interrupted" {
            return Ok("a tool of the daemon before is still there".to_owned());
        }
        let id = text(continuation, "id");
        let path = format!("/v1/continuations/{id}/cancel");
        let (status, answer) = self.post(daemon, &path, json!({})).await?;
        Ok(format!("cancel {id}: {status} {answer}"))
    }

    async fn resume(
        &mut self,
        daemon: &Daemon,
        continuation: &Value,
    ) -> Result<String, reqwest::Error> {
        let id = text(continuation, "id");
        let path = format!("/v1/continuations/{id}/resume");
        // One that has a question open is refused until that is answered; it is tried again at the next look.
        let (status, answer) = self.post(daemon, &path, json!({})).await?;
        Ok(format!("resume {id}: {status} {answer}"))
    }
}
