//! Redacts a text that comes in pieces: a secret that is split over pieces is found as in the whole text.
//!
//! Held back is only what may be the beginning of a secret; the next pieces decide. However a text is cut, the pieces
//! that come out are together what [`Redactor::redact`] makes of the whole.

use std::sync::{OnceLock, PoisonError};

use regex::Regex;

use crate::text::redact::{REDACTED, Redactor, shapes, without_shapes};

/// Held text that is longer is looked at again only after it has grown by a quarter: it costs time for its length.
const LONG: usize = 4096;

/// How a text in pieces ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It is whole.
    Whole,
    /// It broke off: the beginning of a registered secret at its end is taken out as well.
    BrokenOff,
}

/// A text in pieces on its way through a redactor.
#[derive(Debug)]
pub struct Seam {
    redactor: Redactor,
    /// What may be the beginning of a registered secret.
    held: String,
    shapes: Shapes,
}

impl Seam {
    /// Nothing came yet.
    pub fn new(redactor: Redactor) -> Self {
        Self {
            redactor,
            held: String::new(),
            shapes: Shapes::default(),
        }
    }

    /// Takes the next piece; what can be shown by now, redacted.
    pub fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        let decided = self.decided();
        self.shapes.push(&decided)
    }

    /// Something of the text is left out here; what can be shown by now, redacted. The beginning of a registered secret
    /// that is cut off here is taken out, and `…` stands for what is left out.
    pub fn omit(&mut self) -> String {
        let held = std::mem::take(&mut self.held);
        let clean = self.redactor.without_registered(&held);
        let cut = self.redactor.without_beginning(&clean).into_owned();
        self.shapes.push(&cut) + &self.shapes.push("…\n")
    }

    /// The end of the text; the rest of it, redacted.
    pub fn finish(&mut self, end: End) -> String {
        let held = std::mem::take(&mut self.held);
        let clean = self.redactor.without_registered(&held);
        let rest = match end {
            End::Whole => clean,
            End::BrokenOff => self.redactor.without_beginning(&clean).into_owned().into(),
        };
        let shown = self.shapes.push(&rest);
        shown + &self.shapes.finish()
    }

    /// The text up to the first place where a registered secret may begin, without registered secrets.
    fn decided(&mut self) -> String {
        let registry = self
            .redactor
            .shared
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        if registry.forms.is_empty() {
            return std::mem::take(&mut self.held);
        }
        let mut out = String::new();
        let mut at = 0;
        let until = loop {
            let open = registry.beginning(&self.held, at);
            let found = match &registry.literals {
                Some(literals) => literals
                    .find_at(&self.held, at)
                    .map(|found| (found.start(), found.end())),
                None => registry.first_form(&self.held, at),
            };
            match found.filter(|(start, _)| *start < open) {
                Some((start, end)) => {
                    out.push_str(self.held.get(at..start).unwrap_or_default());
                    out.push_str(REDACTED);
                    at = end;
                }
                None => break open,
            }
        };
        out.push_str(self.held.get(at..until).unwrap_or_default());
        self.held.drain(..until);
        out
    }
}

/// The second net, on what the first one let through.
#[derive(Debug, Default)]
struct Shapes {
    /// The last character that went out, for its word boundary, and what is held.
    text: String,
    /// Bytes of the first part.
    context: usize,
    /// Nothing is looked at before the text is this long.
    look_at: usize,
}

