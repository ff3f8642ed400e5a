//! The guarded line reader: same lines however the bytes are cut, and no way to make it work long.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use leverframe::model::exchange::LIMITS;
use leverframe::text::framing::{Format, Guard, StreamError, json_lines};
use proptest::prelude::*;

const IDLE: Duration = Duration::from_secs(5);

fn read(chunks: Vec<Vec<u8>>) -> (Vec<String>, Option<StreamError>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        let bytes = futures_util::stream::iter(chunks.into_iter().map(Ok::<_, Infallible>));
        let mut lines = std::pin::pin!(json_lines(bytes, IDLE, LIMITS));
        let mut found = Vec::new();
        while let Some(item) = lines.next().await {
            match item {
                Ok(line) => found.push(line),
                Err(error) => {
                    assert!(lines.next().await.is_none(), "nothing after an error");
                    return (found, Some(error));
                }
            }
        }
        (found, None)
    })
}

fn whole(text: impl AsRef<[u8]>) -> Vec<String> {
    let (lines, error) = read(vec![text.as_ref().to_vec()]);
    assert_eq!(error, None);
    lines
}

#[test]
fn the_forms_of_a_line() {
    for text in [
        "{\"a\":1}\n{\"b\":2}\n",
        "{\"a\":1}\r\n{\"b\":2}\r\n",
        "\u{feff}{\"a\":1}\n\n  \n{\"b\":2}",
        "\u{feff}\u{feff}{\"a\":1}\n {\"b\":2} \n",
        "{\"a\":1}\n{\"b\":2}\n{\"c\":\"cut of",
    ] {
        assert_eq!(whole(text), ["{\"a\":1}", "{\"b\":2}"], "{text:?}");
    }
    assert_eq!(
        whole("\u{feff}{\"a\":1}"),
        ["{\"a\":1}"],
        "one line, unterminated"
    );
    assert_eq!(whole(""), [""; 0]);
    assert_eq!(whole("\u{feff}\n"), [""; 0]);
    assert_eq!(
        whole("not JSON\n"),
        ["not JSON"],
        "what is not JSON is the decoder's to report"
    );
}

#[test]
fn bytes_that_are_no_utf8_are_refused_after_what_came() {
    let (lines, error) = read(vec![b"{}\n{\"a\":\"x\xff\"}\n{}\n".to_vec()]);
    assert_eq!(lines, ["{}"]);
    assert!(
        matches!(error, Some(StreamError::Malformed(_))),
        "{error:?}"
    );
}

#[test]
fn a_huge_line_is_refused_in_bounded_time() {
    for chunk in [64, 8 * 1024, 16 * 1024 * 1024] {
        let started = Instant::now();
        let mut bytes = b"{}\n\"".to_vec();
        bytes.extend(std::iter::repeat_n(b'x', 16 * 1024 * 1024));
        let (lines, error) = read(bytes.chunks(chunk).map(<[u8]>::to_vec).collect());
        assert_eq!(lines, ["{}"], "what came before is kept");
        assert!(
            matches!(error, Some(StreamError::Malformed(_))),
            "{error:?}"
        );
        assert!(started.elapsed() < Duration::from_secs(5));
    }
    let mut bytes = vec![b' '; LIMITS.record - 2];
    bytes.extend_from_slice(b"{}\n");
    assert_eq!(whole(bytes), ["{}"], "just below the cap");
}

#[test]
fn a_stream_beyond_the_cap_is_refused() {
    let part = b"{\"a\":1}\n".repeat(100_000);
    let mut guard = Guard::new(Format::JsonLines, LIMITS);
    let mut out = VecDeque::new();
    let error = (0..=LIMITS.stream / part.len())
        .map(|_| {
            out.clear();
            guard.push(&part, &mut out)
        })
        .find_map(Result::err);
    assert!(
        matches!(error, Some(StreamError::Malformed(_))),
        "{error:?}"
    );
}

#[test]
fn silence_and_a_broken_connection_are_reported_after_what_came() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        let broken = futures_util::stream::iter(vec![
            Ok(b"{}\n{\"a\":1}".to_vec()),
            Err("reset".to_owned()),
        ]);
        let items: Vec<_> = json_lines(broken, IDLE, LIMITS).collect().await;
        assert_eq!(
            items,
            [
                Ok("{}".to_owned()),
                Err(StreamError::Transport("reset".to_owned()))
            ]
        );
        let idle = Duration::from_millis(20);
        let silent = futures_util::stream::iter([Ok::<_, Infallible>(b"{}\n".to_vec())])
            .chain(futures_util::stream::pending());
        let items: Vec<_> = json_lines(silent, idle, LIMITS).collect().await;
        assert_eq!(items, [Ok("{}".to_owned()), Err(StreamError::Idle(idle))]);
    });
}

fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(b"\n".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b" \n\n".to_vec()),
        Just("\u{feff}".as_bytes().to_vec()),
        Just(b"{\"a\":1}".to_vec()),
        Just(b"{\"a\":".to_vec()),
        Just("\"grüß 👋🏽 \u{2028}\"".as_bytes().to_vec()),
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
