//! Overlays: a stack, the top one has the keyboard.

use crate::console::arming::Subject;
use crate::console::decision::Bound;
use crate::console::decision::SnoozeChoice;
use crate::console::release::Release;
use crate::protocol::ids::{SessionId, TakeOverId};
use crate::protocol::request::Command;
use crate::protocol::words::DecisionWord;
use crate::tui::action::Action;
use crate::tui::fuzzy;
use crate::tui::keymap::context::Context;
use crate::tui::state::app::Screen;
use crate::tui::state::command_line::Completion;
use crate::tui::state::deciding::Deciding;
use crate::tui::state::dial::Dial;
use crate::tui::state::memory::MemoryText;
use crate::tui::state::models::ModelsDialog;
use crate::tui::state::rules::RuleText;
use crate::tui::state::summary::SummaryPager;
use crate::tui::state::text_field::TextField;
use crate::tui::state::why::WhyPager;

/// What the help overlay lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HelpScope {
    /// What can be done on this screen.
    Screen,
    /// Every action.
    All,
}

/// The searchable list of actions.
#[derive(Debug, Clone, PartialEq)]
pub struct Help {
    /// Which actions.
    pub scope: HelpScope,
    /// The context the actions are executed in.
    pub context: Context,
    /// What is searched for.
    pub field: TextField,
    /// Chosen row among those that match.
    pub chosen: usize,
}

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
    Code(Bound, DecisionWord),
    /// A message to a session.
    Compose(SessionId),
    /// Search in the transcript.
    Search,
    /// The `:` line.
    CommandLine,
    /// Which rows a screen shows.
    Filter(Screen),
    /// Something of the Memory screen.
    Memory(MemoryText),
    /// Something of the Rules screen.
    Rule(RuleText),
    /// A message as the bot, in a conversation as it was taken over.
    Say(SessionId, TakeOverId),
    /// What the rule on a card compares with.
    RuleValue,
    /// Why all marked cards are refused.
    BatchReason,
    /// To whom a question is assigned, and a note.
    Assignment(Bound),
}

/// A text being entered.
#[derive(Debug, Clone, PartialEq)]
pub struct TextEntry {
    /// What for.
    pub purpose: TextPurpose,
    /// The text.
    pub field: TextField,
    /// Why it was not taken.
    pub error: Option<String>,
    /// Completions of the command line.
    pub choices: Vec<Completion>,
}

/// A question with Cancel and one way to go on; Cancel is focused.
#[derive(Debug, Clone, PartialEq)]
pub struct Confirm {
    /// Heading.
    pub title: String,
    /// What will happen.
    pub lines: Vec<String>,
    /// Label of going on.
    pub label: &'static str,
    /// What going on submits.
    pub command: Command,
    /// What must still be as it was shown.
    pub bound: Option<Subject>,
    /// Which button: 0 = Cancel.
    pub chosen: usize,
}

/// A way out in the quit menu.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuitChoice {
    /// Go on here.
    Stay,
    /// Leave the engine running in the background.
    Detach,
    /// Leave; end the engine when it is in this process.
    Stop,
}

/// An overlay.
#[derive(Debug, Clone, PartialEq)]
pub enum Modal {
    /// Help or palette.
    Help(Help),
    /// Leaving.
    Quit {
        /// What is offered.
        choices: Vec<QuitChoice>,
        /// Which.
        chosen: usize,
    },
    /// Releasing the emergency stop or the quarantine.
    Release(Release),
    /// Entering text.
    Text(TextEntry),
    /// A question.
    Confirm(Confirm),
    /// The autonomy dial.
    Dial(Dial),
    /// Choosing how long to snooze.
    Snooze {
        /// What.
        bound: Bound,
        /// What is offered.
        choices: Vec<SnoozeChoice>,
        /// Which.
        chosen: usize,
    },
    /// The models of a session.
    Models(Box<ModelsDialog>),
    /// Why calls ran, asked or were refused.
    Why(Box<WhyPager>),
    /// The shift summary.
    Summary(Box<SummaryPager>),
    /// A dialog whose last press decides.
    Deciding(Box<Deciding>),
}

impl Modal {
    /// Which keys hold in it.
    pub const fn context(&self) -> Context {
        match self {
            Self::Help(_) | Self::Text(_) => Context::Text,
            Self::Quit { .. }
            | Self::Release(_)
            | Self::Confirm(_)
            | Self::Dial(_)
            | Self::Snooze { .. }
            | Self::Models(_)
            | Self::Why(_)
            | Self::Deciding(_)
            | Self::Summary(_) => Context::Dialog,
        }
    }
}

impl Help {
    /// Actions that match, best first; in the order of [`Action::ALL`] where nothing is searched for.
    pub fn matches(&self, keymap: &crate::tui::keymap::lookup::Keymap) -> Vec<Action> {
        let wanted = self.field.text();
        let all = keymap.actions_in(self.context);
        let listed: Vec<Action> = match self.scope {
            HelpScope::Screen => all,
            HelpScope::All => Action::ALL
                .iter()
                .copied()
                .filter(|a| {
                    a.class() == crate::tui::action::ActionClass::Ordinary || all.contains(a)
                })
                .collect(),
        };
        let mut scored: Vec<(i32, Action)> = listed
            .into_iter()
            .filter_map(|action| {
                let keys = keymap.keys_of(self.context, action).join(" ");
                let beside = format!("{} {} {keys}", action.short(), action.description());
                Some((fuzzy::score(&wanted, action.name(), &beside)?, action))
            })
            .collect();
        scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        scored.into_iter().map(|(_, action)| action).collect()
    }
}
