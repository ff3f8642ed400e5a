//! Finding themes and keymaps: the user's file of that name first, then the one shipped in the binary.
//! Errors name file and line; nothing here decides what is used instead.

use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::DeValue;

/// How deep `inherits` may go.
const MAX_DEPTH: usize = 4;

/// Themes in the binary, by name.
pub const THEMES: &[(&str, &str)] = &[
    ("catppuccin", include_str!("../../themes/catppuccin.toml")),
    ("dark", include_str!("../../themes/dark.toml")),
    ("gruvbox", include_str!("../../themes/gruvbox.toml")),
    (
        "high-contrast",
        include_str!("../../themes/high-contrast.toml"),
    ),
    ("light", include_str!("../../themes/light.toml")),
    ("monochrome", include_str!("../../themes/monochrome.toml")),
    ("nord", include_str!("../../themes/nord.toml")),
    (
        "solarized-dark",
        include_str!("../../themes/solarized-dark.toml"),
    ),
    (
        "solarized-light",
        include_str!("../../themes/solarized-light.toml"),
    ),
    ("terminal", include_str!("../../themes/terminal.toml")),
];

/// Keymaps in the binary, by name.
pub const KEYMAPS: &[(&str, &str)] = &[
    ("default", include_str!("../../keymaps/default.toml")),
    ("vim", include_str!("../../keymaps/vim.toml")),
];

/// Why a theme or keymap cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {message}", .line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct AssetError {
    /// File, or `built-in theme NAME`.
    pub file: String,
    /// Line from 1, when one is to blame.
    pub line: Option<usize>,
    /// What is wrong, what was expected.
    pub message: String,
}

impl AssetError {
    /// An error of the file as a whole.
    pub fn whole(file: &str, message: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            line: None,
            message: message.into(),
        }
    }
}

/// The text of an asset and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// File, or `built-in …`.
    pub file: String,
    pub text: String,
}

impl Source {
    /// An error at a byte offset.
    pub fn error(&self, offset: usize, message: impl Into<String>) -> AssetError {
        let before = self.text.get(..offset).unwrap_or(&self.text);
        AssetError {
            file: self.file.clone(),
            line: Some(before.matches('\n').count() + 1),
            message: message.into(),
        }
    }

    pub fn syntax_error(&self, error: &toml::de::Error) -> AssetError {
        match error.span() {
            Some(span) => self.error(span.start, error.message()),
            None => AssetError::whole(&self.file, error.message()),
        }
    }
}

/// What is being looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AssetKind {
    Theme,
    Keymap,
}

impl AssetKind {
    const fn word(self) -> &'static str {
        match self {
            Self::Theme => "theme",
            Self::Keymap => "keymap",
        }
    }

    const fn directory(self) -> &'static str {
        match self {
            Self::Theme => "themes",
            Self::Keymap => "keymaps",
        }
    }

    const fn shipped(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Theme => THEMES,
            Self::Keymap => KEYMAPS,
        }
    }
}

/// Names that can be asked for: shipped and the user's, sorted.
pub fn names(kind: AssetKind, user_dir: Option<&Path>) -> Vec<String> {
    let mut names: Vec<String> = kind
        .shipped()
        .iter()
        .map(|(n, _)| (*n).to_owned())
        .collect();
    if let Some(dir) = user_dir
        && let Ok(entries) = std::fs::read_dir(dir.join(kind.directory()))
    {
        for entry in entries.flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|e| e == "toml")
                && let Some(stem) = path.file_stem().and_then(|s| s.to_str())
            {
                names.push(stem.to_owned());
            }
        }
    }
    names.sort_unstable();
    names.dedup();
    names
}

/// The built-in asset of this name.
pub fn shipped(kind: AssetKind, name: &str) -> Option<Source> {
    kind.shipped()
        .iter()
        .find(|(n, _)| *n == name)
        .map(|(n, text)| Source {
            file: format!("built-in {} {n}", kind.word()),
            text: (*text).to_owned(),
        })
}

/// The user's file of this name, else the built-in one.
pub fn find(kind: AssetKind, name: &str, user_dir: Option<&Path>) -> Result<Source, AssetError> {
    if let Some(path) = user_file(kind, name, user_dir) {
        let file = path.display().to_string();
        return match std::fs::read_to_string(&path) {
            Ok(text) => Ok(Source { file, text }),
            Err(error) => Err(AssetError::whole(&file, format!("cannot be read: {error}"))),
        };
    }
    shipped(kind, name).ok_or_else(|| {
        let known = names(kind, user_dir);
        let near = nearest(name, known.iter().map(String::as_str));
        AssetError::whole(
            &format!("{} `{name}`", kind.word()),
            match near {
                Some(near) => format!("there is no such {}; did you mean `{near}`?", kind.word()),
                None => format!(
                    "there is no such {}; known: {}",
                    kind.word(),
                    known.join(", ")
                ),
            },
        )
    })
}

/// What the file `name` inherits from, `depth` files deep, and its name.
pub fn parent<'i>(
    kind: AssetKind,
    (name, source): (&str, &Source),
    user_dir: Option<&Path>,
    depth: usize,
    inherits: &'i Spanned<DeValue<'_>>,
) -> Result<(&'i str, Source), AssetError> {
    let at = inherits.span().start;
    let word = kind.word();
    let parent = inherits
        .get_ref()
        .as_str()
        .ok_or_else(|| source.error(at, format!("`inherits` must be the name of a {word}")))?;
    if depth >= MAX_DEPTH {
        let text = format!("`inherits` goes in a circle or more than {MAX_DEPTH} deep");
        return Err(source.error(at, text));
    }
    // A user's `default` may inherit the shipped `default`: that is how one key is changed.
    let found = if parent == name {
        shipped(kind, parent)
            .ok_or_else(|| source.error(at, format!("`{parent}` inherits itself")))?
    } else {
        find(kind, parent, user_dir).map_err(|error| source.error(at, error.to_string()))?
    };
    Ok((parent, found))
}

/// The user's file of this name, when it exists. Names with path separators are never looked up.
fn user_file(kind: AssetKind, name: &str, user_dir: Option<&Path>) -> Option<PathBuf> {
    let plain = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || c == '-' || c == '_');
    let path = user_dir
        .filter(|_| plain)?
        .join(kind.directory())
        .join(format!("{name}.toml"));
    path.exists().then_some(path)
}

/// What the user's files look like from outside: changes when one is written, added or taken away.
pub type Fingerprint = Vec<(PathBuf, i64, i64, u64)>;

/// The fingerprint of the user's themes and keymaps. Contents are not read.
pub fn fingerprint(user_dir: &Path) -> Fingerprint {
    use std::os::unix::fs::MetadataExt as _;
    let mut files = Vec::new();
    for kind in [AssetKind::Theme, AssetKind::Keymap] {
        let Ok(entries) = std::fs::read_dir(user_dir.join(kind.directory())) else {
            continue;
        };
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.extension().is_some_and(|e| e == "toml")
                && let Ok(about) = std::fs::metadata(&path)
            {
                files.push((path, about.mtime(), about.mtime_nsec(), about.len()));
            }
        }
    }
    files.sort_unstable();
    files
}

/// The known word most like `word`, when one is near enough to suggest.
pub fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|candidate| (strsim::jaro_winkler(word, candidate), candidate))
        .filter(|(score, _)| *score > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}
