//! Tells observers what happened: from the events as they are committed, so that nothing waits for them and nothing
//! that happened is missed by a path that forgot to call.
//!
//! Each observer has a queue of its own, bounded; what does not fit is dropped and counted.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;

use crate::engine::core::Engine;
use crate::engine::hooks::breaker::BreakerVerdict;
use crate::engine::hooks::{Entry, document, modifies};
use crate::engine::lock::lock;
use crate::protocol::enums::HookPoint;
use crate::protocol::event::{Event, EventBody};
use crate::protocol::hook::HookVerdict;
use crate::protocol::ids::ToolCallId;
use crate::store::queries::hooks::HookFacts;

/// Documents that wait for one observer.
pub const QUEUE: usize = 256;

/// One observer with its queue.
struct Observer {
    entry: Arc<Entry>,
    queue: mpsc::Sender<Arc<Value>>,
}

/// The point of an event, where there is one.
fn point_of(body: &EventBody) -> Option<HookPoint> {
    match body {
        EventBody::SessionStarted { .. } => Some(HookPoint::SessionStart),
        EventBody::SessionEnded { .. } => Some(HookPoint::SessionEnd),
        EventBody::MessageReceived { .. } => Some(HookPoint::MessageReceived),
        EventBody::ToolFinished { .. } => Some(HookPoint::AfterToolCall),
        EventBody::ApprovalRequested { .. } => Some(HookPoint::ApprovalRequested),
        // Once for each; that an answer is used later is no event.
        EventBody::ApprovalDecided { .. } => Some(HookPoint::ApprovalDecided),
        EventBody::ReplySent { .. } => Some(HookPoint::ReplySent),
        EventBody::SessionUpdated { .. }
        | EventBody::CallReported { .. }
        | EventBody::ContinuationQueued { .. }
        | EventBody::ContinuationWaitingForFiles { .. }
        | EventBody::ContinuationStarted { .. }
        | EventBody::ContinuationStreaming { .. }
        | EventBody::ContinuationAwaitingApproval { .. }
        | EventBody::ContinuationInterrupted { .. }
        | EventBody::ContinuationResumed { .. }
        | EventBody::ContinuationCompleted { .. }
        | EventBody::ContinuationFailed { .. }
        | EventBody::ContinuationCancelled { .. }
        | EventBody::ContinuationExpired { .. }
        | EventBody::ModelStarted { .. }
        | EventBody::ModelWaiting { .. }
        | EventBody::ModelFinished { .. }
        | EventBody::MessageDelta { .. }
        | EventBody::ToolProposed { .. }
        | EventBody::ToolStarted { .. }
        | EventBody::ToolOutput { .. }
        | EventBody::ShellOutput { .. }
        | EventBody::DatasetsChanged { .. }
        | EventBody::ApprovalExpired { .. }
        | EventBody::ReplyQueued { .. }
        | EventBody::ReplyFailed { .. }
        | EventBody::ReplyUnknown { .. }
        | EventBody::ChannelState { .. }
        | EventBody::PolicyChanged { .. }
        | EventBody::BudgetReached { .. }
        | EventBody::CacheHit { .. }
        | EventBody::CacheMiss { .. }
        | EventBody::EngineState { .. }
        | EventBody::MemoryChanged { .. }
        | EventBody::HygieneFinished { .. }
        | EventBody::HookRan { .. }
        | EventBody::McpChanged { .. }
        | EventBody::RoutineChanged { .. }
        | EventBody::RuleChanged { .. }
        | EventBody::GrantRemoved { .. }
        | EventBody::ApprovalAssigned { .. }
        | EventBody::ApprovalReminded { .. }
        | EventBody::ApprovalFirstAllowed { .. }
        | EventBody::ApprovalEscalation { .. }
        | EventBody::OnCallChanged { .. }
        | EventBody::LeftoversChanged { .. }
        | EventBody::Unknown => None,
    }
}

fn call_of(body: &EventBody) -> Option<ToolCallId> {
    match body {
        EventBody::ToolFinished { call_id, .. } => Some(*call_id),
        _ => None,
    }
}

/// Begins to tell observers of what is committed from now on. Nothing runs where there are none.
pub fn begin(engine: &Engine) {
    let entries: Vec<Arc<Entry>> = engine
        .hooks
        .entries
        .iter()
        .filter(|entry| entry.hook.is_command() && !modifies(entry.point))
        .cloned()
        .collect();
    if entries.is_empty() {
        return;
    }
    let events = engine.store.subscribe();
    let mut observers = Vec::with_capacity(entries.len());
    for entry in entries {
        let (queue, waiting) = mpsc::channel(QUEUE);
        engine.spawn(work(engine.clone(), Arc::clone(&entry), waiting));
        observers.push(Observer { entry, queue });
    }
    engine.spawn(listen(engine.clone(), observers, events));
}

