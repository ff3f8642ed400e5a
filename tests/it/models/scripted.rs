//! The built-in model that is no LLM.

use leverframe::model::request::{
    AssistantToolCall, ModelErrorKind, ModelMessage, ModelRequest, StopReason, ToolResultMessage,
};
use leverframe::model::scripted::ScriptedModel;
use leverframe::model::scripted::demo::{demo_files, demo_visitors, fleet_visitors};
use leverframe::model::scripted::phrases::{PHRASES, script};
use leverframe::model::scripted::scenario::scenario;
use leverframe::protocol::slash::SlashCommand;
use serde_json::{Value, json};

use crate::models::helpers::{Outcome, request, run, tool, user};

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
    let text = &outcome.answer().text;
    assert!(text.starts_with("You said: hello there\n"), "{text}");
    for told in [
        "no AI model",
        "`help`",
        "`leverframe init`",
        "`leverframe --model ",
    ] {
        assert!(text.contains(told), "{told} is missing: {text}");
    }
    assert!(outcome.deltas.len() >= 2, "in pieces");
    assert_eq!(outcome.answer().stop, StopReason::EndTurn);
    assert_eq!(outcome.answer().usage.cost_usd, Some(0.0));
    assert!(outcome.answer().usage.input_tokens > 0);
    let outcome = ask(&model, "ping bench-01ab_cd-00007").await;
    assert!(outcome.answer().text.contains("re:bench-01ab_cd-00007"));
    let empty = ask(&model, "").await;
    assert!(empty.answer().text.starts_with("You said: \n"));
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
    assert_eq!((demo_visitors().len(), fleet_visitors().len()), (3, 12));
    let channels = demo_visitors().iter().chain(fleet_visitors());
    let lines = channels.flat_map(|channel| channel.lines);
    for phrase in lines.map(|(_, phrase)| phrase) {
        if let Some(command) = phrase.strip_prefix('/') {
            assert!(SlashCommand::named(command).is_some());
            continue;
        }
        let mut asked = request(vec![user(phrase)]);
        asked.tools.extend([tool("remember"), tool("recall")]);
        let known = script(phrase, &asked.tools).or_else(|| scenario(phrase));
        let Some(script) = known else {
            panic!("{phrase}: unknown");
        };
        let mut outcome = run(&model, asked.clone()).await;
        if script.steps.is_empty() {
            // Shows something else: a cached response, a refusal, a broken stream. It answers in the end.
            if script.failure.is_some() {
                outcome.error();
                outcome = run(&model, asked).await;
            }
            assert!(!outcome.answer().text.is_empty());
            continue;
        }
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
        "recall",
        "remember",
        "search_files",
        "write_file",
    ];
    assert!(names.iter().eq(expected), "{names:?}");
}

