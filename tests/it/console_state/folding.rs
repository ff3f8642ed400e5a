//! Live state = snapshot + tail, wherever the snapshot was taken.

use leverframe::clock::Day;
use leverframe::console::fold::{Missing, apply};
use leverframe::console::world::World;
use leverframe::protocol::enums::*;
use leverframe::protocol::event::{Event, EventBody};
use leverframe::protocol::session::{ErrorBody, Usage};
use leverframe::protocol::snapshot::{EngineStatus, OpenStream, Snapshot};
use proptest::prelude::*;

use crate::console_frames::fixture;

fn body(which: u8, n: u8) -> EventBody {
    let mut approval = fixture::approval(n, Risk::Low);
    match which % 14 {
        0 => EventBody::SessionStarted {
            session: Box::new(fixture::session(n, "desk", "a", "b")),
        },
        1 => EventBody::MessageReceived {
            channel: "desk".into(),
            conversation: "x".into(),
            sender: "Ana".into(),
            sender_id: None,
            preview: format!("hello {n}"),
        },
        2 => EventBody::ContinuationStarted { attempt: 1 },
        3 => EventBody::ContinuationCompleted {
            preview: "done".into(),
            usage: fixture::usage(),
        },
        4 => EventBody::ContinuationFailed {
            error: ErrorBody {
                code: "internal".into(),
                message: "x".into(),
            },
        },
        5 => EventBody::ModelFinished {
            model: "m".into(),
            step: 1,
            usage: fixture::usage(),
            latency_ms: 3,
            error: None,
            stop: None,
            answered_by: None,
            notes: Vec::new(),
        },
        6 => EventBody::ToolStarted {
            call_id: fixture::tool_call(n, ToolCallState::Started, None).id,
            name: format!("tool{n}"),
            attempt: 1,
        },
        7 => EventBody::ToolFinished {
            call_id: fixture::tool_call(n, ToolCallState::Started, None).id,
            name: format!("tool{n}"),
            state: ToolCallState::Succeeded,
            preview: String::new(),
            duration_ms: None,
            cached: None,
        },
        8 => EventBody::ApprovalRequested {
            approval: Box::new(approval),
        },
        9 => {
            approval.state = ApprovalState::Approved;
            EventBody::ApprovalDecided {
                approval: Box::new(approval),
            }
        }
        10 => EventBody::ContinuationInterrupted { reason: "x".into() },
        11 => EventBody::ContinuationResumed { by: "x".into() },
        12 => EventBody::PolicyChanged {
            channel: "desk".into(),
            policy: fixture::channel("desk", ChannelKind::Desk, Autonomy::Full).policy,
            by: "x".into(),
        },
        _ => EventBody::SessionEnded { reason: "x".into() },
    }
}

/// The snapshot an engine in this state would give.
fn snapshot_of(world: &World) -> Snapshot {
    Snapshot {
        seq: world.seq,
        at: fixture::NOW,
        sessions: world.sessions.values().cloned().collect(),
        continuations: world.continuations.values().cloned().collect(),
        approvals: world.approvals.values().cloned().collect(),
        channels: world.channels.values().cloned().collect(),
        deliveries: world.deliveries.values().cloned().collect(),
        cache: world.cache.clone(),
        memory: leverframe::protocol::memory::MemoryStats::default(),
        streams: world
            .streams
            .iter()
            .map(|(id, s)| OpenStream {
                continuation_id: *id,
                session_id: s.session_id,
                step: s.step,
                text: s.text.clone(),
                offset: s.offset,
            })
            .collect(),
        on_call_status: world.on_call_status.clone(),
        leftovers: world.leftovers.values().cloned().collect(),
        engine: world.engine.clone().unwrap(),
    }
}

