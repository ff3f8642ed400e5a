//! A dialog with one text: what the text is for, and what follows from that. What its keys do is in `text_keys`.

use crate::console::decision::Bound;
use crate::protocol::enums::DecisionKind;
use crate::protocol::ids::{ApprovalId, SessionId, TakeOverId};
use crate::tui::state::memory::MemoryText;
use crate::tui::state::rules::RuleText;
use crate::tui::state::screen::Screen;
use crate::tui::state::text_field::{Lines, TextField};

#[derive(Debug, Clone, PartialEq)]
pub enum TextPurpose {
    DenyReason(Bound),
    /// New arguments as JSON.
    EditArguments(Bound),
    /// An answer in place of the tool's, or to a question.
    Answer(Bound),
    /// The short code of a critical call.
    Code(Bound, DecisionKind),
    Compose(SessionId),
    /// What models are told in every turn of a session.
    Preferences(SessionId),
    /// Search in the transcript.
    Search,
    CommandLine,
    /// Which rows a screen shows.
    Filter(Screen),
    /// Which models the dialog below lists.
    FilterModels,
    /// Something of the Memory screen.
    Memory(MemoryText),
    /// Something of the Rules screen.
    Rule(RuleText),
    /// A message as the bot, in a conversation as it was taken over.
    Say(SessionId, TakeOverId),
    /// A command in the shell of a session.
    Shell(SessionId),
    /// What the rule on a card compares with.
    RuleValue,
    /// Until when the rule on a card holds.
    RuleLife,
    /// Until when a shape is allowed.
    ShapeLife,
    /// Why all of these calls are refused.
    BatchReason(BatchCalls),
    /// To whom a question is assigned, and a note.
    Assignment(Bound),
}

/// What stands below the field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Below {
    Nothing,
    /// What the text can become.
    Choices,
    /// How much a search found.
    Matches,
    /// What was run in a shell, and what it said.
    Shell,
}

/// The calls that a decision about several is about, from the key press on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchCalls {
    /// The approvals of the calls, in the order of the Queue.
    pub calls: Vec<ApprovalId>,
    /// Marked cards that they come from; 0 = they are the alike calls of one row.
    pub marked: usize,
}

impl BatchCalls {
    /// What they are called: `2 alike calls`, `3 marked cards`, `3 marked cards (7 calls)`.
    pub fn name(&self) -> String {
        match (self.calls.len(), self.marked) {
            (calls, 0) => format!("{calls} alike calls"),
            (calls, marked) if calls == marked => format!("{marked} marked cards"),
            (calls, marked) => format!("{marked} marked cards ({calls} calls)"),
        }
    }
}

/// The name of the draft of a reason for several calls, by the first of them.
pub fn batch_draft(first: &ApprovalId) -> String {
    format!("reason {first} and others")
}

/// What enter does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enter {
    /// It finishes a text of one line.
    Finishes,
    /// It finishes a text of several lines; the other key starts a new line.
    Sends,
    /// It starts a new line; the other key finishes.
    Breaks,
}

impl TextPurpose {
    /// What enter does, what stands below the field, and under which name what is written stays a draft.
    fn traits(&self) -> (Enter, Below, Option<String>) {
        let draft = |name: String| (Below::Nothing, Some(name));
        let (enter, (below, draft)) = match self {
            Self::DenyReason(bound) => (
                Enter::Finishes,
                draft(format!("reason {}", bound.approval_id)),
            ),
            Self::Answer(bound) => (Enter::Sends, draft(format!("answer {}", bound.approval_id))),
            Self::Compose(session) => (Enter::Sends, draft(format!("message {session}"))),
            Self::Say(session, _) => (Enter::Sends, draft(format!("say {session}"))),
            Self::EditArguments(bound) => {
                let (id, revision) = (bound.approval_id, bound.subject.revision);
                (Enter::Breaks, draft(format!("edit {id} {revision}")))
            }
            Self::Preferences(session) => (Enter::Breaks, draft(format!("preferences {session}"))),
            Self::Memory(MemoryText::Add(_)) => (Enter::Breaks, draft("remember".to_owned())),
            Self::Memory(MemoryText::Edit(id, _)) => (Enter::Breaks, draft(format!("memory {id}"))),
            Self::BatchReason(calls) => (
                Enter::Finishes,
                (Below::Nothing, calls.calls.first().map(batch_draft)),
            ),
            Self::Rule(RuleText::Add) => (Enter::Breaks, draft("rule".to_owned())),
            Self::Rule(RuleText::Edit(id, version)) => {
                (Enter::Breaks, draft(format!("rule {id} {version}")))
            }
            Self::CommandLine | Self::Assignment(_) => (Enter::Finishes, (Below::Choices, None)),
            Self::Search => (Enter::Finishes, (Below::Matches, None)),
            Self::Shell(_) => (Enter::Finishes, (Below::Shell, None)),
            Self::Code(..)
            | Self::Filter(_)
            | Self::FilterModels
            | Self::Memory(MemoryText::Search)
            | Self::Rule(RuleText::Test)
            | Self::RuleValue
            | Self::RuleLife
            | Self::ShapeLife => (Enter::Finishes, (Below::Nothing, None)),
        };
        (enter, below, draft)
    }

    /// What enter does.
    pub fn enter(&self) -> Enter {
        self.traits().0
    }

    /// Whether it has one line or several.
    pub fn lines(&self) -> Lines {
        match self.enter() {
            Enter::Finishes => Lines::One,
            Enter::Sends | Enter::Breaks => Lines::Many,
        }
    }

    /// What stands below the field.
    pub fn below(&self) -> Below {
        self.traits().1
    }

    /// Under which name what is written stays a draft; none = it does not.
    pub fn draft(&self) -> Option<String> {
        self.traits().2
    }
}

/// A text that is being written.
#[derive(Debug, Clone, PartialEq)]
pub struct TextDialog {
    pub purpose: TextPurpose,
    pub field: TextField,
    /// Why it was not taken.
    pub error: Option<String>,
    /// What it can become.
    pub choices: Vec<Completion>,
}

impl TextDialog {
    /// A text that begins with this.
    pub fn new(purpose: TextPurpose, start: &str) -> Self {
        Self {
            field: TextField::new(purpose.lines(), start),
            purpose,
            error: None,
            choices: Vec::new(),
        }
    }
}

/// A way to go on with the `:` line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// The whole line with it.
    pub line: String,
    /// Where in the line it begins.
    pub from: usize,
    pub note: String,
}