/// The demo's change of a file that exists must get as far as an approval with a diff.
#[tokio::test]
async fn the_demo_overwrites_the_file_it_read() {
    let model = ScriptedModel::new(false);
    let (_, phrase) = demo_visitors()[0]
        .lines
        .iter()
        .find(|(_, phrase)| phrase.starts_with("add a release note"))
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

#[tokio::test]
async fn help_lists_every_phrase_and_every_phrase_is_known() {
    let model = ScriptedModel::new(false);
    let help = ask(&model, "Help!").await;
    let text = &help.answer().text;
    assert!(text.contains("no AI model"), "{text}");
    for (phrase, what) in PHRASES {
        assert!(text.contains(&format!("`{phrase}`: {what}")), "{phrase}");
        if *phrase == "long" {
            continue; // takes its time
        }
        // `break` and `fail` answer at the second try.
        let said = phrase.replace(" X", " the gate code is blue");
        let mut outcome = ask(&model, &said).await;
        if outcome.end.is_err() {
            outcome = ask(&model, &said).await;
        }
        let text = &outcome.answer().text;
        assert!(!text.contains("You said"), "{phrase} is unknown: {text}");
    }
    // Said by somebody in a group, and in a message that is more than a phrase.
    let named = ask(&model, "mira: unknown tool").await;
    assert_eq!(named.answer().tool_calls.len(), 1);
    let more = ask(&model, "help\nme with this").await;
    assert!(more.answer().text.contains("You said"));
}

#[tokio::test]
async fn failures_that_are_shown_come_again_each_time_and_count_by_session() {
    let model = ScriptedModel::new(false);
    let of = |session: &str| {
        let mut asked = request(vec![user("fail")]);
        asked.prompt_cache_key = Some(session.to_owned());
        asked
    };
    for _ in 0..3 {
        let refused = run(&model, of("one")).await;
        let error = refused.error();
        assert_eq!(error.kind, ModelErrorKind::RateLimited);
        assert_eq!(error.retry_after, Some(std::time::Duration::from_secs(2)));
        assert!(refused.shown().is_empty());
        assert!(run(&model, of("two")).await.end.is_err(), "its own count");
        let answer = run(&model, of("one")).await;
        assert!(answer.answer().text.contains("second attempt"));
        assert!(run(&model, of("two")).await.end.is_ok());
    }
    let broken = ask(&model, "break").await;
    assert_eq!(broken.error().kind, ModelErrorKind::Disconnected);
    assert!(!broken.shown().is_empty(), "it breaks after some text");
    let whole = ask(&model, "break").await;
    assert!(whole.answer().text.starts_with("This is the whole answer"));
}

#[tokio::test]
async fn answers_that_decline_end_early_or_say_nothing() {
    let model = ScriptedModel::new(false);
    let refused = ask(&model, "refuse").await;
    assert_eq!(refused.answer().stop, StopReason::Refusal);
    let cut = ask(&model, "cut short").await;
    assert_eq!(cut.answer().stop, StopReason::MaxTokens);
    let empty = ask(&model, "empty").await;
    assert_eq!(empty.answer().text, "");
    assert_eq!(empty.answer().stop, StopReason::EndTurn);
    assert!(empty.deltas.is_empty());
}

/// Whether it can remember is read from the tools it is given, not known beforehand.
#[tokio::test]
async fn memory_is_claimed_only_where_there_are_tools_for_it() {
    let model = ScriptedModel::new(false);
    for said in ["remember the gate code is Blue", "what do you know?"] {
        let without = ask(&model, said).await;
        assert!(without.answer().tool_calls.is_empty());
        let text = &without.answer().text;
        assert!(text.contains("nothing was kept"), "{text}");
        assert!(
            text.contains("read_file, list_files"),
            "what it has: {text}"
        );

        let mut asked = request(vec![user(said)]);
        asked.tools.extend([tool("remember"), tool("recall")]);
        let with = run(&model, asked).await;
        assert_eq!(with.answer().tool_calls.len(), 1, "{said}");
        let call = &with.answer().tool_calls[0];
        if said.starts_with("remember") {
            assert_eq!(call.name, "remember");
            assert_eq!(call.args, Ok(json!({"text": "the gate code is Blue"})));
        } else {
            assert_eq!(call.name, "recall");
        }
    }
}

#[tokio::test]
async fn cached_tokens_follow_from_what_was_sent_before() {
    let model = ScriptedModel::new(false);
    let mut asked = request(vec![user("SAY:one")]);
    let first = run(&model, asked.clone()).await.answer().usage;
    assert_eq!(first.cached_input_tokens, 0);
    assert_eq!(first.cache_write_tokens, first.input_tokens);

    // The same conversation goes on: all of what was sent before is a prefix.
    asked.messages.push(ModelMessage::Assistant {
        text: "one".to_owned(),
        tool_calls: Vec::new(),
        native: None,
    });
    asked.messages.push(user("SAY:two, and somewhat longer"));
    let second = run(&model, asked.clone()).await.answer().usage;
    assert!(
        second.cached_input_tokens.abs_diff(first.input_tokens) <= 1,
        "{second:?} after {first:?}"
    );
    assert!(second.cached_input_tokens < second.input_tokens);

    // Another system text shares nothing, however much is the same behind it.
    asked.system = "You help others.".to_owned();
    let other = run(&model, asked).await.answer().usage;
    assert_eq!(other.cached_input_tokens, 0);
}
