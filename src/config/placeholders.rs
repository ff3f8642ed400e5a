//! Texts with `{name}` in them, for requests that the configuration declares. Pure.
//!
//! A placeholder is a name and nothing else; `{{` and `}}` stand for braces.

/// The placeholder that stands for the secret of a tool.
pub const SECRET: &str = "secret";

/// A piece of such a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// As it stands.
    Text(String),
    /// The value of a parameter, or the secret.
    Name(String),
}

/// A text with placeholders.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placeholders(Vec<Piece>);

/// Whether this can be the name of a parameter.
pub fn is_name(name: &str) -> bool {
    let letters = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && name.len() <= 64 && name.chars().all(letters)
}

impl Placeholders {
    /// Takes a text apart; else what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            plain.push_str(&rest[..at]);
            let (brace, after) = (&rest[at..=at], &rest[at + 1..]);
            if let Some(after) = after.strip_prefix(brace) {
                plain.push_str(brace);
                rest = after;
                continue;
            }
            let closed = after.split_once('}').filter(|(name, _)| is_name(name));
            let (Some((name, after)), "{") = (closed, brace) else {
                return Err(format!(
                    "a `{brace}` belongs to no placeholder like `{{name}}`; write a literal brace twice"
                ));
            };
            if !plain.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut plain)));
            }
            pieces.push(Piece::Name(name.to_owned()));
            rest = after;
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Ok(Self(pieces))
    }

    /// Its pieces in order.
    pub fn pieces(&self) -> &[Piece] {
        &self.0
    }

    /// The names in it.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Name(name) => Some(name.as_str()),
            Piece::Text(_) => None,
        })
    }

    /// The name, when it is one placeholder and nothing else.
    pub fn only(&self) -> Option<&str> {
        match self.0.as_slice() {
            [Piece::Name(name)] => Some(name),
            _ => None,
        }
    }

    /// The text with values in place of names; the first name without one is the error.
    pub fn fill(&self, value: impl Fn(&str) -> Option<String>) -> Result<String, &str> {
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(plain) => text.push_str(plain),
                Piece::Name(name) => text.push_str(&value(name).ok_or(name.as_str())?),
            }
        }
        Ok(text)
    }
}
