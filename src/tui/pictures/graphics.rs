//! Which pictures a terminal can show, and which of them the console draws. Pure: what the terminal answered goes in.

use crate::config::settings::PictureDisplay;
use crate::tui::pictures::answers::Answers;
use crate::tui::pictures::cell_size::CellSize;

/// Fewest colours of a terminal that is sent pictures in sixel.
const LEAST_COLORS: u16 = 16;
/// Colours of a terminal that does not say how many it has.
const USUAL_COLORS: u16 = 256;
/// The first kitty with placeholders.
const PLACEHOLDERS_SINCE: (u32, u32) = (0, 28);

/// How a picture reaches the screen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// Not at all: its name and size stand there.
    Off,
    /// As text in two colours.
    #[default]
    HalfBlocks,
    /// kitty holds the picture, and characters in its cells show parts of it.
    Placeholders {
        /// What is meant for the terminal around tmux is wrapped.
        tmux: bool,
    },
    /// kitty's protocol without these characters: the terminal holds the picture and shows it at a place.
    Kitty,
    /// The inline images of iTerm2.
    Iterm2,
    Sixel {
        /// Most colours of a picture.
        colors: u16,
    },
}

/// How pictures are drawn on a terminal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Graphics {
    /// How they reach the screen.
    pub protocol: Protocol,
    /// Pixels of a cell.
    pub cell: CellSize,
}

impl Graphics {
    /// The same once the window has another size. Sixel needs the size of a cell: a picture of another size would lie
    /// over cells that are not its own.
    #[must_use]
    pub fn resized(self, cell: Option<CellSize>) -> Self {
        match cell {
            Some(cell) => Self { cell, ..self },
            None if matches!(self.protocol, Protocol::Sixel { .. }) => Self::default(),
            None => self,
        }
    }
}

/// What the environment says about the terminal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hints {
    /// `TERM_PROGRAM`, or `LC_TERMINAL`, which reaches other machines.
    pub program: String,
    /// Inside a multiplexer that is not tmux: the environment is that of the terminal around it.
    pub nested: bool,
    /// Inside tmux.
    pub tmux: bool,
    /// Whether the terminal has 24-bit colours: placeholders name their picture by a colour.
    pub true_color: bool,
}

/// What tmux says about itself and about the terminal around it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TmuxClient {
    /// Whether `allow-passthrough` is on.
    pub passthrough: bool,
    /// `TERM` of the terminal.
    pub term: String,
    /// What the terminal calls itself.
    pub name: String,
    /// What tmux knows it to have.
    pub features: String,
}

impl TmuxClient {
    /// What tmux is asked for.
    pub const FORMAT: &str =
        "#{allow-passthrough}\t#{client_termname}\t#{client_termtype}\t#{client_termfeatures}";

    /// Reads what it says.
    pub fn of(line: &str) -> Self {
        let mut parts = line.trim_end_matches('\n').split('\t');
        let mut next = || parts.next().unwrap_or_default().to_owned();
        let passthrough = matches!(next().as_str(), "1" | "on" | "all");
        let (term, name, features) = (next(), next(), next());
        Self {
            passthrough,
            term,
            name,
            features,
        }
    }

    fn shows_placeholders(&self) -> bool {
        let known = matches!(self.term.as_str(), "xterm-kitty" | "xterm-ghostty");
        self.passthrough && (shows_placeholders(&self.name) || (self.name.is_empty() && known))
    }
}

/// Whether a terminal that calls itself so shows placeholders.
fn shows_placeholders(name: &str) -> bool {
    if name.starts_with("ghostty") {
        return true;
    }
    let version = name.strip_prefix("kitty(").unwrap_or_default();
    let mut numbers = version.split(['.', ')']).map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= PLACEHOLDERS_SINCE,
        _ => false,
    }
}

/// Whether the terminal shows the inline images of iTerm2. The environment counts where the terminal gives no name.
fn shows_inline_images(answers: &Answers, hints: &Hints) -> bool {
    match &answers.name {
        Some(name) => name.starts_with("iTerm2") || name.starts_with("WezTerm"),
        None => {
            !hints.nested && matches!(hints.program.as_str(), "iTerm.app" | "iTerm2" | "WezTerm")
        }
    }
}

/// Chooses how pictures are drawn. `window` = the size of a cell as the line knows it; the terminal knows it better.
pub fn choose(
    display: PictureDisplay,
    hints: &Hints,
    answers: &Answers,
    tmux: Option<&TmuxClient>,
    window: Option<CellSize>,
) -> Graphics {
    let cell = answers.cell.or(window);
    let passes = tmux.is_some_and(|tmux| tmux.passthrough) && hints.true_color;
    let placeholders = || {
        let shows = if hints.tmux {
            passes && tmux.is_some_and(TmuxClient::shows_placeholders)
        } else {
            answers.kitty && answers.name.as_deref().is_some_and(shows_placeholders)
        };
        shows.then_some(Protocol::Placeholders { tmux: hints.tmux })
    };
    let iterm2 = || {
        let shows = !hints.tmux && shows_inline_images(answers, hints);
        shows.then_some(Protocol::Iterm2)
    };
    let kitty = || (!hints.tmux && answers.kitty).then_some(Protocol::Kitty);
    let colors = answers.colors.unwrap_or(USUAL_COLORS).min(USUAL_COLORS);
    let sixel = || {
        let known = cell.is_some() && colors >= LEAST_COLORS;
        known.then_some(Protocol::Sixel { colors })
    };
    // tmux takes sixel for every terminal, and writes a box of words where that one has none.
    let draws_sixel =
        answers.sixel && (!hints.tmux || tmux.is_some_and(|tmux| tmux.features.contains("sixel")));
    let protocol = match display {
        PictureDisplay::Off => Some(Protocol::Off),
        PictureDisplay::HalfBlocks => None,
        PictureDisplay::Auto => placeholders()
            .or_else(iterm2)
            .or_else(kitty)
            .or_else(|| sixel().filter(|_| draws_sixel)),
        PictureDisplay::Kitty if hints.tmux => {
            passes.then_some(Protocol::Placeholders { tmux: true })
        }
        PictureDisplay::Kitty => placeholders().or(Some(Protocol::Kitty)),
        PictureDisplay::Iterm2 => (!hints.tmux).then_some(Protocol::Iterm2),
        PictureDisplay::Sixel => sixel(),
    };
    Graphics {
        protocol: protocol.unwrap_or_default(),
        cell: cell.unwrap_or_default(),
    }
}
