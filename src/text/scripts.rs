//! Words that mix letters of scripts that look alike: `pаypal` with a Cyrillic `а` is another word.
//!
//! Letters are told apart by Unicode block. Latin and the scripts whose letters are taken for Latin ones count; a word
//! of one script, and a path with words of several, are ordinary.

/// A script whose letters can be taken for those of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Script {
    Latin,
    Greek,
    Cyrillic,
    Armenian,
    Georgian,
    Cherokee,
    Coptic,
}

impl Script {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Latin => "Latin",
            Self::Greek => "Greek",
            Self::Cyrillic => "Cyrillic",
            Self::Armenian => "Armenian",
            Self::Georgian => "Georgian",
            Self::Cherokee => "Cherokee",
            Self::Coptic => "Coptic",
        }
    }

    /// The script of a letter; none for another character or a script that is not told apart.
    pub fn of(c: char) -> Option<Self> {
        if !c.is_alphabetic() {
            return None;
        }
        Some(match c as u32 {
            0x41..=0x5a
            | 0x61..=0x7a
            | 0xaa
            | 0xba
            | 0xc0..=0x2af
            | 0x1e00..=0x1eff
            | 0x2c60..=0x2c7f
            | 0xa722..=0xa7ff
            | 0xab30..=0xab64
            | 0xff21..=0xff5a => Self::Latin,
            0x370..=0x3e1 | 0x3f0..=0x3ff | 0x1f00..=0x1fff => Self::Greek,
            0x400..=0x52f | 0x1c80..=0x1c8f | 0x2de0..=0x2dff | 0xa640..=0xa69f => Self::Cyrillic,
            0x531..=0x58a => Self::Armenian,
            0x10a0..=0x10ff | 0x1c90..=0x1cbf | 0x2d00..=0x2d2f => Self::Georgian,
            0x13a0..=0x13ff | 0xab70..=0xabbf => Self::Cherokee,
            0x3e2..=0x3ef | 0x2c80..=0x2cff => Self::Coptic,
            _ => return None,
        })
    }
}

/// The first word of `text` that mixes scripts, and the scripts in a fixed order.
pub fn mixed_word(text: &str) -> Option<(&str, Vec<Script>)> {
    // A hidden character or a mark does not end a word for the eye.
    let ends = |c: char| (c.is_ascii() && !c.is_ascii_alphanumeric()) || c.is_whitespace();
    text.split(ends).find_map(|word| {
        let mut scripts: Vec<Script> = word.chars().filter_map(Script::of).collect();
        scripts.sort_unstable();
        scripts.dedup();
        (scripts.len() > 1).then_some((word, scripts))
    })
}

/// What is to be said of `text` where a word of it mixes scripts: `mixes Latin and Cyrillic letters`.
pub fn warning(text: &str) -> Option<String> {
    let (word, scripts) = mixed_word(text)?;
    let names: Vec<&str> = scripts.into_iter().map(Script::name).collect();
    Some(format!("“{word}” mixes {} letters", names.join(" and ")))
}
