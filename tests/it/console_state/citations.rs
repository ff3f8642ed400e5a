//! The sources of an answer and the options of a message, where a turn is read.

use leverframe::protocol::citation::{Citation, Citations};
use leverframe::protocol::enums::{CitationKind, ContinuationState};
use leverframe::protocol::options::{DirectCall, ModelParameters, TurnOptions};
use leverframe::protocol::session::{NO_MODEL, StepBody, TranscriptBody};

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;
use crate::console_frames::fleet::{self, opened};

fn citations() -> Citations {
    Citations::of(
        (0..21)
            .map(|number| Citation {
                kind: CitationKind::File,
                source: format!("notes\u{202e}/{number:02}.md"),
            })
            .collect(),
    )
}

#[test]
fn the_sources_stand_below_the_answer() {
    let mut driver = Driver::with(120, 40, fixture::busy());
    driver.press("2 j j enter");
    let mut entry = fixture::model(3, "It was the relay.", vec![]);
    if let TranscriptBody::Step { step, .. } = &mut entry.body {
        step.body = StepBody::Final {
            text: "It was the relay.".to_owned(),
            stop: "end".to_owned(),
            citations: citations(),
        };
    }
    driver.answer_transcript(vec![entry]);
    let text = driver.text();
    assert!(text.contains("sources"), "{text}");
    assert!(
        text.contains("/19.md") && !text.contains("/20.md"),
        "{text}"
    );
    assert!(text.contains("and 1 more"), "{text}");
    assert!(!text.contains('\u{202e}'), "{text}");
}

#[test]
fn a_turn_tells_its_options_and_sources() {
    let turn = leverframe::protocol::session::Continuation {
        waiting_files: 0,
        options: Some(TurnOptions {
            allow_tools: Some(vec!["read_file".to_owned()]),
            hints: vec!["be brief".to_owned()],
            parameters: ModelParameters {
                temperature: Some(0.5),
                ..ModelParameters::default()
            },
            ..TurnOptions::default()
        }),
        citations: citations(),
        ..fixture::continuation(2, ContinuationState::Completed)
    };
    let engine = fleet::Engine {
        turns: vec![turn],
        ..fleet::Engine::default()
    };
    let mut driver = opened(120, 60, "5 j", &engine);
    let text = driver.text();
    for line in [
        "allow_tools read_file",
        "hint be brief",
        "temperature 0.5",
        "/00.md",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn a_direct_call_is_shown_as_one_that_asks_no_model() {
    let call = DirectCall {
        external: None,
        tool: "read_file".to_owned(),
        arguments: serde_json::json!({ "path": "a\u{202e}.txt" }),
    };
    let turn = leverframe::protocol::session::Continuation {
        waiting_files: 0,
        model: None,
        options: Some(TurnOptions {
            call: Some(Box::new(call)),
            ..TurnOptions::default()
        }),
        ..fixture::continuation(2, ContinuationState::Completed)
    };
    let engine = fleet::Engine {
        turns: vec![turn],
        ..fleet::Engine::default()
    };
    let mut driver = opened(120, 60, "5 j", &engine);
    let text = driver.text();
    assert!(text.contains("call read_file"), "{text}");
    assert!(text.contains(NO_MODEL), "{text}");
    assert!(!text.contains('\u{202e}'), "{text}");
    driver.press("2 j j enter");
    let mut entry = fixture::model(3, "", vec![]);
    if let TranscriptBody::Step { step, .. } = &mut entry.body
        && let StepBody::Model { model, .. } = &mut step.body
    {
        NO_MODEL.clone_into(model);
    }
    driver.answer_transcript(vec![entry]);
    let text = driver.text();
    assert!(
        text.contains("direct call") && text.contains("no model"),
        "{text}"
    );
}
