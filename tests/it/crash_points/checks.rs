//! What must be true when everything is done, whatever died on the way.

use std::collections::{BTreeMap, BTreeSet};

use leverframe::clock::Clock;
use leverframe::engine::turn::finish::SCRIPTED_LABEL;
use leverframe::protocol::enums::{ContinuationState, OutboxClass, OutboxState, ToolCallState};
use leverframe::protocol::event::{Event, EventBody};
use leverframe::protocol::session::{Continuation, OutboxItem};
use leverframe::protocol::snapshot::PageRequest;
use leverframe::store::error::StoreError;
use leverframe::store::queries::continuations::ContinuationFilter;
use leverframe::store::queries::outbox::OutboxFilter;
use leverframe::store::{EventsAfter, OpenOptions, Store, check};
use serde_json::Value;

use crate::crash_points::operator::Operator;
use crate::crash_points::scenario::{API_CONVERSATION, End, Message, Scenario};
use crate::crash_points::world::{ANNA, World};

/// The store after the last daemon has ended.
struct Remains {
    broken: Vec<check::Violation>,
    continuations: Vec<Continuation>,
    outbox: Vec<OutboxItem>,
    events: Vec<Event>,
    audit: Vec<Audited>,
    /// Turns that summaries say they stand for, turns that are put away, compactions that have no end.
    memory: (u64, u64, u64),
}

/// A row of the audit.
struct Audited {
    action: String,
    subject: String,
    detail: Value,
}

/// Everything that is wrong; empty = nothing.
pub async fn check(world: &World, operator: &Operator) -> Vec<String> {
    let mut wrong = Vec::new();
    let messages = world.scenario.messages();
    match remains(world).await {
        Err(error) => wrong.push(format!("the store cannot be read: {error}")),
        Ok(remains) => {
            for violation in &remains.broken {
                wrong.push(format!("{}: {}", violation.invariant, violation.detail));
            }
            turns(world.scenario, &messages, &remains, &mut wrong);
            events(messages.len(), &remains, &mut wrong);
            gates(&remains, &mut wrong);
            memory(world.scenario, remains.memory, &mut wrong);
            deliveries(world, operator, &messages, &remains, &mut wrong);
            platform(world, operator, &messages, &remains, &mut wrong);
        }
    }
    effects(world, operator, &mut wrong);
    if world.home.log().contains("cannot go from sent to sending") {
        wrong.push("a part was handed out again after it was sent".to_owned());
    }
    for file in world.leaks() {
        wrong.push(format!("the bot's token can be read in {file}"));
    }
    wrong
}

async fn remains(world: &World) -> Result<Remains, StoreError> {
    let options = OpenOptions {
        dir: world.home.data(),
        clock: Clock::System,
        readers: 1,
        instance: "the crash suite".to_owned(),
    };
    let opened = tokio::task::spawn_blocking(move || Store::open(options))
        .await
        .expect("opening does not panic")?;
    let store = opened.store;
    let all = PageRequest {
        limit: Some(500),
        cursor: None,
    };
    let (broken, continuations, outbox) = store
        .read(move |reader| {
            Ok((
                check::check(reader)?,
                reader
                    .continuations(&ContinuationFilter::default(), &all)?
                    .items,
                reader.outbox(&OutboxFilter::default(), &all)?.items,
            ))
        })
        .await?;
    let mut events: Vec<Event> = Vec::new();
    loop {
        let after = events.last().and_then(|event| event.seq).unwrap_or(0);
        match store.events_after(after, 500).await? {
            EventsAfter::Events(more) if more.is_empty() => break,
            EventsAfter::Events(more) => events.extend(more),
            EventsAfter::Reset => {
                return Err(StoreError::Corrupt(format!(
                    "the log of events does not reach back to {after}"
                )));
            }
        }
    }
    let audit = store
        .with_writer(|conn| {
            let mut statement = conn
                .prepare("SELECT action, subject, detail FROM audit ORDER BY seq")
                .expect("the audit");
            let rows = statement
                .query_map([], |row| {
                    Ok(Audited {
                        action: row.get(0)?,
                        subject: row.get(1)?,
                        detail: serde_json::from_str(&row.get::<_, String>(2)?).unwrap_or_default(),
                    })
                })
                .expect("its rows");
            rows.collect::<Result<Vec<_>, _>>().expect("its columns")
        })
        .await?;
    let memory = store
        .with_writer(|conn| {
            conn.query_row(
                "SELECT (SELECT coalesce(sum(turns), 0) FROM summaries),
                    (SELECT count(*) FROM continuations WHERE archived_at IS NOT NULL),
                    (SELECT count(*) FROM compactions WHERE state = 'running')",
                [],
                |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
            )
            .expect("what is remembered")
        })
        .await?;
    store.close().await;
    Ok(Remains {
        broken,
        continuations,
        outbox,
        events,
        audit,
        memory,
    })
}

