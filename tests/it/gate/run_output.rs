//! How a run of another agent ended.

use leverframe::agents::run_output::{RunEnd, RunOutput};

fn end(lines: &[&str]) -> RunEnd {
    let mut output = RunOutput::default();
    for line in lines {
        output.take(line.as_bytes());
    }
    output.end()
}

#[test]
fn only_the_line_of_the_result_is_an_end() {
    assert_eq!(end(&[]), RunEnd::Silent);
    assert_eq!(end(&["", "  "]), RunEnd::Silent);
    assert_eq!(end(&["junk"]), RunEnd::Unknown);
    assert_eq!(end(&[r#"{"type":"assistant"}"#]), RunEnd::Unknown);
    let said = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"{\"type\":\"result\"}"}]}}"#;
    assert_eq!(end(&[said]), RunEnd::Unknown);
}

#[test]
fn a_deferral_names_its_call() {
    let line = r#"{"type":"result","subtype":"success","is_error":false,"stop_reason":"tool_deferred","result":"",
        "deferred_tool_use":{"id":"toolu_1","name":"Bash","input":{}}}"#;
    let deferred = RunEnd::Deferred {
        call: "toolu_1".to_owned(),
        tool: "Bash".to_owned(),
    };
    assert_eq!(end(&[line, r#"{"type":"command_lifecycle"}"#]), deferred);
    let without = r#"{"type":"result","subtype":"success","is_error":false,"stop_reason":"tool_deferred","result":"x"}"#;
    assert_eq!(end(&[without]), RunEnd::Unknown);
}

#[test]
fn an_answer_is_a_failure_unless_it_says_otherwise() {
    let answered = |text: &str, is_error| RunEnd::Answered {
        text: text.to_owned(),
        is_error,
    };
    let line = |rest: &str| format!(r#"{{"type":"result",{rest}}}"#);
    let good = line(r#""subtype":"success","is_error":false,"result":"Done.""#);
    assert_eq!(end(&[&good]), answered("Done.", false));
    let turns = line(r#""subtype":"error_max_turns","is_error":false"#);
    assert_eq!(end(&[&turns]), answered("error_max_turns", true));
    let silent = line(r#""subtype":"success","result":"Done.""#);
    assert_eq!(end(&[&silent]), answered("Done.", true));
}
