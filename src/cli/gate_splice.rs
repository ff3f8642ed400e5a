//! Elements that come into a text of JSON with comments, and leave it again: only their own bytes come and go.

use std::ops::Range;

use serde_json::json;

/// An element that leaves its container.
pub struct Step {
    container: Range<usize>,
    /// All elements, in order.
    pub elements: Vec<Range<usize>>,
    at: usize,
}

impl Step {
    /// Element `at` of a container.
    pub fn of(
        container: jsonc_parser::common::Range,
        elements: impl Iterator<Item = jsonc_parser::common::Range>,
        at: usize,
    ) -> Self {
        Self {
            container: container.start..container.end,
            elements: elements.map(|one| one.start..one.end).collect(),
            at,
        }
    }

    /// The opening bracket.
    pub fn open(&self) -> usize {
        self.container.start
    }

    /// The closing bracket.
    fn close(&self) -> usize {
        self.container.end.saturating_sub(1)
    }

    /// What the container holds beside the element and what came with it.
    pub fn left(&self, text: &str, cuts: &[Range<usize>]) -> String {
        let inside = self.open() + 1..self.close();
        let kept = inside.filter(|at| !cuts.iter().any(|cut| cut.contains(at)));
        kept.filter_map(|at| text.as_bytes().get(at))
            .map(|byte| char::from(*byte))
            .collect()
    }

    /// What goes, so that exactly what came is gone.
    pub fn cuts(&self, text: &str) -> Vec<Range<usize>> {
        let Some(element) = self.elements.get(self.at).cloned() else {
            return Vec::new();
        };
        let floor = match self
            .at
            .checked_sub(1)
            .and_then(|before| self.elements.get(before))
        {
            Some(before) => before.end,
            None => self.open() + 1,
        };
        let start = floor + without_line(&text[floor..element.start]).len();
        let ceiling = self
            .elements
            .get(self.at + 1)
            .map_or(self.close(), |next| next.start);
        let behind = Trivia::of(&text[element.end..ceiling]);
        if let Some(comma) = behind.comma {
            let comma = element.end + comma;
            let between = &text[element.end..comma];
            return if between.trim().is_empty() {
                std::iter::once(start..comma + 1).collect()
            } else {
                vec![start..element.end, comma..comma + 1]
            };
        }
        let mut cuts = Vec::new();
        if self.at > 0 {
            cuts.push(start..element.end);
            if let Some(comma) = Trivia::of(&text[floor..element.start]).comma {
                cuts.push(floor + comma..floor + comma + 1);
            }
        } else {
            let rest = &text[element.end..self.close()];
            let glued = start == self.open() + 1 && element.start == start;
            if !glued && rest.trim().is_empty() {
                cuts.push(start..self.close());
            } else {
                cuts.push(start..element.end);
            }
        }
        cuts
    }
}

/// Text without the blanks at its end, and one line break before them.
fn without_line(text: &str) -> &str {
    let text = text.trim_end_matches([' ', '\t']);
    let Some(line) = text.strip_suffix('\n') else {
        return text;
    };
    line.strip_suffix('\r').unwrap_or(line)
}

/// What stands between two elements.
#[derive(Debug, Default)]
struct Trivia {
    /// The comma.
    comma: Option<usize>,
    /// Where the last comment or the comma ends.
    end: usize,
}

impl Trivia {
    fn of(text: &str) -> Self {
        let mut found = Self::default();
        let mut at = 0;
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            if rest.starts_with("//") {
                let line = rest.split('\n').next().unwrap_or(rest);
                at += line.strip_suffix('\r').unwrap_or(line).len();
                found.end = at;
            } else if rest.starts_with("/*") {
                at += rest.find("*/").map_or(rest.len(), |end| end + 2);
                found.end = at;
            } else {
                let c = rest.chars().next().map_or(1, char::len_utf8);
                if rest.starts_with(',') {
                    found.comma = found.comma.or(Some(at));
                    found.end = at + c;
                }
                at += c;
            }
        }
        found
    }
}

