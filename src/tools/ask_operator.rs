//! `ask_operator`: a question for a person, who gives the result of the call.
//!
//! Nothing runs here. The call waits as an approval of kind `question` and ends with the decision.

use std::iter;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;

use crate::protocol::approval::choices;
use crate::protocol::enums::{Access, ApprovalKind, Effect};
use crate::tools::read_file::{read_outcome, text};
use crate::tools::risk::RiskReason;
use crate::tools::tool::{Plan, PrepareError, Tool, ToolContext, ToolOutcome, ToolSpec, arguments};

/// The name of the tool. A call of it is a question; no other call is.
pub const ASK_OPERATOR: &str = "ask_operator";
/// Longest question, in characters. With its choices it fits on the card of every chat platform.
pub const MAX_QUESTION: usize = 1500;
/// Most choices. Each is a button in a chat and one digit in the console.
pub const MAX_CHOICES: usize = 8;
/// Longest choice, in characters: what fits on a button.
pub const MAX_CHOICE: usize = 60;

/// The tool.
pub struct AskOperator {
    spec: ToolSpec,
}

impl Default for AskOperator {
    fn default() -> Self {
        Self {
            spec: ToolSpec {
                name: ASK_OPERATOR.into(),
                description: "Ask a person who runs this bot, and wait for the answer. Only for what you cannot find out.".into(),
                input_schema: arguments!(["question"], {
                    "question": {"type": "string", "minLength": 1, "maxLength": MAX_QUESTION},
                    "choices": {
                        "type": "array",
                        "items": {"type": "string", "minLength": 1, "maxLength": MAX_CHOICE},
                        "maxItems": MAX_CHOICES
                    }
                }),
                access: Access::ReadLocal,
                effect: Effect::ReadOnly,
                max_duration: Duration::from_secs(1),
                key_lifetime: None,
                cacheable: None,
            },
        }
    }
}

/// The question of a call as people read it: its text, then a numbered line for each choice.
pub fn question(args: &Value) -> String {
    let asked = text(args, "question").unwrap_or_default().trim();
    let choices = choices(ApprovalKind::Question, args)
        .into_iter()
        .enumerate();
    let numbered = choices.map(|(index, choice)| format!("{}. {choice}", index + 1));
    let lines: Vec<String> = iter::once(asked.to_owned()).chain(numbered).collect();
    lines.join("\n")
}

#[async_trait]
impl Tool for AskOperator {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, _context: &ToolContext<'_>, args: &Value) -> Result<Plan, PrepareError> {
        let blank = |text: &str| text.trim().is_empty();
        if text(args, "question").is_none_or(blank) {
            return Err(PrepareError::Invalid(
                "there is nothing to answer: `question` is empty".to_owned(),
            ));
        }
        let choices = choices(ApprovalKind::Question, args);
        if choices.iter().any(|choice| blank(choice)) {
            return Err(PrepareError::Invalid(
                "a choice in `choices` is empty: give each one a text, or leave `choices` out"
                    .to_owned(),
            ));
        }
        Ok(Plan {
            always_asks: Some("the agent asks a person".to_owned()),
            ..Plan::new(Access::ReadLocal, vec![RiskReason::AsksPerson])
        })
    }

    async fn execute(&self, _context: &ToolContext<'_>, _args: &Value) -> ToolOutcome {
        read_outcome(Err("nobody answered the question".to_owned()))
    }
}
