//! Events of the engine become spans: one trace for each turn, with its model calls, tool calls, waits for people and
//! deliveries. Pure: an event and what is known of its turn give the spans that it ends.
//!
//! A span says names, numbers and outcomes. It never says what somebody wrote.

use std::collections::BTreeMap;

use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::trace::v1::span::{Event as SpanEvent, SpanKind};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{Span, Status};

use crate::clock::Timestamp;
use crate::protocol::approval::Approval;
use crate::protocol::enums::{ApprovalState, ContinuationState, ToolCallState};
use crate::protocol::event::{Event, EventBody};
use crate::protocol::ids::ContinuationId;
use crate::protocol::session::Usage;
use crate::protocol::trace_parent::TraceParent;
use crate::telemetry::attributes::{decimal, flag, list_of_one, name, number, text};
use crate::telemetry::span_ids;
use crate::text::redact::Redactor;

/// Turns that are remembered; the oldest go first.
const MOST_TURNS: usize = 10_000;
/// Interruptions of a turn that its span names.
const MOST_INTERRUPTIONS: usize = 32;
/// The value of `error.type` where no fixed word says more.
const OTHER_ERROR: &str = "_OTHER";

/// What became of events so far.
#[derive(Debug)]
pub struct Spans {
    /// Names of providers in the semantic conventions, by their names in the configuration.
    providers: BTreeMap<String, String>,
    share: f64,
    redactor: Redactor,
    turns: BTreeMap<ContinuationId, Turn>,
}

/// What later spans of a turn need.
#[derive(Debug, Default)]
struct Turn {
    channel: Option<String>,
    /// The trace of a caller that it is a part of.
    parent: Option<TraceParent>,
    began: Option<Timestamp>,
    attempts: u32,
    /// When its open model call began.
    call_began: Option<Timestamp>,
    /// Whether the next model call is one of the response cache.
    from_cache: bool,
    reply_queued: Option<Timestamp>,
    interruptions: Vec<SpanEvent>,
}

/// A span as far as one event says it.
struct SpanFacts<'a> {
    name: String,
    kind: SpanKind,
    began: Timestamp,
    attributes: Vec<KeyValue>,
    /// What went wrong, in a fixed word.
    error: Option<&'a str>,
}

impl Spans {
    /// No events yet. `share` of the turns are traced, beside those that a caller traces.
    pub fn new(providers: BTreeMap<String, String>, share: f64, redactor: Redactor) -> Self {
        Self {
            providers,
            share,
            redactor,
            turns: BTreeMap::new(),
        }
    }

    /// The turn that an event ends and whose channel nobody named so far: it began in an earlier process.
    pub fn unknown_channel(&self, event: &Event) -> Option<ContinuationId> {
        let id = event.continuation_id?;
        let ends = event.body.continuation_state()?.is_terminal();
        let known = (self.turns.get(&id)).is_some_and(|turn| turn.channel.is_some());
        (ends && !known && self.is_sampled(id)).then_some(id)
    }

    /// The turn of an event, where nothing is known of it.
    pub fn unknown_turn(&self, event: &Event) -> Option<ContinuationId> {
        let id = event.continuation_id?;
        (!self.turns.contains_key(&id)).then_some(id)
    }

    /// A turn is a part of this trace; none = it is one of its own.
    pub fn join(&mut self, id: ContinuationId, parent: Option<TraceParent>) {
        self.turn(id).parent = parent;
    }

    fn parent(&self, id: ContinuationId) -> Option<TraceParent> {
        self.turns.get(&id)?.parent
    }

    fn is_sampled(&self, id: ContinuationId) -> bool {
        span_ids::is_sampled(id, self.parent(id), self.share)
    }

    /// This is the channel of a turn.
    pub fn learn_channel(&mut self, id: ContinuationId, channel: String) {
        self.turn(id).channel = Some(channel);
    }