async fn listen(
    engine: Engine,
    observers: Vec<Observer>,
    mut events: tokio::sync::broadcast::Receiver<Arc<Event>>,
) {
    loop {
        let event = tokio::select! {
            biased;
            () = engine.shutdown.cancelled() => return,
            event = events.recv() => event,
        };
        match event {
            Ok(event) => tell(&engine, &observers, &event).await,
            Err(RecvError::Lagged(count)) => {
                // Which of them concerned whom is not known any more.
                for observer in &observers {
                    lock(&observer.entry.stats).dropped(count);
                }
            }
            Err(RecvError::Closed) => return,
        }
    }
}

async fn tell(engine: &Engine, observers: &[Observer], event: &Event) {
    let Some(point) = point_of(&event.body) else {
        return;
    };
    if !observers.iter().any(|one| one.entry.point == point) {
        return;
    }
    let (session, continuation) = (event.session_id, event.continuation_id);
    let call = call_of(&event.body);
    let facts = engine
        .store
        .read(move |reader| reader.hook_facts(session, continuation, call))
        .await
        .unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot read the subject of an event; observers get the event without it");
            HookFacts::default()
        });
    let document = document_of(point, event, facts);
    let word = |name: &str| document.get(name).and_then(Value::as_str);
    let (channel, tool) = (word("channel"), word("tool"));
    let document = Arc::new(document.clone());
    for observer in observers {
        let entry = &observer.entry;
        if entry.point != point || !entry.hook.concerns(channel, tool) {
            continue;
        }
        if observer.queue.try_send(Arc::clone(&document)).is_err() {
            lock(&entry.stats).dropped(1);
        }
    }
}

/// What observers read: the event, and what it is about.
fn document_of(point: HookPoint, event: &Event, facts: HookFacts) -> Value {
    let mut document = json!({
        "version": document::VERSION,
        "point": point,
        "at": event.at,
        "seq": event.seq,
        "session_id": event.session_id,
        "continuation_id": event.continuation_id,
    });
    let body = serde_json::to_value(&event.body).unwrap_or_default();
    let Value::Object(fields) = &mut document else {
        return document;
    };
    let mut set = |name: &str, value: Value| {
        fields.insert(name.to_owned(), value);
    };
    match (facts.place, body.get("channel")) {
        (Some((channel, conversation)), _) => {
            set("channel", channel.into());
            set("conversation", conversation.into());
        }
        (None, Some(channel)) => set("channel", channel.clone()),
        (None, None) => {
            if let Some(channel) = body.pointer("/approval/channel") {
                set("channel", channel.clone());
            }
        }
    }
    if let Some(requester) = facts.requester {
        set("requester", json!(requester));
    }
    if let Some(text) = facts.text.filter(|_| point == HookPoint::MessageReceived) {
        set("text", text.into());
    }
    if let Some((tool, args, result)) = facts.call {
        set("tool", tool.into());
        set("args", args);
        // A call that ended has a result; where it was not read, its beginning is in the event.
        let preview = body.get("preview").cloned().unwrap_or_default();
        set("result", result.map_or(preview, Value::from));
    }
    set("event", body);
    document
}

/// Runs one observer for one document after the other.
async fn work(engine: Engine, entry: Arc<Entry>, mut waiting: mpsc::Receiver<Arc<Value>>) {
    loop {
        tokio::select! {
            biased;
            () = engine.shutdown.cancelled() => return,
            document = waiting.recv() => match document {
                Some(document) => tokio::select! {
                    () = engine.shutdown.cancelled() => return,
                    () = run(&engine, &entry, document.as_ref().clone()) => {}
                },
                None => return,
            },
        }
    }
}

async fn run(engine: &Engine, entry: &Entry, mut document: Value) {
    let hooks = &engine.hooks;
    if let BreakerVerdict::Wait(_) = lock(&entry.hook.breaker).enter(hooks.now()) {
        lock(&entry.stats).skipped();
        return;
    }
    if let Value::Object(fields) = &mut document {
        fields.insert("hook".to_owned(), entry.hook.name.clone().into());
    }
    let began = std::time::Instant::now();
    let said = hooks.call(&entry.hook, entry.point, document).await;
    let verdict = match said {
        Ok(_) => HookVerdict::Pass,
        Err(error) => HookVerdict::Failed { error },
    };
    lock(&entry.stats).ran(&verdict, began.elapsed());
    if verdict != HookVerdict::Pass {
        engine.store.publish(Event {
            seq: None,
            at: hooks.now(),
            session_id: None,
            continuation_id: None,
            body: EventBody::HookRan {
                hook: entry.hook.name.clone(),
                point: entry.point,
                verdict,
                dry_run: entry.hook.dry_run,
            },
        });
    }
}
