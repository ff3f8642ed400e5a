//! Overlays: a stack, the top one has the keyboard. Nothing here opens one or handles its keys.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::console::arming::{DialogExposure, Subject};
use crate::console::decision::{Bound, SnoozeChoice};
use crate::console::lifetime::LifetimeChoice;
use crate::console::release::Release;
use crate::protocol::approval::Approval;
use crate::protocol::ids::{SessionId, ToolCallId};
use crate::protocol::models::{Discovery, ModelEntry, ProviderModels};
use crate::protocol::request::Command;
use crate::protocol::session::Why;
use crate::tui::action::Action;
use crate::tui::fuzzy;
use crate::tui::keymap::context::Context;
use crate::tui::state::autonomy_selector::AutonomySelector;
use crate::tui::state::batch::Batch;
use crate::tui::state::list::ListDetail;
use crate::tui::state::rule_editor::RuleEditor;
use crate::tui::state::text_dialog::TextDialog;
pub use crate::tui::state::text_dialog::TextPurpose;
use crate::tui::state::text_field::TextField;
use crate::tui::state::tool_lists::ToolLists;

/// What the help overlay lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HelpScope {
    /// What can be done on this screen.
    Screen,
    All,
}

/// Which keys reach an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HelpGroup {
    /// A key of the screen that is shown.
    ThisScreen,
    /// A key that works on every screen.
    EveryScreen,
    /// No key on this screen.
    NoKey,
}

impl HelpGroup {
    pub const fn title(self) -> &'static str {
        match self {
            Self::ThisScreen => "This screen",
            Self::EveryScreen => "Every screen",
            Self::NoKey => "Without a key here",
        }
    }
}

/// The searchable list of actions.
#[derive(Debug, Clone, PartialEq)]
pub struct Help {
    pub scope: HelpScope,
    /// The context the actions are executed in.
    pub context: Context,
    pub field: TextField,
    /// Chosen row among those that match.
    pub chosen: usize,
    /// Why actions did nothing when the list was opened: they stand last in their group, and no line moves.
    pub unavailable: BTreeMap<Action, String>,
    /// How often each action was used before.
    pub uses: BTreeMap<Action, u32>,
}

/// A question with Cancel and one way to go on; Cancel is focused.
#[derive(Debug, Clone, PartialEq)]
pub struct Confirm {
    pub title: String,
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

impl Confirm {
    /// A question that is bound to nothing.
    pub fn new(
        title: impl Into<String>,
        lines: Vec<String>,
        label: &'static str,
        command: impl Into<Command>,
    ) -> Self {
        Self {
            title: title.into(),
            lines,
            label,
            command: command.into(),
            bound: None,
            chosen: 0,
        }
    }
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

#[derive(Debug, Clone, PartialEq)]
pub enum Modal {
    Help(Help),
    Quit {
        choices: Vec<QuitChoice>,
        chosen: usize,
    },
    /// Releasing the emergency stop or the quarantine.
    Release(Release),
    Text(TextDialog),
    Confirm(Confirm),
    AutonomySelector(AutonomySelector),
    Tools(ToolLists),
    /// Choosing how long to snooze.
    Snooze {
        bound: Bound,
        choices: Vec<SnoozeChoice>,
        chosen: usize,
    },
    Models(Box<ModelsDialog>),
    /// Why calls ran, asked or were refused.
    Why(Box<WhyPager>),
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
            | Self::AutonomySelector(_)
            | Self::Tools(_)
            | Self::Snooze { .. }
            | Self::Models(_)
            | Self::Why(_)
            | Self::Deciding(_)
            | Self::Summary(_) => Context::Dialog,
        }
    }
}

impl Help {
    /// The group of an action: the keys of this screen, then those of every screen, then what has no key here.
    pub fn group(&self, keymap: &crate::tui::keymap::lookup::Keymap, action: Action) -> HelpGroup {
        let mut own = keymap.bindings(self.context).iter();
        if own.any(|binding| binding.action == action) {
            HelpGroup::ThisScreen
        } else if keymap.keys_of(self.context, action).is_empty() {
            HelpGroup::NoKey
        } else {
            HelpGroup::EveryScreen
        }
    }

