//! Forms that a server wants filled in.

use std::sync::Mutex;

use async_trait::async_trait;
use leverframe::mcp::client::caller::Caller;
use leverframe::mcp::client::elicitation::{answer, names_secret};
use serde_json::{Value, json};

/// Answers in order, and keeps what it was asked.
struct Person {
    answers: Mutex<Vec<&'static str>>,
    asked: Mutex<Vec<(String, Vec<String>)>>,
}

impl Person {
    fn new(answers: &[&'static str]) -> Self {
        Self {
            answers: Mutex::new(answers.iter().rev().copied().collect()),
            asked: Mutex::default(),
        }
    }
}

#[async_trait]
impl Caller for Person {
    fn progress(&self, _: &str) {}

    async fn ask(&self, question: &str, choices: &[String]) -> Result<String, String> {
        let mut asked = self.asked.lock().expect("asked");
        asked.push((question.to_owned(), choices.to_vec()));
        let answer = self.answers.lock().expect("answers").pop();
        answer
            .map(str::to_owned)
            .ok_or_else(|| "nobody is here".to_owned())
    }
}

fn form(properties: Value) -> Value {
    let names: Vec<String> = properties
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| name.clone())
        .collect();
    json!({"message": "Who?", "requestedSchema": {"type": "object", "properties": properties, "required": names}})
}

#[tokio::test]
async fn each_field_is_one_question_and_choices_are_choices() {
    let person = Person::new(&["Ada", "yes", "Blue", "7"]);
    let params = form(json!({
        "name": {"type": "string"},
        "sure": {"type": "boolean", "title": "Are you sure?"},
        "colour": {"type": "string", "oneOf": [{"const": "b", "title": "Blue"}, {"const": "r", "title": "Red"}]},
        "count": {"type": "integer"},
    }));
    let answer = answer(&params, &person).await;
    assert_eq!(
        answer.result,
        json!({"action": "accept", "content": {"name": "Ada", "sure": true, "colour": "b", "count": 7}})
    );
    let asked = person.asked.lock().expect("asked");
    assert_eq!(asked.len(), 4);
    assert_eq!(
        asked[1],
        (
            "Who?\nAre you sure?".to_owned(),
            vec!["yes".to_owned(), "no".to_owned()]
        )
    );
    assert_eq!(asked[2].1, ["Blue", "Red"]);
}

#[tokio::test]
async fn secrets_and_addresses_are_declined_unasked() {
    for name in [
        "password",
        "apiKey",
        "API key",
        "github_token",
        "pin",
        "user_password",
        "otp",
    ] {
        let person = Person::new(&["x"]);
        let answer = answer(&form(json!({ name: {"type": "string"} })), &person).await;
        assert_eq!(answer.result, json!({"action": "decline"}), "{name}");
        assert!(person.asked.lock().expect("asked").is_empty(), "{name}");
    }
    let person = Person::new(&["x"]);
    let url = json!({"mode": "url", "message": "m", "url": "javascript:alert(1)"});
    let answer = answer(&url, &person).await;
    assert!(answer.note.expect("note").contains("javascript:alert(1)"));
    for name in ["name", "monkey", "spinner", "keyboard", "shopping"] {
        assert!(!names_secret(name), "{name}");
    }
}

#[tokio::test]
async fn an_answer_that_does_not_fit_and_nobody_are_a_decline() {
    let person = Person::new(&["many"]);
    let answered = answer(&form(json!({"n": {"type": "integer"}})), &person).await;
    assert_eq!(answered.result, json!({"action": "decline"}));
    let answered = answer(&form(json!({"n": {"type": "string"}})), &Person::new(&[])).await;
    assert_eq!(answered.note.as_deref(), Some("nobody is here"));
}