/// What was put away is what the summary stands for, and where it is due, it came to that.
fn memory(
    scenario: Scenario,
    (covered, put_away, running): (u64, u64, u64),
    wrong: &mut Vec<String>,
) {
    if covered != put_away || running > 0 {
        wrong.push(format!(
            "summaries stand for {covered} turns, {put_away} are put away, {running} compactions have no end"
        ));
    }
    if (scenario == Scenario::Compact) != (covered > 0) {
        wrong.push(format!("{covered} turns are covered"));
    }
}

/// The tool's own ledger: what was allowed ran, what was not did not.
fn effects(world: &World, operator: &Operator, wrong: &mut Vec<String>) {
    let ledger = world.effects();
    let expected = world.scenario.effects();
    for (label, least, most) in expected {
        let times = ledger.iter().filter(|line| line == label).count();
        if times < *least || times > *most {
            wrong.push(format!("the command `{label}` ran {times} times"));
        }
    }
    for line in &ledger {
        if !expected.iter().any(|(label, ..)| label == line) {
            wrong.push(format!("the command `{line}` ran, which nobody allowed"));
        }
    }
    if operator
        .given_up_at
        .is_some_and(|then| then != ledger.len())
    {
        wrong.push("something ran after it was given up".to_owned());
    }
}

/// Every message has exactly one continuation, and it ended as it must.
fn turns(scenario: Scenario, messages: &[Message], remains: &Remains, wrong: &mut Vec<String>) {
    let all = &remains.continuations;
    if all.len() != messages.len() {
        wrong.push(format!(
            "{} continuations for {} messages",
            all.len(),
            messages.len()
        ));
    }
    for message in messages {
        let conversation = conversation(message);
        let mine: Vec<_> = all
            .iter()
            .filter(|continuation| {
                continuation.conversation == conversation
                    && continuation.request.text == message.text
            })
            .collect();
        let [continuation] = mine.as_slice() else {
            let start: String = message.text.chars().take(40).collect();
            let found = mine.len();
            wrong.push(format!(
                "{found} continuations for `{start}` of {conversation}"
            ));
            continue;
        };
        let said = continuation
            .response
            .as_ref()
            .map(|body| body.text.as_str());
        let ended = match &message.end {
            End::Answered(answer, _) => {
                continuation.state == ContinuationState::Completed && said == Some(answer.as_str())
            }
            End::OneOf(answers) => {
                continuation.state == ContinuationState::Completed
                    && said.is_some_and(|said| answers.contains(&said))
            }
            End::Cancelled => continuation.state == ContinuationState::Cancelled,
            End::Expired => continuation.state == ContinuationState::Expired,
        };
        if !ended {
            wrong.push(format!(
                "{conversation}: {} is {} with {said:?}, error {:?}",
                continuation.id, continuation.state, continuation.error
            ));
        }
        for call in &continuation.tool_calls {
            let fine = if call.name == "execute_command" {
                scenario.may_end(&call.args.to_string(), call.state.as_str())
            } else {
                call.state == ToolCallState::Succeeded
            };
            if !fine {
                let (id, name, state) = (call.id, &call.name, call.state);
                wrong.push(format!("{conversation}: call {id} of {name} is {state}"));
            }
        }
        let (found, written) = (
            continuation.tool_calls.len(),
            message.text.matches("TOOL:").count(),
        );
        if found != written {
            wrong.push(format!(
                "{conversation}: {found} calls, {written} were written"
            ));
        }
    }
}

/// The conversation that a message is said in.
fn conversation(message: &Message) -> String {
    message
        .chat
        .map_or_else(|| API_CONVERSATION.to_owned(), |chat| chat.to_string())
}

