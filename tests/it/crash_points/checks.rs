//! What must be true when everything is done, whatever died on the way.

use std::collections::{BTreeMap, BTreeSet};

use leverframe::clock::Clock;
use leverframe::protocol::event::{Event, EventBody};
use leverframe::protocol::session::{Continuation, OutboxItem};
use leverframe::protocol::snapshot::PageRequest;
use leverframe::protocol::words::{ContinuationState, OutboxClass, OutboxState, ToolCallState};
use leverframe::store::error::StoreError;
use leverframe::store::queries::continuations::ContinuationFilter;
use leverframe::store::queries::outbox::OutboxFilter;
use leverframe::store::{EventsAfter, OpenOptions, Store, check};
use serde_json::Value;

use crate::crash_points::operator::MESSAGES;
use crate::crash_points::world::{
    ANNA, API_ANSWER, API_TEXT, BEA, BEA_ANSWER, BEN, World, ben_answer,
};

/// The store after the last daemon has ended.
struct Remains {
    broken: Vec<check::Violation>,
    continuations: Vec<Continuation>,
    outbox: Vec<OutboxItem>,
    events: Vec<Event>,
    audit: Vec<Audited>,
}

/// A row of the audit.
struct Audited {
    action: String,
    subject: String,
    detail: Value,
}

/// Everything that is wrong; empty = nothing. `blind_cards` is the number of cards that the operator said
/// were delivered: nobody knows their ids at the platform, so their buttons cannot be taken away.
pub async fn check(world: &World, blind_cards: usize) -> Vec<String> {
    let mut wrong = Vec::new();
    match remains(world).await {
        Err(error) => wrong.push(format!("the store cannot be read: {error}")),
        Ok(remains) => {
            for violation in &remains.broken {
                wrong.push(format!("{}: {}", violation.invariant, violation.detail));
            }
            turns(&remains, &mut wrong);
            events(&remains, &mut wrong);
            gates(&remains, &mut wrong);
            deliveries(world, &remains, &mut wrong);
            platform(world, &remains, blind_cards, &mut wrong);
        }
    }
    let effects = world.effects();
    if effects != 1 {
        wrong.push(format!("the approved command ran {effects} times"));
    }
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
    store.close().await;
    Ok(Remains {
        broken,
        continuations,
        outbox,
        events,
        audit,
    })
}

/// Every message has exactly one continuation, and it completed with its answer.
fn turns(remains: &Remains, wrong: &mut Vec<String>) {
    let all = &remains.continuations;
    if all.len() != MESSAGES {
        wrong.push(format!(
            "{} continuations for {MESSAGES} messages",
            all.len()
        ));
    }
    let ben = ben_answer();
    for (who, conversation, answer) in [
        ("Ben", BEN.to_string(), ben.as_str()),
        ("Bea", BEA.to_string(), BEA_ANSWER),
        ("the API's client", "crash".to_owned(), API_ANSWER),
    ] {
        let mine: Vec<_> = all
            .iter()
            .filter(|continuation| continuation.conversation == conversation)
            .collect();
        let [continuation] = mine.as_slice() else {
            wrong.push(format!("{} continuations for {who}", mine.len()));
            continue;
        };
        let said = continuation
            .response
            .as_ref()
            .map(|body| body.text.as_str());
        if continuation.state != ContinuationState::Completed || said != Some(answer) {
            wrong.push(format!(
                "{who}: {} is {} with {said:?}, error {:?}",
                continuation.id, continuation.state, continuation.error
            ));
        }
        if who.starts_with("the") && continuation.request.text != API_TEXT {
            wrong.push(format!("{who}: asked {:?}", continuation.request.text));
        }
        for call in &continuation.tool_calls {
            match call.state {
                ToolCallState::Succeeded | ToolCallState::SucceededByNote => {}
                other => wrong.push(format!(
                    "{who}: call {} of {} is {other}",
                    call.id, call.name
                )),
            }
        }
        let calls = if who == "Bea" { 2 } else { 0 };
        if continuation.tool_calls.len() != calls {
            let found = continuation.tool_calls.len();
            wrong.push(format!("{who}: {found} calls, {calls} were written"));
        }
    }
}

/// The log: rising, and exactly one end of each continuation, with nothing of it behind.
fn events(remains: &Remains, wrong: &mut Vec<String>) {
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
    if ended.len() != MESSAGES {
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
        if known == 0 || known != call.attempts as usize {
            wrong.push(format!(
                "{} says {} attempts, the audit {known}",
                call.id, call.attempts
            ));
        }
    }
}

/// What the store believes it sent is what the platform showed, part by part.
fn deliveries(world: &World, remains: &Remains, wrong: &mut Vec<String>) {
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
        if !matches!(item.state, OutboxState::Sent | OutboxState::Superseded) {
            wrong.push(format!("a delivery ended {}: {item:?}", item.state));
        }
    }
    for chat in [BEN, BEA, ANNA] {
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
        if rows != shown {
            wrong.push(format!(
                "chat {chat} was shown {shown} messages, {rows} are recorded as sent"
            ));
        }
    }
}

/// What people saw: each answer once and in order, one card per question, no request that no client makes.
fn platform(world: &World, remains: &Remains, blind_cards: usize, wrong: &mut Vec<String>) {
    let ben = world.shown(BEN);
    if ben.len() != 2 || ben.join(" ") != ben_answer() {
        let parts: Vec<String> = ben
            .iter()
            .map(|text| text.chars().take(40).collect())
            .collect();
        wrong.push(format!("Ben was shown {} parts: {parts:?}", ben.len()));
    }
    let bea = world.shown(BEA);
    let answers = bea.iter().filter(|text| *text == BEA_ANSWER).count();
    // A notice whose delivery was unknown holds up no answer; sent again by the operator, it comes after it.
    let notice_again = remains.outbox.iter().any(|item| {
        item.conversation == BEA.to_string()
            && item.class == OutboxClass::Notice
            && item.attempts > 1
    });
    let answer_last = bea.last().is_some_and(|text| text == BEA_ANSWER);
    if answers != 1 || !(answer_last || notice_again) {
        wrong.push(format!("Bea was shown {bea:?}"));
    }
    let cards = world.shown(ANNA);
    let distinct: BTreeSet<&String> = cards.iter().collect();
    if distinct.len() != cards.len() {
        wrong.push(format!("Anna was shown {cards:?}"));
    }
    let armed: Vec<_> = world
        .telegram
        .messages(ANNA)
        .into_iter()
        .filter(|card| !card.keyboard.is_empty())
        .collect();
    if armed.len() > blind_cards {
        wrong.push(format!("cards with live buttons are left: {armed:?}"));
    }
    for violation in &world.telegram.state().violations {
        wrong.push(format!("at the platform: {violation}"));
    }
}