    /// The span that an event ends.
    pub fn fold(&mut self, event: &Event) -> Option<Span> {
        let id = event.continuation_id?;
        if !self.is_sampled(id) {
            return None;
        }
        self.note(id, event);
        let ended = self.ended(id, event)?;
        Some(self.span(id, event, ended))
    }

    fn turn(&mut self, id: ContinuationId) -> &mut Turn {
        if self.turns.len() >= MOST_TURNS && !self.turns.contains_key(&id) {
            self.turns.pop_first();
        }
        self.turns.entry(id).or_default()
    }

    /// Keeps what later spans need.
    fn note(&mut self, id: ContinuationId, event: &Event) {
        let at = event.at;
        match &event.body {
            EventBody::MessageReceived { channel, .. } => {
                let turn = self.turn(id);
                turn.channel = Some(channel.clone());
                turn.began = Some(at);
            }
            EventBody::ContinuationStarted { attempt } => self.turn(id).attempts = *attempt,
            EventBody::ContinuationInterrupted { .. } => self.interrupt(id, at, "interrupted"),
            EventBody::ContinuationResumed { .. } => self.interrupt(id, at, "resumed"),
            EventBody::ModelStarted {
                not_before: None, ..
            } => self.turn(id).call_began = Some(at),
            EventBody::CacheHit { .. } => self.turn(id).from_cache = true,
            EventBody::ReplyQueued { .. } => self.turn(id).reply_queued = Some(at),
            _ => {}
        }
    }

    fn interrupt(&mut self, id: ContinuationId, at: Timestamp, word: &str) {
        let interruptions = &mut self.turn(id).interruptions;
        if interruptions.len() < MOST_INTERRUPTIONS {
            interruptions.push(SpanEvent {
                time_unix_nano: span_ids::nanos(at),
                name: word.to_owned(),
                ..SpanEvent::default()
            });
        }
    }

