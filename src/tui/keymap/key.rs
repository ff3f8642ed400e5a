//! One key press as text: `a`, `G`, `ctrl-x`, `alt-enter`, `f1`, `space`.

use std::fmt;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A key with its modifiers. Shift is part of the character for characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd)]
pub struct Key {
    pub code: KeyCode,
    pub ctrl: bool,
    pub alt: bool,
    /// Shift held, for keys that are not characters.
    pub shift: bool,
}

const NAMED: &[(&str, KeyCode)] = &[
    ("enter", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("tab", KeyCode::Tab),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("insert", KeyCode::Insert),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pageup", KeyCode::PageUp),
    ("pagedown", KeyCode::PageDown),
    ("space", KeyCode::Char(' ')),
];

/// The names of keys that are not single characters, for messages.
pub fn named_keys() -> impl Iterator<Item = &'static str> {
    NAMED.iter().map(|(name, _)| *name)
}

impl Key {
    pub const fn plain(code: KeyCode) -> Self {
        Self {
            code,
            ctrl: false,
            alt: false,
            shift: false,
        }
    }

    /// Parses one key; the error is a sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut rest = text;
        let (mut ctrl, mut alt, mut shift) = (false, false, false);
        loop {
            let (flag, after) = if let Some(after) = rest.strip_prefix("ctrl-") {
                (&mut ctrl, after)
            } else if let Some(after) = rest.strip_prefix("alt-") {
                (&mut alt, after)
            } else if let Some(after) = rest.strip_prefix("shift-") {
                (&mut shift, after)
            } else {
                break;
            };
            if *flag {
                return Err(format!("`{text}` names a modifier twice"));
            }
            *flag = true;
            rest = after;
        }
        let mut chars = rest.chars();
        let code = match (chars.next(), chars.next()) {
            (Some(c), None) if !c.is_control() && c != ' ' => {
                if shift {
                    return Err(format!("write `{}` instead of `{text}`", c.to_uppercase()));
                }
                if ctrl && c.is_uppercase() {
                    return Err(format!(
                        "`{text}`: terminals cannot tell ctrl with a capital letter; write it small"
                    ));
                }
                KeyCode::Char(c)
            }
            _ => match NAMED.iter().find(|(name, _)| *name == rest) {
                Some((_, code)) => *code,
                None => match rest.strip_prefix('f').and_then(|n| n.parse::<u8>().ok()) {
                    Some(n @ 1..=24) => KeyCode::F(n),
                    Some(_) | None => {
                        let near = crate::tui::assets::nearest(rest, named_keys());
                        return Err(match near {
                            Some(near) => format!("`{text}` is not a key; did you mean `{near}`?"),
                            None => format!(
                                "`{text}` is not a key: expected one character, f1 to f24, or one of {}",
                                named_keys().collect::<Vec<_>>().join(", ")
                            ),
                        });
                    }
                },
            },
        };
        Ok(Self {
            code,
            ctrl,
            alt,
            shift,
        })
    }

    /// The key of a terminal event.
    pub fn from_event(event: &KeyEvent) -> Self {
        let ctrl = event.modifiers.contains(KeyModifiers::CONTROL);
        let alt = event.modifiers.contains(KeyModifiers::ALT);
        let shift = event.modifiers.contains(KeyModifiers::SHIFT);
        match event.code {
            KeyCode::BackTab => Self {
                code: KeyCode::Tab,
                ctrl,
                alt,
                shift: true,
            },
            KeyCode::Char(c) if ctrl => Self {
                code: KeyCode::Char(c.to_ascii_lowercase()),
                ctrl,
                alt,
                shift: false,
            },
            KeyCode::Char(c) => Self {
                code: KeyCode::Char(c),
                ctrl,
                alt,
                shift: false,
            },
            code => Self {
                code,
                ctrl,
                alt,
                shift,
            },
        }
    }

    /// The character to insert into a text field, when the key stands for one.
    pub fn character(self) -> Option<char> {
        match self.code {
            KeyCode::Char(c) if !self.ctrl && !self.alt => Some(c),
            _ => None,
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        if self.ctrl {
            text.push_str("ctrl-");
        }
        if self.alt {
            text.push_str("alt-");
        }
        if self.shift {
            text.push_str("shift-");
        }
        match NAMED.iter().find(|(_, code)| *code == self.code) {
            Some((name, _)) => text.push_str(name),
            None => match self.code {
                KeyCode::Char(c) => text.push(c),
                KeyCode::F(n) => {
                    text.push('f');
                    text.push_str(&n.to_string());
                }
                _ => text.push('?'),
            },
        }
        f.pad(&text)
    }
}

/// Several keys in a row: `g g`.
pub fn parse_sequence(text: &str) -> Result<Vec<Key>, String> {
    let keys = text
        .split_whitespace()
        .map(Key::parse)
        .collect::<Result<Vec<_>, _>>()?;
    match keys.len() {
        0 => Err("an empty key: expected for example `a`, `ctrl-x` or `g g`".to_owned()),
        1..=3 => Ok(keys),
        _ => Err(format!("`{text}` is too long: at most three keys in a row")),
    }
}

/// As written in keymap files.
pub fn print_sequence(keys: &[Key]) -> String {
    keys.iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(" ")
}