    /// Actions that match, best first; equally good ones by group. In a group those that do something now come first,
    /// what was used most at the top, and the rest in the order of [`Action::ALL`].
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
        scored.sort_by_cached_key(|(score, action)| {
            let uses = self.uses.get(action).copied().unwrap_or(0);
            (
                Reverse(*score),
                self.group(keymap, *action),
                self.unavailable.contains_key(action),
                Reverse(uses),
            )
        });
        scored.into_iter().map(|(_, action)| action).collect()
    }
}

/// Lines that are remembered at most.
const REMEMBERED: usize = 100;

/// Lines of `:` that were run, while this console runs; nothing of it is written down.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    lines: Vec<String>,
    /// Which one is shown; none = what is being typed.
    at: Option<usize>,
    draft: String,
}

impl History {
    /// The line was opened: nothing of the past is shown yet.
    pub fn opened(&mut self) {
        self.at = None;
        self.draft.clear();
    }

    /// A line was run. A repeated one moves to the end.
    pub fn ran(&mut self, line: &str) {
        let line = line.trim();
        if line.is_empty() {
            return;
        }
        self.lines.retain(|known| known != line);
        self.lines.push(line.to_owned());
        if self.lines.len() > REMEMBERED {
            self.lines.remove(0);
        }
    }

    /// The line before the one that is shown. What was typed is kept for the way back.
    pub fn older(&mut self, typed: &str) -> Option<String> {
        let at = match self.at {
            Some(at) => at.checked_sub(1)?,
            None => {
                let newest = self.lines.len().checked_sub(1)?;
                typed.clone_into(&mut self.draft);
                newest
            }
        };
        self.at = Some(at);
        self.lines.get(at).cloned()
    }

    /// The line after it, in the end what was being typed.
    pub fn newer(&mut self) -> Option<String> {
        let at = self.at? + 1;
        if let Some(line) = self.lines.get(at) {
            self.at = Some(at);
            return Some(line.clone());
        }
        self.at = None;
        Some(std::mem::take(&mut self.draft))
    }
}

/// A look for model servers.
#[derive(Debug, Clone, PartialEq)]
pub enum DiscoveryState {
    /// Nobody asked for one.
    Idle,
    Searching,
    Finished(Discovery),
    /// Why it was not made.
    Failed(String),
}

/// The models of a session, and the choice among them.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelsDialog {
    /// The session whose model is chosen.
    pub session_id: SessionId,
    /// The configured providers; none = not answered yet.
    pub known: Option<Result<Vec<ProviderModels>, String>>,
    /// The models that can answer, by their names.
    pub list: ListDetail<String>,
    /// Why the choice was not taken.
    pub refused: Option<String>,
    pub look: DiscoveryState,
}

impl ModelsDialog {
    /// Every configured model that can answer, with its provider.
    pub fn models(&self) -> impl Iterator<Item = (&ModelEntry, &ProviderModels)> {
        let providers = self.known.iter().flatten().flatten();
        providers.flat_map(|provider| {
            let models = provider.models.iter().filter(|model| !model.only_embeds());
            models.map(move |model| (model, provider))
        })
    }

    /// A model that can answer, with its provider.
    pub fn model(&self, name: &str) -> Option<(&ModelEntry, &ProviderModels)> {
        self.models().find(|(model, _)| model.model == name)
    }
}

/// The shift summary, line by line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SummaryPager {
    /// The lines, or why there are none; none = not answered yet.
    pub lines: Option<Result<Vec<String>, String>>,
    /// Lines scrolled down.
    pub scroll: usize,
}

/// Calls with why they ran, asked or were refused.
#[derive(Debug, Clone, PartialEq)]
pub struct WhyPager {
    /// The calls, oldest first; each with its explanation once that has come.
    pub calls: Vec<(ToolCallId, Option<Result<Why, String>>)>,
    /// Older calls that are left out.
    pub left_out: usize,
    /// Lines scrolled down.
    pub scroll: usize,
}

/// A session grant, as the dialog prints it.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    pub bound: Bound,
    /// The call as it was shown.
    pub approval: Box<Approval>,
    /// How long it holds.
    pub lasts: LifetimeChoice,
}

/// A dialog whose last press decides, and how long it has been looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct Deciding {
    /// What it decides.
    pub about: About,
    /// What of it has been on screen.
    pub exposure: DialogExposure,
}

/// What a dialog decides.
#[derive(Debug, Clone, PartialEq)]
pub enum About {
    Shape(Shape),
    Rule(RuleEditor),
    /// Several cards.
    Batch(Batch),
}