fn event(seq: u64, n: u8, body: EventBody) -> Event {
    Event {
        seq: Some(seq),
        at: fixture::NOW.plus_millis(i64::try_from(seq).unwrap()),
        session_id: Some(fixture::session_id(n)),
        continuation_id: Some(fixture::continuation_id(n)),
        body,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn live_equals_snapshot_and_tail(steps in prop::collection::vec((0u8..14, 1u8..5), 1..50), cut in 0usize..50, overlap in 0usize..10) {
        let events: Vec<Event> = steps.iter().enumerate().map(|(i, (which, n))| event(101 + i as u64, *n, body(*which, *n))).collect();
        let cut = cut.min(events.len());
        let mut live = World::from_snapshot(fixture::busy());
        let mut at_cut = live.clone();
        for (index, event) in events.iter().enumerate() {
            apply(&mut live, event);
            if index + 1 == cut {
                at_cut = live.clone();
            }
        }
        let mut attached = World::from_snapshot(snapshot_of(&at_cut));
        // What only events tell (which turn failed) is derived from continuations in a snapshot.
        attached.failed.clone_from(&at_cut.failed);
        // Events from before the snapshot come again: they must change nothing.
        for event in &events[cut.saturating_sub(overlap)..] {
            apply(&mut attached, event);
        }
        prop_assert_eq!(live, attached);
    }
}

#[test]
fn deltas_are_joined_by_offset() {
    let mut world = World::from_snapshot(fixture::busy());
    let delta = |offset, text: &str| Event {
        seq: None,
        at: fixture::NOW,
        session_id: Some(fixture::session_id(2)),
        continuation_id: Some(fixture::continuation_id(2)),
        body: EventBody::MessageDelta {
            step: 2,
            offset,
            text: text.into(),
        },
    };
    let known = world.streams[&fixture::continuation_id(2)].text.clone();
    let end = known.len() as u64;
    assert!(apply(&mut world, &delta(end - 2, "02:14")).is_empty());
    assert!(
        apply(&mut world, &delta(end - 2, "02:14")).is_empty(),
        "a repeated piece"
    );
    assert_eq!(
        world.streams[&fixture::continuation_id(2)].text,
        format!("{known}:14")
    );
    assert_eq!(
        apply(&mut world, &delta(end + 40, "gap")),
        [Missing::Stream]
    );
    assert!(
        apply(&mut world, &delta(end + 43, "more")).is_empty(),
        "asked for once"
    );
}

#[test]
fn usage_adds_up_on_session_and_day() {
    let mut world = World::from_snapshot(fixture::busy());
    let before = world.sessions[&fixture::session_id(2)].usage;
    let used = Usage {
        input_tokens: 10,
        output_tokens: 5,
        cached_input_tokens: 0,
        cache_write_tokens: 0,
        cost_usd: Some(0.5),
    };
    apply(
        &mut world,
        &event(
            101,
            2,
            EventBody::ModelFinished {
                model: "m".into(),
                step: 2,
                usage: used,
                latency_ms: 1,
                error: None,
                stop: None,
                answered_by: None,
                notes: Vec::new(),
            },
        ),
    );
    assert_eq!(
        world.sessions[&fixture::session_id(2)].usage,
        before.plus(used)
    );
    assert_eq!(
        world.engine.unwrap().usage_today,
        fixture::engine().usage_today.plus(used)
    );
    assert!(
        !world.streams.contains_key(&fixture::continuation_id(2)),
        "a finished model call closes its stream"
    );
}

#[test]
fn a_new_day_starts_the_counters_of_the_day_at_zero() {
    let mut world = World::from_snapshot(fixture::busy());
    let miss = EventBody::CacheMiss {
        channel: "team".into(),
        reason: CacheMissReason::Expired,
    };
    apply(&mut world, &event(101, 2, miss));
    let counted = world.cache.clone();
    assert!(counted.today.lookups > 0 && !counted.channels.is_empty());
    let state = |engine: EngineStatus| EventBody::EngineState {
        engine: Box::new(engine),
    };
    apply(&mut world, &event(102, 2, state(fixture::engine())));
    assert_eq!(world.cache, counted, "it is the same day");
    let mut next = fixture::engine();
    next.today = Day(next.today.0 + 1);
    next.usage_today = Usage::default();
    apply(&mut world, &event(103, 2, state(next)));
    assert_eq!(world.cache.today.lookups, 0);
    assert!(world.cache.channels.is_empty());
    assert_eq!(world.cache.entries, counted.entries, "what is stored stays");
    assert_eq!(world.engine.unwrap().usage_today, Usage::default());
}
