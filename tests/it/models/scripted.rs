//! The built-in model that is no LLM.

use leverframe::model::request::{
    AssistantToolCall, ModelErrorKind, ModelMessage, ModelRequest, StopReason, ToolResultMessage,
};
use leverframe::model::scripted::ScriptedModel;
use leverframe::model::scripted::demo::{demo_files, demo_visitors};
use leverframe::model::scripted::scenario::scenario;
use serde_json::{Value, json};

use crate::models::helpers::{Outcome, request, run, user};

async fn ask(model: &ScriptedModel, text: &str) -> Outcome {
    run(model, request(vec![user(text)])).await
}

fn results(outcome: &Outcome, content: &[(&str, bool)]) -> [ModelMessage; 2] {
    let answer = outcome.answer();
    let pairs = || answer.tool_calls.iter().zip(content);
    [
        ModelMessage::Assistant {
            text: answer.text.clone(),
            tool_calls: pairs()
                .map(|(call, _)| AssistantToolCall {
                    provider_call_id: call.provider_call_id.clone(),
                    name: call.name.clone(),
                    args: call.args.clone().unwrap_or_else(|_| json!({})),
                })
                .collect(),
            native: None,
        },
        ModelMessage::ToolResults {
            results: pairs()
                .map(|(call, (content, is_error))| ToolResultMessage {
                    provider_call_id: call.provider_call_id.clone(),
                    name: call.name.clone(),
                    content: (*content).to_owned(),
                    is_error: *is_error,
                })
                .collect(),
        },
    ]
}

async fn go_on(
    model: &ScriptedModel,
    asked: &mut ModelRequest,
    outcome: &Outcome,
    content: &[(&str, bool)],
) -> Outcome {
    asked.messages.extend(results(outcome, content));
    run(model, asked.clone()).await
}

#[tokio::test]
async fn text_without_directives_is_echoed() {
    let model = ScriptedModel::new(false);
    let outcome = ask(&model, "hello there").await;
    assert_eq!(outcome.answer().text, "You said: hello there");
    assert!(outcome.deltas.len() >= 2, "in pieces");
    assert_eq!(outcome.answer().stop, StopReason::EndTurn);
    assert_eq!(outcome.answer().usage.cost_usd, Some(0.0));
    assert!(outcome.answer().usage.input_tokens > 0);
    let outcome = ask(&model, "ping bench-01ab_cd-00007").await;
    assert!(outcome.answer().text.contains("re:bench-01ab_cd-00007"));
    assert_eq!(ask(&model, "").await.answer().text, "You said: ");
}

#[tokio::test]
async fn directives_drive_several_answers() {
    let model = ScriptedModel::new(false);
    let text = "alice: TOOL:read_file{\"path\":\"a\"}\nTOOL:list_files\nTHEN TOOL:write_file{\"path\":\"b\",\"content\":\"x\"}\nBADARGS:read_file\nSAY:all done";
    let mut asked = request(vec![user("before"), user(text)]);
    let first = run(&model, asked.clone()).await;
    let calls = &first.answer().tool_calls;
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[0].args, Ok(json!({"path": "a"})));
    assert_eq!(
        (calls[1].name.as_str(), &calls[1].args),
        ("list_files", &Ok(json!({})))
    );
    assert_ne!(calls[0].provider_call_id, calls[1].provider_call_id);
    let second = go_on(
        &model,
        &mut asked,
        &first,
        &[("aaa", false), ("a b", false)],
    )
    .await;
    let again = &second.answer().tool_calls;
    assert_eq!(again[0].name, "write_file");
    assert!(again[1].args.is_err());
    assert!(calls.iter().all(|call| {
        again
            .iter()
            .all(|other| other.provider_call_id != call.provider_call_id)
    }));
    let last = go_on(
        &model,
        &mut asked,
        &second,
        &[("ok", false), ("malformed", true)],
    )
    .await;
    assert_eq!(last.answer().text, "all done");
    assert!(last.answer().tool_calls.is_empty());
}

#[tokio::test]
async fn one_call_at_a_time_where_it_is_asked_for() {
    let mut asked = request(vec![user("TOOL:a\nTOOL:b")]);
    asked.one_tool_per_step = true;
    let outcome = run(&ScriptedModel::new(false), asked).await;
    assert_eq!(outcome.answer().tool_calls.len(), 1);
}

#[tokio::test]
async fn results_are_quoted_and_refusals_told() {
    let model = ScriptedModel::new(false);
    let text = "TOOL:read_file{\"path\":\"a\"}\nTHEN TOOL:write_file{}";
    let mut asked = request(vec![user("TOOL:read_file{\"path\":\"a\"}")]);
    let first = run(&model, asked.clone()).await;
    let last = go_on(&model, &mut asked, &first, &[("line one\nline two", false)]).await;
    assert!(last.answer().text.contains("line one\nline two"));

    let mut asked = request(vec![user(text)]);
    let first = run(&model, asked.clone()).await;
    let last = go_on(
        &model,
        &mut asked,
        &first,
        &[("denied by operator: too risky", true)],
    )
    .await;
    assert!(
        last.answer().tool_calls.is_empty(),
        "nothing further is tried"
    );
    assert!(
        last.answer().text.contains("too risky"),
        "{}",
        last.answer().text
    );

    let mut asked = request(vec![user(text)]);
    let first = run(&model, asked.clone()).await;
    let next = go_on(
        &model,
        &mut asked,
        &first,
        &[("cat: Permission denied", true)],
    )
    .await;
    assert_eq!(
        next.answer().tool_calls.len(),
        1,
        "a failed program is no refusal"
    );
}