/// The log: rising, and exactly one end of each continuation, with nothing of it behind.
fn events(messages: usize, remains: &Remains, wrong: &mut Vec<String>) {
    let mut last = 0;
    let mut ended = BTreeSet::new();
    for event in &remains.events {
        let seq = event.seq.unwrap_or(0);
        if seq <= last {
            wrong.push(format!("event {seq} follows {last}"));
        }
        last = seq;
        let Some(id) = event.continuation_id.map(|id| id.to_string()) else {
            continue;
        };
        let kind = event.body.kind();
        if kind.starts_with("continuation.") && ended.contains(&id) {
            wrong.push(format!("{kind} of {id} after its end"));
        }
        if matches!(
            kind,
            "continuation.completed"
                | "continuation.failed"
                | "continuation.cancelled"
                | "continuation.expired"
        ) {
            ended.insert(id);
        }
    }
    if ended.len() != messages {
        wrong.push(format!("the log knows the end of {} turns", ended.len()));
    }
}

/// Each approval was answered once; the gated call started after its approval, and again only after a
/// person said so.
fn gates(remains: &Remains, wrong: &mut Vec<String>) {
    let mut answered: BTreeMap<String, usize> = BTreeMap::new();
    let mut allowed: BTreeMap<String, usize> = BTreeMap::new();
    let mut starts: BTreeMap<String, usize> = BTreeMap::new();
    for Audited {
        action,
        subject,
        detail,
    } in &remains.audit
    {
        match action.as_str() {
            "approval.decided" => {
                *answered.entry(subject.clone()).or_default() += 1;
                let call = detail["call"].as_str().unwrap_or_default();
                if matches!(
                    (&detail["kind"], &detail["decision"]),
                    (Value::String(kind), Value::String(decision))
                        if (kind == "execute" && decision == "approve")
                            || (kind == "resolve_unknown" && decision == "run_again")
                ) {
                    *allowed.entry(call.to_owned()).or_default() += 1;
                }
            }
            "tool.started" if detail["tool"] == "execute_command" => {
                let count = starts.entry(subject.clone()).or_default();
                *count += 1;
                let allowances = allowed.get(subject).copied().unwrap_or(0);
                if *count > allowances {
                    wrong.push(format!(
                        "start {count} of {subject} with {allowances} decisions that allow it"
                    ));
                }
            }
            _ => {}
        }
    }
    for (approval, times) in answered {
        if times != 1 {
            wrong.push(format!("{approval} was decided {times} times"));
        }
    }
    let calls = remains.continuations.iter().flat_map(|c| &c.tool_calls);
    for call in calls.filter(|call| call.name == "execute_command") {
        let known = starts.get(&call.id.to_string()).copied().unwrap_or(0);
        if known != call.attempts as usize {
            wrong.push(format!(
                "{} says {} attempts, the audit {known}",
                call.id, call.attempts
            ));
        }
    }
}

/// What the store believes it sent is what the platform showed, part by part.
fn deliveries(
    world: &World,
    operator: &Operator,
    messages: &[Message],
    remains: &Remains,
    wrong: &mut Vec<String>,
) {
    let mut sent = BTreeMap::new();
    for event in &remains.events {
        if let EventBody::ReplySent { outbox_id, .. } = &event.body {
            *sent.entry(outbox_id.to_string()).or_insert(0) += 1;
        }
    }
    for (part, times) in sent {
        if times > 1 {
            wrong.push(format!("{part} was recorded as sent {times} times"));
        }
    }
    for item in &remains.outbox {
        let dropped = world.scenario == Scenario::Drop && item.class == OutboxClass::Final;
        let settled = match item.state {
            OutboxState::Sent | OutboxState::Superseded => true,
            OutboxState::Abandoned => dropped,
            OutboxState::Pending
            | OutboxState::Sending
            | OutboxState::Unknown
            | OutboxState::Failed => false,
        };
        if !settled {
            wrong.push(format!("a delivery ended {}: {item:?}", item.state));
        }
    }
    let chats: BTreeSet<i64> = messages.iter().filter_map(|message| message.chat).collect();
    for chat in chats.into_iter().chain([ANNA]) {
        let rows = remains
            .outbox
            .iter()
            .filter(|item| {
                item.conversation == chat.to_string()
                    && item.state == OutboxState::Sent
                    && item.class != OutboxClass::CardUpdate
            })
            .count();
        let shown = world.shown(chat).len();
        let rows = if chat == ANNA {
            rows
        } else {
            rows + operator.dropped_after_showing.len()
        };
        if rows != shown {
            wrong.push(format!(
                "chat {chat} was shown {shown} messages, {rows} are recorded as sent"
            ));
        }
    }
}