/// A container of the text, and where its last element ends.
pub struct Place<'a> {
    /// The whole text.
    pub text: &'a str,
    /// Its opening bracket.
    pub open: usize,
    /// Its closing bracket.
    pub close: usize,
    /// Where its last element ends.
    pub last: Option<usize>,
    /// Whether the first element of an empty container stands right behind the bracket.
    pub glued: bool,
}

impl Place<'_> {
    /// The text with one more element behind the others.
    pub fn insert(&self, key: Option<&str>, value: &serde_json::Value) -> String {
        let inside = &self.text[self.open + 1..self.close];
        let line = if self.text.contains('\r') {
            "\r\n"
        } else {
            "\n"
        };
        let unit = unit(self.text);
        let outer = indentation(self.text, self.open);
        let several = inside.contains('\n') || self.last.is_none();
        let inner = match self.last.filter(|_| inside.contains('\n')) {
            Some(_) => {
                let first = self.open + 1 + (inside.len() - inside.trim_start().len());
                let own = indentation(self.text, first);
                if own.len() > outer.len() {
                    own
                } else {
                    format!("{outer}{unit}")
                }
            }
            None => format!("{outer}{unit}"),
        };
        let glued = self.glued && self.last.is_none() && inside.is_empty();
        let style = if several {
            Style::Lines {
                line,
                unit: &unit,
                indent: if glued { outer.clone() } else { inner.clone() },
            }
        } else {
            Style::OneLine
        };
        let mut item = key
            .map(|key| format!("{}: ", json!(key)))
            .unwrap_or_default();
        style.write(value, 0, &mut item);
        let mut text = self.text.to_owned();
        let Some(last) = self.last else {
            let item = if glued {
                item
            } else {
                format!("{line}{inner}{item}{line}{outer}")
            };
            text.insert_str(self.close, &item);
            return text;
        };
        let trivia = Trivia::of(&self.text[last..self.close]);
        let before = if several {
            format!("{line}{inner}")
        } else {
            " ".to_owned()
        };
        let after = if trivia.comma.is_some() { "," } else { "" };
        text.insert_str(last + trivia.end, &format!("{before}{item}{after}"));
        if trivia.comma.is_none() {
            text.insert(last, ',');
        }
        text
    }
}

enum Style<'a> {
    OneLine,
    Lines {
        line: &'a str,
        unit: &'a str,
        indent: String,
    },
}

impl Style<'_> {
    fn write(&self, value: &serde_json::Value, depth: usize, out: &mut String) {
        let (open, close, items): (char, char, Vec<(Option<&String>, &serde_json::Value)>) =
            match value {
                serde_json::Value::Array(list) => {
                    ('[', ']', list.iter().map(|one| (None, one)).collect())
                }
                serde_json::Value::Object(object) => (
                    '{',
                    '}',
                    object.iter().map(|(key, one)| (Some(key), one)).collect(),
                ),
                plain => {
                    out.push_str(&plain.to_string());
                    return;
                }
            };
        let gap = |depth: usize| match self {
            Style::OneLine => " ".to_owned(),
            Style::Lines { line, unit, indent } => format!("{line}{indent}{}", unit.repeat(depth)),
        };
        out.push(open);
        for (index, (key, one)) in items.into_iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            out.push_str(&gap(depth + 1));
            if let Some(key) = key {
                out.push_str(&format!("{}: ", json!(key)));
            }
            self.write(one, depth + 1, out);
        }
        out.push_str(&gap(depth));
        out.push(close);
    }
}

/// The blanks at the start of the line of this place.
fn indentation(text: &str, at: usize) -> String {
    let start = text[..at].rfind('\n').map_or(0, |line| line + 1);
    let line = &text[start..at];
    line.chars()
        .take_while(|c| matches!(c, ' ' | '\t'))
        .collect()
}

/// What one level of indentation is in this text.
fn unit(text: &str) -> String {
    let indented = text
        .lines()
        .find(|line| line.starts_with([' ', '\t']) && !line.trim().is_empty());
    let own = indented.map(|line| {
        line.chars()
            .take_while(|c| matches!(c, ' ' | '\t'))
            .collect::<String>()
    });
    own.filter(|own| own.len() <= 8)
        .unwrap_or_else(|| "  ".to_owned())
}