#[tokio::test]
async fn failures_on_demand() {
    let model = ScriptedModel::new(false);
    for (word, kind) in [
        ("auth", ModelErrorKind::Authentication),
        ("rate_limit", ModelErrorKind::RateLimited),
        ("overloaded", ModelErrorKind::Overloaded),
        ("cut", ModelErrorKind::Disconnected),
        ("timeout", ModelErrorKind::Timeout),
    ] {
        let outcome = ask(&model, &format!("FAIL:{word}")).await;
        assert_eq!(outcome.error().kind, kind);
        assert_eq!(outcome.shown().is_empty(), word != "cut");
    }
    let text = "FAIL:rate_limit*2\nSAY:worked";
    let copy = model.clone();
    assert!(ask(&model, text).await.end.is_err());
    assert!(ask(&copy, text).await.end.is_err(), "copies count together");
    assert_eq!(ask(&model, text).await.answer().text, "worked");
    assert!(
        ask(&model, "FAIL:rate_limit*2\nSAY:other")
            .await
            .end
            .is_err(),
        "counted per text"
    );
}

#[tokio::test]
async fn slow_answers_take_their_time() {
    let started = std::time::Instant::now();
    let outcome = ask(&ScriptedModel::new(false), "SLOW:8\nSAY:end").await;
    assert!(outcome.deltas.len() >= 9);
    assert!(started.elapsed().as_millis() >= 200);
    assert!(outcome.answer().text.ends_with("end"));
}

#[tokio::test]
async fn every_demo_phrase_leads_to_calls_on_files_that_exist() {
    let model = ScriptedModel::new(false);
    let exists = |path: &str| {
        path == "."
            || demo_files()
                .iter()
                .any(|(file, _)| *file == path || file.starts_with(&format!("{path}/")))
    };
    let mut names = std::collections::BTreeSet::new();
    assert_eq!(demo_visitors().len(), 3);
    for phrase in demo_visitors().iter().flat_map(|channel| channel.phrases) {
        assert!(scenario(phrase).is_some(), "{phrase}");
        let mut asked = request(vec![user(phrase)]);
        let mut outcome = run(&model, asked.clone()).await;
        let mut rounds = 0;
        while !outcome.answer().tool_calls.is_empty() {
            rounds += 1;
            assert!(rounds <= 3, "{phrase} ends");
            assert!(
                !outcome.answer().text.is_empty(),
                "{phrase}: a reason stands beside the calls"
            );
            let mut contents: Vec<(String, bool)> = Vec::new();
            for call in &outcome.answer().tool_calls {
                names.insert(call.name.clone());
                let args = call.args.clone().unwrap();
                if let Some(path) = args.get("path").and_then(Value::as_str) {
                    assert!(exists(path), "{phrase}: {path}");
                    let file = demo_files().iter().find(|(file, _)| *file == path);
                    contents.push((file.map_or("x", |(_, content)| content).to_owned(), false));
                    if call.name == "write_file" {
                        let (_, before) = file.unwrap();
                        let after = args["content"].as_str().unwrap();
                        assert!(
                            before.lines().all(|line| after.contains(line)),
                            "{phrase} keeps the file"
                        );
                        assert!(after.len() > before.len());
                    }
                } else {
                    contents.push(("ran".to_owned(), false));
                }
            }
            let borrowed: Vec<(&str, bool)> = contents
                .iter()
                .map(|(text, error)| (text.as_str(), *error))
                .collect();
            outcome = go_on(&model, &mut asked, &outcome, &borrowed).await;
        }
        assert!(rounds > 0 && !outcome.answer().text.is_empty());
    }
    let expected = [
        "execute_command",
        "list_files",
        "read_file",
        "search_files",
        "write_file",
    ];
    assert!(names.iter().eq(expected), "{names:?}");
}

/// The demo's change of a file that exists must get as far as an approval with a diff.
#[tokio::test]
async fn the_demo_overwrites_the_file_it_read() {
    let model = ScriptedModel::new(false);
    let phrase = demo_visitors()[0]
        .phrases
        .iter()
        .find(|phrase| phrase.starts_with("add a release note"))
        .expect("a phrase that changes a file");
    let mut asked = request(vec![user(phrase)]);
    let first = run(&model, asked.clone()).await;
    let file = demo_files()
        .iter()
        .find(|(name, _)| *name == "CHANGELOG.md")
        .unwrap()
        .1;
    let second = go_on(&model, &mut asked, &first, &[(file, false)]).await;
    let args = second.answer().tool_calls[0].args.clone().unwrap();
    assert_eq!(args["mode"], "overwrite");
    assert!(
        args["content"]
            .as_str()
            .unwrap()
            .contains("Berths can be reserved")
    );
    // It claims the change only when there was one.
    let failed = go_on(&model, &mut asked, &second, &[("no space left", true)]).await;
    assert!(
        failed.answer().text.contains("did not work"),
        "{}",
        failed.answer().text
    );
}