    fn ended<'a>(&mut self, id: ContinuationId, event: &'a Event) -> Option<SpanFacts<'a>> {
        let at = event.at;
        match &event.body {
            EventBody::ModelFinished {
                model,
                step,
                usage,
                latency_ms,
                error,
                stop,
                answered_by,
                ..
            } => {
                let turn = self.turn(id);
                let began = turn.call_began.take();
                let from_cache = std::mem::take(&mut turn.from_cache);
                let began = began.unwrap_or_else(|| before(at, *latency_ms));
                let (provider, model) = model.split_once('/').unwrap_or(("", model));
                let known = self.providers.get(provider);
                let mut attributes = vec![
                    text("gen_ai.operation.name", "chat"),
                    text(
                        "gen_ai.provider.name",
                        known.map_or(provider, String::as_str),
                    ),
                    text("gen_ai.request.model", model),
                    number("leverframe.step", u64::from(*step)),
                ];
                attributes.extend(tokens(usage));
                let stop = stop.as_ref().map(|word| self.redactor.redact(word));
                attributes.extend(
                    stop.map(|word| list_of_one("gen_ai.response.finish_reasons", name(&word))),
                );
                let answered_by = answered_by.as_ref().map(|word| self.redactor.redact(word));
                attributes
                    .extend(answered_by.map(|word| text("gen_ai.response.model", name(&word))));
                if from_cache {
                    attributes.push(flag("leverframe.response_cache.hit", true));
                }
                Some(SpanFacts {
                    name: format!("chat {model}"),
                    kind: SpanKind::Client,
                    began,
                    attributes,
                    // Its words may quote what was asked.
                    error: error.as_ref().map(|_| OTHER_ERROR),
                })
            }
            EventBody::ToolFinished {
                call_id,
                name: tool,
                state,
                duration_ms,
                cached,
                ..
            } => {
                let tool = self.tool(tool);
                let mut attributes = vec![
                    text("gen_ai.operation.name", "execute_tool"),
                    text("gen_ai.tool.name", tool.clone()),
                    text("gen_ai.tool.call.id", call_id.to_string()),
                    text("gen_ai.tool.type", "function"),
                    text("leverframe.tool.state", state.as_str()),
                ];
                if cached.is_some() {
                    attributes.push(flag("leverframe.tool_cache.hit", true));
                }
                let error = match state {
                    ToolCallState::Succeeded | ToolCallState::SucceededByNote => None,
                    ToolCallState::Proposed
                    | ToolCallState::Blocked
                    | ToolCallState::Denied
                    | ToolCallState::Ready
                    | ToolCallState::Awaiting
                    | ToolCallState::Approved
                    | ToolCallState::Started
                    | ToolCallState::Failed
                    | ToolCallState::Indeterminate
                    | ToolCallState::Abandoned
                    | ToolCallState::Cancelled
                    | ToolCallState::Expired => Some(state.as_str()),
                };
                Some(SpanFacts {
                    name: format!("execute_tool {tool}"),
                    kind: SpanKind::Internal,
                    began: before(at, duration_ms.unwrap_or(0)),
                    attributes,
                    error,
                })
            }
            EventBody::ApprovalDecided { approval } => {
                let decision = approval.decision.as_ref()?;
                // The same event says that an approval was used, or that a first person allowed it.
                let ends = decision.at == at
                    && !matches!(
                        approval.state,
                        ApprovalState::Pending | ApprovalState::Consumed
                    );
                let word = decision.decision.as_str();
                ends.then(|| self.wait(approval, word, Some(decision.surface.as_str())))
            }
            EventBody::ApprovalExpired { approval } => Some(self.wait(approval, "expired", None)),
            EventBody::ReplySent { channel, class, .. } => {
                let class = text("leverframe.outbox.class", class.as_str());
                Some(self.delivery(id, at, channel, vec![class], None))
            }
            EventBody::ReplyFailed { channel, .. } => {
                Some(self.delivery(id, at, channel, Vec::new(), Some("failed")))
            }
            EventBody::ReplyUnknown { channel, .. } => {
                Some(self.delivery(id, at, channel, Vec::new(), Some("unknown")))
            }
            EventBody::ContinuationCompleted { usage, .. } => {
                Some(self.whole(id, event, tokens(usage), None))
            }
            EventBody::ContinuationFailed { error } => {
                Some(self.whole(id, event, Vec::new(), Some(name(&error.code))))
            }
            EventBody::ContinuationCancelled { .. } | EventBody::ContinuationExpired { .. } => {
                let state = event.body.continuation_state();
                let word = state.map_or(OTHER_ERROR, ContinuationState::as_str);
                Some(self.whole(id, event, Vec::new(), Some(word)))
            }
            _ => None,
        }
    }

    /// The span of the whole turn. A turn that began in an earlier process began when its id was made.
    fn whole<'a>(
        &mut self,
        id: ContinuationId,
        event: &Event,
        mut attributes: Vec<KeyValue>,
        error: Option<&'a str>,
    ) -> SpanFacts<'a> {
        let turn = self.turn(id);
        let channel = turn.channel.clone().unwrap_or_default();
        let began = turn.began.unwrap_or_else(|| span_ids::made_at(id));
        attributes.push(text("gen_ai.operation.name", "invoke_agent"));
        attributes.push(text("gen_ai.agent.name", channel.clone()));
        if let Some(state) = event.body.continuation_state() {
            attributes.push(text("leverframe.turn.state", state.as_str()));
        }
        if turn.attempts > 1 {
            attributes.push(number("leverframe.turn.attempts", u64::from(turn.attempts)));
        }
        SpanFacts {
            name: format!("invoke_agent {channel}").trim_end().to_owned(),
            kind: SpanKind::Internal,
            began,
            attributes,
            error,
        }
    }

    /// The wait for a person.
    fn wait(
        &self,
        approval: &Approval,
        decision: &str,
        surface: Option<&str>,
    ) -> SpanFacts<'static> {
        let mut attributes = vec![
            text("leverframe.approval.kind", approval.kind.as_str()),
            text("leverframe.approval.decision", decision),
            text("leverframe.approval.risk", approval.risk.as_str()),
        ];
        attributes.extend(surface.map(|word| text("leverframe.approval.surface", word)));
        let mut shown = format!("wait_for_approval {}", approval.kind.as_str());
        if !approval.tool.is_empty() {
            let tool = self.tool(&approval.tool);
            shown = format!("wait_for_approval {tool}");
            attributes.push(text("gen_ai.tool.name", tool));
        }
        let call = approval.tool_call_id;
        attributes.extend(call.map(|id| text("gen_ai.tool.call.id", id.to_string())));
        SpanFacts {
            name: shown,
            kind: SpanKind::Internal,
            began: approval.requested_at,
            attributes,
            error: None,
        }
    }

    fn delivery<'a>(
        &mut self,
        id: ContinuationId,
        at: Timestamp,
        channel: &str,
        mut attributes: Vec<KeyValue>,
        error: Option<&'a str>,
    ) -> SpanFacts<'a> {
        attributes.push(text("leverframe.channel", channel));
        SpanFacts {
            name: format!("deliver {channel}"),
            kind: SpanKind::Client,
            began: self.turn(id).reply_queued.unwrap_or(at),
            attributes,
            error,
        }
    }

    fn tool(&self, given: &str) -> String {
        name(&self.redactor.redact(given)).to_owned()
    }

    fn span(&mut self, id: ContinuationId, event: &Event, ended: SpanFacts<'_>) -> Span {
        let is_root = event
            .body
            .continuation_state()
            .is_some_and(ContinuationState::is_terminal);
        let number_of_event = event.seq.unwrap_or_default();
        let parent = self.parent(id);
        let root = span_ids::root(id);
        let (span_id, parent_span_id, events) = if is_root {
            let events = std::mem::take(&mut self.turn(id).interruptions);
            let caller = parent.map(|parent| parent.span_id());
            (root, caller.unwrap_or_default(), events)
        } else {
            (span_ids::child(id, number_of_event), root, Vec::new())
        };
        let mut attributes = ended.attributes;
        if let Some(session) = event.session_id {
            attributes.push(text("gen_ai.conversation.id", session.to_string()));
        }
        attributes.extend(ended.error.map(|word| text("error.type", word)));
        Span {
            trace_id: span_ids::trace(id, parent),
            span_id,
            parent_span_id,
            flags: 1,
            name: ended.name,
            kind: ended.kind.into(),
            start_time_unix_nano: span_ids::nanos(ended.began.min(event.at)),
            end_time_unix_nano: span_ids::nanos(event.at),
            attributes,
            events,
            status: ended.error.map(|_| Status {
                code: StatusCode::Error.into(),
                ..Status::default()
            }),
            ..Span::default()
        }
    }
}

fn before(at: Timestamp, millis: u64) -> Timestamp {
    at.plus_millis(-i64::try_from(millis).unwrap_or(0))
}

fn tokens(usage: &Usage) -> Vec<KeyValue> {
    let mut attributes = vec![
        number("gen_ai.usage.input_tokens", usage.input_tokens),
        number("gen_ai.usage.output_tokens", usage.output_tokens),
    ];
    for (key, count) in [
        (
            "gen_ai.usage.cache_read.input_tokens",
            usage.cached_input_tokens,
        ),
        (
            "gen_ai.usage.cache_creation.input_tokens",
            usage.cache_write_tokens,
        ),
    ] {
        if count > 0 {
            attributes.push(number(key, count));
        }
    }
    attributes.extend(
        usage
            .cost_usd
            .map(|cost| decimal("leverframe.cost_usd", cost)),
    );
    attributes
}
