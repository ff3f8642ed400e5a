//! What the agent reads afterwards of what a person wrote in its place.

use std::collections::HashMap;

use leverframe::clock::Timestamp;
use leverframe::engine::context::exchange::{Exchange, Replay, messages};
use leverframe::model::request::ModelMessage;
use leverframe::protocol::enums::StepKind;
use leverframe::protocol::ids::ContinuationId;
use leverframe::protocol::session::{BY_HAND, Step, StepBody};

fn exchange(text: &str, stop: &str) -> Exchange {
    Exchange {
        asked_by: "Ben".to_owned(),
        speaker: None,
        text: "where is my parcel?".to_owned(),
        attachments: Vec::new(),
        steps: vec![Step {
            continuation_id: ContinuationId::generate(),
            n: 1,
            kind: StepKind::Final,
            body: StepBody::Final {
                text: text.to_owned(),
                stop: stop.to_owned(),
                citations: leverframe::protocol::citation::Citations::default(),
            },
            at: Timestamp(0),
        }],
        calls: HashMap::new(),
    }
}

fn read(exchange: &Exchange) -> Vec<String> {
    messages(exchange, &mut Replay::of("scripted/demo"))
        .expect("no call lacks its result")
        .into_iter()
        .map(|message| match message {
            ModelMessage::User { text, .. } => format!("user: {text}"),
            ModelMessage::Assistant { text, .. } => format!("assistant: {text}"),
            ModelMessage::ToolResults { .. } => "results".to_owned(),
        })
        .collect()
}

#[test]
fn what_a_person_wrote_is_what_the_agent_said() {
    assert_eq!(
        read(&exchange("On its way.", BY_HAND)),
        ["user: where is my parcel?", "assistant: On its way."]
    );
    // Answered together with a later one, and answered by a model whose step says it already.
    assert_eq!(read(&exchange("", BY_HAND)), ["user: where is my parcel?"]);
    assert_eq!(
        read(&exchange("On its way.", "end")),
        ["user: where is my parcel?"]
    );
}
