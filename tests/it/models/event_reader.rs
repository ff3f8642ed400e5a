//! The guarded event reader: same events however the bytes are cut, and no way to make it work long.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use leverframe::model::exchange::LIMITS;
use leverframe::text::framing::{Format, Guard, SseEvent, StreamError, events};
use proptest::prelude::*;

const IDLE: Duration = Duration::from_secs(5);

fn read(chunks: Vec<Vec<u8>>) -> (Vec<SseEvent>, Option<StreamError>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        let bytes = futures_util::stream::iter(chunks.into_iter().map(Ok::<_, Infallible>));
        let mut events = std::pin::pin!(events(bytes, IDLE, LIMITS));
        let mut found = Vec::new();
        while let Some(item) = events.next().await {
            match item {
                Ok(event) => found.push(event),
                Err(error) => {
                    assert!(events.next().await.is_none(), "nothing after an error");
                    return (found, Some(error));
                }
            }
        }
        (found, None)
    })
}

fn whole(text: impl AsRef<[u8]>) -> Vec<SseEvent> {
    let (events, error) = read(vec![text.as_ref().to_vec()]);
    assert_eq!(error, None);
    events
}

fn event(name: &str, data: &str) -> SseEvent {
    SseEvent {
        name: name.to_owned(),
        data: data.to_owned(),
    }
}

#[test]
fn the_forms_of_an_event() {
    let two = vec![event("message", "1"), event("x", "2\n3")];
    for text in [
        "data: 1\n\nevent: x\ndata:2\ndata: 3\n\n",
        "data: 1\r\n\r\nevent: x\r\ndata:2\r\ndata: 3\r\n\r\n",
        "data: 1\r\revent: x\rdata:2\rdata: 3\r\r",
        "\u{feff}data: 1\n\n: note\n\nevent: x\ndata:2\n: note\ndata: 3\n\n",
        "\u{feff}\u{feff}data: 1\n\nevent: x\ndata:2\nid: 7\nretry: 5\ndata: 3",
    ] {
        assert_eq!(whole(text), two, "{text:?}");
    }
    assert_eq!(whole(""), vec![]);
    assert_eq!(whole("\u{feff}"), vec![]);
    assert_eq!(
        whole("event: ping\n\n"),
        vec![],
        "an event without data is none"
    );
    assert_eq!(
        whole("data: {\"a\":\"cut of"),
        vec![],
        "a cut event is none"
    );
    assert_eq!(whole("data: [DONE]"), vec![event("message", "[DONE]")]);
}

#[test]
fn invalid_utf8_is_refused_after_what_came_before() {
    let (events, error) = read(vec![
        b"data: ok\n\ndata: a\xff\xfeb\n\ndata: late\n\n".to_vec(),
    ]);
    assert_eq!(events, [event("message", "ok")]);
    assert!(
        matches!(error, Some(StreamError::Malformed(_))),
        "{error:?}"
    );
}

#[test]
fn a_huge_event_is_refused_in_bounded_time() {
    for chunk in [64, 8 * 1024, 4 * 1024 * 1024] {
        let started = Instant::now();
        let mut bytes = b"data: first\n\ndata: ".to_vec();
        bytes.extend(std::iter::repeat_n(b'x', 4 * 1024 * 1024));
        let (events, error) = read(bytes.chunks(chunk).map(<[u8]>::to_vec).collect());
        assert_eq!(
            events,
            [event("message", "first")],
            "what came before is kept"
        );
        assert!(
            matches!(error, Some(StreamError::Malformed(_))),
            "{error:?}"
        );
        assert!(
            started.elapsed() < Duration::from_secs(5),
            "{chunk}: {:?}",
            started.elapsed()
        );
    }
    // Many short lines of one event count together.
    let (events, error) = read(vec![b"data: yyyyyyyy\n".repeat(100_000)]);
    assert!(events.is_empty());
    assert!(matches!(error, Some(StreamError::Malformed(_))));
}

#[test]
fn an_event_just_below_the_cap_is_read_in_small_chunks() {
    let started = Instant::now();
    let mut bytes = b"data: ".to_vec();
    bytes.extend(std::iter::repeat_n(b'x', LIMITS.record - 16));
    bytes.extend_from_slice(b"\n\n");
    let (events, error) = read(bytes.chunks(256).map(<[u8]>::to_vec).collect());
    assert_eq!(error, None);
    assert_eq!(events[0].data.len(), LIMITS.record - 16);
    assert!(
        started.elapsed() < Duration::from_secs(10),
        "{:?}",
        started.elapsed()
    );
}

#[test]
fn many_small_events_in_large_chunks_are_read_in_bounded_time() {
    let started = Instant::now();
    let events = whole(b"data: {\"a\":1}\n\n".repeat(50_000));
    assert_eq!(events.len(), 50_000);
    assert!(
        started.elapsed() < Duration::from_secs(20),
        "{:?}",
        started.elapsed()
    );
}

#[test]
fn a_stream_beyond_the_cap_is_refused() {
    let part = b"data: 123456\n\n".repeat(75_000);
    let chunks = std::iter::repeat_n(part.clone(), LIMITS.stream / part.len() + 1);
    let mut guard = Guard::new(Format::Events, LIMITS);
    let mut out = std::collections::VecDeque::new();
    let error = chunks
        .map(|chunk| {
            let result = guard.push(&chunk, &mut out);
            out.clear();
            result
        })
        .find_map(Result::err);
    assert!(
        matches!(error, Some(StreamError::Malformed(_))),
        "{error:?}"
    );
}

#[test]
fn a_broken_connection_is_reported_after_what_came() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        let bytes = futures_util::stream::iter(vec![
            Ok(b"data: 1\n\ndata: 2".to_vec()),
            Err("reset".to_owned()),
        ]);
        let items: Vec<_> = events(bytes, IDLE, LIMITS).collect().await;
        assert_eq!(
            items,
            vec![
                Ok(event("message", "1")),
                Err(StreamError::Transport("reset".to_owned()))
            ]
        );
    });
}

fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(b"\n".to_vec()),
        Just(b"\r".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\n\n".to_vec()),
        Just("\u{feff}".as_bytes().to_vec()),
        Just(b"data: ".to_vec()),
        Just(b"data".to_vec()),
        Just(b"event: x".to_vec()),
        Just(b": note".to_vec()),
        Just("grüß 👋🏽 \u{2028}".as_bytes().to_vec()),
        Just(b"{\"a\":1}".to_vec()),
        proptest::collection::vec(any::<u8>(), 0..6),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn cutting_changes_nothing(
        pieces in proptest::collection::vec(piece(), 0..30),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let bytes = pieces.concat();
        let expected = read(vec![bytes.clone()]);
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        at.push(0);
        at.push(bytes.len());
        at.sort_unstable();
        let chunks = at.windows(2).map(|pair| bytes[pair[0]..pair[1]].to_vec()).collect();
        prop_assert_eq!(read(chunks), expected.clone());
        let single = bytes.iter().map(|byte| vec![*byte]).collect();
        prop_assert_eq!(read(single), expected);
    }
}