impl Shapes {
    fn push(&mut self, piece: &str) -> String {
        self.text.push_str(piece);
        if self.text.len() < self.look_at {
            return String::new();
        }
        // Constants that a test compiles: `None` does not happen.
        let (Some(shapes), Some(openings)) = (shapes(), openings()) else {
            return without_shapes(&std::mem::take(&mut self.text)).into_owned();
        };
        let mut out = String::new();
        let mut at = self.context;
        let until = loop {
            let open = openings
                .find_at(&self.text, at)
                .map_or(self.text.len(), |found| found.start());
            let found = shapes.find_at(&self.text, at);
            match found {
                // A shape at the end may go on.
                Some(found) if found.end() == self.text.len() => break open.min(found.start()),
                Some(found) if found.start() < open => {
                    out.push_str(self.text.get(at..found.start()).unwrap_or_default());
                    out.push_str(REDACTED);
                    at = found.end();
                }
                Some(_) | None => break open,
            }
        };
        out.push_str(self.text.get(at..until).unwrap_or_default());
        let before = self.text.get(..until).unwrap_or_default();
        let last = before.chars().next_back().map_or(0, char::len_utf8);
        self.text.drain(..until - last);
        self.context = last;
        self.look_at = match self.text.len() {
            long if long > LONG => long + long / 4,
            _ => 0,
        };
        out
    }

    fn finish(&mut self) -> String {
        let text = std::mem::take(&mut self.text);
        let mut out = String::new();
        let mut at = std::mem::take(&mut self.context);
        if let Some(shapes) = shapes() {
            while let Some(found) = shapes.find_at(&text, at) {
                out.push_str(text.get(at..found.start()).unwrap_or_default());
                out.push_str(REDACTED);
                at = found.end();
            }
        }
        out.push_str(text.get(at..).unwrap_or_default());
        self.look_at = 0;
        out
    }
}

/// The rest of a credential that Markdown may have escaped, up to the middle of an escape.
const ESCAPED: &str = r"(?:[A-Za-z0-9_-]|\\[_-])*\\?";

/// What may be the beginning of each of `SHAPES`, up to the end of the text.
fn openings() -> Option<&'static Regex> {
    static EXPRESSION: OnceLock<Option<Regex>> = OnceLock::new();
    EXPRESSION
        .get_or_init(|| {
            let all = [
                opening("-----BEGIN ", "[A-Z0-9 ]{0,52}-{0,5}"),
                format!("[0-9]+(?::{ESCAPED})?"),
                format!(r"(?-u:\b){}", opening("sk-", ESCAPED)),
                format!(
                    "(?i:{})",
                    opening("bearer", r"(?:[ \t]+[A-Za-z0-9._~+/=-]*)?")
                ),
                format!(r"(?-u:\b){}", opening("AKIA", "[A-Z0-9]{0,16}")),
                format!(r"(?-u:\b){}", opening("ASIA", "[A-Z0-9]{0,16}")),
                format!(
                    "(?i:{})",
                    opening(
                        "aws_secret_access_key",
                        r#"["']?[ \t]*(?:[=:][ \t]*["']?[A-Za-z0-9/+=]{0,40})?"#
                    )
                ),
                format!(
                    r"(?-u:\b){}",
                    opening("xox", "(?:[abprs](?:-[A-Za-z0-9-]*)?)?")
                ),
                format!(r"(?-u:\b){}", opening("xapp-", "[A-Za-z0-9-]*")),
                format!(
                    r"(?-u:\b){}",
                    opening("gh", r"(?:[pousr]\\?(?:_[A-Za-z0-9]*)?)?")
                ),
                format!(r"(?-u:\b){}", opening("github_pat_", ESCAPED)),
                format!(r"(?-u:\b){}", opening("AIza", ESCAPED)),
            ];
            Regex::new(&format!(r"(?:{})\z", all.join("|"))).ok()
        })
        .as_ref()
}

/// Any beginning of `word`, and `then` behind the whole word. No word here holds a character with a meaning of its own.
fn opening(word: &str, then: &str) -> String {
    let mut chars = word.chars();
    let Some(first) = chars.next() else {
        return then.to_owned();
    };
    let rest: Vec<char> = chars.collect();
    let mut expression = then.to_owned();
    for c in rest.iter().rev() {
        expression = match c {
            '_' => format!(r"(?:\\?(?:_{expression})?)?"),
            c => format!("(?:{c}{expression})?"),
        };
    }
    format!("{first}{expression}")
}
