//! Temperature, `top_p` and the choice of a tool: under each interface's own names, and left out once refused.

use leverframe::model::parameters::{Support, is_about_one_picture};
use leverframe::model::request::{ModelMessage, ModelRequest, Picture};
use leverframe::model::{anthropic, gemini, ollama, openai_chat, openai_responses};
use leverframe::protocol::artifact::{ArtifactHash, ArtifactRef};
use leverframe::protocol::options::{ModelParameters, ToolChoice};
use serde_json::{Value, json};

use crate::models::helpers::{request, user};

fn asked(choice: Option<ToolChoice>) -> ModelRequest {
    let mut request = request(vec![user("hi")]);
    request.parameters = ModelParameters {
        temperature: Some(0.5),
        top_p: Some(0.25),
        tool_choice: choice,
    };
    request
}

fn bodies(request: &ModelRequest) -> [Value; 5] {
    [
        openai_chat::wire::body(request, openai_chat::wire::Parameters::default(), "host"),
        openai_responses::wire::body(
            request,
            openai_responses::wire::Parameters::default(),
            openai_responses::wire::Replay::Native,
        ),
        anthropic::wire::body(request, anthropic::wire::Parameters::default()),
        gemini::wire::body(request, gemini::wire::Parameters::of("gemini-2.5-pro")),
        ollama::wire::body(request, ollama::wire::Parameters::default()),
    ]
}

#[test]
fn each_interface_gets_them_under_its_own_names() {
    let [chat, responses, claude, gemini, ollama] = bodies(&asked(Some(ToolChoice::Required)));
    for body in [&chat, &responses, &claude, &ollama["options"]] {
        assert_eq!(
            (&body["temperature"], &body["top_p"]),
            (&json!(0.5), &json!(0.25)),
            "{body}"
        );
    }
    let generation = &gemini["generationConfig"];
    assert_eq!(
        (&generation["temperature"], &generation["topP"]),
        (&json!(0.5), &json!(0.25))
    );
    assert_eq!(
        (&chat["tool_choice"], &responses["tool_choice"]),
        (&json!("required"), &json!("required"))
    );
    assert_eq!(claude["tool_choice"], json!({"type": "any"}));
    assert_eq!(
        gemini["toolConfig"]["functionCallingConfig"],
        json!({"mode": "ANY"})
    );
    assert_eq!(ollama.get("tool_choice"), None);

    let named = asked(Some(ToolChoice::Tool("read_file".to_owned())));
    let [chat, responses, claude, gemini, _] = bodies(&named);
    assert_eq!(
        chat["tool_choice"],
        json!({"type": "function", "function": {"name": "read_file"}})
    );
    assert_eq!(
        responses["tool_choice"],
        json!({"type": "function", "name": "read_file"})
    );
    assert_eq!(
        claude["tool_choice"],
        json!({"type": "tool", "name": "read_file"})
    );
    assert_eq!(
        gemini["toolConfig"]["functionCallingConfig"],
        json!({"mode": "ANY", "allowedFunctionNames": ["read_file"]})
    );
}

#[test]
fn nothing_is_sent_that_nobody_set_and_no_choice_without_tools() {
    for body in bodies(&request(vec![user("hi")])) {
        let text = body.to_string();
        for name in ["temperature", "top_p", "topP", "tool_choice", "toolConfig"] {
            assert!(!text.contains(name), "{name}: {text}");
        }
    }
    let mut bare = asked(Some(ToolChoice::None));
    bare.tools.clear();
    for body in bodies(&bare) {
        assert!(body.get("tool_choice").is_none() && body.get("toolConfig").is_none());
    }
}

#[test]
fn what_is_refused_is_left_out_and_said() {
    let request = asked(Some(ToolChoice::Required));
    let all = Support::default();
    assert_eq!(all.note(&request), None);
    let both = "`temperature` and `top_p` cannot both be specified for this model";
    let one = all.without_refused(&request, both).unwrap();
    assert_eq!((one.temperature, one.top_p), (true, false));
    let none = one
        .without_refused(
            &request,
            "unsupported parameter: 'temperature' is not supported with this model",
        )
        .unwrap();
    assert!(!none.temperature && none.tool_choice);
    let forced = "thinking may not be enabled when tool_choice forces tool use";
    let least = none.without_refused(&request, forced).unwrap();
    assert_eq!(least.sent(&request), ModelParameters::default());
    let note = least.note(&request).unwrap();
    assert!(
        note.contains("no temperature and no top_p and no tool_choice"),
        "{note}"
    );
    // A value out of range is the operator's to correct, and nothing follows from other refusals.
    assert_eq!(
        all.without_refused(&request, "temperature: must be less than 1"),
        None
    );
    assert_eq!(least.without_refused(&request, both), None);
}

/// A picture whose content was read.
fn picture() -> Picture {
    let artifact = ArtifactRef {
        hash: ArtifactHash::from_bytes([7; 32]),
        size: 3,
        media_type: "image/png".to_owned(),
    };
    let mut picture = Picture::of(&artifact).unwrap();
    picture.data = "AQID".into();
    picture
}

#[test]
fn each_interface_gets_pictures_in_its_own_form() {
    let mut unread = picture();
    unread.data = "".into();
    let request = request(vec![ModelMessage::User {
        text: "what is this?".to_owned(),
        pictures: vec![picture(), unread],
    }]);
    let [chat, responses, claude, gemini, ollama] = bodies(&request);
    let url = "data:image/png;base64,AQID";
    assert_eq!(
        chat["messages"][1]["content"],
        json!([
            {"type": "text", "text": "what is this?"},
            {"type": "image_url", "image_url": {"url": url}},
        ])
    );
    assert_eq!(
        responses["input"][0]["content"],
        json!([
            {"type": "input_text", "text": "what is this?"},
            {"type": "input_image", "image_url": url},
        ])
    );
    assert_eq!(
        claude["messages"][0]["content"][0],
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AQID"}})
    );
    assert_eq!(
        gemini["contents"][0]["parts"][0],
        json!({"inlineData": {"mimeType": "image/png", "data": "AQID"}})
    );
    assert_eq!(ollama["messages"][1]["images"], json!(["AQID"]));
    assert_eq!(ollama["messages"][1]["content"], "what is this?");
}

#[test]
fn a_refused_picture_is_left_out_and_one_bad_picture_says_nothing_of_the_model() {
    let mut asked = request(vec![user("hi")]);
    let words = "this model does not support image input";
    assert_eq!(Support::default().without_refused(&asked, words), None);
    asked.messages = vec![ModelMessage::User {
        text: "hi".to_owned(),
        pictures: vec![picture()],
    }];
    let blind = Support::default().without_refused(&asked, words).unwrap();
    assert_eq!(blind.shown(&[picture()]).count(), 0);
    assert!(blind.note(&asked).unwrap().contains("takes no pictures"));
    assert!(!is_about_one_picture(words));
    assert!(is_about_one_picture("could not process image"));
    assert!(is_about_one_picture("image dimensions exceed 8000 pixels"));
}
