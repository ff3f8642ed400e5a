//! What the console is started with.

use std::path::PathBuf;

use crate::clock::Clock;
use crate::config::settings::Notify;
use crate::console::access::{Access, Hosting};
use crate::protocol::command::Actor;
use crate::tui::links::LinkScope;
use crate::tui::pictures::asking::Question;
use crate::tui::pictures::graphics::Graphics;
use crate::tui::state::replay::Source;
use crate::tui::theme::depth::ColorDepth;

/// The editor for long texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Editor {
    /// Program and arguments; the file's path is appended.
    pub argv: Vec<String>,
    /// Directory for the file, private to the user.
    pub directory: PathBuf,
}

#[derive(Debug, Clone)]
pub struct ConsoleOptions {
    pub theme: String,
    pub keymap: String,
    /// The user's `themes/` and `keymaps/` lie in here.
    pub user_dir: Option<PathBuf>,
    /// Whether commands may be sent.
    pub access: Access,
    /// Colours of the terminal; [`ColorDepth::None`] under `NO_COLOR`.
    pub depth: ColorDepth,
    pub hosting: Hosting,
    /// Who sits here; the actor of every command (a remote client's daemon ignores it).
    pub actor: Actor,
    /// `$VISUAL` or `$EDITOR`, when set.
    pub editor: Option<Editor>,
    pub clock: Clock,
    pub notify: Notify,
    /// Whether the title of the terminal says how many questions wait.
    pub title: bool,
    pub links: LinkScope,
    /// How pictures are drawn, where the terminal is not asked.
    pub graphics: Graphics,
    /// What the terminal is asked about pictures; none = nothing.
    pub question: Option<Question>,
    /// Inside tmux: what is meant for the terminal around it is wrapped.
    pub tmux: bool,
    /// What to play; nothing else is then done.
    pub replay: Option<Source>,
}
