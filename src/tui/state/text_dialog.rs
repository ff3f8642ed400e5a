//! A dialog with one text: what the text is for, and what follows from that. What its keys do is in `text_keys`.

use crate::console::decision::Bound;
use crate::protocol::enums::DecisionKind;
use crate::protocol::ids::{SessionId, TakeOverId};
use crate::tui::state::memory::MemoryText;
use crate::tui::state::rules::RuleText;
use crate::tui::state::screen::Screen;
use crate::tui::state::text_field::{Lines, TextField};

/// What a text is for.
#[derive(Debug, Clone, PartialEq)]
pub enum TextPurpose {
    /// Reason of a refusal.
    DenyReason(Bound),
    /// New arguments as JSON.
    EditArguments(Bound),
    /// An answer in place of the tool's, or to a question.
    Answer(Bound),
    /// The short code of a critical call.
    Code(Bound, DecisionKind),
    /// A message to a session.
    Compose(SessionId),
    /// What models are told in every turn of a session.
    Preferences(SessionId),
    /// Search in the transcript.
    Search,
    /// The `:` line.
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
    /// Why all marked cards are refused.
    BatchReason,
    /// To whom a question is assigned, and a note.
    Assignment(Bound),
}

/// What stands below the field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Below {
    /// Nothing.
    Nothing,
    /// What the text can become.
    Choices,
    /// How much a search found.
    Matches,
    /// What was run in a shell, and what it said.
    Shell,
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
    /// What enter does.
    pub const fn enter(&self) -> Enter {
        match self {
            Self::Answer(_) | Self::Compose(_) | Self::Say(..) => Enter::Sends,
            Self::EditArguments(_)
            | Self::Preferences(_)
            | Self::Memory(MemoryText::Add(_) | MemoryText::Edit(..))
            | Self::Rule(RuleText::Add | RuleText::Edit(..)) => Enter::Breaks,
            Self::DenyReason(_)
            | Self::Code(..)
            | Self::Search
            | Self::CommandLine
            | Self::Filter(_)
            | Self::FilterModels
            | Self::Memory(MemoryText::Search)
            | Self::Rule(RuleText::Test)
            | Self::RuleValue
            | Self::RuleLife
            | Self::ShapeLife
            | Self::BatchReason
            | Self::Shell(_)
            | Self::Assignment(_) => Enter::Finishes,
        }
    }

    /// Whether it has one line or several.
    pub const fn lines(&self) -> Lines {
        match self.enter() {
            Enter::Finishes => Lines::One,
            Enter::Sends | Enter::Breaks => Lines::Many,
        }
    }

    /// What stands below the field.
    pub const fn below(&self) -> Below {
        match self {
            Self::CommandLine | Self::Assignment(_) => Below::Choices,
            Self::Search => Below::Matches,
            Self::Shell(_) => Below::Shell,
            _ => Below::Nothing,
        }
    }

    /// Under which name what is written stays a draft; none = it does not.
    pub fn draft(&self) -> Option<String> {
        match self {
            Self::DenyReason(bound) => Some(format!("reason {}", bound.approval_id)),
            Self::EditArguments(bound) => Some(format!(
                "edit {} {}",
                bound.approval_id, bound.subject.revision
            )),
            Self::Answer(bound) => Some(format!("answer {}", bound.approval_id)),
            Self::Compose(session) => Some(format!("message {session}")),
            Self::Say(session, _) => Some(format!("say {session}")),
            Self::Preferences(session) => Some(format!("preferences {session}")),
            Self::Memory(MemoryText::Add(_)) => Some("remember".to_owned()),
            Self::Memory(MemoryText::Edit(id, _)) => Some(format!("memory {id}")),
            Self::Rule(RuleText::Add) => Some("rule".to_owned()),
            Self::Rule(RuleText::Edit(id, version)) => Some(format!("rule {id} {version}")),
            Self::Code(..)
            | Self::Search
            | Self::CommandLine
            | Self::Filter(_)
            | Self::FilterModels
            | Self::Memory(MemoryText::Search)
            | Self::Rule(RuleText::Test)
            | Self::RuleValue
            | Self::RuleLife
            | Self::ShapeLife
            | Self::BatchReason
            | Self::Shell(_)
            | Self::Assignment(_) => None,
        }
    }
}

/// A text that is being written.
#[derive(Debug, Clone, PartialEq)]
pub struct TextDialog {
    /// What for.
    pub purpose: TextPurpose,
    /// The text.
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
    /// What it is.
    pub note: String,
}