/// What people saw: each answer once and in order, one card per question, no request that no client makes. The buttons
/// of cards that the operator said were delivered cannot be taken away: nobody knows their ids at the platform.
fn platform(
    world: &World,
    operator: &Operator,
    messages: &[Message],
    remains: &Remains,
    wrong: &mut Vec<String>,
) {
    let chats: BTreeSet<i64> = messages.iter().filter_map(|message| message.chat).collect();
    for chat in chats {
        chat_is_right(world, remains, chat, messages, wrong);
    }
    let cards = world.shown(ANNA);
    let distinct: BTreeSet<&String> = cards.iter().collect();
    // A card that was edited while nobody knew whether it had arrived, and that the operator had sent again, says what
    // its successor says.
    let sent_again = remains
        .outbox
        .iter()
        .filter(|item| item.class == OutboxClass::ApprovalCard && item.attempts > 1)
        .count();
    if cards.len() - distinct.len() > sent_again {
        wrong.push(format!("Anna was shown {cards:?}"));
    }
    let armed: Vec<_> = world
        .telegram
        .messages(ANNA)
        .into_iter()
        .filter(|card| !card.keyboard.is_empty())
        .collect();
    if armed.len() > operator.blind_cards {
        wrong.push(format!("cards with live buttons are left: {armed:?}"));
    }
    for violation in &world.telegram.state().violations {
        wrong.push(format!("at the platform: {violation}"));
    }
}

/// Words of ours that are no answer.
fn is_notice(text: &str) -> bool {
    [
        "Waiting for a decision",
        "The operator cancelled",
        "This request expired: nobody decided",
        "This request was interrupted",
        "The operator has stopped everything",
    ]
    .iter()
    .any(|start| text.starts_with(start))
}

/// An answer without the line that says what gives it.
fn spoken(text: &str) -> &str {
    text.strip_prefix(SCRIPTED_LABEL)
        .map_or(text, str::trim_start)
}

/// What one chat was shown. Answers of different turns come in any order: one that waits for a person holds up
/// nobody else.
fn chat_is_right(
    world: &World,
    remains: &Remains,
    chat: i64,
    messages: &[Message],
    wrong: &mut Vec<String>,
) {
    let shown = world.shown(chat);
    let mut said: Vec<&str> = shown
        .iter()
        .map(|text| spoken(text))
        .filter(|text| !is_notice(text))
        .collect();
    let mut right = true;
    let mut answered = false;
    let written = said.clone();
    for message in messages.iter().filter(|message| message.chat == Some(chat)) {
        match &message.end {
            End::Answered(answer, parts) => {
                answered = true;
                let mine: Vec<&str> = said
                    .iter()
                    .copied()
                    .filter(|part| answer.contains(part))
                    .collect();
                said.retain(|part| !mine.contains(part));
                right &= if world.scenario == Scenario::Drop {
                    // Some part may be missing; none is there twice, and none is out of order.
                    let places: Vec<_> = mine.iter().map(|part| answer.find(part)).collect();
                    places.is_sorted_by(|a, b| a < b) && mine.len() + 1 >= *parts
                } else {
                    mine.len() == *parts && mine.join(" ") == *answer
                };
            }
            End::OneOf(answers) => {
                answered = true;
                let mine: Vec<&str> = said
                    .iter()
                    .copied()
                    .filter(|part| answers.contains(part))
                    .collect();
                said.retain(|part| !mine.contains(part));
                right &= mine.len() == 1;
            }
            End::Cancelled | End::Expired => {}
        }
    }
    right &= said.is_empty();
    let said = written;
    if !right {
        let starts: Vec<String> = said
            .iter()
            .map(|text| text.chars().take(40).collect())
            .collect();
        wrong.push(format!(
            "chat {chat} was shown {} parts of answers: {starts:?}",
            said.len()
        ));
    }
    // A notice whose delivery was unknown holds up no answer; sent again by the operator, it comes after it.
    let notice_again = remains.outbox.iter().any(|item| {
        item.conversation == chat.to_string()
            && item.class == OutboxClass::Notice
            && item.attempts > 1
    });
    if answered && !notice_again && shown.last().is_some_and(|text| is_notice(text)) {
        wrong.push(format!("chat {chat} was shown {shown:?}"));
    }
    if let Some(notice) = world.scenario.notice() {
        let times = shown.iter().filter(|text| *text == notice).count();
        if times != 1 {
            wrong.push(format!("chat {chat} was shown `{notice}` {times} times"));
        }
    }
}
